//! The events of a log, in one form for all formats.

use cwndlab_units::{Duration, Time};

/// The transport protocol of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP: sequence numbers; the transport sets the window during recovery (RFC 5681, RFC 9937).
    Tcp,
    /// QUIC: packet numbers; the algorithm sets the window during recovery (RFC 9002, section 7.3.2).
    Quic,
}

impl Protocol {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
        }
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time on the log's clock, shifted so that the first event is at [`ORIGIN`].
    pub time: Time,
    /// What happened.
    pub what: What,
}

/// Time of the first event. RTT samples of the first packets must not underflow.
pub const ORIGIN: Time = Time::from_nanos(1_000_000_000);

/// A range of numbers; the end is excluded.
pub type Span = (u64, u64);

/// What an event reports.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A QUIC packet is sent that counts as in flight.
    PacketSent {
        /// Packet number space: 0 Initial, 1 Handshake, 2 application data.
        space: u8,
        /// Packet number.
        number: u64,
        /// Size, bytes.
        bytes: u64,
        /// It is a probe of the path MTU.
        mtu_probe: bool,
    },
    /// A QUIC ACK frame is received.
    AckFrame {
        /// Packet number space.
        space: u8,
        /// The acknowledged packet numbers.
        ranges: Box<[Span]>,
        /// Total number of packets that the peer received with a CE mark.
        ce: u64,
    },
    /// A QUIC packet is declared lost.
    PacketLost {
        /// Packet number space.
        space: u8,
        /// Packet number.
        number: u64,
        /// The log calls it a probe of the path MTU.
        mtu_probe: bool,
    },
    /// Several QUIC packets of the space of application data are declared lost.
    PacketsLost {
        /// The largest of their numbers.
        largest: u64,
        /// Their count; the others are the outstanding packets next below.
        count: u64,
    },
    /// A TCP segment with payload is sent.
    Segment {
        /// Number of its first byte.
        seq: u64,
        /// Payload, bytes.
        bytes: u64,
        /// Value of its timestamp option.
        stamp: Option<u32>,
        /// It has CWR (RFC 3168, section 6.1.2): the sender reduced its window after an ECN-Echo.
        cwr: bool,
    },
    /// A TCP ACK is received.
    TcpAck {
        /// The next expected byte.
        ack: u64,
        /// SACK blocks.
        sack: Box<[Span]>,
        /// It echoes a congestion mark (RFC 3168).
        ece: bool,
        /// The counter of marks modulo eight, with Accurate ECN (RFC 9768, section 3.2.2: ACE).
        ace: Option<u8>,
        /// Timestamp that it echoes.
        echo: Option<u32>,
        /// RTT by the timestamp option.
        echo_rtt: Option<Duration>,
        /// The receive window that it advertises, bytes.
        rwnd: Option<u64>,
        /// Where it acknowledges nothing it is a duplicate (RFC 5681, section 2): it has no data and the window of the ACK
        /// before it, and SACK is not negotiated.
        duplicates: bool,
    },
    /// The sender logged values of its congestion control.
    Metrics(Metrics),
    /// The sender logged its congestion state.
    State(LoggedState),
    /// The sender logged a change of the window by its transport.
    Remark {
        /// The change.
        remark: Remark,
        /// Window before and after it, bytes.
        cwnd: (u64, u64),
    },
    /// The sender logged parameters.
    Parameters {
        /// Datagram size, or MSS.
        mss: Option<u64>,
        /// Initial window, bytes.
        initial_cwnd: Option<u64>,
    },
}

/// Logged values. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window.
    pub cwnd: Option<u64>,
    /// Slow-start threshold.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Last RTT sample.
    pub latest_rtt: Option<Duration>,
    /// Minimum RTT.
    pub min_rtt: Option<Duration>,
}

/// The logged congestion state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedState {
    /// Slow start, congestion avoidance, or open.
    Growing,
    /// The application limits the sender.
    AppLimited,
    /// Recovery.
    Recovery,
    /// The window is reduced after an ECN echo.
    Cwr,
    /// After a retransmission timeout.
    Loss,
}

/// A change of the window by the transport that a sender logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The handshake begins.
    Opened,
    /// The handshake is complete.
    Established,
    /// Entry into recovery; the window after it is the new threshold.
    Recovery,
    /// Entry into CWR.
    Ecn,
    /// A retransmission timeout.
    Timeout,
    /// The end of a reduction.
    Recovered,
    /// A spurious reduction was reverted.
    Undo,
}

/// A log of one connection.
#[derive(Clone, Debug)]
pub struct Log {
    /// The events in the order of the log.
    pub events: Vec<Event>,
    /// The protocol.
    pub protocol: Protocol,
    /// The log has no windows, by its kind: bytes in flight are compared.
    pub windowless: bool,
    /// The log begins in the middle of the connection: window and state of the sender are unknown.
    pub begins_late: bool,
    /// The log's time of the first event, ms.
    pub origin_ms: f64,
    /// Name of the connection.
    pub connection: String,
    /// What a reader of the result should know about the log.
    pub notes: Vec<String>,
}

impl Log {
    /// Leaves only what a capture has: the bytes in flight stand for the windows.
    pub fn forget_windows(&mut self) {
        self.windowless = true;
        self.events.retain(|event| match &event.what {
            What::Remark { remark, .. } => matches!(remark, Remark::Opened | Remark::Established),
            What::Metrics(_) | What::State(_) => false,
            _ => true,
        });
    }

    /// Drops the events after this number of ACKs.
    pub fn cut(&mut self, acks: usize) {
        let is_ack = |event: &Event| matches!(event.what, What::AckFrame { .. } | What::TcpAck { .. });
        let end = self.events.iter().enumerate().filter(|(_, event)| is_ack(event)).nth(acks).map(|(at, _)| at);
        self.events.truncate(end.unwrap_or(self.events.len()));
    }

    /// The time since the first event, ms.
    #[must_use]
    pub fn ms(time: Time) -> f64 {
        (time.as_nanos() as f64 - ORIGIN.as_nanos() as f64) * 1e-6
    }
}
