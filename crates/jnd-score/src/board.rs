//! From what was computed of each frame to final scores: the part that every device shares.

use std::collections::VecDeque;

use jnd_video::{PixelFormat, check_size};

use crate::float_motion::{self, FloatMotionScore, FloatMotionWindow};
use crate::job::{Job, Outcome};
use crate::motion::{self, MotionScore, MotionWindow};
use crate::options::Feature;
use crate::plane::Conversion;
use crate::scorer::Geometry;
use crate::speed::{Analyser, join_chroma};
use crate::{Error, Result};

/// A final score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Index into [`Board::metrics`].
    pub metric: usize,
    /// Index of the pair of frames.
    pub frame: u64,
    /// The score.
    pub value: f64,
}

/// When a metric first appears in the reference's reports, which orders its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Appears {
    /// With frame 0.
    AtOnce,
    /// With frame 1, or at the end where there is none.
    WithSecondFrame,
    /// When the clip ends.
    AtEnd,
}

#[derive(Debug)]
enum State {
    Motion(Box<MotionWindow>),
    FloatMotion(Box<FloatMotionWindow>),
    Chroma { max_val: f64 },
    Temporal,
}

/// A feature on its way through the clip.
#[derive(Debug)]
struct Extractor {
    state: State,
    /// Index of the job that feeds it, if it needs one.
    job: Option<usize>,
    /// Indices of its metrics.
    metrics: [Option<usize>; 4],
}

/// What every scorer knows of a clip, whatever computes: the metrics' names and order, how many pairs there were, and the
/// scores that are final. It takes what was computed, frame by frame in order.
#[derive(Debug)]
pub struct Board {
    geometry: Geometry,
    held: PixelFormat,
    /// Pairs pushed.
    pushed: u64,
    subsample: u64,
    extractors: Vec<Extractor>,
    metrics: Vec<String>,
    appears: Vec<Appears>,
    ready: VecDeque<Score>,
}

impl Board {
    /// For `features` of clips of one geometry, and the jobs that feed it.
    pub(crate) fn new(features: &[Feature], geometry: Geometry, subsample: u64) -> Result<(Self, Vec<Job>)> {
        check_size(geometry.width, geometry.height)?;
        let held = geometry.planar()?;
        if features.is_empty() {
            return Err(Error::NoFeatures);
        }
        let mut jobs: Vec<(JobKey, Job)> = Vec::new();
        let mut extractors = Vec::new();
        let (mut metrics, mut appears) = (Vec::new(), Vec::new());
        for feature in features {
            feature.validate()?;
            let job = make_job(feature, &geometry)?.map(|(key, job)| {
                jobs.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
                    jobs.push((key, job));
                    jobs.len() - 1
                })
            });
            let suffix = feature.suffix();
            let mut slots = [None; 4];
            for (slot, name, when) in metric_names(feature) {
                let name = format!("{name}{suffix}");
                if metrics.contains(&name) {
                    return Err(Error::RepeatedMetric(name));
                }
                slots[slot] = Some(metrics.len());
                metrics.push(name);
                appears.push(when);
            }
            let state = match feature {
                Feature::Motion(o) => State::Motion(Box::new(MotionWindow::new(*o))),
                Feature::FloatMotion(o) => State::FloatMotion(Box::new(FloatMotionWindow::new(*o))),
                Feature::SpeedChroma(o) => State::Chroma { max_val: o.speed.max_val },
                Feature::SpeedTemporal(_) => State::Temporal,
            };
            extractors.push(Extractor { state, job, metrics: slots });
        }
        let jobs = jobs.into_iter().map(|(_, job)| job).collect();
        let subsample = subsample.max(1);
        let ready = VecDeque::new();
        Ok((Self { geometry, held, pushed: 0, subsample, extractors, metrics, appears, ready }, jobs))
    }

    /// Names of the metrics, by index.
    pub fn metrics(&self) -> &[String] {
        &self.metrics
    }

    /// Indices of the metrics in the order in which the reference reports them. It depends on whether the clip has more
    /// than one frame, so ask after the second frame or the end.
    pub fn report_order(&self) -> Vec<usize> {
        let single = self.pushed <= 1;
        let mut order: Vec<usize> = (0..self.metrics.len()).collect();
        order.sort_by_key(|&m| match self.appears[m] {
            Appears::WithSecondFrame if single => Appears::AtEnd,
            a => a,
        });
        order
    }

    /// Whether a frame is reported under the subsampling asked for.
    pub fn is_reported(&self, frame: u64) -> bool {
        frame.is_multiple_of(self.subsample)
    }

    /// Pairs pushed so far.
    pub fn frames(&self) -> u64 {
        self.pushed
    }

    /// Size and format of the clips.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The format frames are held in: planar, samples in the low bits.
    pub fn held_format(&self) -> PixelFormat {
        self.held
    }

    /// The next score that is final. For one metric scores come in the order of frames, all of them reported or not
    /// under subsampling; a feature that skips frames gives none for them.
    pub fn next_score(&mut self) -> Option<Score> {
        self.ready.pop_front()
    }

    /// Frames from one that is reported to the next.
    pub(crate) fn subsample(&self) -> u64 {
        self.subsample
    }

    /// Counts a pair that was pushed.
    pub(crate) fn count(&mut self) {
        self.pushed += 1;
    }

    /// Takes the outcomes of all jobs for the next frame.
    pub(crate) fn take(&mut self, frame: u64, outcomes: &[Outcome]) {
        for i in 0..self.extractors.len() {
            let outcome = self.extractors[i].job.map_or(Outcome::Nothing, |j| outcomes[j]);
            self.advance(i, frame, outcome);
        }
    }

    /// Ends the clip.
    pub(crate) fn finish(&mut self) {
        for i in 0..self.extractors.len() {
            let mut emitted = Vec::new();
            match &mut self.extractors[i].state {
                State::Motion(window) => {
                    let mut out = Vec::new();
                    window.finish(&mut out);
                    emitted.extend(out.into_iter().map(motion_slot));
                }
                State::FloatMotion(window) => {
                    let mut out = Vec::new();
                    window.finish(&mut out);
                    emitted.extend(out.into_iter().map(float_motion_slot));
                }
                State::Chroma { .. } | State::Temporal => {}
            }
            self.emit(i, emitted);
        }
    }

    fn advance(&mut self, i: usize, frame: u64, outcome: Outcome) {
        let (width, height) = (self.geometry.width, self.geometry.height);
        let reported = self.is_reported(frame);
        let mut emitted: Vec<(usize, u64, f64)> = Vec::new();
        match &mut self.extractors[i].state {
            State::Motion(window) => {
                let score = match outcome {
                    Outcome::Sad(sad) => motion::score(sad, width, height, window.options()),
                    _ => 0.0,
                };
                let mut out = Vec::new();
                window.push(score, &mut out);
                emitted.extend(out.into_iter().flat_map(|s| {
                    // `integer_motion` repeats the score under its short name.
                    let again = if let MotionScore::Sad(f, v) = s { Some((1, f, v)) } else { None };
                    std::iter::once(motion_slot(s)).chain(again)
                }));
            }
            State::FloatMotion(window) => {
                let raw = if let Outcome::Float(v) = outcome { v } else { 0.0 };
                let mut out = Vec::new();
                window.push(raw, &mut out);
                emitted.extend(out.into_iter().map(float_motion_slot));
            }
            State::Chroma { max_val } => {
                if let (true, Outcome::Chroma { u, v, u_failed, v_failed }) = (reported, outcome) {
                    let s = join_chroma(u, v, u_failed, v_failed, *max_val);
                    emitted.extend([(0, frame, s.u), (1, frame, s.v), (2, frame, s.uv)]);
                }
            }
            State::Temporal => {
                let score = if let Outcome::Float(v) = outcome { v } else { 0.0 };
                emitted.push((0, frame, score));
            }
        }
        self.emit(i, emitted);
    }

    fn emit(&mut self, i: usize, emitted: Vec<(usize, u64, f64)>) {
        let slots = self.extractors[i].metrics;
        self.ready.extend(
            emitted
                .into_iter()
                .filter_map(|(slot, frame, value)| slots[slot].map(|metric| Score { metric, frame, value })),
        );
    }
}

/// Slot, frame and value.
fn motion_slot(s: MotionScore) -> (usize, u64, f64) {
    match s {
        MotionScore::Sad(frame, v) => (0, frame, v),
        MotionScore::Motion2(frame, v) => (2, frame, v),
        MotionScore::Motion3(frame, v) => (3, frame, v),
    }
}

fn float_motion_slot(s: FloatMotionScore) -> (usize, u64, f64) {
    match s {
        FloatMotionScore::Motion(frame, v) => (0, frame, v),
        FloatMotionScore::Motion2(frame, v) => (1, frame, v),
        FloatMotionScore::Motion3(frame, v) => (2, frame, v),
    }
}

/// Slot, name and first appearance of a feature's metrics, in the reference's order.
fn metric_names(feature: &Feature) -> Vec<(usize, &'static str, Appears)> {
    use Appears::{AtEnd, AtOnce, WithSecondFrame};
    match feature {
        Feature::Motion(o) => {
            let mut names = vec![(0, "VMAF_integer_feature_motion_sad_score", AtOnce)];
            if o.debug {
                names.push((1, "integer_motion", AtOnce));
            }
            names.extend([(2, "integer_motion2", AtEnd), (3, "integer_motion3", AtEnd)]);
            names
        }
        Feature::FloatMotion(o) if o.force_zero => {
            let mut names = vec![(1, "motion2", AtOnce), (2, "motion3", AtOnce)];
            if o.debug {
                names.push((0, "motion", AtOnce));
            }
            names
        }
        Feature::FloatMotion(o) => {
            let mut names = vec![(1, "motion2", AtOnce)];
            if o.debug {
                names.push((0, "motion", AtOnce));
            }
            names.push((2, "motion3", WithSecondFrame));
            names
        }
        Feature::SpeedChroma(_) => {
            vec![(0, "speed_chroma_u", AtOnce), (1, "speed_chroma_v", AtOnce), (2, "speed_chroma_uv", AtOnce)]
        }
        Feature::SpeedTemporal(_) => vec![(0, "speed_temporal", AtOnce)],
    }
}

/// What makes two jobs the same.
#[derive(Debug, Clone, PartialEq)]
enum JobKey {
    Sad(u64),
    /// With what does not change the raw score left out.
    Other(Feature),
}

/// The job that feeds a feature, after checking that the clip can be scored with it.
fn make_job(feature: &Feature, geometry: &Geometry) -> Result<Option<(JobKey, Job)>> {
    let sizes = geometry.planes();
    let depth = geometry.format.depth();
    let least = |name: &'static str, plane: &'static str, (width, height): (usize, usize), min: usize| {
        if width.min(height) < min {
            return Err(Error::TooSmall { feature: name, plane, width, height, min, prescale: 1.0 });
        }
        Ok(())
    };
    let chroma = |feature: &'static str| {
        if !geometry.format.has_chroma() {
            return Err(Error::NoChroma { feature, format: geometry.format });
        }
        Ok(())
    };
    Ok(match feature {
        Feature::Motion(o) => {
            least("motion", "luma", sizes.luma, motion::MIN_SIDE)?;
            let stride = MotionWindow::new(*o).stride();
            let job = Job::Sad { stride: stride as usize, shift: motion::column_shift(depth) };
            (!o.force_zero).then_some((JobKey::Sad(stride), job))
        }
        Feature::FloatMotion(o) => {
            least("float_motion", "luma", sizes.luma, float_motion::MIN_SIDE)?;
            if o.add_uv {
                chroma("float_motion with motion_add_uv")?;
                least("float_motion", "chroma", sizes.chroma, float_motion::MIN_SIDE)?;
            }
            let raw = crate::FloatMotionOptions {
                add_scale1: o.add_scale1,
                add_uv: o.add_uv,
                filter_size: if matches!(o.filter_size, 1 | 3) { o.filter_size } else { 5 },
                ..Default::default()
            };
            let job = Job::FloatMotion { options: raw, conversion: Conversion::new(depth) };
            (!o.force_zero).then_some((JobKey::Other(Feature::FloatMotion(raw)), job))
        }
        Feature::SpeedChroma(o) => {
            chroma("speed_chroma")?;
            let analyser = Analyser::new("speed_chroma", "chroma", sizes.chroma, depth, &o.speed)?;
            let mut key = *o;
            key.speed.max_val = 0.0;
            let job = Job::Chroma { analyser: Box::new(analyser), mode: o.weight_var_mode };
            Some((JobKey::Other(Feature::SpeedChroma(key)), job))
        }
        Feature::SpeedTemporal(o) => {
            let analyser = Analyser::new("speed_temporal", "luma", sizes.luma, depth, &o.speed)?;
            let mut key = *o;
            key.speed.max_val = 0.0;
            let job = Job::Temporal { analyser: Box::new(analyser), use_ref_diff: o.use_ref_diff };
            Some((JobKey::Other(Feature::SpeedTemporal(key)), job))
        }
    })
}
