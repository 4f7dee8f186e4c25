//! Exceptions of `cwndlab.errors`.

use cwndlab_units::panics::catch;
use cwndlab_units::Fault;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Creates an exception of `cwndlab.errors` with these faults.
pub(crate) fn fault_error(py: Python<'_>, class: &str, faults: impl IntoIterator<Item = Fault>) -> PyErr {
    let faults = faults.into_iter().map(|fault| (fault.place, fault.what, fault.hint)).collect::<Vec<_>>();
    let error = || -> PyResult<PyErr> {
        let class = py.import("cwndlab.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(PyTuple::new(py, faults)?)?))
    };
    error().unwrap_or_else(|failure| failure)
}

/// Calls `work`; a panic becomes a fault.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch(work).map_err(Fault::from)
}
