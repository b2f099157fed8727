//! The magnifier: frames in, frames out.

use std::ops::Range;

use arrayvec::ArrayVec;
use jnd_video::fpu::Ieee;
use jnd_video::{FrameMut, FrameRef, PlaneMut, Sample, simd};

use crate::check::Check;
use crate::engine::{self, Engine, MAX_BATCH, Out, Work};
use crate::layout;
use crate::plan::{Plan, Precision, Temporal};
use crate::{Error, Result};

/// How a magnifier works; nothing here changes a bit of what comes out.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Threads, the caller's included; 0 for one on each processor.
    pub threads: usize,
    /// Frames that [`Magnifier::push_batch`] works on at a time with a causal filter, at most 4; 0 for 1 in a magnifier,
    /// and in [`magnify_clip`] for 2 where frames are so large that it pays. More of them read and write the filter's
    /// memory less often, but each one beyond the first takes about as much memory as a frame (0.7 to 1.4 of one in
    /// motion, a quarter of one at most in colour).
    pub batch: usize,
    /// Most bytes to allocate. The ideal filter then works in strips of the picture, at the price of more passes; where that
    /// is not enough, frames go one at a time, and then on fewer threads.
    pub memory: Option<u64>,
    /// Vector instructions to use.
    pub simd: simd::Level,
    /// Magnify every frame a second time with scalar code on one thread, and compare.
    pub check: bool,
}

impl Default for Options {
    /// All processors, no memory limit, the best instructions; `JND_CHECK=1` in the environment turns the check on.
    fn default() -> Self {
        let check = std::env::var("JND_CHECK").is_ok_and(|v| v == "1");
        Self { threads: 0, batch: 0, memory: None, simd: simd::Level::get(), check }
    }
}

impl Options {
    /// The number of threads that `threads` stands for.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n.min(256),
        }
    }

    /// The number of frames that `batch` stands for in a magnifier for this plan.
    fn batch_for(&self, plan: &Plan) -> usize {
        if plan.needs_two_passes() { 1 } else { self.batch.clamp(1, MAX_BATCH) }
    }
}

/// Frames at a time where a whole clip is there and the filter's memory is large: it then moves half as often. What more
/// frames save of it they take for their own levels (measured from 720p to 4K).
const CLIP_BATCH: usize = 2;

/// Bytes of the filter's memory from which it is large: caches do not hold it from one frame to the next.
const LARGE_MEMORY: usize = 8 << 20;

/// Bytes of the causal filters' memory: two states for each filtered sample.
fn filter_memory(plan: &Plan) -> usize {
    let real = match plan.precision() {
        Precision::F32 => 4,
        Precision::F64 => 8,
    };
    let levels = plan.chains().iter().flat_map(|c| &c.levels);
    levels.filter(|l| l.filtered()).map(|l| 2 * real * l.samples()).sum()
}

/// What there is of each frame of a batch.
type Batch<T> = ArrayVec<T, MAX_BATCH>;

/// What a magnifier is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// [`Magnifier::push`], with a causal filter.
    Causal,
    /// [`Magnifier::observe`].
    Observe,
    /// [`Magnifier::push`], after every frame has been observed.
    Render,
}

/// Magnifies frames one after another.
///
/// With a causal filter (iir, butterworth) every [`push`](Self::push) gives a frame back at once. The ideal filter
/// needs the clip twice: [`observe`](Self::observe) every frame, [`begin_render`](Self::begin_render), then `push`
/// every frame. Where a memory limit makes it work in strips, `push` writes the rows of the current strip only
/// ([`rows`](Self::rows)), and [`next_strip`](Self::next_strip) starts the two passes for the next one:
///
/// ```no_run
/// # fn f(plan: jnd_magnify::Plan, clip: &[jnd_video::Frame], out: &mut [jnd_video::Frame]) -> jnd_magnify::Result<()> {
/// let mut m = jnd_magnify::Magnifier::new(plan, &jnd_magnify::Options::default())?;
/// loop {
///     if m.needs_two_passes() {
///         for frame in clip {
///             m.observe(&frame.view())?;
///         }
///         m.begin_render()?;
///     }
///     for (frame, out) in clip.iter().zip(&mut *out) {
///         m.push(&frame.view(), &mut out.view_mut())?;
///     }
///     if !m.next_strip()? {
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Magnifier {
    plan: Plan,
    engine: Box<dyn Work>,
    check: Option<Box<Check>>,
    phase: Phase,
    /// Frames of the current pass.
    seen: u64,
    strip: usize,
    strips: usize,
    bytes: u64,
    threads: usize,
    batch: usize,
}

impl std::fmt::Debug for Magnifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Magnifier")
            .field("plan", &self.plan)
            .field("phase", &self.phase)
            .field("seen", &self.seen)
            .field("strip", &self.strip)
            .field("strips", &self.strips)
            .finish_non_exhaustive()
    }
}

/// Strips a plan needs to stay within `memory` bytes, and the bytes it then takes.
fn strips(plan: &Plan, threads: usize, batch: usize, memory: Option<u64>) -> Result<(usize, u64)> {
    let height = plan.source().height;
    let need = |n: usize| -> u64 {
        let of = |i: usize| {
            let strip = layout::strip(height, i, n);
            if plan.source().format.bytes_per_sample() == 1 {
                engine::need::<u8>(plan, &strip, threads, batch)
            } else {
                engine::need::<u16>(plan, &strip, threads, batch)
            }
        };
        // The largest strips are at least as large as any other.
        (0..n).map(of).max().unwrap_or(0)
    };
    let whole = need(1);
    let Some(budget) = memory else { return Ok((1, whole)) };
    if whole <= budget {
        return Ok((1, whole));
    }
    let most =
        if matches!(plan.temporal(), Temporal::Projection { .. }) { layout::most_strips(height) } else { 1 };
    let least = need(most);
    if least > budget {
        return Err(Error::Memory { need: least, budget });
    }
    // The need falls with the number of strips, but for the rows that neighbours share.
    let (mut few, mut many) = (1, most);
    while many - few > 1 {
        let n = few.midpoint(many);
        if need(n) <= budget { many = n } else { few = n }
    }
    Ok((many, need(many)))
}

impl Plan {
    /// Bytes a magnifier on the processor allocates for this plan, whole frames at a time. With a batch of 0 those are single
    /// frames; [`magnify_clip`] may take two.
    pub fn memory_need(&self, options: &Options) -> u64 {
        strips(self, options.thread_count(), options.batch_for(self), None).map_or(0, |s| s.1)
    }
}

/// What fits into the memory that a magnifier may take.
struct Fitting {
    threads: usize,
    /// Frames at a time.
    batch: usize,
    strips: usize,
    /// Bytes that it then takes.
    bytes: u64,
}

/// What the options ask for, or less of it where there is no room: frames side by side and threads each need rows of their
/// own, and fewer of them give the same.
fn fitting(plan: &Plan, options: &Options) -> Result<Fitting> {
    let mut threads = engine::useful_threads(plan, options.thread_count());
    let mut batch = options.batch_for(plan);
    loop {
        match strips(plan, threads, batch, options.memory) {
            Err(Error::Memory { .. }) if batch > 1 => batch = 1,
            Err(Error::Memory { .. }) if threads > 1 => threads -= 1,
            found => {
                let (strips, bytes) = found?;
                return Ok(Fitting { threads, batch, strips, bytes });
            }
        }
    }
}

/// Runs the engine's work in the arithmetic that the definition has, whatever the host has set.
fn exactly<R>(work: impl FnOnce() -> R) -> R {
    let _ieee = Ieee::enter();
    work()
}

pub(crate) fn make_engine(
    plan: &Plan,
    simd: simd::Level,
    threads: usize,
    batch: usize,
    strip: &Range<usize>,
) -> Result<Box<dyn Work>> {
    let narrow = plan.source().format.bytes_per_sample() == 1;
    Ok(match (narrow, plan.precision()) {
        (true, Precision::F32) => Box::new(Engine::<u8, f32>::new(plan, simd, threads, batch, strip)?),
        (true, Precision::F64) => Box::new(Engine::<u8, f64>::new(plan, simd, threads, batch, strip)?),
        (false, Precision::F32) => Box::new(Engine::<u16, f32>::new(plan, simd, threads, batch, strip)?),
        (false, Precision::F64) => Box::new(Engine::<u16, f64>::new(plan, simd, threads, batch, strip)?),
    })
}

impl Magnifier {
    /// Allocates everything the plan needs and starts the threads.
    ///
    /// # Errors
    /// [`Error::Memory`] when the options allow too little, [`Error::Threads`] when the system gives none.
    pub fn new(plan: Plan, options: &Options) -> Result<Self> {
        let Fitting { threads, batch, strips, bytes } = fitting(&plan, options)?;
        let strip = layout::strip(plan.source().height, 0, strips);
        let (engine, check) = exactly(|| -> Result<_> {
            let check = if options.check { Some(Box::new(Check::new(&plan, &strip)?)) } else { None };
            Ok((make_engine(&plan, options.simd, threads, batch, &strip)?, check))
        })?;
        let phase = if plan.needs_two_passes() { Phase::Observe } else { Phase::Causal };
        Ok(Self { plan, engine, check, phase, seen: 0, strip: 0, strips, bytes, threads, batch })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether every frame must be observed before the first is pushed.
    pub fn needs_two_passes(&self) -> bool {
        self.plan.needs_two_passes()
    }

    /// Strips in which the picture is processed; 1 unless memory is short.
    pub fn strips(&self) -> usize {
        self.strips
    }

    /// Bytes allocated.
    pub fn memory(&self) -> u64 {
        self.bytes
    }

    /// A magnifier that is given whole clips: where the options leave it open, frames go in batches if that pays.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_clip(plan: Plan, options: &Options) -> Result<Self> {
        let batch = match options.batch {
            0 if filter_memory(&plan) >= LARGE_MEMORY => CLIP_BATCH,
            n => n,
        };
        Self::new(plan, &Options { batch, ..*options })
    }

    /// Both passes, or the one, over a clip of whole frames; `out` is as long.
    pub(crate) fn whole_clip<T: Sample>(&mut self, clip: &[T], out: &mut [T]) -> Result<()> {
        let s = *self.plan.source();
        let frame = s.format.frame_samples(s.width, s.height, jnd_video::ChromaRounding::Ceil);
        let view = |v| FrameRef::from_samples(s.format, s.width, s.height, v);
        if self.needs_two_passes() {
            for f in clip.chunks_exact(frame) {
                self.observe(&view(f)?)?;
            }
            self.begin_render()?;
        }
        let some = self.batch * frame;
        for (f, o) in clip.chunks(some).zip(out.chunks_mut(some)) {
            let frames = f.chunks_exact(frame).map(view);
            let out = o.chunks_exact_mut(frame);
            let out = out.map(|o| FrameMut::from_samples(s.format, s.width, s.height, o));
            let frames: Batch<_> = frames.collect::<std::result::Result<_, _>>()?;
            let mut out: Batch<_> = out.collect::<std::result::Result<_, _>>()?;
            self.push_batch(&frames, &mut out)?;
        }
        Ok(())
    }

    /// Frames that [`push_batch`](Self::push_batch) works on at a time.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Time spent in the parts of the work so far.
    pub(crate) fn times(&self) -> crate::bench::Times {
        self.engine.times()
    }

    /// Threads at work; one where the frames are so small that more would be slower.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Rows of plane `plane` that [`push`](Self::push) writes: all of them, or those of the current strip.
    pub fn rows(&self, plane: usize) -> Range<usize> {
        let s = self.plan.source();
        let strip = layout::strip(s.height, self.strip, self.strips);
        let size = s.format.plane_size(plane, s.width, s.height, jnd_video::ChromaRounding::Ceil);
        let shift = if plane > 0 { s.format.chroma_shift().1 } else { 0 };
        let end = if strip.end >= s.height { size.height } else { strip.end >> shift };
        strip.start >> shift..end
    }

    fn check_frame(&self, f: (jnd_video::PixelFormat, usize, usize)) -> Result<()> {
        let s = self.plan.source();
        if f == (s.format, s.width, s.height) {
            return Ok(());
        }
        let text = |f: (jnd_video::PixelFormat, usize, usize)| format!("{}x{} {}", f.1, f.2, f.0);
        Err(Error::WrongFrame { have: text(f), want: text((s.format, s.width, s.height)) })
    }

    /// First pass of the ideal filter.
    ///
    /// # Errors
    /// A frame of another format or size, one frame too many, or a causal filter.
    pub fn observe(&mut self, frame: &FrameRef<'_>) -> Result<()> {
        if self.phase != Phase::Observe {
            return Err(Error::NotReady {
                what: "a frame was observed, but this pass renders",
                remedy: "push the frame instead",
            });
        }
        self.check_frame((frame.format(), frame.width(), frame.height()))?;
        let expected = self.expected();
        if self.seen >= expected {
            return Err(Error::FrameCount { expected, seen: self.seen + 1 });
        }
        let last = self.seen + 1 == expected;
        let (engine, check) = (&mut self.engine, &mut self.check);
        exactly(|| {
            engine.observe(frame, last)?;
            check.as_mut().map_or(Ok(()), |c| c.observe(frame, last))
        })?;
        self.seen += 1;
        Ok(())
    }

    /// Frames that the plan expects.
    fn expected(&self) -> u64 {
        match self.plan.temporal() {
            Temporal::Causal { .. } => u64::MAX,
            Temporal::Projection { frames, .. } => *frames as u64,
        }
    }

    /// Ends the first pass of the ideal filter. Nothing to do for a causal one.
    ///
    /// # Errors
    /// [`Error::FrameCount`] when fewer frames have been observed than announced.
    pub fn begin_render(&mut self) -> Result<()> {
        if self.phase == Phase::Observe {
            let expected = self.expected();
            if self.seen != expected {
                return Err(Error::FrameCount { expected, seen: self.seen });
            }
            self.phase = Phase::Render;
            self.seen = 0;
            self.engine.rewind(false);
            if let Some(c) = &mut self.check {
                c.rewind(false);
            }
        }
        Ok(())
    }

    fn before_push(&mut self, frames: &[FrameRef<'_>]) -> Result<()> {
        if self.phase == Phase::Observe {
            return Err(Error::NotReady {
                what: "the ideal filter needs the whole clip before it can magnify a frame",
                remedy: "observe every frame and begin to render, or use the iir or butterworth filter",
            });
        }
        for frame in frames {
            self.check_frame((frame.format(), frame.width(), frame.height()))?;
        }
        let (expected, seen) = (self.expected(), self.seen.saturating_add(frames.len() as u64));
        if seen > expected {
            return Err(Error::FrameCount { expected, seen });
        }
        Ok(())
    }

    /// Magnifies the next frame.
    ///
    /// # Errors
    /// A frame of another format or size; with the ideal filter [`Error::NotReady`] before
    /// [`begin_render`](Self::begin_render), and [`Error::FrameCount`] beyond the clip's end.
    pub fn push(&mut self, frame: &FrameRef<'_>, out: &mut FrameMut<'_>) -> Result<()> {
        self.push_batch(std::slice::from_ref(frame), std::slice::from_mut(out))
    }

    /// Magnifies the next frames, [`batch`](Self::batch) of them at a time: the same bytes as [`push`](Self::push) gives
    /// for one after another, in less time.
    ///
    /// # Errors
    /// As [`push`](Self::push), before anything is done; [`Error::WrongLength`] for more frames of one than of the other.
    pub fn push_batch(&mut self, frames: &[FrameRef<'_>], out: &mut [FrameMut<'_>]) -> Result<()> {
        self.before_push(frames)?;
        if frames.len() != out.len() {
            return Err(Error::WrongLength { name: "output", have: out.len(), want: frames.len() });
        }
        for out in &*out {
            self.check_frame((out.format(), out.width(), out.height()))?;
        }
        let planes = self.plan.source().format.plane_count();
        let rows = std::array::from_fn(|p| if p < planes { self.rows(p) } else { 0..0 });
        for (frames, out) in frames.chunks(self.batch).zip(out.chunks_mut(self.batch)) {
            let (engine, check, seen) = (&mut self.engine, &mut self.check, &mut self.seen);
            exactly(|| -> Result<()> {
                engine.push(frames, Out::Integer(out))?;
                for (frame, out) in frames.iter().zip(out) {
                    check.as_mut().map_or(Ok(()), |c| c.compare(frame, out, &rows, *seen))?;
                    *seen += 1;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Magnifies the next frame into floating-point planes: 1.0 for the largest sample, neither clamped nor rounded.
    /// Planes the format does not have are ignored.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`Error::WrongLength`] for planes of the wrong size.
    pub fn push_f32(&mut self, frame: &FrameRef<'_>, out: &mut [PlaneMut<'_, f32>; 3]) -> Result<()> {
        self.before_push(std::slice::from_ref(frame))?;
        let s = *self.plan.source();
        for (p, plane) in out.iter().enumerate().take(s.format.plane_count()) {
            let want = s.format.plane_size(p, s.width, s.height, jnd_video::ChromaRounding::Ceil);
            if (plane.row_len(), plane.height()) != (want.row(), want.height) {
                return Err(Error::WrongLength {
                    name: "output plane",
                    have: plane.row_len() * plane.height(),
                    want: want.samples(),
                });
            }
        }
        let mut planes = out.each_mut().map(PlaneMut::reborrow);
        let (engine, check) = (&mut self.engine, &mut self.check);
        exactly(|| {
            engine.push(std::slice::from_ref(frame), Out::Float(&mut planes))?;
            check.as_mut().map_or(Ok(()), |c| c.advance(frame))
        })?;
        self.seen += 1;
        Ok(())
    }

    /// Forgets every frame: the next one is the first again. Use it at a cut.
    pub fn reset(&mut self) {
        self.engine.rewind(true);
        if let Some(c) = &mut self.check {
            c.rewind(true);
        }
        self.seen = 0;
        if self.phase == Phase::Render {
            self.phase = Phase::Observe;
        }
    }

    /// Goes on to the next strip; false when there is none. The frames are then observed and pushed once more.
    ///
    /// # Errors
    /// Those of a new magnifier.
    pub fn next_strip(&mut self) -> Result<bool> {
        if self.strip + 1 >= self.strips {
            return Ok(false);
        }
        self.strip += 1;
        let strip = layout::strip(self.plan.source().height, self.strip, self.strips);
        let (engine, check) = (&mut self.engine, &mut self.check);
        exactly(|| {
            engine.restrict(&strip);
            if let Some(c) = check {
                c.restrict(&strip);
            }
        });
        self.phase = Phase::Observe;
        self.seen = 0;
        Ok(true)
    }
}

/// Magnifies a whole clip, an array of frames without gaps, into the caller's array. It is a loop over
/// [`Magnifier::push_batch`].
///
/// # Errors
/// Those of the magnifier; [`Error::WrongLength`] when an array does not hold whole frames or the two differ.
pub fn magnify_clip<T: Sample>(plan: Plan, options: &Options, clip: &[T], out: &mut [T]) -> Result<()> {
    let s = *plan.source();
    let frame = s.format.frame_samples(s.width, s.height, jnd_video::ChromaRounding::Ceil);
    let whole = clip.len().div_ceil(frame) * frame;
    if clip.len() != whole {
        return Err(Error::WrongLength { name: "clip", have: clip.len(), want: whole });
    }
    if out.len() != clip.len() {
        return Err(Error::WrongLength { name: "output", have: out.len(), want: clip.len() });
    }
    let mut m = Magnifier::for_clip(plan, options)?;
    loop {
        m.whole_clip(clip, out)?;
        if !m.next_strip()? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use jnd_video::{Layout, PixelFormat, Rate};

    use super::*;
    use crate::{Settings, Source};

    #[test]
    fn large_clips_go_in_batches() {
        let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let batch = |width, height, batch| {
            let source = Source { format, width, height, rate: Rate::new(30, 1).unwrap(), frames: None };
            let plan = Plan::new(&Settings::default(), &source).unwrap();
            Magnifier::for_clip(plan, &Options { batch, threads: 1, ..Options::default() }).unwrap().batch()
        };
        assert_eq!((batch(960, 544, 0), batch(1920, 1080, 0)), (1, CLIP_BATCH));
        assert_eq!((batch(960, 544, 3), batch(1920, 1080, 1), batch(64, 64, 100)), (3, 1, MAX_BATCH));
    }
}
