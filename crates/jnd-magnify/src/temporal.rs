//! Filtering along time: two lags for the causal filters, projection on kept bins for the ideal one.

use crate::pixel::{Real, Value};

/// Frames whose changes are projected, or whose filtered rows are made, in one pass over the projections.
pub(crate) const BLOCK: usize = 8;

/// Frames after which states that have died away are set to 0.
pub(crate) const FLUSH_EVERY: u64 = 32;

/// Poles and coefficients of a level, in the states' type.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lags<P> {
    pub(crate) p_slow: P,
    pub(crate) p_fast: P,
    pub(crate) c_slow: P,
    pub(crate) c_fast: P,
}

/// One step of both lags for a row; the filtered change is written to `out`, or added to what is there.
#[inline(always)]
fn causal_body<T: Value, P: Real>(
    x: &[T],
    before: &[T],
    slow: &mut [P],
    fast: &mut [P],
    k: Lags<P>,
    add: bool,
    out: &mut [f32],
) {
    let n = out.len();
    let (x, before, slow, fast) = (&x[..n], &before[..n], &mut slow[..n], &mut fast[..n]);
    let step = |i: usize, slow: &mut P, fast: &mut P| {
        let dx: P = x[i].change(before[i]);
        *slow = k.p_slow * *slow + dx;
        *fast = k.p_fast * *fast + dx;
        (k.c_slow * *slow - k.c_fast * *fast).to_f32()
    };
    if add {
        for i in 0..n {
            out[i] += step(i, &mut slow[i], &mut fast[i]);
        }
    } else {
        for i in 0..n {
            out[i] = step(i, &mut slow[i], &mut fast[i]);
        }
    }
}

#[inline(always)]
fn flush_body<P: Real>(v: &mut [P]) {
    for s in v {
        *s = s.flushed();
    }
}

jnd_video::dispatch! {
    /// One step of both lags for a row; the filtered change is written to `out`, or added to what is there.
    pub(crate) fn causal<T: Value, P: Real>(
        x: &[T], before: &[T], slow: &mut [P], fast: &mut [P], k: Lags<P>, add: bool, out: &mut [f32],
    ) = causal_body;
}
jnd_video::dispatch! {
    /// Sets states that have died away to 0.
    pub(crate) fn flush<P: Real>(v: &mut [P]) = flush_body;
}

/// Samples that are projected side by side.
const LANES: usize = 16;

/// Adds a block of frames to the projections of a row. `c` and `s` hold one row for each bin, `cos` and `sin` one
/// block of [`BLOCK`] values for each bin. Rows of the block beyond `x.len()` frames do not exist.
#[inline(always)]
fn project_body<T: Value, P: Real>(x: &[&[T]], first: &[T], cos: &[P], sin: &[P], c: &mut [P], s: &mut [P]) {
    let n = first.len();
    let bins = cos.len() / BLOCK;
    let mut i = 0;
    while i < n {
        let w = LANES.min(n - i);
        let mut d = [[P::default(); LANES]; BLOCK];
        for (d, x) in d.iter_mut().zip(x) {
            let (x, first) = (&x[i..i + w], &first[i..i + w]);
            for l in 0..w {
                d[l] = x[l].change(first[l]);
            }
        }
        for k in 0..bins {
            let (cos, sin) = (&cos[k * BLOCK..][..BLOCK], &sin[k * BLOCK..][..BLOCK]);
            let (c, s) = (&mut c[k * n + i..][..w], &mut s[k * n + i..][..w]);
            let mut cl = [P::default(); LANES];
            let mut sl = [P::default(); LANES];
            if w == LANES {
                cl.copy_from_slice(c);
                sl.copy_from_slice(s);
            } else {
                cl[..w].copy_from_slice(c);
                sl[..w].copy_from_slice(s);
            }
            for b in 0..x.len().min(BLOCK) {
                for l in 0..LANES {
                    cl[l] = cl[l] + d[b][l] * cos[b];
                    sl[l] = sl[l] + d[b][l] * sin[b];
                }
            }
            if w == LANES {
                c.copy_from_slice(&cl);
                s.copy_from_slice(&sl);
            } else {
                c.copy_from_slice(&cl[..w]);
                s.copy_from_slice(&sl[..w]);
            }
        }
        i += w;
    }
}

/// Makes the filtered rows of [`BLOCK`] frames from the projections of a row of `n` samples.
#[inline(always)]
fn synthesise_body<P: Real>(c: &[P], s: &[P], n: usize, cos: &[P], sin: &[P], out: &mut [f32]) {
    let bins = cos.len() / BLOCK;
    let mut i = 0;
    while i < n {
        let w = LANES.min(n - i);
        let mut f = [[P::default(); LANES]; BLOCK];
        for k in 0..bins {
            let (cos, sin) = (&cos[k * BLOCK..][..BLOCK], &sin[k * BLOCK..][..BLOCK]);
            let (c, s) = (&c[k * n + i..][..w], &s[k * n + i..][..w]);
            let mut cl = [P::default(); LANES];
            let mut sl = [P::default(); LANES];
            if w == LANES {
                cl.copy_from_slice(c);
                sl.copy_from_slice(s);
            } else {
                cl[..w].copy_from_slice(c);
                sl[..w].copy_from_slice(s);
            }
            for b in 0..BLOCK {
                for l in 0..LANES {
                    f[b][l] = (f[b][l] + cl[l] * cos[b]) + sl[l] * sin[b];
                }
            }
        }
        for (b, f) in f.iter().enumerate() {
            for (o, f) in out[b * n + i..][..w].iter_mut().zip(f) {
                *o = f.to_f32();
            }
        }
        i += w;
    }
}

#[inline(always)]
fn multiply_body<P: Real>(v: &mut [P], by: P) {
    for x in v {
        *x = *x * by;
    }
}

jnd_video::dispatch! {
    /// Adds a block of frames to the projections of a row.
    pub(crate) fn project<T: Value, P: Real>(
        x: &[&[T]], first: &[T], cos: &[P], sin: &[P], c: &mut [P], s: &mut [P],
    ) = project_body;
}
jnd_video::dispatch! {
    /// Makes the filtered rows of a block of frames from the projections of a row.
    pub(crate) fn synthesise<P: Real>(c: &[P], s: &[P], n: usize, cos: &[P], sin: &[P], out: &mut [f32]) =
        synthesise_body;
}
jnd_video::dispatch! {
    /// Multiplies projections by a level's factor.
    pub(crate) fn multiply<P: Real>(v: &mut [P], by: P) = multiply_body;
}
