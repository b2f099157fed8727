//! The raw layer of a build without the driver: the same functions, which say so.

use super::{Attribute, Handle, Info};
use crate::{Error, Result, Unavailable};

macro_rules! absent {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        $(
            pub(crate) unsafe fn $name($(_: $ty),*) -> Result<$ret> {
                Err(Error::Unavailable(Unavailable::NotBuilt))
            }
        )*
    };
}

pub(crate) fn probe() -> Result<usize, Unavailable> {
    Err(Unavailable::NotBuilt)
}

absent! {
    fn device_info(ordinal: usize) -> Info;
    fn context_retain(ordinal: usize) -> Handle;
    fn context_release(ordinal: usize) -> ();
    fn context_get() -> Handle;
    fn context_set(context: Handle) -> ();
    fn context_sync() -> ();
    fn memory_info() -> (u64, u64);
    fn memory_alloc(bytes: usize) -> u64;
    fn memory_free(ptr: u64) -> ();
    fn host_alloc(bytes: usize, write_combined: bool) -> *mut u8;
    fn host_free(ptr: *mut u8) -> ();
    fn is_pinned(address: u64) -> bool;
    fn copy_up(dst: u64, src: *const u8, bytes: usize, stream: Handle) -> ();
    fn copy_down(dst: *mut u8, src: u64, bytes: usize, stream: Handle) -> ();
    fn copy_within(dst: u64, src: u64, bytes: usize, stream: Handle) -> ();
    fn copy_rows(copy: &super::Rows, stream: Handle) -> ();
    fn set_bytes(dst: u64, value: u8, bytes: usize, stream: Handle) -> ();
    fn stream_create(high_priority: bool) -> Handle;
    fn stream_destroy(stream: Handle) -> ();
    fn stream_sync(stream: Handle) -> ();
    fn stream_done(stream: Handle) -> bool;
    fn stream_wait(stream: Handle, event: Handle) -> ();
    fn event_create(timed: bool) -> Handle;
    fn event_destroy(event: Handle) -> ();
    fn event_record(event: Handle, stream: Handle) -> ();
    fn event_done(event: Handle) -> bool;
    fn event_sync(event: Handle) -> ();
    fn event_elapsed(start: Handle, end: Handle) -> f32;
    fn module_load(name: &'static str, image: &[u8]) -> Handle;
    fn module_unload(module: Handle) -> ();
    fn function_get(module: Handle, module_name: &'static str, name: &str) -> Handle;
    fn function_attribute(function: Handle, attribute: Attribute) -> i32;
    fn function_allow_shared(function: Handle, bytes: u32) -> ();
    fn launch(function: Handle, grid: (u32, u32, u32), block: (u32, u32, u32), shared: u32, stream: Handle, params: &mut [*mut std::ffi::c_void]) -> ();
    fn capture_begin(stream: Handle) -> ();
    fn capture_end(stream: Handle) -> (Handle, Handle);
    fn graph_launch(exec: Handle, stream: Handle) -> ();
    fn graph_destroy(graph: Handle, exec: Handle) -> ();
}
