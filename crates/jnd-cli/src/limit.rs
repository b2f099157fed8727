//! A limit on the size of files (`ulimit -f`): an error of the write that meets it, and not the end of the program.

/// Ignores the signal that a write beyond the limit sends, here and in programs that are started from here. The write
/// then fails with "File too large", which is reported like any other failure, and the unfinished file is removed.
#[cfg(unix)]
pub(crate) fn install() {
    // SAFETY: the signal is one that may be ignored, no handler is installed, and the old disposition is not kept.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Elsewhere there is no such limit.
#[cfg(not(unix))]
pub(crate) fn install() {}
