// RGB: mixing to luma on the way down, and of the changes on the way up. Twin of mix.rs.
#include "magnify.cuh"

namespace magnify {

struct LumaArgs {
    // First elements of R, G and B of the first frame; `frame` and `pitch` in elements, `step` between pixels.
    u64 r;
    u64 g;
    u64 b;
    i64 frame;
    i64 pitch;
    Planes out;
    f32 y[3];
    i32 step;
    i32 shift;
    i32 pad;
};

template <class T>
__device__ __forceinline__ void luma(const LumaArgs& a) {
    const i32 x = (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= a.out.width || y >= a.out.height) return;
    const i64 t = blockIdx.z, at = t * a.frame + (i64)y * a.pitch + (i64)x * a.step;
    auto value = [&](u64 p) { return (f32)(i32)((u32)((const T*)p)[at] >> a.shift); };
    ((f32*)a.out.ptr)[t * a.out.frame + (i64)y * a.out.pitch + x] =
        (a.y[0] * value(a.r) + a.y[1] * value(a.g)) + a.y[2] * value(a.b);
}

struct MatrixArgs {
    // Three planes, changed in place.
    Planes x;
    i32 order[3];
    f32 a[9];
};

__device__ __forceinline__ void matrix(const MatrixArgs& m) {
    const i32 x = (i32)(blockIdx.x * blockDim.x + threadIdx.x), y = (i32)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= m.x.width || y >= m.x.height) return;
    f32* at = (f32*)m.x.ptr + (i64)blockIdx.z * m.x.frame + (i64)y * m.x.pitch + x;
    f32 *pr = at + m.order[0] * m.x.plane, *pg = at + m.order[1] * m.x.plane, *pb = at + m.order[2] * m.x.plane;
    const f32 r = *pr, g = *pg, b = *pb;
    *pr = (m.a[0] * r + m.a[1] * g) + m.a[2] * b;
    *pg = (m.a[3] * r + m.a[4] * g) + m.a[5] * b;
    *pb = (m.a[6] * r + m.a[7] * g) + m.a[8] * b;
}

}  // namespace magnify

#define LUMA(T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) magnify_luma_##T(magnify::LumaArgs a) { magnify::luma<T>(a); } \
    JND_KERNEL_FLAT(magnify_luma_##T)
LUMA(u8)
LUMA(u16)
LUMA(u32)
extern "C" __global__ void __launch_bounds__(128) magnify_matrix(magnify::MatrixArgs a) { magnify::matrix(a); }
JND_KERNEL_FLAT(magnify_matrix)
