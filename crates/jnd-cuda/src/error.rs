//! What can go wrong with the card.

/// Why no card can be used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// This build leaves the card out.
    #[error("this build leaves the card out (cargo feature `cuda` is off)")]
    NotBuilt,
    /// The driver library was not found.
    #[error(
        "NVIDIA's driver library is not installed (libcuda.so.1, or nvcuda.dll on Windows); install the NVIDIA driver"
    )]
    NoLibrary {
        /// What the system said of its names.
        source: LoaderMessage,
    },
    /// The driver library lacks a function that every driver since 525 has.
    #[error("the driver library has no function {symbol}; install NVIDIA driver 525 or newer")]
    MissingSymbol {
        /// The function looked for.
        symbol: String,
    },
    /// The library is the stub that containers and toolkits carry for linking.
    #[error("the driver library found is a stub without a driver; give the container access to the card")]
    Stub,
    /// The driver is older than what the kernels need.
    #[error("the NVIDIA driver speaks CUDA {have}, {need} is needed; install NVIDIA driver 525 or newer")]
    OldDriver {
        /// CUDA version that the driver speaks.
        have: String,
        /// Lowest that serves.
        need: String,
    },
    /// There is a driver and no card.
    #[error("there is an NVIDIA driver but no CUDA device")]
    NoDevice,
    /// Cards are hidden by the environment.
    #[error("CUDA_VISIBLE_DEVICES is {value:?} and hides every CUDA device; unset it or name one")]
    Hidden {
        /// The variable's value.
        value: String,
    },
    /// The driver refused to start.
    #[error("the NVIDIA driver did not start: {name} (code {code})")]
    NotStarted {
        /// CUDA's error code.
        code: u32,
        /// CUDA's name of it.
        name: String,
    },
}

/// What the system said of a library that it did not load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoaderMessage(pub String);

impl Unavailable {
    /// The reason in a few words, for a line that says where the work is done.
    pub fn short(&self) -> &'static str {
        match self {
            Self::NotBuilt => "this build has no CUDA",
            Self::NoLibrary { .. } => "no NVIDIA driver",
            Self::MissingSymbol { .. } | Self::OldDriver { .. } => "NVIDIA driver too old",
            Self::Stub => "NVIDIA driver is a stub",
            Self::NoDevice => "no CUDA device",
            Self::Hidden { .. } => "cards hidden by CUDA_VISIBLE_DEVICES",
            Self::NotStarted { .. } => "NVIDIA driver did not start",
        }
    }
}

/// An error of the card.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No card can be used.
    #[error("no CUDA device can be used: {0}")]
    Unavailable(#[from] Unavailable),
    /// The device named does not exist.
    #[error("there is no device cuda:{ordinal}; this machine has {count} (cuda:0 is the first)")]
    NoSuchDevice {
        /// Index asked for.
        ordinal: usize,
        /// Devices there are.
        count: usize,
    },
    /// A call to the driver failed.
    #[error("{call} failed on the card: {name} (code {code}: {text})")]
    Driver {
        /// The driver function.
        call: &'static str,
        /// CUDA's error code.
        code: u32,
        /// CUDA's name of it.
        name: String,
        /// CUDA's sentence about it.
        text: String,
    },
    /// Kernels could not be loaded.
    #[error("the kernels of {module} could not be loaded: {name} (code {code}); the driver says: {log}")]
    Module {
        /// Which kernels.
        module: &'static str,
        /// CUDA's error code.
        code: u32,
        /// CUDA's name of it.
        name: String,
        /// The driver's log.
        log: String,
    },
    /// A kernel is not in its module.
    #[error("kernel {kernel} is not among the kernels of {module}")]
    NoKernel {
        /// The kernel.
        kernel: String,
        /// Where it was looked for.
        module: &'static str,
    },
    /// More device memory is needed than there is.
    #[error(
        "{need} bytes of device memory are needed on {device} and {have} are free ({detail}); lower the chunk length or the picture size, or use another device"
    )]
    Memory {
        /// The device.
        device: String,
        /// Bytes needed.
        need: u64,
        /// Bytes free, or the budget given.
        have: u64,
        /// The largest parts of the need.
        detail: String,
    },
    /// A copy or launch was asked for outside its buffer.
    #[error("{what}: {need} bytes asked for, the buffer has {have}")]
    OutOfRange {
        /// The operation.
        what: &'static str,
        /// Bytes from the buffer's start that it would touch.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// A launch geometry that CUDA does not have.
    #[error("kernel {kernel}: a grid of {grid:?} blocks of {block:?} threads is not possible")]
    Geometry {
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: (u32, u32, u32),
        /// Threads of a block.
        block: (u32, u32, u32),
    },
    /// The operation exists on a card only.
    #[error("{0} needs a card; the host emulation of kernels does not have it")]
    CardOnly(&'static str),
}

impl Error {
    /// The reason why the card is not used in a few words, for a line that says what is used instead.
    pub fn short(&self) -> &'static str {
        match self {
            Self::Unavailable(why) => why.short(),
            Self::Memory { .. } => "too little memory on the card",
            _ => "the card failed",
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
