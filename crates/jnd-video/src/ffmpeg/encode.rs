//! Frames into `ffmpeg`, with their timestamps, and everything else of the source beside them.

use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;

use super::child::{Ended, Running, enlarge_pipe};
use super::plan::{self, Container};
use super::{Ffmpeg, Media, file_argument, whole};
use crate::adapt::Adapter;
use crate::nut::{NutStream, NutWriter};
use crate::output::{TemporaryPath, is_special};
use crate::{
    ChromaSiting, Codec, ColorRange, CreateOptions, Error, Frame, FrameSink, Rational, Result, StreamInfo,
    StreamKind,
};

/// Writes a file through `ffmpeg`.
pub(crate) struct FfmpegWriter {
    nut: Option<NutWriter<ChildStdin>>,
    running: Running,
    adapter: Adapter,
    info: StreamInfo,
    temporary: Option<TemporaryPath>,
    container: Container,
    /// Ticks of the file for each of the stream's.
    scale: i64,
    /// Rotation to write into the file's header when it is complete.
    rotation: u16,
    name: String,
    encoder: String,
    notes: Vec<String>,
}

impl FfmpegWriter {
    /// Checks everything and starts encoding.
    pub(crate) fn new(
        tools: Arc<Ffmpeg>,
        path: &Path,
        container: Container,
        info: &StreamInfo,
        options: &CreateOptions,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let codec = plan::codec(&name, container, options)?;
        let crf = plan::crf(codec, options)?;
        let turn = info.rotation != 0 && !container.keeps_rotation();
        let target = options.pix_fmt.unwrap_or(info.format);
        let even = plan::check_even(&name, codec, target, (info.width, info.height), options)?;
        let adapter = Adapter::new(info, turn, even)?;
        let written = adapter.info().clone();
        let encoder = plan::encoder(codec);
        let supported = plan::encoder_formats(&tools.ffmpeg, &name, encoder)?;
        let target = options.pix_fmt.unwrap_or(written.format);
        let pix_fmt = plan::encoder_format(&name, codec, target, &supported)
            .map_err(|e| e.by_request(options.pix_fmt.is_some()))?;
        let fourcc = crate::nut::fourcc(written.format).ok_or_else(|| {
            Error::unsupported(&name, format!("passing {} to ffmpeg", written.format), "use another format")
        })?;
        let source =
            options.copy_from.as_deref().map(|p| Source::new(&tools, p, container, options)).transpose()?;
        let source = source.flatten();

        let convert = options.pix_fmt.filter(|&f| f != written.format).map(|f| (pix_fmt.as_str(), f));
        let (filters, tagged) = plan::filters(&written, convert);
        let (temporary, target_path): (_, PathBuf) = if is_special(path) {
            (None, path.to_path_buf())
        } else {
            let (t, _file) = TemporaryPath::new(path, options.overwrite)?;
            let p = t.path().to_path_buf();
            (Some(t), p)
        };

        let mut command = Command::new(&tools.ffmpeg.command);
        command.args(["-hide_banner", "-v", "error", "-y", "-copyts"]);
        command.args(["-f", "nut", "-i", "pipe:0"]);
        let mut notes = Vec::new();
        if let Some(s) = &source {
            s.input(&mut command, options);
            notes.extend(s.others.notes.iter().cloned());
        }
        command.args(["-map", "0:v:0"]);
        match &source {
            Some(s) => s.output(&mut command, options),
            None => _ = command.args(["-map_metadata", "-1"]),
        }
        command.args(["-vf", &filters, "-c:v", encoder, "-pix_fmt", &pix_fmt]);
        let passthrough = if tools.ffmpeg.number >= (5, 1) { "-fps_mode" } else { "-vsync" };
        command.args([passthrough, "passthrough"]);
        let (tb, scale) = file_ticks(written.time_base);
        command.args(["-enc_time_base", &format!("{}:{}", tb.num(), tb.den())]);
        codec_options(&mut command, codec, crf, container, &tagged);
        color_options(&mut command, &tagged);
        let counts_ticks = matches!(container, Container::Mp4 | Container::Mov);
        if counts_ticks && !written.variable_rate && tools.ffmpeg.number >= (5, 0) {
            // A frame's length is not in NUT, and no length can be guessed for the last frame, or the only one.
            let rate = written.rate;
            command.args([
                "-bsf:v",
                &format!("setts=pts=PTS:dts=DTS:duration=round({}/({}*TB))", rate.den(), rate.num()),
            ]);
        }
        command.args(["-f", container.muxer()]).arg(file_argument(&target_path));
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut running = Running::start(command, "ffmpeg", &name)?;
        let Some(stdin) = running.child().stdin.take() else {
            return Err(Error::io(&name, std::io::Error::other("no pipe to ffmpeg")));
        };
        enlarge_pipe(&stdin);
        if turn {
            notes.push(format!(
                "the pixels were turned by {} degrees; .mp4 and .mov keep the rotation as a tag",
                info.rotation
            ));
        }
        let stream = NutStream {
            fourcc: fourcc.to_vec(),
            width: written.width,
            height: written.height,
            time_base: tb,
            sample_aspect: written.pixel_aspect.map(|a| (a.num(), a.den())),
        };
        let mut this = Self {
            nut: None,
            running,
            adapter,
            info: info.clone(),
            temporary,
            container,
            scale,
            rotation: if turn { 0 } else { info.rotation },
            encoder: format!("ffmpeg {} ({encoder})", tools.ffmpeg.short()),
            name,
            notes,
        };
        this.nut = Some(NutWriter::new(stdin, &stream).map_err(|e| this.explain(e))?);
        Ok(this)
    }

    /// A pipe that breaks means that the program died: its own words say why.
    fn explain(&mut self, error: Error) -> Error {
        if !error.is_broken_pipe() {
            return error;
        }
        self.nut = None;
        match self.running.wait() {
            Ok(ended) => self.failure(&ended),
            Err(e) => e,
        }
    }

    /// The error of a program that has ended badly. A full disk needs no more words than that.
    fn failure(&self, ended: &Ended) -> Error {
        match whole::no_room(&ended.lines) {
            Some(e) => Error::io(&self.name, e),
            None => self.running.failure(ended),
        }
    }
}

impl FrameSink for FfmpegWriter {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let frame = self.adapter.apply(frame)?;
        let Some(nut) = &mut self.nut else {
            return Err(Error::io(&self.name, std::io::Error::other("written to after it was closed")));
        };
        match nut.write_frame(frame.timestamp.saturating_mul(self.scale), frame.bytes()) {
            Ok(()) => Ok(()),
            Err(e) => Err(self.explain(e)),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        // Closing the pipe tells the program that all frames are there.
        self.nut = None;
        let ended = self.running.wait()?;
        if !ended.status.success() {
            return Err(self.failure(&ended));
        }
        if let Some(t) = self.temporary.take() {
            whole::check(t.path(), &self.name, self.container)?;
            if self.rotation != 0 {
                crate::matrix::write_rotation(t.path(), &self.name, self.rotation)?;
            }
            t.finish()?;
        }
        Ok(())
    }

    fn is_coded(&self) -> bool {
        true
    }

    fn encoder(&self) -> String {
        self.encoder.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Drop for FfmpegWriter {
    fn drop(&mut self) {
        // The program must be gone before its file is removed.
        let _ = self.running.child().kill();
        let _ = self.running.child().wait();
        self.temporary = None;
    }
}

/// The time base for the file and its ticks for each tick of `tb`. MP4 files count in whole fractions of a second, of
/// which `ffmpeg` wants 10,000 or more; with such a clock from the start, nothing is rescaled on the way.
fn file_ticks(tb: Rational) -> (Rational, i64) {
    let mut den = tb.den();
    while den < 10_000 {
        den *= 2;
    }
    let ticks = tb.num().checked_mul(den / tb.den()).and_then(|t| i64::try_from(t).ok());
    match (Rational::new(1, den), ticks) {
        (Ok(fine), Some(ticks)) => (fine, ticks),
        _ => (tb, 1),
    }
}

fn codec_options(
    command: &mut Command,
    codec: Codec,
    crf: Option<u8>,
    container: Container,
    info: &StreamInfo,
) {
    if let Some(crf) = crf {
        command.args(["-crf", &crf.to_string()]);
    }
    match codec {
        Codec::H264 => {
            command.args(["-preset", "medium"]);
            if info.fields.is_interlaced() {
                command.args(["-flags", "+ilme+ildct"]);
            }
        }
        Codec::Hevc => {
            command.args(["-preset", "medium", "-x265-params", "log-level=error"]);
            if matches!(container, Container::Mp4 | Container::Mov) {
                command.args(["-tag:v", "hvc1"]);
            }
        }
        Codec::Ffv1 => {
            command.args(["-g", "1"]);
            // Slices let all processors work and carry checksums. Smaller pictures cannot be cut, and level 3 of a
            // picture of one pixel comes out black (ffmpeg 5.1).
            if info.width >= 64 && info.height >= 64 {
                command.args(["-level", "3", "-slices", "4", "-slicecrc", "1"]);
            }
        }
        Codec::Vp9 => {
            command.args(["-b:v", "0", "-deadline", "good", "-cpu-used", "4", "-row-mt", "1"]);
        }
    }
    if matches!(container, Container::Mp4 | Container::Mov) {
        command.args(["-movflags", "+faststart"]);
    }
}

fn color_options(command: &mut Command, info: &StreamInfo) {
    let c = info.color;
    match c.range {
        ColorRange::Full => _ = command.args(["-color_range", "pc"]),
        ColorRange::Limited => _ = command.args(["-color_range", "tv"]),
        ColorRange::Unspecified => {}
    }
    for (option, code) in
        [("-color_primaries", c.primaries), ("-color_trc", c.transfer), ("-colorspace", c.matrix)]
    {
        if code != 2 {
            command.args([option, &code.to_string()]);
        }
    }
    let siting = match info.siting {
        ChromaSiting::Left => "left",
        ChromaSiting::Center => "center",
        ChromaSiting::TopLeft => "topleft",
        ChromaSiting::Unspecified => return,
    };
    command.args(["-chroma_sample_location", siting]);
}

/// The file whose other streams and tags are carried over.
struct Source {
    path: PathBuf,
    start: f64,
    picture: Option<u64>,
    others: plan::Others,
}

impl Source {
    /// `None` where there is nothing to carry over.
    fn new(
        tools: &Arc<Ffmpeg>,
        path: &Path,
        container: Container,
        options: &CreateOptions,
    ) -> Result<Option<Self>> {
        if crate::y4m::is_y4m(path) {
            return Ok(None);
        }
        let media = Media::probe(tools.clone(), path)?;
        let mut others = plan::others(&media.name, container, &media.others, options.no_audio)?;
        if options.start.is_some_and(|s| s > 0.0) {
            // A line of text that began before the start would move the start of the whole file.
            let before = others.streams.len();
            others.streams.retain(|(_, kind, _)| *kind != StreamKind::Subtitle);
            if others.streams.len() < before {
                others.notes.push("subtitles are not carried over into a part that starts later".into());
            }
        }
        let picture = media.picture.as_ref().map(|p| p.index);
        Ok(Some(Self { path: path.to_path_buf(), start: media.start, picture, others }))
    }

    fn input(&self, command: &mut Command, options: &CreateOptions) {
        let start = options.start.unwrap_or(0.0);
        // The picture's timestamps count from the start of the part; so must the others'.
        command.args(["-itsoffset", &format!("{:.6}", -(self.start + start))]);
        if start > 0.0 {
            command.args(["-ss", &format!("{start:.6}")]);
        }
        command.arg("-i").arg(file_argument(&self.path));
    }

    fn output(&self, command: &mut Command, options: &CreateOptions) {
        for (index, ..) in &self.others.streams {
            command.args(["-map", &format!("1:{index}")]);
        }
        let mut counts = [0; 3];
        for (_, kind, value) in &self.others.streams {
            let (slot, letter) = match kind {
                StreamKind::Audio => (0, 'a'),
                StreamKind::Subtitle => (1, 's'),
                _ => (2, 't'),
            };
            command.args([&format!("-c:{letter}:{}", counts[slot]), *value]);
            counts[slot] += 1;
        }
        command.args(["-map_metadata", "1"]);
        let picture = self.picture.iter();
        let rest = self.others.streams.iter().map(|(i, ..)| i);
        for (out, index) in picture.chain(rest).enumerate() {
            command.args([format!("-map_metadata:s:{out}"), format!("1:s:{index}")]);
        }
        let trimmed = options.start.is_some_and(|s| s > 0.0) || options.end.is_some();
        command.args(["-map_chapters", if trimmed { "-1" } else { "1" }]);
        if options.start.is_some_and(|s| s > 0.0) {
            // Sound from before the start, which seeking to a key frame brings, is dropped.
            command.args(["-copypriorss", "0"]);
        }
        if let Some(end) = options.end {
            command.args(["-t", &format!("{:.6}", end - options.start.unwrap_or(0.0))]);
        }
    }
}
