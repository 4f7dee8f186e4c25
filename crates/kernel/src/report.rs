//! Reports of the kernel's datapath on a connection, and decisions on them. Windows are in segments, as in the kernel.

use cwndlab_control::Path;
use cwndlab_units::{Bytes, CaState, Duration, Rate, Time};

/// The event that caused a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The connection begins or switches to this algorithm.
    Open,
    /// Data were acknowledged.
    #[default]
    Acks,
    /// The connection enters [`Report::state`].
    State {
        /// The kernel requests a new `ssthresh`: a congestion event, at most one per window.
        congestion: bool,
        /// The current ACK echoes an ECN mark.
        ece: bool,
    },
    /// The kernel undoes the last reduction, which was spurious.
    Undo,
    /// The connection sends again after an idle period of this duration. The kernel has set the window to
    /// [`Report::cwnd`] (RFC 2861), except for a model-based algorithm.
    Idle(Duration),
    /// The connection ends or switches to another algorithm.
    Close,
}

/// A delivery-rate sample (`struct rate_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// Length of the sampling interval.
    pub interval: Duration,
    /// [`Report::delivered`] at the time when the acknowledged segment was sent.
    pub prior_delivered: u32,
    /// The sender was application-limited at that time.
    pub app_limited: bool,
}

/// The sums over the ACKs of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Segments newly acknowledged, cumulatively or by SACK.
    pub segments: u32,
    /// Number of ACKs that acknowledged them.
    pub acks: u32,
    /// Time between the first and the last of these ACKs.
    pub interval: Duration,
    /// In flight before the first of these ACKs, segments.
    pub prior_in_flight: u32,
    /// Segments newly marked lost.
    pub lost: u32,
    /// Segments that arrived with a CE mark, as far as the receiver reports: [`Report::accurate_ecn`].
    pub ce: u32,
}

/// The round-trip times of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The last RTT sample.
    pub latest: Option<Duration>,
    /// Smoothed RTT; zero before the first sample.
    pub smoothed: Duration,
    /// Minimum RTT; zero before the first sample.
    pub min: Duration,
}

/// The kernel's measurements since the last report, and the current state of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The time of the report.
    pub now: Time,
    /// The event that caused the report.
    pub kind: Kind,
    /// The current state; for [`Kind::State`] the new state.
    pub state: CaState,
    /// The sums over the ACKs.
    pub acked: Acked,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// Segments sent, retransmissions included.
    pub sent: u32,
    /// Segments in flight (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// FlightSize without SACKed segments, segments.
    pub flight: u32,
    /// Segments marked lost (`lost_out` of `struct tcp_sock`).
    pub lost_out: u32,
    /// The round-trip times.
    pub rtt: Rtt,
    /// The last delivery-rate sample.
    pub rate: Option<RateSample>,
    /// Segments delivered so far; wraps.
    pub delivered: u32,
    /// The sender is application-limited.
    pub app_limited: bool,
    /// The congestion window limits the sender (`tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// Accurate ECN is negotiated (RFC 9768): [`Acked::ce`] is the number of marked segments. With classic ECN it is the
    /// number of segments that ACKs with an echo acknowledge.
    pub accurate_ecn: bool,
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
    /// The path for the construction of an algorithm, from the first report.
    #[must_use]
    pub fn path(&self, seed: u64) -> Path {
        let mss = Bytes(u64::from(self.mss.max(1)));
        Path {
            mss,
            initial_cwnd: mss * u64::from(self.cwnd.max(1)),
            initial_ssthresh: None,
            paced: false,
            seed,
            classic_ecn: !self.accurate_ecn,
            oracle_buffer: None,
            saved: None,
        }
    }
}

/// A decision that the kernel applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The window, segments, at least 1. While the kernel reduces the window (PRR), the window after the reduction.
    pub cwnd: u32,
    /// The slow-start threshold, segments, to which PRR also reduces the window; `None` keeps the kernel's threshold.
    pub ssthresh: Option<u32>,
    /// The pacing rate, payload per time; `None` leaves the rate to the kernel.
    pub pacing: Option<Rate>,
}
