// The last pass with level 1's filter inside: filter, enlarge the coarser change, mix, enlarge, add to the frame. The
// change of level 1 never leaves the chip. Twin of temporal.rs, enlarge.rs, mix.rs and render.rs in a row, for causal
// filters with f32 states.
//
// A block owns 16 by 8 quads of level 1 (two by two values each) and walks through the frames of the chunk with their
// states in registers. Its change needs one more value on every side: the quads around it are filtered as well, unheard
// but for that. They read the states that their owners have written at the end of the chunk before, so states are kept
// twice and change places with every chunk.
#include "temporal_render.cuh"

namespace magnify {

namespace fused {

constexpr int QX = 16, QY = 8;
// With the quads around.
constexpr int FX = QX + 2, FY = QY + 2;
constexpr int THREADS = 192;
// The coarser change under them: one value a quad, and one more around.
constexpr int UX = FX + 2, UY = FY + 2;
// A warp works on two rows of 16 quads, which with these pitches fall into different banks of shared memory: a row of
// coarser changes, and two rows of changes, of which one holds the even, or the odd, columns.
constexpr int UPITCH = 48, PITCH = 24;

// A level's value, and the frame before's. u16 values are kept with 2^23 added, where they are the low bits of a float:
// a difference of two is exact, and needs no conversion.
template <class T>
struct Kept;
template <>
struct Kept<u16> {
    using Type = f32;
    static __device__ __forceinline__ f32 from(i32 v) { return BIG + (f32)v; }
    static __device__ __forceinline__ i32 to(f32 v) { return (i32)(__float_as_uint(v) & 0xffffu); }
    static __device__ __forceinline__ f32 first(const RawPair<u16>& r) {
        return __uint_as_float(__byte_perm(r.v, 0x4B000000u, 0x7610));
    }
    static __device__ __forceinline__ f32 second(const RawPair<u16>& r) {
        return __uint_as_float(__byte_perm(r.v, 0x4B000000u, 0x7632));
    }
};
template <>
struct Kept<u32> {
    using Type = i32;
    static __device__ __forceinline__ i32 from(i32 v) { return v; }
    static __device__ __forceinline__ i32 to(i32 v) { return v; }
    static __device__ __forceinline__ i32 first(const RawPair<u32>& r) { return (i32)r.a; }
    static __device__ __forceinline__ i32 second(const RawPair<u32>& r) { return (i32)r.b; }
};

// F frames at a time, so that one barrier serves all of them.
template <class S, class T, int C, int F>
__device__ __forceinline__ void run(const FusedArgs& a) {
    using K = Kept<T>;
    using V = typename K::Type;
    __shared__ f32 ups[2][F][C][UY][UPITCH];
    // Even and odd columns apart, so that neighbouring threads read neighbouring words.
    __shared__ f32 changes[2][F][C][2][2 * FY][PITCH];
    const i32 tid = (i32)threadIdx.x, part = C > 1 ? 0 : (i32)blockIdx.z;
    const Frames& src_frames = a.src[0];
    const Frames& dst_frames = a.dst[0];
    const i32 w = a.in.width, h = a.in.height, nq = (w + 1) / 2, mq = (h + 1) / 2;
    const i32 q0 = (i32)blockIdx.x * QX, r0 = (i32)blockIdx.y * QY;

    // Filtering: this thread's quad, and the one inside the picture whose values it takes.
    const bool filters = tid < FX * FY;
    // The middle ones first, row by row, then those at the left and right.
    const i32 side = tid - QX * FY;
    const i32 lx = side < 0 ? 1 + tid % QX : side % 2 * (FX - 1), ly = side < 0 ? tid / QX : min(side / 2, FY - 1);
    const i32 gx = q0 + lx - 1, gy = r0 + ly - 1;
    const i32 cx = min(max(gx, 0), nq - 1), cy = min(max(gy, 0), mq - 1);
    const i32 x = 2 * cx, y = 2 * cy;
    const bool two = x + 1 < w, below = y + 1 < h;
    // Edges of the enlargement: beyond the last column (row) stands the last one itself.
    const bool beyond_x = gx >= nq, beyond_y = gy >= mq;
    const bool mends = !two || !below || beyond_x || beyond_y;
    const bool owns = filters && lx >= 1 && lx <= QX && ly >= 1 && ly <= QY && !beyond_x && !beyond_y;
    const i64 plane_cells = (i64)w * h;
    const i64 cell = (i64)y * w + x;
    const i32 cells[4] = {0, two ? 1 : 0, below ? w : 0, (below ? w : 0) + (two ? 1 : 0)};
    V last[C][4];
    f32 slow[C][4], fast[C][4];
#pragma unroll
    for (int e = 0; e < C; e++) {
        // Channels are taken in the matrix's order.
        const i64 at = (C > 1 ? a.order[e] : part) * plane_cells + cell;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            last[e][k] = K::from(a.start ? 0 : ((const i32*)a.last)[at + cells[k]]);
            slow[e][k] = a.start ? 0.0f : ((const f32*)a.slow)[at + cells[k]];
            fast[e][k] = a.start ? 0.0f : ((const f32*)a.fast)[at + cells[k]];
        }
    }
    const f32 k[4] = {a.p_slow, a.p_fast, a.c_slow, a.c_fast};
    const i32 under = below ? a.in.pitch : 0;
    const T* in[C];
#pragma unroll
    for (int e = 0; e < C; e++) {
        in[e] = (const T*)a.in.ptr + (C > 1 ? a.order[e] : part) * a.in.plane + (i64)y * a.in.pitch + x;
    }

    // The coarser change: cells of the block's part, brought by all threads, with the rule of the edges applied.
    constexpr int CELLS = C * UX * UY, EACH = (CELLS + THREADS - 1) / THREADS;
    const bool enlarges = a.up.ptr != 0;
    const f32* up[EACH];
    i32 up_to[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const i32 n = min(tid + i * THREADS, CELLS - 1);
        const i32 e = n / (UX * UY), uy = n % (UX * UY) / UX, ux = n % UX;
        const i32 ix = q0 - 2 + ux, iy = r0 - 2 + uy;
        // -1 is the second one, or the only one; beyond the last is the last.
        const i32 sx = ix < 0 ? min(1, nq - 1) : min(ix, nq - 1), sy = iy < 0 ? min(1, mq - 1) : min(iy, mq - 1);
        up[i] = (const f32*)a.up.ptr + (C > 1 ? a.order[e] : part) * a.up.plane + (i64)sy * a.up.pitch + sx;
        up_to[i] = (e * UY + uy) * UPITCH + ux;
    }
    // Where this thread's quad begins in the block's part: column cx - 1, row cy - 1.
    const i32 up_at = (cy - r0 + 1) * UPITCH + (cx - q0 + 1);

    // Rendering: half the threads and a few more have four by four pixels each.
    const i32 bx = tid % QX, by = tid / QX;
    const bool renders = tid < QX * QY && q0 + bx < nq && r0 + by < mq;
    const i32 block = q0 + bx, row = 4 * (r0 + by);
    // Bytes before the first pixel, and words of four pixels.
    constexpr int W = C * sizeof(S);
    const i64 at = (i64)block * (4 * W);
    const i32 src_pitch = (i32)src_frames.pitch, dst_pitch = (i32)dst_frames.pitch;
    const u8* src = (const u8*)(part ? a.src[1].ptr : a.src[0].ptr) + (i64)row * src_pitch + at;
    u8* dst = (u8*)(part ? a.dst[1].ptr : a.dst[0].ptr) + (i64)row * dst_pitch + at;
    const i32 rows = renders ? min(4, src_frames.height - row) : 0;
    // All of its sixteen pixels are there, and aligned.
    const bool whole = rows == 4 && 4 * block + 4 <= src_frames.width && src_frames.vec && dst_frames.vec;

    RawPair<T> raw[F][C][2];
    f32 fetched[F][EACH] = {};
    // Where the chunk ends the last frame is loaded again, and not used.
    auto load_level = [&](i32 first, bool begins) {
#pragma unroll
        for (int n = 0; n < F; n++) {
            const i64 step = (n > 0 || !begins) && first + n < a.frames ? a.in.frame : 0;
#pragma unroll
            for (int e = 0; e < C; e++) {
                in[e] += step;
                raw[n][e][0] = load_pair(in[e]);
                raw[n][e][1] = load_pair(in[e] + under);
            }
        }
    };
    auto load_up = [&](i32 first, bool begins) {
#pragma unroll
        for (int n = 0; n < F; n++) {
            const i64 step = (n > 0 || !begins) && first + n < a.frames ? a.up.frame : 0;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                up[i] += step;
                fetched[n][i] = *up[i];
            }
        }
    };
    auto share_up = [&](i32 half) {
#pragma unroll
        for (int n = 0; n < F; n++) {
#pragma unroll
            for (int i = 0; i < EACH; i++) (&ups[half][n][0][0][0])[up_to[i]] = fetched[n][i];
        }
    };
    load_level(0, true);
    if (a.start == 1) {
#pragma unroll
        for (int e = 0; e < C; e++) {
            last[e][0] = K::first(raw[0][e][0]);
            last[e][1] = K::second(raw[0][e][0]);
            last[e][2] = K::first(raw[0][e][1]);
            last[e][3] = K::second(raw[0][e][1]);
        }
    }
    if (enlarges) {
        load_up(0, true);
        share_up(0);
    }
    __syncthreads();

    i32 half = 0;
    for (i32 t0 = 0; t0 < a.frames; t0 += F, half ^= 1) {
        const bool more = t0 + F < a.frames;
        Words<S, C> pixels[F][4] = {};
#pragma unroll
        for (int n = 0; n < F; n++) {
            if (F > 1 && t0 + n >= a.frames) break;
            const u8* frame = src + n * src_frames.frame;
            if (whole) {
#pragma unroll
                for (int r = 0; r < 4; r++) {
                    const u32* p = (const u32*)(frame + (i64)r * src_pitch);
#pragma unroll
                    for (int i = 0; i < W; i++) pixels[n][r].w[i] = p[i];
                }
            } else {
#pragma unroll
                for (int r = 0; r < 4; r++) {
                    if (r < rows) {
                        pixels[n][r] = load_pixels<S, C, false>(frame + (i64)r * src_pitch - at, block, src_frames.width, src_frames.vec != 0);
                    }
                }
            }
        }
        if (enlarges && more) load_up(t0 + F, false);
        f32 f[F][C][4] = {};
#pragma unroll
        for (int n = 0; n < F; n++) {
            // What is filtered beyond the last frame is neither shown nor kept.
            if (F > 1 && t0 + n >= a.frames) break;
#pragma unroll
            for (int e = 0; e < C; e++) {
                f[n][e][0] = causal_step<f32>(K::first(raw[n][e][0]), last[e][0], slow[e][0], fast[e][0], k);
                f[n][e][1] = causal_step<f32>(K::second(raw[n][e][0]), last[e][1], slow[e][1], fast[e][1], k);
                f[n][e][2] = causal_step<f32>(K::first(raw[n][e][1]), last[e][2], slow[e][2], fast[e][2], k);
                f[n][e][3] = causal_step<f32>(K::second(raw[n][e][1]), last[e][3], slow[e][3], fast[e][3], k);
            }
            if (((u32)(a.index + t0 + n) & 31u) == 31u) {
#pragma unroll
                for (int e = 0; e < C; e++) {
#pragma unroll
                    for (int q = 0; q < 4; q++) {
                        slow[e][q] = flushed(slow[e][q]);
                        fast[e][q] = flushed(fast[e][q]);
                    }
                }
            }
        }
        if (more) load_level(t0 + F, false);
#pragma unroll
        for (int n = 0; n < F; n++) {
            if (enlarges) {
#pragma unroll
                for (int e = 0; e < C; e++) {
                    const f32* u = &ups[half][n][e][0][0] + up_at;
                    f32 ev[3], od[3];
#pragma unroll
                    for (int c = 0; c < 3; c++) {
                        const f32 above = u[c], mid = u[UPITCH + c], next = u[2 * UPITCH + c];
                        ev[c] = even(above, mid, next);
                        od[c] = odd(mid, next);
                    }
                    f[n][e][0] = even(ev[0], ev[1], ev[2]) + f[n][e][0];
                    f[n][e][1] = odd(ev[1], ev[2]) + f[n][e][1];
                    f[n][e][2] = even(od[0], od[1], od[2]) + f[n][e][2];
                    f[n][e][3] = odd(od[1], od[2]) + f[n][e][3];
                }
            }
            if (C == 3 && a.mixes) {
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    const f32 R = f[n][0][q], G = f[n][1 % C][q], B = f[n][2 % C][q];
#pragma unroll
                    for (int e = 0; e < 3; e++) {
                        f[n][e % C][q] = (a.mix[3 * e] * R + a.mix[3 * e + 1] * G) + a.mix[3 * e + 2] * B;
                    }
                }
            }
        }
        if (mends) {
#pragma unroll
            for (int n = 0; n < F; n++) {
#pragma unroll
                for (int e = 0; e < C; e++) {
                    f32(&v)[4] = f[n][e];
                    if (beyond_x && two) {
                        v[0] = v[1];
                        v[2] = v[3];
                    }
                    if (!two) {
                        v[1] = v[0];
                        v[3] = v[2];
                    }
                    if (beyond_y && below) {
                        v[0] = v[2];
                        v[1] = v[3];
                    }
                    if (!below) {
                        v[2] = v[0];
                        v[3] = v[1];
                    }
                }
            }
        }
        if (filters) {
#pragma unroll
            for (int n = 0; n < F; n++) {
#pragma unroll
                for (int e = 0; e < C; e++) {
                    f32* to = &changes[half][n][C > 1 ? a.order[e] : 0][0][2 * ly][lx];
                    to[0] = f[n][e][0];
                    to[PITCH] = f[n][e][2];
                    to[2 * FY * PITCH] = f[n][e][1];
                    to[2 * FY * PITCH + PITCH] = f[n][e][3];
                }
            }
        }
        if (enlarges && more) share_up(half ^ 1);
        // Everything twice: whoever writes a buffer again is past the barrier after which it was read.
        __syncthreads();
#pragma unroll
        for (int n = 0; n < F; n++) {
            if (!renders || (F > 1 && t0 + n >= a.frames)) break;
            // Vertical sums of the four columns around this thread's two: rows 4j .. 4j + 3 of the frame.
            f32 v[C][4][4];
#pragma unroll
            for (int c = 0; c < C; c++) {
                const f32* even_columns = &changes[half][n][c][0][2 * by + 1][bx + 1];
                const f32* odd_columns = even_columns + 2 * FY * PITCH;
                const f32* column[4] = {odd_columns - 1, even_columns, odd_columns, even_columns + 1};
#pragma unroll
                for (int m = 0; m < 4; m++) {
                    const f32 p = column[m][0], q = column[m][PITCH], r = column[m][2 * PITCH], s = column[m][3 * PITCH];
                    v[c][0][m] = even(p, q, r);
                    v[c][1][m] = odd(q, r);
                    v[c][2][m] = even(q, r, s);
                    v[c][3][m] = odd(r, s);
                }
            }
#pragma unroll
            for (int r = 0; r < 4; r++) {
                f32 delta[C][4];
#pragma unroll
                for (int c = 0; c < C; c++) {
                    delta[c][0] = even(v[c][r][0], v[c][r][1], v[c][r][2]);
                    delta[c][1] = odd(v[c][r][1], v[c][r][2]);
                    delta[c][2] = even(v[c][r][1], v[c][r][2], v[c][r][3]);
                    delta[c][3] = odd(v[c][r][2], v[c][r][3]);
                }
                pixels[n][r] = add<S, C, C>(pixels[n][r], delta, a.max, src_frames.shift);
            }
            u8* frame = dst + n * dst_frames.frame;
            if (whole) {
#pragma unroll
                for (int r = 0; r < 4; r++) {
                    u32* p = (u32*)(frame + (i64)r * dst_pitch);
#pragma unroll
                    for (int i = 0; i < W; i++) __stcs(p + i, pixels[n][r].w[i]);
                }
            } else {
#pragma unroll
                for (int r = 0; r < 4; r++) {
                    if (r < rows) {
                        store_pixels<S, C, false>(frame + (i64)r * dst_pitch - at, block, src_frames.width, dst_frames.vec != 0, pixels[n][r]);
                    }
                }
            }
        }
        src += F * src_frames.frame;
        dst += F * dst_frames.frame;
    }
    if (!owns) return;
#pragma unroll
    for (int e = 0; e < C; e++) {
        const i64 at = (C > 1 ? a.order[e] : part) * plane_cells + cell;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            if ((q & 1 && !two) || (q & 2 && !below)) continue;
            ((i32*)a.last_out)[at + cells[q]] = K::to(last[e][q]);
            ((f32*)a.slow_out)[at + cells[q]] = slow[e][q];
            ((f32*)a.fast_out)[at + cells[q]] = fast[e][q];
        }
    }
}

}  // namespace fused
}  // namespace magnify

#define FUSED(name, S, T, C, F, BLOCKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(magnify::fused::THREADS, BLOCKS) magnify_fused_##name(magnify::FusedArgs a) { \
        magnify::fused::run<S, T, C, F>(a);                                                                              \
    }                                                                                                                 \
    JND_KERNEL(magnify_fused_##name)
FUSED(u8_c1, u8, u16, 1, 2, 3)
FUSED(u8_c3, u8, u16, 3, 1, 2)
FUSED(u16_c1, u16, u32, 1, 2, 2)
FUSED(u16_c3, u16, u32, 3, 1, 1)
