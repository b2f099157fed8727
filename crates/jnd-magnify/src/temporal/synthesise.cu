// The ideal filter's second pass: changes are made from the projections, enlarged and mixed. Twin of the second half of
// temporal.rs, of enlarge.rs and mix.rs.
#include "ideal.cuh"

namespace magnify {

// The change enlarged from the next coarser level at the N pixels from 2i of row y, vertical first. What is read beyond
// an edge is another row's, or padding, and is replaced.
template <int N>
struct Enlarger {
    const f32* over;
    const f32* mid;
    const f32* under;
    bool odd_row, left;
    // Columns from i on that are there.
    i32 have;
    __device__ __forceinline__ Enlarger(const Planes& up, i64 first, i32 i, i32 y) {
        const i32 n = up.width, m = up.height, j = y >> 1;
        mid = (const f32*)up.ptr + first + (i64)j * up.pitch + i;
        over = mid + (i64)(before(j, m) - j) * up.pitch;
        under = mid + (i64)(after(j, m) - j) * up.pitch;
        odd_row = y & 1;
        left = i > 0;
        have = n - i;
    }
    __device__ __forceinline__ void add(i64 plane, f32 (&out)[N]) const {
        f32 v[N / 2 + 2];
        const f32 *const p = over + plane, *const q = mid + plane, *const r = under + plane;
        f32 x[N / 2 + 2], y[N / 2 + 2], z[N / 2 + 2];
        columns(p, x);
        columns(q, y);
        columns(r, z);
#pragma unroll
        for (int e = 0; e < N / 2 + 2; e++) v[e] = odd_row ? odd(y[e], z[e]) : even(x[e], y[e], z[e]);
#pragma unroll
        for (int e = 1; e < N / 2 + 1; e++) v[e + 1] = e < have ? v[e + 1] : v[e];
        v[0] = left ? v[0] : v[2];
#pragma unroll
        for (int e = 0; e < N / 2; e++) {
            out[2 * e] = even(v[e], v[e + 1], v[e + 2]) + out[2 * e];
            out[2 * e + 1] = odd(v[e + 1], v[e + 2]) + out[2 * e + 1];
        }
    }
    static __device__ __forceinline__ void columns(const f32* p, f32 (&v)[4]) {
        const float2 w = __ldg((const float2*)p);
        v[0] = __ldg(p - 1), v[1] = w.x, v[2] = w.y, v[3] = __ldg(p + 2);
    }
    static __device__ __forceinline__ void columns(const f32* p, f32 (&v)[3]) {
        v[0] = __ldg(p - 1), v[1] = __ldg(p), v[2] = __ldg(p + 1);
    }
    __device__ __forceinline__ void step(i64 frame) {
        over += frame;
        mid += frame;
        under += frame;
    }
};

// Bins whose projections are under way in pass two, with the one in use, and bins whose tables are in shared memory.
constexpr int DEPTH = 4;
constexpr int BIN_SLICE = 32;

// C planes at once (three, in the order R, G, B, where they are mixed), N neighbouring values of each, T frames.
template <class P, int C, int N, int T>
__device__ __forceinline__ void synthesise(const IdealArgs& a) {
    // The blocks that read the same projections are neighbours.
    const Share mine(a, N);
    const IdealLevel& v = mine.level;
    const i32 across = v.pitch / N, height = v.x.height, line = mine.unit / across, x = (mine.unit - line * across) * N;
    const i32 plane = line / height, y = line - plane * height, t0 = mine.part * T;
    const i64 at = (i64)mine.unit * N, cell_plane = (i64)v.pitch * height;
    P f[T][C][N];
#pragma unroll
    for (int b = 0; b < T; b++) {
#pragma unroll
        for (int i = 0; i < C; i++) {
#pragma unroll
            for (int e = 0; e < N; e++) f[b][i][e] = (P)0;
        }
    }
    // Projections of the bins to come, and later the results; every thread has its own places.
    constexpr int RING = DEPTH * 2 * C * N * sizeof(P), STAGE = T * C * N * sizeof(f32);
    __shared__ __align__(16) u8 shared[(RING > STAGE ? RING : STAGE) * IDEAL_THREADS];
    __shared__ TwoPairs<P> table[BIN_SLICE * T / 2];
    P(*const ring)[2][C][IDEAL_THREADS][N] = (P(*)[2][C][IDEAL_THREADS][N])shared;
    const P *pc[C], *ps[C];
    const i64 cells = v.cells;
    i64 bin = 0;
#pragma unroll
    for (int i = 0; i < C; i++) {
        const i64 from = at + (C > 1 ? a.order[i] * cell_plane : 0);
        pc[i] = (const P*)v.c + from;
        ps[i] = (const P*)v.s + from;
    }
    auto fetch = [&](i32 k) {
#pragma unroll
        for (int i = 0; i < C; i++) {
            copy_ahead<N * sizeof(P)>(ring[k & (DEPTH - 1)][0][i][threadIdx.x], pc[i] + bin);
            copy_ahead<N * sizeof(P)>(ring[k & (DEPTH - 1)][1][i][threadIdx.x], ps[i] + bin);
        }
        // Past the last bin it is brought again.
        if (k + 1 < a.bins) bin += cells;
        end_group();
    };
#pragma unroll
    for (int k = 0; k < DEPTH - 1; k++) fetch(k);
    const TwoPairs<P>* pairs = (const TwoPairs<P>*)a.pairs + t0 / 2;
    const i32 left = a.frames - t0;
    for (i32 k0 = 0; k0 < a.bins; k0 += BIN_SLICE) {
        const i32 k1 = min(a.bins, k0 + BIN_SLICE);
        __syncthreads();
#pragma unroll 1
        for (i32 n = anew((i32)threadIdx.x); n < (k1 - k0) * (T / 2); n += IDEAL_THREADS) {
            table[n] = pairs[n / (T / 2) * (a.row / 2) + n % (T / 2)];
        }
        pairs += BIN_SLICE * (a.row / 2);
        __syncthreads();
        const TwoPairs<P>* pair = table;
        for (i32 k = k0; k < k1; k++) {
            wait_groups<DEPTH - 2>();
            P c[C][N], s[C][N];
#pragma unroll
            for (int i = 0; i < C; i++) {
                load_cells(ring[k & (DEPTH - 1)][0][i][threadIdx.x], c[i]);
                load_cells(ring[k & (DEPTH - 1)][1][i][threadIdx.x], s[i]);
            }
            fetch(k + DEPTH - 1);
#pragma unroll
            for (int b = 0; b < T; b += 2) {
                const TwoPairs<P> w = pair[b / 2];
#pragma unroll
                for (int i = 0; i < C; i++) {
#pragma unroll
                    for (int e = 0; e < N; e++) {
                        f[b][i][e] = (f[b][i][e] + c[i][e] * w.x0) + s[i][e] * w.y0;
                        f[b + 1][i][e] = (f[b + 1][i][e] + c[i][e] * w.x1) + s[i][e] * w.y1;
                    }
                }
            }
            pair += T / 2;
        }
    }
    wait_groups<0>();
    // Places of results are those of the same thread's projections only where both have the same size.
    if (sizeof(P) != sizeof(f32)) __syncthreads();
    if (!mine.active || x >= v.x.width) return;
    f32* out = (f32*)v.x.ptr + t0 * v.x.frame + plane * v.x.plane + (i64)y * v.x.pitch + x;
    if (C == 1 && v.up.ptr == 0) {
#pragma unroll
        for (int b = 0; b < T; b++) {
            f32 r[N];
#pragma unroll
            for (int e = 0; e < N; e++) r[e] = (f32)f[b][0][e];
            if (b < left) store_cells(out + b * v.x.frame, r);
        }
        return;
    }
    // What follows is a loop over frames, and registers cannot be counted through: by way of shared memory, each thread
    // its own. Written out it would be more code than the caches of instructions hold.
    f32(*const stage)[IDEAL_THREADS][N] = (f32(*)[IDEAL_THREADS][N])shared;
#pragma unroll
    for (int b = 0; b < T; b++) {
#pragma unroll
        for (int i = 0; i < C; i++) {
            f32 r[N];
#pragma unroll
            for (int e = 0; e < N; e++) r[e] = (f32)f[b][i][e];
            store_cells(stage[b * C + i][threadIdx.x], r);
        }
    }
    Enlarger<N> enlarger(v.up, t0 * v.up.frame + plane * v.up.plane, x / 2, y);
    const i32 end = min(left, T);
    for (i32 b = 0; b < end; b++) {
        f32 r[C][N];
#pragma unroll
        for (int i = 0; i < C; i++) {
            load_cells(stage[b * C + i][threadIdx.x], r[i]);
            if (v.up.ptr) enlarger.add(C > 1 ? a.order[i] * v.up.plane : 0, r[i]);
        }
        if (C == 3) {
#pragma unroll
            for (int e = 0; e < N; e++) {
                const f32 x0 = r[0][e], x1 = r[1 % C][e], x2 = r[2 % C][e];
                r[0][e] = (a.mix[0] * x0 + a.mix[1] * x1) + a.mix[2] * x2;
                r[1 % C][e] = (a.mix[3] * x0 + a.mix[4] * x1) + a.mix[5] * x2;
                r[2 % C][e] = (a.mix[6] * x0 + a.mix[7] * x1) + a.mix[8] * x2;
            }
        }
#pragma unroll
        for (int i = 0; i < C; i++) store_cells(out + (C > 1 ? a.order[i] * v.x.plane : 0), r[i]);
        out += v.x.frame;
        enlarger.step(v.up.frame);
    }
}

}  // namespace magnify

#define SYNTHESISE(P, N, T)                                                                                      \
    extern "C" __global__ void __launch_bounds__(64, 8) magnify_synthesise_##P(magnify::IdealArgs a) {           \
        magnify::synthesise<P, 1, N, T>(a);                                                                      \
    }                                                                                                            \
    JND_KERNEL(magnify_synthesise_##P)
SYNTHESISE(f32, 4, 8)
SYNTHESISE(f64, 2, 8)

// Three channels that are mixed.
extern "C" __global__ void __launch_bounds__(64, 6) magnify_synthesise_mix_f32(magnify::IdealArgs a) {
    magnify::synthesise<f32, 3, 4, 8>(a);
}
JND_KERNEL(magnify_synthesise_mix_f32)
