//! Parameters of the kernels, as the `.cu` files declare them.

use std::ffi::c_void;

/// Levels a tail may have: more than the pyramid of the largest picture.
pub(crate) const MAX_TAIL: usize = 17;

/// Entries of one launch of the ideal filter: its levels, of which one may be three planes of the frames.
pub(crate) const MAX_IDEAL: usize = 20;

/// How a level's values lie there: the forms of ideal.cuh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Form {
    SamplesU8,
    SamplesU16,
    LevelU16,
    LevelU32,
    LevelF32,
}

/// Structures laid out as C does, all of whose fields the crate may set.
macro_rules! parameters {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub(crate) struct $name {
            $($(#[$note])* pub(crate) $field: $type,)*
        }
    )*};
}

parameters! {
    /// A plane of frames as the caller has them.
    struct Frames {
        ptr: u64,
        frame: i64,
        pitch: i64,
        width: i32,
        height: i32,
        shift: i32,
        vec: i32,
    }

    /// Planes of a level; strides in elements.
    struct Planes {
        ptr: u64,
        frame: i64,
        plane: i64,
        pitch: i32,
        width: i32,
        height: i32,
        step: i32,
    }

    struct ShrinkArgs {
        src: Frames,
        dst: Planes,
    }

    struct ShrinkLevelArgs {
        src: Planes,
        dst: Planes,
        scale: f32,
        count: i32,
    }

    struct TailLevel {
        ptr: u64,
        frame: i64,
        plane: i64,
        pitch: i32,
        width: i32,
        height: i32,
        /// Padding in the enlarging tail.
        scale: f32,
    }

    /// Of both tails: the first names its source here, the second its output.
    struct TailArgs {
        end: Planes,
        levels: i32,
        count: i32,
        even: i32,
        pad: i32,
        level: [TailLevel; MAX_TAIL],
    }

    struct CausalArgs {
        input: Planes,
        up: Planes,
        out: Planes,
        slow: u64,
        fast: u64,
        last: u64,
        p_slow: f64,
        p_fast: f64,
        c_slow: f64,
        c_fast: f64,
        frames: i32,
        index: i32,
        start: i32,
        shift: i32,
        order: [i32; 3],
        mix: [f32; 9],
    }

    /// Filter, enlarging and rendering in one.
    struct FusedArgs {
        input: Planes,
        up: Planes,
        src: [Frames; 2],
        dst: [Frames; 2],
        slow: u64,
        fast: u64,
        last: u64,
        slow_out: u64,
        fast_out: u64,
        last_out: u64,
        p_slow: f32,
        p_fast: f32,
        c_slow: f32,
        c_fast: f32,
        max: f32,
        frames: i32,
        index: i32,
        start: i32,
        order: [i32; 3],
        mixes: i32,
        mix: [f32; 9],
    }

    struct TableArgs {
        cos: u64,
        sin: u64,
        bins: u64,
        out: u64,
        length: i64,
        first: i64,
        bin_count: i32,
        frames: i32,
        row: i32,
        pass: i32,
    }

    struct IdealLevel {
        x: Planes,
        up: Planes,
        first: u64,
        c: u64,
        s: u64,
        cells: i64,
        h: f64,
        pitch: i32,
        planes: i32,
        form: i32,
        shift: i32,
        begin: i32,
        parts: i32,
    }

    struct IdealArgs {
        pairs: u64,
        row: i32,
        levels: i32,
        bins: i32,
        frames: i32,
        start: i32,
        end: i32,
        order: [i32; 3],
        mix: [f32; 9],
        level: [IdealLevel; MAX_IDEAL],
    }

    struct EnlargeArgs {
        up: Planes,
        out: Planes,
        count: i32,
        add: i32,
    }

    struct LumaArgs {
        r: u64,
        g: u64,
        b: u64,
        frame: i64,
        pitch: i64,
        out: Planes,
        y: [f32; 3],
        step: i32,
        shift: i32,
        pad: i32,
    }

    struct MatrixArgs {
        x: Planes,
        order: [i32; 3],
        a: [f32; 9],
    }

    struct RenderArgs {
        src: Frames,
        dst: Frames,
        change: Planes,
        across: u64,
        down: u64,
        max: f32,
        rows: i32,
        mode: i32,
        pad: i32,
    }

    struct BilinearTap {
        i: i32,
        j: i32,
        a: f32,
        b: f32,
    }
}

/// One launch: kernel parameters that are a single structure.
pub(crate) fn one<T: Copy>(args: &T) -> [*mut c_void; 1] {
    [jnd_cuda::arg(args)]
}
