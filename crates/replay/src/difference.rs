//! How a backend differs from the record: one difference, and the known kinds with their reasons.

use std::fmt;

use crate::event_log::EventLog;

/// What a backend cannot know of what the simulator's transport reports, and why.
///
/// In the order of what they do to a window: of several that came before it the last is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownDifference {
    /// The kernel's datapath.
    Sends,
    /// QUIC: packets of their own number.
    Numbers,
    /// `quinn` counts no marks.
    Marks,
    /// QUIC: no cumulative acknowledgement.
    Cumulative,
    /// QUIC: RFC 9002's recovery period.
    Period,
    /// `quinn` knows one kind of limit.
    Limit,
    /// `quinn` tells no pauses.
    Idle,
    /// QUIC has no undo.
    Undo,
    /// `quinn` tells no timeouts.
    Timer,
}

impl KnownDifference {
    /// The reason, in a sentence.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Sends => "the datapath sums up what left and tells it with the next report",
            Self::Numbers => "QUIC numbers what it sends again anew: RTT and rate of it are samples, which TCP does not take",
            Self::Cumulative => "QUIC acknowledges packets one by one: those above a hole count at once, and end rounds",
            Self::Period => {
                "QUIC's recovery ends with the first packet that left in it (RFC 9002, 7.3.2), TCP's when all that was out is acknowledged"
            }
            Self::Marks => "quinn tells that an ACK reported marks, not how many",
            Self::Limit => "quinn tells that the sender is short of data, not whether the window was full",
            Self::Idle => "quinn tells nothing of a pause: the window does not restart after it",
            Self::Undo => "QUIC takes no reduction back",
            Self::Timer => "quinn tells of no timeout, but of persistent congestion once an ACK shows it (RFC 9002, 7.6)",
        }
    }
}

/// The first of a kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event in the log, from 1.
    pub event: usize,
    /// When, nanoseconds.
    pub now_ns: u64,
    /// The event in words.
    pub told: String,
    /// What differs: a field of the event, or the window.
    pub field: &'static str,
    /// In the record.
    pub recorded: String,
    /// In the backend.
    pub replayed: String,
    /// Why it must be so; `None`: there is no reason.
    pub known: Option<KnownDifference>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, now_ns, told, field, recorded, replayed, .. } = self;
        let seconds = *now_ns as f64 / 1e9;
        write!(f, "event {event} at {seconds:.6} s, {told}: {field} is {recorded} in the record and {replayed} here")
    }
}

/// The difference at an event of the log.
pub(crate) fn difference(
    log: &EventLog,
    at: usize,
    field: &'static str,
    recorded: String,
    replayed: String,
    known: Option<KnownDifference>,
) -> Difference {
    let told = &log.entries[at].told;
    Difference { event: at + 1, now_ns: told.now().0, told: told.words(), field, recorded, replayed, known }
}
