//! An independent statement of what must come out: the Laplacian form of the method, in f64, written from its
//! published formulas, plane by plane for YUV.

#![allow(dead_code, reason = "every test program uses another part")]
#![allow(clippy::excessive_precision, reason = "constants as the method's description prints them")]

pub(crate) mod golden;
pub(crate) mod run;

use std::f64::consts::PI;

use jnd_magnify::{Filter, Init, Pipeline, Settings, Source, pyramid_levels};
use jnd_video::{ChromaRounding, Layout, PixelFormat, Rate};

/// Largest difference from the reference or the oracle, relative to the largest value (at least 1.0, full scale).
pub(crate) const BOUND: f64 = 1e-5;

/// A plane over time: `t` pictures of `w` x `h` values.
#[derive(Clone)]
pub(crate) struct Clip {
    pub(crate) w: usize,
    pub(crate) h: usize,
    pub(crate) t: Vec<Vec<f64>>,
}

fn mirror(j: isize, n: usize) -> usize {
    if n == 1 {
        return 0;
    }
    let p = 2 * (n as isize - 1);
    let m = j.rem_euclid(p);
    (if m < n as isize { m } else { p - m }) as usize
}

const T1: [f64; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

fn down_axis(x: &[f64], gain: f64) -> Vec<f64> {
    let n = x.len();
    (0..n.div_ceil(2))
        .map(|i| (0..5).map(|k| gain * T1[k] * x[mirror(2 * i as isize + k as isize - 2, n)]).sum())
        .collect()
}

fn up_axis(x: &[f64], m: usize, gain: f64) -> Vec<f64> {
    let n = x.len();
    let mut z = vec![0.0; 2 * n];
    for (j, v) in x.iter().enumerate() {
        z[2 * j] = *v;
    }
    (0..m)
        .map(|i| (0..5).map(|k| gain * T1[k] * z[mirror(i as isize + k as isize - 2, 2 * n)]).sum())
        .collect()
}

/// Applies a function to the rows or columns of a picture.
fn along(x: &[f64], w: usize, h: usize, columns: bool, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    if columns {
        let cols: Vec<Vec<f64>> =
            (0..w).map(|c| f(&(0..h).map(|r| x[r * w + c]).collect::<Vec<_>>())).collect();
        (0..cols[0].len()).flat_map(|r| cols.iter().map(move |c| c[r])).collect()
    } else {
        (0..h).flat_map(|r| f(&x[r * w..(r + 1) * w])).collect()
    }
}

impl Clip {
    fn map(&self, w: usize, h: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        Self { w, h, t: self.t.iter().map(|x| f(x)).collect() }
    }

    fn down(&self, gain: f64) -> Self {
        let (w2, h2) = (self.w.div_ceil(2), self.h.div_ceil(2));
        self.map(w2, h2, |x| {
            let x = along(x, self.w, self.h, false, |r| down_axis(r, gain));
            along(&x, w2, self.h, true, |c| down_axis(c, gain))
        })
    }

    fn up(&self, w: usize, h: usize, gain: f64) -> Self {
        self.map(w, h, |x| {
            let x = along(x, self.w, self.h, true, |c| up_axis(c, h, gain));
            along(&x, self.w, h, false, |r| up_axis(r, w, gain))
        })
    }

    fn down_vertical(&self) -> Self {
        self.map(self.w, self.h.div_ceil(2), |x| along(x, self.w, self.h, true, |c| down_axis(c, 1.0)))
    }

    fn up_vertical(&self, h: usize) -> Self {
        // Gain 2 makes a constant come out as itself.
        self.map(self.w, h, |x| along(x, self.w, self.h, true, |c| up_axis(c, h, 2.0)))
    }

    fn zip(&self, o: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let t = self.t.iter().zip(&o.t);
        let t = t.map(|(a, b)| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()).collect();
        Self { w: self.w, h: self.h, t }
    }

    fn times(&self, g: f64) -> Self {
        self.map(self.w, self.h, |x| x.iter().map(|v| g * v).collect())
    }

    fn bilinear(&self, w: usize, h: usize) -> Self {
        let axis = |x: &[f64], m: usize| -> Vec<f64> {
            let n = x.len();
            (0..m)
                .map(|i| {
                    let s = (i as f64 + 0.5) * n as f64 / m as f64 - 0.5;
                    let f = s.floor();
                    let at = |k: f64| x[k.clamp(0.0, n as f64 - 1.0) as usize];
                    (1.0 - (s - f)) * at(f) + (s - f) * at(f + 1.0)
                })
                .collect()
        };
        self.map(w, h, |x| {
            let x = along(x, self.w, self.h, false, |r| axis(r, w));
            along(&x, w, self.h, true, |c| axis(c, h))
        })
    }

    /// Runs a filter along time on every value.
    fn filter(&self, s: &Settings, fs: f64) -> Self {
        let n = self.w * self.h;
        let mut t = vec![vec![0.0; n]; self.t.len()];
        let weights = ideal_weights(s, self.t.len(), fs);
        for i in 0..n {
            let x: Vec<f64> = self.t.iter().map(|f| f[i]).collect();
            for (t, v) in t.iter_mut().zip(series(s, &x, fs, &weights)) {
                t[i] = v;
            }
        }
        Self { w: self.w, h: self.h, t }
    }
}

/// `M[n - m]`, the response of the ideal filter.
fn ideal_weights(s: &Settings, n: usize, fs: f64) -> Vec<f64> {
    let Filter::Ideal { low, high } = s.filter else { return Vec::new() };
    let kept: Vec<usize> = (0..n)
        .filter(|&k| {
            let f = k as f64 / n as f64 * fs;
            low < f && f < high
        })
        .collect();
    (0..n)
        .map(|d| {
            kept.iter().map(|&k| (2.0 * PI * ((k * d) % n) as f64 / n as f64).cos()).sum::<f64>() / n as f64
        })
        .collect()
}

fn low_pass(x: &[f64], fc: f64, fs: f64, init: Init) -> Vec<f64> {
    let c = (PI * fc / fs).tan();
    let (b, a) = (c / (1.0 + c), (c - 1.0) / (c + 1.0));
    let start = if init == Init::First { x[0] } else { 0.0 };
    let (mut before, mut y) = (start, start);
    x.iter()
        .map(|&v| {
            y = b * v + b * before - a * y;
            before = v;
            y
        })
        .collect()
}

fn mean(x: &[f64], r: f64, init: Init) -> Vec<f64> {
    let mut a = if init == Init::First { x[0] } else { 0.0 };
    x.iter()
        .map(|&v| {
            a = (1.0 - r) * a + r * v;
            a
        })
        .collect()
}

fn series(s: &Settings, x: &[f64], fs: f64, weights: &[f64]) -> Vec<f64> {
    let minus = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a - b).collect();
    match s.filter {
        Filter::Iir { r1, r2 } => minus(mean(x, r1, s.init), mean(x, r2, s.init)),
        Filter::Butterworth { low, high } => {
            minus(low_pass(x, high, fs, s.init), low_pass(x, low, fs, s.init))
        }
        Filter::Ideal { .. } => (0..x.len())
            .map(|n| x.iter().enumerate().map(|(m, v)| weights[n.abs_diff(m)] * v).sum())
            .collect(),
    }
}

/// Gains, finest first.
pub(crate) fn gains(s: &Settings, w: usize, h: usize) -> Vec<f64> {
    let n = pyramid_levels(w, h);
    let (w, h) = (w as f64, h as f64);
    (0..n)
        .map(|l| {
            let lambda = (h * h + w * w).sqrt() / 3.0 / 2f64.powi((n - 1 - l) as i32);
            if l == 0 || l == n - 1 || s.alpha == 0.0 {
                0.0
            } else {
                s.alpha.min(s.exaggeration * (lambda * (1.0 + s.alpha) / s.lambda_c - 1.0))
            }
        })
        .collect()
}

/// The change of a plane by the motion pipeline, bands formed: the plane is pyramid level `first`.
fn motion(x: &Clip, s: &Settings, fs: f64, gains: &[f64], first: usize) -> Clip {
    let root2 = 2f64.sqrt();
    let mut bands = Vec::new();
    let mut x = x.clone();
    for _ in first..gains.len().saturating_sub(1) {
        let low = x.down(root2);
        bands.push(x.zip(&low.up(x.w, x.h, root2), |a, b| a - b));
        x = low;
    }
    bands.push(x);
    let mut delta: Option<Clip> = None;
    for (band, g) in bands.iter().zip(&gains[first.min(gains.len() - 1)..]).rev() {
        let own = band.filter(s, fs).times(*g);
        delta = Some(match delta {
            None => own,
            Some(d) => own.zip(&d.up(own.w, own.h, root2), |a, b| a + b),
        });
    }
    delta.unwrap()
}

fn color(x: &Clip, s: &Settings, fs: f64, level: u32) -> Clip {
    let mut low = x.clone();
    for _ in 0..level {
        low = low.down(1.0);
    }
    low.filter(s, fs).times(s.alpha).bilinear(x.w, x.h)
}

/// A frame's samples, shifted down, and the size and channels of each plane.
pub(crate) fn plane_shapes(f: PixelFormat, w: usize, h: usize) -> Vec<(usize, usize, usize)> {
    (0..f.plane_count())
        .map(|p| {
            let s = f.plane_size(p, w, h, ChromaRounding::Ceil);
            (s.width, s.height, s.channels)
        })
        .collect()
}

/// The magnified clip, unclipped, 1.0 for the largest sample, in the layout of the input frames.
pub(crate) fn oracle(s: &Settings, source: &Source, frames: &[Vec<u16>]) -> Vec<Vec<f64>> {
    let f = source.format;
    let fs = s.capture_rate.unwrap_or(source.rate).as_f64();
    let max = f64::from(f.max_value());
    let gains = gains(s, source.width, source.height);
    // Every channel as a clip of its own.
    let mut channels: Vec<Clip> = Vec::new();
    let mut places = Vec::new();
    let mut start = 0;
    for (p, (w, h, c)) in plane_shapes(f, source.width, source.height).into_iter().enumerate() {
        for i in 0..c {
            let pick = |x: &Vec<u16>| {
                (0..w * h).map(|j| f64::from(x[start + j * c + i] >> f.shift()) / max).collect()
            };
            channels.push(Clip { w, h, t: frames.iter().map(pick).collect() });
            places.push((p, start, c, i));
        }
        start += w * h * c;
    }
    let one = |x: &Clip, first: usize| match s.pipeline {
        Pipeline::Motion => motion(x, s, fs, &gains, first),
        Pipeline::Color => color(x, s, fs, s.level.saturating_sub(first as u32)),
    };
    let deltas: Vec<Clip> = if f.is_rgb() {
        let order = match f.layout() {
            Layout::Rgb => [0, 1, 2],
            Layout::Bgr => [2, 1, 0],
            _ => [2, 0, 1],
        };
        let k = |m: [[f32; 3]; 3]| m.map(|r| r.map(f64::from));
        let forward = k([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]);
        let back = k([
            [1.0, -1.21889419e-06, 1.40199959],
            [1.0, -0.344135678, -0.714136156],
            [1.0, 1.77200007, 4.06298063e-07],
        ]);
        let [r, g, b] = order.map(|i| &channels[i]);
        let combine = |m: [f64; 3], x: [&Clip; 3]| {
            let a = x[0].zip(x[1], |a, b| m[0] * a + m[1] * b);
            a.zip(x[2], |a, b| a + m[2] * b)
        };
        let ycc: Vec<Clip> = (0..3)
            .map(|i| {
                let d = one(&combine(forward[i], [r, g, b]), 0);
                if i == 0 { d } else { d.times(s.chroma) }
            })
            .collect();
        let rgb: Vec<Clip> = (0..3).map(|i| combine(back[i], [&ycc[0], &ycc[1], &ycc[2]])).collect();
        (0..3).map(|i| rgb[order.iter().position(|&o| o == i).unwrap()].clone()).collect()
    } else {
        places
            .iter()
            .zip(&channels)
            .map(|(&(p, ..), x)| {
                let subsampled = p > 0 && f.chroma_shift() != (0, 0);
                let d = if !subsampled {
                    one(x, 0)
                } else if f.chroma_shift() == (1, 0) && s.pipeline == Pipeline::Motion {
                    one(&x.down_vertical(), 1).up_vertical(x.h)
                } else {
                    one(x, 1)
                };
                if p > 0 { d.times(s.chroma) } else { d }
            })
            .collect()
    };
    (0..frames.len())
        .map(|t| {
            let mut out = vec![0.0; start];
            for ((x, d), &(_, start, c, i)) in channels.iter().zip(&deltas).zip(&places) {
                for j in 0..x.w * x.h {
                    out[start + j * c + i] = x.t[t][j] + d.t[t][j];
                }
            }
            out
        })
        .collect()
}

/// A moving, flickering, noisy clip that uses the whole range of values, in the format's packing.
pub(crate) fn clip(f: PixelFormat, w: usize, h: usize, frames: usize, seed: u64) -> Vec<Vec<u16>> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let max = f64::from(f.max_value());
    (0..frames)
        .map(|t| {
            let mut out = Vec::new();
            for (p, (w, h, c)) in plane_shapes(f, w, h).into_iter().enumerate() {
                for y in 0..h {
                    for x in 0..w {
                        for i in 0..c {
                            let phase = (p + i) as f64;
                            let (x, y, t) = (x as f64, y as f64, t as f64);
                            let v = 0.5
                                + 0.35
                                    * (x / 5.0 + phase + 0.3 * (t / 3.0).sin()).sin()
                                    * (y / 7.0 + phase).cos()
                                + 0.05 * (t / 2.0 + phase).sin()
                                + 0.2 * (random() - 0.5);
                            out.push(((v.clamp(0.0, 1.0) * max).round() as u16) << f.shift());
                        }
                    }
                }
            }
            out
        })
        .collect()
}

/// A source at 30 frames/s.
pub(crate) fn source(f: PixelFormat, w: usize, h: usize, frames: usize) -> Source {
    Source { format: f, width: w, height: h, rate: Rate::new(30, 1).unwrap(), frames: Some(frames as u64) }
}

/// Every layout at 8 bits and some deeper ones, by index.
pub(crate) fn formats() -> Vec<PixelFormat> {
    use jnd_video::Packing::{High, Low};
    let mut all = Vec::new();
    for layout in [
        Layout::Gray,
        Layout::Rgb,
        Layout::Bgr,
        Layout::Gbr,
        Layout::Yuv420,
        Layout::Yuv422,
        Layout::Yuv444,
        Layout::Nv12,
    ] {
        for (depth, packing) in [(8, Low), (10, Low), (10, High), (12, Low), (16, Low)] {
            all.push(PixelFormat::with_packing(layout, depth, packing).unwrap());
        }
    }
    all
}
