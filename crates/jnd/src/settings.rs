//! A preset and what is changed in it.

use jnd_magnify::{Filter, Init, Pipeline, Settings};

use crate::{Band, Error, Result};

/// A temporal filter by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilterName {
    /// Difference of two running means.
    Iir,
    /// Difference of two Butterworth low-passes of order 1.
    Butterworth,
    /// The frequencies strictly inside a band, of the whole clip.
    Ideal,
}

impl FilterName {
    /// Every filter.
    pub const ALL: [Self; 3] = [Self::Iir, Self::Butterworth, Self::Ideal];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iir => "iir",
            Self::Butterworth => "butterworth",
            Self::Ideal => "ideal",
        }
    }

    /// The filter of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// Changes to a preset. What stays `None` is the preset's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overrides {
    /// Another pipeline.
    pub pipeline: Option<Pipeline>,
    /// Another temporal filter.
    pub filter: Option<FilterName>,
    /// Largest gain.
    pub alpha: Option<f64>,
    /// Wavelength in pixels below which the gain is reduced (motion).
    pub lambda_c: Option<f64>,
    /// Weight of a new frame in the fast mean (iir).
    pub r1: Option<f64>,
    /// Weight of a new frame in the slow mean (iir).
    pub r2: Option<f64>,
    /// Band of frequencies (butterworth, ideal).
    pub band: Option<Band>,
    /// How often the picture is halved before filtering (colour).
    pub level: Option<u32>,
    /// Share of the gain that colour gets.
    pub chroma: Option<f64>,
    /// Factor on the gain of the levels below the limit (motion).
    pub exaggeration: Option<f64>,
    /// What a causal filter takes as the past of the first frame.
    pub init: Option<Init>,
}

impl Overrides {
    /// The settings of preset `preset` with these changes.
    ///
    /// # Errors
    /// An unknown preset, a value outside its range, or a change of something that the chosen pipeline or filter does
    /// not have: a setting is never dropped silently.
    pub fn apply(&self, preset: &str) -> Result<Settings> {
        self.apply_to(Settings::preset(preset)?, preset)
    }

    /// As [`Self::apply`], from the settings `base`, which messages call `preset`.
    ///
    /// # Errors
    /// As there.
    pub fn apply_to(&self, base: Settings, preset: &str) -> Result<Settings> {
        let mut s = base;
        s.pipeline = self.pipeline.unwrap_or(s.pipeline);
        s.filter = self.filter(preset, s.filter)?;
        match s.pipeline {
            Pipeline::Motion => {
                refuse(
                    self.level.is_some(),
                    "level",
                    "a motion pipeline, which uses all levels",
                    "--lambda-c",
                )?;
            }
            Pipeline::Color => {
                let what = "a colour pipeline, which has one gain";
                refuse(self.lambda_c.is_some(), "lambda-c", what, "--alpha")?;
                refuse(self.exaggeration.is_some(), "exaggeration", what, "--alpha")?;
            }
        }
        refuse(
            self.init.is_some() && !s.filter.is_causal(),
            "init",
            "the ideal filter, which sees the whole clip at once",
            "--filter iir or butterworth",
        )?;
        s.alpha = self.alpha.unwrap_or(s.alpha);
        s.lambda_c = self.lambda_c.unwrap_or(s.lambda_c);
        s.level = self.level.unwrap_or(s.level);
        s.chroma = self.chroma.unwrap_or(s.chroma);
        s.exaggeration = self.exaggeration.unwrap_or(s.exaggeration);
        s.init = self.init.unwrap_or(s.init);
        s.check()?;
        Ok(s)
    }

    fn filter(&self, preset: &str, own: Filter) -> Result<Filter> {
        let name = self.filter.unwrap_or(match own {
            Filter::Iir { .. } => FilterName::Iir,
            Filter::Butterworth { .. } => FilterName::Butterworth,
            Filter::Ideal { .. } => FilterName::Ideal,
        });
        if name == FilterName::Iir {
            refuse(
                self.band.is_some(),
                "band",
                "the iir filter, which has no rate",
                "--r1 and --r2, or --filter butterworth or ideal",
            )?;
            let (r1, r2) = match own {
                Filter::Iir { r1, r2 } => (r1, r2),
                // The weights of the motion preset, the only ones there are.
                _ => (0.4, 0.05),
            };
            return Ok(Filter::Iir { r1: self.r1.unwrap_or(r1), r2: self.r2.unwrap_or(r2) });
        }
        let what = format!("the {} filter, which has a band", name.name());
        refuse(self.r1.is_some(), "r1", &what, "--band, or --filter iir")?;
        refuse(self.r2.is_some(), "r2", &what, "--band, or --filter iir")?;
        let band = match (self.band, own) {
            (Some(band), _) => band,
            (None, Filter::Butterworth { low, high } | Filter::Ideal { low, high }) => Band { low, high },
            (None, Filter::Iir { .. }) => {
                return Err(Error::Usage(format!(
                    "the {} filter needs a band, and the preset `{preset}` has none; give one like --band 0.8-1Hz or --band 50-60bpm",
                    name.name()
                )));
            }
        };
        let Band { low, high } = band;
        Ok(match name {
            FilterName::Ideal => Filter::Ideal { low, high },
            _ => Filter::Butterworth { low, high },
        })
    }
}

fn refuse(given: bool, option: &str, what: &str, instead: &str) -> Result<()> {
    if given {
        return Err(Error::Usage(format!("{option} has no meaning for {what}; use {instead}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_applied() {
        let o = Overrides {
            filter: Some(FilterName::Butterworth),
            band: Some(Band { low: 0.5, high: 2.0 }),
            alpha: Some(3.0),
            ..Overrides::default()
        };
        let s = o.apply("pulse").unwrap();
        assert_eq!(s.filter, Filter::Butterworth { low: 0.5, high: 2.0 });
        assert_eq!((s.alpha, s.level), (3.0, 4));
        // The pulse preset's own band goes along with another filter that has one.
        let o = Overrides { filter: Some(FilterName::Butterworth), ..Overrides::default() };
        assert_eq!(o.apply("pulse").unwrap().filter, Filter::Butterworth { low: 50.0 / 60.0, high: 1.0 });
        let o = Overrides { filter: Some(FilterName::Iir), r1: Some(0.5), ..Overrides::default() };
        assert_eq!(o.apply("pulse").unwrap().filter, Filter::Iir { r1: 0.5, r2: 0.05 });
        assert_eq!(Overrides::default().apply("motion").unwrap(), Settings::default());
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let none = Overrides::default;
        let band = Some(Band { low: 0.5, high: 2.0 });
        let cases = [
            ("motion", Overrides { level: Some(3), ..none() }, "level has no meaning"),
            ("pulse", Overrides { lambda_c: Some(3.0), ..none() }, "lambda-c has no meaning"),
            ("pulse", Overrides { exaggeration: Some(3.0), ..none() }, "exaggeration has no meaning"),
            ("pulse", Overrides { r1: Some(0.3), ..none() }, "r1 has no meaning"),
            ("vibration", Overrides { r2: Some(0.3), ..none() }, "r2 has no meaning"),
            ("motion", Overrides { band, ..none() }, "band has no meaning"),
            ("pulse", Overrides { init: Some(Init::Zero), ..none() }, "init has no meaning"),
            ("motion", Overrides { filter: Some(FilterName::Ideal), ..none() }, "needs a band"),
            ("motion", Overrides { alpha: Some(-1.0), ..none() }, "alpha is -1"),
            ("none", none(), "pulse, motion, vibration"),
        ];
        for (preset, o, text) in cases {
            let e = o.apply(preset).unwrap_err();
            assert!(e.to_string().contains(text), "{e}");
            assert!(e.is_usage(), "{e}");
        }
    }
}
