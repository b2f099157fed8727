//! Eigenvalues of a symmetric 25 x 25 matrix: Householder tridiagonalisation, then QR steps with implicit shifts.
//!
//! All in single precision in the stated order, except where a double is named. Inner sums run upward from 0; lanes lie
//! across the rows of the matrix, never along a sum.

use jnd_video::simd::Level;

use super::covariance::{LANES, Matrix, WINDOWS};

/// Below this an eigenvalue, or a pivot, counts as 0.
pub const TINY: f64 = 1e-6;

/// QR steps after which the values are taken as they are.
pub const MAX_STEPS: usize = 500;

/// Eigenvalues in the order in which the iteration leaves them.
pub fn eigenvalues(level: Level, c: &Matrix) -> [f32; WINDOWS] {
    let mut a = *c;
    let (mut d, mut u) = ([0.0f32; WINDOWS], [0.0f32; WINDOWS - 1]);
    tridiagonalise(level, &mut a, &mut d, &mut u);
    qr_iterate(&mut d, &mut u);
    d
}

/// Whether no eigenvalue is below [`TINY`].
pub fn is_regular(eigenvalues: &[f32; WINDOWS]) -> bool {
    !eigenvalues.iter().any(|&l| f64::from(l) < TINY)
}

#[inline(always)]
fn hypotenuse(a: f32, b: f32) -> f32 {
    (a * a + b * b).sqrt()
}

#[inline(always)]
fn sign(x: f32) -> f32 {
    if x >= 0.0 { 1.0 } else { -1.0 }
}

jnd_video::dispatch! {
    /// Diagonal `d` and off-diagonal `u` of a tridiagonal matrix with the eigenvalues of `a`, which is overwritten.
    pub fn tridiagonalise(a: &mut Matrix, d: &mut [f32; WINDOWS], u: &mut [f32; WINDOWS - 1]) = tridiagonalise_body;
}

#[inline(always)]
fn tridiagonalise_body(a: &mut Matrix, d: &mut [f32; WINDOWS], u: &mut [f32; WINDOWS - 1]) {
    for i in 0..WINDOWS - 2 {
        let s = i + 1;
        let mut q = 0.0f32;
        for row in &a[s + 1..] {
            q += row[i] * row[i];
        }
        let q = q.sqrt();
        if q == 0.0 {
            u[i] = a[s][i];
            continue;
        }
        let alpha = a[s][i];
        let beta = -sign(alpha) * hypotenuse(alpha, q);
        let tau = (beta - alpha) / beta;
        let t = alpha - beta;
        u[i] = beta;
        if tau == 0.0 {
            continue;
        }
        // Lanes below s hold 0 and change nothing that is read again.
        let mut v = [0.0f32; LANES];
        for j in s + 1..WINDOWS {
            v[j] = a[j][i] / t;
        }
        v[s] = 1.0;
        // The trailing block is symmetric to the last bit, so that a[k][j] serves for a[j][k].
        let mut x = [0.0f32; LANES];
        for k in s..WINDOWS {
            for j in 0..LANES {
                x[j] += (tau * a[k][j]) * v[k];
            }
        }
        let mut g = 0.0f32;
        for j in s..WINDOWS {
            g += x[j] * v[j];
        }
        let half = (-0.5 * tau) * g;
        for j in 0..LANES {
            x[j] += half * v[j];
        }
        for j in s..WINDOWS {
            let (xj, vj) = (x[j], v[j]);
            for k in 0..LANES {
                a[j][k] -= xj * v[k] + vj * x[k];
            }
        }
    }
    for i in 0..WINDOWS {
        d[i] = a[i][i];
    }
    u[WINDOWS - 2] = a[WINDOWS - 1][WINDOWS - 2];
}

/// Sets off-diagonal elements that are negligible beside their neighbours to 0: `n` rows from `a`.
fn chop(d: &[f32; WINDOWS], u: &mut [f32; WINDOWS - 1], a: usize, n: usize) {
    for i in a..a + n - 1 {
        let neighbours = d[i].abs() + d[i + 1].abs();
        if f64::from(u[i].abs()) < TINY * f64::from(neighbours) {
            u[i] = 0.0;
        }
    }
}

/// QR steps on a tridiagonal matrix until it is diagonal; returns how many were done.
pub fn qr_iterate(d: &mut [f32; WINDOWS], u: &mut [f32; WINDOWS - 1]) -> usize {
    chop(d, u, 0, WINDOWS);
    let mut b = WINDOWS - 1;
    let mut steps = 0;
    while b > 0 && steps < MAX_STEPS {
        if u[b - 1] == 0.0 {
            b -= 1;
            continue;
        }
        let mut a = b - 1;
        while a > 0 && u[a - 1] != 0.0 {
            a -= 1;
        }
        qr_step(d, u, a, b);
        chop(d, u, a, b - a + 1);
        steps += 1;
    }
    steps
}

/// Cosine and sine of the rotation that takes z out of (x, z).
fn givens(x: f32, z: f32) -> (f32, f32) {
    if z == 0.0 {
        (1.0, 0.0)
    } else if z.abs() > x.abs() {
        let t = -x / z;
        let s = (1.0 / f64::from(1.0 + t * t).sqrt()) as f32;
        (s * t, s)
    } else {
        let t = -z / x;
        let c = (1.0 / f64::from(1.0 + t * t).sqrt()) as f32;
        (c, c * t)
    }
}

/// The shift: the eigenvalue of the last 2 x 2 block that is nearer to its last element.
fn shift(d: &[f32; WINDOWS], u: &[f32; WINDOWS - 1], e: usize) -> f32 {
    let dt = (d[e - 1] - d[e]) / 2.0;
    let tab = u[e - 1];
    let h = hypotenuse(dt, tab);
    if dt > 0.0 {
        d[e] - tab * (tab / (dt + h))
    } else if dt == 0.0 {
        d[e] - tab.abs()
    } else {
        d[e] + tab * (tab / (-dt + h))
    }
}

/// One step on rows `a` to `b`.
fn qr_step(d: &mut [f32; WINDOWS], u: &mut [f32; WINDOWS - 1], a: usize, b: usize) {
    let n = b - a + 1;
    let mut mu = shift(d, u, b);
    if TINY * f64::from(mu.abs()) > f64::from(d[a].abs() + u[a].abs()) {
        mu = 0.0;
    }
    let mut x = d[a] - mu;
    let mut z = u[a];
    let (mut bk, mut zk) = (0.0f32, 0.0f32);
    let (mut ap, mut bp) = (d[a], u[a]);
    let mut aq = d[a + 1];
    let mut bq = if n > 2 { u[a + 1] } else { 0.0 };
    for k in 0..n - 1 {
        let (c, s) = givens(x, z);
        let bk1 = c * bk - s * zk;
        let ap1 = c * (c * ap - s * bp) + s * (s * aq - c * bp);
        let bp1 = c * (s * ap + c * bp) - s * (s * bp + c * aq);
        let aq1 = s * (s * ap + c * bp) + c * (s * bp + c * aq);
        let zp1 = -s * bq;
        let bq1 = c * bq;
        bk = bp1;
        zk = zp1;
        ap = aq1;
        bp = bq1;
        if k + 2 < n {
            aq = d[a + k + 2];
        }
        if k + 3 < n {
            bq = u[a + k + 2];
        }
        d[a + k] = ap1;
        if k > 0 {
            u[a + k - 1] = bk1;
        }
        if k + 2 < n {
            u[a + k + 1] = bp;
        }
        x = bk;
        z = zk;
    }
    d[b] = ap;
    u[b - 1] = bk;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symmetric(seed: u32) -> Matrix {
        let mut s = seed;
        let mut next = || {
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (s >> 8) as f32 / 16_777_216.0 - 0.5
        };
        let mut m = [[0.0f32; LANES]; WINDOWS];
        for i in 0..WINDOWS {
            for j in i..WINDOWS {
                let v = if i == j { 3.0 + next() } else { next() };
                m[i][j] = v;
                m[j][i] = v;
            }
        }
        m
    }

    #[test]
    fn trace_and_squares_are_kept() {
        for seed in 1..20 {
            let m = symmetric(seed);
            let l = eigenvalues(Level::SCALAR, &m);
            let trace: f64 = (0..WINDOWS).map(|i| f64::from(m[i][i])).sum();
            let squares: f64 = m.iter().flat_map(|r| &r[..WINDOWS]).map(|&v| f64::from(v).powi(2)).sum();
            let sum: f64 = l.iter().map(|&v| f64::from(v)).sum();
            let sum2: f64 = l.iter().map(|&v| f64::from(v).powi(2)).sum();
            assert!((trace - sum).abs() < 1e-4 * trace.abs(), "{trace} {sum}");
            assert!((squares - sum2).abs() < 1e-4 * squares, "{squares} {sum2}");
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for seed in 1..20 {
            let m = symmetric(seed);
            let want = eigenvalues(Level::SCALAR, &m).map(f32::to_bits);
            for level in Level::available() {
                assert_eq!(eigenvalues(level, &m).map(f32::to_bits), want, "{level}");
            }
        }
    }

    /// The inverse root of a rotation, rounded to double twice and then to single, is the correctly rounded one for every
    /// argument from 1 to 2: the card computes it so. Exact, in integers: the midpoints to both neighbours, squared and
    /// times the argument, lie on both sides of 1.
    #[test]
    fn inverse_roots_are_correctly_rounded() {
        for bits in 0x3f80_0000u32..=0x4000_0000 {
            let u = f32::from_bits(bits);
            let y = (1.0 / f64::from(u).sqrt()) as f32;
            let neighbour = |step: i32| f64::from(f32::from_bits(y.to_bits().wrapping_add_signed(step)));
            let middle = |step: i32| ((f64::from(y) + neighbour(step)) / 2.0 * f64::from(1u32 << 27)) as u128;
            let scaled = u128::from((f64::from(u) * f64::from(1u32 << 23)) as u64);
            let (below, above) = (middle(-1), middle(1));
            let one = 1u128 << (54 + 23);
            assert!(below * below * scaled < one && one < above * above * scaled, "{u}");
        }
    }

    #[test]
    fn degenerate_matrices_end() {
        let zero = [[0.0f32; LANES]; WINDOWS];
        assert!(!is_regular(&eigenvalues(Level::SCALAR, &zero)));
        let nan = [[f32::NAN; LANES]; WINDOWS];
        let _ = eigenvalues(Level::SCALAR, &nan);
        let one = [[1.0f32; LANES]; WINDOWS];
        assert!(!is_regular(&eigenvalues(Level::SCALAR, &one)));
    }
}
