//! Packetdrill scripts against the transport.

use cwndlab_packetdrill::run_script;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::cwndlab_error;
use crate::panics::guarded;

/// Runs a script; returns the report as JSON.
///
/// Raises `ScenarioError` with line and column where the text is not a script.
#[pyfunction]
pub(crate) fn packetdrill(py: Python<'_>, text: &str) -> PyResult<String> {
    match py.detach(|| guarded(|| run_script(text))) {
        Ok(Ok(report)) => serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string())),
        Ok(Err(fault)) => {
            let place = format!("line {}, column {}", fault.line, fault.column);
            Err(cwndlab_error(py, "ScenarioError", vec![(place, fault.what, String::new())]))
        }
        Err(panic) => Err(cwndlab_error(
            py,
            "RunError",
            vec![("engine".to_owned(), panic, "please report with this line".to_owned())],
        )),
    }
}
