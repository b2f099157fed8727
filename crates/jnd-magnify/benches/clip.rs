//! Times whole clips and their stages: `cargo bench -p jnd-magnify -- [FILTER]`, or `-- raw FILE WIDTH HEIGHT PIXFMT`
//! for a clip in a raw file (`bgr24` or `yuv420p`); `threads=1` measures one thread alone. See `docs/performance-log.md` for what the figures should be.

use jnd_magnify::{Filter, Options, Pipeline, Plan, Settings, Source, bench};
use jnd_video::{ChromaRounding, Layout, PixelFormat, Rate, Sample};

/// A moving pattern with some noise.
fn made<T: Sample>(f: PixelFormat, w: usize, h: usize, frames: usize) -> Vec<T> {
    let n = f.frame_samples(w, h, ChromaRounding::Ceil);
    let max = u32::from(f.max_value());
    let mut state = 1u32;
    let mut out = Vec::with_capacity(n * frames);
    for t in 0..frames {
        for i in 0..n {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v = ((i / 7 + t) as u32 % 200 + (state >> 27)) * max / 255;
            out.push(T::truncate(v.min(max)));
        }
    }
    out
}

fn print<T: Sample>(name: &str, plan: &Plan, clip: &[T], out: &mut [T], threads: usize) {
    let options = Options { threads, check: false, ..Options::default() };
    let r = bench::clip(plan, &options, clip, out, 7).unwrap();
    println!(
        "{name:<34} {threads} threads {:.4} s ({:.4} to {:.4}), frame {:.3} ms, 99 % {:.3} ms, {:.1} frames/s; copy {:.1} read {:.1} write {:.1} GB/s",
        r.seconds,
        r.spread.0,
        r.spread.1,
        r.frame_seconds.0 * 1e3,
        r.frame_seconds.1 * 1e3,
        r.frames as f64 / r.seconds,
        r.ceiling.copy / 1e9,
        r.ceiling.read / 1e9,
        r.ceiling.write / 1e9,
    );
    for row in &r.rows {
        if row.bytes == 0 {
            println!("    {:<8} {:>11} {:>8.4} s", row.stage, "", row.seconds);
            continue;
        }
        let speed = row.gigabytes_per_second();
        println!(
            "    {:<8} {:>8.1} MB {:>8.4} s {:>6.1} GB/s {:>4.0} % of copy",
            row.stage,
            row.bytes as f64 / 1e6,
            row.seconds,
            speed,
            speed * 1e11 / r.ceiling.copy
        );
    }
}

fn case<T: Sample>(
    name: &str,
    only: &[String],
    settings: &Settings,
    f: PixelFormat,
    size: (usize, usize),
    frames: usize,
    clip: Option<&[T]>,
) {
    let (threads, only): (Vec<&String>, Vec<&String>) = only.iter().partition(|o| o.starts_with("threads="));
    if !only.iter().all(|o| name.contains(o.as_str())) {
        return;
    }
    let threads = threads.first().map_or(vec![1, 2], |t| vec![t["threads=".len()..].parse().unwrap()]);
    let rate = Rate::new(30, 1).unwrap();
    let source = Source { format: f, width: size.0, height: size.1, rate, frames: Some(frames as u64) };
    let plan = Plan::new(settings, &source).unwrap();
    let made = if clip.is_none() { made(f, size.0, size.1, frames) } else { Vec::new() };
    let clip = clip.unwrap_or(&made);
    let mut out = vec![T::default(); clip.len()];
    for threads in threads {
        print(name, &plan, clip, &mut out, threads);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let motion = Settings::default();
    let pulse = Settings::preset("pulse").unwrap();
    let butter = Settings { filter: Filter::Butterworth { low: 0.5, high: 3.0 }, ..motion.clone() };
    let ideal = Settings { filter: Filter::Ideal { low: 0.5, high: 3.0 }, ..motion.clone() };
    let live_pulse = Settings { pipeline: Pipeline::Color, filter: butter.filter, ..pulse.clone() };
    let all = [
        ("motion", &motion),
        ("butterworth", &butter),
        ("ideal", &ideal),
        ("pulse", &pulse),
        ("live pulse", &live_pulse),
    ];
    if args.first().is_some_and(|a| a == "raw") {
        let [_, file, w, h, pixels, only @ ..] = &args[..] else {
            panic!("raw FILE WIDTH HEIGHT PIXFMT [FILTER]")
        };
        let layout = if pixels == "bgr24" { Layout::Bgr } else { Layout::Yuv420 };
        let f = PixelFormat::new(layout, 8).unwrap();
        let (w, h) = (w.parse().unwrap(), h.parse().unwrap());
        let clip = std::fs::read(file).unwrap();
        let frame = f.frame_bytes(w, h, ChromaRounding::Ceil);
        let frames = (clip.len() / frame).min(291);
        for (name, s) in all {
            let name = format!("{name} {pixels}");
            case(&name, only, s, f, (w, h), frames, Some(&clip[..frames * frame]));
        }
        return;
    }
    let bgr = PixelFormat::new(Layout::Bgr, 8).unwrap();
    let yuv = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    let deep = PixelFormat::new(Layout::Yuv420, 10).unwrap();
    for (name, s) in all {
        case::<u8>(&format!("{name} bgr 960x544"), &args, s, bgr, (960, 544), 291, None);
        case::<u8>(&format!("{name} yuv 960x544"), &args, s, yuv, (960, 544), 291, None);
        case::<u8>(&format!("{name} yuv 1920x1080"), &args, s, yuv, (1920, 1080), 120, None);
        case::<u8>(&format!("{name} yuv 3840x2160"), &args, s, yuv, (3840, 2160), 40, None);
        case::<u16>(&format!("{name} yuv10 3840x2160"), &args, s, deep, (3840, 2160), 40, None);
    }
}
