//! The connections that carry the transfers of one flow with arrivals.

use cwndlab_traffic::arrival_process::ArrivalProcess;

/// Transfers that arrive, and the connections that carry them.
#[derive(Debug)]
pub(crate) struct ArrivalConnections {
    /// The arrivals.
    pub(crate) process: ArrivalProcess,
    /// The most connections at the same time.
    pub(crate) limit: usize,
    /// Connections without a transfer.
    pub(crate) free: Vec<u32>,
    /// All connections.
    pub(crate) all: Vec<u32>,
}

impl ArrivalConnections {
    /// No connections yet.
    pub(crate) fn new(process: ArrivalProcess) -> Self {
        Self { limit: process.connections() as usize, process, free: Vec::new(), all: Vec::new() }
    }

    /// Whether no transfer is under way and no more will arrive.
    pub(crate) fn is_over(&self) -> bool {
        self.process.is_over() && self.free.len() == self.all.len()
    }
}
