//! Reading frames.

use std::io::{BufRead, BufReader, Read};

use super::header::{MAX_HEADER, parse_header};
use crate::source::read_up_to;
use crate::{ChromaRounding, Error, Frame, FrameSource, Result, StreamInfo};

/// Frame headers and the ends of frames go through this buffer; the bulk of a frame goes past it.
const BUFFER: usize = 16 << 10;

/// Reads a YUV4MPEG2 stream.
pub(crate) struct Y4mReader {
    reader: BufReader<Box<dyn Read + Send>>,
    name: String,
    info: StreamInfo,
    delivered: u64,
    line: Vec<u8>,
    /// Whether the header names no rate.
    rate_assumed: bool,
}

impl Y4mReader {
    /// Reads the header. `size` is the file's, where it has one.
    pub(crate) fn new(reader: Box<dyn Read + Send>, name: String, size: Option<u64>) -> Result<Self> {
        let mut reader = BufReader::with_capacity(BUFFER, reader);
        let mut line = Vec::new();
        let complete = read_line(&mut reader, &mut line, MAX_HEADER).map_err(|e| Error::io(&name, e))?;
        if line.is_empty() {
            return Err(Error::broken(name, "it is empty"));
        }
        if !line.starts_with(&super::MAGIC[..super::MAGIC.len().min(line.len())]) {
            return Err(Error::broken(
                name,
                "it is not YUV4MPEG2, the one format read from a pipe (raw frames need their geometry)",
            ));
        }
        if !complete {
            return Err(match line.len() >= MAX_HEADER {
                true => Error::broken(name, format!("YUV4MPEG2 header is longer than {MAX_HEADER} bytes")),
                false => Error::Truncated { path: name, frames: 0, detail: "inside the header".into() },
            });
        }
        let header = parse_header(&line, &name)?;
        let (mut info, rate_assumed) = (header.info, header.rate_assumed);
        if let Some(size) = size {
            // Frame headers almost never carry parameters, so the size tells the count; where it does not fit, the
            // count is not known for certain.
            let frame = frame_bytes(&info) + FRAME.len() as u64 + 1;
            let rest = size.saturating_sub(line.len() as u64 + 1);
            info.frames = rest.is_multiple_of(frame).then_some(rest / frame);
            if rest > 0 && rest < frame {
                // Said here, so that no buffer is made for a picture that only the header claims.
                let detail = format!("{rest} bytes follow the header, a frame takes {frame}");
                return Err(Error::Truncated { path: name, frames: 0, detail });
            }
        }
        Ok(Self { reader, name, info, delivered: 0, line, rate_assumed })
    }

    fn truncated(&self, detail: String) -> Error {
        Error::Truncated { path: self.name.clone(), frames: self.delivered, detail }
    }
}

/// What a frame starts with.
const FRAME: &[u8] = b"FRAME";

fn frame_bytes(info: &StreamInfo) -> u64 {
    info.format.frame_bytes(info.width, info.height, ChromaRounding::Ceil) as u64
}

/// Reads up to a newline, which is taken off; false when the input or the limit ends first.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> std::io::Result<bool> {
    line.clear();
    reader.take(limit as u64).read_until(b'\n', line)?;
    Ok(if line.last() == Some(&b'\n') {
        line.pop();
        true
    } else {
        false
    })
}

impl FrameSource for Y4mReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        let complete =
            read_line(&mut self.reader, &mut self.line, MAX_HEADER).map_err(|e| Error::io(&self.name, e))?;
        if self.line.is_empty() && !complete {
            if self.delivered == 0 {
                return Err(Error::NoFrames { path: self.name.clone() });
            }
            return Ok(false);
        }
        let head = &self.line[..self.line.len().min(FRAME.len())];
        let next = self.line.get(FRAME.len());
        if !FRAME.starts_with(head) || next.is_some_and(|&b| b != b' ' && b != b'\r') {
            return Err(Error::broken(
                &self.name,
                format!("frame {} does not start with `FRAME`", self.delivered),
            ));
        }
        if !complete {
            return Err(self.truncated("inside a frame header".into()));
        }
        if head.len() < FRAME.len() {
            return Err(Error::broken(
                &self.name,
                format!("frame {} does not start with `FRAME`", self.delivered),
            ));
        }
        let buf = frame.bytes_mut();
        let got = read_up_to(&mut self.reader, buf).map_err(|e| Error::io(&self.name, e))?;
        if got < buf.len() {
            let want = buf.len();
            return Err(self.truncated(format!("{got} of {want} bytes of the next frame are there")));
        }
        frame.timestamp = self.delivered as i64;
        self.delivered += 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        "yuv4mpeg2".into()
    }

    fn notes(&self) -> Vec<String> {
        let rate =
            self.rate_assumed.then(|| "the clip names no frame rate: 25 frames a second are assumed".into());
        rate.into_iter().chain(crate::source::interlace_note(&self.info)).collect()
    }
}
