//! Exceptions of `cwndlab.errors`.

use pyo3::prelude::*;

/// An exception of `cwndlab.errors` with these faults: place, text, hint.
pub(crate) fn raise(py: Python<'_>, class: &str, faults: Vec<(String, String, String)>) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("cwndlab.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(pyo3::types::PyTuple::new(py, faults)?)?))
    };
    made().unwrap_or_else(|failure| failure)
}
