//! H.264 with the bundled OpenH264: what a stream says of itself, decoding, encoding.

mod decode;
mod encode;
mod sps;

pub(crate) use decode::H264Reader;
pub(crate) use encode::H264Writer;
pub(crate) use sps::{Bits, Sps, parse_sps};

/// What is said of the library.
pub(crate) const LIBRARY: &str = "OpenH264 2.6";
