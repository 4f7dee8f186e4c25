//! The arrival of a packet at a link with agents.

use cwndlab_units::{ConnectionId, Duration, Time};

/// The properties of an arriving packet that agents use.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of arrival at the link.
    pub now: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// The connection.
    pub connection: ConnectionId,
    /// Position of the link in the flow's route, from 0.
    pub hop: u8,
    /// Time until the line has sent all earlier packets.
    pub backlog: Duration,
    /// Present rate of the line, bit/s.
    pub rate: f64,
    /// The packet is a SYN.
    pub syn: bool,
    /// The link belongs to a router, not to the sending host, so that its feedback counts.
    pub router: bool,
}

#[cfg(test)]
pub(crate) mod scripted {
    use super::{Arrival, Duration, Time};

    /// A full-size packet of connection 0 at `now` ns.
    pub(crate) fn packet(now: u64) -> Arrival {
        Arrival {
            now: Time::from_nanos(now),
            size: 1500,
            connection: 0.into(),
            hop: 1,
            backlog: Duration::ZERO,
            rate: 10e6,
            syn: false,
            router: true,
        }
    }

    /// Milliseconds in nanoseconds.
    pub(crate) const MS: u64 = 1_000_000;
}
