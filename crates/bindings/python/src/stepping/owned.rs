//! A simulation with the header of its records.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use cwndlab_records::table::Header;
use cwndlab_stepping::Simulation;
use cwndlab_units::{Bytes, Fault};
use pyo3::prelude::*;

use crate::errors::{fault_error, guarded};
use crate::records::Records;
use crate::{py_algorithms, scenario, work};

/// A simulation with the header of its records.
pub(crate) struct Owned {
    pub(crate) simulation: Simulation,
    header: Header,
    /// Payload of a segment, by flow.
    mss: Vec<Bytes>,
}

/// Converts a fault of a step to a `RunError`.
pub(crate) fn step_error(py: Python<'_>, fault: Fault) -> PyErr {
    fault_error(py, "RunError", [fault])
}

/// Looks for Ctrl-C and for a cancellation.
pub(crate) struct Interrupts {
    cancel: Arc<AtomicBool>,
    signal: Option<PyErr>,
}

impl Interrupts {
    pub(crate) fn new(cancel: Option<Arc<AtomicBool>>) -> Self {
        Self { cancel: cancel.unwrap_or_default(), signal: None }
    }

    /// Whether to stop.
    pub(crate) fn arrived(&mut self) -> bool {
        if self.cancel.load(Ordering::Relaxed) {
            return true;
        }
        self.signal = Python::attach(|py| py.check_signals().err());
        self.signal.is_some()
    }
}

impl Interrupts {
    /// The exception of a signal.
    pub(crate) fn take_signal(&mut self) -> Option<PyErr> {
        self.signal.take()
    }
}

impl Owned {
    /// Payload of a segment of a flow.
    pub(crate) fn mss(&self, flow: usize) -> Bytes {
        self.mss.get(flow).copied().unwrap_or_default()
    }

    /// The error of a panic of the engine.
    pub(crate) fn failure(&self, py: Python<'_>, panic: Fault) -> PyErr {
        work::panic_error(py, panic, self.header.seed)
    }

    /// The simulation of a scenario, before its first event.
    pub(crate) fn new(py: Python<'_>, text: &str, format: &str, seed: u64, folder: Option<PathBuf>) -> PyResult<Self> {
        let scenario = scenario::read(py, text, format, folder)?;
        let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario::scenario_error(py, faults))?;
        let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario::scenario_error(py, faults))?;
        if let Some(flow) = plan.flows.iter().position(py_algorithms::is_class) {
            let what = "a class in Python cannot run in a simulation that is stepped";
            let hint = "make it 'external(every=ack)', and decide by the class";
            let fault = Fault::new(format!("flow[{flow}].algorithm"), what, hint);
            return Err(fault_error(py, "ScenarioError", [fault]));
        }
        let header = work::header(&scenario, &plan, seed, "simulate", notes);
        let mss = plan.flows.iter().map(|flow| flow.stack.mss).collect();
        let simulation = Simulation::new(plan, seed).map_err(|error| step_error(py, error))?;
        Ok(Self { simulation, header, mss })
    }

    /// Calls `step` without the interpreter's lock. A panic of the engine becomes an error.
    pub(crate) fn step<T: Send>(
        &mut self,
        py: Python<'_>,
        mut interrupts: Interrupts,
        step: impl FnOnce(&mut Simulation, &mut dyn FnMut() -> bool) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        let simulation = &mut self.simulation;
        let (outcome, interrupts) = py.detach(move || {
            let outcome = guarded(|| step(simulation, &mut || interrupts.arrived()));
            (outcome, interrupts)
        });
        match outcome {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(interrupts.signal.unwrap_or_else(|| step_error(py, error))),
            Err(panic) => Err(self.failure(py, panic)),
        }
    }

    /// Runs to the end and returns the records.
    pub(crate) fn records(&mut self, py: Python<'_>, interrupts: Interrupts) -> PyResult<Records> {
        let header = self.header.clone();
        self.step(py, interrupts, move |simulation, stopped| {
            simulation.records(stopped).map(|records| work::simulated(header, records.clone()))
        })
        .map(Records::new)
    }
}
