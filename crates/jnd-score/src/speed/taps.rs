//! Gaussian taps of the SpEED filters.

use crate::options::SpeedOptions;

/// Values that `speed_kernelscale` may have.
pub const KERNEL_SCALES: [f64; 21] = [
    1.0,
    0.5,
    1.5,
    2.0,
    2.0 / 3.0,
    2.4,
    360.0 / 97.0,
    4.0 / 3.0,
    3.5 / 3.0,
    3.75 / 3.0,
    4.25 / 3.0,
    5.0 / 3.0,
    3.0,
    1.0 / 2.25,
    1.4746,
    1.54,
    1.6,
    1.06667,
    0.711111,
    0.740740,
    1.111111,
];

/// Distance within which a kernel scale counts as one of [`KERNEL_SCALES`].
pub const KERNEL_SCALE_TOLERANCE: f64 = 1e-3;

/// The two filters of the front end.
#[derive(Debug, Clone, PartialEq)]
pub struct Taps {
    /// Anti-alias filter in front of the 16:1 decimation.
    pub antialias: Vec<f32>,
    /// Low-pass filter whose result is taken off the decimated plane.
    pub lowpass: Vec<f32>,
}

impl Taps {
    /// The taps that a kernel scale selects.
    pub fn new(options: &SpeedOptions) -> Self {
        let n1 = length(1, options.kernelscale);
        let n4 = length(4, options.kernelscale);
        Self {
            antialias: gaussian(n1, (2.0 * n1 as f64 / 5.0) as f32),
            lowpass: gaussian(n4, n4 as f32 / 5.0),
        }
    }
}

/// Taps of the filter of scale `c` (1 anti-alias, 4 low-pass): odd, at least 3.
pub fn length(c: u32, kernelscale: f64) -> usize {
    let base = (1u32 << (4 - c)) as f32 + 1.0;
    let n = (base * kernelscale as f32).ceil() as usize;
    (if n.is_multiple_of(2) { n + 1 } else { n }).max(3)
}

/// A Gaussian of `n` taps that add up to 1.
pub fn gaussian(n: usize, sigma: f32) -> Vec<f32> {
    let s = f64::from(sigma);
    let den = (1.0 / (s * (2.0 * std::f64::consts::PI).sqrt())) as f32;
    let mut taps: Vec<f32> = (0..n)
        .map(|i| {
            let x = i as f64 - (n / 2) as f64;
            libm::exp(-0.5 * x / s * x / s) as f32 / den
        })
        .collect();
    let mut sum = 0.0f32;
    for &t in &taps {
        sum += t;
    }
    for t in &mut taps {
        *t /= sum;
    }
    taps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, sigma: f32, half: &[u32]) {
        let taps = gaussian(n, sigma);
        assert_eq!(half.len(), n / 2 + 1);
        for (i, &bits) in half.iter().enumerate() {
            assert_eq!(taps[n / 2 + i].to_bits(), bits, "length {n}, tap {i} right of the centre");
            assert_eq!(taps[n / 2 - i].to_bits(), bits, "length {n}, tap {i} left of the centre");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn antialias_taps_have_the_known_bits() {
        let tables: [&[u32]; 10] = [
            &[0x3e80b4c4, 0x3e632a5e, 0x3e1c20df],
            &[0x3e386a7b, 0x3e2d059c, 0x3e0ee473, 0x3dcfc160],
            &[0x3e0f9c33, 0x3e0a2cd8, 0x3df6259e, 0x3dcaf6b8, 0x3d9aedc6],
            &[0x3deb24c5, 0x3de52603, 0x3dd41087, 0x3dba5fe6, 0x3d9b8d0c, 0x3d76943c],
            &[0x3dc709d0, 0x3dc36446, 0x3db8d90b, 0x3da8861a, 0x3d94102f, 0x3d7aba39, 0x3d4c94bc],
            &[0x3dac89cc, 0x3daa2891, 0x3da336d6, 0x3d9843b5, 0x3d8a2868, 0x3d73d906, 0x3d514cab, 0x3d2eb97b],
            &[0x3d883fb5, 0x3d871313, 0x3d839ca1, 0x3d7c12e0, 0x3d6d40b5, 0x3d5b786d, 0x3d478946, 0x3d324c84, 0x3d1c9658, 0x3d0728bd],
            &[0x3d6122ff, 0x3d5fcf88, 0x3d5be113, 0x3d557acb, 0x3d4cd4fa, 0x3d4239e9, 0x3d3601aa, 0x3d288d69, 0x3d1a426b, 0x3d0b8538, 0x3cf96a37, 0x3cdc50e6],
            &[0x3d3fcc50, 0x3d3efa48, 0x3d3c8994, 0x3d388a16, 0x3d33158e, 0x3d2c4e82, 0x3d245ed1, 0x3d1b7607, 0x3d11c78a, 0x3d0788a7, 0x3cf9dd74, 0x3ce45ad3, 0x3cceea27, 0x3cb9e315],
            &[0x3d13f890, 0x3d13980d, 0x3d1277fe, 0x3d109cc3, 0x3d0e0d8b, 0x3d0ad422, 0x3d06fcb3, 0x3d02957a, 0x3cfb5ce9, 0x3cf0b1ea, 0x3ce54e8e, 0x3cd95886, 0x3cccf5d4, 0x3cc04c03, 0x3cb37f72, 0x3ca6b2ad, 0x3c9a05e3, 0x3c8d9669],
        ];
        for half in tables {
            let n = 2 * half.len() - 1;
            check(n, (2.0 * n as f64 / 5.0) as f32, half);
        }
    }

    #[test]
    fn lowpass_taps_have_the_known_bits() {
        let tables: [&[u32]; 4] = [
            &[0x3f2ad06f, 0x3e2a5f21],
            &[0x3ece2433, 0x3e7a0fea, 0x3d5f2f86],
            &[0x3e937827, 0x3e648790, 0x3dd49eb6, 0x3ced8779],
            &[0x3e658dc1, 0x3e44ba13, 0x3df7a562, 0x3d64f57b, 0x3c9b77ec],
        ];
        for half in tables {
            let n = 2 * half.len() - 1;
            check(n, n as f32 / 5.0, half);
        }
    }

    #[test]
    fn kernel_scales_select_the_known_lengths() {
        let lengths = [
            (9, 3),
            (5, 3),
            (15, 3),
            (19, 5),
            (7, 3),
            (23, 5),
            (35, 9),
            (13, 3),
            (11, 3),
            (13, 3),
            (13, 3),
            (15, 5),
            (27, 7),
            (5, 3),
            (15, 3),
            (15, 5),
            (15, 5),
            (11, 3),
            (7, 3),
            (7, 3),
            (11, 3),
        ];
        for (ks, want) in KERNEL_SCALES.into_iter().zip(lengths) {
            assert_eq!((length(1, ks), length(4, ks)), want, "{ks}");
        }
    }
}
