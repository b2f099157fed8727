//! The streaming scorer: frames in, final scores out.

use std::collections::VecDeque;
use std::sync::Arc;

use jnd_video::simd::Level;
use jnd_video::{
    ChromaRounding, Frame, FrameRef, Layout, Packing, PixelFormat, Planes, PlanesMut, StreamInfo, check_size,
};

use crate::float_motion::{self, FloatMotionScore, FloatMotionWindow};
use crate::job::{Job, Outcome, Pair, PlaneSizes};
use crate::motion::{self, MotionScore, MotionWindow};
use crate::options::Feature;
use crate::plane::Conversion;
use crate::speed::{Analyser, join_chroma};
use crate::workers::{Shared, Task, Workers};
use crate::{Error, Result};

/// Size and format of both clips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Pixel format.
    pub format: PixelFormat,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{} {}", self.width, self.height, self.format)
    }
}

impl Geometry {
    /// Of a stream.
    pub fn of_stream(info: &StreamInfo) -> Self {
        Self { format: info.format, width: info.width, height: info.height }
    }

    fn of(frame: &FrameRef<'_>) -> Self {
        Self { format: frame.format(), width: frame.width(), height: frame.height() }
    }

    /// The planar format with samples in the low bits that frames are held in.
    pub(crate) fn planar(&self) -> Result<PixelFormat> {
        let layout = match self.format.layout() {
            Layout::Nv12 => Layout::Yuv420,
            l @ (Layout::Gray | Layout::Yuv420 | Layout::Yuv422 | Layout::Yuv444) => l,
            l => return Err(Error::Rgb(l)),
        };
        if !matches!(self.format.depth(), 8 | 10 | 12 | 16) {
            return Err(Error::Depth(self.format.depth()));
        }
        Ok(PixelFormat::new(layout, self.format.depth())?)
    }

    /// Sizes of the scored planes: chroma is rounded down.
    fn planes(&self) -> PlaneSizes {
        let chroma = if self.format.has_chroma() {
            let p = self.format.plane_size(1, self.width, self.height, ChromaRounding::Floor);
            (p.width, p.height)
        } else {
            (0, 0)
        };
        PlaneSizes { luma: (self.width, self.height), chroma }
    }
}

/// How to score, apart from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScorerOptions {
    /// Threads that compute, the calling one counted; scores do not depend on it.
    pub threads: usize,
    /// Report frames whose index is a multiple of this; features that look at one frame alone skip the others.
    pub subsample: u64,
    /// Instructions to use; scores do not depend on it.
    pub level: Level,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        Self { threads: 1, subsample: 1, level: Level::get() }
    }
}

/// A final score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Index into [`Scorer::metrics`].
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

/// Scores pairs of frames.
///
/// Frames go in with [`Scorer::push`] or, without a copy, [`Scorer::push_owned`]; scores come out of
/// [`Scorer::next_score`], for each metric in the order of frames. Memory depends on the frame size and the number of
/// threads, never on the length of the clip, as long as scores are taken out.
#[derive(Debug)]
pub struct Scorer {
    geometry: Geometry,
    held: PixelFormat,
    subsample: u64,
    workers: Workers,
    extractors: Vec<Extractor>,
    metrics: Vec<String>,
    appears: Vec<Appears>,
    /// Pairs that running or coming tasks need, oldest first; the last one is frame `pushed - 1`.
    window: VecDeque<Arc<Pair>>,
    /// Frames no longer needed, to be filled again.
    spare: Vec<(Frame, Frame)>,
    pushed: u64,
    /// Frames whose outcomes have gone through the extractors.
    scored: u64,
    finished: bool,
    ready: VecDeque<Score>,
}

/// Frames before the current one that a job may need.
const REACH: u64 = 2;

impl Scorer {
    /// A scorer of `features` for clips of one geometry.
    ///
    /// # Errors
    /// No or repeated features, options out of range, geometry that a feature cannot score, threads that cannot be
    /// started.
    pub fn new(features: &[Feature], geometry: Geometry, options: ScorerOptions) -> Result<Self> {
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
        let shared = Shared { jobs, sizes: geometry.planes(), level: options.level };
        Ok(Self {
            geometry,
            held,
            subsample: options.subsample.max(1),
            workers: Workers::new(shared, options.threads)?,
            extractors,
            metrics,
            appears,
            window: VecDeque::new(),
            spare: Vec::new(),
            pushed: 0,
            scored: 0,
            finished: false,
            ready: VecDeque::new(),
        })
    }

    /// Names of the metrics, by index.
    pub fn metrics(&self) -> &[String] {
        &self.metrics
    }

    /// Indices of the metrics in the order in which the reference reports them. It depends on whether the clip has more
    /// than one frame, so ask after the second frame or [`Scorer::finish`].
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

    /// The format frames are held in: planar, samples in the low bits. Frames of it can be pushed without a copy.
    pub fn held_format(&self) -> PixelFormat {
        self.held
    }

    /// Scores a pair; the frames are copied.
    ///
    /// # Errors
    /// A frame of another size or format; a scorer that is finished.
    pub fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        self.check(&reference, "reference")?;
        self.check(&distorted, "distorted")?;
        let (mut r, mut d) = self.take_frames()?;
        copy_frame(&reference, &mut r);
        copy_frame(&distorted, &mut d);
        self.enqueue(r, d)
    }

    /// Scores a pair without copying it, if its format is planar with samples in the low bits. Frames to fill come from
    /// [`Scorer::take_frames`].
    ///
    /// # Errors
    /// As [`Scorer::push`].
    pub fn push_owned(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        if reference.format() != self.held || distorted.format() != self.held {
            return self.push(reference.view(), distorted.view());
        }
        self.check(&reference.view(), "reference")?;
        self.check(&distorted.view(), "distorted")?;
        self.enqueue(reference, distorted)
    }

    /// A pair of frames of the held format: ones pushed earlier that are no longer needed, or new ones.
    ///
    /// # Errors
    /// [`jnd_video::Error::BadSize`], never for a scorer that could be made.
    pub fn take_frames(&mut self) -> Result<(Frame, Frame)> {
        if let Some(frames) = self.spare.pop() {
            return Ok(frames);
        }
        let (w, h) = (self.geometry.width, self.geometry.height);
        Ok((Frame::new(self.held, w, h)?, Frame::new(self.held, w, h)?))
    }

    /// The next score that is final. For one metric scores come in the order of frames, all of them reported or not
    /// under subsampling; a feature that skips frames gives none for them.
    pub fn next_score(&mut self) -> Option<Score> {
        self.ready.pop_front()
    }

    /// Ends the clip: after this [`Scorer::next_score`] gives everything left.
    ///
    /// # Errors
    /// [`Error::Worker`].
    pub fn finish(&mut self) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        self.finished = true;
        self.workers.finish();
        self.collect()?;
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
        Ok(())
    }

    fn check(&self, frame: &FrameRef<'_>, side: &'static str) -> Result<()> {
        if self.finished {
            return Err(Error::Finished);
        }
        let got = Geometry::of(frame);
        // Layouts that are held as the same planes may change from frame to frame.
        let same_size = (got.width, got.height) == (self.geometry.width, self.geometry.height);
        if !same_size || got.planar().ok() != Some(self.held) {
            let (got, want) = (got.to_string(), self.geometry.to_string());
            return Err(Error::FrameMismatch { frame: self.pushed, side, got, want });
        }
        Ok(())
    }

    fn enqueue(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        let pair = Arc::new(Pair { reference, distorted });
        let n = self.window.len();
        let earlier = [1, 2].map(|k| n.checked_sub(k).map(|i| Arc::clone(&self.window[i])));
        self.window.push_back(Arc::clone(&pair));
        let frame = self.pushed;
        self.pushed += 1;
        let reported = self.is_reported(frame);
        let wanted =
            self.workers.shared().jobs.iter().map(|j| reported || !matches!(j, Job::Chroma { .. })).collect();
        self.workers.push(Task { frame, pair, earlier, wanted });
        self.collect()
    }

    /// Passes on whatever has been computed, in the order of frames, and sorts out frames no longer needed.
    fn collect(&mut self) -> Result<()> {
        while self.scored < self.pushed {
            let Some(outcomes) = self.workers.take(self.scored)? else { break };
            let frame = self.scored;
            self.scored += 1;
            for i in 0..self.extractors.len() {
                let outcome = self.extractors[i].job.map_or(Outcome::Nothing, |j| outcomes[j]);
                self.advance(i, frame, outcome);
            }
        }
        // The oldest pair in the window is frame `pushed - len`; a pair serves the frames up to REACH after it.
        while self.pushed - self.window.len() as u64 + REACH < self.scored {
            let Some(pair) = self.window.pop_front() else { break };
            // A worker gives up its share before it reports, so this is the last one.
            if let Ok(pair) = Arc::try_unwrap(pair) {
                self.spare.push((pair.reference, pair.distorted));
            }
        }
        Ok(())
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

/// Copies a frame into one of the held format: chroma planes split, samples moved to the low bits.
fn copy_frame(from: &FrameRef<'_>, to: &mut Frame) {
    let interleaved = from.format().layout() == Layout::Nv12;
    let shift = if from.format().packing() == Packing::High { from.format().shift() } else { 0 };
    let mut to = to.view_mut();
    match (from.planes(), to.planes_mut()) {
        (Planes::U8(from), PlanesMut::U8(to)) => copy_planes(from, to, interleaved, |v| v),
        (Planes::U16(from), PlanesMut::U16(to)) => copy_planes(from, to, interleaved, |v| v >> shift),
        // The format was checked, and with it the width of a sample.
        _ => {}
    }
}

fn copy_planes<T: Copy>(
    from: &[jnd_video::Plane<'_, T>; 3],
    to: &mut [jnd_video::PlaneMut<'_, T>; 3],
    interleaved: bool,
    convert: impl Fn(T) -> T,
) {
    let copy = |from: &[T], to: &mut [T]| {
        for (t, &f) in to.iter_mut().zip(from) {
            *t = convert(f);
        }
    };
    for (i, to) in to.iter_mut().enumerate() {
        for y in 0..to.height() {
            let row = to.row_mut(y);
            if interleaved && i > 0 {
                for (t, f) in row.iter_mut().zip(from[1].row(y).iter().skip(i - 1).step_by(2)) {
                    *t = convert(*f);
                }
            } else {
                copy(from[i].row(y), row);
            }
        }
    }
}
