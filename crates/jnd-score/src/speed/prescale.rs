//! Scaling of a plane before the SpEED front end, and of blurred planes for `float_motion`.
//!
//! What depends on a column or a row alone (source indices, weights) is computed once, with `libm`, and held in
//! tables; [`Scaler::row`] then gives any row of the scaled plane.

/// How a plane is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The sample at the truncated position.
    Nearest,
    /// Two by two samples.
    Bilinear,
    /// Four by four samples, A = -0.75.
    Bicubic,
    /// Nine by nine samples, normalised.
    Lanczos4,
}

impl Method {
    const ALL: [Self; 4] = [Self::Nearest, Self::Bilinear, Self::Bicubic, Self::Lanczos4];

    /// Name, as the option takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Bilinear => "bilinear",
            Self::Bicubic => "bicubic",
            Self::Lanczos4 => "lanczos4",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Samples that one output takes in a row or column.
    pub fn taps(self) -> usize {
        match self {
            Self::Nearest => 1,
            Self::Bilinear => 2,
            Self::Bicubic => 4,
            Self::Lanczos4 => 9,
        }
    }
}

/// Size of a side scaled by `scale`.
pub fn scaled_side(side: usize, scale: f64) -> usize {
    (side as f64 * scale + 0.5) as usize
}

/// Source indices and weights of one output column or row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tap {
    /// Source index.
    pub index: u32,
    /// Weight: of the sample for bicubic and Lanczos; for bilinear `1 - d` and `d`.
    pub weight: f32,
}

/// Scales planes of one size to another.
#[derive(Debug, Clone)]
pub struct Scaler {
    from: (usize, usize),
    to: (usize, usize),
    method: Method,
    /// `taps()` entries an output column.
    columns: Vec<Tap>,
    /// `taps()` entries an output row.
    rows: Vec<Tap>,
}

impl Scaler {
    /// A scaler from `from` to `to` (width, height).
    pub fn new(from: (usize, usize), to: (usize, usize), method: Method) -> Self {
        let axis = |n: usize, m: usize| axis_taps(n, m, method);
        Self { from, to, method, columns: axis(from.0, to.0), rows: axis(from.1, to.1) }
    }

    /// Size of the scaled plane.
    pub fn size(&self) -> (usize, usize) {
        self.to
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Indices and weights of the output columns, [`Method::taps`] each.
    pub fn columns(&self) -> &[Tap] {
        &self.columns
    }

    /// Indices and weights of the output rows, [`Method::taps`] each.
    pub fn rows(&self) -> &[Tap] {
        &self.rows
    }

    /// Row `y` of the scaled plane `src`, whose rows follow each other without gaps.
    pub fn row(&self, src: &[f32], y: usize, out: &mut [f32]) {
        let w = self.from.0;
        let at = |t: Tap| t.index as usize * w;
        if self.from == self.to {
            out.copy_from_slice(&src[y * w..(y + 1) * w]);
            return;
        }
        let n = self.method.taps();
        let rows = &self.rows[y * n..(y + 1) * n];
        match self.method {
            Method::Nearest => {
                let row = &src[at(rows[0])..at(rows[0]) + w];
                for (o, c) in out.iter_mut().zip(&self.columns) {
                    *o = row[c.index as usize];
                }
            }
            Method::Bilinear => {
                let row1 = &src[at(rows[0])..at(rows[0]) + w];
                let row2 = &src[at(rows[1])..at(rows[1]) + w];
                let (wy1, wy2) = (rows[0].weight, rows[1].weight);
                for (o, c) in out.iter_mut().zip(self.columns.chunks_exact(2)) {
                    let (x1, x2) = (c[0].index as usize, c[1].index as usize);
                    let (wx1, wx2) = (c[0].weight, c[1].weight);
                    *o = wy1 * wx1 * row1[x1]
                        + wy1 * wx2 * row1[x2]
                        + wy2 * wx1 * row2[x1]
                        + wy2 * wx2 * row2[x2];
                }
            }
            Method::Bicubic | Method::Lanczos4 => {
                let normalise = self.method == Method::Lanczos4;
                for (o, columns) in out.iter_mut().zip(self.columns.chunks_exact(n)) {
                    let (mut acc, mut sum) = (0.0f32, 0.0f32);
                    for r in rows {
                        for c in columns {
                            let weight = c.weight * r.weight;
                            acc += src[at(*r) + c.index as usize] * weight;
                            sum += weight;
                        }
                    }
                    *o = if normalise { acc / sum } else { acc };
                }
            }
        }
    }
}

/// One bounce at either end, on floats as the reference does it.
fn mirror(t: f32, last: f32) -> f32 {
    if t < 0.0 {
        -t
    } else if t > last {
        2.0 * last - t
    } else {
        t
    }
}

fn axis_taps(n: usize, m: usize, method: Method) -> Vec<Tap> {
    let ratio = n as f32 / m as f32;
    let last = (n - 1) as f32;
    // The clamp only guards memory: one bounce is enough for every plane a feature accepts.
    let index = |t: f32| mirror(t, last).clamp(0.0, last) as u32;
    let mut taps = Vec::with_capacity(m * method.taps());
    for x in 0..m {
        let c = ((x as f64 + 0.5) * f64::from(ratio) - 0.5) as f32;
        let base = c.floor();
        let d = c - base;
        match method {
            Method::Nearest => {
                let index = ((x as f32 * ratio) as u32).min(last as u32);
                taps.push(Tap { index, weight: 1.0 });
            }
            Method::Bilinear => {
                let (i1, i2) = (index(base), index(c.ceil()));
                // Against the mirrored index, so that the weights may leave 0 to 1 at the borders.
                let d = c - i1 as f32;
                taps.push(Tap { index: i1, weight: 1.0 - d });
                taps.push(Tap { index: i2, weight: d });
            }
            Method::Bicubic => {
                for i in -1..=2 {
                    let i = i as f32;
                    taps.push(Tap { index: index(base + i), weight: cubic(i - d) });
                }
            }
            Method::Lanczos4 => {
                for i in -4..=4 {
                    let i = i as f32;
                    taps.push(Tap { index: index(base + i), weight: lanczos(i - d) });
                }
            }
        }
    }
    taps
}

fn cubic(t: f32) -> f32 {
    const A: f32 = -0.75;
    let t = t.abs();
    if t < 1.0 {
        ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0
    } else if t < 2.0 {
        (((t - 5.0) * t + 8.0) * t - 4.0) * A
    } else {
        0.0
    }
}

fn lanczos(t: f32) -> f32 {
    use std::f64::consts::PI;
    if t == 0.0 {
        return 1.0;
    }
    if t.abs() >= 4.0 {
        return 0.0;
    }
    let t = f64::from(t);
    (4.0 * libm::sin(PI * t) * libm::sin(PI * t / 4.0) / (PI * PI * t * t)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_size_is_a_copy() {
        let src: Vec<f32> = (0..12).map(|v| v as f32).collect();
        let mut out = [0.0; 4];
        Scaler::new((4, 3), (4, 3), Method::Lanczos4).row(&src, 1, &mut out);
        assert_eq!(out, [4.0, 5.0, 6.0, 7.0]);
    }

    #[test]
    fn indices_stay_inside_for_every_size() {
        for method in Method::ALL {
            for n in 1..40 {
                for m in 1..100 {
                    assert!(
                        axis_taps(n, m, method).iter().all(|t| (t.index as usize) < n),
                        "{method:?} {n} {m}"
                    );
                }
            }
        }
    }

    #[test]
    fn constant_planes_stay_constant() {
        let src = vec![3.0f32; 30 * 20];
        for method in Method::ALL {
            let s = Scaler::new((30, 20), (43, 11), method);
            let mut out = vec![0.0; 43];
            for y in 0..11 {
                s.row(&src, y, &mut out);
                assert!(out.iter().all(|v| (v - 3.0).abs() < 1e-5), "{method:?}");
            }
        }
    }
}
