//! The work of one band: from the frame down to the first coarse level, and from the coarse changes up to the
//! output rows. Rows flow: each is made when the next level needs it, and used while it is still in the cache.

mod coarse;
mod render;
mod rows;

pub(crate) use coarse::Coarse;

use jnd_video::{Plane, PlaneMut};

use crate::buffer::Buffer;
use crate::enlarge::{self, Tap};
use crate::layout::BandLayout;
use crate::pixel::Pixel;
use crate::plan::{Chain, Enlarge, Plan};
use crate::shrink;
use crate::state::{Kept, LevelState, Moment, Rows, bytes};
use crate::temporal::Ideal;
use rows::{RowMut, first_row, next_row, row_mut, take_row};

/// What every part of the work knows of the clip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clip {
    /// Bits by which stored samples are packed high.
    pub(crate) shift: u32,
    /// Largest sample.
    pub(crate) max: f32,
}

impl Clip {
    pub(crate) fn new(plan: &Plan) -> Self {
        let f = plan.source().format;
        Self { shift: f.shift(), max: f32::from(f.max_value()) }
    }
}

/// Where magnified rows go.
#[derive(Debug)]
pub(crate) enum Target<'a, S> {
    /// Rounded and clamped.
    Integer([PlaneMut<'a, S>; 3]),
    /// Unclipped, 1.0 for the largest sample.
    Float([PlaneMut<'a, f32>; 3]),
}

/// Takes `n` rows out of some planes, `before` rows from their start; either those or the ones behind are kept.
fn cut<'a, T>(
    planes: &mut [PlaneMut<'a, T>; 3],
    which: &[usize],
    before: usize,
    n: usize,
) -> [PlaneMut<'a, T>; 3] {
    let mut cut = std::array::from_fn(|_| PlaneMut::empty());
    for &p in which {
        let (front, rest) = std::mem::replace(&mut planes[p], PlaneMut::empty()).split_at_row(before);
        let (mine, behind) = rest.split_at_row(n);
        cut[p] = mine;
        planes[p] = if before == 0 { behind } else { front };
    }
    cut
}

impl<'a, S> Target<'a, S> {
    /// All but the first `rows[p]` rows of each plane `p`.
    pub(crate) fn below(self, rows: [usize; 3]) -> Self {
        fn below<'a, T>([a, b, c]: [PlaneMut<'a, T>; 3], rows: [usize; 3]) -> [PlaneMut<'a, T>; 3] {
            [a.split_at_row(rows[0]).1, b.split_at_row(rows[1]).1, c.split_at_row(rows[2]).1]
        }
        match self {
            Self::Integer(p) => Self::Integer(below(p, rows)),
            Self::Float(p) => Self::Float(below(p, rows)),
        }
    }

    /// Takes the `n` rows from row `before` on out of some planes. Where that is not 0, the rows behind are dropped.
    pub(crate) fn cut(&mut self, planes: &[usize], before: usize, n: usize) -> Self {
        match self {
            Self::Integer(p) => Self::Integer(cut(p, planes, before, n)),
            Self::Float(p) => Self::Float(cut(p, planes, before, n)),
        }
    }
}

/// Rows that are needed for the length of one row's work.
#[derive(Debug)]
pub(crate) struct Scratch<S: Pixel> {
    vertical: Buffer<S::Int>,
    halved: Buffer<S::Int>,
    samples: Buffer<S>,
    sums: Buffer<f32>,
    /// Changes of one output row.
    delta: Buffer<f32>,
    /// The two coarse rows between which a bilinear enlargement works, and which rows they are.
    wide: [Buffer<f32>; 2],
    wide_rows: [usize; 2],
}

impl<S: Pixel> Scratch<S> {
    pub(crate) fn new(chain: &Chain) -> Self {
        let width = chain.levels.first().map_or(0, |l| l.width);
        let n = width * 3;
        let bilinear = if chain.enlarge == Enlarge::Bilinear { n } else { 0 };
        Self {
            vertical: Buffer::new(shrink::padded(width, 3)),
            halved: Buffer::new(n),
            samples: Buffer::new(n),
            sums: Buffer::new(sums_len(width)),
            delta: Buffer::new(n),
            wide: [Buffer::new(bilinear), Buffer::new(bilinear)],
            wide_rows: [usize::MAX; 2],
        }
    }

    /// Bytes that [`Scratch::new`] allocates.
    pub(crate) fn bytes(chain: &Chain) -> u64 {
        let n = chain.levels.first().map_or(0, |l| l.width as u64 * 3);
        n * (4 + 2 * 8 + if chain.enlarge == Enlarge::Bilinear { 8 } else { 0 })
    }
}

/// Length of a buffer for the sums of a row of any kind.
fn sums_len(width: usize) -> usize {
    shrink::padded(width, 3).max(enlarge::padded(width, 3))
}

/// A band's share of a chain.
#[derive(Debug)]
pub(crate) struct ChainBand<S: Pixel, P> {
    pub(crate) layout: BandLayout,
    levels: Vec<LevelState<S, P>>,
    hand: Option<Rows<S>>,
    scratch: Scratch<S>,
    across: Vec<Tap>,
    down: Vec<Tap>,
}

impl<S: Pixel, P: Ideal> ChainBand<S, P> {
    /// A band that works on up to `batch` frames at a time.
    pub(crate) fn new(plan: &Plan, chain: &Chain, layout: &BandLayout, batch: usize) -> Self {
        let kept = Kept { batch, all: false };
        let levels: Vec<LevelState<S, P>> =
            chain.levels.iter().zip(&layout.spans).map(|(l, s)| LevelState::new(plan, l, s, kept)).collect();
        let hand = chain.levels.get(layout.coarse).map(|l| {
            let n = l.row() * layout.handoff.len();
            Rows::new(l.stored, n)
        });
        let taps = |from: usize, to: usize| {
            if chain.enlarge == Enlarge::Bilinear && from != to {
                enlarge::taps(from, to)
            } else {
                Vec::new()
            }
        };
        let (across, down) = match (chain.levels.first(), chain.levels.last()) {
            (Some(a), Some(b)) => (taps(b.width, a.width), taps(b.height, a.height)),
            _ => (Vec::new(), Vec::new()),
        };
        Self { layout: layout.clone(), levels, hand, scratch: Scratch::new(chain), across, down }
    }

    /// Bytes that [`ChainBand::new`] allocates.
    pub(crate) fn bytes(plan: &Plan, chain: &Chain, layout: &BandLayout, batch: usize) -> u64 {
        let kept = Kept { batch, all: false };
        let levels: u64 = chain.levels.iter().zip(&layout.spans).map(|(l, s)| bytes(plan, l, s, kept)).sum();
        let hand = chain.levels.get(layout.coarse).map_or(0, |l| {
            let value = crate::layout::value_bytes(l.stored, plan.source().format.bytes_per_sample());
            (l.row() * layout.handoff.len() * value) as u64
        });
        let taps = match (chain.enlarge, chain.levels.first()) {
            (Enlarge::Bilinear, Some(l)) => (l.width + l.height) * size_of::<Tap>(),
            _ => 0,
        };
        levels + hand + taps as u64 + Scratch::<S>::bytes(chain)
    }

    pub(crate) fn clear(&mut self) {
        self.levels.iter_mut().for_each(LevelState::clear);
    }

    /// Makes this band's rows of every level from the frame at `m`. Those of the frame itself are made only for `observe`;
    /// the causal filters take them while the row is at work anyway.
    pub(crate) fn shrink(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        observe: bool,
    ) {
        for l in &mut self.levels {
            l.made = l.span.rows.start;
        }
        let coarse = self.layout.coarse;
        if let Some(mut hand) = self.hand.take() {
            let n = chain.levels[coarse].row();
            for (slot, i) in self.layout.handoff.clone().enumerate() {
                let out = row_mut(&mut hand, slot * n..(slot + 1) * n);
                self.make_row(clip, chain, m, frame, coarse, i, Some(out));
            }
            self.hand = Some(hand);
        }
        for k in (usize::from(!observe)..coarse).rev() {
            self.ensure(clip, chain, m, frame, k, self.levels[k].span.rows.end);
        }
    }

    /// Makes rows of level `k` up to `end`.
    fn ensure(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        k: usize,
        end: usize,
    ) {
        while self.levels[k].made < end {
            let i = self.levels[k].made;
            self.make_row(clip, chain, m, frame, k, i, None);
            self.levels[k].made += 1;
        }
    }

    /// Makes row `i` of level `k`, in its place or in `out`.
    fn make_row(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        k: usize,
        i: usize,
        out: Option<RowMut<'_, S>>,
    ) {
        if k > 1 {
            let end = (2 * i + 3).min(chain.levels[k - 1].height);
            self.ensure(clip, chain, m, frame, k - 1, end);
        }
        let (below, here) = self.levels.split_at_mut(k);
        let out = match out {
            Some(out) => out,
            None => {
                let at = here[0].at(i);
                row_mut(here[0].rows_mut(m.place), at)
            }
        };
        match k {
            0 => take_row(clip, chain, m.simd, frame, i, out, &mut self.scratch),
            1 => first_row(clip, chain, m.simd, frame, i, out, &mut self.scratch),
            _ => next_row(m, &below[k - 1], chain.levels[k].scale, i, out, &mut self.scratch.sums),
        }
    }

    /// Pass one of the ideal filter.
    pub(crate) fn observe(&mut self, m: &Moment<'_, P>, last: bool) {
        self.levels.iter_mut().for_each(|l| l.observe(m, last));
    }
}
