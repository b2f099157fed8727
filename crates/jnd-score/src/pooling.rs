//! Pooling of a metric over a clip.

/// Smallest, largest, mean and harmonic mean of the values pushed so far, summed in the order of pushing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    count: u64,
    min: f64,
    max: f64,
    sum: f64,
    inverse_sum: f64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { count: 0, min: 0.0, max: 0.0, sum: 0.0, inverse_sum: 0.0 }
    }
}

/// Pooled values of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Harmonic mean of the values plus 1, less 1.
    pub harmonic_mean: f64,
}

impl Pool {
    /// Adds the value of the next frame.
    pub fn push(&mut self, v: f64) {
        if self.count == 0 || v < self.min {
            self.min = v;
        }
        if self.count == 0 || v > self.max {
            self.max = v;
        }
        self.count += 1;
        self.sum += v;
        self.inverse_sum += 1.0 / (v + 1.0);
    }

    /// Values so far; nothing before the first.
    pub fn get(&self) -> Option<Pooled> {
        let n = self.count as f64;
        (self.count > 0).then(|| Pooled {
            min: self.min,
            max: self.max,
            mean: self.sum / n,
            harmonic_mean: n / self.inverse_sum - 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools() {
        assert_eq!(Pool::default().get(), None);
        let mut p = Pool::default();
        for v in [1.0, 3.0, 0.0] {
            p.push(v);
        }
        let p = p.get().unwrap();
        assert_eq!((p.min, p.max), (0.0, 3.0));
        assert_eq!(p.mean, 4.0 / 3.0);
        assert_eq!(p.harmonic_mean, 3.0 / (0.5 + 0.25 + 1.0) - 1.0);
    }
}
