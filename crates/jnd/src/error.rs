//! What can go wrong in a whole job.

/// An error of a whole job: reading, computing or writing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading, writing or describing video failed.
    #[error(transparent)]
    Video(#[from] jnd_video::Error),
    /// A request that makes no sense whatever the input is.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Whether the job ended because a pipe's reader closed it.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Video(jnd_video::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Whether the job ended because its caller asked for it.
    pub fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether the request itself was at fault, whatever the input is.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
