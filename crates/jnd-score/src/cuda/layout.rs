//! What scoring takes, known before anything is allocated: the batch, the ring of places, every buffer.

use jnd_cuda::{Context, MemoryPlan, Part};

use super::places::Places;
use super::staging;
use super::work::Work;
use crate::board::Board;
use crate::options::Feature;
use crate::scorer::Geometry;
use crate::{Error, Result};

/// Pairs of a batch, where nothing else is asked for.
pub const DEFAULT_BATCH: usize = 32;

/// Pairs of a batch at most.
pub const MAX_BATCH: usize = 1024;

/// Batches whose places are filled or computed at the same time.
pub(super) const IN_FLIGHT: usize = 2;

/// Frames before a batch that its pairs may need.
const REACH: usize = 2;

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
pub(super) struct Layout {
    pub(super) batch: usize,
    pub(super) places: Places,
    pub(super) works: Vec<Work>,
    pub(super) memory: MemoryPlan,
    pub(super) ring: Part,
    pub(super) results: [Part; IN_FLIGHT],
    pub(super) result_bytes: usize,
}

impl Layout {
    pub(super) fn new(
        features: &[Feature],
        geometry: Geometry,
        subsample: u64,
        batch: usize,
    ) -> Result<(Self, Board)> {
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

    /// The layout for the batch asked for, or for the largest usual one that the free memory allows.
    pub(super) fn fit(
        context: &Context,
        features: &[Feature],
        geometry: Geometry,
        options: &CudaOptions,
    ) -> Result<(Self, Board)> {
        if let Some(batch) = options.batch {
            let (layout, board) = Self::new(features, geometry, options.subsample, batch)?;
            layout.memory.check(context, options.memory)?;
            return Ok((layout, board));
        }
        let free = context.memory()?.0;
        let budget = options.memory.unwrap_or(free / MEMORY_SHARE);
        let mut batch = usual(features, geometry, options)?;
        loop {
            let (layout, board) = Self::new(features, geometry, options.subsample, batch)?;
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

    pub(super) fn plan(&self) -> CudaPlan {
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
pub(super) fn ring_places(batch: usize) -> usize {
    IN_FLIGHT * batch + REACH
}

/// The batch size for a picture, where the caller names none.
fn usual_batch(places_bytes: usize) -> usize {
    if places_bytes < 4 << 20 { 2 * DEFAULT_BATCH } else { DEFAULT_BATCH }
}

/// The batch size asked for, or the usual one.
fn usual(features: &[Feature], geometry: Geometry, options: &CudaOptions) -> Result<usize> {
    let (_, jobs) = Board::new(features, geometry, options.subsample)?;
    let places = Places::new(&jobs, geometry.planar()?, geometry.planes());
    Ok(options.batch.unwrap_or_else(|| usual_batch(places.bytes)))
}

/// What scoring will take if memory is plenty.
pub(super) fn plan(features: &[Feature], geometry: Geometry, options: &CudaOptions) -> Result<CudaPlan> {
    let batch = usual(features, geometry, options)?;
    Ok(Layout::new(features, geometry, options.subsample, batch)?.0.plan())
}
