//! The public battery: an algorithm of the catalogue or a class in Python in, rows of findings out.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_conformance::{algorithm_texts, check_until, BatterySize, Report};
use cwndlab_control::Build;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::panics::guarded;
use crate::py_algorithms::{self, Makers};
use crate::scenario;
use crate::work::{aside, Cancel};

/// What the battery is run on when all are asked for.
#[pyfunction]
pub(crate) fn conformance_texts() -> Vec<String> {
    algorithm_texts(&cwndlab_simulator::catalogue())
}

/// What the battery found: rows of algorithm, rule, holds, detail; nanoseconds per ACK; notes.
type Found<'py> = (Vec<Bound<'py, PyDict>>, Option<f64>, Vec<String>);

/// Runs the battery on an algorithm. `scenario`, JSON, may describe classes, of which `makers` makes the objects.
#[pyfunction]
#[pyo3(signature = (text, *, quick=false, cancel=None, scenario=None, makers=None))]
pub(crate) fn conformance<'py>(
    py: Python<'py>,
    text: &str,
    quick: bool,
    cancel: Option<Py<Cancel>>,
    scenario: Option<&str>,
    makers: Option<Makers>,
) -> PyResult<Found<'py>> {
    let algorithm = scenario::catalogue(py, scenario)?
        .parse(text)
        .map_err(|fault| raise(py, "ScenarioError", vec![(String::new(), fault.what, fault.hint)]))?;
    let name = algorithm.to_string();
    let mut notes = Vec::new();
    let size = match algorithm.growth.spec.build {
        _ if quick => BatterySize::SMALL,
        Build::Dynamic(_) => {
            let (few, many) = (BatterySize::SLOW.long_acks, BatterySize::FULL.long_acks);
            notes.push(format!(
                "{name}: the long case has {few} ACKs instead of {many}, since a class in Python takes microseconds \
                 for each"
            ));
            BatterySize::SLOW
        }
        _ => BatterySize::FULL,
    };
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    let inner: Arc<AtomicBool> = Arc::clone(&stop);
    let mut makers = makers.unwrap_or_default();
    makers.retain(|name, _| name == algorithm.growth.spec.name);
    let work = move || {
        let examine = || guarded(|| check_until(&name, &algorithm, |path| algorithm.build(path), &size, &inner));
        // What a class fails at is among the findings.
        py_algorithms::with_makers(makers, examine).0
    };
    match aside(py, &stop, work)? {
        Ok(Some(report)) => Ok((rows(py, &report)?, report.ns_per_ack, notes)),
        Ok(None) => {
            Err(raise(py, "RunError", vec![("check".to_owned(), "stopped before its end".to_owned(), String::new())]))
        }
        Err(panic) => {
            Err(raise(py, "RunError", vec![("engine".to_owned(), panic, "please report with this line".to_owned())]))
        }
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
