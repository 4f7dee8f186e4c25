//! Simulations that are stepped, one (`Simulation`) or several with arrays (`SimulationBatch`).

pub(crate) mod batch;
pub(crate) mod owned;
pub(crate) mod report;
pub(crate) mod simulation;
