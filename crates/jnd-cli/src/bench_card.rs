//! `jnd bench --device cuda`: every stage on a card beside the card's own rates, and whole runs from host memory.

use std::io::Write;
use std::sync::atomic::Ordering;

use jnd::cuda::{Ceilings, Context, ceilings};
use jnd::magnify::cuda::{Options, measure};
use jnd::magnify::{Plan, Source};
use jnd::video::{Buffer, ChromaRounding, Sample};

use crate::bench::cases;
use crate::exit::{DONE, FAILURE, Failure, INTERRUPTED};
use crate::interrupt;

/// Bytes of device memory with which its rates are measured: many times any cache.
pub(crate) const CEILING: usize = 1 << 30;

/// Frames pushed one by one.
const LIVE: usize = 200;

fn failed(e: impl std::error::Error + 'static) -> Failure {
    Failure::new(FAILURE, e)
}

/// Measures all four pipelines. `ceiling` is how many bytes the card's rates are measured with.
pub(crate) fn run(
    out: &mut impl Write,
    context: &Context,
    source: &Source,
    clip: &Buffer,
    chunk: usize,
    repeats: usize,
    ceiling: usize,
) -> Result<u8, Failure> {
    let (frame, info) = (source.format, context.info());
    let bytes = frame.frame_bytes(source.width, source.height, ChromaRounding::Ceil) as u64;
    let bytes = bytes * source.frames.unwrap_or(0);
    writeln!(
        out,
        "{} {}: {} frames of {}x{} {frame}, {:.0} MB; median of {repeats}",
        info.device,
        info.name,
        source.frames.unwrap_or(0),
        source.width,
        source.height,
        bytes as f64 / 1e6,
    )?;
    let rates = ceilings(context, ceiling).map_err(failed)?;
    writeln!(
        out,
        "ceilings: copy {:.0} (read and written), read {:.0}, write {:.0} GB/s; bus up {:.1}, down {:.1}, each way at once {:.1} GB/s",
        rates.copy, rates.read, rates.write, rates.up, rates.down, rates.both
    )?;
    for (name, settings) in cases() {
        if interrupt::flag().load(Ordering::Relaxed) {
            return Ok(INTERRUPTED);
        }
        let plan = match Plan::new(&settings, source) {
            Ok(plan) => plan,
            Err(e) => {
                writeln!(out, "\n{name}: not measured: {e}")?;
                continue;
            }
        };
        match clip {
            Buffer::U8(v) => case(out, context, &rates, name, &plan, v, chunk, repeats),
            Buffer::U16(v) => case(out, context, &rates, name, &plan, v, chunk, repeats),
        }?;
    }
    Ok(DONE)
}

fn case<T: Sample>(
    out: &mut impl Write,
    context: &Context,
    rates: &Ceilings,
    name: &str,
    plan: &Plan,
    clip: &[T],
    chunk: usize,
    repeats: usize,
) -> Result<(), Failure> {
    let bytes = size_of_val(clip) as f64;
    let frames = plan.source().frames.unwrap_or(0) as f64;
    let resident = measure::resident(context, plan, chunk, clip, repeats).map_err(failed)?;
    writeln!(
        out,
        "\n{name}: kernels {:.3} ms, {:.0} frames/s; {:.0} MB on the card beside the clip",
        resident.ms,
        frames / resident.ms.max(1e-9) * 1e3,
        resident.memory as f64 / 1e6
    )?;
    writeln!(out, "  {:<8} {:>10} {:>10} {:>8} {:>7}", "stage", "MB", "ms", "GB/s", "share")?;
    for row in &resident.stages {
        let (of, rate) = row.ceiling(rates);
        let speed = row.gigabytes_per_second();
        let (stage, mb) = (row.stage.to_string(), row.bytes() as f64 / 1e6);
        let share = speed * 100.0 / rate;
        writeln!(out, "  {stage:<8} {mb:>10.1} {:>10.3} {speed:>8.1} {share:>5.0} % of {of}", row.ms)?;
    }
    let options = Options { device: context.info().device, chunk, ..Options::default() };
    let mut result = vec![T::default(); clip.len()];
    let whole = measure::host_to_host(context, plan, &options, clip, &mut result, repeats).map_err(failed)?;
    writeln!(
        out,
        "  whole    kernels {:.3} ms, up {:.3} ms, down {:.3} ms; wall {:.3} ms from and to pinned memory ({:.2} x the bus), {:.3} ms \
         from and to pageable memory",
        resident.ms,
        resident.bus_ms.0,
        resident.bus_ms.1,
        whole.pinned_ms,
        whole.pinned_ms * rates.both * 1e6 / bytes,
        whole.pageable_ms
    )?;
    writeln!(
        out,
        "           chunks of {} frames, {:.0} MB on the card, ready after {:.1} ms",
        whole.chunk,
        whole.memory as f64 / 1e6,
        whole.opened_ms
    )?;
    if !whole.same {
        return Err(Failure::new(FAILURE, format!("{name}: two runs gave different bytes")));
    }
    if !plan.needs_two_passes() {
        let live = measure::live(context, plan, clip, LIVE).map_err(failed)?;
        writeln!(out, "  live     a frame in and out {:.3} ms, 99 % within {:.3} ms", live.median, live.p99)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench, units};

    /// The value after `name` in a line.
    fn value(line: &str, name: &str) -> f64 {
        let rest = &line[line.find(name).unwrap_or_else(|| panic!("{name}: {line}")) + name.len()..];
        rest.split_whitespace()
            .next()
            .and_then(|t| t.trim_end_matches([',', ';']).parse().ok())
            .unwrap_or_else(|| panic!("{name}: {line}"))
    }

    #[test]
    fn every_pipeline_and_stage_is_measured() {
        for context in jnd_cuda_shim::contexts() {
            for size in ["48x40:yuv420p:7", "34x26:yuv420p10le:7"] {
                let (source, clip) =
                    bench::make(&units::raw(size).expect(size), 15, bench::MOST).expect(size);
                let mut out = Vec::new();
                let code = run(&mut out, &context, &source, &clip, 4, 1, 1 << 16).expect(size);
                assert_eq!(code, DONE);
                let text = String::from_utf8(out).expect("text");
                assert!(text.starts_with("cuda:0 ") && text.contains(": 15 frames of "), "{text}");
                let rates = text.lines().nth(1).expect("rates");
                for rate in ["copy", "read", "write", "bus up", "down", "at once"] {
                    let name = if rate == "read" { ", read" } else { rate };
                    assert!(value(rates, name) > 0.0, "{rates}");
                }
                let parts: Vec<&str> = text.split("\n\n").skip(1).collect();
                assert_eq!(parts.len(), 4, "{text}");
                for (part, (name, settings)) in parts.iter().zip(cases()) {
                    assert!(part.starts_with(&format!("{name}: kernels ")), "{part}");
                    let causal = settings.filter.is_causal();
                    let stages: &[&str] = if causal {
                        &["shrink", "filter", "render"]
                    } else {
                        &["shrink", "project", "filter", "render"]
                    };
                    for stage in stages {
                        let row = part.lines().find(|l| l.starts_with(&format!("  {stage} ")));
                        let row = row.unwrap_or_else(|| panic!("{stage}: {part}"));
                        let of = ["% of copy", "% of read", "% of write"];
                        assert!(of.iter().any(|of| row.ends_with(of)), "{row}");
                        // Megabytes, of which a small clip has none, milliseconds, rate.
                        let ms = row.split_whitespace().nth(2).and_then(|t| t.parse::<f64>().ok());
                        assert!(ms.is_some_and(|ms| ms > 0.0), "{row}");
                    }
                    for time in ["kernels", "up", "down", "wall"] {
                        let whole = part.lines().find(|l| l.starts_with("  whole ")).expect("whole");
                        assert!(value(whole, time) > 0.0, "{whole}");
                    }
                    assert_eq!(part.contains("\n  live "), causal, "{part}");
                }
            }
        }
    }
}
