// Eigenvalues of symmetric 25 x 25 matrices: see eigen.rs. One warp a matrix: lanes lie across the rows, never along a
// sum; the QR steps are one chain, which the first lane follows.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct Eigen {
    u64 covariance;
    // LANES numbers a matrix; number WINDOWS is 1 where the matrix is regular, else 0.
    u64 out;
};

constexpr f64 TINY = 1e-6;
constexpr i32 MAX_STEPS = 500;

__device__ __forceinline__ f32 hypotenuse(f32 a, f32 b) { return __fsqrt_rn(a * a + b * b); }

// 1 / sqrt(1 + t t) for magnitudes of t up to 1: rooted and divided in double precision and rounded once, which is the
// correctly rounded value for every one of the 2^23 + 1 arguments (a test in eigen.rs tries them all).
__device__ __forceinline__ f32 inverse_length(f32 t) { return __frsqrt_rn(1.0f + t * t); }

// Sets negligible off-diagonal elements to 0.
__device__ __forceinline__ void chop(const f32* d, f32* u, i32 a, i32 n, i32 lane) {
    const i32 i = a + lane;
    if (i < a + n - 1) {
        const f32 neighbours = fabsf(d[i]) + fabsf(d[i + 1]);
        if ((f64)fabsf(u[i]) < TINY * (f64)neighbours) u[i] = 0.0f;
    }
}

__device__ __forceinline__ f32 shift_of(const f32* d, const f32* u, i32 e) {
    const f32 dt = (d[e - 1] - d[e]) * 0.5f, tab = u[e - 1], h = hypotenuse(dt, tab);
    if (dt > 0.0f) return d[e] - tab * (tab / (dt + h));
    if (dt == 0.0f) return d[e] - fabsf(tab);
    return d[e] + tab * (tab / (-dt + h));
}

__device__ __forceinline__ void qr_step(f32* d, f32* u, i32 a, i32 b) {
    const i32 n = b - a + 1;
    f32 mu = shift_of(d, u, b);
    if (TINY * (f64)fabsf(mu) > (f64)(fabsf(d[a]) + fabsf(u[a]))) mu = 0.0f;
    f32 x = d[a] - mu, z = u[a], bk = 0.0f, zk = 0.0f, ap = d[a], bp = u[a], aq = d[a + 1];
    f32 bq = n > 2 ? u[a + 1] : 0.0f;
    for (i32 k = 0; k < n - 1; k++) {
        // What the next turn needs, asked for early; these elements are written later only.
        const f32 next_aq = k + 2 < n ? d[a + k + 2] : aq, next_bq = k + 3 < n ? u[a + k + 2] : bq;
        f32 c = 1.0f, s = 0.0f;
        if (z != 0.0f) {
            const bool steep = fabsf(z) > fabsf(x);
            const f32 t = steep ? -x / z : -z / x;
            const f32 r = inverse_length(t);
            c = steep ? r * t : r;
            s = steep ? r : r * t;
        }
        const f32 bk1 = c * bk - s * zk;
        const f32 ap1 = c * (c * ap - s * bp) + s * (s * aq - c * bp);
        const f32 bp1 = c * (s * ap + c * bp) - s * (s * bp + c * aq);
        const f32 aq1 = s * (s * ap + c * bp) + c * (s * bp + c * aq);
        const f32 zp1 = -s * bq, bq1 = c * bq;
        bk = bp1;
        zk = zp1;
        ap = aq1;
        bp = bq1;
        aq = next_aq;
        bq = next_bq;
        d[a + k] = ap1;
        if (k > 0) u[a + k - 1] = bk1;
        if (k + 2 < n) u[a + k + 1] = bp;
        x = bk;
        z = zk;
    }
    d[b] = ap;
    u[b - 1] = bk;
}

// One warp a matrix.
__device__ __forceinline__ void eigen_body(const Eigen& p) {
    __shared__ f32 m[WINDOWS][LANES + 1];
    __shared__ f32 v[LANES], x[LANES], product[LANES], d[LANES], u[LANES];
    const i32 lane = (i32)threadIdx.x;
    const f32* c = (const f32*)p.covariance + (i64)blockIdx.x * WINDOWS * LANES;
    for (i32 i = 0; i < WINDOWS; i++) m[i][lane] = lane < WINDOWS ? c[i * LANES + lane] : 0.0f;
    __syncwarp();
    for (i32 i = 0; i < WINDOWS - 2; i++) {
        const i32 s = i + 1;
        f32 q = 0.0f;
#pragma unroll 4
        for (i32 r = s + 1; r < WINDOWS; r++) q = q + m[r][i] * m[r][i];
        q = __fsqrt_rn(q);
        const f32 alpha = m[s][i];
        if (q == 0.0f) {
            if (lane == 0) u[i] = alpha;
            continue;
        }
        const f32 beta = -(alpha >= 0.0f ? 1.0f : -1.0f) * hypotenuse(alpha, q);
        const f32 tau = (beta - alpha) / beta, t = alpha - beta;
        if (lane == 0) u[i] = beta;
        if (tau == 0.0f) continue;
        const bool mine = lane >= s && lane < WINDOWS;
        const f32 vj = lane == s ? 1.0f : mine ? m[lane][i] / t : 0.0f;
        v[lane] = vj;
        __syncwarp();
        // The trailing block is symmetric to the last bit, so that m[k][lane] serves for m[lane][k].
        f32 xj = 0.0f;
#pragma unroll 4
        for (i32 k = s; k < WINDOWS; k++) xj = xj + (tau * m[k][lane]) * v[k];
        product[lane] = xj * vj;
        __syncwarp();
        f32 g = 0.0f;
#pragma unroll 4
        for (i32 j = s; j < WINDOWS; j++) g = g + product[j];
        const f32 half = (-0.5f * tau) * g;
        xj = xj + half * vj;
        x[lane] = xj;
        __syncwarp();
        if (mine) {
#pragma unroll 4
            for (i32 j = s; j < WINDOWS; j++) m[j][lane] = m[j][lane] - (x[j] * vj + v[j] * xj);
        }
        __syncwarp();
    }
    if (lane < WINDOWS) d[lane] = m[lane][lane];
    if (lane == 0) u[WINDOWS - 2] = m[WINDOWS - 1][WINDOWS - 2];
    __syncwarp();
    chop(d, u, 0, WINDOWS, lane);
    __syncwarp();
    i32 b = WINDOWS - 1, steps = 0;
    while (b > 0 && steps < MAX_STEPS) {
        if (u[b - 1] == 0.0f) {
            b--;
            continue;
        }
        i32 a = b - 1;
        while (a > 0 && u[a - 1] != 0.0f) a--;
        __syncwarp();
        if (lane == 0) qr_step(d, u, a, b);
        __syncwarp();
        chop(d, u, a, b - a + 1, lane);
        __syncwarp();
        steps++;
    }
    const f32 lambda = lane < WINDOWS ? d[lane] : 1.0f;
    const bool regular = __all_sync(~0u, !((f64)lambda < TINY));
    f32* out = (f32*)p.out + (i64)blockIdx.x * LANES;
    out[lane] = lane < WINDOWS ? lambda : regular ? 1.0f : 0.0f;
}

}  // namespace score
