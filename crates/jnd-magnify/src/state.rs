//! What is kept of a level between frames: its samples, the temporal filter's memory, the changes.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::layout::{CHANGE_RING, RING, Span, value_bytes};
use crate::pixel::{Pixel, Real};
use crate::plan::{Level, Plan, Precision, Stored, Temporal};
use crate::prefetch;
use crate::temporal::{self, BLOCK, Ideal, Lags};
use jnd_video::simd;

/// Rows of a level, in the type its plan says.
#[derive(Debug)]
pub(crate) enum Rows<S: Pixel> {
    Samples(Buffer<S>),
    Int(Buffer<S::Int>),
    Float(Buffer<f32>),
}

/// Runs the same code for each type of rows.
macro_rules! with_rows {
    ($rows:expr, $v:ident => $body:expr) => {
        match $rows {
            Rows::Samples($v) => $body,
            Rows::Int($v) => $body,
            Rows::Float($v) => $body,
        }
    };
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $body:expr) => {
        match ($a, $b) {
            (Rows::Samples($x), Rows::Samples($y)) => $body,
            (Rows::Int($x), Rows::Int($y)) => $body,
            (Rows::Float($x), Rows::Float($y)) => $body,
            _ => debug_assert!(false, "rows of one level are of one type"),
        }
    };
}
pub(crate) use with_rows;

impl<S: Pixel> Rows<S> {
    pub(crate) fn new(stored: Stored, len: usize) -> Self {
        match stored {
            Stored::Samples => Self::Samples(Buffer::new(len)),
            Stored::Integer { .. } => Self::Int(Buffer::new(len)),
            Stored::Float => Self::Float(Buffer::new(len)),
        }
    }

    fn clear(&mut self) {
        with_rows!(self, v => v.fill(Default::default()));
    }

    /// Copies a range of values from rows of the same type.
    pub(crate) fn copy(&mut self, at: usize, from: &Self, range: Range<usize>) {
        with_rows!(self, from, (a, b) => a[at..at + range.len()].copy_from_slice(&b[range]));
    }
}

/// The temporal filter's memory at one level.
#[derive(Debug)]
pub(crate) enum Memory<S: Pixel, P> {
    None,
    Causal {
        slow: Buffer<P>,
        fast: Buffer<P>,
        lags: Lags<P>,
    },
    Ideal {
        /// The first frame of the clip.
        first: Rows<S>,
        /// The last frames, not yet projected.
        block: Vec<Rows<S>>,
        /// Projections of each row, in chunks.
        sums: Buffer<P>,
        /// Filtered rows of the frames to come: for each row, one padded row for each frame of a block.
        made: Buffer<f32>,
        /// Changes of one row in each frame of a block.
        changes: Buffer<P>,
        factor: P,
    },
}

/// Tables of the ideal filter for one block of frames, `BLOCK` values for each bin.
#[derive(Debug, Default)]
pub(crate) struct Tables<P> {
    pub(crate) cos: Vec<P>,
    pub(crate) sin: Vec<P>,
}

impl<P: Real> Tables<P> {
    pub(crate) fn new(plan: &Plan) -> Self {
        let n = match plan.temporal() {
            Temporal::Causal { .. } => 0,
            Temporal::Projection { bins, .. } => bins.len() * BLOCK,
        };
        Self { cos: vec![P::default(); n], sin: vec![P::default(); n] }
    }

    /// Fills the tables for the block that begins with frame `start`.
    pub(crate) fn fill(&mut self, plan: &Plan, start: usize) {
        if let Temporal::Projection { frames, bins, cos, sin } = plan.temporal() {
            for (i, &k) in bins.iter().enumerate() {
                for b in 0..BLOCK {
                    // k and t are below T, which is an array's length: no overflow in 128 bits, nor after the modulus.
                    let j = ((k as u128 * (start + b) as u128) % *frames as u128) as usize;
                    self.cos[i * BLOCK + b] = P::from_f64(cos[j]);
                    self.sin[i * BLOCK + b] = P::from_f64(sin[j]);
                }
            }
        }
    }
}

/// Where in the clip a frame is, and what the filter needs to know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<'a, P> {
    pub(crate) simd: simd::Level,
    /// Index since the start or the last reset.
    pub(crate) index: u64,
    /// Its place in the batch.
    pub(crate) place: usize,
    /// The past of the first frame is black.
    pub(crate) black: bool,
    pub(crate) tables: &'a Tables<P>,
}

impl<P> Moment<'_, P> {
    /// The moment `n` frames later in the batch.
    pub(crate) fn later(&self, n: usize) -> Self {
        Self { index: self.index + n as u64, place: self.place + n, ..*self }
    }

    /// Place of the frame in its block.
    pub(crate) fn in_block(&self) -> usize {
        (self.index % BLOCK as u64) as usize
    }
}

/// Place of row `i` where `kept` rows are kept, which are all of them or a ring of `N`.
#[inline(always)]
fn slot<const N: usize>(i: usize, kept: usize) -> usize {
    // No division by a number that the compiler does not know.
    if i < kept { i } else { i % N }
}

/// One level of a band or of the coarse stage.
#[derive(Debug)]
pub(crate) struct LevelState<S: Pixel, P> {
    pub(crate) level: Level,
    pub(crate) span: Span,
    /// Samples in a row.
    pub(crate) row: usize,
    /// The level's samples in the frames of a batch, or those of one at a time where nobody asks for them later; behind
    /// those of the frame before the batch where they are filtered. Row `y` is at `(y - start) % kept`.
    rows: Vec<Rows<S>>,
    /// The first of `rows` are those of the frame before the batch.
    past: bool,
    /// The next row to make.
    pub(crate) made: usize,
    pub(crate) memory: Memory<S, P>,
    /// Changes in each frame of a batch, already enlarged from the coarser levels.
    pub(crate) changes: Vec<Buffer<f32>>,
    /// The next row of changes to compute in each frame.
    pub(crate) changed: Vec<usize>,
}

/// How many frames a level keeps its samples and its changes of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// Frames that are worked on at a time.
    pub(crate) batch: usize,
    /// Every frame's samples are needed until the batch is done, be they filtered or not.
    pub(crate) all: bool,
}

impl Kept {
    /// Whether a level's samples are compared with those of the frame before.
    fn past(plan: &Plan, level: &Level) -> bool {
        level.filtered() && matches!(plan.temporal(), Temporal::Causal { .. })
    }

    /// Frames whose samples are kept.
    fn samples(self, plan: &Plan, level: &Level) -> usize {
        match Self::past(plan, level) {
            true => self.batch + 1,
            false if self.all => self.batch,
            false => 1,
        }
    }
}

/// Bytes that [`LevelState::new`] allocates.
pub(crate) fn bytes(plan: &Plan, level: &Level, span: &Span, kept: Kept) -> u64 {
    let sample = plan.source().format.bytes_per_sample();
    let value = value_bytes(level.stored, sample) as u64;
    let real = match plan.precision() {
        Precision::F32 => 4,
        Precision::F64 => 8,
    };
    let row = level.row() as u64;
    let changes = span.changes.len() as u64;
    let memory = match plan.temporal() {
        _ if !level.filtered() => 0,
        Temporal::Causal { .. } => row * 2 * changes * real,
        Temporal::Projection { bins, .. } => {
            let b = BLOCK as u64;
            let pad = temporal::padded(level.row()) as u64;
            row * changes * (1 + b) * value
                + pad * changes * (2 * bins.len() as u64 * real + 4 * b)
                + pad * b * real
        }
    };
    let samples = (kept.samples(plan, level) * span.kept) as u64 * value;
    row * (samples + (kept.batch * span.changes_kept.min(span.changes.len())) as u64 * 4) + memory
}

impl<S: Pixel, P: Ideal> LevelState<S, P> {
    pub(crate) fn new(plan: &Plan, level: &Level, span: &Span, kept: Kept) -> Self {
        let row = level.row();
        let n = row * span.changes.len();
        let pad = temporal::padded(row) * span.changes.len();
        let memory = match plan.temporal() {
            _ if !level.filtered() => Memory::None,
            Temporal::Causal { p_slow, p_fast, .. } => Memory::Causal {
                slow: Buffer::new(n),
                fast: Buffer::new(n),
                lags: Lags {
                    p_slow: P::from_f64(*p_slow),
                    p_fast: P::from_f64(*p_fast),
                    c_slow: P::from_f64(level.c_slow),
                    c_fast: P::from_f64(level.c_fast),
                },
            },
            Temporal::Projection { bins, .. } => Memory::Ideal {
                first: Rows::new(level.stored, n),
                block: (0..BLOCK).map(|_| Rows::new(level.stored, n)).collect(),
                sums: Buffer::new(2 * pad * bins.len()),
                made: Buffer::new(pad * BLOCK),
                changes: Buffer::new(temporal::padded(row) * BLOCK),
                factor: P::from_f64(level.h),
            },
        };
        Self {
            level: *level,
            span: span.clone(),
            row,
            rows: (0..kept.samples(plan, level)).map(|_| Rows::new(level.stored, row * span.kept)).collect(),
            past: Kept::past(plan, level),
            made: span.rows.start,
            memory,
            changes: (0..kept.batch)
                .map(|_| Buffer::new(row * span.changes_kept.min(span.changes.len())))
                .collect(),
            changed: vec![span.changes.start; kept.batch],
        }
    }

    /// Forgets all frames.
    pub(crate) fn clear(&mut self) {
        match &mut self.memory {
            Memory::None => {}
            Memory::Causal { slow, fast, .. } => {
                self.rows[0].clear();
                slow.fill(P::default());
                fast.fill(P::default());
            }
            Memory::Ideal { sums, .. } => sums.fill(P::default()),
        }
    }

    /// Place of row `y` of the level's samples.
    pub(crate) fn at(&self, y: usize) -> Range<usize> {
        let slot = slot::<RING>(y - self.span.rows.start, self.span.kept);
        slot * self.row..(slot + 1) * self.row
    }

    /// Place of row `y` of the changes.
    pub(crate) fn change_at(&self, y: usize) -> Range<usize> {
        let kept = self.span.changes_kept.min(self.span.changes.len());
        let slot = slot::<CHANGE_RING>(y - self.span.changes.start, kept);
        slot * self.row..(slot + 1) * self.row
    }

    /// Row `y` of the changes in the frame at `place` in the batch.
    pub(crate) fn change(&self, place: usize, y: usize) -> &[f32] {
        &self.changes[place][self.change_at(y)]
    }

    /// Whether the filter compares the level's samples with those of the frame before.
    pub(crate) fn has_past(&self) -> bool {
        self.past
    }

    /// Where the samples of the frame at `place` in the batch are.
    fn slot(&self, place: usize) -> usize {
        if self.past { place + 1 } else { place % self.rows.len() }
    }

    /// The samples of the frame at `place` in the batch.
    pub(crate) fn rows(&self, place: usize) -> &Rows<S> {
        &self.rows[self.slot(place)]
    }

    /// The same, to write to.
    pub(crate) fn rows_mut(&mut self, place: usize) -> &mut Rows<S> {
        let slot = self.slot(place);
        &mut self.rows[slot]
    }

    /// Runs the temporal filter on row `y`; the result is written to `out`, or added to what is there.
    pub(crate) fn filter(&mut self, m: &Moment<'_, P>, y: usize, add: bool, out: &mut [f32]) {
        let at = if self.span.kept == 0 { 0..0 } else { self.at(y) };
        let i = y - self.span.changes.start;
        let n = self.row;
        match &mut self.memory {
            Memory::None => {}
            Memory::Causal { slow, fast, lags } => {
                let now = &self.rows[m.place + 1];
                let before = if m.index == 0 && !m.black { now } else { &self.rows[m.place] };
                // The row after the next one; the other frames of the batch find it in the cache.
                let ahead = (i + 2) * n..(i + 3) * n;
                if ahead.end <= slow.len() {
                    if m.place == 0 {
                        prefetch::write(&slow[ahead.clone()]);
                        prefetch::write(&fast[ahead]);
                    }
                    let at = at.start + 2 * n..at.end + 2 * n;
                    with_rows!(now, x => {
                        if let Some(row) = x.get(at) {
                            prefetch::read(row);
                        }
                    });
                }
                let (slow, fast) = (&mut slow[i * n..(i + 1) * n], &mut fast[i * n..(i + 1) * n]);
                with_rows!(now, before, (x, b) => {
                    temporal::causal(m.simd, &x[at.clone()], &b[at], slow, fast, *lags, add, out);
                });
                if m.index % temporal::FLUSH_EVERY == temporal::FLUSH_EVERY - 1 {
                    temporal::flush(m.simd, slow);
                    temporal::flush(m.simd, fast);
                }
            }
            Memory::Ideal { sums, made, .. } => {
                let pad = temporal::padded(n);
                let made = &mut made[i * pad * BLOCK..][..pad * BLOCK];
                if m.in_block() == 0 {
                    let each = pad * 2 * m.tables.cos.len() / BLOCK;
                    let sums = &sums[i * each..][..each];
                    temporal::synthesise(m.simd, sums, &m.tables.cos, &m.tables.sin, made);
                }
                let f = &made[m.in_block() * pad..][..n];
                if add {
                    for (o, f) in out.iter_mut().zip(f) {
                        *o += f;
                    }
                } else {
                    out.copy_from_slice(f);
                }
            }
        }
    }

    /// A batch of `frames` frames is done: the last of them becomes the past.
    pub(crate) fn advance(&mut self, frames: usize) {
        if self.past {
            self.rows.swap(0, frames);
        }
    }

    /// Pass one of the ideal filter: takes the frame's rows into the block, and projects the block when it is full
    /// or the clip ends.
    pub(crate) fn observe(&mut self, m: &Moment<'_, P>, last: bool) {
        let b = m.in_block();
        let n = self.row;
        let changes = self.span.changes.clone();
        if changes.is_empty() {
            return;
        }
        // Filtered levels keep all their rows.
        let start = (changes.start - self.span.rows.start) * n;
        let len = changes.len() * n;
        let Memory::Ideal { first, block, sums, factor, changes: d, .. } = &mut self.memory else { return };
        if m.index == 0 {
            first.copy(0, &self.rows[0], start..start + len);
        }
        block[b].copy(0, &self.rows[0], start..start + len);
        if b + 1 < BLOCK && !last {
            return;
        }
        let pad = temporal::padded(n);
        let each = pad * 2 * m.tables.cos.len() / BLOCK;
        for i in 0..changes.len() {
            let at = i * n..(i + 1) * n;
            for (x, d) in block[..=b].iter().zip(d.chunks_exact_mut(pad)) {
                with_rows!(x, &*first, (x, f) => {
                    temporal::changes(m.simd, &x[at.clone()], &f[at.clone()], &mut d[..n]);
                });
            }
            let sums = &mut sums[i * each..][..each];
            temporal::project(m.simd, d, b + 1, &m.tables.cos, &m.tables.sin, sums);
        }
        if last {
            temporal::multiply(m.simd, sums, *factor);
        }
    }
}
