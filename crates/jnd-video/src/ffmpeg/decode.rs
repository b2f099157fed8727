//! Frames out of `ffmpeg`, with their timestamps.

use std::io::BufReader;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use super::child::{Running, enlarge_pipe};
use super::{Media, file_argument};
use crate::nut::NutReader;
use crate::{Error, Frame, FrameSource, Result, StreamInfo};

/// Headers between frames go through this buffer; frames go past it.
const BUFFER: usize = 512;

/// Seconds before the start at which decoding begins when only a later part is wanted.
const LEAD: f64 = 2.0;

/// What `ffmpeg` says when a file ends too early.
const CUT_SIGNS: [&str; 4] = ["ended prematurely", "partial file", "truncated", "Truncat"];

/// Reads frames from `ffmpeg`.
pub(crate) struct FfmpegReader {
    nut: NutReader<BufReader<ChildStdout>>,
    running: Running,
    info: StreamInfo,
    name: String,
    decoder: String,
    hint: Option<u64>,
    notes: Vec<String>,
    warnings: Vec<String>,
    delivered: u64,
    ended: bool,
}

impl FfmpegReader {
    /// Starts decoding. `start` is a hint that frames before it are not wanted.
    pub(crate) fn new(media: &Media, path: &Path, start: Option<f64>) -> Result<Self> {
        let p = media.picture.as_ref().ok_or_else(|| media.no_video())?;
        let tools = &media.tools;
        let mut command = Command::new(&tools.ffmpeg.command);
        command.args(["-nostdin", "-hide_banner", "-v", "error"]);
        if !p.turned_by_ffmpeg {
            command.arg("-noautorotate");
        }
        // Timestamps count from the start of the file, whatever its clock says.
        command.args(["-copyts", "-itsoffset", &format!("{:.6}", -media.start)]);
        if let Some(start) = start.filter(|s| *s > LEAD + 1.0) {
            command.args(["-ss", &format!("{:.6}", start - LEAD)]);
        }
        command.arg("-i").arg(file_argument(path));
        command.args(["-map", &format!("0:{}", p.index), "-an", "-sn", "-dn", "-map_metadata", "-1"]);
        let passthrough = if tools.ffmpeg.number >= (5, 1) { "-fps_mode" } else { "-vsync" };
        command.args([passthrough, "passthrough"]);
        let tb = p.info.time_base;
        command.args(["-enc_time_base", &format!("{}:{}", tb.num(), tb.den())]);
        command.args(["-sws_flags", "accurate_rnd+full_chroma_int+bitexact"]);
        command.args(["-c:v", "rawvideo", "-pix_fmt", &p.asked, "-f", "nut", "pipe:1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Running::start(command, "ffmpeg", &media.name)?;
        let Some(stdout) = running.child().stdout.take() else {
            return Err(Error::io(&media.name, std::io::Error::other("no pipe from ffmpeg")));
        };
        enlarge_pipe(&stdout);
        let nut = match NutReader::new(BufReader::with_capacity(BUFFER, stdout), media.name.clone()) {
            Ok(nut) => nut,
            Err(e) => {
                // It wrote no header: it failed before the first frame, or there is none.
                let ended = running.wait()?;
                return Err(match (&e, ended.status.success()) {
                    (Error::Io { .. }, _) => e,
                    (_, true) => Error::NoFrames { path: media.name.clone() },
                    (_, false) => running.failure(&ended),
                });
            }
        };
        let s = nut.stream();
        let mut info = p.info.clone();
        // What arrives counts: the pictures may have been turned.
        crate::check_size(s.width, s.height)?;
        (info.width, info.height) = (s.width, s.height);
        info.time_base = s.time_base;
        Ok(Self {
            info,
            running,
            name: media.name.clone(),
            decoder: format!("ffmpeg {} ({})", tools.ffmpeg.short(), p.codec),
            hint: p.frames_hint,
            notes: p.notes.clone(),
            warnings: Vec::new(),
            delivered: 0,
            ended: false,
            nut,
        })
    }

    /// Sees why the stream has ended.
    fn end(&mut self) -> Result<bool> {
        self.ended = true;
        let ended = self.running.wait()?;
        let cut = ended.lines.iter().find(|l| CUT_SIGNS.iter().any(|s| l.contains(s)));
        if let Some(line) = cut {
            return Err(Error::Truncated {
                path: self.name.clone(),
                frames: self.delivered,
                detail: format!("ffmpeg: {line}"),
            });
        }
        if !ended.status.success() {
            return Err(self.running.failure(&ended));
        }
        if self.delivered == 0 {
            return Err(Error::NoFrames { path: self.name.clone() });
        }
        if let Some(first) = ended.lines.first() {
            let more = match ended.said {
                0 | 1 => String::new(),
                n => format!(", the first of {n} messages"),
            };
            self.warnings.push(format!(
                "{}: ffmpeg met errors while decoding and went on, so some pictures are damaged or missing ({first}{more})",
                self.name
            ));
        }
        Ok(false)
    }
}

impl FrameSource for FfmpegReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        if self.ended {
            return Ok(false);
        }
        let head = match self.nut.next_frame() {
            Ok(Some(head)) => head,
            // A pipe that ends inside a frame means that the program died: its own words say why.
            Ok(None) | Err(Error::Truncated { .. }) => return self.end(),
            Err(e) => return Err(e),
        };
        match self.nut.read_data(&head, frame.bytes_mut()) {
            Err(Error::Truncated { .. }) => return self.end(),
            r => r?,
        }
        frame.timestamp = head.pts;
        self.delivered += 1;
        Ok(true)
    }

    fn is_coded(&self) -> bool {
        true
    }

    fn decoder(&self) -> String {
        self.decoder.clone()
    }

    fn frames_hint(&self) -> Option<u64> {
        self.hint
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
