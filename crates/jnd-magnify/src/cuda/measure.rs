//! How long magnifying takes on a card: each stage beside the bytes it must move, whole clips from host memory and back,
//! single frames.

use std::time::Instant;

use jnd_cuda::{Ceilings, Context, DeviceBuffer, Event, PinnedBuffer, Priority, Stream, Transfer};
use jnd_video::{ChromaRounding, Frame, FrameRef, Sample};

use super::memory::{fused, real_bytes, worked_on};
use super::{ClipRunner, DeviceFrames, DeviceMagnifier, Options, Session, Stage};
use crate::bench::percentile;
use crate::plan::{Enlarge, Level, Plan, Stored, Temporal};
use crate::{Error, Result};

/// Time of a stage for a whole clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Bytes it must read at least: each input once.
    pub read: u64,
    /// Bytes it must write at least: each output once.
    pub written: u64,
    /// Median milliseconds.
    pub ms: f64,
}

impl StageTime {
    /// Bytes it must move at least.
    pub fn bytes(&self) -> u64 {
        self.read + self.written
    }

    /// The rate at which it moved them, in units of 10^9 bytes a second.
    pub fn gigabytes_per_second(&self) -> f64 {
        self.bytes() as f64 / self.ms.max(1e-9) / 1e6
    }

    /// What bounds it: the name and rate of the ceiling for what it does.
    pub fn ceiling(&self, rates: &Ceilings) -> (&'static str, f64) {
        // A little of the other kind is no copying.
        match (self.read, self.written) {
            (read, written) if written < read / 16 => ("read", rates.read),
            (read, written) if read < written / 16 => ("write", rates.write),
            _ => ("copy", rates.copy),
        }
    }
}

/// A clip magnified where it lies on the card.
#[derive(Debug, Clone, PartialEq)]
pub struct Resident {
    /// Median milliseconds of all kernels, one pass or two.
    pub ms: f64,
    /// Each stage; measured in runs of their own, since an event costs time too.
    pub stages: Vec<StageTime>,
    /// Milliseconds to upload the clip from page-locked memory, and to download the result.
    pub bus_ms: (f64, f64),
    /// Bytes of device memory, the clip and the result apart.
    pub memory: u64,
}

/// A clip magnified from host memory to host memory.
#[derive(Debug, Clone, PartialEq)]
pub struct HostToHost {
    /// Frames of a chunk.
    pub chunk: usize,
    /// Bytes of device memory.
    pub memory: u64,
    /// Milliseconds to take all memory.
    pub opened_ms: f64,
    /// Median milliseconds from page-locked memory to page-locked memory.
    pub pinned_ms: f64,
    /// Median milliseconds from ordinary memory to ordinary memory.
    pub pageable_ms: f64,
    /// Whether both gave the same bytes.
    pub same: bool,
}

/// Single frames, from the moment one is pushed until it is back in host memory; milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live {
    /// Until a frame can be pushed.
    pub opened: f64,
    /// The first frame.
    pub first: f64,
    /// The median of the later ones.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The slowest.
    pub worst: f64,
}

fn median(mut v: Vec<f64>) -> f64 {
    percentile(&mut v, 0.5)
}

fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Bytes that a stage must read and write at least for a clip of so many frames: each of its inputs and outputs once. The
/// states of a causal filter stay where they are from frame to frame and are not counted.
fn least(plan: &Plan, stage: Stage, frames: usize) -> (u64, u64) {
    let s = plan.source();
    let sample = s.format.bytes_per_sample();
    let n = frames as u64;
    let (mut read, mut written) = (0, 0);
    for chain in worked_on(plan) {
        let plane = |&p: &usize| s.format.plane_size(p, s.width, s.height, ChromaRounding::Ceil).samples();
        let planes = n * (chain.planes.iter().map(plane).sum::<usize>() * sample) as u64;
        let samples = |l: &Level| n * (l.samples() * l.parts) as u64;
        let level = |l: &Level| {
            let value = match l.stored {
                Stored::Samples => sample,
                Stored::Integer { .. } => 2 * sample,
                Stored::Float => 4,
            };
            samples(l) * value as u64
        };
        let change = |k: usize| chain.levels.get(k).map_or(0, |l| 4 * samples(l));
        let last = chain.last();
        let finest = usize::from(chain.levels.first().is_some_and(|l| !l.filtered()));
        let fused = fused(plan, &chain).is_some();
        // The first level whose filter is not inside the last pass; its change, with all below it, is what that pass takes.
        let first = match chain.enlarge {
            Enlarge::Bilinear => last,
            Enlarge::Pyramid => finest + usize::from(fused),
        };
        let filtered = || chain.levels.iter().enumerate().filter(|(_, l)| l.filtered());
        let (r, w) = match (stage, plan.temporal()) {
            (Stage::Copy, _) if chain.is_copy() => (planes, planes),
            _ if chain.is_copy() => (0, 0),
            (Stage::Shrink, _) if last == 0 => (0, 0),
            (Stage::Shrink, _) => (planes, chain.levels.iter().skip(1).map(level).sum()),
            (Stage::Filter, Temporal::Causal { .. }) => {
                (filtered().filter(|x| x.0 >= first).map(|x| level(x.1)).sum(), change(first))
            }
            (Stage::Project | Stage::Filter, Temporal::Projection { bins, .. }) => {
                let sums = |l: &Level| samples(l) / n.max(1) * (2 * bins.len() * real_bytes(plan)) as u64;
                let sums = filtered().map(|x| sums(x.1)).sum();
                match stage {
                    Stage::Project => (filtered().map(|x| level(x.1)).sum(), sums),
                    _ => (sums, change(first)),
                }
            }
            (Stage::Render, _) => {
                let inside = if fused && finest > 0 { level(&chain.levels[finest]) } else { 0 };
                (planes + inside + change(first), planes)
            }
            (Stage::Copy | Stage::Project, _) => (0, 0),
        };
        (read, written) = (read + r, written + w);
    }
    (read, written)
}

/// The number of frames in `clip`, which must fit the plan.
fn frames<T: Sample>(plan: &Plan, clip: &[T]) -> Result<usize> {
    let s = plan.source();
    let frame = s.format.frame_samples(s.width, s.height, ChromaRounding::Ceil);
    let n = clip.len() / frame.max(1);
    let fits = n > 0 && n * frame == clip.len() && T::BYTES == s.format.bytes_per_sample();
    if fits {
        Ok(n)
    } else {
        Err(Error::WrongLength { name: "clip", have: clip.len(), want: n.max(1) * frame })
    }
}

/// Magnifies a clip that is on the card, `repeats` times after one that is not counted; as often again for the stages.
/// `chunk` is that of [`DeviceMagnifier::new`].
///
/// # Errors
/// Too little memory for the clip twice and the rest, an array that does not hold whole frames, or the card failed.
pub fn resident<T: Sample>(
    context: &Context,
    plan: &Plan,
    chunk: usize,
    clip: &[T],
    repeats: usize,
) -> Result<Resident> {
    let count = frames(plan, clip)?;
    let bytes = size_of_val(clip);
    let (a, b) = (DeviceBuffer::new(context, bytes)?, DeviceBuffer::new(context, bytes)?);
    let stream = Stream::new(context, Priority::Normal)?;
    let (start, end) = (Event::timed(context)?, Event::timed(context)?);
    let timed = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        stream.record(&start)?;
        work()?;
        stream.record(&end)?;
        end.synchronize()?;
        Ok(end.elapsed_ms(&start)?)
    };
    let mut host = PinnedBuffer::new(context, bytes, Transfer::Download)?;
    host.as_mut_slice().copy_from_slice(bytemuck::cast_slice(clip));
    let up = timed(&mut || {
        // SAFETY: both hold that many bytes, and `timed` waits for the copy.
        unsafe { stream.upload(a.ptr(), host.as_ptr(), bytes) }?;
        Ok(())
    })?;
    let (src, dst) = (
        DeviceFrames::packed(plan.source(), a.ptr(), count),
        DeviceFrames::packed(plan.source(), b.ptr(), count),
    );
    let mut m = DeviceMagnifier::new(plan, context, chunk, None)?;
    let mut times = Vec::new();
    let mut stages: Vec<(Stage, Vec<f64>)> = Vec::new();
    let repeats = repeats.max(1);
    for run in 0..=2 * repeats {
        let staged = run > repeats;
        m.reset();
        m.time_stages(staged);
        // SAFETY: the frames are in the two buffers, which outlive the stream's work.
        let ms = timed(&mut || unsafe {
            if m.needs_two_passes() {
                m.observe(&stream, &src)?;
                m.begin_render()?;
            }
            m.push(&stream, &src, &dst)
        })?;
        if staged {
            for (stage, ms) in m.stage_times()? {
                match stages.iter_mut().find(|s| s.0 == stage) {
                    Some(s) => s.1.push(ms),
                    None => stages.push((stage, vec![ms])),
                }
            }
        } else if run > 0 {
            times.push(ms);
        }
    }
    let down = timed(&mut || {
        // SAFETY: as for the upload.
        unsafe { stream.download(host.as_ptr(), b.ptr(), bytes) }?;
        Ok(())
    })?;
    let row = |(stage, ms)| {
        let (read, written) = least(plan, stage, count);
        StageTime { stage, read, written, ms: median(ms) }
    };
    Ok(Resident {
        ms: median(times),
        stages: stages.into_iter().map(row).collect(),
        bus_ms: (up, down),
        memory: m.memory(),
    })
}

/// Magnifies `clip` into `out`, and the same in page-locked memory, `repeats` times after one that is not counted.
///
/// # Errors
/// As [`super::magnify_clip`].
pub fn host_to_host<T: Sample>(
    context: &Context,
    plan: &Plan,
    options: &Options,
    clip: &[T],
    out: &mut [T],
    repeats: usize,
) -> Result<HostToHost> {
    let bytes = size_of_val(clip);
    let mut pinned_in = PinnedBuffer::new(context, bytes, Transfer::Download)?;
    let mut pinned_out = PinnedBuffer::new(context, bytes, Transfer::Download)?;
    pinned_in.as_mut_slice().copy_from_slice(bytemuck::cast_slice(clip));
    let start = Instant::now();
    let mut runner = ClipRunner::new(plan, context, options)?;
    let opened_ms = since(start);
    let (mut pinned, mut pageable) = (Vec::new(), Vec::new());
    for run in 0..=repeats.max(1) {
        let start = Instant::now();
        let (from, to) = (pinned_in.as_slice(), pinned_out.as_mut_slice());
        runner.run::<T>(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to))?;
        let first = since(start);
        let start = Instant::now();
        runner.run(clip, out)?;
        if run > 0 {
            pinned.push(first);
            pageable.push(since(start));
        }
    }
    Ok(HostToHost {
        chunk: runner.chunk(),
        memory: runner.memory(),
        opened_ms,
        pinned_ms: median(pinned),
        pageable_ms: median(pageable),
        same: pinned_out.as_slice() == bytemuck::cast_slice::<T, u8>(out),
    })
}

/// Pushes `count` single frames, those of `clip` over and over. A causal filter's only.
///
/// # Errors
/// As [`Session::push`].
pub fn live<T: Sample>(context: &Context, plan: &Plan, clip: &[T], count: usize) -> Result<Live> {
    let n = frames(plan, clip)?;
    let s = *plan.source();
    let start = Instant::now();
    let mut session = Session::with_context(plan, context, &Options { chunk: 1, ..Options::default() })?;
    let opened = since(start);
    let mut out = Frame::new(s.format, s.width, s.height)?;
    let mut times = Vec::with_capacity(count);
    for frame in clip.chunks_exact(clip.len() / n).cycle().take(count.max(2)) {
        let view = FrameRef::from_samples(s.format, s.width, s.height, frame)?;
        let start = Instant::now();
        session.push(&view, &mut out.view_mut())?;
        times.push(since(start));
    }
    let first = times[0];
    // The first few are still finding their feet.
    times.drain(..(times.len() / 50).max(1));
    let (median, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    // Sorted by now.
    Ok(Live { opened, first, median, p99, worst: times[times.len() - 1] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, Source};
    use jnd_video::{Layout, PixelFormat, Rate};

    fn plan(layout: Layout, settings: Settings) -> Plan {
        let format = PixelFormat::new(layout, 8).unwrap();
        let source =
            Source { format, width: 64, height: 32, rate: Rate::new(30, 1).unwrap(), frames: Some(300) };
        Plan::new(&settings, &source).unwrap()
    }

    /// Counted by hand, for two frames of 64x32 luma with gains from level 1 on, and chroma that is its own level 1.
    #[test]
    fn the_bytes_of_a_stage_are_counted() {
        let (frame, quarter, small) = (2 * 64 * 32, 2 * 32 * 16, 2 * 16 * 8);
        let gray = plan(Layout::Gray, Settings::default());
        let levels = &gray.chains()[0].levels;
        assert!(!levels[0].filtered() && levels[1].filtered(), "{levels:?}");
        let (read, all) = least(&gray, Stage::Shrink, 2);
        assert_eq!(read, frame);
        // Level 1 in two bytes, level 2 in four, and so on.
        assert!(all >= 2 * quarter + 4 * small && all < 2 * (2 * quarter + 4 * small), "{all}");
        // Level 1 is filtered inside the last pass, which enlarges the change of level 2.
        let (read, written) = least(&gray, Stage::Filter, 2);
        let below = if levels.len() > 2 { 4 * small } else { 0 };
        assert!(read < 4 * small * 2 && written == below, "{read} {written}");
        assert_eq!(least(&gray, Stage::Render, 2), (frame + 2 * quarter + below, frame));
        assert_eq!(least(&gray, Stage::Copy, 2), (0, 0));
        // Without colour two planes of 4:2:0 are copied, and nothing else changes.
        let flat = plan(Layout::Yuv420, Settings { chroma: 0.0, ..Settings::default() });
        assert_eq!(least(&flat, Stage::Copy, 2), (2 * quarter, 2 * quarter));
        for stage in [Stage::Shrink, Stage::Filter, Stage::Render] {
            assert_eq!(least(&flat, stage, 2), least(&gray, stage, 2));
        }
        // Sums of both kinds for every bin are written once a clip, and read once.
        let pulse = plan(Layout::Gray, Settings { level: 2, ..Settings::preset("pulse").unwrap() });
        let Temporal::Projection { bins, .. } = pulse.temporal() else { panic!("not the ideal filter") };
        let sums = (16 * 8 * 2 * bins.len() * 4) as u64;
        assert_eq!(least(&pulse, Stage::Project, 2), (4 * small, sums));
        assert_eq!(least(&pulse, Stage::Filter, 2), (sums, 4 * small));
        assert_eq!(least(&pulse, Stage::Render, 2), (frame + 4 * small, frame));
    }

    #[test]
    fn a_stage_is_held_against_the_ceiling_of_what_it_does() {
        let rates = Ceilings { copy: 4000.0, read: 4500.0, write: 4200.0, up: 50.0, down: 50.0, both: 40.0 };
        let row = |read, written| StageTime { stage: Stage::Shrink, read, written, ms: 2.0 };
        assert_eq!(row(1, 1).ceiling(&rates), ("copy", 4000.0));
        assert_eq!(row(1000, 10).ceiling(&rates), ("read", 4500.0));
        assert_eq!(row(10, 1000).ceiling(&rates), ("write", 4200.0));
        assert!((row(3_000_000, 1_000_000).gigabytes_per_second() - 2.0).abs() < 1e-9);
    }
}
