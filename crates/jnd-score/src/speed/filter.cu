// SpEED front end: see filter.rs. Only the samples that the decimation keeps are filtered, for all planes and frames in
// one launch: a block forms the column sums that 64 kept samples of a row need, and then their row sums.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

constexpr i32 DECIMATION = 16;
constexpr i32 MAX_TAPS = 35;
// Kept samples of a block.
constexpr i32 KEPT = 64;
// Rows whose loads are under way together: the usual number of taps.
constexpr i32 GROUP = 9;

struct Decimate {
    Frames frames;
    // Plane k of a frame: offset minuend[k] in frame `frame + minuend_frame`, less, if `difference`, offset subtrahend[k].
    i64 minuend[4];
    i64 subtrahend[4];
    i32 minuend_frame;
    i32 difference;
    // Planes a frame; frames start, start + step, ...
    i32 planes;
    i32 start;
    i32 step;
    i32 pitch;
    i32 width;
    i32 height;
    f32 scale;
    // Sides after scaling, and what scales: taps a side (0: nothing), division by the weights' sum, tables of taps.
    i32 scaled_width;
    i32 scaled_height;
    i32 method_taps;
    i32 normalise;
    u64 columns;
    u64 rows;
    i32 taps_count;
    u64 taps;
    // Sides after decimation.
    i32 out_width;
    i32 out_height;
    u64 out;
};

struct Centre {
    i32 width;
    i32 height;
    i32 taps_count;
    u64 taps;
    u64 plane;
    u64 out;
};

template <class T>
struct Source {
    const u8* a;
    const u8* b;
    __device__ __forceinline__ f32 at(const Decimate& d, i32 x, i32 y) const {
        const i64 row = (i64)y * d.pitch;
        const f32 v = number(__ldg((const T*)(a + row) + x), d.scale);
        return d.difference ? v - number(__ldg((const T*)(b + row) + x), d.scale) : v;
    }
    // Four samples from x, a multiple of 4, all inside the plane: `take` asks for them, `numbers` uses them.
    struct Raw {
        Four<T> a, b;
    };
    template <bool DIFFERENCE>
    __device__ __forceinline__ Raw take(const Decimate& d, i32 x, i32 y) const {
        const u64 at = (u64)(u32)y * (u32)d.pitch + (u32)x * (u32)sizeof(T);
        Raw raw;
        raw.a = Four<T>::load(a + at);
        if (DIFFERENCE) raw.b = Four<T>::load(b + at);
        return raw;
    }
    template <bool DIFFERENCE>
    static __device__ __forceinline__ void numbers(const Decimate& d, const Raw& raw, f32* v) {
        if (DIFFERENCE)
            raw.a.less(raw.b, v, d.scale);
        else
            raw.a.numbers(v, d.scale);
    }
    // Sample of the scaled plane: see prescale.rs.
    __device__ __forceinline__ f32 scaled(const Decimate& d, i32 x, i32 y) const {
        const i32 n = d.method_taps;
        const Tap* c = (const Tap*)d.columns + (i64)x * n;
        const Tap* r = (const Tap*)d.rows + (i64)y * n;
        if (n == 1) return at(d, (i32)c[0].index, (i32)r[0].index);
        if (n == 2) {
            const i32 x1 = (i32)c[0].index, x2 = (i32)c[1].index, y1 = (i32)r[0].index, y2 = (i32)r[1].index;
            const f32 wx1 = c[0].weight, wx2 = c[1].weight, wy1 = r[0].weight, wy2 = r[1].weight;
            f32 v = wy1 * wx1 * at(d, x1, y1);
            v = v + wy1 * wx2 * at(d, x2, y1);
            v = v + wy2 * wx1 * at(d, x1, y2);
            return v + wy2 * wx2 * at(d, x2, y2);
        }
        f32 acc = 0.0f, sum = 0.0f;
        for (i32 j = 0; j < n; j++)
            for (i32 i = 0; i < n; i++) {
                const f32 weight = c[i].weight * r[j].weight;
                acc = acc + at(d, (i32)c[i].index, (i32)r[j].index) * weight;
                sum = sum + weight;
            }
        return d.normalise ? acc / sum : acc;
    }
};

// Where column i of a block lies in shared memory: one word of padding after 16 keeps the row sums free of conflicts.
__device__ __forceinline__ i32 padded(i32 i) { return i + (i >> 4); }

// Element i, without an address that varies: parameters are constants.
__device__ __forceinline__ i64 one_of(const i64 (&v)[4], i32 i) { return i < 2 ? (i == 0 ? v[0] : v[1]) : i == 2 ? v[2] : v[3]; }

template <class T, bool SCALED, bool DIFFERENCE>
__device__ __forceinline__ void decimate_body(const Decimate& d) {
    __shared__ f32 column[(KEPT + 4) * (DECIMATION + 1)];
    __shared__ f32 taps[MAX_TAPS];
    const i32 t = (i32)threadIdx.x, plane = (i32)blockIdx.z;
    if (t < d.taps_count) taps[t] = ((const f32*)d.taps)[t];
    __syncthreads();
    const i32 which = plane % d.planes, frame = d.start + plane / d.planes * d.step;
    Source<T> source;
    source.a = place(d.frames, frame + d.minuend_frame) + one_of(d.minuend, which);
    source.b = place(d.frames, frame) + one_of(d.subtrahend, which);
    const i32 half = d.taps_count >> 1, j0 = (i32)blockIdx.x * KEPT, kept = min(KEPT, d.out_width - j0);
    const i32 y0 = (i32)blockIdx.y * DECIMATION - half;
    const i32 last = d.taps_count - 1;
    const bool inside = y0 >= 0 && y0 + last < d.height;
    // Work goes by words of four columns. Column 0 of the block is 4 * side columns left of its first kept sample.
    const i32 side = (half + 3) >> 2, x0 = j0 * DECIMATION - 4 * side;
    // Up to three words around every kept sample; where the taps reach farther, all words.
    const bool sparse = side == 1;
    const i32 words = sparse ? kept * 3 : 4 * (kept - 1) + 2 * side + 1;
    for (i32 i = t; i < words; i += (i32)blockDim.x) {
        const i32 word = sparse ? i / 3 * 4 + i % 3 : i;
        const i32 x = x0 + 4 * word;
        f32 acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (!SCALED && x >= 0 && x + 4 <= d.width) {
            // All rows of a group are asked for before the first is used.
            for (i32 k0 = 0; k0 < d.taps_count; k0 += GROUP) {
                typename Source<T>::Raw raw[GROUP];
                const bool whole = inside && k0 + GROUP <= d.taps_count;
                if (whole) {
#pragma unroll
                    for (i32 k = 0; k < GROUP; k++) raw[k] = source.template take<DIFFERENCE>(d, x, y0 + k0 + k);
#pragma unroll
                    for (i32 k = 0; k < GROUP; k++) {
                        f32 v[4];
                        Source<T>::template numbers<DIFFERENCE>(d, raw[k], v);
#pragma unroll
                        for (i32 c = 0; c < 4; c++) acc[c] = acc[c] + taps[k0 + k] * v[c];
                    }
                } else {
                    for (i32 k = k0; k < min(k0 + GROUP, d.taps_count); k++) {
                        f32 v[4];
                        Source<T>::template numbers<DIFFERENCE>(
                            d, source.template take<DIFFERENCE>(d, x, reflect(y0 + k, d.height)), v);
#pragma unroll
                        for (i32 c = 0; c < 4; c++) acc[c] = acc[c] + taps[k] * v[c];
                    }
                }
            }
        } else {
            for (i32 k = 0; k < d.taps_count; k++) {
                const i32 y = reflect(y0 + k, d.scaled_height);
#pragma unroll
                for (i32 c = 0; c < 4; c++) {
                    const i32 xc = reflect(x + c, d.scaled_width);
                    acc[c] = acc[c] + taps[k] * (SCALED ? source.scaled(d, xc, y) : source.at(d, xc, y));
                }
            }
        }
#pragma unroll
        for (i32 c = 0; c < 4; c++) column[padded(4 * word + c)] = acc[c];
    }
    __syncthreads();
    if (t < kept) {
        f32 acc = 0.0f;
        for (i32 k = 0; k < d.taps_count; k++)
            acc = acc + taps[k] * column[padded(DECIMATION * t + 4 * side - half + k)];
        ((f32*)d.out)[((i64)plane * d.out_height + (i32)blockIdx.y) * d.out_width + j0 + t] = acc;
    }
}

}  // namespace score

// Grid: groups of 64 kept columns, kept rows, planes.
extern "C" __global__ void __launch_bounds__(192) score_decimate_u8(score::Decimate d) {
    score::decimate_body<u8, false, false>(d);
}
JND_KERNEL(score_decimate_u8)

extern "C" __global__ void __launch_bounds__(192) score_decimate_difference_u8(score::Decimate d) {
    score::decimate_body<u8, false, true>(d);
}
JND_KERNEL(score_decimate_difference_u8)

extern "C" __global__ void __launch_bounds__(192, 2) score_decimate_scaled_u8(score::Decimate d) {
    score::decimate_body<u8, true, false>(d);
}
JND_KERNEL(score_decimate_scaled_u8)
// sass: score_decimate_scaled_u8 ffma=32

extern "C" __global__ void __launch_bounds__(192) score_decimate_u16(score::Decimate d) {
    score::decimate_body<u16, false, false>(d);
}
JND_KERNEL(score_decimate_u16)

extern "C" __global__ void __launch_bounds__(192) score_decimate_difference_u16(score::Decimate d) {
    score::decimate_body<u16, false, true>(d);
}
JND_KERNEL(score_decimate_difference_u16)

extern "C" __global__ void __launch_bounds__(192, 2) score_decimate_scaled_u16(score::Decimate d) {
    score::decimate_body<u16, true, false>(d);
}
JND_KERNEL(score_decimate_scaled_u16)
// sass: score_decimate_scaled_u16 ffma=32

// Takes the low-pass of the decimated plane off it. Grid: samples, planes.
extern "C" __global__ void __launch_bounds__(256) score_centre(score::Centre c) {
    using namespace score;
    const i32 i = (i32)blockIdx.x * 256 + (i32)threadIdx.x;
    if (i >= c.width * c.height) return;
    const i64 base = (i64)blockIdx.y * c.width * c.height;
    const f32* plane = (const f32*)c.plane + base;
    const i32 x = i % c.width, y = i / c.width, half = c.taps_count >> 1;
    const f32* taps = (const f32*)c.taps;
    f32 low = 0.0f;
    for (i32 k = 0; k < c.taps_count; k++) {
        const f32* column = plane + reflect(x - half + k, c.width);
        f32 acc = 0.0f;
        for (i32 j = 0; j < c.taps_count; j++)
            acc = acc + taps[j] * column[(i64)reflect(y - half + j, c.height) * c.width];
        low = low + taps[k] * acc;
    }
    ((f32*)c.out)[base + i] = plane[i] - low;
}
JND_KERNEL_FLAT(score_centre)
