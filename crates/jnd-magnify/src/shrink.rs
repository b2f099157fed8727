//! Halving: five taps `1 4 6 4 1` per axis, vertical first. Not normalised, so that the first halving of integer
//! samples is exact.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use jnd_video::simd;

use crate::pixel::{Int, Pixel, Value, mirror};

#[inline(always)]
fn taps(a: f32, b: f32, c: f32, d: f32, e: f32) -> f32 {
    (a + e) + 4.0 * (b + d) + 6.0 * c
}

/// Vertical sums of five rows of samples.
#[inline(always)]
fn vertical_samples_body<S: Pixel>(r: [&[S]; 5], shift: u32, out: &mut [S::Int]) {
    let n = out.len();
    // One by one, so that the compiler sees five rows of the same length.
    let (a, b, c, d, e) = (&r[0][..n], &r[1][..n], &r[2][..n], &r[3][..n], &r[4][..n]);
    let x = |v: S| S::Int::sample(v, shift);
    for i in 0..n {
        out[i] = S::Int::taps(x(a[i]), x(b[i]), x(c[i]), x(d[i]), x(e[i]));
    }
}

/// Vertical sums of five rows of a level.
#[inline(always)]
fn vertical_body<T: Value>(r: [&[T]; 5], out: &mut [f32]) {
    let n = out.len();
    // One by one, so that the compiler sees five rows of the same length.
    let (a, b, c, d, e) = (&r[0][..n], &r[1][..n], &r[2][..n], &r[3][..n], &r[4][..n]);
    for i in 0..n {
        out[i] = taps(a[i].single(), b[i].single(), c[i].single(), d[i].single(), e[i].single());
    }
}

/// Pixels that precede and follow a row whose horizontal sums are taken: the ones it is reflected to.
pub(crate) const EDGE: usize = 2;

/// Samples that must follow those, for vector code to read (their values do not matter).
pub(crate) const SLACK: usize = 8;

/// Length of the buffer for a row of `n` pixels.
pub(crate) fn padded(n: usize, channels: usize) -> usize {
    (n + 2 * EDGE) * channels + SLACK
}

/// Fills the edges of a row of `n` pixels that begins `EDGE` pixels into `v`.
pub(crate) fn reflect<T: Copy>(v: &mut [T], n: usize, channels: usize) {
    for (j, to) in [(-2, 0), (-1, 1), (n as isize, n + 2), (n as isize + 1, n + 3)] {
        let from = mirror(j, n) + EDGE;
        for c in 0..channels {
            v[to * channels + c] = v[from * channels + c];
        }
    }
}

/// Horizontal sums of a row of `n` pixels at every second pixel; `C` channels interleaved. The first `done` pixels
/// exist already.
#[inline(always)]
fn horizontal<T: Copy, const C: usize>(
    v: &[T],
    n: usize,
    done: usize,
    out: &mut [T],
    f: impl Fn([T; 5]) -> T,
) {
    let m = n.div_ceil(2);
    let out = &mut out[done * C..m * C];
    // Pixel i is summed from 2i - 2 to 2i + 2, which the edge in front turns into 2i to 2i + 4.
    let v = &v[2 * done * C..(n + 2 * EDGE) * C];
    for (i, o) in out.chunks_exact_mut(C).enumerate() {
        let s = &v[2 * i * C..2 * i * C + 5 * C];
        for c in 0..C {
            o[c] = f([s[c], s[C + c], s[2 * C + c], s[3 * C + c], s[4 * C + c]]);
        }
    }
}

#[inline(always)]
fn horizontal_int_body<I: Int>(v: &[I], n: usize, channels: usize, done: usize, out: &mut [I]) {
    let f = |[a, b, c, d, e]: [I; 5]| I::taps(a, b, c, d, e);
    match channels {
        1 => horizontal::<I, 1>(v, n, done, out, f),
        2 => horizontal::<I, 2>(v, n, done, out, f),
        _ => horizontal::<I, 3>(v, n, done, out, f),
    }
}

#[inline(always)]
fn horizontal_f32_body(v: &[f32], n: usize, channels: usize, scale: f32, done: usize, out: &mut [f32]) {
    let f = |[a, b, c, d, e]: [f32; 5]| taps(a, b, c, d, e) * scale;
    match channels {
        1 => horizontal::<f32, 1>(v, n, done, out, f),
        2 => horizontal::<f32, 2>(v, n, done, out, f),
        _ => horizontal::<f32, 3>(v, n, done, out, f),
    }
}

jnd_video::dispatch! {
    /// Vertical sums of five rows of samples, `shift` bits packed high.
    pub(crate) fn vertical_samples<S: Pixel>(r: [&[S]; 5], shift: u32, out: &mut [S::Int]) = vertical_samples_body;
}
jnd_video::dispatch! {
    /// Vertical sums of five rows of a level.
    pub(crate) fn vertical<T: Value>(r: [&[T]; 5], out: &mut [f32]) = vertical_body;
}
jnd_video::dispatch! {
    fn horizontal_int_rest<I: Int>(v: &[I], n: usize, channels: usize, done: usize, out: &mut [I]) =
        horizontal_int_body;
}
jnd_video::dispatch! {
    fn horizontal_f32_rest(v: &[f32], n: usize, channels: usize, scale: f32, done: usize, out: &mut [f32]) =
        horizontal_f32_body;
}

/// Horizontal sums of `n` pixels of interleaved integers at every second pixel. `v` is padded, its edges are filled.
pub(crate) fn horizontal_int<I: Int + Halve>(
    level: simd::Level,
    v: &[I],
    n: usize,
    channels: usize,
    out: &mut [I],
) {
    let done = I::inner(level, v, n, channels, 1.0, out);
    horizontal_int_rest(level, v, n, channels, done, out);
}

/// Horizontal sums of `n` pixels at every second pixel, times `scale`. `v` is padded, its edges are filled.
pub(crate) fn horizontal_f32(
    level: simd::Level,
    v: &[f32],
    n: usize,
    channels: usize,
    scale: f32,
    out: &mut [f32],
) {
    let done = f32::inner(level, v, n, channels, scale, out);
    horizontal_f32_rest(level, v, n, channels, scale, done, out);
}

/// Types whose horizontal sums have vector code of their own.
pub(crate) trait Halve: Value {
    /// Makes the first pixels, and says how many: 0 where there is no such code.
    fn inner(
        level: simd::Level,
        v: &[Self],
        n: usize,
        channels: usize,
        scale: f32,
        out: &mut [Self],
    ) -> usize;
}

macro_rules! halve {
    ($t:ty, $avx512:ident, $rows:ident) => {
        impl Halve for $t {
            fn inner(
                level: simd::Level,
                v: &[Self],
                n: usize,
                channels: usize,
                scale: f32,
                out: &mut [Self],
            ) -> usize {
                #[cfg(target_arch = "x86_64")]
                match (level.isa(), channels) {
                    // SAFETY: the level proves that the instructions exist.
                    (simd::Isa::Avx512, 1) => return unsafe { x86::$avx512::<1>(v, n, scale, out) },
                    // SAFETY: as above.
                    (simd::Isa::Avx512, 2) => return unsafe { x86::$avx512::<2>(v, n, scale, out) },
                    // SAFETY: as above.
                    (simd::Isa::Avx512, _) => return unsafe { x86::$avx512::<3>(v, n, scale, out) },
                    // SAFETY: as above.
                    (simd::Isa::Avx2, 1) => return unsafe { avx2::$rows::<1>(v, n, scale, out) },
                    // SAFETY: as above.
                    (simd::Isa::Avx2, 2) => return unsafe { avx2::$rows::<2>(v, n, scale, out) },
                    // SAFETY: as above.
                    (simd::Isa::Avx2, _) => return unsafe { avx2::$rows::<3>(v, n, scale, out) },
                    _ => {}
                }
                #[cfg(target_arch = "aarch64")]
                if level.isa() == simd::Isa::Neon {
                    // SAFETY: the level proves that the instructions exist.
                    return unsafe {
                        match channels {
                            1 => neon::$rows::<1>(v, n, scale, out),
                            2 => neon::$rows::<2>(v, n, scale, out),
                            _ => neon::$rows::<3>(v, n, scale, out),
                        }
                    };
                }
                let _ = (level, v, n, channels, scale, out);
                0
            }
        }
    };
}
halve!(u16, u16_avx512, u16_rows);
halve!(u32, u32_avx512, u32_rows);
halve!(f32, f32_avx512, f32_rows);

#[cfg(test)]
mod tests {
    use super::*;

    /// Values up to `max`, the largest and 0 among them.
    fn values(n: usize, max: u32) -> Vec<u32> {
        let mut s = 7u32;
        (0..n)
            .map(|i| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match i % 5 {
                    0 => 0,
                    1 => max,
                    _ => ((u64::from(s) * u64::from(max + 1)) >> 32) as u32,
                }
            })
            .collect()
    }

    fn pad<T: Copy + Default>(v: &[T], n: usize, c: usize) -> Vec<T> {
        let mut p = vec![T::default(); padded(n, c)];
        p[EDGE * c..(EDGE + n) * c].copy_from_slice(v);
        reflect(&mut p, n, c);
        p
    }

    fn reference<T: Copy>(v: &[T], n: usize, c: usize, f: impl Fn([T; 5]) -> T) -> Vec<T> {
        (0..n.div_ceil(2) * c)
            .map(|o| {
                f(std::array::from_fn(|k| v[mirror(2 * (o / c) as isize + k as isize - 2, n) * c + o % c]))
            })
            .collect()
    }

    #[test]
    fn rows_are_the_same_at_every_level() {
        for n in (1..70).chain([127, 128, 129, 300]) {
            for c in 1..=3 {
                let v = values(n * c, 16 * 255);
                let u16s: Vec<u16> = v.iter().map(|&x| x as u16).collect();
                let u32s = values(n * c, 16 * 65535);
                let f32s: Vec<f32> = u32s.iter().map(|&x| x as f32 / 3.0).collect();
                let m = n.div_ceil(2) * c;
                for level in simd::Level::available() {
                    let mut out = vec![0u16; m];
                    horizontal_int(level, &pad(&u16s, n, c), n, c, &mut out);
                    assert_eq!(
                        out,
                        reference(&u16s, n, c, |[a, b, c, d, e]| u16::taps(a, b, c, d, e)),
                        "{level} {n} {c}"
                    );
                    let mut out = vec![0u32; m];
                    horizontal_int(level, &pad(&u32s, n, c), n, c, &mut out);
                    assert_eq!(
                        out,
                        reference(&u32s, n, c, |[a, b, c, d, e]| u32::taps(a, b, c, d, e)),
                        "{level} {n} {c}"
                    );
                    let mut out = vec![0f32; m];
                    horizontal_f32(level, &pad(&f32s, n, c), n, c, 0.25, &mut out);
                    let want =
                        reference(&f32s, n, c, |[a, b, c, d, e]| ((a + e) + 4.0 * (b + d) + 6.0 * c) * 0.25);
                    assert_eq!(out, want, "{level} {n} {c}");
                }
            }
        }
    }

    #[test]
    fn vertical_sums_are_exact() {
        for n in 1..70 {
            let v = values(5 * n, 255);
            let bytes: Vec<u8> = v.iter().map(|&x| x as u8).collect();
            let words: Vec<u16> = values(5 * n, 1023).iter().map(|&x| (x << 6) as u16).collect();
            for level in simd::Level::available() {
                let mut out = vec![0u16; n];
                vertical_samples(level, std::array::from_fn(|k| &bytes[k * n..][..n]), 0, &mut out);
                let mut deep = vec![0u32; n];
                vertical_samples(level, std::array::from_fn(|k| &words[k * n..][..n]), 6, &mut deep);
                for i in 0..n {
                    let sum = |x: &dyn Fn(usize) -> u32| x(0) + 4 * x(1) + 6 * x(2) + 4 * x(3) + x(4);
                    assert_eq!(u32::from(out[i]), sum(&|k| u32::from(bytes[k * n + i])));
                    assert_eq!(deep[i], sum(&|k| u32::from(words[k * n + i]) >> 6));
                }
                let mut singles = vec![0f32; n];
                vertical(level, [&deep[..]; 5], &mut singles);
                assert!(singles.iter().zip(&deep).all(|(s, d)| *s == 16.0 * *d as f32), "{level} {n}");
            }
        }
    }
}
