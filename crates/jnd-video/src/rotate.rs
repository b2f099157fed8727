//! Turning pictures by quarter turns.

use crate::{Buffer, Error, Frame, Layout, PixelFormat, Rational, Result, StreamInfo};

/// The pictures of a rotated stream, turned upright.
pub struct Rotated {
    info: StreamInfo,
    rotation: u16,
    frame: Frame,
}

impl std::fmt::Debug for Rotated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rotated").field("info", &self.info).field("rotation", &self.rotation).finish()
    }
}

impl Rotated {
    /// Prepares to turn the frames of a stream by its rotation tag; `None` where there is nothing to turn.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an angle that is no quarter turn, or 4:2:2 frames to be turned by 90 or 270 degrees,
    /// which would become 4:4:0.
    pub fn new(info: &StreamInfo) -> Result<Option<Self>> {
        let rotation = info.rotation;
        if rotation == 0 {
            return Ok(None);
        }
        let refused =
            |what: String| Error::unsupported("rotation", what, "write .mp4 or .mkv, which keep the tag");
        if !rotation.is_multiple_of(90) || rotation >= 360 {
            return Err(refused(format!("a rotation by {rotation} degrees")));
        }
        let mut info = info.clone();
        info.rotation = 0;
        if info.siting != crate::ChromaSiting::Center {
            // Chroma that lay on the left column now lies on another side, for which there is no name.
            info.siting = crate::ChromaSiting::Unspecified;
        }
        if rotation != 180 {
            if info.format.layout() == Layout::Yuv422 {
                return Err(refused(format!("turning 4:2:2 pictures by {rotation} degrees")));
            }
            std::mem::swap(&mut info.width, &mut info.height);
            info.pixel_aspect = info.pixel_aspect.map(|a: Rational| a.inverse());
        }
        let frame = Frame::new(info.format, info.width, info.height)?;
        Ok(Some(Self { info, rotation, frame }))
    }

    /// The stream after turning.
    pub fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// Turns a frame.
    ///
    /// # Errors
    /// [`Error::FrameMismatch`].
    pub fn turn(&mut self, frame: &Frame) -> Result<&Frame> {
        rotate(frame, self.rotation, &mut self.frame)?;
        Ok(&self.frame)
    }
}

/// Turns `from` clockwise by `degrees` (0, 90, 180, 270) into `to`, which must be of the turned size.
///
/// # Errors
/// [`Error::FrameMismatch`] when `to` is of another format or size; [`Error::BadOption`] for another angle.
pub fn rotate(from: &Frame, degrees: u16, to: &mut Frame) -> Result<()> {
    if !matches!(degrees, 0 | 90 | 180 | 270) {
        return Err(Error::BadOption {
            option: "rotation",
            value: degrees.to_string(),
            legal: "0, 90, 180 or 270".into(),
        });
    }
    let swap = degrees % 180 == 90;
    let (w, h) = if swap { (from.height(), from.width()) } else { (from.width(), from.height()) };
    let unequal = swap && from.format().layout() == Layout::Yuv422;
    if unequal || (to.format(), to.width(), to.height()) != (from.format(), w, h) {
        return Err(Error::FrameMismatch {
            have: format!("{}x{} {}", to.width(), to.height(), to.format()),
            want: format!("{w}x{h} {}", from.format()),
        });
    }
    to.timestamp = from.timestamp;
    let geometry = (from.format(), from.width(), from.height());
    match (from.buffer(), to.buffer_mut()) {
        (Buffer::U8(a), Buffer::U8(b)) => rotate_planes(a, b, geometry, degrees),
        (Buffer::U16(a), Buffer::U16(b)) => rotate_planes(a, b, geometry, degrees),
        // One format has one sample width.
        _ => {}
    }
    Ok(())
}

fn rotate_planes<T: Copy>(
    mut from: &[T],
    mut to: &mut [T],
    (format, width, height): (PixelFormat, usize, usize),
    degrees: u16,
) {
    for plane in 0..format.plane_count() {
        let size = format.plane_size(plane, width, height, crate::ChromaRounding::Ceil);
        let (src, rest) = from.split_at(size.samples());
        let (dst, rest_mut) = to.split_at_mut(size.samples());
        let (w, h, c) = (size.width, size.height, size.channels);
        let (out_w, out_h) = if degrees % 180 == 90 { (h, w) } else { (w, h) };
        for y in 0..out_h {
            for x in 0..out_w {
                let (sx, sy) = match degrees {
                    90 => (y, h - 1 - x),
                    180 => (w - 1 - x, h - 1 - y),
                    270 => (w - 1 - y, x),
                    _ => (x, y),
                };
                let (s, d) = ((sy * w + sx) * c, (y * out_w + x) * c);
                dst[d..d + c].copy_from_slice(&src[s..s + c]);
            }
        }
        from = rest;
        to = rest_mut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    #[test]
    fn quarter_turns_go_clockwise_and_add_up() {
        let format = PixelFormat::new(Layout::Rgb, 8).unwrap();
        let mut a = Frame::new(format, 3, 2).unwrap();
        for (i, b) in a.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        let mut b = Frame::new(format, 2, 3).unwrap();
        rotate(&a, 90, &mut b).unwrap();
        // The top right corner is what was top left.
        assert_eq!(&b.bytes()[3..6], &a.bytes()[0..3]);
        // The top left corner is what was bottom left.
        assert_eq!(&b.bytes()[0..3], &a.bytes()[9..12]);
        let mut c = Frame::new(format, 3, 2).unwrap();
        rotate(&b, 270, &mut c).unwrap();
        assert_eq!(a, c);
        let mut d = Frame::new(format, 3, 2).unwrap();
        rotate(&a, 180, &mut d).unwrap();
        rotate(&d, 180, &mut c).unwrap();
        assert_eq!(a, c);
    }

    #[test]
    fn odd_chroma_turns_with_the_picture() {
        let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let mut info = StreamInfo::new(format, 5, 3, Rate::new(25, 1).unwrap()).unwrap();
        info.rotation = 90;
        let mut r = Rotated::new(&info).unwrap().unwrap();
        assert_eq!((r.info().width, r.info().height, r.info().rotation), (3, 5, 0));
        let mut f = Frame::new(format, 5, 3).unwrap();
        for (i, b) in f.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        let t = r.turn(&f).unwrap();
        assert_eq!(&t.bytes()[0..3], &[10, 5, 0]);
        assert_eq!(&t.bytes()[15..17], &[18, 15]);
    }

    #[test]
    fn four_two_two_is_turned_only_by_halves() {
        let format = PixelFormat::new(Layout::Yuv422, 10).unwrap();
        let mut info = StreamInfo::new(format, 4, 4, Rate::new(25, 1).unwrap()).unwrap();
        info.rotation = 180;
        assert!(Rotated::new(&info).unwrap().is_some());
        info.rotation = 90;
        assert!(Rotated::new(&info).is_err());
    }
}
