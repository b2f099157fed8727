//! Mixing interleaved channels with AVX-512: 16 pixels at a time.

use std::arch::x86_64::*;

/// Which of 48 values are channel `off` of the pixels of outputs `16 t` to `16 t + 15`, counted from register `from`.
const fn lanes(off: usize, t: usize, from: usize) -> [u32; 16] {
    let mut index = [0; 16];
    let mut l = 0;
    while l < 16 {
        index[l] = ((16 * t + l) / 3 * 3 + off - 16 * from) as u32;
        l += 1;
    }
    index
}

/// The first of the two neighbouring registers that hold them.
const fn register(off: usize, t: usize) -> usize {
    let first = (16 * t / 3 * 3 + off) / 16;
    if first > 1 { 1 } else { first }
}

const LANES: [[[u32; 16]; 3]; 3] = {
    let mut all = [[[0; 16]; 3]; 3];
    let mut off = 0;
    while off < 3 {
        let mut t = 0;
        while t < 3 {
            all[off][t] = lanes(off, t, register(off, t));
            t += 1;
        }
        off += 1;
    }
    all
};

/// Multiplies the pixels of a row by a matrix, in place; how many values are done.
#[target_feature(enable = "avx512f,avx2")]
pub(super) fn matrix(x: &mut [f32], order: [usize; 3], a: [[f32; 3]; 3]) -> usize {
    // Coefficient of input j for the channel of every lane.
    let mut k = [[_mm512_setzero_ps(); 3]; 3];
    for (j, k) in k.iter_mut().enumerate() {
        for (t, k) in k.iter_mut().enumerate() {
            let lanes: [f32; 16] = std::array::from_fn(|l| {
                let channel = (16 * t + l) % 3;
                a[order.iter().position(|&o| o == channel).unwrap_or(0)][j]
            });
            // SAFETY: both are 16 floats.
            *k = unsafe { std::mem::transmute::<[f32; 16], __m512>(lanes) };
        }
    }
    let mut done = 0;
    for block in x.chunks_exact_mut(48) {
        let p = block.as_mut_ptr();
        // SAFETY: the block holds three registers.
        let v = unsafe { [_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(16)), _mm512_loadu_ps(p.add(32))] };
        for t in 0..3 {
            let mut input = [_mm512_setzero_ps(); 3];
            for (j, input) in input.iter_mut().enumerate() {
                let off = order[j];
                // SAFETY: both are 64 bytes of plain integers.
                let lanes = unsafe { std::mem::transmute::<[u32; 16], __m512i>(LANES[off][t]) };
                let first = register(off, t);
                *input = _mm512_permutex2var_ps(v[first], lanes, v[first + 1]);
            }
            let rg = _mm512_add_ps(_mm512_mul_ps(k[0][t], input[0]), _mm512_mul_ps(k[1][t], input[1]));
            let y = _mm512_add_ps(rg, _mm512_mul_ps(k[2][t], input[2]));
            // SAFETY: register `t` of the block.
            unsafe { _mm512_storeu_ps(p.add(16 * t), y) };
        }
        done += 48;
    }
    done
}
