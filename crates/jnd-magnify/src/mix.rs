//! RGB: mixing to luma on the way down, and of the changes on the way up.

use crate::pixel::Value;

/// Luma of a row of pixels, `(yr R + yg G) + yb B`; `at` gives the first element of each channel and `step` the
/// distance of its elements.
#[inline(always)]
fn luma_body<T: Value>(x: &[T], at: [usize; 3], step: usize, y: [f32; 3], out: &mut [f32]) {
    if step == 3 {
        for (o, x) in out.iter_mut().zip(x.chunks_exact(3)) {
            *o = (y[0] * x[at[0]].single() + y[1] * x[at[1]].single()) + y[2] * x[at[2]].single();
        }
    } else {
        let n = out.len();
        let (r, g, b) = (&x[at[0]..][..n], &x[at[1]..][..n], &x[at[2]..][..n]);
        for i in 0..n {
            out[i] = (y[0] * r[i].single() + y[1] * g[i].single()) + y[2] * b[i].single();
        }
    }
}

/// Multiplies the three channels of a row by a matrix, in place. `order` says which channel or part is R, G and B.
#[inline(always)]
fn matrix_body(x: &mut [f32], order: [usize; 3], interleaved: bool, a: [[f32; 3]; 3]) {
    let pixel = |r: f32, g: f32, b: f32| -> [f32; 3] {
        std::array::from_fn(|i| (a[i][0] * r + a[i][1] * g) + a[i][2] * b)
    };
    let [ir, ig, ib] = order;
    if interleaved {
        for p in x.chunks_exact_mut(3) {
            let [r, g, b] = pixel(p[ir], p[ig], p[ib]);
            (p[ir], p[ig], p[ib]) = (r, g, b);
        }
    } else {
        let n = x.len() / 3;
        let (p0, rest) = x.split_at_mut(n);
        let (p1, p2) = rest.split_at_mut(n);
        let p2 = &mut p2[..n];
        for i in 0..n {
            let v = [p0[i], p1[i], p2[i]];
            let o = pixel(v[ir], v[ig], v[ib]);
            let mut w = [0.0; 3];
            (w[ir], w[ig], w[ib]) = (o[0], o[1], o[2]);
            (p0[i], p1[i], p2[i]) = (w[0], w[1], w[2]);
        }
    }
}

jnd_video::dispatch! {
    /// Luma of a row of pixels; `at` gives the first element of R, G and B, `step` the distance of a channel's elements.
    pub(crate) fn luma<T: Value>(x: &[T], at: [usize; 3], step: usize, y: [f32; 3], out: &mut [f32]) = luma_body;
}
jnd_video::dispatch! {
    /// Multiplies the three channels of a row by a matrix, in place.
    pub(crate) fn matrix(x: &mut [f32], order: [usize; 3], interleaved: bool, a: [[f32; 3]; 3]) = matrix_body;
}
