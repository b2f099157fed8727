//! Filtering along time: two lags for the causal filters, projection on kept bins for the ideal one.

#[cfg(target_arch = "x86_64")]
mod x86;

use jnd_video::simd;

use crate::pixel::{Real, Value};

/// Frames whose changes are projected, or whose filtered rows are made, in one pass over the projections.
pub(crate) const BLOCK: usize = 16;

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

/// Samples whose projections lie side by side: a chunk holds, for each bin, this many C and then this many S.
pub(crate) const LANES: usize = 16;

/// Samples of a row rounded up to whole chunks.
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

#[inline(always)]
fn changes_body<T: Value, P: Real>(x: &[T], first: &[T], out: &mut [P]) {
    for ((o, x), f) in out.iter_mut().zip(x).zip(first) {
        *o = x.change(*f);
    }
}

/// The definition of [`project`].
fn project_scalar<P: Real>(d: &[P], frames: usize, cos: &[P], sin: &[P], acc: &mut [P]) {
    let bins = cos.len() / BLOCK;
    let pad = d.len() / BLOCK;
    for (j, chunk) in acc.chunks_exact_mut(bins * 2 * LANES).enumerate() {
        for (k, values) in chunk.chunks_exact_mut(2 * LANES).enumerate() {
            let (c, s) = values.split_at_mut(LANES);
            for b in 0..frames {
                let (cos, sin) = (cos[k * BLOCK + b], sin[k * BLOCK + b]);
                let d = &d[b * pad + j * LANES..][..LANES];
                for l in 0..LANES {
                    c[l] = c[l] + d[l] * cos;
                    s[l] = s[l] + d[l] * sin;
                }
            }
        }
    }
}

/// The definition of [`synthesise`].
fn synthesise_scalar<P: Real>(acc: &[P], cos: &[P], sin: &[P], out: &mut [f32]) {
    let bins = cos.len() / BLOCK;
    let pad = out.len() / BLOCK;
    for (j, chunk) in acc.chunks_exact(bins * 2 * LANES).enumerate() {
        for b in 0..BLOCK {
            let mut f = [P::default(); LANES];
            for (k, values) in chunk.chunks_exact(2 * LANES).enumerate() {
                let (c, s) = values.split_at(LANES);
                let (cos, sin) = (cos[k * BLOCK + b], sin[k * BLOCK + b]);
                for l in 0..LANES {
                    f[l] = (f[l] + c[l] * cos) + s[l] * sin;
                }
            }
            for (o, f) in out[b * pad + j * LANES..].iter_mut().zip(f) {
                *o = f.to_f32();
            }
        }
    }
}

#[inline(always)]
fn multiply_body<P: Real>(v: &mut [P], by: P) {
    for x in v {
        *x = *x * by;
    }
}

jnd_video::dispatch! {
    /// Changes of a row since the first frame.
    pub(crate) fn changes<T: Value, P: Real>(x: &[T], first: &[T], out: &mut [P]) = changes_body;
}
jnd_video::dispatch! {
    /// Multiplies projections by a level's factor.
    pub(crate) fn multiply<P: Real>(v: &mut [P], by: P) = multiply_body;
}

/// Adds the changes `d` of the first `frames` frames of a block (one padded row for each of [`BLOCK`]) to the projections of a row.
/// `cos` and `sin` hold [`BLOCK`] values for each bin.
pub(crate) fn project<P: Ideal>(
    level: simd::Level,
    d: &[P],
    frames: usize,
    cos: &[P],
    sin: &[P],
    acc: &mut [P],
) {
    if frames < BLOCK || !P::project_block(level, d, cos, sin, acc) {
        project_scalar(d, frames, cos, sin, acc);
    }
}

/// Makes the filtered rows (padded) of a block of frames from the projections of a row.
pub(crate) fn synthesise<P: Ideal>(level: simd::Level, acc: &[P], cos: &[P], sin: &[P], out: &mut [f32]) {
    if !P::synthesise_block(level, acc, cos, sin, out) {
        synthesise_scalar(acc, cos, sin, out);
    }
}

/// Types that projections are kept in. Both functions say whether they had instructions to do it with.
pub(crate) trait Ideal: Real {
    fn project_block(level: simd::Level, d: &[Self], cos: &[Self], sin: &[Self], acc: &mut [Self]) -> bool;
    fn synthesise_block(
        level: simd::Level,
        acc: &[Self],
        cos: &[Self],
        sin: &[Self],
        out: &mut [f32],
    ) -> bool;
}

macro_rules! ideal {
    ($t:ty, $project512:ident, $project2:ident, $synthesise512:ident, $synthesise2:ident) => {
        #[cfg(target_arch = "x86_64")]
        impl Ideal for $t {
            fn project_block(
                l: simd::Level,
                d: &[Self],
                cos: &[Self],
                sin: &[Self],
                acc: &mut [Self],
            ) -> bool {
                match l.isa() {
                    // SAFETY: the level proves that the instructions exist.
                    simd::Isa::Avx512 => unsafe { x86::$project512(d, cos, sin, acc) },
                    // SAFETY: as above.
                    simd::Isa::Avx2 => unsafe { x86::$project2(d, cos, sin, acc) },
                    _ => return false,
                }
                true
            }
            fn synthesise_block(
                l: simd::Level,
                acc: &[Self],
                cos: &[Self],
                sin: &[Self],
                out: &mut [f32],
            ) -> bool {
                match l.isa() {
                    // SAFETY: the level proves that the instructions exist.
                    simd::Isa::Avx512 => unsafe { x86::$synthesise512(acc, cos, sin, out) },
                    // SAFETY: as above.
                    simd::Isa::Avx2 => unsafe { x86::$synthesise2(acc, cos, sin, out) },
                    _ => return false,
                }
                true
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        impl Ideal for $t {
            fn project_block(_: simd::Level, _: &[Self], _: &[Self], _: &[Self], _: &mut [Self]) -> bool {
                false
            }
            fn synthesise_block(_: simd::Level, _: &[Self], _: &[Self], _: &[Self], _: &mut [f32]) -> bool {
                false
            }
        }
    };
}
ideal!(f32, project_f32_avx512, project_f32_avx2, synthesise_f32_avx512, synthesise_f32_avx2);
ideal!(f64, project_f64_avx512, project_f64_avx2, synthesise_f64_avx512, synthesise_f64_avx2);

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize, seed: u32) -> Vec<f32> {
        let mut s = seed;
        (0..n)
            .map(|_| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (s >> 8) as f32 / 65536.0 - 100.0
            })
            .collect()
    }

    fn same_at_every_level<P: Ideal + PartialEq + std::fmt::Debug>() {
        for n in 1..70 {
            for bins in [1, 3] {
                let pad = padded(n);
                let of = |v: Vec<f32>| v.into_iter().map(P::from_f32).collect::<Vec<P>>();
                let d = of(random(pad * BLOCK, 1));
                let (cos, sin) = (of(random(bins * BLOCK, 2)), of(random(bins * BLOCK, 3)));
                let start = of(random(pad * bins * 2, 4));
                for frames in [BLOCK, 5] {
                    let mut want = start.clone();
                    project_scalar(&d, frames, &cos, &sin, &mut want);
                    let mut made = vec![0.0; pad * BLOCK];
                    synthesise_scalar(&want, &cos, &sin, &mut made);
                    for level in simd::Level::available() {
                        let mut got = start.clone();
                        project(level, &d, frames, &cos, &sin, &mut got);
                        assert_eq!(got, want, "{level} {n} {bins}");
                        let mut out = vec![0.0; pad * BLOCK];
                        synthesise(level, &got, &cos, &sin, &mut out);
                        assert_eq!(out, made, "{level} {n} {bins}");
                    }
                }
            }
        }
    }

    fn lags_are_the_same_at_every_level<T: Value, P: Ideal + PartialEq + std::fmt::Debug>(of: fn(f32) -> T) {
        let lags = [0.95, 0.6, 0.3, 0.7].map(P::from_f64);
        let k = Lags { p_slow: lags[0], p_fast: lags[1], c_slow: lags[2], c_fast: lags[3] };
        for n in 1..70 {
            let x: Vec<T> = random(n, 5).into_iter().map(|v| of(v.abs())).collect();
            let before: Vec<T> = random(n, 6).into_iter().map(|v| of(v.abs())).collect();
            let states = |seed| random(n, seed).into_iter().map(P::from_f32).collect::<Vec<P>>();
            let (slow, fast, start) = (states(7), states(8), random(n, 9));
            for add in [false, true] {
                let (mut s, mut f, mut want) = (slow.clone(), fast.clone(), start.clone());
                for i in 0..n {
                    let dx: P = x[i].change(before[i]);
                    s[i] = k.p_slow * s[i] + dx;
                    f[i] = k.p_fast * f[i] + dx;
                    let y = (k.c_slow * s[i] - k.c_fast * f[i]).to_f32();
                    want[i] = if add { want[i] + y } else { y };
                }
                for level in simd::Level::available() {
                    let (mut slow, mut fast, mut out) = (slow.clone(), fast.clone(), start.clone());
                    causal(level, &x, &before, &mut slow, &mut fast, k, add, &mut out);
                    assert_eq!((slow, fast, out), (s.clone(), f.clone(), want.clone()), "{level} {n}");
                }
            }
        }
    }

    #[test]
    fn the_lags_are_the_same_at_every_level() {
        lags_are_the_same_at_every_level::<u8, f32>(|v| v as u8);
        lags_are_the_same_at_every_level::<u16, f32>(|v| (v * 300.0) as u16);
        lags_are_the_same_at_every_level::<u32, f32>(|v| (v * 70_000.0) as u32);
        lags_are_the_same_at_every_level::<f32, f32>(|v| v);
        lags_are_the_same_at_every_level::<u16, f64>(|v| (v * 300.0) as u16);
        lags_are_the_same_at_every_level::<u32, f64>(|v| (v * 70_000.0) as u32);
        lags_are_the_same_at_every_level::<f32, f64>(|v| v);
    }

    #[test]
    fn projections_are_the_same_at_every_level() {
        same_at_every_level::<f32>();
        same_at_every_level::<f64>();
    }
}
