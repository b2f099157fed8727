//! Which levels the planes of a frame have, with which weights, and how their channels are mixed.

use jnd_video::{ChromaRounding, Layout};

use super::{Chain, Enlarge, Level, Mix, Plan, Step, Stored, Temporal};
use crate::Pipeline;

/// RGB to luma and colour differences: rows Y, C1, C2, columns R, G, B. Rounded to f32 as the method's reference has them.
const TO_YCC: [[f32; 3]; 3] =
    [[0.299, 0.587, 0.114], [-0.168_736, -0.331_264, 0.5], [0.5, -0.418_688, -0.081_312]];
/// The inverse: rows R, G, B.
const FROM_YCC: [[f32; 3]; 3] = [
    [1.0, -1.218_894_2e-6, 1.401_999_6],
    [1.0, -0.344_135_68, -0.714_136_2],
    [1.0, 1.772_000_1, 4.062_980_6e-7],
];

impl Plan {
    pub(super) fn make_chains(&self) -> Vec<Chain> {
        let f = self.source.format;
        let c = self.settings.chroma;
        let mut chains = Vec::new();
        if f.is_rgb() {
            let planes = if f.layout() == Layout::Gbr { vec![0, 1, 2] } else { vec![0] };
            let order = match f.layout() {
                Layout::Rgb => [0, 1, 2],
                Layout::Bgr => [2, 1, 0],
                _ => [2, 0, 1],
            };
            let mix = if c == 1.0 {
                Mix::None
            } else if c == 0.0 {
                Mix::Luma(TO_YCC[0])
            } else {
                Mix::Matrix(mixing(c))
            };
            chains.push(self.make_chain(planes, mix, order, 1.0));
        } else {
            for p in 0..f.plane_count() {
                let factor = if p == 0 { 1.0 } else { c };
                chains.push(self.make_chain(vec![p], Mix::None, [0, 1, 2], factor));
            }
        }
        chains
    }

    /// The chain of some planes whose weights are multiplied by `factor`.
    fn make_chain(&self, planes: Vec<usize>, mix: Mix, order: [usize; 3], factor: f64) -> Chain {
        let f = self.source.format;
        let size = f.plane_size(planes[0], self.source.width, self.source.height, ChromaRounding::Ceil);
        let subsampled = planes[0] > 0 && f.chroma_shift() != (0, 0);
        let vertical = subsampled && f.chroma_shift() == (1, 0);
        let first = u32::from(subsampled);
        let mut levels = Vec::new();
        let mut l = Level {
            width: size.width,
            height: size.height,
            parts: planes.len(),
            channels: size.channels,
            stored: Stored::Samples,
            step: Step::Source,
            scale: 1.0,
            weight: 0.0,
            unit: 1.0,
            c_slow: 0.0,
            c_fast: 0.0,
            h: 0.0,
        };
        let luma = matches!(mix, Mix::Luma(_));
        let mut up = 1.0;
        let weights = self.weights(first, vertical, factor);
        for (k, &weight) in weights.iter().enumerate() {
            if k > 0 {
                let below = l.stored;
                l.step = if vertical && k == 1 && self.settings.pipeline == Pipeline::Motion {
                    Step::Vertical
                } else {
                    Step::Full
                };
                l.height = l.height.div_ceil(2);
                if l.step == Step::Full {
                    l.width = l.width.div_ceil(2);
                }
                (l.stored, l.scale) = match below {
                    Stored::Samples if l.step == Step::Vertical => (Stored::Integer { unit: 16 }, 1.0),
                    Stored::Samples => (Stored::Integer { unit: 256 }, 1.0),
                    Stored::Integer { unit } => (Stored::Float, 1.0 / (256.0 * unit as f32)),
                    Stored::Float => (Stored::Float, 1.0 / 256.0),
                };
                if self.settings.pipeline == Pipeline::Motion {
                    up /= if l.step == Step::Full { 64.0 } else { 8.0 };
                }
            }
            if luma && k == usize::from(weights.len() > 1) {
                l.stored = Stored::Float;
                l.scale = 1.0;
                l.parts = 1;
                l.channels = 1;
            }
            l.weight = weight;
            l.unit = match l.stored {
                Stored::Integer { unit } => up / f64::from(unit),
                _ => up,
            };
            match &self.temporal {
                Temporal::Causal { q_slow, q_fast, .. } => {
                    l.c_slow = q_slow * weight * l.unit;
                    l.c_fast = q_fast * weight * l.unit;
                }
                Temporal::Projection { frames, .. } => l.h = weight * l.unit / *frames as f64,
            }
            levels.push(l);
        }
        let mix = match mix {
            // From level 1 on the luma factors also take away the integers' unit.
            Mix::Luma(y) if levels.len() > 1 => Mix::Luma(y.map(|v| v / 256.0)),
            other => other,
        };
        let enlarge = match self.settings.pipeline {
            Pipeline::Motion => Enlarge::Pyramid,
            Pipeline::Color => Enlarge::Bilinear,
        };
        Chain { planes, levels, mix, order, enlarge, first }
    }

    /// Weights of a chain's own levels, up to the last that is not 0.
    fn weights(&self, first: u32, vertical: bool, factor: f64) -> Vec<f64> {
        let mut w = match self.settings.pipeline {
            Pipeline::Color => {
                let level = self.settings.level.saturating_sub(first) as usize;
                let mut w = vec![0.0; level + 1];
                w[level] = factor * self.settings.alpha;
                w
            }
            Pipeline::Motion => {
                let pyramid = self
                    .gains
                    .iter()
                    .scan(0.0, |before, &g| Some(factor * (g - std::mem::replace(before, g))))
                    .skip(if vertical { 0 } else { first as usize });
                pyramid.collect()
            }
        };
        while w.last() == Some(&0.0) {
            w.pop();
        }
        w
    }
}

/// A = M^-1 diag(1, c, c) M.
fn mixing(c: f64) -> [[f32; 3]; 3] {
    let k = [1.0, c, c];
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let sum: f64 = (0..3).map(|n| f64::from(FROM_YCC[i][n]) * k[n] * f64::from(TO_YCC[n][j])).sum();
            sum as f32
        })
    })
}
