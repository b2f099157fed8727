// Variance and entropy of every 5 x 5 block: see entropy.rs. One thread a block of samples.
#include "crates/jnd-score/src/log2.cuh"
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct Entropy {
    u64 plane;
    i32 stride;
    i32 plane_height;
    // Blocks in a row, and rows of blocks.
    i32 columns;
    i32 rows;
    f32 sigma;
    u64 q;
    u64 r;
    u64 vanishes;
    u64 eigen;
    // columns * rows numbers a plane.
    u64 variance;
    u64 entropy;
    // 1 for a singular plane, else 0.
    u64 singular;
};

// Elements of a row of a matrix in shared memory: whole vectors of four.
constexpr i32 ROW = 28;

}  // namespace score

// Grid: groups of 128 blocks, planes.
extern "C" __global__ void __launch_bounds__(128) score_entropy(score::Entropy p) {
    using namespace score;
    __shared__ __align__(16) f32 q[WINDOWS][ROW], r[WINDOWS][ROW];
    __shared__ f32 lambda[LANES];
    __shared__ f64 table[128 * 3];
    const i32 t = (i32)threadIdx.x, plane = (i32)blockIdx.y, count = p.columns * p.rows;
    const f32* eigen = (const f32*)p.eigen + (i64)plane * LANES;
    const bool singular = eigen[WINDOWS] == 0.0f || ((const u32*)p.vanishes)[plane] != 0;
    const i32 block = (i32)blockIdx.x * 128 + t;
    f32* variance = (f32*)p.variance + (i64)plane * count;
    f32* entropy = (f32*)p.entropy + (i64)plane * count;
    if (blockIdx.x == 0 && t == 0) ((u32*)p.singular)[plane] = singular ? 1u : 0u;
    if (singular) {
        if (block < count) {
            variance[block] = 0.0f;
            entropy[block] = 0.0f;
        }
        return;
    }
    const i64 base = (i64)plane * WINDOWS * LANES;
    for (i32 i = t; i < WINDOWS * ROW; i += 128) {
        const i64 from = base + i / ROW * LANES + i % ROW;
        q[i / ROW][i % ROW] = ((const f32*)p.q)[from];
        r[i / ROW][i % ROW] = ((const f32*)p.r)[from];
    }
    if (t < WINDOWS) lambda[t] = eigen[t] < 0.0f ? 0.0f : eigen[t];
    log2_stage(table, t, 128);
    __syncthreads();
    if (block >= count) return;
    f32 y[ROW], z[ROW];
    const f32* x = (const f32*)p.plane + (i64)plane * p.stride * p.plane_height +
                   (i64)(block / p.columns) * BLOCK * p.stride + block % p.columns * BLOCK;
#pragma unroll
    for (i32 e = 0; e < WINDOWS; e++) y[e] = x[(i64)(e / BLOCK) * p.stride + e % BLOCK];
#pragma unroll
    for (i32 e = WINDOWS; e < ROW; e++) y[e] = z[e] = 0.0f;
#pragma unroll
    for (i32 i = WINDOWS - 1; i >= 0; i--) {
        f32 acc = 0.0f;
#pragma unroll
        for (i32 k = 0; k < WINDOWS; k += 4) {
            const float4 f = *(const float4*)&q[i][k];
            acc = acc + f.x * y[k];
            if (k + 1 < WINDOWS) acc = acc + f.y * y[k + 1];
            if (k + 2 < WINDOWS) acc = acc + f.z * y[k + 2];
            if (k + 3 < WINDOWS) acc = acc + f.w * y[k + 3];
        }
#pragma unroll
        for (i32 k = (i + 1) & ~3; k < WINDOWS; k += 4) {
            const float4 f = *(const float4*)&r[i][k];
            if (k > i) acc = acc - z[k] * f.x;
            if (k + 1 > i && k + 1 < WINDOWS) acc = acc - z[k + 1] * f.y;
            if (k + 2 > i && k + 2 < WINDOWS) acc = acc - z[k + 2] * f.z;
            if (k + 3 > i && k + 3 < WINDOWS) acc = acc - z[k + 3] * f.w;
        }
        z[i] = acc / r[i][i];
    }
    f32 s = (z[0] * y[0]) / 25.0f;
#pragma unroll
    for (i32 e = 1; e < WINDOWS; e++) s = s + (z[e] * y[e]) / 25.0f;
    f32 sum = 0.0f;
    for (i32 k = 0; k < WINDOWS; k++) {
        const f32 a = lambda[k] * s + p.sigma;
        sum = (f32)((f64)sum + (log2_of((f64)a, table) + LOG2_2PI_E));
    }
    variance[block] = s;
    entropy[block] = sum;
}
JND_KERNEL(score_entropy)
// sass: score_entropy ffma=262
// sass: score_entropy@120 ffma=212
