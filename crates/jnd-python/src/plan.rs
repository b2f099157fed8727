//! What settings come to for a clip, and the presets.

use jnd::magnify::{PRESETS, Pipeline, Plan, Precision};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::settings::{PySettings, call_text, pipeline_name};

/// What settings come to for a given clip. Made by ``Settings.plan`` and found as ``Magnifier.plan``.
///
/// ``str(plan)`` explains it in words.
#[pyclass(frozen, eq, module = "jnd", name = "Plan")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PyPlan {
    pub(crate) inner: Plan,
}

/// A number in at most five digits, without zeros at its end.
fn short(v: f64) -> String {
    let digits = if v.abs() >= 1000.0 {
        1
    } else if v.abs() >= 10.0 {
        3
    } else {
        4
    };
    let text = format!("{v:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[pymethods]
impl PyPlan {
    /// The settings.
    #[getter]
    fn settings(&self) -> PySettings {
        PySettings { inner: self.inner.settings().clone() }
    }

    /// Gain of every pyramid level, finest first (motion), or the one gain (colour).
    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.gains())
    }

    /// ``(low, high)`` in Hz: the band as given, or where the two means of the iir filter have lost half their power.
    #[getter]
    fn band_hz(&self) -> (f64, f64) {
        self.inner.band_hz()
    }

    /// The band in beats (or breaths) a minute.
    #[getter]
    fn band_bpm(&self) -> (f64, f64) {
        let (low, high) = self.inner.band_hz();
        (low * 60.0, high * 60.0)
    }

    /// Frequencies in Hz that the ideal filter keeps; empty for the others.
    #[getter]
    fn bins_hz<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.bins_hz())
    }

    /// Frames a second that the filter works with.
    #[getter]
    fn filter_fps(&self) -> f64 {
        self.inner.filter_rate()
    }

    /// ``"float32"`` or ``"float64"``: the type of the filter's states, chosen so that rounding stays invisible.
    #[getter]
    fn precision(&self) -> &'static str {
        match self.inner.precision() {
            Precision::F32 => "float32",
            Precision::F64 => "float64",
        }
    }

    /// Bytes that the filter's states take.
    #[getter]
    fn filter_bytes(&self) -> u64 {
        self.inner.filter_bytes()
    }

    /// Whether nothing is magnified, so that every sample comes out as it went in.
    #[getter]
    fn is_identity(&self) -> bool {
        self.inner.is_identity()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let source = self.inner.source();
        let d = PyDict::new(py);
        d.set_item("size", (source.height, source.width))?;
        d.set_item("gains", PyList::new(py, self.inner.gains().iter().map(|g| (g * 1e4).round() / 1e4))?)?;
        let (low, high) = self.inner.band_hz();
        d.set_item("band_hz", ((low * 1e4).round() / 1e4, (high * 1e4).round() / 1e4))?;
        d.set_item("filter_fps", self.inner.filter_rate())?;
        d.set_item("settings", self.settings().into_pyobject(py)?)?;
        call_text("Plan", &d)
    }

    fn __str__(&self) -> String {
        let s = self.inner.settings();
        let source = self.inner.source();
        let (low, high) = self.inner.band_hz();
        let mut text = format!(
            "{} with the {} filter, {}x{} at {} frames/s",
            pipeline_name(s.pipeline),
            s.filter.name(),
            source.width,
            source.height,
            short(source.rate.as_f64())
        );
        if let Some(rate) = s.capture_rate {
            text += &format!(" (captured at {})", short(rate.as_f64()));
        }
        text += &format!(
            "\nband   {} to {} Hz ({} to {} bpm)",
            short(low),
            short(high),
            short(low * 60.0),
            short(high * 60.0)
        );
        let bins = self.inner.bins_hz();
        if !bins.is_empty() {
            let shown: Vec<String> = bins.iter().take(8).map(|&f| short(f)).collect();
            let more = if bins.len() > 8 { ", ..." } else { "" };
            text += &format!("\nkeeps  {} frequencies: {}{more} Hz", bins.len(), shown.join(", "));
        }
        let gains: Vec<String> = self.inner.gains().iter().map(|&g| short(g)).collect();
        text += &match s.pipeline {
            Pipeline::Motion => format!("\ngains  {} (finest level first)", gains.join(", ")),
            Pipeline::Color => format!("\ngain   {} at level {}", gains.join(", "), s.level),
        };
        text += &format!("\nchroma {}", short(s.chroma));
        if self.inner.is_identity() {
            text += "\nnothing is magnified: every sample comes out as it went in";
        }
        text
    }
}

/// The named settings, with what each is for.
///
/// Returns
/// -------
/// dict
///     Name to ``Preset``, which has ``name``, ``description`` and ``settings``.
#[pyfunction]
pub(crate) fn presets<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    for p in &PRESETS {
        let preset = PyPreset {
            name: p.name,
            description: p.description,
            settings: PySettings { inner: p.settings.clone() },
        };
        d.set_item(p.name, preset.into_pyobject(py)?)?;
    }
    Ok(d)
}

/// A named set of settings.
#[pyclass(frozen, module = "jnd", name = "Preset")]
pub(crate) struct PyPreset {
    /// Name.
    #[pyo3(get)]
    name: &'static str,
    /// What it is for.
    #[pyo3(get)]
    description: &'static str,
    settings: PySettings,
}

#[pymethods]
impl PyPreset {
    /// The settings.
    #[getter]
    fn settings(&self) -> PySettings {
        self.settings.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let settings = self.settings.__repr__(py)?;
        Ok(format!("Preset({:?}: {}; {settings})", self.name, self.description))
    }
}
