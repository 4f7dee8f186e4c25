//! The congestion control of a flow from a constructor in Python.

use cwndlab_control::{Arguments, CongestionControl, Path, Value};
use cwndlab_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::{raised, CallResult, PyController};
use crate::events;
use crate::rust_file::RustControl;

/// The congestion control `constructor(path, **parameters)`: an object of Python, or the algorithm of a library that the
/// constructor returns.
///
/// # Errors
///
/// An exception of the constructor, and an invalid window.
pub fn create(
    py: Python<'_>,
    name: &'static str,
    constructor: &Py<PyAny>,
    path: &Path,
    arguments: &Arguments,
) -> CallResult<Box<dyn CongestionControl>> {
    let construct = || -> PyResult<Bound<'_, PyAny>> {
        let keywords = PyDict::new(py);
        for (name, value) in arguments.pairs() {
            match value {
                Value::Number(number) => keywords.set_item(name, number)?,
                Value::Word(word) => keywords.set_item(name, word == "true")?,
            }
        }
        constructor.bind(py).call((events::Path { raw: path.clone() },), Some(&keywords))
    };
    let object = construct().map_err(|error| raised(py, name, "__init__", Time::ZERO, error))?;
    let library = object.cast::<RustControl>().ok();
    if let Some(control) = library.and_then(|library| library.get().take(name, path)) {
        return Ok(Box::new(control.created()?));
    }
    Ok(Box::new(PyController::of(name, path, &object)?))
}
