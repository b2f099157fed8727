//! A feature with its options: read from `NAME=option=value:option=value`, checked, and named in reports.

use super::spec::{REF_DIFF, Spec, Value, WEIGHT_MODE};
use super::{FloatMotionOptions, MotionOptions, SpeedChromaOptions, SpeedTemporalOptions};
use crate::{Error, Result};

/// A feature to compute, with its options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feature {
    /// Integer motion of the reference.
    Motion(MotionOptions),
    /// Motion of the reference in single precision.
    FloatMotion(FloatMotionOptions),
    /// SpEED of the chroma planes.
    SpeedChroma(SpeedChromaOptions),
    /// SpEED of the difference of successive luma planes.
    SpeedTemporal(SpeedTemporalOptions),
}

/// Longest `--feature` argument looked at; longer ones cannot be made of known options.
const MAX_SPEC: usize = 4096;

impl Feature {
    /// Names of all features, as `--feature` takes them.
    pub const NAMES: [&'static str; 4] = ["motion", "float_motion", "speed_chroma", "speed_temporal"];

    /// The feature of this name with every option at its default.
    ///
    /// # Errors
    /// [`Error::UnknownFeature`].
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "motion" => Self::Motion(MotionOptions::default()),
            "float_motion" => Self::FloatMotion(FloatMotionOptions::default()),
            "speed_chroma" => Self::SpeedChroma(SpeedChromaOptions::default()),
            "speed_temporal" => Self::SpeedTemporal(SpeedTemporalOptions::default()),
            _ => {
                let name = shorten(name);
                let suggestion = closest(&name, Self::NAMES.into_iter());
                return Err(Error::UnknownFeature { name, suggestion });
            }
        })
    }

    /// Reads `NAME`, or `NAME=option=value:option=value`.
    ///
    /// # Errors
    /// An unknown feature or option, an option without a value or given twice, a value that is not legal.
    pub fn parse(text: &str) -> Result<Self> {
        let text = if text.len() > MAX_SPEC { shorten(text) } else { text.to_owned() };
        let (name, rest) = text.split_once('=').map_or((text.as_str(), None), |(n, r)| (n, Some(r)));
        let mut feature = Self::from_name(name)?;
        let mut seen = Vec::new();
        for item in rest.into_iter().flat_map(|r| r.split(':')) {
            let (option, value) = item.split_once('=').map_or((item, None), |(o, v)| (o, Some(v)));
            let specs = feature.values();
            let Some(spec) = specs.iter().map(|(s, _)| *s).find(|s| s.name == option) else {
                return Err(feature.unknown_option(option));
            };
            let Some(value) = value else {
                return Err(Error::NoValue { feature: feature.name(), option: option.into() });
            };
            let parsed = spec.kind.parse(value).filter(|&v| spec.kind.allows(v));
            let Some(parsed) = parsed else { return Err(feature.bad_value(&spec, shorten(value))) };
            if seen.contains(&spec.name) {
                return Err(Error::RepeatedOption { feature: feature.name(), option: spec.name });
            }
            seen.push(spec.name);
            feature.set(spec.name, parsed);
        }
        Ok(feature)
    }

    /// Checks the ranges of options that were set in code.
    ///
    /// # Errors
    /// [`Error::BadValue`].
    pub fn validate(&self) -> Result<()> {
        match self.values().into_iter().find(|(s, v)| !s.kind.allows(*v)) {
            Some((s, v)) => Err(self.bad_value(&s, v.text())),
            None => Ok(()),
        }
    }

    /// Name, as `--feature` takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Motion(_) => Self::NAMES[0],
            Self::FloatMotion(_) => Self::NAMES[1],
            Self::SpeedChroma(_) => Self::NAMES[2],
            Self::SpeedTemporal(_) => Self::NAMES[3],
        }
    }

    /// What a changed set of options adds to every metric's name: `_alias_value` for each, sorted by option name.
    pub fn suffix(&self) -> String {
        let default = match self {
            Self::Motion(_) => Self::Motion(MotionOptions::default()),
            Self::FloatMotion(_) => Self::FloatMotion(FloatMotionOptions::default()),
            Self::SpeedChroma(_) => Self::SpeedChroma(SpeedChromaOptions::default()),
            Self::SpeedTemporal(_) => Self::SpeedTemporal(SpeedTemporalOptions::default()),
        };
        let mut changed: Vec<(Spec, Value)> = self
            .values()
            .into_iter()
            .zip(default.values())
            .filter(|((spec, a), (_, b))| !spec.alias.is_empty() && a != b)
            .map(|(a, _)| a)
            .collect();
        changed.sort_by_key(|(spec, _)| spec.name);
        changed.iter().map(|(spec, v)| format!("_{}{}", spec.alias, v.suffix())).collect()
    }

    /// Whether it reads U and V.
    pub fn uses_chroma(&self) -> bool {
        match self {
            Self::Motion(_) | Self::SpeedTemporal(_) => false,
            Self::FloatMotion(o) => o.add_uv && !o.force_zero,
            Self::SpeedChroma(_) => true,
        }
    }

    fn values(&self) -> Vec<(Spec, Value)> {
        match self {
            Self::Motion(o) => o.values(),
            Self::FloatMotion(o) => o.values(),
            Self::SpeedChroma(o) => {
                let mut v = o.speed.values();
                v.push((WEIGHT_MODE, Value::Int(o.weight_var_mode)));
                v
            }
            Self::SpeedTemporal(o) => {
                let mut v = o.speed.values();
                v.push((REF_DIFF, Value::Bool(o.use_ref_diff)));
                v
            }
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        match self {
            Self::Motion(o) => o.set(name, value),
            Self::FloatMotion(o) => o.set(name, value),
            Self::SpeedChroma(o) => match (name, value) {
                ("speed_weight_var_mode", Value::Int(v)) => o.weight_var_mode = v,
                _ => o.speed.set(name, value),
            },
            Self::SpeedTemporal(o) => match (name, value) {
                ("speed_use_ref_diff", Value::Bool(v)) => o.use_ref_diff = v,
                _ => o.speed.set(name, value),
            },
        }
    }

    fn bad_value(&self, spec: &Spec, value: String) -> Error {
        Error::BadValue { feature: self.name(), option: spec.name, value, legal: spec.kind.legal() }
    }

    fn unknown_option(&self, option: &str) -> Error {
        let specs = self.values();
        let alias = specs.iter().find(|(s, _)| !s.alias.is_empty() && s.alias == option);
        let option = shorten(option);
        let suggestion = alias
            .map(|(s, _)| s.name.to_owned())
            .or_else(|| closest(&option, specs.iter().map(|(s, _)| s.name)));
        let known: Vec<&str> = specs.iter().map(|(s, _)| s.name).collect();
        Error::UnknownOption { feature: self.name(), option, suggestion, known: known.join(", ") }
    }
}

impl std::str::FromStr for Feature {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        Self::parse(s)
    }
}

/// The start of a text too long for a message.
fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(60).collect();
    if chars.next().is_some() { format!("{head}...") } else { head }
}

/// The known name most like `name`, if one is close enough to be meant.
fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|k| (strsim::jaro_winkler(name, k), k))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn suffix(text: &str) -> String {
        Feature::parse(text).unwrap().suffix()
    }

    #[test]
    fn names_of_changed_options() {
        assert_eq!(suffix("motion"), "");
        assert_eq!(
            suffix("motion=motion_moving_average=true:motion_five_frame_window=true:motion_fps_weight=0.5"),
            "_mffw_mfw_0.5_mma"
        );
        assert_eq!(
            suffix(
                "speed_chroma=speed_sigma_nn=0.19:speed_nn_floor=0.1:speed_weight_var_mode=5:speed_max_val=45"
            ),
            "_mxv_45_nnf_0.1_snn_0.19_wvm_5"
        );
        assert_eq!(
            suffix("float_motion=motion_add_uv=true:motion_add_scale1=true:motion_filter_size=3"),
            "_mdc_mau_mfs_3"
        );
        assert_eq!(suffix("speed_temporal=speed_prescale=1.0:speed_prescale_method=nearest"), "");
        assert_eq!(suffix("speed_chroma=speed_kernelscale=3.711340206"), "_ks_3.71134");
        assert_eq!(suffix("motion=debug=true"), "");
    }

    fn message(text: &str) -> String {
        Feature::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_named() {
        assert!(message("motoin").contains("did you mean motion?"));
        assert!(message("motion=motion_fps_wieght=1").contains("did you mean motion_fps_weight?"));
        assert!(message("motion=mfw=1").contains("did you mean motion_fps_weight?"));
        assert!(message("motion=motion_fps_weight=5.5").contains("(legal: 0 to 5)"));
        assert!(message("motion=motion_fps_weight=nan").contains("(legal: 0 to 5)"));
        assert!(message("motion=debug=1").contains("true or false"));
        assert!(message("motion=debug").contains("write debug=VALUE"));
        assert!(message("motion=debug=true:debug=true").contains("twice"));
        assert!(message("speed_chroma=speed_kernelscale=0.9").contains("one of 1, 0.5"));
        assert!(message("speed_chroma=speed_prescale_method=foo").contains("lanczos4"));
        assert!(message("speed_chroma=speed_weight_var_mode=7").contains("from 0 to 6"));
        assert!(message("speed_chroma=speed_use_ref_diff=true").contains("no option"));
        assert!(message("motion=").contains("no option \"\""));
        assert!(message("").contains("unknown feature"));
    }

    #[test]
    fn options_set_in_code_are_checked() {
        let o = MotionOptions { max_val: f64::NAN, ..Default::default() };
        assert!(Feature::Motion(o).validate().is_err());
        let mut o = SpeedChromaOptions { weight_var_mode: -1, ..Default::default() };
        assert!(Feature::SpeedChroma(o).validate().is_err());
        o.weight_var_mode = 6;
        assert!(Feature::SpeedChroma(o).validate().is_ok());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,200}") {
            let _ = Feature::parse(&text);
        }

        #[test]
        fn what_parses_is_valid(
            name in prop::sample::select(Feature::NAMES.to_vec()),
            option in prop::sample::select(vec![
                "motion_fps_weight", "motion_filter_size", "debug", "speed_kernelscale", "speed_prescale",
                "speed_prescale_method", "speed_weight_var_mode", "speed_use_ref_diff", "motion_max_val",
            ]),
            value in "true|false|-?[0-9]{1,4}(\\.[0-9]{1,3})?|inf|nan|-0|1e400|bicubic|lanczos4",
        ) {
            if let Ok(f) = Feature::parse(&format!("{name}={option}={value}")) {
                prop_assert!(f.validate().is_ok());
                prop_assert!(!f.suffix().contains("nan"));
            }
        }
    }
}
