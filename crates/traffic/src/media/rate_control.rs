//! The contract of a congestion control for real-time media, without I/O.
//!
//! A control is one file beside this one, and one line in the list of `controls.rs`. It receives what was sent and what the receiver
//! reported, and returns a target rate for the encoder, a rate of packets, and a limit of bytes in flight.

use std::fmt;

use cwndlab_units::{Bytes, Duration, Time};

use crate::media::feedback::{Aggregate, Format};

/// What a control begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Smallest and largest rate, bit/s.
    pub range: (f64, f64),
    /// Weight beside other flows.
    pub priority: f64,
    /// Time between two reports.
    pub feedback: Duration,
    /// Frames per second.
    pub frame_rate: f64,
    /// Packets carry ECT(1).
    pub is_l4s: bool,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentPacket {
    /// Size of the datagram.
    pub size: Bytes,
    /// Time of sending.
    pub sent: Time,
    /// Bytes in flight with it.
    pub in_flight: Bytes,
}

/// A packet of a report, at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketFeedback {
    /// Size of the datagram.
    pub size: Bytes,
    /// Time of sending.
    pub sent: Time,
    /// Its arrival as the report states it; `None` if it is missing.
    pub arrival: Option<Time>,
    /// It arrived with a mark (CE).
    pub is_marked: bool,
    /// The probe with which it was sent.
    pub probe: Option<u32>,
    /// An earlier report stated that it was missing.
    pub was_missing: bool,
}

/// A report at the sender: the packets of which it brings something new, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feedback {
    /// These packets.
    pub packets: Vec<PacketFeedback>,
    /// The RTT of the newest packet that arrived, without the time until the report.
    pub rtt: Option<Duration>,
    /// Bytes in flight after this report: those sent after the newest packet that it covers.
    pub in_flight: Bytes,
    /// What the receiver has computed.
    pub aggregate: Option<Aggregate>,
}

/// A packet that arrived, at the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Number of the packet.
    pub number: u64,
    /// Size of the datagram.
    pub size: Bytes,
    /// Time of sending.
    pub sent: Time,
    /// Time of arrival.
    pub at: Time,
    /// It has a mark (CE).
    pub is_marked: bool,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameInfo {
    /// Its size.
    pub size: Bytes,
    /// The size that the target rate asks for.
    pub expected: f64,
    /// Time for which the oldest packet has waited to be sent.
    pub queue_delay: Duration,
}

/// A series of packets at a higher rate, filled with padding, which measures the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Its number.
    pub id: u32,
    /// Rate of its packets, bit/s.
    pub rate: f64,
}

/// What a control permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Target rate of the encoder, bit/s.
    pub target: f64,
    /// Rate of the packets, bit/s.
    pub pacing: f64,
    /// Limit of the bytes in flight; `None`: unlimited.
    pub window: Option<Bytes>,
    /// The probe that is due.
    pub probe: Option<Probe>,
}

/// A congestion control for media. Rates count datagrams without the headers of IP and UDP.
pub trait RateControl: fmt::Debug + Send {
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
