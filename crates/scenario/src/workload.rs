//! What applications send, and when.

use cwndlab_units::{Bytes, Duration, Rate};

/// What an application sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// As much as possible, or `bytes` of it.
    Bulk {
        /// How much; `None` is endless.
        bytes: Option<Bytes>,
    },
    /// Sends as much as possible for `on`, then is silent for `off`, and so on.
    OnOff {
        /// Length of an active period.
        on: Duration,
        /// Length of a silent one.
        off: Duration,
    },
    /// `count` transfers of `bytes` each, the next one `gap` after the last was acknowledged.
    Transfers {
        /// How many; `None` is without end.
        count: Option<u64>,
        /// Size of each.
        bytes: Bytes,
        /// Pause between them.
        gap: Duration,
        /// Each over a connection of its own, with handshake and initial window.
        new_connection: bool,
    },
    /// Datagrams of `packet` bytes on the wire at `rate`, headers included (UDP).
    Datagrams {
        /// While it sends.
        rate: Rate,
        /// Bytes of a packet, headers included.
        packet: Bytes,
        /// When it sends.
        pattern: Pattern,
    },
}

impl Workload {
    /// It is sent by UDP.
    #[must_use]
    pub fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams { .. })
    }
}

/// When a source of datagrams sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Always, evenly spaced.
    Steady,
}
