//! Ctrl-C: a flag that running jobs look at, and a last resort when they cannot.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How long a job has to end by itself.
const GRACE: Duration = Duration::from_millis(700);

/// Starts to listen for Ctrl-C, termination and hang-up. The first one asks the job to end, which closes and removes
/// what it was writing. A job that is still there after a moment (stuck in a pipe that nobody reads, say), or a second
/// signal, ends the program on the spot, without its unfinished files.
pub(crate) fn install() {
    let handler = || {
        if FLAG.swap(true, Ordering::SeqCst) {
            leave();
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            leave();
        });
    };
    // Where another handler is there already (a program that embeds the command), it stays in charge.
    if let Err(e) = ctrlc::set_handler(handler) {
        tracing::debug!("no handler for Ctrl-C: {e}");
    }
}

/// Whether the output is a stream, which keeps what it was given, and how many frames that is.
static STREAMING: AtomicBool = AtomicBool::new(false);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The output is a stream.
pub(crate) fn streaming() {
    STREAMING.store(true, Ordering::Relaxed);
}

/// So many frames have gone to the output.
pub(crate) fn written(frames: u64) {
    WRITTEN.store(frames, Ordering::Relaxed);
}

/// What is said of an interrupted run.
pub(crate) fn message() -> String {
    match (STREAMING.load(Ordering::Relaxed), WRITTEN.load(Ordering::Relaxed)) {
        (false, _) => "interrupted; no unfinished file was left".into(),
        (true, 0) => "interrupted before a frame was written to standard output".into(),
        // The writer may be a frame further, or stuck in one.
        (true, n) => format!("interrupted; standard output ends after about {}", crate::units::frames(n)),
    }
}

/// What a run of several jobs has made, in the order of making: of no use unless the whole run is complete.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn made() -> MutexGuard<'static, Vec<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files and directories of a run that consists of several jobs. Dropped before [`Made::keep`], or when the program is
/// told to stop, it removes those that the run has made.
pub(crate) struct Made(());

impl Made {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Makes a directory, and those above it that are missing.
    pub(crate) fn directory(&self, path: &Path) -> std::io::Result<()> {
        let mut missing: Vec<_> =
            path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        missing.reverse();
        made().extend(missing.into_iter().map(Path::to_path_buf));
        std::fs::create_dir_all(path)
    }

    /// Makes a file. It is not the run's to remove where it was there before.
    pub(crate) fn file<T, E>(&self, path: &Path, make: impl FnOnce(&Path) -> Result<T, E>) -> Result<T, E> {
        // Noted first, so that there is no moment at which the file is there and not known.
        if path.symlink_metadata().is_err() {
            made().push(path.to_path_buf());
        }
        make(path)
    }

    /// The run is complete.
    pub(crate) fn keep(self) {
        made().clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        remove(&mut made());
    }
}

fn remove(made: &mut Vec<PathBuf>) {
    for path in made.drain(..).rev() {
        // What somebody else has put into a directory keeps it.
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}

fn leave() {
    // Held until the end, so that nothing more is made.
    let mut made = made();
    jnd::video::remove_partial_outputs();
    remove(&mut made);
    crate::say::line(format_args!("jnd: error: {}", message()));
    std::process::exit(i32::from(crate::exit::INTERRUPTED));
}

/// Is set when the user asks to stop.
pub(crate) fn flag() -> Arc<AtomicBool> {
    FLAG.clone()
}
