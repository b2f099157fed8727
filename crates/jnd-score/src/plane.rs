//! Samples as single-precision numbers.

use jnd_video::Sample;

/// What takes samples of one depth to the range -128 to 128.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// A power of two: 1 for 8 bits, 1/4, 1/16, 1/256 for 10, 12, 16. Multiplying by it is as exact as dividing.
    pub scale: f32,
}

impl Conversion {
    /// For a depth of 8, 10, 12 or 16 bits.
    pub fn new(depth: u8) -> Self {
        Self { scale: 1.0 / (1u32 << (depth.max(8) - 8)) as f32 }
    }

    /// A sample as a number.
    #[inline(always)]
    pub fn apply<T: Sample>(self, v: T) -> f32 {
        let v: i32 = v.into();
        v as f32 * self.scale + -128.0
    }
}

/// Index `i` reflected at the ends of 0 to n-1 without repeating the border: one bounce.
#[inline(always)]
pub fn reflect(i: isize, n: usize) -> usize {
    let n = n as isize;
    let r = if i < 0 {
        -i
    } else if i >= n {
        2 * n - i - 2
    } else {
        i
    };
    // The clamp only guards memory: features refuse planes for which one bounce is not enough.
    r.clamp(0, n - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths() {
        assert_eq!(Conversion::new(8).apply(200u8), 72.0);
        assert_eq!(Conversion::new(10).apply(1023u16), 127.75);
        assert_eq!(Conversion::new(12).apply(1u16), -127.9375);
        assert_eq!(Conversion::new(16).apply(65535u16), 65535.0 / 256.0 - 128.0);
    }

    #[test]
    fn reflection() {
        let got: Vec<usize> = (-2..7).map(|i| reflect(i, 5)).collect();
        assert_eq!(got, [2, 1, 0, 1, 2, 3, 4, 3, 2]);
        assert_eq!(reflect(-4, 3), 2);
    }
}
