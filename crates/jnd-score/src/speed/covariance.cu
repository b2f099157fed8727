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
// Threads that bring rows.
constexpr i32 BRINGERS = 256;

// Positions whose differences are held at a time, twice.
constexpr i32 SEGMENT = 64;
// Differences of a position: 25 and a zero, so that they can be read in pairs.
constexpr i32 PITCH = 26;
constexpr i32 PAIRS = 13;
// Warps that add, and warps that form differences.
constexpr i32 ADDERS = 3;
constexpr i32 FORMERS = 13;

// sum + row[0] + row[1] + ..., one after another; many numbers are read before the first is added.
__device__ __forceinline__ f32 chain(f32 sum, const f32* row, i32 n) {
    constexpr i32 MANY = 32;
    i32 x = 0;
    for (; x + MANY <= n; x += MANY) {
        f32 v[MANY];
#pragma unroll
        for (i32 i = 0; i < MANY; i++) v[i] = row[x + i];
#pragma unroll
        for (i32 i = 0; i < MANY; i++) sum = sum + v[i];
    }
#pragma unroll 4
    for (; x < n; x++) sum = sum + row[x];
    return sum;
}

}  // namespace score

// One block a plane: lane e of the first warp adds window e, the other warps bring the rows. Dynamic shared memory:
// RING rows of `width + 4` numbers, rounded up to 5 more than a multiple of 32, so that no two windows share a bank.
extern "C" __global__ void __launch_bounds__(32 + score::BRINGERS) score_means(score::Covariance c) {
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
    for (i32 i = t; i < BLOCK * n; i += 32 + BRINGERS) rows[i / n * pitch + i % n] = __ldg(plane + (i64)(i / n) * c.stride + i % n);
    __syncthreads();
    f32 sum = 0.0f;
    for (i32 y = 0; y < c.height; y++) {
        if (t >= 32) {
            if (y + BLOCK < c.height + BLOCK - 1) {
                f32* to = rows + (y + BLOCK) % RING * pitch;
                for (i32 x = t - 32; x < n; x += BRINGERS) to[x] = __ldg(plane + (i64)(y + BLOCK) * c.stride + x);
            }
        } else if (t < WINDOWS) {
            const f32* row = rows + (y + t / BLOCK) % RING * pitch + t % BLOCK;
            sum = chain(sum, row, c.width);
        }
        __syncthreads();
    }
    if (t < WINDOWS) ((f32*)c.means)[blockIdx.x * LANES + t] = sum / (f32)((i64)c.width * c.height);
}
JND_KERNEL(score_means)
// sass: score_means ffma=22

namespace score {

// Four running sums, two by two windows.
struct Tile {
    f64 s00, s01, s10, s11;
    __device__ __forceinline__ void add(double2 u, double2 v) {
        s00 = s00 + u.x * v.x;
        s01 = s01 + u.x * v.y;
        s10 = s10 + u.y * v.x;
        s11 = s11 + u.y * v.y;
    }
};

// Positions that are read together, one group ahead of the sums.
constexpr i32 AHEAD = 4;

}  // namespace score

// Grid: planes, and parts of the pairs of windows: a plane's sums are shared out to several blocks where there are fewer
// planes than multiprocessors. Three warps hold the sums, two by two windows a thread; the others form the differences of
// the next positions meanwhile, each once.
extern "C" __global__ void __launch_bounds__(32 * (score::ADDERS + score::FORMERS), 1) score_covariance(score::Covariance c) {
    using namespace score;
    __shared__ __align__(16) f64 differences[2][SEGMENT][PITCH];
    const i32 t = (i32)threadIdx.x, lane = t & 31, warp = t >> 5;
    const bool former = warp >= ADDERS;
    const f32* plane = (const f32*)c.plane + (i64)blockIdx.x * c.stride * c.plane_height;
    const i32 count = c.width * c.height, segments = (count + SEGMENT - 1) / SEGMENT;
    // Formers: lane e forms window e at positions w, w + FORMERS, ... of every segment.
    const bool window = lane < WINDOWS;
    const f64 mean = former && window ? (f64)((const f32*)c.means)[blockIdx.x * LANES + lane] : 0.0;
    const f32* from = plane + (window ? lane / BLOCK * c.stride + lane % BLOCK : 0);
    const i32 step_y = FORMERS / c.width, step_x = FORMERS % c.width;
    const i32 turn_y = SEGMENT / c.width, turn_x = SEGMENT % c.width;
    const i32 w = former ? warp - ADDERS : 0;
    i32 y0 = w / c.width, x0 = w % c.width;
    // Adders: pairs (p, q) of windows, p <= q.
    constexpr i32 TILES = PAIRS * (PAIRS + 1) / 2;
    const i32 share = (TILES + (i32)gridDim.y - 1) / (i32)gridDim.y;
    i32 p = 0, rest = (i32)blockIdx.y * share + t;
    while (p < PAIRS && rest >= PAIRS - p) {
        rest -= PAIRS - p;
        p++;
    }
    const bool real = !former && t < share && p < PAIRS;
    const i32 a = real ? 2 * p : 0, b = real ? 2 * (p + rest) : 0;
    Tile tile = {0.0, 0.0, 0.0, 0.0};
    for (i32 s = 0; s <= segments; s++) {
        if (former) {
            if (s < segments) {
                constexpr i32 TURNS = (SEGMENT + FORMERS - 1) / FORMERS;
                const i32 n = min(SEGMENT, count - s * SEGMENT);
                f32 v[TURNS];
                i32 x = x0, y = y0;
#pragma unroll
                for (i32 i = 0; i < TURNS; i++) {
                    v[i] = w + i * FORMERS < n ? __ldg(from + y * c.stride + x) : 0.0f;
                    x += step_x;
                    y += step_y;
                    if (x >= c.width) {
                        x -= c.width;
                        y++;
                    }
                }
                if (lane < PITCH) {
#pragma unroll
                    for (i32 i = 0; i < TURNS; i++)
                        if (w + i * FORMERS < n) differences[s & 1][w + i * FORMERS][lane] = window ? (f64)v[i] - mean : 0.0;
                }
                x0 += turn_x;
                y0 += turn_y;
                if (x0 >= c.width) {
                    x0 -= c.width;
                    y0++;
                }
            }
        } else if (s > 0 && real) {
            const i32 n = min(SEGMENT, count - (s - 1) * SEGMENT);
            const f64* da = &differences[(s - 1) & 1][0][a];
            const f64* db = &differences[(s - 1) & 1][0][b];
            if (n == SEGMENT) {
                double2 u[2][AHEAD], v[2][AHEAD];
#pragma unroll
                for (i32 i = 0; i < AHEAD; i++) {
                    u[0][i] = *(const double2*)(da + i * PITCH);
                    v[0][i] = *(const double2*)(db + i * PITCH);
                }
#pragma unroll
                for (i32 g = 0; g < SEGMENT / AHEAD; g++) {
                    if (g + 1 < SEGMENT / AHEAD) {
#pragma unroll
                        for (i32 i = 0; i < AHEAD; i++) {
                            u[(g + 1) & 1][i] = *(const double2*)(da + ((g + 1) * AHEAD + i) * PITCH);
                            v[(g + 1) & 1][i] = *(const double2*)(db + ((g + 1) * AHEAD + i) * PITCH);
                        }
                    }
#pragma unroll
                    for (i32 i = 0; i < AHEAD; i++) tile.add(u[g & 1][i], v[g & 1][i]);
                }
            } else {
                for (i32 i = 0; i < n; i++) tile.add(*(const double2*)(da + i * PITCH), *(const double2*)(db + i * PITCH));
            }
        }
        __syncthreads();
    }
    if (!real) return;
    f32* out = (f32*)c.out + (i64)blockIdx.x * WINDOWS * LANES;
    const f64 n = (f64)count;
    const f64 sums[4] = {tile.s00, tile.s01, tile.s10, tile.s11};
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
