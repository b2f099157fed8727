//! RGB: mixing to luma on the way down, and of the changes on the way up.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use jnd_video::simd;

use crate::pixel::Value;

/// Luma of a row of pixels, `(yr R + yg G) + yb B`; `at` gives the first element of each channel and `step` the
/// distance of its elements.
#[inline(always)]
fn luma_body<T: Value>(x: &[T], at: [usize; 3], step: usize, y: [f32; 3], out: &mut [f32]) {
    if step == 3 {
        for (o, x) in out.iter_mut().zip(x.chunks_exact(3)) {
            *o = (y[0] * x[at[0]].single() + y[1] * x[at[1]].single()) + y[2] * x[at[2]].single();
        }
    } else {
        let n = out.len();
        let (r, g, b) = (&x[at[0]..][..n], &x[at[1]..][..n], &x[at[2]..][..n]);
        for i in 0..n {
            out[i] = (y[0] * r[i].single() + y[1] * g[i].single()) + y[2] * b[i].single();
        }
    }
}

/// Multiplies the three channels of a row by a matrix, in place. `order` says which channel or part is R, G and B.
#[inline(always)]
fn matrix_body(x: &mut [f32], order: [usize; 3], interleaved: bool, a: [[f32; 3]; 3]) {
    let pixel = |r: f32, g: f32, b: f32| -> [f32; 3] {
        std::array::from_fn(|i| (a[i][0] * r + a[i][1] * g) + a[i][2] * b)
    };
    let [ir, ig, ib] = order;
    if interleaved {
        for p in x.chunks_exact_mut(3) {
            let [r, g, b] = pixel(p[ir], p[ig], p[ib]);
            (p[ir], p[ig], p[ib]) = (r, g, b);
        }
    } else {
        let n = x.len() / 3;
        let (p0, rest) = x.split_at_mut(n);
        let (p1, p2) = rest.split_at_mut(n);
        let p2 = &mut p2[..n];
        for i in 0..n {
            let v = [p0[i], p1[i], p2[i]];
            let o = pixel(v[ir], v[ig], v[ib]);
            let mut w = [0.0; 3];
            (w[ir], w[ig], w[ib]) = (o[0], o[1], o[2]);
            (p0[i], p1[i], p2[i]) = (w[0], w[1], w[2]);
        }
    }
}

jnd_video::dispatch! {
    fn luma_rest<T: Value>(x: &[T], at: [usize; 3], step: usize, y: [f32; 3], out: &mut [f32]) = luma_body;
}
jnd_video::dispatch! {
    fn matrix_rest(x: &mut [f32], order: [usize; 3], interleaved: bool, a: [[f32; 3]; 3]) = matrix_body;
}

/// Luma of a row of pixels; `at` gives the first element of R, G and B, `step` the distance of a channel's elements.
pub(crate) fn luma<T: Luma>(
    level: simd::Level,
    x: &[T],
    at: [usize; 3],
    step: usize,
    y: [f32; 3],
    out: &mut [f32],
) {
    let done = if step == 3 { T::inner(level, x, at, y, out) } else { 0 };
    // Interleaved pixels go on where the rows end; the places of separate channels are counted from the start.
    luma_rest(level, &x[done * 3..], at, step, y, &mut out[done..]);
}

/// Types whose interleaved pixels may have vector code of their own for luma.
pub(crate) trait Luma: Value {
    /// Makes the first pixels, and says how many.
    fn inner(level: simd::Level, x: &[Self], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
        let _ = (level, x, at, y, out);
        0
    }
}

/// Samples of the frame: only the colour pipeline at level 0 mixes them.
impl Luma for u8 {}

macro_rules! luma {
    ($t:ty, $rows:ident) => {
        impl Luma for $t {
            fn inner(level: simd::Level, x: &[Self], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
                match level.isa() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the level proves that the instructions exist.
                    simd::Isa::Avx2 | simd::Isa::Avx512 => unsafe { avx2::$rows(x, at, y, out) },
                    #[cfg(target_arch = "aarch64")]
                    // SAFETY: as above.
                    simd::Isa::Neon => unsafe { neon::$rows(x, at, y, out) },
                    _ => 0,
                }
            }
        }
    };
}
luma!(u16, luma_u16);
luma!(u32, luma_u32);

/// Multiplies the three channels of a row by a matrix, in place.
pub(crate) fn matrix(
    level: simd::Level,
    x: &mut [f32],
    order: [usize; 3],
    interleaved: bool,
    a: [[f32; 3]; 3],
) {
    /// The two orders in which interleaved channels come.
    #[allow(unused_macros, reason = "other targets have no vector code of their own")]
    macro_rules! rows {
        ($module:ident) => {
            match order {
                [0, 1, 2] => $module::matrix::<0, 1, 2>(x, a),
                [2, 1, 0] => $module::matrix::<2, 1, 0>(x, a),
                _ => 0,
            }
        };
    }
    let done = match level.isa() {
        _ if !interleaved => 0,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level proves that the instructions exist.
        simd::Isa::Avx512 => unsafe { rows!(x86) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        simd::Isa::Avx2 => unsafe { rows!(avx2) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        simd::Isa::Neon => unsafe { rows!(neon) },
        _ => 0,
    };
    matrix_rest(level, &mut x[done..], order, interleaved, a);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_at_every_level() {
        let a = [[0.5, 0.25, 0.125], [3.0, -1.0, 0.7], [0.1, 0.2, -0.3]];
        for n in 1..70 {
            for order in [[0, 1, 2], [2, 1, 0], [2, 0, 1]] {
                for interleaved in [true, false] {
                    let x: Vec<f32> = (0..3 * n).map(|i| ((i * 7919) % 1009) as f32 / 7.0).collect();
                    let at = |p: usize, c: usize| if interleaved { 3 * p + c } else { c * n + p };
                    let mut want = vec![0.0; 3 * n];
                    for p in 0..n {
                        let [r, g, b] = order.map(|c| x[at(p, c)]);
                        for (i, c) in order.into_iter().enumerate() {
                            want[at(p, c)] = (a[i][0] * r + a[i][1] * g) + a[i][2] * b;
                        }
                    }
                    let (first, step) = if interleaved { (order, 3) } else { (order.map(|c| c * n), 1) };
                    let integers: Vec<u16> = (0..3 * n).map(|i| (i * 7919 % 65281) as u16).collect();
                    let deep: Vec<u32> =
                        integers.iter().map(|&v| u32::from(v) * 257 - u32::from(v) / 3).collect();
                    let bytes: Vec<u8> = integers.iter().map(|&v| v as u8).collect();
                    let luma_of = |x: &dyn Fn(usize) -> f32| -> Vec<f32> {
                        (0..n)
                            .map(|p| {
                                let [r, g, b] = order.map(|c| x(at(p, c)));
                                (a[0][0] * r + a[0][1] * g) + a[0][2] * b
                            })
                            .collect()
                    };
                    for level in simd::Level::available() {
                        let mut got = x.clone();
                        matrix(level, &mut got, order, interleaved, a);
                        assert_eq!(got, want, "{level} {n} {order:?} {interleaved}");
                        let mut got = vec![0.0; n];
                        luma(level, &integers, first, step, a[0], &mut got);
                        assert_eq!(got, luma_of(&|i| integers[i].single()), "u16 {level} {n} {order:?}");
                        luma(level, &deep, first, step, a[0], &mut got);
                        assert_eq!(got, luma_of(&|i| deep[i].single()), "u32 {level} {n} {order:?}");
                        luma(level, &bytes, first, step, a[0], &mut got);
                        assert_eq!(got, luma_of(&|i| bytes[i].single()), "u8 {level} {n} {order:?}");
                    }
                }
            }
        }
    }
}
