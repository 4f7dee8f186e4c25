//! The public battery: an algorithm in, rows of findings out.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_conformance::{check_until, texts, Report, Size};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::raise;
use crate::work::{aside, guarded, Cancel};

/// What the battery is run on when all are asked for.
#[pyfunction]
pub(crate) fn conformance_texts() -> Vec<String> {
    texts(&cwndlab_simulator::catalogue())
}

/// Runs the battery on an algorithm of the catalogue: rows of algorithm, rule, holds, detail; nanoseconds per ACK.
#[pyfunction]
#[pyo3(signature = (text, *, quick=false, cancel=None))]
pub(crate) fn conformance<'py>(
    py: Python<'py>,
    text: &str,
    quick: bool,
    cancel: Option<Py<Cancel>>,
) -> PyResult<(Vec<Bound<'py, PyDict>>, Option<f64>)> {
    let algorithm = cwndlab_simulator::catalogue()
        .parse(text)
        .map_err(|fault| raise(py, "ScenarioError", vec![(String::new(), fault.what, fault.hint)]))?;
    let size = if quick { Size::SMALL } else { Size::FULL };
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().wish());
    let inner: Arc<AtomicBool> = Arc::clone(&stop);
    let name = algorithm.to_string();
    let work = move || guarded(|| check_until(&name, &algorithm, |path| algorithm.build(path), &size, &inner));
    match aside(py, &stop, work)? {
        Ok(Some(report)) => Ok((rows(py, &report)?, report.ns_per_ack)),
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
