//! The last steps before a picture is written: turning, padding, and taking interleaved chroma apart.

use crate::rotate::Rotated;
use crate::{Buffer, ChromaRounding, Frame, Layout, PixelFormat, Result, StreamInfo};

/// Steps that make frames fit an output, with the frames between them.
pub(crate) struct Adapter {
    turned: Option<Rotated>,
    padded: Option<Frame>,
    planar: Option<Frame>,
    info: StreamInfo,
}

impl Adapter {
    /// `turn`: apply the rotation to the pixels. `even`: pad to even width, even height.
    pub(crate) fn new(info: &StreamInfo, turn: bool, even: (bool, bool)) -> Result<Self> {
        let turned = if turn { Rotated::new(info)? } else { None };
        let mut info = turned.as_ref().map_or(info, Rotated::info).clone();
        let size = (
            if even.0 { info.width.next_multiple_of(2) } else { info.width },
            if even.1 { info.height.next_multiple_of(2) } else { info.height },
        );
        let padded = (size != (info.width, info.height))
            .then(|| Frame::new(info.format, size.0, size.1))
            .transpose()?;
        (info.width, info.height) = size;
        let planar = planar_format(info.format)?
            .map(|f| {
                info.format = f;
                Frame::new(f, size.0, size.1)
            })
            .transpose()?;
        Ok(Self { turned, padded, planar, info })
    }

    /// The stream as it is written.
    pub(crate) fn info(&self) -> &StreamInfo {
        &self.info
    }

    pub(crate) fn apply<'a>(&'a mut self, frame: &'a Frame) -> Result<&'a Frame> {
        let mut frame = match &mut self.turned {
            Some(t) => t.turn(frame)?,
            None => frame,
        };
        if let Some(to) = &mut self.padded {
            pad(frame, to);
            frame = to;
        }
        if let Some(to) = &mut self.planar {
            separate(frame, to);
            frame = to;
        }
        Ok(frame)
    }
}

/// The planar format with the same samples, for NV12 and its relatives.
fn planar_format(format: PixelFormat) -> Result<Option<PixelFormat>> {
    Ok(match format.layout() {
        Layout::Nv12 => Some(PixelFormat::new(Layout::Yuv420, format.depth())?),
        _ => None,
    })
}

/// Repeats the last column and row into the larger frame.
fn pad(from: &Frame, to: &mut Frame) {
    to.timestamp = from.timestamp;
    let (format, size, larger) = (from.format(), (from.width(), from.height()), (to.width(), to.height()));
    match (from.buffer(), to.buffer_mut()) {
        (Buffer::U8(a), Buffer::U8(b)) => pad_planes(a, b, format, size, larger),
        (Buffer::U16(a), Buffer::U16(b)) => pad_planes(a, b, format, size, larger),
        // One format has one sample width.
        _ => {}
    }
}

fn pad_planes<T: Copy>(
    mut from: &[T],
    mut to: &mut [T],
    format: PixelFormat,
    (width, height): (usize, usize),
    (larger_width, larger_height): (usize, usize),
) {
    for plane in 0..format.plane_count() {
        let have = format.plane_size(plane, width, height, ChromaRounding::Ceil);
        let want = format.plane_size(plane, larger_width, larger_height, ChromaRounding::Ceil);
        let (src, rest) = from.split_at(have.samples());
        let (dst, rest_mut) = to.split_at_mut(want.samples());
        for (y, row) in dst.chunks_exact_mut(want.row()).enumerate() {
            let line = &src[y.min(have.height - 1) * have.row()..][..have.row()];
            let (head, tail) = row.split_at_mut(have.row());
            head.copy_from_slice(line);
            // Interleaved samples repeat as a whole pixel.
            let pixel = &line[have.row() - have.channels..];
            for p in tail.chunks_exact_mut(have.channels) {
                p.copy_from_slice(pixel);
            }
        }
        from = rest;
        to = rest_mut;
    }
}

/// NV12 and P010 to planar.
fn separate(from: &Frame, to: &mut Frame) {
    to.timestamp = from.timestamp;
    let shift = from.format().shift();
    let luma = from.plane_size(0).samples();
    match (from.buffer(), to.buffer_mut()) {
        (Buffer::U8(a), Buffer::U8(b)) => separate_samples(a, b, luma, |v| v),
        (Buffer::U16(a), Buffer::U16(b)) => separate_samples(a, b, luma, |v| v >> shift),
        // One depth has one sample width.
        _ => {}
    }
}

fn separate_samples<T: Copy>(from: &[T], to: &mut [T], luma: usize, convert: impl Fn(T) -> T) {
    let (y, chroma) = to.split_at_mut(luma);
    for (d, &s) in y.iter_mut().zip(from) {
        *d = convert(s);
    }
    let (u, v) = chroma.split_at_mut(chroma.len() / 2);
    for ((pair, u), v) in from[luma..].chunks_exact(2).zip(u).zip(v) {
        (*u, *v) = (convert(pair[0]), convert(pair[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packing, Rate};

    #[test]
    fn padding_repeats_the_last_column_and_row() {
        let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let info = StreamInfo::new(format, 3, 1, Rate::new(25, 1).unwrap()).unwrap();
        let mut a = Adapter::new(&info, false, (true, true)).unwrap();
        assert_eq!((a.info().width, a.info().height), (4, 2));
        let mut f = Frame::new(format, 3, 1).unwrap();
        f.bytes_mut().copy_from_slice(&[1, 2, 3, 10, 11, 20, 21]);
        f.timestamp = 9;
        let p = a.apply(&f).unwrap();
        assert_eq!(p.bytes(), [1, 2, 3, 3, 1, 2, 3, 3, 10, 11, 20, 21]);
        assert_eq!(p.timestamp, 9);
        // Interleaved pixels repeat whole.
        let format = PixelFormat::new(Layout::Rgb, 8).unwrap();
        let info = StreamInfo::new(format, 1, 1, Rate::new(25, 1).unwrap()).unwrap();
        let mut a = Adapter::new(&info, false, (true, false)).unwrap();
        let mut f = Frame::new(format, 1, 1).unwrap();
        f.bytes_mut().copy_from_slice(&[7, 8, 9]);
        assert_eq!(a.apply(&f).unwrap().bytes(), [7, 8, 9, 7, 8, 9]);
    }

    #[test]
    fn interleaved_chroma_is_taken_apart() {
        let format = PixelFormat::with_packing(Layout::Nv12, 10, Packing::High).unwrap();
        let info = StreamInfo::new(format, 3, 1, Rate::new(25, 1).unwrap()).unwrap();
        let mut a = Adapter::new(&info, false, (false, false)).unwrap();
        assert_eq!(a.info().format.name(), Some("yuv420p10le"));
        let mut f = Frame::new(format, 3, 1).unwrap();
        let Buffer::U16(v) = f.buffer_mut() else { panic!("16-bit") };
        v.copy_from_slice(&[1 << 6, 2 << 6, 3 << 6, 10 << 6, 20 << 6, 11 << 6, 21 << 6]);
        let Buffer::U16(got) = a.apply(&f).unwrap().buffer() else { panic!("16-bit") };
        assert_eq!(got, &[1, 2, 3, 10, 11, 20, 21]);
    }
}
