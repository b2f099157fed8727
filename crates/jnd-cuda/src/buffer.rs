//! Memory on the device, and host memory that the device can reach by itself.

use crate::{Context, Error, Result, raw};
use std::alloc::Layout;

/// What host memory of the emulation holds before anything is written: no test may pass on zeros it never wrote.
const POISON: u8 = 0xA5;

/// Alignment of every device buffer, as CUDA's allocator gives it.
const ALIGN: usize = 256;

fn host_layout(bytes: usize) -> Result<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| Error::Memory {
        device: "host emulation".into(),
        need: bytes as u64,
        have: isize::MAX as u64,
        detail: "one buffer".into(),
    })
}

fn host_alloc(bytes: usize) -> Result<*mut u8> {
    let layout = host_layout(bytes)?;
    // SAFETY: the layout has a size above 0.
    let ptr = unsafe { std::alloc::alloc(layout) };
    if ptr.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: just allocated with that size.
    unsafe { std::ptr::write_bytes(ptr, POISON, layout.size()) };
    Ok(ptr)
}

fn host_free(ptr: *mut u8, bytes: usize) {
    if let Ok(layout) = host_layout(bytes) {
        // SAFETY: allocated by `host_alloc` with the same size.
        unsafe { std::alloc::dealloc(ptr, layout) };
    }
}

/// Device memory, not initialised, aligned to 256 bytes.
#[derive(Debug)]
pub struct DeviceBuffer {
    context: Context,
    ptr: u64,
    bytes: usize,
}

impl DeviceBuffer {
    /// Allocates `bytes` bytes. This may wait for the device: allocate before the work starts.
    ///
    /// # Errors
    /// [`Error::Memory`] when the device has too little.
    pub fn new(context: &Context, bytes: usize) -> Result<Self> {
        let ptr = if context.is_emulated() {
            host_alloc(bytes)? as u64
        } else {
            let _entered = context.enter()?;
            // SAFETY: the context is current.
            match unsafe { raw::memory_alloc(bytes.max(1)) } {
                // CUDA_ERROR_OUT_OF_MEMORY.
                Err(Error::Driver { code: 2, .. }) => {
                    return Err(Error::Memory {
                        device: context.info().device.to_string(),
                        need: bytes as u64,
                        have: context.memory().map_or(0, |m| m.0),
                        detail: "one buffer".into(),
                    });
                }
                r => r?,
            }
        };
        Ok(Self { context: context.clone(), ptr, bytes })
    }

    /// Address on the device.
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if self.context.is_emulated() {
            host_free(self.ptr as *mut u8, self.bytes);
        } else if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated by `new` and not used again; the driver waits for work that uses it.
            let _ = unsafe { raw::memory_free(self.ptr) };
        }
    }
}

/// What pinned memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Written by the host in order and read by the device: write-combined, very slow for the host to read.
    Upload,
    /// Written by the device and read by the host, or both.
    Download,
}

/// Page-locked host memory, which copies at the full rate of the bus and behind the host's back.
#[derive(Debug)]
pub struct PinnedBuffer {
    context: Context,
    ptr: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory that this value alone owns.
unsafe impl Send for PinnedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// Allocates and locks `bytes` bytes of zeros. Slow (about a millisecond for 4 MB): allocate once.
    ///
    /// # Errors
    /// The driver or the system refused.
    pub fn new(context: &Context, bytes: usize, transfer: Transfer) -> Result<Self> {
        let ptr = if context.is_emulated() {
            host_alloc(bytes)?
        } else {
            let _entered = context.enter()?;
            // SAFETY: the context is current.
            unsafe { raw::host_alloc(bytes.max(1), transfer == Transfer::Upload) }?
        };
        // SAFETY: just allocated with that size.
        unsafe { std::ptr::write_bytes(ptr, 0, bytes) };
        Ok(Self { context: context.clone(), ptr, bytes })
    }

    /// Whether the host memory at an address is page-locked and known to the driver.
    pub fn is_pinned(context: &Context, address: u64) -> bool {
        if context.is_emulated() {
            return false;
        }
        let Ok(_entered) = context.enter() else { return false };
        // SAFETY: the driver looks the address up and does not follow it.
        unsafe { raw::is_pinned(address) }.unwrap_or(false)
    }

    /// The memory.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `bytes` bytes were allocated and zeroed in `new`.
        unsafe { std::slice::from_raw_parts(self.ptr, self.bytes) }
    }

    /// The memory, to write to. No copy that reads or writes it may be under way.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `bytes` bytes were allocated and zeroed in `new`, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.bytes) }
    }

    /// Its address.
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if self.context.is_emulated() {
            host_free(self.ptr, self.bytes);
        } else if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated by `new` and not used again.
            let _ = unsafe { raw::host_free(self.ptr) };
        }
    }
}
