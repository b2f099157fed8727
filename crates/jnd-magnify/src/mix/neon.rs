//! Mixing interleaved channels with NEON, whose loads and stores separate them.

use std::arch::aarch64::*;

/// `(k0 * r + k1 * g) + k2 * b`.
#[inline]
#[target_feature(enable = "neon")]
fn mixed(k: [f32; 3], r: float32x4_t, g: float32x4_t, b: float32x4_t) -> float32x4_t {
    vaddq_f32(vaddq_f32(vmulq_n_f32(r, k[0]), vmulq_n_f32(g, k[1])), vmulq_n_f32(b, k[2]))
}

/// Multiplies the pixels of a row by a matrix, in place; how many values are done.
#[target_feature(enable = "neon")]
pub(super) fn matrix<const R: usize, const G: usize, const B: usize>(
    x: &mut [f32],
    a: [[f32; 3]; 3],
) -> usize {
    let mut done = 0;
    for block in x.chunks_exact_mut(12) {
        // SAFETY: the block holds four pixels.
        let v = unsafe { vld3q_f32(block.as_ptr()) };
        let v = [v.0, v.1, v.2];
        let mut o = v;
        for (i, to) in [R, G, B].into_iter().enumerate() {
            o[to] = mixed(a[i], v[R], v[G], v[B]);
        }
        // SAFETY: as above.
        unsafe { vst3q_f32(block.as_mut_ptr(), float32x4x3_t(o[0], o[1], o[2])) };
        done += 12;
    }
    done
}

/// Luma of interleaved pixels of 16-bit integers; how many pixels are done.
#[target_feature(enable = "neon")]
pub(super) fn luma_u16(x: &[u16], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
    let mut done = 0;
    for (x, o) in x.chunks_exact(24).zip(out.chunks_exact_mut(8)) {
        // SAFETY: the chunk holds 8 pixels.
        let v = unsafe { vld3q_u16(x.as_ptr()) };
        let v = at.map(|c| [v.0, v.1, v.2][c]);
        let [r, g, b] = v.map(|v| vcvtq_f32_u32(vmovl_u16(vget_low_u16(v))));
        // SAFETY: the chunk holds 8 values.
        unsafe { vst1q_f32(o.as_mut_ptr(), mixed(y, r, g, b)) };
        let [r, g, b] = v.map(|v| vcvtq_f32_u32(vmovl_high_u16(v)));
        // SAFETY: as above.
        unsafe { vst1q_f32(o.as_mut_ptr().add(4), mixed(y, r, g, b)) };
        done += 8;
    }
    done
}

/// Luma of interleaved pixels of 32-bit integers; how many pixels are done.
#[target_feature(enable = "neon")]
pub(super) fn luma_u32(x: &[u32], at: [usize; 3], y: [f32; 3], out: &mut [f32]) -> usize {
    let mut done = 0;
    for (x, o) in x.chunks_exact(12).zip(out.chunks_exact_mut(4)) {
        // SAFETY: the chunk holds four pixels.
        let v = unsafe { vld3q_u32(x.as_ptr()) };
        let [r, g, b] = at.map(|c| vcvtq_f32_u32([v.0, v.1, v.2][c]));
        // SAFETY: the chunk holds four values.
        unsafe { vst1q_f32(o.as_mut_ptr(), mixed(y, r, g, b)) };
        done += 4;
    }
    done
}
