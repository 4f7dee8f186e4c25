//! The connections of a flow with the workload "arrivals".

use cwndlab_traffic::arrival_process::ArrivalProcess;
use cwndlab_units::ConnectionId;

/// An arrival process, and the connections for its transfers.
#[derive(Debug)]
pub(crate) struct ArrivalConnections {
    /// The arrival process.
    pub(crate) process: ArrivalProcess,
    /// Maximum number of simultaneous connections.
    pub(crate) limit: usize,
    /// Connections without a transfer.
    pub(crate) free: Vec<ConnectionId>,
    /// All connections.
    pub(crate) all: Vec<ConnectionId>,
}

impl ArrivalConnections {
    /// The state without connections.
    pub(crate) fn new(process: ArrivalProcess) -> Self {
        Self { limit: process.connections() as usize, process, free: Vec::new(), all: Vec::new() }
    }

    /// Whether all transfers have arrived and are complete.
    pub(crate) fn is_over(&self) -> bool {
        self.process.is_over() && self.free.len() == self.all.len()
    }
}
