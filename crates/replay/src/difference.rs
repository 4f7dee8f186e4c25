//! Differences between a backend and the record, and the known differences with their reasons.

use std::fmt;

use crate::event_log::EventLog;

/// Information of the simulator's transport that a backend does not have.
///
/// The order is that of the effect on a window: a differing window is attributed to the last one of the differences
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownDifference {
    /// Kernel: sent segments are reported with the next report.
    SentSegments,
    /// QUIC: each packet, including a retransmission, has a new packet number.
    PacketNumbers,
    /// `quinn`: no number of CE marks.
    MarkCount,
    /// QUIC: no cumulative acknowledgement.
    CumulativeAck,
    /// QUIC: the recovery period of RFC 9002.
    RecoveryPeriod,
    /// `quinn`: only the application-limited state is reported.
    WindowLimit,
    /// `quinn`: no report of idle periods.
    IdlePeriod,
    /// QUIC: no undo.
    Undo,
    /// `quinn`: no report of timeouts.
    Timeout,
}

impl KnownDifference {
    /// The reason, one sentence.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::SentSegments => "the datapath reports the number of sent segments with the next report",
            Self::PacketNumbers => "a retransmission over QUIC has a new packet number, so that it gives RTT and rate samples, unlike TCP",
            Self::CumulativeAck => "QUIC acknowledges packets individually: packets above a hole count immediately and end rounds",
            Self::RecoveryPeriod => {
                "recovery over QUIC ends with the acknowledgement of a packet sent in it (RFC 9002, 7.3.2), over TCP with that of all data outstanding at its start"
            }
            Self::MarkCount => "quinn reports that an ACK has CE marks, not their number",
            Self::WindowLimit => "quinn reports only the application-limited state, not whether the window was full",
            Self::IdlePeriod => "quinn does not report idle periods, so that the window does not restart",
            Self::Undo => "QUIC has no undo of reductions",
            Self::Timeout => "quinn reports no timeouts, only persistent congestion after an ACK (RFC 9002, 7.6)",
        }
    }
}

/// The first difference of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event in the log, from 1.
    pub event: usize,
    /// Time of the event, ns.
    pub now_ns: u64,
    /// Description of the event.
    pub event_text: String,
    /// The differing field of the event, or the window.
    pub field: &'static str,
    /// Value in the record.
    pub recorded: String,
    /// Value in the backend.
    pub replayed: String,
    /// The known difference that explains it; `None`: unexpected.
    pub known: Option<KnownDifference>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, now_ns, event_text, field, recorded, replayed, .. } = self;
        let seconds = *now_ns as f64 / 1e9;
        write!(f, "event {event} at {seconds:.6} s, {event_text}: {field} is {recorded} in the record and {replayed} in the backend")
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
    let event = &log.entries[at].event;
    Difference {
        event: at + 1,
        now_ns: event.now().as_nanos(),
        event_text: event.describe(),
        field,
        recorded,
        replayed,
        known,
    }
}
