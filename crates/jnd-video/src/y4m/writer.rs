//! Writing frames.

use super::header::write_header;
use crate::output::OutputFile;
use crate::rotate::Rotated;
use crate::{Frame, FrameSink, Result, StreamInfo};

/// Writes a YUV4MPEG2 stream. The format has no rotation tag, so the pixels are turned; and no timestamps, so frames
/// simply follow each other.
pub(crate) struct Y4mWriter {
    out: OutputFile,
    info: StreamInfo,
    turned: Option<Rotated>,
}

impl Y4mWriter {
    pub(crate) fn new(out: OutputFile, name: String, info: &StreamInfo) -> Result<Self> {
        let turned = Rotated::new(info)?;
        let header = write_header(turned.as_ref().map_or(info, Rotated::info), &name)?;
        let mut this = Self { out, info: info.clone(), turned };
        this.out.with(|w| w.write_all(header.as_bytes()))?;
        Ok(this)
    }
}

impl FrameSink for Y4mWriter {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let frame = match &mut self.turned {
            Some(t) => t.turn(frame)?,
            None => frame,
        };
        self.out.with(|w| {
            w.write_all(b"FRAME\n")?;
            w.write_all(frame.bytes())
        })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.out.finish()
    }

    fn encoder(&self) -> String {
        "yuv4mpeg2".into()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.info.variable_rate {
            notes.push(format!(
                "the frames come at irregular times, which YUV4MPEG2 cannot hold: they are written at their mean rate, {} frames a second; \
                 write .mkv or .mp4 to keep the times",
                self.info.rate
            ));
        }
        if self.turned.is_some() {
            notes.push(format!(
                "YUV4MPEG2 has no rotation tag: the pixels were turned by {} degrees",
                self.info.rotation
            ));
        }
        notes
    }
}
