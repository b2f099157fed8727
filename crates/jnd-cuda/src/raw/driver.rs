//! The raw layer over NVIDIA's driver library.
//!
//! Contract of every function here: handles and addresses come from this layer and are still alive, host pointers are
//! valid for the bytes named until the stream has passed the call, and the right context is current.
#![allow(clippy::missing_safety_doc, reason = "one contract for the whole layer, stated above")]

use super::{Attribute, Handle, Info, Rows, Side};
use crate::{Error, LoaderMessage, Result, Unavailable};
use cudarc::driver::sys;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Lowest CUDA version whose drivers load our machine code (driver 525).
const MIN_CUDA: i32 = 12_000;

/// Every function this layer calls. A library that lacks one is refused before any call, because the bindings panic
/// on a missing function.
const SYMBOLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuCtxGetStreamPriorityRange",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuPointerGetAttributes",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpy2DAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
];

fn text_of(
    call: unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult,
    code: sys::CUresult,
) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the driver writes a pointer to a static string, or leaves null for an unknown code.
    unsafe {
        let _ = call(code, &raw mut text);
        if text.is_null() {
            return "unknown error".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

fn check(call: &'static str, code: sys::CUresult) -> Result<()> {
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::Driver {
        call,
        code: code as u32,
        name: text_of(sys::cuGetErrorName, code),
        text: text_of(sys::cuGetErrorString, code),
    })
}

macro_rules! call {
    ($name:ident($($arg:expr),* $(,)?)) => {
        // SAFETY: the layer's contract.
        check(stringify!($name), unsafe { sys::$name($($arg),*) })
    };
}

fn version_text(v: i32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}

/// Opens the driver once for the process and counts its devices; later calls answer the same.
pub(crate) fn probe() -> Result<usize, Unavailable> {
    static PROBED: OnceLock<Result<usize, Unavailable>> = OnceLock::new();
    PROBED.get_or_init(probe_once).clone()
}

fn probe_once() -> Result<usize, Unavailable> {
    let names: &[&str] =
        if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1", "libnvcuda.so"] };
    let mut said = Vec::new();
    let library = names.iter().find_map(|n| {
        // SAFETY: loading NVIDIA's driver library runs its initialisers, as every CUDA program does.
        let loaded = unsafe { libloading::Library::new(*n) };
        loaded
            .map_err(|e| said.push(std::error::Error::source(&e).map_or(e.to_string(), ToString::to_string)))
            .ok()
    });
    let missing = |said: &[String]| Unavailable::NoLibrary { source: LoaderMessage(said.join("; ")) };
    let Some(library) = library else { return Err(missing(&said)) };
    for symbol in SYMBOLS {
        // SAFETY: the symbol is only looked up, not called.
        if unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) }.is_err() {
            return Err(Unavailable::MissingSymbol { symbol: (*symbol).into() });
        }
    }
    // SAFETY: looks for the same library under the names that the bindings use.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(&said));
    }
    let refused = |code: sys::CUresult| {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        match code {
            sys::CUresult::CUDA_ERROR_STUB_LIBRARY => Unavailable::Stub,
            sys::CUresult::CUDA_ERROR_NO_DEVICE => match visible {
                Some(value) => Unavailable::Hidden { value },
                None => Unavailable::NoDevice,
            },
            code => Unavailable::NotStarted { code: code as u32, name: text_of(sys::cuGetErrorName, code) },
        }
    };
    let mut version = 0;
    // SAFETY: writes one integer; needs no initialisation.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    if code != sys::CUresult::CUDA_SUCCESS {
        return Err(refused(code));
    }
    if version < MIN_CUDA {
        return Err(Unavailable::OldDriver { have: version_text(version), need: version_text(MIN_CUDA) });
    }
    // SAFETY: no arguments beyond the reserved flags.
    let code = unsafe { sys::cuInit(0) };
    if code != sys::CUresult::CUDA_SUCCESS {
        return Err(refused(code));
    }
    let mut count: c_int = 0;
    // SAFETY: writes one integer.
    let code = unsafe { sys::cuDeviceGetCount(&raw mut count) };
    if code != sys::CUresult::CUDA_SUCCESS {
        return Err(refused(code));
    }
    if count <= 0 {
        return Err(refused(sys::CUresult::CUDA_ERROR_NO_DEVICE));
    }
    Ok(count as usize)
}

fn device(ordinal: usize) -> Result<sys::CUdevice> {
    let mut dev = 0;
    call!(cuDeviceGet(&raw mut dev, ordinal as c_int))?;
    Ok(dev)
}

pub(crate) unsafe fn device_info(ordinal: usize) -> Result<Info> {
    use sys::CUdevice_attribute as A;
    let dev = device(ordinal)?;
    let mut name = [0 as c_char; 256];
    call!(cuDeviceGetName(name.as_mut_ptr(), 255, dev))?;
    let attribute = |a: A| -> Result<i32> {
        let mut v = 0;
        call!(cuDeviceGetAttribute(&raw mut v, a, dev))?;
        Ok(v)
    };
    let mut memory = 0usize;
    call!(cuDeviceTotalMem_v2(&raw mut memory, dev))?;
    let mut driver = 0;
    call!(cuDriverGetVersion(&raw mut driver))?;
    // SAFETY: the driver ended the name with a zero within the 255 bytes given, and the last byte is ours.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    Ok(Info {
        name,
        major: attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        minor: attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: attribute(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        shared_per_block: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory: memory as u64,
        driver,
    })
}

pub(crate) unsafe fn context_retain(ordinal: usize) -> Result<Handle> {
    let mut context = std::ptr::null_mut();
    call!(cuDevicePrimaryCtxRetain(&raw mut context, device(ordinal)?))?;
    Ok(context as Handle)
}

pub(crate) unsafe fn context_release(ordinal: usize) -> Result<()> {
    call!(cuDevicePrimaryCtxRelease_v2(device(ordinal)?))
}

pub(crate) unsafe fn context_get() -> Result<Handle> {
    let mut context = std::ptr::null_mut();
    call!(cuCtxGetCurrent(&raw mut context))?;
    Ok(context as Handle)
}

pub(crate) unsafe fn context_set(context: Handle) -> Result<()> {
    call!(cuCtxSetCurrent(context as sys::CUcontext))
}

pub(crate) unsafe fn context_sync() -> Result<()> {
    call!(cuCtxSynchronize())
}

pub(crate) unsafe fn memory_info() -> Result<(u64, u64)> {
    let (mut free, mut total) = (0usize, 0usize);
    call!(cuMemGetInfo_v2(&raw mut free, &raw mut total))?;
    Ok((free as u64, total as u64))
}

pub(crate) unsafe fn memory_alloc(bytes: usize) -> Result<u64> {
    let mut ptr = 0;
    call!(cuMemAlloc_v2(&raw mut ptr, bytes))?;
    Ok(ptr)
}

pub(crate) unsafe fn memory_free(ptr: u64) -> Result<()> {
    call!(cuMemFree_v2(ptr))
}

pub(crate) unsafe fn host_alloc(bytes: usize, write_combined: bool) -> Result<*mut u8> {
    let mut ptr: *mut c_void = std::ptr::null_mut();
    // CU_MEMHOSTALLOC_PORTABLE, so that every context may use it; CU_MEMHOSTALLOC_WRITECOMBINED.
    let flags = 1 | if write_combined { 4 } else { 0 };
    call!(cuMemHostAlloc(&raw mut ptr, bytes, flags))?;
    Ok(ptr.cast())
}

pub(crate) unsafe fn host_free(ptr: *mut u8) -> Result<()> {
    call!(cuMemFreeHost(ptr.cast()))
}

pub(crate) unsafe fn is_pinned(address: u64) -> Result<bool> {
    let mut kind: u32 = 0;
    let mut attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let mut data: *mut c_void = (&raw mut kind).cast();
    // Asked in this form, memory that the driver does not know is of kind 0, and no error.
    call!(cuPointerGetAttributes(1, &raw mut attribute, &raw mut data, address))?;
    Ok(kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32)
}

pub(crate) unsafe fn copy_up(dst: u64, src: *const u8, bytes: usize, stream: Handle) -> Result<()> {
    call!(cuMemcpyHtoDAsync_v2(dst, src.cast(), bytes, stream as sys::CUstream))
}

pub(crate) unsafe fn copy_down(dst: *mut u8, src: u64, bytes: usize, stream: Handle) -> Result<()> {
    call!(cuMemcpyDtoHAsync_v2(dst.cast(), src, bytes, stream as sys::CUstream))
}

pub(crate) unsafe fn copy_within(dst: u64, src: u64, bytes: usize, stream: Handle) -> Result<()> {
    call!(cuMemcpyDtoDAsync_v2(dst, src, bytes, stream as sys::CUstream))
}

pub(crate) unsafe fn copy_rows(copy: &Rows, stream: Handle) -> Result<()> {
    use sys::CUmemorytype as M;
    let mut c = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: M::CU_MEMORYTYPE_HOST,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: M::CU_MEMORYTYPE_HOST,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: copy.row_bytes,
        Height: copy.rows,
    };
    match copy.src {
        Side::Device { ptr, pitch } => {
            (c.srcMemoryType, c.srcDevice, c.srcPitch) = (M::CU_MEMORYTYPE_DEVICE, ptr, pitch);
        }
        Side::Host { ptr, pitch } => (c.srcHost, c.srcPitch) = (ptr.cast(), pitch),
    }
    match copy.dst {
        Side::Device { ptr, pitch } => {
            (c.dstMemoryType, c.dstDevice, c.dstPitch) = (M::CU_MEMORYTYPE_DEVICE, ptr, pitch);
        }
        Side::Host { ptr, pitch } => (c.dstHost, c.dstPitch) = (ptr.cast(), pitch),
    }
    call!(cuMemcpy2DAsync_v2(&raw const c, stream as sys::CUstream))
}

pub(crate) unsafe fn set_bytes(dst: u64, value: u8, bytes: usize, stream: Handle) -> Result<()> {
    call!(cuMemsetD8Async(dst, value, bytes, stream as sys::CUstream))
}

pub(crate) unsafe fn stream_create(high_priority: bool) -> Result<Handle> {
    let (mut least, mut greatest) = (0, 0);
    call!(cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest))?;
    let mut stream = std::ptr::null_mut();
    // CU_STREAM_NON_BLOCKING: no hidden order with the legacy default stream.
    let priority = if high_priority { greatest } else { least };
    call!(cuStreamCreateWithPriority(&raw mut stream, 1, priority))?;
    Ok(stream as Handle)
}

pub(crate) unsafe fn stream_destroy(stream: Handle) -> Result<()> {
    call!(cuStreamDestroy_v2(stream as sys::CUstream))
}

pub(crate) unsafe fn stream_sync(stream: Handle) -> Result<()> {
    call!(cuStreamSynchronize(stream as sys::CUstream))
}

pub(crate) unsafe fn stream_done(stream: Handle) -> Result<bool> {
    // SAFETY: the layer's contract.
    let code = unsafe { sys::cuStreamQuery(stream as sys::CUstream) };
    if code == sys::CUresult::CUDA_ERROR_NOT_READY {
        return Ok(false);
    }
    check("cuStreamQuery", code).map(|()| true)
}

pub(crate) unsafe fn stream_wait(stream: Handle, event: Handle) -> Result<()> {
    call!(cuStreamWaitEvent(stream as sys::CUstream, event as sys::CUevent, 0))
}

pub(crate) unsafe fn event_create(timed: bool) -> Result<Handle> {
    let mut event = std::ptr::null_mut();
    // CU_EVENT_DISABLE_TIMING unless timed.
    call!(cuEventCreate(&raw mut event, if timed { 0 } else { 2 }))?;
    Ok(event as Handle)
}

pub(crate) unsafe fn event_destroy(event: Handle) -> Result<()> {
    call!(cuEventDestroy_v2(event as sys::CUevent))
}

pub(crate) unsafe fn event_record(event: Handle, stream: Handle) -> Result<()> {
    call!(cuEventRecord(event as sys::CUevent, stream as sys::CUstream))
}

pub(crate) unsafe fn event_done(event: Handle) -> Result<bool> {
    // SAFETY: the layer's contract.
    let code = unsafe { sys::cuEventQuery(event as sys::CUevent) };
    if code == sys::CUresult::CUDA_ERROR_NOT_READY {
        return Ok(false);
    }
    check("cuEventQuery", code).map(|()| true)
}

pub(crate) unsafe fn event_sync(event: Handle) -> Result<()> {
    call!(cuEventSynchronize(event as sys::CUevent))
}

pub(crate) unsafe fn event_elapsed(start: Handle, end: Handle) -> Result<f32> {
    let mut ms = 0.0;
    call!(cuEventElapsedTime(&raw mut ms, start as sys::CUevent, end as sys::CUevent))?;
    Ok(ms)
}

pub(crate) unsafe fn module_load(name: &'static str, image: &[u8]) -> Result<Handle> {
    use sys::CUjit_option as O;
    let mut module = std::ptr::null_mut();
    let (mut info, mut errors) = ([0u8; 4096], [0u8; 4096]);
    let mut options = [
        O::CU_JIT_INFO_LOG_BUFFER,
        O::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        O::CU_JIT_ERROR_LOG_BUFFER,
        O::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 4] = [
        info.as_mut_ptr().cast(),
        info.len() as *mut c_void,
        errors.as_mut_ptr().cast(),
        errors.len() as *mut c_void,
    ];
    // SAFETY: the image is a whole fatbin (the crates embed what the kernel script wrote), the four options have
    // their four values, and the log buffers outlive the call.
    let code = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(module as Handle);
    }
    let line = |buffer: &[u8]| {
        let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
        String::from_utf8_lossy(&buffer[..end]).trim().to_owned()
    };
    let log =
        [line(&errors), line(&info)].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("; ");
    let log = if log.is_empty() { text_of(sys::cuGetErrorString, code) } else { log };
    Err(Error::Module { module: name, code: code as u32, name: text_of(sys::cuGetErrorName, code), log })
}

pub(crate) unsafe fn module_unload(module: Handle) -> Result<()> {
    call!(cuModuleUnload(module as sys::CUmodule))
}

pub(crate) unsafe fn function_get(module: Handle, module_name: &'static str, name: &str) -> Result<Handle> {
    let missing = || Error::NoKernel { kernel: name.into(), module: module_name };
    let c_name = CString::new(name).map_err(|_| missing())?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the layer's contract; the name ends with a zero.
    let code =
        unsafe { sys::cuModuleGetFunction(&raw mut function, module as sys::CUmodule, c_name.as_ptr()) };
    if code == sys::CUresult::CUDA_ERROR_NOT_FOUND {
        return Err(missing());
    }
    check("cuModuleGetFunction", code)?;
    Ok(function as Handle)
}

pub(crate) unsafe fn function_attribute(function: Handle, attribute: Attribute) -> Result<i32> {
    use sys::CUfunction_attribute as A;
    let attribute = match attribute {
        Attribute::Registers => A::CU_FUNC_ATTRIBUTE_NUM_REGS,
        Attribute::LocalBytes => A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        Attribute::SharedBytes => A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    };
    let mut v = 0;
    call!(cuFuncGetAttribute(&raw mut v, attribute, function as sys::CUfunction))?;
    Ok(v)
}

pub(crate) unsafe fn function_allow_shared(function: Handle, bytes: u32) -> Result<()> {
    call!(cuFuncSetAttribute(
        function as sys::CUfunction,
        sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        bytes as c_int
    ))
}

pub(crate) unsafe fn launch(
    function: Handle,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    shared: u32,
    stream: Handle,
    params: &mut [*mut c_void],
) -> Result<()> {
    call!(cuLaunchKernel(
        function as sys::CUfunction,
        grid.0,
        grid.1,
        grid.2,
        block.0,
        block.1,
        block.2,
        shared,
        stream as sys::CUstream,
        params.as_mut_ptr(),
        std::ptr::null_mut(),
    ))
}

pub(crate) unsafe fn capture_begin(stream: Handle) -> Result<()> {
    call!(cuStreamBeginCapture_v2(
        stream as sys::CUstream,
        sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    ))
}

pub(crate) unsafe fn capture_end(stream: Handle) -> Result<(Handle, Handle)> {
    let mut graph = std::ptr::null_mut();
    call!(cuStreamEndCapture(stream as sys::CUstream, &raw mut graph))?;
    let mut exec = std::ptr::null_mut();
    if let Err(e) = call!(cuGraphInstantiateWithFlags(&raw mut exec, graph, 0)) {
        let _ = call!(cuGraphDestroy(graph));
        return Err(e);
    }
    Ok((graph as Handle, exec as Handle))
}

pub(crate) unsafe fn graph_launch(exec: Handle, stream: Handle) -> Result<()> {
    call!(cuGraphLaunch(exec as sys::CUgraphExec, stream as sys::CUstream))
}

pub(crate) unsafe fn graph_destroy(graph: Handle, exec: Handle) -> Result<()> {
    call!(cuGraphExecDestroy(exec as sys::CUgraphExec))?;
    call!(cuGraphDestroy(graph as sys::CUgraph))
}
