//! Halving: five taps `1 4 6 4 1` per axis, vertical first. Not normalised, so that the first halving of integer
//! samples is exact.

use crate::pixel::{Int, Pixel, Value, mirror};

#[inline(always)]
fn taps(a: f32, b: f32, c: f32, d: f32, e: f32) -> f32 {
    (a + e) + 4.0 * (b + d) + 6.0 * c
}

/// Vertical sums of five rows of samples.
#[inline(always)]
fn vertical_samples_body<S: Pixel>(r: [&[S]; 5], shift: u32, out: &mut [S::Int]) {
    let n = out.len();
    let [a, b, c, d, e] = r.map(|r| &r[..n]);
    let x = |v: S| S::Int::sample(v, shift);
    for i in 0..n {
        out[i] = S::Int::taps(x(a[i]), x(b[i]), x(c[i]), x(d[i]), x(e[i]));
    }
}

/// Vertical sums of five rows of a level.
#[inline(always)]
fn vertical_body<T: Value>(r: [&[T]; 5], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c, d, e] = r.map(|r| &r[..n]);
    for i in 0..n {
        out[i] = taps(a[i].single(), b[i].single(), c[i].single(), d[i].single(), e[i].single());
    }
}

/// Horizontal sums of a row of `n` pixels at every second pixel; `channels` interleaved.
#[inline(always)]
fn horizontal<T: Copy, const C: usize>(v: &[T], n: usize, out: &mut [T], f: impl Fn([T; 5]) -> T) {
    let m = n.div_ceil(2);
    let (v, out) = (&v[..n * C], &mut out[..m * C]);
    let edge = |i: usize, out: &mut [T]| {
        for c in 0..C {
            out[i * C + c] =
                f(std::array::from_fn(|k| v[mirror(2 * i as isize + k as isize - 2, n) * C + c]));
        }
    };
    edge(0, out);
    // Pixels 1..last read 2i-2 ..= 2i+2, all inside.
    let last = if n >= 5 { (n - 3) / 2 + 1 } else { 1 };
    if last > 1 {
        let inner = &mut out[C..last * C];
        for (i, o) in inner.chunks_exact_mut(C).enumerate() {
            let s = &v[2 * i * C..2 * i * C + 5 * C];
            for c in 0..C {
                o[c] = f([s[c], s[C + c], s[2 * C + c], s[3 * C + c], s[4 * C + c]]);
            }
        }
    }
    for i in last.max(1)..m {
        edge(i, out);
    }
}

#[inline(always)]
fn horizontal_int_body<I: Int>(v: &[I], n: usize, channels: usize, out: &mut [I]) {
    let f = |[a, b, c, d, e]: [I; 5]| I::taps(a, b, c, d, e);
    match channels {
        1 => horizontal::<I, 1>(v, n, out, f),
        2 => horizontal::<I, 2>(v, n, out, f),
        _ => horizontal::<I, 3>(v, n, out, f),
    }
}

#[inline(always)]
fn horizontal_f32_body(v: &[f32], n: usize, channels: usize, scale: f32, out: &mut [f32]) {
    let f = |[a, b, c, d, e]: [f32; 5]| taps(a, b, c, d, e) * scale;
    match channels {
        1 => horizontal::<f32, 1>(v, n, out, f),
        2 => horizontal::<f32, 2>(v, n, out, f),
        _ => horizontal::<f32, 3>(v, n, out, f),
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
    /// Horizontal sums of `n` pixels of interleaved integers at every second pixel.
    pub(crate) fn horizontal_int<I: Int>(v: &[I], n: usize, channels: usize, out: &mut [I]) = horizontal_int_body;
}
jnd_video::dispatch! {
    /// Horizontal sums of `n` pixels at every second pixel, times `scale`.
    pub(crate) fn horizontal_f32(v: &[f32], n: usize, channels: usize, scale: f32, out: &mut [f32]) =
        horizontal_f32_body;
}
