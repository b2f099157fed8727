//! Times on a card: every stage with the bytes it must move, whole clips from host memory, live frames.
//! `card [GROUP ...]`: resident, chunks, session, live, wide (all but `chunks` when none is named).

use std::time::Instant;

use jnd_cuda::{
    Ceilings, Context, Device, DeviceBuffer, Event, PinnedBuffer, Priority, Stream, Transfer, ceilings,
};
use jnd_magnify::cuda::{ClipRunner, DeviceFrames, DeviceMagnifier, Options, Session, Stage};
use jnd_magnify::{Filter, Pipeline, Plan, Settings, Source, Temporal};
use jnd_video::{ChromaRounding, Frame, Layout, Packing, PixelFormat, Rate};

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

struct Resident {
    ms: f64,
    stages: Vec<(Stage, f64)>,
    memory: u64,
}

/// Bytes that each stage must move at least: each input read once, each output written once.
fn least(plan: &Plan, frames: usize) -> Vec<(Stage, f64)> {
    let s = plan.source();
    let sample = s.format.bytes_per_sample();
    let frame = s.format.frame_bytes(s.width, s.height, ChromaRounding::Ceil) as f64;
    let (mut down, mut filter, mut render) = (frame, 0.0, 2.0 * frame);
    let mut project = 0.0;
    for c in plan.chains() {
        for (k, l) in c.levels.iter().enumerate().skip(1) {
            let value = match l.stored {
                jnd_magnify::Stored::Samples => sample,
                jnd_magnify::Stored::Integer { .. } => 2 * sample,
                jnd_magnify::Stored::Float => 4,
            } as f64;
            let n = l.samples() as f64;
            down += n * value;
            if l.filtered() {
                filter += n * value;
                project += n * value;
            }
            // The change of level 1 is written by the filter and read by the last pass.
            if k == 1 && c.last() > 0 {
                filter += 4.0 * n;
                render += 4.0 * n;
            }
        }
    }
    let f = frames as f64;
    vec![
        (Stage::Shrink, down * f),
        (Stage::Project, project * f),
        (Stage::Filter, filter * f),
        (Stage::Render, render * f),
    ]
}

fn resident(context: &Context, settings: &Settings, source: &Source, chunk: usize, stages: bool) -> Resident {
    let frames = source.frames.unwrap() as usize;
    let plan = Plan::new(settings, source).unwrap();
    let n = source.format.frame_bytes(source.width, source.height, ChromaRounding::Ceil) * frames;
    let (a, b) = (DeviceBuffer::new(context, n).unwrap(), DeviceBuffer::new(context, n).unwrap());
    let stream = Stream::new(context, Priority::Normal).unwrap();
    let mut host = vec![0u8; n];
    fill(&mut host, source);
    // SAFETY: both hold n bytes.
    unsafe { stream.upload(a.ptr(), host.as_ptr(), n) }.unwrap();
    stream.synchronize().unwrap();
    let (src, dst) =
        (DeviceFrames::packed(source, a.ptr(), frames), DeviceFrames::packed(source, b.ptr(), frames));
    let mut m = DeviceMagnifier::new(&plan, context, chunk, None).unwrap();
    let (start, end) = (Event::timed(context).unwrap(), Event::timed(context).unwrap());
    let mut times = Vec::new();
    let mut sums: Vec<(Stage, Vec<f64>)> = Vec::new();
    for run in 0..RUNS * 2 + 2 {
        // The second half also times stages, which costs an event each.
        let staged = run > RUNS;
        if staged && !stages {
            break;
        }
        m.reset();
        m.time_stages(staged);
        stream.record(&start).unwrap();
        // SAFETY: the frames are in the two buffers, which outlive the stream's work.
        unsafe {
            if m.needs_two_passes() {
                m.observe(&stream, &src).unwrap();
                m.begin_render().unwrap();
            }
            m.push(&stream, &src, &dst).unwrap();
        }
        stream.record(&end).unwrap();
        end.synchronize().unwrap();
        if run == 0 {
            continue;
        }
        if staged {
            for (s, ms) in m.stage_times().unwrap() {
                match sums.iter_mut().find(|x| x.0 == s) {
                    Some(x) => x.1.push(ms),
                    None => sums.push((s, vec![ms])),
                }
            }
        } else {
            times.push(end.elapsed_ms(&start).unwrap());
        }
    }
    Resident {
        ms: median(times),
        stages: sums.into_iter().map(|(s, v)| (s, median(v))).collect(),
        memory: m.memory(),
    }
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
    let r = resident(context, settings, source, 0, true);
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
    let bytes = least(&plan, frames);
    for (stage, ms) in r.stages {
        let b = bytes.iter().find(|b| b.0 == stage).map_or(0.0, |b| b.1);
        println!(
            "    {stage:8} {ms:7.3} ms {:7.0} MB {:6.0} GB/s {:4.0} %",
            b / 1e6,
            b / ms / 1e6,
            b / ms / 1e4 / c.copy
        );
    }
}

fn chunks(context: &Context) {
    for i in [0, 2, 5, 7, 9] {
        let (name, settings, source) = configurations().swap_remove(i);
        let mut line = format!("{name}:");
        for chunk in [1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 291] {
            let r = resident(context, &settings, &source, chunk, false);
            line += &format!(" {chunk}:{:.3}", r.ms);
        }
        println!("{line} (ms by chunk length)");
    }
}

fn sessions(context: &Context, c: &Ceilings) {
    for i in [0, 5, 7] {
        let (name, settings, source) = configurations().swap_remove(i);
        let plan = Plan::new(&settings, &source).unwrap();
        let frame = source.format.frame_bytes(source.width, source.height, ChromaRounding::Ceil);
        let n = frame * source.frames.unwrap() as usize;
        let mut pinned_in = PinnedBuffer::new(context, n, Transfer::Download).unwrap();
        let mut pinned_out = PinnedBuffer::new(context, n, Transfer::Download).unwrap();
        fill(pinned_in.as_mut_slice(), &source);
        let input = pinned_in.as_slice().to_vec();
        let mut output = vec![1u8; n];
        let bus = n as f64 / c.both / 1e6;
        for chunk in [0, 4, 8, 16, 24, 32] {
            let options = Options { chunk, ..Default::default() };
            let opened = Instant::now();
            let mut runner = ClipRunner::new(&plan, context, &options).unwrap();
            let opened = opened.elapsed().as_secs_f64() * 1e3;
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for run in 0..=RUNS {
                let t = Instant::now();
                runner.run(pinned_in.as_slice(), pinned_out.as_mut_slice()).unwrap();
                let pinned = t.elapsed().as_secs_f64() * 1e3;
                let t = Instant::now();
                runner.run(&input, &mut output).unwrap();
                if run > 0 {
                    a.push(pinned);
                    b.push(t.elapsed().as_secs_f64() * 1e3);
                }
            }
            assert!(output == pinned_out.as_slice());
            println!(
                "{name}, host to host, chunk {}: pinned {:.2} ms, pageable {:.2} ms (bus alone {bus:.2}); session {:.0} MB, opened in {opened:.0} ms",
                runner.chunk(),
                median(a),
                median(b),
                runner.memory() as f64 / 1e6
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
    let source = source(Layout::Yuv420, 8, 1920, 1080, 300);
    let plan = Plan::new(&Settings::default(), &source).unwrap();
    let mut session =
        Session::with_context(&plan, context, &Options { chunk: 1, ..Default::default() }).unwrap();
    let mut frame = Frame::new(source.format, source.width, source.height).unwrap();
    fill(frame.bytes_mut(), &source);
    let mut out = frame.clone();
    let mut times = Vec::new();
    for i in 0..1000 {
        let t = Instant::now();
        session.push(&frame.view(), &mut out.view_mut()).unwrap();
        times.push(t.elapsed().as_secs_f64() * 1e3);
        if i == 0 {
            println!(
                "first frame out {:.0} ms after the start of the process",
                started.elapsed().as_secs_f64() * 1e3
            );
        }
    }
    times.drain(..20);
    times.sort_by(f64::total_cmp);
    println!(
        "live 1080p yuv420: median {:.3} ms, 99th percentile {:.3}, worst {:.3}",
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
}
