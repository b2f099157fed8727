// Shapes and small steps that all kernels of the magnifier share.
#pragma once
#include "jnd.cuh"

namespace magnify {

// A plane of frames as the caller has them: `frame` and `pitch` in bytes. `vec` is set where every row of every frame
// begins at a multiple of 4 bytes.
struct Frames {
    u64 ptr;
    i64 frame;
    i64 pitch;
    i32 width;
    i32 height;
    i32 shift;
    i32 vec;
};

// Planes of a level: plane p of frame t begins at element t * frame + p * plane. The pitch is a multiple of 4 elements.
struct Planes {
    u64 ptr;
    i64 frame;
    i64 plane;
    i32 pitch;
    i32 width;
    i32 height;
    i32 step;
};

// Reflects j about the end samples of 0..n without repeating them, for j from -2 to n + 1: what five taps at every
// second sample reach. Any other j gives some sample inside.
__device__ __forceinline__ i32 mirror(i32 j, i32 n) {
    j = j < 0 ? -j : j;
    j = j < n ? j : 2 * (n - 1) - j;
    return max(j, 0);
}

// Neighbours of an enlargement: x[-1] := x[min(1, n-1)], x[n] := x[n-1].
__device__ __forceinline__ i32 before(i32 j, i32 n) { return j > 0 ? min(j - 1, n - 1) : min(1, n - 1); }
__device__ __forceinline__ i32 after(i32 j, i32 n) { return min(j + 1, n - 1); }

__device__ __forceinline__ f32 taps(f32 a, f32 b, f32 c, f32 d, f32 e) { return (a + e) + 4.0f * (b + d) + 6.0f * c; }
__device__ __forceinline__ u32 taps(u32 a, u32 b, u32 c, u32 d, u32 e) { return (a + e) + 4u * (b + d) + 6u * c; }
__device__ __forceinline__ f32 even(f32 a, f32 b, f32 c) { return (a + c) + 6.0f * b; }
__device__ __forceinline__ f32 odd(f32 b, f32 c) { return 4.0f * (b + c); }

// Stored values as f32, exact for the integers that occur.
__device__ __forceinline__ f32 single(u8 v) { return (f32)(i32)v; }
__device__ __forceinline__ f32 single(u16 v) { return (f32)(i32)v; }
__device__ __forceinline__ f32 single(u32 v) { return (f32)(i32)v; }
__device__ __forceinline__ f32 single(f32 v) { return v; }

// Stored values as the temporal filters take differences of them: integers of samples and of integer levels.
__device__ __forceinline__ i32 value(u8 v, i32 shift) { return (i32)v; }
__device__ __forceinline__ i32 value(u16 v, i32 shift) { return (i32)((u32)v >> shift); }
__device__ __forceinline__ i32 value(u32 v, i32 shift) { return (i32)v; }
__device__ __forceinline__ f32 value(f32 v, i32 shift) { return v; }

template <class T>
struct Value {
    using Type = i32;
};
template <>
struct Value<f32> {
    using Type = f32;
};

// A change enlarged from the next coarser level, at the two pixels (2i, 2i + 1) of row y: vertical first.
struct Pair {
    f32 a, b;
};
__device__ __forceinline__ Pair enlarged(const f32* __restrict__ up, i32 pitch, i32 n, i32 m, i32 i, i32 y) {
    const i32 j = y >> 1, l = before(i, n), r = after(i, n);
    const f32* b = up + (i64)j * pitch;
    const f32* c = up + (i64)after(j, m) * pitch;
    f32 vl, vc, vr;
    if (y & 1) {
        vl = odd(b[l], c[l]);
        vc = odd(b[i], c[i]);
        vr = odd(b[r], c[r]);
    } else {
        const f32* a = up + (i64)before(j, m) * pitch;
        vl = even(a[l], b[l], c[l]);
        vc = even(a[i], b[i], c[i]);
        vr = even(a[r], b[r], c[r]);
    }
    return Pair{even(vl, vc, vr), odd(vc, vr)};
}

}  // namespace magnify
