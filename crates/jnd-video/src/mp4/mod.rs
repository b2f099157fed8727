//! MP4 and MOV files: which tracks there are, where their samples lie and when they are shown; and writing them.

mod carry;
mod demux;
mod mux;
mod samples;

pub(crate) use carry::{carry, wanted};
pub use demux::{Mp4, Track, TrackKind};
pub(crate) use mux::{OutSample, OutTrack, ReadSeek, write};
pub use samples::Sample;
