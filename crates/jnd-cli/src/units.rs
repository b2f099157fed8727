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

/// A time in the clip, in seconds: `83.5`, or `[HH:]MM:SS` as `1:23.5`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const MOST: f64 = 1e9;
    parsed_seconds(text).filter(|s| (0.0..=MOST).contains(s)).ok_or_else(|| {
        format!(
            "not a time from 0 to {MOST} seconds; write seconds, such as 83.5, or [HH:]MM:SS, such as 1:23.5"
        )
    })
}

fn parsed_seconds(text: &str) -> Option<f64> {
    let Some((before, last)) = text.rsplit_once(':') else {
        return text.parse().ok();
    };
    let (hours, minutes) = before.split_once(':').unwrap_or(("0", before));
    let (units, decimals) = last.split_once('.').unwrap_or((last, ""));
    let part = |text: &str| if text.is_empty() { None } else { whole(text) };
    let (hours, minutes, units) = (part(hours)?, part(minutes)?, part(units)?);
    if units > 59 || (before.contains(':') && minutes > 59) || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let total = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(units)?;
    // Read in one go, so that 1:00.1 is what 60.1 is.
    format!("{total}.{decimals}").parse().ok()
}

/// Most threads of the magnifier.
pub(crate) const MAX_THREADS: usize = 256;

/// A number of threads for the magnifier.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let wrong = || format!("not a whole number from 0 to {MAX_THREADS}");
    text.parse().ok().filter(|n| *n <= MAX_THREADS).ok_or_else(wrong)
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
    jnd::video::StreamInfo::new(format, width, height, rate).map_err(|e| wrong(&e.to_string()))?;
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
    fn times_are_read() {
        for (text, value) in [
            ("0", 0.0),
            ("83.5", 83.5),
            ("1:23.5", 83.5),
            ("00:00:01", 1.0),
            ("1:00.1", 60.1),
            ("90:00", 5400.0),
            ("2:03:04.25", 7384.25),
        ] {
            assert_eq!(seconds(text), Ok(value), "{text}");
        }
        for bad in [
            "",
            ":",
            "1:",
            ":1",
            "1:60",
            "1:60:00",
            "1:2:3:4",
            "-1",
            "-0:01",
            "1:-2",
            "1:+2",
            "1:1e1",
            "1:2.x",
            "nan",
            "inf",
            "1e10",
            "x",
            "99999999999999999999:00",
        ] {
            assert!(seconds(bad).is_err(), "{bad}");
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
