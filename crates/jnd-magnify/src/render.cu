// Adding the enlarged change to the frame: the last pass. Twin of render.rs, with the last enlargement of enlarge.rs.
//
// A thread owns four pixels of a row and walks down, so that a row of changes is loaded once.
#include "magnify.cuh"

namespace magnify {

struct RenderArgs {
    Frames src;
    Frames dst;
    // The change: a plane for each channel, or one for all.
    Planes change;
    // Bilinear: taps of each column and row, see BilinearTap.
    u64 across;
    u64 down;
    f32 max;
    // Rows a thread works on, where the change is not enlarged level by level.
    i32 rows;
    // 0: the change has the frame's size; 1: it is enlarged both ways; 2: vertically.
    i32 mode;
    i32 pad;
};

struct BilinearTap {
    i32 i;
    i32 j;
    f32 a;
    f32 b;
};

// 2^23: a small integer in the low bits of its representation is that integer plus 2^23, exactly, and adding it to a
// small value rounds the value to the nearest integer, ties to even.
constexpr f32 BIG = 8388608.0f;

__device__ __forceinline__ f32 sample(u32 v) { return __uint_as_float(0x4B000000u | v) - BIG; }
// The integer, in the low bits.
__device__ __forceinline__ u32 rounded(f32 y, f32 max) {
    y = fminf(fmaxf(y, 0.0f), max);
    return __float_as_uint(y + BIG);
}

// Samples of four pixels of C channels.
template <class S, int C>
struct Words {
    u32 w[C * sizeof(S)];
};

template <class S, int C, bool FAST>
__device__ __forceinline__ Words<S, C> load_pixels(const u8* row, i32 block, i32 width, bool vec) {
    constexpr int W = C * sizeof(S);
    Words<S, C> r;
    if (FAST || (vec && 4 * block + 4 <= width)) {
        const u32* p = (const u32*)(row + (i64)block * (W * 4));
#pragma unroll
        for (int i = 0; i < W; i++) r.w[i] = p[i];
        return r;
    }
    const S* p = (const S*)row + (i64)block * (4 * C);
    const i32 n = min(4, width - 4 * block) * C;
#pragma unroll
    for (int i = 0; i < W; i++) r.w[i] = 0;
#pragma unroll
    for (int k = 0; k < 4 * C; k++) {
        if (k < n) r.w[k * sizeof(S) / 4] |= (u32)p[k] << (k * sizeof(S) % 4 * 8);
    }
    return r;
}

template <class S, int C, bool FAST>
__device__ __forceinline__ void store_pixels(u8* row, i32 block, i32 width, bool vec, const Words<S, C>& r) {
    constexpr int W = C * sizeof(S);
    if (FAST && W == 3) {
        // Every lane has its 12 bytes: exchanged so that the warp writes 128 bytes in a row, three times. Word n of the
        // warp belongs to lane n / 3. In round k every lane gives its word k, and lane l gets the word n with
        // n = l (mod 32) and n = k (mod 3): that of lane (l - k) / 3 (mod 32), and 11 is the inverse of 3.
        const u32 lane = threadIdx.x & 31;
        u32 o0 = 0, o1 = 0, o2 = 0;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const u32 from = (lane - k) * 11 & 31;
            const u32 v = __shfl_sync(0xffffffffu, r.w[k % W], (int)from);
            const u32 slot = (3 * from + k) / 32;
            o0 = slot == 0 ? v : o0;
            o1 = slot == 1 ? v : o1;
            o2 = slot == 2 ? v : o2;
        }
        u32* p = (u32*)row + (block - (i32)lane) * 3 + lane;
        __stcs(p, o0);
        __stcs(p + 32, o1);
        __stcs(p + 64, o2);
        return;
    }
    if (FAST || (vec && 4 * block + 4 <= width)) {
        u32* p = (u32*)(row + (i64)block * (W * 4));
#pragma unroll
        for (int i = 0; i < W; i++) __stcs(p + i, r.w[i]);
        return;
    }
    S* p = (S*)row + (i64)block * (4 * C);
    const i32 n = min(4, width - 4 * block) * C;
#pragma unroll
    for (int k = 0; k < 4 * C; k++) {
        if (k < n) p[k] = (S)(r.w[k * sizeof(S) / 4] >> (k * sizeof(S) % 4 * 8));
    }
}

// delta[c][k]: change of channel c of pixel k; N is C, or 1 where all channels get the same.
template <class S, int C, int N>
__device__ __forceinline__ Words<S, C> add(const Words<S, C>& x, const f32 (&delta)[N][4], f32 max, i32 shift) {
    Words<S, C> r;
#pragma unroll
    for (int i = 0; i < (int)(C * sizeof(S)); i++) {
        if (sizeof(S) == 1) {
            f32 y[4];
#pragma unroll
            for (int b = 0; b < 4; b++) {
                const int n = 4 * i + b;
                const f32 v = __uint_as_float(__byte_perm(x.w[i], 0x4B000000u, 0x7640 + b)) - BIG;
                y[b] = v + delta[n % C % N][n / C % 4];
            }
            r.w[i] = jnd_pack_u8(y[0], y[1], jnd_pack_u8(y[2], y[3], 0));
        } else {
            u32 y[2];
#pragma unroll
            for (int b = 0; b < 2; b++) {
                const int n = 2 * i + b;
                const f32 v = sample((b ? x.w[i] >> 16 : x.w[i] & 0xffffu) >> shift);
                y[b] = (rounded(v + delta[n % C % N][n / C % 4], max) & 0xffffu) << shift;
            }
            r.w[i] = y[0] | y[1] << 16;
        }
    }
    return r;
}

// Four columns of changes: 2i - 1 .. 2i + 2, by the rules of the edges. What is read beyond an edge is another row's, or
// padding, and is replaced.
template <int N>
struct Columns {
    f32 v[N][4];
};
template <int N>
__device__ __forceinline__ Columns<N> load_columns(const f32* row, i64 plane, bool left, bool two, bool right) {
    Columns<N> r;
#pragma unroll
    for (int c = 0; c < N; c++) {
        const f32* p = row + c * plane;
        const float2 m = *(const float2*)p;
        r.v[c][1] = m.x;
        r.v[c][2] = two ? m.y : m.x;
        r.v[c][0] = left ? p[-1] : r.v[c][2];
        r.v[c][3] = right ? p[2] : r.v[c][2];
    }
    return r;
}
template <int N>
__device__ __forceinline__ void across(const Columns<N>& v, f32 (&out)[N][4]) {
#pragma unroll
    for (int c = 0; c < N; c++) {
        out[c][0] = even(v.v[c][0], v.v[c][1], v.v[c][2]);
        out[c][1] = odd(v.v[c][1], v.v[c][2]);
        out[c][2] = even(v.v[c][1], v.v[c][2], v.v[c][3]);
        out[c][3] = odd(v.v[c][2], v.v[c][3]);
    }
}

// One row of four pixels. With FAST all lanes of the warp have theirs, and rows are aligned.
template <class S, int C, int N, bool FAST>
__device__ __forceinline__ void render_row(const RenderArgs& a, i32 block, const u8* src, u8* dst, const f32 (&delta)[N][4]) {
    const Words<S, C> x = load_pixels<S, C, FAST>(src, block, a.src.width, a.src.vec != 0);
    store_pixels<S, C, FAST>(dst, block, a.src.width, a.dst.vec != 0, add<S, C, N>(x, delta, a.max, a.src.shift));
}

// Rows of changes a thread enlarges.
constexpr int WALK = 4;

// Enlarging both ways.
template <class S, int C, int N, bool FAST>
__device__ __forceinline__ void render_enlarged(const RenderArgs& a, i32 block, i32 first) {
    const i32 n = a.change.width, m = a.change.height, height = a.src.height;
    const bool left = block > 0, two = 2 * block + 1 < n, right = 2 * block + 2 < n;
    const i64 plane = a.change.plane, pitch = a.change.pitch;
    const f32* change = (const f32*)a.change.ptr + (i64)blockIdx.z * a.change.frame + 2 * block;
    const u8* src = (const u8*)a.src.ptr + (i64)blockIdx.z * a.src.frame + (i64)(2 * first) * a.src.pitch;
    u8* dst = (u8*)a.dst.ptr + (i64)blockIdx.z * a.dst.frame + (i64)(2 * first) * a.dst.pitch;
    Columns<N> p = load_columns<N>(change + before(first, m) * pitch, plane, left, two, right);
    change += first * pitch;
    Columns<N> q = load_columns<N>(change, plane, left, two, right);
    // Written out, so that rows change places by name; at the edges it is not worth the code.
    [[maybe_unused]] constexpr int UNROLL = FAST ? WALK : 1;
#pragma unroll UNROLL
    for (int w = 0; w < WALK; w++) {
        const i32 j = first + w;
        if (j >= m) break;
        change += j + 1 < m ? pitch : 0;
        const Columns<N> r = load_columns<N>(change, plane, left, two, right);
        Columns<N> v;
        f32 delta[N][4];
#pragma unroll
        for (int c = 0; c < N; c++) {
#pragma unroll
            for (int k = 0; k < 4; k++) v.v[c][k] = even(p.v[c][k], q.v[c][k], r.v[c][k]);
        }
        across<N>(v, delta);
        render_row<S, C, N, FAST>(a, block, src, dst, delta);
        src += a.src.pitch;
        dst += a.dst.pitch;
        if (2 * j + 1 >= height) break;
#pragma unroll
        for (int c = 0; c < N; c++) {
#pragma unroll
            for (int k = 0; k < 4; k++) v.v[c][k] = odd(q.v[c][k], r.v[c][k]);
        }
        across<N>(v, delta);
        render_row<S, C, N, FAST>(a, block, src, dst, delta);
        src += a.src.pitch;
        dst += a.dst.pitch;
        p = q;
        q = r;
    }
}

// A change of the frame's height and width, or of half its height.
template <class S, int C, int N>
__device__ __forceinline__ void render_rows(const RenderArgs& a, i32 block, i32 first) {
    const i32 m = a.change.height;
    const f32* change = (const f32*)a.change.ptr + (i64)blockIdx.z * a.change.frame;
    const i32 end = min(first + a.rows, a.src.height);
    for (i32 y = first; y < end; y++) {
        f32 delta[N][4];
        const i32 j = a.mode == 2 ? y >> 1 : y;
        const f32* q = change + (i64)j * a.change.pitch + 4 * block;
        const f32* p = change + (i64)before(j, m) * a.change.pitch + 4 * block;
        const f32* r = change + (i64)after(j, m) * a.change.pitch + 4 * block;
#pragma unroll
        for (int c = 0; c < N; c++) {
            const i64 at = c * a.change.plane;
            const float4 vq = *(const float4*)(q + at);
            if (a.mode == 2) {
                const float4 vr = *(const float4*)(r + at);
                if (y & 1) {
                    delta[c][0] = odd(vq.x, vr.x);
                    delta[c][1] = odd(vq.y, vr.y);
                    delta[c][2] = odd(vq.z, vr.z);
                    delta[c][3] = odd(vq.w, vr.w);
                } else {
                    const float4 vp = *(const float4*)(p + at);
                    delta[c][0] = even(vp.x, vq.x, vr.x);
                    delta[c][1] = even(vp.y, vq.y, vr.y);
                    delta[c][2] = even(vp.z, vq.z, vr.z);
                    delta[c][3] = even(vp.w, vq.w, vr.w);
                }
            } else {
                delta[c][0] = vq.x;
                delta[c][1] = vq.y;
                delta[c][2] = vq.z;
                delta[c][3] = vq.w;
            }
        }
        const u8* src = (const u8*)a.src.ptr + (i64)blockIdx.z * a.src.frame + (i64)y * a.src.pitch;
        u8* dst = (u8*)a.dst.ptr + (i64)blockIdx.z * a.dst.frame + (i64)y * a.dst.pitch;
        render_row<S, C, N, false>(a, block, src, dst, delta);
    }
}

// Whether all lanes of this warp have four pixels, and rows are aligned.
__device__ __forceinline__ bool is_fast(const RenderArgs& a) {
    return a.src.vec && a.dst.vec && 4 * ((i32)blockIdx.x * 32 + 32) <= a.src.width;
}

template <class S, int C, int N>
__device__ __forceinline__ void render(const RenderArgs& a) {
    const i32 block = (i32)(blockIdx.x * 32 + threadIdx.x);
    const i32 thread = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    if (4 * block >= a.src.width) return;
    if (a.mode != 1) {
        render_rows<S, C, N>(a, block, thread * a.rows);
        return;
    }
    if (thread * WALK >= a.change.height) return;
    if (is_fast(a)) {
        render_enlarged<S, C, N, true>(a, block, thread * WALK);
    } else {
        render_enlarged<S, C, N, false>(a, block, thread * WALK);
    }
}

template <int N>
__device__ __forceinline__ void bilinear_row(const f32* row, i64 plane, const BilinearTap (&tap)[4], bool wide,
                                             f32 (&out)[N][4]) {
#pragma unroll
    for (int c = 0; c < N; c++) {
        const f32* p = row + c * plane;
#pragma unroll
        for (int k = 0; k < 4; k++) out[c][k] = wide ? tap[k].a * p[tap[k].i] + tap[k].b * p[tap[k].j] : p[tap[k].i];
    }
}

// Rows of the frame that are loaded at once where they can be.
constexpr int TOGETHER = 4;

template <class S, int C, int N, bool FAST>
__device__ __forceinline__ void bilinear_rows(const RenderArgs& a, i32 block, i32 first) {
    const i32 width = a.src.width;
    const f32* change = (const f32*)a.change.ptr + (i64)blockIdx.z * a.change.frame;
    // An axis that is not enlarged is not interpolated: without taps.
    const bool wide = a.across != 0, high = a.down != 0;
    BilinearTap tap[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const i32 x = min(4 * block + k, width - 1);
        if (wide) {
            const int4 t = *((const int4*)a.across + x);
            tap[k] = BilinearTap{t.x, t.y, __int_as_float(t.z), __int_as_float(t.w)};
        } else {
            tap[k] = BilinearTap{x, x, 1.0f, 0.0f};
        }
    }
    const i32 end = min(first + a.rows, a.src.height);
    const u8* src = (const u8*)a.src.ptr + (i64)blockIdx.z * a.src.frame + (i64)first * a.src.pitch;
    u8* dst = (u8*)a.dst.ptr + (i64)blockIdx.z * a.dst.frame + (i64)first * a.dst.pitch;
    i32 have_i = -1, have_j = -1;
    f32 p[N][4], q[N][4];
    // The two rows of changes of a tap, enlarged across, where they are not there yet.
    auto prepare = [&](const int4& t) {
        if (t.x != have_i) {
            if (t.x == have_j) {
#pragma unroll
                for (int c = 0; c < N; c++) {
#pragma unroll
                    for (int k = 0; k < 4; k++) p[c][k] = q[c][k];
                }
            } else {
                bilinear_row<N>(change + (i64)t.x * a.change.pitch, a.change.plane, tap, wide, p);
            }
            have_i = t.x;
        }
        if (high && t.y != have_j) {
            bilinear_row<N>(change + (i64)t.y * a.change.pitch, a.change.plane, tap, wide, q);
            have_j = t.y;
        }
    };
    auto finish = [&](const Words<S, C>& x, f32 ta, f32 tb) {
        f32 delta[N][4];
#pragma unroll
        for (int c = 0; c < N; c++) {
#pragma unroll
            for (int k = 0; k < 4; k++) delta[c][k] = high ? ta * p[c][k] + tb * q[c][k] : p[c][k];
        }
        store_pixels<S, C, FAST>(dst, block, width, a.dst.vec != 0, add<S, C, N>(x, delta, a.max, a.src.shift));
        dst += a.dst.pitch;
    };
    i32 y = first;
    while (y < end) {
        int4 t = make_int4(y, y, 0, 0);
        if (high) t = __ldg((const int4*)a.down + y);
        bool together = high && y + TOGETHER <= end;
        if (together) {
            const int4 last = __ldg((const int4*)a.down + y + TOGETHER - 1);
            together = t.x == last.x && t.y == last.y;
        }
        if (together) {
            // Rows between the same rows of changes: all are on their way before the first is used.
            Words<S, C> x[TOGETHER];
            f32 ta[TOGETHER], tb[TOGETHER];
#pragma unroll
            for (int b = 0; b < TOGETHER; b++) {
                x[b] = load_pixels<S, C, FAST>(src, block, width, a.src.vec != 0);
                src += a.src.pitch;
                const int4 tap = __ldg((const int4*)a.down + y + b);
                ta[b] = __int_as_float(tap.z);
                tb[b] = __int_as_float(tap.w);
            }
            prepare(t);
#pragma unroll
            for (int b = 0; b < TOGETHER; b++) finish(x[b], ta[b], tb[b]);
            y += TOGETHER;
        } else {
            const Words<S, C> x = load_pixels<S, C, FAST>(src, block, width, a.src.vec != 0);
            src += a.src.pitch;
            prepare(t);
            finish(x, __int_as_float(t.z), __int_as_float(t.w));
            y++;
        }
    }
}

template <class S, int C, int N>
__device__ __forceinline__ void bilinear(const RenderArgs& a) {
    const i32 block = (i32)(blockIdx.x * 32 + threadIdx.x);
    const i32 first = (i32)(blockIdx.y * blockDim.y + threadIdx.y) * a.rows;
    if (4 * block >= a.src.width) return;
    if (is_fast(a)) {
        bilinear_rows<S, C, N, true>(a, block, first);
    } else {
        bilinear_rows<S, C, N, false>(a, block, first);
    }
}

}  // namespace magnify

#define RENDER(name, S, C, N)                                                                                       \
    extern "C" __global__ void __launch_bounds__(128, 6) magnify_render_##name(magnify::RenderArgs a) {             \
        magnify::render<S, C, N>(a);                                                                                \
    }                                                                                                               \
    JND_KERNEL(magnify_render_##name)                                                                               \
    extern "C" __global__ void __launch_bounds__(128, 4) magnify_bilinear_##name(magnify::RenderArgs a) {           \
        magnify::bilinear<S, C, N>(a);                                                                              \
    }                                                                                                               \
    JND_KERNEL(magnify_bilinear_##name)
RENDER(u8_c1, u8, 1, 1)
RENDER(u8_c2, u8, 2, 2)
RENDER(u8_c3, u8, 3, 3)
RENDER(u8_luma, u8, 3, 1)
RENDER(u16_c1, u16, 1, 1)
RENDER(u16_c2, u16, 2, 2)
RENDER(u16_c3, u16, 3, 3)
RENDER(u16_luma, u16, 3, 1)
