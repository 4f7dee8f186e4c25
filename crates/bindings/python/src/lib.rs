//! The Python module `cwndlab._engine`: accepts scenarios as text and returns records as Arrow tables. During a run it
//! calls Python only for algorithms (`cwndlab_python_classes`) and congestion controls for media (`py_controls`) that are
//! Python classes.

mod audit;
mod catalogue;
mod conformance;
mod debugger;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
#[cfg(target_os = "linux")]
mod live;
mod packetdrill;
mod py_algorithms;
mod py_controls;
mod records;
mod replay;
mod scenario;
mod stepping;
mod trace;
mod work;

use cwndlab_python_classes::{events, rust_file};
use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The version and, after `+`, a digest of the sources that a simulation depends on: the key of cached results.
#[pyfunction]
fn engine_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("CWNDLAB_SOURCES"))
}

#[pymodule]
#[pyo3(name = "_engine")]
fn engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::aliases, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::canonical_algorithm, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::entry_in_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance_texts, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::check, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::stack_fields, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::declarations, module)?)?;
    module.add_function(wrap_pyfunction!(work::run, module)?)?;
    module.add_function(wrap_pyfunction!(records::tables, module)?)?;
    module.add_function(wrap_pyfunction!(records::finding_codes, module)?)?;
    module.add_function(wrap_pyfunction!(records::read, module)?)?;
    module.add_function(wrap_pyfunction!(audit::audit, module)?)?;
    module.add_function(wrap_pyfunction!(audit::captured_transfer, module)?)?;
    module.add_function(wrap_pyfunction!(audit::explain, module)?)?;
    module.add_function(wrap_pyfunction!(debugger::debug, module)?)?;
    module.add_function(wrap_pyfunction!(debugger::debug_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay_cases, module)?)?;
    module.add_function(wrap_pyfunction!(records::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(trace::make_trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace::parse_trace, module)?)?;
    module.add_class::<rust_file::RustLibrary>()?;
    module.add_class::<rust_file::RustControl>()?;
    module.add_class::<events::Ack>()?;
    module.add_class::<events::Congestion>()?;
    module.add_class::<events::DeliveryRate>()?;
    module.add_class::<events::Path>()?;
    module.add_class::<events::Sent>()?;
    module.add_class::<events::Window>()?;
    py_controls::add(module)?;
    module.add_class::<work::Cancel>()?;
    module.add_class::<records::Records>()?;
    module.add_class::<records::Table>()?;
    add_stepping(module)?;
    #[cfg(target_os = "linux")]
    add_linux(module)?;
    Ok(())
}

/// Adds simulations that are stepped.
fn add_stepping(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stepping::report::decision_fields, module)?)?;
    module.add_class::<stepping::simulation::Simulation>()?;
    module.add_class::<stepping::batch::SimulationBatch>()?;
    module.add_class::<stepping::agents::Agents>()?;
    module.add_function(wrap_pyfunction!(stepping::agents::interval_fields, module)?)?;
    module.add_function(wrap_pyfunction!(stepping::agents::interval_reward, module)?)?;
    module.add_function(wrap_pyfunction!(stepping::agents::action_factors, module)?)?;
    Ok(())
}

/// Adds emulation and measurement.
#[cfg(target_os = "linux")]
fn add_linux(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(emulate::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(live::fetch, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve_limits, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::become_root, module)?)?;
    module.add_class::<live::Server>()?;
    module.add_class::<emulate::EmulatedPath>()?;
    Ok(())
}
