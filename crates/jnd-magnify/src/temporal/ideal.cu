// The ideal filter: projection on the kept bins, and synthesis from them. Twin of the second half of temporal.rs.
//
// A thread owns a few neighbouring values: they share the loads of the tables, which otherwise cost as much as the sums.
// All filtered levels of a chain go in one launch, finest first, so that the small ones fill the gaps of the large.
#include "../magnify.cuh"

namespace magnify {

// Bins whose sums a thread keeps in registers in pass one; half as many (rounded up) in the less usual forms.
constexpr int BINS = 8;
constexpr int BINS_F64 = 6;
// Threads of a block.
constexpr int IDEAL_THREADS = 64;

struct TableArgs {
    // cos and sin of all T angles, in f64.
    u64 cos;
    u64 sin;
    u64 bins;
    // A pair (cos, sin) for each bin and frame. Pass one: two frames of each bin side by side, bin after bin; pass two:
    // all frames of a bin, bin after bin.
    u64 out;
    i64 length;
    i64 first;
    i32 bin_count;
    i32 frames;
    // Frames of a bin's row of pairs; those beyond `frames` are zero.
    i32 row;
    i32 pass;
};

template <class P, class P2>
__device__ __forceinline__ void tables(const TableArgs& a) {
    const i32 n = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= a.bin_count * a.row) return;
    const i32 two = 2 * a.bin_count;
    const i32 k = a.pass == 1 ? n % two / 2 : n / a.row, t = a.pass == 1 ? n / two * 2 + n % 2 : n % a.row;
    P2 pair;
    pair.x = (P)0;
    pair.y = (P)0;
    if (t < a.frames) {
        // Both factors are below T, an array's length: the product fits for every T below 2^32.
        const u64 j = (u64)((const i64*)a.bins)[k] * (u64)(a.first + t) % (u64)a.length;
        pair.x = (P)((const f64*)a.cos)[j];
        pair.y = (P)((const f64*)a.sin)[j];
    }
    ((P2*)a.out)[n] = pair;
}

// How the values of a level lie: as stored levels, whose rows begin at multiples of 4 values, or as samples of the
// caller's frames.
enum Form { SAMPLES_U8, SAMPLES_U16, LEVEL_U16, LEVEL_U32, LEVEL_F32 };

// A filtered level, or one plane of the frames.
struct IdealLevel {
    // Pass one: the values. Pass two: what becomes of them.
    Planes x;
    // Pass two: the change of the next coarser level, enlarged and added; ptr 0 for none.
    Planes up;
    // The first frame and the projections: rows of `pitch` values (a multiple of 4), plane after plane without gaps, and
    // `cells` from a bin to the next.
    u64 first;
    u64 c;
    u64 s;
    i64 cells;
    // Factor on the projections.
    f64 h;
    i32 pitch;
    i32 planes;
    i32 form;
    i32 shift;
    // First block of the launch that works on it.
    i32 begin;
    // Pass one: ranges of bins; pass two: blocks of frames. Each is a block of its own.
    i32 parts;
};

constexpr int MAX_IDEAL = 20;
struct IdealArgs {
    u64 pairs;
    i32 row;
    i32 levels;
    i32 bins;
    i32 frames;
    // The chunk begins with the clip's first frame; it ends with its last.
    i32 start;
    i32 end;
    // Pass two, where channels are mixed: places of R, G and B, and the matrix.
    i32 order[3];
    f32 mix[9];
    IdealLevel level[MAX_IDEAL];
};

// Copies of a thread's own values to its own place in shared memory, under way while it computes: the compiler moves
// loads to registers close to their use, where the thread waits for them. Copies are counted in groups.
template <int BYTES>
__device__ __forceinline__ void copy_ahead(void* to, const void* from) {
#if !defined(JND_HOST_SHIM) && __CUDA_ARCH__ >= 800
    const u32 at = (u32)__cvta_generic_to_shared(to);
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES == 16 ? 8 : BYTES) : "memory");
    }
#elif !defined(JND_HOST_SHIM)
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++) ((u32*)to)[i] = ((const u32*)from)[i];
#else
    // At the alignment that the card asks for.
    struct __align__(BYTES) Copied {
        u32 w[BYTES / 4];
    };
    *(Copied*)to = *(const Copied*)from;
#endif
}
__device__ __forceinline__ void end_group() {
#if !defined(JND_HOST_SHIM) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All groups but the last LEFT are there.
template <int LEFT>
__device__ __forceinline__ void wait_groups() {
#if !defined(JND_HOST_SHIM) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// The same number, of which the compiler knows nothing: what is computed from it is computed here, and not far above
// and kept in registers.
__device__ __forceinline__ i32 anew(i32 v) {
    asm volatile("" : "+r"(v));
    return v;
}

// Two pairs (cos, sin) at a load. Threads read them from shared memory, which a block fills for a while ahead: among all
// else that goes through the first cache they would not stay there.
template <class P>
struct __align__(16) TwoPairs {
    P x0, y0, x1, y1;
};
// Neighbouring projections, as wide as they can be loaded.
__device__ __forceinline__ void load_cells(const f32* p, f32 (&v)[4]) {
    const float4 w = *(const float4*)p;
    v[0] = w.x, v[1] = w.y, v[2] = w.z, v[3] = w.w;
}
__device__ __forceinline__ void load_cells(const f32* p, f32 (&v)[2]) {
    const float2 w = *(const float2*)p;
    v[0] = w.x, v[1] = w.y;
}
__device__ __forceinline__ void load_cells(const f64* p, f64 (&v)[2]) {
    const double2 w = *(const double2*)p;
    v[0] = w.x, v[1] = w.y;
}
__device__ __forceinline__ void store_cells(f32* p, const f32 (&v)[4]) { *(float4*)p = make_float4(v[0], v[1], v[2], v[3]); }
__device__ __forceinline__ void store_cells(f32* p, const f32 (&v)[2]) { *(float2*)p = make_float2(v[0], v[1]); }
__device__ __forceinline__ void store_cells(f64* p, const f64 (&v)[2]) { *(double2*)p = make_double2(v[0], v[1]); }

// Where a thread's values lie in a frame.
struct Place {
    const u8* at;
    i32 step;
    // Samples before the row's end.
    i32 last;
    i32 shift;
};

// N neighbouring values of a row, as loaded. Beyond a level's edge lies padding: computed, not used. Beyond a frame's
// edge the last sample is taken again.
template <int FORM, int N>
__device__ __forceinline__ void load_values(const Place& p, u32 (&w)[N]) {
    if (FORM == LEVEL_U16) {
        if (N == 4) {
            const uint2 v = *(const uint2*)p.at;
            w[0] = v.x, w[1] = v.y;
        } else {
            w[0] = *(const u32*)p.at;
        }
    } else if (FORM == LEVEL_U32 || FORM == LEVEL_F32) {
        if (N == 4) {
            const uint4 v = *(const uint4*)p.at;
            w[0] = v.x, w[1] = v.y, w[N / 2] = v.z, w[N - 1] = v.w;
        } else {
            const uint2 v = *(const uint2*)p.at;
            w[0] = v.x, w[1] = v.y;
        }
    } else {
#pragma unroll
        for (int e = 0; e < N; e++) {
            const i32 at = min(e, p.last) * p.step;
            w[e] = FORM == SAMPLES_U8 ? (u32)p.at[at] : (u32)((const u16*)p.at)[at] >> p.shift;
        }
    }
}

__device__ __forceinline__ void load_words(const u32 (&from)[4], u32 (&to)[4]) {
    const uint4 v = *(const uint4*)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_words(const u32 (&from)[2], u32 (&to)[2]) {
    const uint2 v = *(const uint2*)from;
    to[0] = v.x, to[1] = v.y;
}

// 2^23 + v, exactly, of the halves of a register: differences of two such are those of the integers.
__device__ __forceinline__ f32 low_half(u32 w) { return __uint_as_float(__byte_perm(w, 0x4B000000u, 0x7610)); }
__device__ __forceinline__ f32 high_half(u32 w) { return __uint_as_float(__byte_perm(w, 0x4B000000u, 0x7632)); }

template <int FORM, class P, int N>
__device__ __forceinline__ P change_since(const u32 (&first)[N], const u32 (&w)[N], int e) {
    if (FORM == LEVEL_U16) {
        const u32 x = w[e / 2], y = first[e / 2];
        return (P)(e & 1 ? high_half(x) - high_half(y) : low_half(x) - low_half(y));
    }
    if (FORM == LEVEL_F32) return (P)(__uint_as_float(w[e]) - __uint_as_float(first[e]));
    return (P)((i32)w[e] - (i32)first[e]);
}

// Any other form than the two usual ones: chosen at each load, which is not ahead.
constexpr int OTHER = -1;
template <int FORM, int N>
__device__ __forceinline__ void fetch_values(i32 form, const Place& p, u32 (&w)[N]) {
    if (FORM == LEVEL_U16) {
        copy_ahead<2 * N>(w, p.at);
    } else if (FORM == LEVEL_F32) {
        copy_ahead<4 * N>(w, p.at);
    } else if (form == LEVEL_U32) {
        load_values<LEVEL_U32>(p, w);
    } else if (form == SAMPLES_U8) {
        load_values<SAMPLES_U8>(p, w);
    } else {
        load_values<SAMPLES_U16>(p, w);
    }
}

// What a thread works on: some neighbouring values of a level, and a range of bins or a block of frames. Found again
// where it is needed again, which is cheaper than registers. Threads without values of their own take the first ones,
// help with the tables and write nothing.
struct Share {
    const IdealLevel& level;
    i32 unit;
    i32 part;
    bool active;
    __device__ __forceinline__ Share(const IdealArgs& a, i32 near) : level(a.level[find(a)]) {
        const i32 block = anew((i32)blockIdx.x) - level.begin, own = block / level.parts * IDEAL_THREADS + anew((i32)threadIdx.x);
        part = block % level.parts;
        active = own < level.planes * level.x.height * (level.pitch / near);
        unit = active ? own : 0;
    }
    static __device__ __forceinline__ i32 find(const IdealArgs& a) {
        const i32 block = anew((i32)blockIdx.x);
        i32 l = 0;
        while (l + 1 < a.levels && block >= a.level[l + 1].begin) l++;
        return l;
    }
    // Bins of a range, in pass one.
    __device__ __forceinline__ i32 each(const IdealArgs& a) const { return (a.bins + level.parts - 1) / level.parts; }
};

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

#define IDEAL(P, P2, N, M, T)                                                                                    \
    extern "C" __global__ void __launch_bounds__(128) magnify_tables_##P(magnify::TableArgs a) {                 \
        magnify::tables<P, P2>(a);                                                                               \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_tables_##P)                                                                          \
    extern "C" __global__ void __launch_bounds__(64, 6) magnify_project_##P(magnify::IdealArgs a) {                 \
        magnify::project<P, N, magnify::M>(a);                                                                            \
    }                                                                                                            \
    JND_KERNEL(magnify_project_##P)                                                                         \
    extern "C" __global__ void __launch_bounds__(64, 8) magnify_synthesise_##P(magnify::IdealArgs a) {              \
        magnify::synthesise<P, 1, N, T>(a);                                                                      \
    }                                                                                                            \
    JND_KERNEL(magnify_synthesise_##P)
IDEAL(f32, float2, 4, BINS, 8)
IDEAL(f64, double2, 2, BINS_F64, 8)

// Three channels that are mixed.
extern "C" __global__ void __launch_bounds__(64, 6) magnify_synthesise_mix_f32(magnify::IdealArgs a) {
    magnify::synthesise<f32, 3, 4, 8>(a);
}
JND_KERNEL(magnify_synthesise_mix_f32)
