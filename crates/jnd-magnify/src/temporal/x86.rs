//! The ideal filter's two loops over bins with AVX2 and AVX-512. They are written out because the block's frames must
//! stay in registers while the bins go by, which the compiler does not find by itself.

use std::arch::x86_64::*;

use super::{BLOCK, LANES};

/// Defines both loops for one instruction set and type. `$w` values fit a register, `$sub` frames are held at a time.
macro_rules! kernels {
    ($project:ident, $synthesise:ident, $features:literal, $t:ty, $v:ty, $w:literal, $sub:literal,
     $load:ident, $store:ident, $set:ident, $add:ident, $mul:ident, $zero:ident, |$p:ident, $x:ident| $write:expr) => {
        /// See `project` in the parent: a full block.
        #[target_feature(enable = $features)]
        pub(super) fn $project(d: &[$t], cos: &[$t], sin: &[$t], acc: &mut [$t]) {
            let bins = cos.len() / BLOCK;
            let pad = d.len() / BLOCK;
            assert!(sin.len() == cos.len() && pad % LANES == 0 && acc.len() == pad * bins * 2);
            for i in (0..pad).step_by($w) {
                // Where in its chunk of lanes this register's values are.
                let base = (i / LANES) * bins * 2 * LANES + i % LANES;
                for half in (0..BLOCK).step_by($sub) {
                    let mut x = [$zero(); $sub];
                    for b in 0..$sub {
                        // SAFETY: row `half + b` of `d` begins at `(half + b) * pad`, and `i + $w <= pad`.
                        x[b] = unsafe { $load(d.as_ptr().add((half + b) * pad + i)) };
                    }
                    for k in 0..bins {
                        let at = base + k * 2 * LANES;
                        let (at, next) =
                            (acc.as_mut_ptr().wrapping_add(at), acc.as_mut_ptr().wrapping_add(at + LANES));
                        // SAFETY: chunk, bin and lane are in range, so that `$w` values are there at both places.
                        let mut c = unsafe { $load(at) };
                        // SAFETY: as above.
                        let mut s = unsafe { $load(next) };
                        let cos = &cos[k * BLOCK + half..][..$sub];
                        let sin = &sin[k * BLOCK + half..][..$sub];
                        for b in 0..$sub {
                            c = $add(c, $mul(x[b], $set(cos[b])));
                            s = $add(s, $mul(x[b], $set(sin[b])));
                        }
                        // SAFETY: as for the loads.
                        unsafe {
                            $store(at, c);
                            $store(next, s);
                        }
                    }
                }
            }
        }

        /// See `synthesise` in the parent.
        #[target_feature(enable = $features)]
        pub(super) fn $synthesise(acc: &[$t], cos: &[$t], sin: &[$t], out: &mut [f32]) {
            let bins = cos.len() / BLOCK;
            let pad = out.len() / BLOCK;
            assert!(sin.len() == cos.len() && pad % LANES == 0 && acc.len() == pad * bins * 2);
            for i in (0..pad).step_by($w) {
                let base = (i / LANES) * bins * 2 * LANES + i % LANES;
                for half in (0..BLOCK).step_by($sub) {
                    let mut f = [$zero(); $sub];
                    for k in 0..bins {
                        let at = base + k * 2 * LANES;
                        let (at, next) =
                            (acc.as_ptr().wrapping_add(at), acc.as_ptr().wrapping_add(at + LANES));
                        // SAFETY: as in the projection.
                        let c = unsafe { $load(at) };
                        // SAFETY: as in the projection.
                        let s = unsafe { $load(next) };
                        let cos = &cos[k * BLOCK + half..][..$sub];
                        let sin = &sin[k * BLOCK + half..][..$sub];
                        for b in 0..$sub {
                            f[b] = $add($add(f[b], $mul(c, $set(cos[b]))), $mul(s, $set(sin[b])));
                        }
                    }
                    for b in 0..$sub {
                        // SAFETY: row `half + b` of `out` begins at `(half + b) * pad`, and `i + $w <= pad`.
                        let $p = unsafe { out.as_mut_ptr().add((half + b) * pad + i) };
                        let $x = f[b];
                        // SAFETY: as above: `$w` values may be written.
                        unsafe { $write };
                    }
                }
            }
        }
    };
}

kernels!(
    project_f32_avx512,
    synthesise_f32_avx512,
    "avx512f,avx2",
    f32,
    __m512,
    16,
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_setzero_ps,
    |p, x| _mm512_storeu_ps(p, x)
);
kernels!(
    project_f64_avx512,
    synthesise_f64_avx512,
    "avx512f,avx2",
    f64,
    __m512d,
    8,
    16,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_setzero_pd,
    |p, x| _mm256_storeu_ps(p, _mm512_cvtpd_ps(x))
);
kernels!(
    project_f32_avx2,
    synthesise_f32_avx2,
    "avx2",
    f32,
    __m256,
    8,
    8,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_setzero_ps,
    |p, x| _mm256_storeu_ps(p, x)
);
kernels!(
    project_f64_avx2,
    synthesise_f64_avx2,
    "avx2",
    f64,
    __m256d,
    4,
    8,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_setzero_pd,
    |p, x| _mm_storeu_ps(p, _mm256_cvtpd_ps(x))
);
