// Base-2 logarithm: see log2.rs, whose table and operations these are.
#pragma once
#include "jnd.cuh"

namespace score {

#define SCORE_BITS(v) __longlong_as_double((i64)(v))
#define LOG2_2PI_E SCORE_BITS(0x40106073a671183dull)

// Rows of c, -log2(c) high, -log2(c) low, as the bits of doubles.
static __device__ const u64 LOG2_TABLE[128 * 3] = {
    0x3ff7380000000000ull, 0xbfe130e4a4a3e000ull, 0xbd5a4f5c295929c1ull,
    0x3ff7100000000000ull, 0xbfe0e117754d8000ull, 0x3d3f77628aa1aed8ull,
    0x3ff6f00000000000ull, 0xbfe0a0dc34f8e000ull, 0xbd2fbc00d8d6cbcfull,
    0x3ff6d00000000000ull, 0xbfe0604719f24000ull, 0xbd5d647d323e3e73ull,
    0x3ff6b00000000000ull, 0xbfe01f5727726000ull, 0xbd437fc8cafdef46ull,
    0x3ff6900000000000ull, 0xbfdfbc16b9028000ull, 0x3d57f5dc57266758ull,
    0x3ff6700000000000ull, 0xbfdf38c567bcc000ull, 0xbd350343f8df4b43ull,
    0x3ff6500000000000ull, 0xbfdeb4b847d14000ull, 0xbd5bce53e5c9e604ull,
    0x3ff6300000000000ull, 0xbfde2fed3d098000ull, 0x3d4acfe41bb5518cull,
    0x3ff6180000000000ull, 0xbfddcbd708b18000ull, 0x3d494eeec576a001ull,
    0x3ff5f80000000000ull, 0xbfdd45ba735bc000ull, 0x3d55b0f63b03cdccull,
    0x3ff5d80000000000ull, 0xbfdcbed9f5bb8000ull, 0xbd40d40bb2010158ull,
    0x3ff5b80000000000ull, 0xbfdc3733502d0000ull, 0xbd33de15e265b5d9ull,
    0x3ff5a00000000000ull, 0xbfdbd0f2e9e78000ull, 0xbd5030ab442ce320ull,
    0x3ff5800000000000ull, 0xbfdb47ebf7388000ull, 0xbd250520a377c7ecull,
    0x3ff5600000000000ull, 0xbfdabe18797f0000ull, 0xbd5f48e1a4725559ull,
    0x3ff5480000000000ull, 0xbfda56322edd4000ull, 0x3d419d3ad7d17743ull,
    0x3ff5280000000000ull, 0xbfd9caf2f1498000ull, 0xbd4f4753235d8401ull,
    0x3ff5100000000000ull, 0xbfd961f905274000ull, 0xbd03719eb3af5b8dull,
    0x3ff4f00000000000ull, 0xbfd8d54673b5c000ull, 0xbd2b8d59e8492d6eull,
    0x3ff4d80000000000ull, 0xbfd86b332056c000ull, 0xbd5b01479b912ba3ull,
    0x3ff4c00000000000ull, 0xbfd800a563160000ull, 0xbd5c5432aeb609f5ull,
    0x3ff4a00000000000ull, 0xbfd771d2ba7f0000ull, 0x3d33106e404cabb7ull,
    0x3ff4880000000000ull, 0xbfd7062305158000ull, 0x3d52e2b146e82f87ull,
    0x3ff4700000000000ull, 0xbfd699f5248cc000ull, 0xbd54b868c5485435ull,
    0x3ff4500000000000ull, 0xbfd608f1b4294000ull, 0xbd415b2de01cea41ull,
    0x3ff4380000000000ull, 0xbfd59b98e4de4000ull, 0x3d58e3c3a8b05151ull,
    0x3ff4200000000000ull, 0xbfd52dbdfc4c8000ull, 0xbd56b37dcf60e620ull,
    0x3ff4080000000000ull, 0xbfd4bf5fc36e8000ull, 0xbd35dcccaf649933ull,
    0x3ff3f00000000000ull, 0xbfd4507cfedd4000ull, 0xbd4f8729ab413ffaull,
    0x3ff3d80000000000ull, 0xbfd3e1146ebc8000ull, 0xbd5ff1c36e4334aeull,
    0x3ff3c00000000000ull, 0xbfd37124cea4c000ull, 0xbd4bd9b32266d92cull,
    0x3ff3a80000000000ull, 0xbfd300acd58cc000ull, 0x3d33c1a3716ee61full,
    0x3ff3900000000000ull, 0xbfd28fab35b34000ull, 0x3d597c9cfc5e95beull,
    0x3ff3780000000000ull, 0xbfd21e1e9c878000ull, 0x3d438e4dc75f5845ull,
    0x3ff3600000000000ull, 0xbfd1ac05b2920000ull, 0x3d4f1f5ae718f241ull,
    0x3ff3480000000000ull, 0xbfd1395f1b5b8000ull, 0x3d5e5a4264325dd0ull,
    0x3ff3300000000000ull, 0xbfd0c62975544000ull, 0x3d55715b04e05be8ull,
    0x3ff3180000000000ull, 0xbfd0526359bac000ull, 0x3d4c993c70444a49ull,
    0x3ff3000000000000ull, 0xbfcfbc16b9028000ull, 0x3d47f5dc57266758ull,
    0x3ff2e80000000000ull, 0xbfced24018660000ull, 0x3d5057053957d5e0ull,
    0x3ff2d80000000000ull, 0xbfce35b689cd0000ull, 0xbd532a7cc3e2b7b3ull,
    0x3ff2c00000000000ull, 0xbfcd49ee4c328000ull, 0x3d53481b85a54d7full,
    0x3ff2a80000000000ull, 0xbfcc5cf77f860000ull, 0xbd304cc6600a133eull,
    0x3ff2900000000000ull, 0xbfcb6ecf175f8000ull, 0xbd45e96bed8cce30ull,
    0x3ff2800000000000ull, 0xbfcacf5e2db50000ull, 0x3d436c101ee13440ull,
    0x3ff2680000000000ull, 0xbfc9df31868c0000ull, 0xbd41d4cc2f68b868ull,
    0x3ff2500000000000ull, 0xbfc8edcae8350000ull, 0xbd55b5dae6a10ccaull,
    0x3ff2400000000000ull, 0xbfc84c2bd02f0000ull, 0xbd1d97ee9124773bull,
    0x3ff2280000000000ull, 0xbfc758b2bb6c8000ull, 0x3d22280434bda911ull,
    0x3ff2180000000000ull, 0xbfc6b5aef4ab0000ull, 0x3d4823df91c73155ull,
    0x3ff2000000000000ull, 0xbfc5c01a39fc0000ull, 0x3d54bc302ffa76fbull,
    0x3ff1f00000000000ull, 0xbfc51bab907a8000ull, 0x3d51badba7fbb3d2ull,
    0x3ff1d80000000000ull, 0xbfc423f1c2c10000ull, 0xbd575127a010c764ull,
    0x3ff1c80000000000ull, 0xbfc37e11d8b10000ull, 0xbd3f1140264356b8ull,
    0x3ff1b00000000000ull, 0xbfc284294b078000ull, 0xbd531fc6bb455652ull,
    0x3ff1a00000000000ull, 0xbfc1dcd197550000ull, 0xbd55bdaf522a183cull,
    0x3ff1880000000000ull, 0xbfc0e0b05ac88000ull, 0x3d5b897aa62a4155ull,
    0x3ff1780000000000ull, 0xbfc037da278f0000ull, 0xbd54383e7225801full,
    0x3ff1680000000000ull, 0xbfbf1cd212580000ull, 0x3d3e742a6951096dull,
    0x3ff1500000000000ull, 0xbfbd1e34e35c0000ull, 0x3d5f496cbd31c337ull,
    0x3ff1400000000000ull, 0xbfbbc84240ae0000ull, 0x3d551167134e9647ull,
    0x3ff1300000000000ull, 0xbfba7111df350000ull, 0x3d5edb052ee9f871ull,
    0x3ff1180000000000ull, 0xbfb86bf075080000ull, 0x3d57ce3a50046090ull,
    0x3ff1080000000000ull, 0xbfb7119b876c0000ull, 0x3d357a036639e53aull,
    0x3ff0f80000000000ull, 0xbfb5b600a40c0000ull, 0x3d4586bc96fc0e9cull,
    0x3ff0e80000000000ull, 0xbfb4591d63110000ull, 0x3d43d2fdc0342261ull,
    0x3ff0d00000000000ull, 0xbfb24b5b7e130000ull, 0xbd568f2268b3cd45ull,
    0x3ff0c00000000000ull, 0xbfb0eb389fa30000ull, 0x3d5819530c22d152ull,
    0x3ff0b00000000000ull, 0xbfaf138983320000ull, 0xbd44e7e87341aeeeull,
    0x3ff0a00000000000ull, 0xbfac4dfab90a0000ull, 0xbd556bde9f1f0d3dull,
    0x3ff0900000000000ull, 0xbfa985bfc34a0000ull, 0x3d55cd73ebe3895eull,
    0x3ff0780000000000ull, 0xbfa554592bb80000ull, 0xbd59aaf3765c7079ull,
    0x3ff0680000000000ull, 0xbfa2855905ca0000ull, 0xbd4c3d628a19e6d4ull,
    0x3ff0580000000000ull, 0xbf9f6734acf80000ull, 0xbd3a5671e1bd4ae8ull,
    0x3ff0480000000000ull, 0xbf99be2f77480000ull, 0xbd5acc25307f9e98ull,
    0x3ff0380000000000ull, 0xbf940f9786680000ull, 0xbd374a4cb0be9e8aull,
    0x3ff0280000000000ull, 0xbf8cb6c3abd00000ull, 0xbd44558b51cada94ull,
    0x3ff0180000000000ull, 0xbf81430681280000ull, 0x3d511790209e8847ull,
    0x3ff0000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull,
    0x3ff0000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull,
    0x3fefa00000000000ull, 0x3f916a21e20c0000ull, 0xbd5f5baf436cbec7ull,
    0x3fef600000000000ull, 0x3f9d23afc4900000ull, 0x3d539f89bcdae7bdull,
    0x3fef200000000000ull, 0x3fa47aa073580000ull, 0xbd51f61a96b8ce77ull,
    0x3feef00000000000ull, 0x3fa8f135b8100000ull, 0x3d4e44675020ccd7ull,
    0x3feeb00000000000ull, 0x3faeef7925080000ull, 0x3d56d3ac26e64b73ull,
    0x3fee700000000000ull, 0x3fb27d24bae80000ull, 0x3d426d610050fdb5ull,
    0x3fee400000000000ull, 0x3fb4c560fe690000ull, 0xbd541dfc7d7c3321ull,
    0x3fee000000000000ull, 0x3fb7d60496d00000ull, 0xbd512ce6312ebb82ull,
    0x3fedd00000000000ull, 0x3fba26ccd9980000ull, 0x3d3852899427dd61ull,
    0x3fed900000000000ull, 0x3fbd4300a2520000ull, 0x3d53505dacd2ed72ull,
    0x3fed600000000000ull, 0x3fbf9c95dc1d0000ull, 0x3d3164e932b2d51cull,
    0x3fed200000000000ull, 0x3fc1625931870000ull, 0xbd52c81df0fdbc29ull,
    0x3fecf00000000000ull, 0x3fc293ac3dc18000ull, 0x3d533432f2c33fc6ull,
    0x3fecc00000000000ull, 0x3fc3c6fb650d0000ull, 0xbd50d7af4dda9c36ull,
    0x3fec900000000000ull, 0x3fc4fc4d4d9b8000ull, 0x3d5989af85862e57ull,
    0x3fec600000000000ull, 0x3fc633a8bf438000ull, 0xbd18f7aac147fdc1ull,
    0x3fec200000000000ull, 0x3fc7d60496cf8000ull, 0x3d5da6339da288fcull,
    0x3febf00000000000ull, 0x3fc9123c15290000ull, 0xbd5c9908593990cfull,
    0x3febc00000000000ull, 0x3fca5094b54d0000ull, 0x3d541420276dd59dull,
    0x3feb900000000000ull, 0x3fcb9115db838000ull, 0x3d51ee969a95f529ull,
    0x3feb600000000000ull, 0x3fccd3c712d30000ull, 0x3d4109325dd5e814ull,
    0x3feb300000000000ull, 0x3fce18b00e130000ull, 0x3d423d066fdd7c23ull,
    0x3feb100000000000ull, 0x3fcef28aacd70000ull, 0x3d5118906313e79dull,
    0x3feae00000000000ull, 0x3fd01d9bbcfa8000ull, 0xbd5e2ba25d9aeffdull,
    0x3feab00000000000ull, 0x3fd0c318aee00000ull, 0xbd487f13324f6d23ull,
    0x3fea800000000000ull, 0x3fd169c053640000ull, 0xbd4d4f1b95e0ff45ull,
    0x3fea500000000000ull, 0x3fd21196e8748000ull, 0xbd485e9a1fc3cc8eull,
    0x3fea300000000000ull, 0x3fd28225bb5e8000ull, 0xbd5b5c17154f4086ull,
    0x3fea000000000000ull, 0x3fd32bfee3710000ull, 0xbd51979a5db68722ull,
    0x3fe9d00000000000ull, 0x3fd3d712bf9c8000ull, 0x3d5deecc62372284ull,
    0x3fe9b00000000000ull, 0x3fd449d115ef8000ull, 0xbd23c49c247ab6afull,
    0x3fe9800000000000ull, 0x3fd4f6fbb2cec000ull, 0x3d3661e393a16b95ull,
    0x3fe9600000000000ull, 0x3fd56b22e6b58000ull, 0xbd3c6d8d86531d56ull,
    0x3fe9300000000000ull, 0x3fd61a717cac0000ull, 0x3d5983115f01e8feull,
    0x3fe9100000000000ull, 0x3fd6900a8836c000ull, 0x3d50d5074f35e53cull,
    0x3fe8e00000000000ull, 0x3fd7418acebc0000ull, 0xbd4ce2935fff809aull,
    0x3fe8c00000000000ull, 0x3fd7b89f02cf4000ull, 0xbd5552ce0ec3a295ull,
    0x3fe8a00000000000ull, 0x3fd8304d90c10000ull, 0x3d5fd32a3ab0a4b5ull,
    0x3fe8700000000000ull, 0x3fd8e4f83fa14000ull, 0x3d37b6bf20f1e8c4ull,
    0x3fe8500000000000ull, 0x3fd95e2f9b520000ull, 0xbd4f63a1b3264f72ull,
    0x3fe8300000000000ull, 0x3fd9d806ebc98000ull, 0x3d521b8c1b8b7dfdull,
    0x3fe8000000000000ull, 0x3fda8ff971810000ull, 0x3d44bc302ffa76fbull,
    0x3fe7e00000000000ull, 0x3fdb0b67f4f48000ull, 0xbd57f00af09dc1c7ull,
    0x3fe7c00000000000ull, 0x3fdb877c57b1c000ull, 0xbd4f20203b3186a6ull,
    0x3fe7a00000000000ull, 0x3fdc043859e30000ull, 0xbd22642415d47384ull,
    0x3fe7800000000000ull, 0x3fdc819dc2d44000ull, 0x3d5fe43895d8ac46ull,
    0x3fe7500000000000ull, 0x3fdd3ef776d44000ull, 0xbcc81e2b378ff59dull,
};

// Brings the table to shared memory; a barrier must follow.
__device__ __forceinline__ void log2_stage(f64* table, i32 thread, i32 threads) {
    for (i32 i = thread; i < 128 * 3; i += threads) table[i] = SCORE_BITS(LOG2_TABLE[i]);
}

__device__ __forceinline__ f64 log2_of(f64 x, const f64* table) {
    const bool tiny = fabs(x) < SCORE_BITS(0x0010000000000000ull);
    const u64 ix = (u64)__double_as_longlong(tiny ? x * 4503599627370496.0 : x);
    const u64 t = ix - 0x3fe6000000000000ull;
    const f64* row = table + 3 * ((i32)(t >> 45) & 127);
    const f64 c = row[0], log_hi = row[1], log_lo = row[2];
    const i32 k = (i32)((i64)t >> 52) - (tiny ? 52 : 0);
    const u64 iz = ix - (t & 0xfff0000000000000ull);
    const f64 z = SCORE_BITS(iz), z_hi = SCORE_BITS(iz & 0xffffffff00000000ull), z_lo = z - z_hi;
    const f64 r_a = z_hi * c - 1.0, r_b = z_lo * c, r = r_a + r_b, err = (r_a - r) + r_b;
    const f64 r_hi = SCORE_BITS((u64)__double_as_longlong(r) & 0xfffffffff8000000ull), r_lo = (r - r_hi) + err;
    const f64 inv_hi = SCORE_BITS(0x3ff7154764000000ull), inv_lo = SCORE_BITS(0x3e32b82fe1777d10ull);
    const f64 hi = (f64)k + log_hi, t1 = r_hi * inv_hi, s = hi + t1, lo = (hi - s) + t1, r2 = r * r;
    f64 p = SCORE_BITS(0x3fc484b13d7c02a9ull);
    p = SCORE_BITS(0xbfc71547652b82feull) + r * p;
    p = SCORE_BITS(0x3fca61762a7aded9ull) + r * p;
    p = SCORE_BITS(0xbfcec709dc3a03fdull) + r * p;
    p = SCORE_BITS(0x3fd2776c50ef9bfeull) + r * p;
    p = SCORE_BITS(0xbfd71547652b82feull) + r * p;
    p = SCORE_BITS(0x3fdec709dc3a03fdull) + r * p;
    p = SCORE_BITS(0xbfe71547652b82feull) + r * p;
    f64 y = s + (((lo + log_lo) + (r_lo * inv_hi + r * inv_lo)) + r2 * p);
    // Not a positive finite number: infinity and NaN stay, 0 gives minus infinity, the rest NaN.
    y = x < SCORE_BITS(0x7ff0000000000000ull) ? y : x;
    y = x < 0.0 ? SCORE_BITS(0x7ff8000000000000ull) : y;
    return x == 0.0 ? SCORE_BITS(0xfff0000000000000ull) : y;
}

}  // namespace score
