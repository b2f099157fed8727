//! What can go wrong between a setting and a magnified frame.

/// An error of the magnifier.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its legal range.
    #[error("{name} is {value}, but must be {legal}; {remedy}")]
    BadValue {
        /// Name of the setting, as the command line spells it.
        name: &'static str,
        /// The value given.
        value: String,
        /// The values that are possible.
        legal: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A preset that does not exist.
    #[error("there is no preset {name:?}; the presets are {known}")]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A band above half the frame rate.
    #[error(
        "the band ends at {high} Hz, but {rate} frames/s can carry changes below {limit} Hz only; {remedy}"
    )]
    BandAboveLimit {
        /// Upper edge of the band in Hz.
        high: f64,
        /// Frames a second.
        rate: f64,
        /// Half the rate.
        limit: f64,
        /// What to do.
        remedy: &'static str,
    },
    /// A band in which no frequency of a clip of this length lies.
    #[error(
        "no frequency that {frames} frame{s} at {rate} frames/s can resolve lies between {low:.4} and {high:.4} Hz (they are {step:.4} Hz apart); widen the band or use a longer clip: {}{always} or more always do",
        if needed == always { String::new() } else { format!("{needed} frames would do, and ") },
        s = if *frames == 1 { "" } else { "s" }
    )]
    EmptyBand {
        /// Frames of the clip.
        frames: u64,
        /// Frames a second.
        rate: f64,
        /// Lower edge of the band in Hz.
        low: f64,
        /// Upper edge of the band in Hz.
        high: f64,
        /// Distance of the frequencies in Hz.
        step: f64,
        /// The next length at which the band holds one.
        needed: u64,
        /// The length from which on it holds one whatever the length.
        always: u64,
    },
    /// The ideal filter without a known clip length.
    #[error(
        "the ideal filter works on a whole clip and must know its number of frames; count them first, or use the iir or butterworth filter for a stream"
    )]
    FramesUnknown,
    /// A clip that is longer or shorter than announced.
    #[error(
        "the ideal filter was set up for {expected} frames but has seen {seen}; set it up again with the true number"
    )]
    FrameCount {
        /// Frames announced.
        expected: u64,
        /// Frames seen.
        seen: u64,
    },
    /// A call out of order.
    #[error("{what}; {remedy}")]
    NotReady {
        /// What was asked too early or too late.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A frame unlike the ones the magnifier was set up for.
    #[error(
        "a frame of {have} was given to a magnifier set up for {want}; every frame must be alike, set up another magnifier for another clip"
    )]
    WrongFrame {
        /// The frame.
        have: String,
        /// What it should be.
        want: String,
    },
    /// A buffer of the wrong length.
    #[error("the {name} holds {have} samples, but {want} are needed; give a buffer of that length")]
    WrongLength {
        /// Which buffer.
        name: &'static str,
        /// Samples it has.
        have: usize,
        /// Samples it needs.
        want: usize,
    },
    /// More memory needed than allowed.
    #[error(
        "magnifying needs at least {need} bytes, but only {budget} are allowed; raise the limit (--memory), narrow the band, use fewer threads where there are several, or use the iir or butterworth filter"
    )]
    Memory {
        /// Bytes needed at least.
        need: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// A worker thread could not be started.
    #[error("a worker thread could not be started: {0}; use fewer threads")]
    Threads(#[source] std::io::Error),
    /// The check mode found that vector and scalar code differ.
    #[error(
        "frame {frame}, plane {plane}, row {row}: vector and scalar code differ; please report this, and set JND_SIMD=scalar meanwhile"
    )]
    Mismatch {
        /// Index of the frame.
        frame: u64,
        /// Index of the plane.
        plane: usize,
        /// First row that differs.
        row: usize,
    },
    /// Frames on the card that a kernel cannot work on.
    #[error("frames on the card, plane {plane}: {what} is {have}, but must be {legal}")]
    DeviceFrames {
        /// Index of the plane.
        plane: usize,
        /// Which number.
        what: &'static str,
        /// The number given.
        have: usize,
        /// What it must be.
        legal: String,
    },
    /// The card failed, or there is none.
    #[error(transparent)]
    Cuda(#[from] jnd_cuda::Error),
    /// A frame or its geometry is not possible.
    #[error(transparent)]
    Video(#[from] jnd_video::Error),
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
