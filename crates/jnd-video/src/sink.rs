//! Creating a video: where frames go.

use std::path::{Path, PathBuf};

use crate::ffmpeg::{Container, Ffmpeg, FfmpegWriter};
use crate::output::OutputFile;
use crate::raw::RawWriter;
use crate::source::check_span;
use crate::y4m::Y4mWriter;
use crate::{Error, Frame, PixelFormat, Result, StreamInfo, StreamKind};

/// A place for frames. Dropping it without [`FrameSink::finish`] gives the output up and removes what was written.
pub trait FrameSink: Send {
    /// Writes one frame, which must be of the stream's format and size.
    ///
    /// # Errors
    /// Whatever keeps the frame from being written.
    fn write(&mut self, frame: &Frame) -> Result<()>;

    /// Completes the output and moves it to its final name.
    ///
    /// # Errors
    /// Whatever keeps the output from being completed; nothing is left behind then.
    fn finish(self: Box<Self>) -> Result<()>;

    /// What encodes: `yuv4mpeg2`, `OpenH264 2.6`, `ffmpeg 5.1 (libx264)`.
    fn encoder(&self) -> String;

    /// Whether its frames are encoded by a codec, whose work keeps processors busy.
    fn is_coded(&self) -> bool {
        false
    }

    /// What the user should be told, such as timestamps that the format cannot hold.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Where a video goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A file; its extension says the format.
    Path(PathBuf),
    /// Standard output, as YUV4MPEG2.
    Stdout,
}

impl Output {
    /// `-` is standard output, everything else a path.
    pub fn from_arg(arg: impl Into<PathBuf>) -> Self {
        let path = arg.into();
        if path.as_os_str() == "-" { Self::Stdout } else { Self::Path(path) }
    }

    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(p) => Some(p),
            Self::Stdout => None,
        }
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(p) => p.display().fmt(f),
            Self::Stdout => f.write_str("standard output"),
        }
    }
}

/// A video codec that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// H.264 / AVC.
    H264,
    /// H.265 / HEVC.
    Hevc,
    /// FFV1, lossless.
    Ffv1,
    /// VP9.
    Vp9,
}

impl Codec {
    /// Every codec.
    pub const ALL: [Self; 4] = [Self::H264, Self::Hevc, Self::Ffv1, Self::Vp9];

    /// The name to ask for it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Hevc => "hevc",
            Self::Ffv1 => "ffv1",
            Self::Vp9 => "vp9",
        }
    }

    /// The codec of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// Which encoder to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncoderChoice {
    /// `ffmpeg` when it is there, else the built-in one.
    #[default]
    Auto,
    /// The built-in H.264 encoder.
    BuiltIn,
    /// `ffmpeg`.
    Ffmpeg,
}

/// How to create a video.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateOptions {
    /// Codec; by default what the extension says. Refused for YUV4MPEG2 and raw frames, as is `crf`.
    pub codec: Option<Codec>,
    /// Constant rate factor, the encoder's own scale (lower is better). 18 by default for H.264. The built-in encoder
    /// takes it as a constant quantiser.
    pub crf: Option<u8>,
    /// Keep every sample as it is (FFV1 in `.mkv`).
    pub lossless: bool,
    /// Convert to this format before encoding (through `ffmpeg`). Refused for YUV4MPEG2 and raw frames of another one.
    pub pix_fmt: Option<PixelFormat>,
    /// Repeat the last column or row where the codec needs even sides.
    pub pad_even: bool,
    /// Replace an existing file.
    pub overwrite: bool,
    /// File whose sound, subtitles, chapters, metadata and rotation are carried over.
    pub copy_from: Option<PathBuf>,
    /// Leave out the sound.
    pub no_audio: bool,
    /// The part of `copy_from` that the frames come from: start in seconds.
    pub start: Option<f64>,
    /// End in seconds, left out.
    pub end: Option<f64>,
    /// Which encoder.
    pub encoder: EncoderChoice,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            codec: None,
            crf: None,
            lossless: false,
            pix_fmt: None,
            pad_even: false,
            overwrite: false,
            copy_from: None,
            no_audio: false,
            start: None,
            end: None,
            encoder: EncoderChoice::Auto,
        }
    }
}

/// Creates a video of frames as `info` describes them. Everything that can be refused is refused here, before the work.
///
/// # Errors
/// Existing or unwritable output, a format that cannot hold these frames, a missing program; see [`Error`].
pub fn create(output: &Output, info: &StreamInfo, options: &CreateOptions) -> Result<Box<dyn FrameSink>> {
    check_span(options.start, options.end)?;
    if let (Output::Path(to), Some(from)) = (output, &options.copy_from)
        && same_file(from, to)
    {
        return Err(Error::SameFile { path: to.display().to_string() });
    }
    let extension =
        output.path().map(|p| p.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default());
    let open = || {
        check_uncoded(output, info, options)?;
        OutputFile::create(output, options.overwrite)
    };
    match extension.as_deref() {
        None | Some("y4m") => {
            Ok(silent(Box::new(Y4mWriter::new(open()?, output.to_string(), info)?), output, options))
        }
        Some("yuv" | "raw" | "rgb") => {
            Ok(silent(Box::new(RawWriter::new(open()?, info.clone())?), output, options))
        }
        Some(other) => {
            let (Some(container), Output::Path(path)) = (Container::of(other), output) else {
                return Err(Error::unsupported(
                    output.to_string(),
                    match other {
                        "" => "a name without extension".to_owned(),
                        _ => format!("the extension `.{other}`"),
                    },
                    match other {
                        "" if path_is_special(output) => {
                            "use `-`, which is YUV4MPEG2 to standard output, or a name that ends in .y4m"
                        }
                        _ => "use .mp4, .mov, .m4v, .mkv, .webm, .y4m or .yuv",
                    },
                )
                // A directory says nothing of a format; it cannot be written to, whatever its name.
                .by_request(!output.path().is_some_and(Path::is_dir)));
            };
            let wanted = options.encoder != EncoderChoice::BuiltIn;
            let Some(tools) = wanted.then(Ffmpeg::find).flatten() else {
                return match options.encoder {
                    EncoderChoice::Ffmpeg => {
                        Err(Error::needs_ffmpeg(path.display().to_string(), "--encoder ffmpeg"))
                    }
                    EncoderChoice::BuiltIn => create_builtin(path, container, info, options),
                    EncoderChoice::Auto => {
                        let sink = create_builtin(path, container, info, options)?;
                        Ok(match crate::ffmpeg::misnamed() {
                            Some(note) => Box::new(Noted { sink, note }),
                            None => sink,
                        })
                    }
                };
            };
            Ok(Box::new(FfmpegWriter::new(tools, path, container, info, options)?))
        }
    }
}

/// Whether an output is a pipe or device, which has no extension to tell the format.
fn path_is_special(output: &Output) -> bool {
    output.path().is_some_and(|p| crate::output::is_special(p) || p.starts_with("/dev"))
}

/// Refuses what only an encoder could do.
fn check_uncoded(output: &Output, info: &StreamInfo, options: &CreateOptions) -> Result<()> {
    let codec = options.codec.map(|codec| ("--codec", codec.name().to_owned()));
    if let Some((option, value)) = codec.or(options.crf.map(|crf| ("--crf", crf.to_string()))) {
        let legal = "YUV4MPEG2 and raw frames are not compressed; leave it out, or write .mp4, .mkv or .webm";
        return Err(Error::BadOption { option, value, legal: legal.into() });
    }
    match options.pix_fmt {
        Some(format) if format != info.format => Err(Error::unsupported(
            output.to_string(),
            format!("converting {} to {format} for YUV4MPEG2 and raw frames", info.format),
            "write `.mkv --lossless` with this --pix-fmt, or convert the input first with \
             `ffmpeg -i IN -pix_fmt FORMAT -c:v ffv1 CONVERTED.mkv`",
        )),
        _ => Ok(()),
    }
}

/// Starts to find out in the background what [`create`] will want to know of this machine, so that opening the input
/// meanwhile takes no time of its own. Nothing is created, refused or reported here.
pub fn prepare(output: &Output, options: &CreateOptions) {
    let extension = output.path().and_then(Path::extension).map(|e| e.to_string_lossy().to_lowercase());
    if options.encoder != EncoderChoice::BuiltIn
        && let Some(container) = extension.as_deref().and_then(Container::of)
    {
        crate::ffmpeg::prepare(container, options);
    }
}

/// A sink of pictures alone; it says so where there is sound that it leaves out.
fn silent(sink: Box<dyn FrameSink>, output: &Output, options: &CreateOptions) -> Box<dyn FrameSink> {
    match &options.copy_from {
        Some(from) if !options.no_audio && has_sound(from, options.encoder) => {
            let note = format!(
                "the sound of {} is left out, since {output} holds pictures alone; write .mkv or .mp4 to keep it, or leave it \
                 out with --no-audio",
                from.display()
            );
            Box::new(Noted { sink, note })
        }
        _ => sink,
    }
}

/// Whether a file has sound, as far as what is installed can tell.
fn has_sound(path: &Path, encoder: EncoderChoice) -> bool {
    if !path.is_file() || crate::y4m::is_y4m(path) {
        return false;
    }
    if encoder != EncoderChoice::BuiltIn
        && let Some(media) = Ffmpeg::probe(path)
    {
        return media.is_ok_and(|m| m.others.iter().any(|s| s.kind == StreamKind::Audio));
    }
    has_sound_in_mp4(path)
}

#[cfg(feature = "h264")]
fn has_sound_in_mp4(path: &Path) -> bool {
    use crate::mp4::{Mp4, TrackKind};
    std::fs::File::open(path)
        .ok()
        .and_then(|f| Mp4::read(&mut std::io::BufReader::new(f), &path.display().to_string()).ok())
        .is_some_and(|mp4| mp4.tracks.iter().any(|t| matches!(t.kind, TrackKind::Audio)))
}

/// Nothing that could tell is built in.
#[cfg(not(feature = "h264"))]
fn has_sound_in_mp4(_: &Path) -> bool {
    false
}

/// A sink with one more note.
struct Noted {
    sink: Box<dyn FrameSink>,
    note: String,
}

impl FrameSink for Noted {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        self.sink.write(frame)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.sink.finish()
    }

    fn encoder(&self) -> String {
        self.sink.encoder()
    }

    fn is_coded(&self) -> bool {
        self.sink.is_coded()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.sink.notes();
        notes.push(self.note.clone());
        notes
    }
}

/// Creates a file with what is built in.
#[cfg(feature = "h264")]
fn create_builtin(
    path: &Path,
    container: Container,
    info: &StreamInfo,
    options: &CreateOptions,
) -> Result<Box<dyn FrameSink>> {
    if matches!(container, Container::Mp4 | Container::Mov) && !crate::output::is_special(path) {
        return Ok(Box::new(crate::h264::H264Writer::new(path, info, options)?));
    }
    needs_ffmpeg(path)
}

/// Creates a file with what is built in: in this build nothing beyond YUV4MPEG2 and raw frames.
#[cfg(not(feature = "h264"))]
fn create_builtin(
    path: &Path,
    _: Container,
    _: &StreamInfo,
    _: &CreateOptions,
) -> Result<Box<dyn FrameSink>> {
    needs_ffmpeg(path)
}

fn needs_ffmpeg(path: &Path) -> Result<Box<dyn FrameSink>> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    Err(Error::needs_ffmpeg(path.display().to_string(), format!("writing .{extension}")))
}

/// Whether two paths name one file, be it by another path, a symbolic link or (on Unix) a hard link.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b || same_node(&a, &b),
        _ => false,
    }
}

/// Whether two paths are names of one regular file.
#[cfg(unix)]
fn same_node(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Elsewhere a hard link is not seen as the file that it is.
#[cfg(not(unix))]
fn same_node(_: &Path, _: &Path) -> bool {
    false
}

/// Checks that a frame is of its stream's format and size.
pub(crate) fn check_frame(info: &StreamInfo, frame: &Frame) -> Result<()> {
    if (frame.format(), frame.width(), frame.height()) == (info.format, info.width, info.height) {
        return Ok(());
    }
    Err(Error::FrameMismatch {
        have: format!("{}x{} {}", frame.width(), frame.height(), frame.format()),
        want: format!("{}x{} {}", info.width, info.height, info.format),
    })
}
