//! Output files that appear under their name only when they are complete.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::{Error, Output, Result};

/// Unfinished outputs of this process, so that they can be removed when it is told to stop at once.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes every unfinished output of this process. For a program that is about to exit without unwinding; writers
/// that are still at work fail afterwards.
pub fn remove_partial_outputs() {
    let list = PARTIAL.lock().unwrap_or_else(|e| e.into_inner());
    for path in list.iter() {
        let _ = std::fs::remove_file(path);
    }
}

/// A name beside the final one, under which the output is written; renamed by [`TemporaryPath::finish`], removed when
/// dropped before.
#[derive(Debug)]
pub(crate) struct TemporaryPath {
    temporary: PathBuf,
    target: PathBuf,
    overwrite: bool,
    armed: bool,
}

impl TemporaryPath {
    /// Makes an empty file beside `target` under a name of its own, which shows at once whether the directory can be
    /// written to. The extension stays, since encoders choose the container by it.
    pub(crate) fn new(target: &Path, overwrite: bool) -> Result<(Self, File)> {
        let name = target.display().to_string();
        // A link stays a link: what it names is replaced.
        let target = &followed(target);
        let file_name = target.file_name().ok_or_else(|| Error::BadOption {
            option: "output",
            value: name.clone(),
            legal: "must name a file".into(),
        })?;
        match std::fs::metadata(target) {
            Ok(m) if m.is_dir() => {
                return Err(Error::io(name, std::io::Error::from(std::io::ErrorKind::IsADirectory)));
            }
            Ok(_) if !overwrite => return Err(Error::Exists { path: name }),
            _ => {}
        }
        let extension = target.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let stem: String = file_name.to_string_lossy().chars().take(40).collect();
        for attempt in 0..1000u32 {
            let candidate = format!(".{stem}.{}-{attempt}.part.{extension}", std::process::id());
            let temporary = target.with_file_name(candidate);
            match OpenOptions::new().write(true).read(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).push(temporary.clone());
                    let this = Self { temporary, target: target.to_path_buf(), overwrite, armed: true };
                    return Ok((this, file));
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(name, e)),
            }
        }
        Err(Error::io(name, std::io::Error::from(std::io::ErrorKind::AlreadyExists)))
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Moves the file to its final name.
    pub(crate) fn finish(mut self) -> Result<()> {
        let name = self.target.display().to_string();
        if self.overwrite {
            std::fs::rename(&self.temporary, &self.target).map_err(|e| Error::io(name, e))?;
        } else {
            // A hard link fails where a rename would silently replace a file that appeared meanwhile.
            match std::fs::hard_link(&self.temporary, &self.target) {
                Ok(()) => {
                    let _ = std::fs::remove_file(&self.temporary);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(Error::Exists { path: name });
                }
                // Some file systems have no hard links.
                Err(_) if !self.target.exists() => {
                    std::fs::rename(&self.temporary, &self.target).map_err(|e| Error::io(name, e))?;
                }
                Err(_) => return Err(Error::Exists { path: name }),
            }
        }
        self.armed = false;
        self.forget();
        Ok(())
    }

    fn forget(&self) {
        PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).retain(|p| p != &self.temporary);
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        if self.armed {
            let _ = std::fs::remove_file(&self.temporary);
            self.forget();
        }
    }
}

/// A buffered writer to a temporary file, to standard output, or to something that is no regular file (a pipe, a
/// device), which is written to directly.
pub struct OutputFile {
    name: String,
    writer: Option<Box<dyn Write + Send>>,
    temporary: Option<TemporaryPath>,
}

/// Small writes are gathered to this size; frames go through untouched.
const BUFFER: usize = 64 << 10;

impl OutputFile {
    /// Starts an output; shows at once whether it can be written to.
    ///
    /// # Errors
    /// A place that cannot be written to, a file that exists and is not to be replaced.
    pub fn create(output: &Output, overwrite: bool) -> Result<Self> {
        let name = output.to_string();
        // Standard output has names of its own.
        let path = match output {
            Output::Stdout => None,
            Output::Path(path) => Some(path).filter(|p| followed(p) != Path::new("/proc/self/fd/1")),
        };
        let (file, temporary) = match path {
            None => (raw_stdout().map_err(|e| Error::io(&name, e))?, None),
            Some(path) if is_special(path) || is_open_file(&followed(path)) => {
                (OpenOptions::new().write(true).open(path).map_err(|e| Error::io(&name, e))?, None)
            }
            Some(path) => {
                let (temporary, file) = TemporaryPath::new(path, overwrite)?;
                (file, Some(temporary))
            }
        };
        let writer: Box<dyn Write + Send> = Box::new(file);
        Ok(Self { name, writer: Some(Box::new(BufWriter::with_capacity(BUFFER, writer))), temporary })
    }

    /// Writes something.
    ///
    /// # Errors
    /// Whatever keeps it from being written.
    pub fn with(&mut self, f: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        let writer = self
            .writer
            .as_mut()
            .ok_or_else(|| Error::io(&self.name, std::io::Error::other("written to after it was closed")))?;
        f(writer).map_err(|e| Error::io(&self.name, e))
    }

    /// Flushes and moves the file to its final name. Dropped before that, a file leaves nothing behind.
    ///
    /// # Errors
    /// Whatever keeps it from being written or renamed.
    pub fn finish(mut self) -> Result<()> {
        self.with(|w| w.flush())?;
        self.writer = None;
        match self.temporary.take() {
            Some(t) => t.finish(),
            None => Ok(()),
        }
    }
}

/// Whether a path is there and is no regular file or directory: a pipe or device.
pub(crate) fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// What a path names when all links are followed, whether it is there or not. Links to open files are kept as they are: what
/// they name may have no path.
fn followed(path: &Path) -> PathBuf {
    let mut at = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        if is_open_file(&at) {
            break;
        }
        let Ok(link) = std::fs::read_link(&at) else { break };
        at = at.parent().map_or_else(|| link.clone(), |p| p.join(&link));
    }
    at
}

/// Whether a path is a name that the system gives to an open file, as `/dev/stdout` leads to.
fn is_open_file(path: &Path) -> bool {
    path.starts_with("/dev/fd")
        || (path.starts_with("/proc") && path.parent().is_some_and(|p| p.ends_with("fd")))
}

/// Standard output without the line buffer that Rust's own handle puts before it.
#[cfg(unix)]
fn raw_stdout() -> std::io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn raw_stdout() -> std::io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(std::io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_stay_and_what_they_name_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link, second) =
            (dir.path().join("real"), dir.path().join("link"), dir.path().join("second"));
        std::os::unix::fs::symlink("real", &link).unwrap();
        std::os::unix::fs::symlink(&link, &second).unwrap();
        // First where the link leads nowhere yet, then to a file.
        for text in ["one", "two"] {
            let mut out = OutputFile::create(&Output::Path(second.clone()), true).unwrap();
            out.with(|w| w.write_all(text.as_bytes())).unwrap();
            out.finish().unwrap();
            assert_eq!(std::fs::read_to_string(&real).unwrap(), text);
            assert!(link.is_symlink() && second.is_symlink());
        }
        assert!(matches!(OutputFile::create(&Output::Path(link), false), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn open_files_are_written_to_and_not_replaced() {
        use std::os::fd::AsRawFd;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        let file = File::create(&real).unwrap();
        let fd = format!("/dev/fd/{}", file.as_raw_fd());
        std::os::unix::fs::symlink(&fd, &link).unwrap();
        let mut out = OutputFile::create(&Output::Path(link.clone()), false).unwrap();
        out.with(|w| w.write_all(b"text")).unwrap();
        out.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "text");
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new(&fd));
    }
}
