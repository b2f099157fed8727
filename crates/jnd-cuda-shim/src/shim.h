// CUDA's names for host code: enough of them for the kernels of this project. See docs/cuda.md.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __constant__ static
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static thread_local
#define __noinline__ __attribute__((noinline))

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(4) ushort2 { unsigned short x, y; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct alignas(2) uchar2 { unsigned char x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };

#define SHIM_MAKE2(T, E) inline T make_##T(E x, E y) { return T{x, y}; }
#define SHIM_MAKE4(T, E) inline T make_##T(E x, E y, E z, E w) { return T{x, y, z, w}; }
SHIM_MAKE2(uint2, unsigned) SHIM_MAKE4(uint4, unsigned) SHIM_MAKE2(int2, int) SHIM_MAKE4(int4, int)
SHIM_MAKE2(float2, float) SHIM_MAKE4(float4, float) SHIM_MAKE2(double2, double)
SHIM_MAKE2(ushort2, unsigned short) SHIM_MAKE4(ushort4, unsigned short)
SHIM_MAKE2(uchar2, unsigned char) SHIM_MAKE4(uchar4, unsigned char)
SHIM_MAKE2(longlong2, long long) SHIM_MAKE2(ulonglong2, unsigned long long)

extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace shim {
struct Entry {
    const char* name;
    void (*run)(const unsigned* grid, const unsigned* block, size_t shared, void** params);
    Entry* next;
};
// One list for each compiled unit: static in every one.
static Entry* unit_entries = nullptr;

struct Register {
    Entry entry;
    Register(const char* name, decltype(Entry::run) run) : entry{name, run, unit_entries} { unit_entries = &entry; }
};

// Runs a block's threads as fibers, or as a plain loop for a kernel that never waits.
void run_grid(dim3 grid, dim3 block, size_t shared, bool flat, void (*thread)(void*), void* closure);
unsigned char* dynamic_shared();
void block_barrier();
void warp_barrier(unsigned mask);
// The 32 places through which the threads of a warp exchange 8-byte values.
unsigned long long* warp_slots();
unsigned lane();
int block_reduce(int value, int operation);

template <auto K, bool Flat>
struct Launch;
template <class... A, void (*K)(A...), bool Flat>
struct Launch<K, Flat> {
    struct Closure {
        void** params;
        template <size_t... I>
        void call(std::index_sequence<I...>) const {
            K(*static_cast<A*>(params[I])...);
        }
    };
    static void run(const unsigned* grid, const unsigned* block, size_t shared, void** params) {
        Closure c{params};
        run_grid(dim3{grid[0], grid[1], grid[2]}, dim3{block[0], block[1], block[2]}, shared, Flat,
                 [](void* p) { static_cast<Closure*>(p)->call(std::index_sequence_for<A...>{}); }, &c);
    }
};
}  // namespace shim

#define JND_KERNEL(k) static shim::Register shim_register_##k(#k, &shim::Launch<&k, false>::run);
#define JND_KERNEL_FLAT(k) static shim::Register shim_register_##k(#k, &shim::Launch<&k, true>::run);
#define JND_DYNAMIC_SHARED(name) unsigned char* name = shim::dynamic_shared()

inline void __syncthreads() { shim::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { shim::warp_barrier(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline int __syncthreads_or(int v) { return shim::block_reduce(v, 0); }
inline int __syncthreads_and(int v) { return shim::block_reduce(v, 1); }
inline int __syncthreads_count(int v) { return shim::block_reduce(v, 2); }

namespace shim {
template <class T>
inline T exchange(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) <= 8, "at most 8 bytes");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(T));
    warp_slots()[lane()] = bits;
    warp_barrier(mask);
    bits = warp_slots()[from & 31];
    warp_barrier(mask);
    memcpy(&value, &bits, sizeof(T));
    return value;
}
}  // namespace shim
template <class T>
inline T __shfl_sync(unsigned mask, T v, int src, int width = 32) {
    const unsigned l = shim::lane(), base = l & ~unsigned(width - 1);
    return shim::exchange(mask, v, base + (unsigned(src) & unsigned(width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    const unsigned l = shim::lane(), base = l & ~unsigned(width - 1);
    return shim::exchange(mask, v, l - base >= delta ? l - delta : l);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    const unsigned l = shim::lane(), base = l & ~unsigned(width - 1);
    return shim::exchange(mask, v, l - base + delta < unsigned(width) ? l + delta : l);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32) {
    const unsigned l = shim::lane(), to = l ^ unsigned(x);
    return shim::exchange(mask, v, (to & ~unsigned(width - 1)) <= (l & ~unsigned(width - 1)) ? to : l);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    shim::warp_slots()[shim::lane()] = predicate != 0;
    shim::warp_barrier(mask);
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1) r |= unsigned(shim::warp_slots()[i] & 1) << i;
    shim::warp_barrier(mask);
    return r;
}
inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }

template <class T>
inline T __ldg(const T* p) { return *p; }
template <class T>
inline T __ldcs(const T* p) { return *p; }
template <class T>
inline T __ldcg(const T* p) { return *p; }
template <class T>
inline T __ldlu(const T* p) { return *p; }
template <class T>
inline void __stcs(T* p, T v) { *p = v; }
template <class T>
inline void __stcg(T* p, T v) { *p = v; }

// Blocks and fibers take turns on one thread, so plain read and write is atomic.
#define SHIM_ATOMIC(name, expression) \
    template <class T>                \
    inline T name(T* p, T v) {        \
        const T old = *p;             \
        *p = (expression);            \
        return old;                   \
    }
SHIM_ATOMIC(atomicAdd, T(old + v))
SHIM_ATOMIC(atomicXor, T(old ^ v))
SHIM_ATOMIC(atomicOr, T(old | v))
SHIM_ATOMIC(atomicAnd, T(old & v))
SHIM_ATOMIC(atomicExch, v)
SHIM_ATOMIC(atomicMax, old > v ? old : v)
SHIM_ATOMIC(atomicMin, old < v ? old : v)

inline float __int_as_float(int v) { float r; memcpy(&r, &v, 4); return r; }
inline float __uint_as_float(unsigned v) { float r; memcpy(&r, &v, 4); return r; }
inline int __float_as_int(float v) { int r; memcpy(&r, &v, 4); return r; }
inline unsigned __float_as_uint(float v) { unsigned r; memcpy(&r, &v, 4); return r; }
inline double __longlong_as_double(long long v) { double r; memcpy(&r, &v, 8); return r; }
inline long long __double_as_longlong(double v) { long long r; memcpy(&r, &v, 8); return r; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) { return float(1.0 / std::sqrt(double(a))); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
// As on the card: out of range gives the nearest integer there is, not a number gives 0.
inline int __float2int_rn(float v) {
    return v != v ? 0 : v >= 2147483648.0f ? INT32_MAX : v <= -2147483648.0f ? INT32_MIN : int(std::nearbyint(v));
}
inline unsigned __float2uint_rn(float v) { return unsigned(std::nearbyint(v)); }
inline int __float2int_rz(float v) { return int(v); }
inline float __int2float_rn(int v) { return float(v); }
inline float __uint2float_rn(unsigned v) { return float(v); }
inline double __int2double_rn(int v) { return double(v); }
inline float __double2float_rn(double v) { return float(v); }
inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)(v)) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const unsigned long long v = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned n = s >> (4 * i) & 15, byte = unsigned(v >> (8 * (n & 7))) & 255;
        r |= (n & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return r;
}
template <class T>
inline T min(T a, T b) { return a < b ? a : b; }
template <class T>
inline T max(T a, T b) { return a > b ? a : b; }
// As on the card: a NaN gives way to the other value.
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
using std::fabs;
using std::fmax;
using std::fmaxf;
using std::fmin;
using std::fminf;
using std::rint;
using std::rintf;
using std::sqrt;
using std::floor;
