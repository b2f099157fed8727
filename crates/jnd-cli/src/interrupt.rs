//! Ctrl-C: a flag that running jobs look at, and a last resort when they cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
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

fn leave() {
    jnd::video::remove_partial_outputs();
    crate::say::line(format_args!("jnd: error: {MESSAGE}"));
    std::process::exit(i32::from(crate::exit::INTERRUPTED));
}

/// Is set when the user asks to stop.
pub(crate) fn flag() -> Arc<AtomicBool> {
    FLAG.clone()
}
