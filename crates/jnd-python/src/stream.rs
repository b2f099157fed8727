//! `Magnifier`: frames one by one.

use std::sync::Mutex;

use jnd::DeviceChoice;
use jnd::cuda::Device;
use jnd::magnify::cuda::{DeviceMagnifier, Session};
use jnd::magnify::{Magnifier, Options, Plan, Settings, Source};
use jnd::video::{PixelFormat, Rate};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::arguments;
use crate::arrays::{Clip, Element, Order, Rank, as_array, format_of};
use crate::card;
use crate::errors::{array_error, from_magnify, from_video, state_error};
use crate::magnify::{Resident, Scratch, no_floats, push_picture, read_resident};
use crate::plan::PyPlan;
use crate::resident;
use crate::settings::{PySettings, rate_of, resolve};

/// Magnifies frames one by one, as they come: each ``push`` gives the magnified frame back at once, in constant memory.
///
/// Parameters
/// ----------
/// fps : float, int, Fraction or "num/den"
///     Frames a second.
/// preset : str or Settings, optional
///     As in ``magnify``. The filter must be iir or butterworth: the ideal one needs the whole clip.
/// shape : (H, W, 3) or (H, W), optional
///     Shape of a frame. Everything is then allocated and checked at once, else with the first frame.
/// dtype, device, threads, channels, depth
///     As in ``magnify``; ``device="auto"`` is the processor for frames in host memory, and their card for frames on one.
/// **settings
///     Changes to the preset; see ``Settings``.
///
/// Notes
/// -----
/// Frames are those of one clip: of one shape and type. Call ``reset`` at a cut.
///
/// Several threads may push to one magnifier; they take turns. A magnifier does not survive a fork: ``push`` in the
/// child raises ``StateError``, a new one works there.
///
/// Examples
/// --------
/// >>> with jnd.Magnifier(fps=30, preset="motion", alpha=20) as m:
/// ...     for frame in m.stream(camera):
/// ...         show(frame)
#[pyclass(frozen, weakref, module = "jnd", name = "Magnifier")]
pub(crate) struct PyMagnifier {
    settings: Settings,
    rate: Rate,
    order: Order,
    dtype: Option<Element>,
    depth: Option<Py<PyAny>>,
    device: DeviceChoice,
    options: Options,
    /// The process whose threads compute.
    process: u32,
    state: Mutex<State>,
}

struct State {
    engine: Option<Engine>,
    finished: bool,
    seen: u64,
    scratch: Scratch,
}

struct Engine {
    runner: Runner,
    format: PixelFormat,
}

/// Who magnifies, and where the frames are.
enum Runner {
    /// The processor.
    Cpu(Box<Magnifier>),
    /// A card; frames are in host memory.
    Card(Box<Session>),
    /// A card; frames are there.
    Resident(Box<DeviceMagnifier>),
}

impl Engine {
    fn plan(&self) -> &Plan {
        match &self.runner {
            Runner::Cpu(m) => m.plan(),
            Runner::Card(s) => s.plan(),
            Runner::Resident(m) => m.plan(),
        }
    }

    fn reset(&mut self) {
        match &mut self.runner {
            Runner::Cpu(m) => m.reset(),
            Runner::Card(s) => s.reset(),
            Runner::Resident(m) => m.reset(),
        }
    }
}

impl Drop for PyMagnifier {
    fn drop(&mut self) {
        // In a forked child the engine's threads do not exist, so that waiting for their end would be for ever.
        if std::process::id() != self.process
            && let Ok(state) = self.state.get_mut()
        {
            std::mem::forget(state.engine.take());
        }
    }
}

impl PyMagnifier {
    fn alive(&self, py: Python<'_>) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        let text = format!(
            "this magnifier was made in another process ({}), and its threads did not survive the fork; make one here",
            self.process
        );
        Err(state_error(py, text))
    }

    fn make(&self, py: Python<'_>, source: Source) -> PyResult<Engine> {
        let plan = Plan::new(&self.settings, &source).map_err(|e| from_magnify(py, e))?;
        let runner = py
            .detach(|| match self.device {
                DeviceChoice::Cuda(n) => card::session(&plan, Device(n)).map(|s| Runner::Card(Box::new(s))),
                _ => Magnifier::new(plan, &self.options).map(|m| Runner::Cpu(Box::new(m))),
            })
            .map_err(|e| from_magnify(py, e))?;
        Ok(Engine { runner, format: source.format })
    }

    /// Checks that a frame is like those before.
    fn check(
        &self,
        py: Python<'_>,
        engine: &Engine,
        format: PixelFormat,
        width: usize,
        height: usize,
    ) -> PyResult<()> {
        let s = engine.plan().source();
        if (format, width, height) == (engine.format, s.width, s.height) {
            return Ok(());
        }
        let text = format!(
            "frame is {width}x{height} {format}, but this magnifier's are {}x{} {}; every frame must be alike, make another magnifier for another clip",
            s.width, s.height, engine.format
        );
        Err(array_error(py, text))
    }

    /// Magnifies a frame that is on a card.
    fn push_resident<'py>(&self, py: Python<'py>, r: Resident<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut guard = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        let state = &mut *guard;
        if state.finished {
            return Err(state_error(py, "push after finish; call reset to start again".into()));
        }
        if state.engine.is_none() {
            let plan = Plan::new(&self.settings, &r.source).map_err(|e| from_magnify(py, e))?;
            let made = py
                .detach(|| DeviceMagnifier::new(&plan, &r.context, 1, None))
                .map_err(|e| from_magnify(py, e))?;
            state.engine = Some(Engine { runner: Runner::Resident(Box::new(made)), format: r.source.format });
        }
        if let Some(engine) = &mut state.engine {
            if !matches!(engine.runner, Runner::Resident(_)) {
                let text =
                    "frame is on a card, but this magnifier's are in host memory; make another magnifier";
                return Err(state_error(py, text.into()));
            }
            self.check(py, engine, r.source.format, r.source.width, r.source.height)?;
            let Runner::Resident(magnifier) = &mut engine.runner else { return Ok(r.result) };
            let (context, frames, target, raw) = (&r.context, r.frames, r.target, r.input.stream);
            py.detach(|| {
                let stream = resident::stream(context, raw);
                // SAFETY: the geometry is what the arrays' owner says; in place or apart was checked. The work is in
                // the owner's stream, in whose order memory that the owner gives up later is used again.
                unsafe { magnifier.push(&stream, &frames, &target) }
            })
            .map_err(|e| from_magnify(py, e))?;
            state.seen += 1;
        }
        Ok(r.result)
    }
}

#[pymethods]
impl PyMagnifier {
    #[new]
    #[pyo3(signature = (*, fps, preset=None, shape=None, dtype=None, device="auto", threads=None, channels="rgb", depth=None, **settings))]
    fn new(
        py: Python<'_>,
        fps: &Bound<'_, PyAny>,
        preset: Option<&Bound<'_, PyAny>>,
        shape: Option<Vec<usize>>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: &str,
        threads: Option<&Bound<'_, PyAny>>,
        channels: &str,
        depth: Option<Bound<'_, PyAny>>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = resolve(py, preset, settings)?;
        arguments::causal(py, &settings)?;
        let device = arguments::device(py, device)?;
        let dtype = arguments::dtype(py, dtype)?;
        if matches!(device, DeviceChoice::Cuda(_)) && dtype == Some(Element::F32) {
            return Err(no_floats(py));
        }
        let depth = depth.filter(|d| !d.is_none());
        let this = Self {
            settings,
            rate: rate_of(fps, "fps")?,
            order: arguments::order(py, channels)?,
            dtype,
            depth: depth.as_ref().map(|d| d.clone().unbind()),
            device,
            options: arguments::options(arguments::threads(threads)?, None),
            process: std::process::id(),
            state: Mutex::new(State { engine: None, finished: false, seen: 0, scratch: Scratch::default() }),
        };
        if let Some(shape) = shape {
            let wide = dtype == Some(Element::U16)
                || depth.as_ref().is_some_and(|d| d.extract::<u8>().is_ok_and(|d| d > 8));
            let element = if wide { Element::U16 } else { Element::U8 };
            let depth = arguments::depth(py, depth.as_ref(), element)?;
            let (height, width, channels) = match *shape.as_slice() {
                [h, w] | [h, w, 1] => (h, w, 1),
                [h, w, 3] => (h, w, 3),
                _ => {
                    let text = format!("shape is {shape:?}, but must be (H, W, 3) or (H, W)");
                    return Err(array_error(py, text));
                }
            };
            let format = format_of(channels, this.order, depth).map_err(|e| from_video(py, e))?;
            let source = Source { format, width, height, rate: this.rate, frames: None };
            let engine = this.make(py, source)?;
            this.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner()).engine = Some(engine);
        }
        Ok(this)
    }

    /// Magnify the next frame.
    ///
    /// Parameters
    /// ----------
    /// frame : array of uint8 or uint16, (H, W, 3) or (H, W)
    ///     The frame, with any strides.
    /// out : array, optional
    ///     Filled with the result and returned; it may be ``frame`` itself.
    ///
    /// Returns
    /// -------
    /// array
    ///     The magnified frame.
    #[pyo3(signature = (frame, out=None))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        frame: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.alive(py)?;
        if resident::is_on_card(frame) {
            let depth = self.depth.as_ref().map(|d| d.bind(py).clone());
            let r = read_resident(
                py,
                frame,
                Rank::Frame,
                self.rate,
                out,
                self.dtype,
                self.device,
                self.order,
                depth.as_ref(),
            )?;
            return self.push_resident(py, r);
        }
        let array = as_array(frame, "frame")?;
        let clip = Clip::new(&array, "frame", Rank::Frame, false)?;
        let (result, target) = arguments::output(py, out, self.dtype, &array, &clip, Rank::Frame)?;
        let mut guard = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        let state = &mut *guard;
        if state.finished {
            return Err(state_error(py, "push after finish; call reset to start again".into()));
        }
        let depth = arguments::depth(py, self.depth.as_ref().map(|d| d.bind(py)), clip.element())?;
        let engine = match &mut state.engine {
            Some(Engine { runner: Runner::Resident(_), .. }) => return Err(elsewhere(py)),
            Some(engine) => {
                let format = format_of(clip.channels(), self.order, depth).map_err(|e| from_video(py, e))?;
                self.check(py, engine, format, clip.width(), clip.height())?;
                engine
            }
            none => {
                let (source, _) = arguments::source(py, &clip, self.order, depth, self.rate, None)?;
                none.insert(self.make(py, source)?)
            }
        };
        let scratch = &mut state.scratch;
        let overlap = clip.may_overlap(&target);
        let (input, output) = (clip.picture(0), target.picture(0));
        let format = engine.format;
        match &mut engine.runner {
            Runner::Card(_) if target.element() == Element::F32 => return Err(no_floats(py)),
            Runner::Cpu(m) => {
                // SAFETY: `array` and `result` are held until the call returns; the output was checked to be writable;
                // where they may share bytes the frame is copied first; that other threads keep off is the caller's
                // part.
                py.detach(|| unsafe { push_picture(m, format, &input, &output, scratch, overlap) })
            }
            Runner::Card(s) => {
                // SAFETY: as above.
                py.detach(|| unsafe { card::push_picture(s, format, &input, &output, scratch, overlap) })
            }
            Runner::Resident(_) => return Err(elsewhere(py)),
        }
        .map_err(|e| from_magnify(py, e))?;
        state.seen += 1;
        Ok(result.into_any())
    }

    /// Ends the clip and frees its memory. The filters that can stream hold no frame back, so that the list of frames
    /// still to come is empty.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.alive(py)?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        state.finished = true;
        state.engine = None;
        state.scratch = Scratch::default();
        Ok(PyList::empty(py))
    }

    /// Forgets every frame: the next one is the first again. Use it at a cut, or to start another clip.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.alive(py)?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        state.finished = false;
        state.seen = 0;
        if let Some(engine) = &mut state.engine {
            engine.reset();
        }
        Ok(())
    }

    /// Magnified frames of any source of frames: an array, a list, a generator. One goes in, one comes out.
    fn stream<'py>(slf: Bound<'py, Self>, frames: &Bound<'py, PyAny>) -> PyResult<Stream> {
        Ok(Stream { magnifier: slf.unbind(), frames: frames.try_iter()?.unbind() })
    }

    /// The settings.
    #[getter]
    fn settings(&self) -> PySettings {
        PySettings { inner: self.settings.clone() }
    }

    /// What the settings come to, once the shape of a frame is known; ``None`` before.
    #[getter]
    fn plan(&self, py: Python<'_>) -> PyResult<Option<PyPlan>> {
        self.alive(py)?;
        let state = self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        Ok(state.engine.as_ref().map(|e| PyPlan { inner: e.plan().clone() }))
    }

    /// Frames pushed since the start or the last reset.
    #[getter]
    fn frames_seen(&self, py: Python<'_>) -> PyResult<u64> {
        self.alive(py)?;
        Ok(self.state.lock_py_attached(py).unwrap_or_else(|e| e.into_inner()).seen)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.finish(py).map(drop)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let settings = self.settings().into_pyobject(py)?.repr()?.to_string();
        Ok(format!("Magnifier(fps={:?}, preset={settings})", self.rate.to_string()))
    }
}

fn elsewhere(py: Python<'_>) -> PyErr {
    let text = "frame is in host memory, but this magnifier's are on a card; make another magnifier";
    state_error(py, text.into())
}

/// An iterator over magnified frames. Made by ``Magnifier.stream``.
#[pyclass(frozen, module = "jnd", name = "Stream")]
pub(crate) struct Stream {
    magnifier: Py<PyMagnifier>,
    frames: Py<PyIterator>,
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.frames.bind(py).clone().next() {
            None => Ok(None),
            Some(frame) => self.magnifier.get().push(py, &frame?, None).map(Some),
        }
    }
}
