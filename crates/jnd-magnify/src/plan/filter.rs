//! Poles, bins and tables of the temporal filter.

use std::f64::consts::PI;

use super::{Precision, Source, Temporal};
use crate::{Error, Filter, Result, Settings};

/// The numbers of the filter that the settings ask for.
pub(super) fn temporal(s: &Settings, source: &Source) -> Result<Temporal> {
    let fs = s.capture_rate.unwrap_or(source.rate).as_f64();
    if let Filter::Butterworth { high, .. } | Filter::Ideal { high, .. } = s.filter
        && high >= fs / 2.0
    {
        let remedy = match s.capture_rate {
            None => "lower the band, or give the rate at which the clip was captured (--capture-fps)",
            Some(_) => "lower the band",
        };
        return Err(Error::BandAboveLimit { high, rate: fs, limit: fs / 2.0, remedy });
    }
    match s.filter {
        Filter::Iir { r1, r2 } => {
            Ok(Temporal::Causal { p_slow: 1.0 - r2, p_fast: 1.0 - r1, q_slow: 1.0 - r2, q_fast: 1.0 - r1 })
        }
        Filter::Butterworth { low, high } => {
            let pole = |f: f64| {
                let c = libm::tan(PI * f / fs);
                ((1.0 - c) / (1.0 + c), 1.0 / (1.0 + c))
            };
            let ((p_slow, q_slow), (p_fast, q_fast)) = (pole(low), pole(high));
            Ok(Temporal::Causal { p_slow, p_fast, q_slow, q_fast })
        }
        Filter::Ideal { low, high } => {
            let frames = source.frames.ok_or(Error::FramesUnknown)?;
            let t = usize::try_from(frames).map_err(|_| Error::FramesUnknown)?;
            let bins = bins(t, low, high, fs);
            if bins.is_empty() {
                return Err(Error::EmptyBand {
                    frames,
                    rate: fs,
                    low,
                    high,
                    step: fs / frames.max(1) as f64,
                    needed: needed_frames(frames, low, high, fs),
                    always: always_enough(low, high, fs),
                });
            }
            let angle = |j: usize| 2.0 * PI * j as f64 / t as f64;
            let cos = (0..t).map(|j| libm::cos(angle(j))).collect();
            let sin = (0..t).map(|j| libm::sin(angle(j))).collect();
            Ok(Temporal::Projection { frames: t, bins, cos, sin })
        }
    }
}

/// Bins strictly inside a band.
fn bins(t: usize, low: f64, high: f64, fs: f64) -> Vec<usize> {
    let frequency = |k: usize| k as f64 / t as f64 * fs;
    (0..t).skip_while(|&k| frequency(k) <= low).take_while(|&k| frequency(k) < high).collect()
}

/// A number of frames at and above which the band is wider than the bins' distance, so that it holds one in any case.
fn always_enough(low: f64, high: f64, fs: f64) -> u64 {
    (fs / (high - low)).ceil() as u64 + 1
}

/// The smallest number of frames above `frames` at which the band holds a bin.
fn needed_frames(frames: u64, low: f64, high: f64, fs: f64) -> u64 {
    let enough = always_enough(low, high, fs);
    (frames + 1..enough.min(frames.saturating_add(1_000_000)))
        .find(|&t| {
            let k = (low / fs * t as f64).floor();
            [k, k + 1.0].iter().any(|k| {
                let f = k / t as f64 * fs;
                low < f && f < high
            })
        })
        .unwrap_or(enough)
}

pub(super) fn precision(temporal: &Temporal, largest: f64) -> Precision {
    let single = match temporal {
        Temporal::Causal { p_slow, p_fast, .. } => {
            // Rounding and stagnation of a pole, at the largest gain, against a tenth of an output level.
            [p_slow, p_fast].iter().all(|&p| 2f64.powi(-24) / (1.0 - p) * largest < 0.1)
        }
        Temporal::Projection { frames, .. } => *frames <= 4096,
    };
    if single { Precision::F32 } else { Precision::F64 }
}

/// Where a running mean with weight `r` has lost half its power.
pub(super) fn iir_cutoff(r: f64, fs: f64) -> f64 {
    let p = 1.0 - r;
    // |r / (1 - p z^-1)|^2 = 1/2 solved for the angle; a mean that follows at once passes everything.
    let cos = (1.0 + p * p - 2.0 * r * r) / (2.0 * p);
    if p == 0.0 || cos <= -1.0 { fs / 2.0 } else { libm::acos(cos) * fs / (2.0 * PI) }
}
