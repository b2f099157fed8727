//! Scoring on the card: the same bits as [`Scorer`](crate::Scorer), many pairs at a time.
//!
//! Pairs are copied into pinned memory, travel to a ring of places on the card, and are computed in batches: every
//! launch covers all pairs of a batch, and all planes of a feature. Copies of the next batch run beside the kernels of
//! this one; nothing is done by the host inside a batch, and one small copy brings its results back.

mod measure;
mod params;
mod places;
mod staging;
mod work;

use std::collections::VecDeque;

use jnd_cuda::{
    Arena, Context, Event, MemoryPlan, Module, Part, PinnedBuffer, Priority, Stream, Transfer, arg,
};
use jnd_video::{FrameRef, PixelFormat};

use crate::board::{Board, Score};
use crate::job::Outcome;
use crate::options::Feature;
use crate::scorer::Geometry;
use crate::{Error, Result};
pub use measure::{Measured, Stage, measure};
use params::{Frames, PlaceCopy};
use places::Places;
use staging::Staging;
use work::{Batch, Kernels, Work};

/// The kernels of this crate; see `scripts/kernels`.
#[cfg(feature = "cuda")]
static KERNELS: &[u8] = include_bytes!("../kernels.fatbin");
#[cfg(not(feature = "cuda"))]
static KERNELS: &[u8] = &[];

/// Pairs of a batch, where nothing else is asked for.
pub const DEFAULT_BATCH: usize = 32;

/// Pairs of a batch at most.
pub const MAX_BATCH: usize = 1024;

/// Batches whose places are filled or computed at the same time.
const IN_FLIGHT: usize = 2;

/// Frames before a batch that its pairs may need.
const REACH: usize = 2;

/// Streams that compute: features run beside each other.
const STREAMS: usize = 4;

/// Share of the free device memory that a batch of unstated size may take, as a divisor.
const MEMORY_SHARE: u64 = 2;

/// How to score on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CudaOptions {
    /// Pairs of a batch, 1 to [`MAX_BATCH`]. Nothing means [`DEFAULT_BATCH`] (twice that for small pictures), or fewer
    /// where the device's free memory does not allow them. Scores do not depend on it.
    pub batch: Option<usize>,
    /// Report frames whose index is a multiple of this; features that look at one frame alone skip the others.
    pub subsample: u64,
    /// Most bytes of device memory to take.
    pub memory: Option<u64>,
}

/// What scoring will take, known before anything is allocated.
#[derive(Debug, Clone)]
pub struct CudaPlan {
    /// Pairs of a batch.
    pub batch: usize,
    /// Bytes of device memory.
    pub device_bytes: u64,
    /// Bytes of pinned host memory.
    pub pinned_bytes: u64,
    /// Bytes of a pair that travel to the card: the planes that the features read.
    pub pair_bytes: u64,
    /// What the device memory is for.
    pub parts: Vec<(&'static str, u64)>,
}

/// Sizes, jobs and buffers for one batch size.
struct Layout {
    batch: usize,
    places: Places,
    works: Vec<Work>,
    memory: MemoryPlan,
    ring: Part,
    results: [Part; IN_FLIGHT],
    result_bytes: usize,
}

impl Layout {
    fn new(features: &[Feature], geometry: Geometry, subsample: u64, batch: usize) -> Result<(Self, Board)> {
        if !(1..=MAX_BATCH).contains(&batch) {
            return Err(Error::Batch(batch));
        }
        let (board, jobs) = Board::new(features, geometry, subsample)?;
        let places = Places::new(&jobs, geometry.planar()?, geometry.planes());
        let mut memory = MemoryPlan::new();
        let ring = memory.add("frames", (ring_places(batch) as u64).saturating_mul(places.bytes as u64));
        let mut result_bytes = 0;
        let works = jobs
            .into_iter()
            .map(|j| Work::new(j, &places, batch, board.subsample(), &mut memory, &mut result_bytes))
            .collect();
        let result_bytes = result_bytes.max(8);
        let results = std::array::from_fn(|_| memory.add("results", result_bytes as u64));
        Ok((Self { batch, places, works, memory, ring, results, result_bytes }, board))
    }

    fn plan(&self) -> CudaPlan {
        let mut parts: Vec<(&'static str, u64)> = Vec::new();
        for (name, bytes) in self.memory.parts() {
            match parts.iter_mut().find(|p| p.0 == name) {
                Some(p) => p.1 = p.1.saturating_add(bytes),
                None => parts.push((name, bytes)),
            }
        }
        CudaPlan {
            batch: self.batch,
            device_bytes: self.memory.bytes(),
            pinned_bytes: staging::pinned_bytes(self.places.bytes, self.batch)
                + (IN_FLIGHT * self.result_bytes) as u64,
            pair_bytes: self.places.bytes as u64,
            parts,
        }
    }
}

/// Places of the ring: a batch is computed while the next one arrives, and frames before it are still there.
fn ring_places(batch: usize) -> usize {
    IN_FLIGHT * batch + REACH
}

/// The batch size for a picture, where the caller names none.
fn usual_batch(places_bytes: usize) -> usize {
    if places_bytes < 4 << 20 { 2 * DEFAULT_BATCH } else { DEFAULT_BATCH }
}

/// A batch on its way.
struct Pending {
    batch: Batch,
    slot: usize,
}

/// A plane that lies on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DevicePlane {
    /// Device address of the first sample.
    pub ptr: u64,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// Work done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CudaCounts {
    /// Batches computed.
    pub batches: u64,
    /// Kernels launched.
    pub launches: u64,
    /// Copies between host and card.
    pub copies: u64,
    /// Times the host waited for the card.
    pub waits: u64,
}

/// Scores pairs of frames on a card.
///
/// As [`Scorer`](crate::Scorer), and equal to it to the last bit; scores come out a batch at a time.
pub struct CudaScorer {
    board: Board,
    held: PixelFormat,
    layout: Layout,
    kernels: Kernels,
    arena: Arena,
    staging: Staging,
    /// Pinned memory for each batch's results.
    results: Vec<PinnedBuffer>,
    copy: Stream,
    compute: Vec<Stream>,
    /// A batch's frames are on the card.
    uploaded: [Event; IN_FLIGHT],
    /// The first stream has made the results ready to be written.
    begun: Event,
    /// Each stream is through with its part of a batch.
    done: Vec<Event>,
    /// A batch's results are back.
    finished: Vec<Event>,
    pending: VecDeque<Pending>,
    pushed: u64,
    batches: u64,
    /// Frames whose outcomes have gone to the board.
    scored: u64,
    ended: bool,
    counts: CudaCounts,
}

impl std::fmt::Debug for CudaScorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaScorer")
            .field("geometry", &self.board.geometry())
            .field("batch", &self.layout.batch)
            .field("pushed", &self.pushed)
            .finish_non_exhaustive()
    }
}

impl CudaScorer {
    /// What scoring will take, without a card. A batch size that is not stated is taken as if memory were plenty.
    ///
    /// # Errors
    /// As [`CudaScorer::new`], apart from those of the card.
    pub fn plan(features: &[Feature], geometry: Geometry, options: &CudaOptions) -> Result<CudaPlan> {
        let (_, jobs) = Board::new(features, geometry, options.subsample)?;
        let places = Places::new(&jobs, geometry.planar()?, geometry.planes());
        let batch = options.batch.unwrap_or_else(|| usual_batch(places.bytes));
        Ok(Layout::new(features, geometry, options.subsample, batch)?.0.plan())
    }

    /// A scorer of `features` for clips of one geometry.
    ///
    /// # Errors
    /// As [`Scorer::new`](crate::Scorer::new); too little device memory; errors of the card.
    pub fn new(
        context: &Context,
        features: &[Feature],
        geometry: Geometry,
        options: &CudaOptions,
    ) -> Result<Self> {
        let (layout, board) = Self::fit(context, features, geometry, options)?;
        let held = geometry.planar()?;
        let module = Module::load(context, "jnd-score", KERNELS)?;
        let kernels = Kernels::new(&module, layout.places.sample)?;
        let arena = layout.memory.clone().allocate(context, options.memory)?;
        let staging = Staging::new(context, layout.places.bytes, layout.batch)?;
        let results = (0..IN_FLIGHT)
            .map(|_| Ok(PinnedBuffer::new(context, layout.result_bytes, Transfer::Download)?))
            .collect::<Result<Vec<_>>>()?;
        let copy = Stream::new(context, Priority::Normal)?;
        let streams = layout.works.len().clamp(1, STREAMS);
        let compute =
            (0..streams).map(|_| Ok(Stream::new(context, Priority::Normal)?)).collect::<Result<Vec<_>>>()?;
        // Rows are read to their padded ends, which nothing else writes.
        // SAFETY: the part has that many bytes.
        unsafe { copy.fill(arena.ptr(layout.ring), 0, arena.part_bytes(layout.ring) as usize) }?;
        copy.synchronize()?;
        for work in &layout.works {
            work.prepare(&kernels, &arena, &copy)?;
        }
        let events = |n: usize| (0..n).map(|_| Ok(Event::new(context)?)).collect::<Result<Vec<_>>>();
        Ok(Self {
            board,
            held,
            kernels,
            arena,
            staging,
            results,
            copy,
            uploaded: [Event::new(context)?, Event::new(context)?],
            begun: Event::new(context)?,
            done: events(streams)?,
            finished: events(IN_FLIGHT)?,
            compute,
            layout,
            pending: VecDeque::new(),
            pushed: 0,
            batches: 0,
            scored: 0,
            ended: false,
            counts: CudaCounts::default(),
        })
    }

    /// The layout for the batch asked for, or for the largest usual one that the free memory allows.
    fn fit(
        context: &Context,
        features: &[Feature],
        geometry: Geometry,
        options: &CudaOptions,
    ) -> Result<(Layout, Board)> {
        if let Some(batch) = options.batch {
            let (layout, board) = Layout::new(features, geometry, options.subsample, batch)?;
            layout.memory.check(context, options.memory)?;
            return Ok((layout, board));
        }
        let free = context.memory()?.0;
        let budget = options.memory.unwrap_or(free / MEMORY_SHARE);
        let mut batch = Self::plan(features, geometry, options)?.batch;
        loop {
            let (layout, board) = Layout::new(features, geometry, options.subsample, batch)?;
            if layout.memory.bytes() <= budget {
                return Ok((layout, board));
            }
            if batch == 1 {
                layout.memory.check(context, options.memory)?;
                return Ok((layout, board));
            }
            batch /= 2;
        }
    }

    /// What this scorer took.
    pub fn taken(&self) -> CudaPlan {
        self.layout.plan()
    }

    /// Work done so far.
    pub fn counts(&self) -> CudaCounts {
        self.counts
    }

    /// Names of the metrics, by index.
    pub fn metrics(&self) -> &[String] {
        self.board.metrics()
    }

    /// Indices of the metrics in the order of the reference's reports; see [`Scorer`](crate::Scorer::report_order).
    pub fn report_order(&self) -> Vec<usize> {
        self.board.report_order(self.pushed)
    }

    /// Whether a frame is reported under the subsampling asked for.
    pub fn is_reported(&self, frame: u64) -> bool {
        self.board.is_reported(frame)
    }

    /// Pairs pushed so far.
    pub fn frames(&self) -> u64 {
        self.pushed
    }

    /// Size and format of the clips.
    pub fn geometry(&self) -> Geometry {
        self.board.geometry()
    }

    /// The format frames are held in: planar, samples in the low bits.
    pub fn held_format(&self) -> PixelFormat {
        self.held
    }

    /// Scores a pair; the frames are copied into pinned memory before this returns.
    ///
    /// # Errors
    /// A frame of another size or format; a scorer that is finished; errors of the card.
    pub fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        for (frame, side) in [(&reference, "reference"), (&distorted, "distorted")] {
            self.board.geometry().check(frame, self.pushed, side, self.ended)?;
        }
        self.staging.fill(&self.layout.places, [&reference, &distorted])?;
        self.commit()
    }

    /// The pinned memory of the next pair, to be filled in place and handed over with [`CudaScorer::commit`]. What an
    /// earlier pair left there is still in it.
    ///
    /// # Errors
    /// A scorer that is finished; errors of the card.
    pub fn slot(&mut self) -> Result<Slot<'_>> {
        if self.ended {
            return Err(Error::Finished);
        }
        Ok(Slot { bytes: self.staging.next()?, places: &self.layout.places })
    }

    /// Scores the pair in [`CudaScorer::slot`].
    ///
    /// # Errors
    /// A scorer that is finished; errors of the card.
    pub fn commit(&mut self) -> Result<()> {
        if self.ended {
            return Err(Error::Finished);
        }
        self.staging.next()?;
        self.staging.filled += 1;
        self.pushed += 1;
        if self.staging.filled == self.staging.pairs || self.batch_is_full() {
            self.upload()?;
        }
        self.after_push()
    }

    /// Scores a pair that lies on the card: planes of the [held format](CudaScorer::held_format), by side (reference,
    /// distorted) and plane; planes that no feature reads may be left out as 0. They are copied on the card, after
    /// `ready` if it is given; [`CudaScorer::synchronize_copies`] says when they may be written again.
    ///
    /// # Errors
    /// A scorer that is finished; errors of the card.
    ///
    /// # Safety
    /// Every plane that a feature reads is device memory of this scorer's context with all its rows, complete when
    /// `ready` is passed, and stays so until the copy is done.
    pub unsafe fn push_device(
        &mut self,
        planes: &[[DevicePlane; 3]; 2],
        ready: Option<&Event>,
    ) -> Result<()> {
        if self.ended {
            return Err(Error::Finished);
        }
        self.upload()?;
        self.begin_batch()?;
        if let Some(ready) = ready {
            self.copy.wait(ready)?;
        }
        let to = self.place_ptr(self.pushed);
        let mut p = PlaceCopy {
            from: [0; 6],
            from_pitch: [0; 6],
            to: [0; 6],
            to_pitch: [0; 6],
            row_bytes: [0; 6],
            rows: [0; 6],
        };
        let mut tallest = 1;
        for k in 0..6 {
            let (side, i) = (k / 3, k % 3);
            let Some(plane) = self.layout.places.planes[side][i] else { continue };
            p.from[k] = planes[side][i].ptr;
            p.from_pitch[k] = planes[side][i].pitch as i64;
            p.to[k] = to + plane.offset as u64;
            p.to_pitch[k] = plane.pitch as i64;
            p.row_bytes[k] = (plane.width * self.layout.places.sample) as i32;
            p.rows[k] = plane.height as i32;
            tallest = tallest.max(plane.height);
        }
        let grid = (1, tallest.min(65_535) as u32, 6);
        // SAFETY: the caller's promise for the planes; the place is free since `begin_batch`.
        unsafe { self.kernels.place.launch(&self.copy, grid, (256, 1, 1), 0, &mut [arg(&p)]) }?;
        self.counts.launches += 1;
        self.pushed += 1;
        self.after_push()
    }

    /// Waits until all pushed frames are on the card in places of their own.
    ///
    /// # Errors
    /// Errors of the card.
    pub fn synchronize_copies(&mut self) -> Result<()> {
        self.counts.waits += 1;
        Ok(self.copy.synchronize()?)
    }

    /// The next score that is final; see [`Scorer`](crate::Scorer::next_score).
    pub fn next_score(&mut self) -> Option<Score> {
        self.board.next_score()
    }

    /// Ends the clip: after this [`CudaScorer::next_score`] gives everything left.
    ///
    /// # Errors
    /// Errors of the card.
    pub fn finish(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        self.upload()?;
        let rest = (self.pushed % self.layout.batch as u64) as usize;
        if rest > 0 {
            self.launch(rest)?;
        }
        while !self.pending.is_empty() {
            self.collect_one()?;
        }
        self.board.finish();
        Ok(())
    }

    fn batch_is_full(&self) -> bool {
        self.pushed.is_multiple_of(self.layout.batch as u64)
    }

    /// Index of a frame's place.
    fn place(&self, frame: u64) -> usize {
        (frame % ring_places(self.layout.batch) as u64) as usize
    }

    fn place_ptr(&self, frame: u64) -> u64 {
        self.arena.ptr(self.layout.ring) + (self.place(frame) * self.layout.places.bytes) as u64
    }

    /// Makes copies of a batch wait until the places it takes over are no longer read.
    fn begin_batch(&self) -> Result<()> {
        Ok(self.copy.wait(&self.finished[(self.batches % IN_FLIGHT as u64) as usize])?)
    }

    /// Copies the pairs that wait in the current group to their places.
    fn upload(&mut self) -> Result<()> {
        let n = self.staging.filled;
        if n == 0 {
            return Ok(());
        }
        self.begin_batch()?;
        let size = self.layout.places.bytes;
        let first = self.pushed - n as u64;
        let run = n.min(ring_places(self.layout.batch) - self.place(first));
        let (buffer, copied) = self.staging.current();
        for (from, count) in [(0, run), (run, n - run)] {
            if count > 0 {
                let to = self.place_ptr(first + from as u64);
                // SAFETY: the places are free since `begin_batch`; the group's memory is not written again before the
                // event recorded here.
                unsafe { self.copy.upload(to, buffer.as_ptr().add(from * size), count * size) }?;
                self.counts.copies += 1;
            }
        }
        self.copy.record(copied)?;
        self.staging.advance();
        Ok(())
    }

    /// Starts a batch that is full, and takes what is ready.
    fn after_push(&mut self) -> Result<()> {
        if self.batch_is_full() {
            self.launch(self.layout.batch)?;
        }
        while let Some(p) = self.pending.front() {
            if !self.finished[p.slot].is_done()? {
                break;
            }
            self.collect_one()?;
        }
        Ok(())
    }

    /// The last `frames` frames as a batch.
    fn batch(&self, frames: usize, slot: usize) -> Batch {
        let first = self.pushed - frames as u64;
        Batch {
            first,
            frames,
            ring: Frames {
                ptr: self.arena.ptr(self.layout.ring),
                place: self.layout.places.bytes as i64,
                places: ring_places(self.layout.batch) as i32,
                first: self.place(first) as i32,
            },
            results: self.arena.ptr(self.layout.results[slot]),
        }
    }

    /// Queues all work on the last `frames` frames.
    fn launch(&mut self, frames: usize) -> Result<()> {
        while self.pending.len() >= IN_FLIGHT {
            self.collect_one()?;
        }
        let slot = (self.batches % IN_FLIGHT as u64) as usize;
        let batch = self.batch(frames, slot);
        self.copy.record(&self.uploaded[slot])?;
        let main = &self.compute[0];
        main.wait(&self.uploaded[slot])?;
        // SAFETY: the part holds the results; the stream has passed the copy of what they held before.
        unsafe { main.fill(batch.results, 0, self.layout.result_bytes) }?;
        main.record(&self.begun)?;
        for stream in &self.compute[1..] {
            stream.wait(&self.begun)?;
        }
        for (i, work) in self.layout.works.iter().enumerate() {
            let stream = &self.compute[i % self.compute.len()];
            self.counts.launches +=
                work.launch(&self.kernels, &self.arena, &self.layout.places, &batch, stream, &mut |_, _| {
                    Ok(())
                })? as u64;
        }
        for (stream, done) in self.compute.iter().zip(&self.done).skip(1) {
            stream.record(done)?;
            main.wait(done)?;
        }
        // SAFETY: the pinned memory is as large as the results, and not read before the event below.
        unsafe { main.download(self.results[slot].as_ptr(), batch.results, self.layout.result_bytes) }?;
        main.record(&self.finished[slot])?;
        self.counts.copies += 1;
        self.counts.batches += 1;
        self.batches += 1;
        self.pending.push_back(Pending { batch, slot });
        Ok(())
    }

    /// Waits for the oldest batch and takes its results.
    fn collect_one(&mut self) -> Result<()> {
        let Some(Pending { batch, slot }) = self.pending.pop_front() else { return Ok(()) };
        self.finished[slot].synchronize()?;
        self.counts.waits += 1;
        let results = self.results[slot].as_slice();
        for frame in 0..batch.frames {
            let outcomes: Vec<Outcome> =
                self.layout.works.iter().map(|w| w.outcome(&batch, frame, results)).collect();
            self.board.take(self.scored, &outcomes);
            self.scored += 1;
        }
        Ok(())
    }
}

impl Drop for CudaScorer {
    fn drop(&mut self) {
        // Queued work uses the buffers: let it end before they go. An error was reported by the call that caused it.
        let _ = self.copy.synchronize();
        for stream in &self.compute {
            let _ = stream.synchronize();
        }
    }
}

/// Pinned memory for a pair of frames.
#[derive(Debug)]
pub struct Slot<'a> {
    bytes: &'a mut [u8],
    places: &'a Places,
}

impl Slot<'_> {
    /// Bytes of row `y` of a plane (side 0 is the reference), samples in the low bits; nothing where no feature reads
    /// the plane or there is no such row.
    pub fn row_mut(&mut self, side: usize, plane: usize, y: usize) -> Option<&mut [u8]> {
        let p = (*self.places.planes.get(side)?.get(plane)?)?;
        if y >= p.height {
            return None;
        }
        let at = p.offset + y * p.pitch;
        self.bytes.get_mut(at..at + p.width * self.places.sample)
    }

    /// Columns and rows of a plane, chroma rounded down; nothing where no feature reads it.
    pub fn size(&self, side: usize, plane: usize) -> Option<(usize, usize)> {
        let p = (*self.places.planes.get(side)?.get(plane)?)?;
        Some((p.width, p.height))
    }
}
