//! Horizontal sums with NEON. Loads that separate give even and odd pixels of one and two channels; with three, sums are
//! formed at every pixel and a table look-up picks the even ones.

use std::arch::aarch64::*;

/// Bytes of every second triple of values of `$size` bytes, from the `$at`th on.
const fn triples(size: usize, at: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        let o = at + i / size;
        let from = (o / 3 * 6 + o % 3) * size + i % size;
        // Beyond the table a look-up gives 0; what is there is not stored.
        bytes[i] = if from < 48 { from as u8 } else { 255 };
        i += 1;
    }
    bytes
}

/// Defines the inner part of the horizontal sums for one type of `$w` lanes.
macro_rules! horizontal {
    ($(#[$doc:meta])* $name:ident, $t:ty, $w:literal, $load:ident, $store:ident,
     one: $one:ident, two: $two:ident as $pair:ty, $from_pair:ident, table: $to_bytes:ident, $from_bytes:ident,
     |$a:ident, $b:ident, $c:ident, $d:ident, $e:ident, $scale:ident| $sum:expr) => {
        $(#[$doc])*
        #[target_feature(enable = "neon")]
        pub(super) fn $name<const C: usize>(v: &[$t], n: usize, $scale: f32, out: &mut [$t]) -> usize {
            assert!(v.len() >= super::padded(n, C) && out.len() >= n.div_ceil(2) * C && (1..=3).contains(&C));
            // Pixels that come out of a block.
            let pixels = if C == 3 { $w / 2 } else { $w / C };
            // The last block begins here; it may do some pixels again.
            let Some(last) = n.div_ceil(2).checked_sub(pixels) else { return 0 };
            let mut i = 0;
            while i <= last {
                let (p, o) = (v.as_ptr().wrapping_add(2 * i * C), out.as_mut_ptr().wrapping_add(i * C));
                debug_assert!((i + pixels) * C <= out.len());
                debug_assert!(2 * (i + pixels) * C + 4 * C <= v.len());
                // SAFETY: the row holds the pixels from which all of these are summed, so that they exist, and the
                // slack holds what loads read beyond them.
                unsafe {
                    match C {
                        1 => {
                            let [x, y, z] = [$one(p), $one(p.add(2)), $one(p.add(4))];
                            let ($a, $b, $c, $d, $e) = (x.0, x.1, y.0, y.1, z.0);
                            $store(o, $sum);
                        }
                        2 => {
                            let at = |k: usize| $two(p.add(k).cast::<$pair>());
                            let [x, y, z] = [at(0), at(4), at(8)];
                            let [$a, $b, $c, $d, $e] = [x.0, x.1, y.0, y.1, z.0].map(|v| $from_pair(v));
                            $store(o, $sum);
                        }
                        _ => {
                            let sum = |at: usize| {
                                let [$a, $b, $c, $d, $e] =
                                    [0, 3, 6, 9, 12].map(|k| $load(p.add(at + k)));
                                $to_bytes($sum)
                            };
                            let all = uint8x16x3_t(sum(0), sum($w), sum(2 * $w));
                            let [first, second] =
                                const { [triples(16 / $w, 0), triples(16 / $w, $w)] }.map(|k| {
                                    vqtbl3q_u8(all, vld1q_u8(k.as_ptr()))
                                });
                            $store(o, $from_bytes(first));
                            // Half a register.
                            vst1_u8(o.add($w).cast(), vget_low_u8(second));
                        }
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
    u16_rows, u16, 8, vld1q_u16, vst1q_u16,
    one: vld2q_u16, two: vld2q_u32 as u32, vreinterpretq_u16_u32,
    table: vreinterpretq_u8_u16, vreinterpretq_u16_u8,
    |a, b, c, d, e, _scale| {
        let near = vshlq_n_u16::<2>(vaddq_u16(b, d));
        vaddq_u16(vaddq_u16(vaddq_u16(a, e), near), vmulq_n_u16(c, 6))
    }
);
horizontal!(
    /// Sums of 32-bit integers.
    u32_rows, u32, 4, vld1q_u32, vst1q_u32,
    one: vld2q_u32, two: vld2q_u64 as u64, vreinterpretq_u32_u64,
    table: vreinterpretq_u8_u32, vreinterpretq_u32_u8,
    |a, b, c, d, e, _scale| {
        let near = vshlq_n_u32::<2>(vaddq_u32(b, d));
        vaddq_u32(vaddq_u32(vaddq_u32(a, e), near), vmulq_n_u32(c, 6))
    }
);
horizontal!(
    /// Sums of floats, times `scale`.
    f32_rows, f32, 4, vld1q_f32, vst1q_f32,
    one: vld2q_f32, two: vld2q_u64 as u64, vreinterpretq_f32_u64,
    table: vreinterpretq_u8_f32, vreinterpretq_f32_u8,
    |a, b, c, d, e, scale| {
        let near = vmulq_n_f32(vaddq_f32(b, d), 4.0);
        vmulq_n_f32(vaddq_f32(vaddq_f32(vaddq_f32(a, e), near), vmulq_n_f32(c, 6.0)), scale)
    }
);
