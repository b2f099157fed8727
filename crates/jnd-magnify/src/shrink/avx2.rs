//! Horizontal sums with AVX2. As with AVX-512, sums are formed at every pixel with shifted loads, then the even pixels
//! are picked.

use std::arch::x86_64::*;

/// Lanes 0, 2, 1, 3 of 64 bits: undoes the order in which shuffles of two registers leave their halves.
const HALVES: i32 = 0b11_01_10_00;

/// Defines the inner part of the horizontal sums for one type of `$w` lanes.
macro_rules! horizontal {
    ($(#[$doc:meta])* $name:ident, $t:ty, $w:literal, $one:ident, $two:ident, $three:ident,
     |$a:ident, $b:ident, $c:ident, $d:ident, $e:ident, $scale:ident| $sum:expr) => {
        $(#[$doc])*
        #[target_feature(enable = "avx2")]
        pub(super) fn $name<const C: usize>(v: &[$t], n: usize, $scale: f32, out: &mut [$t]) -> usize {
            assert!(v.len() >= super::padded(n, C) && out.len() >= n.div_ceil(2) * C && (1..=3).contains(&C));
            // Registers of sums in a block, and pixels that come out of it.
            let registers = if C == 3 { 3 } else { 2 };
            let pixels = registers * $w / (2 * C);
            let sum = |at: usize| {
                debug_assert!(at + 4 * C + $w <= v.len());
                let p = v.as_ptr().wrapping_add(at);
                // SAFETY: `i + pixels` is at most half the row, and the slack holds what a block reads beyond that.
                let [$a, $b, $c, $d, $e] = [0, 1, 2, 3, 4].map(|k| unsafe { load(p.add(k * C)) });
                $sum
            };
            // The last block begins here; it may do some pixels again.
            let Some(last) = n.div_ceil(2).checked_sub(pixels) else { return 0 };
            let mut i = 0;
            while i <= last {
                let at = 2 * i * C;
                let (s0, s1) = (sum(at), sum(at + $w));
                let o = out.as_mut_ptr().wrapping_add(i * C);
                debug_assert!((i + pixels) * C <= out.len());
                // SAFETY: the row holds the pixels from which all of these are summed, so that they exist.
                unsafe {
                    match C {
                        1 => store(o, $one(s0, s1)),
                        2 => store(o, $two(s0, s1)),
                        _ => $three(o, s0, s1, sum(at + 2 * $w)),
                    }
                }
                i = if i < last { (i + pixels).min(last) } else { i + pixels };
            }
            i
        }
    };
}

horizontal!(
    /// Sums of 16-bit integers; how many pixels are done.
    u16_rows, u16, 16, even_16, even_32, even_triples_16,
    |a, b, c, d, e, _scale| {
        let near = _mm256_slli_epi16::<2>(_mm256_add_epi16(b, d));
        let middle = _mm256_mullo_epi16(c, _mm256_set1_epi16(6));
        _mm256_add_epi16(_mm256_add_epi16(_mm256_add_epi16(a, e), near), middle)
    }
);
horizontal!(
    /// Sums of 32-bit integers.
    u32_rows, u32, 8, even_32, even_64, even_triples_32,
    |a, b, c, d, e, _scale| {
        let near = _mm256_slli_epi32::<2>(_mm256_add_epi32(_mm256_add_epi32(b, d), c));
        let middle = _mm256_slli_epi32::<1>(c);
        _mm256_add_epi32(_mm256_add_epi32(_mm256_add_epi32(a, e), near), middle)
    }
);
horizontal!(
    /// Sums of floats, times `scale`.
    f32_rows, f32, 8, even_32, even_64, even_triples_32,
    |a, b, c, d, e, scale| {
        let [a, b, c, d, e] = [a, b, c, d, e].map(|v| _mm256_castsi256_ps(v));
        let near = _mm256_mul_ps(_mm256_set1_ps(4.0), _mm256_add_ps(b, d));
        let middle = _mm256_mul_ps(_mm256_set1_ps(6.0), c);
        let sum = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, e), near), middle);
        _mm256_castps_si256(_mm256_mul_ps(sum, _mm256_set1_ps(scale)))
    }
);

/// Even lanes of 16 bits of two registers.
#[inline]
#[target_feature(enable = "avx2")]
fn even_16(a: __m256i, b: __m256i) -> __m256i {
    let low = _mm256_set1_epi32(0xFFFF);
    let both = _mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
    _mm256_permute4x64_epi64::<HALVES>(both)
}

/// Even lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn even_32(a: __m256i, b: __m256i) -> __m256i {
    let both = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_permute4x64_epi64::<HALVES>(_mm256_castps_si256(both))
}

/// Even lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn even_64(a: __m256i, b: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<HALVES>(_mm256_unpacklo_epi64(a, b))
}

/// Writes every second triple of 48 values of 16 bits, 24 in all.
///
/// # Safety
/// 48 bytes at `o` must be writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn even_triples_16(o: *mut u16, s0: __m256i, s1: __m256i, s2: __m256i) {
    // The pattern repeats after 24 values, three lanes of 128 bits: lanes 0 and 3, 1 and 4, 2 and 5 go together.
    let a = _mm256_blend_epi32::<0xF0>(s0, s1);
    let b = _mm256_permute2x128_si256::<0x21>(s0, s2);
    let c = _mm256_blend_epi32::<0xF0>(s1, s2);
    const NO: i8 = -1;
    let pick = |v: __m256i, lanes: [i8; 8]| {
        let bytes: [i8; 16] = std::array::from_fn(|i| {
            let l = lanes[i / 2];
            if l < 0 { NO } else { 2 * l + (i % 2) as i8 }
        });
        // SAFETY: both are 16 bytes of plain integers.
        let bytes = unsafe { std::mem::transmute::<[i8; 16], __m128i>(bytes) };
        _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(bytes))
    };
    let first = _mm256_or_si256(pick(a, [0, 1, 2, 6, 7, NO, NO, NO]), pick(b, [NO, NO, NO, NO, NO, 0, 4, 5]));
    let second =
        _mm256_or_si256(pick(b, [6, NO, NO, NO, NO, NO, NO, NO]), pick(c, [NO, 2, 3, 4, NO, NO, NO, NO]));
    // SAFETY: 8, 4, 8 and 4 values.
    unsafe {
        _mm_storeu_si128(o.cast(), _mm256_castsi256_si128(first));
        _mm_storel_epi64(o.add(8).cast(), _mm256_castsi256_si128(second));
        _mm_storeu_si128(o.add(12).cast(), _mm256_extracti128_si256::<1>(first));
        _mm_storel_epi64(o.add(20).cast(), _mm256_extracti128_si256::<1>(second));
    }
}

/// Writes every second triple of 24 values of 32 bits, 12 in all.
///
/// # Safety
/// 48 bytes at `o` must be writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn even_triples_32<T>(o: *mut T, s0: __m256i, s1: __m256i, s2: __m256i) {
    let pick = |v: __m256i, lanes: [i32; 8]| {
        // SAFETY: both are 32 bytes of plain integers.
        _mm256_permutevar8x32_epi32(v, unsafe { std::mem::transmute::<[i32; 8], __m256i>(lanes) })
    };
    let first =
        _mm256_blend_epi32::<0xE0>(pick(s0, [0, 1, 2, 6, 7, 0, 0, 0]), pick(s1, [0, 0, 0, 0, 0, 0, 4, 5]));
    let second = _mm256_blend_epi32::<0x0E>(pick(s1, [6; 8]), pick(s2, [0, 2, 3, 4, 0, 0, 0, 0]));
    // SAFETY: 8 and 4 values.
    unsafe {
        store(o, first);
        _mm_storeu_si128(o.cast::<__m128i>().add(2), _mm256_castsi256_si128(second));
    }
}

/// Loads a register.
///
/// # Safety
/// 32 bytes at `p` must be readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(p: *const T) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// Stores a register.
///
/// # Safety
/// 32 bytes at `p` must be writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store<T>(p: *mut T, x: __m256i) {
    // SAFETY: the caller's.
    unsafe { _mm256_storeu_si256(p.cast(), x) }
}
