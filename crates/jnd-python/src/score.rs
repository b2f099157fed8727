//! `score` and `Scorer`: files or arrays in, scores out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jnd::DeviceChoice;
use jnd::cuda::Device;
use jnd::score::clip::{self, ClipPair, ClipRange, Ending, Side};
use jnd::score::cuda::{CudaOptions, CudaScorer};
use jnd::score::engine::{Engine, engine};
use jnd::score::{Feature, Geometry, MAX_THREADS, Pool, Score, Scorer, ScorerOptions};
use jnd::video::Frame;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::arguments;
use crate::arrays::Rank;
use crate::card;
use crate::errors::{array_error, from_score, settings_error, state_error};
use crate::job::{self, Shared};
use crate::planes::{Clips, Planar};
use crate::watch::{Progress, Watch};

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
    fn new(scorer: &dyn Engine) -> Self {
        let names = scorer.metrics().to_vec();
        Self { pools: vec![Pool::default(); names.len()], names, rows: BTreeMap::new() }
    }

    fn take(&mut self, scorer: &mut dyn Engine) {
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

/// A scorer on a card.
fn on_card(
    device: Device,
    features: &[Feature],
    geometry: Geometry,
    options: ScorerOptions,
) -> jnd::score::Result<CudaScorer> {
    let options = CudaOptions { subsample: options.subsample, ..CudaOptions::default() };
    CudaScorer::new(&card::context(device)?, features, geometry, &options)
}

/// What a job gives back.
struct Scored {
    table: Table,
    order: Vec<usize>,
    warnings: Vec<String>,
}

fn run(
    reference: Clips,
    distorted: Clips,
    features: &[Feature],
    options: ScorerOptions,
    device: DeviceChoice,
    shared: &Shared,
) -> jnd::score::Result<Scored> {
    let mut reference = reference.open(shared)?;
    let mut distorted = distorted.open(shared)?;
    clip::check_comparable(reference.info(), distorted.info())?;
    clip::differences(reference.info(), distorted.info()).iter().for_each(|n| shared.note(n));
    let geometry = Geometry::of_stream(reference.info());
    let scorer = match device {
        DeviceChoice::Cuda(n) => Box::new(on_card(Device(n), features, geometry, options)?),
        // Why there is no card is no news where any device would do.
        any => engine(features, geometry, options, any)?.0,
    };
    let mut pair = ClipPair::with_engine(&mut *reference, &mut *distorted, ClipRange::default(), scorer)?;
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
    let warnings = warning.into_iter().chain(reference.warnings()).chain(distorted.warnings()).collect();
    Ok(Scored { table, order, warnings })
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
///     Where the clips are of unequal length, or one is cut off; the whole pairs were scored. Where a decoder had to patch up
///     damaged pictures.
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
    let device = arguments::device(py, device)?;
    let reference = Clips::new(r#ref, "ref", depth)?;
    let distorted = Clips::new(dist, "dist", depth)?;
    let arrays = matches!((&reference, &distorted), (Clips::Array(_), Clips::Array(_)));
    let shared = Arc::new(Shared::default());
    let watch = Watch::new(Progress::new(py, progress)?, None);
    let work = move |shared: &Shared| run(reference, distorted, &features, options, device, shared);
    let scored = py.detach(|| job::run(&shared, watch, work))?.map_err(|e| from_score(py, e, arrays))?;
    for warning in scored.warnings {
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
    device: DeviceChoice,
    process: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    scorer: Option<(Geometry, Runner)>,
    finished: bool,
}

/// Who scores.
enum Runner {
    Cpu(Box<Scorer>),
    Card(Box<CudaScorer>),
}

impl Runner {
    fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Self::Cpu(s) => &mut **s,
            Self::Card(s) => &mut **s,
        }
    }
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
fn final_scores<'py>(py: Python<'py>, scorer: &mut dyn Engine) -> PyResult<Bound<'py, PyList>> {
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
        Ok(Self {
            features: features_of(features)?,
            depth: depth.filter(|d| !d.is_none()).map(Bound::unbind),
            options: scorer_options(py, threads, subsample)?,
            device: arguments::device(py, device)?,
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
        let (want, runner) = match &mut state.scorer {
            Some((geometry, runner)) => (*geometry, runner),
            none => {
                let geometry = reference.geometry();
                let made = py.detach(|| match self.device {
                    DeviceChoice::Cuda(n) => on_card(Device(n), &self.features, geometry, self.options)
                        .map(|s| Runner::Card(Box::new(s))),
                    _ => {
                        Scorer::new(&self.features, geometry, self.options).map(|s| Runner::Cpu(Box::new(s)))
                    }
                });
                let made = made.map_err(|e| from_score(py, e, true))?;
                let (geometry, runner) = none.insert((geometry, made));
                (*geometry, runner)
            }
        };
        for (side, p) in [("ref", &reference), ("dist", &distorted)] {
            let got = p.geometry();
            if got != want {
                let text = format!("{side} is {got}, but the clip is {want}; every frame must be alike");
                return Err(array_error(py, text));
            }
        }
        py.detach(|| {
            let engine = runner.engine();
            let own = engine.take_frames()?;
            let owned = own.is_some();
            let made =
                || -> jnd::score::Result<Frame> { Ok(Frame::new(want.format, want.width, want.height)?) };
            let (mut r, mut d) = match own {
                Some(frames) => frames,
                None => (made()?, made()?),
            };
            reference.copy(0, &mut r);
            distorted.copy(0, &mut d);
            if owned { engine.push_owned(r, d) } else { engine.push(r.view(), d.view()) }
        })
        .map_err(|e| from_score(py, e, true))?;
        final_scores(py, runner.engine())
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
            Some((_, mut runner)) => {
                py.detach(|| runner.engine().finish()).map_err(|e| from_score(py, e, true))?;
                final_scores(py, runner.engine())
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
