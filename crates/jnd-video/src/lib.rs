//! Video as the rest of `jnd` sees it: typed planes and frames, pixel formats, exact rates, and the readers and
//! writers that turn files, pipes and other programs into frames and back.

mod adapt;
mod boxes;
mod error;
mod ffmpeg;
mod format;
pub mod fpu;
mod frame;
#[cfg(feature = "h264")]
mod h264;
mod matrix;
#[cfg(feature = "h264")]
pub mod mp4;
pub mod nut;
mod output;
mod probe;
mod pump;
mod queue;
mod raw;
mod rotate;
pub mod simd;
mod sink;
mod source;
mod stream;
mod trim;
mod y4m;

pub use error::{ChildMessage, Error, FfmpegMissing, Result};
pub use ffmpeg::{Ffmpeg, Program};
pub use format::{ChromaRounding, Layout, MAX_SIDE, Packing, PixelFormat, PlaneSize, check_size};
pub use frame::{Buffer, Frame, FrameMut, FrameRef, Plane, PlaneMut, Planes, PlanesMut, Sample, Timestamp};
pub use output::{OutputFile, remove_partial_outputs};
pub use probe::{MediaInfo, MediaStream, StreamKind, probe};
pub use pump::{PumpOptions, Pumped, pump};
pub use queue::{DEFAULT_DEPTH, ReadAhead, WriteBehind};
pub use rotate::{Rotated, rotate};
pub use sink::{Codec, CreateOptions, EncoderChoice, FrameSink, Output, create, prepare, same_file};
pub use source::{DecoderChoice, FrameSource, Input, OpenOptions, RawGeometry, open};
pub use stream::{ChromaSiting, ColorRange, ColorTags, FieldOrder, Rate, Rational, StreamInfo};
pub use y4m::{Y4mHeader, parse_header, read_y4m};
