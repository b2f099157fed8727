//! Frames: owned pictures, and borrowed views of pictures that live elsewhere.
//!
//! Strides are in *samples*, never bytes, and every view checks its buffer against its geometry when it is made, so
//! that the code behind it can index rows without thinking about it again.

use crate::format::check_size;
use crate::{ChromaRounding, Error, PixelFormat, PlaneSize, Result};

/// A stored sample: `u8` at 8 bits, `u16` above.
pub trait Sample:
    bytemuck::Pod + Default + Ord + Into<u32> + Into<i32> + Into<f32> + Into<f64> + Send + Sync
{
    /// Bytes a sample takes.
    const BYTES: usize;
    /// The low bits of `v`.
    fn truncate(v: u32) -> Self;
}

impl Sample for u8 {
    const BYTES: usize = 1;
    fn truncate(v: u32) -> Self {
        v as u8
    }
}

impl Sample for u16 {
    const BYTES: usize = 2;
    fn truncate(v: u32) -> Self {
        v as u16
    }
}

/// A borrowed plane. `row` is in samples, interleaved channels counted.
#[derive(Debug, Clone, Copy)]
pub struct Plane<'a, T> {
    samples: &'a [T],
    row: usize,
    height: usize,
    stride: usize,
}

/// A borrowed plane to write to.
#[derive(Debug)]
pub struct PlaneMut<'a, T> {
    samples: &'a mut [T],
    row: usize,
    height: usize,
    stride: usize,
}

/// Samples that `height` rows of `row` samples take at a stride.
fn needed(row: usize, height: usize, stride: usize) -> usize {
    if height == 0 || row == 0 { 0 } else { (height - 1).saturating_mul(stride).saturating_add(row) }
}

fn check_plane(plane: usize, have: usize, row: usize, height: usize, stride: usize) -> Result<()> {
    let need = needed(row, height, stride);
    if have < need || (height > 1 && stride < row) {
        return Err(Error::ShortPlane {
            plane,
            have,
            need: need.max(row * height),
            width: row,
            height,
            stride,
        });
    }
    Ok(())
}

impl<'a, T> Plane<'a, T> {
    /// A plane of `height` rows of `row` samples, each row `stride` samples after the one before.
    ///
    /// # Errors
    /// [`Error::ShortPlane`] when the buffer is too short or the stride below the row.
    pub fn new(samples: &'a [T], row: usize, height: usize, stride: usize) -> Result<Self> {
        check_plane(0, samples.len(), row, height, stride)?;
        Ok(Self { samples, row, height, stride })
    }

    /// A plane without samples, which fills the unused places of a frame.
    pub fn empty() -> Self {
        Self { samples: &[], row: 0, height: 0, stride: 0 }
    }

    /// Samples in a row.
    pub fn row_len(&self) -> usize {
        self.row
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Samples from one row's start to the next one's.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `y`.
    pub fn row(&self, y: usize) -> &'a [T] {
        let start = y * self.stride;
        &self.samples[start..start + self.row]
    }

    /// The buffer from the first sample on.
    pub fn samples(&self) -> &'a [T] {
        self.samples
    }

    /// The top-left part of `row` samples and `height` rows.
    pub fn crop(&self, row: usize, height: usize) -> Self {
        Self {
            samples: self.samples,
            row: row.min(self.row),
            height: height.min(self.height),
            stride: self.stride,
        }
    }
}

impl<'a, T> PlaneMut<'a, T> {
    /// See [`Plane::new`].
    ///
    /// # Errors
    /// [`Error::ShortPlane`] when the buffer is too short or the stride below the row.
    pub fn new(samples: &'a mut [T], row: usize, height: usize, stride: usize) -> Result<Self> {
        check_plane(0, samples.len(), row, height, stride)?;
        Ok(Self { samples, row, height, stride })
    }

    /// A plane without samples.
    pub fn empty() -> Self {
        Self { samples: &mut [], row: 0, height: 0, stride: 0 }
    }

    /// Samples in a row.
    pub fn row_len(&self) -> usize {
        self.row
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Samples from one row's start to the next one's.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `y`, to write to.
    pub fn row_mut(&mut self, y: usize) -> &mut [T] {
        let start = y * self.stride;
        &mut self.samples[start..start + self.row]
    }

    /// The buffer from the first sample on.
    pub fn samples_mut(&mut self) -> &mut [T] {
        self.samples
    }

    /// The same plane, borrowed for reading.
    pub fn as_ref(&self) -> Plane<'_, T> {
        Plane { samples: self.samples, row: self.row, height: self.height, stride: self.stride }
    }

    /// The same plane under a shorter borrow.
    pub fn reborrow(&mut self) -> PlaneMut<'_, T> {
        PlaneMut { samples: self.samples, row: self.row, height: self.height, stride: self.stride }
    }

    /// Splits into the rows above `y` and the rows from `y` on, so that threads can write to disjoint parts.
    pub fn split_at_row(self, y: usize) -> (Self, Self) {
        let y = y.min(self.height);
        let at = if y == self.height { self.samples.len() } else { y * self.stride };
        let (a, b) = self.samples.split_at_mut(at);
        (
            Self { samples: a, row: self.row, height: y, stride: self.stride },
            Self { samples: b, row: self.row, height: self.height - y, stride: self.stride },
        )
    }
}

/// The planes of a borrowed frame; places beyond the format's plane count are empty.
#[derive(Debug, Clone, Copy)]
pub enum Planes<'a> {
    /// 8-bit samples.
    U8([Plane<'a, u8>; 3]),
    /// 9- to 16-bit samples.
    U16([Plane<'a, u16>; 3]),
}

/// The planes of a frame borrowed for writing.
#[derive(Debug)]
pub enum PlanesMut<'a> {
    /// 8-bit samples.
    U8([PlaneMut<'a, u8>; 3]),
    /// 9- to 16-bit samples.
    U16([PlaneMut<'a, u16>; 3]),
}

/// A picture that lives elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct FrameRef<'a> {
    format: PixelFormat,
    width: usize,
    height: usize,
    planes: Planes<'a>,
}

/// A picture that lives elsewhere, to write to.
#[derive(Debug)]
pub struct FrameMut<'a> {
    format: PixelFormat,
    width: usize,
    height: usize,
    planes: PlanesMut<'a>,
}

fn check_planes<'a>(
    format: PixelFormat,
    width: usize,
    height: usize,
    bytes: usize,
    sizes: impl Iterator<Item = (usize, usize, usize, usize)> + 'a,
) -> Result<()> {
    check_size(width, height)?;
    if bytes != format.bytes_per_sample() {
        return Err(Error::SampleWidth {
            depth: format.depth(),
            want: format.bytes_per_sample(),
            have: bytes,
        });
    }
    for (i, (have, row, rows, stride)) in sizes.enumerate().take(format.plane_count()) {
        let want = format.plane_size(i, width, height, ChromaRounding::Ceil);
        if row != want.row() || rows != want.height {
            return Err(Error::ShortPlane {
                plane: i,
                have,
                need: needed(want.row(), want.height, stride.max(want.row())),
                width: want.row(),
                height: want.height,
                stride,
            });
        }
    }
    Ok(())
}

impl<'a> FrameRef<'a> {
    /// A view over planes, whose sizes must be the format's (chroma rounded up).
    ///
    /// # Errors
    /// Bad size, wrong sample width, or a plane that is not of the format's size.
    pub fn new(format: PixelFormat, width: usize, height: usize, planes: Planes<'a>) -> Result<Self> {
        match &planes {
            Planes::U8(p) => check_planes(
                format,
                width,
                height,
                1,
                p.iter().map(|p| (p.samples.len(), p.row, p.height, p.stride)),
            )?,
            Planes::U16(p) => check_planes(
                format,
                width,
                height,
                2,
                p.iter().map(|p| (p.samples.len(), p.row, p.height, p.stride)),
            )?,
        }
        Ok(Self { format, width, height, planes })
    }

    /// Pixel format.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The planes.
    pub fn planes(&self) -> &Planes<'a> {
        &self.planes
    }
}

impl<'a> FrameMut<'a> {
    /// See [`FrameRef::new`].
    ///
    /// # Errors
    /// Bad size, wrong sample width, or a plane that is not of the format's size.
    pub fn new(format: PixelFormat, width: usize, height: usize, planes: PlanesMut<'a>) -> Result<Self> {
        match &planes {
            PlanesMut::U8(p) => check_planes(
                format,
                width,
                height,
                1,
                p.iter().map(|p| (p.samples.len(), p.row, p.height, p.stride)),
            )?,
            PlanesMut::U16(p) => check_planes(
                format,
                width,
                height,
                2,
                p.iter().map(|p| (p.samples.len(), p.row, p.height, p.stride)),
            )?,
        }
        Ok(Self { format, width, height, planes })
    }

    /// Pixel format.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The planes.
    pub fn planes_mut(&mut self) -> &mut PlanesMut<'a> {
        &mut self.planes
    }

    /// The planes, given up.
    pub fn into_planes(self) -> PlanesMut<'a> {
        self.planes
    }
}

/// One slice for each plane of a picture stored without gaps, in order; the rest are empty.
fn plane_rows(format: PixelFormat, width: usize, height: usize) -> [(usize, usize); 3] {
    std::array::from_fn(|i| {
        if i < format.plane_count() {
            let s = format.plane_size(i, width, height, ChromaRounding::Ceil);
            (s.row(), s.height)
        } else {
            (0, 0)
        }
    })
}

fn check_samples<T: Sample>(format: PixelFormat, width: usize, height: usize, have: usize) -> Result<()> {
    check_size(width, height)?;
    if T::BYTES != format.bytes_per_sample() {
        return Err(Error::SampleWidth {
            depth: format.depth(),
            want: format.bytes_per_sample(),
            have: T::BYTES,
        });
    }
    let need = format.frame_samples(width, height, ChromaRounding::Ceil);
    if have < need {
        return Err(Error::ShortPlane { plane: 0, have, need, width, height, stride: width });
    }
    Ok(())
}

impl<'a> FrameRef<'a> {
    /// A view over a picture stored without gaps, plane after plane.
    ///
    /// # Errors
    /// Bad size, wrong sample width, or too few samples.
    pub fn from_samples<T: Sample>(
        format: PixelFormat,
        width: usize,
        height: usize,
        samples: &'a [T],
    ) -> Result<Self> {
        check_samples::<T>(format, width, height, samples.len())?;
        fn split<T>(mut rest: &[T], sizes: [(usize, usize); 3]) -> [Plane<'_, T>; 3] {
            sizes.map(|(row, height)| {
                let (samples, tail) = rest.split_at(row * height);
                rest = tail;
                Plane { samples, row, height, stride: row }
            })
        }
        let sizes = plane_rows(format, width, height);
        let planes = if T::BYTES == 1 {
            Planes::U8(split(bytemuck::cast_slice(samples), sizes))
        } else {
            Planes::U16(split(bytemuck::cast_slice(samples), sizes))
        };
        Ok(Self { format, width, height, planes })
    }
}

impl<'a> FrameMut<'a> {
    /// See [`FrameRef::from_samples`].
    ///
    /// # Errors
    /// Bad size, wrong sample width, or too few samples.
    pub fn from_samples<T: Sample>(
        format: PixelFormat,
        width: usize,
        height: usize,
        samples: &'a mut [T],
    ) -> Result<Self> {
        check_samples::<T>(format, width, height, samples.len())?;
        let planes = if T::BYTES == 1 {
            PlanesMut::U8(split_mut(format, width, height, bytemuck::cast_slice_mut(samples)))
        } else {
            PlanesMut::U16(split_mut(format, width, height, bytemuck::cast_slice_mut(samples)))
        };
        Ok(Self { format, width, height, planes })
    }
}

/// The samples of an owned frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Buffer {
    /// 8-bit samples.
    U8(Vec<u8>),
    /// 9- to 16-bit samples.
    U16(Vec<u16>),
}

/// When a frame is shown, in ticks of its stream's time base ([`crate::StreamInfo::time_base`]).
pub type Timestamp = i64;

/// An owned picture: planes one after another without gaps, as raw video files hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    format: PixelFormat,
    width: usize,
    height: usize,
    buffer: Buffer,
    /// When the frame is shown, in ticks of its stream's time base.
    pub timestamp: Timestamp,
}

impl Frame {
    /// A picture of zeros.
    ///
    /// # Errors
    /// [`Error::BadSize`].
    pub fn new(format: PixelFormat, width: usize, height: usize) -> Result<Self> {
        check_size(width, height)?;
        let n = format.frame_samples(width, height, ChromaRounding::Ceil);
        let buffer =
            if format.bytes_per_sample() == 1 { Buffer::U8(vec![0; n]) } else { Buffer::U16(vec![0; n]) };
        Ok(Self { format, width, height, buffer, timestamp: 0 })
    }

    /// Pixel format.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Size of plane `i`.
    pub fn plane_size(&self, i: usize) -> PlaneSize {
        self.format.plane_size(i, self.width, self.height, ChromaRounding::Ceil)
    }

    /// All samples, plane after plane.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// All samples, plane after plane, to write to.
    pub fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// The picture as bytes: 16-bit samples in the machine's order (little-endian on every supported target).
    pub fn bytes(&self) -> &[u8] {
        match &self.buffer {
            Buffer::U8(v) => v,
            Buffer::U16(v) => bytemuck::cast_slice(v),
        }
    }

    /// The picture as bytes, to read a raw frame into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.buffer {
            Buffer::U8(v) => v,
            Buffer::U16(v) => bytemuck::cast_slice_mut(v),
        }
    }

    /// A view of the picture.
    pub fn view(&self) -> FrameRef<'_> {
        let planes = match &self.buffer {
            Buffer::U8(v) => Planes::U8(self.split(v)),
            Buffer::U16(v) => Planes::U16(self.split(v)),
        };
        FrameRef { format: self.format, width: self.width, height: self.height, planes }
    }

    /// A view of the picture, to write to.
    pub fn view_mut(&mut self) -> FrameMut<'_> {
        let (format, width, height) = (self.format, self.width, self.height);
        let planes = match &mut self.buffer {
            Buffer::U8(v) => PlanesMut::U8(split_mut(format, width, height, v)),
            Buffer::U16(v) => PlanesMut::U16(split_mut(format, width, height, v)),
        };
        FrameMut { format, width, height, planes }
    }

    fn split<'a, T>(&self, mut rest: &'a [T]) -> [Plane<'a, T>; 3] {
        std::array::from_fn(|i| {
            if i >= self.format.plane_count() {
                return Plane::empty();
            }
            let size = self.plane_size(i);
            let (head, tail) = rest.split_at(size.samples());
            rest = tail;
            Plane { samples: head, row: size.row(), height: size.height, stride: size.row() }
        })
    }
}

fn split_mut<T>(format: PixelFormat, width: usize, height: usize, rest: &mut [T]) -> [PlaneMut<'_, T>; 3] {
    let mut rest = Some(rest);
    std::array::from_fn(|i| {
        if i >= format.plane_count() {
            return PlaneMut::empty();
        }
        let size = format.plane_size(i, width, height, ChromaRounding::Ceil);
        let (head, tail) = rest.take().unwrap_or(&mut []).split_at_mut(size.samples());
        rest = Some(tail);
        PlaneMut { samples: head, row: size.row(), height: size.height, stride: size.row() }
    })
}

#[cfg(target_endian = "big")]
compile_error!("raw 16-bit video is read in place, which needs a little-endian target");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn planes_follow_each_other() {
        let mut f = Frame::new(PixelFormat::new(Layout::Yuv420, 8).unwrap(), 5, 3).unwrap();
        for (i, b) in f.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        let v = f.view();
        let Planes::U8(p) = v.planes() else { panic!("8-bit") };
        assert_eq!(p[0].row(1), &[5, 6, 7, 8, 9]);
        assert_eq!(p[1].row(0), &[15, 16, 17]);
        assert_eq!(p[2].row(1), &[24, 25, 26]);
    }

    #[test]
    fn short_or_overlapping_planes_are_refused() {
        assert!(Plane::new(&[0u8; 9], 5, 2, 5).is_err());
        assert!(Plane::new(&[0u8; 10], 5, 2, 5).is_ok());
        assert!(Plane::new(&[0u8; 100], 5, 2, 4).is_err());
        assert!(Plane::new(&[0u8; 9], 5, 2, 4).is_err());
    }

    #[test]
    fn rows_split_for_threads() {
        let mut v = vec![0u8; 23];
        let p = PlaneMut::new(&mut v, 3, 5, 5).unwrap();
        let (mut a, mut b) = p.split_at_row(2);
        assert_eq!((a.height(), b.height()), (2, 3));
        a.row_mut(1)[0] = 1;
        b.row_mut(2)[2] = 2;
        let (c, d) = b.split_at_row(3);
        assert_eq!((c.height(), d.height()), (3, 0));
        assert_eq!((v[5], v[22]), (1, 2));
    }
}
