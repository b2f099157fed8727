//! YUV4MPEG2: a text header, then frames with a short header each.

mod header;
mod reader;
mod writer;

pub(crate) use header::MAGIC;
pub use header::{Y4mHeader, parse_header};
pub(crate) use reader::Y4mReader;
pub(crate) use writer::Y4mWriter;

/// Whether a file starts as YUV4MPEG2 does.
pub(crate) fn is_y4m(path: &std::path::Path) -> bool {
    let mut head = [0; MAGIC.len()];
    std::fs::File::open(path)
        .and_then(|mut f| crate::source::read_up_to(&mut f, &mut head))
        .is_ok_and(|_| head == MAGIC)
}

/// Reads a YUV4MPEG2 stream from anything that can be read. `name` is for messages.
///
/// # Errors
/// A header that is missing or makes no sense; see [`crate::Error`].
pub fn read_y4m(
    reader: Box<dyn std::io::Read + Send>,
    name: &str,
) -> crate::Result<Box<dyn crate::FrameSource>> {
    Ok(Box::new(Y4mReader::new(reader, name.to_owned(), None)?))
}
