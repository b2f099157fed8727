//! Video as the rest of `jnd` sees it: typed planes and frames, pixel formats, exact rates, and the readers and
//! writers that turn files, pipes and other programs into frames and back.

mod error;
mod format;
mod frame;
pub mod simd;
mod stream;

pub use error::{Error, Result};
pub use format::{ChromaRounding, Layout, MAX_SIDE, Packing, PixelFormat, PlaneSize, check_size};
pub use frame::{Buffer, Frame, FrameMut, FrameRef, Plane, PlaneMut, Planes, PlanesMut, Sample, Timestamp};
pub use stream::{ChromaSiting, ColorRange, ColorTags, FieldOrder, Rate, Rational, StreamInfo};
