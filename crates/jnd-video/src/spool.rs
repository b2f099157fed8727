//! Frames kept on disk, for a pass over a pipe that must be read twice.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::source::read_up_to;
use crate::{Error, Frame, FrameSource, Result, StreamInfo};

/// Frames of one stream in a file without a name, which is gone when it is dropped, however the program ends.
pub struct Spool {
    file: File,
    writer: BufWriter<File>,
    info: StreamInfo,
    decoder: String,
    notes: Vec<String>,
    dir: PathBuf,
    limit: u64,
    used: u64,
    frames: u64,
}

impl Spool {
    /// Makes room in `dir` for at most `limit` bytes of frames of the stream that `source` delivers.
    ///
    /// # Errors
    /// A directory that cannot be written to.
    pub fn new(source: &dyn FrameSource, dir: &Path, limit: u64) -> Result<Self> {
        let io = |e| Error::io(dir.display().to_string(), e);
        let file = unnamed(dir).map_err(io)?;
        let writer = BufWriter::with_capacity(64 << 10, file.try_clone().map_err(io)?);
        Ok(Self {
            file,
            writer,
            info: source.info().clone(),
            decoder: source.decoder(),
            notes: source.notes(),
            dir: dir.to_path_buf(),
            limit,
            used: 0,
            frames: 0,
        })
    }

    /// Frames kept so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Keeps a frame.
    ///
    /// # Errors
    /// [`Error::SpoolFull`], a frame of another stream, or a disk that is full.
    pub fn push(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let dir = || self.dir.display().to_string();
        self.used += frame.bytes().len() as u64 + 8;
        if self.used > self.limit {
            return Err(Error::SpoolFull { dir: dir(), limit: self.limit });
        }
        self.writer
            .write_all(&frame.timestamp.to_le_bytes())
            .and_then(|()| self.writer.write_all(frame.bytes()))
            .map_err(|e| Error::io(dir(), e))?;
        self.frames += 1;
        Ok(())
    }

    /// The frames from the first on. Reading may be started as often as needed, one reader after another.
    ///
    /// # Errors
    /// A disk that is full, or fails.
    pub fn read(&mut self) -> Result<SpoolReader> {
        let name = self.dir.display().to_string();
        let io = |e| Error::io(&name, e);
        self.writer.flush().map_err(io)?;
        // The clones share one position in the file, so writing must not go on while one is read.
        let mut file = self.file.try_clone().map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut info = self.info.clone();
        info.frames = Some(self.frames);
        Ok(SpoolReader {
            reader: BufReader::with_capacity(4 << 10, file),
            info,
            decoder: self.decoder.clone(),
            notes: self.notes.clone(),
            name,
            left: self.frames,
        })
    }
}

/// The frames of a [`Spool`].
pub struct SpoolReader {
    reader: BufReader<File>,
    info: StreamInfo,
    decoder: String,
    notes: Vec<String>,
    name: String,
    left: u64,
}

impl FrameSource for SpoolReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        if self.left == 0 {
            return Ok(false);
        }
        let io = |e| Error::io(&self.name, e);
        let mut timestamp = [0; 8];
        let got = read_up_to(&mut self.reader, &mut timestamp).map_err(io)?;
        let buf = frame.bytes_mut();
        if got < 8 || read_up_to(&mut self.reader, buf).map_err(io)? < buf.len() {
            return Err(Error::broken(&self.name, "the spooled frames were changed while they were in use"));
        }
        frame.timestamp = i64::from_le_bytes(timestamp);
        self.left -= 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        self.decoder.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// A file in `dir` that has no name once this returns.
fn unnamed(dir: &Path) -> std::io::Result<File> {
    tempfile::tempfile_in(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, PixelFormat, Rate};

    struct Two(StreamInfo);

    impl FrameSource for Two {
        fn info(&self) -> &StreamInfo {
            &self.0
        }
        fn read(&mut self, _: &mut Frame) -> Result<bool> {
            Ok(false)
        }
        fn decoder(&self) -> String {
            "two".into()
        }
    }

    fn source() -> Two {
        let format = PixelFormat::new(Layout::Yuv420, 10).unwrap();
        Two(StreamInfo::new(format, 5, 3, Rate::new(25, 1).unwrap()).unwrap())
    }

    #[test]
    fn frames_come_back_as_often_as_asked() {
        let dir = tempfile::tempdir().unwrap();
        let source = source();
        let mut spool = Spool::new(&source, dir.path(), 1 << 20).unwrap();
        let mut f = source.new_frame().unwrap();
        for i in 0..5 {
            f.bytes_mut().fill(i);
            f.timestamp = i64::from(i) * 7;
            spool.push(&f).unwrap();
        }
        // Nothing to be left behind.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        for _ in 0..2 {
            let mut r = spool.read().unwrap();
            assert_eq!(r.info().frames, Some(5));
            for i in 0..5 {
                assert!(r.read(&mut f).unwrap());
                assert_eq!((f.timestamp, f.bytes()[53]), (i64::from(i) * 7, i));
            }
            assert!(!r.read(&mut f).unwrap());
        }
    }

    #[test]
    fn the_limit_holds_and_a_missing_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let source = source();
        let f = source.new_frame().unwrap();
        let mut spool = Spool::new(&source, dir.path(), 2 * (f.bytes().len() as u64 + 8)).unwrap();
        spool.push(&f).unwrap();
        spool.push(&f).unwrap();
        assert!(matches!(spool.push(&f), Err(Error::SpoolFull { .. })));
        let e = Spool::new(&source, Path::new("/nonexistent-directory"), 1).err().unwrap();
        assert!(e.to_string().contains("/nonexistent-directory"), "{e}");
    }
}
