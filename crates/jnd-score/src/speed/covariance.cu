// Means and covariances of the 25 windows: see covariance.rs. Every sum is one chain in one thread, in raster order.
#include "crates/jnd-score/src/plane.cuh"

namespace score {

constexpr i32 WINDOWS = 25;
constexpr i32 BLOCK = 5;
// Elements in a stored row of a matrix.
constexpr i32 LANES = 32;

struct Covariance {
    u64 plane;
    // Samples from one row of the plane to the next, and rows of the plane.
    i32 stride;
    i32 plane_height;
    // Sides of a window.
    i32 width;
    i32 height;
    // Whether rows pass through shared memory on their way to the means.
    i32 staged;
    // LANES numbers a plane.
    u64 means;
    // WINDOWS rows of LANES numbers a plane.
    u64 out;
};

// Rows of the plane that are held while the sums pass: five in use, one on its way.
constexpr i32 RING = 6;

// Positions whose differences are held at a time, twice.
constexpr i32 SEGMENT = 64;
// Differences of a position: 25 and a zero, so that they can be read in pairs.
constexpr i32 PITCH = 26;
constexpr i32 PAIRS = 13;
// Warps that add, and warps that form differences.
constexpr i32 ADDERS = 3;
constexpr i32 FORMERS = 5;

}  // namespace score

// One block of two warps a plane: lane e of the first adds window e, the other brings the rows. Dynamic shared memory:
// RING rows of `width + 4` numbers, rounded up to 5 more than a multiple of 32, so that no two windows share a bank.
extern "C" __global__ void __launch_bounds__(64) score_means(score::Covariance c) {
    using namespace score;
    JND_DYNAMIC_SHARED(memory);
    f32* rows = (f32*)memory;
    const i32 t = (i32)threadIdx.x, n = c.width + BLOCK - 1, pitch = ((n + 26) / 32) * 32 + 5;
    const f32* plane = (const f32*)c.plane + (i64)blockIdx.x * c.stride * c.plane_height;
    if (!c.staged) {
        // Planes too wide for shared memory.
        if (t >= WINDOWS) return;
        const f32* window = plane + (i64)(t / BLOCK) * c.stride + t % BLOCK;
        f32 sum = 0.0f;
        for (i32 y = 0; y < c.height; y++)
            for (i32 x = 0; x < c.width; x++) sum = sum + window[(i64)y * c.stride + x];
        ((f32*)c.means)[blockIdx.x * LANES + t] = sum / (f32)((i64)c.width * c.height);
        return;
    }
    for (i32 i = t; i < BLOCK * n; i += 64) rows[i / n * pitch + i % n] = plane[(i64)(i / n) * c.stride + i % n];
    __syncthreads();
    f32 sum = 0.0f;
    for (i32 y = 0; y < c.height; y++) {
        if (t >= 32) {
            if (y + BLOCK < c.height + BLOCK - 1) {
                f32* to = rows + (y + BLOCK) % RING * pitch;
                for (i32 x = t - 32; x < n; x += 32) to[x] = plane[(i64)(y + BLOCK) * c.stride + x];
            }
        } else if (t < WINDOWS) {
            const f32* row = rows + (y + t / BLOCK) % RING * pitch + t % BLOCK;
#pragma unroll 16
            for (i32 x = 0; x < c.width; x++) sum = sum + row[x];
        }
        __syncthreads();
    }
    if (t < WINDOWS) ((f32*)c.means)[blockIdx.x * LANES + t] = sum / (f32)((i64)c.width * c.height);
}
JND_KERNEL(score_means)
// sass: score_means ffma=22

// One block a plane. Three warps hold the sums, two by two windows a thread; five warps form the differences of the next
// positions meanwhile, each once.
extern "C" __global__ void __launch_bounds__(32 * (score::ADDERS + score::FORMERS)) score_covariance(score::Covariance c) {
    using namespace score;
    __shared__ __align__(16) f64 differences[2][SEGMENT][PITCH];
    const i32 t = (i32)threadIdx.x, lane = t & 31, warp = t >> 5;
    const f32* plane = (const f32*)c.plane + (i64)blockIdx.x * c.stride * c.plane_height;
    const i32 count = c.width * c.height, segments = (count + SEGMENT - 1) / SEGMENT;
    if (warp >= ADDERS) {
        const bool real = lane < WINDOWS;
        const f64 mean = real ? (f64)((const f32*)c.means)[blockIdx.x * LANES + lane] : 0.0;
        const f32* window = plane + (real ? (i64)(lane / BLOCK) * c.stride + lane % BLOCK : 0);
        // The former's next position, in raster order.
        i32 x = warp - ADDERS, y = 0;
        for (i32 s = 0; s <= segments; s++) {
            if (s < segments) {
                const i32 n = min(SEGMENT, count - s * SEGMENT);
                // Position p of the segment belongs to former p mod FORMERS of the whole series.
                const i32 first = (warp - ADDERS + FORMERS * SEGMENT - s * SEGMENT % FORMERS) % FORMERS;
#pragma unroll 4
                for (i32 p = first; p < n; p += FORMERS) {
                    while (x >= c.width) {
                        x -= c.width;
                        y++;
                    }
                    if (lane < PITCH)
                        differences[s & 1][p][lane] = real ? (f64)window[(i64)y * c.stride + x] - mean : 0.0;
                    x += FORMERS;
                }
            }
            __syncthreads();
        }
        return;
    }
    // Pairs (p, q) of windows, p <= q.
    const i32 tile = t;
    i32 p = 0, rest = tile;
    while (p < PAIRS && rest >= PAIRS - p) {
        rest -= PAIRS - p;
        p++;
    }
    const bool real = p < PAIRS;
    const i32 a = real ? 2 * p : 0, b = real ? 2 * (p + rest) : 0;
    f64 s00 = 0.0, s01 = 0.0, s10 = 0.0, s11 = 0.0;
    for (i32 s = 0; s <= segments; s++) {
        if (s > 0 && real) {
            const i32 n = min(SEGMENT, count - (s - 1) * SEGMENT);
            const f64(*d)[PITCH] = differences[(s - 1) & 1];
#pragma unroll 8
            for (i32 i = 0; i < n; i++) {
                const double2 u = *(const double2*)&d[i][a], v = *(const double2*)&d[i][b];
                s00 = s00 + u.x * v.x;
                s01 = s01 + u.x * v.y;
                s10 = s10 + u.y * v.x;
                s11 = s11 + u.y * v.y;
            }
        }
        __syncthreads();
    }
    if (!real) return;
    f32* out = (f32*)c.out + (i64)blockIdx.x * WINDOWS * LANES;
    const f64 n = (f64)count;
    const f64 sums[4] = {s00, s01, s10, s11};
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
        const i32 e = a + (i >> 1), f = b + (i & 1);
        if (e < WINDOWS && f < WINDOWS && e <= f) {
            const f32 v = (f32)(sums[i] / n);
            out[e * LANES + f] = v;
            out[f * LANES + e] = v;
        }
    }
}
JND_KERNEL(score_covariance)
// sass: score_covariance dfma=38 ffma=4
