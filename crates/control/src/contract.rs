//! The contract between a transport and a congestion control algorithm.
//!
//! The transport measures and enforces; the algorithm controls window and rate. Recovery is part of the transport: it
//! retransmits, and brings the window to the value that the algorithm sets at a congestion event.

use std::fmt;

use cwndlab_units::{maths, Bytes, Duration, Rate, Time};

use crate::event::Event;
use crate::snapshot::snapshot;
use crate::state::{Extra, State};

/// The interface of a congestion control algorithm to the transport: three required methods, four with a default.
///
/// The transport [clones](Snapshot) the algorithm before a congestion event and restores the copy where the reduction
/// was spurious, so that no algorithm implements an undo: `#[derive(Clone)]` is sufficient.
///
/// The same sequence of calls must give the same results: no clock, no random numbers but from [`Path::seed`], no
/// global state.
pub trait CongestionControl: fmt::Debug + Send + Snapshot {
    /// Data was acknowledged. A returned event becomes a row of the table `events`; the first ACK also returns the
    /// event of the handshake.
    fn on_ack(&mut self, ack: &Ack) -> Option<Event>;

    /// A congestion event. Afterwards [`cwnd`](Self::cwnd) is the window to which the transport reduces.
    /// Called at most once per window of data, as RFC 9438 and RFC 5681 require.
    fn on_congestion(&mut self, event: &Congestion);

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// A segment is sent. Called for every segment, including retransmissions; not for composed algorithms, whose parts
    /// have no such method.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// The transport changed the window by a rule of its own, or reverts a reduction.
    fn on_window(&mut self, _window: &Window) {}

    /// The state after the last event. The transport reads the slow-start threshold several times per ACK, without
    /// `extra`; an algorithm computes its named numbers only where `extra` receives them.
    fn state(&self, _extra: Option<Extra<'_>>) -> State {
        State::UNKNOWN
    }

    /// The pacing rate; `None`: pacing by the transport's profile.
    ///
    /// It counts payload, as [`DeliveryRate`] and the window do: `cwnd / rtt` spreads a window over a round trip, and
    /// the link carries `(mss + headers) / mss` times as much. An algorithm with a rate that includes headers converts
    /// it. (Linux' `sk_pacing_rate` is payload too, and its internal timer divides the payload by it; `sch_fq` divides
    /// the length of the packet by it and is slower by that factor.)
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

snapshot! {
    Snapshot of CongestionControl;
}

/// The properties of a flow and its path at the start of the flow.
#[derive(Clone, Debug)]
pub struct Path {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Initial window.
    pub initial_cwnd: Bytes,
    /// Initial slow-start threshold; `None`: no limit.
    pub initial_ssthresh: Option<Bytes>,
    /// Whether the transport paces.
    pub paced: bool,
    /// ECN returns one echo per round trip (RFC 3168), not the number of marks, so that an echo counts as a loss.
    pub classic_ecn: bool,
    /// Seed of the random stream of the flow.
    pub seed: u64,
    /// Capacity of the bottleneck's queue, which a real sender cannot know: only for options named `oracle`.
    pub oracle_buffer: Option<Bytes>,
    /// What the last connection of the flow, or of those that share its saved parameters, observed, if there was one.
    pub saved: Option<Saved>,
}

/// Parameters that a connection leaves to the next one on the same path (RFC 9959, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Time of the observation.
    pub at: Time,
    /// What it delivered in a minimum round-trip time, by its last delivery rate.
    pub cwnd: Bytes,
    /// Its minimum round-trip time.
    pub rtt: Duration,
}

/// One acknowledgement, or several that arrived within `interval` and are reported together.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Now.
    pub now: Time,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Newly acknowledged, cumulatively or by SACK.
    pub acked: Bytes,
    /// Number of ACK packets in this report.
    pub acks: u32,
    /// Time between the first and the last of them.
    pub interval: Duration,
    /// In flight before this report.
    pub prior_in_flight: Bytes,
    /// In flight after this report.
    pub in_flight: Bytes,
    /// Newly marked lost since the last report.
    pub lost: Bytes,
    /// Last RTT sample; `None` where Karn's algorithm excludes it.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Minimum round-trip time within the window of the transport (Linux: 300 s); zero before the first sample.
    pub min_rtt: Duration,
    /// Delivery-rate sample, as in Linux.
    pub delivery_rate: Option<DeliveryRate>,
    /// Delivered in total.
    pub delivered: Bytes,
    /// Newly acknowledged bytes that arrived with a CE mark.
    pub ce: Bytes,
    /// The sender was application-limited, so an unused window is not evidence of capacity.
    pub app_limited: bool,
    /// The window limited the sender (Linux: `is_cwnd_limited`). The window may grow only then.
    pub cwnd_limited: bool,
    /// The flow is in loss recovery: the transport sets the window, unless the algorithm is model-based.
    pub recovering: bool,
    /// Number of round trips: advances when data sent after the last advance is acknowledged.
    pub round: u64,
    /// Feedback of the routers of the path, where the algorithm requested it and all of them returned it.
    pub feedback: Option<Feedback>,
}

impl Ack {
    /// This report and the next one combined.
    #[must_use]
    pub fn joined(&self, then: &Self) -> Self {
        Self {
            acked: self.acked + then.acked,
            acks: self.acks + then.acks,
            interval: self.interval + then.now.saturating_since(self.now),
            prior_in_flight: self.prior_in_flight,
            lost: self.lost + then.lost,
            rtt: then.rtt.or(self.rtt),
            delivery_rate: then.delivery_rate.or(self.delivery_rate),
            ce: self.ce + then.ce,
            feedback: then.feedback.map_or(self.feedback, |last| {
                let before = self.feedback.map_or(Bytes::ZERO, |one| one.accelerated);
                Some(Feedback { accelerated: before + last.accelerated, ..last })
            }),
            cwnd_limited: self.cwnd_limited || then.cwnd_limited,
            ..then.clone()
        }
    }
}

/// A delivery-rate sample (as in Linux' `tcp_rate.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRate {
    /// Delivered in the interval of the sample.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// `Ack::delivered` when the segment of the sample was sent.
    pub prior_delivered: Bytes,
    /// The sender was application-limited when the segment was sent.
    pub app_limited: bool,
}

impl DeliveryRate {
    /// `delivered` per `interval`; zero where the interval is zero. Computed on request, since most algorithms do not use it.
    #[must_use]
    pub fn rate(&self) -> Rate {
        if self.interval == Duration::ZERO {
            return Rate::ZERO;
        }
        // IEEE multiplication and division: the same everywhere, and a tenth of the cost of a 128-bit division.
        Rate(maths::whole(maths::float(self.delivered.0) * 8e9 / maths::float(self.interval.as_nanos())))
    }
}

/// Feedback of the routers of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The minimum rate of all routers.
    pub rate: Rate,
    /// Newly acknowledged bytes in packets marked "accelerate" (ABC); the others were marked "brake".
    pub accelerated: Bytes,
}

/// The cause of a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The loss of a segment was detected.
    Loss,
    /// The receiver echoed an ECN mark.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// A congestion event.
#[derive(Clone, Debug)]
pub struct Congestion {
    /// Now.
    pub now: Time,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The cause.
    pub cause: Cause,
    /// The window becomes one segment and slow start restarts: a timeout, or Tahoe.
    pub restart: bool,
    /// The timer expired again for the same segment: `ssthresh` does not change (RFC 5681, section 3.1).
    pub repeated: bool,
    /// FlightSize before the event (RFC 5681, section 3.1, equation 4), without limited transmit.
    pub in_flight: Bytes,
    /// Newly marked lost.
    pub lost: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Minimum round-trip time.
    pub min_rtt: Duration,
    /// Number of round trips.
    pub round: u64,
}

/// A segment that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Now.
    pub now: Time,
    /// Its payload.
    pub size: Bytes,
    /// In flight, including this segment.
    pub in_flight: Bytes,
    /// The segment is a retransmission.
    pub retransmission: bool,
    /// The sender is application-limited.
    pub app_limited: bool,
}

/// The reason of a change of the window by the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The reduction was spurious. The transport has restored the state of the algorithm before it
    /// ([`Driver`](crate::Driver)); a model-based algorithm is notified that no data was lost.
    Undo,
    /// The flow was idle; the window restarts at `cwnd` (RFC 5681, section 4.1; RFC 2861).
    Idle,
    /// Recovery ended with a window of `cwnd`, below the value of the algorithm at the congestion event. A model-based
    /// algorithm, whose window the transport does not change, is notified of the end of every recovery.
    Recovered,
    /// The handshake is complete: `rtt` is its round-trip time and `feedback` that of the routers on it. `cwnd` is the
    /// window of the algorithm, or one segment where the SYN or the SYN-ACK was lost (RFC 5681, section 3.1).
    Established,
}

/// A change of the window by the transport.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Now.
    pub now: Time,
    /// Reason of the change.
    pub change: Change,
    /// The new window; for [`Change::Undo`] that of the transport during recovery.
    pub cwnd: Bytes,
    /// The minimum of the slow-start threshold, for [`Change::Idle`]: three quarters of the window before, so that slow
    /// start returns close to it (RFC 2861, section 3.1; Linux, `tcp_cwnd_restart`). `None`: the threshold does not
    /// change.
    pub ssthresh: Option<Bytes>,
    /// Duration of the idle period, for [`Change::Idle`].
    pub idle: Duration,
    /// Round-trip time of the handshake, for [`Change::Established`]; `None` where the SYN was retransmitted.
    pub rtt: Option<Duration>,
    /// Feedback of the routers on the handshake, for [`Change::Established`].
    pub feedback: Option<Feedback>,
}

impl Window {
    /// A change without further properties.
    #[must_use]
    pub fn new(now: Time, change: Change, cwnd: Bytes) -> Self {
        Self { now, change, cwnd, ssthresh: None, idle: Duration::ZERO, rtt: None, feedback: None }
    }
}
