//! A packet as it is offered to a link.

/// A packet as an agent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrives at the link.
    pub now: u64,
    /// Bytes on the wire.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The place of the link in the flow's route, from 0.
    pub hop: u8,
    /// How long the line is still busy with what came before, ns.
    pub backlog: u64,
    /// It opens the connection.
    pub syn: bool,
    /// The link leaves a router, not the sender itself: its answer counts.
    pub router: bool,
}

#[cfg(test)]
pub(crate) mod scripted {
    use super::Arrival;

    /// A full packet of flow 0 at `now`.
    pub(crate) fn packet(now: u64) -> Arrival {
        Arrival { now, size: 1500, flow: 0, hop: 1, backlog: 0, syn: false, router: true }
    }

    /// Milliseconds in nanoseconds.
    pub(crate) const MS: u64 = 1_000_000;
}
