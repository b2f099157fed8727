// The pairs (cos, sin) of a chunk's frames, as the two passes of the ideal filter read them.
#include "../magnify.cuh"

namespace magnify {

struct TableArgs {
    // cos and sin of all T angles, in f64.
    u64 cos;
    u64 sin;
    u64 bins;
    // A pair (cos, sin) for each bin and frame. Pass one: two frames of each bin side by side, bin after bin; pass two:
    // all frames of a bin, bin after bin.
    u64 out;
    i64 length;
    i64 first;
    i32 bin_count;
    i32 frames;
    // Frames of a bin's row of pairs; those beyond `frames` are zero.
    i32 row;
    i32 pass;
};

template <class P, class P2>
__device__ __forceinline__ void tables(const TableArgs& a) {
    const i32 n = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= a.bin_count * a.row) return;
    const i32 two = 2 * a.bin_count;
    const i32 k = a.pass == 1 ? n % two / 2 : n / a.row, t = a.pass == 1 ? n / two * 2 + n % 2 : n % a.row;
    P2 pair;
    pair.x = (P)0;
    pair.y = (P)0;
    if (t < a.frames) {
        // Both factors are below T, an array's length: the product fits for every T below 2^32.
        const u64 j = (u64)((const i64*)a.bins)[k] * (u64)(a.first + t) % (u64)a.length;
        pair.x = (P)((const f64*)a.cos)[j];
        pair.y = (P)((const f64*)a.sin)[j];
    }
    ((P2*)a.out)[n] = pair;
}

}  // namespace magnify

#define TABLES(P, P2)                                                                                            \
    extern "C" __global__ void __launch_bounds__(128) magnify_tables_##P(magnify::TableArgs a) {                 \
        magnify::tables<P, P2>(a);                                                                               \
    }                                                                                                            \
    JND_KERNEL_FLAT(magnify_tables_##P)
TABLES(f32, float2)
TABLES(f64, double2)
