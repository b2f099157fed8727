//! The native half of the Python package `jnd`.
//!
//! The Python half (`python/jnd`) holds the exceptions, the stubs and what is easier said in Python; everything that
//! touches samples is here, and calls the `jnd` library. Long calls run without the interpreter's lock.

mod arguments;
mod arrays;
mod card;
mod dlpack;
mod errors;
mod files;
mod job;
mod magnify;
mod plan;
mod planes;
mod resident;
mod score;
mod settings;
mod stream;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs the `jnd` command with the given arguments (the program's name first) and returns its exit code.
#[pyfunction]
fn cli(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| jnd_cli::run(args))
}

/// What works on this machine, and what is missing.
///
/// Returns
/// -------
/// dict of str
///     What, and how it stands; as the command ``jnd doctor`` prints it.
#[pyfunction]
fn doctor<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    for (what, how) in py.detach(jnd_cli::doctor) {
        facts.set_item(what, how)?;
    }
    if cfg!(feature = "emulate") {
        facts.set_item("python card", "emulated by the processor, for tests")?;
    }
    Ok(facts)
}

#[pymodule]
fn _jnd(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(cli, m)?)?;
    m.add_function(wrap_pyfunction!(doctor, m)?)?;
    m.add_function(wrap_pyfunction!(plan::presets, m)?)?;
    m.add_function(wrap_pyfunction!(magnify::magnify, m)?)?;
    m.add_function(wrap_pyfunction!(files::magnify_file, m)?)?;
    m.add_class::<files::PyReport>()?;
    m.add_function(wrap_pyfunction!(score::score, m)?)?;
    m.add_class::<score::PyScorer>()?;
    m.add_class::<resident::DeviceArray>()?;
    m.add_class::<stream::PyMagnifier>()?;
    m.add_class::<stream::Stream>()?;
    m.add_class::<settings::PySettings>()?;
    m.add_class::<plan::PyPlan>()?;
    m.add_class::<plan::PyPreset>()?;
    Ok(())
}
