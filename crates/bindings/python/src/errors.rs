//! Exceptions of `cwndlab.errors`.

use pyo3::prelude::*;

/// Creates an exception of `cwndlab.errors` with these faults: place, description, hint.
pub(crate) fn cwndlab_error(py: Python<'_>, class: &str, faults: Vec<(String, String, String)>) -> PyErr {
    let error = || -> PyResult<PyErr> {
        let class = py.import("cwndlab.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(pyo3::types::PyTuple::new(py, faults)?)?))
    };
    error().unwrap_or_else(|failure| failure)
}
