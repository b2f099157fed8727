//! Settings, presets and what they come to for a given clip.

use jnd::magnify::{Filter, Init, Pipeline, Plan, Settings, Source};
use jnd::video::{Layout, PixelFormat, Rate};
use jnd::{Band, FilterName, Overrides};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::{from_jnd, from_magnify, settings_error, unknown_setting};
use crate::plan::PyPlan;

/// The settings that can be given by name, in the order in which they are shown.
const NAMES: [&str; 11] = [
    "pipeline",
    "filter",
    "alpha",
    "lambda_c",
    "r1",
    "r2",
    "band",
    "level",
    "chroma",
    "exaggeration",
    "init",
];

/// What to magnify, and by how much.
///
/// Starts from a preset (``"motion"`` where neither a preset nor ``pipeline="color"`` is given, else ``"pulse"``),
/// or from other ``Settings``, and changes what is given by name. ``None`` leaves the preset's value.
///
/// Parameters
/// ----------
/// preset : str or Settings, optional
///     One of ``presets()``, or settings to start from.
/// pipeline : {"motion", "color"}
///     Movement (a gain for each scale) or colour (one coarse scale, one gain).
/// filter : {"iir", "butterworth", "ideal"}
///     Difference of two running means; difference of two low-passes of order 1; the frequencies strictly inside
///     the band, of the whole clip (two passes, no live use).
/// alpha : float
///     Largest gain, 0 to 1000000; 0 leaves every sample as it is.
/// lambda_c : float
///     Motion: wavelength in pixels below which the gain is reduced, above 0 and at most 1000000.
/// r1, r2 : float
///     iir: weights of a new frame in the fast and the slow mean, ``0 < r2 < r1 <= 1``.
/// band : (float, float) or str
///     butterworth and ideal: the band in Hz, ``0 <= low < high < rate / 2``; or text like ``"50-60bpm"``.
/// level : int
///     Colour: how often the picture is halved before filtering, 0 to 16.
/// chroma : float
///     Share of the gain that colour gets, 0 to 1.
/// exaggeration : float
///     Motion: factor on the gain below the limit, above 0 and at most 1000000.
/// init : {"first", "zero"}
///     What a causal filter takes as the past of the first frame: that frame, or black.
/// capture_fps : float, int, Fraction or "num/den"
///     Rate at which the clip was captured, where it plays at another; used by the filter alone.
///
/// Raises
/// ------
/// SettingsError
///     A value outside its range, or a setting that the pipeline or filter does not have. Nothing is dropped
///     silently. An unknown name raises ``UnknownSettingError``, which is a ``TypeError`` too.
///
/// References
/// ----------
/// Wu et al., "Eulerian Video Magnification for Revealing Subtle Changes in the World", SIGGRAPH 2012.
#[pyclass(frozen, eq, module = "jnd", name = "Settings")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PySettings {
    pub(crate) inner: Settings,
}

/// A rate as Python gives it: int, float, Fraction, "30000/1001" or (30000, 1001).
pub(crate) fn rate_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Rate> {
    let py = value.py();
    let wrong = || {
        let said = value.repr().map_or_else(|_| "not a number".to_owned(), |r| r.to_string());
        settings_error(
            py,
            format!(
                "{name} is {said}, but must be a number of frames a second above 0, like 30, 29.97 or \"30000/1001\""
            ),
        )
    };
    let fraction = || -> PyResult<(u64, u64)> {
        let number = if let Ok(parts) = value.cast::<PyTuple>() {
            py.import("fractions")?.getattr("Fraction")?.call1(parts)?
        } else if value.is_instance_of::<PyString>() {
            py.import("fractions")?.getattr("Fraction")?.call1((value,))?
        } else if value.hasattr("as_integer_ratio")? {
            value.clone()
        } else {
            value.extract::<f64>()?.into_pyobject(py)?.into_any()
        };
        number.call_method0("as_integer_ratio")?.extract()
    };
    let (num, den) = fraction().map_err(|_| wrong())?;
    Rate::new(num, den).map_err(|_| wrong())
}

fn number(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    value.extract::<f64>().map_err(|_| {
        let said = value.repr().map_or_else(|_| "an object".to_owned(), |r| r.to_string());
        settings_error(value.py(), format!("{name} is {said}, but must be a number"))
    })
}

fn choice<T>(
    value: &Bound<'_, PyAny>,
    name: &str,
    options: &str,
    find: impl Fn(&str) -> Option<T>,
) -> PyResult<T> {
    value.extract::<String>().ok().and_then(|s| find(&s)).ok_or_else(|| {
        let said = value.repr().map_or_else(|_| "an object".to_owned(), |r| r.to_string());
        settings_error(value.py(), format!("{name} is {said}, but must be {options}"))
    })
}

fn band_of(value: &Bound<'_, PyAny>) -> PyResult<Band> {
    let py = value.py();
    if let Ok(text) = value.extract::<String>() {
        return text.parse::<Band>().map_err(|e| from_jnd(py, e));
    }
    match value.extract::<(f64, f64)>() {
        Ok((low, high)) => Ok(Band { low, high }),
        Err(_) => {
            let said = value.repr().map_or_else(|_| "an object".to_owned(), |r| r.to_string());
            Err(settings_error(
                py,
                format!("band is {said}, but must be (low, high) in Hz, or text like \"50-60bpm\""),
            ))
        }
    }
}

/// Settings from a preset (its name, other settings, or nothing) and changes by name.
pub(crate) fn resolve(
    py: Python<'_>,
    preset: Option<&Bound<'_, PyAny>>,
    changes: Option<&Bound<'_, PyDict>>,
) -> PyResult<Settings> {
    let mut over = Overrides::default();
    let mut capture = None;
    for (key, value) in changes.into_iter().flatten() {
        let key = key.extract::<String>()?;
        if !NAMES.contains(&key.as_str()) && key != "capture_fps" {
            return Err(unknown_setting(py, &key, &[&NAMES[..], &["capture_fps"]].concat()));
        }
        if value.is_none() {
            continue;
        }
        match key.as_str() {
            "pipeline" => {
                over.pipeline = Some(choice(&value, &key, "\"motion\" or \"color\"", |s| match s {
                    "motion" => Some(Pipeline::Motion),
                    "color" => Some(Pipeline::Color),
                    _ => None,
                })?);
            }
            "filter" => {
                let options = "\"iir\", \"butterworth\" or \"ideal\"";
                over.filter = Some(choice(&value, &key, options, FilterName::from_name)?);
            }
            "init" => {
                over.init = Some(choice(&value, &key, "\"first\" or \"zero\"", |s| match s {
                    "first" => Some(Init::First),
                    "zero" => Some(Init::Zero),
                    _ => None,
                })?);
            }
            "level" => {
                over.level = Some(value.extract::<u32>().map_err(|_| {
                    settings_error(py, format!("level is {value}, but must be a whole number from 0 to 16"))
                })?);
            }
            "band" => over.band = Some(band_of(&value)?),
            "capture_fps" => capture = Some(rate_of(&value, &key)?),
            "alpha" => over.alpha = Some(number(&value, &key)?),
            "lambda_c" => over.lambda_c = Some(number(&value, &key)?),
            "r1" => over.r1 = Some(number(&value, &key)?),
            "r2" => over.r2 = Some(number(&value, &key)?),
            "chroma" => over.chroma = Some(number(&value, &key)?),
            _ => over.exaggeration = Some(number(&value, &key)?),
        }
    }
    let default = if over.pipeline == Some(Pipeline::Color) { "pulse" } else { "motion" };
    let applied = match preset {
        None => over.apply(default),
        Some(p) if p.is_none() => over.apply(default),
        Some(p) => match (p.cast::<PySettings>(), p.extract::<String>()) {
            (Ok(s), _) => over.apply_to(s.get().inner.clone(), "given"),
            (_, Ok(name)) => over.apply(&name),
            _ => {
                let kind = p.get_type();
                return Err(PyTypeError::new_err(format!(
                    "preset must be a name or jnd.Settings, not {kind}"
                )));
            }
        },
    };
    let mut settings = applied.map_err(|e| from_jnd(py, e))?;
    if capture.is_some() {
        settings.capture_rate = capture;
    }
    // What has no meaning for the pipeline or filter takes its usual value, so that settings that do the same are equal.
    let usual = Settings::default();
    match settings.pipeline {
        Pipeline::Motion => settings.level = usual.level,
        Pipeline::Color => {
            (settings.lambda_c, settings.exaggeration) = (usual.lambda_c, usual.exaggeration);
        }
    }
    if !settings.filter.is_causal() {
        settings.init = usual.init;
    }
    Ok(settings)
}

pub(crate) fn pipeline_name(p: Pipeline) -> &'static str {
    match p {
        Pipeline::Motion => "motion",
        Pipeline::Color => "color",
    }
}

fn init_name(init: Init) -> &'static str {
    match init {
        Init::First => "first",
        Init::Zero => "zero",
    }
}

/// The settings that have a meaning, by name: `Settings(**fields)` makes the same settings again.
fn fields<'py>(py: Python<'py>, s: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("pipeline", pipeline_name(s.pipeline))?;
    d.set_item("filter", s.filter.name())?;
    d.set_item("alpha", s.alpha)?;
    if s.pipeline == Pipeline::Motion {
        d.set_item("lambda_c", s.lambda_c)?;
    }
    match s.filter {
        Filter::Iir { r1, r2 } => {
            d.set_item("r1", r1)?;
            d.set_item("r2", r2)?;
        }
        Filter::Butterworth { low, high } | Filter::Ideal { low, high } => {
            d.set_item("band", (low, high))?;
        }
    }
    if s.pipeline == Pipeline::Color {
        d.set_item("level", s.level)?;
    }
    d.set_item("chroma", s.chroma)?;
    if s.pipeline == Pipeline::Motion {
        d.set_item("exaggeration", s.exaggeration)?;
    }
    if s.filter.is_causal() {
        d.set_item("init", init_name(s.init))?;
    }
    if let Some(rate) = s.capture_rate {
        d.set_item("capture_fps", rate.to_string())?;
    }
    Ok(d)
}

/// Text like `Name(a=1, b='x')`.
pub(crate) fn call_text(name: &str, d: &Bound<'_, PyDict>) -> PyResult<String> {
    let parts: PyResult<Vec<String>> = d.iter().map(|(k, v)| Ok(format!("{k}={}", v.repr()?))).collect();
    Ok(format!("{name}({})", parts?.join(", ")))
}

#[pymethods]
impl PySettings {
    #[new]
    #[pyo3(signature = (preset=None, **settings))]
    fn new(
        py: Python<'_>,
        preset: Option<&Bound<'_, PyAny>>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(Self { inner: resolve(py, preset, settings)? })
    }

    /// The same settings with some changed.
    #[pyo3(signature = (**settings))]
    fn replace(&self, py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let me = self.clone().into_pyobject(py)?;
        Ok(Self { inner: resolve(py, Some(me.as_any()), settings)? })
    }

    /// What these settings come to for a clip: gains, band, memory.
    ///
    /// Parameters
    /// ----------
    /// shape : (H, W, 3), (H, W), (T, H, W, 3) or (T, H, W)
    ///     Shape of a frame, or of a clip, which gives the number of frames too.
    /// fps : float, int, Fraction or "num/den"
    ///     Frames a second.
    /// frames : int, optional
    ///     Number of frames, which the ideal filter needs.
    /// depth : int
    ///     Bits of a sample, 8 to 16.
    ///
    /// Raises
    /// ------
    /// SettingsError
    ///     A band that ends at or above half the frame rate, or (ideal filter) in which no frequency lies.
    #[pyo3(signature = (shape, *, fps, frames=None, depth=8))]
    fn plan(
        &self,
        py: Python<'_>,
        shape: Vec<usize>,
        fps: &Bound<'_, PyAny>,
        frames: Option<u64>,
        depth: u8,
    ) -> PyResult<PyPlan> {
        let (frames, height, width, layout) = match *shape.as_slice() {
            [h, w] => (frames, h, w, Layout::Gray),
            [h, w, 3] => (frames, h, w, Layout::Rgb),
            [t, h, w] => (frames.or(Some(t as u64)), h, w, Layout::Gray),
            [t, h, w, 3] => (frames.or(Some(t as u64)), h, w, Layout::Rgb),
            _ => {
                let said = format!(
                    "shape is {shape:?}, but must be that of a frame, (H, W, 3) or (H, W), or of a clip with a leading T"
                );
                return Err(settings_error(py, said));
            }
        };
        let format = PixelFormat::new(layout, depth).map_err(|e| settings_error(py, e.to_string()))?;
        let source = Source { format, width, height, rate: rate_of(fps, "fps")?, frames };
        let plan = Plan::new(&self.inner, &source).map_err(|e| from_magnify(py, e))?;
        Ok(PyPlan { inner: plan })
    }

    /// ``"motion"`` or ``"color"``.
    #[getter]
    fn pipeline(&self) -> &'static str {
        pipeline_name(self.inner.pipeline)
    }

    /// ``"iir"``, ``"butterworth"`` or ``"ideal"``.
    #[getter]
    fn filter(&self) -> &'static str {
        self.inner.filter.name()
    }

    /// Largest gain.
    #[getter]
    fn alpha(&self) -> f64 {
        self.inner.alpha
    }

    /// Wavelength in pixels below which the gain is reduced; ``None`` for colour.
    #[getter]
    fn lambda_c(&self) -> Option<f64> {
        (self.inner.pipeline == Pipeline::Motion).then_some(self.inner.lambda_c)
    }

    /// Weight of a new frame in the fast mean; ``None`` without the iir filter.
    #[getter]
    fn r1(&self) -> Option<f64> {
        match self.inner.filter {
            Filter::Iir { r1, .. } => Some(r1),
            _ => None,
        }
    }

    /// Weight of a new frame in the slow mean; ``None`` without the iir filter.
    #[getter]
    fn r2(&self) -> Option<f64> {
        match self.inner.filter {
            Filter::Iir { r2, .. } => Some(r2),
            _ => None,
        }
    }

    /// ``(low, high)`` in Hz; ``None`` for the iir filter, whose band depends on the rate (see ``plan``).
    #[getter]
    fn band(&self) -> Option<(f64, f64)> {
        match self.inner.filter {
            Filter::Butterworth { low, high } | Filter::Ideal { low, high } => Some((low, high)),
            Filter::Iir { .. } => None,
        }
    }

    /// How often the picture is halved; ``None`` for motion.
    #[getter]
    fn level(&self) -> Option<u32> {
        (self.inner.pipeline == Pipeline::Color).then_some(self.inner.level)
    }

    /// Share of the gain that colour gets.
    #[getter]
    fn chroma(&self) -> f64 {
        self.inner.chroma
    }

    /// Factor on the gain below the limit; ``None`` for colour.
    #[getter]
    fn exaggeration(&self) -> Option<f64> {
        (self.inner.pipeline == Pipeline::Motion).then_some(self.inner.exaggeration)
    }

    /// ``"first"`` or ``"zero"``; ``None`` for the ideal filter.
    #[getter]
    fn init(&self) -> Option<&'static str> {
        self.inner.filter.is_causal().then(|| init_name(self.inner.init))
    }

    /// Rate of capture as a ``Fraction``, where one was given.
    #[getter]
    fn capture_fps<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(rate) = self.inner.capture_rate else { return Ok(None) };
        py.import("fractions")?.getattr("Fraction")?.call1((rate.num(), rate.den())).map(Some)
    }

    /// The settings that have a meaning here, by name; ``Settings(**s.as_dict()) == s``.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, &self.inner)
    }

    pub(crate) fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        call_text("Settings", &fields(py, &self.inner)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.__repr__(py)?.into_pyobject(py)?.hash()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), fields(py, &self.inner)?))
    }
}
