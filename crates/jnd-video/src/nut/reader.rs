//! Reading raw frames.

use std::io::BufRead;

use super::bits::{Cursor, crc, signed};
use super::writer::LONG_PACKET;
use super::{FILE_ID, MAIN, STREAM, SYNCPOINT, flag};
use crate::source::read_up_to;
use crate::{Error, Rational, Result};

/// Largest header packet accepted. Real ones are a few hundred bytes.
const MAX_PACKET: u64 = 1 << 20;

/// What the stream header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NutStream {
    /// Tag of the sample format.
    pub fourcc: Vec<u8>,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Seconds a tick takes.
    pub time_base: Rational,
    /// Width and height of a pixel, where said.
    pub sample_aspect: Option<(u64, u64)>,
}

/// One frame, whose data comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Timestamp in ticks.
    pub pts: i64,
    /// Bytes of the frame.
    pub size: usize,
    prefix: u8,
}

/// What a frame code stands for.
#[derive(Debug, Clone, Copy, Default)]
struct Code {
    flags: u64,
    stream: u64,
    size_mul: u64,
    size_lsb: u64,
    pts_delta: i64,
    reserved: u64,
    header: u64,
}

/// Reads a file with one stream of raw frames.
pub struct NutReader<R: BufRead> {
    input: R,
    name: String,
    codes: Box<[Code; 256]>,
    prefixes: Vec<Vec<u8>>,
    stream: NutStream,
    pts_shift: u32,
    last_pts: i64,
    delivered: u64,
}

/// Where the input ended.
enum End {
    Clean,
    Cut,
    Io(std::io::Error),
    Bad(&'static str),
}

type Step<T> = std::result::Result<T, End>;

impl From<std::io::Error> for End {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e)
    }
}

fn byte(input: &mut impl BufRead) -> Step<u8> {
    let mut b = [0];
    match read_up_to(input, &mut b)? {
        1 => Ok(b[0]),
        _ => Err(End::Cut),
    }
}

/// Reads a number and appends its bytes to `seen`, for the checksum.
fn number(input: &mut impl BufRead, seen: &mut Vec<u8>) -> Step<u64> {
    let start = seen.len();
    loop {
        let b = byte(input)?;
        seen.push(b);
        if b & 0x80 == 0 {
            return Cursor::new(&seen[start..]).v().ok_or(End::Bad("a number is too long"));
        }
        if seen.len() - start > 10 {
            return Err(End::Bad("a number is too long"));
        }
    }
}

/// Reads the rest of a packet after its start code.
fn packet(input: &mut impl BufRead, code: u64) -> Step<Vec<u8>> {
    let mut seen = code.to_be_bytes().to_vec();
    let length = number(input, &mut seen)?;
    if !(4..=MAX_PACKET).contains(&length) {
        return Err(End::Bad("a header has an impossible length"));
    }
    if length > LONG_PACKET as u64 {
        for _ in 0..4 {
            seen.push(byte(input)?);
        }
        if crc(&seen) != 0 {
            return Err(End::Bad("a header's checksum is wrong"));
        }
    }
    let mut body = vec![0; length as usize];
    if read_up_to(input, &mut body)? < body.len() {
        return Err(End::Cut);
    }
    if crc(&body) != 0 {
        return Err(End::Bad("a packet's checksum is wrong"));
    }
    body.truncate(body.len() - 4);
    Ok(body)
}

fn startcode(input: &mut impl BufRead, first: u8) -> Step<u64> {
    let mut rest = [0; 7];
    if read_up_to(input, &mut rest)? < 7 {
        return Err(End::Cut);
    }
    let mut all = [first; 8];
    all[1..].copy_from_slice(&rest);
    Ok(u64::from_be_bytes(all))
}

const SHORT: End = End::Bad("a header ends too early");

struct Main {
    streams: u64,
    time_bases: Vec<Rational>,
    codes: Box<[Code; 256]>,
    prefixes: Vec<Vec<u8>>,
}

fn main_header(body: &[u8]) -> Step<Main> {
    let mut c = Cursor::new(body);
    let mut v = || c.v().ok_or(SHORT);
    let version = v()?;
    match version {
        2 | 3 => {}
        // The minor version.
        4 => _ = v()?,
        _ => return Err(End::Bad("the NUT version is unknown")),
    }
    let streams = v()?;
    let _max_distance = v()?;
    let n = v()?;
    if n == 0 || n > 16 {
        return Err(End::Bad("the number of time bases is impossible"));
    }
    let mut time_bases = Vec::new();
    for _ in 0..n {
        let (num, den) = (v()?, v()?);
        time_bases.push(Rational::new(num, den).map_err(|_| End::Bad("a time base is 0"))?);
    }
    let codes = frame_codes(&mut c)?;
    let mut prefixes = vec![Vec::new()];
    if !c.is_empty() {
        let n = c.v().ok_or(SHORT)?;
        if n > 127 {
            return Err(End::Bad("too many elision headers"));
        }
        for _ in 0..n {
            let bytes = c.vb().ok_or(SHORT)?;
            if bytes.len() > 255 {
                return Err(End::Bad("an elision header is too long"));
            }
            prefixes.push(bytes.to_vec());
        }
    }
    Ok(Main { streams, time_bases, codes, prefixes })
}

fn frame_codes(c: &mut Cursor<'_>) -> Step<Box<[Code; 256]>> {
    let mut codes = Box::new([Code { flags: flag::INVALID, ..Code::default() }; 256]);
    let (mut pts, mut mul, mut stream, mut header) = (0, 1, 0, 0);
    let mut i = 0;
    while i < 256 {
        let flags = c.v().ok_or(SHORT)?;
        let fields = c.v().ok_or(SHORT)?;
        let (mut size, mut reserved, mut count) = (0u64, 0, None);
        for field in 0..fields {
            match field {
                0 => pts = c.s().ok_or(SHORT)?,
                1 => mul = c.v().ok_or(SHORT)?,
                2 => stream = c.v().ok_or(SHORT)?,
                3 => size = c.v().ok_or(SHORT)?,
                4 => reserved = c.v().ok_or(SHORT)?,
                5 => count = Some(c.v().ok_or(SHORT)?),
                6 => _ = c.s().ok_or(SHORT)?,
                7 => header = c.v().ok_or(SHORT)?,
                _ => _ = c.v().ok_or(SHORT)?,
            }
        }
        let count = count.unwrap_or_else(|| mul.saturating_sub(size));
        if count == 0 || count > 256 {
            return Err(End::Bad("the frame code table makes no sense"));
        }
        let mut j = 0;
        while j < count && i < 256 {
            if i != usize::from(b'N') {
                codes[i] = Code {
                    flags,
                    stream,
                    size_mul: mul,
                    size_lsb: size.saturating_add(j),
                    pts_delta: pts,
                    reserved,
                    header,
                };
                j += 1;
            }
            i += 1;
        }
    }
    Ok(codes)
}

fn stream_header(body: &[u8], main: &Main) -> Step<(NutStream, u32)> {
    let mut c = Cursor::new(body);
    let mut v = || c.v().ok_or(SHORT);
    let (id, class) = (v()?, v()?);
    if id != 0 || class != 0 {
        return Err(End::Bad("its first stream is no video"));
    }
    let fourcc = c.vb().ok_or(SHORT)?.to_vec();
    let mut v = || c.v().ok_or(SHORT);
    let time_base = *usize::try_from(v()?)
        .ok()
        .and_then(|i| main.time_bases.get(i))
        .ok_or(End::Bad("a time base is missing"))?;
    let shift = v()?;
    let (_distance, _delay, _flags) = (v()?, v()?, v()?);
    c.vb().ok_or(SHORT)?;
    let mut v = || c.v().ok_or(SHORT);
    let (width, height, aw, ah) = (v()?, v()?, v()?, v()?);
    if shift > 30 {
        return Err(End::Bad("the timestamp shift is impossible"));
    }
    let side = |n: u64| usize::try_from(n).ok().filter(|&n| (1..=crate::MAX_SIDE * 2).contains(&n));
    let (Some(width), Some(height)) = (side(width), side(height)) else {
        return Err(End::Bad("the picture size is impossible"));
    };
    let sample_aspect = (aw > 0 && ah > 0).then_some((aw, ah));
    Ok((NutStream { fourcc, width, height, time_base, sample_aspect }, shift as u32))
}

impl<R: BufRead> NutReader<R> {
    /// Reads up to the stream header.
    ///
    /// # Errors
    /// [`Error::Broken`] for anything but NUT with one video stream, [`Error::Truncated`] when it is cut off.
    pub fn new(mut input: R, name: String) -> Result<Self> {
        match Self::headers(&mut input) {
            Ok((main, stream, pts_shift)) => Ok(Self {
                input,
                name,
                codes: main.codes,
                prefixes: main.prefixes,
                stream,
                pts_shift,
                last_pts: 0,
                delivered: 0,
            }),
            Err(end) => Err(error(&name, 0, end)),
        }
    }

    fn headers(input: &mut R) -> Step<(Main, NutStream, u32)> {
        let mut id = [0; FILE_ID.len()];
        if read_up_to(input, &mut id)? < id.len() {
            return Err(End::Cut);
        }
        if id != FILE_ID {
            return Err(End::Bad("it is not NUT"));
        }
        let mut main = None;
        loop {
            let first = byte(input)?;
            if first != b'N' {
                return Err(End::Bad("a frame comes before its stream header"));
            }
            let code = startcode(input, first)?;
            let body = packet(input, code)?;
            match (code, &main) {
                (MAIN, _) => {
                    let m = main_header(&body)?;
                    if m.streams != 1 {
                        return Err(End::Bad("it does not have exactly one stream"));
                    }
                    main = Some(m);
                }
                (STREAM, Some(m)) => {
                    let (stream, shift) = stream_header(&body, m)?;
                    return main.map(|m| (m, stream, shift)).ok_or(SHORT);
                }
                _ => {}
            }
        }
    }

    /// What the stream header says.
    pub fn stream(&self) -> &NutStream {
        &self.stream
    }

    /// The next frame, or `None` at the end. [`NutReader::read_data`] must follow.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the input is cut off, [`Error::Broken`] when it makes no sense.
    pub fn next_frame(&mut self) -> Result<Option<FrameHead>> {
        match self.step() {
            Ok(head) => Ok(Some(head)),
            Err(End::Clean) => Ok(None),
            Err(end) => Err(error(&self.name, self.delivered, end)),
        }
    }

    fn step(&mut self) -> Step<FrameHead> {
        loop {
            let mut first = [0];
            if read_up_to(&mut self.input, &mut first)? == 0 {
                return Err(End::Clean);
            }
            if first[0] != b'N' {
                return self.frame_head(first[0]);
            }
            let code = startcode(&mut self.input, first[0])?;
            // Headers are repeated, and info and index packets skipped.
            let body = packet(&mut self.input, code)?;
            if code == SYNCPOINT {
                // One time base counts for one stream: the rest of the number is ticks.
                let bases = 1;
                let ticks = Cursor::new(&body).v().ok_or(SHORT)? / bases;
                self.last_pts = i64::try_from(ticks).map_err(|_| End::Bad("a timestamp is too large"))?;
            }
        }
    }

    fn frame_head(&mut self, first: u8) -> Step<FrameHead> {
        let code = self.codes[usize::from(first)];
        let input = &mut self.input;
        let mut seen = vec![first];
        let mut flags = code.flags;
        if flags & flag::INVALID != 0 {
            return Err(End::Bad("a frame code is invalid"));
        }
        if flags & flag::CODED != 0 {
            flags ^= number(input, &mut seen)?;
        }
        let mut stream = code.stream;
        if flags & flag::STREAM_ID != 0 {
            stream = number(input, &mut seen)?;
        }
        if stream != 0 {
            return Err(End::Bad("a frame belongs to no stream"));
        }
        let pts = if flags & flag::CODED_PTS != 0 {
            let coded = number(input, &mut seen)?;
            let span = 1u64 << self.pts_shift;
            if coded < span {
                let mask = span as i64 - 1;
                let delta = self.last_pts.saturating_sub(mask / 2);
                ((coded as i64).wrapping_sub(delta) & mask).saturating_add(delta)
            } else {
                i64::try_from(coded - span).map_err(|_| End::Bad("a timestamp is too large"))?
            }
        } else {
            self.last_pts.saturating_add(code.pts_delta)
        };
        let mut size = code.size_lsb;
        if flags & flag::SIZE_MSB != 0 {
            let msb = number(input, &mut seen)?;
            size = msb
                .checked_mul(code.size_mul)
                .and_then(|s| s.checked_add(size))
                .ok_or(End::Bad("a frame is impossibly large"))?;
        }
        if flags & flag::MATCH_TIME != 0 {
            _ = signed(number(input, &mut seen)?);
        }
        let mut header = code.header;
        if flags & flag::HEADER_IDX != 0 {
            header = number(input, &mut seen)?;
        }
        let mut reserved = code.reserved;
        if flags & flag::RESERVED != 0 {
            reserved = number(input, &mut seen)?;
        }
        if reserved > 256 {
            return Err(End::Bad("too many reserved fields"));
        }
        for _ in 0..reserved {
            number(input, &mut seen)?;
        }
        if flags & flag::CHECKSUM != 0 {
            for _ in 0..4 {
                seen.push(byte(input)?);
            }
            if crc(&seen) != 0 {
                return Err(End::Bad("a frame's checksum is wrong"));
            }
        }
        if flags & flag::SIDE_DATA != 0 {
            return Err(End::Bad("frames carry side data"));
        }
        let prefix = u8::try_from(header).ok().filter(|&h| usize::from(h) < self.prefixes.len());
        let prefix = prefix.ok_or(End::Bad("an elision header is missing"))?;
        let size = usize::try_from(size).map_err(|_| End::Bad("a frame is impossibly large"))?;
        if self.prefixes[usize::from(prefix)].len() > size {
            return Err(End::Bad("a frame is shorter than its elision header"));
        }
        self.last_pts = pts;
        Ok(FrameHead { pts, size, prefix })
    }

    /// Reads the data of the frame that [`NutReader::next_frame`] announced into `data`, which must be of its size.
    ///
    /// # Errors
    /// [`Error::Broken`] when the size differs, [`Error::Truncated`] when the input is cut off.
    pub fn read_data(&mut self, head: &FrameHead, data: &mut [u8]) -> Result<()> {
        if data.len() != head.size {
            return Err(Error::broken(
                &self.name,
                format!("frame {} takes {} bytes instead of {}", self.delivered, head.size, data.len()),
            ));
        }
        let (front, rest) = data.split_at_mut(self.prefixes[usize::from(head.prefix)].len());
        front.copy_from_slice(&self.prefixes[usize::from(head.prefix)]);
        let got = read_up_to(&mut self.input, rest).map_err(|e| Error::io(&self.name, e))?;
        if got < rest.len() {
            return Err(error(&self.name, self.delivered, End::Cut));
        }
        self.delivered += 1;
        Ok(())
    }
}

fn error(name: &str, frames: u64, end: End) -> Error {
    match end {
        End::Io(e) => Error::io(name, e),
        End::Bad(what) => Error::broken(name, format!("NUT stream: {what}")),
        End::Clean | End::Cut => {
            Error::Truncated { path: name.into(), frames, detail: "inside a NUT packet".into() }
        }
    }
}
