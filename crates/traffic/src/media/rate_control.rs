//! The contract of a congestion control for real-time media, without I/O.
//!
//! A control is one file beside this one, and one line in the list of `controls.rs`. It receives what was sent and what the receiver
//! reported, and returns a target rate for the encoder, a rate of packets, and a limit of bytes in flight.

use std::fmt;

use cwndlab_units::{Bytes, Duration, Time};

use crate::media::feedback::{Aggregate, Format};

/// What a control begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameters {
    /// Smallest and largest rate, bit/s.
    pub(crate) range: (f64, f64),
    /// Weight beside other flows.
    pub(crate) priority: f64,
    /// Time between two reports.
    pub(crate) feedback: Duration,
    /// Frames per second.
    pub(crate) frame_rate: f64,
    /// Packets carry ECT(1).
    pub(crate) is_l4s: bool,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SentPacket {
    pub(crate) size: Bytes,
    pub(crate) sent: Time,
    /// Bytes in flight with it.
    pub(crate) in_flight: Bytes,
}

/// A packet of a report, at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacketFeedback {
    pub(crate) size: Bytes,
    pub(crate) sent: Time,
    /// Its arrival as the report states it; `None` if it is missing.
    pub(crate) arrival: Option<Time>,
    /// It arrived with a mark (CE).
    pub(crate) is_marked: bool,
    /// The probe with which it was sent.
    pub(crate) probe: Option<u32>,
}

/// A report at the sender: the packets of which it brings something new, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Feedback {
    pub(crate) packets: Vec<PacketFeedback>,
    /// The RTT of the newest packet that arrived, without the time until the report.
    pub(crate) rtt: Option<Duration>,
    /// Bytes in flight after this report: those sent after the newest packet that it covers.
    pub(crate) in_flight: Bytes,
    /// What the receiver has computed.
    pub(crate) aggregate: Option<Aggregate>,
}

/// A packet that arrived, at the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) size: Bytes,
    pub(crate) sent: Time,
    pub(crate) at: Time,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FrameInfo {
    pub(crate) size: Bytes,
    /// The size that the target rate asks for.
    pub(crate) expected: f64,
    /// Time for which the oldest packet has waited to be sent.
    pub(crate) queue_delay: Duration,
}

/// A series of packets at a higher rate, filled with padding, which measures the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probe {
    pub(crate) id: u32,
    /// Rate of its packets, bit/s.
    pub(crate) rate: f64,
}

/// What a control permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decision {
    /// Target rate of the encoder, bit/s.
    pub(crate) target: f64,
    /// Rate of the packets, bit/s.
    pub(crate) pacing: f64,
    /// Limit of the bytes in flight; `None`: unlimited.
    pub(crate) window: Option<Bytes>,
    /// The probe that is due.
    pub(crate) probe: Option<Probe>,
}

/// A congestion control for media. Rates count datagrams without the headers of IP and UDP.
pub(crate) trait RateControl: fmt::Debug + Send {
    /// The format of the reports that it needs.
    fn format(&self) -> Format;

    /// Handles a packet that was sent.
    fn on_sent(&mut self, _packet: &SentPacket) {}

    /// Handles an encoded frame.
    fn on_frame(&mut self, _frame: &FrameInfo) {}

    /// At the receiver: handles a packet that arrived.
    fn on_arrival(&mut self, _packet: &Arrival) {}

    /// At the receiver: computes what a report at `now` has beside the packets.
    fn aggregate(&mut self, _now: Time) -> Option<Aggregate> {
        None
    }

    /// Handles a report that arrived at `now`.
    fn on_feedback(&mut self, feedback: &Feedback, now: Time);

    /// What it permits while the bytes `buffered` wait to be sent.
    fn decision(&self, buffered: Bytes) -> Decision;
}
