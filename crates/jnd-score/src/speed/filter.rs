//! SpEED front end: a plane is low-pass filtered, decimated 16:1 both ways, and centred.
//!
//! The definition of every filter here is [`filter`]: columns first, then rows; each sum starts at 0 and takes its
//! taps in order, one rounding a product and one a sum; borders reflect. [`decimate`] gives the samples (16 i, 16 j) of
//! that result and computes no others.

use jnd_video::simd::Level;
use jnd_video::{Plane, Sample};

use super::prescale::Scaler;
use crate::plane::{Conversion, reflect};

/// Samples kept: one in this many, both ways.
pub const DECIMATION: usize = 16;

/// The plane that the front end reads.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a, T> {
    /// Samples, as numbers.
    Samples(Plane<'a, T>, Conversion),
    /// Samples of an earlier plane less those of a later one, as numbers, rounded once.
    Difference(Plane<'a, T>, Plane<'a, T>, Conversion),
    /// A plane of numbers, scaled.
    Scaled(&'a [f32], &'a Scaler),
}

impl<T: Sample> Source<'_, T> {
    /// Width and height.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Self::Samples(p, _) | Self::Difference(p, _, _) => (p.row_len(), p.height()),
            Self::Scaled(_, scaler) => scaler.size(),
        }
    }

    /// Row `y` as numbers.
    #[inline(always)]
    pub fn row(&self, y: usize, out: &mut [f32]) {
        match *self {
            Self::Samples(p, conversion) => {
                for (o, &v) in out.iter_mut().zip(p.row(y)) {
                    *o = conversion.apply(v);
                }
            }
            Self::Difference(p, c, conversion) => {
                for ((o, &a), &b) in out.iter_mut().zip(p.row(y)).zip(c.row(y)) {
                    *o = conversion.apply(a) - conversion.apply(b);
                }
            }
            Self::Scaled(plane, scaler) => scaler.row(plane, y, out),
        }
    }

    /// `acc[x] = acc[x] + tap * row[x]`.
    #[inline(always)]
    fn accumulate(&self, y: usize, tap: f32, acc: &mut [f32], row: &mut [f32]) {
        match *self {
            Self::Samples(p, conversion) => {
                for (o, &v) in acc.iter_mut().zip(p.row(y)) {
                    *o += tap * conversion.apply(v);
                }
            }
            Self::Difference(p, c, conversion) => {
                for ((o, &a), &b) in acc.iter_mut().zip(p.row(y)).zip(c.row(y)) {
                    *o += tap * (conversion.apply(a) - conversion.apply(b));
                }
            }
            Self::Scaled(plane, scaler) => {
                scaler.row(plane, y, row);
                for (o, &v) in acc.iter_mut().zip(row.iter()) {
                    *o += tap * v;
                }
            }
        }
    }
}

/// Filters a `w` x `h` plane with `taps` both ways: the definition.
pub fn filter(src: &[f32], w: usize, h: usize, taps: &[f32], out: &mut [f32]) {
    let half = (taps.len() / 2) as isize;
    let mut column = vec![0.0f32; w];
    for y in 0..h {
        column.fill(0.0);
        for (k, &t) in taps.iter().enumerate() {
            let row = reflect(y as isize - half + k as isize, h) * w;
            for (acc, &v) in column.iter_mut().zip(&src[row..row + w]) {
                *acc += t * v;
            }
        }
        for x in 0..w {
            let mut acc = 0.0f32;
            for (k, &t) in taps.iter().enumerate() {
                acc += t * column[reflect(x as isize - half + k as isize, w)];
            }
            out[y * w + x] = acc;
        }
    }
}

jnd_video::dispatch! {
    /// The filtered plane at every 16th row and column. `out` has `wo` columns and `ho` rows; `scratch` is resized.
    pub fn decimate<T: Sample>(
        source: &Source<'_, T>,
        taps: &[f32],
        wo: usize,
        ho: usize,
        scratch: &mut Vec<f32>,
        out: &mut [f32],
    ) = decimate_body;
}

#[inline(always)]
fn decimate_body<T: Sample>(
    source: &Source<'_, T>,
    taps: &[f32],
    wo: usize,
    ho: usize,
    scratch: &mut Vec<f32>,
    out: &mut [f32],
) {
    let (w, h) = source.size();
    let half = taps.len() / 2;
    // The column sums, with the reflected borders on both sides, so that the row pass needs no test.
    scratch.clear();
    scratch.resize(2 * w + 2 * half, 0.0);
    let (padded, row) = scratch.split_at_mut(w + 2 * half);
    for (i, out) in out.chunks_exact_mut(wo).take(ho).enumerate() {
        let column = &mut padded[half..half + w];
        column.fill(0.0);
        for (k, &t) in taps.iter().enumerate() {
            let y = reflect((DECIMATION * i + k) as isize - half as isize, h);
            source.accumulate(y, t, column, row);
        }
        for k in 1..=half {
            padded[half - k] = padded[half + reflect(-(k as isize), w)];
            padded[half + w - 1 + k] = padded[half + reflect((w - 1 + k) as isize, w)];
        }
        for (j, out) in out.iter_mut().enumerate() {
            let mut acc = 0.0f32;
            for (&t, &v) in taps.iter().zip(&padded[DECIMATION * j..]) {
                acc += t * v;
            }
            *out = acc;
        }
    }
}

/// Takes the low-pass of a decimated `w` x `h` plane off it.
pub fn centre(plane: &mut [f32], w: usize, h: usize, taps: &[f32], scratch: &mut Vec<f32>, level: Level) {
    centre_level(level, plane, w, h, taps, scratch);
}

jnd_video::dispatch! {
    fn centre_level(plane: &mut [f32], w: usize, h: usize, taps: &[f32], scratch: &mut Vec<f32>) = centre_body;
}

#[inline(always)]
fn centre_body(plane: &mut [f32], w: usize, h: usize, taps: &[f32], scratch: &mut Vec<f32>) {
    let half = taps.len() / 2;
    scratch.clear();
    scratch.resize(w * h + w + 2 * half, 0.0);
    let (low, padded) = scratch.split_at_mut(w * h);
    for (y, low) in low.chunks_exact_mut(w).enumerate() {
        let column = &mut padded[half..half + w];
        column.fill(0.0);
        for (k, &t) in taps.iter().enumerate() {
            let row = reflect((y + k) as isize - half as isize, h) * w;
            for (acc, &v) in column.iter_mut().zip(&plane[row..row + w]) {
                *acc += t * v;
            }
        }
        for k in 1..=half {
            padded[half - k] = padded[half + reflect(-(k as isize), w)];
            padded[half + w - 1 + k] = padded[half + reflect((w - 1 + k) as isize, w)];
        }
        for (k, &t) in taps.iter().enumerate() {
            for (acc, &v) in low.iter_mut().zip(&padded[k..k + w]) {
                *acc += t * v;
            }
        }
    }
    for (v, &l) in plane.iter_mut().zip(low.iter()) {
        *v -= l;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::taps::gaussian;

    fn noise(n: usize) -> Vec<u8> {
        let mut s = 12345u32;
        (0..n)
            .map(|_| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (s >> 24) as u8
            })
            .collect()
    }

    #[test]
    fn decimation_equals_filter_then_pick() {
        for (w, h, n) in [(80, 80, 9), (83, 97, 35), (160, 81, 19), (81, 90, 5)] {
            let a = noise(w * h);
            let b: Vec<u8> = noise(2 * w * h)[w * h..].to_vec();
            let (pa, pb) = (Plane::new(&a, w, h, w).unwrap(), Plane::new(&b, w, h, w).unwrap());
            let conversion = Conversion::new(8);
            let taps = gaussian(n, n as f32 * 0.4);
            for source in [Source::Samples(pa, conversion), Source::Difference(pa, pb, conversion)] {
                let mut plane = vec![0.0; w * h];
                for (y, row) in plane.chunks_exact_mut(w).enumerate() {
                    source.row(y, row);
                }
                let mut full = vec![0.0; w * h];
                filter(&plane, w, h, &taps, &mut full);
                let (wo, ho) = (w / 16, h / 16);
                for level in Level::available() {
                    let mut out = vec![0.0; wo * ho];
                    decimate(level, &source, &taps, wo, ho, &mut Vec::new(), &mut out);
                    for i in 0..ho {
                        for j in 0..wo {
                            let want = full[16 * i * w + 16 * j];
                            assert_eq!(
                                out[i * wo + j].to_bits(),
                                want.to_bits(),
                                "{level} {w}x{h} {n} ({i}, {j})"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn centring_takes_the_filtered_plane_off() {
        let (w, h) = (37, 11);
        let plane: Vec<f32> = noise(w * h).iter().map(|&v| f32::from(v) * 0.37 - 40.0).collect();
        for n in [3, 5, 7, 9] {
            let taps = gaussian(n, n as f32 / 5.0);
            let mut low = vec![0.0; w * h];
            filter(&plane, w, h, &taps, &mut low);
            for level in Level::available() {
                let mut got = plane.clone();
                centre(&mut got, w, h, &taps, &mut Vec::new(), level);
                for ((g, p), l) in got.iter().zip(&plane).zip(&low) {
                    assert_eq!(g.to_bits(), (p - l).to_bits(), "{level} {n}");
                }
            }
        }
    }
}
