//! The lowest layer: one function for each driver call used, with handles as plain numbers. All unsafe driver code
//! of the crate is here.

/// A context, stream, event, module, function or graph of the driver; 0 is none.
pub(crate) type Handle = usize;

/// What a device is.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    pub(crate) name: String,
    pub(crate) major: i32,
    pub(crate) minor: i32,
    pub(crate) multiprocessors: i32,
    pub(crate) l2_bytes: i32,
    pub(crate) shared_per_block: i32,
    pub(crate) memory: u64,
    pub(crate) driver: i32,
}

/// Attributes of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attribute {
    Registers,
    LocalBytes,
    SharedBytes,
}

/// A copy of rows between host and device. A side is a device address or a host pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) dst: Side,
    pub(crate) src: Side,
    pub(crate) row_bytes: usize,
    pub(crate) rows: usize,
}

/// One side of a copy of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Device { ptr: u64, pitch: usize },
    Host { ptr: *mut u8, pitch: usize },
}

#[cfg(not(feature = "driver"))]
mod absent;
#[cfg(feature = "driver")]
mod driver;

#[cfg(not(feature = "driver"))]
pub(crate) use absent::*;
#[cfg(feature = "driver")]
pub(crate) use driver::*;
