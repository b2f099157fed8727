//! Arguments that several calls have.

use jnd::DeviceChoice;
use jnd::magnify::{Options, Settings, Source};
use jnd::video::{PixelFormat, Rate};
use numpy::{
    PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::arrays::{Clip, Element, Order, Rank, format_of};
use crate::errors::{array_error, array_type_error, from_video, settings_error};

fn said(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "an object".to_owned(), |r| r.to_string())
}

/// `channels=`.
pub(crate) fn order(py: Python<'_>, channels: &str) -> PyResult<Order> {
    match channels {
        "rgb" => Ok(Order::Rgb),
        "bgr" => Ok(Order::Bgr),
        other => Err(settings_error(py, format!("channels is {other:?}, but must be \"rgb\" or \"bgr\""))),
    }
}

/// `threads=`: `None` or 0 for one on each processor.
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    let Some(value) = value.filter(|v| !v.is_none()) else { return Ok(0) };
    value.extract::<usize>().map_err(|_| {
        let text = format!("threads is {}, but must be a whole number, 0 for all processors", said(value));
        settings_error(value.py(), text)
    })
}

/// `depth=`: bits of a sample, for arrays of `element`.
pub(crate) fn depth(py: Python<'_>, value: Option<&Bound<'_, PyAny>>, element: Element) -> PyResult<u8> {
    let usual = if element == Element::U8 { 8 } else { 16 };
    let Some(value) = value.filter(|v| !v.is_none()) else { return Ok(usual) };
    let (legal, text) = if element == Element::U8 { (8..=8, "8") } else { (9..=16, "9 to 16") };
    value.extract::<u8>().ok().filter(|d| legal.contains(d)).ok_or_else(|| {
        let name = element.name();
        settings_error(py, format!("depth is {}, but {name} arrays hold samples of {text} bits", said(value)))
    })
}

/// `dtype=`: the type of the result; `None` for that of the frames.
pub(crate) fn dtype(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Element>> {
    let Some(value) = value.filter(|v| !v.is_none()) else { return Ok(None) };
    let descr = PyArrayDescr::new(py, value.clone())?;
    for (element, like) in [
        (Element::U8, PyArrayDescr::of::<u8>(py)),
        (Element::U16, PyArrayDescr::of::<u16>(py)),
        (Element::F32, PyArrayDescr::of::<f32>(py)),
    ] {
        if descr.is_equiv_to(&like) {
            return Ok(Some(element));
        }
    }
    let text = format!("dtype is {}, but the result is of the frames' own type or float32", descr.str()?);
    Err(array_type_error(py, text))
}

/// What the result is made of: checks `dtype=` against the frames.
pub(crate) fn result_element(py: Python<'_>, dtype: Option<Element>, frames: Element) -> PyResult<Element> {
    match dtype {
        None => Ok(frames),
        Some(e) if e == frames || e == Element::F32 => Ok(e),
        Some(e) => {
            let text = format!(
                "dtype is {}, but the result of {} frames is {1} or float32",
                e.name(),
                frames.name()
            );
            Err(array_type_error(py, text))
        }
    }
}

/// The array that `out=` is, checked against the frames, or a new one.
pub(crate) fn output<'py>(
    py: Python<'py>,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<Element>,
    like: &Bound<'py, PyUntypedArray>,
    frames: &Clip,
    rank: Rank,
) -> PyResult<(Bound<'py, PyUntypedArray>, Clip)> {
    let Some(out) = out.filter(|o| !o.is_none()) else {
        let element = result_element(py, dtype, frames.element())?;
        let shape = like.shape();
        // Zeros, not garbage: pages that have not been touched cost nothing, and memory is never read uninitialised.
        let made = match element {
            Element::U8 => PyArrayDyn::<u8>::zeros(py, shape, false).as_untyped().clone(),
            Element::U16 => PyArrayDyn::<u16>::zeros(py, shape, false).as_untyped().clone(),
            Element::F32 => PyArrayDyn::<f32>::zeros(py, shape, false).as_untyped().clone(),
        };
        let clip = Clip::new(&made, "out", rank, true)?;
        return Ok((made, clip));
    };
    let Ok(array) = out.cast::<PyUntypedArray>() else {
        let text = format!("out is a {}, but must be a NumPy array", out.get_type());
        return Err(array_type_error(py, text));
    };
    if array.shape() != like.shape() {
        let text = format!("out has shape {}, but the frames have {}", shape_of(array)?, shape_of(like)?);
        return Err(array_error(py, text));
    }
    let clip = Clip::new(array, "out", rank, true)?;
    let wanted = result_element(py, dtype, frames.element())?;
    if clip.element() != wanted && (dtype.is_some() || clip.element() != Element::F32) {
        let either = if dtype.is_some() { "" } else { " or float32" };
        let text =
            format!("out holds {} samples, but must hold {}{either}", clip.element().name(), wanted.name());
        return Err(array_type_error(py, text));
    }
    if !array.getattr("flags")?.getattr("writeable")?.extract::<bool>()? {
        return Err(array_error(py, "out is read-only; pass an array that can be written to".into()));
    }
    if clip.repeats() {
        let text = "out shows the same memory several times (a stride of 0); pass an array of its own";
        return Err(array_error(py, text.into()));
    }
    Ok((array.clone(), clip))
}

fn shape_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<String> {
    Ok(array.getattr("shape")?.str()?.to_string())
}

/// `device=`.
pub(crate) fn device(py: Python<'_>, name: &str) -> PyResult<DeviceChoice> {
    name.parse().map_err(|_| {
        let text = format!("device is {name:?}, but must be \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"");
        settings_error(py, text)
    })
}

/// What the plan is made for.
pub(crate) fn source(
    py: Python<'_>,
    clip: &Clip,
    order: Order,
    depth: u8,
    rate: Rate,
    frames: Option<u64>,
) -> PyResult<(Source, PixelFormat)> {
    let format = format_of(clip.channels(), order, depth).map_err(|e| from_video(py, e))?;
    Ok((Source { format, width: clip.width(), height: clip.height(), rate, frames }, format))
}

/// How to compute on the processor.
pub(crate) fn options(threads: usize, memory: Option<u64>) -> Options {
    Options { threads, memory, ..Options::default() }
}

/// Refuses the ideal filter where frames come one by one.
pub(crate) fn causal(py: Python<'_>, settings: &Settings) -> PyResult<()> {
    if settings.filter.is_causal() {
        return Ok(());
    }
    let text = "the ideal filter works on a whole clip and cannot take frame by frame; pass the clip to jnd.magnify, \
                or use filter=\"iir\" or \"butterworth\"";
    Err(settings_error(py, text.into()))
}
