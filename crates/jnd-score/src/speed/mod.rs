//! SpEED: spatial and temporal entropic differences, of chroma planes and of successive luma planes.

pub mod covariance;
pub mod eigen;
pub mod entropy;
pub mod filter;
pub mod pair;
pub mod prescale;
pub mod solve;
pub mod taps;

use jnd_video::simd::Level;
use jnd_video::{MAX_SIDE, Plane, Sample};

use crate::options::SpeedOptions;
use crate::plane::Conversion;
use crate::{Error, Result};
use covariance::{BLOCK, Windows};
use entropy::Blocks;
use filter::{DECIMATION, Source};
use pair::PlaneStatistics;
use prescale::{Method, Scaler, scaled_side};
use taps::Taps;

/// Least side of a plane, after scaling: one block of decimated samples.
pub const MIN_SIDE: usize = DECIMATION * BLOCK;

/// A prescale within this of 1 counts as 1.
const PRESCALE_TOLERANCE: f64 = 1e-3;

/// Sizes of everything between a plane and its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Scaled plane.
    pub scaled: (usize, usize),
    /// Decimated plane.
    pub decimated: (usize, usize),
    /// Windows of the covariance.
    pub windows: Windows,
    /// Blocks.
    pub blocks: Blocks,
}

impl Sizes {
    /// For a plane of `w` x `h` samples.
    ///
    /// # Errors
    /// A plane that is too small or too large after scaling, or a prescale that counts as 1 but changes the size.
    pub fn new(
        feature: &'static str,
        plane: &'static str,
        w: usize,
        h: usize,
        options: &SpeedOptions,
    ) -> Result<Self> {
        let prescale = options.prescale;
        let (width, height) = (scaled_side(w, prescale), scaled_side(h, prescale));
        if !scales(prescale) && (width, height) != (w, h) {
            let (from_width, from_height) = (w, h);
            return Err(Error::PrescaleNearOne { feature, prescale, width, height, from_width, from_height });
        }
        if width.min(height) < MIN_SIDE {
            return Err(Error::TooSmall { feature, plane, width, height, min: MIN_SIDE, prescale });
        }
        if width.max(height) > MAX_SIDE {
            return Err(Error::TooLarge { feature, width, height, max: MAX_SIDE, prescale });
        }
        let (wo, ho) = (width / DECIMATION, height / DECIMATION);
        let (columns, rows) = (wo / BLOCK, ho / BLOCK);
        Ok(Self {
            scaled: (width, height),
            decimated: (wo, ho),
            windows: Windows {
                stride: wo,
                width: BLOCK * columns - (BLOCK - 1),
                height: BLOCK * rows - (BLOCK - 1),
            },
            blocks: Blocks { stride: wo, columns, rows },
        })
    }
}

/// Whether a prescale is applied at all.
fn scales(prescale: f64) -> bool {
    (prescale - 1.0).abs() >= PRESCALE_TOLERANCE
}

/// Storage that one thread reuses from plane to plane.
#[derive(Debug, Default)]
pub struct Scratch {
    plane: Vec<f32>,
    lines: Vec<f32>,
    centred: Vec<f32>,
    covariance: covariance::Scratch,
}

/// Everything about one SpEED feature that does not depend on the frame.
#[derive(Debug, Clone)]
pub struct Analyser {
    sizes: Sizes,
    taps: Taps,
    scaler: Option<Scaler>,
    sigma: f32,
    base: f32,
    conversion: Conversion,
}

impl Analyser {
    /// For `w` x `h` planes of a depth.
    ///
    /// # Errors
    /// See [`Sizes::new`].
    pub fn new(
        feature: &'static str,
        plane: &'static str,
        (w, h): (usize, usize),
        depth: u8,
        options: &SpeedOptions,
    ) -> Result<Self> {
        let sizes = Sizes::new(feature, plane, w, h, options)?;
        let method: Method = options.prescale_method;
        Ok(Self {
            sizes,
            taps: Taps::new(options),
            scaler: scales(options.prescale).then(|| Scaler::new((w, h), sizes.scaled, method)),
            sigma: options.sigma_nn as f32,
            base: pair::base_entropy(options.sigma_nn, options.nn_floor),
            conversion: Conversion::new(depth),
        })
    }

    /// Sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The filters.
    pub fn taps(&self) -> &Taps {
        &self.taps
    }

    /// The scaler, if the prescale is not 1.
    pub fn scaler(&self) -> Option<&Scaler> {
        self.scaler.as_ref()
    }

    /// Entropy below which a block does not count.
    pub fn base(&self) -> f32 {
        self.base
    }

    /// What turns samples into numbers.
    pub fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// Noise variance.
    pub fn sigma(&self) -> f32 {
        self.sigma
    }

    /// Statistics of a plane of samples.
    pub fn samples<T: Sample>(
        &self,
        level: Level,
        plane: Plane<'_, T>,
        scratch: &mut Scratch,
        out: &mut PlaneStatistics,
    ) {
        self.analyse(level, Source::Samples(plane, self.conversion), scratch, out);
    }

    /// Statistics of the difference of two planes of samples.
    pub fn difference<T: Sample>(
        &self,
        level: Level,
        previous: Plane<'_, T>,
        current: Plane<'_, T>,
        scratch: &mut Scratch,
        out: &mut PlaneStatistics,
    ) {
        self.analyse(level, Source::Difference(previous, current, self.conversion), scratch, out);
    }

    fn analyse<T: Sample>(
        &self,
        level: Level,
        source: Source<'_, T>,
        scratch: &mut Scratch,
        out: &mut PlaneStatistics,
    ) {
        let (wo, ho) = self.sizes.decimated;
        scratch.centred.resize(wo * ho, 0.0);
        let taps = &self.taps;
        if let Some(scaler) = &self.scaler {
            let (w, h) = source.size();
            scratch.plane.resize(w * h, 0.0);
            for (y, row) in scratch.plane.chunks_exact_mut(w).enumerate() {
                source.row(y, row);
            }
            let scaled: Source<'_, T> = Source::Scaled(&scratch.plane, scaler);
            filter::decimate(
                level,
                &scaled,
                &taps.antialias,
                wo,
                ho,
                &mut scratch.lines,
                &mut scratch.centred,
            );
        } else {
            filter::decimate(
                level,
                &source,
                &taps.antialias,
                wo,
                ho,
                &mut scratch.lines,
                &mut scratch.centred,
            );
        }
        filter::centre(&mut scratch.centred, wo, ho, &taps.lowpass, &mut scratch.lines, level);
        self.statistics(level, &scratch.centred, &mut scratch.covariance, out);
    }

    /// Statistics of a centred plane.
    fn statistics(
        &self,
        level: Level,
        centred: &[f32],
        scratch: &mut covariance::Scratch,
        out: &mut PlaneStatistics,
    ) {
        let blocks = self.sizes.blocks;
        out.variance.resize(blocks.count(), 0.0);
        out.entropy.resize(blocks.count(), 0.0);
        let (_, c) = covariance::covariance(level, centred, self.sizes.windows, scratch);
        let eigenvalues = eigen::eigenvalues(level, &c);
        let factors = if eigen::is_regular(&eigenvalues) { solve::factor(level, &c) } else { None };
        out.singular = factors.is_none();
        match factors {
            Some(f) => entropy::block_statistics(
                level,
                centred,
                blocks,
                &f,
                &eigenvalues,
                self.sigma,
                &mut out.variance,
                &mut out.entropy,
            ),
            None => {
                out.variance.fill(0.0);
                out.entropy.fill(0.0);
            }
        }
    }
}

/// Scores of the chroma planes of one frame, as they are reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChromaScores {
    /// Of U.
    pub u: f64,
    /// Of V.
    pub v: f64,
    /// Of both.
    pub uv: f64,
}

/// Joins the scores of U and V: a plane whose covariance was singular on either side is replaced by the other.
pub fn join_chroma(u: f32, v: f32, u_failed: bool, v_failed: bool, max_val: f64) -> ChromaScores {
    let uv = match (u_failed, v_failed) {
        (true, false) => v,
        (false, true) => u,
        _ => (f64::from(u + v) / 2.0) as f32,
    };
    // Written so that NaN becomes the maximum.
    let clamp = |x: f32| if f64::from(x) < max_val { f64::from(x) } else { max_val };
    ChromaScores { u: clamp(u), v: clamp(v), uv: clamp(uv) }
}
