//! Frames kept in a file: a pipe that must be read twice, or results that come in strips.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jnd_video::{Error, Frame, FrameSource, Result, StreamInfo, Timestamp};

/// Frames of one stream, one after another in a file without a name, which the system removes whatever happens.
pub(crate) struct SpoolFile {
    file: File,
    place: String,
    limit: u64,
    frame_bytes: u64,
    times: Vec<Timestamp>,
    /// Where the file's cursor is, so that reading and writing in order needs no seeks.
    cursor: u64,
}

impl SpoolFile {
    /// An empty spool for frames of `info` in `directory` (the temporary one where `None`), of at most `limit` bytes.
    pub(crate) fn new(info: &StreamInfo, directory: Option<&Path>, limit: u64) -> Result<Self> {
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let place = directory.display().to_string();
        let file = tempfile::tempfile_in(&directory).map_err(|e| Error::Io {
            path: format!("{place}, the directory for spooled frames (--spool, or the temporary directory)"),
            source: e,
        })?;
        let frame_bytes = Frame::new(info.format, info.width, info.height)?.bytes().len() as u64;
        Ok(Self { file, place, limit, frame_bytes, times: Vec::new(), cursor: 0 })
    }

    /// Frames in it.
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// Adds a frame.
    pub(crate) fn push(&mut self, frame: &Frame) -> Result<()> {
        let at = self.times.len() as u64 * self.frame_bytes;
        if at + self.frame_bytes > self.limit {
            return Err(Error::SpoolFull { dir: self.place.clone(), limit: self.limit });
        }
        self.write_at(at, frame.bytes())?;
        self.times.push(frame.timestamp);
        Ok(())
    }

    /// Makes room for `frames` frames, which are then filled part by part with [`SpoolFile::write_rows`].
    pub(crate) fn reserve(&mut self, frames: u64) -> Result<()> {
        let bytes = frames.saturating_mul(self.frame_bytes);
        if bytes > self.limit {
            return Err(Error::SpoolFull { dir: self.place.clone(), limit: self.limit });
        }
        self.times = vec![0; frames as usize];
        self.file.set_len(bytes).map_err(|e| self.io(e))
    }

    /// Writes some rows of frame `i`: `rows[p]` of each plane `p`.
    pub(crate) fn write_rows(&mut self, i: usize, frame: &Frame, rows: &[Range<usize>]) -> Result<()> {
        let mut plane = 0;
        for (p, rows) in rows.iter().enumerate() {
            let size = frame.plane_size(p);
            let row = size.row() * frame.format().bytes_per_sample();
            let part = plane + rows.start * row..plane + rows.end * row;
            self.write_at(i as u64 * self.frame_bytes + part.start as u64, &frame.bytes()[part])?;
            plane += size.height * row;
        }
        self.times[i] = frame.timestamp;
        Ok(())
    }

    /// Reads frame `i`.
    pub(crate) fn read(&mut self, i: usize, frame: &mut Frame) -> Result<()> {
        self.seek(i as u64 * self.frame_bytes)?;
        let bytes = frame.bytes_mut();
        self.file.read_exact(bytes).map_err(|e| self.io(e))?;
        self.cursor += bytes.len() as u64;
        frame.timestamp = self.times[i];
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.seek(at)?;
        self.file.write_all(bytes).map_err(|e| self.io(e))?;
        self.cursor += bytes.len() as u64;
        Ok(())
    }

    fn seek(&mut self, at: u64) -> Result<()> {
        if self.cursor != at {
            self.file.seek(SeekFrom::Start(at)).map_err(|e| self.io(e))?;
            self.cursor = at;
        }
        Ok(())
    }

    fn io(&self, source: std::io::Error) -> Error {
        Error::Io { path: format!("spool in {}", self.place), source }
    }
}

/// A spool read from its start. The spool stays, to be read again.
pub(crate) struct Spooled {
    spool: Arc<Mutex<SpoolFile>>,
    info: StreamInfo,
    decoder: String,
    next: usize,
}

impl Spooled {
    /// The frames of `spool`, which are of the stream `info`.
    pub(crate) fn new(spool: Arc<Mutex<SpoolFile>>, info: &StreamInfo, decoder: String) -> Self {
        Self { spool, info: info.clone(), decoder, next: 0 }
    }
}

impl FrameSource for Spooled {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        let mut spool = self.spool.lock().unwrap_or_else(|e| e.into_inner());
        if self.next == spool.len() {
            return Ok(false);
        }
        spool.read(self.next, frame)?;
        self.next += 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        self.decoder.clone()
    }
}
