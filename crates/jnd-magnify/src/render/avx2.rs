//! The last step with AVX2. Changes travel as two registers of 8 for 16 outputs, in the order in which shuffles and packs
//! work inside halves of registers: outputs 0 to 3 and 8 to 11 in the first, 4 to 7 and 12 to 15 in the second.

use std::arch::x86_64::*;

use super::Row;

/// Output of lane `l` of register `half` (0 or 1) of a group of 16.
const fn output(half: usize, l: usize) -> usize {
    l % 4 + l / 4 * 8 + 4 * half
}

/// For three channels: where 8 outputs of group `t` come from. First the value that the window of sums begins with, then
/// each lane's place in the window, then which lanes are odd sums.
const fn triple(t: usize, half: usize) -> (usize, [i32; 8], i32) {
    let mut at = [0; 8];
    let mut odd = 0;
    let mut base = usize::MAX;
    let mut l = 0;
    while l < 8 {
        let o = 16 * t + output(half, l);
        at[l] = o / 6 * 3 + o % 3;
        if o % 6 >= 3 {
            odd |= 1 << l;
        }
        if at[l] < base {
            base = at[l];
        }
        l += 1;
    }
    let mut lanes = [0; 8];
    let mut l = 0;
    while l < 8 {
        assert!(at[l] - base < 8);
        lanes[l] = (at[l] - base) as i32;
        l += 1;
    }
    (base, lanes, odd)
}

/// For one change to three channels: the pixels of 8 outputs of group `t`, in a window of 8 that begins at `4 t`.
const fn spread(t: usize, half: usize) -> [i32; 8] {
    let mut lanes = [0; 8];
    let mut l = 0;
    while l < 8 {
        lanes[l] = ((16 * t + output(half, l)) / 3 - 4 * t) as i32;
        l += 1;
    }
    lanes
}

#[inline]
#[target_feature(enable = "avx2")]
fn permuted(v: __m256, lanes: [i32; 8]) -> __m256 {
    // SAFETY: both are 32 bytes of plain integers.
    _mm256_permutevar8x32_ps(v, unsafe { std::mem::transmute::<[i32; 8], __m256i>(lanes) })
}

/// Even and odd sums of 8 values; `at` is the place of the pixel before the first.
#[inline]
#[target_feature(enable = "avx2")]
fn sums(delta: &[f32], at: usize, c: usize) -> (__m256, __m256) {
    debug_assert!(at + 2 * c + 8 <= delta.len());
    let p = delta.as_ptr().wrapping_add(at);
    // SAFETY: the padding holds what the callers' last block reads beyond the row.
    let (a, b, d) = unsafe { (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(c)), _mm256_loadu_ps(p.add(2 * c))) };
    let even = _mm256_add_ps(_mm256_add_ps(a, d), _mm256_mul_ps(_mm256_set1_ps(6.0), b));
    let odd = _mm256_mul_ps(_mm256_set1_ps(4.0), _mm256_add_ps(b, d));
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
    /// AVX2 must exist; `x` and `out` must hold 16 samples from `at` on.
    unsafe fn add(row: &Row<'_, Self>, at: usize, delta: [__m256; 2], out: &mut [Self]);
}

/// Integers between 0 and `max`, nearest to `x + delta`.
#[inline]
#[target_feature(enable = "avx2")]
fn rounded(x: __m256i, delta: __m256, max: f32) -> __m256i {
    // Not a number gives the second operand, 0.
    let y = _mm256_max_ps(_mm256_add_ps(_mm256_cvtepi32_ps(x), delta), _mm256_setzero_ps());
    _mm256_cvtps_epi32(_mm256_min_ps(y, _mm256_set1_ps(max)))
}

impl Lanes for u8 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add(row: &Row<'_, Self>, at: usize, [low, high]: [__m256; 2], out: &mut [Self]) {
        debug_assert!(at + 16 <= row.x.len() && at + 16 <= out.len());
        let zero = _mm256_setzero_si256();
        // SAFETY: the caller's.
        let x = unsafe { _mm256_cvtepu8_epi16(_mm_loadu_si128(row.x.as_ptr().add(at).cast())) };
        let low = rounded(_mm256_unpacklo_epi16(x, zero), low, row.max);
        let high = rounded(_mm256_unpackhi_epi16(x, zero), high, row.max);
        let y = _mm256_packs_epi32(low, high);
        let y = _mm_packus_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256::<1>(y));
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().add(at).cast(), y) };
    }
}

impl Lanes for u16 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add(row: &Row<'_, Self>, at: usize, [low, high]: [__m256; 2], out: &mut [Self]) {
        debug_assert!(at + 16 <= row.x.len() && at + 16 <= out.len());
        let shift = _mm_cvtsi32_si128(row.shift as i32);
        let zero = _mm256_setzero_si256();
        // SAFETY: the caller's.
        let x = unsafe { _mm256_loadu_si256(row.x.as_ptr().add(at).cast()) };
        let x = _mm256_srl_epi16(x, shift);
        let low = rounded(_mm256_unpacklo_epi16(x, zero), low, row.max);
        let high = rounded(_mm256_unpackhi_epi16(x, zero), high, row.max);
        let y = _mm256_sll_epi16(_mm256_packus_epi32(low, high), shift);
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
    #[target_feature(enable = "avx2")]
    unsafe fn add(_: &Row<'_, Self>, at: usize, [low, high]: [__m256; 2], out: &mut [Self]) {
        debug_assert!(at + 16 <= out.len());
        let p = out.as_mut_ptr().wrapping_add(at);
        // SAFETY: the caller's.
        unsafe {
            _mm256_storeu_ps(p, _mm256_permute2f128_ps::<0x20>(low, high));
            _mm256_storeu_ps(p.add(8), _mm256_permute2f128_ps::<0x31>(low, high));
        }
    }
}

/// Enlarges and adds pixels `2j` and `2j + 1` for the first j; how many are done.
#[target_feature(enable = "avx2")]
pub(crate) fn enlarged<S: Lanes, const C: usize, const SPREAD: bool>(
    row: Row<'_, S>,
    out: &mut [S],
) -> usize {
    let Row { delta, pairs, x, .. } = row;
    let channels = if SPREAD { 3 } else { C };
    let n = 2 * pairs * channels;
    assert!(delta.len() >= crate::enlarge::padded(pairs, C) && S::holds(x, n) && out.len() >= n);
    let pixels = if C == 3 { 8 } else { 8 / C };
    // The last block begins here, and may do some pixels again.
    let Some(last) = pairs.checked_sub(pixels) else { return 0 };
    let mut j = 0;
    // SAFETY (of the additions below): `j + pixels <= pairs`, so that all of these outputs exist.
    while j <= last {
        let at = 2 * j * channels;
        if C == 3 {
            /// Changes of 8 outputs: both kinds of sums of a window, each output's picked.
            macro_rules! eight {
                ($t:literal, $half:literal) => {{
                    const FROM: (usize, [i32; 8], i32) = triple($t, $half);
                    let (even, odd) = sums(delta, j * C + FROM.0, C);
                    _mm256_blend_ps::<{ FROM.2 }>(permuted(even, FROM.1), permuted(odd, FROM.1))
                }};
            }
            // SAFETY: see above.
            unsafe {
                S::add(&row, at, [eight!(0, 0), eight!(0, 1)], out);
                S::add(&row, at + 16, [eight!(1, 0), eight!(1, 1)], out);
                S::add(&row, at + 32, [eight!(2, 0), eight!(2, 1)], out);
            }
        } else {
            let (even, odd) = sums(delta, j * C, C);
            let [low, high] = if C == 1 {
                [_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd)]
            } else {
                let [e, o] = [_mm256_castps_pd(even), _mm256_castps_pd(odd)];
                [_mm256_castpd_ps(_mm256_unpacklo_pd(e, o)), _mm256_castpd_ps(_mm256_unpackhi_pd(e, o))]
            };
            if SPREAD {
                let first = _mm256_permute2f128_ps::<0x20>(low, high);
                let last = _mm256_permute2f128_ps::<0x31>(low, high);
                let between = _mm256_permute2f128_ps::<0x21>(first, last);
                let [a, b] = const { [spread(0, 0), spread(0, 1)] }.map(|l| permuted(first, l));
                let [c, d] = const { [spread(1, 0), spread(1, 1)] }.map(|l| permuted(between, l));
                let [e, f] = const { [spread(2, 0), spread(2, 1)] }.map(|l| permuted(last, l));
                // SAFETY: see above.
                unsafe {
                    S::add(&row, at, [a, b], out);
                    S::add(&row, at + 16, [c, d], out);
                    S::add(&row, at + 32, [e, f], out);
                }
            } else {
                // SAFETY: see above.
                unsafe { S::add(&row, at, [low, high], out) };
            }
        }
        j = if j < last { (j + pixels).min(last) } else { j + pixels };
    }
    j
}

/// Adds a row of changes as it is; how many samples are done.
#[target_feature(enable = "avx2")]
pub(super) fn plain<S: Lanes>(row: Row<'_, S>, out: &mut [S]) -> usize {
    let n = row.x.len().min(out.len()).min(row.delta.len());
    let mut i = 0;
    while i + 16 <= n {
        // SAFETY: 16 values are there in all three.
        unsafe {
            let p = row.delta.as_ptr().add(i);
            let (a, b) = (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8)));
            let delta = [_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b)];
            S::add(&row, i, delta, out);
        }
        // The last block may do some samples again.
        i = if i + 16 < n && i + 32 > n { n - 16 } else { i + 16 };
    }
    i
}
