//! Eulerian video magnification: makes changes too small to see visible.
//!
//! A [`Plan`] is made from [`Settings`] and the description of a clip ([`Source`]).

mod error;
mod plan;
mod preset;

pub use error::{Error, Result};
pub use plan::{Chain, Enlarge, Level, Mix, Plan, Precision, Source, Step, Stored, Temporal, pyramid_levels};
pub use preset::{Filter, Init, PRESETS, Pipeline, Preset, Settings};
