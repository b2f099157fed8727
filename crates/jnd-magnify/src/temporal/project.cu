// The ideal filter's first pass: every frame is projected on the kept bins. Twin of the second half of temporal.rs.
#include "ideal.cuh"

namespace magnify {

// Bins whose sums a thread keeps in registers in pass one; half as many (rounded up) in the less usual forms.
constexpr int BINS = 8;
constexpr int BINS_F64 = 6;

// Frames that are under way in pass one with the two in use, two in a group, and frames whose tables are in shared memory.
constexpr int AHEAD = 16;
constexpr int SLICE = 64;

// Projects all frames on the M bins from k0 on. No sum is ever -0, so that the zeros after the clip's end change nothing.
template <int FORM, class P, int N, int M>
__device__ __forceinline__ void project_bins(const IdealArgs& a, Place p, i64 frame, u32 (*ring)[IDEAL_THREADS][N],
                                             TwoPairs<P>* table) {
    P c[M][N], s[M][N];
    u32 first[N];
    // Only looked at where it is not known here.
    const i32 form = FORM == OTHER ? a.level[Share::find(a)].form : FORM;
#pragma unroll 1
    for (int b = 0; b < AHEAD - 2; b++) {
        fetch_values<FORM>(form, p, ring[b][threadIdx.x]);
        p.at += b + 1 < a.frames ? frame : 0;
        if (b % 2) end_group();
    }
    const Share mine(a, N);
    const i64 at = (i64)mine.unit * N;
    const i32 k0 = mine.part * mine.each(a);
    u32* const kept = (u32*)mine.level.first + at;
    if (a.start) {
        wait_groups<AHEAD / 2 - 2>();
#pragma unroll
        for (int e = 0; e < (FORM == LEVEL_U16 ? N / 2 : N); e++) {
            first[e] = ring[0][threadIdx.x][e];
            if (k0 == 0 && mine.active) kept[e] = first[e];
        }
#pragma unroll
        for (int j = 0; j < M; j++) {
#pragma unroll
            for (int e = 0; e < N; e++) c[j][e] = s[j][e] = (P)0;
        }
    } else {
#pragma unroll
        for (int e = 0; e < (FORM == LEVEL_U16 ? N / 2 : N); e++) first[e] = kept[e];
        const i64 cells = mine.level.cells;
        const P *pc = (const P*)mine.level.c + k0 * cells + at, *ps = (const P*)mine.level.s + k0 * cells + at;
#pragma unroll
        for (int j = 0; j < M; j++) {
            load_cells(pc, c[j]);
            load_cells(ps, s[j]);
            pc += cells;
            ps += cells;
        }
    }
    for (i32 t0 = 0; t0 < a.frames; t0 += SLICE) {
        const Share now(a, N);
        const TwoPairs<P>* const pairs = (const TwoPairs<P>*)a.pairs + (i64)(t0 / 2) * a.bins + now.part * now.each(a);
        const i32 end = min(a.frames, t0 + SLICE), twos = (end - t0 + 1) / 2;
        __syncthreads();
#pragma unroll 1
        for (i32 n = anew((i32)threadIdx.x); n < twos * M; n += IDEAL_THREADS) table[n] = pairs[n / M * a.bins + n % M];
        __syncthreads();
        const TwoPairs<P>* pair = table;
        for (i32 t = t0; t < end; t += 2) {
            wait_groups<AHEAD / 2 - 2>();
            u32(*const w)[IDEAL_THREADS][N] = ring + (t & (AHEAD - 1));
            P d[2][N];
#pragma unroll
            for (int b = 0; b < 2; b++) {
                u32 x[N];
                load_words(w[b][threadIdx.x], x);
#pragma unroll
                for (int e = 0; e < N; e++) d[b][e] = change_since<FORM == OTHER ? LEVEL_U32 : FORM, P>(first, x, e);
            }
            // To the places that were read in the round before.
            u32(*const free)[IDEAL_THREADS][N] = ring + ((t + AHEAD - 2) & (AHEAD - 1));
#pragma unroll
            for (int b = 0; b < 2; b++) {
                fetch_values<FORM>(form, p, free[b][threadIdx.x]);
                p.at += t + b + AHEAD - 1 < a.frames ? frame : 0;
            }
            end_group();
#pragma unroll
            for (int j = 0; j < M; j++) {
                const TwoPairs<P> x = pair[j];
#pragma unroll
                for (int e = 0; e < N; e++) {
                    c[j][e] = c[j][e] + d[0][e] * x.x0;
                    s[j][e] = s[j][e] + d[0][e] * x.y0;
                    c[j][e] = c[j][e] + d[1][e] * x.x1;
                    s[j][e] = s[j][e] + d[1][e] * x.y1;
                }
            }
            pair += M;
        }
    }
    wait_groups<0>();
    const Share same(a, N);
    if (!same.active) return;
    if (a.end) {
        const P h = (P)same.level.h;
#pragma unroll
        for (int j = 0; j < M; j++) {
#pragma unroll
            for (int e = 0; e < N; e++) {
                c[j][e] = c[j][e] * h;
                s[j][e] = s[j][e] * h;
            }
        }
    }
    const i64 cells = same.level.cells, to = same.part * same.each(a) * cells + (i64)same.unit * N;
    P *pc = (P*)same.level.c + to, *ps = (P*)same.level.s + to;
#pragma unroll
    for (int j = 0; j < M; j++) {
        store_cells(pc, c[j]);
        store_cells(ps, s[j]);
        pc += cells;
        ps += cells;
    }
}

// M bins, or as many fewer as there are.
template <int FORM, class P, int N, int M>
struct Project {
    static __device__ __forceinline__ void run(const IdealArgs& a, const Place& p, i64 frame, i32 bins,
                                               u32 (*ring)[IDEAL_THREADS][N], TwoPairs<P>* table) {
        if (bins == M) {
            project_bins<FORM, P, N, M>(a, p, frame, ring, table);
        } else {
            Project<FORM, P, N, M - 1>::run(a, p, frame, bins, ring, table);
        }
    }
};
template <int FORM, class P, int N>
struct Project<FORM, P, N, 0> {
    static __device__ __forceinline__ void run(const IdealArgs&, const Place&, i64, i32, u32 (*)[IDEAL_THREADS][N],
                                               TwoPairs<P>*) {}
};

template <class P, int N, int M>
__device__ __forceinline__ void project(const IdealArgs& a) {
    __shared__ __align__(16) u32 ring[AHEAD][IDEAL_THREADS][N];
    __shared__ TwoPairs<P> table[SLICE / 2 * M];
    const Share mine(a, N);
    const IdealLevel& v = mine.level;
    const i32 across = v.pitch / N, line = mine.unit / across, x = (mine.unit - line * across) * N, plane = line / v.x.height;
    const i32 bytes = v.form == SAMPLES_U8 ? 1 : v.form == SAMPLES_U16 || v.form == LEVEL_U16 ? 2 : 4;
    // Beyond the last column, in the padding, the last values stand in: whole groups of N, which begin at their alignment.
    const i32 column = min(x, (v.x.width - 1) / N * N);
    const i64 here = plane * v.x.plane + (i64)(line - plane * v.x.height) * v.x.pitch + (i64)column * v.x.step;
    const Place p = Place{(const u8*)v.x.ptr + here * bytes, v.x.step, max(v.x.width - 1 - x, 0), v.shift};
    const i64 frame = v.x.frame * bytes;
    const i32 bins = min(mine.each(a), a.bins - mine.part * mine.each(a));
    if (v.form == LEVEL_U16) {
        Project<LEVEL_U16, P, N, M>::run(a, p, frame, bins, ring, table);
    } else if (v.form == LEVEL_F32) {
        Project<LEVEL_F32, P, N, M>::run(a, p, frame, bins, ring, table);
    } else {
        Project<OTHER, P, N, (M + 1) / 2>::run(a, p, frame, bins, ring, table);
    }
}

}  // namespace magnify

#define PROJECT(P, N, M)                                                                                         \
    extern "C" __global__ void __launch_bounds__(64, 6) magnify_project_##P(magnify::IdealArgs a) {              \
        magnify::project<P, N, magnify::M>(a);                                                                   \
    }                                                                                                            \
    JND_KERNEL(magnify_project_##P)
PROJECT(f32, 4, BINS)
PROJECT(f64, 2, BINS_F64)
