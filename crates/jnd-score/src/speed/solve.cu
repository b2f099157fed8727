// Householder QR of 25 x 25 matrices: see solve.rs. One block a matrix; a warp holds a row of the products at a time, and
// every element is one sum in its thread.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct Factor {
    u64 covariance;
    // WINDOWS rows of LANES numbers a matrix each.
    u64 q;
    u64 r;
    // 1 a matrix with a vanishing pivot, else 0.
    u64 vanishes;
};

constexpr i32 FACTOR_WARPS = 8;

__device__ __forceinline__ void factor_body(const Factor& p) {
    __shared__ f32 c[WINDOWS][LANES], z[WINDOWS][LANES], q[WINDOWS][LANES], zn[WINDOWS][LANES], qn[WINDOWS][LANES];
    __shared__ f32 v[LANES];
    const i32 t = (i32)threadIdx.x, lane = t & 31, warp = t >> 5;
    const i64 base = (i64)blockIdx.x * WINDOWS * LANES;
    for (i32 i = warp; i < WINDOWS; i += FACTOR_WARPS) {
        const f32 e = lane < WINDOWS ? ((const f32*)p.covariance)[base + i * LANES + lane] : 0.0f;
        c[i][lane] = e;
        z[i][lane] = e;
        q[i][lane] = i == lane ? 1.0f : 0.0f;
    }
    __syncthreads();
    for (i32 k = 0; k < WINDOWS - 1; k++) {
        if (warp == 0) {
            f32 norm = 0.0f;
#pragma unroll 4
            for (i32 i = k; i < WINDOWS; i++) norm = norm + z[i][k] * z[i][k];
            norm = __fsqrt_rn(norm);
            const f32 vk = z[k][k] + (c[k][k] >= 0.0f ? norm : -norm);
            f32 length = 0.0f + vk * vk;
#pragma unroll 4
            for (i32 i = k + 1; i < WINDOWS; i++) length = length + z[i][k] * z[i][k];
            length = __fsqrt_rn(length);
            if (lane >= k && lane < WINDOWS) v[lane] = (lane == k ? vk : z[lane][k]) / length;
        }
        __syncthreads();
        for (i32 i = k + warp; i < WINDOWS; i += FACTOR_WARPS) {
            const f32 twice = -2.0f * v[i];
            f32 az = 0.0f, aq = 0.0f;
#pragma unroll 4
            for (i32 n = k; n < WINDOWS; n++) {
                f32 h = twice * v[n];
                if (n == i) h = h + 1.0f;
                az = az + h * z[n][lane];
                aq = aq + h * q[n][lane];
            }
            zn[i][lane] = az;
            qn[i][lane] = aq;
        }
        __syncthreads();
        for (i32 i = k + warp; i < WINDOWS; i += FACTOR_WARPS) {
            z[i][lane] = zn[i][lane];
            q[i][lane] = qn[i][lane];
        }
        __syncthreads();
    }
    bool vanishes = false;
    for (i32 i = warp; i < WINDOWS; i += FACTOR_WARPS) {
        f32 acc = 0.0f;
#pragma unroll 5
        for (i32 k = 0; k < WINDOWS; k++) acc = acc + q[i][k] * c[k][lane];
        ((f32*)p.q)[base + i * LANES + lane] = q[i][lane];
        ((f32*)p.r)[base + i * LANES + lane] = acc;
        // A pivot that is not a number counts as solvable, as in the reference.
        if (lane == i && (f64)fabsf(acc) < TINY) vanishes = true;
    }
    const i32 any = __syncthreads_or(vanishes);
    if (t == 0) ((u32*)p.vanishes)[blockIdx.x] = any ? 1u : 0u;
}

}  // namespace score

// Everything that the covariance alone decides. Grid: matrices, and two halves that need nothing of each other: the
// eigenvalues, a long chain in one warp, and the factors, in the whole block.
extern "C" __global__ void __launch_bounds__(32 * score::FACTOR_WARPS) score_decompose(score::Eigen e, score::Factor f) {
    if (blockIdx.y == 0) {
        if (threadIdx.x < 32) score::eigen_body(e);
    } else {
        score::factor_body(f);
    }
}
JND_KERNEL(score_decompose)
// sass: score_decompose ffma=65
