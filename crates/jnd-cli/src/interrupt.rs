//! Ctrl-C: a flag that running jobs look at, and a last resort when they cannot.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// What is said of an interrupted run.
pub(crate) const MESSAGE: &str = "interrupted; no unfinished file was left";

/// Files that are complete, but of no use unless the run that made them is.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn made() -> MutexGuard<'static, Vec<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files of a run that consists of several jobs. Dropped before [`Made::keep`], or when the program is told to stop, it
/// removes those that the run has made.
pub(crate) struct Made(());

impl Made {
    /// No files yet.
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Makes one. It is not the run's to remove where it was there before.
    pub(crate) fn file<T, E>(
        &self,
        path: PathBuf,
        make: impl FnOnce(&std::path::Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let there = path.exists();
        let result = make(&path)?;
        if !there {
            made().push(path);
        }
        Ok(result)
    }

    /// The run is complete.
    pub(crate) fn keep(self) {
        made().clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        remove_made();
    }
}

fn remove_made() {
    for path in made().drain(..) {
        let _ = std::fs::remove_file(path);
    }
}

fn leave() {
    jnd::video::remove_partial_outputs();
    remove_made();
    crate::say::line(format_args!("jnd: error: {MESSAGE}"));
    std::process::exit(i32::from(crate::exit::INTERRUPTED));
}

/// Is set when the user asks to stop.
pub(crate) fn flag() -> Arc<AtomicBool> {
    FLAG.clone()
}
