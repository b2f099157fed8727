//! What a file holds, without decoding it.

use crate::ffmpeg::Ffmpeg;
use crate::{DecoderChoice, Input, OpenOptions, Result, StreamInfo, open};

/// What a stream of a file carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// Subtitles.
    Subtitle,
    /// Anything else.
    Other,
}

/// One stream of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaStream {
    /// What it carries.
    pub kind: StreamKind,
    /// Name of its codec.
    pub codec: String,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaInfo {
    /// Name of the container: `yuv4mpeg2`, `raw`, `mp4`, or `ffmpeg`'s name for it.
    pub container: String,
    /// The picture stream, as it would be delivered.
    pub video: StreamInfo,
    /// Codec of the picture stream.
    pub codec: String,
    /// Profile of the codec, where known.
    pub profile: Option<String>,
    /// Every stream of the file, in its order.
    pub streams: Vec<MediaStream>,
    /// Length in seconds, where known.
    pub duration: Option<f64>,
    /// Number of frames to expect; unlike [`StreamInfo::frames`] it may be off.
    pub frames_hint: Option<u64>,
    /// What would decode it.
    pub decoder: String,
    /// What the user should be told.
    pub notes: Vec<String>,
}

impl MediaInfo {
    /// Whether the file has sound.
    pub fn has_audio(&self) -> bool {
        self.streams.iter().any(|s| s.kind == StreamKind::Audio)
    }
}

/// Says what a file holds. Reading standard input takes its header away, so do that with [`open`] alone.
///
/// # Errors
/// As for [`open`].
pub fn probe(input: &Input, options: &OpenOptions) -> Result<MediaInfo> {
    if let (Input::Path(path), None) = (input, &options.raw)
        && path.is_file()
        && !crate::y4m::is_y4m(path)
        && options.decoder != DecoderChoice::BuiltIn
        && let Some(media) = Ffmpeg::probe(path)
    {
        return media?.describe();
    }
    let source = open(input, options)?;
    let video = source.info().clone();
    let codec = source.decoder();
    Ok(MediaInfo {
        container: codec.clone(),
        duration: video.frames.map(|n| n as f64 / video.rate.as_f64()),
        frames_hint: source.frames_hint(),
        video,
        streams: vec![MediaStream { kind: StreamKind::Video, codec: codec.clone() }],
        profile: None,
        decoder: codec.clone(),
        notes: source.notes(),
        codec,
    })
}
