//! The Python module `cwndlab._engine`: a scenario goes down as text, records come up as Arrow. No logic; only an
//! algorithm that is a class in Python is called in between (`object`).

mod catalogue;
mod conformance;
mod emulate;
mod events;
mod live;
mod object;
mod own;
mod question;
mod records;
mod replay;
mod trace;
mod word;
mod work;

use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The version, and after `+` a digest of the sources that simulate: what results are kept under.
#[pyfunction]
fn engine_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("CWNDLAB_SOURCES"))
}

/// An exception of `cwndlab.errors` with these faults: where, what, hint.
fn raise(py: Python<'_>, class: &str, faults: Vec<(String, String, String)>) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("cwndlab.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(pyo3::types::PyTuple::new(py, faults)?)?))
    };
    made().unwrap_or_else(|failure| failure)
}

#[pymodule]
#[pyo3(name = "_engine")]
fn engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::quiet_panics();
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::aliases, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::canonical_algorithm, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::entry_in_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance_texts, module)?)?;
    module.add_function(wrap_pyfunction!(question::check, module)?)?;
    module.add_function(wrap_pyfunction!(question::to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(question::stack_fields, module)?)?;
    module.add_function(wrap_pyfunction!(question::scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(question::declarations, module)?)?;
    module.add_function(wrap_pyfunction!(work::run, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(live::fetch, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve_limits, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::become_root, module)?)?;
    module.add_function(wrap_pyfunction!(records::tables, module)?)?;
    module.add_function(wrap_pyfunction!(records::read, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay_courses, module)?)?;
    module.add_function(wrap_pyfunction!(records::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_make, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_moments, module)?)?;
    module.add_class::<events::Ack>()?;
    module.add_class::<events::Congestion>()?;
    module.add_class::<events::DeliveryRate>()?;
    module.add_class::<events::Path>()?;
    module.add_class::<events::Sent>()?;
    module.add_class::<events::Window>()?;
    module.add_class::<live::Server>()?;
    module.add_class::<work::Cancel>()?;
    module.add_class::<emulate::Between>()?;
    module.add_class::<records::Records>()?;
    module.add_class::<records::Table>()?;
    Ok(())
}
