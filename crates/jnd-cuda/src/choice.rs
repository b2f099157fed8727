//! Where to compute, as people ask for it.

use crate::{Context, Device, Error, Result};

/// The device asked for. The results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeviceChoice {
    /// The first card if one can be used, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The card of this number, or an error.
    Cuda(usize),
}

/// A text that names no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a device, which is {}", DeviceChoice::NAMES)]
pub struct UnknownDevice {
    /// The text.
    pub text: String,
}

/// What a choice came to: what was made on a card, or the processor and why it is not a card.
#[derive(Debug)]
pub enum Placed<T, E = Error> {
    /// On the card.
    Card(T),
    /// On the processor. The reason is there where [`DeviceChoice::Auto`] looked for a card.
    Processor(Option<E>),
}

impl DeviceChoice {
    /// What a device may be called.
    pub const NAMES: &str = "auto, cpu, cuda, or cuda:N";

    /// Makes something on the card asked for. Where any device would do and the card does not serve, that is the
    /// processor's turn, and the reason comes along.
    ///
    /// # Errors
    /// Why it cannot be made on the card that was named.
    pub fn place<T, E>(self, make: impl FnOnce(Device) -> Result<T, E>) -> Result<Placed<T, E>, E> {
        match self {
            Self::Cpu => Ok(Placed::Processor(None)),
            Self::Cuda(n) => make(Device(n)).map(Placed::Card),
            Self::Auto => Ok(match make(Device(0)) {
                Ok(made) => Placed::Card(made),
                Err(why) => Placed::Processor(Some(why)),
            }),
        }
    }

    /// Opens the card asked for, or says why it is the processor.
    ///
    /// # Errors
    /// Why the card that was named cannot be used.
    pub fn open(self) -> Result<Placed<Context>> {
        self.place(Context::open)
    }
}

impl std::str::FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let unknown = || UnknownDevice { text: text.to_owned() };
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                // Digits alone: a number's sign has no place here.
                let n = text.strip_prefix("cuda:").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                n.and_then(|n| n.parse().ok()).map(Self::Cuda).ok_or_else(unknown)
            }
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => Device(*n).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unavailable;

    #[test]
    fn names_are_read_and_written() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cpu", DeviceChoice::Cpu),
            ("cuda:0", DeviceChoice::Cuda(0)),
            ("cuda:12", DeviceChoice::Cuda(12)),
        ] {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for bad in ["", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:99999999999999999999"] {
            let e = bad.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(e.contains(&format!("{bad:?}")) && e.contains(DeviceChoice::NAMES), "{e}");
        }
    }

    #[test]
    fn only_auto_falls_back() {
        let none = |_| Err::<(), _>(Error::from(Unavailable::NoDevice));
        let placed = DeviceChoice::Auto.place(none).unwrap();
        assert!(matches!(placed, Placed::Processor(Some(Error::Unavailable(Unavailable::NoDevice)))));
        assert!(DeviceChoice::Cuda(1).place(none).is_err());
        assert!(matches!(DeviceChoice::Cpu.place(none), Ok(Placed::Processor(None))));
        let named = |d: Device| Ok::<_, Error>(d.0);
        assert!(matches!(DeviceChoice::Cuda(3).place(named), Ok(Placed::Card(3))));
        assert!(matches!(DeviceChoice::Auto.place(named), Ok(Placed::Card(0))));
        assert!(matches!(DeviceChoice::Cpu.place(named), Ok(Placed::Processor(None))));
    }

    #[test]
    fn a_card_that_is_not_there_is_named() {
        let e = DeviceChoice::Cuda(4096).open().unwrap_err();
        assert!(e.to_string().contains("cuda:4096") || e.to_string().contains("no CUDA device"), "{e}");
    }
}
