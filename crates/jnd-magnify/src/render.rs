//! Adding the change to the frame: the one place where anything is rounded to integers or clamped.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use jnd_video::{Sample, simd};

/// One sample: the sum, rounded to nearest (ties to even) and clamped to `0..=max`; not a number gives 0.
#[inline(always)]
fn rounded<S: Sample>(x: S, shift: u32, delta: f32, max: f32) -> S {
    let y = (Into::<u32>::into(x) >> shift) as i32 as f32 + delta;
    // Clamping first is the same, because both bounds are integers, and keeps the conversion in range.
    let y = if y > 0.0 { y } else { 0.0 };
    let y = if y < max { y } else { max };
    // Adding and taking away 1.5 * 2^23 rounds to nearest even for values below 2^22.
    let bits = (y + 12_582_912.0).to_bits() & 0xFFFF;
    S::truncate(bits << shift)
}

#[inline(always)]
fn integer_body<S: Sample>(x: &[S], shift: u32, delta: &[f32], max: f32, out: &mut [S]) {
    let n = out.len();
    let spread = if delta.len() * 3 == n { 3 } else { 1 };
    if spread == 3 {
        for ((o, x), &d) in out.chunks_exact_mut(3).zip(x.chunks_exact(3)).zip(delta) {
            for c in 0..3 {
                o[c] = rounded(x[c], shift, d, max);
            }
        }
    } else {
        let (x, delta) = (&x[..n], &delta[..n]);
        for i in 0..n {
            out[i] = rounded(x[i], shift, delta[i], max);
        }
    }
}

#[inline(always)]
fn float_body<S: Sample>(x: &[S], shift: u32, delta: &[f32], max: f32, out: &mut [f32]) {
    let n = out.len();
    let spread = if delta.len() * 3 == n { 3 } else { 1 };
    let one = |x: S, d: f32| ((Into::<u32>::into(x) >> shift) as i32 as f32 + d) / max;
    if spread == 3 {
        for ((o, x), &d) in out.chunks_exact_mut(3).zip(x.chunks_exact(3)).zip(delta) {
            for c in 0..3 {
                o[c] = one(x[c], d);
            }
        }
    } else {
        let (x, delta) = (&x[..n], &delta[..n]);
        for i in 0..n {
            out[i] = one(x[i], delta[i]);
        }
    }
}

jnd_video::dispatch! {
    fn integer_rest<S: Sample>(x: &[S], shift: u32, delta: &[f32], max: f32, out: &mut [S]) = integer_body;
}

/// A row of the magnified picture. A change per pixel (a third of the samples) goes to all three channels.
pub(crate) fn integer<S: Render>(
    level: simd::Level,
    x: &[S],
    shift: u32,
    delta: &[f32],
    max: f32,
    out: &mut [S],
) {
    let done = if delta.len() == out.len() { S::plain(level, x, shift, delta, max, out) } else { 0 };
    integer_rest(level, &x[done..], shift, &delta[done..], max, &mut out[done..]);
}

/// Enlarges a row of changes horizontally and adds it to the frame's row `x`, without writing the enlarged row anywhere:
/// the same as [`crate::enlarge::horizontal`] followed by [`integer`]. `delta` is padded, its edges are filled; it has
/// `from` channels, the frame `to`, all of which get the one change where `from` is 1.
pub(crate) fn enlarged<S: Render>(
    level: simd::Level,
    delta: &[f32],
    (from, to): (usize, usize),
    x: &[S],
    shift: u32,
    max: f32,
    out: &mut [S],
) {
    let m = out.len() / to;
    let done = S::inner(level, delta, m / 2, (from, to), x, shift, max, out);
    for i in 2 * done..m {
        for c in 0..to {
            let at = i / 2 * from + if from == 1 { 0 } else { c };
            let (a, b, d) = (delta[at], delta[at + from], delta[at + 2 * from]);
            let change = if i.is_multiple_of(2) { (a + d) + 6.0 * b } else { 4.0 * (b + d) };
            out[i * to + c] = rounded(x[i * to + c], shift, change, max);
        }
    }
}

/// Samples that have vector code for this stage.
pub(crate) trait Render: Sample {
    /// Pixels `2j` and `2j + 1` for the first j, of which `pairs` may be done; how many are.
    fn inner(
        level: simd::Level,
        delta: &[f32],
        pairs: usize,
        channels: (usize, usize),
        x: &[Self],
        shift: u32,
        max: f32,
        out: &mut [Self],
    ) -> usize;
    /// The first samples of a row of as many changes; how many are done.
    fn plain(level: simd::Level, x: &[Self], shift: u32, delta: &[f32], max: f32, out: &mut [Self]) -> usize;
}

/// A row to enlarge and add. `delta` holds pixels of some channels; the frame's row has twice as many pixels, of as many
/// channels, or of three that all get the one change.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a, S> {
    /// Padded, as `crate::enlarge` describes.
    delta: &'a [f32],
    /// Pixels of `delta` whose even and odd outputs both exist.
    pairs: usize,
    x: &'a [S],
    shift: u32,
    max: f32,
}

/// Runs the rows that a level has: `$f` with the channels of the change, and whether it is spread over three.
macro_rules! enlarged_rows {
    ($level:expr, $channels:expr, $row:expr, $out:expr) => {{
        #[allow(unused_macros, reason = "other targets have no vector code of their own")]
        macro_rules! rows {
            ($module:ident) => {
                // SAFETY: the level proves that the instructions exist.
                unsafe {
                    match $channels {
                        (1, 1) => $module::enlarged::<_, 1, false>($row, $out),
                        (1, _) => $module::enlarged::<_, 1, true>($row, $out),
                        (2, _) => $module::enlarged::<_, 2, false>($row, $out),
                        _ => $module::enlarged::<_, 3, false>($row, $out),
                    }
                }
            };
        }
        match $level.isa() {
            #[cfg(target_arch = "x86_64")]
            simd::Isa::Avx512 => rows!(x86),
            #[cfg(target_arch = "x86_64")]
            simd::Isa::Avx2 => rows!(avx2),
            #[cfg(target_arch = "aarch64")]
            simd::Isa::Neon => rows!(neon),
            _ => 0,
        }
    }};
}

/// Enlarges the first `pairs` pixels of a padded row of changes, as far as there is vector code for it; how many.
pub(crate) fn widened(
    level: simd::Level,
    delta: &[f32],
    pairs: usize,
    channels: usize,
    out: &mut [f32],
) -> usize {
    let row = Row { delta, pairs, x: &[][..], shift: 0, max: 0.0 };
    enlarged_rows!(level, (channels, channels), row, out)
}

macro_rules! render {
    ($t:ty) => {
        impl Render for $t {
            fn inner(
                level: simd::Level,
                delta: &[f32],
                pairs: usize,
                channels: (usize, usize),
                x: &[Self],
                shift: u32,
                max: f32,
                out: &mut [Self],
            ) -> usize {
                let row = Row { delta, pairs, x, shift, max };
                enlarged_rows!(level, channels, row, out)
            }

            fn plain(
                level: simd::Level,
                x: &[Self],
                shift: u32,
                delta: &[f32],
                max: f32,
                out: &mut [Self],
            ) -> usize {
                let row = Row { delta, pairs: 0, x, shift, max };
                match level.isa() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the level proves that the instructions exist.
                    simd::Isa::Avx512 => unsafe { x86::plain(row, out) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    simd::Isa::Avx2 => unsafe { avx2::plain(row, out) },
                    #[cfg(target_arch = "aarch64")]
                    // SAFETY: as above.
                    simd::Isa::Neon => unsafe { neon::plain(row, out) },
                    _ => 0,
                }
            }
        }
    };
}
render!(u8);
render!(u16);

/// Whether [`enlarged`] is faster than enlarging and adding one after the other.
pub(crate) fn fused(level: simd::Level) -> bool {
    level.isa() > simd::Isa::Scalar
}

jnd_video::dispatch! {
    /// The same in floating point, 1.0 for the largest sample, neither clamped nor rounded.
    pub(crate) fn float<S: Sample>(x: &[S], shift: u32, delta: &[f32], max: f32, out: &mut [f32]) = float_body;
}

#[inline(always)]
fn plain_body<S: Sample>(x: &[S], shift: u32, max: f32, out: &mut [f32]) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o = (Into::<u32>::into(x) >> shift) as i32 as f32 / max;
    }
}

jnd_video::dispatch! {
    /// A row in which nothing is magnified, in floating point.
    pub(crate) fn plain<S: Sample>(x: &[S], shift: u32, max: f32, out: &mut [f32]) = plain_body;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(n: usize) -> Vec<f32> {
        let mut s = 3u32;
        (0..n)
            .map(|i| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match i % 13 {
                    0 => 0.5 / 16.0,
                    1 => f32::NAN,
                    2 => 1e30,
                    3 => f32::NEG_INFINITY,
                    _ => (s >> 8) as f32 / 65536.0 - 128.0,
                }
            })
            .collect()
    }

    fn fused_is_the_same<S: Render + std::fmt::Debug>(shift: u32, max: f32) {
        for m in 1..200usize {
            let n = m.div_ceil(2);
            for (from, to) in [(1, 1), (1, 3), (2, 2), (3, 3)] {
                let x: Vec<S> =
                    (0..m * to).map(|i| S::truncate(((i * 37) as u32 % (max as u32 + 1)) << shift)).collect();
                let mut delta = changes(crate::enlarge::padded(n, from));
                crate::enlarge::extend(&mut delta, n, from);
                let mut wide = vec![0.0; m * from];
                crate::enlarge::horizontal(simd::Level::SCALAR, &delta, n, m, from, &mut wide);
                let mut want = vec![S::default(); m * to];
                integer(simd::Level::SCALAR, &x, shift, &wide, max, &mut want);
                for level in simd::Level::available() {
                    let mut out = vec![S::default(); m * to];
                    enlarged(level, &delta, (from, to), &x, shift, max, &mut out);
                    assert_eq!(out, want, "fused {level} {m} {from} {to}");
                    integer(level, &x, shift, &wide, max, &mut out);
                    assert_eq!(out, want, "{level} {m} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn rows_are_the_same_at_every_level() {
        fused_is_the_same::<u8>(0, 255.0);
        fused_is_the_same::<u16>(0, 1023.0);
        fused_is_the_same::<u16>(6, 1023.0);
        fused_is_the_same::<u16>(0, 65535.0);
    }

    #[test]
    fn ties_go_to_even() {
        let x = [10u8, 11, 0, 255, 254, 3];
        let d = [0.5f32, 0.5, -0.5, 0.5, 0.5, f32::NAN];
        for level in simd::Level::available() {
            let mut out = [0u8; 6];
            integer(level, &x, 0, &d, 255.0, &mut out);
            assert_eq!(out, [10, 12, 0, 255, 254, 0], "{level}");
        }
    }
}
