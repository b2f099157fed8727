//! H.264 with OpenH264 into an MP4 or MOV file.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use mp4_atom::{Avc1, Avcc, AvccExt, Colr, Encode, Pasp, Visual};
use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, ColorPrimaries, Complexity, Encoder, EncoderConfig, FrameRate, IntraFramePeriod,
    MatrixCoefficients, Profile, QpRange, RateControlMode, TransferCharacteristics, UsageType, VuiConfig,
};
use openh264::formats::YUVSlices;

use super::LIBRARY;
use crate::adapt::Adapter;
use crate::boxes::{find, put_box};
use crate::mp4::{Mp4, OutSample, OutTrack, ReadSeek, carry, wanted, write};
use crate::output::TemporaryPath;
use crate::{
    Buffer, Codec, ColorRange, CreateOptions, Error, Frame, FrameSink, Layout, PixelFormat, Result,
    StreamInfo,
};

/// The quantisers that the library lets a caller fix.
const QP: std::ops::RangeInclusive<u8> = 12..=51;

/// Quality unless told otherwise.
const DEFAULT_QP: u8 = 18;

/// Seconds between pictures at which decoding can start.
const KEY_INTERVAL: f64 = 2.0;

/// Largest sides that the library takes.
const MAX_SIDES: (usize, usize) = (3840, 2160);

/// Writes pictures with the built-in encoder.
pub(crate) struct H264Writer {
    encoder: Encoder,
    adapter: Adapter,
    info: StreamInfo,
    name: String,
    qp: u8,
    /// The file under its temporary name, and the encoded pictures until the header is known.
    target: TemporaryPath,
    pictures: TemporaryPath,
    stream: BufWriter<File>,
    written: u64,
    samples: Vec<OutSample>,
    times: Vec<i64>,
    parameters: Option<(Vec<u8>, Vec<u8>)>,
    timescale: (u32, u64),
    source: Option<Source>,
    quicktime: bool,
    notes: Vec<String>,
}

/// The file whose other tracks are carried over.
struct Source {
    name: String,
    file: BufReader<File>,
    tracks: Vec<OutTrack>,
    extra: Vec<u8>,
}

impl H264Writer {
    /// Checks everything and prepares encoding.
    pub(crate) fn new(path: &Path, info: &StreamInfo, options: &CreateOptions) -> Result<Self> {
        let name = path.display().to_string();
        let needs = |what: &str| Err(Error::needs_ffmpeg(name.as_str(), what));
        match options.codec {
            Some(Codec::H264) | None if !options.lossless => {}
            Some(c) if !options.lossless => return needs(&format!("encoding {}", c.name())),
            _ => return needs("lossless output"),
        }
        let qp = options.crf.unwrap_or(DEFAULT_QP);
        if !QP.contains(&qp) {
            return Err(Error::BadOption {
                option: "--crf",
                value: qp.to_string(),
                legal: format!(
                    "{} (best) to {} for the built-in encoder, which takes it as a constant quantiser",
                    QP.start(),
                    QP.end()
                ),
            });
        }
        if options.pix_fmt.is_some_and(|f| f != info.format) {
            return needs("converting the pixel format");
        }
        let wanted_format = PixelFormat::new(Layout::Yuv420, 8)?;
        if !matches!(info.format.layout(), Layout::Yuv420 | Layout::Nv12) || info.format.depth() != 8 {
            return needs(&format!(
                "encoding {} (the built-in encoder takes {wanted_format} only)",
                info.format
            ));
        }
        if info.fields.is_interlaced() {
            return needs("encoding interlaced pictures as such");
        }
        let size = (info.width, info.height);
        let even = crate::ffmpeg::check_even(&name, Codec::H264, wanted_format, size, options)?;
        let adapter = Adapter::new(info, false, even)?;
        let (w, h) = (adapter.info().width, adapter.info().height);
        let (long, short) = (w.max(h), w.min(h));
        if short < 16 || long > MAX_SIDES.0 || short > MAX_SIDES.1 {
            return needs(&format!(
                "encoding {w}x{h} (the built-in encoder takes 16x16 to {}x{})",
                MAX_SIDES.0, MAX_SIDES.1
            ));
        }
        let tb = info.time_base;
        let timescale = u32::try_from(tb.den()).ok().filter(|_| tb.num() < 1 << 31);
        let Some(timescale) = timescale else {
            return Err(Error::BadRate { num: tb.den(), den: tb.num() });
        };
        let source = options.copy_from.as_deref().map(|p| Source::new(p, options)).transpose()?.flatten();
        let (target, _) = TemporaryPath::new(path, options.overwrite)?;
        let (pictures, file) = TemporaryPath::new(path, true)?;
        let config = config(adapter.info(), qp);
        let mut this = Self {
            encoder: new_encoder(config, &name)?,
            qp,
            adapter,
            info: info.clone(),
            target,
            pictures,
            stream: BufWriter::with_capacity(1 << 20, file),
            written: 0,
            samples: Vec::new(),
            times: Vec::new(),
            parameters: None,
            timescale: (timescale, tb.num()),
            source,
            quicktime: path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mov")),
            notes: Vec::new(),
            name,
        };
        if info.color != crate::ColorTags::default() {
            this.check_tags();
        }
        // A trial: whatever the library refuses, it refuses now.
        let mut trial = new_encoder(config, &this.name)?;
        let blank = Frame::new(wanted_format, w, h)?;
        encode(&mut trial, &blank, &this.name)?;
        Ok(this)
    }

    /// Notes tags that the library cannot write into the stream; the file's own description holds them all.
    fn check_tags(&mut self) {
        let c = self.info.color;
        if vui(&self.info).is_none() {
            self.notes.push(format!(
                "the colour description {}/{}/{} is kept in the file's header only",
                c.primaries, c.transfer, c.matrix
            ));
        }
    }

    fn ticks(&self, timestamp: i64) -> Result<i64> {
        i64::try_from(self.timescale.1)
            .ok()
            .and_then(|n| timestamp.checked_mul(n))
            .filter(|&t| t >= 0)
            .ok_or_else(|| Error::BadOption {
                option: "timestamp",
                value: timestamp.to_string(),
                legal: "must be 0 or later".into(),
            })
    }

    fn store(&mut self, stream: &[u8], timestamp: i64) -> Result<()> {
        let ticks = self.ticks(timestamp)?;
        if self.times.last().is_some_and(|&t| t >= ticks) {
            return Err(Error::BadOption {
                option: "timestamp",
                value: timestamp.to_string(),
                legal: "must be later than the one before".into(),
            });
        }
        let start = self.written;
        let mut sync = false;
        for nal in nal_units(stream) {
            match nal.first().map(|b| b & 0x1F) {
                Some(7) => self.parameters = Some((nal.to_vec(), Vec::new())),
                Some(8) => {
                    if let Some(p) = &mut self.parameters {
                        p.1 = nal.to_vec();
                    }
                }
                kind => {
                    sync |= kind == Some(5);
                    let length = u32::try_from(nal.len()).unwrap_or(u32::MAX).to_be_bytes();
                    self.stream
                        .write_all(&length)
                        .and_then(|()| self.stream.write_all(nal))
                        .map_err(|e| Error::io(&self.name, e))?;
                    self.written += 4 + nal.len() as u64;
                }
            }
        }
        let size =
            u32::try_from(self.written - start).ok().filter(|&n| n > 0).ok_or_else(|| Error::Codec {
                path: self.name.clone(),
                codec: LIBRARY,
                detail: format!("picture {} came out empty", self.samples.len()),
            })?;
        let first = self.times.first().copied().unwrap_or(ticks);
        if let Some(last) = self.samples.last_mut() {
            last.duration = u32::try_from(ticks - first - last.dts).unwrap_or(u32::MAX);
        }
        self.times.push(ticks);
        let dts = ticks - first;
        self.samples.push(OutSample {
            offset: start,
            size,
            dts,
            duration: 0,
            shift: 0,
            sync,
            description: 1,
        });
        Ok(())
    }

    /// The picture track, once all pictures are there.
    fn track(&mut self) -> Result<OutTrack> {
        let Some((sps, pps)) = self.parameters.clone() else {
            return Err(Error::NoFrames { path: self.name.clone() });
        };
        let (timescale, _) = self.timescale;
        // The last picture is shown for as long as the rate says, at a variable rate for as long as the one before.
        let nominal = (f64::from(timescale) / self.info.rate.as_f64()).round().max(1.0) as u32;
        let mut samples = std::mem::take(&mut self.samples);
        let before = samples.iter().rev().nth(1).map(|s| s.duration).filter(|_| self.info.variable_rate);
        if let Some(last) = samples.last_mut() {
            last.duration = before.unwrap_or(nominal);
        }
        let info = self.adapter.info();
        let (w, h) = (info.width as u16, info.height as u16);
        let atom = |e: mp4_atom::Error| {
            Error::broken(&self.name, format!("its description cannot be written ({e})"))
        };
        let mut avcc = Avcc::new(&sps, &pps).map_err(atom)?;
        if avcc.avc_profile_indication == 100 {
            avcc.ext = Some(AvccExt::default());
        }
        let c = info.color;
        let tagged = c != crate::ColorTags::default();
        let description = Avc1 {
            visual: Visual { data_reference_index: 1, width: w, height: h, ..Visual::default() },
            avcc,
            colr: tagged.then(|| Colr::Nclx {
                colour_primaries: c.primaries.into(),
                transfer_characteristics: c.transfer.into(),
                matrix_coefficients: c.matrix.into(),
                full_range_flag: c.range == ColorRange::Full,
            }),
            pasp: info.pixel_aspect.and_then(|a| {
                Some(Pasp { h_spacing: a.num().try_into().ok()?, v_spacing: a.den().try_into().ok()? })
            }),
            ..Avc1::default()
        };
        let mut entry = Vec::new();
        description.encode(&mut entry).map_err(atom)?;
        let boxed = |kind: &[u8; 4], fill: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put_box(&mut out, kind, |o| fill(o));
            out
        };
        let matrix = crate::matrix::rotation_matrix(self.info.rotation, u32::from(w), u32::from(h));
        let mut media = boxed(b"vmhd", &|o| o.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
        put_box(&mut media, b"dinf", |o| {
            put_box(o, b"dref", |o| {
                o.extend([0, 0, 0, 0, 0, 0, 0, 1]);
                // One reference: the samples are in this file.
                put_box(o, b"url ", |o| o.extend([0, 0, 0, 1]));
            });
        });
        Ok(OutTrack {
            tkhd: boxed(b"tkhd", &|o| {
                // Version 1, enabled, in the movie; times, number 1, reserved, duration, reserved, layer and group.
                o.extend([1, 0, 0, 3]);
                o.extend([0; 16]);
                o.extend(1u32.to_be_bytes());
                o.extend([0; 4 + 8 + 8 + 8]);
                for v in matrix {
                    o.extend(v.to_be_bytes());
                }
                o.extend((u32::from(w) << 16).to_be_bytes());
                o.extend((u32::from(h) << 16).to_be_bytes());
            }),
            extra: Vec::new(),
            mdhd: boxed(b"mdhd", &|o| {
                o.extend([1, 0, 0, 0]);
                o.extend([0; 16]);
                o.extend(timescale.to_be_bytes());
                // Duration; language `und`.
                o.extend([0; 8]);
                o.extend([0x55, 0xC4, 0, 0]);
            }),
            hdlr: boxed(b"hdlr", &|o| {
                o.extend([0; 8]);
                o.extend(b"vide");
                o.extend([0; 12]);
                o.extend(b"VideoHandler\0");
            }),
            media,
            stsd: boxed(b"stsd", &|o| {
                o.extend([0, 0, 0, 0, 0, 0, 0, 1]);
                o.extend_from_slice(&entry);
            }),
            groups: Vec::new(),
            timescale,
            delay: self.times.first().copied().unwrap_or(0),
            media_start: 0,
            presented: None,
            samples,
        })
    }
}

impl FrameSink for H264Writer {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let timestamp = frame.timestamp;
        let frame = self.adapter.apply(frame)?;
        let stream = encode(&mut self.encoder, frame, &self.name)?;
        self.store(&stream, timestamp)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let name = self.name.clone();
        let io = |e| Error::io(&name, e);
        self.stream.flush().map_err(io)?;
        let mut tracks = vec![self.track()?];
        let mut pictures = BufReader::with_capacity(1 << 20, File::open(self.pictures.path()).map_err(io)?);
        let mut source = self.source.take();
        let mut files: Vec<BufReader<File>> = Vec::new();
        let mut extra = Vec::new();
        if let Some(s) = &mut source {
            for t in s.tracks.drain(..) {
                let again = s.file.get_ref().try_clone().map_err(|e| Error::io(&s.name, e))?;
                files.push(BufReader::with_capacity(256 << 10, again));
                tracks.push(t);
            }
            extra = std::mem::take(&mut s.extra);
        }
        let mut bytes: Vec<&mut dyn ReadSeek> = vec![&mut pictures];
        bytes.extend(files.iter_mut().map(|f| f as &mut dyn ReadSeek));
        let out = OpenOptions::new().write(true).truncate(true).open(self.target.path()).map_err(io)?;
        let mut out = BufWriter::with_capacity(1 << 20, out);
        let brand = if self.quicktime { b"qt  " } else { b"isom" };
        write(&mut out, &name, brand, self.timescale.0, &tracks, &extra, &mut bytes)?;
        out.flush().map_err(io)?;
        drop(out);
        let Self { target, .. } = *self;
        target.finish()
    }

    fn is_coded(&self) -> bool {
        true
    }

    fn encoder(&self) -> String {
        format!("{LIBRARY} (constant quantiser {})", self.qp)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Source {
    /// `None` where there is nothing to carry over.
    fn new(path: &Path, options: &CreateOptions) -> Result<Option<Self>> {
        if crate::y4m::is_y4m(path) {
            return Ok(None);
        }
        let name = path.display().to_string();
        let mut file = BufReader::new(File::open(path).map_err(|e| Error::io(&name, e))?);
        let mp4 = match Mp4::read(&mut file, &name) {
            Ok(m) => m,
            Err(_) if options.no_audio => return Ok(None),
            Err(Error::Broken { .. }) => {
                let what = "copying the sound out of a file that is not MP4 or has a damaged header (or leave it out with --no-audio)";
                return Err(Error::needs_ffmpeg(name, what));
            }
            Err(e) => return Err(e),
        };
        let span = (options.start.unwrap_or(0.0), options.end);
        let mut tracks = Vec::new();
        for t in mp4.tracks.iter().filter(|t| wanted(t, options.no_audio)) {
            let id = tracks.len() as u32 + 2;
            tracks.extend(carry(&mp4, t, id, span, &name)?);
        }
        let mut extra = Vec::new();
        for kind in [b"udta", b"meta"] {
            if let Some(b) = find(&mp4.moov, (0, mp4.moov.len()), &[kind]) {
                extra.extend_from_slice(&mp4.moov[b.start..b.end]);
            }
        }
        Ok(Some(Self { name, file, tracks, extra }))
    }
}

/// Settings that fix the quantiser and leave no picture out.
fn config(info: &StreamInfo, qp: u8) -> EncoderConfig {
    let rate = info.rate.as_f64();
    let key = (rate * KEY_INTERVAL).round().clamp(1.0, 600.0) as u32;
    // The rate control cannot leave the one quantiser allowed; the rate only chooses the level that is written.
    let bits = (info.width * info.height) as f64 * rate * 0.2;
    let config = EncoderConfig::new()
        .rate_control_mode(RateControlMode::Quality)
        .qp(QpRange::new(qp, qp))
        .bitrate(BitRate::from_bps(bits.clamp(64e3, 2e8) as u32))
        .max_frame_rate(FrameRate::from_hz(rate.clamp(1.0, 60.0) as f32))
        .skip_frames(false)
        .adaptive_quantization(false)
        .background_detection(false)
        .scene_change_detect(true)
        .usage_type(UsageType::CameraVideoRealTime)
        .complexity(Complexity::Medium)
        .profile(Profile::High)
        .intra_frame_period(IntraFramePeriod::from_num_frames(key))
        .num_threads(1);
    match vui(info) {
        Some(v) => config.vui(v),
        None => config,
    }
}

/// The colour description as the library takes it; `None` where nothing is said or a code point has no name there.
fn vui(info: &StreamInfo) -> Option<VuiConfig> {
    use ColorPrimaries as P;
    use MatrixCoefficients as M;
    use TransferCharacteristics as T;
    let c = info.color;
    if c == crate::ColorTags::default() {
        return None;
    }
    let p = [P::Bt709, P::Unspecified, P::Bt470M, P::Bt470BG, P::Smpte170M, P::Smpte240M, P::Film, P::Bt2020];
    let t = [
        T::Bt709,
        T::Unspecified,
        T::Bt470M,
        T::Bt470Bg,
        T::Smpte170M,
        T::Smpte240M,
        T::Linear,
        T::Srgb,
        T::Bt2020_10,
        T::Bt2020_12,
        T::Smpte2084,
        T::Hlg,
    ];
    let m = [
        M::Identity,
        M::Bt709,
        M::Unspecified,
        M::Fcc,
        M::Bt470Bg,
        M::Smpte170M,
        M::Smpte240M,
        M::Ycgco,
        M::Bt2020Ncl,
        M::Bt2020Cl,
    ];
    Some(
        VuiConfig::new()
            .color_primaries(p.into_iter().find(|v| v.as_u8() == c.primaries)?)
            .transfer_characteristics(t.into_iter().find(|v| v.as_u8() == c.transfer)?)
            .matrix_coefficients(m.into_iter().find(|v| v.as_u8() == c.matrix)?)
            .full_range(c.range == ColorRange::Full),
    )
}

fn new_encoder(config: EncoderConfig, name: &str) -> Result<Encoder> {
    let failed = |detail: String| Error::Codec { path: name.into(), codec: LIBRARY, detail };
    let mut encoder =
        Encoder::with_api_config(OpenH264API::from_source(), config).map_err(|e| failed(e.to_string()))?;
    let mut quiet = openh264_sys2::WELS_LOG_QUIET;
    // The wrapper silences the library only after it has been set up, which already prints warnings.
    // SAFETY: the encoder is alive, the option is one that may be set before it is set up, and its value is an `int`
    // that the library copies before the call returns.
    unsafe {
        encoder.raw_api().set_option(openh264_sys2::ENCODER_OPTION_TRACE_LEVEL, (&raw mut quiet).cast())
    };
    Ok(encoder)
}

fn encode(encoder: &mut Encoder, frame: &Frame, name: &str) -> Result<Vec<u8>> {
    let failed = |detail: String| Error::Codec { path: name.into(), codec: LIBRARY, detail };
    let Buffer::U8(samples) = frame.buffer() else {
        return Err(failed("pictures of more than 8 bits".into()));
    };
    let (w, h) = (frame.width(), frame.height());
    let (y, chroma) = samples.split_at(w * h);
    let (u, v) = chroma.split_at(chroma.len() / 2);
    let picture = YUVSlices::new((y, u, v), (w, h), (w, w / 2, w / 2));
    encoder.encode(&picture).map(|s| s.to_vec()).map_err(|e| failed(e.to_string()))
}

/// The NAL units of a stream with start codes.
fn nal_units(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let start = rest.windows(3).position(|w| w == [0, 0, 1])? + 3;
        let body = &rest[start..];
        let end = body.windows(3).position(|w| w == [0, 0, 1] || w == [0, 0, 0]).unwrap_or(body.len());
        rest = &body[end..];
        Some(&body[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_taken_apart() {
        let stream = [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 3, 0, 0, 1, 0x65, 4, 0, 5];
        let units: Vec<&[u8]> = nal_units(&stream).collect();
        assert_eq!(units, [&[0x67, 1, 2][..], &[0x68, 3], &[0x65, 4, 0, 5]]);
        assert_eq!(nal_units(&[0, 0, 0]).count(), 0);
    }
}
