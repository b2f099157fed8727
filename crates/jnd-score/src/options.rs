//! Features and their options: typed, with legal ranges, parsed from `NAME=option=value:option=value`, and turned into
//! the metric names that reports use.

use crate::number::format_g;
use crate::speed::prescale::Method;
use crate::speed::taps::{KERNEL_SCALE_TOLERANCE, KERNEL_SCALES};
use crate::{Error, Result};

/// Options of the integer `motion` feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionOptions {
    /// Take every score as 0 (`motion_force_zero`).
    pub force_zero: bool,
    /// Weight of the score against the blended one, 0 to 1 (`motion_blend_factor`).
    pub blend_factor: f64,
    /// Score above which blending lowers it, 0 to 1000 (`motion_blend_offset`).
    pub blend_offset: f64,
    /// Factor for the frame rate, 0 to 5 (`motion_fps_weight`).
    pub fps_weight: f64,
    /// Largest score, 0 to 10000 (`motion_max_val`).
    pub max_val: f64,
    /// Compare with the frame before the last one (`motion_five_frame_window`).
    pub five_frame_window: bool,
    /// Average `motion3` with the value before (`motion_moving_average`).
    pub moving_average: bool,
    /// Give the plain score as `integer_motion` too (`debug`).
    pub debug: bool,
}

impl Default for MotionOptions {
    fn default() -> Self {
        Self {
            force_zero: false,
            blend_factor: 1.0,
            blend_offset: 40.0,
            fps_weight: 1.0,
            max_val: 10000.0,
            five_frame_window: false,
            moving_average: false,
            debug: false,
        }
    }
}

/// Options of the `float_motion` feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatMotionOptions {
    /// Give the plain score as `motion` too (`debug`).
    pub debug: bool,
    /// Take every score as 0 (`motion_force_zero`).
    pub force_zero: bool,
    /// Weight of the score against the blended one, 0 to 1 (`motion_blend_factor`).
    pub blend_factor: f64,
    /// Score above which blending lowers it, 0 to 1000 (`motion_blend_offset`).
    pub blend_offset: f64,
    /// Factor for the frame rate, 0 to 5 (`motion_fps_weight`).
    pub fps_weight: f64,
    /// Add the score at half size (`motion_add_scale1`).
    pub add_scale1: bool,
    /// Blur length: 1, 3, or anything else from 0 to 9 for 5 (`motion_filter_size`).
    pub filter_size: i64,
    /// Add the scores of U and V (`motion_add_uv`).
    pub add_uv: bool,
    /// Largest score, 0 to 10000 (`motion_max_val`).
    pub max_val: f64,
}

impl Default for FloatMotionOptions {
    fn default() -> Self {
        Self {
            debug: true,
            force_zero: false,
            blend_factor: 1.0,
            blend_offset: 40.0,
            fps_weight: 1.0,
            add_scale1: false,
            filter_size: 5,
            add_uv: false,
            max_val: 10000.0,
        }
    }
}

/// Options that both SpEED features have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedOptions {
    /// Scale of the filters' length, one of [`KERNEL_SCALES`] (`speed_kernelscale`).
    pub kernelscale: f64,
    /// Scale of the plane before anything else, 0.1 to 4 (`speed_prescale`).
    pub prescale: f64,
    /// How it is scaled (`speed_prescale_method`).
    pub prescale_method: Method,
    /// Variance of the neural noise, 0.1 to 2 (`speed_sigma_nn`).
    pub sigma_nn: f64,
    /// How far above the noise a block must be to count, 0 to 1 (`speed_nn_floor`).
    pub nn_floor: f64,
    /// Largest score, 0 to 1000 (`speed_max_val`); the temporal feature accepts it and, like libvmaf, does not apply it.
    pub max_val: f64,
}

impl Default for SpeedOptions {
    fn default() -> Self {
        Self {
            kernelscale: 1.0,
            prescale: 1.0,
            prescale_method: Method::Nearest,
            sigma_nn: 0.29,
            nn_floor: 0.0,
            max_val: 1000.0,
        }
    }
}

/// Options of the `speed_chroma` feature.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpeedChromaOptions {
    /// What both SpEED features have.
    pub speed: SpeedOptions,
    /// Which block variances weigh the entropies, 0 to 6 (`speed_weight_var_mode`).
    pub weight_var_mode: i64,
}

/// Options of the `speed_temporal` feature.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpeedTemporalOptions {
    /// What both SpEED features have.
    pub speed: SpeedOptions,
    /// Take the distorted difference against the reference's current frame (`speed_use_ref_diff`).
    pub use_ref_diff: bool,
}

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

/// A value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Bool(bool),
    Int(i64),
    Double(f64),
    Method(Method),
}

/// What an option takes.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Bool,
    Int(i64, i64),
    Double(f64, f64),
    KernelScale(f64, f64),
    Method,
}

/// One option of a feature.
#[derive(Debug, Clone, Copy)]
struct Spec {
    name: &'static str,
    /// How it appears in metric names; empty for options that do not.
    alias: &'static str,
    kind: Kind,
}

const fn spec(name: &'static str, alias: &'static str, kind: Kind) -> Spec {
    Spec { name, alias, kind }
}

const FORCE_ZERO: Spec = spec("motion_force_zero", "force_0", Kind::Bool);
const BLEND_FACTOR: Spec = spec("motion_blend_factor", "mbf", Kind::Double(0.0, 1.0));
const BLEND_OFFSET: Spec = spec("motion_blend_offset", "mbo", Kind::Double(0.0, 1000.0));
const FPS_WEIGHT: Spec = spec("motion_fps_weight", "mfw", Kind::Double(0.0, 5.0));
const MOTION_MAX: Spec = spec("motion_max_val", "mmxv", Kind::Double(0.0, 10000.0));
const FIVE_FRAMES: Spec = spec("motion_five_frame_window", "mffw", Kind::Bool);
const AVERAGE: Spec = spec("motion_moving_average", "mma", Kind::Bool);
const DEBUG: Spec = spec("debug", "", Kind::Bool);
const ADD_SCALE1: Spec = spec("motion_add_scale1", "mdc", Kind::Bool);
const FILTER_SIZE: Spec = spec("motion_filter_size", "mfs", Kind::Int(0, 9));
const ADD_UV: Spec = spec("motion_add_uv", "mau", Kind::Bool);
const KERNEL_SCALE: Spec = spec("speed_kernelscale", "ks", Kind::KernelScale(0.1, 4.0));
const PRESCALE: Spec = spec("speed_prescale", "ps", Kind::Double(0.1, 4.0));
const METHOD: Spec = spec("speed_prescale_method", "psm", Kind::Method);
const SIGMA_NN: Spec = spec("speed_sigma_nn", "snn", Kind::Double(0.1, 2.0));
const NN_FLOOR: Spec = spec("speed_nn_floor", "nnf", Kind::Double(0.0, 1.0));
const SPEED_MAX: Spec = spec("speed_max_val", "mxv", Kind::Double(0.0, 1000.0));
const WEIGHT_MODE: Spec = spec("speed_weight_var_mode", "wvm", Kind::Int(0, 6));
const REF_DIFF: Spec = spec("speed_use_ref_diff", "urd", Kind::Bool);

/// Longest `--feature` argument looked at; longer ones cannot be made of known options.
const MAX_SPEC: usize = 4096;

impl Kind {
    fn legal(&self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Int(min, max) => format!("a whole number from {min} to {max}"),
            Self::Double(min, max) => format!("{min} to {max}"),
            Self::KernelScale(..) => {
                let all: Vec<String> = KERNEL_SCALES.iter().map(|&k| format_g(k)).collect();
                format!("within {KERNEL_SCALE_TOLERANCE} of one of {}", all.join(", "))
            }
            Self::Method => "nearest, bilinear, bicubic or lanczos4".into(),
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Bool => match text {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Int(..) => text.parse().ok().map(Value::Int),
            Self::Double(..) | Self::KernelScale(..) => text.parse().ok().map(Value::Double),
            Self::Method => Method::from_name(text).map(Value::Method),
        }
    }

    fn allows(&self, value: Value) -> bool {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) | (Self::Method, Value::Method(_)) => true,
            (Self::Int(min, max), Value::Int(v)) => (*min..=*max).contains(&v),
            (Self::Double(min, max), Value::Double(v)) => v >= *min && v <= *max,
            (Self::KernelScale(min, max), Value::Double(v)) => {
                v >= *min && v <= *max && KERNEL_SCALES.iter().any(|k| (k - v).abs() < KERNEL_SCALE_TOLERANCE)
            }
            _ => false,
        }
    }
}

impl Value {
    fn text(self) -> String {
        match self {
            Self::Bool(v) => v.to_string(),
            Self::Int(v) => v.to_string(),
            Self::Double(v) => v.to_string(),
            Self::Method(v) => v.name().into(),
        }
    }

    /// How it follows the alias in a metric name.
    fn suffix(self) -> String {
        match self {
            Self::Bool(_) => String::new(),
            Self::Int(v) => format!("_{v}"),
            Self::Double(v) => format!("_{}", format_g(v)),
            Self::Method(v) => format!("_{}", v.name()),
        }
    }
}

impl MotionOptions {
    fn values(&self) -> Vec<(Spec, Value)> {
        vec![
            (FORCE_ZERO, Value::Bool(self.force_zero)),
            (BLEND_FACTOR, Value::Double(self.blend_factor)),
            (BLEND_OFFSET, Value::Double(self.blend_offset)),
            (FPS_WEIGHT, Value::Double(self.fps_weight)),
            (MOTION_MAX, Value::Double(self.max_val)),
            (FIVE_FRAMES, Value::Bool(self.five_frame_window)),
            (AVERAGE, Value::Bool(self.moving_average)),
            (DEBUG, Value::Bool(self.debug)),
        ]
    }

    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("motion_force_zero", Value::Bool(v)) => self.force_zero = v,
            ("motion_blend_factor", Value::Double(v)) => self.blend_factor = v,
            ("motion_blend_offset", Value::Double(v)) => self.blend_offset = v,
            ("motion_fps_weight", Value::Double(v)) => self.fps_weight = v,
            ("motion_max_val", Value::Double(v)) => self.max_val = v,
            ("motion_five_frame_window", Value::Bool(v)) => self.five_frame_window = v,
            ("motion_moving_average", Value::Bool(v)) => self.moving_average = v,
            ("debug", Value::Bool(v)) => self.debug = v,
            _ => debug_assert!(false, "{name} has a specification but no field"),
        }
    }
}

impl FloatMotionOptions {
    fn values(&self) -> Vec<(Spec, Value)> {
        vec![
            (DEBUG, Value::Bool(self.debug)),
            (FORCE_ZERO, Value::Bool(self.force_zero)),
            (FPS_WEIGHT, Value::Double(self.fps_weight)),
            (BLEND_FACTOR, Value::Double(self.blend_factor)),
            (BLEND_OFFSET, Value::Double(self.blend_offset)),
            (ADD_SCALE1, Value::Bool(self.add_scale1)),
            (FILTER_SIZE, Value::Int(self.filter_size)),
            (ADD_UV, Value::Bool(self.add_uv)),
            (MOTION_MAX, Value::Double(self.max_val)),
        ]
    }

    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("debug", Value::Bool(v)) => self.debug = v,
            ("motion_force_zero", Value::Bool(v)) => self.force_zero = v,
            ("motion_fps_weight", Value::Double(v)) => self.fps_weight = v,
            ("motion_blend_factor", Value::Double(v)) => self.blend_factor = v,
            ("motion_blend_offset", Value::Double(v)) => self.blend_offset = v,
            ("motion_add_scale1", Value::Bool(v)) => self.add_scale1 = v,
            ("motion_filter_size", Value::Int(v)) => self.filter_size = v,
            ("motion_add_uv", Value::Bool(v)) => self.add_uv = v,
            ("motion_max_val", Value::Double(v)) => self.max_val = v,
            _ => debug_assert!(false, "{name} has a specification but no field"),
        }
    }
}

impl SpeedOptions {
    fn values(&self) -> Vec<(Spec, Value)> {
        vec![
            (KERNEL_SCALE, Value::Double(self.kernelscale)),
            (PRESCALE, Value::Double(self.prescale)),
            (METHOD, Value::Method(self.prescale_method)),
            (SIGMA_NN, Value::Double(self.sigma_nn)),
            (NN_FLOOR, Value::Double(self.nn_floor)),
            (SPEED_MAX, Value::Double(self.max_val)),
        ]
    }

    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("speed_kernelscale", Value::Double(v)) => self.kernelscale = v,
            ("speed_prescale", Value::Double(v)) => self.prescale = v,
            ("speed_prescale_method", Value::Method(v)) => self.prescale_method = v,
            ("speed_sigma_nn", Value::Double(v)) => self.sigma_nn = v,
            ("speed_nn_floor", Value::Double(v)) => self.nn_floor = v,
            ("speed_max_val", Value::Double(v)) => self.max_val = v,
            _ => debug_assert!(false, "{name} has a specification but no field"),
        }
    }
}

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
