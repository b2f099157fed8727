//! `jnd`: video on both sides of the just-noticeable difference.
//!
//! Magnify the changes nobody sees ([`magnify`]) and score the ones viewers notice ([`score`]);
//! [`video`] is what both read and write.

mod band;
mod error;

pub use band::Band;
pub use error::{Error, Result};
pub use jnd_magnify as magnify;
pub use jnd_score as score;
pub use jnd_video as video;
