//! Measuring the magnifier, beside the machine's own speed of copying, reading and writing memory.

use std::sync::Mutex;
use std::time::Instant;

use jnd_video::{ChromaRounding, FrameMut, FrameRef, Sample};

use crate::layout::value_bytes;
use crate::plan::{Plan, Temporal};
use crate::pool::Pool;
use crate::{Error, Magnifier, Options, Result, Step};

/// Seconds that a thread has spent on each part of the work, on average. Parts overlap where there are several threads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    /// Making the finer levels.
    pub(crate) shrink: f64,
    /// The coarse levels, down and up.
    pub(crate) coarse: f64,
    /// From the coarse changes to the output.
    pub(crate) render: f64,
    /// Waiting for another thread's coarse levels.
    pub(crate) wait: f64,
}

/// One line of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub stage: &'static str,
    /// Bytes it must move at least, for the whole clip.
    pub bytes: u64,
    /// Median seconds for the whole clip.
    pub seconds: f64,
}

impl Row {
    /// Bytes a second, in units of 10^9.
    pub fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e9
    }
}

/// What the machine's memory can do with a number of threads, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// Threads.
    pub threads: usize,
    /// Copying: bytes read and bytes written both count.
    pub copy: f64,
    /// Reading.
    pub read: f64,
    /// Writing.
    pub write: f64,
}

/// A measured clip.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Frames.
    pub frames: usize,
    /// Threads.
    pub threads: usize,
    /// Median seconds of the whole, from array to array, setting up included.
    pub seconds: f64,
    /// The fastest and the slowest run.
    pub spread: (f64, f64),
    /// Time of one frame in the steady state: median and 99th percentile.
    pub frame_seconds: (f64, f64),
    /// The whole first, then each stage as the threads have spent on it on average (stages overlap), and their waiting
    /// for each other in the middle of a frame. What is left over is setting up and the frames' ends.
    pub rows: Vec<Row>,
    /// Measured on arrays of the same size just before.
    pub ceiling: Ceiling,
}

fn median(v: &mut [f64]) -> f64 {
    percentile(v, 0.5)
}

pub(crate) fn percentile(v: &mut [f64], p: f64) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(((v.len() as f64 * p) as usize).min(v.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// Measures the ceiling on arrays of `bytes` bytes: the best of `repeats`.
///
/// # Errors
/// [`Error::Threads`].
pub fn ceiling(bytes: usize, threads: usize, repeats: usize) -> Result<Ceiling> {
    let words = (bytes / 8).max(threads * 8);
    let (mut a, mut b) = (vec![1u64; words], vec![2u64; words]);
    measure_ceiling(&mut a, &mut b, threads, repeats)
}

fn measure_ceiling(a: &mut [u64], b: &mut [u64], threads: usize, repeats: usize) -> Result<Ceiling> {
    let pool = Pool::new(threads).map_err(Error::Threads)?;
    let share = a.len().div_ceil(threads);
    let bytes = (a.len() * 8) as f64;
    let best = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
    let mut run = |kind: usize| {
        let times = (0..repeats.max(1)).map(|_| {
            let parts: Vec<_> = a.chunks(share).zip(b.chunks_mut(share)).collect();
            let queue = Mutex::new(parts);
            let start = Instant::now();
            pool.run(&|_| {
                loop {
                    let part = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
                    let Some((a, b)) = part else { return };
                    match kind {
                        0 => b.copy_from_slice(a),
                        1 => {
                            std::hint::black_box(a.iter().fold(0u64, |s, x| s.wrapping_add(*x)));
                        }
                        _ => b.fill(std::hint::black_box(3)),
                    }
                }
            });
            start.elapsed().as_secs_f64()
        });
        best(times.collect())
    };
    Ok(Ceiling { threads, copy: 2.0 * bytes / run(0), read: bytes / run(1), write: bytes / run(2) })
}

/// Bytes that a stage must move for one frame, if every level goes through memory once.
fn stage_bytes(plan: &Plan) -> [u64; 3] {
    let s = plan.source();
    let sample = s.format.bytes_per_sample();
    let frame = s.format.frame_bytes(s.width, s.height, ChromaRounding::Ceil) as u64;
    let mut fine = 0;
    let mut coarse = 0;
    let mut filtered = 0;
    let state = match plan.temporal() {
        Temporal::Causal { .. } => 2 * 2 * 4,
        Temporal::Projection { .. } => 4,
    };
    for chain in plan.chains() {
        for (k, l) in chain.levels.iter().enumerate() {
            let bytes = (l.samples() * value_bytes(l.stored, sample)) as u64;
            if l.step == Step::Source {
                continue;
            }
            if k < 3 {
                fine += bytes;
                if l.filtered() {
                    filtered += 2 * bytes + (l.samples() * state) as u64;
                }
            } else {
                coarse += 3 * bytes;
            }
        }
    }
    [frame + fine, coarse, 2 * frame + filtered]
}

/// Magnifies a clip held in memory `repeats` times, and says where the time went.
///
/// # Errors
/// Those of the magnifier; [`Error::WrongLength`] when the arrays do not hold the same number of whole frames.
pub fn clip<T: Sample>(
    plan: &Plan,
    options: &Options,
    input: &[T],
    out: &mut [T],
    repeats: usize,
) -> Result<Report> {
    let s = *plan.source();
    let frame = s.format.frame_samples(s.width, s.height, ChromaRounding::Ceil);
    let frames = input.len() / frame;
    if frames * frame != input.len() || out.len() != input.len() {
        return Err(Error::WrongLength { name: "output", have: out.len(), want: frames * frame });
    }
    let threads = options.thread_count();
    let ceiling = ceiling(input.len() * T::BYTES, threads, 5)?;
    let view = |v| FrameRef::from_samples(s.format, s.width, s.height, v);
    let mut whole = Vec::new();
    let mut parts: [Vec<f64>; 4] = Default::default();
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        let mut m = Magnifier::for_clip(plan.clone(), options)?;
        m.whole_clip(input, out)?;
        let t = m.times();
        drop(m);
        whole.push(start.elapsed().as_secs_f64());
        for (part, t) in parts.iter_mut().zip([t.shrink, t.coarse, t.render, t.wait]) {
            part.push(t);
        }
    }
    // As a live picture comes: one frame at a time.
    let mut each = Vec::with_capacity(frames);
    let mut m = Magnifier::new(plan.clone(), &Options { batch: 1, ..*options })?;
    if m.needs_two_passes() {
        for f in input.chunks_exact(frame) {
            m.observe(&view(f)?)?;
        }
        m.begin_render()?;
    }
    for (f, o) in input.chunks_exact(frame).zip(out.chunks_exact_mut(frame)) {
        let before = Instant::now();
        m.push(&view(f)?, &mut FrameMut::from_samples(s.format, s.width, s.height, o)?)?;
        each.push(before.elapsed().as_secs_f64());
    }
    let n = frames as u64;
    let [fine, coarse, last] = stage_bytes(plan);
    let clip_bytes = (input.len() * T::BYTES) as u64;
    let seconds = median(&mut whole);
    // The first pass of the ideal filter projects as well.
    let first = if plan.needs_two_passes() { "observe" } else { "shrink" };
    let mut rows = vec![Row { stage: "whole", bytes: 2 * clip_bytes, seconds }];
    let stages = [(first, fine), ("coarse", coarse), ("render", last), ("wait", 0)];
    for ((stage, bytes), part) in stages.into_iter().zip(&mut parts) {
        rows.push(Row { stage, bytes: n * bytes, seconds: median(part) });
    }
    Ok(Report {
        frames,
        threads,
        seconds,
        spread: (whole[0], whole[whole.len() - 1]),
        frame_seconds: (median(&mut each), percentile(&mut each, 0.99)),
        rows,
        ceiling,
    })
}
