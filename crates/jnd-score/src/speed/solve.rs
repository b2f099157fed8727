//! QR decomposition of the covariance matrix and the solution of C Z = Y for many right-hand sides.

use jnd_video::simd::Level;

use super::covariance::{LANES, Matrix, WINDOWS};
use super::eigen::TINY;

/// What solves systems with one matrix.
#[derive(Debug, Clone)]
pub struct Factors {
    /// Product of the reflections.
    pub q: Matrix,
    /// `q` times the matrix; the upper triangle counts.
    pub r: Matrix,
}

/// Householder factors of `c`, or none where a pivot is below [`TINY`].
pub fn factor(level: Level, c: &Matrix) -> Option<Factors> {
    let mut f = Factors { q: [[0.0; LANES]; WINDOWS], r: [[0.0; LANES]; WINDOWS] };
    factor_level(level, c, &mut f.q, &mut f.r);
    // A pivot that is not a number counts as solvable, as in the reference.
    let vanishes = (0..WINDOWS).any(|i| f64::from(f.r[i][i].abs()) < TINY);
    (!vanishes).then_some(f)
}

jnd_video::dispatch! {
    fn factor_level(c: &Matrix, q: &mut Matrix, r: &mut Matrix) = factor_body;
}

/// Only the trailing block of the working matrix and the rows of `q` from k on change in step k; the identity rows and
/// columns before them would add exact zeros.
#[inline(always)]
fn factor_body(c: &Matrix, q: &mut Matrix, r: &mut Matrix) {
    let mut z = *c;
    for (i, row) in q.iter_mut().enumerate() {
        *row = [0.0; LANES];
        row[i] = 1.0;
    }
    let mut next = [[0.0f32; LANES]; WINDOWS];
    for k in 0..WINDOWS - 1 {
        let mut v = [0.0f32; WINDOWS];
        let mut norm = 0.0f32;
        for i in k..WINDOWS {
            v[i] = z[i][k];
            norm += v[i] * v[i];
        }
        let norm = norm.sqrt();
        v[k] += if c[k][k] >= 0.0 { norm } else { -norm };
        let mut length = 0.0f32;
        for &vi in &v[k..] {
            length += vi * vi;
        }
        let length = length.sqrt();
        for vi in &mut v[k..] {
            *vi /= length;
        }
        let mut h = [[0.0f32; WINDOWS]; WINDOWS];
        for i in k..WINDOWS {
            let twice = -2.0 * v[i];
            for j in k..WINDOWS {
                h[i][j] = twice * v[j];
            }
            h[i][i] += 1.0;
        }
        reflect(&h, &mut z, &mut next, k);
        reflect(&h, q, &mut next, k);
    }
    for i in 0..WINDOWS {
        let mut acc = [0.0f32; LANES];
        for k in 0..WINDOWS {
            let f = q[i][k];
            for j in 0..LANES {
                acc[j] += f * c[k][j];
            }
        }
        r[i] = acc;
    }
}

/// m = h m, rows and inner index from k on.
#[inline(always)]
fn reflect(h: &[[f32; WINDOWS]; WINDOWS], m: &mut Matrix, next: &mut Matrix, k: usize) {
    for i in k..WINDOWS {
        let mut acc = [0.0f32; LANES];
        for inner in k..WINDOWS {
            let f = h[i][inner];
            for j in 0..LANES {
                acc[j] += f * m[inner][j];
            }
        }
        next[i] = acc;
    }
    m[k..].copy_from_slice(&next[k..]);
}

/// Right-hand sides solved at a time.
pub const CHUNK: usize = 32;

/// Solves for [`CHUNK`] right-hand sides, one a column of `y`.
#[inline(always)]
pub(crate) fn solve_body(f: &Factors, y: &[[f32; CHUNK]; WINDOWS], z: &mut [[f32; CHUNK]; WINDOWS]) {
    for i in (0..WINDOWS).rev() {
        let mut t = [0.0f32; CHUNK];
        for k in 0..WINDOWS {
            let q = f.q[i][k];
            for b in 0..CHUNK {
                t[b] += q * y[k][b];
            }
        }
        for k in i + 1..WINDOWS {
            let r = f.r[i][k];
            for b in 0..CHUNK {
                t[b] -= z[k][b] * r;
            }
        }
        let pivot = f.r[i][i];
        for b in 0..CHUNK {
            t[b] /= pivot;
        }
        z[i] = t;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        let mut m = [[0.0f32; LANES]; WINDOWS];
        for i in 0..WINDOWS {
            for j in 0..WINDOWS {
                m[i][j] = 1.0 / (1.0 + (i as f32 - j as f32).abs()) + if i == j { 1.0 } else { 0.0 };
            }
        }
        m
    }

    #[test]
    fn solutions_solve() {
        let c = matrix();
        for level in Level::available() {
            let f = factor(level, &c).unwrap();
            let mut y = [[0.0f32; CHUNK]; WINDOWS];
            for (i, row) in y.iter_mut().enumerate() {
                for (b, v) in row.iter_mut().enumerate() {
                    *v = ((i * 7 + b * 3) % 11) as f32 - 5.0;
                }
            }
            let mut z = [[0.0f32; CHUNK]; WINDOWS];
            solve_body(&f, &y, &mut z);
            for i in 0..WINDOWS {
                for b in 0..CHUNK {
                    let got: f32 = (0..WINDOWS).map(|k| c[i][k] * z[k][b]).sum();
                    assert!((got - y[i][b]).abs() < 1e-3, "{got} {}", y[i][b]);
                }
            }
        }
    }

    /// The full products of the definition, with nothing skipped.
    #[test]
    fn skipping_the_identity_part_changes_no_bit() {
        let c = matrix();
        let mut z = c;
        let mut q = [[0.0f32; LANES]; WINDOWS];
        for (i, row) in q.iter_mut().enumerate() {
            row[i] = 1.0;
        }
        let product = |a: &Matrix, b: &Matrix| {
            let mut m = [[0.0f32; LANES]; WINDOWS];
            for i in 0..WINDOWS {
                for j in 0..WINDOWS {
                    let mut acc = 0.0f32;
                    for k in 0..WINDOWS {
                        acc += a[i][k] * b[k][j];
                    }
                    m[i][j] = acc;
                }
            }
            m
        };
        for k in 0..WINDOWS - 1 {
            for i in 0..k {
                for j in 0..WINDOWS {
                    z[i][j] = if i == j { 1.0 } else { 0.0 };
                    z[j][i] = if i == j { 1.0 } else { 0.0 };
                }
            }
            let mut v: [f32; WINDOWS] = std::array::from_fn(|i| if i < k { 0.0 } else { z[i][k] });
            let norm = v.iter().fold(0.0f32, |a, x| a + x * x).sqrt();
            v[k] += norm;
            let length = v.iter().fold(0.0f32, |a, x| a + x * x).sqrt();
            for x in &mut v {
                *x /= length;
            }
            let mut h = [[0.0f32; LANES]; WINDOWS];
            for i in 0..WINDOWS {
                for j in 0..WINDOWS {
                    h[i][j] = (-2.0 * v[i]) * v[j];
                }
                h[i][i] += 1.0;
            }
            z = product(&h, &z);
            q = product(&h, &q);
        }
        let r = product(&q, &c);
        for level in Level::available() {
            let f = factor(level, &c).unwrap();
            for i in 0..WINDOWS {
                for j in 0..WINDOWS {
                    assert_eq!(f.q[i][j].to_bits(), q[i][j].to_bits(), "{level} q ({i}, {j})");
                    if j >= i {
                        assert_eq!(f.r[i][j].to_bits(), r[i][j].to_bits(), "{level} r ({i}, {j})");
                    }
                }
            }
        }
    }
}
