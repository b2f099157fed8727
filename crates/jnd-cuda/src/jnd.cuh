// What every kernel file includes first. The same source is compiled for the card by NVRTC (scripts/kernels) and for
// the host by the C++ compiler (crates/jnd-cuda-shim, tests only), so kernels use the names defined or wrapped here
// and nothing of CUDA's headers beyond them.
#pragma once

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;

#ifdef JND_HOST_SHIM
#include "shim.h"
#else

// Makes a kernel known to the host shim. JND_KERNEL_FLAT is for kernels without barriers and shuffles, which the shim
// then runs as plain loops.
#define JND_KERNEL(name)
#define JND_KERNEL_FLAT(name)

// Dynamic shared memory, 16-byte aligned, under the name given.
#define JND_DYNAMIC_SHARED(name) extern __shared__ __align__(16) u8 name[]

#endif

// Two values rounded to nearest, ties to even, and clamped to 0..255, in the low bytes (a lowest); the low half of
// `rest` goes to the high half. Not a number gives 0.
__device__ __forceinline__ u32 jnd_pack_u8(f32 a, f32 b, u32 rest) {
#if !defined(JND_HOST_SHIM) && __CUDA_ARCH__ >= 750
    u32 d;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(__float2int_rn(b)), "r"(__float2int_rn(a)), "r"(rest));
    return d;
#else
    // Adding 2^23 to a value of 0..255 rounds it to an integer, which is then in the low bits.
    const u32 x = __float_as_uint(fminf(fmaxf(a, 0.0f), 255.0f) + 8388608.0f);
    const u32 y = __float_as_uint(fminf(fmaxf(b, 0.0f), 255.0f) + 8388608.0f);
    return (x & 255u) | (y & 255u) << 8 | rest << 16;
#endif
}

// a.low * w.byte0 + a.high * w.byte1 + c, for the two 16-bit halves of a.
__device__ __forceinline__ u32 jnd_dot2(u32 a, u32 w, u32 c) {
#if !defined(JND_HOST_SHIM) && __CUDA_ARCH__ >= 610
    u32 d;
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(w), "r"(c));
    return d;
#else
    return (a & 0xffffu) * (w & 255u) + (a >> 16) * (w >> 8 & 255u) + c;
#endif
}
