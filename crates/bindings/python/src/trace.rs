//! Traces of delivery opportunities: reading and making.

use cwndlab_scenario::trace;
use pyo3::prelude::*;

/// The moments of the trace in `text`, in ms; `name` stands in messages. Raises `cwndlab.errors.ScenarioError`.
#[pyfunction]
pub(crate) fn trace_moments(py: Python<'_>, text: &str, name: &str) -> PyResult<Vec<u32>> {
    trace::parse(text, name).map(|stamps| stamps.to_vec()).map_err(|what| {
        let (place, what) = what.split_once(": ").unwrap_or((name, &what));
        let hint = "one integer number of milliseconds per line, in non-decreasing order";
        crate::errors::raise(py, "ScenarioError", vec![(place.to_owned(), what.to_owned(), hint.to_owned())])
    })
}

/// The moments of a synthetic trace, in ms; nothing where no kind is called so.
#[pyfunction]
pub(crate) fn trace_make(kind: &str, seed: u64, seconds: u32) -> Option<Vec<u32>> {
    Some(trace::SyntheticTrace::named(kind)?.generate(seed, seconds))
}

/// Names of the synthetic traces, and seed and length in seconds of those that a scenario takes by name.
#[pyfunction]
pub(crate) fn trace_kinds() -> (Vec<&'static str>, u64, u32) {
    (trace::SYNTHETIC.iter().map(|kind| kind.name).collect(), trace::SEED, trace::DURATION_S)
}
