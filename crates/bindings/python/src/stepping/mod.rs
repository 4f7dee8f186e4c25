//! Simulations that are stepped, one (`Simulation`) or several with arrays (`SimulationBatch`), and
//! the agents that decide in them (`Agents`).

pub(crate) mod agents;
pub(crate) mod batch;
pub(crate) mod owned;
pub(crate) mod report;
pub(crate) mod simulation;
