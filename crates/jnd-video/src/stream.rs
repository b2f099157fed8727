//! What is known of a video stream before its first frame.

use crate::{Error, PixelFormat, Result};

/// A positive rational number: a frame rate in frames a second, or the length of a tick in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rational {
    num: u64,
    den: u64,
}

/// Frames a second, exact (30000/1001 stays so).
pub type Rate = Rational;

impl Rational {
    /// `num / den` in lowest terms.
    ///
    /// # Errors
    /// [`Error::BadRate`] when either part is 0.
    pub fn new(num: u64, den: u64) -> Result<Self> {
        if num == 0 || den == 0 {
            return Err(Error::BadRate { num, den });
        }
        let (mut a, mut b) = (num, den);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Ok(Self { num: num / a, den: den / a })
    }

    /// Numerator, above 0.
    pub fn num(&self) -> u64 {
        self.num
    }

    /// Denominator, above 0.
    pub fn den(&self) -> u64 {
        self.den
    }

    /// The nearest `f64`.
    pub fn as_f64(&self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// 1 / self.
    pub fn inverse(&self) -> Self {
        Self { num: self.den, den: self.num }
    }
}

impl std::fmt::Display for Rational {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

/// Whether samples use the whole range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ColorRange {
    /// Not said; decoders take it as limited.
    #[default]
    Unspecified,
    /// Black at 16, white at 235 (times 2^(depth-8)).
    Limited,
    /// Black at 0, white at 2^depth - 1.
    Full,
}

impl std::fmt::Display for ColorRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Limited => "limited",
            Self::Full => "full",
        })
    }
}

/// Colour description, in the code points of ITU-T H.273 (2 = unspecified).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColorTags {
    /// Range of values.
    pub range: ColorRange,
    /// Colour primaries.
    pub primaries: u8,
    /// Transfer characteristics.
    pub transfer: u8,
    /// Matrix coefficients.
    pub matrix: u8,
}

impl Default for ColorTags {
    fn default() -> Self {
        Self { range: ColorRange::Unspecified, primaries: 2, transfer: 2, matrix: 2 }
    }
}

impl ColorTags {
    /// Names of primaries, transfer and matrix as `ffmpeg` has them: `bt709/bt709/bt709`. A code point without a name is a
    /// number.
    pub fn names(&self) -> String {
        crate::ffmpeg::color_names(self).join("/")
    }
}

/// Where subsampled chroma lies relative to luma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ChromaSiting {
    /// Not said.
    #[default]
    Unspecified,
    /// Between luma samples both ways (JPEG, MPEG-1).
    Center,
    /// On luma columns, between rows (MPEG-2, H.264).
    Left,
    /// On luma columns and rows (DV, UHD).
    TopLeft,
}

/// Field order of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FieldOrder {
    /// Not said; taken as progressive.
    #[default]
    Unspecified,
    /// Whole frames.
    Progressive,
    /// Interlaced, top field first.
    TopFirst,
    /// Interlaced, bottom field first.
    BottomFirst,
    /// Interlaced in some frames, or in an order not said.
    Mixed,
}

impl std::fmt::Display for FieldOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Progressive => "progressive",
            Self::TopFirst => "top field first",
            Self::BottomFirst => "bottom field first",
            Self::Mixed => "interlaced, in an order not said",
        })
    }
}

impl FieldOrder {
    /// Whether frames hold two moments in time.
    pub fn is_interlaced(&self) -> bool {
        matches!(self, Self::TopFirst | Self::BottomFirst | Self::Mixed)
    }
}

/// What is known of a video stream before its first frame.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// Pixel format of every frame.
    pub format: PixelFormat,
    /// Width in pixels, as delivered.
    pub width: usize,
    /// Height in pixels, as delivered.
    pub height: usize,
    /// Frames a second; for a variable rate, the mean (N-1)/(last-first) where known.
    pub rate: Rate,
    /// Whether frames come at irregular times.
    pub variable_rate: bool,
    /// Seconds a timestamp tick takes.
    pub time_base: Rational,
    /// Number of frames, where it is known for certain without decoding.
    pub frames: Option<u64>,
    /// Colour tags.
    pub color: ColorTags,
    /// Chroma position.
    pub siting: ChromaSiting,
    /// Field order.
    pub fields: FieldOrder,
    /// Width of a pixel divided by its height, where said.
    pub pixel_aspect: Option<Rational>,
    /// Clockwise rotation in degrees that a player applies (0, 90, 180, 270); frames are delivered unrotated.
    pub rotation: u16,
}

impl StreamInfo {
    /// A progressive stream with untagged colour whose time base is one frame.
    ///
    /// # Errors
    /// [`Error::BadSize`].
    pub fn new(format: PixelFormat, width: usize, height: usize, rate: Rate) -> Result<Self> {
        crate::format::check_size(width, height)?;
        Ok(Self {
            format,
            width,
            height,
            rate,
            variable_rate: false,
            time_base: rate.inverse(),
            frames: None,
            color: ColorTags::default(),
            siting: ChromaSiting::Unspecified,
            fields: FieldOrder::Unspecified,
            pixel_aspect: None,
            rotation: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_stay_exact() {
        let r = Rational::new(60000, 2002).unwrap();
        assert_eq!((r.num(), r.den()), (30000, 1001));
        assert_eq!(r.to_string(), "30000/1001");
        assert!(Rational::new(0, 1).is_err());
    }
}
