//! The ring: three streams and a few slots, so that nothing waits for what it does not need.
//!
//! A slot is room for a chunk of frames on the card, with page-locked memory on both sides of it. While one slot's
//! frames are uploaded, the kernels work on another's in place, and a third one's are downloaded. Events order the
//! streams; the host waits only for a slot it wants to use again.

use jnd_cuda::{
    Context, CopyJob, CopyPool, Device, DeviceBuffer, Event, MemoryPlan, PinnedBuffer, Priority, Stream,
    Transfer,
};
use jnd_video::{ChromaRounding, FrameMut, FrameRef, PixelFormat, Planes, PlanesMut};

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
pub(super) const SLOTS: usize = 4;
/// Bytes of a chunk that crosses the bus: long enough for its full rate, short enough to start soon.
const CHUNK_BYTES: usize = 16 << 20;
/// Less than this is copied by the calling thread: waking others takes as long.
const SMALL: usize = 256 << 10;

pub(super) struct Slot {
    /// Frames on the card.
    device: u64,
    pub(super) up: PinnedBuffer,
    pub(super) down: PinnedBuffer,
    pub(super) uploaded: Event,
    computed: Event,
    pub(super) downloaded: Event,
}

/// The streams; waits for them when dropped.
struct Streams {
    up: Stream,
    main: Stream,
    down: Stream,
}

impl Streams {
    fn synchronize(&self) -> Result<()> {
        [&self.up, &self.main, &self.down].into_iter().try_for_each(Stream::synchronize)?;
        Ok(())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        for s in [&self.up, &self.main, &self.down] {
            // After a failure of the card there is nothing to wait for.
            let _ = s.synchronize();
        }
    }
}

/// Streams, slots and kernels of one session.
pub(super) struct Ring {
    // Dropped first, so that nothing is under way when the memory goes.
    streams: Streams,
    compute: Compute,
    slots: Vec<Slot>,
    frames: DeviceBuffer,
    kept: Option<DeviceBuffer>,
    pool: CopyPool,
    chunk: usize,
    frame_bytes: usize,
    /// In the first of two passes.
    observing: bool,
    failed: bool,
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
    (CHUNK_BYTES / frame_bytes(plan).max(1)).clamp(4, default_chunk(plan).max(4))
}

impl Ring {
    /// Bytes of device memory; frames kept between two passes are not counted.
    pub(super) fn need(plan: &Plan, options: &Options) -> u64 {
        memory_plan(plan, session_chunk(plan, options)).bytes()
    }

    /// Takes all memory.
    pub(super) fn new(plan: &Plan, context: &Context, options: &Options) -> Result<Self> {
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
        let slots = (0..SLOTS)
            .map(|i| {
                Ok(Slot {
                    device: frames.ptr() + (i * slot_bytes) as u64,
                    up: PinnedBuffer::new(context, chunk * frame_bytes, Transfer::Upload)?,
                    down: PinnedBuffer::new(context, chunk * frame_bytes, Transfer::Download)?,
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
            streams: Streams {
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
            observing: plan.needs_two_passes(),
            failed: false,
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        self.compute.plan()
    }

    /// Frames of a chunk.
    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }

    pub(super) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Bytes of device memory taken.
    pub(super) fn memory(&self) -> u64 {
        self.compute.bytes() + self.frames.bytes() as u64 + self.kept.as_ref().map_or(0, |k| k.bytes() as u64)
    }

    pub(super) fn keeps_frames(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether the frames of this pass are on the card already.
    pub(super) fn has_frames(&self) -> bool {
        self.kept.is_some() && !self.observing
    }

    /// Whether this is the first of two passes, from which nothing comes back.
    pub(super) fn is_observing(&self) -> bool {
        self.observing
    }

    pub(super) fn slot(&self, i: usize) -> &Slot {
        &self.slots[i]
    }

    /// Frames of a pass, where the plan fixes them.
    pub(super) fn expected(&self) -> u64 {
        match self.plan().temporal() {
            Temporal::Causal { .. } => u64::MAX,
            Temporal::Projection { frames, .. } => *frames as u64,
        }
    }

    pub(super) fn check_frame(&self, f: (PixelFormat, usize, usize)) -> Result<()> {
        let s = self.plan().source();
        if f == (s.format, s.width, s.height) {
            return Ok(());
        }
        let text = |f: (PixelFormat, usize, usize)| format!("{}x{} {}", f.1, f.2, f.0);
        Err(Error::WrongFrame { have: text(f), want: text((s.format, s.width, s.height)) })
    }

    pub(super) fn usable(&self) -> Result<()> {
        if self.failed {
            return Err(Error::NotReady {
                what: "the card failed earlier in this session",
                remedy: "drop it and open another",
            });
        }
        Ok(())
    }

    /// Keeps the session closed after a failure of the card.
    pub(super) fn guard<T, E: Into<Error>>(&mut self, r: Result<T, E>) -> Result<T> {
        let r = r.map_err(E::into);
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
    ///
    /// # Safety
    /// Both are memory of `n` frames that stays until the slot is done, and nobody touches `dst` meanwhile.
    pub(super) unsafe fn enqueue(
        &mut self,
        slot: usize,
        n: usize,
        src: Option<*const u8>,
        dst: Option<*mut u8>,
    ) -> Result<()> {
        let first = self.compute.seen();
        let place = self.place(slot, first);
        let bytes = n * self.frame_bytes;
        let f = DeviceFrames::packed(self.plan().source(), place, n);
        let s = &self.slots[slot];
        let Streams { up, main, down } = &self.streams;
        if let Some(src) = src {
            // The slot's last frames are out of the way.
            up.wait(&s.downloaded)?;
            up.wait(&s.computed)?;
            // SAFETY: the place has room for the chunk; the rest is the caller's promise.
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

    /// Copies between host memories; a little without waking other threads.
    ///
    /// # Safety
    /// As [`CopyPool::run`].
    pub(super) unsafe fn copy(&self, jobs: &[CopyJob]) {
        if jobs.iter().map(|j| j.row_bytes * j.rows).sum::<usize>() < SMALL {
            // SAFETY: the caller's promise.
            unsafe { CopyPool::run_here(jobs) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.pool.run(jobs) };
        }
    }

    /// The second of two passes comes next, from its first frame on.
    pub(super) fn begin_render(&mut self) {
        self.observing = false;
        self.compute.rewind();
    }

    /// The first frame of the first pass comes next.
    pub(super) fn rewind(&mut self) {
        self.compute.rewind();
        self.observing = self.plan().needs_two_passes();
    }

    /// Waits until the card has done everything that was queued.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.streams.synchronize()
    }
}

/// One copy without gaps.
pub(super) fn block(dst: *mut u8, src: *const u8, bytes: usize) -> CopyJob {
    CopyJob { dst, dst_pitch: bytes, src, src_pitch: bytes, row_bytes: bytes, rows: 1 }
}

/// Copies of a frame's planes to packed memory.
pub(super) fn read_jobs(frame: &FrameRef<'_>, mut to: *mut u8) -> Vec<CopyJob> {
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
pub(super) fn write_jobs(frame: &mut FrameMut<'_>, mut from: *const u8) -> Vec<CopyJob> {
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
