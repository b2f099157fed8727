//! Pictures out of an MP4 file with OpenH264.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Not;
use std::path::Path;

use mp4_atom::Colr;
use openh264::OpenH264API;
use openh264::decoder::{DecodedYUV, Decoder, DecoderConfig, Flush};
use openh264::formats::YUVSource;

use super::{Bits, LIBRARY, Sps, parse_sps};
use crate::mp4::{Mp4, Sample};
use crate::{
    ColorRange, Error, Frame, FrameSource, Layout, PixelFormat, PlanesMut, Rational, Result, StreamInfo,
};

/// The largest access unit accepted: far above anything a level allows.
const MAX_UNIT: u32 = 1 << 28;

/// Reads pictures with the built-in decoder.
pub(crate) struct H264Reader {
    file: BufReader<File>,
    name: String,
    info: StreamInfo,
    decoder: Decoder,
    samples: Vec<Sample>,
    next: usize,
    /// Timestamps of all pictures in the order shown; `None` for pictures outside the edit list.
    times: VecDeque<Option<i64>>,
    parameters: Vec<u8>,
    unit: Vec<u8>,
    annex_b: Vec<u8>,
    length_size: usize,
    /// Pictures that came out of the final flush.
    rest: VecDeque<Frame>,
    flushed: bool,
    delivered: u64,
    /// Whether bidirectional pictures were seen.
    bidirectional: bool,
}

/// What to say of the one thing that the library does not decode exactly: it leaves the edges inside skipped macroblocks
/// of bidirectional pictures unfiltered where their quarters move differently.
const DRIFT: &str = "decoded by OpenH264 2.6, whose bidirectional pictures can differ from exact ones by up to 2 levels in a few samples, \
     which is noise that is magnified with everything else; ffmpeg decodes exactly: install it, or leave out `--decoder built-in` where it is there";

impl H264Reader {
    /// Reads the header and prepares decoding.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let io = |e| Error::io(&name, e);
        let mut file = BufReader::with_capacity(64 << 10, File::open(path).map_err(io)?);
        let mp4 = Mp4::read(&mut file, &name)?;
        let codecs = || mp4.tracks.iter().map(|t| four(t.codec)).collect::<Vec<_>>().join(", ");
        let track = mp4.video().ok_or_else(|| Error::NoVideo {
            path: name.clone(),
            found: if mp4.tracks.is_empty() { String::new() } else { format!(" (only {})", codecs()) },
        })?;
        if &track.codec == b"none" {
            return Err(Error::broken(name, "its picture track names no codec: the header is damaged"));
        }
        if !matches!(&track.codec, b"avc1" | b"avc3") {
            return Err(Error::needs_ffmpeg(name, format!("{} video", codec_name(track.codec))));
        }
        let avc = mp4.avc(track).map_err(|w| Error::broken(&name, format!("MP4 header: {w}")))?;
        let sps = avc.avcc.sequence_parameter_sets.first().and_then(|s| parse_sps(s)).ok_or_else(|| {
            Error::broken(&name, "its H.264 stream has no sequence parameter set that makes sense")
        })?;
        if let Some(what) = sps.obstacle() {
            return Err(Error::needs_ffmpeg(name, format!("{what} video")));
        }
        let mut info = stream_info(&sps, &avc.colr, avc.pasp)?;
        info.time_base = Rational::new(1, u64::from(track.timescale))?;
        info.rotation = track.rotation.ok_or_else(|| {
            let what = "a display matrix that mirrors or turns the picture by no quarter turn";
            Error::needs_ffmpeg(name.as_str(), what)
        })?;
        let times = shown(track);
        let seen: Vec<i64> = times.iter().flatten().copied().collect();
        info.frames = Some(seen.len() as u64);
        crate::source::set_rate(&seen, &mut info);
        let config = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
        let decoder = Decoder::with_api_config(OpenH264API::from_source(), config)
            .map_err(|e| codec_error(&name, e.to_string()))?;
        let mut parameters = Vec::new();
        for nal in avc.avcc.sequence_parameter_sets.iter().chain(&avc.avcc.picture_parameter_sets) {
            parameters.extend([0, 0, 0, 1]);
            parameters.extend(nal);
        }
        Ok(Self {
            file,
            info,
            decoder,
            samples: track.samples.clone(),
            next: 0,
            times,
            parameters,
            unit: Vec::new(),
            annex_b: Vec::new(),
            length_size: usize::from(avc.avcc.length_size),
            rest: VecDeque::new(),
            flushed: false,
            delivered: 0,
            // Pictures that are decoded in another order than shown tell it before the first one is read.
            bidirectional: track.samples.is_sorted_by_key(|s| s.pts).not(),
            name,
        })
    }

    /// Reads the next access unit into `annex_b`.
    fn load(&mut self, s: Sample) -> Result<()> {
        let io = |e| Error::io(&self.name, e);
        if s.size > MAX_UNIT {
            return Err(Error::broken(&self.name, format!("picture {} claims {} bytes", self.next, s.size)));
        }
        self.file.seek(SeekFrom::Start(s.offset)).map_err(io)?;
        self.unit.resize(s.size as usize, 0);
        self.file.read_exact(&mut self.unit).map_err(io)?;
        self.annex_b.clear();
        if self.next == 0 {
            self.annex_b.extend_from_slice(&self.parameters);
        }
        let mut bidirectional = self.bidirectional;
        let mut rest = &self.unit[..];
        while !rest.is_empty() {
            let bad = || Error::broken(&self.name, format!("picture {} is not made of NAL units", self.next));
            let (length, tail) = rest.split_at_checked(self.length_size).ok_or_else(bad)?;
            let length = length.iter().fold(0usize, |n, &b| n << 8 | usize::from(b));
            let (nal, tail) = tail.split_at_checked(length).ok_or_else(bad)?;
            self.annex_b.extend([0, 0, 0, 1]);
            self.annex_b.extend_from_slice(nal);
            bidirectional |= is_bidirectional(nal);
            rest = tail;
        }
        self.bidirectional = bidirectional;
        Ok(())
    }
}

/// Whether a NAL unit is a slice of a bidirectional picture.
fn is_bidirectional(nal: &[u8]) -> bool {
    let Some((&header, rest)) = nal.split_first() else { return false };
    if !matches!(header & 0x1F, 1 | 5) {
        return false;
    }
    let mut bits = Bits::new(rest);
    // The first macroblock, then the type of the slice.
    bits.ue().and_then(|_| bits.ue()).is_some_and(|kind| kind % 5 == 1)
}

/// Copies a decoded picture without its cropped edges.
fn copy(picture: &DecodedYUV<'_>, frame: &mut Frame, name: &str, number: u64) -> Result<()> {
    let (have, want) = (picture.dimensions(), (frame.width(), frame.height()));
    // OpenH264 applies the cropping itself; a stream that changes its size comes out wrong here.
    if have != want {
        return Err(Error::unsupported(
            name,
            format!(
                "a change of picture size (from {}x{} to {}x{} at picture {number})",
                want.0, want.1, have.0, have.1
            ),
            "install ffmpeg, which scales the pictures to one size",
        ));
    }
    let strides = picture.strides();
    let mut view = frame.view_mut();
    let PlanesMut::U8(planes) = view.planes_mut() else {
        return Err(codec_error(name, "8-bit pictures into a frame of more bits".into()));
    };
    for ((plane, data), stride) in
        planes.iter_mut().zip([picture.y(), picture.u(), picture.v()]).zip([strides.0, strides.1, strides.2])
    {
        for y in 0..plane.height() {
            let n = plane.row_len();
            plane.row_mut(y).copy_from_slice(&data[y * stride..y * stride + n]);
        }
    }
    Ok(())
}

fn codec_error(name: &str, detail: String) -> Error {
    Error::Codec { path: name.into(), codec: LIBRARY, detail }
}

/// The library's own words are a number of an enumeration that the reader of a message does not have.
fn damaged(name: &str, number: u64) -> Error {
    codec_error(
        name,
        format!(
            "frame {number} (in decoding order) is damaged; ffmpeg can conceal it: install it, or choose it as the decoder"
        ),
    )
}

fn four(kind: [u8; 4]) -> String {
    String::from_utf8_lossy(&kind).trim().escape_debug().to_string()
}

/// What people call a codec by its tag.
fn codec_name(kind: [u8; 4]) -> String {
    match &kind {
        b"hvc1" | b"hev1" => "HEVC".into(),
        b"av01" => "AV1".into(),
        b"vp09" => "VP9".into(),
        b"mp4v" => "MPEG-4".into(),
        b"apch" | b"apcn" | b"apcs" | b"apco" | b"ap4h" => "ProRes".into(),
        b"jpeg" | b"mjpa" | b"mjpb" => "Motion JPEG".into(),
        _ => format!("`{}`", four(kind)),
    }
}

/// Timestamps of a track's pictures in the order shown.
fn shown(track: &crate::mp4::Track) -> VecDeque<Option<i64>> {
    let mut times: Vec<i64> = track.samples.iter().map(|s| s.pts).collect();
    times.sort_unstable();
    let end = track.presented.map_or(i64::MAX, |n| track.media_start.saturating_add(n));
    times
        .into_iter()
        .map(|t| (t >= track.media_start && t < end).then(|| t - track.media_start + track.delay))
        .collect()
}

fn stream_info(sps: &Sps, colr: &Option<Colr>, pasp: Option<(u32, u32)>) -> Result<StreamInfo> {
    let mut info =
        StreamInfo::new(PixelFormat::new(Layout::Yuv420, 8)?, sps.width, sps.height, Rational::new(25, 1)?)?;
    info.color = sps.color;
    info.siting = sps.siting;
    let aspect = sps.aspect.or(pasp.map(|(a, b)| (u64::from(a), u64::from(b))));
    info.pixel_aspect = aspect.and_then(|(a, b)| Rational::new(a, b).ok());
    let code = |v: &u16| u8::try_from(*v).unwrap_or(2);
    // The stream's own description counts; the file's fills what it leaves open.
    let fill = |slot: &mut u8, v: &u16| {
        if *slot == 2 {
            *slot = code(v);
        }
    };
    if let Some(
        Colr::Nclx { colour_primaries: p, transfer_characteristics: t, matrix_coefficients: m, .. }
        | Colr::Nclc { colour_primaries: p, transfer_characteristics: t, matrix_coefficients: m },
    ) = colr
    {
        fill(&mut info.color.primaries, p);
        fill(&mut info.color.transfer, t);
        fill(&mut info.color.matrix, m);
    }
    if let (ColorRange::Unspecified, Some(Colr::Nclx { full_range_flag, .. })) = (info.color.range, colr) {
        info.color.range = if *full_range_flag { ColorRange::Full } else { ColorRange::Limited };
    }
    Ok(info)
}

impl FrameSource for H264Reader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        loop {
            let got = if let Some(f) = self.rest.pop_front() {
                frame.bytes_mut().copy_from_slice(f.bytes());
                true
            } else if let Some(&s) = self.samples.get(self.next) {
                self.load(s)?;
                let number = self.next as u64;
                self.next += 1;
                let picture = self.decoder.decode(&self.annex_b).map_err(|_| damaged(&self.name, number))?;
                match picture {
                    Some(p) => {
                        copy(&p, frame, &self.name, number)?;
                        true
                    }
                    None => false,
                }
            } else if !self.flushed {
                self.flushed = true;
                let pictures =
                    self.decoder.flush_remaining().map_err(|e| codec_error(&self.name, e.to_string()))?;
                for p in pictures {
                    let mut f = Frame::new(self.info.format, self.info.width, self.info.height)?;
                    copy(&p, &mut f, &self.name, self.next as u64)?;
                    self.rest.push_back(f);
                }
                false
            } else {
                return self.end();
            };
            if !got {
                continue;
            }
            // Pictures come out in the order shown, so the n-th has the n-th time.
            let time = self.times.pop_front().ok_or_else(|| {
                codec_error(&self.name, "more pictures came out than access units went in".into())
            })?;
            if let Some(t) = time {
                frame.timestamp = t;
                self.delivered += 1;
                return Ok(true);
            }
        }
    }

    fn is_coded(&self) -> bool {
        true
    }

    fn decoder(&self) -> String {
        LIBRARY.into()
    }

    fn notes(&self) -> Vec<String> {
        self.bidirectional.then(|| DRIFT.to_owned()).into_iter().collect()
    }
}

impl H264Reader {
    /// All is read: were there as many pictures as there must be?
    fn end(&self) -> Result<bool> {
        if !self.times.is_empty() {
            return Err(codec_error(
                &self.name,
                format!(
                    "{} pictures did not come out; install ffmpeg, which decodes this stream",
                    self.times.len()
                ),
            ));
        }
        if self.delivered == 0 {
            return Err(Error::NoFrames { path: self.name.clone() });
        }
        Ok(false)
    }
}
