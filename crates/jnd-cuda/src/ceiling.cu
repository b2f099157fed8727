// Kernels that do nothing but move memory: what they reach is what this card can do.
#include "jnd.cuh"

// dst = src, 16 bytes a thread and step; a block copies four rows of vectors.
extern "C" __global__ void __launch_bounds__(256) cuda_copy16(uint4* __restrict__ dst, const uint4* __restrict__ src, u64 n) {
    const u64 first = (u64)blockIdx.x * (4 * blockDim.x) + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const u64 i = first + k * blockDim.x;
        if (i < n) v[k] = __ldcs(src + i);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const u64 i = first + k * blockDim.x;
        if (i < n) __stcs(dst + i, v[k]);
    }
}
JND_KERNEL_FLAT(cuda_copy16)

// Reads everything and keeps the exclusive or of it, so that the reads cannot be left out.
extern "C" __global__ void __launch_bounds__(512) cuda_read16(u32* __restrict__ sink, const uint4* __restrict__ src, u64 n) {
    const u64 stride = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = 0;
    for (; i + 3 * stride < n; i += 4 * stride) {
        const uint4 a = __ldcs(src + i), b = __ldcs(src + i + stride);
        const uint4 c = __ldcs(src + i + 2 * stride), d = __ldcs(src + i + 3 * stride);
        x ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
        x ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < n; i += stride) {
        const uint4 a = __ldcs(src + i);
        x ^= a.x ^ a.y ^ a.z ^ a.w;
    }
    atomicXor(sink, x);
}
JND_KERNEL_FLAT(cuda_read16)

// dst = value, 16 bytes a thread and step.
extern "C" __global__ void __launch_bounds__(512) cuda_write16(uint4* __restrict__ dst, u32 value, u64 n) {
    const u64 stride = (u64)gridDim.x * blockDim.x;
    const uint4 v = make_uint4(value, value, value, value);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) __stcs(dst + i, v);
}
JND_KERNEL_FLAT(cuda_write16)
