//! Frequency bands as people write them.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A band of frequencies in hertz. Written `0.8-1Hz` or `50-60bpm` (beats, or breaths, a minute).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Lower end, in Hz.
    pub low: f64,
    /// Upper end, in Hz.
    pub high: f64,
}

impl Band {
    /// The band in beats a minute.
    pub fn bpm(&self) -> (f64, f64) {
        (self.low * 60.0, self.high * 60.0)
    }
}

impl FromStr for Band {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::Usage(format!("`{text}` is not a band: {why}; write it like 0.8-1Hz or 50-60bpm"))
        };
        const RANGE: &str = "an end is not a number from 0 up";
        let (low, high) = text.split_once('-').ok_or_else(|| wrong("there is no `-` between two numbers"))?;
        // A sign in front of either end, or a word in place of a number: that is said before anything of units.
        if [low, high]
            .iter()
            .any(|end| !end.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        {
            return Err(wrong(RANGE));
        }
        let (high, unit) = split_unit(high);
        let (low, low_unit) = split_unit(low);
        let per_minute = match unit.to_ascii_lowercase().as_str() {
            "hz" => false,
            "bpm" => true,
            "" => return Err(wrong("the unit is missing")),
            _ => return Err(wrong("the unit is neither Hz nor bpm")),
        };
        if !low_unit.is_empty() && !low_unit.eq_ignore_ascii_case(unit) {
            return Err(wrong("the two ends have different units"));
        }
        let number = |s: &str| s.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        let (Some(low), Some(high)) = (number(low), number(high)) else {
            return Err(wrong(RANGE));
        };
        if low >= high {
            return Err(wrong("the lower end must come first"));
        }
        // Division, not multiplication by a rounded 1/60: 50bpm is exactly the 50/60 that others write.
        let hertz = |v: f64| if per_minute { v / 60.0 } else { v };
        Ok(Self { low: hertz(low), high: hertz(high) })
    }
}

/// Divides `1.5Hz` into the number and the unit.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (number, unit.trim())
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.bpm();
        write!(f, "{} to {} Hz ({} to {} bpm)", Short(self.low), Short(self.high), Short(low), Short(high))
    }
}

/// A number with at most four digits after the point and no zeros at its end.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_read() {
        let band = |s: &str| s.parse::<Band>().unwrap();
        assert_eq!(band("0.8-1Hz"), Band { low: 0.8, high: 1.0 });
        assert_eq!(band("50-60bpm"), Band { low: 50.0 / 60.0, high: 1.0 });
        assert_eq!(band(" 72 hz - 92 Hz "), Band { low: 72.0, high: 92.0 });
        assert_eq!(band("0-.5HZ"), Band { low: 0.0, high: 0.5 });
        assert_eq!(band("50-60 BPM").to_string(), "0.8333 to 1 Hz (50 to 60 bpm)");
    }

    #[test]
    fn nonsense_is_refused_with_advice() {
        for text in
            ["", "1", "1Hz", "1-2", "2-1Hz", "1-1Hz", "a-bHz", "1-2kHz", "1bpm-2Hz", "-1-2Hz", "1e999-2Hz"]
        {
            let error = text.parse::<Band>().unwrap_err();
            assert!(error.to_string().contains("like 0.8-1Hz"), "{text}: {error}");
            assert!(error.is_usage());
        }
        for text in ["-1-2Hz", "1--2Hz", "nan-2Hz", "1-infHz", "1-Hz", "-Hz", "--bogus"] {
            let error = text.parse::<Band>().unwrap_err().to_string();
            assert!(error.contains("not a number from 0 up"), "{text}: {error}");
        }
    }
}
