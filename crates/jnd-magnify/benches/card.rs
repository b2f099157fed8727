//! Times on a card: every stage with the bytes it must move, whole clips from host memory, live frames.
//! `card [GROUP ...]`: resident, chunks, session, live, wide (all but `chunks` when none is named).

use std::time::Instant;

use jnd_cuda::{Ceilings, Context, Device, PinnedBuffer, Transfer, ceilings};
use jnd_magnify::cuda::measure::{self, Resident};
use jnd_magnify::cuda::{ClipRunner, Options};
use jnd_magnify::{Filter, Pipeline, Plan, Settings, Source, Temporal};
use jnd_video::{ChromaRounding, Layout, Packing, PixelFormat, Rate};

const RUNS: usize = 9;

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

fn source(layout: Layout, depth: u8, width: usize, height: usize, frames: usize) -> Source {
    let format = PixelFormat::with_packing(layout, depth, Packing::Low).unwrap();
    Source { format, width, height, rate: Rate::new(30, 1).unwrap(), frames: Some(frames as u64) }
}

/// A clip with structure in space and time and some noise, so that no cache or branch has it easier than with a real one.
fn fill(out: &mut [u8], source: &Source) {
    let n = source.format.frame_bytes(source.width, source.height, ChromaRounding::Ceil);
    let mut base = vec![0u8; n];
    let mut x = 0x9E37_79B9u32;
    for (i, b) in base.iter_mut().enumerate() {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *b = ((i / 37 % 170) as u32 + 20 + (x >> 28)) as u8;
    }
    for (t, frame) in out.chunks_exact_mut(n).enumerate() {
        let wave = ((t as f64 * 0.4).sin() * 5.0) as i32;
        for (o, b) in frame.iter_mut().zip(&base) {
            *o = (i32::from(*b) + wave) as u8;
        }
    }
}

fn clip(source: &Source) -> Vec<u8> {
    let n = source.format.frame_bytes(source.width, source.height, ChromaRounding::Ceil);
    let mut clip = vec![0u8; n * source.frames.unwrap() as usize];
    fill(&mut clip, source);
    clip
}

/// [`measure::resident`] for samples of either size.
fn resident(context: &Context, settings: &Settings, source: &Source, chunk: usize) -> Resident {
    let plan = Plan::new(settings, source).unwrap();
    let clip = clip(source);
    match source.format.bytes_per_sample() {
        1 => measure::resident(context, &plan, chunk, &clip, RUNS),
        _ => {
            let wide: Vec<u16> = clip.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
            measure::resident(context, &plan, chunk, &wide, RUNS)
        }
    }
    .unwrap()
}

fn configurations() -> Vec<(&'static str, Settings, Source)> {
    let motion = Settings::default();
    let baby = source(Layout::Bgr, 8, 960, 544, 291);
    let face = source(Layout::Bgr, 8, 528, 592, 291);
    let butter = Filter::Butterworth { low: 0.4, high: 3.0 };
    let ideal = Filter::Ideal { low: 0.5, high: 3.0 };
    vec![
        ("motion iir baby", motion.clone(), baby),
        ("motion butterworth baby", Settings { filter: butter, ..motion.clone() }, baby),
        ("motion ideal 0.5-3 baby", Settings { filter: ideal, ..motion.clone() }, baby),
        ("motion ideal 0.5-3 c=0 baby", Settings { filter: ideal, chroma: 0.0, ..motion.clone() }, baby),
        ("motion iir c=0 baby", Settings { chroma: 0.0, ..motion.clone() }, baby),
        ("pulse face", Settings::preset("pulse").unwrap(), face),
        (
            "pulse butterworth face",
            Settings {
                filter: butter,
                pipeline: Pipeline::Color,
                alpha: 50.0,
                chroma: 1.0,
                ..motion.clone()
            },
            face,
        ),
        ("motion iir baby yuv420", motion.clone(), source(Layout::Yuv420, 8, 960, 544, 291)),
        ("motion iir baby nv12", motion.clone(), source(Layout::Nv12, 8, 960, 544, 291)),
        ("motion iir 4K yuv420", motion.clone(), source(Layout::Yuv420, 8, 3840, 2160, 96)),
        ("motion iir 1080p yuv420 10", motion, source(Layout::Yuv420, 10, 1920, 1080, 96)),
    ]
}

fn main() {
    let groups: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let wants = |g: &str| groups.iter().any(|x| x == g) || (groups.is_empty() && g != "chunks");
    let started = Instant::now();
    let context = match Context::open(Device(0)) {
        Ok(c) => c,
        Err(e) => {
            println!("skipped: {e}");
            return;
        }
    };
    println!("{}: context after {:.0} ms", context.info().name, started.elapsed().as_secs_f64() * 1e3);
    if wants("live") {
        live(&context, started);
    }
    let c = ceilings(&context, 2 << 30).unwrap();
    println!(
        "ceilings, GB/s: copy {:.0} (read + written), read {:.0}, write {:.0}; bus up {:.1}, down {:.1}, both {:.1} each",
        c.copy, c.read, c.write, c.up, c.down, c.both
    );
    if wants("chunks") {
        chunks(&context);
    }
    if wants("resident") {
        for (name, settings, source) in configurations() {
            stage_table(&context, &c, name, &settings, &source);
        }
    }
    if wants("session") {
        sessions(&context, &c);
    }
    if wants("wide") {
        wide(&context, &c);
    }
}

fn stage_table(context: &Context, c: &Ceilings, name: &str, settings: &Settings, source: &Source) {
    let r = resident(context, settings, source, 0);
    let plan = Plan::new(settings, source).unwrap();
    let frames = source.frames.unwrap() as usize;
    let bins = match plan.temporal() {
        Temporal::Causal { .. } => 0,
        Temporal::Projection { bins, .. } => bins.len(),
    };
    println!(
        "{name}: {:.3} ms for {frames} frames, {:.0} MB on the card{}",
        r.ms,
        r.memory as f64 / 1e6,
        if bins > 0 { format!(", {bins} bins") } else { String::new() }
    );
    for row in r.stages {
        let (of, rate) = row.ceiling(c);
        let speed = row.gigabytes_per_second();
        println!(
            "    {:8} {:7.3} ms {:7.0} MB {speed:6.0} GB/s {:4.0} % of {of}",
            row.stage,
            row.ms,
            row.bytes() as f64 / 1e6,
            speed * 100.0 / rate
        );
    }
}

fn chunks(context: &Context) {
    for i in [0, 2, 5, 7, 9] {
        let (name, settings, source) = configurations().swap_remove(i);
        let mut line = format!("{name}:");
        for chunk in [1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 291] {
            let r = resident(context, &settings, &source, chunk);
            line += &format!(" {chunk}:{:.3}", r.ms);
        }
        println!("{line} (ms by chunk length)");
    }
}

fn sessions(context: &Context, c: &Ceilings) {
    for i in [0, 5, 7] {
        let (name, settings, source) = configurations().swap_remove(i);
        let plan = Plan::new(&settings, &source).unwrap();
        let clip = clip(&source);
        let mut out = vec![1u8; clip.len()];
        let bus = clip.len() as f64 / c.both / 1e6;
        for chunk in [0, 4, 8, 16, 24, 32] {
            let options = Options { chunk, ..Default::default() };
            let r = measure::host_to_host(context, &plan, &options, &clip, &mut out, RUNS).unwrap();
            assert!(r.same);
            println!(
                "{name}, host to host, chunk {}: pinned {:.2} ms, pageable {:.2} ms (bus alone {bus:.2}); session {:.0} MB, opened in {:.0} ms",
                r.chunk,
                r.pinned_ms,
                r.pageable_ms,
                r.memory as f64 / 1e6,
                r.opened_ms
            );
        }
    }
}

/// 4K through a ring: the clip is the same pinned frames over and over, as a capture card would give them.
fn wide(context: &Context, c: &Ceilings) {
    let source = source(Layout::Yuv420, 8, 3840, 2160, 192);
    let plan = Plan::new(&Settings::default(), &source).unwrap();
    let frame = source.format.frame_bytes(source.width, source.height, ChromaRounding::Ceil);
    let n = frame * 192;
    let mut input = PinnedBuffer::new(context, n, Transfer::Download).unwrap();
    let mut output = PinnedBuffer::new(context, n, Transfer::Download).unwrap();
    fill(input.as_mut_slice(), &source);
    for chunk in [1, 2, 4, 8] {
        let mut runner = ClipRunner::new(&plan, context, &Options { chunk, ..Default::default() }).unwrap();
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let t = Instant::now();
            runner.run(input.as_slice(), output.as_mut_slice()).unwrap();
            times.push(t.elapsed().as_secs_f64());
        }
        let s = median(times);
        println!(
            "4K yuv420, pinned, chunk {chunk}: {:.0} frames/s, {:.1} GB/s each way, {:.0} % of the bus; {:.0} MB on the card",
            192.0 / s,
            n as f64 / s / 1e9,
            n as f64 / s / 1e7 / c.both,
            runner.memory() as f64 / 1e6
        );
    }
}

fn live(context: &Context, started: Instant) {
    let source = Source { frames: Some(1), ..source(Layout::Yuv420, 8, 1920, 1080, 1) };
    let plan = Plan::new(&Settings::default(), &source).unwrap();
    let clip = clip(&source);
    let ready = started.elapsed().as_secs_f64() * 1e3;
    let r = measure::live(context, &plan, &clip, 1000).unwrap();
    println!("first frame out {:.0} ms after the start of the process", ready + r.opened + r.first);
    println!(
        "live 1080p yuv420: median {:.3} ms, 99th percentile {:.3}, worst {:.3}",
        r.median, r.p99, r.worst
    );
}
