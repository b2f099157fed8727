//! Mixing interleaved channels with AVX2: channels are separated, mixed and, where they stay three, put together again.

use std::arch::x86_64::*;

/// Shuffle by places 0 to 3 in each half: two from the first register, two from the second.
macro_rules! shuffle {
    ($a:expr, $b:expr, [$i:literal, $j:literal, $k:literal, $l:literal]) => {
        _mm256_shuffle_ps::<{ $i | $j << 2 | $k << 4 | $l << 6 }>($a, $b)
    };
}

/// The three channels of 8 interleaved pixels.
///
/// # Safety
/// 24 values must be readable at `p`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn separate(p: *const f32) -> [__m256; 3] {
    // SAFETY: the caller's: four values at each place.
    let half = |i: usize| unsafe {
        let (a, b) = (_mm_loadu_ps(p.add(i)), _mm_loadu_ps(p.add(i + 12)));
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(a), b)
    };
    // x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3; the same of pixels 4 to 7 in the other half.
    let (a, b, c) = (half(0), half(4), half(8));
    let xy = shuffle!(b, c, [2, 3, 1, 2]);
    let yz = shuffle!(a, b, [1, 2, 0, 1]);
    [shuffle!(a, xy, [0, 3, 0, 2]), shuffle!(yz, xy, [0, 2, 1, 3]), shuffle!(yz, c, [1, 3, 0, 3])]
}

/// Writes 8 pixels interleaved.
///
/// # Safety
/// 24 values must be writable at `p`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn together([x, y, z]: [__m256; 3], p: *mut f32) {
    let xy = shuffle!(x, y, [0, 2, 0, 2]);
    let yz = shuffle!(y, z, [1, 3, 1, 3]);
    let zx = shuffle!(z, x, [0, 2, 1, 3]);
    let rows =
        [shuffle!(xy, zx, [0, 2, 0, 2]), shuffle!(yz, xy, [0, 2, 1, 3]), shuffle!(zx, yz, [1, 3, 1, 3])];
    for (i, v) in rows.into_iter().enumerate() {
        // SAFETY: the caller's: four values at each place.
        unsafe {
            _mm_storeu_ps(p.add(4 * i), _mm256_castps256_ps128(v));
            _mm_storeu_ps(p.add(4 * i + 12), _mm256_extractf128_ps::<1>(v));
        }
    }
}

/// `(k0 * r + k1 * g) + k2 * b`.
#[inline]
#[target_feature(enable = "avx2")]
fn mixed(k: [f32; 3], r: __m256, g: __m256, b: __m256) -> __m256 {
    let rg = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(k[0]), r), _mm256_mul_ps(_mm256_set1_ps(k[1]), g));
    _mm256_add_ps(rg, _mm256_mul_ps(_mm256_set1_ps(k[2]), b))
}

/// Multiplies the pixels of a row by a matrix, in place; how many values are done.
#[target_feature(enable = "avx2")]
pub(super) fn matrix<const R: usize, const G: usize, const B: usize>(
    x: &mut [f32],
    a: [[f32; 3]; 3],
) -> usize {
    let mut done = 0;
    for block in x.chunks_exact_mut(24) {
        // SAFETY: the block holds 8 pixels.
        let v = unsafe { separate(block.as_ptr()) };
        let mut o = v;
        for (i, to) in [R, G, B].into_iter().enumerate() {
            o[to] = mixed(a[i], v[R], v[G], v[B]);
        }
        // SAFETY: as above.
        unsafe { together(o, block.as_mut_ptr()) };
        done += 24;
    }
    done
}

/// Luma of interleaved pixels of 16-bit integers; how many pixels are done.
#[target_feature(enable = "avx2")]
pub(super) fn luma_u16(x: &[u16], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
    /// Bytes of register `lane` of three that are channel `c` of 8 pixels.
    const fn bytes(c: usize, lane: usize) -> [i8; 16] {
        let mut b = [-1; 16];
        let mut p = 0;
        while p < 8 {
            let v = 3 * p + c;
            if v / 8 == lane {
                b[2 * p] = (2 * (v % 8)) as i8;
                b[2 * p + 1] = b[2 * p] + 1;
            }
            p += 1;
        }
        b
    }
    const PICK: [[[i8; 16]; 3]; 3] = [
        [bytes(0, 0), bytes(0, 1), bytes(0, 2)],
        [bytes(1, 0), bytes(1, 1), bytes(1, 2)],
        [bytes(2, 0), bytes(2, 1), bytes(2, 2)],
    ];
    // SAFETY: both are 16 bytes of plain integers.
    let pick = at.map(|c| PICK[c].map(|b| unsafe { std::mem::transmute::<[i8; 16], __m128i>(b) }));
    let mut done = 0;
    for (x, o) in x.chunks_exact(24).zip(out.chunks_exact_mut(8)) {
        let p = x.as_ptr();
        // SAFETY: the chunk holds three registers.
        let v: [__m128i; 3] = std::array::from_fn(|i| unsafe { _mm_loadu_si128(p.add(8 * i).cast()) });
        let [r, g, b] = pick.map(|k| {
            let two = _mm_or_si128(_mm_shuffle_epi8(v[0], k[0]), _mm_shuffle_epi8(v[1], k[1]));
            _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_or_si128(two, _mm_shuffle_epi8(v[2], k[2]))))
        });
        // SAFETY: the chunk holds 8 values.
        unsafe { _mm256_storeu_ps(o.as_mut_ptr(), mixed(y, r, g, b)) };
        done += 8;
    }
    done
}

/// Luma of interleaved pixels of 32-bit integers below 2^31; how many pixels are done.
#[target_feature(enable = "avx2")]
pub(super) fn luma_u32(x: &[u32], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
    let mut done = 0;
    for (x, o) in x.chunks_exact(24).zip(out.chunks_exact_mut(8)) {
        // SAFETY: the chunk holds 8 pixels; their bits are only moved.
        let v = unsafe { separate(x.as_ptr().cast()) };
        let [r, g, b] = at.map(|c| _mm256_cvtepi32_ps(_mm256_castps_si256(v[c])));
        // SAFETY: the chunk holds 8 values.
        unsafe { _mm256_storeu_ps(o.as_mut_ptr(), mixed(y, r, g, b)) };
        done += 8;
    }
    done
}
