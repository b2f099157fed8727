//! The score of a reference plane and a distorted one from their blocks' statistics.

use crate::log2::{LOG2_2PI_E, log2_body};

/// What the score needs of one centred plane.
#[derive(Debug, Default, Clone)]
pub struct PlaneStatistics {
    /// The covariance had no inverse; variances and entropies are 0.
    pub singular: bool,
    /// Variance of every block.
    pub variance: Vec<f32>,
    /// Entropy of every block.
    pub entropy: Vec<f32>,
}

/// Entropy of a block that is neural noise alone, raised by the floor.
pub fn base_entropy(sigma_nn: f64, nn_floor: f64) -> f32 {
    let sigma = sigma_nn as f32;
    let raised = (1.0 + nn_floor as f32) * sigma;
    (25.0 * (log2_body(f64::from(raised)) + LOG2_2PI_E)) as f32
}

#[inline(always)]
fn log_plus_one(v: f32) -> f64 {
    log2_body(f64::from(1.0 + v))
}

#[inline(always)]
fn log_average(vr: f32, vd: f32) -> f64 {
    log2_body(1.0 + f64::from(vr + vd) / 2.0)
}

#[inline(always)]
fn log_mix(vr: f32, vd: f32, of_reference: f64, of_distorted: f64) -> f64 {
    log2_body(1.0 + (of_reference * f64::from(vr) + of_distorted * f64::from(vd)))
}

/// Weights of the two entropies of a block, for `speed_weight_var_mode`.
#[inline(always)]
pub fn weights(mode: i64, vr: f32, vd: f32) -> (f64, f64) {
    match mode {
        1 => {
            let w = log_plus_one(vr);
            (w, w)
        }
        2 => {
            let w = log_plus_one(vd);
            (w, w)
        }
        3 => {
            let w = log_average(vr, vd);
            (w, w)
        }
        4 => (log_plus_one(vr), log_average(vr, vd)),
        5 => (log_plus_one(vr), log_mix(vr, vd, 0.75, 0.25)),
        6 => (log_plus_one(vr), log_mix(vr, vd, 0.25, 0.75)),
        _ => (log_plus_one(vr), log_plus_one(vd)),
    }
}

jnd_video::dispatch! {
    /// Contribution |A - B| of every block: 0 where both entropies are below `base`.
    fn contributions(
        reference: &PlaneStatistics,
        distorted: &PlaneStatistics,
        base: f32,
        mode: i64,
        out: &mut [f32],
    ) = contributions_body;
}

#[inline(always)]
fn contributions_body(
    reference: &PlaneStatistics,
    distorted: &PlaneStatistics,
    base: f32,
    mode: i64,
    out: &mut [f32],
) {
    // One loop a mode, so that each can be vectorised.
    #[inline(always)]
    fn run(r: &PlaneStatistics, d: &PlaneStatistics, base: f32, mode: i64, out: &mut [f32]) {
        let n = out.len();
        let (vr, vd) = (&r.variance[..n], &d.variance[..n]);
        let (er, ed) = (&r.entropy[..n], &d.entropy[..n]);
        for b in 0..n {
            let (wr, wd) = weights(mode, vr[b], vd[b]);
            let weighted_r = (f64::from(er[b]) * wr) as f32;
            let weighted_d = (f64::from(ed[b]) * wd) as f32;
            let term = (weighted_r - weighted_d).abs();
            let silent = (er[b] < base) & (ed[b] < base);
            out[b] = if silent { 0.0 } else { term };
        }
    }
    match mode {
        1 => run(reference, distorted, base, 1, out),
        2 => run(reference, distorted, base, 2, out),
        3 => run(reference, distorted, base, 3, out),
        4 => run(reference, distorted, base, 4, out),
        5 => run(reference, distorted, base, 5, out),
        6 => run(reference, distorted, base, 6, out),
        _ => run(reference, distorted, base, 0, out),
    }
}

/// The score: mean of the blocks' contributions, summed in block order; 0 if exactly one plane is singular.
pub fn score(
    level: jnd_video::simd::Level,
    reference: &PlaneStatistics,
    distorted: &PlaneStatistics,
    base: f32,
    mode: i64,
    scratch: &mut Vec<f32>,
) -> f32 {
    if reference.singular != distorted.singular {
        return 0.0;
    }
    let blocks = reference.variance.len();
    scratch.clear();
    scratch.resize(blocks, 0.0);
    contributions(level, reference, distorted, base, mode, scratch);
    let mut total = 0.0f32;
    for &v in scratch.iter() {
        total += v;
    }
    total / blocks as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_base() {
        assert_eq!(base_entropy(0.29, 0.0).to_bits(), 0x4266_d4e3);
    }
}
