//! Features and their options: typed, with legal ranges, parsed from `NAME=option=value:option=value`, and turned into
//! the metric names that reports use.

mod feature;
mod spec;

pub use feature::Feature;

use crate::speed::prescale::Method;
use spec::*;

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
    /// Scale of the filters' length, one of [`KERNEL_SCALES`](crate::speed::taps::KERNEL_SCALES) (`speed_kernelscale`).
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
