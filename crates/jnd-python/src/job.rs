//! Jobs that may wait for something other than the processor: they run on a thread of their own, so that the caller's can
//! answer Ctrl-C meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::error;
use crate::watch::Watch;

/// How often the waiting thread looks up.
const POLL: Duration = Duration::from_millis(20);
/// How long an interrupted job may take to close and remove its files before it is left to end by itself (a reader
/// that waits for a pipe cannot be woken).
const PATIENCE: Duration = Duration::from_millis(800);

/// What a job tells the thread that waits for it.
#[derive(Default)]
pub(crate) struct Shared {
    /// Set when the job shall end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Frames done, and in all.
    progress: Mutex<(u64, Option<u64>)>,
    notes: Mutex<Vec<String>>,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

impl Shared {
    /// So many frames are done.
    pub(crate) fn progress(&self, done: u64, total: Option<u64>) {
        *lock(&self.progress) = (done, total);
    }

    /// Something the user should know.
    pub(crate) fn note(&self, note: &str) {
        lock(&self.notes).push(note.to_owned());
    }

    /// What was noted.
    pub(crate) fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notes))
    }

    /// Whether the job shall end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `work` on a thread of its own and waits for it. Call it without the interpreter.
pub(crate) fn run<T: Send + 'static>(
    shared: &Arc<Shared>,
    mut watch: Watch,
    work: impl FnOnce(&Shared) -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = sync_channel(1);
    let theirs = Arc::clone(shared);
    std::thread::Builder::new().name("jnd-job".into()).spawn(move || {
        // The caller may have given up.
        let _ = send.send(work(&theirs));
    })?;
    let tell = |watch: &mut Watch| {
        let (done, total) = *lock(&shared.progress);
        watch.set(done, total)
    };
    loop {
        match receive.recv_timeout(POLL) {
            Ok(result) => {
                tell(&mut watch)?;
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Python::attach(|py| {
                    let text = "the job ended without a result; this is a defect in jnd, please report it";
                    Err(error(py, text.into()))
                });
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(e) = tell(&mut watch) {
            shared.stop.store(true, Ordering::SeqCst);
            let asked = Instant::now();
            while asked.elapsed() < PATIENCE
                && matches!(receive.recv_timeout(POLL), Err(RecvTimeoutError::Timeout))
            {}
            return Err(e);
        }
    }
}
