//! `score` and `Scorer`: files or arrays in, scores out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jnd::score::clip::{self, ClipPair, ClipRange, Ending, Side};
use jnd::score::{Feature, Geometry, MAX_THREADS, Pool, Score, Scorer, ScorerOptions};
use jnd::video::{
    Frame, FrameSource, Input, Layout, OpenOptions, PixelFormat, PlaneMut, PlanesMut, Rate, ReadAhead,
    StreamInfo,
};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::arguments;
use crate::arrays::{Clip, Picture, Rank, as_array};
use crate::errors::{array_error, from_score, from_video, settings_error, state_error};
use crate::job::{self, Shared};
use crate::watch::{Progress, Watch};

/// Planes of a clip or frame in arrays.
struct Planar {
    planes: Vec<Clip>,
    format: PixelFormat,
    width: usize,
    height: usize,
    /// The arrays, kept alive wherever the job goes.
    _arrays: Vec<Py<PyAny>>,
}

impl Planar {
    /// A gray array, or a tuple (y, u, v).
    fn new(
        object: &Bound<'_, PyAny>,
        what: &str,
        rank: Rank,
        depth: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = object.py();
        let parts: Vec<Bound<'_, PyAny>> = match object.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![object.clone()],
        };
        if parts.len() != 1 && parts.len() != 3 {
            let text = format!("{what} has {} planes; give luma alone, or (y, u, v)", parts.len());
            return Err(array_error(py, text));
        }
        let mut planes = Vec::new();
        let mut arrays = Vec::new();
        for (part, name) in parts.iter().zip(["y", "u", "v"]) {
            let name = if parts.len() == 1 { what.to_owned() } else { format!("{what} ({name})") };
            let array = as_array(part, &name)?;
            let plane = Clip::new(&array, &name, rank, false)?;
            if plane.channels() != 1 {
                let text = format!(
                    "{name} is RGB, which cannot be scored; give luma, or a tuple (y, u, v) of planes"
                );
                return Err(array_error(py, text));
            }
            planes.push(plane);
            arrays.push(array.into_any().unbind());
        }
        let y = planes[0];
        let element = y.element();
        let depth = arguments::depth(py, depth, element)?;
        let layout = match planes.get(1) {
            None => Layout::Gray,
            Some(u) => {
                let v = planes[2];
                let alike = (u.width(), u.height(), u.frames(), u.element())
                    == (v.width(), v.height(), v.frames(), v.element())
                    && u.frames() == y.frames()
                    && u.element() == element;
                chroma_layout((y.width(), y.height()), (u.width(), u.height())).filter(|_| alike).ok_or_else(
                    || {
                        let of = |p: &Clip| {
                            format!("{} {}x{} {}", p.frames(), p.width(), p.height(), p.element().name())
                        };
                        let text = format!(
                            "{what}: planes of {}, {} and {} do not go together; chroma is of luma's size, or halved in width, or both ways",
                            of(&y),
                            of(u),
                            of(&v)
                        );
                        array_error(py, text)
                    },
                )?
            }
        };
        let format = PixelFormat::new(layout, depth).map_err(|e| from_video(py, e))?;
        Ok(Self { planes, format, width: y.width(), height: y.height(), _arrays: arrays })
    }

    fn frames(&self) -> usize {
        self.planes[0].frames()
    }

    /// Copies frame `t`. Chroma that was halved downwards lacks the last column or row, which no score looks at: it is
    /// the one before repeated.
    fn copy(&self, t: usize, to: &mut Frame) {
        match to.view_mut().planes_mut() {
            PlanesMut::U8(to) => self.copy_planes(t, to),
            PlanesMut::U16(to) => self.copy_planes(t, to),
        }
    }

    fn copy_planes<T: Copy>(&self, t: usize, to: &mut [PlaneMut<'_, T>; 3]) {
        for (from, to) in self.planes.iter().zip(to) {
            let picture: Picture = from.picture(t);
            for y in 0..to.height() {
                picture.gather_row(y.min(picture.height() - 1), to.row_mut(y));
            }
        }
    }
}

/// The layout in which chroma of this size goes with luma of that.
fn chroma_layout(luma: (usize, usize), chroma: (usize, usize)) -> Option<Layout> {
    let halved = |n: usize, m: usize| m == n / 2 || m == n.div_ceil(2);
    if chroma == luma {
        Some(Layout::Yuv444)
    } else if halved(luma.0, chroma.0) && halved(luma.1, chroma.1) {
        Some(Layout::Yuv420)
    } else if halved(luma.0, chroma.0) && chroma.1 == luma.1 {
        Some(Layout::Yuv422)
    } else {
        None
    }
}

/// A clip in arrays as a stream.
struct ArraySource {
    planar: Planar,
    info: StreamInfo,
    next: usize,
}

impl FrameSource for ArraySource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> jnd::video::Result<bool> {
        if self.next == self.planar.frames() {
            return Ok(false);
        }
        self.planar.copy(self.next, frame);
        self.next += 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        "array".into()
    }
}

/// Where a clip comes from.
enum Clips {
    Path(PathBuf),
    Array(ArraySource),
}

impl Clips {
    fn new(object: &Bound<'_, PyAny>, what: &str, depth: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
            return Ok(Self::Path(object.extract()?));
        }
        let planar = Planar::new(object, what, Rank::Clip, depth)?;
        // No score depends on the rate.
        let info = Rate::new(25, 1)
            .and_then(|rate| StreamInfo::new(planar.format, planar.width, planar.height, rate))
            .map_err(|e| from_video(py, e))?;
        let info = StreamInfo { frames: Some(planar.frames() as u64), ..info };
        Ok(Self::Array(ArraySource { planar, info, next: 0 }))
    }

    fn open(self, shared: &Shared) -> jnd::video::Result<Box<dyn FrameSource>> {
        match self {
            Self::Array(source) => Ok(Box::new(source)),
            Self::Path(path) => {
                let source = jnd::video::open(&Input::Path(path), &OpenOptions::default())?;
                source.notes().iter().for_each(|n| shared.note(n));
                Ok(Box::new(ReadAhead::new(
                    source,
                    jnd::video::DEFAULT_DEPTH,
                    Some(Arc::clone(&shared.stop)),
                )?))
            }
        }
    }
}

/// One feature as `NAME=option=value:...`.
fn feature_text(name: &str, options: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut parts = Vec::new();
    for (key, value) in options {
        let value = if let Ok(b) = value.cast::<PyBool>() {
            b.is_true().to_string()
        } else if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
            value.repr()?.to_string()
        } else {
            value.str()?.to_string()
        };
        parts.push(format!("{}={value}", key.str()?));
    }
    Ok(if parts.is_empty() { name.to_owned() } else { format!("{name}={}", parts.join(":")) })
}

/// `features=`: a name, several, or names with options.
fn features_of(argument: &Bound<'_, PyAny>) -> PyResult<Vec<Feature>> {
    let py = argument.py();
    let wrong = || {
        let text = "features must be a name like \"motion\", a list of them, or a dict of names and options";
        settings_error(py, text.into())
    };
    let mut texts = Vec::new();
    if let Ok(one) = argument.extract::<String>() {
        texts.push(one);
    } else if let Ok(dict) = argument.cast::<PyDict>() {
        for (name, options) in dict {
            let name = name.extract::<String>().map_err(|_| wrong())?;
            if options.is_none() {
                texts.push(name);
            } else {
                texts.push(feature_text(&name, options.cast::<PyDict>().map_err(|_| wrong())?)?);
            }
        }
    } else {
        for item in argument.try_iter().map_err(|_| wrong())? {
            let item = item?;
            if let Ok(name) = item.extract::<String>() {
                texts.push(name);
            } else {
                let (name, options) = item.extract::<(String, Bound<'_, PyDict>)>().map_err(|_| wrong())?;
                texts.push(feature_text(&name, &options)?);
            }
        }
    }
    texts.iter().map(|t| Feature::parse(t).map_err(|e| from_score(py, e, true))).collect()
}

fn scorer_options(
    py: Python<'_>,
    threads: Option<&Bound<'_, PyAny>>,
    subsample: u64,
) -> PyResult<ScorerOptions> {
    if subsample == 0 {
        return Err(settings_error(py, "subsample is 0, but must be a whole number from 1 up".into()));
    }
    let threads = match arguments::threads(threads)? {
        0 => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS),
        n => n,
    };
    Ok(ScorerOptions { threads, subsample, ..ScorerOptions::default() })
}

/// Scores of a clip, as they become final.
struct Table {
    names: Vec<String>,
    pools: Vec<Pool>,
    rows: BTreeMap<u64, Vec<Option<f64>>>,
}

impl Table {
    fn new(scorer: &Scorer) -> Self {
        let names = scorer.metrics().to_vec();
        Self { pools: vec![Pool::default(); names.len()], names, rows: BTreeMap::new() }
    }

    fn take(&mut self, scorer: &mut Scorer) {
        while let Some(Score { metric, frame, value }) = scorer.next_score() {
            if scorer.is_reported(frame) {
                self.pools[metric].push(value);
                self.rows.entry(frame).or_insert_with(|| vec![None; self.names.len()])[metric] = Some(value);
            }
        }
    }

    /// The dict of a report.
    fn report<'py>(&self, py: Python<'py>, order: &[usize]) -> PyResult<Bound<'py, PyDict>> {
        let names: Vec<Bound<'py, PyString>> = self.names.iter().map(|n| PyString::new(py, n)).collect();
        let frames = PyList::empty(py);
        for (frame, values) in &self.rows {
            let metrics = PyDict::new(py);
            for &m in order {
                if let Some(v) = values[m] {
                    metrics.set_item(&names[m], v)?;
                }
            }
            let row = PyDict::new(py);
            row.set_item("frameNum", frame)?;
            row.set_item("metrics", metrics)?;
            frames.append(row)?;
        }
        let pooled = PyDict::new(py);
        for &m in order {
            let Some(p) = self.pools[m].get() else { continue };
            let values = PyDict::new(py);
            values.set_item("min", p.min)?;
            values.set_item("max", p.max)?;
            values.set_item("mean", p.mean)?;
            values.set_item("harmonic_mean", p.harmonic_mean)?;
            pooled.set_item(&names[m], values)?;
        }
        let report = PyDict::new(py);
        report.set_item("frames", frames)?;
        report.set_item("pooled_metrics", pooled)?;
        Ok(report)
    }
}

/// What a job gives back.
struct Scored {
    table: Table,
    order: Vec<usize>,
    warning: Option<String>,
}

fn run(
    reference: Clips,
    distorted: Clips,
    features: &[Feature],
    options: ScorerOptions,
    shared: &Shared,
) -> jnd::score::Result<Scored> {
    let mut reference = reference.open(shared)?;
    let mut distorted = distorted.open(shared)?;
    clip::check_comparable(reference.info(), distorted.info())?;
    clip::differences(reference.info(), distorted.info()).iter().for_each(|n| shared.note(n));
    let mut pair = ClipPair::new(&mut *reference, &mut *distorted, features, ClipRange::default(), options)?;
    let mut table = Table::new(pair.scorer());
    let total = pair.expected();
    let ending = loop {
        if shared.stopped() {
            return Err(jnd::video::Error::Interrupted.into());
        }
        let ending = pair.step()?;
        table.take(pair.scorer());
        let done = pair.scorer().frames();
        shared.progress(done, total);
        if let Some(ending) = ending {
            break ending;
        }
    };
    let pairs = pair.scorer().frames();
    let warning = match ending {
        Ending::Together | Ending::Limit => None,
        Ending::Cut(_, e) => Some(format!("{e}; the {pairs} whole pairs were scored")),
        Ending::Shorter(shorter) => {
            let longer = match shorter {
                Side::Reference => Side::Distorted,
                Side::Distorted => Side::Reference,
            };
            let counted = pair
                .count_longer(shorter, &mut || shared.stopped())?
                .map_or_else(|| format!("more than {pairs}"), |n| n.to_string());
            Some(format!(
                "the {shorter} clip has {pairs} frames, the {longer} clip {counted}; {pairs} pairs were scored"
            ))
        }
    };
    let order = pair.scorer().report_order();
    Ok(Scored { table, order, warning })
}

/// Score a clip against its reference: the temporal features of the VMAF family, bit for bit.
///
/// Parameters
/// ----------
/// ref, dist : path, array (T, H, W), or tuple of arrays (y, u, v)
///     The clips. Arrays are planes of uint8 or uint16: luma alone, or luma and chroma, of which u and v are of luma's
///     size, or halved in width, or both ways. RGB has no scores. Luma alone has no chroma features.
/// features : str, list, or dict
///     ``"motion"``, ``"float_motion"``, ``"speed_chroma"``, ``"speed_temporal"``; a list of them, where options are
///     written ``"motion=motion_five_frame_window=true"`` or ``("motion", {"motion_five_frame_window": True})``; or a
///     dict of names and options (or ``None``).
/// depth : int, optional
///     Bits of a sample of uint16 arrays: 10, 12 or 16 (16 by default).
/// subsample : int
///     Report and pool only frames whose index is a multiple of this.
/// threads, device, progress
///     As in ``magnify``.
///
/// Returns
/// -------
/// Scores
///     A dict in the shape of the JSON report: ``{"frames": [{"frameNum": 0, "metrics": {...}}, ...],
///     "pooled_metrics": {name: {"min", "max", "mean", "harmonic_mean"}}}``; with ``metric(name)`` as an array,
///     ``to_frame()`` for pandas, and ``notes``.
///
/// Raises
/// ------
/// SettingsError, ArrayError, VideoError, VideoNotFoundError, DeviceError
///     Each names the value, what is legal, and what to do.
///
/// Warns
/// -----
/// RuntimeWarning
///     Where the clips are of unequal length, or one is cut off; the whole pairs were scored.
#[pyfunction]
#[pyo3(signature = (r#ref, dist, features, *, depth=None, subsample=1, threads=None, device="auto", progress=None))]
pub(crate) fn score<'py>(
    py: Python<'py>,
    r#ref: &Bound<'py, PyAny>,
    dist: &Bound<'py, PyAny>,
    features: &Bound<'py, PyAny>,
    depth: Option<&Bound<'py, PyAny>>,
    subsample: u64,
    threads: Option<&Bound<'py, PyAny>>,
    device: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let features = features_of(features)?;
    let options = scorer_options(py, threads, subsample)?;
    arguments::device(py, device)?;
    let reference = Clips::new(r#ref, "ref", depth)?;
    let distorted = Clips::new(dist, "dist", depth)?;
    let arrays = matches!((&reference, &distorted), (Clips::Array(_), Clips::Array(_)));
    let shared = Arc::new(Shared::default());
    let watch = Watch::new(Progress::new(py, progress)?, None);
    let work = move |shared: &Shared| run(reference, distorted, &features, options, shared);
    let scored = py.detach(|| job::run(&shared, watch, work))?.map_err(|e| from_score(py, e, arrays))?;
    if let Some(warning) = scored.warning {
        let text = std::ffi::CString::new(warning)?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    let report = scored.table.report(py, &scored.order)?;
    py.import("jnd._scores")?.getattr("Scores")?.call1((report, shared.notes()))
}

/// Scores pairs of frames one by one, as they come, in constant memory.
///
/// Parameters
/// ----------
/// features, depth, subsample, threads, device
///     As in ``score``.
///
/// Notes
/// -----
/// Scores come out as soon as they are final, for each metric in the order of frames; some need the frames that follow.
/// A scorer does not survive a fork: ``push`` in the child raises ``StateError``.
///
/// Examples
/// --------
/// >>> with jnd.Scorer("motion") as s:
/// ...     for ref, dist in pairs:
/// ...         for frame, metric, value in s.push(ref, dist):
/// ...             ...
/// ...     rest = s.finish()
#[pyclass(frozen, weakref, module = "jnd", name = "Scorer")]
pub(crate) struct PyScorer {
    features: Vec<Feature>,
    depth: Option<Py<PyAny>>,
    options: ScorerOptions,
    process: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    scorer: Option<Scorer>,
    finished: bool,
}

impl Drop for PyScorer {
    fn drop(&mut self) {
        // In a forked child the scorer's threads do not exist, so that waiting for their end would be for ever.
        if std::process::id() != self.process
            && let Ok(state) = self.state.get_mut()
        {
            std::mem::forget(state.scorer.take());
        }
    }
}

/// Final scores as a list of `Score(frame, metric, value)`.
fn final_scores<'py>(py: Python<'py>, scorer: &mut Scorer) -> PyResult<Bound<'py, PyList>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class =
        CLASS.get_or_try_init(py, || py.import("jnd._scores")?.getattr("Score").map(Bound::unbind))?.bind(py);
    let list = PyList::empty(py);
    while let Some(s) = scorer.next_score() {
        if scorer.is_reported(s.frame) {
            list.append(class.call1((s.frame, &scorer.metrics()[s.metric], s.value))?)?;
        }
    }
    Ok(list)
}

impl PyScorer {
    fn alive(&self, py: Python<'_>) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        let text = format!(
            "this scorer was made in another process ({}), and its threads did not survive the fork; make one here",
            self.process
        );
        Err(state_error(py, text))
    }
}

#[pymethods]
impl PyScorer {
    #[new]
    #[pyo3(signature = (features, *, depth=None, subsample=1, threads=None, device="auto"))]
    fn new(
        py: Python<'_>,
        features: &Bound<'_, PyAny>,
        depth: Option<Bound<'_, PyAny>>,
        subsample: u64,
        threads: Option<&Bound<'_, PyAny>>,
        device: &str,
    ) -> PyResult<Self> {
        arguments::device(py, device)?;
        Ok(Self {
            features: features_of(features)?,
            depth: depth.filter(|d| !d.is_none()).map(Bound::unbind),
            options: scorer_options(py, threads, subsample)?,
            process: std::process::id(),
            state: Mutex::default(),
        })
    }

    /// Score the next pair.
    ///
    /// Parameters
    /// ----------
    /// ref, dist : array (H, W), or tuple of arrays (y, u, v)
    ///     The frames; they are copied.
    ///
    /// Returns
    /// -------
    /// list of (frame, metric, value)
    ///     The scores that became final.
    #[pyo3(signature = (r#ref, dist))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        r#ref: &Bound<'py, PyAny>,
        dist: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.alive(py)?;
        let depth = self.depth.as_ref().map(|d| d.bind(py));
        let reference = Planar::new(r#ref, "ref", Rank::Frame, depth)?;
        let distorted = Planar::new(dist, "dist", Rank::Frame, depth)?;
        let mut guard = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        let state = &mut *guard;
        if state.finished {
            return Err(state_error(py, "push after finish; make another scorer for another clip".into()));
        }
        let scorer = match &mut state.scorer {
            Some(scorer) => scorer,
            none => {
                let geometry =
                    Geometry { format: reference.format, width: reference.width, height: reference.height };
                let made = Scorer::new(&self.features, geometry, self.options)
                    .map_err(|e| from_score(py, e, true))?;
                none.insert(made)
            }
        };
        let want = scorer.geometry();
        for (side, p) in [("ref", &reference), ("dist", &distorted)] {
            if (p.format, p.width, p.height) != (want.format, want.width, want.height) {
                let got = Geometry { format: p.format, width: p.width, height: p.height };
                let text = format!("{side} is {got}, but the clip is {want}; every frame must be alike");
                return Err(array_error(py, text));
            }
        }
        py.detach(|| {
            let (mut r, mut d) = scorer.take_frames()?;
            reference.copy(0, &mut r);
            distorted.copy(0, &mut d);
            scorer.push_owned(r, d)
        })
        .map_err(|e| from_score(py, e, true))?;
        final_scores(py, scorer)
    }

    /// Ends the clip.
    ///
    /// Returns
    /// -------
    /// list of (frame, metric, value)
    ///     The scores that were still to come.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.alive(py)?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        state.finished = true;
        match state.scorer.take() {
            None => Ok(PyList::empty(py)),
            Some(mut scorer) => {
                py.detach(|| scorer.finish()).map_err(|e| from_score(py, e, true))?;
                final_scores(py, &mut scorer)
            }
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.finish(py).map(drop)
    }
}
