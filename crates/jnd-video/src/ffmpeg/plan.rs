//! Which encoder, which format, which other streams: everything that can be refused before the work.

use super::media::OtherStream;
use super::{Program, find};
use crate::{Codec, ColorRange, CreateOptions, Error, Layout, PixelFormat, Result, StreamInfo, StreamKind};

/// Containers written through `ffmpeg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Mp4,
    Mov,
    Matroska,
    WebM,
}

impl Container {
    /// The container of an extension.
    pub(crate) fn of(extension: &str) -> Option<Self> {
        Some(match extension {
            "mp4" | "m4v" => Self::Mp4,
            "mov" => Self::Mov,
            "mkv" => Self::Matroska,
            "webm" => Self::WebM,
            _ => return None,
        })
    }

    pub(super) fn muxer(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Matroska => "matroska",
            Self::WebM => "webm",
        }
    }

    /// Whether the file holds the rotation as a tag that players honour.
    pub(crate) fn keeps_rotation(self) -> bool {
        matches!(self, Self::Mp4 | Self::Mov)
    }

    fn holds(self, codec: Codec) -> bool {
        match self {
            Self::Mp4 | Self::Mov => matches!(codec, Codec::H264 | Codec::Hevc),
            Self::Matroska => true,
            Self::WebM => codec == Codec::Vp9,
        }
    }
}

/// The codec that the container and the options ask for.
pub(crate) fn codec(name: &str, container: Container, options: &CreateOptions) -> Result<Codec> {
    let codec = match (options.codec, options.lossless) {
        (Some(c), true) if c != Codec::Ffv1 => {
            return Err(Error::BadOption {
                option: "--lossless",
                value: format!("with --codec {}", c.name()),
                legal: "is FFV1 in .mkv; leave --codec out".into(),
            });
        }
        (Some(c), _) => c,
        (None, true) => Codec::Ffv1,
        (None, false) if container == Container::WebM => Codec::Vp9,
        (None, false) => Codec::H264,
    };
    if container.holds(codec) {
        return Ok(codec);
    }
    let instead = match codec {
        Codec::Ffv1 => "write .mkv",
        _ if container == Container::WebM => ".webm holds VP9; write .mp4 or .mkv",
        _ => "write .mkv or .webm",
    };
    let what = format!("{} in .{}", codec.name(), container.muxer());
    Err(Error::unsupported(name, what, instead).by_request(true))
}

/// Largest legal crf of a codec, and the default.
fn crf_range(codec: Codec) -> Option<(u8, u8)> {
    match codec {
        Codec::H264 => Some((51, 18)),
        Codec::Hevc => Some((51, 20)),
        Codec::Vp9 => Some((63, 24)),
        Codec::Ffv1 => None,
    }
}

/// The crf to use; `None` for a lossless codec.
pub(crate) fn crf(codec: Codec, options: &CreateOptions) -> Result<Option<u8>> {
    match (crf_range(codec), options.crf) {
        (None, None) => Ok(None),
        (None, Some(v)) => Err(Error::BadOption {
            option: "--crf",
            value: v.to_string(),
            legal: format!("{} is lossless and has no crf", codec.name()),
        }),
        (Some((max, _)), Some(v)) if v > max => Err(Error::BadOption {
            option: "--crf",
            value: v.to_string(),
            legal: format!("0 (best) to {max} for {}", codec.name()),
        }),
        (Some((_, default)), v) => Ok(Some(v.unwrap_or(default))),
    }
}

/// Which sides a codec needs even for a format.
pub(crate) fn even_sides(codec: Codec, format: PixelFormat) -> (bool, bool) {
    let (x, y) = format.chroma_shift();
    match codec {
        Codec::H264 | Codec::Hevc => (x > 0, y > 0),
        Codec::Ffv1 | Codec::Vp9 => (false, false),
    }
}

/// Refuses odd sides, naming the ways out, unless they are to be padded.
pub(crate) fn check_even(
    name: &str,
    codec: Codec,
    format: PixelFormat,
    size: (usize, usize),
    options: &CreateOptions,
) -> Result<(bool, bool)> {
    let even = even_sides(codec, format);
    let odd = (even.0 && size.0 % 2 == 1) || (even.1 && size.1 % 2 == 1);
    if odd && !options.pad_even {
        return Err(Error::unsupported(
            name,
            format!("{} of an odd size ({}x{} {format})", codec.name(), size.0, size.1),
            "write `.mkv --lossless`, which keeps the size, or give --pad-even, which repeats the last column or row",
        ));
    }
    Ok(even)
}

pub(super) fn encoder(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 => "libx264",
        Codec::Hevc => "libx265",
        Codec::Ffv1 => "ffv1",
        Codec::Vp9 => "libvpx-vp9",
    }
}

/// The pixel formats that an encoder of this build of `ffmpeg` takes.
pub(super) fn encoder_formats(ffmpeg: &Program, name: &str, encoder: &'static str) -> Result<Vec<String>> {
    find::encoder_formats(&ffmpeg.command, encoder).ok_or_else(|| {
        Error::unsupported(
            name,
            format!("the encoder {encoder}, which this build of ffmpeg lacks,"),
            "install a full build of ffmpeg or choose another --codec",
        )
    })
}

/// The encoder's format for frames of `format`: the same, or one that holds the same samples in another arrangement.
pub(super) fn encoder_format(
    name: &str,
    codec: Codec,
    format: PixelFormat,
    supported: &[String],
) -> Result<String> {
    let own = format.name();
    let rearranged: &[&str] = match (format.layout(), format.depth()) {
        (Layout::Rgb | Layout::Bgr | Layout::Gbr, 8) => &["gbrp", "bgr0", "0rgb32", "rgb24", "bgr24"],
        (Layout::Rgb | Layout::Bgr | Layout::Gbr, 16) => &["gbrp16le", "rgb48le"],
        _ => &[],
    };
    let found = own.iter().chain(rearranged).find(|n| supported.iter().any(|s| s == *n));
    found.map(|n| (*n).to_owned()).ok_or_else(|| {
        let near: Vec<&str> = supported
            .iter()
            .filter_map(|s| PixelFormat::from_name(s))
            .filter(|f| f.layout() != Layout::Nv12)
            .filter_map(|f| f.name())
            .map(|n| n.strip_suffix("le").unwrap_or(n))
            .collect();
        Error::unsupported(
            name,
            format!("{format} in {}", codec.name()),
            format!(
                "write `.mkv --lossless`, which keeps it, or convert with --pix-fmt to one of {}",
                near.join(", ")
            ),
        )
    })
}

/// What becomes of the other streams of the source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// Index in the source, and the codec option's value (`copy`, or an encoder for text).
    pub(super) streams: Vec<(u64, StreamKind, &'static str)>,
    pub(super) notes: Vec<String>,
}

pub(super) fn others(
    name: &str,
    container: Container,
    streams: &[OtherStream],
    no_audio: bool,
) -> Result<Others> {
    let mut plan = Others::default();
    for s in streams {
        let refuse = |what: &str, out: &str| {
            Err(Error::unsupported(
                name,
                format!("copying {} {what} into .{}", s.codec, container.muxer()),
                out,
            ))
        };
        let value = match s.kind {
            StreamKind::Audio if no_audio => continue,
            StreamKind::Audio if holds_audio(container, &s.codec) => "copy",
            StreamKind::Audio => return refuse("sound", "write .mkv, or leave it out with --no-audio"),
            StreamKind::Subtitle => match subtitle(container, &s.codec) {
                Some(v) => v,
                None => return refuse("subtitles", "write .mkv"),
            },
            StreamKind::Other if container == Container::Matroska && matches!(&*s.codec, "ttf" | "otf") => {
                "copy"
            }
            StreamKind::Video | StreamKind::Other => {
                plan.notes.push(format!("stream {} ({}) is not carried over", s.index, s.codec));
                continue;
            }
        };
        plan.streams.push((s.index, s.kind, value));
    }
    Ok(plan)
}

fn holds_audio(container: Container, codec: &str) -> bool {
    match container {
        Container::Matroska => true,
        Container::WebM => matches!(codec, "opus" | "vorbis"),
        Container::Mp4 => matches!(
            codec,
            "aac" | "mp1" | "mp2" | "mp3" | "ac3" | "eac3" | "alac" | "opus" | "flac" | "dts" | "vorbis"
        ),
        Container::Mov => {
            matches!(
                codec,
                "aac" | "mp2" | "mp3" | "ac3" | "eac3" | "alac" | "amr_nb" | "amr_wb" | "qdm2" | "dts"
            ) || codec.starts_with("pcm_")
        }
    }
}

/// How subtitles get into a container: copied, or text converted to the container's own form.
fn subtitle(container: Container, codec: &str) -> Option<&'static str> {
    let text = matches!(codec, "subrip" | "srt" | "ass" | "ssa" | "webvtt" | "mov_text" | "text");
    match (container, codec) {
        (Container::Matroska, "mov_text") => Some("srt"),
        (Container::Matroska, _) | (Container::Mp4, "dvd_subtitle") => Some("copy"),
        (Container::Mp4 | Container::Mov, "mov_text") | (Container::WebM, "webvtt") => Some("copy"),
        (Container::Mp4 | Container::Mov, _) if text => Some("mov_text"),
        (Container::WebM, _) if text => Some("webvtt"),
        _ => None,
    }
}

/// The filters before the encoder: tags set on the frames, and a conversion where one was asked for.
pub(super) fn filters(info: &StreamInfo, convert: Option<(&str, PixelFormat)>) -> (String, StreamInfo) {
    let mut out = info.clone();
    let mut chain = format!("setparams={}", params(info, ":"));
    if info.fields.is_interlaced() {
        chain.push_str(match info.fields {
            crate::FieldOrder::BottomFirst => ",setfield=bff",
            _ => ",setfield=tff",
        });
    }
    if let Some((name, format)) = convert {
        let range = |r| if r == ColorRange::Full { "full" } else { "limited" };
        let from = range(info.color.range);
        if info.format.is_rgb() && !format.is_rgb() && format.layout() != Layout::Gray {
            out.color.range = ColorRange::Limited;
            out.color.matrix = 1;
            chain.push_str(",scale=out_color_matrix=bt709:out_range=limited");
        } else if !info.format.is_rgb() && format.is_rgb() {
            out.color.range = ColorRange::Full;
            out.color.matrix = 0;
            chain.push_str(&format!(",scale=in_range={from}:out_range=full"));
        } else if !info.format.is_rgb() {
            chain.push_str(&format!(",scale=in_range={from}:out_range={from}"));
        }
        chain.push_str(&format!(":flags=accurate_rnd+full_chroma_int,format={name}"));
        if !chain.contains("scale=") {
            chain = chain.replace(":flags=accurate_rnd+full_chroma_int", "");
        }
        out.format = format;
    }
    (chain, out)
}

/// Colour tags as `setparams` takes them.
fn params(info: &StreamInfo, separator: &str) -> String {
    let range = match info.color.range {
        ColorRange::Unspecified => "unknown",
        ColorRange::Limited => "limited",
        ColorRange::Full => "full",
    };
    let c = info.color;
    [
        format!("range={range}"),
        format!("color_primaries={}", c.primaries),
        format!("color_trc={}", c.transfer),
        format!("colorspace={}", c.matrix),
    ]
    .join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(kind: StreamKind, codec: &str) -> OtherStream {
        OtherStream { index: 1, kind, codec: codec.into() }
    }

    #[test]
    fn sound_is_copied_or_refused_with_the_ways_out() {
        let aac = [stream(StreamKind::Audio, "aac")];
        assert_eq!(others("x", Container::Mp4, &aac, false).unwrap().streams.len(), 1);
        let e = others("x", Container::WebM, &aac, false).unwrap_err().to_string();
        assert!(e.contains("aac") && e.contains(".mkv") && e.contains("--no-audio"), "{e}");
        assert!(others("x", Container::WebM, &aac, true).unwrap().streams.is_empty());
    }

    #[test]
    fn text_subtitles_are_converted_where_they_must_be() {
        let srt = [stream(StreamKind::Subtitle, "subrip")];
        assert_eq!(others("x", Container::Mp4, &srt, false).unwrap().streams[0].2, "mov_text");
        assert_eq!(others("x", Container::Matroska, &srt, false).unwrap().streams[0].2, "copy");
        let pgs = [stream(StreamKind::Subtitle, "hdmv_pgs_subtitle")];
        assert!(others("x", Container::Mp4, &pgs, false).is_err());
    }

    #[test]
    fn codecs_and_crf_are_checked_against_the_container() {
        let o = CreateOptions::default();
        assert_eq!(codec("x", Container::Mp4, &o).unwrap(), Codec::H264);
        assert_eq!(codec("x", Container::WebM, &o).unwrap(), Codec::Vp9);
        let lossless = CreateOptions { lossless: true, ..o.clone() };
        assert_eq!(codec("x", Container::Matroska, &lossless).unwrap(), Codec::Ffv1);
        assert!(codec("x", Container::Mp4, &lossless).unwrap_err().to_string().contains(".mkv"));
        let crf60 = CreateOptions { crf: Some(60), ..o.clone() };
        assert!(crf(Codec::H264, &crf60).is_err());
        assert_eq!(crf(Codec::Vp9, &crf60).unwrap(), Some(60));
        assert!(crf(Codec::Ffv1, &crf60).is_err());
        assert_eq!(crf(Codec::H264, &o).unwrap(), Some(18));
    }

    #[test]
    fn odd_sizes_name_the_ways_out() {
        let f420 = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let f422 = PixelFormat::new(Layout::Yuv422, 8).unwrap();
        let o = CreateOptions::default();
        let e = check_even("x", Codec::H264, f420, (19, 20), &o).unwrap_err().to_string();
        assert!(e.contains(".mkv --lossless") && e.contains("--pad-even"), "{e}");
        assert!(check_even("x", Codec::H264, f422, (20, 19), &o).is_ok());
        assert!(check_even("x", Codec::Ffv1, f420, (19, 19), &o).is_ok());
        let pad = CreateOptions { pad_even: true, ..o };
        assert_eq!(check_even("x", Codec::H264, f420, (19, 19), &pad).unwrap(), (true, true));
    }
}
