//! Packetdrill scripts against the transport.

use cwndlab_packetdrill::run_script;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{fault_error, guarded};

/// Runs a script; returns the report as JSON.
///
/// Raises `ScenarioError` with line and column where the text is not a script.
#[pyfunction]
pub(crate) fn packetdrill(py: Python<'_>, text: &str) -> PyResult<String> {
    match py.detach(|| guarded(|| run_script(text))) {
        Ok(Ok(report)) => serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string())),
        Ok(Err(fault)) => Err(fault_error(py, "ScenarioError", [fault])),
        Err(panic) => Err(fault_error(py, "RunError", [panic])),
    }
}
