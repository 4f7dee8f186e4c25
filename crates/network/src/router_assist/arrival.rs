//! A packet as it is offered to a link.

use cwndlab_units::{Duration, Time};

/// A packet as an agent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrives at the link.
    pub now: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The place of the link in the flow's route, from 0.
    pub hop: u8,
    /// How long the line is still busy with what came before.
    pub backlog: Duration,
    /// It opens the connection.
    pub syn: bool,
    /// The link leaves a router, not the sender itself: its answer counts.
    pub router: bool,
}

#[cfg(test)]
pub(crate) mod scripted {
    use super::{Arrival, Duration, Time};

    /// A full packet of flow 0 at `now` ns.
    pub(crate) fn packet(now: u64) -> Arrival {
        Arrival { now: Time(now), size: 1500, flow: 0, hop: 1, backlog: Duration::ZERO, syn: false, router: true }
    }

    /// Milliseconds in nanoseconds.
    pub(crate) const MS: u64 = 1_000_000;
}
