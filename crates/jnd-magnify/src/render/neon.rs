//! The last step with NEON: 8 pixels of a row at a time, each channel in registers of its own.

use std::arch::aarch64::*;

use super::Row;

/// Changes of 8 pixels of one channel.
type Eight = [float32x4_t; 2];

/// Samples of one width: how 8 pixels of them are read and written.
pub(crate) trait Lanes: Copy {
    /// Whether the frame's row holds `n` samples, or is not needed.
    fn holds(x: &[Self], n: usize) -> bool {
        x.len() >= n
    }
    /// Adds the changes of 8 pixels of `C` channels to the samples at `at`.
    ///
    /// # Safety
    /// NEON must exist; `x` and `out` must hold `8 C` samples from `at` on.
    unsafe fn add<const C: usize>(row: &Row<'_, Self>, at: usize, delta: [Eight; 3], out: &mut [Self]);
}

/// The nearest integers to `x + delta` between 0 and 65,535; not a number gives 0.
#[inline]
#[target_feature(enable = "neon")]
fn rounded(x: uint16x8_t, delta: Eight) -> uint16x8_t {
    let low = vaddq_f32(vcvtq_f32_u32(vmovl_u16(vget_low_u16(x))), delta[0]);
    let high = vaddq_f32(vcvtq_f32_u32(vmovl_high_u16(x)), delta[1]);
    // Both conversions saturate.
    vcombine_u16(vqmovun_s32(vcvtnq_s32_f32(low)), vqmovun_s32(vcvtnq_s32_f32(high)))
}

impl Lanes for u8 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add<const C: usize>(row: &Row<'_, Self>, at: usize, delta: [Eight; 3], out: &mut [Self]) {
        debug_assert!(at + 8 * C <= row.x.len() && at + 8 * C <= out.len());
        let (x, o) = (row.x.as_ptr().wrapping_add(at), out.as_mut_ptr().wrapping_add(at));
        let one = |x: uint8x8_t, d: Eight| vqmovn_u16(rounded(vmovl_u8(x), d));
        let [r, g, b] = delta;
        // SAFETY: the caller's.
        unsafe {
            match C {
                1 => vst1_u8(o, one(vld1_u8(x), r)),
                2 => {
                    let x = vld2_u8(x);
                    vst2_u8(o, uint8x8x2_t(one(x.0, r), one(x.1, g)));
                }
                _ => {
                    let x = vld3_u8(x);
                    vst3_u8(o, uint8x8x3_t(one(x.0, r), one(x.1, g), one(x.2, b)));
                }
            }
        }
    }
}

impl Lanes for u16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add<const C: usize>(row: &Row<'_, Self>, at: usize, delta: [Eight; 3], out: &mut [Self]) {
        debug_assert!(at + 8 * C <= row.x.len() && at + 8 * C <= out.len());
        let (x, o) = (row.x.as_ptr().wrapping_add(at), out.as_mut_ptr().wrapping_add(at));
        let (up, down) = (vdupq_n_s16(row.shift as i16), vdupq_n_s16(-(row.shift as i16)));
        let max = vdupq_n_u16(row.max as u16);
        let one = |x: uint16x8_t, d: Eight| vshlq_u16(vminq_u16(rounded(vshlq_u16(x, down), d), max), up);
        let [r, g, b] = delta;
        // SAFETY: the caller's.
        unsafe {
            match C {
                1 => vst1q_u16(o, one(vld1q_u16(x), r)),
                2 => {
                    let x = vld2q_u16(x);
                    vst2q_u16(o, uint16x8x2_t(one(x.0, r), one(x.1, g)));
                }
                _ => {
                    let x = vld3q_u16(x);
                    vst3q_u16(o, uint16x8x3_t(one(x.0, r), one(x.1, g), one(x.2, b)));
                }
            }
        }
    }
}

/// Changes that are only enlarged, not added to anything.
impl Lanes for f32 {
    fn holds(_: &[Self], _: usize) -> bool {
        true
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add<const C: usize>(_: &Row<'_, Self>, at: usize, delta: [Eight; 3], out: &mut [Self]) {
        debug_assert!(at + 8 * C <= out.len());
        let [r, g, b] = delta;
        for i in 0..2 {
            let o = out.as_mut_ptr().wrapping_add(at + 4 * C * i);
            // SAFETY: the caller's.
            unsafe {
                match C {
                    1 => vst1q_f32(o, r[i]),
                    2 => vst2q_f32(o, float32x4x2_t(r[i], g[i])),
                    _ => vst3q_f32(o, float32x4x3_t(r[i], g[i], b[i])),
                }
            }
        }
    }
}

/// Four pixels of `C` channels.
///
/// # Safety
/// `4 C` values must be readable at `p`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn pixels<const C: usize>(p: *const f32) -> [float32x4_t; 3] {
    // SAFETY: the caller's.
    unsafe {
        match C {
            1 => [vld1q_f32(p); 3],
            2 => {
                let v = vld2q_f32(p);
                [v.0, v.1, v.1]
            }
            _ => {
                let v = vld3q_f32(p);
                [v.0, v.1, v.2]
            }
        }
    }
}

/// Enlarges and adds pixels `2j` and `2j + 1` for the first j; how many are done.
#[target_feature(enable = "neon")]
pub(crate) fn enlarged<S: Lanes, const C: usize, const SPREAD: bool>(
    row: Row<'_, S>,
    out: &mut [S],
) -> usize {
    let Row { delta, pairs, x, .. } = row;
    let channels = if SPREAD { 3 } else { C };
    let n = 2 * pairs * channels;
    assert!(delta.len() >= crate::enlarge::padded(pairs, C) && S::holds(x, n) && out.len() >= n);
    // The last block of four begins here, and may do some pixels again.
    let Some(last) = pairs.checked_sub(4) else { return 0 };
    let mut j = 0;
    while j <= last {
        let p = delta.as_ptr().wrapping_add(j * C);
        // SAFETY: the row has a pixel before its first and one after its last.
        let [a, b, d] = [0, 1, 2].map(|k| unsafe { pixels::<C>(p.add(k * C)) });
        let wide: [Eight; 3] = std::array::from_fn(|c| {
            let even = vaddq_f32(vaddq_f32(a[c], d[c]), vmulq_n_f32(b[c], 6.0));
            let odd = vmulq_n_f32(vaddq_f32(b[c], d[c]), 4.0);
            [vzip1q_f32(even, odd), vzip2q_f32(even, odd)]
        });
        let at = 2 * j * channels;
        // SAFETY: `j + 4 <= pairs`, so that all of these outputs exist.
        unsafe {
            if SPREAD {
                S::add::<3>(&row, at, [wide[0]; 3], out);
            } else {
                S::add::<C>(&row, at, wide, out);
            }
        }
        j = if j < last { (j + 4).min(last) } else { j + 4 };
    }
    j
}

/// Adds a row of changes as it is; how many samples are done.
#[target_feature(enable = "neon")]
pub(super) fn plain<S: Lanes>(row: Row<'_, S>, out: &mut [S]) -> usize {
    let n = row.x.len().min(out.len()).min(row.delta.len());
    let mut i = 0;
    while i + 8 <= n {
        // SAFETY: 8 values are there in all three.
        unsafe {
            let p = row.delta.as_ptr().add(i);
            S::add::<1>(&row, i, [[vld1q_f32(p), vld1q_f32(p.add(4))]; 3], out);
        }
        // The last block may do some samples again.
        i = if i + 8 < n && i + 16 > n { n - 8 } else { i + 8 };
    }
    i
}
