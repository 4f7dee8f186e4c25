//! The reports of the kernel's datapath on a connection, and the decisions on them. Windows are in segments, as in the
//! kernel.

use cwndlab_control::Path;
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// The congestion state of the kernel's TCP (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No sign of congestion.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs arrive.
    Disorder = 1,
    /// The window is reduced: an ECN echo, a tail loss probe that repaired a loss, or a full queue of this host.
    Cwr = 2,
    /// A loss is being repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

/// The event that caused a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The connection begins or switches to this algorithm.
    Open,
    /// Data was acknowledged.
    #[default]
    Acks,
    /// [`Report::state`] begins.
    State {
        /// The kernel requests a new `ssthresh`: a congestion event, once per window.
        congestion: bool,
        /// The current ACK echoes an ECN mark.
        ece: bool,
    },
    /// The last reduction was spurious and is undone.
    Undo,
    /// The connection was idle this long and sends again; its window is now [`Report::cwnd`] (RFC 2861), which a model-based
    /// algorithm keeps.
    Idle(Duration),
    /// The connection ends or switches to another algorithm.
    Close,
}

/// A delivery-rate sample (`struct rate_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered over it.
    pub delivered: u32,
    /// How long it lasted.
    pub interval: Duration,
    /// [`Report::delivered`] when its segment was sent.
    pub prior_delivered: u32,
    /// The sender was application-limited then.
    pub app_limited: bool,
}

/// What the ACKs of a report told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Segments newly acknowledged, cumulatively or by SACK.
    pub segments: u32,
    /// ACKs that acknowledged them.
    pub acks: u32,
    /// Time between the first and the last of them.
    pub interval: Duration,
    /// In flight before the first of them, segments.
    pub prior_in_flight: u32,
    /// Segments newly marked lost.
    pub lost: u32,
    /// Segments that arrived with a CE mark.
    pub ce: u32,
}

/// The round-trip times of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The last sample.
    pub latest: Option<Duration>,
    /// Smoothed; zero before the first sample.
    pub smoothed: Duration,
    /// The smallest; zero before the first sample.
    pub min: Duration,
}

/// What the kernel measured since its last report, and the current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The time of the report.
    pub now: Time,
    /// Its cause.
    pub kind: Kind,
    /// The current state; for [`Kind::State`] the one that begins.
    pub state: State,
    /// What was acknowledged.
    pub acked: Acked,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// Segments sent, retransmissions included.
    pub sent: u32,
    /// In flight, segments (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// FlightSize without what SACK reported, segments.
    pub flight: u32,
    /// Marked lost and not retransmitted, segments.
    pub lost_out: u32,
    /// The round-trip times.
    pub rtt: Rtt,
    /// Last delivery-rate sample.
    pub rate: Option<RateSample>,
    /// Segments delivered so far; wraps.
    pub delivered: u32,
    /// The sender is application-limited.
    pub app_limited: bool,
    /// The sender is limited by the window (`tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// First unacknowledged sequence number; wraps.
    pub una: u32,
    /// Next sequence number to send; wraps.
    pub nxt: u32,
    /// The current window, segments.
    pub cwnd: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
}

impl Report {
    /// The path that an algorithm is built for at the first report.
    #[must_use]
    pub fn path(&self, seed: u64) -> Path {
        let mss = Bytes(u64::from(self.mss.max(1)));
        Path {
            mss,
            initial_cwnd: mss * u64::from(self.cwnd.max(1)),
            initial_ssthresh: None,
            paced: false,
            seed,
            oracle_buffer: None,
        }
    }
}

/// A decision for the kernel to enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The window, segments, at least 1. While the kernel reduces the window (PRR), its final value.
    pub cwnd: u32,
    /// The slow-start threshold, segments, which is also the target of a current reduction; `None` keeps the kernel's.
    pub ssthresh: Option<u32>,
    /// The pacing rate of payload; `None` leaves bursts to the kernel.
    pub pacing: Option<Rate>,
}
