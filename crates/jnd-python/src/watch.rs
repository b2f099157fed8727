//! What long calls do beside computing: look for Ctrl-C, and report how far they are.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often the interpreter is asked for signals. Well under the second that a user waits, and rare enough to cost
/// nothing.
const EVERY: Duration = Duration::from_millis(50);

/// Looks for signals and calls back, from a thread that does not hold the interpreter.
pub(crate) struct Watch {
    progress: Option<Progress>,
    last: Instant,
    done: u64,
    total: Option<u64>,
}

/// Whom to tell how far a call is.
pub(crate) struct Progress {
    report: Py<PyAny>,
    /// A bar of ours, which must be closed.
    close: Option<Py<PyAny>>,
}

impl Progress {
    /// From the `progress=` argument: nothing, `True` for a bar of tqdm, or a function of frames done and in all.
    pub(crate) fn new(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let Some(argument) = argument.filter(|a| !a.is_none()) else { return Ok(None) };
        let made = py.import("jnd._progress")?.call_method1("reporter", (argument,))?;
        if made.is_none() {
            return Ok(None);
        }
        let (report, close) = made.extract::<(Py<PyAny>, Option<Py<PyAny>>)>()?;
        Ok(Some(Self { report, close }))
    }
}

impl Watch {
    pub(crate) fn new(progress: Option<Progress>, total: Option<u64>) -> Self {
        Self { progress, last: Instant::now(), done: 0, total }
    }

    /// One more frame is done.
    pub(crate) fn step(&mut self) -> PyResult<()> {
        self.set(self.done + 1, self.total)
    }

    /// So many frames are done.
    pub(crate) fn set(&mut self, done: u64, total: Option<u64>) -> PyResult<()> {
        (self.done, self.total) = (done, total);
        let last = self.progress.is_some() && Some(done) == total;
        if self.last.elapsed() < EVERY && !last {
            return Ok(());
        }
        self.look()
    }

    /// Asks for signals and reports, now.
    pub(crate) fn look(&mut self) -> PyResult<()> {
        self.last = Instant::now();
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(p) = &self.progress {
                p.report.call1(py, (self.done, self.total))?;
            }
            Ok(())
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(close) = self.progress.as_ref().and_then(|p| p.close.as_ref()) {
            // A bar that cannot be closed is no reason to lose the result.
            Python::attach(|py| {
                if let Err(e) = close.call0(py) {
                    e.write_unraisable(py, None);
                }
            });
        }
    }
}
