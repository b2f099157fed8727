//! The library's errors as Python exceptions. The classes live in `jnd/_errors.py`, where each can derive from a
//! built-in exception as well.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

fn make(py: Python<'_>, class: &str, text: String) -> PyErr {
    let found = MODULE
        .get_or_try_init(py, || py.import("jnd._errors").map(Bound::unbind))
        .and_then(|m| m.bind(py).getattr(class))
        .and_then(|c| Ok(c.cast_into::<PyType>()?));
    match found {
        Ok(class) => PyErr::from_type(class, (text,)),
        Err(e) => e,
    }
}

pub(crate) fn settings_error(py: Python<'_>, text: String) -> PyErr {
    make(py, "SettingsError", text)
}

pub(crate) fn array_error(py: Python<'_>, text: String) -> PyErr {
    make(py, "ArrayError", text)
}

pub(crate) fn array_type_error(py: Python<'_>, text: String) -> PyErr {
    make(py, "ArrayTypeError", text)
}

pub(crate) fn state_error(py: Python<'_>, text: String) -> PyErr {
    make(py, "StateError", text)
}

pub(crate) fn device_error(py: Python<'_>, text: String) -> PyErr {
    make(py, "DeviceError", text)
}

/// An unknown name among settings, with the close ones.
pub(crate) fn unknown_setting(py: Python<'_>, name: &str, known: &[&str]) -> PyErr {
    let close = || -> PyResult<Vec<String>> {
        py.import("difflib")?.call_method1("get_close_matches", (name, known.to_vec(), 1))?.extract()
    };
    let advice = match close().unwrap_or_default().first() {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("the settings are {}", known.join(", ")),
    };
    make(py, "UnknownSettingError", format!("there is no setting `{name}`; {advice}"))
}

/// The class of a video error; `None` for an interrupt.
fn video_class(e: &jnd::video::Error) -> Option<&'static str> {
    use jnd::video::Error as E;
    Some(match e {
        E::Interrupted => return None,
        E::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => "VideoNotFoundError",
        E::Truncated { .. } => "TruncatedError",
        E::BadSize { .. } | E::ShortPlane { .. } | E::FrameMismatch { .. } => "ArrayError",
        E::SampleWidth { .. } => "ArrayTypeError",
        E::BadDepth(_) | E::BadRate { .. } | E::BadOption { .. } => "SettingsError",
        _ => "VideoError",
    })
}

fn magnify_class(e: &jnd::magnify::Error) -> Option<&'static str> {
    use jnd::magnify::Error as E;
    Some(match e {
        E::Video(e) => return video_class(e),
        E::FrameCount { .. } | E::NotReady { .. } => "StateError",
        E::WrongFrame { .. } | E::WrongLength { .. } => "ArrayError",
        E::Memory { .. } | E::Cuda(jnd_cuda::Error::Memory { .. }) => "MemoryLimitError",
        E::Cuda(_) => "DeviceError",
        E::DeviceFrames { .. } => "ArrayError",
        E::Threads(_) => "Error",
        _ => "SettingsError",
    })
}

fn class_of(e: &jnd::Error) -> Option<&'static str> {
    use jnd::Error as E;
    Some(match e {
        E::Video(e) => return video_class(e),
        E::Magnify(e) | E::Clip { source: e, .. } => return magnify_class(e),
        E::Usage(_) | E::CannotReread { .. } => "SettingsError",
        E::CardMemory { .. } => "MemoryLimitError",
        E::Changed { .. } => "VideoError",
        _ => "Error",
    })
}

fn classified(py: Python<'_>, class: Option<&'static str>, text: String) -> PyErr {
    match class {
        None => PyKeyboardInterrupt::new_err(()),
        Some(class) => make(py, class, text),
    }
}

pub(crate) fn from_video(py: Python<'_>, e: jnd::video::Error) -> PyErr {
    classified(py, video_class(&e), e.to_string())
}

pub(crate) fn from_magnify(py: Python<'_>, e: jnd::magnify::Error) -> PyErr {
    classified(py, magnify_class(&e), e.to_string())
}

pub(crate) fn from_jnd(py: Python<'_>, e: jnd::Error) -> PyErr {
    classified(py, class_of(&e), e.to_string())
}

/// An error of no narrower kind.
pub(crate) fn error(py: Python<'_>, text: String) -> PyErr {
    make(py, "Error", text)
}

/// `arrays` is whether what was scored is in arrays, not files.
pub(crate) fn from_score(py: Python<'_>, e: jnd::score::Error, arrays: bool) -> PyErr {
    use jnd::score::Error as E;
    let class = match &e {
        E::Video(e) => video_class(e),
        E::Depth(_)
        | E::Rgb(_)
        | E::NoChroma { .. }
        | E::TooSmall { .. }
        | E::FrameMismatch { .. }
        | E::Incomparable(_) => Some(if arrays { "ArrayError" } else { "VideoError" }),
        E::Finished => Some("StateError"),
        E::Cuda(_) => Some("DeviceError"),
        E::Spawn(_) | E::Worker(_) | E::Report(_) => Some("Error"),
        _ => Some("SettingsError"),
    };
    classified(py, class, e.to_string())
}
