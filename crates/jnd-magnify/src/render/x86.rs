//! The last step with AVX-512: the row of changes is enlarged horizontally and added to the frame in registers.

use std::arch::x86_64::*;

use super::Row;

/// Which lanes of the even sums (0 to 15) and of the odd ones (16 to 31) 16 outputs are, from output `start` of a
/// group of sums on.
const fn lanes(c: usize, start: usize) -> [u32; 16] {
    let mut index = [0; 16];
    let mut l = 0;
    while l < 16 {
        let o = start + l;
        let (group, r) = (o / (2 * c), o % (2 * c));
        index[l] = if r < c { c * group + r } else { 16 + c * group + r - c } as u32;
        l += 1;
    }
    index
}

/// Lanes of 16 outputs of three equal channels, from output `start` on.
const fn spread(start: usize) -> [u32; 16] {
    let mut index = [0; 16];
    let mut l = 0;
    while l < 16 {
        index[l] = ((start + l) / 3 % 16) as u32;
        l += 1;
    }
    index
}

#[inline]
#[target_feature(enable = "avx512f")]
fn index(lanes: [u32; 16]) -> __m512i {
    // SAFETY: both are 64 bytes of plain integers.
    unsafe { std::mem::transmute(lanes) }
}

/// Even and odd sums of 16 values; `at` is the place of the pixel before the first.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums(delta: &[f32], at: usize, c: usize) -> (__m512, __m512) {
    debug_assert!(at + 2 * c + 16 <= delta.len());
    let p = delta.as_ptr().wrapping_add(at);
    // SAFETY: the padding holds what the callers' last block reads beyond the row.
    let (a, b, d) = unsafe { (_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(c)), _mm512_loadu_ps(p.add(2 * c))) };
    let even = _mm512_add_ps(_mm512_add_ps(a, d), _mm512_mul_ps(_mm512_set1_ps(6.0), b));
    let odd = _mm512_mul_ps(_mm512_set1_ps(4.0), _mm512_add_ps(b, d));
    (even, odd)
}

/// Samples of one width: how 16 of them are read and written.
pub(crate) trait Lanes: Copy {
    /// Whether the frame's row holds `n` samples, or is not needed.
    fn holds(x: &[Self], n: usize) -> bool {
        x.len() >= n
    }
    /// Adds 16 changes to the samples at `at`.
    ///
    /// # Safety
    /// AVX-512 (F, BW, VL) must exist; `x` and `out` must hold 16 samples from `at` on.
    unsafe fn add(row: &Row<'_, Self>, at: usize, delta: __m512, out: &mut [Self]);
}

impl Lanes for u8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2")]
    unsafe fn add(row: &Row<'_, Self>, at: usize, delta: __m512, out: &mut [Self]) {
        debug_assert!(at + 16 <= row.x.len() && at + 16 <= out.len());
        // SAFETY: the caller's.
        let x = unsafe { _mm_loadu_si128(row.x.as_ptr().add(at).cast()) };
        let x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
        // Not a number gives the second operand, 0. Too large a value becomes 2^31, which the narrowing saturates.
        let y = _mm512_max_ps(_mm512_add_ps(x, delta), _mm512_setzero_ps());
        let y = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(y));
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().add(at).cast(), y) };
    }
}

impl Lanes for u16 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2")]
    unsafe fn add(row: &Row<'_, Self>, at: usize, delta: __m512, out: &mut [Self]) {
        debug_assert!(at + 16 <= row.x.len() && at + 16 <= out.len());
        let shift = _mm_cvtsi32_si128(row.shift as i32);
        // SAFETY: the caller's.
        let x = unsafe { _mm256_loadu_si256(row.x.as_ptr().add(at).cast()) };
        let x = _mm512_srl_epi32(_mm512_cvtepu16_epi32(x), shift);
        let y = _mm512_max_ps(_mm512_add_ps(_mm512_cvtepi32_ps(x), delta), _mm512_setzero_ps());
        let y = _mm512_cvtps_epi32(_mm512_min_ps(y, _mm512_set1_ps(row.max)));
        let y = _mm512_cvtepi32_epi16(_mm512_sll_epi32(y, shift));
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), y) };
    }
}

/// Changes that are only enlarged, not added to anything.
impl Lanes for f32 {
    fn holds(_: &[Self], _: usize) -> bool {
        true
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2")]
    unsafe fn add(_: &Row<'_, Self>, at: usize, delta: __m512, out: &mut [Self]) {
        debug_assert!(at + 16 <= out.len());
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(at), delta) };
    }
}

/// Enlarges and adds pixels `2j` and `2j + 1` for the first j; how many are done.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2")]
pub(crate) fn enlarged<S: Lanes, const C: usize, const SPREAD: bool>(
    row: Row<'_, S>,
    out: &mut [S],
) -> usize {
    let Row { delta, pairs, x, .. } = row;
    let channels = if SPREAD { 3 } else { C };
    let n = 2 * pairs * channels;
    assert!(delta.len() >= crate::enlarge::padded(pairs, C) && S::holds(x, n) && out.len() >= n);
    let pixels = if C == 3 { 8 } else { 16 / C };
    // The last block begins here, and may do some pixels again.
    let Some(last) = pairs.checked_sub(pixels) else { return 0 };
    let mut j = 0;
    // SAFETY (of the additions below): `j + pixels <= pairs`, so that all of these outputs exist.
    if C == 3 {
        // 24 values give 48 outputs; the third set of sums begins 15 values on.
        while j <= last {
            for (t, base, start) in [(0, 0, 0), (1, 6, 4), (2, 15, 2)] {
                let (even, odd) = sums(delta, j * C + base, C);
                let lanes = match start {
                    0 => index(const { lanes(3, 0) }),
                    4 => index(const { lanes(3, 4) }),
                    _ => index(const { lanes(3, 2) }),
                };
                let d = _mm512_permutex2var_ps(even, lanes, odd);
                // SAFETY: see above.
                unsafe { S::add(&row, 2 * j * C + 16 * t, d, out) };
            }
            j = if j < last { (j + pixels).min(last) } else { j + pixels };
        }
    } else {
        // 16 values give 32 outputs.
        while j <= last {
            let (even, odd) = sums(delta, j * C, C);
            let low = _mm512_permutex2var_ps(even, index(const { lanes(C, 0) }), odd);
            let high = _mm512_permutex2var_ps(even, index(const { lanes(C, 16) }), odd);
            let at = 2 * j * channels;
            if SPREAD {
                for (i, d) in [low, high].into_iter().enumerate() {
                    for t in 0..3 {
                        let lanes = match t {
                            0 => index(const { spread(0) }),
                            1 => index(const { spread(16) }),
                            _ => index(const { spread(32) }),
                        };
                        // SAFETY: see above.
                        unsafe { S::add(&row, at + 48 * i + 16 * t, _mm512_permutexvar_ps(lanes, d), out) };
                    }
                }
            } else {
                // SAFETY: see above.
                unsafe {
                    S::add(&row, at, low, out);
                    S::add(&row, at + 16, high, out);
                }
            }
            j = if j < last { (j + pixels).min(last) } else { j + pixels };
        }
    }
    j
}

/// Adds a row of changes as it is; how many samples are done.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2")]
pub(super) fn plain<S: Lanes>(row: Row<'_, S>, out: &mut [S]) -> usize {
    let n = row.x.len().min(out.len()).min(row.delta.len());
    let mut i = 0;
    while i + 16 <= n {
        // SAFETY: 16 values are there in all three.
        unsafe {
            let d = _mm512_loadu_ps(row.delta.as_ptr().add(i));
            S::add(&row, i, d, out);
        }
        // The last block may do some samples again.
        i = if i + 16 < n && i + 32 > n { n - 16 } else { i + 16 };
    }
    i
}
