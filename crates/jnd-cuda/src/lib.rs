//! The card behind `jnd`: NVIDIA's driver opened at run time, and the few things the kernels need of it.
//!
//! Nothing here links to CUDA. The driver library is looked for when [`probe`] or [`Context::open`] is first called;
//! what is missing is a typed reason ([`Unavailable`]), never a panic. Without the cargo feature `driver` every function
//! is still there and answers [`Unavailable::NotBuilt`].
//!
//! A [`Context`] belongs to one device and everything made from it keeps it alive; nothing is global to the process
//! but the driver itself. Work is ordered by [`Stream`]s and [`Event`]s and by nothing else: no call waits for the
//! device unless its documentation says so. All device memory of an operation is one [`Arena`] laid out by a
//! [`MemoryPlan`], whose size is known before anything is allocated.
//!
//! [`Context::emulated`] runs the same kernels on the processor, compiled for the host, so that every test of a device
//! operation also runs where there is no card.

mod buffer;
mod ceiling;
mod choice;
mod context;
mod copy;
mod device;
mod error;
mod graph;
mod module;
mod plan;
mod raw;
mod stream;

pub use buffer::{DeviceBuffer, PinnedBuffer, Transfer};
pub use ceiling::{Ceilings, KERNELS, ceilings};
pub use choice::{DeviceChoice, Placed, UnknownDevice};
pub use context::{Context, HostKernels};
pub use copy::{CopyJob, CopyPool};
pub use device::{Device, DeviceInfo, devices, probe};
pub use error::{Error, LoaderMessage, Result, Unavailable};
pub use graph::Graph;
pub use module::{Kernel, KernelResources, Module, arg};
pub use plan::{Arena, MemoryPlan, Part};
pub use stream::{Event, Priority, Stream};
