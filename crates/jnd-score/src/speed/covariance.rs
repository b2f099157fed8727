//! Means and covariance of the 25 shifted windows of a centred plane.
//!
//! Window e = 5 r + c starts at row r and column c; its samples are taken in raster order. Each mean is one running
//! single-precision sum, each covariance one running double-precision sum, so that nothing within a sum may be
//! reordered; the 25 means and 325 covariances are independent of each other, and there the vector lanes lie.

use jnd_video::simd::{Isa, Level};

/// Windows, one a phase of a 5 x 5 block.
pub const WINDOWS: usize = 25;

/// Side of a block.
pub const BLOCK: usize = 5;

/// Elements in a stored row of a [`Matrix`]: 25, filled up to whole vectors.
pub const LANES: usize = 32;

/// A 25 x 25 matrix; columns from 25 on are padding without meaning.
pub type Matrix = [[f32; LANES]; WINDOWS];

/// Where the windows lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Samples from one row of the plane to the next.
    pub stride: usize,
    /// Columns of a window.
    pub width: usize,
    /// Rows of a window.
    pub height: usize,
}

/// The 25 means: the definition.
pub fn means(x: &[f32], win: Windows) -> [f32; WINDOWS] {
    let n = (win.width * win.height) as f32;
    std::array::from_fn(|e| {
        let (r, c) = (e / BLOCK, e % BLOCK);
        let mut sum = 0.0f32;
        for y in 0..win.height {
            for &v in &x[(y + r) * win.stride + c..][..win.width] {
                sum += v;
            }
        }
        sum / n
    })
}

/// Covariance of windows `a` and `b`: the definition.
pub fn covariance_entry(x: &[f32], win: Windows, means: &[f32; WINDOWS], a: usize, b: usize) -> f32 {
    let (ma, mb) = (f64::from(means[a]), f64::from(means[b]));
    let mut sum = 0.0f64;
    for y in 0..win.height {
        let row_a = &x[(y + a / BLOCK) * win.stride + a % BLOCK..][..win.width];
        let row_b = &x[(y + b / BLOCK) * win.stride + b % BLOCK..][..win.width];
        for (&va, &vb) in row_a.iter().zip(row_b) {
            sum += (f64::from(va) - ma) * (f64::from(vb) - mb);
        }
    }
    (sum / (win.width * win.height) as f64) as f32
}

/// Storage that [`covariance`] reuses.
#[derive(Debug, Default)]
pub struct Scratch {
    rows: Vec<f32>,
    centred: Vec<Row>,
}

/// One sample of all windows less the means; a cache line multiple, so that no vector load crosses a line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Row([f64; LANES]);

/// Elements read at a time where five are wanted; the others are overwritten or never looked at.
const WIDE: usize = 8;

/// All means and covariances, symmetric to the last bit.
pub fn covariance(level: Level, x: &[f32], win: Windows, scratch: &mut Scratch) -> ([f32; WINDOWS], Matrix) {
    let n = (win.width * win.height) as f64;
    let padded = win.width + WIDE - 1;
    scratch.rows.clear();
    scratch.rows.resize(BLOCK * padded, 0.0);
    scratch.centred.resize(win.width, Row([0.0; LANES]));
    let mut sums = [[0.0f32; WIDE]; BLOCK];
    for y in 0..win.height {
        pad_rows(x, win, y, padded, &mut scratch.rows);
        add_samples(level, &scratch.rows, padded, win.width, &mut sums);
    }
    let mut means = [0.0f32; WINDOWS];
    for (e, m) in means.iter_mut().enumerate() {
        *m = sums[e / BLOCK][e % BLOCK] / n as f32;
    }
    let mut acc = Accumulators([[0.0; LANES]; WINDOWS]);
    for y in 0..win.height {
        pad_rows(x, win, y, padded, &mut scratch.rows);
        centre_samples(level, &scratch.rows, padded, &means, &mut scratch.centred);
        match level.isa() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level proves that the machine has AVX-512F.
            Isa::Avx512 => unsafe { x86::accumulate_avx512(&scratch.centred, &mut acc) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level proves that the machine has AVX.
            Isa::Avx2 => unsafe { x86::accumulate_avx2(&scratch.centred, &mut acc) },
            _ => accumulate(&scratch.centred, &mut acc),
        }
    }
    let mut c = [[0.0f32; LANES]; WINDOWS];
    for a in 0..WINDOWS {
        for b in a..WINDOWS {
            let v = (acc.0[a][b] / n) as f32;
            c[a][b] = v;
            c[b][a] = v;
        }
    }
    (means, c)
}

/// The five rows that the windows' row `y` needs, each followed by what a wide read may touch.
fn pad_rows(x: &[f32], win: Windows, y: usize, padded: usize, rows: &mut [f32]) {
    for (r, row) in rows.chunks_exact_mut(padded).enumerate() {
        let n = win.width + BLOCK - 1;
        row[..n].copy_from_slice(&x[(y + r) * win.stride..][..n]);
    }
}

/// Running sums; entry (a, b) counts for b >= a only.
#[repr(C, align(64))]
struct Accumulators([[f64; LANES]; WINDOWS]);

jnd_video::dispatch! {
    /// Adds a row of samples to the sums of the windows; lanes from five on hold nothing of meaning.
    fn add_samples(rows: &[f32], padded: usize, width: usize, sums: &mut [[f32; WIDE]; BLOCK]) = add_samples_body;
}

#[inline(always)]
fn add_samples_body(rows: &[f32], padded: usize, width: usize, sums: &mut [[f32; WIDE]; BLOCK]) {
    // One loop over all five rows, so that their chains of additions overlap.
    let mut r = rows.chunks_exact(padded);
    let mut next = || r.next().unwrap_or(&[]).windows(WIDE);
    let rows = next().zip(next()).zip(next()).zip(next()).zip(next());
    let mut s = *sums;
    for ((((a, b), c), d), e) in rows.take(width) {
        for (s, v) in s.iter_mut().zip([a, b, c, d, e]) {
            for (s, v) in s.iter_mut().zip(v) {
                *s += v;
            }
        }
    }
    *sums = s;
}

jnd_video::dispatch! {
    fn centre_samples(rows: &[f32], padded: usize, means: &[f32; WINDOWS], out: &mut [Row]) = centre_samples_body;
}

#[inline(always)]
fn centre_samples_body(rows: &[f32], padded: usize, means: &[f32; WINDOWS], out: &mut [Row]) {
    for (r, row) in rows.chunks_exact(padded).enumerate() {
        let mut m = [0.0f64; WIDE];
        for (m, &v) in m.iter_mut().zip(&means[BLOCK * r..BLOCK * r + BLOCK]) {
            *m = f64::from(v);
        }
        for (out, v) in out.iter_mut().zip(row.windows(WIDE)) {
            // The last three are overwritten by the next row; after the last row they are padding.
            let mut centred = [0.0f64; WIDE];
            for e in 0..WIDE {
                centred[e] = f64::from(v[e]) - m[e];
            }
            out.0[BLOCK * r..BLOCK * r + WIDE].copy_from_slice(&centred);
        }
    }
}

/// Adds one row of samples to every running sum: portable form.
fn accumulate(rows: &[Row], acc: &mut Accumulators) {
    for a in 0..WINDOWS {
        // Lanes from the whole vector of four that holds the diagonal.
        let from = a & !3;
        let mut sums = acc.0[a];
        for v in rows {
            let va = v.0[a];
            for b in from..28 {
                sums[b] += va * v.0[b];
            }
        }
        acc.0[a] = sums;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Tiles of running sums held in registers while a row of samples passes. Windows 0 to 23 make vectors of 8 (or
    //! 4); window 24 is its own broadcast against all vectors, which gives the sums (b, 24).

    use std::arch::x86_64::*;

    use super::{Accumulators, Row, WINDOWS};

    /// Sums (a, 8 v ..) for `N` windows from `a0` and `V` vectors from vector `v0`.
    #[target_feature(enable = "avx512f")]
    fn tile_avx512<const N: usize, const V: usize>(
        rows: &[Row],
        acc: &mut Accumulators,
        a0: usize,
        v0: usize,
    ) {
        assert!(a0 + N <= WINDOWS && 8 * (v0 + V) <= super::LANES);
        let mut sums = [[_mm512_setzero_pd(); V]; N];
        for i in 0..N {
            for v in 0..V {
                // SAFETY: the assertion keeps the 8 elements inside the row of 32.
                sums[i][v] = unsafe { _mm512_loadu_pd(acc.0[a0 + i].as_ptr().add(8 * (v0 + v))) };
            }
        }
        for row in rows {
            let mut y = [_mm512_setzero_pd(); V];
            for v in 0..V {
                // SAFETY: as above.
                y[v] = unsafe { _mm512_loadu_pd(row.0.as_ptr().add(8 * (v0 + v))) };
            }
            for i in 0..N {
                let x = _mm512_set1_pd(row.0[a0 + i]);
                for v in 0..V {
                    sums[i][v] = _mm512_add_pd(sums[i][v], _mm512_mul_pd(x, y[v]));
                }
            }
        }
        for i in 0..N {
            for v in 0..V {
                // SAFETY: as above.
                unsafe { _mm512_storeu_pd(acc.0[a0 + i].as_mut_ptr().add(8 * (v0 + v)), sums[i][v]) };
            }
        }
    }

    /// Sums (b, 24) for all b, kept in row 24 until the end of the row of samples.
    fn transpose_last(acc: &mut Accumulators) {
        for b in 0..WINDOWS {
            acc.0[b][WINDOWS - 1] = acc.0[WINDOWS - 1][b];
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn accumulate_avx512(rows: &[Row], acc: &mut Accumulators) {
        tile_avx512::<8, 3>(rows, acc, 0, 0);
        tile_avx512::<8, 2>(rows, acc, 8, 1);
        tile_avx512::<8, 1>(rows, acc, 16, 2);
        tile_avx512::<1, 4>(rows, acc, 24, 0);
        transpose_last(acc);
    }

    /// As [`tile_avx512`], with vectors of four.
    #[target_feature(enable = "avx")]
    fn tile_avx2<const N: usize, const V: usize>(rows: &[Row], acc: &mut Accumulators, a0: usize, v0: usize) {
        assert!(a0 + N <= WINDOWS && 4 * (v0 + V) <= super::LANES);
        let mut sums = [[_mm256_setzero_pd(); V]; N];
        for i in 0..N {
            for v in 0..V {
                // SAFETY: the assertion keeps the 4 elements inside the row of 32.
                sums[i][v] = unsafe { _mm256_loadu_pd(acc.0[a0 + i].as_ptr().add(4 * (v0 + v))) };
            }
        }
        for row in rows {
            let mut y = [_mm256_setzero_pd(); V];
            for v in 0..V {
                // SAFETY: as above.
                y[v] = unsafe { _mm256_loadu_pd(row.0.as_ptr().add(4 * (v0 + v))) };
            }
            for i in 0..N {
                let x = _mm256_set1_pd(row.0[a0 + i]);
                for v in 0..V {
                    sums[i][v] = _mm256_add_pd(sums[i][v], _mm256_mul_pd(x, y[v]));
                }
            }
        }
        for i in 0..N {
            for v in 0..V {
                // SAFETY: as above.
                unsafe { _mm256_storeu_pd(acc.0[a0 + i].as_mut_ptr().add(4 * (v0 + v)), sums[i][v]) };
            }
        }
    }

    #[target_feature(enable = "avx")]
    pub(super) fn accumulate_avx2(rows: &[Row], acc: &mut Accumulators) {
        // Four windows against up to three vectors: twelve sums in sixteen registers.
        tile_avx2::<4, 3>(rows, acc, 0, 0);
        tile_avx2::<4, 3>(rows, acc, 0, 3);
        tile_avx2::<4, 3>(rows, acc, 4, 1);
        tile_avx2::<4, 2>(rows, acc, 4, 4);
        tile_avx2::<4, 2>(rows, acc, 8, 2);
        tile_avx2::<4, 2>(rows, acc, 8, 4);
        tile_avx2::<4, 3>(rows, acc, 12, 3);
        tile_avx2::<4, 2>(rows, acc, 16, 4);
        tile_avx2::<4, 1>(rows, acc, 20, 5);
        tile_avx2::<1, 7>(rows, acc, 24, 0);
        transpose_last(acc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_equals_the_definition() {
        for (width, height, stride) in [(1, 1, 5), (1, 6, 6), (6, 1, 11), (36, 13, 41), (61, 6, 66)] {
            let win = Windows { stride, width, height };
            let mut s = 1u32;
            let x: Vec<f32> = (0..stride * (height + 4))
                .map(|_| {
                    s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (s >> 8) as f32 * 1e-5 - 83.0
                })
                .collect();
            let want_means = means(&x, win);
            for level in Level::available() {
                let (m, c) = covariance(level, &x, win, &mut Scratch::default());
                assert_eq!(m.map(f32::to_bits), want_means.map(f32::to_bits), "{level}");
                for a in 0..WINDOWS {
                    for b in a..WINDOWS {
                        let want = covariance_entry(&x, win, &want_means, a, b);
                        assert_eq!(c[a][b].to_bits(), want.to_bits(), "{level} ({a}, {b})");
                        assert_eq!(c[b][a].to_bits(), want.to_bits(), "{level} ({b}, {a})");
                    }
                }
            }
        }
    }
}
