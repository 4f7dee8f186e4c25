//! The contract between a transport and a congestion control algorithm.
//!
//! The transport measures and enforces; the algorithm decides. Recovery belongs to the transport: it
//! retransmits, and leads the window to the algorithm's answer to a congestion event.

use std::fmt;

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::event::Event;
use crate::snapshot::snapshot;
use crate::state::{Extra, State};

/// A congestion control as the transport sees it: three methods to write, four with a default.
///
/// It is [cloned](Snapshot) in front of a congestion event and the copy takes its place where the reduction was spurious, so
/// that no algorithm implements an undo: `#[derive(Clone)]` is enough.
///
/// The same sequence of calls must give the same answers: no clock, no chance but
/// [`Path::seed`], no global state.
pub trait CongestionControl: fmt::Debug + Send + Snapshot {
    /// Data was acknowledged. An event that is returned becomes a row of the records' table `events`; the first ACK also
    /// returns what the handshake decided.
    fn on_ack(&mut self, ack: &Ack) -> Option<Event>;

    /// Congestion was seen. Afterwards [`cwnd`](Self::cwnd) is the window to which the transport goes.
    /// Called at most once per window of data, as RFC 9438 and RFC 5681 demand.
    fn on_congestion(&mut self, event: &Congestion);

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// A segment leaves. Called for every segment, retransmissions included; not for an algorithm of two parts, which have no
    /// such method.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// The transport changed the window for a reason of its own, or takes a reduction back.
    fn on_window(&mut self, _window: &Window) {}

    /// The state after the last event. The transport reads the slow-start threshold several times per ACK, without `extra`;
    /// an algorithm computes its named numbers only where `extra` receives them.
    fn state(&self, _extra: Option<Extra<'_>>) -> State {
        State::UNKNOWN
    }

    /// The rate at which to send; `None` leaves pacing to the transport's profile.
    ///
    /// It counts payload, as [`DeliveryRate`] and the window do: `cwnd / rtt` spreads a window over a round trip, and the
    /// link carries `(mss + headers) / mss` times as much. A rate of the wire, headers included, is converted by the
    /// algorithm. (Linux' `sk_pacing_rate` is payload too, and its internal timer divides the payload by it; `sch_fq`
    /// divides the packet's whole length by it and is that much slower.)
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

snapshot! {
    Snapshot of CongestionControl;
}

/// What is known of the path when a flow begins.
#[derive(Clone, Debug)]
pub struct Path {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Initial window.
    pub initial_cwnd: Bytes,
    /// Initial slow-start threshold; `None` is "without limit".
    pub initial_ssthresh: Option<Bytes>,
    /// Whether the transport paces what it sends.
    pub paced: bool,
    /// Seed of the flow's own random stream.
    pub seed: u64,
    /// Capacity of the bottleneck's queue, which no real sender knows: only for options that say `oracle`.
    pub oracle_buffer: Option<Bytes>,
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
    /// How many ACK packets this reports.
    pub acks: u32,
    /// Time between the first and the last of them.
    pub interval: Duration,
    /// In flight before this.
    pub prior_in_flight: Bytes,
    /// In flight after this.
    pub in_flight: Bytes,
    /// Newly marked lost since the last report.
    pub lost: Bytes,
    /// Last round-trip sample; `None` where Karn's rule forbids one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Smallest round-trip time within the transport's window (Linux: 300 s); zero before the first sample.
    pub min_rtt: Duration,
    /// Delivery-rate sample, as Linux takes it.
    pub delivery_rate: Option<DeliveryRate>,
    /// Delivered so far.
    pub delivered: Bytes,
    /// Newly acknowledged bytes that arrived with a CE mark.
    pub ce: Bytes,
    /// The sender had nothing to send, so an unused window is no evidence of capacity.
    pub app_limited: bool,
    /// The window was what held the sender (Linux' `is_cwnd_limited`). Grow only then.
    pub cwnd_limited: bool,
    /// A loss is being repaired: the transport owns the window until it is, unless the algorithm is model-based.
    pub recovering: bool,
    /// Round trips since the start: advances when data sent after the last advance is acknowledged.
    pub round: u64,
    /// What the routers of the path wrote, where the algorithm asked them and all of them answered.
    pub feedback: Option<Feedback>,
}

impl Ack {
    /// This report and the one after it as one.
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
    /// What was delivered over the sample.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// `Ack::delivered` when the sample's segment was sent.
    pub prior_delivered: Bytes,
    /// The sender was short of data when the segment was sent.
    pub app_limited: bool,
}

impl DeliveryRate {
    /// `delivered` per `interval`; zero where the interval is zero. Computed when it is asked for, since most algorithms do not.
    #[must_use]
    pub fn rate(&self) -> Rate {
        if self.interval == Duration::ZERO {
            return Rate::ZERO;
        }
        // IEEE multiplication and division: the same everywhere, and a tenth of the cost of a 128-bit division.
        Rate((self.delivered.0 as f64 * 8e9 / self.interval.0 as f64) as u64)
    }
}

/// The scheme by which routers are asked; the agent of a link and the sender must speak the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Quick-Start (RFC 4782): the SYN asks for a rate, every router grants or lowers it.
    QuickStart,
    /// SIRENS: the available bandwidth of the path, measured over 100 ms.
    Sirens,
    /// The stamp of the IoT algorithm: the bandwidth that is left when the connection begins.
    BandwidthStamp,
    /// RCP: one rate for all flows of the link.
    Rcp,
    /// PERC: the exact max-min share, by messages.
    Perc,
    /// ABC: accelerate or brake.
    Abc,
}

/// What came back from the routers of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The least rate that any of them wrote.
    pub rate: Rate,
    /// Newly acknowledged bytes whose packets said "accelerate" (ABC); the others said "brake".
    pub accelerated: Bytes,
}

/// Why the window shall fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A segment was found lost.
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
    /// What was seen.
    pub cause: Cause,
    /// The window goes to one segment and slow start begins again: a timeout, or Tahoe.
    pub restart: bool,
    /// The timer expired again for the same segment: `ssthresh` stays (RFC 5681, section 3.1).
    pub repeated: bool,
    /// FlightSize before the event, without what SACK reported and without limited transmit.
    pub in_flight: Bytes,
    /// Newly marked lost.
    pub lost: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Smallest round-trip time.
    pub min_rtt: Duration,
    /// Round trips since the start.
    pub round: u64,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Now.
    pub now: Time,
    /// Its payload.
    pub size: Bytes,
    /// In flight, this one included.
    pub in_flight: Bytes,
    /// It was sent before.
    pub retransmission: bool,
    /// The sender was short of data.
    pub app_limited: bool,
}

/// Why the transport changed the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The reduction was spurious. The transport has restored the algorithm as it stood before
    /// ([`BeforeReduction`](crate::BeforeReduction)); one that follows a model of the path learns that nothing was lost.
    Undo,
    /// The flow was idle; the window restarts at `cwnd` (RFC 5681, section 4.1; RFC 2861).
    Idle,
    /// Recovery ended with a window of `cwnd`, below what was answered to the event. A model-based algorithm, whose window
    /// the transport leaves alone, hears of the end of every recovery.
    Recovered,
    /// The handshake is done: `rtt` is its round-trip time and `feedback` what routers wrote on it.
    Established,
}

/// The window as the transport changed it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Now.
    pub now: Time,
    /// Why.
    pub change: Change,
    /// The new window; for [`Change::Undo`] that of the transport during the repair.
    pub cwnd: Bytes,
    /// How long the flow was idle, for [`Change::Idle`].
    pub idle: Duration,
    /// Round-trip time of the handshake, for [`Change::Established`]; `None` where the SYN was sent twice.
    pub rtt: Option<Duration>,
    /// What routers wrote on the handshake, for [`Change::Established`].
    pub feedback: Option<Feedback>,
}
