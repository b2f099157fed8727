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

const fn registers(off: usize) -> [usize; 3] {
    [register(off, 0), register(off, 1), register(off, 2)]
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

/// Multiplies the pixels of a row by a matrix, in place; how many values are done. The channels that are R, G and B are
/// known to the compiler, so that every register is.
#[target_feature(enable = "avx512f,avx2")]
pub(super) fn matrix<const R: usize, const G: usize, const B: usize>(
    x: &mut [f32],
    a: [[f32; 3]; 3],
) -> usize {
    let order = [R, G, B];
    // Coefficient of input j for the channel of every lane, and where the input is.
    let mut k = [[_mm512_setzero_ps(); 3]; 3];
    let mut index = [[_mm512_setzero_si512(); 3]; 3];
    for j in 0..3 {
        for t in 0..3 {
            let lanes: [f32; 16] = std::array::from_fn(|l| {
                let channel = (16 * t + l) % 3;
                a[order.iter().position(|&o| o == channel).unwrap_or(0)][j]
            });
            // SAFETY: both are 16 floats.
            k[j][t] = unsafe { std::mem::transmute::<[f32; 16], __m512>(lanes) };
            // SAFETY: both are 64 bytes of plain integers.
            index[j][t] = unsafe { std::mem::transmute::<[u32; 16], __m512i>(LANES[order[j]][t]) };
        }
    }
    let mut done = 0;
    for block in x.chunks_exact_mut(48) {
        let p = block.as_mut_ptr();
        // SAFETY: the block holds three registers.
        let v = unsafe { [_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(16)), _mm512_loadu_ps(p.add(32))] };
        for t in 0..3 {
            let input: [__m512; 3] = std::array::from_fn(|j| {
                let first = const { [registers(R), registers(G), registers(B)] }[j][t];
                _mm512_permutex2var_ps(v[first], index[j][t], v[first + 1])
            });
            let rg = _mm512_add_ps(_mm512_mul_ps(k[0][t], input[0]), _mm512_mul_ps(k[1][t], input[1]));
            let y = _mm512_add_ps(rg, _mm512_mul_ps(k[2][t], input[2]));
            // SAFETY: register `t` of the block.
            unsafe { _mm512_storeu_ps(p.add(16 * t), y) };
        }
        done += 48;
    }
    done
}
