//! Writing frames.

use super::header::write_header;
use crate::adapt::Adapter;
use crate::output::OutputFile;
use crate::{Frame, FrameSink, Result, StreamInfo};

/// Writes a YUV4MPEG2 stream. The format has no rotation tag, so the pixels are turned; and no timestamps, so frames
/// simply follow each other.
pub(crate) struct Y4mWriter {
    out: OutputFile,
    info: StreamInfo,
    adapter: Adapter,
    /// The header, until it is written: with the first frame, so that a job which is refused before that leaves standard
    /// output untouched.
    header: Option<String>,
}

impl Y4mWriter {
    pub(crate) fn new(out: OutputFile, name: String, info: &StreamInfo) -> Result<Self> {
        let adapter = Adapter::new(info, true, (false, false))?;
        let header = write_header(adapter.info(), &name)?;
        Ok(Self { out, info: info.clone(), adapter, header: Some(header) })
    }

    fn start(&mut self) -> Result<()> {
        match self.header.take() {
            Some(header) => self.out.with(|w| w.write_all(header.as_bytes())),
            None => Ok(()),
        }
    }
}

impl FrameSink for Y4mWriter {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        self.start()?;
        let frame = self.adapter.apply(frame)?;
        self.out.with(|w| {
            w.write_all(b"FRAME\n")?;
            w.write_all(frame.bytes())
        })
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.start()?;
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
        if self.info.rotation != 0 {
            notes.push(format!(
                "YUV4MPEG2 has no rotation tag: the pixels were turned by {} degrees",
                self.info.rotation
            ));
        }
        notes
    }
}
