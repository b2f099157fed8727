//! A fixed series of kernels and copies, launched at once.

use crate::{Context, Error, Result, Stream, raw};

/// Work recorded from a stream, to be launched again and again at less cost than its parts.
#[derive(Debug)]
pub struct Graph {
    context: Context,
    graph: raw::Handle,
    exec: raw::Handle,
}

impl Graph {
    /// Records what `work` queues on `stream` instead of doing it. Addresses and parameters are kept as they are now.
    ///
    /// # Errors
    /// `work` failed, or it asked for something that cannot be recorded. [`Error::CardOnly`] in the emulation.
    pub fn record(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        let context = stream.context();
        if context.is_emulated() {
            return Err(Error::CardOnly("recording a graph"));
        }
        let _entered = context.enter()?;
        // SAFETY: the stream is alive and its context current.
        unsafe { raw::capture_begin(stream.raw()) }?;
        let done = work();
        // SAFETY: a capture is under way on the stream; it is ended also when `work` failed.
        let ended = unsafe { raw::capture_end(stream.raw()) };
        let made = ended.map(|(graph, exec)| Self { context: context.clone(), graph, exec });
        done.and(made)
    }

    /// Queues the recorded work.
    ///
    /// # Safety
    /// The memory that the recorded work names is still there and free for it to use.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        let _entered = self.context.enter()?;
        // SAFETY: graph and stream are alive; the caller's promise covers the memory.
        unsafe { raw::graph_launch(self.exec, stream.raw()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `record` and not used again.
            let _ = unsafe { raw::graph_destroy(self.graph, self.exec) };
        }
    }
}
