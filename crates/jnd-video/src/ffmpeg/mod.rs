//! Everything that the built-in readers and writers do not do, through the `ffmpeg` and `ffprobe` programs.
//!
//! The programs are started with argument lists, never through a shell; file names are given as `file:NAME`, so that no
//! name can be taken for an option or a protocol. `JND_FFMPEG` and `JND_FFPROBE` name other programs to use; set to
//! nothing, they say that there is none.

mod child;
mod decode;
mod encode;
mod find;
mod formats;
mod media;
mod plan;
mod whole;

use std::ffi::OsString;
use std::path::Path;

pub(crate) use decode::FfmpegReader;
pub(crate) use encode::FfmpegWriter;
pub use find::{Ffmpeg, Program};
pub(crate) use find::{misnamed, missing};
pub(crate) use formats::color_names;
pub(crate) use media::Media;
pub(crate) use plan::Container;
#[cfg(feature = "h264")]
pub(crate) use plan::check_even;

use crate::CreateOptions;

/// A path as the programs take it.
pub(crate) fn file_argument(path: &Path) -> OsString {
    let mut s = OsString::from("file:");
    s.push(path);
    s
}

/// Starts to ask what a writer of this container will want to know.
pub(crate) fn prepare(container: Container, options: &CreateOptions) {
    // What is refused here is refused again, with a message, when the writer is made.
    if let Ok(codec) = plan::codec("", container, options) {
        find::prepare(plan::encoder(codec));
    }
}
