//! What is computed of a pair of frames: each job once, however many features ask for it.

use jnd_video::simd::Level;
use jnd_video::{Frame, Plane, Planes};

use crate::float_motion;
use crate::motion::{self, MotionSample};
use crate::options::FloatMotionOptions;
use crate::plane::Conversion;
use crate::speed::pair::{self, PlaneStatistics};
use crate::speed::{self, Analyser};

/// A reference frame and its distorted counterpart.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) reference: Frame,
    pub(crate) distorted: Frame,
}

/// Sizes of the planes that are scored, chroma rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaneSizes {
    pub(crate) luma: (usize, usize),
    pub(crate) chroma: (usize, usize),
}

/// One thing to compute.
#[derive(Debug, Clone)]
pub(crate) enum Job {
    /// Sum of filtered differences of the reference to the frame `stride` before.
    Sad { stride: usize, shift: u32 },
    /// Float motion to the frame before.
    FloatMotion { options: FloatMotionOptions, conversion: Conversion },
    /// SpEED of U and V.
    Chroma { analyser: Box<Analyser>, mode: i64 },
    /// SpEED of the luma difference to the frame before.
    Temporal { analyser: Box<Analyser>, use_ref_diff: bool },
}

/// What a job gives for one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// There is no earlier frame, or the frame is left out.
    Nothing,
    Sad(u64),
    Float(f64),
    Chroma {
        u: f32,
        v: f32,
        u_failed: bool,
        v_failed: bool,
    },
}

/// Storage that one thread reuses from frame to frame.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    speed: speed::Scratch,
    float_motion: float_motion::Scratch,
    a: PlaneStatistics,
    b: PlaneStatistics,
    terms: Vec<f32>,
}

impl Job {
    /// Frames before the current one that it needs.
    pub(crate) fn reach(&self) -> usize {
        match self {
            Self::Sad { stride, .. } => *stride,
            Self::FloatMotion { .. } | Self::Temporal { .. } => 1,
            Self::Chroma { .. } => 0,
        }
    }

    /// Computes the job for a pair; `earlier[k]` is the pair k + 1 before.
    pub(crate) fn run(
        &self,
        level: Level,
        sizes: PlaneSizes,
        pair: &Pair,
        earlier: [Option<&Pair>; 2],
        scratch: &mut Scratch,
    ) -> Outcome {
        let (r, d) = (pair.reference.view(), pair.distorted.view());
        match (r.planes(), d.planes()) {
            (Planes::U8(r), Planes::U8(d)) => {
                self.run_typed(level, sizes, r, d, earlier.map(|e| e.and_then(typed_u8)), scratch)
            }
            (Planes::U16(r), Planes::U16(d)) => {
                self.run_typed(level, sizes, r, d, earlier.map(|e| e.and_then(typed_u16)), scratch)
            }
            _ => Outcome::Nothing,
        }
    }

    fn run_typed<T: MotionSample>(
        &self,
        level: Level,
        sizes: PlaneSizes,
        reference: &[Plane<'_, T>; 3],
        distorted: &[Plane<'_, T>; 3],
        earlier: [Option<[[Plane<'_, T>; 3]; 2]>; 2],
        scratch: &mut Scratch,
    ) -> Outcome {
        let r = |i: usize| crop(reference[i], sizes, i);
        let d = |i: usize| crop(distorted[i], sizes, i);
        match self {
            Self::Sad { stride, shift } => match earlier[stride - 1] {
                Some([before, _]) => {
                    Outcome::Sad(motion::sad_rows(level, crop(before[0], sizes, 0), r(0), *shift))
                }
                None => Outcome::Nothing,
            },
            Self::FloatMotion { options, conversion } => match earlier[0] {
                Some([before, _]) => {
                    let mut plane = |i: usize| {
                        f64::from(float_motion::plane_score(
                            level,
                            crop(before[i], sizes, i),
                            r(i),
                            *conversion,
                            options,
                            &mut scratch.float_motion,
                        ))
                    };
                    let mut score = plane(0);
                    if options.add_uv {
                        score += plane(1);
                        score += plane(2);
                    }
                    Outcome::Float(score)
                }
                None => Outcome::Nothing,
            },
            Self::Chroma { analyser, mode } => {
                let mut plane = |i: usize| {
                    analyser.samples(level, r(i), &mut scratch.speed, &mut scratch.a);
                    analyser.samples(level, d(i), &mut scratch.speed, &mut scratch.b);
                    let (a, b) = (&scratch.a, &scratch.b);
                    let score = pair::score(level, a, b, analyser.base(), *mode, &mut scratch.terms);
                    (score, a.singular || b.singular)
                };
                let ((u, u_failed), (v, v_failed)) = (plane(1), plane(2));
                Outcome::Chroma { u, v, u_failed, v_failed }
            }
            Self::Temporal { analyser, use_ref_diff } => match earlier[0] {
                Some([before_r, before_d]) => {
                    let minus = if *use_ref_diff { r(0) } else { d(0) };
                    let (before_r, before_d) = (crop(before_r[0], sizes, 0), crop(before_d[0], sizes, 0));
                    analyser.difference(level, before_r, r(0), &mut scratch.speed, &mut scratch.a);
                    analyser.difference(level, before_d, minus, &mut scratch.speed, &mut scratch.b);
                    let score =
                        pair::score(level, &scratch.a, &scratch.b, analyser.base(), 0, &mut scratch.terms);
                    Outcome::Float(f64::from(score))
                }
                None => Outcome::Nothing,
            },
        }
    }
}

/// The part of plane `i` that is scored.
fn crop<T>(plane: Plane<'_, T>, sizes: PlaneSizes, i: usize) -> Plane<'_, T> {
    let (w, h) = if i == 0 { sizes.luma } else { sizes.chroma };
    plane.crop(w, h)
}

fn typed_u8(pair: &Pair) -> Option<[[Plane<'_, u8>; 3]; 2]> {
    match (*pair.reference.view().planes(), *pair.distorted.view().planes()) {
        (Planes::U8(r), Planes::U8(d)) => Some([r, d]),
        _ => None,
    }
}

fn typed_u16(pair: &Pair) -> Option<[[Plane<'_, u16>; 3]; 2]> {
    match (*pair.reference.view().planes(), *pair.distorted.view().planes()) {
        (Planes::U16(r), Planes::U16(d)) => Some([r, d]),
        _ => None,
    }
}
