//! Settings: what to magnify, and by how much; and the named sets of them.

use jnd_video::Rate;

use crate::{Error, Result};

/// Which change of the picture is magnified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pipeline {
    /// Movement: the gain depends on how coarse a detail is.
    Motion,
    /// Colour: one coarse level, one gain.
    Color,
}

/// Which speed of change is magnified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Filter {
    /// Difference of two running means; no rate involved.
    Iir {
        /// Weight of a new frame in the fast mean.
        r1: f64,
        /// Weight of a new frame in the slow mean.
        r2: f64,
    },
    /// Difference of two Butterworth low-passes of order 1.
    Butterworth {
        /// Lower cutoff in Hz.
        low: f64,
        /// Upper cutoff in Hz.
        high: f64,
    },
    /// The frequencies strictly inside a band, of the whole clip (needs two passes).
    Ideal {
        /// Lower edge in Hz.
        low: f64,
        /// Upper edge in Hz.
        high: f64,
    },
}

impl Filter {
    /// Whether a frame can be magnified before later ones are known.
    pub fn is_causal(&self) -> bool {
        !matches!(self, Self::Ideal { .. })
    }

    /// Name, as the command line spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Iir { .. } => "iir",
            Self::Butterworth { .. } => "butterworth",
            Self::Ideal { .. } => "ideal",
        }
    }
}

/// What a causal filter takes as the past of the first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Init {
    /// The first frame, for ever: nothing moves at the start.
    #[default]
    First,
    /// Black: the whole picture appears as a change and fades out of the filter.
    Zero,
}

/// Everything that decides what comes out, apart from the clip itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which change is magnified.
    pub pipeline: Pipeline,
    /// Which speed of change is magnified.
    pub filter: Filter,
    /// Largest gain; 0 or more.
    pub alpha: f64,
    /// Motion: wavelength in pixels below which the gain is reduced; above 0.
    pub lambda_c: f64,
    /// Colour: how often the picture is halved before filtering; 0 to 16.
    pub level: u32,
    /// Share of the gain that the colour of a pixel gets; 0 to 1.
    pub chroma: f64,
    /// Motion: factor on the gain of levels below the limit; above 0.
    pub exaggeration: f64,
    /// What a causal filter takes as the past of the first frame.
    pub init: Init,
    /// Rate at which the clip was captured, where it is not the rate at which it plays; used by the filter alone.
    pub capture_rate: Option<Rate>,
}

/// A named set of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Name.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The settings.
    pub settings: Settings,
}

const BASE: Settings = Settings {
    pipeline: Pipeline::Motion,
    filter: Filter::Iir { r1: 0.4, r2: 0.05 },
    alpha: 10.0,
    lambda_c: 16.0,
    level: 4,
    chroma: 0.1,
    exaggeration: 2.0,
    init: Init::First,
    capture_rate: None,
};

/// The presets.
pub const PRESETS: [Preset; 3] = [
    Preset {
        name: "pulse",
        description: "colour of the skin at a resting heart rate, 50 to 60 beats a minute",
        settings: Settings {
            pipeline: Pipeline::Color,
            filter: Filter::Ideal { low: 50.0 / 60.0, high: 1.0 },
            alpha: 50.0,
            chroma: 1.0,
            ..BASE
        },
    },
    Preset {
        name: "motion",
        description: "small movements such as breathing, at any frame rate",
        settings: BASE,
    },
    Preset {
        name: "vibration",
        description: "vibration between 72 and 92 Hz, in footage of more than 184 frames/s",
        settings: Settings {
            filter: Filter::Ideal { low: 72.0, high: 92.0 },
            alpha: 50.0,
            lambda_c: 10.0,
            chroma: 0.0,
            ..BASE
        },
    },
];

impl Default for Settings {
    /// The `motion` preset.
    fn default() -> Self {
        BASE
    }
}

impl Settings {
    /// The settings of a preset.
    ///
    /// # Errors
    /// [`Error::UnknownPreset`], which lists the names.
    pub fn preset(name: &str) -> Result<Self> {
        PRESETS.iter().find(|p| p.name == name).map(|p| p.settings.clone()).ok_or_else(|| {
            Error::UnknownPreset { name: name.to_owned(), known: PRESETS.map(|p| p.name).join(", ") }
        })
    }

    /// Checks every value that does not depend on the clip.
    ///
    /// # Errors
    /// [`Error::BadValue`], which names the value, what is legal and what to do.
    pub fn check(&self) -> Result<()> {
        // Far above any use, and low enough for every weight and sum to stay finite in single precision.
        const MOST: f64 = 1e6;
        let upto = |v: f64| v > 0.0 && v <= MOST;
        number(
            "alpha",
            self.alpha,
            (0.0..=MOST).contains(&self.alpha),
            "0 to 1000000",
            "0 leaves the clip as it is",
        )?;
        number(
            "lambda-c",
            self.lambda_c,
            upto(self.lambda_c),
            "above 0 and at most 1000000",
            "16 suits most clips; larger values spare fine detail",
        )?;
        number("chroma", self.chroma, (0.0..=1.0).contains(&self.chroma), "0 to 1", "0 leaves colour alone")?;
        number(
            "exaggeration",
            self.exaggeration,
            upto(self.exaggeration),
            "above 0 and at most 1000000",
            "2 is usual",
        )?;
        if self.level > 16 {
            return Err(Error::BadValue {
                name: "level",
                value: self.level.to_string(),
                legal: "0 to 16".into(),
                remedy: "4 is usual",
            });
        }
        match self.filter {
            Filter::Iir { r1, r2 } => {
                number("r1", r1, r1 > 0.0 && r1 <= 1.0, "above r2 and at most 1", "0.4 is usual")?;
                number("r2", r2, r2 > 0.0 && r2 < r1, "above 0 and below r1", "0.05 is usual")
            }
            Filter::Butterworth { low, high } | Filter::Ideal { low, high } => {
                number("low edge of the band", low, low >= 0.0, "0 Hz or more", "give the band as LOW-HIGH")?;
                number(
                    "high edge of the band",
                    high,
                    high > low,
                    "above the low edge",
                    "give the band as LOW-HIGH",
                )
            }
        }
    }
}

fn number(name: &'static str, value: f64, ok: bool, legal: &str, remedy: &'static str) -> Result<()> {
    if value.is_finite() && ok {
        return Ok(());
    }
    // Hundreds of digits say less than an exponent.
    let plain = value == 0.0 || !value.is_finite() || (1e-9..1e16).contains(&value.abs());
    let value = if plain { value.to_string() } else { format!("{value:e}") };
    Err(Error::BadValue { name, value, legal: format!("a number {legal}"), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_legal_and_unknown_ones_list_them() {
        for p in &PRESETS {
            p.settings.check().unwrap();
            assert_eq!(Settings::preset(p.name).unwrap(), p.settings);
        }
        let text = Settings::preset("motion_phase").unwrap_err().to_string();
        assert!(text.contains("pulse, motion, vibration"), "{text}");
    }

    #[test]
    fn illegal_values_are_named() {
        let bad: [(&str, Settings); 12] = [
            ("alpha", Settings { alpha: -1.0, ..BASE }),
            ("alpha", Settings { alpha: f64::NAN, ..BASE }),
            ("alpha", Settings { alpha: 1.1e6, ..BASE }),
            ("lambda-c", Settings { lambda_c: 1e300, ..BASE }),
            ("exaggeration", Settings { exaggeration: 1e39, ..BASE }),
            ("lambda-c", Settings { lambda_c: 0.0, ..BASE }),
            ("chroma", Settings { chroma: 1.5, ..BASE }),
            ("level", Settings { level: 17, ..BASE }),
            ("r2", Settings { filter: Filter::Iir { r1: 0.1, r2: 0.1 }, ..BASE }),
            ("r1", Settings { filter: Filter::Iir { r1: 1.1, r2: 0.1 }, ..BASE }),
            ("low edge", Settings { filter: Filter::Ideal { low: -1.0, high: 0.1 }, ..BASE }),
            ("high edge", Settings { filter: Filter::Butterworth { low: 2.0, high: 1.0 }, ..BASE }),
        ];
        for (name, s) in bad {
            let text = s.check().unwrap_err().to_string();
            assert!(text.starts_with(name), "{name}: {text}");
        }
        let text = Settings { alpha: 1e300, ..BASE }.check().unwrap_err().to_string();
        assert!(text.starts_with("alpha is 1e300, but must be a number 0 to 1000000"), "{text}");
    }
}
