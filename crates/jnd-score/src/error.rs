//! What can go wrong when scoring.

use jnd_video::{Layout, PixelFormat};

/// An error of a feature's options, of a clip's geometry, or of writing a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No feature has this name.
    #[error("unknown feature \"{name}\"{}; known: motion, float_motion, speed_chroma, speed_temporal", hint(.suggestion))]
    UnknownFeature {
        /// What was asked for.
        name: String,
        /// The closest known name.
        suggestion: Option<String>,
    },
    /// The feature has no option of this name.
    #[error("feature {feature} has no option \"{option}\"{}; it has: {known}", hint(.suggestion))]
    UnknownOption {
        /// The feature.
        feature: &'static str,
        /// What was asked for.
        option: String,
        /// The closest known name.
        suggestion: Option<String>,
        /// All its options.
        known: String,
    },
    /// An option without a value.
    #[error("option \"{option}\" of feature {feature} has no value (write {option}=VALUE)")]
    NoValue {
        /// The feature.
        feature: &'static str,
        /// The option.
        option: String,
    },
    /// An option given twice.
    #[error("option {option} of feature {feature} is given twice")]
    RepeatedOption {
        /// The feature.
        feature: &'static str,
        /// The option.
        option: &'static str,
    },
    /// A value outside what the option takes.
    #[error("{feature}: {option}={value} is not possible (legal: {legal})")]
    BadValue {
        /// The feature.
        feature: &'static str,
        /// The option.
        option: &'static str,
        /// What was asked for.
        value: String,
        /// What is legal.
        legal: String,
    },
    /// No feature was asked for.
    #[error("no feature to compute (name one: motion, float_motion, speed_chroma, speed_temporal)")]
    NoFeatures,
    /// Two features would give a metric of the same name.
    #[error("two features would both write the metric \"{0}\"; give it once, or with other options")]
    RepeatedMetric(String),
    /// A sample depth that has no defined scores.
    #[error("{0}-bit video cannot be scored (8, 10, 12 and 16 bits can)")]
    Depth(u8),
    /// A pixel format without a luma plane.
    #[error("RGB video cannot be scored; convert it to YUV first")]
    Rgb(Layout),
    /// A chroma feature on video without chroma.
    #[error("{feature} needs chroma, which {format} video does not have")]
    NoChroma {
        /// The feature, with the option that asks for chroma if it is an option.
        feature: &'static str,
        /// The video's format.
        format: PixelFormat,
    },
    /// A plane below what a feature needs.
    #[error("{feature} needs a {plane} plane of at least {min}x{min} samples{}; this one has {width}x{height}",
        scaled(*.prescale))]
    TooSmall {
        /// The feature.
        feature: &'static str,
        /// Which plane.
        plane: &'static str,
        /// Columns, after scaling.
        width: usize,
        /// Rows, after scaling.
        height: usize,
        /// Least side.
        min: usize,
        /// The scale.
        prescale: f64,
    },
    /// A plane above what a feature can take after scaling.
    #[error(
        "{feature}: speed_prescale={prescale} makes a plane of {width}x{height} samples (each side may have {max})"
    )]
    TooLarge {
        /// The feature.
        feature: &'static str,
        /// Columns, after scaling.
        width: usize,
        /// Rows, after scaling.
        height: usize,
        /// Largest side.
        max: usize,
        /// The scale.
        prescale: f64,
    },
    /// A prescale too close to 1 to be applied, which would still change the size.
    #[error(
        "{feature}: speed_prescale={prescale} counts as 1 but would make {width}x{height} samples of {from_width}x{from_height}; use 1, or differ from it by 0.001 or more"
    )]
    PrescaleNearOne {
        /// The feature.
        feature: &'static str,
        /// The scale.
        prescale: f64,
        /// Columns after scaling.
        width: usize,
        /// Rows after scaling.
        height: usize,
        /// Columns before.
        from_width: usize,
        /// Rows before.
        from_height: usize,
    },
    /// A frame that is not of the clip's size or format.
    #[error("frame {frame} of the {side} clip is {got}, but the clip is {want}")]
    FrameMismatch {
        /// Index of the pair.
        frame: u64,
        /// Which clip.
        side: &'static str,
        /// The frame's format and size.
        got: String,
        /// The format and size at the start.
        want: String,
    },
    /// Two clips that cannot be compared sample by sample.
    #[error("the clips cannot be compared: {0}")]
    Incomparable(String),
    /// The scorer has been finished.
    #[error("frames cannot be pushed after finish")]
    Finished,
    /// More threads than make sense.
    #[error("{0} threads are not possible (1 to {max})", max = crate::MAX_THREADS)]
    Threads(usize),
    /// A worker thread could not be started.
    #[error("a worker thread could not be started: {0}")]
    Spawn(#[source] std::io::Error),
    /// A worker thread failed.
    #[error(
        "scoring frame {0} failed unexpectedly; this is a defect in jnd, please report it with the input"
    )]
    Worker(u64),
    /// A batch size that is not possible.
    #[error("a batch of {0} pairs is not possible (1 to {max})", max = crate::cuda::MAX_BATCH)]
    Batch(usize),
    /// An error of the card.
    #[error(transparent)]
    Cuda(#[from] jnd_cuda::Error),
    /// An error of the video itself.
    #[error(transparent)]
    Video(#[from] jnd_video::Error),
    /// A report could not be written.
    #[error("the report could not be written: {0}")]
    Report(#[from] std::io::Error),
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|s| format!(" (did you mean {s}?)")).unwrap_or_default()
}

fn scaled(prescale: f64) -> String {
    if prescale == 1.0 { String::new() } else { format!(" after scaling by {prescale}") }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
