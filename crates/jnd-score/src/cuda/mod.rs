//! Scoring on the card: the same bits as [`Scorer`](crate::Scorer), many pairs at a time.
//!
//! Pairs are copied into pinned memory, travel to a ring of places on the card, and are computed in batches: every
//! launch covers all pairs of a batch, and all planes of a feature. Copies of the next batch run beside the kernels of
//! this one; nothing is done by the host inside a batch, and one small copy brings its results back.

mod layout;
mod params;
mod places;
mod scorer;
mod staging;
mod work;

pub use layout::{CudaOptions, CudaPlan, DEFAULT_BATCH, MAX_BATCH};
pub use scorer::{CudaCounts, CudaScorer, DevicePlane, Measured, Stage, measure};
pub use staging::Slot;

/// The kernels of this crate; see `scripts/kernels`.
#[cfg(feature = "cuda")]
static KERNELS: &[u8] = include_bytes!("../kernels.fatbin");
#[cfg(not(feature = "cuda"))]
static KERNELS: &[u8] = &[];
