//! `jnd bench`: how fast this machine magnifies, on the processor or on a card, beside what its memory can do.

use std::io::Write;
use std::path::PathBuf;

use jnd::DeviceChoice;
use jnd::cuda::Placed;
use jnd::magnify::{Filter, Options, Plan, Settings, Source, bench};
use jnd::video::{Buffer, ChromaRounding, Input, OpenOptions, RawGeometry, Sample};

use crate::exit::{DONE, FAILURE, Failure, INTERRUPTED};
use crate::{Verbosity, bench_card, bench_score, interrupt, units};

/// Most bytes of a clip that are held in memory (and as many again for the result).
pub(crate) const MOST: usize = 2_000_000_000;

/// Arguments of `jnd bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) what: Option<What>,
    /// Clip to measure with; its first frames are read into memory.
    #[arg(conflicts_with = "size")]
    input: Option<PathBuf>,
    /// Measure with made-up frames of this size, format and rate, such as 1920x1080:yuv420p:30.
    #[arg(long, value_name = "WxH:FORMAT:FPS", value_parser = units::raw, default_value = "960x544:yuv420p:30")]
    size: RawGeometry,
    /// Most frames to use.
    #[arg(long, value_name = "N", default_value_t = 291, value_parser = clap::value_parser!(u32).range(2..))]
    frames: u32,
    /// Where to magnify: auto, cpu, cuda, or cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = units::device)]
    device: DeviceChoice,
    /// Frames of a chunk on the card. Default: what the size asks for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    chunk: Option<u16>,
    /// Threads of the processor; more than one number measures each. Default: 1, and one for each processor.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Vec<u16>,
    /// Runs of which the median is taken.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// What else can be measured.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum What {
    /// Measure how fast this machine scores, on the processor or on a card.
    Score(bench_score::Args),
}

/// The four pairings of pipeline and filter that are measured.
pub(crate) fn cases() -> Vec<(&'static str, Settings)> {
    let motion = Settings::default();
    let butterworth = Settings { filter: Filter::Butterworth { low: 0.5, high: 3.0 }, ..motion.clone() };
    let ideal = Settings { filter: Filter::Ideal { low: 0.5, high: 3.0 }, ..motion.clone() };
    let mut all = vec![
        ("motion, iir", motion),
        ("motion, butterworth 0.5-3 Hz", butterworth),
        ("motion, ideal 0.5-3 Hz", ideal),
    ];
    all.extend(Settings::preset("pulse").map(|pulse| ("color, ideal 0.83-1 Hz", pulse)));
    all
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    if let Some(What::Score(args)) = &args.what {
        return bench_score::run(args);
    }
    // A card that cannot be used is said before a clip is read.
    let placed = args.device.open().map_err(|e| Failure::new(FAILURE, e))?;
    let room = match &placed {
        // A card holds clip and result too, and what it works with.
        Placed::Card(context) => {
            let free = context.memory().map_err(|e| Failure::new(FAILURE, e))?.0;
            MOST.min(usize::try_from(free / 4).unwrap_or(MOST))
        }
        Placed::Processor(_) => MOST,
    };
    let (source, clip) = match &args.input {
        Some(path) => read(path, args.frames as usize, room)?,
        None => make(&args.size, args.frames as usize, room)?,
    };
    let out = &mut std::io::stdout().lock();
    match placed {
        Placed::Card(context) => {
            let chunk = args.chunk.map_or(0, usize::from);
            bench_card::run(out, &context, &source, &clip, chunk, args.repeats as usize, bench_card::CEILING)
        }
        Placed::Processor(why) => {
            if let Some(why) = why {
                writeln!(out, "on the processor: {why}")?;
            }
            on_processor(out, args, &source, &clip)
        }
    }
}

fn on_processor(out: &mut impl Write, args: &Args, source: &Source, clip: &Buffer) -> Result<u8, Failure> {
    let mut threads: Vec<usize> = args.threads.iter().map(|&n| usize::from(n)).collect();
    if threads.is_empty() {
        threads = vec![1, Options::default().thread_count()];
        threads.dedup();
    }
    writeln!(
        out,
        "{} frames of {}x{} {}, in memory; {}; median of {}",
        source.frames.unwrap_or(0),
        source.width,
        source.height,
        source.format,
        Options::default().simd,
        args.repeats,
    )?;
    for (name, settings) in cases() {
        let plan = match Plan::new(&settings, source) {
            Ok(plan) => plan,
            Err(e) => {
                writeln!(out, "\n{name}: not measured: {e}")?;
                continue;
            }
        };
        for &threads in &threads {
            if interrupt::flag().load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(INTERRUPTED);
            }
            let options = Options { threads, check: false, ..Options::default() };
            let report = match clip {
                Buffer::U8(v) => measure(&plan, &options, v, args.repeats as usize),
                Buffer::U16(v) => measure(&plan, &options, v, args.repeats as usize),
            }?;
            print(out, name, &report)?;
        }
    }
    Ok(DONE)
}

fn measure<T: Sample>(
    plan: &Plan,
    options: &Options,
    clip: &[T],
    repeats: usize,
) -> Result<bench::Report, Failure> {
    let mut out = vec![T::default(); clip.len()];
    bench::clip(plan, options, clip, &mut out, repeats).map_err(|e| Failure::new(FAILURE, e))
}

fn print(out: &mut impl Write, name: &str, r: &bench::Report) -> std::io::Result<()> {
    let c = &r.ceiling;
    writeln!(
        out,
        "\n{name}, {} thread{}: {:.4} s ({:.4} to {:.4}), {:.0} frames/s; a frame {:.2} ms, 99 % within {:.2} ms",
        r.threads,
        if r.threads == 1 { "" } else { "s" },
        r.seconds,
        r.spread.0,
        r.spread.1,
        r.frames as f64 / r.seconds,
        r.frame_seconds.0 * 1e3,
        r.frame_seconds.1 * 1e3,
    )?;
    writeln!(
        out,
        "  memory: copy {:.1}, read {:.1}, write {:.1} GB/s",
        c.copy / 1e9,
        c.read / 1e9,
        c.write / 1e9
    )?;
    writeln!(out, "  {:<8} {:>10} {:>10} {:>8} {:>9}", "stage", "MB", "seconds", "GB/s", "of copy")?;
    for row in &r.rows {
        if row.bytes == 0 {
            writeln!(out, "  {:<8} {:>10} {:>10.4}", row.stage, "", row.seconds)?;
            continue;
        }
        let speed = row.gigabytes_per_second();
        let share = speed * 1e11 / c.copy;
        let (mb, s) = (row.bytes as f64 / 1e6, row.seconds);
        writeln!(out, "  {:<8} {mb:>10.1} {s:>10.4} {speed:>8.1} {share:>7.0} %", row.stage)?;
    }
    Ok(())
}

/// The first frames of a clip.
fn read(path: &PathBuf, most: usize, room: usize) -> Result<(Source, Buffer), Failure> {
    let failed = |e: jnd::video::Error| Failure::new(FAILURE, e);
    let mut input = jnd::video::open(&Input::from_arg(path), &OpenOptions::default()).map_err(failed)?;
    let info = input.info().clone();
    let size = info.format.frame_bytes(info.width, info.height, ChromaRounding::Ceil);
    let most = most.min(room / size).max(2);
    let mut frame = input.new_frame().map_err(failed)?;
    let mut clip =
        if info.format.bytes_per_sample() == 1 { Buffer::U8(Vec::new()) } else { Buffer::U16(Vec::new()) };
    let mut frames = 0;
    while frames < most && input.read(&mut frame).map_err(failed)? {
        match (&mut clip, frame.buffer()) {
            (Buffer::U8(clip), Buffer::U8(frame)) => clip.extend_from_slice(frame),
            (Buffer::U16(clip), Buffer::U16(frame)) => clip.extend_from_slice(frame),
            // A source's frames are all of its format.
            _ => break,
        }
        frames += 1;
    }
    let source = Source { frames: Some(frames as u64), ..Source::from(&info) };
    Ok((source, clip))
}

/// A made-up clip: a moving pattern with some noise.
pub(crate) fn make(g: &RawGeometry, most: usize, room: usize) -> Result<(Source, Buffer), Failure> {
    jnd::video::check_size(g.width, g.height).map_err(|e| Failure::new(FAILURE, e))?;
    let n = g.format.frame_samples(g.width, g.height, ChromaRounding::Ceil);
    let frames = most.min(room / (n * g.format.bytes_per_sample())).max(2);
    let (max, shift) = (u32::from(g.format.max_value()), g.format.shift());
    let mut state = 1u32;
    let mut sample = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let v = ((i % n / 7 + i / n) % 200) as u32 + (state >> 27);
        (v * max / 255).min(max) << shift
    };
    let clip = if g.format.bytes_per_sample() == 1 {
        Buffer::U8((0..n * frames).map(|i| sample(i) as u8).collect())
    } else {
        Buffer::U16((0..n * frames).map(|i| sample(i) as u16).collect())
    };
    let source = Source {
        format: g.format,
        width: g.width,
        height: g.height,
        rate: g.rate,
        frames: Some(frames as u64),
    };
    Ok((source, clip))
}
