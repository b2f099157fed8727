//! A device in use.

use crate::device::info;
use crate::{Device, DeviceInfo, Result, raw};
use std::ffi::c_void;
use std::sync::Arc;

/// Kernels compiled for the processor, as [`Context::emulated`] runs them.
pub trait HostKernels: Sync {
    /// Whether there is a kernel of that name.
    fn has(&self, kernel: &str) -> bool;

    /// Runs a kernel to its end.
    ///
    /// # Safety
    /// As for a launch on a card: `params` points to one pointer for each of the kernel's parameters, in order, and
    /// what the kernel then reads and writes is valid.
    unsafe fn launch(
        &self,
        kernel: &str,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared: u32,
        params: *mut *mut c_void,
    );
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Card(raw::Handle),
    Host(&'static dyn HostKernels),
}

struct Inner {
    kind: Kind,
    info: DeviceInfo,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Kind::Card(_) = self.kind {
            // SAFETY: retained once in `open`; everything made from the context holds this and is gone.
            let _ = unsafe { raw::context_release(self.info.device.0) };
        }
    }
}

/// A device in use: its primary context, retained until the last thing made from it is dropped. It may be used from
/// any number of threads; no thread's current context is changed beyond a call.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({}, {})", self.0.info.device, self.0.info.name)
    }
}

/// Makes a context current for the thread and gives the thread its former one back.
pub(crate) struct Entered(Option<raw::Handle>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(former) = self.0 {
            // SAFETY: the handle was the thread's current context a moment ago (0 for none).
            let _ = unsafe { raw::context_set(former) };
        }
    }
}

impl Context {
    /// Opens a device.
    ///
    /// # Errors
    /// No card can be used, no such device, or the driver refused.
    pub fn open(device: Device) -> Result<Self> {
        let info = info(device)?;
        // SAFETY: the driver is initialised and the device exists (checked by `info`).
        let raw = unsafe { raw::context_retain(device.0) }?;
        Ok(Self(Arc::new(Inner { kind: Kind::Card(raw), info })))
    }

    /// A device that is not there: kernels run on this processor, memory is the host's, streams do everything at once.
    /// For tests.
    pub fn emulated(kernels: &'static dyn HostKernels) -> Self {
        let info = DeviceInfo {
            device: Device(0),
            name: "host emulation".into(),
            capability: (0, 0),
            multiprocessors: 2,
            l2_bytes: 4 << 20,
            shared_bytes: 96 << 10,
            memory: 4 << 30,
            driver: (0, 0),
        };
        Self(Arc::new(Inner { kind: Kind::Host(kernels), info }))
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Whether kernels run on this processor instead of a card.
    pub fn is_emulated(&self) -> bool {
        matches!(self.0.kind, Kind::Host(_))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    pub(crate) fn enter(&self) -> Result<Entered> {
        let Kind::Card(raw) = self.0.kind else { return Ok(Entered(None)) };
        // SAFETY: the driver is initialised and `raw` is retained.
        unsafe {
            let former = raw::context_get()?;
            if former == raw {
                return Ok(Entered(None));
            }
            raw::context_set(raw)?;
            Ok(Entered(Some(former)))
        }
    }

    /// Asks the driver with the context current, or does `host` where kernels run on this processor.
    pub(crate) fn on<T>(&self, host: impl FnOnce() -> T, driver: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.0.kind {
            Kind::Host(_) => Ok(host()),
            Kind::Card(_) => {
                let _entered = self.enter()?;
                driver()
            }
        }
    }

    /// Bytes of device memory free and in all.
    ///
    /// # Errors
    /// The driver refused.
    pub fn memory(&self) -> Result<(u64, u64)> {
        // SAFETY: a context is current.
        self.on(|| (self.0.info.memory, self.0.info.memory), || unsafe { raw::memory_info() })
    }

    /// Waits until the device has done everything asked of it in this context, by anyone.
    ///
    /// # Errors
    /// The driver refused, or earlier work failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a context is current.
        self.on(|| (), || unsafe { raw::context_sync() })
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.info.device == other.0.info.device
    }
}
