// Integer motion: see motion.rs. A warp slides down a strip of 240 columns; each thread holds the differences of five
// rows of eight columns and hands its column sums to its neighbours by shuffles. Nothing is staged in shared memory.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct Motion {
    Frames frames;
    i64 offset;
    i32 pitch;
    i32 width;
    i32 height;
    // Frames between the two of a pair.
    i32 stride;
    // The first current frame of the batch.
    i32 start;
    i32 shift;
    // Rows that one warp gives.
    i32 rows;
    // One sum a pair, zero before.
    u64 out;
};

constexpr i32 MOTION_WARPS = 4;
constexpr i32 MOTION_COLUMNS = 240;
constexpr i32 TAP0 = 3571, TAP1 = 16004, TAP2 = 26386;

// v rounded down, with 1.5 * 2^23 added, exactly: the low bits of the number are then the integer.
__device__ __forceinline__ f32 floor_biased(f32 v) {
#ifdef JND_HOST_SHIM
    return std::floor(v) + 12582912.0f;
#else
    return __fadd_rd(v, 12582912.0f);
#endif
}

// Eight samples that follow each other.
template <class T>
struct Eight;
template <>
struct Eight<u8> {
    uint2 w;
    static __device__ __forceinline__ Eight load(const u8* row, i32 x) { return Eight{__ldg((const uint2*)(row + x))}; }
    __device__ __forceinline__ i32 at(i32 k) const { return (i32)((k < 4 ? w.x : w.y) >> (8 * (k & 3)) & 255); }
};
template <>
struct Eight<u16> {
    uint4 w;
    static __device__ __forceinline__ Eight load(const u8* row, i32 x) { return Eight{__ldg((const uint4*)(row + 2 * x))}; }
    __device__ __forceinline__ i32 at(i32 k) const {
        const u32 v = k < 2 ? w.x : k < 4 ? w.y : k < 6 ? w.z : w.w;
        return (i32)(v >> (16 * (k & 1)) & 0xFFFF);
    }
};

// How differences are held and column sums formed. The fast forms hold where every difference is below 2^(shift-1) in
// magnitude: then all sums fit 32 bits. `check` collects the magnitudes.
//
// 8 bits: column sums are integers below 2^24 over 2^8, so single precision holds them exactly, fused or not. The
// results keep the bias of `floor_biased`: the taps add up to 2^16, and the bias times that is 0 in 32 bits.
struct Narrow8 {
    typedef f32 Difference;
    typedef f32 Check;
    static __device__ __forceinline__ f32 less(const Eight<u8>& p, const Eight<u8>& c, i32 k) {
        const u32 i = (u32)(k & 3);
        return k < 4 ? biased(p.w.x, i) - biased(c.w.x, i) : biased(p.w.y, i) - biased(c.w.y, i);
    }
    static __device__ __forceinline__ void add(f32& m, f32 d) { m = fmaxf(m, fabsf(d)); }
    static __device__ __forceinline__ bool fits(f32 m, i32) { return m < 128.0f; }
    static __device__ __forceinline__ u32 column(f32 a, f32 b, f32 c, f32 d, f32 e, i32) {
        const f32 v = __fmaf_rn(a + e, TAP0 / 256.0f, __fmaf_rn(b + d, TAP1 / 256.0f, __fmaf_rn(c, TAP2 / 256.0f, 0.5f)));
        return __float_as_uint(floor_biased(v));
    }
    static __device__ __forceinline__ u32 magnitude(u32 a, u32 b, u32 c, u32 d, u32 e) {
        const i32 h = (i32)(TAP0 * (a + e) + TAP1 * (b + d) + TAP2 * c + (1u << 15)) >> 16;
        return (u32)(h < 0 ? -h : h);
    }
    typedef u32 Column;
    typedef u32 Sum;
};

struct Narrow16 {
    typedef i32 Difference;
    typedef i32 Check;
    static __device__ __forceinline__ i32 less(const Eight<u16>& p, const Eight<u16>& c, i32 k) { return p.at(k) - c.at(k); }
    static __device__ __forceinline__ void add(i32& m, i32 d) { m = max(m, d < 0 ? -d : d); }
    static __device__ __forceinline__ bool fits(i32 m, i32 shift) { return m < 1 << (shift - 1); }
    static __device__ __forceinline__ u32 column(i32 a, i32 b, i32 c, i32 d, i32 e, i32 shift) {
        // Unsigned products: a sum that does not fit is thrown away, and must not be undefined before.
        const u32 s = (u32)TAP0 * (u32)(a + e) + (u32)TAP1 * (u32)(b + d) + (u32)TAP2 * (u32)c;
        return (u32)((i32)(s + (1u << (shift - 1))) >> shift);
    }
    static __device__ __forceinline__ u32 magnitude(u32 a, u32 b, u32 c, u32 d, u32 e) {
        return Narrow8::magnitude(a, b, c, d, e);
    }
    typedef u32 Column;
    typedef u32 Sum;
};

// 64 bits, for everything else.
struct Wide {
    typedef i32 Difference;
    typedef i32 Check;
    template <class T>
    static __device__ __forceinline__ i32 less(const Eight<T>& p, const Eight<T>& c, i32 k) { return p.at(k) - c.at(k); }
    static __device__ __forceinline__ void add(i32&, i32) {}
    static __device__ __forceinline__ bool fits(i32, i32) { return true; }
    static __device__ __forceinline__ i32 column(i32 a, i32 b, i32 c, i32 d, i32 e, i32 shift) {
        const i64 s = (i64)TAP0 * (a + e) + (i64)TAP1 * (b + d) + (i64)TAP2 * c;
        return (i32)((s + ((i64)1 << (shift - 1))) >> shift);
    }
    static __device__ __forceinline__ u64 magnitude(i32 a, i32 b, i32 c, i32 d, i32 e) {
        const i64 h = ((i64)TAP0 * (a + e) + (i64)TAP1 * (b + d) + (i64)TAP2 * c + (1 << 15)) >> 16;
        return (u64)(h < 0 ? -h : h);
    }
    typedef i32 Column;
    typedef u64 Sum;
};

// Sum of one thread's columns over `rows` rows from y0; `fits` says whether the form held. Column x of the picture is the
// thread's first one. The column sums beyond the left and right border are those of the reflected columns: `left` is set
// in the thread that starts at column 0, and `end` is the local index of the last column where `border` (the same in all
// lanes) says that some lane of the warp has it.
template <class T, class F>
__device__ __forceinline__ u64 motion_strip(const Motion& m, const u8* before, const u8* now, i32 x, i32 y0, i32 rows,
                                            bool left, bool border, i32 end, bool& fits) {
    typename F::Difference ring[5][8];
    typename F::Check check = 0;
    typename F::Sum total = 0;
    // Rows end at multiples of 16 bytes, so that eight samples from a multiple of eight inside a row can be read.
    const i32 from = min(max(x, 0), (m.width - 1) & ~7);
    Eight<T> p, c;
    auto fetch = [&](i32 i) {
        const u64 at = (u64)(u32)reflect_near(y0 - 2 + i, m.height) * (u32)m.pitch;
        p = Eight<T>::load(before + at, from);
        c = Eight<T>::load(now + at, from);
    };
    const i32 last = rows + 4;
    fetch(0);
    for (i32 base = 0; base < last; base += 5) {
#pragma unroll
        for (i32 k = 0; k < 5; k++) {
            const i32 i = base + k;
            if (i < last) {
#pragma unroll
                for (i32 j = 0; j < 8; j++) {
                    ring[k][j] = F::less(p, c, j);
                    F::add(check, ring[k][j]);
                }
                if (i + 1 < last) fetch(i + 1);
                if (i >= 4) {
                    typename F::Column v[12];
#pragma unroll
                    for (i32 j = 0; j < 8; j++)
                        v[j + 2] = F::column(ring[(k + 1) % 5][j], ring[(k + 2) % 5][j], ring[(k + 3) % 5][j],
                                             ring[(k + 4) % 5][j], ring[k][j], m.shift);
                    v[0] = __shfl_up_sync(~0u, v[8], 1);
                    v[1] = __shfl_up_sync(~0u, v[9], 1);
                    v[10] = __shfl_down_sync(~0u, v[2], 1);
                    v[11] = __shfl_down_sync(~0u, v[3], 1);
                    v[0] = left ? v[4] : v[0];
                    v[1] = left ? v[3] : v[1];
                    if (border) {
#pragma unroll
                        for (i32 j = 0; j < 8; j++) {
                            if (j == end) {
                                v[j + 3] = v[j + 1];
                                v[j + 4] = v[j];
                            }
                        }
                        // The last column is the next thread's first.
                        if (end == 8) v[11] = v[9];
#pragma unroll
                        for (i32 j = 0; j < 8; j++)
                            if (j <= end) total += F::magnitude(v[j], v[j + 1], v[j + 2], v[j + 3], v[j + 4]);
                    } else {
#pragma unroll
                        for (i32 j = 0; j < 8; j++) total += F::magnitude(v[j], v[j + 1], v[j + 2], v[j + 3], v[j + 4]);
                    }
                }
            }
        }
    }
    fits = F::fits(check, m.shift);
    return total;
}

template <class T, class F>
__device__ __forceinline__ void motion_body(const Motion& m) {
    const i32 lane = (i32)threadIdx.x & 31, warp = (i32)threadIdx.x >> 5;
    const i32 y0 = ((i32)blockIdx.z * MOTION_WARPS + warp) * m.rows;
    if (y0 >= m.height) return;
    const i32 rows = min(m.rows, m.height - y0);
    const i32 frame = m.start + (i32)blockIdx.x;
    const u8* before = place(m.frames, frame - m.stride) + m.offset;
    const u8* now = place(m.frames, frame) + m.offset;
    const i32 x0 = (i32)blockIdx.y * MOTION_COLUMNS, x = x0 + (lane - 1) * 8;
    const bool border = x0 + 31 * 8 > m.width;
    const i32 end = m.width - 1 - x;
    bool fits;
    u64 total = motion_strip<T, F>(m, before, now, x, y0, rows, x == 0, border, end, fits);
    if (__any_sync(~0u, !fits)) total = motion_strip<T, Wide>(m, before, now, x, y0, rows, x == 0, border, end, fits);
    // The first and the last lane serve their neighbours only.
    if (lane == 0 || lane == 31) total = 0;
#pragma unroll
    for (i32 d = 16; d > 0; d >>= 1) total += __shfl_xor_sync(~0u, total, d);
    if (lane == 0) atomicAdd((u64*)m.out + blockIdx.x, total);
}

}  // namespace score

// Grid: pairs, strips of columns, groups of rows.
extern "C" __global__ void __launch_bounds__(128) score_motion_u8(score::Motion m) {
    score::motion_body<u8, score::Narrow8>(m);
}
JND_KERNEL(score_motion_u8)
// sass: score_motion_u8 ffma=120

extern "C" __global__ void __launch_bounds__(128) score_motion_u16(score::Motion m) {
    score::motion_body<u16, score::Narrow16>(m);
}
JND_KERNEL(score_motion_u16)
