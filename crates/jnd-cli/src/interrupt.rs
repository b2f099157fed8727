//! Ctrl-C: a flag that running jobs look at, and a last resort when they cannot.

#![allow(dead_code, reason = "the first job to watch the flag comes with the magnifier")]

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Starts to listen for Ctrl-C, termination and hang-up. The first one asks the job to end, which closes and removes
/// what it was writing; a second one ends the program on the spot.
pub(crate) fn install() {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        }
    };
    if let Err(e) = ctrlc::set_handler(handler) {
        tracing::warn!("Ctrl-C will leave an unfinished file behind: {e}");
    }
}

/// Whether the user asked to stop.
pub(crate) fn requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
