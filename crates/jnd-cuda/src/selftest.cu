// A kernel that uses what a card's kernel may and the host shim has to get right: barriers, shuffles, atomics and both
// kinds of shared memory.
#include "jnd.cuh"

extern "C" __global__ void cuda_selftest(u32* out) {
    JND_DYNAMIC_SHARED(bytes);
    u32* values = (u32*)bytes;
    __shared__ u32 total;
    const u32 t = threadIdx.x, mine = blockIdx.x * 1000 + t;
    if (t == 0) total = 0;
    values[t] = mine;
    __syncthreads();
    // The other end's value, so that a missing barrier would read an old one.
    atomicAdd(&total, values[blockDim.x - 1 - t]);
    const u32 neighbour = __shfl_sync(0xffffffffu, mine, (t + 1) % 32);
    atomicAdd(&total, __shfl_xor_sync(0xffffffffu, mine, 1));
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = total + neighbour;
}
JND_KERNEL(cuda_selftest)
