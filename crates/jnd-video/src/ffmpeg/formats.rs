//! Between `ffmpeg`'s names and ours.

use crate::{ColorTags, Layout, PixelFormat};

/// How the pictures of a source are delivered.
pub(super) struct Delivery {
    /// Format of the frames.
    pub(super) format: PixelFormat,
    /// Name to ask `ffmpeg` for; the source's own where nothing is converted.
    pub(super) name: String,
    /// What the user should know, where something is lost or changed.
    pub(super) note: Option<&'static str>,
    /// Whether the name means full range.
    pub(super) full_range: bool,
}

/// How pictures of `ffmpeg`'s format `name` are delivered: as they are where there is such a format here, otherwise in
/// the nearest one that keeps every sample of luma and colour. `None` for a format that nothing is known of.
pub(super) fn delivery(name: &str) -> Option<Delivery> {
    let direct = |name: &str| PixelFormat::from_name(name);
    let plain = |format: PixelFormat, note| {
        format.name().map(|n| Delivery { format, name: n.to_owned(), note, full_range: false })
    };
    // The `j` of old says full range; asked for under another name, samples would be converted.
    if let Some(rest) = name.strip_prefix("yuvj") {
        let format = direct(&format!("yuv{rest}"));
        return match format {
            Some(format) => Some(Delivery { format, name: name.to_owned(), note: None, full_range: true }),
            None => {
                let note = Some("its chroma (4:1:1 or 4:4:0) was converted to 4:4:4");
                let format = PixelFormat::new(Layout::Yuv444, 8).ok()?;
                Some(Delivery { format, name: "yuvj444p".into(), note, full_range: true })
            }
        };
    }
    if let Some(format) = direct(name).filter(|f| f.layout() != Layout::Nv12) {
        return plain(format, None);
    }
    const ALPHA: Option<&str> = Some("its alpha channel was dropped");
    const CHROMA: Option<&str> = Some("its chroma was converted to 4:4:4");
    let base = name.strip_suffix("be").or_else(|| name.strip_suffix("le")).unwrap_or(name);
    if let Some(format) = direct(base).filter(|f| f.layout() != Layout::Nv12) {
        // Only the order of bytes differs.
        return plain(format, None);
    }
    if let Some(rest) = base.strip_prefix("yuva") {
        return plain(direct(&format!("yuv{rest}"))?, ALPHA);
    }
    if let Some(rest) = base.strip_prefix("gbrap") {
        return plain(direct(&format!("gbrp{rest}"))?, ALPHA);
    }
    let (target, note) = match base {
        "ya8" => ("gray", ALPHA),
        "ya16" => ("gray16le", ALPHA),
        "monow" | "monob" => ("gray", None),
        "rgba" | "argb" | "bgra" | "abgr" => ("rgb24", ALPHA),
        "pal8" | "rgb0" | "0rgb" | "bgr0" | "0bgr" | "rgb8" | "bgr8" | "rgb4" | "bgr4" | "rgb4_byte"
        | "bgr4_byte" | "rgb555" | "rgb565" | "bgr555" | "bgr565" | "rgb444" | "bgr444" => ("rgb24", None),
        "rgba64" | "bgra64" => ("rgb48le", ALPHA),
        "x2rgb10" | "x2bgr10" => ("gbrp10le", None),
        "gbrpf32" => ("gbrp16le", Some("its floating-point samples were rounded to 16 bits")),
        "gbrapf32" => ("gbrp16le", ALPHA),
        "grayf32" => ("gray16le", Some("its floating-point samples were rounded to 16 bits")),
        // The same samples in another arrangement.
        "nv12" | "nv21" => ("yuv420p", None),
        "p010" => ("yuv420p10le", None),
        "p012" => ("yuv420p12le", None),
        "p016" => ("yuv420p16le", None),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" => ("yuv422p", None),
        "nv20" | "p210" | "y210" => ("yuv422p10le", None),
        "y212" | "p212" => ("yuv422p12le", None),
        "p216" => ("yuv422p16le", None),
        "nv24" | "nv42" | "vyu444" => ("yuv444p", None),
        "p410" | "xv30" | "v30x" => ("yuv444p10le", None),
        "p412" | "xv36" => ("yuv444p12le", None),
        "p416" | "xv48" => ("yuv444p16le", None),
        "ayuv" | "vuya" | "uyva" => ("yuv444p", ALPHA),
        "ayuv64" => ("yuv444p16le", ALPHA),
        "vuyx" => ("yuv444p", None),
        "yuv411p" | "yuv410p" | "yuv440p" | "uyyvyy411" => ("yuv444p", CHROMA),
        "yuv440p10" => ("yuv444p10le", CHROMA),
        "yuv440p12" => ("yuv444p12le", CHROMA),
        "xyz12" => ("rgb48le", Some("its XYZ samples were converted to RGB")),
        _ => return None,
    };
    plain(direct(target)?, note)
}

/// `ffmpeg`'s names of colour code points (ITU-T H.273), by number.
const PRIMARIES: &[(&str, u8)] = &[
    ("bt709", 1),
    ("bt470m", 4),
    ("bt470bg", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("film", 8),
    ("bt2020", 9),
    ("smpte428", 10),
    ("smpte431", 11),
    ("smpte432", 12),
    ("ebu3213", 22),
    ("jedec-p22", 22),
];

const TRANSFERS: &[(&str, u8)] = &[
    ("bt709", 1),
    ("bt470m", 4),
    ("gamma22", 4),
    ("bt470bg", 5),
    ("gamma28", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("linear", 8),
    ("log100", 9),
    ("log316", 10),
    ("iec61966-2-4", 11),
    ("bt1361e", 12),
    ("iec61966-2-1", 13),
    ("bt2020-10", 14),
    ("bt2020-12", 15),
    ("smpte2084", 16),
    ("smpte428", 17),
    ("arib-std-b67", 18),
];

const MATRICES: &[(&str, u8)] = &[
    ("gbr", 0),
    ("rgb", 0),
    ("bt709", 1),
    ("fcc", 4),
    ("bt470bg", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("ycgco", 8),
    ("bt2020nc", 9),
    ("bt2020c", 10),
    ("smpte2085", 11),
    ("chroma-derived-nc", 12),
    ("chroma-derived-c", 13),
    ("ictcp", 14),
];

fn code(table: &[(&str, u8)], name: Option<&str>) -> u8 {
    name.and_then(|n| table.iter().find(|e| e.0 == n)).map_or(2, |e| e.1)
}

/// Names of a stream's primaries, transfer and matrix.
pub(crate) fn color_names(tags: &ColorTags) -> [String; 3] {
    [(PRIMARIES, tags.primaries), (TRANSFERS, tags.transfer), (MATRICES, tags.matrix)].map(|(table, code)| {
        match table.iter().find(|e| e.1 == code) {
            Some((name, _)) => (*name).to_owned(),
            None if code == 2 => "unspecified".to_owned(),
            None => code.to_string(),
        }
    })
}

/// Code point of colour primaries; 2 where the name is not known.
pub(super) fn primaries(name: Option<&str>) -> u8 {
    code(PRIMARIES, name)
}

/// Code point of transfer characteristics.
pub(super) fn transfer(name: Option<&str>) -> u8 {
    code(TRANSFERS, name)
}

/// Code point of matrix coefficients.
pub(super) fn matrix(name: Option<&str>) -> u8 {
    code(MATRICES, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_delivered_as_they_are_or_in_the_nearest_format() {
        for (source, asked, noted) in [
            ("yuv420p", "yuv420p", false),
            ("yuvj420p", "yuvj420p", false),
            ("yuv422p10le", "yuv422p10le", false),
            ("yuv422p10be", "yuv422p10le", false),
            ("gray10be", "gray10le", false),
            ("yuva444p10le", "yuv444p10le", true),
            ("yuva420p", "yuv420p", true),
            ("gbrap", "gbrp", true),
            ("gbrap12le", "gbrp12le", true),
            ("rgba", "rgb24", true),
            ("pal8", "rgb24", false),
            ("nv12", "yuv420p", false),
            ("p010le", "yuv420p10le", false),
            ("yuv411p", "yuv444p", true),
            ("uyvy422", "yuv422p", false),
            ("rgb48be", "rgb48le", false),
        ] {
            let d = delivery(source).unwrap();
            assert_eq!((d.name.as_str(), d.note.is_some()), (asked, noted), "{source}");
        }
        assert!(delivery("cuda").is_none());
        assert!(delivery("yuvj420p").unwrap().full_range);
    }

    #[test]
    fn colour_names_become_code_points() {
        assert_eq!(
            (primaries(Some("bt2020")), transfer(Some("smpte2084")), matrix(Some("bt2020nc"))),
            (9, 16, 9)
        );
        let tags = ColorTags { primaries: 9, transfer: 2, matrix: 200, ..ColorTags::default() };
        assert_eq!(tags.names(), "bt2020/unspecified/200");
        assert_eq!((primaries(None), transfer(Some("reserved")), matrix(Some("gbr"))), (2, 2, 0));
    }
}
