//! A moment of a run, by running it again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use cwndlab_control::Algorithm;
use cwndlab_debugger::{diverge, json, look, transport_at};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Fault, Time};
use pyo3::prelude::*;
use serde_json::{json, Value};

use crate::errors::{fault_error, guarded};
use crate::py_algorithms::{self, Constructors};
use crate::scenario;
use crate::work::{algorithm_error, run_in_thread, Cancel};

/// What is wanted of a flow.
#[derive(Clone, Copy)]
struct Question {
    seed: u64,
    flow: usize,
    at: Time,
    context: usize,
    tolerance: Bytes,
}

/// The event that a flow's algorithm received at a time, with the states before and after it; or, with `against`, the
/// first event from that time on after which that algorithm differs. JSON of `cwndlab_debugger::json`, with `transport`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "names and defaults of a Python function")]
#[pyo3(signature = (text, format, seed, flow, at_ns, cancel=None, *, context=3, against=None, tolerance_bytes=0, folder=None, constructors=None))]
pub(crate) fn debug(
    py: Python<'_>,
    text: &str,
    format: &str,
    seed: u64,
    flow: usize,
    at_ns: u64,
    cancel: Option<Py<Cancel>>,
    context: usize,
    against: Option<&str>,
    tolerance_bytes: u64,
    folder: Option<std::path::PathBuf>,
    constructors: Option<Constructors>,
) -> PyResult<String> {
    let scenario = scenario::read(py, text, format, folder)?;
    let to_error = |faults| scenario::scenario_error(py, faults);
    let catalogue = py_algorithms::catalogue(&scenario).map_err(to_error)?;
    let (plan, _) = scenario.plan(&catalogue).map_err(to_error)?;
    if let Some(fault) = flow_fault(&plan, flow) {
        return Err(fault_error(py, "ScenarioError", [fault]));
    }
    let other = against
        .map(|text| catalogue.parse(text))
        .transpose()
        .map_err(|fault| fault_error(py, "ScenarioError", [fault.at("against")]))?;
    let given = constructors.unwrap_or_default();
    let constructors = py_algorithms::needed_constructors(&plan, &scenario, other.as_ref(), given).map_err(to_error)?;
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    let inner = Arc::clone(&stop);
    let question = Question { seed, flow, at: Time(at_ns), context, tolerance: Bytes(tolerance_bytes) };
    let (outcome, failure) = run_in_thread(py, &stop, move || {
        Ok(py_algorithms::with_constructors(constructors, || {
            guarded(|| answer(&plan, question, other.as_ref(), &inner))
        }))
    })?
    .unwrap_or_else(|panic| (Err(panic), None));
    match (outcome, failure) {
        (Ok(Ok(value)), _) => Ok(value.to_string()),
        (_, Some(failure)) => Err(algorithm_error(py, failure, seed)),
        (Ok(Err(_)), None) => Err(fault_error(py, "RunError", [Fault::new("debug", "cancelled", "")])),
        (Err(panic), None) => Err(fault_error(py, "RunError", [panic])),
    }
}

fn flow_fault(plan: &Plan, flow: usize) -> Option<Fault> {
    let Some(found) = plan.flows.get(flow) else {
        let what = format!("there is no flow {flow}");
        return Some(Fault::new("flow", what, format!("the flows are 0 to {}", plan.flows.len().saturating_sub(1))));
    };
    found
        .algorithm
        .is_none()
        .then(|| Fault::new("flow", format!("flow {flow} has no congestion control"), "choose a flow over TCP"))
}

fn answer(plan: &Plan, question: Question, other: Option<&Algorithm>, stop: &Arc<AtomicBool>) -> Result<Value, Fault> {
    let Question { seed, flow, at, context, tolerance } = question;
    let algorithm: &Algorithm = plan.flows[flow].algorithm.as_ref().expect("was checked");
    let mut value = match other {
        Some(other) => {
            let found = diverge(plan, seed, flow, other, (at, tolerance), stop)?;
            let moment = found.map(|found| json::divergence(&found, algorithm, other));
            json!({"earlier": [], "moment": moment, "later": []})
        }
        None => json::view(&look(plan, seed, flow, at, context, stop)?.0, algorithm),
    };
    // Set where the answer was complete before the end of the run.
    stop.store(false, Ordering::Relaxed);
    value["algorithm"] = json!(algorithm.to_string());
    value["entry"] = json!(algorithm.growth.spec.name);
    if let Some(time) = value["moment"]["time_ns"].as_u64() {
        let rows = [time.saturating_sub(1), time].map(|time| transport_at(plan, seed, flow, Time(time), stop));
        let [before, after] = rows;
        let (before, after) = (before?, after?);
        value["transport"] =
            json!({"before": before.as_ref().map(json::transport), "after": after.as_ref().map(json::transport)});
    }
    Ok(value)
}
