//! Eulerian video magnification: makes changes too small to see visible.
//!
//! A [`Plan`] is made from [`Settings`] and the description of a clip ([`Source`]); a [`Magnifier`] carries it out,
//! frame by frame. `docs/arithmetic.md` defines every operation.

mod band;
pub mod bench;
mod buffer;
mod check;
pub mod cuda;
mod engine;
mod enlarge;
mod error;
mod layout;
mod magnifier;
mod mix;
mod pixel;
mod plan;
mod pool;
mod prefetch;
mod preset;
mod render;
mod shrink;
mod state;
mod temporal;

pub use error::{Error, Result};
pub use magnifier::{Magnifier, Options, magnify_clip};
pub use plan::{Chain, Enlarge, Level, Mix, Plan, Precision, Source, Step, Stored, Temporal, pyramid_levels};
pub use preset::{Filter, Init, PRESETS, Pipeline, Preset, Settings};
