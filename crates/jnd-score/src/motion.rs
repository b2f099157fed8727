//! Integer motion: the difference of two lumas is low-pass filtered in integers, and its magnitude averaged.

use jnd_video::{Plane, Sample};

use crate::options::MotionOptions;
use crate::plane::reflect;

/// Filter taps; they add up to 2^16.
pub const TAPS: [i32; 5] = [3571, 16004, 26386, 16004, 3571];

/// Least side of the luma plane.
pub const MIN_SIDE: usize = 3;

/// Bits by which the column sums are shifted down.
pub fn column_shift(depth: u8) -> u32 {
    u32::from(depth)
}

/// Sum of the magnitudes of the filtered difference of `previous` and `current`: the definition.
///
/// The difference is taken first and its sign matters, because the shifts round down. Columns are filtered first, with
/// rounding and a shift by `shift`, then rows with a shift by 16; borders reflect.
pub fn sad<T: Sample>(previous: Plane<'_, T>, current: Plane<'_, T>, shift: u32) -> u64 {
    let (w, h) = (current.row_len(), current.height());
    let round = 1i64 << (shift - 1);
    let mut column = vec![0i64; w];
    let mut total = 0u64;
    for i in 0..h {
        for (j, v) in column.iter_mut().enumerate() {
            let mut sum = round;
            for (k, &t) in TAPS.iter().enumerate() {
                let y = reflect(i as isize - 2 + k as isize, h);
                let (p, c): (i32, i32) = (previous.row(y)[j].into(), current.row(y)[j].into());
                sum += i64::from(t) * i64::from(p - c);
            }
            *v = sum >> shift;
        }
        for j in 0..w {
            let mut sum = 1i64 << 15;
            for (k, &t) in TAPS.iter().enumerate() {
                sum += i64::from(t) * column[reflect(j as isize - 2 + k as isize, w)];
            }
            total += (sum >> 16).unsigned_abs();
        }
    }
    total
}

/// A sample whose difference from another has a narrow type.
pub trait MotionSample: Sample {
    /// Holds a difference, and the sum of two.
    type Difference: Copy + Default + Into<i32> + Send;
    /// `self - other`.
    fn less(self, other: Self) -> Self::Difference;
    /// `a + b`.
    fn sum(a: Self::Difference, b: Self::Difference) -> Self::Difference;
}

impl MotionSample for u8 {
    type Difference = i16;
    #[inline(always)]
    fn less(self, other: Self) -> i16 {
        i16::from(self) - i16::from(other)
    }
    #[inline(always)]
    fn sum(a: i16, b: i16) -> i16 {
        a + b
    }
}

impl MotionSample for u16 {
    type Difference = i32;
    #[inline(always)]
    fn less(self, other: Self) -> i32 {
        i32::from(self) - i32::from(other)
    }
    #[inline(always)]
    fn sum(a: i32, b: i32) -> i32 {
        a + b
    }
}

/// Largest magnitude of which the weighted sum fits 32 bits with its rounding term.
const NARROW: i32 = i16::MAX as i32;

jnd_video::dispatch! {
    /// [`sad`], a row at a time: the differences of five rows are kept, and sums are taken in 32 bits wherever the
    /// magnitudes in the row allow it.
    pub fn sad_rows<T: MotionSample>(previous: Plane<'_, T>, current: Plane<'_, T>, shift: u32) -> u64 = sad_rows_body;
}

/// Columns handled at a time, so that the five rows of differences stay in the first-level cache.
const STRIP: usize = 1024;

#[inline(always)]
fn sad_rows_body<T: MotionSample>(previous: Plane<'_, T>, current: Plane<'_, T>, shift: u32) -> u64 {
    let (w, h) = (current.row_len(), current.height());
    let mut ring = [[T::Difference::default(); STRIP + 4]; 5];
    // Two more columns on both sides, reflected at the borders.
    let mut column = [0i32; STRIP + 4];
    let mut total = 0u64;
    for x0 in (0..w).step_by(STRIP) {
        let x1 = (x0 + STRIP).min(w);
        let (left, right) = (x0.saturating_sub(2), (x1 + 2).min(w));
        let n = right - left;
        // Where column `left` lies in the padded row that starts at x0 - 2.
        let pad = 2 - (x0 - left);
        let mut magnitude = [0i32; 5];
        let mut next = 0;
        for i in 0..h {
            while next < h.min(i + 3) {
                let p = &previous.row(next)[left..right];
                let c = &current.row(next)[left..right];
                let mut bits = 0i32;
                for ((d, &p), &c) in ring[next % 5][..n].iter_mut().zip(p).zip(c) {
                    *d = p.less(c);
                    let wide: i32 = (*d).into();
                    bits |= wide.abs();
                }
                magnitude[next % 5] = bits;
                next += 1;
            }
            let slots: [usize; 5] = std::array::from_fn(|k| reflect(i as isize - 2 + k as isize, h) % 5);
            let any = slots.iter().fold(0, |m, &s| m | magnitude[s]);
            if any == 0 {
                continue;
            }
            let rows = slots.map(|s| &ring[s][..n]);
            let padded = &mut column[pad..pad + n];
            let bits = if any <= NARROW {
                filter_columns_narrow::<T>(rows, shift, padded)
            } else {
                filter_columns_wide::<T>(rows, shift, padded)
            };
            if bits == 0 {
                continue;
            }
            // Column x lies at x + 2 - x0.
            if x0 == 0 {
                column[1] = column[3];
                column[0] = column[4];
            }
            let width = x1 - x0;
            if x1 == w {
                for k in 0..2 {
                    column[width + 2 + k] = column[reflect((w + k) as isize, w) + 2 - x0];
                }
            } else if x1 + 1 == w {
                // The strip ends one column before the border.
                column[width + 3] = column[reflect((w) as isize, w) + 2 - x0];
            }
            let row = &column[..width + 4];
            total += if bits <= NARROW { filter_row_narrow(row) } else { filter_row_wide(row) };
        }
    }
    total
}

/// Column sums of one row; returns the bits set in any magnitude.
#[inline(always)]
fn filter_columns_narrow<T: MotionSample>(rows: [&[T::Difference]; 5], shift: u32, out: &mut [i32]) -> i32 {
    let n = out.len();
    let [a, b, c, d, e] = rows.map(|r| &r[..n]);
    let round = 1i32 << (shift - 1);
    let mut bits = 0i32;
    for x in 0..n {
        let outer: i32 = T::sum(a[x], e[x]).into();
        let inner: i32 = T::sum(b[x], d[x]).into();
        let centre: i32 = c[x].into();
        let v = (TAPS[0] * outer + TAPS[1] * inner + TAPS[2] * centre + round) >> shift;
        out[x] = v;
        bits |= v.abs();
    }
    bits
}

#[inline(always)]
fn filter_columns_wide<T: MotionSample>(rows: [&[T::Difference]; 5], shift: u32, out: &mut [i32]) -> i32 {
    let n = out.len();
    let [a, b, c, d, e] = rows.map(|r| &r[..n]);
    let round = 1i64 << (shift - 1);
    let mut bits = 0i32;
    for x in 0..n {
        let outer: i32 = T::sum(a[x], e[x]).into();
        let inner: i32 = T::sum(b[x], d[x]).into();
        let centre: i32 = c[x].into();
        let sum = i64::from(TAPS[0]) * i64::from(outer)
            + i64::from(TAPS[1]) * i64::from(inner)
            + i64::from(TAPS[2]) * i64::from(centre);
        // At most 2^32 shifted down by 8 or more.
        let v = ((sum + round) >> shift) as i32;
        out[x] = v;
        bits |= v.abs();
    }
    bits
}

/// Sum of the magnitudes of one filtered row; `v` has two more columns on both sides.
#[inline(always)]
fn filter_row_narrow(v: &[i32]) -> u64 {
    let n = v.len() - 4;
    let (a, b, c, d, e) = (&v[..n], &v[1..n + 1], &v[2..n + 2], &v[3..n + 3], &v[4..n + 4]);
    let mut sum = 0u32;
    for x in 0..n {
        let s = TAPS[0] * (a[x] + e[x]) + TAPS[1] * (b[x] + d[x]) + TAPS[2] * c[x] + (1 << 15);
        sum += (s >> 16).unsigned_abs();
    }
    u64::from(sum)
}

#[inline(always)]
fn filter_row_wide(v: &[i32]) -> u64 {
    let n = v.len() - 4;
    let (a, b, c, d, e) = (&v[..n], &v[1..n + 1], &v[2..n + 2], &v[3..n + 3], &v[4..n + 4]);
    let mut sum = 0u64;
    for x in 0..n {
        let s = i64::from(TAPS[0]) * i64::from(a[x] + e[x])
            + i64::from(TAPS[1]) * i64::from(b[x] + d[x])
            + i64::from(TAPS[2]) * i64::from(c[x])
            + (1 << 15);
        sum += (s >> 16).unsigned_abs();
    }
    sum
}

/// The score of one pair of frames from its sum of magnitudes.
pub fn score(sad: u64, width: usize, height: usize, options: &MotionOptions) -> f64 {
    least(((sad as f64 / 256.0) / (width * height) as f64) * options.fps_weight, options.max_val)
}

/// The smaller one, by a strict comparison.
#[inline(always)]
pub fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A score between itself and the offset.
pub fn blend(m: f64, factor: f64, offset: f64) -> f64 {
    m * factor + (1.0 - factor) * least(offset, m)
}

/// A score of one frame as soon as it is final.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MotionScore {
    /// The score itself.
    Sad(u64, f64),
    /// The smaller of two neighbours.
    Motion2(u64, f64),
    /// Blended and perhaps averaged.
    Motion3(u64, f64),
}

/// Turns the scores of successive pairs into `motion2` and `motion3`.
#[derive(Debug, Clone)]
pub struct MotionWindow {
    options: MotionOptions,
    /// Frames between the two of a pair.
    stride: u64,
    frames: u64,
    /// Scores of the last three frames, the newest last.
    last: [f64; 3],
    stamp: f64,
    previous: f64,
}

impl MotionWindow {
    /// At the start of a clip.
    pub fn new(options: MotionOptions) -> Self {
        let stride = if options.five_frame_window { 2 } else { 1 };
        Self { options, stride, frames: 0, last: [0.0; 3], stamp: 0.0, previous: 0.0 }
    }

    /// Frames between the two of a pair.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// The options.
    pub fn options(&self) -> &MotionOptions {
        &self.options
    }

    /// Takes the score of the next frame, which is ignored for the first `stride` frames.
    pub fn push(&mut self, score: f64, out: &mut Vec<MotionScore>) {
        let (i, d) = (self.frames, self.stride);
        let score = if i < d || self.options.force_zero { 0.0 } else { score };
        self.frames += 1;
        self.last = [self.last[1], self.last[2], score];
        out.push(MotionScore::Sad(i, score));
        if i < d {
            out.push(MotionScore::Motion2(i, 0.0));
        } else if i == d {
            self.stamp = self.capped_blend(score);
            self.previous = self.stamp;
            out.extend((0..d).map(|j| MotionScore::Motion3(j, self.stamp)));
        } else {
            // Frame i - 1 now has its next score; the other one is that of frame i - d.
            let before = self.last[2 - d as usize];
            let motion2 = if i - d >= d { least(before, score) } else { score };
            self.give(i - 1, motion2, out);
        }
    }

    /// Ends the clip.
    pub fn finish(&mut self, out: &mut Vec<MotionScore>) {
        let (n, d) = (self.frames, self.stride);
        if n <= d {
            out.extend((0..n).map(|j| MotionScore::Motion3(j, 0.0)));
        } else {
            self.give(n - 1, self.last[2], out);
        }
    }

    fn capped_blend(&self, m: f64) -> f64 {
        least(blend(m, self.options.blend_factor, self.options.blend_offset), self.options.max_val)
    }

    fn give(&mut self, frame: u64, motion2: f64, out: &mut Vec<MotionScore>) {
        out.push(MotionScore::Motion2(frame, motion2));
        let blended = self.capped_blend(motion2);
        let motion3 = if self.options.moving_average { (blended + self.previous) / 2.0 } else { blended };
        self.previous = blended;
        out.push(MotionScore::Motion3(frame, motion3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jnd_video::simd::Level;
    use proptest::prelude::*;

    fn check<T: MotionSample>(a: &[T], b: &[T], w: usize, h: usize, depth: u8) {
        let (pa, pb) = (Plane::new(a, w, h, w).unwrap(), Plane::new(b, w, h, w).unwrap());
        let want = sad(pa, pb, column_shift(depth));
        for level in Level::available() {
            assert_eq!(sad_rows(level, pa, pb, column_shift(depth)), want, "{level} {w}x{h} {depth}-bit");
        }
    }

    #[test]
    fn largest_differences() {
        for (w, h) in [(3, 3), (4, 5), (17, 9), (1023, 3), (1024, 4), (1025, 3), (1026, 3), (2050, 5)] {
            let checker = |x: usize, y: usize| (x / 2 + y / 3).is_multiple_of(2);
            let at = |f: &dyn Fn(usize, usize) -> bool, hi: u16| -> Vec<u16> {
                (0..w * h).map(|i| if f(i % w, i / w) { hi } else { 0 }).collect()
            };
            for (depth, hi) in [(8u8, 255u16), (10, 1023), (12, 4095), (16, 65535), (10, 65535)] {
                for (f, g) in [
                    (
                        &(|_, _| true) as &dyn Fn(usize, usize) -> bool,
                        &(|_, _| false) as &dyn Fn(usize, usize) -> bool,
                    ),
                    (&(|_, _| false), &(|_, _| true)),
                    (&checker, &(|x: usize, y: usize| !checker(x, y))),
                ] {
                    let (a, b) = (at(f, hi), at(g, hi));
                    if depth == 8 {
                        let narrow = |v: &[u16]| v.iter().map(|&v| v as u8).collect::<Vec<u8>>();
                        check(&narrow(&a), &narrow(&b), w, h, depth);
                    } else {
                        check(&a, &b, w, h, depth);
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_equal_the_definition(w in 3usize..80, h in 3usize..20, seed: u32, bits in 1u32..9) {
            let mut s = seed;
            let mut next = || { s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); s >> (32 - bits) };
            let a: Vec<u8> = (0..w * h).map(|_| next() as u8).collect();
            let b: Vec<u8> = (0..w * h).map(|_| next() as u8).collect();
            check(&a, &b, w, h, 8);
            for depth in [10u8, 12, 16] {
                let widen = |v: &[u8]| v.iter().map(|&v| u16::from(v) << (depth - 8)).collect::<Vec<u16>>();
                check(&widen(&a), &widen(&b), w, h, depth);
            }
        }
    }
}
