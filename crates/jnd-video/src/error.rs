//! What can go wrong between a file and a frame.

/// An error of reading, writing or describing video.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A picture side outside what any format here can hold.
    #[error("picture size {width}x{height} is not possible (each side is 1 to {max})")]
    BadSize {
        /// Width asked for, in pixels.
        width: usize,
        /// Height asked for, in pixels.
        height: usize,
        /// Largest side.
        max: usize,
    },
    /// A sample depth no format here has.
    #[error("sample depth {0} is not possible (8 to 16 bits)")]
    BadDepth(u8),
    /// A frame rate of zero, infinity or a negative number.
    #[error("frame rate {num}/{den} is not possible (both parts must be above 0)")]
    BadRate {
        /// Numerator.
        num: u64,
        /// Denominator.
        den: u64,
    },
    /// A plane's buffer is too short for its geometry.
    #[error(
        "plane {plane}: {have} samples given, {need} needed for {height} rows of {width} samples at a stride of {stride} samples"
    )]
    ShortPlane {
        /// Index of the plane.
        plane: usize,
        /// Samples in the buffer.
        have: usize,
        /// Samples that the geometry needs.
        need: usize,
        /// Samples in a row.
        width: usize,
        /// Rows.
        height: usize,
        /// Samples from one row's start to the next one's.
        stride: usize,
    },
    /// A view's samples are of another width than its format's depth asks for.
    #[error("{depth}-bit samples are stored in {want} bytes each, but the buffer holds {have}-byte samples")]
    SampleWidth {
        /// Depth of the format.
        depth: u8,
        /// Bytes a sample needs.
        want: usize,
        /// Bytes a sample of the buffer has.
        have: usize,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// The file, or a name for the stream.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
