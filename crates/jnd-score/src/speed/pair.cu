// Scores of pairs of planes: see pair.rs. One block a pair; the blocks' contributions are formed side by side and added
// in order by one thread.
#include "crates/jnd-score/src/log2.cuh"
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct Score {
    // Plane 2 i is the reference of pair i, plane 2 i + 1 the distorted one.
    u64 variance;
    u64 entropy;
    u64 singular;
    i32 blocks;
    f32 base;
    i32 mode;
    // A PairScore a pair.
    u64 out;
};

struct PairScore {
    f32 score;
    u32 failed;
};

struct Weights {
    f64 reference;
    f64 distorted;
};

__device__ __forceinline__ f64 log_plus_one(f32 v, const f64* table) { return log2_of((f64)(1.0f + v), table); }

__device__ __forceinline__ Weights weights(i32 mode, f32 vr, f32 vd, const f64* table) {
    // The second logarithm, where it is one of both variances.
    f64 both = 0.0;
    if (mode == 3 || mode == 4) both = 1.0 + (f64)(vr + vd) * 0.5;
    if (mode == 5) both = 1.0 + (0.75 * (f64)vr + 0.25 * (f64)vd);
    if (mode == 6) both = 1.0 + (0.25 * (f64)vr + 0.75 * (f64)vd);
    Weights w;
    if (mode == 3) {
        w.reference = w.distorted = log2_of(both, table);
        return w;
    }
    w.reference = log_plus_one(mode == 2 ? vd : vr, table);
    if (mode == 1 || mode == 2)
        w.distorted = w.reference;
    else
        w.distorted = mode >= 4 ? log2_of(both, table) : log_plus_one(vd, table);
    return w;
}

}  // namespace score

extern "C" __global__ void __launch_bounds__(256) score_pair(score::Score p) {
    using namespace score;
    __shared__ f32 stage[1024];
    __shared__ f64 table[128 * 3];
    const i32 t = (i32)threadIdx.x;
    const i64 reference = 2 * (i64)blockIdx.x, distorted = reference + 1;
    const u32 failed_r = ((const u32*)p.singular)[reference], failed_d = ((const u32*)p.singular)[distorted];
    PairScore* out = (PairScore*)p.out + blockIdx.x;
    if (failed_r != failed_d) {
        if (t == 0) *out = PairScore{0.0f, 1u};
        return;
    }
    log2_stage(table, t, 256);
    const f32* vr = (const f32*)p.variance + reference * p.blocks;
    const f32* vd = (const f32*)p.variance + distorted * p.blocks;
    const f32* er = (const f32*)p.entropy + reference * p.blocks;
    const f32* ed = (const f32*)p.entropy + distorted * p.blocks;
    f32 total = 0.0f;
    for (i32 b0 = 0; b0 < p.blocks; b0 += 1024) {
        const i32 n = min(1024, p.blocks - b0);
        __syncthreads();
        for (i32 i = t; i < n; i += 256) {
            const i32 b = b0 + i;
            const Weights w = weights(p.mode, vr[b], vd[b], table);
            const f32 wr = (f32)((f64)er[b] * w.reference), wd = (f32)((f64)ed[b] * w.distorted);
            const bool silent = er[b] < p.base && ed[b] < p.base;
            stage[i] = silent ? 0.0f : fabsf(wr - wd);
        }
        __syncthreads();
        if (t == 0) {
#pragma unroll 8
            for (i32 i = 0; i < n; i++) total = total + stage[i];
        }
    }
    if (t == 0) *out = PairScore{total / (f32)p.blocks, failed_r | failed_d};
}
JND_KERNEL(score_pair)
// sass: score_pair ffma=17
