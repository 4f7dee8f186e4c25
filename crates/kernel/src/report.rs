//! What the kernel's datapath tells of a connection, and what it is answered. Segments, as the kernel counts.

use cwndlab_control::Path;
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// What the kernel's TCP is doing (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All is well.
    #[default]
    Open = 0,
    /// Duplicates arrive.
    Disorder = 1,
    /// The window falls: an ECN echo, a tail loss probe that repaired a loss, or a full queue of this host.
    Cwr = 2,
    /// A loss is being repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

/// Why there is a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The connection begins, or takes this algorithm on.
    Open,
    /// Data was acknowledged.
    #[default]
    Acks,
    /// [`Report::state`] begins.
    State {
        /// The kernel asks for a new `ssthresh`: a congestion event, once per window.
        congestion: bool,
        /// The ACK at hand echoed an ECN mark.
        ece: bool,
    },
    /// The last reduction was spurious and is taken back.
    Undo,
    /// The connection was idle this long, and its window is now [`Report::cwnd`] (RFC 2861). For a model-based algorithm,
    /// whose window stays: it sends again.
    Idle(Duration),
    /// The connection ends, or leaves this algorithm.
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
    /// The sender was short of data then.
    pub app_limited: bool,
}

/// What the kernel measured since its last report, and what is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Now.
    pub now: Time,
    /// Why.
    pub kind: Kind,
    /// The state at hand; for [`Kind::State`] the one that begins.
    pub state: State,
    /// Segments newly acknowledged, cumulatively or by SACK.
    pub acked: u32,
    /// ACKs that did so.
    pub acks: u32,
    /// Time between the first and the last of them.
    pub interval: Duration,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// Segments newly marked lost.
    pub lost: u32,
    /// Segments that arrived with a CE mark.
    pub ce: u32,
    /// Segments sent, those sent again included.
    pub sent: u32,
    /// In flight before the first of the ACKs, segments.
    pub prior_in_flight: u32,
    /// In flight, segments (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// FlightSize without what SACK reported, segments.
    pub flight: u32,
    /// Marked lost and not sent again, segments.
    pub lost_out: u32,
    /// Last round-trip sample.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Smallest round-trip time; zero before the first sample.
    pub min_rtt: Duration,
    /// Last delivery-rate sample.
    pub rate: Option<RateSample>,
    /// Segments delivered so far; wraps.
    pub delivered: u32,
    /// The sender is short of data.
    pub app_limited: bool,
    /// The window was what held the sender (`tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// First unacknowledged sequence number; wraps.
    pub una: u32,
    /// Next sequence number to send; wraps.
    pub nxt: u32,
    /// The window in force, segments.
    pub cwnd: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
}

impl Report {
    /// The path as an algorithm hears of it with the first report.
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

/// What the kernel shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The window, segments, at least 1. While a window falls by the kernel's rules it is where it shall end.
    pub cwnd: u32,
    /// The slow-start threshold, segments, and where a reduction at hand leads; `None` leaves the kernel's.
    pub ssthresh: Option<u32>,
    /// The rate at which to send, of payload; `None` leaves bursts to the kernel.
    pub pacing: Option<Rate>,
}
