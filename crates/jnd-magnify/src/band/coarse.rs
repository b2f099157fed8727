//! The levels that are computed once for the whole picture.

use jnd_video::simd;

use super::rows::{change_row, next_row, row_mut};
use super::{ChainBand, sums_len};
use crate::buffer::Buffer;
use crate::layout::ChainLayout;
use crate::pixel::Pixel;
use crate::plan::{Chain, Plan};
use crate::state::{LevelState, Moment};
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
    pub(crate) fn new(plan: &Plan, chain: &Chain, layout: &ChainLayout) -> Self {
        let levels = &chain.levels[layout.coarse..];
        let width = levels.first().map_or(0, |l| l.width);
        let levels = levels.iter().zip(&layout.spans).map(|(l, s)| LevelState::new(plan, l, s)).collect();
        let enlarged = layout.enlarged - layout.coarse;
        Self { levels, first: layout.coarse, enlarged, sums: Buffer::new(sums_len(width)) }
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

    /// The frame is done: it becomes the past.
    pub(crate) fn advance(&mut self) {
        self.levels.iter_mut().for_each(LevelState::advance);
    }

    /// Forgets all frames.
    pub(crate) fn clear(&mut self) {
        self.levels.iter_mut().for_each(LevelState::clear);
    }

    /// Takes over the rows of the first level that a band has made.
    pub(crate) fn take(&mut self, band: &ChainBand<S, P>) {
        if let (Some(l), Some(hand)) = (self.levels.first_mut(), &band.hand) {
            let n = l.row;
            l.rows.copy(band.layout.handoff.start * n, hand, 0..band.layout.handoff.len() * n);
        }
    }

    /// Makes the other levels.
    pub(crate) fn shrink(&mut self, simd: simd::Level) {
        for k in 1..self.levels.len() {
            let (below, here) = self.levels.split_at_mut(k);
            let (below, here) = (&below[k - 1], &mut here[0]);
            for i in 0..here.level.height {
                let at = here.at(i);
                let scale = here.level.scale;
                next_row(simd, below, scale, i, row_mut(&mut here.rows, at), &mut self.sums);
            }
        }
    }

    /// Computes the changes of all levels.
    pub(crate) fn change(&mut self, chain: &Chain, m: &Moment<'_, P>) {
        for k in (0..self.levels.len()).rev() {
            let (here, up) = self.levels.split_at_mut(k + 1);
            let (here, up) = (&mut here[k], up.first());
            if here.changes.is_empty() {
                // Bands enlarge this one, or it is but a step on the way down to the one that is enlarged bilinearly.
                continue;
            }
            let mut changes = std::mem::take(&mut here.changes);
            for (y, out) in changes.chunks_exact_mut(here.row).enumerate() {
                change_row(chain, m, self.first + k, y, here, up, &mut self.sums, out);
            }
            here.changes = changes;
        }
    }
}
