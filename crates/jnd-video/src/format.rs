//! Pixel formats: which planes a picture has, and how its samples are stored.

use crate::{Error, Result};

/// Largest picture side accepted, in pixels: generous for any real source, small enough that no size computation
/// overflows.
pub const MAX_SIDE: usize = 1 << 16;

/// How a picture is divided into planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// One plane of luma.
    Gray,
    /// One plane, R, G, B interleaved.
    Rgb,
    /// One plane, B, G, R interleaved.
    Bgr,
    /// Three planes in the order G, B, R (as ffmpeg's `gbrp`).
    Gbr,
    /// Three planes Y, Cb, Cr; chroma halved both ways.
    Yuv420,
    /// Three planes Y, Cb, Cr; chroma halved horizontally.
    Yuv422,
    /// Three planes Y, Cb, Cr of one size.
    Yuv444,
    /// Two planes: Y, then Cb and Cr interleaved and halved both ways (NV12; with high packing P010, P012, P016).
    Nv12,
}

/// Where in a 16-bit word a sample of 9 to 15 bits sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Packing {
    /// In the low bits (planar formats; ffmpeg's `yuv420p10le`).
    #[default]
    Low,
    /// In the high bits, low bits zero (P010).
    High,
}

/// How an odd side is halved for chroma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChromaRounding {
    /// Upwards: what every container, codec and YUV4MPEG2 file does.
    #[default]
    Ceil,
    /// Downwards: the habit of the `vmaf` command with raw files.
    Floor,
}

/// A pixel format: layout, depth and packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PixelFormat {
    layout: Layout,
    depth: u8,
    packing: Packing,
}

/// `ffmpeg`'s names.
#[rustfmt::skip]
const NAMES: &[(&str, Layout, u8, Packing)] = {
    use Layout::*;
    use Packing::*;
    &[
        ("gray", Gray, 8, Low), ("gray9le", Gray, 9, Low), ("gray10le", Gray, 10, Low), ("gray12le", Gray, 12, Low),
        ("gray14le", Gray, 14, Low), ("gray16le", Gray, 16, Low),
        ("rgb24", Rgb, 8, Low), ("rgb48le", Rgb, 16, Low), ("bgr24", Bgr, 8, Low), ("bgr48le", Bgr, 16, Low),
        ("gbrp", Gbr, 8, Low), ("gbrp9le", Gbr, 9, Low), ("gbrp10le", Gbr, 10, Low), ("gbrp12le", Gbr, 12, Low),
        ("gbrp14le", Gbr, 14, Low), ("gbrp16le", Gbr, 16, Low),
        ("yuv420p", Yuv420, 8, Low), ("yuv420p9le", Yuv420, 9, Low), ("yuv420p10le", Yuv420, 10, Low),
        ("yuv420p12le", Yuv420, 12, Low), ("yuv420p14le", Yuv420, 14, Low), ("yuv420p16le", Yuv420, 16, Low),
        ("yuv422p", Yuv422, 8, Low), ("yuv422p9le", Yuv422, 9, Low), ("yuv422p10le", Yuv422, 10, Low),
        ("yuv422p12le", Yuv422, 12, Low), ("yuv422p14le", Yuv422, 14, Low), ("yuv422p16le", Yuv422, 16, Low),
        ("yuv444p", Yuv444, 8, Low), ("yuv444p9le", Yuv444, 9, Low), ("yuv444p10le", Yuv444, 10, Low),
        ("yuv444p12le", Yuv444, 12, Low), ("yuv444p14le", Yuv444, 14, Low), ("yuv444p16le", Yuv444, 16, Low),
        ("nv12", Nv12, 8, Low), ("p010le", Nv12, 10, High), ("p012le", Nv12, 12, High), ("p016le", Nv12, 16, Low),
    ]
};

/// Size of one plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneSize {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Samples a pixel: 3 for interleaved RGB, 2 for the chroma plane of NV12, else 1.
    pub channels: usize,
}

impl PlaneSize {
    /// Samples in a row.
    pub fn row(&self) -> usize {
        self.width * self.channels
    }

    /// Samples in the plane when rows follow each other without gaps.
    pub fn samples(&self) -> usize {
        self.row() * self.height
    }
}

impl PixelFormat {
    /// A format with samples in the low bits.
    ///
    /// # Errors
    /// [`Error::BadDepth`] unless `depth` is 8 to 16.
    pub fn new(layout: Layout, depth: u8) -> Result<Self> {
        Self::with_packing(layout, depth, Packing::Low)
    }

    /// A format with the given packing. Packing is meaningless at 8 and 16 bits and then stored as low.
    ///
    /// # Errors
    /// [`Error::BadDepth`] unless `depth` is 8 to 16.
    pub fn with_packing(layout: Layout, depth: u8, packing: Packing) -> Result<Self> {
        if !(8..=16).contains(&depth) {
            return Err(Error::BadDepth(depth));
        }
        let packing = if depth == 8 || depth == 16 { Packing::Low } else { packing };
        Ok(Self { layout, depth, packing })
    }

    /// The name `ffmpeg` knows the format by, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        NAMES
            .iter()
            .find(|(_, layout, depth, packing)| {
                *layout == self.layout && *depth == self.depth && *packing == self.packing
            })
            .map(|n| n.0)
    }

    /// The format that `ffmpeg` calls `name`; of formats above 8 bits the suffix `le` may be left out.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|n| n.0 == name || n.0.strip_suffix("le") == Some(name))
            .map(|&(_, layout, depth, packing)| Self { layout, depth, packing })
    }

    /// Every name that [`PixelFormat::from_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|n| n.0)
    }

    /// Division into planes.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bits a sample, 8 to 16.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Where in its word a sample sits.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Bits by which a stored word is larger than the sample: 0, or 16 - depth for high packing.
    pub fn shift(&self) -> u32 {
        match self.packing {
            Packing::Low => 0,
            Packing::High => 16 - u32::from(self.depth),
        }
    }

    /// Largest sample value, `2^depth - 1`.
    pub fn max_value(&self) -> u16 {
        ((1u32 << self.depth) - 1) as u16
    }

    /// Bytes a stored sample takes: 1 at 8 bits, else 2.
    pub fn bytes_per_sample(&self) -> usize {
        if self.depth == 8 { 1 } else { 2 }
    }

    /// Planes of a picture, 1 to 3.
    pub fn plane_count(&self) -> usize {
        match self.layout {
            Layout::Gray | Layout::Rgb | Layout::Bgr => 1,
            Layout::Nv12 => 2,
            Layout::Gbr | Layout::Yuv420 | Layout::Yuv422 | Layout::Yuv444 => 3,
        }
    }

    /// Whether the samples are R, G and B.
    pub fn is_rgb(&self) -> bool {
        matches!(self.layout, Layout::Rgb | Layout::Bgr | Layout::Gbr)
    }

    /// Whether the format has Cb and Cr.
    pub fn has_chroma(&self) -> bool {
        matches!(self.layout, Layout::Yuv420 | Layout::Yuv422 | Layout::Yuv444 | Layout::Nv12)
    }

    /// log2 of the horizontal and vertical chroma reduction.
    pub fn chroma_shift(&self) -> (u32, u32) {
        match self.layout {
            Layout::Yuv420 | Layout::Nv12 => (1, 1),
            Layout::Yuv422 => (1, 0),
            _ => (0, 0),
        }
    }

    /// Size of plane `plane` of a `width` x `height` picture. The one place where chroma sizes are computed.
    pub fn plane_size(
        &self,
        plane: usize,
        width: usize,
        height: usize,
        rounding: ChromaRounding,
    ) -> PlaneSize {
        debug_assert!(plane < self.plane_count(), "plane {plane} of {self:?}");
        let channels = match self.layout {
            Layout::Rgb | Layout::Bgr => 3,
            Layout::Nv12 if plane == 1 => 2,
            _ => 1,
        };
        if plane == 0 || !self.has_chroma() {
            return PlaneSize { width, height, channels };
        }
        let (sx, sy) = self.chroma_shift();
        let halve = |n: usize, s: u32| match rounding {
            ChromaRounding::Ceil => n.div_ceil(1 << s),
            ChromaRounding::Floor => n >> s,
        };
        PlaneSize { width: halve(width, sx), height: halve(height, sy), channels }
    }

    /// Samples of a picture stored without gaps.
    pub fn frame_samples(&self, width: usize, height: usize, rounding: ChromaRounding) -> usize {
        (0..self.plane_count()).map(|p| self.plane_size(p, width, height, rounding).samples()).sum()
    }

    /// Bytes of a picture stored without gaps.
    pub fn frame_bytes(&self, width: usize, height: usize, rounding: ChromaRounding) -> usize {
        self.frame_samples(width, height, rounding) * self.bytes_per_sample()
    }
}

impl std::fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.layout {
            Layout::Gray => "gray",
            Layout::Rgb => "RGB",
            Layout::Bgr => "BGR",
            Layout::Gbr => "planar RGB",
            Layout::Yuv420 => "YUV 4:2:0",
            Layout::Yuv422 => "YUV 4:2:2",
            Layout::Yuv444 => "YUV 4:4:4",
            Layout::Nv12 if self.packing == Packing::High => return write!(f, "P0{}", self.depth),
            Layout::Nv12 => "NV12",
        };
        write!(f, "{name} {}-bit", self.depth)
    }
}

/// Checks a picture size against [`MAX_SIDE`].
///
/// # Errors
/// [`Error::BadSize`] for a side of 0 or above the limit.
pub fn check_size(width: usize, height: usize) -> Result<()> {
    if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
        return Err(Error::BadSize { width, height, max: MAX_SIDE });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_chroma_rounds_as_asked() {
        let f = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let up = f.plane_size(1, 19, 17, ChromaRounding::Ceil);
        let down = f.plane_size(1, 19, 17, ChromaRounding::Floor);
        assert_eq!((up.width, up.height), (10, 9));
        assert_eq!((down.width, down.height), (9, 8));
        let f = PixelFormat::new(Layout::Yuv422, 8).unwrap();
        let up = f.plane_size(2, 19, 17, ChromaRounding::Ceil);
        assert_eq!((up.width, up.height), (10, 17));
    }

    #[test]
    fn interleaved_rows_count_every_sample() {
        let nv = PixelFormat::new(Layout::Nv12, 8).unwrap();
        assert_eq!(nv.plane_size(1, 5, 5, ChromaRounding::Ceil).row(), 6);
        assert_eq!(nv.frame_bytes(5, 5, ChromaRounding::Ceil), 25 + 18);
        let p010 = PixelFormat::with_packing(Layout::Nv12, 10, Packing::High).unwrap();
        assert_eq!(p010.shift(), 6);
        assert_eq!(p010.to_string(), "P010");
    }

    #[test]
    fn depth_is_checked() {
        assert!(PixelFormat::new(Layout::Gray, 7).is_err());
        assert!(PixelFormat::new(Layout::Gray, 17).is_err());
    }
}
