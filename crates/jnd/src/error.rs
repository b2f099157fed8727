//! What can go wrong in a whole job.

/// An error of a whole job: reading, computing or writing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading, writing or describing video failed.
    #[error(transparent)]
    Video(#[from] jnd_video::Error),
    /// Magnifying failed.
    #[error(transparent)]
    Magnify(#[from] jnd_magnify::Error),
    /// The settings do not fit this clip.
    #[error("{path}: {source}")]
    Clip {
        /// The file, or a name for the stream.
        path: String,
        /// What does not fit.
        source: jnd_magnify::Error,
    },
    /// A card has too little memory for this clip, even in chunks of a single frame.
    #[error(
        "{path}: {need} bytes of the memory of {device} are needed, frame by frame, and {have} may be used ({detail}); {remedy}"
    )]
    CardMemory {
        /// The file, or a name for the stream.
        path: String,
        /// The card.
        device: String,
        /// Bytes needed.
        need: u64,
        /// Bytes free, or the limit given.
        have: u64,
        /// The largest parts of the need.
        detail: String,
        /// The ways out.
        remedy: &'static str,
    },
    /// A pipe would have to be read twice, and keeping its frames was not allowed.
    #[error(
        "{path}: the ideal filter must read its input twice, which a pipe cannot; allow a spool with --spool DIR, give a file, or use \
         --filter iir or butterworth"
    )]
    CannotReread {
        /// A name for the stream.
        path: String,
    },
    /// A file that changed between two passes.
    #[error(
        "{path} held {before} frames and now holds {now}: it changed while it was read; try again when it is complete"
    )]
    Changed {
        /// The file.
        path: String,
        /// Frames of the pass before.
        before: u64,
        /// Frames of this pass.
        now: u64,
    },
    /// A request that makes no sense whatever the input is.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// The error of the video layer inside, if it is one.
    fn video(&self) -> Option<&jnd_video::Error> {
        use jnd_magnify::Error as M;
        match self {
            Self::Video(e) | Self::Magnify(M::Video(e)) | Self::Clip { source: M::Video(e), .. } => Some(e),
            _ => None,
        }
    }

    /// Whether the job ended because a pipe's reader closed it.
    pub fn is_broken_pipe(&self) -> bool {
        self.video().is_some_and(jnd_video::Error::is_broken_pipe)
    }

    /// Whether the job ended because its caller asked for it.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.video(), Some(jnd_video::Error::Interrupted))
    }

    /// Whether the request itself was at fault, whatever the input is.
    pub fn is_usage(&self) -> bool {
        use jnd_magnify::Error as M;
        matches!(self, Self::Usage(_) | Self::Magnify(M::BadValue { .. } | M::UnknownPreset { .. }))
            || matches!(self.video(), Some(jnd_video::Error::BadOption { .. }))
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
