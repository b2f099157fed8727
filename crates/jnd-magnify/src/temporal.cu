// Filtering along time by two lags, for the causal filters. Twin of temporal.rs; the ideal filter is in temporal/.
#include "magnify.cuh"

namespace magnify {

struct CausalArgs {
    // The level; `step` is the distance of a channel's pixels in elements, and the planes may be channels of one row.
    Planes in;
    // Changes of the next coarser level, enlarged and added; ptr 0 for none.
    Planes up;
    Planes out;
    // States and the frame before, plane after plane without gaps.
    u64 slow;
    u64 fast;
    u64 last;
    f64 p_slow;
    f64 p_fast;
    f64 c_slow;
    f64 c_fast;
    i32 frames;
    // Index of the first frame, modulo 32.
    i32 index;
    // 0 goes on; 1 starts with the first frame as its own past, 2 with black.
    i32 start;
    i32 shift;
    // Where R, G and B are, and the matrix, for the kernels that mix.
    i32 order[3];
    f32 mix[9];
};

template <class P, class V>
__device__ __forceinline__ f32 causal_step(V x, V& last, P& slow, P& fast, const P (&k)[4]) {
    const P dx = (P)(x - last);
    last = x;
    slow = k[0] * slow + dx;
    fast = k[1] * fast + dx;
    return (f32)(k[2] * slow - k[3] * fast);
}

template <class P>
__device__ __forceinline__ P flushed(P s) {
    // 2^-64
    return (s < (P)0 ? -s : s) < (P)5.421010862427522e-20 ? (P)0 : s;
}

// Two neighbouring values of a row as loaded: those of 8 and 16 bits in one register.
template <class T>
struct RawPair {
    u32 v;
};
template <>
struct RawPair<u32> {
    u32 a, b;
};
// Levels begin at multiples of four values, and their rows are padded: a pair is one load.
__device__ __forceinline__ RawPair<u16> load_pair(const u16* p) { return RawPair<u16>{*(const u32*)p}; }
__device__ __forceinline__ RawPair<u32> load_pair(const u32* p) {
    const uint2 v = *(const uint2*)p;
    return RawPair<u32>{v.x, v.y};
}
// Samples may begin anywhere, and `step` apart.
template <class T>
__device__ __forceinline__ RawPair<T> load_apart(const T* p, i32 other) {
    return RawPair<T>{(u32)p[0] | (u32)p[other] << 16};
}
template <class T, bool LEVEL>
struct Loader {
    static __device__ __forceinline__ RawPair<T> pair(const T* p, i32 other) { return load_apart(p, other); }
};
template <class T>
struct Loader<T, true> {
    static __device__ __forceinline__ RawPair<T> pair(const T* p, i32) { return load_pair(p); }
};
template <class T>
__device__ __forceinline__ i32 first(const RawPair<T>& r, i32 shift) { return (i32)((r.v & 0xffffu) >> shift); }
template <class T>
__device__ __forceinline__ i32 second(const RawPair<T>& r, i32 shift) { return (i32)(r.v >> 16 >> shift); }
__device__ __forceinline__ i32 first(const RawPair<u32>& r, i32) { return (i32)r.a; }
__device__ __forceinline__ i32 second(const RawPair<u32>& r, i32) { return (i32)r.b; }

// Threads of a channel in a block of the mixing kernels.
constexpr int MIXED = 64;

// Four values (two by two pixels) of a channel a thread, through all frames of the chunk: the enlarged change of the
// coarser level is shared by the four. With MIX the three channels of a pixel are three threads of the block, which
// exchange their changes through shared memory.
template <class T, class P, bool LEVEL, bool MIX, int AHEAD>
__device__ __forceinline__ void causal(const CausalArgs& a) {
    using V = typename Value<T>::Type;
    const i32 width = a.in.width, height = a.in.height;
    const i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x), j = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 plane = MIX ? (i32)threadIdx.z : (i32)blockIdx.z;
    const bool inside = 2 * i < width && 2 * j < height;
    if (!MIX && !inside) return;
    // A thread of the mixing kernels that has no pixels stays for the barriers, and works on the last ones unheard.
    const i32 x = min(2 * i, (width - 1) & ~1), y = min(2 * j, (height - 1) & ~1);
    const bool two = x + 1 < width, below = y + 1 < height;
    const P k[4] = {(P)a.p_slow, (P)a.p_fast, (P)a.c_slow, (P)a.c_fast};
    const i64 cell = ((i64)plane * height + y) * width + x;
    const i32 cells[4] = {0, two ? 1 : 0, below ? width : 0, (below ? width : 0) + (two ? 1 : 0)};
    V last[4];
    P slow[4], fast[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        last[e] = a.start ? (V)0 : ((const V*)a.last)[cell + cells[e]];
        slow[e] = a.start ? (P)0 : ((const P*)a.slow)[cell + cells[e]];
        fast[e] = a.start ? (P)0 : ((const P*)a.fast)[cell + cells[e]];
    }
    const i32 step = LEVEL ? 1 : a.in.step, other = two ? step : 0;
    const T* in = (const T*)a.in.ptr + plane * a.in.plane + (i64)y * a.in.pitch + (i64)x * step;
    const i32 under = below ? a.in.pitch : 0;
    f32* out = (f32*)a.out.ptr + plane * a.out.plane + (i64)y * a.out.pitch + x;
    // Three rows of the coarser level, at the column above this thread's pixels. Its neighbours' columns are read even
    // where they are another row's: the sums are then replaced by the edge's rule.
    const i32 n = a.up.width, m = a.up.height, ui = x >> 1, uj = y >> 1;
    const f32* up = (const f32*)a.up.ptr + plane * a.up.plane + (i64)uj * a.up.pitch + ui;
    const f32* over = up + (i64)(before(uj, m) - uj) * a.up.pitch;
    const f32* next = up + (i64)(after(uj, m) - uj) * a.up.pitch;
    const bool leftmost = ui == 0, rightmost = ui == n - 1;
    const bool enlarges = a.up.ptr != 0;
    const i64 in_frame = a.in.frame, up_frame = a.up.frame, out_frame = a.out.frame;
    const i32 out_under = a.out.pitch;
    f32 weight[3];
    if (MIX) {
#pragma unroll
        for (int q = 0; q < 3; q++) {
            weight[q] = a.order[0] == plane ? a.mix[q] : a.order[1] == plane ? a.mix[3 + q] : a.mix[6 + q];
        }
    }
    for (i32 t0 = 0; t0 < a.frames; t0 += AHEAD) {
        RawPair<T> raw[AHEAD][2];
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            raw[b][0] = Loader<T, LEVEL>::pair(in, other);
            raw[b][1] = Loader<T, LEVEL>::pair(in + under, other);
            // Where the chunk ends the last frame is loaded again, and not used.
            in += t0 + b + 1 < a.frames ? in_frame : 0;
        }
        if (t0 == 0 && a.start == 1) {
            last[0] = first(raw[0][0], a.shift);
            last[1] = second(raw[0][0], a.shift);
            last[2] = first(raw[0][1], a.shift);
            last[3] = second(raw[0][1], a.shift);
        }
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            const i32 t = t0 + b;
            if (t >= a.frames) break;
            f32 f[4];
            f[0] = causal_step<P>(first(raw[b][0], a.shift), last[0], slow[0], fast[0], k);
            f[1] = causal_step<P>(second(raw[b][0], a.shift), last[1], slow[1], fast[1], k);
            f[2] = causal_step<P>(first(raw[b][1], a.shift), last[2], slow[2], fast[2], k);
            f[3] = causal_step<P>(second(raw[b][1], a.shift), last[3], slow[3], fast[3], k);
            if (((u32)(a.index + t) & 31u) == 31u) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    slow[e] = flushed(slow[e]);
                    fast[e] = flushed(fast[e]);
                }
            }
            if (enlarges) {
                f32 v[3][3];
#pragma unroll
                for (int c = 0; c < 3; c++) {
                    v[c][0] = over[c - 1];
                    v[c][1] = up[c - 1];
                    v[c][2] = next[c - 1];
                }
                over += up_frame;
                up += up_frame;
                next += up_frame;
                f32 e0 = even(v[0][0], v[0][1], v[0][2]), e2 = even(v[2][0], v[2][1], v[2][2]);
                f32 o0 = odd(v[0][1], v[0][2]), o2 = odd(v[2][1], v[2][2]);
                const f32 e1 = even(v[1][0], v[1][1], v[1][2]), o1 = odd(v[1][1], v[1][2]);
                e2 = rightmost ? e1 : e2;
                o2 = rightmost ? o1 : o2;
                e0 = leftmost ? e2 : e0;
                o0 = leftmost ? o2 : o0;
                f[0] = even(e0, e1, e2) + f[0];
                f[1] = odd(e1, e2) + f[1];
                f[2] = even(o0, o1, o2) + f[2];
                f[3] = odd(o1, o2) + f[3];
            }
            if (MIX) {
                __shared__ float4 changes[2][3][MIXED];
                const i32 at = (i32)(threadIdx.y * blockDim.x + threadIdx.x);
                // Two buffers in turn: whoever writes the next frame's is past the barrier of this one's.
                changes[b & 1][plane][at] = make_float4(f[0], f[1], f[2], f[3]);
                __syncthreads();
                const float4 R = changes[b & 1][a.order[0]][at], G = changes[b & 1][a.order[1]][at],
                             B = changes[b & 1][a.order[2]][at];
                f[0] = (weight[0] * R.x + weight[1] * G.x) + weight[2] * B.x;
                f[1] = (weight[0] * R.y + weight[1] * G.y) + weight[2] * B.y;
                f[2] = (weight[0] * R.z + weight[1] * G.z) + weight[2] * B.z;
                f[3] = (weight[0] * R.w + weight[1] * G.w) + weight[2] * B.w;
            }
            // Rows of changes have an even pitch: the second place exists, if only as padding.
            if (inside) {
                *(float2*)out = make_float2(f[0], f[1]);
                if (below) *(float2*)(out + out_under) = make_float2(f[2], f[3]);
            }
            out += out_frame;
        }
    }
    if (!inside) return;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        if ((e & 1 && !two) || (e & 2 && !below)) continue;
        ((V*)a.last)[cell + cells[e]] = last[e];
        ((P*)a.slow)[cell + cells[e]] = slow[e];
        ((P*)a.fast)[cell + cells[e]] = fast[e];
    }
}

// Levels of floats with f32 states: two by two values a thread, the enlarged change of the coarser level added. A frame's values
// are fetched AHEAD frames before they are used, into the places of those used last: these levels are small, and few threads
// have to cover the latency.
__device__ __forceinline__ void causal_level(const CausalArgs& a) {
    constexpr int AHEAD = 4;
    const i32 width = a.in.width, height = a.in.height;
    const i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x), j = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 plane = (i32)blockIdx.z, x = 2 * i, y = 2 * j;
    if (x >= width || y >= height) return;
    const bool two = x + 1 < width, below = y + 1 < height;
    const f32 k[4] = {(f32)a.p_slow, (f32)a.p_fast, (f32)a.c_slow, (f32)a.c_fast};
    const i64 cell = ((i64)plane * height + y) * width + x;
    const i32 cells[4] = {0, two ? 1 : 0, below ? width : 0, (below ? width : 0) + (two ? 1 : 0)};
    f32 last[4], slow[4], fast[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        last[e] = a.start ? 0.0f : ((const f32*)a.last)[cell + cells[e]];
        slow[e] = a.start ? 0.0f : ((const f32*)a.slow)[cell + cells[e]];
        fast[e] = a.start ? 0.0f : ((const f32*)a.fast)[cell + cells[e]];
    }
    // Rows are padded: the second column exists, if only as padding.
    const f32* in = (const f32*)a.in.ptr + plane * a.in.plane + (i64)y * a.in.pitch + x;
    f32* out = (f32*)a.out.ptr + plane * a.out.plane + (i64)y * a.out.pitch + x;
    const i32 under = below ? a.in.pitch : 0, out_under = a.out.pitch;
    // Rows of the coarser level, at the column above this thread's. Its neighbours' columns are read even where they are
    // another row's: the sums are then replaced by the edge's rule.
    const i32 n = a.up.width, m = a.up.height;
    const f32* mid = (const f32*)a.up.ptr + plane * a.up.plane + (i64)j * a.up.pitch + i;
    const i32 over = (before(j, m) - j) * a.up.pitch, next = (after(j, m) - j) * a.up.pitch;
    const bool leftmost = i == 0, rightmost = i == n - 1, enlarges = a.up.ptr != 0;
    f32 up[AHEAD][3][3] = {};
    float2 rows[AHEAD][2];
    auto fetch = [&](f32(&u)[3][3], float2(&r)[2]) {
        r[0] = *(const float2*)in;
        r[1] = *(const float2*)(in + under);
        if (enlarges) {
#pragma unroll
            for (int c = 0; c < 3; c++) {
                u[c][0] = (mid + over)[c - 1];
                u[c][1] = mid[c - 1];
                u[c][2] = (mid + next)[c - 1];
            }
        }
    };
    // Where the chunk ends the last frame is fetched again, and not used.
#pragma unroll
    for (int b = 0; b < AHEAD; b++) {
        fetch(up[b], rows[b]);
        if (b + 1 < a.frames) {
            in += a.in.frame;
            mid += a.up.frame;
        }
    }
    if (a.start == 1) {
        last[0] = rows[0][0].x;
        last[1] = rows[0][0].y;
        last[2] = rows[0][1].x;
        last[3] = rows[0][1].y;
    }
    for (i32 t0 = 0; t0 < a.frames; t0 += AHEAD) {
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            const i32 t = t0 + b;
            if (t >= a.frames) break;
            f32 f[4];
            f[0] = causal_step<f32>(rows[b][0].x, last[0], slow[0], fast[0], k);
            f[1] = causal_step<f32>(rows[b][0].y, last[1], slow[1], fast[1], k);
            f[2] = causal_step<f32>(rows[b][1].x, last[2], slow[2], fast[2], k);
            f[3] = causal_step<f32>(rows[b][1].y, last[3], slow[3], fast[3], k);
            f32 ev[3], od[3];
#pragma unroll
            for (int c = 0; c < 3; c++) {
                ev[c] = even(up[b][c][0], up[b][c][1], up[b][c][2]);
                od[c] = odd(up[b][c][1], up[b][c][2]);
            }
            if (t + AHEAD < a.frames) {
                fetch(up[b], rows[b]);
                if (t + AHEAD + 1 < a.frames) {
                    in += a.in.frame;
                    mid += a.up.frame;
                }
            }
            if (((u32)(a.index + t) & 31u) == 31u) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    slow[e] = flushed(slow[e]);
                    fast[e] = flushed(fast[e]);
                }
            }
            if (enlarges) {
                ev[2] = rightmost ? ev[1] : ev[2];
                od[2] = rightmost ? od[1] : od[2];
                ev[0] = leftmost ? ev[2] : ev[0];
                od[0] = leftmost ? od[2] : od[0];
                f[0] = even(ev[0], ev[1], ev[2]) + f[0];
                f[1] = odd(ev[1], ev[2]) + f[1];
                f[2] = even(od[0], od[1], od[2]) + f[2];
                f[3] = odd(od[1], od[2]) + f[3];
            }
            *(float2*)out = make_float2(f[0], f[1]);
            if (below) *(float2*)(out + out_under) = make_float2(f[2], f[3]);
            out += a.out.frame;
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        if ((e & 1 && !two) || (e & 2 && !below)) continue;
        ((f32*)a.last)[cell + cells[e]] = last[e];
        ((f32*)a.slow)[cell + cells[e]] = slow[e];
        ((f32*)a.fast)[cell + cells[e]] = fast[e];
    }
}

// One value a thread, for the smallest levels and for f64 states. Nothing is enlarged here: enlarge.cu does it for all
// frames at once.
template <class P, int AHEAD>
__device__ __forceinline__ void causal_small(const CausalArgs& a) {
    const i32 width = a.in.width, height = a.in.height;
    const i32 x = (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 plane = (i32)blockIdx.z;
    if (x >= width || y >= height) return;
    const P k[4] = {(P)a.p_slow, (P)a.p_fast, (P)a.c_slow, (P)a.c_fast};
    const i64 cell = ((i64)plane * height + y) * width + x;
    f32 last = a.start ? 0.0f : ((const f32*)a.last)[cell];
    P slow = a.start ? (P)0 : ((const P*)a.slow)[cell], fast = a.start ? (P)0 : ((const P*)a.fast)[cell];
    const f32* in = (const f32*)a.in.ptr + plane * a.in.plane + (i64)y * a.in.pitch + x;
    f32* out = (f32*)a.out.ptr + plane * a.out.plane + (i64)y * a.out.pitch + x;
    const i64 in_frame = a.in.frame, out_frame = a.out.frame;
    if (a.start == 1) last = in[0];
    f32 ahead[AHEAD];
    // Where the chunk ends the last frame is fetched again, and not used.
#pragma unroll
    for (int b = 0; b < AHEAD; b++) {
        ahead[b] = *in;
        in += b + 1 < a.frames ? in_frame : 0;
    }
    for (i32 t0 = 0; t0 < a.frames; t0 += AHEAD) {
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            const i32 t = t0 + b;
            if (t >= a.frames) break;
            *out = causal_step<P>(ahead[b], last, slow, fast, k);
            out += out_frame;
            ahead[b] = *in;
            in += t + AHEAD + 1 < a.frames ? in_frame : 0;
            if (((u32)(a.index + t) & 31u) == 31u) {
                slow = flushed(slow);
                fast = flushed(fast);
            }
        }
    }
    ((f32*)a.last)[cell] = last;
    ((P*)a.slow)[cell] = slow;
    ((P*)a.fast)[cell] = fast;
}

}  // namespace magnify

#define CAUSAL(name, T, P, LEVEL)                                                                                \
    extern "C" __global__ void __launch_bounds__(128) magnify_causal_##name##_##P(magnify::CausalArgs a) {       \
        magnify::causal<T, P, LEVEL, false, 4>(a);                                                               \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_causal_##name##_##P)
CAUSAL(s8, u8, f32, false)
CAUSAL(s8, u8, f64, false)
CAUSAL(s16, u16, f32, false)
CAUSAL(s16, u16, f64, false)
CAUSAL(u16, u16, f32, true)
CAUSAL(u16, u16, f64, true)
CAUSAL(u32, u32, f32, true)
CAUSAL(u32, u32, f64, true)

#define CAUSAL_MIX(T, P)                                                                                         \
    extern "C" __global__ void __launch_bounds__(192) magnify_causal_mix_##T##_##P(magnify::CausalArgs a) {      \
        magnify::causal<T, P, true, true, 4>(a);                                                                 \
    }                                                                                                            \
    JND_KERNEL(magnify_causal_mix_##T##_##P)
CAUSAL_MIX(u16, f32)
CAUSAL_MIX(u32, f32)

extern "C" __global__ void __launch_bounds__(128) magnify_causal_level(magnify::CausalArgs a) { magnify::causal_level(a); }
JND_KERNEL_FLAT(magnify_causal_level)

#define CAUSAL_SMALL(P)                                                                                          \
    extern "C" __global__ void __launch_bounds__(128) magnify_causal_f32_##P(magnify::CausalArgs a) {            \
        magnify::causal_small<P, 16>(a);                                                                         \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_causal_f32_##P)
CAUSAL_SMALL(f32)
CAUSAL_SMALL(f64)
