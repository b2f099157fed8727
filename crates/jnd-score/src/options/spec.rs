//! Every option: its name, its short name in reports, and what it takes.

use crate::number::format_g;
use crate::speed::prescale::Method;
use crate::speed::taps::{KERNEL_SCALE_TOLERANCE, KERNEL_SCALES};

/// A value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    Double(f64),
    Method(Method),
}

/// What an option takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Bool,
    Int(i64, i64),
    Double(f64, f64),
    KernelScale(f64, f64),
    Method,
}

/// One option of a feature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// How it appears in metric names; empty for options that do not.
    pub(super) alias: &'static str,
    pub(super) kind: Kind,
}

const fn spec(name: &'static str, alias: &'static str, kind: Kind) -> Spec {
    Spec { name, alias, kind }
}

pub(super) const FORCE_ZERO: Spec = spec("motion_force_zero", "force_0", Kind::Bool);
pub(super) const BLEND_FACTOR: Spec = spec("motion_blend_factor", "mbf", Kind::Double(0.0, 1.0));
pub(super) const BLEND_OFFSET: Spec = spec("motion_blend_offset", "mbo", Kind::Double(0.0, 1000.0));
pub(super) const FPS_WEIGHT: Spec = spec("motion_fps_weight", "mfw", Kind::Double(0.0, 5.0));
pub(super) const MOTION_MAX: Spec = spec("motion_max_val", "mmxv", Kind::Double(0.0, 10000.0));
pub(super) const FIVE_FRAMES: Spec = spec("motion_five_frame_window", "mffw", Kind::Bool);
pub(super) const AVERAGE: Spec = spec("motion_moving_average", "mma", Kind::Bool);
pub(super) const DEBUG: Spec = spec("debug", "", Kind::Bool);
pub(super) const ADD_SCALE1: Spec = spec("motion_add_scale1", "mdc", Kind::Bool);
pub(super) const FILTER_SIZE: Spec = spec("motion_filter_size", "mfs", Kind::Int(0, 9));
pub(super) const ADD_UV: Spec = spec("motion_add_uv", "mau", Kind::Bool);
pub(super) const KERNEL_SCALE: Spec = spec("speed_kernelscale", "ks", Kind::KernelScale(0.1, 4.0));
pub(super) const PRESCALE: Spec = spec("speed_prescale", "ps", Kind::Double(0.1, 4.0));
pub(super) const METHOD: Spec = spec("speed_prescale_method", "psm", Kind::Method);
pub(super) const SIGMA_NN: Spec = spec("speed_sigma_nn", "snn", Kind::Double(0.1, 2.0));
pub(super) const NN_FLOOR: Spec = spec("speed_nn_floor", "nnf", Kind::Double(0.0, 1.0));
pub(super) const SPEED_MAX: Spec = spec("speed_max_val", "mxv", Kind::Double(0.0, 1000.0));
pub(super) const WEIGHT_MODE: Spec = spec("speed_weight_var_mode", "wvm", Kind::Int(0, 6));
pub(super) const REF_DIFF: Spec = spec("speed_use_ref_diff", "urd", Kind::Bool);

impl Kind {
    pub(super) fn legal(&self) -> String {
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

    pub(super) fn parse(&self, text: &str) -> Option<Value> {
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

    pub(super) fn allows(&self, value: Value) -> bool {
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
    pub(super) fn text(self) -> String {
        match self {
            Self::Bool(v) => v.to_string(),
            Self::Int(v) => v.to_string(),
            Self::Double(v) => v.to_string(),
            Self::Method(v) => v.name().into(),
        }
    }

    /// How it follows the alias in a metric name.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Bool(_) => String::new(),
            Self::Int(v) => format!("_{v}"),
            Self::Double(v) => format!("_{}", format_g(v)),
            Self::Method(v) => format!("_{}", v.name()),
        }
    }
}
