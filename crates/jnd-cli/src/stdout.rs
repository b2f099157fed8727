//! Whether there is a standard output at all. The standard library puts `/dev/null` in the place of one that the caller
//! has closed, before `main`: a video written there would be lost without a word.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// What is said where a result was to go there.
pub(crate) const CLOSED_MESSAGE: &str = "standard output is closed, so that nothing can be written to it";

/// Whether the program was started with its standard output closed.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod before_main {
    use super::{CLOSED, Ordering};

    extern "C" fn look() {
        // SAFETY: reading a descriptor's flags has no effect, whether it is open or not.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: the section is the list of functions that the loader calls before `main`, and this is one of those: it
    // takes nothing, returns nothing, and uses nothing of the standard library that is set up later.
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}
