//! The catalogue of algorithms as dictionaries.

use std::borrow::Cow;

use cwndlab_control::{Confidence, Domain, Kind, Need, Parameter, Spec, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::errors::fault_error;
use crate::scenario;

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::CongestionAvoidance => "growth",
        Kind::SlowStart => "slow-start",
        Kind::Recovery => "recovery",
        Kind::Whole => "whole",
        Kind::Router => "router",
        Kind::Mechanism => "mechanism",
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

fn need(need: Need) -> Cow<'static, str> {
    match need {
        Need::Pacing => "pacing".into(),
        Need::Ecn => "ecn".into(),
        Need::L4s => "l4s".into(),
        Need::EveryAck => "every-ack".into(),
        Need::LossInReduction => "loss-in-reduction".into(),
        Need::Spacing => "spacing".into(),
        Need::Agent(scheme) => format!("agent {scheme}").into(),
    }
}

fn value(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Word(word) => PyString::new(py, word).into_any(),
    })
}

fn parameter<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", parameter.name)?;
    entry.set_item("unit", parameter.unit)?;
    entry.set_item("default", value(py, parameter.default)?)?;
    match parameter.domain {
        Domain::Range(low, high) => {
            entry.set_item("low", low)?;
            entry.set_item("high", high)?;
        }
        Domain::Words(words) => entry.set_item("words", words)?,
    }
    entry.set_item("doc", parameter.doc)?;
    Ok(entry)
}

/// The limits of the entry over QUIC, or the reason why it does not run over QUIC.
fn over_quic(spec: &Spec) -> Vec<String> {
    let text = match spec.kind {
        Kind::CongestionAvoidance | Kind::Whole | Kind::Router => spec.name.to_owned(),
        Kind::SlowStart => format!("reno+{}", spec.name),
        Kind::Recovery | Kind::Mechanism => return Vec::new(),
    };
    let Ok(algorithm) = cwndlab_simulator::catalogue().parse(&text) else { return Vec::new() };
    match cwndlab_quic::Factory::new(&algorithm) {
        Ok(_) => cwndlab_quic::limits(&algorithm).into_iter().map(str::to_owned).collect(),
        Err(refused) => vec![refused.what],
    }
}

fn entry<'py>(py: Python<'py>, spec: &Spec) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", spec.name)?;
    entry.set_item("title", spec.title)?;
    entry.set_item("kind", kind(spec.kind))?;
    entry.set_item("source", spec.source)?;
    entry.set_item("year", spec.year)?;
    entry.set_item("confidence", confidence(spec.confidence))?;
    entry.set_item("summary", spec.summary)?;
    let parameters: Vec<_> = spec.parameters.iter().map(|one| parameter(py, one)).collect::<PyResult<_>>()?;
    entry.set_item("parameters", PyList::new(py, parameters)?)?;
    entry.set_item("choices", spec.choices)?;
    entry.set_item("pitfalls", spec.pitfalls)?;
    entry.set_item("companion", spec.companion)?;
    entry.set_item("model_based", spec.model_based)?;
    entry.set_item("needs", spec.needs.iter().copied().map(need).collect::<Vec<_>>())?;
    entry.set_item("incompatible", spec.incompatible)?;
    entry.set_item("quic", over_quic(spec))?;
    Ok(entry)
}

/// All entries, in the catalogue's order.
#[pyfunction]
pub(crate) fn algorithms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    cwndlab_simulator::catalogue().specs.iter().map(|spec| entry(py, spec)).collect()
}

/// Aliases and the names that they stand for.
#[pyfunction]
pub(crate) fn aliases() -> Vec<(&'static str, &'static str)> {
    cwndlab_simulator::catalogue().aliases.to_vec()
}

/// The entry that is registered with the kernel's TCP under this name, `cwndlab_…`; `None` for unknown names.
#[pyfunction]
pub(crate) fn entry_in_kernel(name: &str) -> Option<&'static str> {
    cwndlab_control::kernel_name::entry_of(name, &cwndlab_simulator::catalogue())
}

/// The canonical text of an algorithm: `hstcp` becomes `highspeed+standard`. `scenario` (JSON) may declare further
/// algorithms.
#[pyfunction]
#[pyo3(signature = (text, scenario=None))]
pub(crate) fn canonical_algorithm(py: Python<'_>, text: &str, scenario: Option<&str>) -> PyResult<String> {
    match scenario::catalogue(py, scenario)?.parse(text) {
        Ok(algorithm) => Ok(algorithm.to_string()),
        Err(fault) => Err(fault_error(py, "ScenarioError", [fault])),
    }
}
