//! The levels that are computed once for the whole picture.

use super::rows::{change_row, next_row, row_mut};
use super::{ChainBand, sums_len};
use crate::buffer::Buffer;
use crate::layout::ChainLayout;
use crate::pixel::Pixel;
use crate::plan::{Chain, Plan};
use crate::state::{Kept, LevelState, Moment, bytes};
use crate::temporal::Ideal;

/// The levels of a chain that are computed once for the whole picture.
#[derive(Debug)]
pub(crate) struct Coarse<S: Pixel, P> {
    levels: Vec<LevelState<S, P>>,
    /// Index of the first in the chain.
    first: usize,
    /// How many of them the bands enlarge for themselves.
    enlarged: usize,
    sums: Buffer<f32>,
}

impl<S: Pixel, P: Ideal> Coarse<S, P> {
    pub(crate) fn new(plan: &Plan, chain: &Chain, layout: &ChainLayout, batch: usize) -> Self {
        let levels = &chain.levels[layout.coarse..];
        let width = levels.first().map_or(0, |l| l.width);
        let kept = Self::kept(batch);
        let levels =
            levels.iter().zip(&layout.spans).map(|(l, s)| LevelState::new(plan, l, s, kept)).collect();
        let enlarged = layout.enlarged - layout.coarse;
        Self { levels, first: layout.coarse, enlarged, sums: Buffer::new(sums_len(width)) }
    }

    /// Bands hand over the rows of all frames of a batch before the first of them is taken further.
    fn kept(batch: usize) -> Kept {
        Kept { batch, all: true }
    }

    /// Bytes that [`Coarse::new`] allocates.
    pub(crate) fn bytes(plan: &Plan, chain: &Chain, layout: &ChainLayout, batch: usize) -> u64 {
        let levels = chain.levels[layout.coarse..].iter().zip(&layout.spans);
        levels.map(|(l, s)| bytes(plan, l, s, Self::kept(batch))).sum()
    }

    /// The level from which bands go on enlarging, or which is enlarged at once.
    pub(super) fn top(&self) -> Option<&LevelState<S, P>> {
        self.levels.get(self.enlarged)
    }

    /// The last level.
    pub(super) fn last(&self) -> Option<&LevelState<S, P>> {
        self.levels.last()
    }

    /// Pass one of the ideal filter.
    pub(crate) fn observe(&mut self, m: &Moment<'_, P>, last: bool) {
        self.levels.iter_mut().for_each(|l| l.observe(m, last));
    }

    /// A batch of `frames` frames is done: the last of them becomes the past.
    pub(crate) fn advance(&mut self, frames: usize) {
        self.levels.iter_mut().for_each(|l| l.advance(frames));
    }

    /// Forgets all frames.
    pub(crate) fn clear(&mut self) {
        self.levels.iter_mut().for_each(LevelState::clear);
    }

    /// Takes over the rows of the first level that a band has made of the frame at `place` in the batch.
    pub(crate) fn take(&mut self, place: usize, band: &ChainBand<S, P>) {
        if let (Some(l), Some(hand)) = (self.levels.first_mut(), &band.hand) {
            let n = l.row;
            let at = band.layout.handoff.start * n;
            l.rows_mut(place).copy(at, hand, 0..band.layout.handoff.len() * n);
        }
    }

    /// Makes the other levels of a frame.
    pub(crate) fn shrink(&mut self, m: &Moment<'_, P>) {
        for k in 1..self.levels.len() {
            let (below, here) = self.levels.split_at_mut(k);
            let (below, here) = (&below[k - 1], &mut here[0]);
            for i in 0..here.level.height {
                let at = here.at(i);
                let scale = here.level.scale;
                next_row(m, below, scale, i, row_mut(here.rows_mut(m.place), at), &mut self.sums);
            }
        }
    }

    /// Computes the changes of all levels in a frame.
    pub(crate) fn change(&mut self, chain: &Chain, m: &Moment<'_, P>) {
        for k in (0..self.levels.len()).rev() {
            let (here, up) = self.levels.split_at_mut(k + 1);
            let (here, up) = (&mut here[k], up.first());
            if here.changes[m.place].is_empty() {
                // Bands enlarge this one, or it is but a step on the way down to the one that is enlarged bilinearly.
                continue;
            }
            let mut changes = std::mem::take(&mut here.changes[m.place]);
            for (y, out) in changes.chunks_exact_mut(here.row).enumerate() {
                change_row(chain, m, self.first + k, y, here, up, &mut self.sums, out);
            }
            here.changes[m.place] = changes;
        }
    }
}
