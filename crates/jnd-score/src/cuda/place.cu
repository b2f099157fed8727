// Copies a pair of frames that is already on the card to its place in the ring.
#include "jnd.cuh"

namespace score {

struct PlaceCopy {
    u64 from[6];
    i64 from_pitch[6];
    u64 to[6];
    i64 to_pitch[6];
    i32 row_bytes[6];
    i32 rows[6];
};

}  // namespace score

// Grid: 1, rows, planes.
extern "C" __global__ void __launch_bounds__(256) score_place(score::PlaceCopy p) {
#pragma unroll
    for (u32 k = 0; k < 6; k++) {
        if (k != blockIdx.z) continue;
        for (i32 y = (i32)blockIdx.y; y < p.rows[k]; y += (i32)gridDim.y) {
            const u8* from = (const u8*)(p.from[k] + (u64)(y * p.from_pitch[k]));
            u8* to = (u8*)(p.to[k] + (u64)(y * p.to_pitch[k]));
            const i32 n = p.row_bytes[k];
            i32 done = 0;
            if (((p.from[k] | (u64)p.from_pitch[k] | p.to[k] | (u64)p.to_pitch[k]) & 15) == 0) {
                for (i32 i = (i32)threadIdx.x; i < n / 16; i += 256) ((uint4*)to)[i] = ((const uint4*)from)[i];
                done = n / 16 * 16;
            }
            for (i32 i = done + (i32)threadIdx.x; i < n; i += 256) to[i] = from[i];
        }
    }
}
JND_KERNEL_FLAT(score_place)
