//! The work of one band: from the frame down to the first coarse level, and from the coarse changes up to the
//! output rows. Rows flow: each is made when the next level needs it, and used while it is still in the cache.

use jnd_video::{Plane, PlaneMut};

use crate::enlarge::{self, Tap};
use crate::layout::BandLayout;
use crate::pixel::{Pixel, mirror};
use crate::plan::{Chain, Enlarge, Mix, Plan, Step, Stored};
use crate::state::{LevelState, Moment, Rows, bytes, with_rows};
use crate::temporal::Ideal;
use crate::{mix, prefetch, render, shrink};

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

impl<'a, S> Target<'a, S> {
    /// Splits the first `rows[p]` rows off each plane `p`.
    pub(crate) fn split(self, rows: [usize; 3]) -> (Self, Self) {
        fn split<'a, T>(planes: [PlaneMut<'a, T>; 3], rows: [usize; 3]) -> [[PlaneMut<'a, T>; 3]; 2] {
            let [a, b, c] = planes;
            let (a0, a1) = a.split_at_row(rows[0]);
            let (b0, b1) = b.split_at_row(rows[1]);
            let (c0, c1) = c.split_at_row(rows[2]);
            [[a0, b0, c0], [a1, b1, c1]]
        }
        match self {
            Self::Integer(p) => {
                let [a, b] = split(p, rows);
                (Self::Integer(a), Self::Integer(b))
            }
            Self::Float(p) => {
                let [a, b] = split(p, rows);
                (Self::Float(a), Self::Float(b))
            }
        }
    }
}

/// Rows that are needed for the length of one row's work.
#[derive(Debug)]
pub(crate) struct Scratch<S: Pixel> {
    vertical: Vec<S::Int>,
    halved: Vec<S::Int>,
    samples: Vec<S>,
    sums: Vec<f32>,
    /// Changes of one output row.
    delta: Vec<f32>,
    /// The two coarse rows between which a bilinear enlargement works, and which rows they are.
    wide: [Vec<f32>; 2],
    wide_rows: [usize; 2],
}

impl<S: Pixel> Scratch<S> {
    pub(crate) fn new(chain: &Chain) -> Self {
        let width = chain.levels.first().map_or(0, |l| l.width);
        let n = width * 3;
        let bilinear = if chain.enlarge == Enlarge::Bilinear { n } else { 0 };
        Self {
            vertical: vec![S::Int::default(); shrink::padded(width, 3)],
            halved: vec![S::Int::default(); n],
            samples: vec![S::default(); n],
            sums: vec![0.0; sums_len(width)],
            delta: vec![0.0; n],
            wide: [vec![0.0; bilinear], vec![0.0; bilinear]],
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

/// Rows of a level to write to.
enum RowMut<'a, S: Pixel> {
    Samples(&'a mut [S]),
    Int(&'a mut [S::Int]),
    Float(&'a mut [f32]),
}

fn row_mut<S: Pixel>(rows: &mut Rows<S>, at: std::ops::Range<usize>) -> RowMut<'_, S> {
    match rows {
        Rows::Samples(v) => RowMut::Samples(&mut v[at]),
        Rows::Int(v) => RowMut::Int(&mut v[at]),
        Rows::Float(v) => RowMut::Float(&mut v[at]),
    }
}

/// First elements of R, G and B in a row, and the distance of a channel's elements.
fn channels(chain: &Chain, n: usize) -> ([usize; 3], usize) {
    if chain.planes.len() == 3 { (chain.order.map(|i| i * n), 1) } else { (chain.order, 3) }
}

/// Copies row `y` of the frame into level 0, which is filtered.
fn take_row<S: Pixel>(
    clip: &Clip,
    chain: &Chain,
    simd: jnd_video::simd::Level,
    frame: &[Plane<'_, S>; 3],
    y: usize,
    out: RowMut<'_, S>,
    scratch: &mut Scratch<S>,
) {
    let copy = |out: &mut [S]| {
        let n = out.len() / chain.planes.len();
        for (p, out) in chain.planes.iter().zip(out.chunks_exact_mut(n)) {
            if clip.shift == 0 {
                out.copy_from_slice(frame[*p].row(y));
            } else {
                for (o, x) in out.iter_mut().zip(frame[*p].row(y)) {
                    *o = S::truncate(Into::<u32>::into(*x) >> clip.shift);
                }
            }
        }
    };
    match out {
        RowMut::Samples(out) => copy(out),
        RowMut::Float(out) => {
            let n = out.len();
            let samples = &mut scratch.samples[..3 * n];
            copy(samples);
            if let Mix::Luma(k) = chain.mix {
                let (at, step) = channels(chain, n);
                mix::luma(simd, samples, at, step, k, out);
            }
        }
        RowMut::Int(_) => debug_assert!(false, "level 0 is never in sums"),
    }
}

/// Makes row `i` of level 1 from the frame.
fn first_row<S: Pixel>(
    clip: &Clip,
    chain: &Chain,
    simd: jnd_video::simd::Level,
    frame: &[Plane<'_, S>; 3],
    i: usize,
    out: RowMut<'_, S>,
    scratch: &mut Scratch<S>,
) {
    let (from, to) = (&chain.levels[0], &chain.levels[1]);
    let index: [usize; 5] = std::array::from_fn(|k| mirror((2 * i + k) as isize - 2, from.height));
    let n = from.width * from.channels;
    let m = to.width * from.channels;
    let parts = chain.planes.len();
    let mut halve = |part: usize, out: &mut [S::Int]| {
        let plane = &frame[chain.planes[part]];
        let rows = index.map(|y| plane.row(y));
        // The two rows that the row after the next one adds.
        for y in [2 * i + 5, 2 * i + 6] {
            if y < from.height {
                prefetch::read(plane.row(y));
            }
        }
        if to.step == Step::Vertical {
            shrink::vertical_samples(simd, rows, clip.shift, out);
        } else {
            let v = &mut scratch.vertical;
            let start = shrink::EDGE * from.channels;
            shrink::vertical_samples(simd, rows, clip.shift, &mut v[start..start + n]);
            shrink::reflect(v, from.width, from.channels);
            shrink::horizontal_int(simd, v, from.width, from.channels, out);
        }
    };
    match out {
        RowMut::Int(out) => {
            for (part, out) in out.chunks_exact_mut(m).enumerate() {
                halve(part, out);
            }
        }
        RowMut::Float(out) => {
            let mut halved = std::mem::take(&mut scratch.halved);
            for part in 0..parts {
                halve(part, &mut halved[part * m..(part + 1) * m]);
            }
            if let Mix::Luma(k) = chain.mix {
                let (at, step) = channels(chain, to.width);
                mix::luma(simd, &halved[..m * parts], at, step, k, out);
            }
            scratch.halved = halved;
        }
        RowMut::Samples(_) => debug_assert!(false, "level 1 is never in samples"),
    }
}

/// Makes row `i` of a level from the one before, neither of which is the frame's.
fn next_row<S: Pixel, P: Ideal>(
    simd: jnd_video::simd::Level,
    below: &LevelState<S, P>,
    scale: f32,
    i: usize,
    out: RowMut<'_, S>,
    sums: &mut [f32],
) {
    let l = &below.level;
    let index: [usize; 5] = std::array::from_fn(|k| mirror((2 * i + k) as isize - 2, l.height));
    let at = index.map(|y| below.at(y));
    let RowMut::Float(out) = out else {
        debug_assert!(false, "levels beyond the first are f32");
        return;
    };
    let (n, m) = (l.width * l.channels, out.len() / l.parts);
    let start = shrink::EDGE * l.channels;
    for (part, out) in out.chunks_exact_mut(m).enumerate() {
        with_rows!(&below.rows, v => {
            let rows = at.clone().map(|at| &v[at][part * n..(part + 1) * n]);
            shrink::vertical(simd, rows, &mut sums[start..start + n]);
        });
        shrink::reflect(sums, l.width, l.channels);
        shrink::horizontal_f32(simd, sums, l.width, l.channels, scale, out);
    }
}

/// Row `y` of the level below `up`, enlarged vertically only: the values `range` of the row.
fn enlarge_vertical<S: Pixel, P: Ideal>(
    simd: jnd_video::simd::Level,
    up: &LevelState<S, P>,
    y: usize,
    range: std::ops::Range<usize>,
    out: &mut [f32],
) {
    let j = y / 2;
    let last = up.level.height - 1;
    let row = |j: usize| &up.change(j)[range.clone()];
    let (here, next) = (row(j), row((j + 1).min(last)));
    if y.is_multiple_of(2) {
        let before = row(if j == 0 { 1.min(last) } else { j - 1 });
        enlarge::even(simd, before, here, next, out);
    } else {
        enlarge::odd(simd, here, next, out);
    }
}

/// The same for part `part`, padded and with its edges filled, ready to be enlarged horizontally.
fn enlarge_part<S: Pixel, P: Ideal>(
    simd: jnd_video::simd::Level,
    up: &LevelState<S, P>,
    y: usize,
    part: usize,
    sums: &mut [f32],
) {
    let (n, c) = (up.level.width, up.level.channels);
    enlarge_vertical(simd, up, y, part * n * c..(part + 1) * n * c, &mut sums[c..c + n * c]);
    enlarge::extend(sums, n, c);
}

/// Computes row `y` of the changes of level `k` into `out`: what is enlarged from the coarser level `up`, what the
/// temporal filter gives here, and the mixing of RGB where it has its place.
fn change_row<S: Pixel, P: Ideal>(
    chain: &Chain,
    m: &Moment<'_, P>,
    k: usize,
    y: usize,
    here: &mut LevelState<S, P>,
    up: Option<&LevelState<S, P>>,
    sums: &mut [f32],
    out: &mut [f32],
) {
    if let Some(up) = up {
        if chain.levels[k + 1].step == Step::Vertical {
            enlarge_vertical(m.simd, up, y, 0..up.row, out);
        } else {
            let (n, c) = (up.level.width, up.level.channels);
            let to = here.level.width;
            for (part, out) in out.chunks_exact_mut(to * c).enumerate() {
                enlarge_part(m.simd, up, y, part, sums);
                enlarge::horizontal(m.simd, sums, n, to, c, out);
            }
        }
    }
    if here.level.filtered() {
        here.filter(m, y, up.is_some(), out);
    }
    let mixed = match chain.enlarge {
        Enlarge::Pyramid => k == 1,
        Enlarge::Bilinear => true,
    };
    if let (true, Mix::Matrix(a)) = (mixed, chain.mix) {
        mix::matrix(m.simd, out, chain.order, here.level.parts == 1, a);
    }
}

/// The levels of a chain that are computed once for the whole picture.
#[derive(Debug)]
pub(crate) struct Coarse<S: Pixel, P> {
    pub(crate) levels: Vec<LevelState<S, P>>,
    /// Index of the first in the chain.
    pub(crate) first: usize,
    sums: Vec<f32>,
}

impl<S: Pixel, P: Ideal> Coarse<S, P> {
    pub(crate) fn new(first: usize, levels: Vec<LevelState<S, P>>) -> Self {
        let width = levels.first().map_or(0, |l| l.level.width);
        Self { levels, first, sums: vec![0.0; sums_len(width)] }
    }

    /// Takes over the rows of the first level that a band has made.
    pub(crate) fn take(&mut self, band: &ChainBand<S, P>) {
        if let (Some(l), Some(hand)) = (self.levels.first_mut(), &band.hand) {
            let n = l.row;
            l.rows.copy(band.layout.handoff.start * n, hand, 0..band.layout.handoff.len() * n);
        }
    }

    /// Makes the other levels.
    pub(crate) fn shrink(&mut self, simd: jnd_video::simd::Level) {
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
                // Bilinear enlargement starts from the last level, the others are steps on the way down.
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
    pub(crate) fn new(plan: &Plan, chain: &Chain, layout: &BandLayout) -> Self {
        let levels: Vec<LevelState<S, P>> =
            chain.levels.iter().zip(&layout.spans).map(|(l, s)| LevelState::new(plan, l, s)).collect();
        let hand = chain.levels.get(levels.len()).map(|l| {
            let n = l.row() * layout.handoff.len();
            match l.stored {
                Stored::Samples => Rows::Samples(vec![S::default(); n]),
                Stored::Integer { .. } => Rows::Int(vec![S::Int::default(); n]),
                Stored::Float => Rows::Float(vec![0.0; n]),
            }
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
    pub(crate) fn bytes(plan: &Plan, chain: &Chain, layout: &BandLayout) -> u64 {
        let levels: u64 = chain.levels.iter().zip(&layout.spans).map(|(l, s)| bytes(plan, l, s)).sum();
        let hand = chain.levels.get(layout.spans.len()).map_or(0, |l| {
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

    /// Makes this band's rows of every level from the frame.
    pub(crate) fn shrink(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        simd: jnd_video::simd::Level,
        frame: &[Plane<'_, S>; 3],
    ) {
        for l in &mut self.levels {
            l.made = l.span.rows.start;
        }
        let coarse = self.levels.len();
        if let Some(mut hand) = self.hand.take() {
            let n = chain.levels[coarse].row();
            for (slot, i) in self.layout.handoff.clone().enumerate() {
                let out = row_mut(&mut hand, slot * n..(slot + 1) * n);
                self.make_row(clip, chain, simd, frame, coarse, i, Some(out));
            }
            self.hand = Some(hand);
        }
        for k in (0..coarse).rev() {
            self.ensure(clip, chain, simd, frame, k, self.levels[k].span.rows.end);
        }
    }

    /// Makes rows of level `k` up to `end`.
    fn ensure(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        simd: jnd_video::simd::Level,
        frame: &[Plane<'_, S>; 3],
        k: usize,
        end: usize,
    ) {
        while self.levels[k].made < end {
            let i = self.levels[k].made;
            self.make_row(clip, chain, simd, frame, k, i, None);
            self.levels[k].made += 1;
        }
    }

    /// Makes row `i` of level `k`, in its place or in `out`.
    fn make_row(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        simd: jnd_video::simd::Level,
        frame: &[Plane<'_, S>; 3],
        k: usize,
        i: usize,
        out: Option<RowMut<'_, S>>,
    ) {
        if k > 1 {
            let end = (2 * i + 3).min(chain.levels[k - 1].height);
            self.ensure(clip, chain, simd, frame, k - 1, end);
        }
        let (below, here) = self.levels.split_at_mut(k);
        let out = match out {
            Some(out) => out,
            None => {
                let at = here[0].at(i);
                row_mut(&mut here[0].rows, at)
            }
        };
        match k {
            0 => take_row(clip, chain, simd, frame, i, out, &mut self.scratch),
            1 => first_row(clip, chain, simd, frame, i, out, &mut self.scratch),
            _ => next_row(simd, &below[k - 1], chain.levels[k].scale, i, out, &mut self.scratch.sums),
        }
    }

    /// Pass one of the ideal filter.
    pub(crate) fn observe(&mut self, m: &Moment<'_, P>, last: bool) {
        self.levels.iter_mut().for_each(|l| l.observe(m, last));
    }

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
        while self.levels[k].changed < end {
            let y = self.levels[k].changed;
            if k + 1 < self.levels.len() {
                let end = (y / 2 + 2).min(self.levels[k + 1].level.height);
                self.ensure_changes(chain, m, coarse, k + 1, end);
            }
            let (here, up) = self.levels.split_at_mut(k + 1);
            let here = &mut here[k];
            let up = up.first().or(coarse.levels.first());
            let at = here.change_at(y);
            let mut changes = std::mem::take(&mut here.changes);
            change_row(chain, m, k, y, here, up, &mut self.scratch.sums, &mut changes[at]);
            here.changes = changes;
            here.changed += 1;
        }
    }

    /// Writes this band's output rows. `target` begins with the band's first row.
    pub(crate) fn render(
        &mut self,
        clip: &Clip,
        chain: &Chain,
        m: &Moment<'_, P>,
        frame: &[Plane<'_, S>; 3],
        coarse: &Coarse<S, P>,
        target: &mut Target<'_, S>,
    ) {
        let out = self.layout.out.clone();
        if chain.is_copy() {
            for y in out.clone() {
                for &p in &chain.planes {
                    copy_row(clip, m.simd, frame[p].row(y), target, p, y - out.start);
                }
            }
            return;
        }
        for l in &mut self.levels {
            l.changed = l.span.changes.start;
        }
        self.scratch.wide_rows = [usize::MAX; 2];
        let width = chain.levels[0].width;
        // Where level 0 is not filtered, its changes are enlarged in registers on their way into the frame.
        let fused = render::fused(m.simd)
            && chain.enlarge == Enlarge::Pyramid
            && !chain.levels[0].filtered()
            && chain.levels[1].step == Step::Full
            && matches!(target, Target::Integer(_));
        for y in out.clone() {
            if let (true, Target::Integer(t)) = (fused, &mut *target) {
                self.render_fused(clip, chain, m, frame, coarse, y, t);
                continue;
            }
            let n = self.delta_row(chain, m, coarse, y);
            let delta = &self.scratch.delta[..n];
            let parts = if n == width { 1 } else { chain.planes.len() };
            for (i, &p) in chain.planes.iter().enumerate() {
                let part = i.min(parts - 1);
                let delta = &delta[part * (n / parts)..(part + 1) * (n / parts)];
                let x = frame[p].row(y);
                match target {
                    Target::Integer(t) => {
                        render::integer(m.simd, x, clip.shift, delta, clip.max, t[p].row_mut(y - out.start));
                    }
                    Target::Float(t) => {
                        render::float(m.simd, x, clip.shift, delta, clip.max, t[p].row_mut(y - out.start));
                    }
                }
            }
        }
        self.levels.iter_mut().for_each(LevelState::advance);
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
        let Some(up) = self.levels.get(1).or(coarse.levels.first()) else { return };
        let level = up.level;
        self.ensure_changes(chain, m, coarse, 1, (y / 2 + 2).min(level.height));
        let Some(up) = self.levels.get(1).or(coarse.levels.first()) else { return };
        let sums = &mut self.scratch.sums;
        for (i, &p) in chain.planes.iter().enumerate() {
            // Luma has one part for all planes.
            if i < level.parts {
                enlarge_part(m.simd, up, y, i, sums);
            }
            if y + 2 < frame[p].height() {
                prefetch::read(frame[p].row(y + 2));
            }
            let channels = (level.channels, chain.levels[0].channels);
            let out = target[p].row_mut(y - self.layout.out.start);
            render::enlarged(m.simd, sums, channels, frame[p].row(y), clip.shift, clip.max, out);
        }
    }

    /// Computes the changes of output row `y` into the scratch row, and says how many there are.
    fn delta_row(&mut self, chain: &Chain, m: &Moment<'_, P>, coarse: &Coarse<S, P>, y: usize) -> usize {
        let l = &chain.levels[0];
        let last = &chain.levels[chain.last()];
        let (channels, parts) = (last.channels, last.parts);
        let n = l.width * channels * parts;
        if chain.enlarge == Enlarge::Bilinear && chain.last() > 0 {
            self.bilinear_row(m, coarse, y, n);
            return n;
        }
        if chain.last() > 0 {
            let up = self.levels.get(1).or(coarse.levels.first());
            let end = up.map_or(0, |up| (y / 2 + 2).min(up.level.height));
            self.ensure_changes(chain, m, coarse, 1, end);
        }
        let (here, up) = self.levels.split_at_mut(1);
        let up = up.first().or(coarse.levels.first());
        let out = &mut self.scratch.delta[..n];
        change_row(chain, m, 0, y, &mut here[0], up, &mut self.scratch.sums, out);
        n
    }

    fn bilinear_row(&mut self, m: &Moment<'_, P>, coarse: &Coarse<S, P>, y: usize, n: usize) {
        // The enlarged level is the last, so that it is coarse.
        let Some(from) = coarse.levels.last() else { return };
        let l = &from.level;
        let tap = self.down.get(y).copied().unwrap_or(Tap { i: y, j: y, a: 1.0, b: 0.0 });
        let s = &mut self.scratch;
        for row in [tap.i, tap.j] {
            if s.wide_rows[row % 2] == row {
                continue;
            }
            let out = &mut s.wide[row % 2][..n];
            if self.across.is_empty() {
                out.copy_from_slice(from.change(row));
            } else {
                let (from_row, to_row) = (l.width * l.channels, n / l.parts);
                for (v, out) in from.change(row).chunks_exact(from_row).zip(out.chunks_exact_mut(to_row)) {
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

/// Copies a row of a plane in which nothing is magnified.
fn copy_row<S: Pixel>(
    clip: &Clip,
    simd: jnd_video::simd::Level,
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
