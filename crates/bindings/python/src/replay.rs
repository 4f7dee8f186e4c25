//! Replay of one event sequence in several backends: rows of findings.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_control::Catalogue;
use cwndlab_python_classes::class_entry::{bound_entry, Class};
use cwndlab_python_classes::controller::describe_failure;
use cwndlab_replay::verdict::{Difference, Finding};
use cwndlab_replay::{run_case, CASES};
use cwndlab_units::Fault;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{fault_error, guarded};
use crate::work::run_in_thread;

/// The cases: name and description.
#[pyfunction]
pub(crate) fn replay_cases() -> Vec<(&'static str, &'static str)> {
    CASES.iter().map(|case| (case.name, case.what)).collect()
}

/// The catalogue with these classes, whose objects are created in the threads of the backends.
fn catalogue_with(py: Python<'_>, classes: Vec<Class>) -> PyResult<Catalogue> {
    let mut catalogue = cwndlab_simulator::catalogue();
    for class in classes {
        let spec = bound_entry(class).map_err(|fault| fault_error(py, "ScenarioError", [fault]))?;
        catalogue.specs.push(spec);
    }
    Ok(catalogue)
}

/// Replays all cases in all backends; one row per case and backend. `classes` are classes in Python among the
/// algorithms: name of the algorithm, name of the class, source file, parameters (JSON), constructor.
#[pyfunction]
#[pyo3(signature = (text, classes=Vec::new()))]
pub(crate) fn replay<'py>(py: Python<'py>, text: &str, classes: Vec<Class>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let algorithm =
        catalogue_with(py, classes)?.parse(text).map_err(|fault| fault_error(py, "ScenarioError", [fault]))?;
    let name = algorithm.to_string();
    let never = Arc::new(AtomicBool::new(false));
    let work = move || {
        let findings = guarded(|| CASES.iter().map(|case| run_case(&algorithm, case)).collect::<Vec<_>>().concat());
        Ok(findings.map_err(|panic| (panic, describe_failure())))
    };
    match run_in_thread(py, &never, work)? {
        Ok(Ok(findings)) => findings.iter().map(|finding| row(py, &name, finding)).collect(),
        Ok(Err((_, Some(failed)))) => {
            Err(fault_error(py, "AlgorithmError", [Fault::new(format!("algorithm '{name}'"), failed, "")]))
        }
        Ok(Err((panic, None))) | Err(panic) => Err(fault_error(py, "RunError", [panic])),
    }
}

fn row<'py>(py: Python<'py>, algorithm: &str, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("algorithm", algorithm)?;
    row.set_item("case", finding.case)?;
    row.set_item("backend", finding.backend.name())?;
    row.set_item("verdict", finding.verdict.name())?;
    row.set_item("windows", finding.windows)?;
    row.set_item("differing", finding.differing)?;
    row.set_item("max_segments", finding.max_segments)?;
    row.set_item("first", finding.first().map(ToString::to_string))?;
    row.set_item("reason", reason(finding))?;
    let events = finding.events.iter().map(|one| difference(py, one)).collect::<PyResult<Vec<_>>>()?;
    row.set_item("events", events)?;
    Ok(row)
}

fn reason(finding: &Finding) -> Option<&str> {
    if !finding.absent.is_empty() {
        return Some(&finding.absent);
    }
    finding.first()?.known.map(cwndlab_replay::verdict::KnownDifference::reason)
}

fn difference<'py>(py: Python<'py>, one: &Difference) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("event", one.event)?;
    row.set_item("time_ns", one.now_ns)?;
    row.set_item("difference", one.to_string())?;
    row.set_item("reason", one.known.map(cwndlab_replay::verdict::KnownDifference::reason))?;
    Ok(row)
}
