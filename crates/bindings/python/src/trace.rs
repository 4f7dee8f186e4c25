//! Traces of delivery opportunities: parsing and generation.

use cwndlab_scenario::trace;
use cwndlab_units::Fault;
use pyo3::prelude::*;

/// Parses the trace in `text`; returns its times in ms. `name` is used in error messages. Raises
/// `cwndlab.errors.ScenarioError`.
#[pyfunction]
pub(crate) fn parse_trace(py: Python<'_>, text: &str, name: &str) -> PyResult<Vec<u32>> {
    trace::parse(text, name).map(|stamps| stamps.to_vec()).map_err(|what| {
        let (place, what) = what.split_once(": ").unwrap_or((name, &what));
        let hint = "write one integer number of milliseconds per line, in non-decreasing order";
        crate::errors::fault_error(py, "ScenarioError", [Fault::new(place, what, hint)])
    })
}

/// Generates a synthetic trace; returns its times in ms, `None` for an unknown kind.
#[pyfunction]
pub(crate) fn make_trace(kind: &str, seed: u64, seconds: u32) -> Option<Vec<u32>> {
    Some(trace::SyntheticTrace::named(kind)?.generate(seed, seconds))
}

/// Names of the synthetic traces; seed and length (s) of those that a scenario selects by name.
#[pyfunction]
pub(crate) fn trace_kinds() -> (Vec<&'static str>, u64, u32) {
    (trace::SYNTHETIC.iter().map(|kind| kind.name).collect(), trace::SEED, trace::DURATION_S)
}
