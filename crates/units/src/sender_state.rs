//! The state of a sender at one instant. The name, unit and meaning of each quantity are defined here. Each stack fills the
//! struct in one function; samples, columns and reports read it.

use std::ops::Add;

use crate::{Bytes, Duration, Rate};

/// The congestion state of a sender, as Linux numbers it (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// No sign of congestion.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs arrive, but no segment is marked lost.
    Disorder = 1,
    /// Congestion window reduced: the sender reduces the window after an ECN echo, a tail loss probe that repaired a loss,
    /// or congestion in a queue of its host.
    Cwr = 2,
    /// Fast recovery: lost segments are retransmitted.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

impl CaState {
    /// The state with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            _ => Self::Loss,
        }
    }

    /// Whether the transport is reducing the window.
    #[inline]
    #[must_use]
    pub const fn is_reducing(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }
}

/// The state of a sender. A quantity that a stack does not report is `None`, or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderState {
    /// Data is unsent or unacknowledged.
    pub waiting: bool,
    /// The congestion state; `None` over QUIC.
    pub ca_state: Option<CaState>,
    /// The congestion window that the transport applies.
    pub cwnd: Bytes,
    /// The slow-start threshold; `None` while it is unlimited, and for an algorithm without one.
    pub ssthresh: Option<Bytes>,
    /// The sender's estimate of the data in flight (RFC 6675, pipe; Linux, `tcp_packets_in_flight`).
    pub in_flight: Bytes,
    /// The segments between SND.UNA and SND.NXT.
    pub outstanding: Outstanding,
    /// Degree of reordering, segments.
    pub reordering: u32,
    /// Observations of reordering.
    pub reord_seen: u32,
    /// Latest RTT sample; `None` before the first one.
    pub rtt: Option<Duration>,
    /// Smoothed RTT (RFC 6298); `None` before the first sample.
    pub srtt: Option<Duration>,
    /// RTT variance (RFC 6298).
    pub rttvar: Duration,
    /// Minimum RTT within the window of the transport (Linux: 300 s); `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout, back-off included.
    pub rto: Duration,
    /// Doublings of the timeout since the last RTT sample.
    pub backoff: u32,
    /// The pacing rate; `None` where the sender does not pace.
    pub pacing_rate: Option<Rate>,
    /// Latest delivery-rate sample; `None` before the first one.
    pub delivery_rate: Option<Rate>,
    /// Data that the application wrote and the sender has not sent.
    pub unsent: Bytes,
    /// Data delivered to the receiver, in order or not.
    pub delivered: Bytes,
    /// Counters since the start of the connection.
    pub counters: SenderCounters,
}

/// The segments between SND.UNA and SND.NXT, by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// All segments.
    pub unacked: u32,
    /// SACKed segments; without SACK, those that duplicate ACKs report as delivered.
    pub sacked: u32,
    /// Segments marked lost.
    pub lost: u32,
    /// Outstanding retransmissions.
    pub retrans: u32,
}

/// Counters of a sender since its start, or since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments retransmitted; over QUIC packets declared lost.
    pub retransmitted_packets: u64,
    /// Payload retransmitted.
    pub retransmitted_bytes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions caused by ECN echoes.
    pub ecn_reductions: u64,
    /// Spurious reductions undone.
    pub undos: u64,
    /// Tail loss probes sent.
    pub loss_probes: u64,
}

impl SenderCounters {
    /// Entries into recovery, timeouts and ECN reductions.
    #[inline]
    #[must_use]
    pub const fn congestion_events(&self) -> u64 {
        self.recoveries + self.timeouts + self.ecn_reductions
    }

    /// The counters of both, one by one.
    #[inline]
    #[must_use]
    pub fn combined(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            sent_packets: with(self.sent_packets, other.sent_packets),
            sent_bytes: with(self.sent_bytes, other.sent_bytes),
            acked_bytes: with(self.acked_bytes, other.acked_bytes),
            retransmitted_packets: with(self.retransmitted_packets, other.retransmitted_packets),
            retransmitted_bytes: with(self.retransmitted_bytes, other.retransmitted_bytes),
            timeouts: with(self.timeouts, other.timeouts),
            recoveries: with(self.recoveries, other.recoveries),
            ecn_reductions: with(self.ecn_reductions, other.ecn_reductions),
            undos: with(self.undos, other.undos),
            loss_probes: with(self.loss_probes, other.loss_probes),
        }
    }
}

impl Add for SenderCounters {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        self.combined(&other, u64::add)
    }
}

/// Times since the connection began for which the sender had data to send, in total and by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// `tcpi_busy_time`: time with data to send.
    pub total: Duration,
    /// `tcpi_rwnd_limited`: part of it in which the receive window limited the sender.
    pub rwnd_limited: Duration,
    /// `tcpi_sndbuf_limited`: part of it in which the send buffer limited the sender.
    pub sndbuf_limited: Duration,
}
