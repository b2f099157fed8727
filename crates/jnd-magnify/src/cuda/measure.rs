//! How long magnifying takes on a card: each stage beside the bytes it must move, whole clips from host memory and back,
//! single frames.

use std::time::Instant;

use jnd_cuda::{Ceilings, Context, DeviceBuffer, Event, PinnedBuffer, Priority, Stream, Transfer};
use jnd_video::{ChromaRounding, Frame, FrameRef, Sample};

use super::{ClipRunner, DeviceFrames, DeviceMagnifier, Options, Session, Stage};
use crate::plan::{Plan, Stored};
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
        match (self.read, self.written) {
            (_, 0) => ("read", rates.read),
            (0, _) => ("write", rates.write),
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

fn percentile(v: &mut [f64], p: f64) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(((v.len() as f64 * p) as usize).min(v.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

fn median(mut v: Vec<f64>) -> f64 {
    percentile(&mut v, 0.5)
}

fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Bytes that a stage must read and write at least for one frame.
fn least(plan: &Plan, stage: Stage) -> (u64, u64) {
    let s = plan.source();
    let sample = s.format.bytes_per_sample();
    let (mut read, mut written) = (0, 0);
    for chain in plan.chains() {
        let planes: usize = chain
            .planes
            .iter()
            .map(|&p| s.format.plane_size(p, s.width, s.height, ChromaRounding::Ceil).samples() * sample)
            .sum();
        let planes = planes as u64;
        if chain.is_copy() {
            if stage == Stage::Copy {
                (read, written) = (read + planes, written + planes);
            }
            continue;
        }
        let (mut levels, mut filtered, mut change) = (0, 0, 0);
        for (k, l) in chain.levels.iter().enumerate().skip(1) {
            let value = match l.stored {
                Stored::Samples => sample,
                Stored::Integer { .. } => 2 * sample,
                Stored::Float => 4,
            };
            let bytes = (l.samples() * value) as u64;
            levels += bytes;
            if l.filtered() {
                filtered += bytes;
            }
            // The change of level 1 is written by the filter and read by the last pass.
            if k == 1 && chain.last() > 0 {
                change = 4 * l.samples() as u64;
            }
        }
        let (r, w) = match stage {
            Stage::Shrink => (planes, levels),
            Stage::Project => (filtered, 0),
            Stage::Filter => (filtered, change),
            Stage::Render => (planes + change, planes),
            Stage::Copy => (0, 0),
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
        let (read, written) = least(plan, stage);
        let n = count as u64;
        StageTime { stage, read: n * read, written: n * written, ms: median(ms) }
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

    /// Counted by hand: 64x32 luma with levels of 32x16 (u16) and, above them, floats; chroma as its own level 1.
    #[test]
    fn the_bytes_of_a_stage_are_counted() {
        let gray = plan(Layout::Gray, Settings::default());
        let (read, levels) = least(&gray, Stage::Shrink);
        assert_eq!(read, 64 * 32);
        assert!(levels >= 2 * 32 * 16 + 4 * 16 * 8, "{levels}");
        assert_eq!(least(&gray, Stage::Render), (64 * 32 + 4 * 32 * 16, 64 * 32));
        let (read, written) = least(&gray, Stage::Filter);
        assert!(read >= 2 * 32 * 16 && written == 4 * 32 * 16);
        assert_eq!(least(&gray, Stage::Copy), (0, 0));
        // Without chroma two planes of 4:2:0 are copied, and nothing else changes.
        let flat = plan(Layout::Yuv420, Settings { chroma: 0.0, ..Settings::default() });
        assert_eq!(least(&flat, Stage::Copy), (2 * 32 * 16, 2 * 32 * 16));
        for stage in [Stage::Shrink, Stage::Filter, Stage::Render] {
            assert_eq!(least(&flat, stage), least(&gray, stage));
        }
        let pulse = plan(Layout::Gray, Settings { level: 2, ..Settings::preset("pulse").unwrap() });
        let (read, written) = least(&pulse, Stage::Project);
        assert!(read > 0 && written == 0);
    }

    #[test]
    fn a_stage_is_held_against_the_ceiling_of_what_it_does() {
        let rates = Ceilings { copy: 4000.0, read: 4500.0, write: 4200.0, up: 50.0, down: 50.0, both: 40.0 };
        let row = |read, written| StageTime { stage: Stage::Shrink, read, written, ms: 2.0 };
        assert_eq!(row(1, 1).ceiling(&rates), ("copy", 4000.0));
        assert_eq!(row(1, 0).ceiling(&rates), ("read", 4500.0));
        assert_eq!(row(0, 1).ceiling(&rates), ("write", 4200.0));
        assert!((row(3_000_000, 1_000_000).gigabytes_per_second() - 2.0).abs() < 1e-9);
    }
}
