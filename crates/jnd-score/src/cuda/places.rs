//! Where the planes of a pair lie, on the card and in the memory that is copied to it.

use jnd_video::PixelFormat;

use crate::job::{Job, PlaneSizes};

/// Alignment of a row: the widest load of a kernel.
const ROW_ALIGN: usize = 16;

/// Alignment of a plane.
const PLANE_ALIGN: usize = 256;

/// One plane of a pair, as it lies in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedPlane {
    /// Bytes from the start of the place.
    pub(super) offset: usize,
    /// Bytes from one row to the next.
    pub(super) pitch: usize,
    /// Samples of a row that are scored.
    pub(super) width: usize,
    /// Rows that are scored.
    pub(super) height: usize,
}

/// The layout of a place: the planes that some job reads, and no others.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// By side (reference, distorted) and plane.
    pub(super) planes: [[Option<PlacedPlane>; 3]; 2],
    /// Bytes of a sample.
    pub(super) sample: usize,
    /// Bytes of a place.
    pub(super) bytes: usize,
}

impl Places {
    pub(super) fn new(jobs: &[Job], format: PixelFormat, sizes: PlaneSizes) -> Self {
        let mut needed = [[false; 3]; 2];
        for job in jobs {
            match job {
                Job::Sad { .. } => needed[0][0] = true,
                Job::FloatMotion { options, .. } => {
                    needed[0][0] = true;
                    needed[0][1] |= options.add_uv;
                    needed[0][2] |= options.add_uv;
                }
                Job::Chroma { .. } => {
                    for side in &mut needed {
                        side[1] = true;
                        side[2] = true;
                    }
                }
                Job::Temporal { .. } => {
                    needed[0][0] = true;
                    needed[1][0] = true;
                }
            }
        }
        let sample = format.bytes_per_sample();
        let mut planes = [[None; 3]; 2];
        let mut bytes = 0;
        for (side, needed) in needed.into_iter().enumerate() {
            for (i, needed) in needed.into_iter().enumerate() {
                if needed {
                    let (width, height) = if i == 0 { sizes.luma } else { sizes.chroma };
                    let pitch = (width * sample).next_multiple_of(ROW_ALIGN);
                    planes[side][i] = Some(PlacedPlane { offset: bytes, pitch, width, height });
                    bytes += (pitch * height).next_multiple_of(PLANE_ALIGN);
                }
            }
        }
        Self { planes, sample, bytes: bytes.max(PLANE_ALIGN) }
    }

    /// A plane that a job reads, or an empty one.
    pub(super) fn plane(&self, side: usize, i: usize) -> PlacedPlane {
        self.planes[side][i].unwrap_or(PlacedPlane { offset: 0, pitch: ROW_ALIGN, width: 0, height: 0 })
    }
}
