//! VMAF-family temporal features (`motion`, `float_motion`, SpEED), bit for bit what libvmaf's CPU code gives.
//!
//! [`Scorer`] takes pairs of frames one after another and hands out the scores of all requested features as soon as
//! they are final; [`Feature`] says what to compute. Each operation has one scalar definition in the file of its stage;
//! faster forms equal it to the last bit.

#![allow(clippy::needless_range_loop, reason = "matrix and filter code follows the indices of its formulas")]

mod board;
pub mod clip;
pub mod cuda;
pub mod engine;
mod error;
pub mod float_motion;
mod job;
pub mod log2;
pub mod motion;
mod number;
mod options;
pub mod plane;
mod pooling;
pub mod report;
mod scorer;
pub mod speed;
mod workers;

pub use board::{Board, Score};
pub use engine::Engine;
pub use error::{Error, Result};
pub use number::format_g;
pub use options::{
    Feature, FloatMotionOptions, MotionOptions, SpeedChromaOptions, SpeedOptions, SpeedTemporalOptions,
};
pub use pooling::{Pool, Pooled};
pub use scorer::{Geometry, Scorer, ScorerOptions};
pub use speed::prescale::Method;
pub use workers::MAX_THREADS;
