//! Values as people write them on a command line.

use jnd::DeviceChoice;
use jnd::video::{ChromaRounding, PixelFormat, Rate, RawGeometry};

/// `30`, `29.97` or `30000/1001`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || format!("`{text}` is not a rate above 0; write it like 240, 29.97 or 30000/1001");
    let (num, den) = match text.split_once('/') {
        Some((num, den)) => (whole(num), whole(den)),
        None => {
            let (units, decimals) = text.split_once('.').unwrap_or((text, ""));
            if decimals.len() > 9 {
                return Err(wrong());
            }
            (whole(&format!("{units}{decimals}")), Some(10u64.pow(decimals.len() as u32)))
        }
    };
    let (Some(num), Some(den)) = (num, den) else { return Err(wrong()) };
    Rate::new(num, den).map_err(|_| wrong())
}

fn whole(text: &str) -> Option<u64> {
    // The sign that `parse` would accept has no place here.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A number of bytes: `500MB`, `2GiB`, `1000000`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 10] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("b", 1),
        ("", 1),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| lower.strip_suffix(name).map(|n| (n.trim(), *unit)))
        .unwrap_or((&lower, 1));
    let value: f64 = number
        .parse()
        .ok()
        .filter(|v: &f64| v.is_finite() && *v >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a number of bytes; write it like 500MB or 2GiB"))?;
    Ok((value * unit as f64) as u64)
}

/// Where to compute.
pub(crate) fn device(text: &str) -> Result<DeviceChoice, String> {
    // The text itself is named already where this is shown.
    text.parse().map_err(|_| DeviceChoice::NAMES.to_owned())
}

/// The name of a pixel format, as `ffmpeg` has it.
pub(crate) fn pixel_format(text: &str) -> Result<PixelFormat, String> {
    PixelFormat::from_name(text).ok_or_else(|| {
        format!(
            "`{text}` is not a pixel format that can be used here; examples are yuv420p, yuv444p10le and gray"
        )
    })
}

/// Geometry of raw frames: `640x480:yuv420p:25`.
pub(crate) fn raw(text: &str) -> Result<RawGeometry, String> {
    let wrong =
        |why: &str| format!("`{text}` does not describe raw frames: {why}; write it like 640x480:yuv420p:25");
    let mut parts = text.splitn(3, ':');
    let (Some(size), Some(format), Some(fps)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("it has fewer than three parts"));
    };
    let sides: Option<(usize, usize)> =
        size.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    let (width, height) = sides.ok_or_else(|| wrong("the size is not WIDTHxHEIGHT"))?;
    if width == 0 || height == 0 {
        return Err(wrong("the size is 0"));
    }
    let format = pixel_format(format).map_err(|e| wrong(&e))?;
    let rate = rate(fps).map_err(|e| wrong(&e))?;
    Ok(RawGeometry { width, height, format, rate, chroma_rounding: ChromaRounding::Ceil })
}

/// A number of bytes for people.
pub(crate) fn show_bytes(n: u64) -> String {
    let v = n as f64;
    match n {
        0..=9_999 => format!("{n} bytes"),
        10_000..=9_999_999 => format!("{:.1} kB", v / 1e3),
        10_000_000..=9_999_999_999 => format!("{:.0} MB", v / 1e6),
        _ => format!("{:.1} GB", v / 1e9),
    }
}

/// A number of frames in words: `1 frame`, `2 frames`.
pub(crate) fn frames(n: u64) -> String {
    format!("{n} frame{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        let parts = |s| rate(s).map(|r| (r.num(), r.den()));
        assert_eq!(parts("240"), Ok((240, 1)));
        assert_eq!(parts("29.97"), Ok((2997, 100)));
        assert_eq!(parts("30000/1001"), Ok((30000, 1001)));
        for bad in ["", "0", "-1", "+1", "1/0", "a", "1.", "1e3", "0.0000000001", "99999999999999999999"] {
            assert!(bad == "1." || rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("500 mb"), Ok(500_000_000));
        assert_eq!(bytes("1.5kB"), Ok(1500));
        assert_eq!(bytes("77"), Ok(77));
        for bad in ["", "GiB", "-1", "1XB", "nan"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn raw_frames_are_described() {
        let g = raw("640x480:yuv420p10le:30000/1001").unwrap();
        assert_eq!((g.width, g.height, g.format.depth(), g.rate.den()), (640, 480, 10, 1001));
        for bad in [
            "640x480",
            "640:yuv420p:25",
            "640x480:nv99:25",
            "640x480:yuv420p:0",
            "0x0:gray:25",
            "8x0:gray:25",
        ] {
            assert!(raw(bad).unwrap_err().contains("640x480:yuv420p:25"), "{bad}");
        }
    }
}
