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
