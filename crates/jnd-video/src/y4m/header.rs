//! The stream header: parsing and writing.

use crate::{
    ChromaSiting, ColorRange, Error, FieldOrder, Layout, PixelFormat, Rate, Rational, Result, StreamInfo,
};

/// What a stream starts with.
pub(crate) const MAGIC: &[u8] = b"YUV4MPEG2 ";

/// Longest header accepted. Tags are short; comments may be long, but not without end.
pub(crate) const MAX_HEADER: usize = 1 << 20;

/// A parsed stream header.
#[derive(Debug, Clone, PartialEq)]
pub struct Y4mHeader {
    /// What the header says of the stream.
    pub info: StreamInfo,
    /// Extension tags (those that start with X) other than the ones read into `info`.
    pub comments: Vec<String>,
    /// Whether the header names no rate, so that 25 frames a second were assumed.
    pub rate_assumed: bool,
}

/// How a chroma tag is stored; `Err` holds the name of what is refused.
fn chroma(tag: &str) -> std::result::Result<(Layout, u8, ChromaSiting), &'static str> {
    use ChromaSiting::{Center, Left, TopLeft, Unspecified};
    use Layout::{Gray, Yuv420, Yuv422, Yuv444};
    Ok(match tag {
        "420" => (Yuv420, 8, Unspecified),
        "420jpeg" => (Yuv420, 8, Center),
        "420mpeg2" => (Yuv420, 8, Left),
        "420paldv" => (Yuv420, 8, TopLeft),
        "420p10" => (Yuv420, 10, Unspecified),
        "420p12" => (Yuv420, 12, Unspecified),
        "420p16" => (Yuv420, 16, Unspecified),
        "422" => (Yuv422, 8, Unspecified),
        "422p10" => (Yuv422, 10, Unspecified),
        "422p12" => (Yuv422, 12, Unspecified),
        "422p16" => (Yuv422, 16, Unspecified),
        "444" => (Yuv444, 8, Unspecified),
        "444p10" => (Yuv444, 10, Unspecified),
        "444p12" => (Yuv444, 12, Unspecified),
        "444p16" => (Yuv444, 16, Unspecified),
        "mono" => (Gray, 8, Unspecified),
        "mono10" => (Gray, 10, Unspecified),
        "mono12" => (Gray, 12, Unspecified),
        "mono16" => (Gray, 16, Unspecified),
        "411" => return Err("4:1:1 chroma"),
        "444alpha" => return Err("an alpha channel"),
        "420p9" | "422p9" | "444p9" | "mono9" => return Err("9-bit samples"),
        "420p14" | "422p14" | "444p14" | "mono14" => return Err("14-bit samples"),
        _ => return Err("an unknown chroma format"),
    })
}

/// Parses `A:B` where `0:0`, as in `F0:0` and `A0:0`, means "not known".
fn ratio(text: &str) -> Option<Option<Rational>> {
    let (a, b) = text.split_once(':')?;
    let (a, b) = (a.parse::<u64>().ok()?, b.parse::<u64>().ok()?);
    if a == 0 && b == 0 { Some(None) } else { Rational::new(a, b).ok().map(Some) }
}

/// Parses a header line, without its newline. `name` is for messages.
///
/// # Errors
/// [`Error::Broken`] for a malformed header, [`Error::Unsupported`] for 4:1:1, alpha, 9- and 14-bit samples.
pub fn parse_header(line: &[u8], name: &str) -> Result<Y4mHeader> {
    let broken = |detail: String| Error::broken(name, format!("YUV4MPEG2 header: {detail}"));
    if !line.starts_with(MAGIC) {
        return Err(broken("it does not start with `YUV4MPEG2 `".into()));
    }
    let text = std::str::from_utf8(&line[MAGIC.len()..])
        .map_err(|_| broken("a tag is not text".into()))?
        .trim_end_matches('\r');
    let (mut width, mut height, mut rate, mut aspect) = (None, None, None, None);
    let mut fields = FieldOrder::Unspecified;
    let (mut tag, mut repeated) = (None, None);
    let mut range = ColorRange::Unspecified;
    let mut comments = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let bad = || broken(format!("the tag `{}` makes no sense", shorten(word)));
        let Some(value) = word.get(1..) else { return Err(bad()) };
        match word.as_bytes()[0] {
            b'W' => width = Some(value.parse::<usize>().map_err(|_| bad())?),
            b'H' => height = Some(value.parse::<usize>().map_err(|_| bad())?),
            b'F' => rate = ratio(value).ok_or_else(bad)?,
            b'A' => aspect = ratio(value).ok_or_else(bad)?,
            b'I' => {
                fields = match value {
                    "p" => FieldOrder::Progressive,
                    "t" => FieldOrder::TopFirst,
                    "b" => FieldOrder::BottomFirst,
                    "m" => FieldOrder::Mixed,
                    "?" => FieldOrder::Unspecified,
                    _ => return Err(bad()),
                }
            }
            b'C' => tag = Some(value),
            b'X' if value == "COLORRANGE=FULL" => range = ColorRange::Full,
            b'X' if value == "COLORRANGE=LIMITED" => range = ColorRange::Limited,
            // ffmpeg repeats the chroma tag here; it counts where the `C` tag is missing.
            b'X' if value.starts_with("YSCSS=") => {
                repeated = Some(value["YSCSS=".len()..].to_ascii_lowercase())
            }
            b'X' => comments.push(word.to_owned()),
            // Readers must skip tags that they do not know.
            _ => {}
        }
    }
    let (Some(width), Some(height)) = (width, height) else {
        return Err(broken("no width or no height".into()));
    };
    // Without a `C` tag the format is the oldest one.
    let tag = tag.or(repeated.as_deref()).unwrap_or("420jpeg");
    let (layout, depth, siting) = chroma(tag).map_err(|what| {
        Error::unsupported(
            name,
            format!("{what} (chroma tag `C{}`)", shorten(tag)),
            "convert it first, for example with `ffmpeg -i IN -pix_fmt yuv422p10le -strict -1 OUT.y4m`",
        )
    })?;
    let rate_assumed = rate.is_none();
    let rate = match rate {
        Some(r) => r,
        // The format's "unknown"; 25 is what every reader assumes then.
        None => Rate::new(25, 1)?,
    };
    let mut info = StreamInfo::new(PixelFormat::new(layout, depth)?, width, height, rate)?;
    info.fields = fields;
    info.color.range = range;
    info.siting = siting;
    info.pixel_aspect = aspect;
    Ok(Y4mHeader { info, comments, rate_assumed })
}

/// A tag cut to a length fit for a message.
fn shorten(s: &str) -> String {
    s.chars().take(32).flat_map(char::escape_default).collect()
}

/// The chroma tag of a format, if YUV4MPEG2 has one that this crate also reads.
pub(crate) fn chroma_tag(format: PixelFormat, siting: ChromaSiting) -> Option<String> {
    let base = match format.layout() {
        Layout::Gray => "mono",
        Layout::Yuv420 => "420",
        Layout::Yuv422 => "422",
        Layout::Yuv444 => "444",
        _ => return None,
    };
    Some(match (format.depth(), format.layout()) {
        (8, Layout::Yuv420) => match siting {
            ChromaSiting::Left => "420mpeg2".into(),
            ChromaSiting::TopLeft => "420paldv".into(),
            // What everyone writes when the position is not known.
            ChromaSiting::Center | ChromaSiting::Unspecified => "420jpeg".into(),
        },
        (8, _) => base.into(),
        (d @ (10 | 12 | 16), Layout::Gray) => format!("{base}{d}"),
        (d @ (10 | 12 | 16), _) => format!("{base}p{d}"),
        _ => return None,
    })
}

/// The header line of a stream, newline included.
pub(crate) fn write_header(info: &StreamInfo, name: &str) -> Result<String> {
    let tag = chroma_tag(info.format, info.siting).ok_or_else(|| {
        Error::unsupported(
            name,
            format!("{} in YUV4MPEG2", info.format),
            "write `.mkv --lossless`, or convert the input first with \
             `ffmpeg -i IN -pix_fmt yuv444p -c:v ffv1 CONVERTED.mkv`",
        )
    })?;
    let field = match info.fields {
        FieldOrder::Unspecified | FieldOrder::Progressive => 'p',
        FieldOrder::TopFirst => 't',
        FieldOrder::BottomFirst => 'b',
        FieldOrder::Mixed => 'm',
    };
    let (an, ad) = info.pixel_aspect.map_or((0, 0), |a| (a.num(), a.den()));
    let mut line = format!(
        "YUV4MPEG2 W{} H{} F{}:{} I{field} A{an}:{ad} C{tag}",
        info.width,
        info.height,
        info.rate.num(),
        info.rate.den()
    );
    // ffmpeg's readers of old take the format from this tag.
    line.push_str(&format!(" XYSCSS={}", tag.to_ascii_uppercase()));
    match info.color.range {
        ColorRange::Full => line.push_str(" XCOLORRANGE=FULL"),
        ColorRange::Limited => line.push_str(" XCOLORRANGE=LIMITED"),
        ColorRange::Unspecified => {}
    }
    line.push('\n');
    Ok(line)
}
