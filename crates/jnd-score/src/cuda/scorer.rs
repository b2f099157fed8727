//! The streaming scorer of a card.

mod measure;

use std::collections::VecDeque;

use jnd_cuda::{Arena, Context, Event, Module, PinnedBuffer, Priority, Stream, Transfer, arg};
use jnd_video::FrameRef;

pub use measure::{Measured, Stage, measure};

use super::KERNELS;
use super::layout::{self, CudaOptions, CudaPlan, IN_FLIGHT, Layout, ring_places};
use super::params::{Frames, PlaceCopy};
use super::staging::{Slot, Staging};
use super::work::{Batch, Kernels};
use crate::board::Board;
use crate::job::Outcome;
use crate::options::Feature;
use crate::scorer::Geometry;
use crate::{Error, Result};

/// Streams that compute: features run beside each other.
const STREAMS: usize = 4;

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
    pub(crate) board: Board,
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
            .field("pushed", &self.board.frames())
            .finish_non_exhaustive()
    }
}

impl CudaScorer {
    /// What scoring will take, without a card. A batch size that is not stated is taken as if memory were plenty.
    ///
    /// # Errors
    /// As [`CudaScorer::new`], apart from those of the card.
    pub fn plan(features: &[Feature], geometry: Geometry, options: &CudaOptions) -> Result<CudaPlan> {
        layout::plan(features, geometry, options)
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
        let (layout, board) = Layout::fit(context, features, geometry, options)?;
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
            batches: 0,
            scored: 0,
            ended: false,
            counts: CudaCounts::default(),
        })
    }

    /// What this scorer took.
    pub fn taken(&self) -> CudaPlan {
        self.layout.plan()
    }

    /// Work done so far.
    pub fn counts(&self) -> CudaCounts {
        self.counts
    }

    /// Scores a pair; the frames are copied into pinned memory before this returns.
    ///
    /// # Errors
    /// A frame of another size or format; a scorer that is finished; errors of the card.
    pub fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        for (frame, side) in [(&reference, "reference"), (&distorted, "distorted")] {
            self.board.geometry().check(frame, self.board.frames(), side, self.ended)?;
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
        self.board.count();
        if self.staging.filled == self.staging.pairs || self.batch_is_full() {
            self.upload()?;
        }
        self.after_push()
    }

    /// Scores a pair that lies on the card: planes of the [held format](crate::Board::held_format), by side (reference,
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
        let to = self.place_ptr(self.board.frames());
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
        self.board.count();
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

    /// Ends the clip: after this [`next_score`](crate::Engine::next_score) gives everything left.
    ///
    /// # Errors
    /// Errors of the card.
    pub fn finish(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        self.upload()?;
        let rest = (self.board.frames() % self.layout.batch as u64) as usize;
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
        self.board.frames().is_multiple_of(self.layout.batch as u64)
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
        let first = self.board.frames() - n as u64;
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
        let first = self.board.frames() - frames as u64;
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
