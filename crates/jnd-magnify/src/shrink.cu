// Halving: five taps 1 4 6 4 1 per axis, vertical first, not normalised. Twin of shrink.rs.
//
// A thread owns four pixels of some rows. It loads all of them first, so that many loads are under way at once, sums
// vertically, gets what its neighbours own by shuffles and sums horizontally. The outer two lanes of a warp only serve
// their neighbours.
#include "magnify.cuh"

namespace magnify {

struct ShrinkArgs {
    Frames src;
    Planes dst;
};

// Four pixels of C channels of a row, as loaded: 8-bit samples as C words, deeper ones as 2C.
template <class S, int C>
struct Raw {
    u32 w[C * sizeof(S)];
};

template <class S, int C>
__device__ __forceinline__ Raw<S, C> load_whole(const u8* row, i32 block) {
    constexpr int W = C * sizeof(S);
    Raw<S, C> r;
    const u32* p = (const u32*)(row + (i64)block * (W * 4));
#pragma unroll
    for (int i = 0; i < W; i++) r.w[i] = __ldg(p + i);
    return r;
}
// At the edges, and where rows are not aligned.
template <class S, int C>
__device__ __forceinline__ Raw<S, C> load_reflected(const u8* row, i32 block, i32 width) {
    constexpr int W = C * sizeof(S);
    Raw<S, C> r;
    const S* p = (const S*)row;
#pragma unroll
    for (int i = 0; i < W; i++) r.w[i] = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const i32 at = mirror(4 * block + k, width) * C;
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int byte = (k * C + c) * sizeof(S);
            r.w[byte / 4] |= (u32)p[at + c] << (byte % 4 * 8);
        }
    }
    return r;
}

// A row of a whole number of blocks is reflected by the block at its end: the block beyond it on the left is asked for its
// pixels 2 and 3 only, which are pixels 2 and 1, the one on the right for pixel 0, which is pixel 2.
template <class S, int C>
__device__ __forceinline__ void copy_pixel(Raw<S, C>& r, int to, int from) {
    constexpr int N = C * sizeof(S);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int a = to * N + i, b = from * N + i;
        const u32 byte = r.w[b / 4] >> (b % 4 * 8) & 255u;
        r.w[a / 4] = (r.w[a / 4] & ~(255u << (a % 4 * 8))) | byte << (a % 4 * 8);
    }
}

// The values of four pixels ready for sums. 8-bit samples stay two to a register: no sum of five taps per axis
// exceeds 65,280, so nothing is carried from one half into the other.
template <class S, int C>
struct Four;

template <int C>
struct Four<u8, C> {
    static constexpr int N = 2 * C;
    u32 v[N];
    __device__ __forceinline__ void unpack(const Raw<u8, C>& r, i32) {
        if (C == 1) {
            v[0] = r.w[0] & 0x00ff00ffu;
            v[1] = r.w[0] >> 8 & 0x00ff00ffu;
        } else {
#pragma unroll
            for (int i = 0; i < C; i++) {
                v[2 * i] = __byte_perm(r.w[i], 0, 0x4140);
                v[2 * i + 1] = __byte_perm(r.w[i], 0, 0x4342);
            }
        }
    }
};

template <int C>
struct Four<u16, C> {
    static constexpr int N = 4 * C;
    u32 v[N];
    __device__ __forceinline__ void unpack(const Raw<u16, C>& r, i32 shift) {
#pragma unroll
        for (int i = 0; i < 2 * C; i++) {
            v[2 * i] = (r.w[i] & 0xffffu) >> shift;
            v[2 * i + 1] = r.w[i] >> 16 >> shift;
        }
    }
};

template <class S, int C>
__device__ __forceinline__ Four<S, C> vertical(const Four<S, C>& a, const Four<S, C>& b, const Four<S, C>& c,
                                               const Four<S, C>& d, const Four<S, C>& e) {
    Four<S, C> r;
#pragma unroll
    for (int i = 0; i < Four<S, C>::N; i++) r.v[i] = taps(a.v[i], b.v[i], c.v[i], d.v[i], e.v[i]);
    return r;
}

constexpr u32 ALL = 0xffffffffu;
__device__ __forceinline__ u32 from_left(u32 v) { return __shfl_up_sync(ALL, v, 1); }
__device__ __forceinline__ u32 from_right(u32 v) { return __shfl_down_sync(ALL, v, 1); }
// Halves of two registers: (high of a, low of b), (low, low), (high, high).
__device__ __forceinline__ u32 high_low(u32 a, u32 b) { return __byte_perm(a, b, 0x5432); }
__device__ __forceinline__ u32 low_low(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
__device__ __forceinline__ u32 high_high(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }

// Two output pixels of each channel, as a pair of halves (8-bit sources).
__device__ __forceinline__ void horizontal(const Four<u8, 1>& f, u32 (&out)[1]) {
    const u32 e = f.v[0], o = f.v[1];
    // Left neighbour's pixels 2 and 3, right neighbour's pixel 0.
    const u32 left = from_left(high_high(e, o)), right = from_right(e);
    const u32 a = __byte_perm(left, e, 0x5410), b = __byte_perm(left, o, 0x5432);
    out[0] = taps(a, b, e, o, high_low(e, right));
}
__device__ __forceinline__ void horizontal(const Four<u8, 2>& f, u32 (&out)[2]) {
    const u32 l2 = from_left(f.v[2]), l3 = from_left(f.v[3]), r0 = from_right(f.v[0]);
    const u32 p = taps(l2, l3, f.v[0], f.v[1], f.v[2]), q = taps(f.v[0], f.v[1], f.v[2], f.v[3], r0);
    out[0] = low_low(p, q);
    out[1] = high_high(p, q);
}
__device__ __forceinline__ void horizontal(const Four<u8, 3>& f, u32 (&out)[3]) {
    const u32 l3 = from_left(f.v[3]), l4 = from_left(f.v[4]), l5 = from_left(f.v[5]);
    const u32 r0 = from_right(f.v[0]), r1 = from_right(f.v[1]);
    // Channels 0 and 1 of a pixel share a register; channel 2 goes with the same channel of another pixel.
    const u32 a1 = high_low(f.v[1], f.v[2]), a3 = high_low(f.v[4], f.v[5]);
    const u32 p = taps(l3, high_low(l4, l5), f.v[0], a1, f.v[3]), q = taps(f.v[0], a1, f.v[3], a3, r0);
    out[0] = low_low(p, q);
    out[1] = high_high(p, q);
    out[2] = taps(low_low(l4, f.v[1]), high_high(l5, f.v[2]), low_low(f.v[1], f.v[4]), high_high(f.v[2], f.v[5]),
                  low_low(f.v[4], r1));
}
// The same, one value to a register.
template <int C>
__device__ __forceinline__ void horizontal(const Four<u16, C>& f, u32 (&out)[2 * C]) {
#pragma unroll
    for (int c = 0; c < C; c++) {
        const u32 a = from_left(f.v[2 * C + c]), b = from_left(f.v[3 * C + c]), z = from_right(f.v[c]);
        out[2 * c] = taps(a, b, f.v[c], f.v[C + c], f.v[2 * C + c]);
        out[2 * c + 1] = taps(f.v[c], f.v[C + c], f.v[2 * C + c], f.v[3 * C + c], z);
    }
}


// Whether no row that `rows` rows from y0 on are made of is beyond an edge.
__device__ __forceinline__ bool rows_inside(i32 y0, int rows, i32 height) { return y0 > 0 && 2 * y0 + 2 * rows < height; }

// What holds a first halving exactly.
template <class S>
struct Integer {
    using Type = u16;
};
template <>
struct Integer<u16> {
    using Type = u32;
};

template <class S, int C, int ROWS>
__device__ __forceinline__ void shrink_samples(const ShrinkArgs& a) {
    const i32 width = a.src.width, height = a.src.height;
    const i32 block = (i32)blockIdx.x * 30 + (i32)threadIdx.x - 1;
    const i32 y0 = ((i32)blockIdx.y * (i32)blockDim.y + (i32)threadIdx.y) * ROWS;
    // The whole warp leaves together: it shares its rows.
    if (y0 >= a.dst.height) return;
    const u8* src = (const u8*)a.src.ptr + (i64)blockIdx.z * a.src.frame;
    const bool vec = a.src.vec != 0;
    const i32 shift = a.src.shift;
    Raw<S, C> raw[2 * ROWS + 3];
    const bool blocks = vec && width % 4 == 0;
    const i32 nearest = blocks ? min(max(block, 0), width / 4 - 1) : block;
    const bool whole = vec && nearest >= 0 && 4 * nearest + 4 <= width;
    if (whole && rows_inside(y0, ROWS, height)) {
        const u8* first = src + (i64)(2 * y0 - 2) * a.src.pitch;
        const i32 pitch = (i32)a.src.pitch;
#pragma unroll
        for (int k = 0; k < 2 * ROWS + 3; k++) raw[k] = load_whole<S, C>(first + (i64)k * pitch, nearest);
    } else if (whole) {
#pragma unroll
        for (int k = 0; k < 2 * ROWS + 3; k++) {
            raw[k] = load_whole<S, C>(src + (i64)mirror(2 * y0 + k - 2, height) * a.src.pitch, nearest);
        }
    } else {
#pragma unroll
        for (int k = 0; k < 2 * ROWS + 3; k++) {
            raw[k] = load_reflected<S, C>(src + (i64)mirror(2 * y0 + k - 2, height) * a.src.pitch, block, width);
        }
    }
    if (nearest > block) {
#pragma unroll
        for (int k = 0; k < 2 * ROWS + 3; k++) copy_pixel(raw[k], 3, 1);
    } else if (nearest < block) {
#pragma unroll
        for (int k = 0; k < 2 * ROWS + 3; k++) copy_pixel(raw[k], 0, 2);
    }
    const bool writes = threadIdx.x >= 1 && threadIdx.x <= 30 && 4 * block < width;
    using Out = typename Integer<S>::Type;
    Out* to = (Out*)a.dst.ptr + (i64)blockIdx.z * a.dst.frame + (i64)y0 * a.dst.pitch + 2 * block;
    Four<S, C> p, q, r, s, t;
    p.unpack(raw[0], shift);
    q.unpack(raw[1], shift);
    r.unpack(raw[2], shift);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        s.unpack(raw[2 * k + 3], shift);
        t.unpack(raw[2 * k + 4], shift);
        u32 out[C * sizeof(S)];
        horizontal(vertical(p, q, r, s, t), out);
        p = r;
        q = s;
        r = t;
        if (writes && y0 + k < a.dst.height) {
#pragma unroll
            for (int c = 0; c < C; c++) {
                Out* o = to + c * a.dst.plane;
                if (sizeof(S) == 1) {
                    *(u32*)o = out[c];
                } else {
                    *(uint2*)o = make_uint2(out[(2 * c) % (C * sizeof(S))], out[(2 * c + 1) % (C * sizeof(S))]);
                }
            }
        }
        to += a.dst.pitch;
    }
}

// Vertical step alone (4:2:2 chroma), one channel.
template <class S, class I>
__device__ __forceinline__ void shrink_rows(const ShrinkArgs& a) {
    const i32 x = (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)blockIdx.y;
    if (x >= a.src.width) return;
    const u8* src = (const u8*)a.src.ptr + (i64)blockIdx.z * a.src.frame;
    auto at = [&](i32 j) {
        return (u32)((const S*)(src + (i64)mirror(j, a.src.height) * a.src.pitch))[x] >> a.src.shift;
    };
    const u32 v = taps(at(2 * y - 2), at(2 * y - 1), at(2 * y), at(2 * y + 1), at(2 * y + 2));
    ((I*)a.dst.ptr)[(i64)blockIdx.z * a.dst.frame + (i64)y * a.dst.pitch + x] = (I)v;
}

struct ShrinkLevelArgs {
    Planes src;
    Planes dst;
    f32 scale;
    // Planes of a frame.
    i32 count;
};

__device__ __forceinline__ float4 load_level(const u16* p) {
    const uint2 v = __ldg((const uint2*)p);
    return make_float4(single((u16)(v.x & 0xffff)), single((u16)(v.x >> 16)), single((u16)(v.y & 0xffff)),
                       single((u16)(v.y >> 16)));
}
__device__ __forceinline__ float4 load_level(const u32* p) {
    const uint4 v = __ldg((const uint4*)p);
    return make_float4(single(v.x), single(v.y), single(v.z), single(v.w));
}
__device__ __forceinline__ float4 load_level(const f32* p) { return __ldg((const float4*)p); }

template <class T>
__device__ __forceinline__ float4 level_reflected(const T* row, i32 x, i32 width) {
    return make_float4(single(row[mirror(x, width)]), single(row[mirror(x + 1, width)]),
                       single(row[mirror(x + 2, width)]), single(row[mirror(x + 3, width)]));
}

__device__ __forceinline__ float4 taps4(const float4& a, const float4& b, const float4& c, const float4& d, const float4& e) {
    return make_float4(taps(a.x, b.x, c.x, d.x, e.x), taps(a.y, b.y, c.y, d.y, e.y), taps(a.z, b.z, c.z, d.z, e.z),
                       taps(a.w, b.w, c.w, d.w, e.w));
}

constexpr int LEVEL_ROWS = 4;

// Halving integers in 16 bits: two values of a row to a register, summed across by dot products, which are exact; no sum
// of both directions exceeds 2^24, so that the order of f32 sums, which are exact as well, is of no matter.
struct Dots {
    u32 w[2];
};
__device__ __forceinline__ Dots load_pairs(const u16* p) {
    const uint2 v = __ldg((const uint2*)p);
    return Dots{{v.x, v.y}};
}
__device__ __forceinline__ Dots pairs_reflected(const u16* row, i32 x, i32 width) {
    Dots r;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        r.w[k] = (u32)row[mirror(x + 2 * k, width)] | (u32)row[mirror(x + 2 * k + 1, width)] << 16;
    }
    return r;
}

// The geometry that both forms share: the plane, the rows and where they go.
template <class T>
struct LevelPart {
    const T* src;
    f32* to;
    i32 block;
    // The block to load: at the ends of a row of whole blocks the one that is reflected.
    i32 nearest;
    i32 y0;
    bool whole;
    bool writes;
    __device__ __forceinline__ LevelPart(const ShrinkLevelArgs& a) {
        block = (i32)blockIdx.x * 30 + (i32)threadIdx.x - 1;
        y0 = ((i32)blockIdx.y * (i32)blockDim.y + (i32)threadIdx.y) * LEVEL_ROWS;
        const u32 t = blockIdx.z / (u32)a.count, p = blockIdx.z - t * (u32)a.count;
        src = (const T*)a.src.ptr + t * a.src.frame + p * a.src.plane;
        to = (f32*)a.dst.ptr + t * a.dst.frame + p * a.dst.plane + (i64)y0 * a.dst.pitch + 2 * block;
        nearest = a.src.width % 4 == 0 ? min(max(block, 0), a.src.width / 4 - 1) : block;
        whole = nearest >= 0 && 4 * nearest + 4 <= a.src.width;
        writes = threadIdx.x >= 1 && threadIdx.x <= 30 && 4 * block < a.src.width;
    }
};

template <class T>
__device__ __forceinline__ void shrink_level(const ShrinkLevelArgs& a) {
    const i32 width = a.src.width, height = a.src.height, pitch = a.src.pitch;
    const LevelPart<T> l(a);
    if (l.y0 >= a.dst.height) return;
    float4 row[2 * LEVEL_ROWS + 3];
    if (l.whole && rows_inside(l.y0, LEVEL_ROWS, height)) {
        const T* first = l.src + (i64)(2 * l.y0 - 2) * pitch + 4 * l.nearest;
#pragma unroll
        for (int k = 0; k < 2 * LEVEL_ROWS + 3; k++) row[k] = load_level(first + (i64)k * pitch);
    } else if (l.whole) {
#pragma unroll
        for (int k = 0; k < 2 * LEVEL_ROWS + 3; k++) {
            row[k] = load_level(l.src + (i64)mirror(2 * l.y0 + k - 2, height) * pitch + 4 * l.nearest);
        }
    } else {
#pragma unroll
        for (int k = 0; k < 2 * LEVEL_ROWS + 3; k++) {
            row[k] = level_reflected(l.src + (i64)mirror(2 * l.y0 + k - 2, height) * pitch, 4 * l.block, width);
        }
    }
    if (l.nearest > l.block) {
#pragma unroll
        for (int k = 0; k < 2 * LEVEL_ROWS + 3; k++) row[k].w = row[k].y;
    } else if (l.nearest < l.block) {
#pragma unroll
        for (int k = 0; k < 2 * LEVEL_ROWS + 3; k++) row[k].x = row[k].z;
    }
    f32* to = l.to;
#pragma unroll
    for (int k = 0; k < LEVEL_ROWS; k++) {
        const float4 v = taps4(row[2 * k], row[2 * k + 1], row[2 * k + 2], row[2 * k + 3], row[2 * k + 4]);
        const f32 l2 = __shfl_up_sync(ALL, v.z, 1), l3 = __shfl_up_sync(ALL, v.w, 1), n0 = __shfl_down_sync(ALL, v.x, 1);
        if (l.writes && l.y0 + k < a.dst.height) {
            *(float2*)to = make_float2(taps(l2, l3, v.x, v.y, v.z) * a.scale, taps(v.x, v.y, v.z, v.w, n0) * a.scale);
        }
        to += a.dst.pitch;
    }
}
template <>
__device__ __forceinline__ void shrink_level<u16>(const ShrinkLevelArgs& a) {
    const i32 width = a.src.width, height = a.src.height, pitch = a.src.pitch;
    const LevelPart<u16> l(a);
    if (l.y0 >= a.dst.height) return;
    constexpr int N = 2 * LEVEL_ROWS + 3;
    Dots row[N];
    if (l.whole && rows_inside(l.y0, LEVEL_ROWS, height)) {
        const u16* first = l.src + (i64)(2 * l.y0 - 2) * pitch + 4 * l.nearest;
#pragma unroll
        for (int k = 0; k < N; k++) row[k] = load_pairs(first + (i64)k * pitch);
    } else if (l.whole) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            row[k] = load_pairs(l.src + (i64)mirror(2 * l.y0 + k - 2, height) * pitch + 4 * l.nearest);
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; k++) {
            row[k] = pairs_reflected(l.src + (i64)mirror(2 * l.y0 + k - 2, height) * pitch, 4 * l.block, width);
        }
    }
    if (l.nearest > l.block) {
#pragma unroll
        for (int k = 0; k < N; k++) row[k].w[1] = __byte_perm(row[k].w[1], row[k].w[0], 0x7610);
    } else if (l.nearest < l.block) {
#pragma unroll
        for (int k = 0; k < N; k++) row[k].w[0] = __byte_perm(row[k].w[0], row[k].w[1], 0x3254);
    }
    u32 p[N], q[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        const u32 before = from_left(row[k].w[1]), after = from_right(row[k].w[0]);
        // Weights of a pair's low and high value, in the low two bytes.
        p[k] = jnd_dot2(before, 0x0401, jnd_dot2(row[k].w[0], 0x0406, row[k].w[1] & 0xffffu));
        q[k] = jnd_dot2(row[k].w[0], 0x0401, jnd_dot2(row[k].w[1], 0x0406, after & 0xffffu));
    }
    f32* to = l.to;
#pragma unroll
    for (int k = 0; k < LEVEL_ROWS; k++) {
        if (l.writes && l.y0 + k < a.dst.height) {
            const u32 v = taps(p[2 * k], p[2 * k + 1], p[2 * k + 2], p[2 * k + 3], p[2 * k + 4]);
            const u32 w = taps(q[2 * k], q[2 * k + 1], q[2 * k + 2], q[2 * k + 3], q[2 * k + 4]);
            *(float2*)to = make_float2((f32)(i32)v * a.scale, (f32)(i32)w * a.scale);
        }
        to += a.dst.pitch;
    }
}

// The small levels of a plane in one block, from the first that fits into shared memory down to the last.
constexpr int MAX_TAIL = 17;
struct TailLevel {
    // Where the level goes; 0 where nobody reads it.
    u64 ptr;
    i64 frame;
    i64 plane;
    i32 pitch;
    i32 width;
    i32 height;
    f32 scale;
};
struct ShrinkTailArgs {
    Planes src;
    i32 levels;
    i32 count;
    // Elements of each of the two shared buffers.
    i32 even;
    i32 pad;
    TailLevel level[MAX_TAIL];
};

template <class T>
__device__ __forceinline__ f32 halved(const T* src, i32 pitch, i32 w, i32 h, i32 x, i32 y) {
    f32 v[5];
    i32 rows[5];
#pragma unroll
    for (int k = 0; k < 5; k++) rows[k] = mirror(2 * y + k - 2, h) * pitch;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        const i32 c = mirror(2 * x + k - 2, w);
        v[k] = taps(single(src[rows[0] + c]), single(src[rows[1] + c]), single(src[rows[2] + c]),
                    single(src[rows[3] + c]), single(src[rows[4] + c]));
    }
    return taps(v[0], v[1], v[2], v[3], v[4]);
}

template <class T>
__device__ __forceinline__ void shrink_tail(const ShrinkTailArgs& a) {
    JND_DYNAMIC_SHARED(shared);
    const i64 t = blockIdx.x / a.count, p = blockIdx.x % a.count;
    f32* out = (f32*)shared;
    f32* in = (f32*)shared + a.even;
    for (int l = 0; l < a.levels; l++) {
        const TailLevel& to = a.level[l];
        f32* global = to.ptr ? (f32*)to.ptr + t * to.frame + p * to.plane : nullptr;
        const i32 n = to.width * to.height;
        for (i32 i = threadIdx.x; i < n; i += blockDim.x) {
            const i32 x = i % to.width, y = i / to.width;
            f32 v;
            if (l == 0) {
                v = halved((const T*)a.src.ptr + t * a.src.frame + p * a.src.plane, a.src.pitch, a.src.width, a.src.height, x, y);
            } else {
                const TailLevel& from = a.level[l - 1];
                v = halved(in, from.width, from.width, from.height, x, y);
            }
            v *= to.scale;
            out[i] = v;
            if (global) global[(i64)y * to.pitch + x] = v;
        }
        __syncthreads();
        f32* const made = out;
        out = in;
        in = made;
    }
}

}  // namespace magnify

#define SHRINK(name, S, C, ROWS)                                                                         \
    extern "C" __global__ void __launch_bounds__(128) name(magnify::ShrinkArgs a) {                      \
        magnify::shrink_samples<S, C, ROWS>(a);                                                          \
    }                                                                                                    \
    JND_KERNEL(name)
SHRINK(magnify_shrink_u8_c1, u8, 1, 8)
SHRINK(magnify_shrink_u8_c2, u8, 2, 4)
SHRINK(magnify_shrink_u8_c3, u8, 3, 4)
SHRINK(magnify_shrink_u16_c1, u16, 1, 4)
SHRINK(magnify_shrink_u16_c2, u16, 2, 2)
SHRINK(magnify_shrink_u16_c3, u16, 3, 2)

extern "C" __global__ void __launch_bounds__(256) magnify_shrink_rows_u8(magnify::ShrinkArgs a) {
    magnify::shrink_rows<u8, u16>(a);
}
JND_KERNEL_FLAT(magnify_shrink_rows_u8)
extern "C" __global__ void __launch_bounds__(256) magnify_shrink_rows_u16(magnify::ShrinkArgs a) {
    magnify::shrink_rows<u16, u32>(a);
}
JND_KERNEL_FLAT(magnify_shrink_rows_u16)

#define SHRINK_LEVEL(T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) magnify_shrink_level_##T(magnify::ShrinkLevelArgs a) {         \
        magnify::shrink_level<T>(a);                                                                                 \
    }                                                                                                                \
    JND_KERNEL(magnify_shrink_level_##T)                                                                             \
    extern "C" __global__ void __launch_bounds__(512) magnify_shrink_tail_##T(magnify::ShrinkTailArgs a) {           \
        magnify::shrink_tail<T>(a);                                                                                  \
    }                                                                                                                \
    JND_KERNEL(magnify_shrink_tail_##T)
SHRINK_LEVEL(u16)
SHRINK_LEVEL(u32)
SHRINK_LEVEL(f32)
