//! The audit of a log: a file and an algorithm go in, the result comes out as JSON.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_audit::{audit as compare, capture, qlog, report, Options};
use pyo3::prelude::*;

use crate::errors::cwndlab_error;
use crate::panics::guarded;
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
        .map_err(|fault| cwndlab_error(py, "ScenarioError", vec![("algorithm".to_owned(), fault.what, fault.hint)]))?;
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
            Ok(report::to_json(&log, &audit).to_string())
        })
    };
    let never = Arc::new(AtomicBool::new(false));
    match run_in_thread(py, &never, work)? {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(cwndlab_control::Fault { what, hint })) => {
            Err(cwndlab_error(py, "RecordsError", vec![(name.to_owned(), what, hint)]))
        }
        Err(panic) => {
            let fault = ("engine".to_owned(), panic, "please report with this line and the log".to_owned());
            Err(cwndlab_error(py, "RunError", vec![fault]))
        }
    }
}
