//! From settings and a clip's description to everything that is computed once: levels, sizes, weights, coefficients,
//! bins and tables. Both devices work from the same plan.

mod chain;
mod filter;

use jnd_video::{PixelFormat, Rate, StreamInfo};

use crate::{Filter, Pipeline, Result, Settings};
use filter::{iir_cutoff, precision, temporal};

/// The clip a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// Pixel format.
    pub format: PixelFormat,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Frames a second.
    pub rate: Rate,
    /// Frames, where known; the ideal filter must know.
    pub frames: Option<u64>,
}

impl From<&StreamInfo> for Source {
    fn from(s: &StreamInfo) -> Self {
        Self { format: s.format, width: s.width, height: s.height, rate: s.rate, frames: s.frames }
    }
}

/// Type in which filter states or coefficients are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
}

/// How a level's samples are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The frame's own samples (shifted down where they are packed high).
    Samples,
    /// Exact integers, `unit` for one sample level: `u16` at depth 8, else `u32`.
    Integer {
        /// Value of one sample level: 256, or 16 after a vertical-only step.
        unit: u32,
    },
    /// f32 in units of one sample level.
    Float,
}

/// How a level is made from the one before (and enlarged back to it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is the frame, or the luma of the frame.
    Source,
    /// Halved both ways.
    Full,
    /// Halved vertically (chroma of 4:2:2).
    Vertical,
}

/// One level of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Separate planes: 3 for planar RGB until it is mixed to luma, else 1.
    pub parts: usize,
    /// Interleaved channels of a pixel.
    pub channels: usize,
    /// How samples are stored.
    pub stored: Stored,
    /// How it is made.
    pub step: Step,
    /// Factor on the five-tap sums of a `Float` level: the power of two that removes their gain. 1 for the others.
    pub scale: f32,
    /// Weight `w` of the level, chroma factor included; 0 where nothing is filtered.
    pub weight: f64,
    /// Power of two in the coefficients: scale of the samples, and of the enlargement still to come.
    pub unit: f64,
    /// Coefficient of the slow state, `(q_slow * weight) * unit`.
    pub c_slow: f64,
    /// Coefficient of the fast state.
    pub c_fast: f64,
    /// Ideal filter: factor on the projections, `(weight * unit) / T`.
    pub h: f64,
}

impl Level {
    /// Whether the temporal filter runs here.
    pub fn filtered(&self) -> bool {
        self.weight != 0.0
    }

    /// Samples in a row, all channels of all parts.
    pub fn row(&self) -> usize {
        self.width * self.channels * self.parts
    }

    /// Samples of the level.
    pub fn samples(&self) -> usize {
        self.row() * self.height
    }
}

/// What is done with the three channels of RGB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mix {
    /// Every channel is magnified alike.
    None,
    /// The changes are mixed by this matrix (rows and columns R, G, B) at the finest level that has any:
    /// level 1 for motion, the weighted one for colour.
    Matrix([[f32; 3]; 3]),
    /// Level 1 (level 0 where it is the weighted one) is mixed to luma with these factors for R, G and B, as they
    /// apply to the stored integers; the one change is added to all three.
    Luma([f32; 3]),
}

/// How changes are enlarged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enlarge {
    /// Level by level.
    Pyramid,
    /// At once, between four neighbours.
    Bilinear,
}

/// Planes that are magnified together: one plane, or the three of planar RGB.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Indices of the frame's planes.
    pub planes: Vec<usize>,
    /// Levels from the frame's own (0) to the coarsest that is filtered. Empty: the planes are copied.
    pub levels: Vec<Level>,
    /// Treatment of RGB.
    pub mix: Mix,
    /// Places of R, G and B among the channels or parts.
    pub order: [usize; 3],
    /// How changes are enlarged.
    pub enlarge: Enlarge,
    /// Pyramid level that the frame's own samples are: 1 for subsampled chroma (before its vertical-only step at
    /// 4:2:2), else 0.
    pub first: u32,
}

impl Chain {
    /// Index of the coarsest level, which is filtered.
    pub fn last(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Whether the samples go through unchanged.
    pub fn is_copy(&self) -> bool {
        self.levels.is_empty()
    }
}

/// The temporal filter's own numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Temporal {
    /// Two lags, see `docs/arithmetic.md`.
    Causal {
        /// Pole of the slow lag.
        p_slow: f64,
        /// Pole of the fast lag.
        p_fast: f64,
        /// Input factor of the slow lag.
        q_slow: f64,
        /// Input factor of the fast lag.
        q_fast: f64,
    },
    /// Projection on the kept bins of the whole clip.
    Projection {
        /// Frames of the clip.
        frames: usize,
        /// Kept bins, ascending.
        bins: Vec<usize>,
        /// `cos(2 pi j / T)` for j = 0..T-1.
        cos: Vec<f64>,
        /// `sin(2 pi j / T)`.
        sin: Vec<f64>,
    },
}

/// Everything computed before the first frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    settings: Settings,
    source: Source,
    gains: Vec<f64>,
    temporal: Temporal,
    precision: Precision,
    chains: Vec<Chain>,
}

impl Plan {
    /// Checks the settings against the clip and computes the rest.
    ///
    /// # Errors
    /// Every illegal setting; a band above half the rate or without a bin; the ideal filter without a frame count.
    pub fn new(settings: &Settings, source: &Source) -> Result<Self> {
        let _ieee = jnd_video::fpu::Ieee::enter();
        settings.check()?;
        jnd_video::check_size(source.width, source.height)?;
        let gains = gains(settings, source.width, source.height);
        let temporal = temporal(settings, source)?;
        let largest = gains.iter().fold(0f64, |m, g| m.max(g.abs()));
        let precision = precision(&temporal, f64::from(source.format.max_value()) * largest);
        let mut plan = Self {
            settings: settings.clone(),
            source: *source,
            gains,
            temporal,
            precision,
            chains: Vec::new(),
        };
        plan.chains = plan.make_chains();
        Ok(plan)
    }

    /// The settings it was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clip it was made for.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Motion: gain of every pyramid level, finest first, the unfiltered last one included. Colour: the one gain.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Rate the filter works with: the capture rate, else the clip's.
    pub fn filter_rate(&self) -> f64 {
        self.settings.capture_rate.unwrap_or(self.source.rate).as_f64()
    }

    /// Whether the filter needs the whole clip before it can magnify a frame, so that every frame is gone through twice.
    pub fn needs_two_passes(&self) -> bool {
        matches!(self.temporal, Temporal::Projection { .. })
    }

    /// The temporal filter's numbers.
    pub fn temporal(&self) -> &Temporal {
        &self.temporal
    }

    /// Type of states (causal filters) or of projections (ideal filter).
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The chains, in the order of the frame's planes.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// The band in Hz that passes: as given, or where the two means of the iir filter have lost half their power.
    pub fn band_hz(&self) -> (f64, f64) {
        match self.settings.filter {
            Filter::Butterworth { low, high } | Filter::Ideal { low, high } => (low, high),
            Filter::Iir { r1, r2 } => {
                (iir_cutoff(r2, self.filter_rate()), iir_cutoff(r1, self.filter_rate()))
            }
        }
    }

    /// Frequencies in Hz that the ideal filter keeps; empty for the others.
    pub fn bins_hz(&self) -> Vec<f64> {
        match &self.temporal {
            Temporal::Causal { .. } => Vec::new(),
            Temporal::Projection { frames, bins, .. } => {
                bins.iter().map(|&k| k as f64 / *frames as f64 * self.filter_rate()).collect()
            }
        }
    }

    /// Whether nothing is magnified: every sample comes out as it went in.
    pub fn is_identity(&self) -> bool {
        self.chains.iter().all(Chain::is_copy)
    }

    /// Samples that the temporal filter runs on, a frame.
    pub fn filtered_samples(&self) -> u64 {
        self.chains.iter().flat_map(|c| &c.levels).filter(|l| l.filtered()).map(|l| l.samples() as u64).sum()
    }

    /// Bytes that the filter's states or projections take.
    pub fn filter_bytes(&self) -> u64 {
        let each = match self.precision {
            Precision::F32 => 4,
            Precision::F64 => 8,
        };
        let values = match &self.temporal {
            Temporal::Causal { .. } => 2,
            Temporal::Projection { bins, .. } => 2 * bins.len() as u64,
        };
        self.filtered_samples() * values * each
    }
}

/// Height of the pyramid: 1, and 1 more for each halving (rounded down) of a picture of at least 5 by 5.
pub fn pyramid_levels(width: usize, height: usize) -> usize {
    let (mut w, mut h, mut n) = (width, height, 1);
    while w >= 5 && h >= 5 {
        (w, h, n) = (w / 2, h / 2, n + 1);
    }
    n
}

fn gains(s: &Settings, width: usize, height: usize) -> Vec<f64> {
    if s.pipeline == Pipeline::Color {
        return vec![s.alpha];
    }
    let n = pyramid_levels(width, height);
    let (w, h) = (width as f64, height as f64);
    let mut lambda = libm::sqrt(h * h + w * w) / 3.0;
    let mut g = vec![0.0; n];
    if s.alpha == 0.0 {
        return g;
    }
    for l in (0..n).rev() {
        if l > 0 && l < n - 1 {
            g[l] = s.alpha.min(s.exaggeration * (lambda * (1.0 + s.alpha) / s.lambda_c - 1.0));
        }
        lambda /= 2.0;
    }
    g
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use jnd_video::Layout;

    use super::*;
    use crate::Error;

    fn source(layout: Layout, depth: u8, width: usize, height: usize, frames: Option<u64>) -> Source {
        let format = PixelFormat::new(layout, depth).unwrap();
        Source { format, width, height, rate: Rate::new(30, 1).unwrap(), frames }
    }

    #[test]
    fn gains_are_the_published_ones() {
        let p = Plan::new(&Settings::default(), &source(Layout::Bgr, 8, 960, 544, None)).unwrap();
        let want = [0.0, 5.902, 10.0, 10.0, 10.0, 10.0, 10.0, 0.0];
        assert_eq!(p.gains().len(), want.len());
        assert!(p.gains().iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-3), "{:?}", p.gains());
        let filtered: Vec<usize> = (0..8).filter(|&l| p.chains()[0].levels[l].filtered()).collect();
        assert_eq!(filtered, [1, 2, 7]);
        assert_eq!(p.precision(), Precision::F32);
        let s = Settings { alpha: 25.0, lambda_c: 160.0, exaggeration: 1.5, ..Settings::default() };
        let p = Plan::new(&s, &source(Layout::Bgr, 8, 96, 72, None)).unwrap();
        assert!((p.gains()[1] + 0.281).abs() < 1e-3);
    }

    #[test]
    fn levels_follow_the_floor_rule() {
        for (w, h, n) in [
            (960, 544, 8),
            (528, 592, 8),
            (1920, 1080, 9),
            (3840, 2160, 10),
            (9, 9, 2),
            (10, 10, 3),
            (4, 4, 1),
        ] {
            assert_eq!(pyramid_levels(w, h), n, "{w}x{h}");
        }
    }

    #[test]
    fn subsampled_chroma_enters_at_level_one() {
        let p = Plan::new(&Settings::default(), &source(Layout::Yuv420, 8, 961, 545, None)).unwrap();
        let (y, c) = (&p.chains()[0], &p.chains()[1]);
        assert_eq!(y.levels.len(), c.levels.len() + 1);
        assert_eq!((c.levels[0].width, c.levels[0].height), (481, 273));
        assert!((c.levels[0].weight - 0.1 * y.levels[1].weight).abs() < 1e-12);
        let p = Plan::new(&Settings::default(), &source(Layout::Yuv422, 10, 961, 545, None)).unwrap();
        let c = &p.chains()[2];
        assert_eq!((c.levels[0].weight, c.levels[1].stored), (0.0, Stored::Integer { unit: 16 }));
        assert_eq!((c.levels[1].width, c.levels[1].height), (481, 273));
        assert_eq!((c.levels[2].width, c.levels[2].height), (241, 137));
    }

    #[test]
    fn the_pulse_band_of_291_frames_holds_one_bin() {
        let s = Settings::preset("pulse").unwrap();
        let p = Plan::new(&s, &source(Layout::Bgr, 8, 528, 592, Some(291))).unwrap();
        assert!(matches!(p.temporal(), Temporal::Projection { bins, .. } if bins == &[9]));
        assert!((p.bins_hz()[0] - 0.928).abs() < 1e-3);
    }

    #[test]
    fn bands_that_cannot_work_say_why() {
        let s = Settings::preset("pulse").unwrap();
        let e = Plan::new(&s, &source(Layout::Gray, 8, 64, 64, Some(40))).unwrap_err();
        let Error::EmptyBand { needed, always, .. } = e else { panic!("{e}") };
        for frames in always..always + 400 {
            assert!(Plan::new(&s, &source(Layout::Gray, 8, 64, 64, Some(frames))).is_ok(), "{frames}");
        }
        assert!(Plan::new(&s, &source(Layout::Gray, 8, 64, 64, Some(needed))).is_ok());
        assert!(Plan::new(&s, &source(Layout::Gray, 8, 64, 64, Some(needed - 1))).is_err());
        assert!(matches!(Plan::new(&s, &source(Layout::Gray, 8, 64, 64, None)), Err(Error::FramesUnknown)));
        let s = Settings::preset("vibration").unwrap();
        let e = Plan::new(&s, &source(Layout::Gray, 8, 64, 64, Some(400))).unwrap_err();
        assert!(matches!(e, Error::BandAboveLimit { limit, .. } if limit == 15.0));
    }

    #[test]
    fn deep_samples_get_double_precision() {
        let of = |depth| Plan::new(&Settings::default(), &source(Layout::Gray, depth, 64, 64, None)).unwrap();
        assert_eq!(of(12).precision(), Precision::F32);
        assert_eq!(of(16).precision(), Precision::F64);
    }

    #[test]
    fn alpha_zero_copies() {
        for pipeline in [Pipeline::Motion, Pipeline::Color] {
            let s = Settings { alpha: 0.0, pipeline, ..Settings::default() };
            assert!(Plan::new(&s, &source(Layout::Yuv422, 8, 64, 64, None)).unwrap().is_identity());
        }
    }

    #[test]
    fn the_mean_loses_half_its_power_at_the_cutoff() {
        let (r, fs) = (0.05, 30.0);
        let w = 2.0 * PI * iir_cutoff(r, fs) / fs;
        let p = 1.0 - r;
        let power = r * r / (1.0 + p * p - 2.0 * p * w.cos());
        assert!((power - 0.5).abs() < 1e-12);
    }
}
