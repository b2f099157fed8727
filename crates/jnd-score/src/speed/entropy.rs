//! Local variance and entropy of every 5 x 5 block.

use super::covariance::{BLOCK, WINDOWS};
use super::solve::{CHUNK, Factors, solve_body};
use crate::log2::{LOG2_2PI_E, log2_body};

/// The blocks of a centred plane, in raster order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Samples from one row of the plane to the next.
    pub stride: usize,
    /// Blocks in a row.
    pub columns: usize,
    /// Rows of blocks.
    pub rows: usize,
}

impl Blocks {
    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.columns * self.rows
    }
}

jnd_video::dispatch! {
    /// Variance s and entropy E of every block of the plane `x`, given the factors of its covariance and its
    /// eigenvalues in array order. With Z the solution for the blocks' samples Y:
    /// s = sum over e of (Z[e] Y[e]) / 25, and E adds log2(max(lambda_k, 0) s + sigma) + log2(2 pi e) for each k, the
    /// logarithm and the two sums in double precision, rounded to single after each k.
    pub fn block_statistics(
        x: &[f32],
        blocks: Blocks,
        factors: &Factors,
        eigenvalues: &[f32; WINDOWS],
        sigma: f32,
        variance: &mut [f32],
        entropy: &mut [f32],
    ) = block_statistics_body;
}

#[inline(always)]
fn block_statistics_body(
    x: &[f32],
    blocks: Blocks,
    factors: &Factors,
    eigenvalues: &[f32; WINDOWS],
    sigma: f32,
    variance: &mut [f32],
    entropy: &mut [f32],
) {
    let mut y = [[0.0f32; CHUNK]; WINDOWS];
    let mut z = [[0.0f32; CHUNK]; WINDOWS];
    let chunks = variance.chunks_mut(CHUNK).zip(entropy.chunks_mut(CHUNK));
    for (index, (variance, entropy)) in chunks.enumerate() {
        for b in 0..variance.len() {
            let block = index * CHUNK + b;
            let (by, bx) = (block / blocks.columns, block % blocks.columns);
            for r in 0..BLOCK {
                let at = (BLOCK * by + r) * blocks.stride + BLOCK * bx;
                for (c, &v) in x[at..at + BLOCK].iter().enumerate() {
                    y[BLOCK * r + c][b] = v;
                }
            }
        }
        solve_body(factors, &y, &mut z);
        let mut s = [0.0f32; CHUNK];
        for e in 0..WINDOWS {
            for b in 0..CHUNK {
                let term = (z[e][b] * y[e][b]) / 25.0;
                s[b] = if e == 0 { term } else { s[b] + term };
            }
        }
        let mut sum = [0.0f32; CHUNK];
        for &lambda in eigenvalues {
            let l = if lambda < 0.0 { 0.0 } else { lambda };
            for b in 0..CHUNK {
                let a = l * s[b] + sigma;
                sum[b] = (f64::from(sum[b]) + (log2_body(f64::from(a)) + LOG2_2PI_E)) as f32;
            }
        }
        variance.copy_from_slice(&s[..variance.len()]);
        entropy.copy_from_slice(&sum[..entropy.len()]);
    }
}
