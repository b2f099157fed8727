//! Frames from host memory and back, one at a time: for live pictures, files and long streams.

use std::collections::VecDeque;

use jnd_cuda::Context;
use jnd_video::{FrameMut, FrameRef};

use super::ring::{Options, Ring, SLOTS, read_jobs, write_jobs};
use crate::plan::Plan;
use crate::{Error, Result};

/// A chunk on its way.
struct Flight {
    slot: usize,
    count: usize,
    taken: usize,
}

/// Magnifies frames from host memory on a card.
///
/// Live: [`push`](Self::push) a frame and get it back. At full rate: [`feed`](Self::feed) frames, [`take`](Self::take) the
/// finished ones as they come, [`flush`](Self::flush), take the rest. The ideal filter takes the clip twice: feed all frames,
/// [`begin_render`](Self::begin_render), feed all frames again.
pub struct Session {
    ring: Ring,
    /// Slot being filled, and frames in it.
    filling: usize,
    filled: usize,
    queue: VecDeque<Flight>,
    /// Nothing has been fed since the last flush.
    flushed: bool,
    /// Frames fed in this pass.
    fed: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("plan", self.plan())
            .field("chunk", &self.chunk())
            .field("fed", &self.fed)
            .field("observing", &self.ring.is_observing())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Bytes of device memory that a session takes; frames kept between two passes are not counted.
    pub fn need(plan: &Plan, options: &Options) -> u64 {
        Ring::need(plan, options)
    }

    /// Opens the device and takes all memory.
    ///
    /// # Errors
    /// No card can be used, too little memory, or the card failed.
    pub fn new(plan: &Plan, options: &Options) -> Result<Self> {
        Self::with_context(plan, &Context::open(options.device)?, options)
    }

    /// The same on a device that is open.
    ///
    /// # Errors
    /// Too little memory, or the card failed.
    pub fn with_context(plan: &Plan, context: &Context, options: &Options) -> Result<Self> {
        let ring = Ring::new(plan, context, options)?;
        Ok(Self { ring, filling: 0, filled: 0, queue: VecDeque::new(), flushed: false, fed: 0 })
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

    /// Whether every frame must be fed twice.
    pub fn needs_two_passes(&self) -> bool {
        self.plan().needs_two_passes()
    }

    /// Whether frames of the second pass are already on the card, so that what is fed then is not looked at.
    pub fn keeps_frames(&self) -> bool {
        self.ring.keeps_frames()
    }

    /// Sends the slot being filled on its way.
    fn launch(&mut self) -> Result<()> {
        if self.filled == 0 {
            return Ok(());
        }
        let (slot, n) = (self.filling, self.filled);
        let s = self.ring.slot(slot);
        let src = (!self.ring.has_frames()).then(|| s.up.as_ptr().cast_const());
        let observing = self.ring.is_observing();
        let dst = (!observing).then(|| s.down.as_ptr());
        // SAFETY: the memory is the slot's own, which is not touched again before its events have passed.
        let queued = unsafe { self.ring.enqueue(slot, n, src, dst) };
        self.ring.guard(queued)?;
        if !observing {
            self.queue.push_back(Flight { slot, count: n, taken: 0 });
        }
        self.filling = (slot + 1) % SLOTS;
        self.filled = 0;
        Ok(())
    }

    /// Whether a frame must be [taken](Self::take) before another can be fed.
    pub fn is_full(&self) -> bool {
        self.filled == 0 && self.queue.iter().any(|f| f.slot == self.filling)
    }

    /// Frames fed in this pass and not taken yet. Of a first pass nothing can be taken.
    pub fn pending(&self) -> usize {
        if self.ring.is_observing() {
            return 0;
        }
        self.filled + self.queue.iter().map(|f| f.count - f.taken).sum::<usize>()
    }

    /// Gives the session the next frame, which is copied. Take finished frames whenever [`is_full`](Self::is_full) says so.
    ///
    /// # Errors
    /// A frame of another format or size, one too many, no room, or the card failed.
    pub fn feed(&mut self, frame: &FrameRef<'_>) -> Result<()> {
        self.ring.check_frame((frame.format(), frame.width(), frame.height()))?;
        self.next(Some(frame))
    }

    /// As [`feed`](Self::feed), for a frame of the second pass that the session [keeps](Self::keeps_frames).
    ///
    /// # Errors
    /// As there; [`Error::NotReady`] where frames of this pass must be fed.
    pub fn feed_kept(&mut self) -> Result<()> {
        if !self.ring.has_frames() {
            return Err(Error::NotReady {
                what: "the frames of this pass are not on the card",
                remedy: "feed them",
            });
        }
        self.next(None)
    }

    fn next(&mut self, frame: Option<&FrameRef<'_>>) -> Result<()> {
        self.ring.usable()?;
        let expected = self.ring.expected();
        if self.fed >= expected {
            return Err(Error::FrameCount { expected, seen: self.fed + 1 });
        }
        if self.is_full() {
            return Err(Error::NotReady {
                what: "every slot of the session is in use",
                remedy: "take finished frames first",
            });
        }
        if let (Some(frame), false) = (frame, self.ring.has_frames()) {
            if self.filled == 0 {
                let waited = self.ring.slot(self.filling).uploaded.synchronize();
                self.ring.guard(waited)?;
            }
            let at = self.filled * self.ring.frame_bytes();
            let jobs = read_jobs(frame, self.ring.slot(self.filling).up.as_ptr().wrapping_add(at));
            // SAFETY: the slot has room for the frame, its upload is done, and the frame is borrowed meanwhile.
            unsafe { self.ring.copy(&jobs) };
        }
        self.filled += 1;
        self.fed += 1;
        self.flushed = false;
        if self.filled == self.chunk() || self.fed == expected {
            self.launch()?;
        }
        Ok(())
    }

    /// Writes the next finished frame to `out`; false when none is finished yet. Waits for the card only where the
    /// session is full or flushed: then false means that every frame fed has been taken.
    ///
    /// # Errors
    /// `out` is of another format or size, or the card failed: then nothing is written.
    pub fn take(&mut self, out: &mut FrameMut<'_>) -> Result<bool> {
        self.ring.usable()?;
        self.ring.check_frame((out.format(), out.width(), out.height()))?;
        let Some(flight) = self.queue.front() else { return Ok(false) };
        let (slot, taken) = (flight.slot, flight.taken);
        if taken == 0 {
            let event = &self.ring.slot(slot).downloaded;
            let ready = if self.is_full() || self.flushed {
                event.synchronize().map(|()| true)
            } else {
                event.is_done()
            };
            if !self.ring.guard(ready)? {
                return Ok(false);
            }
        }
        let at = taken * self.ring.frame_bytes();
        let jobs = write_jobs(out, self.ring.slot(slot).down.as_ptr().wrapping_add(at).cast_const());
        // SAFETY: the slot's download is done, and `out` is borrowed alone.
        unsafe { self.ring.copy(&jobs) };
        if let Some(f) = self.queue.front_mut() {
            f.taken += 1;
            if f.taken == f.count {
                self.queue.pop_front();
            }
        }
        Ok(true)
    }

    /// Sends what has been fed on its way without waiting for a whole chunk: at the end of a clip, or when no frame is at
    /// hand for now. More may be fed after it.
    ///
    /// # Errors
    /// The card failed.
    pub fn flush(&mut self) -> Result<()> {
        self.ring.usable()?;
        self.launch()?;
        self.flushed = true;
        Ok(())
    }

    /// Ends the first pass of the ideal filter. Nothing to do for a causal one.
    ///
    /// # Errors
    /// [`Error::FrameCount`] when fewer frames have been fed than announced; the card failed.
    pub fn begin_render(&mut self) -> Result<()> {
        self.ring.usable()?;
        if !self.ring.is_observing() {
            return Ok(());
        }
        let expected = self.ring.expected();
        if self.fed != expected {
            return Err(Error::FrameCount { expected, seen: self.fed });
        }
        self.launch()?;
        self.ring.begin_render();
        self.fed = 0;
        self.flushed = false;
        Ok(())
    }

    /// Magnifies one frame and waits for it. For live pictures, with [`Options::chunk`] 1.
    ///
    /// # Errors
    /// As [`feed`](Self::feed) and [`take`](Self::take); frames fed before must have been taken.
    pub fn push(&mut self, frame: &FrameRef<'_>, out: &mut FrameMut<'_>) -> Result<()> {
        if self.ring.is_observing() {
            return Err(Error::NotReady {
                what: "the ideal filter needs the whole clip before it can magnify a frame",
                remedy: "feed every frame and begin to render, or use the iir or butterworth filter",
            });
        }
        if self.pending() > 0 {
            return Err(Error::NotReady {
                what: "frames fed earlier have not been taken",
                remedy: "take them before pushing single frames",
            });
        }
        self.ring.check_frame((out.format(), out.width(), out.height()))?;
        self.feed(frame)?;
        self.flush()?;
        self.take(out).map(|_| ())
    }

    /// Forgets every frame, those not taken yet included: the next one is the first again.
    pub fn reset(&mut self) {
        self.queue.clear();
        self.filled = 0;
        self.fed = 0;
        self.flushed = false;
        self.ring.rewind();
    }
}
