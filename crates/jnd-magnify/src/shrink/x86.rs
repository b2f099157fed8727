//! Horizontal sums with AVX-512. Sums are formed at every pixel with shifted loads, then the even ones are picked by
//! permutes: cheaper than separating interleaved channels first.

use std::arch::x86_64::*;

/// Defines the inner part of the horizontal sums for one type of `$w` lanes. `f` sums five registers.
macro_rules! horizontal {
    ($(#[$doc:meta])* $name:ident, $features:literal, $t:ty, $v:ty, $w:literal, $load:ident, $store:ident,
     $permute:ident, $index:ty, |$p:ident, $x:ident| $half:expr,
     |$a:ident, $b:ident, $c:ident, $d:ident, $e:ident, $scale:ident| $sum:expr) => {
        $(#[$doc])*
        #[target_feature(enable = $features)]
        pub(super) fn $name<const C: usize>(v: &[$t], n: usize, $scale: f32, out: &mut [$t]) -> usize {
            assert!(v.len() >= super::padded(n, C) && out.len() >= n.div_ceil(2) * C && (1..=3).contains(&C));
            // Registers of sums in a block, and pixels that come out of it.
            let registers = if C == 3 { 3 } else { 2 };
            let pixels = registers * $w / (2 * C);
            // Only three channels have a second register of results, half full, from the second and third of sums.
            let (first, second): ([$index; $w], [$index; $w]) = const {
                let (mut first, mut second) = ([0; $w], [0; $w]);
                let mut o = 0;
                while o < $w {
                    first[o] = (2 * C * (o / C) + o % C) as $index;
                    if C == 3 {
                        let o2 = $w + o % ($w / 2);
                        second[o] = (2 * C * (o2 / C) + o2 % C - $w) as $index;
                    }
                    o += 1;
                }
                (first, second)
            };
            // SAFETY: the arrays hold a whole register each.
            let first: __m512i = unsafe { std::mem::transmute(first) };
            // SAFETY: as above.
            let second: __m512i = unsafe { std::mem::transmute(second) };
            let sum = |at: usize| {
                debug_assert!(at + 4 * C + $w <= v.len());
                let p = v.as_ptr().wrapping_add(at);
                // SAFETY: `i + pixels` is at most half the row, and the slack holds what a block reads beyond that.
                let [$a, $b, $c, $d, $e] = unsafe {
                    [$load(p), $load(p.add(C)), $load(p.add(2 * C)), $load(p.add(3 * C)), $load(p.add(4 * C))]
                };
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
                unsafe { $store(o, $permute(s0, first, s1)) };
                if C == 3 {
                    let s2 = sum(at + 2 * $w);
                    let $x = $permute(s1, second, s2);
                    let $p = o.wrapping_add($w);
                    // SAFETY: as above; half a register.
                    unsafe { $half };
                }
                i = if i < last { (i + pixels).min(last) } else { i + pixels };
            }
            i
        }
    };
}

horizontal!(
    /// Sums of 16-bit integers; how many pixels are done.
    u16_avx512, "avx512f,avx512bw,avx2", u16, __m512i, 32, load, store, _mm512_permutex2var_epi16, u16,
    |p, x| store_half(p, x),
    |a, b, c, d, e, _scale| {
        let near = _mm512_slli_epi16::<2>(_mm512_add_epi16(b, d));
        let middle = _mm512_mullo_epi16(c, _mm512_set1_epi16(6));
        _mm512_add_epi16(_mm512_add_epi16(_mm512_add_epi16(a, e), near), middle)
    }
);
horizontal!(
    /// Sums of 32-bit integers.
    u32_avx512, "avx512f,avx512bw,avx2", u32, __m512i, 16, load, store, _mm512_permutex2var_epi32, u32,
    |p, x| store_half(p, x),
    |a, b, c, d, e, _scale| {
        let near = _mm512_slli_epi32::<2>(_mm512_add_epi32(b, d));
        let middle = _mm512_mullo_epi32(c, _mm512_set1_epi32(6));
        _mm512_add_epi32(_mm512_add_epi32(_mm512_add_epi32(a, e), near), middle)
    }
);
horizontal!(
    /// Sums of floats, times `scale`.
    f32_avx512, "avx512f,avx512bw,avx2", f32, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps,
    _mm512_permutex2var_ps, u32,
    |p, x| _mm256_storeu_ps(p, _mm512_castps512_ps256(x)),
    |a, b, c, d, e, scale| {
        let near = _mm512_mul_ps(_mm512_set1_ps(4.0), _mm512_add_ps(b, d));
        let middle = _mm512_mul_ps(_mm512_set1_ps(6.0), c);
        let sum = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, e), near), middle);
        _mm512_mul_ps(sum, _mm512_set1_ps(scale))
    }
);

/// Loads a register of integers.
///
/// # Safety
/// 64 bytes at `p` must be readable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load<T>(p: *const T) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_loadu_si512(p.cast()) }
}

/// Stores a register of integers.
///
/// # Safety
/// 64 bytes at `p` must be writable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store<T>(p: *mut T, x: __m512i) {
    // SAFETY: the caller's.
    unsafe { _mm512_storeu_si512(p.cast(), x) }
}

/// Stores the lower half of a register of integers.
///
/// # Safety
/// 32 bytes at `p` must be writable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_half<T>(p: *mut T, x: __m512i) {
    // SAFETY: the caller's.
    unsafe { _mm256_storeu_si256(p.cast(), _mm512_castsi512_si256(x)) }
}
