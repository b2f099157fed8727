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
    /// The input ends inside a frame. Every whole frame before the cut has been delivered.
    #[error("{path}: input is cut off after {frames} whole frame{} ({detail})", plural(*frames))]
    Truncated {
        /// The file, or a name for the stream.
        path: String,
        /// Whole frames delivered before the cut.
        frames: u64,
        /// What is missing.
        detail: String,
    },
    /// The input contradicts its own format.
    #[error("{path}: not valid: {detail}")]
    Broken {
        /// The file, or a name for the stream.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The input or output is sound, but not something this reader or writer does.
    #[error("{path}: {what} is not supported; {instead}")]
    Unsupported {
        /// The file, or a name for the stream.
        path: String,
        /// What is not supported.
        what: String,
        /// The way out.
        instead: String,
        /// What was asked for by name cannot be, whatever the clip is.
        by_request: bool,
    },
    /// The job needs the `ffmpeg` program, which is not there or not to be used.
    #[error("{path}: {what} needs the ffmpeg and ffprobe programs: {source}")]
    NeedsFfmpeg {
        /// The file, or a name for the stream.
        path: String,
        /// What needs it: a codec, a container, an option.
        what: String,
        /// Why the programs are not used.
        source: FfmpegMissing,
    },
    /// The `ffmpeg` or `ffprobe` program failed.
    #[error("{path}: {program} failed ({status}): {}", source.short())]
    Child {
        /// The file, or a name for the stream.
        path: String,
        /// `ffmpeg` or `ffprobe`.
        program: &'static str,
        /// How it ended.
        status: String,
        /// The last lines it wrote to standard error.
        source: ChildMessage,
    },
    /// The input has no picture stream.
    #[error("{path}: no video stream in it{found}")]
    NoVideo {
        /// The file, or a name for the stream.
        path: String,
        /// What it has instead, in brackets, or nothing.
        found: String,
    },
    /// The input has a picture stream without a single whole frame.
    #[error("{path}: no frames in it")]
    NoFrames {
        /// The file, or a name for the stream.
        path: String,
    },
    /// A raw file's size does not fit the geometry given.
    #[error("{path}: {bytes} bytes do not fit raw frames of {width}x{height} {format}{hint}")]
    RawSize {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// Width given.
        width: usize,
        /// Height given.
        height: usize,
        /// Format given.
        format: String,
        /// What would fit.
        hint: String,
    },
    /// The output exists already.
    #[error("{path} exists already; give --overwrite to replace it")]
    Exists {
        /// The file.
        path: String,
    },
    /// Input and output are one file.
    #[error("{path} is both the input and the output; write to another name")]
    SameFile {
        /// The file.
        path: String,
    },
    /// An option that has no meaning here, or a value outside its range.
    #[error("{option} {value}: {legal}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// The value given.
        value: String,
        /// What is legal.
        legal: String,
    },
    /// A frame is not of its stream's format and size.
    #[error("frame of {have} given to a stream of {want}")]
    FrameMismatch {
        /// The frame's format and size.
        have: String,
        /// The stream's.
        want: String,
    },
    /// Spooled frames would take more room than allowed.
    #[error(
        "frames have to be kept in {dir} and take more than the {limit} bytes allowed there; raise the limit (--spool-limit), give a \
         file in place of a pipe, or more memory (--memory)"
    )]
    SpoolFull {
        /// Directory of the spool.
        dir: String,
        /// Bytes allowed.
        limit: u64,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A codec library refused.
    #[error("{path}: {codec}: {detail}")]
    Codec {
        /// The file, or a name for the stream.
        path: String,
        /// Name of the library.
        codec: &'static str,
        /// What it said, or what it was asked.
        detail: String,
    },
}

/// The ending of a counted noun.
fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Why `ffmpeg` and `ffprobe` are not used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FfmpegMissing(pub String);

/// What a child process wrote to its standard error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChildMessage(pub String);

impl ChildMessage {
    /// The beginning, fit for one line.
    fn short(&self) -> String {
        /// Characters of it.
        const SHORT: usize = 200;
        let mut text: String = self.0.chars().take(SHORT).collect();
        if text.len() < self.0.len() {
            text.push_str("...");
        }
        text
    }
}

impl Error {
    pub(crate) fn io(path: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    pub(crate) fn broken(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Broken { path: path.into(), detail: detail.into() }
    }

    pub(crate) fn unsupported(
        path: impl Into<String>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self::Unsupported { path: path.into(), what: what.into(), instead: instead.into(), by_request: false }
    }

    /// The same where what was asked for by name cannot be, whatever the clip is, if `asked`.
    pub(crate) fn by_request(self, asked: bool) -> Self {
        match self {
            Self::Unsupported { path, what, instead, .. } => {
                Self::Unsupported { path, what, instead, by_request: asked }
            }
            other => other,
        }
    }

    pub(crate) fn needs_ffmpeg(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::NeedsFfmpeg { path: path.into(), what: what.into(), source: crate::ffmpeg::missing() }
    }

    /// Whether this is a pipe closed by its reader, which ends a run quietly.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
