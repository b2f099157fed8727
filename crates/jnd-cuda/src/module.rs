//! Kernels: loading them and launching them.

use crate::context::Kind;
use crate::{Context, Error, Result, Stream, raw};
use std::ffi::c_void;
use std::sync::Arc;

struct Inner {
    context: Context,
    name: &'static str,
    raw: raw::Handle,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.context.is_emulated()
            && let Ok(_entered) = self.context.enter()
        {
            // SAFETY: loaded by `Module::load`; every kernel of it holds this and is gone.
            let _ = unsafe { raw::module_unload(self.raw) };
        }
    }
}

/// The kernels of a crate, loaded into a context.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

/// A kernel of a loaded module.
#[derive(Clone)]
pub struct Kernel {
    module: Module,
    raw: raw::Handle,
    name: &'static str,
}

/// What a kernel uses on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelResources {
    /// Registers a thread.
    pub registers: i32,
    /// Bytes of local memory a thread; above 0 it spills.
    pub local_bytes: i32,
    /// Bytes of static shared memory a block.
    pub shared_bytes: i32,
}

/// A kernel's parameter: the address of a value of the parameter's type.
pub fn arg<T: Copy>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

impl Module {
    /// Loads a fatbin that `scripts/kernels` made. `name` is the crate's, for messages. In an emulated context the
    /// image is not looked at: the kernels are the host's.
    ///
    /// # Errors
    /// [`Error::Module`] with the driver's log.
    pub fn load(context: &Context, name: &'static str, image: &'static [u8]) -> Result<Self> {
        let raw = match context.kind() {
            Kind::Host(_) => 0,
            Kind::Card(_) => {
                // A fatbin: its magic number, then version, header size and payload size, all little-endian.
                let word = |at: usize, n: usize| {
                    image.get(at..at + n).map(|b| b.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b)))
                };
                let whole = word(0, 4) == Some(0xBA55_ED50)
                    && word(6, 2).zip(word(8, 8)).is_some_and(|(h, n)| h + n <= image.len() as u64);
                if !whole {
                    return Err(Error::Module {
                        module: name,
                        code: 200,
                        name: "CUDA_ERROR_INVALID_IMAGE".into(),
                        log: "the embedded kernels are not a fatbin; run scripts/kernels".into(),
                    });
                }
                let _entered = context.enter()?;
                // SAFETY: the image is a whole fatbin and the context is current.
                unsafe { raw::module_load(name, image) }?
            }
        };
        Ok(Self(Arc::new(Inner { context: context.clone(), name, raw })))
    }

    /// The context it is loaded into.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Finds a kernel.
    ///
    /// # Errors
    /// [`Error::NoKernel`].
    pub fn kernel(&self, name: &'static str) -> Result<Kernel> {
        let raw = match self.0.context.kind() {
            Kind::Host(table) if table.has(name) => 0,
            Kind::Host(_) => return Err(Error::NoKernel { kernel: name.into(), module: self.0.name }),
            Kind::Card(_) => {
                let _entered = self.0.context.enter()?;
                // SAFETY: the module is loaded.
                unsafe { raw::function_get(self.0.raw, self.0.name, name) }?
            }
        };
        Ok(Kernel { module: self.clone(), raw, name })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Queues the kernel: `grid` blocks of `block` threads, `shared` bytes of dynamic shared memory. `params` holds
    /// [`arg`] of each parameter, in order.
    ///
    /// # Safety
    /// The parameters are the kernel's, in number, order and type, and point to live values; the memory it touches is
    /// the context's and is not touched by other work at the same time, except as the kernel allows.
    ///
    /// # Errors
    /// The stream is another device's, the geometry is impossible, or the driver refused.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared: u32,
        params: &mut [*mut c_void],
    ) -> Result<()> {
        let context = &self.module.0.context;
        let threads = u64::from(block.0) * u64::from(block.1) * u64::from(block.2);
        let possible = threads > 0
            && threads <= 1024
            && block.2 <= 64
            && grid.0 > 0
            && grid.0 <= i32::MAX as u32
            && (1..=65_535).contains(&grid.1)
            && (1..=65_535).contains(&grid.2)
            && stream.context().same(context);
        if !possible {
            return Err(Error::Geometry { kernel: self.name.into(), grid, block });
        }
        match context.kind() {
            Kind::Host(table) => {
                // SAFETY: the caller's promise.
                unsafe { table.launch(self.name, grid, block, shared, params.as_mut_ptr()) };
                Ok(())
            }
            Kind::Card(_) => {
                let _entered = context.enter()?;
                // SAFETY: the caller's promise.
                unsafe { raw::launch(self.raw, grid, block, shared, stream.raw(), params) }
            }
        }
    }

    /// Allows launches with more dynamic shared memory than the 48 KB that every kernel may have.
    ///
    /// # Errors
    /// The device has less.
    pub fn allow_shared(&self, bytes: u32) -> Result<()> {
        if self.module.0.context.is_emulated() {
            return Ok(());
        }
        let _entered = self.module.0.context.enter()?;
        // SAFETY: the kernel is loaded.
        unsafe { raw::function_allow_shared(self.raw, bytes) }
    }

    /// What it uses on this device.
    ///
    /// # Errors
    /// [`Error::CardOnly`] in the emulation.
    pub fn resources(&self) -> Result<KernelResources> {
        if self.module.0.context.is_emulated() {
            return Err(Error::CardOnly("asking for a kernel's registers"));
        }
        let _entered = self.module.0.context.enter()?;
        let get = |a| {
            // SAFETY: the kernel is loaded.
            unsafe { raw::function_attribute(self.raw, a) }
        };
        Ok(KernelResources {
            registers: get(raw::Attribute::Registers)?,
            local_bytes: get(raw::Attribute::LocalBytes)?,
            shared_bytes: get(raw::Attribute::SharedBytes)?,
        })
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({})", self.name)
    }
}
