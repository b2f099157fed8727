//! DLPack, the first version of its protocol: the struct that array libraries pass each other in a capsule.

use std::ffi::{CStr, c_char, c_void};

use pyo3::ffi;
use pyo3::prelude::*;

/// Device type of CUDA memory.
pub(crate) const CUDA: i32 = 2;
/// Type code of unsigned integers.
pub(crate) const UINT: u8 = 1;

const NAME: &CStr = c"dltensor";

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    /// In elements; null for dense.
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DlManagedTensor {
    tensor: DlTensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// What a capsule says.
pub(crate) struct Tensor {
    pub(crate) ptr: u64,
    pub(crate) device: usize,
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
    pub(crate) shape: Vec<usize>,
    /// In elements.
    pub(crate) strides: Option<Vec<i64>>,
}

/// Reads a capsule, which stays its maker's: whoever drops it gives the tensor back.
pub(crate) fn read(capsule: &Bound<'_, PyAny>) -> Option<Tensor> {
    // SAFETY: the interpreter is held; a capsule of another name or no capsule at all is refused.
    let managed = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) == 0 {
            return None;
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<DlManagedTensor>()
    };
    // SAFETY: a capsule of this name holds that struct, alive as long as the capsule, by the protocol.
    let t = unsafe { &managed.as_ref()?.tensor };
    let n = usize::try_from(t.ndim).ok()?;
    if t.device_type != CUDA || (n > 0 && t.shape.is_null()) || n > 8 {
        return None;
    }
    // SAFETY: by the protocol `shape`, and `strides` if not null, have `ndim` entries.
    let list = |p: *mut i64| unsafe { (0..n).map(|i| *p.add(i)).collect::<Vec<i64>>() };
    let shape = list(t.shape).into_iter().map(usize::try_from).collect::<Result<_, _>>().ok()?;
    Some(Tensor {
        ptr: t.data as u64 + t.byte_offset,
        device: usize::try_from(t.device_id).ok()?,
        code: t.code,
        bits: t.bits,
        lanes: t.lanes,
        shape,
        strides: (!t.strides.is_null()).then(|| list(t.strides)),
    })
}

/// What an offered tensor keeps: the numbers it points to, and the object that owns its memory.
struct Kept {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _owner: Py<PyAny>,
}

unsafe extern "C" fn delete(managed: *mut DlManagedTensor) {
    if managed.is_null() {
        return;
    }
    // SAFETY: called once, by the protocol, with what `offer` made from two boxes. The owner's reference may be given
    // up from any thread.
    unsafe {
        drop(Box::from_raw((*managed).manager.cast::<Kept>()));
        drop(Box::from_raw(managed));
    }
}

unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with a capsule of ours; one that was taken bears another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

/// Makes a capsule whose taker shares `owner`.
pub(crate) fn offer<'py>(py: Python<'py>, t: Tensor, owner: Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<i64> = t.shape.iter().map(|&n| n as i64).collect();
    let mut kept = Box::new(Kept { shape, strides: t.strides.unwrap_or_default(), _owner: owner });
    let tensor = DlTensor {
        data: t.ptr as *mut c_void,
        device_type: CUDA,
        device_id: i32::try_from(t.device).unwrap_or(0),
        ndim: i32::try_from(kept.shape.len()).unwrap_or(0),
        code: t.code,
        bits: t.bits,
        lanes: t.lanes,
        shape: kept.shape.as_mut_ptr(),
        strides: if kept.strides.is_empty() { std::ptr::null_mut() } else { kept.strides.as_mut_ptr() },
        byte_offset: 0,
    };
    let manager = Box::into_raw(kept).cast::<c_void>();
    let managed = Box::into_raw(Box::new(DlManagedTensor { tensor, manager, deleter: Some(delete) }));
    let name: *const c_char = NAME.as_ptr();
    // SAFETY: the struct is alive until its deleter runs, from the capsule's destructor or the taker.
    unsafe {
        let capsule = ffi::PyCapsule_New(managed.cast(), name, Some(drop_capsule));
        if capsule.is_null() {
            delete(managed);
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, capsule))
    }
}
