//! The kernels of every crate compiled for the host, so that tests run them without a card.
//! For tests only: it is not published, and crates name it under `[dev-dependencies]`.
//!
//! A test opens [`context`], which behaves as a device whose memory is the host's, and runs the same code as on a card.
//! Blocks run one after another; the threads of a block are fibers that take turns at barriers and shuffles, in changing
//! order, so that a missing barrier shows. Races between blocks cannot show here: compute-sanitizer finds those on a card.
//! See `docs/cuda.md`.

use jnd_cuda::{Context, HostKernels};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

#[repr(C)]
struct Entry {
    name: *const c_char,
    run: unsafe extern "C" fn(*const c_uint, *const c_uint, usize, *mut *mut c_void),
    next: *const Entry,
}

unsafe extern "C" {
    fn shim_unit(i: c_int) -> *const Entry;
}

struct Shim;

fn find(kernel: &str) -> Option<&'static Entry> {
    for unit in 0.. {
        // SAFETY: answers null beyond the last unit; the lists are static and complete before `main`.
        let mut entry = unsafe { shim_unit(unit).as_ref() }?;
        loop {
            // SAFETY: names are string literals.
            if unsafe { CStr::from_ptr(entry.name) }.to_bytes() == kernel.as_bytes() {
                return Some(entry);
            }
            // SAFETY: a link of a static list, null at its end.
            match unsafe { entry.next.as_ref() } {
                Some(next) => entry = next,
                None => break,
            }
        }
    }
    None
}

impl HostKernels for Shim {
    fn has(&self, kernel: &str) -> bool {
        find(kernel).is_some()
    }

    unsafe fn launch(
        &self,
        kernel: &str,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared: u32,
        params: *mut *mut c_void,
    ) {
        let Some(entry) = find(kernel) else { panic!("no kernel {kernel} in the shim") };
        let (grid, block) = ([grid.0, grid.1, grid.2], [block.0, block.1, block.2]);
        // SAFETY: the caller's promise about the parameters; the two arrays hold three numbers each.
        unsafe { (entry.run)(grid.as_ptr(), block.as_ptr(), shared as usize, params) };
    }
}

/// A device that is this processor, with every crate's kernels.
pub fn context() -> Context {
    Context::emulated(&Shim)
}

/// The devices a test of device code runs on: this processor always, and the first card where there is one. With
/// `JND_REQUIRE_CARD` set the card must be there.
///
/// # Panics
/// The card is required and missing.
pub fn contexts() -> Vec<Context> {
    let mut all = vec![context()];
    match Context::open(jnd_cuda::Device(0)) {
        Ok(card) => all.push(card),
        Err(e) if std::env::var_os("JND_REQUIRE_CARD").is_some() => panic!("JND_REQUIRE_CARD is set: {e}"),
        Err(e) => eprintln!("skipped on a card: {e}"),
    }
    all
}
