//! Motion in single precision: two blurred planes, and the mean magnitude of their difference.

use jnd_video::simd::{Isa, Level};
use jnd_video::{Plane, Sample};

use crate::motion::{blend, least};
use crate::options::FloatMotionOptions;
use crate::plane::{Conversion, reflect};
use crate::speed::prescale::{Method, Scaler, scaled_side};

/// Least side of every plane that is compared.
pub const MIN_SIDE: usize = 3;

/// Blur taps for `motion_filter_size`. Size 3 is run with a zero on both sides, which adds exact zeros.
pub fn taps(filter_size: i64) -> [f32; 5] {
    match filter_size {
        1 => [0.0, 0.0, 1.0, 0.0, 0.0],
        3 => [0, 0x3e2a_5f20, 0x3f2a_d070, 0x3e2a_5f20, 0].map(f32::from_bits),
        _ => [0x3d5f_2f87, 0x3e7a_0feb, 0x3ece_2434, 0x3e7a_0feb, 0x3d5f_2f87].map(f32::from_bits),
    }
}

/// Blurs a plane: columns, then rows, each sum from 0 in the order of the taps, borders reflected. The definition.
pub fn blur<T: Sample>(plane: Plane<'_, T>, conversion: Conversion, taps: &[f32; 5], out: &mut [f32]) {
    let (w, h) = (plane.row_len(), plane.height());
    let mut column = vec![0.0f32; w];
    for (y, out) in out.chunks_exact_mut(w).take(h).enumerate() {
        for (x, c) in column.iter_mut().enumerate() {
            let mut acc = 0.0f32;
            for (k, &t) in taps.iter().enumerate() {
                acc += t * conversion.apply(plane.row(reflect(y as isize - 2 + k as isize, h))[x]);
            }
            *c = acc;
        }
        for (x, o) in out.iter_mut().enumerate() {
            let mut acc = 0.0f32;
            for (k, &t) in taps.iter().enumerate() {
                acc += t * column[reflect(x as isize - 2 + k as isize, w)];
            }
            *o = acc;
        }
    }
}

/// Mean magnitude of the difference of two planes: one sum a row from left to right, the rows' sums from top to
/// bottom. The definition.
pub fn mean_difference(a: &[f32], b: &[f32], w: usize, h: usize) -> f32 {
    let mut total = 0.0f32;
    for (a, b) in a.chunks_exact(w).zip(b.chunks_exact(w)).take(h) {
        let mut row = 0.0f32;
        for (a, b) in a.iter().zip(b) {
            row += (a - b).abs();
        }
        total += row;
    }
    total / (w * h) as f32
}

/// Storage that one thread reuses from plane to plane.
#[derive(Debug, Default)]
pub struct Scratch {
    rows: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
}

/// Score of a pair of planes.
pub fn plane_score<T: Sample>(
    level: Level,
    previous: Plane<'_, T>,
    current: Plane<'_, T>,
    conversion: Conversion,
    options: &FloatMotionOptions,
    scratch: &mut Scratch,
) -> f32 {
    let taps = taps(options.filter_size);
    if !options.add_scale1 {
        return blurred_difference(level, level, previous, current, conversion, &taps, &mut scratch.rows);
    }
    let (w, h) = (current.row_len(), current.height());
    scratch.a.resize(w * h, 0.0);
    scratch.b.resize(w * h, 0.0);
    blur_level(level, previous, conversion, &taps, &mut scratch.a);
    blur_level(level, current, conversion, &taps, &mut scratch.b);
    let full = mean_difference(&scratch.a, &scratch.b, w, h);
    let half = (scaled_side(w, 0.5), scaled_side(h, 0.5));
    let scaler = Scaler::new((w, h), half, Method::Bilinear);
    scratch.rows.clear();
    scratch.rows.resize(2 * half.0, 0.0);
    let (row_a, row_b) = scratch.rows.split_at_mut(half.0);
    let mut total = 0.0f32;
    for y in 0..half.1 {
        scaler.row(&scratch.a, y, row_a);
        scaler.row(&scratch.b, y, row_b);
        let mut row = 0.0f32;
        for (a, b) in row_a.iter().zip(row_b.iter()) {
            row += (a - b).abs();
        }
        total += row;
    }
    full + total / (half.0 * half.1) as f32
}

jnd_video::dispatch! {
    fn blur_level<T: Sample>(plane: Plane<'_, T>, conversion: Conversion, taps: &[f32; 5], out: &mut [f32]) = blur_rows;
}

/// [`blur`] a row at a time.
#[inline(always)]
fn blur_rows<T: Sample>(plane: Plane<'_, T>, conversion: Conversion, taps: &[f32; 5], out: &mut [f32]) {
    let (w, h) = (plane.row_len(), plane.height());
    let mut padded = vec![0.0f32; w + 4];
    for (y, out) in out.chunks_exact_mut(w).take(h).enumerate() {
        let column = &mut padded[2..w + 2];
        column.fill(0.0);
        for (k, &t) in taps.iter().enumerate() {
            let row = plane.row(reflect(y as isize - 2 + k as isize, h));
            for (acc, &v) in column.iter_mut().zip(row) {
                *acc += t * conversion.apply(v);
            }
        }
        reflect_ends(&mut padded, w);
        filter_row(&padded, taps, out);
    }
}

/// Fills the two columns on both sides of a row that starts at index 2.
#[inline(always)]
fn reflect_ends(padded: &mut [f32], w: usize) {
    for k in 1..=2 {
        padded[2 - k] = padded[2 + reflect(-(k as isize), w)];
        padded[1 + w + k] = padded[2 + reflect((w - 1 + k) as isize, w)];
    }
}

/// Row sums; `v` has two more columns on both sides. A sum that starts at its first product instead of at 0 differs
/// from the definition in the sign of a zero at most, which no magnitude shows.
#[inline(always)]
fn filter_row(v: &[f32], taps: &[f32; 5], out: &mut [f32]) {
    let n = out.len();
    let (a, b, c, d, e) = (&v[..n], &v[1..n + 1], &v[2..n + 2], &v[3..n + 3], &v[4..n + 4]);
    for x in 0..n {
        out[x] = taps[0] * a[x] + taps[1] * b[x] + taps[2] * c[x] + taps[3] * d[x] + taps[4] * e[x];
    }
}

#[inline(always)]
fn filter_columns(rows: [&[f32]; 5], taps: &[f32; 5], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c, d, e] = rows.map(|r| &r[..n]);
    for x in 0..n {
        out[x] = taps[0] * a[x] + taps[1] * b[x] + taps[2] * c[x] + taps[3] * d[x] + taps[4] * e[x];
    }
}

/// Columns handled at a time, so that everything stays in the first-level cache.
const STRIP: usize = 256;

/// Rows whose sums run side by side.
const ROWS: usize = 16;

jnd_video::dispatch! {
    /// [`mean_difference`] of the [`blur`] of two planes, without keeping either: both are blurred in strips of
    /// columns from left to right, a few rows at a time, and each row's sum goes on from strip to strip.
    fn blurred_difference<T: Sample>(
        adding: Level,
        previous: Plane<'_, T>,
        current: Plane<'_, T>,
        conversion: Conversion,
        taps: &[f32; 5],
        sums: &mut Vec<f32>,
    ) -> f32 = blurred_difference_body;
}

#[inline(always)]
fn blurred_difference_body<T: Sample>(
    adding: Level,
    previous: Plane<'_, T>,
    current: Plane<'_, T>,
    conversion: Conversion,
    taps: &[f32; 5],
    sums: &mut Vec<f32>,
) -> f32 {
    let (w, h) = (current.row_len(), current.height());
    sums.clear();
    sums.resize(h, 0.0);
    let mut ring = [[[0.0f32; STRIP + 4]; 5]; 2];
    let mut padded = [0.0f32; STRIP + 4];
    let mut blurred = [[0.0f32; STRIP]; 2];
    let mut block = [[0.0f32; STRIP]; ROWS];
    for x0 in (0..w).step_by(STRIP) {
        let x1 = (x0 + STRIP).min(w);
        let (left, right) = (x0.saturating_sub(2), (x1 + 2).min(w));
        let (n, width) = (right - left, x1 - x0);
        let pad = 2 - (x0 - left);
        let mut next = 0;
        for y in 0..h {
            while next < h.min(y + 3) {
                for (ring, plane) in ring.iter_mut().zip([&previous, &current]) {
                    for (o, &v) in ring[next % 5][..n].iter_mut().zip(&plane.row(next)[left..right]) {
                        *o = conversion.apply(v);
                    }
                }
                next += 1;
            }
            let slots: [usize; 5] = std::array::from_fn(|k| reflect(y as isize - 2 + k as isize, h) % 5);
            for (ring, blurred) in ring.iter().zip(&mut blurred) {
                filter_columns(slots.map(|s| &ring[s][..n]), taps, &mut padded[pad..pad + n]);
                // Column x lies at x + 2 - x0.
                if x0 == 0 {
                    padded[1] = padded[3];
                    padded[0] = padded[4];
                }
                if x1 == w {
                    for k in 0..2 {
                        padded[width + 2 + k] = padded[reflect((w + k) as isize, w) + 2 - x0];
                    }
                } else if x1 + 1 == w {
                    padded[width + 3] = padded[reflect(w as isize, w) + 2 - x0];
                }
                filter_row(&padded[..width + 4], taps, &mut blurred[..width]);
            }
            let [a, b] = &blurred;
            for ((d, a), b) in block[y % ROWS][..width].iter_mut().zip(a).zip(b) {
                *d = (a - b).abs();
            }
            if y % ROWS == ROWS - 1 {
                add_rows(adding, &block, width, &mut sums[y + 1 - ROWS..=y]);
            }
        }
        let rest = h % ROWS;
        for (sum, row) in sums[h - rest..].iter_mut().zip(&block) {
            for v in &row[..width] {
                *sum += v;
            }
        }
    }
    let mut total = 0.0f32;
    for s in sums.iter() {
        total += s;
    }
    total / (w * h) as f32
}

/// Adds the rows of a block to their sums, each from left to right. The lanes of a vector are rows.
#[inline(always)]
fn add_rows(level: Level, block: &[[f32; STRIP]; ROWS], width: usize, sums: &mut [f32]) {
    let mut s = [0.0f32; ROWS];
    s.copy_from_slice(sums);
    let done = match level.isa() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level above scalar proves that the machine has AVX2.
        Isa::Avx2 | Isa::Avx512 => unsafe { x86::add_columns(block, width.min(STRIP), &mut s) },
        _ => 0,
    };
    for x in done..width.min(STRIP) {
        for (s, row) in s.iter_mut().zip(block) {
            *s += row[x];
        }
    }
    sums.copy_from_slice(&s);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{ROWS, STRIP};

    /// Adds whole groups of eight columns, each turned into eight vectors of rows; returns how many were added.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_columns(block: &[[f32; STRIP]; ROWS], width: usize, sums: &mut [f32; ROWS]) -> usize {
        assert!(width <= STRIP);
        let whole = width & !7;
        // SAFETY: both halves of the sixteen sums are inside the array.
        let mut s = unsafe { [_mm256_loadu_ps(sums.as_ptr()), _mm256_loadu_ps(sums.as_ptr().add(8))] };
        for x in (0..whole).step_by(8) {
            for (half, s) in s.iter_mut().enumerate() {
                let mut r = [_mm256_setzero_ps(); 8];
                for (i, r) in r.iter_mut().enumerate() {
                    // SAFETY: x + 8 <= width <= STRIP.
                    *r = unsafe { _mm256_loadu_ps(block[8 * half + i].as_ptr().add(x)) };
                }
                for column in transpose(r) {
                    *s = _mm256_add_ps(*s, column);
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_ps(sums.as_mut_ptr(), s[0]);
            _mm256_storeu_ps(sums.as_mut_ptr().add(8), s[1]);
        }
        whole
    }

    /// Rows become columns.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transpose(r: [__m256; 8]) -> [__m256; 8] {
        let low = |a, b| _mm256_unpacklo_ps(a, b);
        let high = |a, b| _mm256_unpackhi_ps(a, b);
        let t = [
            low(r[0], r[1]),
            high(r[0], r[1]),
            low(r[2], r[3]),
            high(r[2], r[3]),
            low(r[4], r[5]),
            high(r[4], r[5]),
            low(r[6], r[7]),
            high(r[6], r[7]),
        ];
        let u = [
            _mm256_shuffle_ps::<0x44>(t[0], t[2]),
            _mm256_shuffle_ps::<0xee>(t[0], t[2]),
            _mm256_shuffle_ps::<0x44>(t[1], t[3]),
            _mm256_shuffle_ps::<0xee>(t[1], t[3]),
            _mm256_shuffle_ps::<0x44>(t[4], t[6]),
            _mm256_shuffle_ps::<0xee>(t[4], t[6]),
            _mm256_shuffle_ps::<0x44>(t[5], t[7]),
            _mm256_shuffle_ps::<0xee>(t[5], t[7]),
        ];
        [
            _mm256_permute2f128_ps::<0x20>(u[0], u[4]),
            _mm256_permute2f128_ps::<0x20>(u[1], u[5]),
            _mm256_permute2f128_ps::<0x20>(u[2], u[6]),
            _mm256_permute2f128_ps::<0x20>(u[3], u[7]),
            _mm256_permute2f128_ps::<0x31>(u[0], u[4]),
            _mm256_permute2f128_ps::<0x31>(u[1], u[5]),
            _mm256_permute2f128_ps::<0x31>(u[2], u[6]),
            _mm256_permute2f128_ps::<0x31>(u[3], u[7]),
        ]
    }
}

/// A score of one frame as soon as it is final.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FloatMotionScore {
    /// The score itself.
    Motion(u64, f64),
    /// The smaller of two neighbours.
    Motion2(u64, f64),
    /// Blended.
    Motion3(u64, f64),
}

/// Turns the scores of successive pairs into `motion`, `motion2` and `motion3`.
#[derive(Debug, Clone)]
pub struct FloatMotionWindow {
    options: FloatMotionOptions,
    frames: u64,
    last: f64,
}

impl FloatMotionWindow {
    /// At the start of a clip.
    pub fn new(options: FloatMotionOptions) -> Self {
        Self { options, frames: 0, last: 0.0 }
    }

    /// Takes the raw score of the next frame, which is ignored for the first.
    pub fn push(&mut self, raw: f64, out: &mut Vec<FloatMotionScore>) {
        let i = self.frames;
        self.frames += 1;
        if self.options.force_zero {
            out.push(FloatMotionScore::Motion(i, 0.0));
            out.push(FloatMotionScore::Motion2(i, 0.0));
            out.push(FloatMotionScore::Motion3(i, 0.0));
            return;
        }
        let raw = if i == 0 { 0.0 } else { raw };
        out.push(FloatMotionScore::Motion(i, self.capped(raw)));
        match i {
            0 => out.push(FloatMotionScore::Motion2(0, 0.0)),
            1 => out.push(FloatMotionScore::Motion3(0, self.blended(raw))),
            _ => self.give(i - 1, least(self.last, raw), out),
        }
        self.last = raw;
    }

    /// Ends the clip.
    pub fn finish(&mut self, out: &mut Vec<FloatMotionScore>) {
        if self.options.force_zero {
            return;
        }
        match self.frames {
            0 => {}
            1 => out.push(FloatMotionScore::Motion3(0, 0.0)),
            n => self.give(n - 1, self.last, out),
        }
    }

    fn capped(&self, raw: f64) -> f64 {
        least(raw * self.options.fps_weight, self.options.max_val)
    }

    fn blended(&self, raw: f64) -> f64 {
        let m = raw * self.options.fps_weight;
        least(blend(m, self.options.blend_factor, self.options.blend_offset), self.options.max_val)
    }

    fn give(&mut self, frame: u64, raw: f64, out: &mut Vec<FloatMotionScore>) {
        out.push(FloatMotionScore::Motion2(frame, self.capped(raw)));
        out.push(FloatMotionScore::Motion3(frame, self.blended(raw)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn strips_equal_the_definition(
            w in prop_oneof![3usize..40, 250usize..262, 510usize..520],
            h in 3usize..40,
            seed: u32,
            size in prop::sample::select(vec![1i64, 3, 5]),
        ) {
            let mut s = seed;
            let mut plane = || -> Vec<u8> {
                (0..w * h).map(|_| {
                    s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (s >> 24) as u8
                }).collect()
            };
            let (a, b) = (plane(), plane());
            let (pa, pb) = (Plane::new(&a, w, h, w).unwrap(), Plane::new(&b, w, h, w).unwrap());
            let (conversion, taps) = (Conversion::new(8), taps(size));
            let (mut fa, mut fb) = (vec![0.0; w * h], vec![0.0; w * h]);
            blur(pa, conversion, &taps, &mut fa);
            blur(pb, conversion, &taps, &mut fb);
            let want = mean_difference(&fa, &fb, w, h);
            for level in Level::available() {
                let got = blurred_difference(level, level, pa, pb, conversion, &taps, &mut Vec::new());
                prop_assert_eq!(got.to_bits(), want.to_bits(), "{} {}x{}", level, w, h);
                let mut rows = vec![0.0; w * h];
                blur_level(level, pa, conversion, &taps, &mut rows);
                prop_assert!(rows.iter().zip(&fa).all(|(a, b)| a == b));
            }
        }
    }
}
