//! Single rows: down from the frame to the coarse levels, and of changes up again.

use jnd_video::{Plane, simd};

use super::{Clip, Scratch};
use crate::enlarge;
use crate::pixel::{Pixel, mirror};
use crate::plan::{Chain, Enlarge, Mix, Step};
use crate::state::{LevelState, Moment, Rows, with_rows};
use crate::temporal::Ideal;
use crate::{mix, prefetch, shrink};

/// Rows of a level to write to.
pub(super) enum RowMut<'a, S: Pixel> {
    Samples(&'a mut [S]),
    Int(&'a mut [S::Int]),
    Float(&'a mut [f32]),
}

pub(super) fn row_mut<S: Pixel>(rows: &mut Rows<S>, at: std::ops::Range<usize>) -> RowMut<'_, S> {
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
pub(super) fn take_row<S: Pixel>(
    clip: &Clip,
    chain: &Chain,
    simd: simd::Level,
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
pub(super) fn first_row<S: Pixel>(
    clip: &Clip,
    chain: &Chain,
    simd: simd::Level,
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
        let rows = std::array::from_fn(|k| plane.row(index[k]));
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
pub(super) fn next_row<S: Pixel, P: Ideal>(
    m: &Moment<'_, P>,
    below: &LevelState<S, P>,
    scale: f32,
    i: usize,
    out: RowMut<'_, S>,
    sums: &mut [f32],
) {
    let l = &below.level;
    let index: [usize; 5] = std::array::from_fn(|k| mirror((2 * i + k) as isize - 2, l.height));
    let RowMut::Float(out) = out else {
        debug_assert!(false, "levels beyond the first are f32");
        return;
    };
    let (n, to) = (l.width * l.channels, out.len() / l.parts);
    let start = shrink::EDGE * l.channels;
    for (part, out) in out.chunks_exact_mut(to).enumerate() {
        with_rows!(below.rows(m.place), v => {
            let rows = std::array::from_fn(|k| &v[below.at(index[k])][part * n..(part + 1) * n]);
            shrink::vertical(m.simd, rows, &mut sums[start..start + n]);
        });
        shrink::reflect(sums, l.width, l.channels);
        shrink::horizontal_f32(m.simd, sums, l.width, l.channels, scale, out);
    }
}

/// Row `y` of the level below `up`, enlarged vertically only: the values `range` of the row.
fn enlarge_vertical<S: Pixel, P: Ideal>(
    m: &Moment<'_, P>,
    up: &LevelState<S, P>,
    y: usize,
    range: std::ops::Range<usize>,
    out: &mut [f32],
) {
    let j = y / 2;
    let last = up.level.height - 1;
    let row = |j: usize| &up.change(m.place, j)[range.clone()];
    let (here, next) = (row(j), row((j + 1).min(last)));
    if y.is_multiple_of(2) {
        let before = row(if j == 0 { 1.min(last) } else { j - 1 });
        enlarge::even(m.simd, before, here, next, out);
    } else {
        enlarge::odd(m.simd, here, next, out);
    }
}

/// The same for part `part`, padded and with its edges filled, ready to be enlarged horizontally.
pub(super) fn enlarge_part<S: Pixel, P: Ideal>(
    m: &Moment<'_, P>,
    up: &LevelState<S, P>,
    y: usize,
    part: usize,
    sums: &mut [f32],
) {
    let (n, c) = (up.level.width, up.level.channels);
    enlarge_vertical(m, up, y, part * n * c..(part + 1) * n * c, &mut sums[c..c + n * c]);
    enlarge::extend(sums, n, c);
}

/// Computes row `y` of the changes of level `k` into `out`: what is enlarged from the coarser level `up`, what the
/// temporal filter gives here, and the mixing of RGB where it has its place.
pub(super) fn change_row<S: Pixel, P: Ideal>(
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
            enlarge_vertical(m, up, y, 0..up.row, out);
        } else {
            let (n, c) = (up.level.width, up.level.channels);
            let to = here.level.width;
            for (part, out) in out.chunks_exact_mut(to * c).enumerate() {
                enlarge_part(m, up, y, part, sums);
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
