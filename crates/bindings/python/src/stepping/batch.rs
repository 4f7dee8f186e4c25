//! Several simulations, with reports and actions in arrays of NumPy.

use std::path::PathBuf;
use std::sync::Mutex;

use cwndlab_learned::Action;
use cwndlab_stepping::Simulation;
use cwndlab_units::Fault;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use super::agents::{check, Agents};
use super::lock_unused;
use super::owned::{step_error, Interrupts, Owned};
use super::report::{self, FIELDS};
use crate::errors::guarded;
use crate::records::Records;

/// Columns of the actions without agents: window and pacing rate.
const ACTIONS: usize = 2;

/// Several runs, each stepped from one decision to the next.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct SimulationBatch {
    slots: Mutex<Slots>,
}

struct Slots {
    all: Vec<Option<Owned>>,
    /// The content of `reports`, row by row.
    rows: Vec<f64>,
    reports: PyBuffer<f64>,
    actions: PyBuffer<f64>,
    /// Whose flows these are; each has one action then.
    agents: Option<Py<Agents>>,
}

impl Slots {
    fn set_row(&mut self, index: usize, row: &[f64; FIELDS.len()]) {
        self.rows[index * FIELDS.len()..][..FIELDS.len()].copy_from_slice(row);
    }

    /// The change of each simulation's window and pacing rate.
    fn changes(&self, actions: &[f64]) -> Vec<Action> {
        match self.agents.as_ref().map(Py::get) {
            None => actions.chunks_exact(ACTIONS).map(|one| report::action(one[0], one[1])).collect(),
            Some(agents) => {
                let rows = agents.lock();
                let outputs = actions.iter().enumerate();
                outputs.map(|(index, &output)| agents.decision(&rows, index, output)).collect()
            }
        }
    }

    /// Enters the report of a decision, or that of the end.
    fn enter(&mut self, index: usize, row: &[f64; FIELDS.len()]) {
        self.set_row(index, row);
        if let Some(agents) = self.agents.as_ref().map(Py::get) {
            agents.enter(&mut agents.lock(), index, row);
        }
    }

    fn write(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(agents) = self.agents.as_ref().map(Py::get) {
            agents.write(py, &agents.lock())?;
        }
        self.reports.copy_from_slice(py, &self.rows)
    }

    fn check_index(&self, index: usize) -> PyResult<()> {
        if index < self.all.len() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("index: there are {} simulations, not {}", self.all.len(), index + 1)))
    }
}

/// Continues a simulation to its next decision; returns its row.
fn next_row(simulation: &mut Simulation, stopped: &mut dyn FnMut() -> bool) -> Result<[f64; FIELDS.len()], Fault> {
    if let Some(one) = simulation.next_decision(stopped)? {
        return Ok(report::row(one.flow, &one.report));
    }
    Ok(report::last_row(simulation.now().as_nanos() as f64 / 1e9))
}

#[pymethods]
impl SimulationBatch {
    #[new]
    #[pyo3(signature = (reports, actions, agents=None))]
    fn new(reports: PyBuffer<f64>, actions: PyBuffer<f64>, agents: Option<Py<Agents>>) -> PyResult<Self> {
        check("reports", &reports, FIELDS.len(), true)?;
        check("actions", &actions, if agents.is_some() { 1 } else { ACTIONS }, false)?;
        if reports.shape()[0] != actions.shape()[0] {
            return Err(PyValueError::new_err(format!(
                "actions: expected {} rows, as many as reports has, not {}",
                reports.shape()[0],
                actions.shape()[0]
            )));
        }
        let rows = reports.shape()[0];
        if let Some(agents) = agents.as_ref().map(Py::get).filter(|agents| agents.count() != rows) {
            return Err(PyValueError::new_err(format!(
                "agents: expected {rows}, as many as reports has rows, not {}",
                agents.count()
            )));
        }
        let slots = Slots {
            all: (0..rows).map(|_| None).collect(),
            rows: vec![f64::NAN; rows * FIELDS.len()],
            reports,
            actions,
            agents,
        };
        Ok(Self { slots: Mutex::new(slots) })
    }

    /// Replaces a simulation, continues the new one to its first decision, and fills its row.
    #[pyo3(signature = (index, text, format, seed, *, folder=None))]
    fn start(
        &self,
        py: Python<'_>,
        index: usize,
        text: &str,
        format: &str,
        seed: u64,
        folder: Option<PathBuf>,
    ) -> PyResult<()> {
        let mut slots = lock_unused(&self.slots)?;
        slots.check_index(index)?;
        slots.all[index] = None;
        let mut owned = Owned::new(py, text, format, seed, folder)?;
        let row = owned.step(py, Interrupts::new(None), next_row)?;
        slots.set_row(index, &row);
        slots.all[index] = Some(owned);
        if let Some(agents) = slots.agents.as_ref().map(Py::get) {
            agents.begin(&mut agents.lock(), index, &row);
        }
        slots.write(py)
    }

    /// Applies the actions, continues each unfinished simulation to its next decision, and fills its row.
    ///
    /// Returns false, and does nothing, where an action of an agent is not a number.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        let mut slots = lock_unused(&self.slots)?;
        let actions: Vec<f64> = slots.actions.to_vec(py)?;
        if slots.agents.is_some() && actions.iter().any(|action| action.is_nan()) {
            return Ok(false);
        }
        let actions = slots.changes(&actions);
        let all = &mut slots.all;
        let mut interrupts = Interrupts::new(None);
        let stepped = py.detach(|| {
            let mut rows = Vec::with_capacity(all.len());
            for (index, slot) in all.iter_mut().enumerate() {
                let Some(owned) = slot.as_mut().filter(|owned| !owned.simulation.is_over()) else { continue };
                let row = guarded(|| {
                    if let Some(flow) = owned.simulation.decision().map(|one| one.flow) {
                        owned.simulation.set(flow, actions[index])?;
                    }
                    next_row(&mut owned.simulation, &mut || interrupts.arrived())
                });
                let failed = !matches!(row, Ok(Ok(_)));
                rows.push((index, row));
                if failed {
                    break;
                }
            }
            rows
        });
        for (index, row) in stepped {
            match row {
                Ok(Ok(row)) => slots.enter(index, &row),
                Ok(Err(error)) => return Err(interrupts.take_signal().unwrap_or_else(|| step_error(py, error))),
                Err(panic) => {
                    let failed = slots.all[index].as_ref();
                    return Err(match failed {
                        Some(owned) => owned.failure(py, panic),
                        None => PyValueError::new_err(panic.to_string()),
                    });
                }
            }
        }
        slots.write(py)?;
        Ok(true)
    }

    /// Runs a simulation to its end and returns its records.
    fn records(&self, py: Python<'_>, index: usize) -> PyResult<Records> {
        let mut slots = lock_unused(&self.slots)?;
        slots.check_index(index)?;
        match &mut slots.all[index] {
            Some(owned) => owned.records(py, Interrupts::new(None)),
            None => Err(PyValueError::new_err(format!("index: simulation {index} has not been started"))),
        }
    }

    /// Frees all simulations.
    fn close(&self) -> PyResult<()> {
        lock_unused(&self.slots)?.all.fill_with(|| None);
        Ok(())
    }
}
