// What the two passes of the ideal filter share: arguments, copies that are under way, and which values are whose.
//
// A thread owns a few neighbouring values: they share the loads of the tables, which otherwise cost as much as the sums.
// All filtered levels of a chain go in one launch, finest first, so that the small ones fill the gaps of the large.
#pragma once
#include "../magnify.cuh"

namespace magnify {

// Threads of a block.
constexpr int IDEAL_THREADS = 64;

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
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES) : "memory");
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

}  // namespace magnify
