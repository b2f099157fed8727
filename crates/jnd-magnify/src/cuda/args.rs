//! Parameters of the kernels, as the `.cu` files declare them.

use std::ffi::c_void;

/// Levels a tail may have: more than the pyramid of the largest picture.
pub(crate) const MAX_TAIL: usize = 17;

/// A plane of frames as the caller has them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Frames {
    pub(crate) ptr: u64,
    pub(crate) frame: i64,
    pub(crate) pitch: i64,
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) shift: i32,
    pub(crate) vec: i32,
}

/// Planes of a level; strides in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Planes {
    pub(crate) ptr: u64,
    pub(crate) frame: i64,
    pub(crate) plane: i64,
    pub(crate) pitch: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) step: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShrinkArgs {
    pub(crate) src: Frames,
    pub(crate) dst: Planes,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShrinkLevelArgs {
    pub(crate) src: Planes,
    pub(crate) dst: Planes,
    pub(crate) scale: f32,
    pub(crate) count: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TailLevel {
    pub(crate) ptr: u64,
    pub(crate) frame: i64,
    pub(crate) plane: i64,
    pub(crate) pitch: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
    /// Padding in the enlarging tail.
    pub(crate) scale: f32,
}

/// Of both tails: the first names its source here, the second its output.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailArgs {
    pub(crate) end: Planes,
    pub(crate) levels: i32,
    pub(crate) count: i32,
    pub(crate) even: i32,
    pub(crate) pad: i32,
    pub(crate) level: [TailLevel; MAX_TAIL],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CausalArgs {
    pub(crate) input: Planes,
    pub(crate) up: Planes,
    pub(crate) out: Planes,
    pub(crate) slow: u64,
    pub(crate) fast: u64,
    pub(crate) last: u64,
    pub(crate) p_slow: f64,
    pub(crate) p_fast: f64,
    pub(crate) c_slow: f64,
    pub(crate) c_fast: f64,
    pub(crate) frames: i32,
    pub(crate) index: i32,
    pub(crate) start: i32,
    pub(crate) shift: i32,
    pub(crate) order: [i32; 3],
    pub(crate) mix: [f32; 9],
}

/// Filter, enlarging and rendering in one.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FusedArgs {
    pub(crate) input: Planes,
    pub(crate) up: Planes,
    pub(crate) src: [Frames; 2],
    pub(crate) dst: [Frames; 2],
    pub(crate) slow: u64,
    pub(crate) fast: u64,
    pub(crate) last: u64,
    pub(crate) slow_out: u64,
    pub(crate) fast_out: u64,
    pub(crate) last_out: u64,
    pub(crate) p_slow: f32,
    pub(crate) p_fast: f32,
    pub(crate) c_slow: f32,
    pub(crate) c_fast: f32,
    pub(crate) max: f32,
    pub(crate) frames: i32,
    pub(crate) index: i32,
    pub(crate) start: i32,
    pub(crate) order: [i32; 3],
    pub(crate) mixes: i32,
    pub(crate) mix: [f32; 9],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableArgs {
    pub(crate) cos: u64,
    pub(crate) sin: u64,
    pub(crate) bins: u64,
    pub(crate) out: u64,
    pub(crate) length: i64,
    pub(crate) first: i64,
    pub(crate) bin_count: i32,
    pub(crate) frames: i32,
    pub(crate) row: i32,
    pub(crate) pass: i32,
}

/// Entries of one launch of the ideal filter: its levels, of which one may be three planes of the frames.
pub(crate) const MAX_IDEAL: usize = 20;

/// How a level's values lie there: the forms of ideal.cu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Form {
    SamplesU8,
    SamplesU16,
    LevelU16,
    LevelU32,
    LevelF32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IdealLevel {
    pub(crate) x: Planes,
    pub(crate) up: Planes,
    pub(crate) first: u64,
    pub(crate) c: u64,
    pub(crate) s: u64,
    pub(crate) cells: i64,
    pub(crate) h: f64,
    pub(crate) pitch: i32,
    pub(crate) planes: i32,
    pub(crate) form: i32,
    pub(crate) shift: i32,
    pub(crate) begin: i32,
    pub(crate) parts: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IdealArgs {
    pub(crate) pairs: u64,
    pub(crate) row: i32,
    pub(crate) levels: i32,
    pub(crate) bins: i32,
    pub(crate) frames: i32,
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) order: [i32; 3],
    pub(crate) mix: [f32; 9],
    pub(crate) level: [IdealLevel; MAX_IDEAL],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EnlargeArgs {
    pub(crate) up: Planes,
    pub(crate) out: Planes,
    pub(crate) count: i32,
    pub(crate) add: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LumaArgs {
    pub(crate) r: u64,
    pub(crate) g: u64,
    pub(crate) b: u64,
    pub(crate) frame: i64,
    pub(crate) pitch: i64,
    pub(crate) out: Planes,
    pub(crate) y: [f32; 3],
    pub(crate) step: i32,
    pub(crate) shift: i32,
    pub(crate) pad: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MatrixArgs {
    pub(crate) x: Planes,
    pub(crate) order: [i32; 3],
    pub(crate) a: [f32; 9],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RenderArgs {
    pub(crate) src: Frames,
    pub(crate) dst: Frames,
    pub(crate) change: Planes,
    pub(crate) across: u64,
    pub(crate) down: u64,
    pub(crate) max: f32,
    pub(crate) rows: i32,
    pub(crate) mode: i32,
    pub(crate) pad: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct BilinearTap {
    pub(crate) i: i32,
    pub(crate) j: i32,
    pub(crate) a: f32,
    pub(crate) b: f32,
}

/// One launch: kernel parameters that are a single structure.
pub(crate) fn one<T: Copy>(args: &T) -> [*mut c_void; 1] {
    [jnd_cuda::arg(args)]
}
