//! Simulations that are stepped, one (`Simulation`) or several with arrays (`SimulationBatch`), and
//! the agents that decide in them (`Agents`).

pub(crate) mod agents;
pub(crate) mod batch;
pub(crate) mod owned;
pub(crate) mod report;
pub(crate) mod simulation;

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyValueError;
use pyo3::PyResult;

/// Locks what a call steps. A step releases the interpreter's lock and takes it again, also for handlers of signals. A
/// call that waited for the step with that lock would wait for ever, so it fails.
fn lock_unused<T>(state: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match state.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(PyValueError::new_err("the simulation is in use by another call")),
    }
}
