//! `jnd`: video on both sides of the just-noticeable difference.
//!
//! Magnify the changes nobody sees ([`magnify`]) and score the ones viewers notice ([`score`]);
//! [`video`] is what both read and write. [`magnify_file`] does the whole job from file to file:
//!
//! ```no_run
//! use jnd::video::{Input, Output};
//! use jnd::{MagnifyFile, Overrides};
//!
//! let settings = Overrides { alpha: Some(20.0), ..Overrides::default() }.apply("motion")?;
//! let job = MagnifyFile::new(Input::from_arg("in.mp4"), Output::from_arg("out.mp4"), settings);
//! let report = jnd::magnify_file(&job, &mut |_| {})?;
//! println!("{} frames", report.frames_out);
//! # Ok::<(), jnd::Error>(())
//! ```

mod band;
mod error;
mod magnify_file;
mod settings;
mod spool;

pub use band::Band;
pub use error::{Error, Result};
pub use jnd_cuda as cuda;
pub use jnd_cuda::DeviceChoice;
pub use jnd_magnify as magnify;
pub use jnd_score as score;
pub use jnd_video as video;
pub use magnify_file::{
    Applied, Event, MEMORY_LIMIT, MIT_DROPS, MagnifyFile, Progress, Report, SPOOL_LIMIT, Spool, magnify_file,
};
pub use settings::{FilterName, Overrides};

/// Whether H.264 in MP4 is read and written by what is built in.
pub const H264_BUILT_IN: bool = cfg!(feature = "h264");
