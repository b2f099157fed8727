//! Opening a video: where frames come from.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::ffmpeg::{Ffmpeg, FfmpegReader, Media};
use crate::raw::RawReader;
use crate::trim::Trimmed;
use crate::y4m::Y4mReader;
use crate::{ChromaRounding, Error, Frame, PixelFormat, Rate, Result, StreamInfo};

/// A stream of frames.
pub trait FrameSource: Send {
    /// What is known of the stream.
    fn info(&self) -> &StreamInfo;

    /// Fills `frame`, which is of the stream's format and size ([`FrameSource::new_frame`]) and is reused from call to
    /// call, and returns false at the end.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the input is cut off, after every whole frame has been delivered;
    /// [`Error::NoFrames`] when it ends without a single one; whatever else keeps the next frame from being read.
    fn read(&mut self, frame: &mut Frame) -> Result<bool>;

    /// What decodes: `yuv4mpeg2`, `raw`, `OpenH264 2.6`, `ffmpeg 5.1 (h264)`.
    fn decoder(&self) -> String;

    /// Number of frames to expect, for a progress bar. Unlike [`StreamInfo::frames`] it may be off.
    fn frames_hint(&self) -> Option<u64> {
        self.info().frames
    }

    /// What the user should be told: a dropped alpha channel, a source that is interlaced, a decoder that is not exact.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// A frame to pass to [`FrameSource::read`].
    ///
    /// # Errors
    /// [`Error::BadSize`].
    fn new_frame(&self) -> Result<Frame> {
        let info = self.info();
        Frame::new(info.format, info.width, info.height)
    }
}

/// Where a video comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input, which carries YUV4MPEG2, or raw frames when their geometry is given.
    Stdin,
}

impl Input {
    /// `-` is standard input, everything else a path.
    pub fn from_arg(arg: impl Into<PathBuf>) -> Self {
        let path = arg.into();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path) }
    }

    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(p) => Some(p),
            Self::Stdin => None,
        }
    }

    /// Whether the input can be opened and read a second time: a regular file.
    pub fn is_rereadable(&self) -> bool {
        self.path().is_some_and(|p| p.is_file())
    }
}

impl std::fmt::Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(p) => p.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// Geometry of raw frames, which say nothing about themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawGeometry {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Pixel format; samples above 8 bits are little-endian.
    pub format: PixelFormat,
    /// Frames a second.
    pub rate: Rate,
    /// How odd sides are halved for chroma. Frames are always delivered rounded up: where the file has no last column
    /// or row, it is the one before repeated.
    pub chroma_rounding: ChromaRounding,
}

/// Which decoder to use for what is neither YUV4MPEG2 nor raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecoderChoice {
    /// `ffmpeg` when it is there, else the built-in one.
    #[default]
    Auto,
    /// The built-in H.264 decoder.
    BuiltIn,
    /// `ffmpeg`.
    Ffmpeg,
}

/// How to open a video.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenOptions {
    /// Take the input as raw frames of this geometry.
    pub raw: Option<RawGeometry>,
    /// Which decoder.
    pub decoder: DecoderChoice,
    /// Seconds at which to start, counted from the start of the file's time line. Timestamps are counted from there.
    pub start: Option<f64>,
    /// Seconds at which to end; a frame at exactly this time is left out.
    pub end: Option<f64>,
}

/// Opens a video.
///
/// # Errors
/// Whatever keeps the file from being opened, recognised or decoded; see [`Error`].
pub fn open(input: &Input, options: &OpenOptions) -> Result<Box<dyn FrameSource>> {
    check_span(options.start, options.end)?;
    let source = open_whole(input, options)?;
    Ok(match (options.start, options.end) {
        (None, None) => source,
        (start, end) => Box::new(Trimmed::new(source, input.to_string(), start, end)),
    })
}

/// Checks a start and end in seconds.
pub(crate) fn check_span(start: Option<f64>, end: Option<f64>) -> Result<()> {
    for (option, value) in [("--start", start), ("--end", end)] {
        if let Some(v) = value
            && !(v.is_finite() && (0.0..=1e9).contains(&v))
        {
            return Err(Error::BadOption {
                option,
                value: v.to_string(),
                legal: "seconds from 0 to 1000000000".into(),
            });
        }
    }
    if let (s, Some(e)) = (start.unwrap_or(0.0), end)
        && e <= s
    {
        return Err(Error::BadOption {
            option: "--end",
            value: e.to_string(),
            legal: format!("must be after the start, {s} s"),
        });
    }
    Ok(())
}

fn open_whole(input: &Input, options: &OpenOptions) -> Result<Box<dyn FrameSource>> {
    let name = input.to_string();
    let path = match input {
        Input::Stdin => {
            let stdin = std::io::stdin();
            return Ok(match &options.raw {
                Some(raw) => Box::new(RawReader::new(Box::new(stdin), name, raw.clone(), None)?),
                None => Box::new(Y4mReader::new(Box::new(stdin), name, None)?),
            });
        }
        Input::Path(p) => p,
    };
    let mut file = File::open(path).map_err(|e| Error::io(&name, e))?;
    let meta = file.metadata().map_err(|e| Error::io(&name, e))?;
    if meta.is_dir() {
        return Err(Error::io(&name, std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    // A pipe or device has no size to trust and cannot be rewound.
    let size = meta.is_file().then_some(meta.len());
    if let Some(raw) = &options.raw {
        return Ok(Box::new(RawReader::new(Box::new(file), name, raw.clone(), size)?));
    }
    if size.is_none() {
        return Ok(Box::new(Y4mReader::new(Box::new(file), name, None)?));
    }
    let mut head = [0u8; 16];
    let got = read_up_to(&mut file, &mut head).map_err(|e| Error::io(&name, e))?;
    if got == 0 {
        return Err(Error::broken(&name, "the file is empty"));
    }
    file.seek(SeekFrom::Start(0)).map_err(|e| Error::io(&name, e))?;
    if head.starts_with(crate::y4m::MAGIC) {
        return Ok(Box::new(Y4mReader::new(Box::new(file), name, size)?));
    }
    drop(file);
    match Ffmpeg::find().filter(|_| options.decoder != DecoderChoice::BuiltIn) {
        Some(tools) => {
            let media = Media::probe(tools, path)?;
            Ok(Box::new(FfmpegReader::new(&media, path, options.start)?))
        }
        None => Err(Error::NeedsFfmpeg { path: name, what: "this file".into() }),
    }
}

/// Reads until `buf` is full or the input ends.
pub(crate) fn read_up_to(reader: &mut (impl Read + ?Sized), buf: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buf.len() {
        match reader.read(&mut buf[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

/// What to say of an interlaced source.
pub(crate) fn interlace_note(info: &StreamInfo) -> Option<String> {
    info.fields.is_interlaced().then(|| {
        "the source is interlaced: each frame holds two moments and is processed as it is; deinterlace first for a clean result"
            .to_owned()
    })
}
