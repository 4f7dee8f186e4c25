//! Emulations: the same scenario between the real TCP of two namespaces.

use std::sync::Arc;

use cwndlab_emulator::Quality;
use cwndlab_records::table::Tables;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::records::Records;
use crate::work::{aside, guarded, header, Cancel};
use crate::{own, question, raise};

/// Emulates a scenario for as long as it says; Ctrl-C and `cancel` stop it within milliseconds. Answers what was
/// recorded, and how good the clockwork was.
#[pyfunction]
#[pyo3(signature = (text, format, seed, cancel=None, *, folder=None))]
pub(crate) fn emulate<'py>(
    py: Python<'py>,
    text: &str,
    format: &str,
    seed: u64,
    cancel: Option<Py<Cancel>>,
    folder: Option<std::path::PathBuf>,
) -> PyResult<(Records, Bound<'py, PyDict>)> {
    let scenario = question::read(py, text, format, folder)?;
    let catalogue = own::catalogue(&scenario).map_err(|faults| question::refuse(py, faults))?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| question::refuse(py, faults))?;
    let mut header = header(&scenario, &plan, seed, "emulate", notes).map_err(|faults| question::refuse(py, faults))?;
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().wish());
    let inner = Arc::clone(&stop);
    let outcome = aside(py, &stop, move || {
        guarded(|| {
            cwndlab_emulator::emulate(&plan, seed, &inner, None).map(|(records, quality)| {
                header.notes.extend(quality.notes.iter().cloned());
                header.notes.push(timing(&quality));
                (Tables::new(header, &records), quality)
            })
        })
    })?;
    match outcome {
        Ok(Ok((tables, quality))) => Ok((Records::new(tables), told(py, &quality)?)),
        Ok(Err(fault)) => Err(raise(py, "RunError", vec![(fault.path, fault.what, fault.hint)])),
        Err(panic) => {
            Err(raise(py, "RunError", vec![("emulate".to_owned(), panic, "please report with this line".to_owned())]))
        }
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// One line for the records.
fn timing(quality: &Quality) -> String {
    let late = &quality.lateness;
    format!(
        "deliveries were late by {:.0} us (median), {:.0} us (99 %), {:.0} us (most); {}",
        microseconds(late.quantile(0.5)),
        microseconds(late.quantile(0.99)),
        microseconds(late.most()),
        if quality.real_time { "SCHED_FIFO" } else { "no real-time priority" },
    )
}

fn told<'py>(py: Python<'py>, quality: &Quality) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let late = &quality.lateness;
    dict.set_item("packets", late.total())?;
    for (key, share) in [("late_p50_ns", 0.5), ("late_p90_ns", 0.9), ("late_p99_ns", 0.99), ("late_p999_ns", 0.999)] {
        dict.set_item(key, late.quantile(share))?;
    }
    dict.set_item("late_max_ns", late.most())?;
    dict.set_item("late_buckets_ns", late.buckets().collect::<Vec<_>>())?;
    dict.set_item("real_time", quality.real_time)?;
    dict.set_item("strangers", quality.strangers)?;
    dict.set_item("refused", quality.refused)?;
    dict.set_item("notes", quality.notes.clone())?;
    let counters = PyDict::new(py);
    for (name, count) in &quality.counters {
        counters.set_item(name, count)?;
    }
    dict.set_item("counters", counters)?;
    Ok(dict)
}
