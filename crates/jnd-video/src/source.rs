//! Opening a video: where frames come from.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::ffmpeg::{Ffmpeg, FfmpegReader};
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

    /// Whether its frames are decoded by a codec, whose work keeps processors busy.
    fn is_coded(&self) -> bool {
        false
    }

    /// Number of frames to expect, for a progress bar. Unlike [`StreamInfo::frames`] it may be off.
    fn frames_hint(&self) -> Option<u64> {
        self.info().frames
    }

    /// What the user should be told: a dropped alpha channel, a source that is interlaced, a decoder that is not exact.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What went wrong without ending the stream: pictures that the decoder had to patch up. All of it once the end has
    /// been read.
    fn warnings(&self) -> Vec<String> {
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
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    if matches!(extension.as_deref(), Some("yuv" | "rgb")) {
        return Err(Error::unsupported(
            name,
            "a file of raw frames without their geometry",
            "give it with --raw SIZE:FORMAT:RATE, for example --raw 640x480:yuv420p:25",
        ));
    }
    if options.decoder != DecoderChoice::BuiltIn
        && let Some(media) = Ffmpeg::probe(path)
    {
        return Ok(Box::new(FfmpegReader::new(&*media?, path, options.start)?));
    }
    match options.decoder {
        DecoderChoice::Ffmpeg => Err(Error::needs_ffmpeg(name, "--decoder ffmpeg")),
        DecoderChoice::BuiltIn => open_builtin(path, name, &head),
        DecoderChoice::Auto => {
            let source = open_builtin(path, name, &head)?;
            Ok(match crate::ffmpeg::misnamed() {
                Some(note) => Box::new(Noted { source, note }),
                None => source,
            })
        }
    }
}

/// A source with one more note.
struct Noted {
    source: Box<dyn FrameSource>,
    note: String,
}

impl FrameSource for Noted {
    fn info(&self) -> &StreamInfo {
        self.source.info()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        self.source.read(frame)
    }

    fn decoder(&self) -> String {
        self.source.decoder()
    }

    fn is_coded(&self) -> bool {
        self.source.is_coded()
    }

    fn frames_hint(&self) -> Option<u64> {
        self.source.frames_hint()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.source.notes();
        notes.push(self.note.clone());
        notes
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }

    fn new_frame(&self) -> Result<Frame> {
        self.source.new_frame()
    }
}

/// Opens a file with what is built in.
#[cfg(feature = "h264")]
fn open_builtin(path: &Path, name: String, head: &[u8; 16]) -> Result<Box<dyn FrameSource>> {
    // The first box of an MP4 or MOV file.
    if matches!(&head[4..8], b"ftyp" | b"moov" | b"mdat" | b"wide" | b"free" | b"skip") {
        return Ok(Box::new(crate::h264::H264Reader::new(path)?));
    }
    Err(Error::needs_ffmpeg(name, format!("{}, which is neither YUV4MPEG2 nor MP4,", kind(head))))
}

/// Opens a file with what is built in: in this build nothing beyond YUV4MPEG2 and raw frames.
#[cfg(not(feature = "h264"))]
fn open_builtin(_: &Path, name: String, head: &[u8; 16]) -> Result<Box<dyn FrameSource>> {
    Err(Error::needs_ffmpeg(name, format!("{}, which is not YUV4MPEG2,", kind(head))))
}

/// What a file is by its first bytes.
fn kind(head: &[u8; 16]) -> &'static str {
    match head {
        [0x1A, 0x45, 0xDF, 0xA3, ..] => "a Matroska or WebM file",
        [b'R', b'I', b'F', b'F', ..] => "an AVI file",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "an MP4 file",
        [b'G', b'I', b'F', ..] => "a GIF file",
        [0x47, ..] => "an MPEG transport stream",
        [0, 0, 1, 0xBA, ..] => "an MPEG program stream",
        [0xFF, 0xD8, ..] | [0x89, b'P', b'N', b'G', ..] => "a picture file",
        [b'F', b'L', b'V', ..] => "a Flash file",
        _ => "this file",
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

/// Sets the rate from timestamps alone.
#[cfg(feature = "h264")]
pub(crate) fn set_rate(times: &[i64], info: &mut StreamInfo) {
    // The most frequent step is the rate that the camera meant.
    let mut steps: Vec<i64> = times.windows(2).map(|w| w[1] - w[0]).filter(|&d| d > 0).collect();
    steps.sort_unstable();
    let common = steps.chunk_by(|a, b| a == b).max_by_key(|c| c.len()).and_then(|c| c.first());
    let base = common.and_then(|&d| {
        let per_second = u64::try_from(d).ok()?.checked_mul(info.time_base.num())?;
        Rate::new(info.time_base.den(), per_second).ok()
    });
    regularity(times, base, info);
}

/// Decides whether timestamps are those of a constant rate, and sets the stream's rate.
pub(crate) fn regularity(times: &[i64], base: Option<Rate>, info: &mut StreamInfo) {
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return };
    if times.len() < 2 {
        info.rate = base.unwrap_or(info.rate);
        return;
    }
    let tick = info.time_base.as_f64();
    let steady = |rate: Rate| {
        let step = 1.0 / rate.as_f64() / tick;
        // Half a frame off its place is a frame too early or too late.
        times.iter().enumerate().all(|(i, &t)| ((t - first) as f64 - i as f64 * step).abs() < 0.5 * step)
    };
    let steps = times.len() as u64 - 1;
    let mean = u64::try_from(last - first)
        .ok()
        .and_then(|span| {
            Some((steps.checked_mul(info.time_base.den())?, span.checked_mul(info.time_base.num())?))
        })
        .and_then(|(n, d)| Rate::new(n, d).ok());
    if let Some(rate) = base.filter(|&r| steady(r)) {
        info.rate = rate;
    } else if let Some(rate) = mean {
        info.rate = rate;
        info.variable_rate = !steady(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Rational};

    fn info() -> StreamInfo {
        let format = PixelFormat::new(Layout::Gray, 8).unwrap();
        let mut i = StreamInfo::new(format, 4, 4, Rate::new(25, 1).unwrap()).unwrap();
        i.time_base = Rational::new(1, 1000).unwrap();
        i
    }

    #[test]
    fn rounded_timestamps_are_still_a_constant_rate() {
        let base = Rate::new(30000, 1001).unwrap();
        let times: Vec<i64> = (0..500).map(|i| (i as f64 * 1001.0 / 30.0).round() as i64).collect();
        let mut i = info();
        regularity(&times, Some(base), &mut i);
        assert_eq!((i.rate, i.variable_rate), (base, false));
    }

    #[test]
    fn a_change_of_rate_is_variable_and_the_mean_is_exact() {
        let mut times: Vec<i64> = (0..30).map(|i| i * 40).collect();
        times.extend((0..30).map(|i| 1200 + i * 100));
        let mut i = info();
        regularity(&times, Some(Rate::new(25, 1).unwrap()), &mut i);
        assert!(i.variable_rate);
        assert_eq!(i.rate, Rate::new(59_000, 1200 + 2900).unwrap());
    }
}
