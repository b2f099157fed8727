//! How much a signal of known frequency moves in a clip, and how much it should move after magnification.

use std::f64::consts::TAU;

use jnd::video::Frame;

use super::clip::Window;

/// One number a frame.
#[derive(Debug, Default)]
pub(crate) struct Series {
    pub(crate) values: Vec<f64>,
}

/// The luma samples of a window, with their place in it. The demo's clips are 8-bit and planar, luma first.
fn luma(frame: &Frame, w: Window) -> impl Iterator<Item = (usize, f64)> {
    let width = frame.width();
    (w.y..w.y + w.height)
        .flat_map(move |y| (w.x..w.x + w.width).map(move |x| (x, f64::from(frame.bytes()[y * width + x]))))
}

impl Series {
    /// Adds the window's mean brightness.
    pub(crate) fn push_mean(&mut self, frame: &Frame, window: Window) {
        let sum: f64 = luma(frame, window).map(|(_, v)| v).sum();
        self.values.push(sum / (window.width * window.height) as f64);
    }

    /// Adds what stripes `m + A sin(k (x + d))` change by when they are shifted: `A sin(k d)`, the part of the window
    /// that varies as `cos(k x)`. It is linear in the picture, so that a linear magnifier multiplies it exactly.
    pub(crate) fn push_stripes(&mut self, frame: &Frame, window: Window, period: f64) {
        let sum: f64 = luma(frame, window).map(|(x, v)| v * (TAU * x as f64 / period).cos()).sum();
        self.values.push(2.0 * sum / (window.width * window.height) as f64);
    }
}

/// Amplitude of the oscillation of `frequency` cycles a sample in `values`, over the last whole number of its periods.
pub(crate) fn amplitude(values: &[f64], frequency: f64) -> f64 {
    let periods = (values.len() as f64 * frequency + 1e-9).floor();
    let n = (periods / frequency).round() as usize;
    let tail = &values[values.len() - n..];
    let (mut re, mut im) = (0.0, 0.0);
    for (t, v) in tail.iter().enumerate() {
        let angle = TAU * frequency * t as f64;
        re += v * angle.cos();
        im += v * angle.sin();
    }
    2.0 * re.hypot(im) / n as f64
}

/// What the pyramid multiplies a change by that varies along one axis with `omega` radians a pixel: every level `l`
/// lets through the square of the blurs before it (once down, once up), and the telescoped weights are the steps of
/// the gains.
pub(crate) fn pyramid_gain(gains: &[f64], omega: f64) -> f64 {
    let blur = |w: f64| (6.0 + 8.0 * w.cos() + 2.0 * (2.0 * w).cos()) / 16.0;
    let (mut sum, mut passed, mut before, mut w) = (0.0, 1.0, 0.0, omega);
    for &gain in gains {
        sum += (gain - before) * passed;
        before = gain;
        // Above half a cycle a sample nothing of the signal is left that is not an image of it.
        if w > TAU / 2.0 {
            break;
        }
        passed *= blur(w) * blur(w);
        w *= 2.0;
    }
    sum
}

/// Length of `1 + s H`, where H is the response of the IIR band at `omega` radians a frame.
pub(crate) fn growth_iir(s: f64, r1: f64, r2: f64, omega: f64) -> f64 {
    // r / (1 - (1 - r) e^-iw) for both, subtracted.
    let low_pass = |r: f64| {
        let (re, im) = (1.0 - (1.0 - r) * omega.cos(), (1.0 - r) * omega.sin());
        let square = re * re + im * im;
        (r * re / square, -r * im / square)
    };
    let (fast, slow) = (low_pass(r1), low_pass(r2));
    (1.0 + s * (fast.0 - slow.0)).hypot(s * (fast.1 - slow.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplitudes_are_found() {
        let v: Vec<f64> = (0..100).map(|t| 7.0 + 3.0 * (TAU * 0.05 * f64::from(t) + 0.4).sin()).collect();
        assert!((amplitude(&v, 0.05) - 3.0).abs() < 1e-9);
        assert!(amplitude(&v, 0.1) < 1e-9);
    }

    #[test]
    fn gains_of_one_leave_everything() {
        assert!((pyramid_gain(&[1.0, 1.0, 1.0], 0.3) - 1.0).abs() < 1e-12);
        // With the finest band removed, what is left is level 1 blurred down and up.
        let b = (6.0 + 8.0 * 0.3f64.cos() + 2.0 * 0.6f64.cos()) / 16.0;
        assert!((pyramid_gain(&[0.0, 2.0, 2.0], 0.3) - 2.0 * b * b).abs() < 1e-12);
    }

    #[test]
    fn the_iir_band_has_no_constant_part() {
        assert!((growth_iir(10.0, 0.4, 0.05, 0.0) - 1.0).abs() < 1e-12);
        assert!(growth_iir(10.0, 0.4, 0.05, 0.1) > 5.0);
    }
}
