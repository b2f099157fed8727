//! YUV4MPEG2: a text header, then frames with a short header each.

mod header;
mod reader;
mod writer;

pub(crate) use header::MAGIC;
pub use header::{Y4mHeader, parse_header};
pub(crate) use reader::Y4mReader;
pub(crate) use writer::Y4mWriter;
