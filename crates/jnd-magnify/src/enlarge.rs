//! Enlarging changes: level by level with the taps `1 6 1` and `4 4` per axis (the gain of 8 per axis stays in), or
//! at once, bilinearly. Vertical first in the pyramid, horizontal first for bilinear.

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

#[inline(always)]
fn wider<const C: usize>(v: &[f32], n: usize, m: usize, out: &mut [f32]) {
    let (v, out) = (&v[..n * C], &mut out[..m * C]);
    let at = |j: usize, c: usize| v[j.min(n - 1) * C + c];
    let edge = |j: usize, out: &mut [f32]| {
        let before = if j == 0 { 1.min(n - 1) } else { j - 1 };
        for c in 0..C {
            out[2 * j * C + c] = (at(before, c) + at(j + 1, c)) + 6.0 * at(j, c);
            if 2 * j + 1 < m {
                out[(2 * j + 1) * C + c] = 4.0 * (at(j, c) + at(j + 1, c));
            }
        }
    };
    edge(0, out);
    if n > 2 {
        // Pixels 1..n-1 have both neighbours, and both of their outputs exist.
        let inner = &mut out[2 * C..2 * (n - 1) * C];
        let k = (n - 2) * C;
        let (a, b, d) = (&v[..k], &v[C..C + k], &v[2 * C..2 * C + k]);
        for (((o, a), b), d) in
            inner.chunks_exact_mut(2 * C).zip(a.chunks_exact(C)).zip(b.chunks_exact(C)).zip(d.chunks_exact(C))
        {
            for c in 0..C {
                o[c] = (a[c] + d[c]) + 6.0 * b[c];
                o[C + c] = 4.0 * (b[c] + d[c]);
            }
        }
    }
    if n > 1 {
        edge(n - 1, out);
    }
}

#[inline(always)]
fn horizontal_body(v: &[f32], n: usize, m: usize, channels: usize, out: &mut [f32]) {
    match channels {
        1 => wider::<1>(v, n, m, out),
        2 => wider::<2>(v, n, m, out),
        _ => wider::<3>(v, n, m, out),
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
    /// A row of `n` pixels enlarged to `m`, which is `2n` or `2n - 1`.
    pub(crate) fn horizontal(v: &[f32], n: usize, m: usize, channels: usize, out: &mut [f32]) = horizontal_body;
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
