//! Enlarging changes: level by level with the taps `1 6 1` and `4 4` per axis (the gain of 8 per axis stays in), or
//! at once, bilinearly. Vertical first in the pyramid, horizontal first for bilinear.

use jnd_video::simd;

/// Row `2j` between the rows above, at and below.
#[inline(always)]
fn even_body(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (a, b, c) = (&a[..n], &b[..n], &c[..n]);
    for i in 0..n {
        out[i] = (a[i] + c[i]) + 6.0 * b[i];
    }
}

/// Row `2j + 1` between the rows at and below.
#[inline(always)]
fn odd_body(b: &[f32], c: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (b, c) = (&b[..n], &c[..n]);
    for i in 0..n {
        out[i] = 4.0 * (b[i] + c[i]);
    }
}

/// Samples that must follow a padded row, for vector code to read (their values do not matter).
pub(crate) const SLACK: usize = 16;

/// Length of the buffer for a row of `n` pixels that is enlarged horizontally: a pixel before it and one after.
pub(crate) fn padded(n: usize, channels: usize) -> usize {
    (n + 2) * channels + SLACK
}

/// Fills the edges of a row of `n` pixels that begins one pixel into `v`: the second one in front, the last one behind.
pub(crate) fn extend(v: &mut [f32], n: usize, channels: usize) {
    let second = 1.min(n - 1) + 1;
    for c in 0..channels {
        v[c] = v[second * channels + c];
        v[(n + 1) * channels + c] = v[n * channels + c];
    }
}

/// Enlarges pixels from `done` on; those before exist.
#[inline(always)]
fn wider<const C: usize>(v: &[f32], n: usize, m: usize, done: usize, out: &mut [f32]) {
    let (v, out) = (&v[done * C..(n + 2) * C], &mut out[2 * done * C..m * C]);
    let pixel = |j: usize, c: usize| {
        let (a, b, d) = (v[j * C + c], v[(j + 1) * C + c], v[(j + 2) * C + c]);
        ((a + d) + 6.0 * b, 4.0 * (b + d))
    };
    let pairs = out.chunks_exact_mut(2 * C);
    let whole = pairs.len();
    for (j, o) in pairs.enumerate() {
        for c in 0..C {
            (o[c], o[C + c]) = pixel(j, c);
        }
    }
    // An odd width ends with an even pixel.
    for (c, o) in out[2 * whole * C..].iter_mut().enumerate() {
        *o = pixel(whole, c).0;
    }
}

#[inline(always)]
fn horizontal_body(v: &[f32], n: usize, m: usize, channels: usize, done: usize, out: &mut [f32]) {
    match channels {
        1 => wider::<1>(v, n, m, done, out),
        2 => wider::<2>(v, n, m, done, out),
        _ => wider::<3>(v, n, m, done, out),
    }
}

jnd_video::dispatch! {
    /// Row `2j` from rows `j - 1`, `j` and `j + 1`.
    pub(crate) fn even(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) = even_body;
}
jnd_video::dispatch! {
    /// Row `2j + 1` from rows `j` and `j + 1`.
    pub(crate) fn odd(b: &[f32], c: &[f32], out: &mut [f32]) = odd_body;
}
jnd_video::dispatch! {
    fn horizontal_rest(v: &[f32], n: usize, m: usize, channels: usize, done: usize, out: &mut [f32]) =
        horizontal_body;
}

/// A row of `n` pixels enlarged to `m`, which is `2n` or `2n - 1`. `v` is padded, its edges are filled.
pub(crate) fn horizontal(
    level: simd::Level,
    v: &[f32],
    n: usize,
    m: usize,
    channels: usize,
    out: &mut [f32],
) {
    let done = crate::render::widened(level, v, m / 2, channels, out);
    horizontal_rest(level, v, n, m, channels, done, out);
}

/// The two neighbours of an output sample of a bilinear enlargement, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tap {
    /// First neighbour.
    pub(crate) i: usize,
    /// Second neighbour.
    pub(crate) j: usize,
    /// Weight of the first.
    pub(crate) a: f32,
    /// Weight of the second.
    pub(crate) b: f32,
}

/// The taps of an axis enlarged from `n` to `m`.
pub(crate) fn taps(n: usize, m: usize) -> Vec<Tap> {
    (0..m)
        .map(|i| {
            let s = (i as f64 + 0.5) * n as f64 / m as f64 - 0.5;
            let f = s.floor();
            let b = s - f;
            let at = |k: f64| k.clamp(0.0, (n - 1) as f64) as usize;
            Tap { i: at(f), j: at(f + 1.0), a: (1.0 - b) as f32, b: b as f32 }
        })
        .collect()
}

#[inline(always)]
fn bilinear_vertical_body(x: &[f32], y: &[f32], a: f32, b: f32, out: &mut [f32]) {
    let n = out.len();
    let (x, y) = (&x[..n], &y[..n]);
    for i in 0..n {
        out[i] = a * x[i] + b * y[i];
    }
}

jnd_video::dispatch! {
    /// A row between two rows.
    pub(crate) fn bilinear_vertical(x: &[f32], y: &[f32], a: f32, b: f32, out: &mut [f32]) =
        bilinear_vertical_body;
}

/// A row enlarged horizontally; runs on coarse rows only.
pub(crate) fn bilinear_horizontal(v: &[f32], taps: &[Tap], channels: usize, out: &mut [f32]) {
    for (t, o) in taps.iter().zip(out.chunks_exact_mut(channels)) {
        for (c, o) in o.iter_mut().enumerate() {
            *o = t.a * v[t.i * channels + c] + t.b * v[t.j * channels + c];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_at_every_level() {
        for m in 1..200usize {
            let n = m.div_ceil(2);
            for c in 1..=3 {
                let v: Vec<f32> = (0..n * c).map(|i| ((i * i * 7919) % 1009) as f32 / 7.0).collect();
                let at = |j: isize, i: usize| {
                    let j = if j < 0 { 1.min(n - 1) } else { (j as usize).min(n - 1) };
                    v[j * c + i]
                };
                let want: Vec<f32> = (0..m * c)
                    .map(|o| {
                        let (j, i) = ((o / c / 2) as isize, o % c);
                        if (o / c) % 2 == 0 {
                            (at(j - 1, i) + at(j + 1, i)) + 6.0 * at(j, i)
                        } else {
                            4.0 * (at(j, i) + at(j + 1, i))
                        }
                    })
                    .collect();
                for level in simd::Level::available() {
                    let mut out = vec![0.0; m * c];
                    let mut v = [vec![0.0; c], v.clone(), vec![0.0; c + SLACK]].concat();
                    extend(&mut v, n, c);
                    horizontal(level, &v, n, m, c, &mut out);
                    assert_eq!(out, want, "{level} {m} {c}");
                }
            }
        }
    }
}
