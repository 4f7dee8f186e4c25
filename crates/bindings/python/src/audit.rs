//! The audit of a log: a file and an algorithm go in, the result comes out as JSON.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_audit::event::Log;
use cwndlab_audit::{audit as judge, capture, qlog, report, transfer, Options, Unknown};
use cwndlab_units::Fault;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{fault_error, guarded};
use crate::py_algorithms::{self, Constructors};
use crate::scenario;
use crate::work::{algorithm_error, run_in_thread};

fn read(content: &[u8], choice: capture::Choice<'_>) -> Result<Log, Fault> {
    if capture::is_capture(content) {
        capture::read(content, choice)
    } else {
        qlog::read(content, choice.connection)
    }
}

/// Replays a log through each of `algorithms`, and returns what a ranking needs, as JSON. Logs are cut after `acks` ACKs;
/// `flights`: the bytes in flight stand for the windows, as in a capture. `seed` and `fills_when_paced` are of [`Unknown`].
/// A comparison whose corrections have more than the algorithm's `most_bits` ends there, and is null.
#[pyfunction]
#[pyo3(signature = (content, name, algorithms, *, connection=None, samples=None, mss=None, initial_cwnd=None, acks=None, flights=false, seed=0, fills_when_paced=false, most_bits=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn explain(
    py: Python<'_>,
    content: Vec<u8>,
    name: &str,
    algorithms: Vec<String>,
    connection: Option<String>,
    samples: Option<String>,
    mss: Option<u64>,
    initial_cwnd: Option<u64>,
    acks: Option<usize>,
    flights: bool,
    seed: u64,
    fills_when_paced: bool,
    most_bits: Option<Vec<f64>>,
) -> PyResult<String> {
    let catalogue = scenario::catalogue(py, None)?;
    let parsed: Result<Vec<_>, Fault> = algorithms.iter().map(|one| catalogue.parse(one)).collect();
    let parsed = parsed.map_err(|fault| fault_error(py, "ScenarioError", [fault.at("algorithm")]))?;
    let unknown = Unknown { seed, fills_when_paced };
    let options = move |most_bits| Options { mss, initial_cwnd, tolerance: None, unknown, identifies: Some(most_bits) };
    let most_bits = most_bits.unwrap_or_else(|| vec![f64::INFINITY; parsed.len()]);
    if most_bits.len() != parsed.len() {
        return Err(PyValueError::new_err("most_bits has another length than algorithms"));
    }
    let compare = move || {
        guarded(|| {
            let (samples, connection) = (samples.as_deref(), connection.as_deref());
            let mut log = read(&content, capture::Choice { samples, connection, mss, anywhere: true, largest: false })?;
            log.cut(acks.unwrap_or(usize::MAX));
            if flights {
                log.forget_windows();
            }
            let asked = parsed.iter().zip(most_bits);
            let each = asked.map(|(one, most)| Ok(report::brief(&log, &judge(&log, one, &options(most))?)));
            let all: Result<Vec<_>, Fault> = each.collect();
            Ok::<_, Fault>(serde_json::Value::from(all?).to_string())
        })
    };
    let never = Arc::new(AtomicBool::new(false));
    match run_in_thread(py, &never, move || Ok(compare()))?.unwrap_or_else(Err) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(fault)) => Err(fault_error(py, "RecordsError", [fault.at(name)])),
        Err(panic) => Err(fault_error(py, "RunError", [panic])),
    }
}

/// Compares the log `content`, of the file `name`, with an algorithm of the catalogue, or with a Python class that
/// `scenario` (JSON) declares and whose objects `constructors` create; returns the result as JSON. `samples` are those of
/// `ss`, for a capture.
#[pyfunction]
#[pyo3(signature = (content, name, algorithm, *, connection=None, samples=None, mss=None, initial_cwnd=None, tolerance=None, scenario=None, constructors=None))]
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
    scenario: Option<&str>,
    constructors: Option<Constructors>,
) -> PyResult<String> {
    let parsed = scenario::catalogue(py, scenario)?
        .parse(algorithm)
        .map_err(|fault| fault_error(py, "ScenarioError", [fault.at("algorithm")]))?;
    let options = Options { mss, initial_cwnd, tolerance, unknown: Unknown::default(), identifies: None };
    let mut constructors = constructors.unwrap_or_default();
    constructors.retain(|name, _| name == parsed.growth.spec.name);
    let compare = move || {
        guarded(|| {
            let (samples, connection) = (samples.as_deref(), connection.as_deref());
            let log = read(&content, capture::Choice { samples, connection, mss, anywhere: false, largest: false })?;
            let audit = judge(&log, &parsed, &options)?;
            Ok::<_, Fault>(report::to_json(&log, &audit).to_string())
        })
    };
    let work = move || py_algorithms::with_constructors(constructors, compare);
    let never = Arc::new(AtomicBool::new(false));
    let (outcome, failure) = run_in_thread(py, &never, move || Ok(work()))?.unwrap_or_else(|panic| (Err(panic), None));
    match (outcome, failure) {
        (_, Some(failure)) => Err(algorithm_error(py, failure, "of the log")),
        (Ok(Ok(text)), None) => Ok(text),
        (Ok(Err(fault)), None) => Err(fault_error(py, "RecordsError", [fault.at(name)])),
        (Err(panic), None) => {
            let hint = format!("{} and the log", panic.hint);
            Err(fault_error(py, "RunError", [Fault { hint, ..panic }]))
        }
    }
}

/// What the capture `content`, of the file `name`, shows of the transfer of a connection, as JSON; by default of that with
/// the most data.
#[pyfunction]
#[pyo3(signature = (content, name, *, connection=None))]
pub(crate) fn captured_transfer(
    py: Python<'_>,
    content: Vec<u8>,
    name: &str,
    connection: Option<String>,
) -> PyResult<String> {
    let read = move || {
        guarded(|| {
            let connection = connection.as_deref();
            let choice = capture::Choice { connection, anywhere: true, largest: true, ..Default::default() };
            Ok::<_, Fault>(transfer::transfer(&capture::read(&content, choice)?).to_string())
        })
    };
    let never = Arc::new(AtomicBool::new(false));
    match run_in_thread(py, &never, move || Ok(read()))?.unwrap_or_else(Err) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(fault)) => Err(fault_error(py, "RecordsError", [fault.at(name)])),
        Err(panic) => Err(fault_error(py, "RunError", [panic])),
    }
}
