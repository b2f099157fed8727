//! Adding the change to the frame: the one place where anything is rounded to integers or clamped.

use jnd_video::Sample;

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
    /// A row of the magnified picture. A change per pixel (a third of the samples) goes to all three channels.
    pub(crate) fn integer<S: Sample>(x: &[S], shift: u32, delta: &[f32], max: f32, out: &mut [S]) = integer_body;
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
