//! Frames from host memory and back: three streams, a ring of slots, nothing waits for what it does not need.
//!
//! A slot is room for a chunk of frames on the card, with page-locked memory on both sides of it. While one slot's
//! frames are uploaded, the kernels work on another's in place, and a third one's are downloaded. Events order the
//! streams; the host waits only for a slot it wants to use again.

use std::collections::VecDeque;

use jnd_cuda::{
    Context, CopyJob, CopyPool, Device, DeviceBuffer, Event, MemoryPlan, PinnedBuffer, Priority, Stream,
    Transfer,
};
use jnd_video::{ChromaRounding, FrameMut, FrameRef, Planes, PlanesMut, Sample};

use super::compute::Compute;
use super::{DeviceFrames, default_chunk};
use crate::plan::{Plan, Temporal};
use crate::{Error, Result};

/// How a session works; nothing here changes a bit of what comes out.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The device.
    pub device: Device,
    /// Most bytes of device memory to take.
    pub memory: Option<u64>,
    /// Frames of a chunk; 0 for a number that suits the frame size. 1 gives the lowest delay.
    pub chunk: usize,
    /// Threads that copy between the caller's memory and page-locked memory; 0 for as many as the machine has to spare.
    pub threads: usize,
    /// Keep the frames of a two-pass filter on the card between the passes, where there is room.
    pub keep: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { device: Device(0), memory: None, chunk: 0, threads: 0, keep: true }
    }
}

/// Slots: one each for upload, kernels and download, and one to fill meanwhile.
const SLOTS: usize = 4;
/// Bytes of a chunk that crosses the bus: long enough for its full rate, short enough to start soon.
const CHUNK_BYTES: usize = 16 << 20;
/// A frame below this is copied by the calling thread: waking others takes as long.
const SMALL: usize = 256 << 10;

struct Slot {
    /// Frames on the card.
    device: u64,
    up: Option<PinnedBuffer>,
    down: Option<PinnedBuffer>,
    uploaded: Event,
    computed: Event,
    downloaded: Event,
}

/// A chunk on its way.
struct Flight {
    slot: usize,
    count: usize,
    taken: usize,
}

/// Magnifies frames from host memory on a card.
///
/// Live: [`push`](Self::push) a frame and get it back. At full rate: [`feed`](Self::feed) frames, [`take`](Self::take) the
/// finished ones as they come, [`finish`](Self::finish), take the rest. The ideal filter takes the clip twice: feed all frames,
/// [`begin_render`](Self::begin_render), feed all frames again.
pub struct Session {
    // Dropped first, so that nothing is under way when the memory goes.
    flights: Flights,
    compute: Compute,
    slots: Vec<Slot>,
    frames: DeviceBuffer,
    kept: Option<DeviceBuffer>,
    pool: CopyPool,
    chunk: usize,
    frame_bytes: usize,
    /// Slot being filled, and frames in it.
    filling: usize,
    filled: usize,
    queue: VecDeque<Flight>,
    observing: bool,
    finished: bool,
    /// Frames fed in this pass.
    fed: u64,
    failed: bool,
}

/// The streams; waits for them when dropped.
struct Flights {
    up: Stream,
    main: Stream,
    down: Stream,
}

impl Drop for Flights {
    fn drop(&mut self) {
        for s in [&self.up, &self.main, &self.down] {
            // After a failure of the card there is nothing to wait for.
            let _ = s.synchronize();
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("plan", self.compute.plan())
            .field("chunk", &self.chunk)
            .field("fed", &self.fed)
            .field("observing", &self.observing)
            .finish_non_exhaustive()
    }
}

fn frame_bytes(plan: &Plan) -> usize {
    let s = plan.source();
    s.format.frame_bytes(s.width, s.height, ChromaRounding::Ceil)
}

/// Bytes of the slots and of the rest on the card.
fn memory_plan(plan: &Plan, chunk: usize) -> MemoryPlan {
    let (mut memory, _) = Compute::plan_memory(plan, chunk);
    for _ in 0..SLOTS {
        memory.add("frames", (chunk * frame_bytes(plan)) as u64);
    }
    memory
}

fn session_chunk(plan: &Plan, options: &Options) -> usize {
    if options.chunk > 0 {
        return options.chunk.min(4096);
    }
    (CHUNK_BYTES / frame_bytes(plan).max(1)).clamp(4, default_chunk(plan.source()).max(4))
}

impl Session {
    /// Bytes of device memory that a session takes; frames kept between two passes are not counted.
    pub fn need(plan: &Plan, options: &Options) -> u64 {
        memory_plan(plan, session_chunk(plan, options)).bytes()
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
        Self::make(plan, context, options, true)
    }

    fn make(plan: &Plan, context: &Context, options: &Options, ring: bool) -> Result<Self> {
        let free = context.memory()?.0;
        let limit = options.memory.unwrap_or(u64::MAX).min(free);
        // A chunk that was not asked for is cut where memory is short.
        let mut chunk = session_chunk(plan, options);
        while options.chunk == 0 && chunk > 1 && memory_plan(plan, chunk).bytes() > limit {
            chunk /= 2;
        }
        let memory = memory_plan(plan, chunk);
        memory.check(context, options.memory)?;
        let total = memory.bytes();
        let frame_bytes = frame_bytes(plan);
        let compute = Compute::new(plan, context, chunk, options.memory)?;
        let slot_bytes = (chunk * frame_bytes).next_multiple_of(256);
        let frames = DeviceBuffer::new(context, SLOTS * slot_bytes)?;
        let pinned = |transfer| -> Result<Option<PinnedBuffer>> {
            Ok(if ring { Some(PinnedBuffer::new(context, chunk * frame_bytes, transfer)?) } else { None })
        };
        let slots = (0..SLOTS)
            .map(|i| {
                Ok(Slot {
                    device: frames.ptr() + (i * slot_bytes) as u64,
                    up: pinned(Transfer::Upload)?,
                    down: pinned(Transfer::Download)?,
                    uploaded: Event::new(context)?,
                    computed: Event::new(context)?,
                    downloaded: Event::new(context)?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut kept = None;
        if let (true, Temporal::Projection { frames, .. }) = (options.keep, plan.temporal()) {
            let need = (*frames * frame_bytes) as u64;
            // Leave a tenth of what is free to others.
            if total.saturating_add(need) <= limit / 10 * 9 {
                kept = Some(DeviceBuffer::new(context, *frames * frame_bytes)?);
            }
        }
        let threads = if options.threads == 0 { CopyPool::default_threads() } else { options.threads };
        Ok(Self {
            flights: Flights {
                up: Stream::new(context, Priority::Normal)?,
                main: Stream::new(context, Priority::High)?,
                down: Stream::new(context, Priority::Normal)?,
            },
            compute,
            slots,
            frames,
            kept,
            pool: CopyPool::new(threads),
            chunk,
            frame_bytes,
            filling: 0,
            filled: 0,
            queue: VecDeque::new(),
            observing: !plan.settings().filter.is_causal(),
            finished: false,
            fed: 0,
            failed: false,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.compute.plan()
    }

    /// Frames of a chunk.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Bytes of device memory taken.
    pub fn memory(&self) -> u64 {
        self.compute.bytes() + self.frames.bytes() as u64 + self.kept.as_ref().map_or(0, |k| k.bytes() as u64)
    }

    /// Whether every frame must be fed twice.
    pub fn needs_two_passes(&self) -> bool {
        !self.plan().settings().filter.is_causal()
    }

    /// Whether frames of the second pass are already on the card, so that what is fed then is not looked at.
    pub fn keeps_frames(&self) -> bool {
        self.kept.is_some()
    }

    fn expected(&self) -> u64 {
        match self.plan().temporal() {
            Temporal::Causal { .. } => u64::MAX,
            Temporal::Projection { frames, .. } => *frames as u64,
        }
    }

    fn check_frame(&self, f: (jnd_video::PixelFormat, usize, usize)) -> Result<()> {
        let s = self.plan().source();
        if f == (s.format, s.width, s.height) {
            return Ok(());
        }
        let text = |f: (jnd_video::PixelFormat, usize, usize)| format!("{}x{} {}", f.1, f.2, f.0);
        Err(Error::WrongFrame { have: text(f), want: text((s.format, s.width, s.height)) })
    }

    fn usable(&self) -> Result<()> {
        if self.failed {
            return Err(Error::NotReady {
                what: "the card failed earlier in this session",
                remedy: "drop it and open another",
            });
        }
        Ok(())
    }

    /// Keeps the session closed after a failure of the card.
    fn guard<T>(&mut self, r: Result<T>) -> Result<T> {
        if let Err(Error::Cuda(_)) = r {
            self.failed = true;
        }
        r
    }

    /// Where the frames of the chunk that begins with frame `first` lie on the card.
    fn place(&self, slot: usize, first: u64) -> u64 {
        match &self.kept {
            Some(k) => k.ptr() + first * self.frame_bytes as u64,
            None => self.slots[slot].device,
        }
    }

    /// Queues upload, kernels and download of `n` frames in a slot. `src` is where the frames are (`None`: on the card
    /// already), `dst` where they go (`None`: nowhere, in a first pass).
    fn enqueue(&mut self, slot: usize, n: usize, src: Option<*const u8>, dst: Option<*mut u8>) -> Result<()> {
        let first = self.compute.seen();
        let place = self.place(slot, first);
        let bytes = n * self.frame_bytes;
        let f = DeviceFrames::packed(self.plan().source(), place, n);
        let s = &self.slots[slot];
        let (up, main, down) = (&self.flights.up, &self.flights.main, &self.flights.down);
        if let Some(src) = src {
            // The slot's last frames are out of the way.
            up.wait(&s.downloaded)?;
            up.wait(&s.computed)?;
            // SAFETY: the place has room for the chunk; the caller of this keeps `src` until the slot is done.
            unsafe { up.upload(place, src, bytes) }?;
        }
        up.record(&s.uploaded)?;
        main.wait(&s.uploaded)?;
        if self.observing {
            self.compute.observe(main, &f)?;
        } else {
            self.compute.push(main, &f, &f)?;
        }
        main.record(&s.computed)?;
        if let Some(dst) = dst {
            down.wait(&s.computed)?;
            // SAFETY: as above, for `dst`.
            unsafe { down.download(dst, place, bytes) }?;
            down.record(&s.downloaded)?;
        }
        Ok(())
    }

    /// Sends the slot being filled on its way.
    fn launch(&mut self) -> Result<()> {
        if self.filled == 0 {
            return Ok(());
        }
        let (slot, n) = (self.filling, self.filled);
        let on_card = self.kept.is_some() && !self.observing;
        let s = &self.slots[slot];
        let src = if on_card { None } else { s.up.as_ref().map(|p| p.as_ptr().cast_const()) };
        let dst = if self.observing { None } else { s.down.as_ref().map(PinnedBuffer::as_ptr) };
        let queued = self.enqueue(slot, n, src, dst);
        self.guard(queued)?;
        if !self.observing {
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

    /// Gives the session the next frame, which is copied. Take finished frames whenever [`is_full`](Self::is_full) says so.
    ///
    /// # Errors
    /// A frame of another format or size, one too many, no room, or the card failed.
    pub fn feed(&mut self, frame: &FrameRef<'_>) -> Result<()> {
        self.usable()?;
        self.check_frame((frame.format(), frame.width(), frame.height()))?;
        let expected = self.expected();
        if self.fed >= expected {
            return Err(Error::FrameCount { expected, seen: self.fed + 1 });
        }
        if self.is_full() {
            return Err(Error::NotReady {
                what: "every slot of the session is in use",
                remedy: "take finished frames first",
            });
        }
        let at = self.filled * self.frame_bytes;
        if self.kept.is_none() || self.observing {
            let slot = &self.slots[self.filling];
            if self.filled == 0 {
                let waited = slot.uploaded.synchronize().map_err(Error::from);
                self.guard(waited)?;
            }
            if let Some(up) = &self.slots[self.filling].up {
                let jobs = read_jobs(frame, up.as_ptr().wrapping_add(at));
                // SAFETY: the slot has room for the frame, its upload is done, and the frame is borrowed meanwhile.
                unsafe { self.copy(&jobs) };
            }
        }
        self.filled += 1;
        self.fed += 1;
        if self.filled == self.chunk || self.fed == expected {
            self.launch()?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`CopyPool::run`].
    unsafe fn copy(&self, jobs: &[CopyJob]) {
        if self.frame_bytes < SMALL {
            // SAFETY: the caller's promise.
            unsafe { CopyPool::run_here(jobs) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.pool.run(jobs) };
        }
    }

    /// Writes the next finished frame to `out`; false when none is finished yet. Waits for the card only where the
    /// session is full or the last frame has been fed.
    ///
    /// # Errors
    /// `out` is of another format or size, or the card failed: then nothing is written.
    pub fn take(&mut self, out: &mut FrameMut<'_>) -> Result<bool> {
        self.usable()?;
        self.check_frame((out.format(), out.width(), out.height()))?;
        let Some(flight) = self.queue.front() else { return Ok(false) };
        let (slot, taken) = (flight.slot, flight.taken);
        if taken == 0 {
            let event = &self.slots[slot].downloaded;
            let ready = if self.is_full() || self.finished {
                event.synchronize().map(|()| true)
            } else {
                event.is_done()
            };
            if !self.guard(ready.map_err(Error::from))? {
                return Ok(false);
            }
        }
        let at = taken * self.frame_bytes;
        if let Some(down) = &self.slots[slot].down {
            let jobs = write_jobs(out, down.as_ptr().wrapping_add(at).cast_const());
            // SAFETY: the slot's download is done, and `out` is borrowed alone.
            unsafe { self.copy(&jobs) };
        }
        if let Some(f) = self.queue.front_mut() {
            f.taken += 1;
            if f.taken == f.count {
                self.queue.pop_front();
            }
        }
        Ok(true)
    }

    /// No more frames will be fed in this pass: sends the rest on its way.
    ///
    /// # Errors
    /// The card failed.
    pub fn finish(&mut self) -> Result<()> {
        self.usable()?;
        self.launch()?;
        self.finished = true;
        Ok(())
    }

    /// Ends the first pass of the ideal filter. Nothing to do for a causal one.
    ///
    /// # Errors
    /// [`Error::FrameCount`] when fewer frames have been fed than announced; the card failed.
    pub fn begin_render(&mut self) -> Result<()> {
        self.usable()?;
        if !self.observing {
            return Ok(());
        }
        if self.fed != self.expected() {
            return Err(Error::FrameCount { expected: self.expected(), seen: self.fed });
        }
        self.launch()?;
        self.observing = false;
        self.fed = 0;
        self.finished = false;
        self.compute.rewind();
        Ok(())
    }

    /// Magnifies one frame and waits for it. For live pictures, with [`Options::chunk`] 1.
    ///
    /// # Errors
    /// As [`feed`](Self::feed) and [`take`](Self::take); frames fed before must have been taken.
    pub fn push(&mut self, frame: &FrameRef<'_>, out: &mut FrameMut<'_>) -> Result<()> {
        if self.observing {
            return Err(Error::NotReady {
                what: "the ideal filter needs the whole clip before it can magnify a frame",
                remedy: "feed every frame and begin to render, or use the iir or butterworth filter",
            });
        }
        if self.filled > 0 || !self.queue.is_empty() {
            return Err(Error::NotReady {
                what: "frames fed earlier have not been taken",
                remedy: "take them before pushing single frames",
            });
        }
        self.check_frame((out.format(), out.width(), out.height()))?;
        self.feed(frame)?;
        self.launch()?;
        let finished = std::mem::replace(&mut self.finished, true);
        let taken = self.take(out);
        self.finished = finished;
        taken.map(|_| ())
    }

    /// Forgets every frame, those not taken yet included: the next one is the first again.
    pub fn reset(&mut self) {
        self.queue.clear();
        self.filled = 0;
        self.fed = 0;
        self.finished = false;
        self.compute.rewind();
        self.observing = self.needs_two_passes();
    }

    /// A whole pass over an array. Frames go straight from and to page-locked arrays; pageable ones go through the
    /// slots' page-locked memory.
    ///
    /// # Safety
    /// `src` and `dst` (in a rendering pass) hold `frames` frames without gaps, apart from each other.
    unsafe fn run(
        &mut self,
        src: *const u8,
        dst: Option<*mut u8>,
        frames: usize,
        pinned: (bool, bool),
    ) -> Result<()> {
        let on_card = self.kept.is_some() && !self.observing;
        let chunks = frames.div_ceil(self.chunk);
        let chunk = self.chunk;
        let extent = move |i: usize| (i * chunk, chunk.min(frames - i * chunk));
        for i in 0..chunks + if dst.is_some() && !pinned.1 { SLOTS } else { 0 } {
            let slot = i % SLOTS;
            let mut jobs = Vec::new();
            if let (Some(dst), true, false) = (dst, i >= SLOTS, pinned.1) {
                // The slot's finished frames make room for the next ones.
                if i - SLOTS < chunks {
                    self.slots[slot].downloaded.synchronize()?;
                    let (at, n) = extent(i - SLOTS);
                    if let Some(p) = &self.slots[slot].down {
                        jobs.push(block(
                            dst.wrapping_add(at * self.frame_bytes),
                            p.as_ptr().cast_const(),
                            n * self.frame_bytes,
                        ));
                    }
                }
            }
            let mut from = None;
            if i < chunks && !on_card {
                let (at, n) = extent(i);
                let host = src.wrapping_add(at * self.frame_bytes);
                from = Some(host);
                if !pinned.0 {
                    self.slots[slot].uploaded.synchronize()?;
                    if let Some(p) = &self.slots[slot].up {
                        jobs.push(block(p.as_ptr(), host, n * self.frame_bytes));
                        from = Some(p.as_ptr().cast_const());
                    }
                }
            }
            // SAFETY: the caller's promise for the arrays; the slot's copies across the bus are done.
            unsafe { self.pool.run(&jobs) };
            if i < chunks {
                let (at, n) = extent(i);
                let to = dst.map(|d| match (&self.slots[slot].down, pinned.1) {
                    (Some(p), false) => p.as_ptr(),
                    _ => d.wrapping_add(at * self.frame_bytes),
                });
                self.enqueue(slot, n, from, to)?;
            }
        }
        Ok(())
    }
}

fn block(dst: *mut u8, src: *const u8, bytes: usize) -> CopyJob {
    CopyJob { dst, dst_pitch: bytes, src, src_pitch: bytes, row_bytes: bytes, rows: 1 }
}

/// Copies of a frame's planes to packed memory.
fn read_jobs(frame: &FrameRef<'_>, mut to: *mut u8) -> Vec<CopyJob> {
    let mut jobs = Vec::with_capacity(3);
    let mut add = |src: *const u8, stride: usize, row: usize, rows: usize| {
        jobs.push(CopyJob { dst: to, dst_pitch: row, src, src_pitch: stride, row_bytes: row, rows });
        to = to.wrapping_add(row * rows);
    };
    match frame.planes() {
        Planes::U8(p) => p.iter().filter(|p| p.height() > 0).for_each(|p| {
            add(p.samples().as_ptr(), p.stride(), p.row_len(), p.height());
        }),
        Planes::U16(p) => p.iter().filter(|p| p.height() > 0).for_each(|p| {
            add(p.samples().as_ptr().cast(), 2 * p.stride(), 2 * p.row_len(), p.height());
        }),
    }
    jobs
}

/// Copies of packed memory to a frame's planes.
fn write_jobs(frame: &mut FrameMut<'_>, mut from: *const u8) -> Vec<CopyJob> {
    let mut jobs = Vec::with_capacity(3);
    let mut add = |dst: *mut u8, stride: usize, row: usize, rows: usize| {
        jobs.push(CopyJob { dst, dst_pitch: stride, src: from, src_pitch: row, row_bytes: row, rows });
        from = from.wrapping_add(row * rows);
    };
    match frame.planes_mut() {
        PlanesMut::U8(p) => p.iter_mut().filter(|p| p.height() > 0).for_each(|p| {
            let (stride, row, rows) = (p.stride(), p.row_len(), p.height());
            add(p.samples_mut().as_mut_ptr(), stride, row, rows);
        }),
        PlanesMut::U16(p) => p.iter_mut().filter(|p| p.height() > 0).for_each(|p| {
            let (stride, row, rows) = (p.stride(), p.row_len(), p.height());
            add(p.samples_mut().as_mut_ptr().cast(), 2 * stride, 2 * row, rows);
        }),
    }
    jobs
}

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
#[derive(Debug)]
pub struct ClipRunner {
    session: Session,
    context: Context,
}

impl ClipRunner {
    /// Takes all memory.
    ///
    /// # Errors
    /// Those of a session.
    pub fn new(plan: &Plan, context: &Context, options: &Options) -> Result<Self> {
        Ok(Self { session: Session::make(plan, context, options, true)?, context: context.clone() })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Magnifies a clip from its first frame on; see [`magnify_clip`].
    ///
    /// # Errors
    /// See [`magnify_clip`].
    pub fn run<T: Sample>(&mut self, clip: &[T], out: &mut [T]) -> Result<()> {
        let s = *self.session.plan().source();
        let frame = s.format.frame_samples(s.width, s.height, ChromaRounding::Ceil);
        let whole = clip.len().div_ceil(frame) * frame;
        if clip.len() != whole {
            return Err(Error::WrongLength { name: "clip", have: clip.len(), want: whole });
        }
        if out.len() != clip.len() {
            return Err(Error::WrongLength { name: "output", have: out.len(), want: clip.len() });
        }
        if T::BYTES != s.format.bytes_per_sample() {
            let have = format!("{}-byte samples", T::BYTES);
            return Err(Error::WrongFrame { have, want: s.format.to_string() });
        }
        let frames = clip.len() / frame;
        if let Temporal::Projection { frames: expected, .. } = self.session.plan().temporal()
            && *expected != frames
        {
            return Err(Error::FrameCount { expected: *expected as u64, seen: frames as u64 });
        }
        self.session.usable()?;
        self.session.reset();
        let (src, dst) = (clip.as_ptr().cast::<u8>(), out.as_mut_ptr().cast::<u8>());
        let pinned = (
            PinnedBuffer::is_pinned(&self.context, src as u64),
            PinnedBuffer::is_pinned(&self.context, dst as u64),
        );
        let result = self.passes(src, dst, frames, pinned);
        // Whatever happened, nothing may touch the caller's arrays after this.
        let waited = [&self.session.flights.up, &self.session.flights.main, &self.session.flights.down]
            .into_iter()
            .try_for_each(Stream::synchronize);
        self.session.guard(result.and(waited.map_err(Error::from)))
    }

    fn passes(&mut self, src: *const u8, dst: *mut u8, frames: usize, pinned: (bool, bool)) -> Result<()> {
        if self.session.observing {
            // SAFETY: `run` was given arrays of that many frames, which it keeps borrowed until the streams are done.
            unsafe { self.session.run(src, None, frames, pinned) }?;
            self.session.observing = false;
            self.session.compute.rewind();
        }
        // SAFETY: as above; the two arrays are separate borrows.
        unsafe { self.session.run(src, Some(dst), frames, pinned) }
    }
}
