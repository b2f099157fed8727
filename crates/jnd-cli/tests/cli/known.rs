//! Clips whose signals are known, and what the method's formulas say must become of them.

use std::f64::consts::TAU;

use crate::util::{Dir, Y4m, jnd_alone, run};

const SIDE: usize = 96;
const RATE: f64 = 30.0;

/// A 10-bit gray clip of `frames` frames.
fn gray10(frames: usize, value: impl Fn(usize, usize, f64) -> f64) -> Vec<u8> {
    let mut out = format!("YUV4MPEG2 W{SIDE} H{SIDE} F30:1 Ip A1:1 Cmono10\n").into_bytes();
    for t in 0..frames {
        out.extend_from_slice(b"FRAME\n");
        for y in 0..SIDE {
            for x in 0..SIDE {
                let v = value(x, y, t as f64 / RATE).round().clamp(0.0, 1023.0) as u16;
                out.extend_from_slice(&v.to_le_bytes());
            }
        }
    }
    out
}

/// What a window of the picture varies by as `weight` does, over time; amplitude at `hertz`, over the last `tail` frames.
fn amplitude(clip: &Y4m, weight: impl Fn(usize) -> f64, hertz: f64, tail: usize) -> f64 {
    let frames = &clip.frames[clip.frames.len() - tail..];
    let (mut re, mut im) = (0.0, 0.0);
    for (t, frame) in frames.iter().enumerate() {
        let mut sum = 0.0;
        for y in 40..56 {
            // Three stripes of 16 pixels, in the middle.
            for x in 24..72 {
                let at = 2 * (y * SIDE + x);
                sum += f64::from(u16::from_le_bytes([frame[at], frame[at + 1]])) * weight(x);
            }
        }
        let (sin, cos) = (TAU * hertz * t as f64 / RATE).sin_cos();
        re += sum * cos;
        im += sum * sin;
    }
    re.hypot(im)
}

fn magnified(bytes: &[u8], options: &[&str]) -> Y4m {
    let d = Dir::new();
    let input = d.write("in.y4m", bytes);
    let output = d.arg("out.y4m");
    run(&mut jnd_alone(&[&["magnify", &input, &output], options].concat())).ok();
    Y4m::parse(&d.read("out.y4m"))
}

/// The published gain of every level.
fn gains(alpha: f64, lambda_c: f64) -> Vec<f64> {
    let (mut side, mut levels) = (SIDE, 1i32);
    while side >= 5 {
        (side, levels) = (side / 2, levels + 1);
    }
    let diagonal = (2.0 * (SIDE * SIDE) as f64).sqrt() / 3.0;
    (0..levels)
        .map(|l| {
            let lambda = diagonal / 2f64.powi(levels - 1 - l);
            let gain = 2.0 * (lambda * (1.0 + alpha) / lambda_c - 1.0);
            if l == 0 || l == levels - 1 { 0.0 } else { gain.min(alpha) }
        })
        .collect()
}

fn mirror(j: isize, n: usize) -> usize {
    let period = (2 * (n as isize - 1)).max(1);
    let m = j.rem_euclid(period) as usize;
    if m < n { m } else { period as usize - m }
}

const TAPS: [f64; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

fn down(x: &[f64]) -> Vec<f64> {
    (0..x.len().div_ceil(2))
        .map(|i| (0..5).map(|k| TAPS[k] * x[mirror(2 * i as isize + k as isize - 2, x.len())]).sum())
        .collect()
}

fn up(x: &[f64], n: usize) -> Vec<f64> {
    let stuffed: Vec<f64> = x.iter().flat_map(|&v| [v, 0.0]).collect();
    (0..n)
        .map(|i| {
            (0..5).map(|k| 2.0 * TAPS[k] * stuffed[mirror(i as isize + k as isize - 2, stuffed.len())]).sum()
        })
        .collect()
}

/// The Laplacian pyramid of one row, each band times its gain, put together again. A picture whose rows are all alike
/// behaves as one row.
fn amplified(x: &[f64], gains: &[f64]) -> Vec<f64> {
    let Some((gain, rest)) = gains.split_first() else { return vec![0.0; x.len()] };
    if rest.is_empty() {
        return x.iter().map(|v| v * gain).collect();
    }
    let low = down(x);
    let blurred = up(&low, x.len());
    let coarser = up(&amplified(&low, rest), x.len());
    x.iter().zip(&blurred).zip(&coarser).map(|((v, b), c)| (v - b) * gain + c).collect()
}

/// Transfer function of the first-order low-pass by the bilinear transform.
fn low_pass(cutoff: f64, hertz: f64) -> (f64, f64) {
    let c = (TAU / 2.0 * cutoff / RATE).tan();
    let (b, a) = (c / (1.0 + c), (c - 1.0) / (c + 1.0));
    let (sin, cos) = (TAU * hertz / RATE).sin_cos();
    // b (1 + z^-1) / (1 + a z^-1)
    let (nr, ni, dr, di) = (b * (1.0 + cos), -b * sin, 1.0 + a * cos, -a * sin);
    let d = dr * dr + di * di;
    ((nr * dr + ni * di) / d, (ni * dr - nr * di) / d)
}

#[test]
fn t20_the_pulse_grows_as_predicted() {
    // 8 s hold ten whole periods of 1.25 Hz.
    let clip = gray10(240, |_, _, t| 600.0 + 2.4 * (TAU * 1.25 * t).sin());
    let before = amplitude(&Y4m::parse(&clip), |_| 1.0, 1.25, 240);
    // The ideal filter passes half of what is inside its band; the picture is one patch, so that the blur does nothing.
    let after = amplitude(&magnified(&clip, &["--preset", "pulse", "--band", "1-1.5Hz"]), |_| 1.0, 1.25, 240);
    assert!((after / before / 26.0 - 1.0).abs() < 0.02, "{}", after / before);
    let outside =
        amplitude(&magnified(&clip, &["--preset", "pulse", "--band", "1.5-3Hz"]), |_| 1.0, 1.25, 240);
    assert!((outside / before - 1.0).abs() < 0.02, "{}", outside / before);
    // A causal filter, after it has settled.
    let options = ["--preset", "pulse", "--filter", "butterworth", "--band", "0.5-3Hz", "--alpha", "20"];
    let before = amplitude(&Y4m::parse(&clip), |_| 1.0, 1.25, 120);
    let after = amplitude(&magnified(&clip, &options), |_| 1.0, 1.25, 120);
    let (fast, slow) = (low_pass(3.0, 1.25), low_pass(0.5, 1.25));
    let want = (1.0 + 20.0 * (fast.0 - slow.0)).hypot(20.0 * (fast.1 - slow.1));
    assert!((after / before / want - 1.0).abs() < 0.02, "{} instead of {want}", after / before);
}

#[test]
fn t20_the_sway_grows_as_predicted() {
    let k = TAU / 16.0;
    let clip = gray10(240, |x, _, t| 512.0 + 300.0 * (k * (x as f64 + 0.2 * (TAU * 5.0 * t).sin())).sin());
    // A shift of stripes sin(kx) shows as cos(kx).
    let shifted = |x: usize| (k * x as f64).cos();
    let before = amplitude(&Y4m::parse(&clip), shifted, 5.0, 240);
    let row: Vec<f64> = (0..SIDE).map(shifted).collect();
    let project = |r: &[f64]| (24..72).map(|x| r[x] * shifted(x)).sum::<f64>();
    for (alpha, lambda_c) in [("4", "16"), ("4", "60")] {
        let numbers = (alpha.parse().expect("a number"), lambda_c.parse().expect("a number"));
        let space = project(&amplified(&row, &gains(numbers.0, numbers.1))) / project(&row);
        let options = ["--alpha", alpha, "--lambda-c", lambda_c, "--filter", "ideal", "--band", "4-6Hz"];
        let after = amplitude(&magnified(&clip, &options), shifted, 5.0, 240);
        let want = 1.0 + 0.5 * space;
        assert!((after / before / want - 1.0).abs() < 0.02, "{} instead of {want}", after / before);
        // With the larger wavelength the published gains of the finer levels are below 0, and the sway shrinks.
        assert!((want - 1.0).abs() > 0.3, "{want}");
    }
}

#[test]
fn t20_alpha_0_changes_nothing() {
    let clip = gray10(60, |x, y, t| 500.0 + 3.0 * (TAU * 1.25 * t).sin() + ((x * 7 + y * 13) % 50) as f64);
    let before = Y4m::parse(&clip);
    for options in [&["--preset", "pulse", "--band", "1-2Hz"][..], &["--preset", "motion"]] {
        let after = magnified(&clip, &[options, &["--alpha", "0"]].concat());
        assert_eq!(after.frames, before.frames);
    }
}
