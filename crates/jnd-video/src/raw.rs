//! Raw frames: no header, geometry given by the caller.

use std::io::Read;

use crate::output::OutputFile;
use crate::rotate::Rotated;
use crate::source::read_up_to;
use crate::{
    Buffer, ChromaRounding, Error, Frame, FrameSink, FrameSource, PixelFormat, RawGeometry, Result,
    StreamInfo,
};

/// Reads raw frames.
pub(crate) struct RawReader {
    reader: Box<dyn Read + Send>,
    name: String,
    info: StreamInfo,
    rounding: ChromaRounding,
    stored: Vec<u8>,
    frame_bytes: usize,
    delivered: u64,
}

impl RawReader {
    /// A reader; `size` is the file's, where it has one, and is checked against the geometry.
    pub(crate) fn new(
        reader: Box<dyn Read + Send>,
        name: String,
        raw: RawGeometry,
        size: Option<u64>,
    ) -> Result<Self> {
        let mut info = StreamInfo::new(raw.format, raw.width, raw.height, raw.rate)?;
        let bytes = |r| raw.format.frame_bytes(raw.width, raw.height, r);
        let frame_bytes = bytes(raw.chroma_rounding);
        if let Some(size) = size {
            let other = match raw.chroma_rounding {
                ChromaRounding::Ceil => ChromaRounding::Floor,
                ChromaRounding::Floor => ChromaRounding::Ceil,
            };
            let fits = |n: usize| n > 0 && size.is_multiple_of(n as u64);
            if size > 0 && !fits(frame_bytes) && fits(bytes(other)) {
                let word = if other == ChromaRounding::Ceil { "up (ceil)" } else { "down (floor)" };
                return Err(Error::RawSize {
                    path: name,
                    bytes: size,
                    width: raw.width,
                    height: raw.height,
                    format: raw.format.to_string(),
                    hint: format!(
                        ", whose frames take {frame_bytes} bytes with the chroma rounding asked for; with chroma rounded {word} they take {}, which fits",
                        bytes(other)
                    ),
                });
            }
            info.frames = fits(frame_bytes).then(|| size / frame_bytes as u64);
        }
        let padded = frame_bytes != bytes(ChromaRounding::Ceil);
        Ok(Self {
            reader,
            name,
            info,
            rounding: raw.chroma_rounding,
            stored: vec![0; if padded { frame_bytes } else { 0 }],
            frame_bytes,
            delivered: 0,
        })
    }
}

impl FrameSource for RawReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        let direct = self.stored.is_empty();
        let buf = if direct { frame.bytes_mut() } else { &mut self.stored[..] };
        let got = read_up_to(&mut *self.reader, buf).map_err(|e| Error::io(&self.name, e))?;
        if got == 0 {
            if self.delivered == 0 {
                return Err(Error::NoFrames { path: self.name.clone() });
            }
            return Ok(false);
        }
        if got < self.frame_bytes {
            return Err(Error::Truncated {
                path: self.name.clone(),
                frames: self.delivered,
                detail: format!("{got} of {} bytes of the next frame are there", self.frame_bytes),
            });
        }
        if !direct {
            expand_chroma(&self.stored, frame, self.rounding);
        }
        frame.timestamp = self.delivered as i64;
        self.delivered += 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        "raw".into()
    }
}

/// Copies a frame stored with `rounding` into `frame`, whose planes round up, repeating the last column and row.
fn expand_chroma(stored: &[u8], frame: &mut Frame, rounding: ChromaRounding) {
    let (format, width, height) = (frame.format(), frame.width(), frame.height());
    match frame.buffer_mut() {
        Buffer::U8(out) => expand_planes(stored, out, format, width, height, rounding, |b| b[0]),
        Buffer::U16(out) => {
            expand_planes(stored, out, format, width, height, rounding, |b| u16::from_le_bytes([b[0], b[1]]))
        }
    }
}

fn expand_planes<T: Copy + Default>(
    stored: &[u8],
    out: &mut [T],
    format: PixelFormat,
    width: usize,
    height: usize,
    rounding: ChromaRounding,
    sample: impl Fn(&[u8]) -> T,
) {
    let unit = format.bytes_per_sample();
    // A side of 1 has no chroma at all when rounded down; neutral is the one value that adds no colour.
    let neutral = sample(&(1u16 << (format.depth() - 1) << format.shift()).to_le_bytes());
    let (mut from, mut to) = (0, 0);
    for plane in 0..format.plane_count() {
        let have = format.plane_size(plane, width, height, rounding);
        let want = format.plane_size(plane, width, height, ChromaRounding::Ceil);
        let (hr, wr) = (have.row(), want.row());
        for y in 0..want.height {
            let row = &mut out[to + y * wr..to + (y + 1) * wr];
            if have.height == 0 || have.width == 0 {
                row.fill(if plane == 0 { T::default() } else { neutral });
                continue;
            }
            let src = from + y.min(have.height - 1) * hr * unit;
            for (x, out) in row.iter_mut().enumerate() {
                // Interleaved chroma repeats a whole pair.
                let x = if x < hr { x } else { hr - want.channels + x % want.channels };
                *out = sample(&stored[src + x * unit..]);
            }
        }
        from += have.samples() * unit;
        to += want.samples();
    }
}

/// Writes raw frames, chroma rounded up, turned upright.
pub(crate) struct RawWriter {
    out: OutputFile,
    info: StreamInfo,
    turned: Option<Rotated>,
}

impl RawWriter {
    pub(crate) fn new(out: OutputFile, info: StreamInfo) -> Result<Self> {
        let turned = Rotated::new(&info)?;
        Ok(Self { out, info, turned })
    }
}

impl FrameSink for RawWriter {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let frame = match &mut self.turned {
            Some(t) => t.turn(frame)?,
            None => frame,
        };
        self.out.with(|w| w.write_all(frame.bytes()))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.out.finish()
    }

    fn encoder(&self) -> String {
        "raw".into()
    }

    fn notes(&self) -> Vec<String> {
        let size = self.turned.as_ref().map_or(&self.info, Rotated::info);
        let mut notes = vec![format!(
            "raw frames say nothing of themselves: these are {}x{} {} at {} frames a second",
            size.width, size.height, size.format, size.rate
        )];
        if self.turned.is_some() {
            notes.push(format!("the pixels were turned by {} degrees", self.info.rotation));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Planes, Rate};

    fn geometry(chroma_rounding: ChromaRounding) -> RawGeometry {
        RawGeometry {
            width: 5,
            height: 3,
            format: PixelFormat::new(Layout::Yuv420, 8).unwrap(),
            rate: Rate::new(25, 1).unwrap(),
            chroma_rounding,
        }
    }

    fn reader(bytes: &[u8], rounding: ChromaRounding) -> Result<RawReader> {
        let data = bytes.to_vec();
        RawReader::new(
            Box::new(std::io::Cursor::new(data)),
            "t.yuv".into(),
            geometry(rounding),
            Some(bytes.len() as u64),
        )
    }

    #[test]
    fn a_size_that_fits_only_the_other_rounding_is_named() {
        // 5x3: luma 15; chroma up 3x2 each (27 bytes), down 2x1 each (19 bytes).
        let e = reader(&[0; 27], ChromaRounding::Floor).err().unwrap().to_string();
        assert!(e.contains("rounded up (ceil)") && e.contains("27"), "{e}");
        let e = reader(&[0; 38], ChromaRounding::Ceil).err().unwrap().to_string();
        assert!(e.contains("rounded down (floor)") && e.contains("19"), "{e}");
    }

    #[test]
    fn floor_chroma_is_widened_by_repeating() {
        let bytes: Vec<u8> = (0..38).collect();
        let mut r = reader(&bytes, ChromaRounding::Floor).unwrap();
        assert_eq!(r.info().frames, Some(2));
        let mut f = r.new_frame().unwrap();
        assert!(r.read(&mut f).unwrap());
        let v = f.view();
        let Planes::U8(p) = v.planes() else { panic!("8-bit") };
        assert_eq!(p[1].row(0), &[15, 16, 16]);
        assert_eq!(p[1].row(1), &[15, 16, 16]);
        assert_eq!(p[2].row(0), &[17, 18, 18]);
        assert!(r.read(&mut f).unwrap());
        assert_eq!(f.timestamp, 1);
        assert!(!r.read(&mut f).unwrap());
    }

    #[test]
    fn a_cut_is_reported_after_the_whole_frames() {
        let mut r = reader(&[7; 27 + 10], ChromaRounding::Ceil).unwrap();
        let mut f = r.new_frame().unwrap();
        assert!(r.read(&mut f).unwrap());
        assert!(matches!(r.read(&mut f), Err(Error::Truncated { frames: 1, .. })));
    }
}
