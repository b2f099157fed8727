//! Whole arrays, from the caller's memory to the caller's memory.

use jnd_cuda::{Context, PinnedBuffer};
use jnd_video::{ChromaRounding, Sample};

use super::ring::{Options, Ring, SLOTS, block};
use crate::plan::{Plan, Temporal};
use crate::{Error, Result};

/// Magnifies a whole clip, an array of frames without gaps, into the caller's array. Page-locked arrays are used where
/// they are; others go through page-locked memory of the session.
///
/// # Errors
/// Those of the session; [`Error::WrongLength`] when an array does not hold whole frames or the two differ. After a
/// failure of the card the contents of `out` are undefined.
pub fn magnify_clip<T: Sample>(
    plan: &Plan,
    context: &Context,
    options: &Options,
    clip: &[T],
    out: &mut [T],
) -> Result<()> {
    ClipRunner::new(plan, context, options)?.run(clip, out)
}

/// A session for whole arrays, which can be run again and again.
pub struct ClipRunner {
    ring: Ring,
    context: Context,
}

impl std::fmt::Debug for ClipRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClipRunner")
            .field("plan", self.plan())
            .field("chunk", &self.chunk())
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// The two arrays of a run, and where they lie.
#[derive(Clone, Copy)]
struct Arrays {
    src: *const u8,
    dst: *mut u8,
    frames: usize,
    /// Whether the card reaches them without the slots' memory.
    src_pinned: bool,
    dst_pinned: bool,
}

impl ClipRunner {
    /// Takes all memory.
    ///
    /// # Errors
    /// Those of a session.
    pub fn new(plan: &Plan, context: &Context, options: &Options) -> Result<Self> {
        Ok(Self { ring: Ring::new(plan, context, options)?, context: context.clone() })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.ring.plan()
    }

    /// Frames of a chunk.
    pub fn chunk(&self) -> usize {
        self.ring.chunk()
    }

    /// Bytes of device memory taken.
    pub fn memory(&self) -> u64 {
        self.ring.memory()
    }

    /// Whether the clip is gone through twice.
    pub fn needs_two_passes(&self) -> bool {
        self.plan().needs_two_passes()
    }

    /// Magnifies a clip from its first frame on; see [`magnify_clip`].
    ///
    /// # Errors
    /// See [`magnify_clip`].
    pub fn run<T: Sample>(&mut self, clip: &[T], out: &mut [T]) -> Result<()> {
        self.run_watched(clip, out, |_| Ok(()))
    }

    /// As [`run`](Self::run), and calls `each` with the number of frames of every chunk as it is sent on its way (twice
    /// for each frame, where there are two passes). An error of `each` ends the run.
    ///
    /// # Errors
    /// See [`magnify_clip`]; what `each` says.
    pub fn run_watched<T: Sample, E: From<Error>>(
        &mut self,
        clip: &[T],
        out: &mut [T],
        mut each: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let frames = self.check(clip, out.len())?;
        self.ring.usable()?;
        self.ring.rewind();
        let (src, dst) = (clip.as_ptr().cast::<u8>(), out.as_mut_ptr().cast::<u8>());
        let arrays = Arrays {
            src,
            dst,
            frames,
            src_pinned: PinnedBuffer::is_pinned(&self.context, src as u64),
            dst_pinned: PinnedBuffer::is_pinned(&self.context, dst as u64),
        };
        let result = self.passes(arrays, &mut each);
        // Whatever happened, nothing may touch the caller's arrays after this.
        let waited = self.ring.synchronize();
        self.ring.guard(waited).map_err(E::from).and(result)
    }

    /// The number of frames in arrays that fit the plan.
    fn check<T: Sample>(&self, clip: &[T], out: usize) -> Result<usize> {
        let s = self.plan().source();
        let frame = s.format.frame_samples(s.width, s.height, ChromaRounding::Ceil);
        let whole = clip.len().div_ceil(frame) * frame;
        if clip.len() != whole {
            return Err(Error::WrongLength { name: "clip", have: clip.len(), want: whole });
        }
        if out != clip.len() {
            return Err(Error::WrongLength { name: "output", have: out, want: clip.len() });
        }
        if T::BYTES != s.format.bytes_per_sample() {
            let have = format!("{}-byte samples", T::BYTES);
            return Err(Error::WrongFrame { have, want: s.format.to_string() });
        }
        let frames = clip.len() / frame;
        if let Temporal::Projection { frames: expected, .. } = self.plan().temporal()
            && *expected != frames
        {
            return Err(Error::FrameCount { expected: *expected as u64, seen: frames as u64 });
        }
        Ok(frames)
    }

    fn passes<E: From<Error>>(
        &mut self,
        arrays: Arrays,
        each: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.ring.is_observing() {
            // SAFETY: `run_watched` was given arrays of that many frames, which it keeps borrowed until the streams are
            // done.
            unsafe { self.pass(arrays, each) }?;
            self.ring.begin_render();
        }
        // SAFETY: as above; the two arrays are separate borrows.
        unsafe { self.pass(arrays, each) }
    }

    /// A whole pass. Frames go straight from and to page-locked arrays; pageable ones go through the slots' page-locked
    /// memory.
    ///
    /// # Safety
    /// The arrays hold their frames without gaps, apart from each other, until the streams are done.
    unsafe fn pass<E: From<Error>>(
        &mut self,
        a: Arrays,
        each: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let (chunk, frame) = (self.chunk(), self.ring.frame_bytes());
        let chunks = a.frames.div_ceil(chunk);
        let extent = |i: usize| (i * chunk, chunk.min(a.frames - i * chunk));
        let writes = !self.ring.is_observing();
        // Results in the slots' memory are copied from it when the slot is needed again, the last ones at the end.
        let collects = writes && !a.dst_pinned;
        for i in 0..chunks + if collects { SLOTS } else { 0 } {
            let slot = i % SLOTS;
            let mut jobs = Vec::new();
            if let Some(done) = i.checked_sub(SLOTS).filter(|&done| collects && done < chunks) {
                let waited = self.ring.slot(slot).downloaded.synchronize();
                self.ring.guard(waited)?;
                let (at, n) = extent(done);
                let from = self.ring.slot(slot).down.as_ptr().cast_const();
                jobs.push(block(a.dst.wrapping_add(at * frame), from, n * frame));
            }
            let mut from = None;
            if i < chunks && !self.ring.has_frames() {
                let (at, n) = extent(i);
                let host = a.src.wrapping_add(at * frame);
                from = Some(host);
                if !a.src_pinned {
                    let waited = self.ring.slot(slot).uploaded.synchronize();
                    self.ring.guard(waited)?;
                    let up = self.ring.slot(slot).up.as_ptr();
                    jobs.push(block(up, host, n * frame));
                    from = Some(up.cast_const());
                }
            }
            // SAFETY: the caller's promise for the arrays; the slot's copies across the bus are done.
            unsafe { self.ring.copy(&jobs) };
            if i < chunks {
                let (at, n) = extent(i);
                let to = writes.then(|| {
                    if a.dst_pinned {
                        a.dst.wrapping_add(at * frame)
                    } else {
                        self.ring.slot(slot).down.as_ptr()
                    }
                });
                // SAFETY: the caller's promise for the arrays; the slot's memory is free, as waited for above.
                let queued = unsafe { self.ring.enqueue(slot, n, from, to) };
                self.ring.guard(queued)?;
                each(n)?;
            }
        }
        Ok(())
    }
}
