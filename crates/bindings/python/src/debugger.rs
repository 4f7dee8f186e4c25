//! A moment of a run, by running it again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use cwndlab_control::{Algorithm, EventKind};
use cwndlab_replay::debug::{diverge, json, kinds, look, lost_packet, transport_at, Search, Wanted};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Fault, FlowId, Time};
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
    flow: FlowId,
    search: Search,
    context: usize,
    tolerance: Bytes,
}

/// The kinds of events that a search finds, with their descriptions; those of events that an algorithm returns have none.
#[pyfunction]
pub(crate) fn debug_kinds() -> Vec<(&'static str, &'static str)> {
    let returned = EventKind::ALL.iter().map(|kind| (kind.name(), ""));
    kinds::KINDS.iter().map(|kind| (kind.name, kind.about)).chain(returned).collect()
}

/// The event that a flow's algorithm received at a time, with the states before and after it; with `next` or `previous`,
/// the first one of this kind from that time on, or the last one before it; or, with `against`, the first event from that
/// time on after which that algorithm differs. JSON of `cwndlab_replay::debug::json`, with `transport` and `lost_packet`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "names and defaults of a Python function")]
#[pyo3(signature = (text, format, seed, flow, at_ns, cancel=None, *, next=None, previous=None, context=3, against=None, tolerance_bytes=0, folder=None, constructors=None))]
pub(crate) fn debug(
    py: Python<'_>,
    text: &str,
    format: &str,
    seed: u64,
    flow: usize,
    at_ns: u64,
    cancel: Option<Py<Cancel>>,
    next: Option<&str>,
    previous: Option<&str>,
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
    let flow = tcp_flow(&plan, flow).map_err(|fault| fault_error(py, "ScenarioError", [fault]))?;
    let refused = |place: &str, fault: Fault| fault_error(py, "ScenarioError", [fault.at(place)]);
    let other = against.map(|text| catalogue.parse(text)).transpose().map_err(|fault| refused("against", fault))?;
    let (place, kind) = previous.map_or(("next", next), |kind| ("previous", Some(kind)));
    let wanted = kind.map_or(Ok(Wanted::Any), Wanted::parse).map_err(|fault| refused(place, fault))?;
    let given = constructors.unwrap_or_default();
    let constructors = py_algorithms::needed_constructors(&plan, &scenario, other.as_ref(), given).map_err(to_error)?;
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    let inner = Arc::clone(&stop);
    let search = Search { wanted, at: Time::from_nanos(at_ns), backward: previous.is_some() };
    let question = Question { seed, flow, search, context, tolerance: Bytes(tolerance_bytes) };
    let (outcome, failure) = run_in_thread(py, &stop, move || {
        Ok(py_algorithms::with_constructors(constructors, || {
            guarded(|| answer(&plan, question, other.as_ref(), &inner))
        }))
    })?
    .unwrap_or_else(|panic| (Err(panic), None));
    match (outcome, failure) {
        (Ok(Ok(value)), _) => Ok(value.to_string()),
        (_, Some(failure)) => Err(algorithm_error(py, failure, &format!("of the run with seed {seed}"))),
        (Ok(Err(_)), None) => Err(fault_error(py, "RunError", [Fault::new("debug", "cancelled", "")])),
        (Err(panic), None) => Err(fault_error(py, "RunError", [panic])),
    }
}

/// The flow of this number, which has a congestion control.
fn tcp_flow(plan: &Plan, number: usize) -> Result<FlowId, Fault> {
    let Some(flow) = plan.flows.ids().nth(number) else {
        let hint = format!("the flows are 0 to {}", plan.flows.len().saturating_sub(1));
        return Err(Fault::new("flow", format!("there is no flow {number}"), hint));
    };
    if plan.flows[flow].algorithm.is_none() {
        let what = format!("flow {number} has no congestion control");
        return Err(Fault::new("flow", what, "choose a flow over TCP"));
    }
    Ok(flow)
}

fn answer(plan: &Plan, question: Question, other: Option<&Algorithm>, stop: &Arc<AtomicBool>) -> Result<Value, Fault> {
    let Question { seed, flow, search, context, tolerance } = question;
    let algorithm: &Algorithm = plan.flows[flow].algorithm.as_ref().expect("was checked");
    let (mut value, moment) = if let Some(other) = other {
        let found = diverge(plan, seed, flow, other, search.at, tolerance, stop)?;
        let moment = found.as_ref().map(|found| json::divergence(found, algorithm, other));
        (json!({"earlier": [], "moment": moment, "later": []}), found.map(|found| found.moment))
    } else {
        let view = look(plan, seed, flow, search, context, stop)?.0;
        (json::view(&view, algorithm), view.moment)
    };
    // Set where the answer was complete before the end of the run.
    stop.store(false, Ordering::Relaxed);
    value["algorithm"] = json!(algorithm.to_string());
    value["entry"] = json!(algorithm.growth.spec.name);
    if let Some(moment) = moment {
        let now = moment.event.now();
        let report = |at| Ok::<_, Fault>(transport_at(plan, seed, flow, at, stop)?.as_ref().map(json::transport));
        value["transport"] =
            json!({"before": report(Time::from_nanos(now.as_nanos().saturating_sub(1)))?, "after": report(now)?});
        match lost_packet(plan, seed, flow, &moment, stop)? {
            Ok(found) => value["lost_packet"] = json::lost_packet(&found),
            Err(reason) => value["no_lost_packet"] = json!(reason),
        }
    }
    Ok(value)
}
