// Frames on the card, and samples as single-precision numbers: what the kernels of the scorer share.
#pragma once
#include "jnd.cuh"

namespace score {

// Frames in a ring of places; frame 0 is the first of the batch, and negative ones came before it.
struct Frames {
    u64 ptr;
    i64 place;
    i32 places;
    i32 first;
};

__device__ __forceinline__ const u8* place(const Frames& s, i32 frame) {
    i32 p = s.first + frame;
    if (p < 0) p += s.places;
    if (p >= s.places) p -= s.places;
    return (const u8*)(s.ptr + (u64)(p * s.place));
}

// As below, for an index at most two beyond either end of three or more: no clamp is needed.
__device__ __forceinline__ i32 reflect_near(i32 i, i32 n) {
    const i32 r = i < 0 ? -i : i;
    return min(r, 2 * n - 2 - r);
}

// Index i reflected at the ends of 0 to n-1 without repeating the border: one bounce, kept inside.
__device__ __forceinline__ i32 reflect(i32 i, i32 n) {
    const i32 r = i < 0 ? -i : i >= n ? 2 * n - i - 2 : i;
    return min(max(r, 0), n - 1);
}

// Byte k of a word as the single-precision number 2^23 + byte, without a conversion.
__device__ __forceinline__ f32 biased(u32 word, u32 k) {
    return __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7440u + k));
}

// A sample as a number from -128 to 128; `scale` is a power of two.
__device__ __forceinline__ f32 number(u8 v, f32) { return (f32)(i32)v + -128.0f; }
__device__ __forceinline__ f32 number(u16 v, f32 scale) { return (f32)(i32)v * scale + -128.0f; }

// Four samples that follow each other.
template <class T>
struct Four;
template <>
struct Four<u8> {
    u32 w;
    static __device__ __forceinline__ Four load(const u8* p) { return Four{__ldg((const u32*)p)}; }
    __device__ __forceinline__ void numbers(f32* v, f32) const {
#pragma unroll
        for (u32 k = 0; k < 4; k++) v[k] = biased(w, k) - 8388736.0f;
    }
    // The difference of two numbers; integers this small lose nothing.
    __device__ __forceinline__ void less(const Four& other, f32* v, f32) const {
#pragma unroll
        for (u32 k = 0; k < 4; k++) v[k] = biased(w, k) - biased(other.w, k);
    }
};
template <>
struct Four<u16> {
    uint2 w;
    static __device__ __forceinline__ Four load(const u8* p) { return Four{__ldg((const uint2*)p)}; }
    __device__ __forceinline__ void numbers(f32* v, f32 scale) const {
        v[0] = number((u16)(w.x & 0xFFFF), scale);
        v[1] = number((u16)(w.x >> 16), scale);
        v[2] = number((u16)(w.y & 0xFFFF), scale);
        v[3] = number((u16)(w.y >> 16), scale);
    }
    __device__ __forceinline__ void less(const Four& other, f32* v, f32 scale) const {
        f32 b[4];
        numbers(v, scale);
        other.numbers(b, scale);
#pragma unroll
        for (i32 k = 0; k < 4; k++) v[k] = v[k] - b[k];
    }
};

}  // namespace score
