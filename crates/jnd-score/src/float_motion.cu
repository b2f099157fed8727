// Motion in single precision: see float_motion.rs. A block walks along 32 rows from left to right in tiles; the tile's
// magnitudes are formed by all threads, and then one thread a row adds them to its running sum in order.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

struct FloatMotion {
    Frames frames;
    i64 offset;
    i32 pitch;
    i32 width;
    i32 height;
    i32 start;
    f32 scale;
    f32 tap0;
    f32 tap1;
    f32 tap2;
    // Half size: 0 or the sides, and two taps of the bilinear scaler a column and a row.
    i32 half_width;
    i32 half_height;
    u64 columns;
    u64 rows;
    // Rows' sums: `height` a pair, or `half_height`.
    u64 sums;
};

struct FloatMotionTotal {
    u64 sums;
    u64 half_sums;
    i32 width;
    i32 height;
    i32 half_width;
    i32 half_height;
    // One score a pair.
    u64 out;
};

// A source index and its weight, as prescale.rs lays them out.
struct Tap {
    u32 index;
    f32 weight;
};

constexpr i32 FLOAT_ROWS = 32;
constexpr i32 FLOAT_COLUMNS = 60;

// The taps are symmetric.
__device__ __forceinline__ f32 tap(const FloatMotion& m, i32 k) {
    return k == 2 ? m.tap2 : k == 1 || k == 3 ? m.tap1 : m.tap0;
}

template <class T>
__device__ __forceinline__ f32 column_sum(const FloatMotion& m, const u8* plane, i32 x, i32 y) {
    f32 acc = 0.0f;
#pragma unroll
    for (i32 k = 0; k < 5; k++) {
        const T* row = (const T*)(plane + (i64)reflect(y - 2 + k, m.height) * m.pitch);
        acc = acc + tap(m, k) * number(__ldg(row + x), m.scale);
    }
    return acc;
}

// One blurred sample by itself, for the half-size score.
template <class T>
__device__ __forceinline__ f32 blurred(const FloatMotion& m, const u8* plane, i32 x, i32 y) {
    f32 acc = 0.0f;
#pragma unroll 1
    for (i32 k = 0; k < 5; k++) acc = acc + tap(m, k) * column_sum<T>(m, plane, reflect(x - 2 + k, m.width), y);
    return acc;
}

template <class T>
__device__ __forceinline__ f32 halved(const FloatMotion& m, const u8* plane, const Tap* c, const Tap* r) {
    const i32 x1 = (i32)c[0].index, x2 = (i32)c[1].index, y1 = (i32)r[0].index, y2 = (i32)r[1].index;
    const f32 wx1 = c[0].weight, wx2 = c[1].weight, wy1 = r[0].weight, wy2 = r[1].weight;
    f32 v = 0.0f;
#pragma unroll 1
    for (i32 corner = 0; corner < 4; corner++) {
        const bool right = corner & 1, lower = corner & 2;
        const f32 weight = (lower ? wy2 : wy1) * (right ? wx2 : wx1);
        const f32 part = weight * blurred<T>(m, plane, right ? x2 : x1, lower ? y2 : y1);
        v = corner == 0 ? part : v + part;
    }
    return v;
}

template <class T, bool HALF>
__device__ __forceinline__ void float_motion_body(const FloatMotion& m) {
    __shared__ f32 column[2][FLOAT_ROWS][FLOAT_COLUMNS + 4];
    __shared__ f32 magnitude[FLOAT_ROWS][FLOAT_COLUMNS + 1];
    const i32 t = (i32)threadIdx.x, frame = m.start + (i32)blockIdx.x;
    const u8* before = place(m.frames, frame - 1) + m.offset;
    const u8* now = place(m.frames, frame) + m.offset;
    const i32 w = HALF ? m.half_width : m.width, h = HALF ? m.half_height : m.height;
    const i32 y0 = (i32)blockIdx.y * FLOAT_ROWS, rows = min(FLOAT_ROWS, h - y0);
    f32 sum = 0.0f;
    for (i32 x0 = 0; x0 < w; x0 += FLOAT_COLUMNS) {
        const i32 n = min(FLOAT_COLUMNS, w - x0);
        if (HALF) {
            for (i32 i = t; i < rows * n; i += 256) {
                const i32 y = i / n, x = i % n;
                const Tap* c = (const Tap*)m.columns + 2 * (x0 + x);
                const Tap* r = (const Tap*)m.rows + 2 * (y0 + y);
                magnitude[y][x] = fabsf(halved<T>(m, before, c, r) - halved<T>(m, now, c, r));
            }
        } else {
            // 64 columns, two planes, two halves of the rows: each thread slides down 16 rows.
            const i32 col = t & 63, which = t >> 6 & 1, from = (t >> 7) * (FLOAT_ROWS / 2);
            const i32 x = reflect(x0 - 2 + col, m.width);
            const u8* plane = which == 0 ? before : now;
            auto at = [&](i32 y) {
                return number(__ldg((const T*)(plane + (i64)reflect(y0 + from + y, m.height) * m.pitch) + x), m.scale);
            };
            f32 a = at(-2), b = at(-1), c = at(0), d = at(1);
#pragma unroll
            for (i32 y = 0; y < FLOAT_ROWS / 2; y++) {
                const f32 e = at(y + 2);
                f32 acc = 0.0f + tap(m, 0) * a;
                acc = acc + tap(m, 1) * b;
                acc = acc + tap(m, 2) * c;
                acc = acc + tap(m, 3) * d;
                acc = acc + tap(m, 4) * e;
                column[which][from + y][col] = acc;
                a = b;
                b = c;
                c = d;
                d = e;
            }
            __syncthreads();
            for (i32 i = t; i < FLOAT_ROWS * 64; i += 256) {
                const i32 y = i >> 6, xx = i & 63;
                if (xx < n) {
                    f32 v[2];
#pragma unroll
                    for (i32 p = 0; p < 2; p++) {
                        f32 acc = 0.0f;
#pragma unroll
                        for (i32 k = 0; k < 5; k++) acc = acc + tap(m, k) * column[p][y][xx + k];
                        v[p] = acc;
                    }
                    magnitude[y][xx] = fabsf(v[0] - v[1]);
                }
            }
        }
        __syncthreads();
        if (t < rows) {
#pragma unroll 4
            for (i32 i = 0; i < n; i++) sum = sum + magnitude[t][i];
        }
        // The next tile's column sums touch nothing that is read here; its magnitudes come after another barrier.
        if (HALF) __syncthreads();
    }
    if (t < rows) ((f32*)m.sums)[(i64)blockIdx.x * h + y0 + t] = sum;
}

// All of a block's threads bring `n` numbers to shared memory in turns, and its first thread adds them in order.
__device__ __forceinline__ f32 ordered_sum(const f32* v, i32 n, f32* stage) {
    f32 sum = 0.0f;
    for (i32 x0 = 0; x0 < n; x0 += 1024) {
        const i32 m = min(1024, n - x0);
        __syncthreads();
        for (i32 i = (i32)threadIdx.x; i < m; i += (i32)blockDim.x) stage[i] = v[x0 + i];
        __syncthreads();
        if (threadIdx.x == 0) {
#pragma unroll 8
            for (i32 i = 0; i < m; i++) sum = sum + stage[i];
        }
    }
    return sum;
}

}  // namespace score

// Grid: pairs, groups of 32 rows.
extern "C" __global__ void __launch_bounds__(256) score_float_motion_u8(score::FloatMotion m) {
    score::float_motion_body<u8, false>(m);
}
JND_KERNEL(score_float_motion_u8)

extern "C" __global__ void __launch_bounds__(256) score_float_motion_u16(score::FloatMotion m) {
    score::float_motion_body<u16, false>(m);
}
JND_KERNEL(score_float_motion_u16)

extern "C" __global__ void __launch_bounds__(256) score_float_motion_half_u8(score::FloatMotion m) {
    score::float_motion_body<u8, true>(m);
}
JND_KERNEL(score_float_motion_half_u8)

extern "C" __global__ void __launch_bounds__(256) score_float_motion_half_u16(score::FloatMotion m) {
    score::float_motion_body<u16, true>(m);
}
JND_KERNEL(score_float_motion_half_u16)

// One block a pair.
extern "C" __global__ void __launch_bounds__(256) score_float_motion_total(score::FloatMotionTotal m) {
    __shared__ f32 stage[1024];
    const i64 pair = (i64)blockIdx.x;
    f32 score = score::ordered_sum((const f32*)m.sums + pair * m.height, m.height, stage);
    score = score / (f32)((i64)m.width * m.height);
    if (m.half_width > 0) {
        f32 half = score::ordered_sum((const f32*)m.half_sums + pair * m.half_height, m.half_height, stage);
        half = half / (f32)((i64)m.half_width * m.half_height);
        score = score + half;
    }
    if (threadIdx.x == 0) ((f32*)m.out)[pair] = score;
}
JND_KERNEL(score_float_motion_total)
// sass: score_float_motion_total ffma=22
