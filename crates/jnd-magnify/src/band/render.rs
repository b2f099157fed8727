//! A band on the way up: from the coarse changes to the output rows.

use std::ops::Range;

use jnd_video::{Plane, PlaneMut, simd};

use super::rows::{change_row, enlarge_part, row_mut, take_row};
use super::{ChainBand, Clip, Coarse, Target};
use crate::enlarge::{self, Tap};
use crate::pixel::Pixel;
use crate::plan::{Chain, Enlarge, Step};
use crate::state::Moment;
use crate::temporal::Ideal;
use crate::{prefetch, render};

/// Output rows of a frame before it is another frame's turn: few enough that what they take stays in the second cache
/// beside the filter's memory, and so many that the extra rows of a turn's first ones do not count.
const TURN: usize = 16;

impl<S: Pixel, P: Ideal> ChainBand<S, P> {
    /// Computes changes of level `k` up to row `end`.
    fn ensure_changes(
        &mut self,
        chain: &Chain,
        m: &Moment<'_, P>,
        coarse: &Coarse<S, P>,
        k: usize,
        end: usize,
    ) {
        if k >= self.levels.len() {
            return;
        }
        while self.levels[k].changed[m.place] < end {
            let y = self.levels[k].changed[m.place];
            if k + 1 < self.levels.len() {
                let end = (y / 2 + 2).min(self.levels[k + 1].level.height);
                self.ensure_changes(chain, m, coarse, k + 1, end);
            }
            let (here, up) = self.levels.split_at_mut(k + 1);
            let here = &mut here[k];
            let up = up.first().or(coarse.top());
            let at = here.change_at(y);
            let mut changes = std::mem::take(&mut here.changes[m.place]);
            change_row(chain, m, k, y, here, up, &mut self.scratch.sums, &mut changes[at]);
            here.changes[m.place] = changes;
            here.changed[m.place] += 1;
        }
    }

    /// Writes this band's output rows of a batch that begins at `m`. Targets begin with the band's first row.
    ///
    /// The frames go side by side, some rows of each in turn, so that the filter's memory of those rows comes into the
    /// cache once for all of them.
    pub(crate) fn render(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frames: &[[Plane<'_, S>; 3]],
        coarse: &Coarse<S, P>,
        targets: &mut [Target<'_, S>],
    ) {
        for l in &mut self.levels {
            l.changed.fill(l.span.changes.start);
        }
        let Range { start, end } = self.layout.out;
        let turn = if frames.len() > 1 { TURN } else { (end - start).max(1) };
        for from in (start..end).step_by(turn) {
            let rows = from..end.min(from + turn);
            for (place, (frame, target)) in frames.iter().zip(&mut *targets).enumerate() {
                self.render_rows(clip, chain, &m.later(place), frame, coarse, target, rows.clone());
            }
        }
        self.levels.iter_mut().for_each(|l| l.advance(frames.len()));
    }

    /// Writes some rows of one frame.
    fn render_rows(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        coarse: &Coarse<S, P>,
        target: &mut Target<'_, S>,
        rows: Range<usize>,
    ) {
        let start = self.layout.out.start;
        if chain.is_copy() {
            for y in rows {
                for &p in &chain.planes {
                    copy_row(clip, m.simd, frame[p].row(y), target, p, y - start);
                }
            }
            return;
        }
        self.scratch.wide_rows = [usize::MAX; 2];
        let width = chain.levels[0].width;
        // Where level 0 is not filtered, its changes are enlarged in registers on their way into the frame.
        let fused = render::fused(m.simd)
            && chain.enlarge == Enlarge::Pyramid
            && !chain.levels[0].filtered()
            && chain.levels[1].step == Step::Full
            && matches!(target, Target::Integer(_));
        for y in rows {
            if let (true, Target::Integer(t)) = (fused, &mut *target) {
                self.render_fused(clip, chain, m, frame, coarse, y, t);
                continue;
            }
            let n = self.delta_row(clip, chain, m, frame, coarse, y);
            let delta = &self.scratch.delta[..n];
            let parts = if n == width { 1 } else { chain.planes.len() };
            for (i, &p) in chain.planes.iter().enumerate() {
                let part = i.min(parts - 1);
                let delta = &delta[part * (n / parts)..(part + 1) * (n / parts)];
                let x = frame[p].row(y);
                match target {
                    Target::Integer(t) => {
                        look_ahead(&frame[p], &mut t[p], y, start);
                        render::integer(m.simd, x, clip.shift, delta, clip.max, t[p].row_mut(y - start));
                    }
                    Target::Float(t) => {
                        render::float(m.simd, x, clip.shift, delta, clip.max, t[p].row_mut(y - start));
                    }
                }
            }
        }
    }

    /// Writes output row `y` of planes whose level 0 is not filtered.
    fn render_fused(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        coarse: &Coarse<S, P>,
        y: usize,
        target: &mut [PlaneMut<'_, S>; 3],
    ) {
        let Some(up) = self.levels.get(1).or(coarse.top()) else { return };
        let level = up.level;
        self.ensure_changes(chain, m, coarse, 1, (y / 2 + 2).min(level.height));
        let Some(up) = self.levels.get(1).or(coarse.top()) else { return };
        let sums = &mut self.scratch.sums;
        for (i, &p) in chain.planes.iter().enumerate() {
            // Luma has one part for all planes.
            if i < level.parts {
                enlarge_part(m, up, y, i, sums);
            }
            look_ahead(&frame[p], &mut target[p], y, self.layout.out.start);
            let channels = (level.channels, chain.levels[0].channels);
            let out = target[p].row_mut(y - self.layout.out.start);
            render::enlarged(m.simd, sums, channels, frame[p].row(y), clip.shift, clip.max, out);
        }
    }

    /// Computes the changes of output row `y` into the scratch row, and says how many there are.
    fn delta_row(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        coarse: &Coarse<S, P>,
        y: usize,
    ) -> usize {
        let l = &chain.levels[0];
        let last = &chain.levels[chain.last()];
        let (channels, parts) = (last.channels, last.parts);
        let n = l.width * channels * parts;
        if chain.enlarge == Enlarge::Bilinear && chain.last() > 0 {
            self.bilinear_row(m, coarse, y, n);
            return n;
        }
        if chain.last() > 0 {
            let up = self.levels.get(1).or(coarse.top());
            let end = up.map_or(0, |up| (y / 2 + 2).min(up.level.height));
            self.ensure_changes(chain, m, coarse, 1, end);
        }
        let (here, up) = self.levels.split_at_mut(1);
        let up = up.first().or(coarse.top());
        if here[0].has_past() {
            let at = here[0].at(y);
            let row = row_mut(here[0].rows_mut(m.place), at);
            take_row(clip, chain, m.simd, frame, y, row, &mut self.scratch);
        }
        let out = &mut self.scratch.delta[..n];
        change_row(chain, m, 0, y, &mut here[0], up, &mut self.scratch.sums, out);
        n
    }

    fn bilinear_row(&mut self, m: &Moment<'_, P>, coarse: &Coarse<S, P>, y: usize, n: usize) {
        // The enlarged level is the last, so that it is coarse.
        let Some(from) = coarse.last() else { return };
        let l = &from.level;
        let tap = self.down.get(y).copied().unwrap_or(Tap { i: y, j: y, a: 1.0, b: 0.0 });
        let s = &mut self.scratch;
        for row in [tap.i, tap.j] {
            if s.wide_rows[row % 2] == row {
                continue;
            }
            let out = &mut s.wide[row % 2][..n];
            if self.across.is_empty() {
                out.copy_from_slice(from.change(m.place, row));
            } else {
                let (from_row, to_row) = (l.width * l.channels, n / l.parts);
                for (v, out) in
                    from.change(m.place, row).chunks_exact(from_row).zip(out.chunks_exact_mut(to_row))
                {
                    enlarge::bilinear_horizontal(v, &self.across, l.channels, out);
                }
            }
            s.wide_rows[row % 2] = row;
        }
        let (a, b) = (&s.wide[tap.i % 2][..n], &s.wide[tap.j % 2][..n]);
        if self.down.is_empty() {
            s.delta[..n].copy_from_slice(a);
        } else {
            enlarge::bilinear_vertical(m.simd, a, b, tap.a, tap.b, &mut s.delta[..n]);
        }
    }
}

/// Brings into the cache what the row after the next one takes. `target` begins with row `start`.
#[inline(always)]
fn look_ahead<S>(frame: &Plane<'_, S>, target: &mut PlaneMut<'_, S>, y: usize, start: usize) {
    let ahead = y + 2;
    if ahead < frame.height() {
        prefetch::read(frame.row(ahead));
    }
    if ahead - start < target.height() {
        prefetch::write(target.row_mut(ahead - start));
    }
}

/// Copies a row of a plane in which nothing is magnified.
fn copy_row<S: Pixel>(
    clip: &Clip,
    simd: simd::Level,
    x: &[S],
    target: &mut Target<'_, S>,
    p: usize,
    y: usize,
) {
    match target {
        Target::Integer(t) => t[p].row_mut(y).copy_from_slice(x),
        Target::Float(t) => render::plain(simd, x, clip.shift, clip.max, t[p].row_mut(y)),
    }
}
