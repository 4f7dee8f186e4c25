//! The conformance battery: runs it on an algorithm of the catalogue or a Python class, and returns rows of findings.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_conformance::{algorithm_texts, check_until, BatterySize, Report};
use cwndlab_control::Build;
use cwndlab_units::Fault;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{fault_error, guarded};
use crate::py_algorithms::{self, Constructors};
use crate::scenario;
use crate::work::{run_in_thread, Cancel};

/// The algorithms of a run of the battery over the whole catalogue.
#[pyfunction]
pub(crate) fn conformance_texts() -> Vec<String> {
    algorithm_texts(&cwndlab_simulator::catalogue())
}

/// The findings of the battery: rows of algorithm, rule, holds, detail; nanoseconds per ACK; notes.
type Findings<'py> = (Vec<Bound<'py, PyDict>>, Option<f64>, Vec<String>);

/// Runs the battery on an algorithm. `scenario` (JSON) may declare Python classes, whose objects `constructors` create.
#[pyfunction]
#[pyo3(signature = (text, *, quick=false, cancel=None, scenario=None, constructors=None))]
pub(crate) fn conformance<'py>(
    py: Python<'py>,
    text: &str,
    quick: bool,
    cancel: Option<Py<Cancel>>,
    scenario: Option<&str>,
    constructors: Option<Constructors>,
) -> PyResult<Findings<'py>> {
    let algorithm =
        scenario::catalogue(py, scenario)?.parse(text).map_err(|fault| fault_error(py, "ScenarioError", [fault]))?;
    let name = algorithm.to_string();
    let mut notes = Vec::new();
    let size = match algorithm.growth.spec.build {
        _ if quick => BatterySize::SMALL,
        Build::Dynamic(_) => {
            let few = BatterySize::SLOW.long_acks;
            let many = BatterySize::FULL.long_acks;
            notes.push(format!(
                "{name}: the long case has {few} ACKs instead of {many}, because a Python class takes microseconds for each"
            ));
            BatterySize::SLOW
        }
        _ => BatterySize::FULL,
    };
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    let inner: Arc<AtomicBool> = Arc::clone(&stop);
    let mut constructors = constructors.unwrap_or_default();
    constructors.retain(|name, _| name == algorithm.growth.spec.name);
    let work = move || {
        let examine = || guarded(|| check_until(&name, &algorithm, |path| algorithm.build(path), &size, &inner));
        // The findings include failures of a class.
        py_algorithms::with_constructors(constructors, examine).0
    };
    match run_in_thread(py, &stop, work)? {
        Ok(Some(report)) => Ok((rows(py, &report)?, report.ns_per_ack, notes)),
        Ok(None) => Err(fault_error(py, "RunError", [Fault::new("check", "cancelled before its end", "")])),
        Err(panic) => Err(fault_error(py, "RunError", [panic])),
    }
}

fn rows<'py>(py: Python<'py>, report: &Report) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = |finding: cwndlab_conformance::Row| {
        let row = PyDict::new(py);
        row.set_item("algorithm", finding.algorithm)?;
        row.set_item("rule", finding.rule)?;
        row.set_item("holds", finding.holds)?;
        row.set_item("detail", finding.detail)?;
        Ok(row)
    };
    report.rows().into_iter().map(row).collect()
}
