//! Writing raw frames.

use std::io::Write;

use super::bits::{crc, put_v, put_vb};
use super::reader::NutStream;
use super::{FILE_ID, MAIN, STREAM, SYNCPOINT, flag};
use crate::{Error, Result};

/// Bits of a timestamp that may be left out; every timestamp is written whole, which starts above this.
const PTS_SHIFT: u32 = 7;

/// Packets above this size carry a checksum of their header.
pub(super) const LONG_PACKET: usize = 4096;

/// Writes one stream of raw frames.
pub struct NutWriter<W: Write> {
    out: W,
    head: Vec<u8>,
}

impl<W: Write> NutWriter<W> {
    /// Writes the headers.
    ///
    /// # Errors
    /// A time base or size that the format cannot hold, or what `out` says.
    pub fn new(mut out: W, stream: &NutStream) -> Result<Self> {
        let tb = stream.time_base;
        if tb.num() >= 1 << 31 || tb.den() >= 1 << 31 {
            return Err(Error::BadRate { num: tb.den(), den: tb.num() });
        }
        let mut head = FILE_ID.to_vec();
        let mut body = Vec::new();
        // Version, streams, the distance above which frames need a checksum, time bases.
        for v in [3, 1, 65536, 1, tb.num(), tb.den()] {
            put_v(&mut body, v);
        }
        // All frame codes are alike: everything is said in the frame. Fields: flags, count of fields, timestamp
        // difference, size multiplier, stream, size, reserved, count (255: the code `N` is taken by start codes).
        for v in [flag::CODED, 6, 0, 1, 0, 0, 0, 255] {
            put_v(&mut body, v);
        }
        // No elision headers, no flags.
        put_v(&mut body, 0);
        put_v(&mut body, 0);
        packet(&mut head, MAIN, &body);

        body.clear();
        put_v(&mut body, 0);
        put_v(&mut body, 0);
        put_vb(&mut body, &stream.fourcc);
        // Time base, timestamp shift, largest timestamp step, decode delay, flags.
        for v in [0, u64::from(PTS_SHIFT), 1 << 30, 0, 0] {
            put_v(&mut body, v);
        }
        put_vb(&mut body, &[]);
        let (aspect_w, aspect_h) = stream.sample_aspect.unwrap_or((0, 0));
        for v in [stream.width as u64, stream.height as u64, aspect_w, aspect_h, 0] {
            put_v(&mut body, v);
        }
        packet(&mut head, STREAM, &body);
        out.write_all(&head).map_err(|e| Error::io("NUT stream", e))?;
        Ok(Self { out, head })
    }

    /// Writes a frame. Timestamps below 0 cannot be written.
    ///
    /// # Errors
    /// [`Error::BadOption`] for such a timestamp, or what the writer says.
    pub fn write_frame(&mut self, pts: i64, data: &[u8]) -> Result<()> {
        let ticks = u64::try_from(pts).ok().filter(|&p| p < 1 << 55).ok_or_else(|| Error::BadOption {
            option: "timestamp",
            value: pts.to_string(),
            legal: "0 to 2^55 ticks".into(),
        })?;
        self.head.clear();
        let mut body = Vec::with_capacity(16);
        put_v(&mut body, ticks);
        // The frame that follows is a key frame, so this sync point is its own anchor.
        put_v(&mut body, 0);
        packet(&mut self.head, SYNCPOINT, &body);
        let start = self.head.len();
        self.head.push(0);
        put_v(&mut self.head, flag::KEY | flag::CODED_PTS | flag::SIZE_MSB | flag::CHECKSUM);
        put_v(&mut self.head, ticks + (1 << PTS_SHIFT));
        put_v(&mut self.head, data.len() as u64);
        let sum = crc(&self.head[start..]);
        self.head.extend(sum.to_be_bytes());
        self.out
            .write_all(&self.head)
            .and_then(|()| self.out.write_all(data))
            .map_err(|e| Error::io("NUT stream", e))
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Appends a packet: start code, length, contents, checksum.
fn packet(out: &mut Vec<u8>, startcode: u64, body: &[u8]) {
    let start = out.len();
    out.extend(startcode.to_be_bytes());
    let length = body.len() + 4;
    put_v(out, length as u64);
    if length > LONG_PACKET {
        let sum = crc(&out[start..]);
        out.extend(sum.to_be_bytes());
    }
    out.extend_from_slice(body);
    out.extend(crc(body).to_be_bytes());
}
