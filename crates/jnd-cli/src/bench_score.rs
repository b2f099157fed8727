//! `jnd bench score`: how fast this machine scores, on the processor or on a card, with made-up pairs.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

use jnd::DeviceChoice;
use jnd::cuda::Placed;
use jnd::score::cuda::{CudaOptions, measure};
use jnd::score::{Engine, Feature, Geometry, Scorer, ScorerOptions};
use jnd::video::{Buffer, Frame, RawGeometry};

use crate::exit::{DONE, FAILURE, Failure, INTERRUPTED};
use crate::{Verbosity, interrupt, units};

/// The features that are measured where none is named.
const ALL: [&str; 4] = ["motion", "float_motion", "speed_chroma", "speed_temporal"];

/// Different pairs that take turns, so that no feature meets the pair before.
const PAIRS: usize = 4;

/// Arguments of `jnd bench score`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Size and format of the pairs, such as 1920x1080:yuv420p:30.
    #[arg(long, value_name = "WxH:FORMAT:FPS", value_parser = units::raw, default_value = "1920x1080:yuv420p:30")]
    size: RawGeometry,
    /// Feature with its options, as `jnd score` takes it; may be repeated. Default: all four.
    #[arg(long, value_name = "NAME[=opt=val...]", value_parser = Feature::parse)]
    feature: Vec<Feature>,
    /// Where to score: auto, cpu, cuda, or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = units::device)]
    device: DeviceChoice,
    /// Threads of the processor; more than one number measures each.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Vec<u16>,
    /// Pairs in a batch of the card. Default: what the size asks for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: Option<u16>,
    /// Pairs of a run on the processor.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    frames: u32,
    /// Runs of which the median is taken.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let g = &args.size;
    jnd::video::check_size(g.width, g.height).map_err(|e| Failure::new(FAILURE, e))?;
    let geometry = Geometry { format: g.format, width: g.width, height: g.height };
    let features = if args.feature.is_empty() {
        ALL.iter().map(|f| Feature::parse(f)).collect::<Result<Vec<_>, _>>().map_err(failed)?
    } else {
        args.feature.clone()
    };
    let out = &mut std::io::stdout().lock();
    match args.device.open().map_err(|e| Failure::new(FAILURE, e))? {
        Placed::Card(context) => on_card(out, args, &context, &features, geometry),
        Placed::Processor(why) => {
            if let Some(why) = why {
                writeln!(out, "on the processor: {why}")?;
            }
            on_processor(out, args, &features, geometry)
        }
    }
}

fn failed(e: jnd::score::Error) -> Failure {
    Failure::new(FAILURE, e)
}

/// Pairs of a moving pattern with noise; the distorted one is coarser.
fn pairs(g: &RawGeometry) -> Result<Vec<(Frame, Frame)>, Failure> {
    let max = u32::from(g.format.max_value());
    let mut state = 1u32;
    let mut frame = |t: usize, coarse: u32| -> Result<Frame, Failure> {
        let mut frame = Frame::new(g.format, g.width, g.height).map_err(|e| Failure::new(FAILURE, e))?;
        let mut sample = |i: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v = ((i / 7 + 3 * t) % 200) as u32 + (state >> 27);
            ((v / coarse * coarse) * max / 255).min(max) << g.format.shift()
        };
        match frame.buffer_mut() {
            Buffer::U8(v) => v.iter_mut().enumerate().for_each(|(i, s)| *s = sample(i) as u8),
            Buffer::U16(v) => v.iter_mut().enumerate().for_each(|(i, s)| *s = sample(i) as u16),
        }
        Ok(frame)
    };
    (0..PAIRS).map(|t| Ok((frame(t, 1)?, frame(t, 5)?))).collect()
}

fn on_processor(
    out: &mut impl Write,
    args: &Args,
    features: &[Feature],
    geometry: Geometry,
) -> Result<u8, Failure> {
    // Refused before anything is printed or timed.
    Scorer::new(features, geometry, ScorerOptions::default()).map_err(failed)?;
    let pairs = pairs(&args.size)?;
    let bytes = 2 * args.size.format.frame_bytes(geometry.width, geometry.height, Default::default());
    writeln!(out, "{geometry}, {} pairs in memory; median of {}", args.frames, args.repeats)?;
    for &threads in &args.threads {
        let threads = usize::from(threads);
        let ceiling =
            jnd::magnify::bench::ceiling(64 << 20, threads, 5).map_err(|e| Failure::new(FAILURE, e))?;
        // Copying a pair moves its bytes twice: the scale beside which the features are read.
        let copy = 2.0 * bytes as f64 / ceiling.copy;
        writeln!(
            out,
            "\n{threads} thread{}: copying a pair {:.3} ms at {:.1} GB/s",
            if threads == 1 { "" } else { "s" },
            copy * 1e3,
            ceiling.copy / 1e9
        )?;
        writeln!(out, "  {:<16} {:>12} {:>10}", "feature", "ms a pair", "of copy")?;
        let alone = features.iter().map(|f| (f.name(), std::slice::from_ref(f)));
        let together = (features.len() > 1).then_some(("all together", features));
        for (name, features) in alone.chain(together) {
            let mut seconds = Vec::new();
            for _ in 0..args.repeats {
                if interrupt::flag().load(Ordering::Relaxed) {
                    return Ok(INTERRUPTED);
                }
                let options = ScorerOptions { threads, ..ScorerOptions::default() };
                let mut scorer = Scorer::new(features, geometry, options).map_err(failed)?;
                let start = Instant::now();
                for (reference, distorted) in pairs.iter().cycle().take(args.frames as usize) {
                    scorer.push(reference.view(), distorted.view()).map_err(failed)?;
                    while scorer.next_score().is_some() {}
                }
                scorer.finish().map_err(failed)?;
                seconds.push(start.elapsed().as_secs_f64() / f64::from(args.frames));
            }
            seconds.sort_by(f64::total_cmp);
            let median = seconds[seconds.len() / 2];
            writeln!(out, "  {name:<16} {:>12.3} {:>9.1}x", median * 1e3, median / copy)?;
        }
    }
    Ok(DONE)
}

fn on_card(
    out: &mut impl Write,
    args: &Args,
    context: &jnd::cuda::Context,
    features: &[Feature],
    geometry: Geometry,
) -> Result<u8, Failure> {
    let options = CudaOptions { batch: args.batch.map(usize::from), ..CudaOptions::default() };
    let m = measure(context, features, geometry, &options, args.repeats as usize).map_err(failed)?;
    let rates = jnd::cuda::ceilings(context, 1 << 30).map_err(|e| Failure::new(FAILURE, e))?;
    let n = m.plan.batch as f64;
    writeln!(
        out,
        "{}: {geometry}, batches of {}; median of {}",
        context.info().name,
        m.plan.batch,
        args.repeats
    )?;
    writeln!(
        out,
        "ceilings: copy {:.0}, read {:.0} GB/s; bus up {:.1} GB/s",
        rates.copy, rates.read, rates.up
    )?;
    writeln!(out, "\n  {:<16} {:<22} {:>12}", "feature", "stage", "us a pair")?;
    for s in &m.stages {
        writeln!(out, "  {:<16} {:<22} {:>12.3}", s.feature, s.name, s.seconds * 1e6 / n)?;
    }
    let bus = m.plan.pair_bytes as f64 / rates.up / 1e3;
    writeln!(out, "\n  kernels of all features side by side {:.2} us a pair", m.kernels * 1e6 / n)?;
    writeln!(
        out,
        "  whole run from pinned memory {:.2} us a pair over {} pairs; its copies alone {bus:.2} us ({:.3} x)",
        m.whole * 1e6,
        m.pairs,
        m.whole * 1e6 / bus
    )?;
    writeln!(
        out,
        "  {} launches, {} copies, {} waits in {} batches; {:.1} MB on the card, {:.1} MB pinned; ready after {:.1} ms",
        m.counts.launches,
        m.counts.copies,
        m.counts.waits,
        m.counts.batches,
        m.plan.device_bytes as f64 / 1e6,
        m.plan.pinned_bytes as f64 / 1e6,
        m.setup * 1e3
    )?;
    Ok(DONE)
}
