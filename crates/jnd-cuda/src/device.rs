//! Which devices there are.

use crate::{Error, Result, Unavailable, raw};

/// A device's name on the command line and in code: `cuda:N`, counted as CUDA counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub usize);

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cuda:{}", self.0)
    }
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name here.
    pub device: Device,
    /// Its product name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of level-2 cache.
    pub l2_bytes: u64,
    /// Bytes of shared memory that one block may have.
    pub shared_bytes: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// CUDA version that the driver speaks, such as 13.0.
    pub driver: (u32, u32),
}

/// Opens the driver and counts the devices.
///
/// # Errors
/// The reason why there is none.
pub fn probe() -> Result<usize, Unavailable> {
    raw::probe()
}

/// Describes every device, without opening a context on any.
///
/// # Errors
/// The reason why there is none, or a failed call.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    (0..probe()?).map(|i| info(Device(i))).collect()
}

pub(crate) fn info(device: Device) -> Result<DeviceInfo> {
    let count = probe()?;
    if device.0 >= count {
        return Err(Error::NoSuchDevice { ordinal: device.0, count });
    }
    // SAFETY: the driver is initialised (probed above) and the ordinal below the count.
    let i = unsafe { raw::device_info(device.0) }?;
    let unsigned = |v: i32| u32::try_from(v).unwrap_or(0);
    Ok(DeviceInfo {
        device,
        name: i.name,
        capability: (unsigned(i.major), unsigned(i.minor)),
        multiprocessors: unsigned(i.multiprocessors),
        l2_bytes: u64::from(unsigned(i.l2_bytes)),
        shared_bytes: unsigned(i.shared_per_block),
        memory: i.memory,
        driver: (unsigned(i.driver) / 1000, unsigned(i.driver) % 1000 / 10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_never_panics_and_gives_a_reason() {
        match probe() {
            Ok(n) => assert!(n > 0),
            Err(e) => {
                eprintln!("no card here: {e}");
                assert!(!e.to_string().is_empty());
                assert!(matches!(devices(), Err(Error::Unavailable(u)) if u == e));
            }
        }
    }

    #[test]
    fn a_device_beyond_the_last_is_named() {
        let Ok(count) = probe() else {
            eprintln!("skipped: no card");
            return;
        };
        let e = info(Device(count + 3)).unwrap_err();
        assert!(e.to_string().contains(&format!("cuda:{}", count + 3)), "{e}");
    }
}
