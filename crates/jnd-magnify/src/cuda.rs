//! Magnifying on an NVIDIA card: the same plan, the same bits.
//!
//! [`DeviceMagnifier`] works on frames that are already on the card, in the caller's stream. [`Session`] takes frames
//! from host memory and brings them back: upload, kernels and download overlap. [`magnify_clip`] is a loop over a
//! session for a whole array.
//!
//! In a build without the feature `cuda` everything here is still there; opening a device is the error that says so.

use jnd_cuda::{Context, Stream};
use jnd_video::ChromaRounding;

use crate::plan::{Plan, Source};
use crate::{Error, Pipeline, Result};

mod args;
mod clip;
mod compute;
pub mod measure;
mod memory;
mod ring;
mod session;

pub use clip::{ClipRunner, magnify_clip};
pub use ring::Options;
pub use session::Session;

use compute::Compute;

/// The kernels, compiled ahead; see `scripts/kernels`.
#[cfg(feature = "cuda")]
pub(crate) static KERNELS: &[u8] = include_bytes!("kernels.fatbin");
#[cfg(not(feature = "cuda"))]
pub(crate) static KERNELS: &[u8] = &[];

/// A plane of frames in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DevicePlane {
    /// Address of the first sample of the first frame.
    pub ptr: u64,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one frame to the next; of no meaning for a single frame.
    pub frame: usize,
}

/// Frames in device memory: planes as the plan's format has them (two for NV12 and P010, one for interleaved RGB).
///
/// Addresses, pitches and frame distances that are multiples of 4 are fast; every other one that is a multiple of the
/// sample's size works as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceFrames {
    /// The planes; those beyond the format's are not looked at.
    pub planes: [DevicePlane; 3],
    /// Frames.
    pub count: usize,
}

impl DeviceFrames {
    /// Frames without gaps at `ptr`, as raw video files hold them.
    pub fn packed(source: &Source, ptr: u64, count: usize) -> Self {
        let f = source.format;
        let bytes = f.bytes_per_sample();
        let frame = f.frame_bytes(source.width, source.height, ChromaRounding::Ceil);
        let mut at = ptr;
        let planes = std::array::from_fn(|p| {
            if p >= f.plane_count() {
                return DevicePlane::default();
            }
            let size = f.plane_size(p, source.width, source.height, ChromaRounding::Ceil);
            let plane = DevicePlane { ptr: at, pitch: size.row() * bytes, frame };
            at += (size.samples() * bytes) as u64;
            plane
        });
        Self { planes, count }
    }

    fn check(&self, source: &Source) -> Result<()> {
        let f = source.format;
        let bytes = f.bytes_per_sample();
        for (plane, p) in self.planes.iter().enumerate().take(f.plane_count()) {
            let size = f.plane_size(plane, source.width, source.height, ChromaRounding::Ceil);
            let row = size.row() * bytes;
            let error = |what, have, legal: String| Err(Error::DeviceFrames { plane, what, have, legal });
            if p.ptr == 0 || !p.ptr.is_multiple_of(bytes as u64) {
                return error("the address", p.ptr as usize, format!("a multiple of {bytes} above 0"));
            }
            if p.pitch < row || !p.pitch.is_multiple_of(bytes) || p.pitch > i32::MAX as usize {
                return error("the pitch", p.pitch, format!("a multiple of {bytes}, at least {row}"));
            }
            if self.count > 1 && (!p.frame.is_multiple_of(bytes) || p.frame > 1 << 40) {
                return error("the frame distance", p.frame, format!("a multiple of {bytes}"));
            }
            if f.is_rgb() && (p.pitch != self.planes[0].pitch || p.frame != self.planes[0].frame) {
                let legal = format!("{} as in the first plane", self.planes[0].pitch);
                return error("the pitch", p.pitch, legal);
            }
        }
        Ok(())
    }
}

/// A part of the work, as benchmarks report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Frames to levels.
    Shrink,
    /// First pass of the ideal filter.
    Project,
    /// Temporal filters and the enlargement of the coarse changes.
    Filter,
    /// The last enlargement, added to the frame.
    Render,
    /// Planes in which nothing is magnified.
    Copy,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Shrink => "shrink",
            Self::Project => "project",
            Self::Filter => "filter",
            Self::Render => "render",
            Self::Copy => "copy",
        })
    }
}

/// Magnifies frames that are on the card.
///
/// With a causal filter, [`push`](Self::push) the frames in order, any number at a time. With the ideal filter
/// [`observe`](Self::observe) all of them, [`begin_render`](Self::begin_render), and push all of them.
pub struct DeviceMagnifier {
    compute: Compute,
    render: bool,
}

impl std::fmt::Debug for DeviceMagnifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceMagnifier")
            .field("plan", self.compute.plan())
            .field("chunk", &self.compute.chunk())
            .finish_non_exhaustive()
    }
}

/// Frames of a chunk on a device: enough to keep every multiprocessor busy for much longer than it takes to begin and end,
/// few enough to take little memory.
pub fn default_chunk(plan: &Plan) -> usize {
    let s = plan.source();
    let frame = s.format.frame_bytes(s.width, s.height, ChromaRounding::Ceil);
    let (bytes, frames) = match plan.settings().pipeline {
        // Least is kept of a frame, and most of a chunk's kernels are too small to fill the card.
        Pipeline::Color => (288 << 20, 320),
        Pipeline::Motion if plan.needs_two_passes() => (96 << 20, 256),
        // The causal filters keep no change of the finest level.
        Pipeline::Motion => (224 << 20, 256),
    };
    let most = (bytes / frame.max(1)).clamp(4, frames);
    // No more than the clip has, and chunks of the same length.
    s.frames.filter(|&n| n > 0).map_or(most, |n| compute::even(n as usize, most))
}

impl DeviceMagnifier {
    /// Bytes of device memory that `new` takes for chunks of `chunk` frames; the caller's frames are not counted.
    pub fn need(plan: &Plan, chunk: usize) -> u64 {
        Compute::plan_memory(plan, chunk.max(1)).0.bytes()
    }

    /// Takes all memory and loads the kernels. More frames than `chunk` (0 for the default) in one call are worked on
    /// chunk by chunk.
    ///
    /// # Errors
    /// Too little memory on the card, or the card failed.
    pub fn new(plan: &Plan, context: &Context, chunk: usize, memory: Option<u64>) -> Result<Self> {
        let chunk = if chunk == 0 { default_chunk(plan) } else { chunk.min(4096) };
        Ok(Self { compute: Compute::new(plan, context, chunk, memory)?, render: !plan.needs_two_passes() })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.compute.plan()
    }

    /// Bytes of device memory in use.
    pub fn memory(&self) -> u64 {
        self.compute.bytes()
    }

    /// Whether every frame must be observed before the first is pushed.
    pub fn needs_two_passes(&self) -> bool {
        self.plan().needs_two_passes()
    }

    /// First pass of the ideal filter: queues the work on `stream` and returns.
    ///
    /// # Safety
    /// The planes are device memory of the stream's context for all rows of all frames, and unchanged until the stream
    /// has passed this.
    ///
    /// # Errors
    /// Impossible geometry, too many frames, a causal filter, or the card failed.
    pub unsafe fn observe(&mut self, stream: &Stream, frames: &DeviceFrames) -> Result<()> {
        if self.render {
            return Err(Error::NotReady {
                what: "frames were observed, but this pass renders",
                remedy: "push the frames instead",
            });
        }
        self.compute.observe(stream, frames)
    }

    /// Ends the first pass of the ideal filter. Nothing to do for a causal one.
    ///
    /// # Errors
    /// [`Error::FrameCount`] when fewer frames have been observed than announced.
    pub fn begin_render(&mut self) -> Result<()> {
        if self.render {
            return Ok(());
        }
        let expected = match self.plan().temporal() {
            crate::Temporal::Causal { .. } => 0,
            crate::Temporal::Projection { frames, .. } => *frames as u64,
        };
        if self.compute.seen() != expected {
            return Err(Error::FrameCount { expected, seen: self.compute.seen() });
        }
        self.render = true;
        self.compute.rewind();
        Ok(())
    }

    /// Magnifies frames: queues the work on `stream` and returns, without waiting for anything. `out` may be `frames`.
    ///
    /// # Safety
    /// As [`DeviceMagnifier::observe`], for both; `out` is `frames` or does not overlap it.
    ///
    /// # Errors
    /// Impossible geometry, the ideal filter before its first pass, or the card failed.
    pub unsafe fn push(&mut self, stream: &Stream, frames: &DeviceFrames, out: &DeviceFrames) -> Result<()> {
        if !self.render {
            return Err(Error::NotReady {
                what: "the ideal filter needs the whole clip before it can magnify a frame",
                remedy: "observe every frame and begin to render, or use the iir or butterworth filter",
            });
        }
        self.compute.push(stream, frames, out)
    }

    /// Forgets every frame: the next one is the first again.
    pub fn reset(&mut self) {
        self.compute.rewind();
        self.render = !self.plan().needs_two_passes();
    }

    /// Measures each stage on the device from now on (or no longer); costs an event for each.
    pub fn time_stages(&mut self, on: bool) {
        self.compute.time_stages(on);
    }

    /// Milliseconds of each stage since the last call. The streams used are done.
    ///
    /// # Errors
    /// The card failed.
    pub fn stage_times(&mut self) -> Result<Vec<(Stage, f64)>> {
        self.compute.stage_times()
    }
}
