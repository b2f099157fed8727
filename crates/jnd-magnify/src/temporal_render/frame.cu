// The last pass where the filtered level is the frame itself (4:2:0 chroma): four samples of two rows a thread; no block
// needs another's. Its arguments are those of temporal_render.cu.
#include "../temporal_render.cuh"

namespace magnify {
namespace direct {

template <class S>
struct Row {
    u32 w[sizeof(S)];
};

// Sample n of a row, with 2^23 added.
__device__ __forceinline__ f32 kept(const Row<u8>& r, int n, i32) {
    return __uint_as_float(__byte_perm(r.w[0], 0x4B000000u, 0x7640 + n));
}
__device__ __forceinline__ f32 kept(const Row<u16>& r, int n, i32 shift) {
    return __uint_as_float(0x4B000000u | (n & 1 ? r.w[n / 2] >> 16 : r.w[n / 2] & 0xffffu) >> shift);
}
__device__ __forceinline__ Row<u8> rendered(const f32 (&y)[4], f32, i32, Row<u8>) {
    return Row<u8>{{jnd_pack_u8(y[0], y[1], jnd_pack_u8(y[2], y[3], 0))}};
}
__device__ __forceinline__ Row<u16> rendered(const f32 (&y)[4], f32 max, i32 shift, Row<u16>) {
    const u32 a = (rounded(y[0], max) & 0xffffu) << shift, b = (rounded(y[1], max) & 0xffffu) << shift;
    const u32 c = (rounded(y[2], max) & 0xffffu) << shift, d = (rounded(y[3], max) & 0xffffu) << shift;
    return Row<u16>{{a | b << 16, c | d << 16}};
}

template <class S>
__device__ __forceinline__ Row<S> load_row(const u8* p, i32 samples) {
    Row<S> r;
    if (samples == 4) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(S); i++) r.w[i] = ((const u32*)p)[i];
        return r;
    }
#pragma unroll
    for (int i = 0; i < (int)sizeof(S); i++) r.w[i] = 0;
    // A negative number: all four are there, but not aligned.
    const i32 n = samples < 0 ? 4 : samples;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (k < n) r.w[k * sizeof(S) / 4] |= (u32)((const S*)p)[k] << (k * sizeof(S) % 4 * 8);
    }
    return r;
}
template <class S>
__device__ __forceinline__ void store_row(u8* p, i32 samples, const Row<S>& r) {
    if (samples == 4) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(S); i++) __stcs((u32*)p + i, r.w[i]);
        return;
    }
    const i32 n = samples < 0 ? 4 : samples;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (k < n) ((S*)p)[k] = (S)(r.w[k * sizeof(S) / 4] >> (k * sizeof(S) % 4 * 8));
    }
}

constexpr int BX = 16, BY = 8, THREADS = BX * BY;
// Frames at a time, so that one barrier serves all of them.
constexpr int F = 2;

// C interleaved channels: four pixels of one, or two of two. The coarser change under a block is brought by all threads.
template <class S, int C>
__device__ __forceinline__ void run(const FusedArgs& a) {
    constexpr int PX = 4 / C, HALF = PX / 2, COLUMNS = HALF + 2;
    constexpr int UX = HALF * BX + 2, UY = BY + 2, UPITCH = C == 1 ? 36 : 48;
    __shared__ __align__(16) f32 ups[2][F][C][UY][UPITCH];
    const i32 part = (i32)blockIdx.z;
    const Frames& src_frames = a.src[0];
    const Frames& dst_frames = a.dst[0];
    const i32 w = src_frames.width, h = src_frames.height, shift = src_frames.shift;
    const i32 tid = (i32)threadIdx.x, bx = tid % BX, by = tid / BX;
    const i32 i = (i32)blockIdx.x * BX + bx, j = (i32)blockIdx.y * BY + by;
    // A thread without pixels stays for the barriers, and works on the last ones unheard.
    const bool inside = PX * i < w && 2 * j < h;
    const i32 x = min(PX * i, (w - 1) / PX * PX), y = min(2 * j, (h - 1) & ~1);
    const bool below = y + 1 < h;
    const i32 there = min(PX, w - x) * C;
    const i32 reads = there == 4 && !src_frames.vec ? -1 : there, writes = there == 4 && !dst_frames.vec ? -1 : there;
    // All of its samples are there, and aligned.
    const bool whole = inside && below && there == 4 && src_frames.vec && dst_frames.vec;
    const i64 cells = (i64)w * h;
    const f32 k[4] = {a.p_slow, a.p_fast, a.c_slow, a.c_fast};
    // Sample n of row r: channel n % C of pixel n / C. What is not there does the last one's work.
    f32 last[2][4], slow[2][4], fast[2][4];
    auto place = [&](int r, int n) { return (part * C + n % C) * cells + (i64)(below ? y + r : y) * w + min(x + n / C, w - 1); };
#pragma unroll
    for (int r = 0; r < 2; r++) {
#pragma unroll
        for (int n = 0; n < 4; n++) {
            last[r][n] = BIG + (f32)(a.start ? 0 : ((const i32*)a.last)[place(r, n)]);
            slow[r][n] = a.start ? 0.0f : ((const f32*)a.slow)[place(r, n)];
            fast[r][n] = a.start ? 0.0f : ((const f32*)a.fast)[place(r, n)];
        }
    }
    const i32 pitch = below ? (i32)src_frames.pitch : 0, dst_pitch = (i32)dst_frames.pitch;
    const u8* src = (const u8*)(part ? a.src[1].ptr : a.src[0].ptr) + (i64)y * src_frames.pitch + (i64)x * (C * sizeof(S));
    u8* dst = (u8*)(part ? a.dst[1].ptr : a.dst[0].ptr) + (i64)y * dst_frames.pitch + (i64)x * (C * sizeof(S));

    // Cells of the coarser change, with the rule of the edges applied.
    constexpr int CELLS = C * UX * UY, EACH = (CELLS + THREADS - 1) / THREADS;
    const bool enlarges = a.up.ptr != 0;
    const f32* up[EACH];
    i32 up_to[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const i32 n = min(tid + e * THREADS, CELLS - 1);
        const i32 c = n / (UX * UY), uy = n % (UX * UY) / UX, ux = n % UX;
        const i32 ix = (i32)blockIdx.x * (HALF * BX) - 1 + ux, iy = (i32)blockIdx.y * BY - 1 + uy;
        // -1 is the second one, or the only one; beyond the last is the last.
        const i32 sx = ix < 0 ? min(1, a.up.width - 1) : min(ix, a.up.width - 1);
        const i32 sy = iy < 0 ? min(1, a.up.height - 1) : min(iy, a.up.height - 1);
        up[e] = (const f32*)a.up.ptr + (part * C + c) * a.up.plane + (i64)sy * a.up.pitch + sx;
        up_to[e] = (c * UY + uy) * UPITCH + ux;
    }
    Row<S> rows[F][2];
    f32 fetched[F][EACH] = {};
    // Where the chunk ends the last frame is loaded again, and not used.
    auto load_rows = [&](i32 first, bool begins) {
#pragma unroll
        for (int n = 0; n < F; n++) {
            src += (n > 0 || !begins) && first + n < a.frames ? src_frames.frame : 0;
            if (whole) {
#pragma unroll
                for (int i = 0; i < (int)sizeof(S); i++) {
                    rows[n][0].w[i] = ((const u32*)src)[i];
                    rows[n][1].w[i] = ((const u32*)(src + pitch))[i];
                }
            } else {
                rows[n][0] = load_row<S>(src, reads);
                rows[n][1] = load_row<S>(src + pitch, reads);
            }
        }
    };
    auto load_up = [&](i32 first, bool begins) {
#pragma unroll
        for (int n = 0; n < F; n++) {
            const i64 step = (n > 0 || !begins) && first + n < a.frames ? a.up.frame : 0;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                up[e] += step;
                fetched[n][e] = *up[e];
            }
        }
    };
    auto share_up = [&](i32 half) {
#pragma unroll
        for (int n = 0; n < F; n++) {
#pragma unroll
            for (int e = 0; e < EACH; e++) (&ups[half][n][0][0][0])[up_to[e]] = fetched[n][e];
        }
    };
    load_rows(0, true);
    if (enlarges) {
        load_up(0, true);
        share_up(0);
    }
    if (a.start == 1) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
#pragma unroll
            for (int s = 0; s < 4; s++) last[r][s] = kept(rows[0][r], s, shift);
        }
    }
    __syncthreads();
    i32 half = 0;
    for (i32 t0 = 0; t0 < a.frames; t0 += F, half ^= 1) {
        const bool more = t0 + F < a.frames;
        if (enlarges && more) load_up(t0 + F, false);
        f32 f[F][2][4] = {};
        Row<S> shown[F][2];
#pragma unroll
        for (int n = 0; n < F; n++) {
            if (t0 + n >= a.frames) break;
#pragma unroll
            for (int r = 0; r < 2; r++) {
#pragma unroll
                for (int s = 0; s < 4; s++) {
                    f[n][r][s] = causal_step<f32>(kept(rows[n][r], s, shift), last[r][s], slow[r][s], fast[r][s], k);
                }
            }
            if (((u32)(a.index + t0 + n) & 31u) == 31u) {
#pragma unroll
                for (int r = 0; r < 2; r++) {
#pragma unroll
                    for (int s = 0; s < 4; s++) {
                        slow[r][s] = flushed(slow[r][s]);
                        fast[r][s] = flushed(fast[r][s]);
                    }
                }
            }
        }
#pragma unroll
        for (int n = 0; n < F; n++) {
            shown[n][0] = rows[n][0];
            shown[n][1] = rows[n][1];
        }
        if (more) load_rows(t0 + F, false);
#pragma unroll
        for (int n = 0; n < F; n++) {
            if (t0 + n >= a.frames) break;
            if (enlarges) {
#pragma unroll
                for (int c = 0; c < C; c++) {
                    const f32* u = &ups[half][n][c][by][HALF * bx];
                    f32 ev[COLUMNS], od[COLUMNS];
                    if (C == 1) {
                        const float2 p[2] = {((const float2*)u)[0], ((const float2*)u)[1]};
                        const float2 q[2] = {((const float2*)(u + UPITCH))[0], ((const float2*)(u + UPITCH))[1]};
                        const float2 r[2] = {((const float2*)(u + 2 * UPITCH))[0], ((const float2*)(u + 2 * UPITCH))[1]};
#pragma unroll
                        for (int m = 0; m < 2; m++) {
                            ev[2 * m] = even(p[m].x, q[m].x, r[m].x);
                            ev[(2 * m + 1) % COLUMNS] = even(p[m].y, q[m].y, r[m].y);
                            od[2 * m] = odd(q[m].x, r[m].x);
                            od[(2 * m + 1) % COLUMNS] = odd(q[m].y, r[m].y);
                        }
                    } else {
#pragma unroll
                        for (int q = 0; q < COLUMNS; q++) {
                            ev[q] = even(u[q], u[UPITCH + q], u[2 * UPITCH + q]);
                            od[q] = odd(u[UPITCH + q], u[2 * UPITCH + q]);
                        }
                    }
#pragma unroll
                    for (int q = 0; q < HALF; q++) {
                        const int even_at = 2 * q * C + c, odd_at = (2 * q + 1) * C + c;
                        f[n][0][even_at] = even(ev[q], ev[q + 1], ev[q + 2]) + f[n][0][even_at];
                        f[n][0][odd_at] = odd(ev[q + 1], ev[q + 2]) + f[n][0][odd_at];
                        f[n][1][even_at] = even(od[q], od[q + 1], od[q + 2]) + f[n][1][even_at];
                        f[n][1][odd_at] = odd(od[q + 1], od[q + 2]) + f[n][1][odd_at];
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < 2; r++) {
#pragma unroll
                for (int s = 0; s < 4; s++) f[n][r][s] = (kept(shown[n][r], s, shift) - BIG) + f[n][r][s];
            }
            const Row<S> above = rendered(f[n][0], a.max, shift, Row<S>{}), under = rendered(f[n][1], a.max, shift, Row<S>{});
            if (whole) {
#pragma unroll
                for (int i = 0; i < (int)sizeof(S); i++) {
                    __stcs((u32*)dst + i, above.w[i]);
                    __stcs((u32*)(dst + dst_pitch) + i, under.w[i]);
                }
            } else if (inside) {
                store_row<S>(dst, writes, above);
                if (below) store_row<S>(dst + dst_pitch, writes, under);
            }
            dst += dst_frames.frame;
        }
        if (enlarges && more) share_up(half ^ 1);
        // Everything twice: whoever writes a buffer again is past the barrier after which it was read.
        __syncthreads();
    }
    if (!inside) return;
#pragma unroll
    for (int r = 0; r < 2; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            if (s >= there || (r && !below)) continue;
            ((i32*)a.last_out)[place(r, s)] = (i32)(__float_as_uint(last[r][s]) & 0x7fffffu);
            ((f32*)a.slow_out)[place(r, s)] = slow[r][s];
            ((f32*)a.fast_out)[place(r, s)] = fast[r][s];
        }
    }
}

}  // namespace direct
}  // namespace magnify

#define DIRECT(name, S, C)                                                                                    \
    extern "C" __global__ void __launch_bounds__(magnify::direct::THREADS, 4) magnify_direct_##name(magnify::FusedArgs a) {              \
        magnify::direct::run<S, C>(a);                                                                        \
    }                                                                                                         \
    JND_KERNEL(magnify_direct_##name)
DIRECT(u8_c1, u8, 1)
DIRECT(u8_c2, u8, 2)
DIRECT(u16_c1, u16, 1)
DIRECT(u16_c2, u16, 2)
