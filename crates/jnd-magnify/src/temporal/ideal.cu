// The ideal filter: projection on the kept bins, and synthesis from them. Twin of the second half of temporal.rs.
#include "../magnify.cuh"

namespace magnify {

// Frames of a block of the ideal filter: so many are projected, or made, at one load of the projections.
constexpr int PROJECT = 32;
constexpr int SYNTHESISE = 16;

struct TableArgs {
    // cos and sin of all T angles, in f64.
    u64 cos;
    u64 sin;
    u64 bins;
    // A pair (cos, sin) for each bin and frame, bin after bin.
    u64 out;
    i64 length;
    i64 first;
    i32 bin_count;
    i32 frames;
    // Frames of a bin's row of pairs; those beyond `frames` are zero.
    i32 row;
    i32 pad;
};

template <class P, class P2>
__device__ __forceinline__ void tables(const TableArgs& a) {
    const i32 n = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= a.bin_count * a.row) return;
    const i32 k = n / a.row, t = n % a.row;
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

struct ProjectArgs {
    Planes in;
    // The first frame, and the projections: for each bin, plane after plane without gaps; sines after all cosines.
    u64 first;
    u64 c;
    u64 s;
    u64 pairs;
    i64 cells;
    i32 bins;
    i32 frames;
    i32 shift;
    // The chunk begins with the clip's first frame.
    i32 start;
};

// Two pairs (cos, sin) at a load.
template <class P>
struct TwoPairs {
    P x0, y0, x1, y1;
};
__device__ __forceinline__ TwoPairs<f32> two_pairs(const f32* p) {
    const float4 v = __ldg((const float4*)p);
    return TwoPairs<f32>{v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ TwoPairs<f64> two_pairs(const f64* p) {
    const double2 a = __ldg((const double2*)p), b = __ldg((const double2*)p + 1);
    return TwoPairs<f64>{a.x, a.y, b.x, b.y};
}

// N neighbouring values a thread: they share the loads of the tables.
template <class T, class P, int N>
__device__ __forceinline__ void project(const ProjectArgs& a) {
    using V = typename Value<T>::Type;
    const i32 x = N * (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 plane = (i32)blockIdx.z;
    if (x >= a.in.width || y >= a.in.height) return;
    const i64 at = ((i64)plane * a.in.height + y) * a.in.width + x;
    const T* in = (const T*)a.in.ptr + plane * a.in.plane + (i64)y * a.in.pitch + (i64)x * a.in.step;
    // Beyond the right edge the last value again: computed, not kept.
    const i32 more = N == 2 && x + 1 < a.in.width ? 1 : 0;
    V first[N];
#pragma unroll
    for (int e = 0; e < N; e++) {
        if (a.start) {
            first[e] = value(in[(e ? more : 0) * a.in.step], a.shift);
            ((V*)a.first)[at + (e ? more : 0)] = first[e];
        } else {
            first[e] = ((const V*)a.first)[at + (e ? more : 0)];
        }
    }
    const i32 row = (a.frames + PROJECT - 1) / PROJECT * PROJECT;
    for (i32 t0 = 0; t0 < a.frames; t0 += PROJECT) {
        P d[N][PROJECT];
#pragma unroll
        for (int b = 0; b < PROJECT; b++) {
#pragma unroll
            for (int e = 0; e < N; e++) {
                const T* p = in + (i64)(t0 + b) * a.in.frame + (e ? more : 0) * a.in.step;
                d[e][b] = t0 + b < a.frames ? (P)(value(*p, a.shift) - first[e]) : (P)0;
            }
        }
        const bool fresh = a.start && t0 == 0;
        P c[N], s[N];
#pragma unroll
        for (int e = 0; e < N; e++) {
            c[e] = fresh ? (P)0 : ((const P*)a.c)[at + (e ? more : 0)];
            s[e] = fresh ? (P)0 : ((const P*)a.s)[at + (e ? more : 0)];
        }
        for (i32 k = 0; k < a.bins; k++) {
            // The next bin's sums are on their way meanwhile.
            P nc[N], ns[N];
            const i64 here = (i64)k * a.cells + at, next = k + 1 < a.bins ? here + a.cells : here;
#pragma unroll
            for (int e = 0; e < N; e++) {
                nc[e] = fresh ? (P)0 : ((const P*)a.c)[next + (e ? more : 0)];
                ns[e] = fresh ? (P)0 : ((const P*)a.s)[next + (e ? more : 0)];
            }
            const P* pair = (const P*)a.pairs + 2 * ((i64)k * row + t0);
#pragma unroll
            for (int b = 0; b < PROJECT; b += 2) {
                // Frames beyond the end add zero, which changes no sum: none is ever -0.
                const TwoPairs<P> w = two_pairs(pair + 2 * b);
#pragma unroll
                for (int e = 0; e < N; e++) {
                    c[e] = c[e] + d[e][b] * w.x0;
                    s[e] = s[e] + d[e][b] * w.y0;
                    c[e] = c[e] + d[e][b + 1] * w.x1;
                    s[e] = s[e] + d[e][b + 1] * w.y1;
                }
            }
#pragma unroll
            for (int e = 0; e < N; e++) {
                if (e == 0 || more) {
                    ((P*)a.c)[here + e] = c[e];
                    ((P*)a.s)[here + e] = s[e];
                }
                c[e] = nc[e];
                s[e] = ns[e];
            }
        }
    }
}

struct SynthesiseArgs {
    Planes up;
    Planes out;
    u64 c;
    u64 s;
    u64 pairs;
    i64 cells;
    i32 bins;
    i32 frames;
    i32 row;
    i32 count;
};

template <class P>
__device__ __forceinline__ void synthesise(const SynthesiseArgs& a) {
    const i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 plane = (i32)blockIdx.z % a.count, t0 = (i32)blockIdx.z / a.count * SYNTHESISE;
    const i32 x = 2 * i;
    if (x >= a.out.width || y >= a.out.height) return;
    const i64 at = ((i64)plane * a.out.height + y) * a.out.width + x;
    const i32 more = x + 1 < a.out.width ? 1 : 0;
    P f[2][SYNTHESISE];
#pragma unroll
    for (int b = 0; b < SYNTHESISE; b++) {
        f[0][b] = (P)0;
        f[1][b] = (P)0;
    }
    const P* pc = (const P*)a.c + at;
    const P* ps = (const P*)a.s + at;
    P c0 = pc[0], c1 = pc[more], s0 = ps[0], s1 = ps[more];
    for (i32 k = 0; k < a.bins; k++) {
        const i64 next = k + 1 < a.bins ? a.cells : 0;
        pc += next;
        ps += next;
        const P n0 = pc[0], n1 = pc[more], m0 = ps[0], m1 = ps[more];
        const P* pair = (const P*)a.pairs + 2 * ((i64)k * a.row + t0);
#pragma unroll
        for (int b = 0; b < SYNTHESISE; b += 2) {
            const TwoPairs<P> w = two_pairs(pair + 2 * b);
            f[0][b] = (f[0][b] + c0 * w.x0) + s0 * w.y0;
            f[1][b] = (f[1][b] + c1 * w.x0) + s1 * w.y0;
            f[0][b + 1] = (f[0][b + 1] + c0 * w.x1) + s0 * w.y1;
            f[1][b + 1] = (f[1][b + 1] + c1 * w.x1) + s1 * w.y1;
        }
        c0 = n0;
        c1 = n1;
        s0 = m0;
        s1 = m1;
    }
    f32* out = (f32*)a.out.ptr + plane * a.out.plane + (i64)y * a.out.pitch + x;
#pragma unroll
    for (int b = 0; b < SYNTHESISE; b++) {
        const i32 t = t0 + b;
        if (t < a.frames) {
            f32 r0 = (f32)f[0][b], r1 = (f32)f[1][b];
            if (a.up.ptr) {
                const f32* u = (const f32*)a.up.ptr + (i64)t * a.up.frame + plane * a.up.plane;
                const Pair e = enlarged(u, a.up.pitch, a.up.width, a.up.height, i, y);
                r0 = e.a + r0;
                r1 = e.b + r1;
            }
            *(float2*)(out + (i64)t * a.out.frame) = make_float2(r0, r1);
        }
    }
}

template <class P>
__device__ __forceinline__ void multiply(P* v, i64 n, f64 by) {
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = v[i] * (P)by;
}

}  // namespace magnify

#define PROJECT_KERNEL(T, P, N)                                                                                  \
    extern "C" __global__ void __launch_bounds__(128) magnify_project_##T##_##P(magnify::ProjectArgs a) {        \
        magnify::project<T, P, N>(a);                                                                            \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_project_##T##_##P)
PROJECT_KERNEL(u8, f32, 2)
PROJECT_KERNEL(u8, f64, 1)
PROJECT_KERNEL(u16, f32, 2)
PROJECT_KERNEL(u16, f64, 1)
PROJECT_KERNEL(u32, f32, 2)
PROJECT_KERNEL(u32, f64, 1)
PROJECT_KERNEL(f32, f32, 2)
PROJECT_KERNEL(f32, f64, 1)

#define IDEAL(P, P2)                                                                                             \
    extern "C" __global__ void __launch_bounds__(128) magnify_tables_##P(magnify::TableArgs a) {                 \
        magnify::tables<P, P2>(a);                                                                               \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_tables_##P)                                                                          \
    extern "C" __global__ void __launch_bounds__(128) magnify_synthesise_##P(magnify::SynthesiseArgs a) {        \
        magnify::synthesise<P>(a);                                                                               \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_synthesise_##P)                                                                      \
    extern "C" __global__ void __launch_bounds__(256) magnify_multiply_##P(P* v, i64 n, f64 by) {                \
        magnify::multiply<P>(v, n, by);                                                                          \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_multiply_##P)
IDEAL(f32, float2)
IDEAL(f64, double2)
