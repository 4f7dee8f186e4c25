//! The audit of a log: a file and an algorithm go in, the result comes out as JSON.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_audit::{audit as compare, capture, qlog, report, Options};
use cwndlab_units::Fault;
use pyo3::prelude::*;

use crate::errors::{fault_error, guarded};
use crate::work::run_in_thread;

/// Compares the log `content`, of the file `name`, with an algorithm of the catalogue; returns the result as JSON.
/// `samples` are those of `ss`, for a capture.
#[pyfunction]
#[pyo3(signature = (content, name, algorithm, *, connection=None, samples=None, mss=None, initial_cwnd=None, tolerance=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn audit(
    py: Python<'_>,
    content: Vec<u8>,
    name: &str,
    algorithm: &str,
    connection: Option<String>,
    samples: Option<String>,
    mss: Option<u64>,
    initial_cwnd: Option<u64>,
    tolerance: Option<f64>,
) -> PyResult<String> {
    let parsed = cwndlab_simulator::catalogue()
        .parse(algorithm)
        .map_err(|fault| fault_error(py, "ScenarioError", [fault.at("algorithm")]))?;
    let options = Options { mss, initial_cwnd, tolerance };
    let work = move || {
        guarded(|| {
            let log = if capture::is_capture(&content) {
                let choice = capture::Choice { samples: samples.as_deref(), connection: connection.as_deref(), mss };
                capture::read(&content, choice)?
            } else {
                qlog::read(&content, connection.as_deref())?
            };
            let audit = compare(&log, &parsed, &options)?;
            Ok::<_, Fault>(report::to_json(&log, &audit).to_string())
        })
    };
    let never = Arc::new(AtomicBool::new(false));
    match run_in_thread(py, &never, work)? {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(fault)) => Err(fault_error(py, "RecordsError", [fault.at(name)])),
        Err(panic) => {
            let hint = format!("{} and the log", panic.hint);
            Err(fault_error(py, "RunError", [Fault { hint, ..panic }]))
        }
    }
}
