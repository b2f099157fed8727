//! Parameters of the kernels, field for field as the `.cu` files have them.

/// Frames in a ring of places on the card.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Frames {
    pub(super) ptr: u64,
    pub(super) place: i64,
    pub(super) places: i32,
    pub(super) first: i32,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Motion {
    pub(super) frames: Frames,
    pub(super) offset: i64,
    pub(super) pitch: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) stride: i32,
    pub(super) start: i32,
    pub(super) shift: i32,
    pub(super) rows: i32,
    pub(super) out: u64,
}

/// Warps of a block, each with rows of its own.
pub(super) const MOTION_WARPS: usize = 4;
/// Columns of a warp.
pub(super) const MOTION_COLUMNS: usize = 240;
/// Rows of a warp, about: four more are read.
pub(super) const MOTION_ROWS: usize = 64;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct FloatMotion {
    pub(super) frames: Frames,
    pub(super) offset: i64,
    pub(super) pitch: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) start: i32,
    pub(super) scale: f32,
    /// The taps are symmetric: the outer, the inner, the centre one.
    pub(super) taps: [f32; 3],
    pub(super) half_width: i32,
    pub(super) half_height: i32,
    pub(super) columns: u64,
    pub(super) rows: u64,
    pub(super) sums: u64,
}

/// Rows of a block.
pub(super) const FLOAT_ROWS: usize = 32;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct FloatMotionTotal {
    pub(super) sums: u64,
    pub(super) half_sums: u64,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) half_width: i32,
    pub(super) half_height: i32,
    pub(super) out: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Decimate {
    pub(super) frames: Frames,
    pub(super) minuend: [i64; 4],
    pub(super) subtrahend: [i64; 4],
    pub(super) minuend_frame: i32,
    pub(super) difference: i32,
    pub(super) planes: i32,
    pub(super) start: i32,
    pub(super) step: i32,
    pub(super) pitch: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) scale: f32,
    pub(super) scaled_width: i32,
    pub(super) scaled_height: i32,
    pub(super) method_taps: i32,
    pub(super) normalise: i32,
    pub(super) columns: u64,
    pub(super) rows: u64,
    pub(super) taps_count: i32,
    pub(super) taps: u64,
    pub(super) out_width: i32,
    pub(super) out_height: i32,
    pub(super) out: u64,
}

/// Kept samples of a block.
pub(super) const KEPT: usize = 64;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Centre {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) taps_count: i32,
    pub(super) taps: u64,
    pub(super) plane: u64,
    pub(super) out: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Covariance {
    pub(super) plane: u64,
    pub(super) stride: i32,
    pub(super) plane_height: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    /// Whether the rows pass through shared memory on their way to the means.
    pub(super) staged: i32,
    pub(super) means: u64,
    pub(super) out: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Eigen {
    pub(super) covariance: u64,
    pub(super) out: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Factor {
    pub(super) covariance: u64,
    pub(super) q: u64,
    pub(super) r: u64,
    pub(super) vanishes: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Entropy {
    pub(super) plane: u64,
    pub(super) stride: i32,
    pub(super) plane_height: i32,
    pub(super) columns: i32,
    pub(super) rows: i32,
    pub(super) sigma: f32,
    pub(super) q: u64,
    pub(super) r: u64,
    pub(super) vanishes: u64,
    pub(super) eigen: u64,
    pub(super) variance: u64,
    pub(super) entropy: u64,
    pub(super) singular: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Score {
    pub(super) variance: u64,
    pub(super) entropy: u64,
    pub(super) singular: u64,
    pub(super) blocks: i32,
    pub(super) base: f32,
    pub(super) mode: i32,
    pub(super) out: u64,
}

/// What the card gives for a pair of planes.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PairScore {
    pub(super) score: f32,
    pub(super) failed: u32,
}

/// Up to six planes that are copied within the card.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PlaceCopy {
    pub(super) from: [u64; 6],
    pub(super) from_pitch: [i64; 6],
    pub(super) to: [u64; 6],
    pub(super) to_pitch: [i64; 6],
    pub(super) row_bytes: [i32; 6],
    pub(super) rows: [i32; 6],
}
