// Enlarging changes level by level. Twin of enlarge.rs (the bilinear form is in render.cu, where it is used).
#include "magnify.cuh"

namespace magnify {

struct EnlargeArgs {
    Planes up;
    Planes out;
    i32 count;
    // What is in `out` already is added.
    i32 add;
};

// A level of all frames of a chunk: two by two pixels a thread, which share what they are enlarged from. Columns beyond
// the edges are read, as another row's or padding, and replaced.
__device__ __forceinline__ void enlarge(const EnlargeArgs& a) {
    const i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x), j = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    const i32 n = a.up.width, m = a.up.height;
    if (2 * i >= a.out.width || 2 * j >= a.out.height) return;
    const u32 t = blockIdx.z / (u32)a.count, p = blockIdx.z - t * (u32)a.count;
    const f32* mid = (const f32*)a.up.ptr + t * a.up.frame + p * a.up.plane + (i64)j * a.up.pitch + i;
    const f32* over = mid + (i64)(before(j, m) - j) * a.up.pitch;
    const f32* next = mid + (i64)(after(j, m) - j) * a.up.pitch;
    f32 e[3], o[3];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const f32 x = over[c - 1], y = mid[c - 1], z = next[c - 1];
        e[c] = even(x, y, z);
        o[c] = odd(y, z);
    }
    e[2] = i == n - 1 ? e[1] : e[2];
    o[2] = i == n - 1 ? o[1] : o[2];
    e[0] = i == 0 ? e[2] : e[0];
    o[0] = i == 0 ? o[2] : o[0];
    float2 above = make_float2(even(e[0], e[1], e[2]), odd(e[1], e[2]));
    float2 below = make_float2(even(o[0], o[1], o[2]), odd(o[1], o[2]));
    float2* out = (float2*)((f32*)a.out.ptr + t * a.out.frame + p * a.out.plane + (i64)(2 * j) * a.out.pitch + 2 * i);
    float2* under = (float2*)((f32*)out + a.out.pitch);
    const bool two = 2 * j + 1 < a.out.height;
    if (a.add) {
        const float2 f = *out;
        above.x = above.x + f.x;
        above.y = above.y + f.y;
        if (two) {
            const float2 g = *under;
            below.x = below.x + g.x;
            below.y = below.y + g.y;
        }
    }
    *out = above;
    if (two) *under = below;
}

// The small levels of a plane in one block: from the coarsest, whose changes are its filter's, to the first of the tail.
constexpr int MAX_ENLARGE_TAIL = 17;
struct EnlargeTailLevel {
    // What the level's filter gave; 0 where it has none.
    u64 ptr;
    i64 frame;
    i64 plane;
    i32 pitch;
    i32 width;
    i32 height;
    i32 pad;
};
struct EnlargeTailArgs {
    Planes out;
    i32 levels;
    i32 count;
    i32 even;
    i32 pad;
    // Coarsest first.
    EnlargeTailLevel level[MAX_ENLARGE_TAIL];
};

__device__ __forceinline__ void enlarge_tail(const EnlargeTailArgs& a) {
    JND_DYNAMIC_SHARED(shared);
    const i64 t = blockIdx.x / a.count, p = blockIdx.x % a.count;
    // The buffers change places with each level; the largest that is kept, the last but one, lies in the second.
    f32* out = a.levels % 2 ? (f32*)shared : (f32*)shared + a.even;
    f32* in = a.levels % 2 ? (f32*)shared + a.even : (f32*)shared;
    for (int l = 0; l < a.levels; l++) {
        const EnlargeTailLevel& to = a.level[l];
        const f32* filtered = to.ptr ? (const f32*)to.ptr + t * to.frame + p * to.plane : nullptr;
        const i32 half = (to.width + 1) / 2;
        for (i32 n = threadIdx.x; n < half * to.height; n += blockDim.x) {
            const i32 i = n % half, y = n / half;
            Pair v = Pair{0.0f, 0.0f};
            if (l > 0) v = enlarged(in, a.level[l - 1].width, a.level[l - 1].width, a.level[l - 1].height, i, y);
            const bool two = 2 * i + 1 < to.width;
            if (filtered) {
                const f32* f = filtered + (i64)y * to.pitch + 2 * i;
                v.a = l > 0 ? v.a + f[0] : f[0];
                if (two) v.b = l > 0 ? v.b + f[1] : f[1];
            }
            if (l + 1 < a.levels) {
                out[y * to.width + 2 * i] = v.a;
                if (two) out[y * to.width + 2 * i + 1] = v.b;
            } else {
                f32* o = (f32*)a.out.ptr + t * a.out.frame + p * a.out.plane + (i64)y * a.out.pitch + 2 * i;
                *(float2*)o = make_float2(v.a, v.b);
            }
        }
        __syncthreads();
        f32* const made = out;
        out = in;
        in = made;
    }
}

}  // namespace magnify

extern "C" __global__ void __launch_bounds__(128) magnify_enlarge(magnify::EnlargeArgs a) { magnify::enlarge(a); }
JND_KERNEL_FLAT(magnify_enlarge)
extern "C" __global__ void __launch_bounds__(512) magnify_enlarge_tail(magnify::EnlargeTailArgs a) { magnify::enlarge_tail(a); }
JND_KERNEL(magnify_enlarge_tail)
