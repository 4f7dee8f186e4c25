//! The rows that an engine writes, plain values; [`crate::table`] turns them into Arrow.
//!
//! Every field is a column of the same name and carries its unit. Times are nanoseconds of the run's clock.

/// Everything that one run wrote down.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Totals per flow.
    pub flows: Vec<FlowRow>,
    /// Totals per link.
    pub links: Vec<LinkRow>,
    /// Flows at the sampling interval.
    pub samples: Vec<SampleRow>,
    /// Links at the sampling interval.
    pub link_samples: Vec<LinkSampleRow>,
    /// What happened, when, why.
    pub events: Vec<EventRow>,
    /// Transfers with their completion times.
    pub transfers: Vec<TransferRow>,
    /// Every packet, where asked for.
    pub packets: Vec<PacketRow>,
    /// Stations of 802.11 at the sampling interval and at the end.
    pub stations: Vec<StationRow>,
    /// How late an emulation delivered.
    pub lateness: Vec<LatenessRow>,
    /// What an emulation measured of its path before it began.
    pub calibration: Vec<CalibrationRow>,
}

/// A bin of the histogram of an emulation's lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatenessRow {
    /// Upper end of the bin, which is included; its lower end is that of the bin before.
    pub late_ns: u64,
    /// Packets that were delivered so late after the moment that the path had computed.
    pub packets: u64,
}

/// A quantity of an emulated path: what the scenario says, and what probes measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationRow {
    /// The flow whose route it is.
    pub flow: u32,
    /// `base_rtt_ns`, `rate_bps` or `capacity_packets`.
    pub quantity: &'static str,
    /// By the scenario.
    pub expected: f64,
    /// By the probes.
    pub measured: f64,
}

/// Totals of a flow over its whole life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRow {
    /// Index in the scenario.
    pub flow: u32,
    /// Its label.
    pub name: String,
    /// Canonical text of the algorithm, recovery included.
    pub algorithm: String,
    /// Stack profile.
    pub profile: String,
    /// Payload of a full segment.
    pub mss_bytes: u64,
    /// Propagation delay both ways.
    pub base_rtt_ns: u64,
    /// When it opened (start plus jitter).
    pub start_ns: u64,
    /// When its application was done and all acknowledged; `None` while it lives.
    pub end_ns: Option<u64>,
    /// Payload delivered in order to the application for the first time.
    pub delivered_bytes: u64,
    /// Payload acknowledged to the sender.
    pub acked_bytes: u64,
    /// Payload put on the wire, retransmissions included.
    pub sent_bytes: u64,
    /// All bytes put on the wire by the sender, headers included.
    pub wire_bytes: u64,
    /// Segments put on the wire, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// ACKs that the receiver sent.
    pub ack_packets: u64,
    /// Packets of this flow's data direction that queues dropped.
    pub queue_drops: u64,
    /// Packets of this flow's data direction that wires lost.
    pub wire_losses: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Entries into loss recovery.
    pub recoveries: u64,
    /// Reductions by an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
    /// Smallest RTT sample.
    pub min_rtt_ns: Option<u64>,
    /// Mean RTT sample.
    pub mean_rtt_ns: Option<u64>,
    /// Smallest one-way delay of a datagram, queues included; `None` for TCP.
    pub min_delay_ns: Option<u64>,
    /// Mean one-way delay.
    pub mean_delay_ns: Option<u64>,
    /// Largest one-way delay.
    pub max_delay_ns: Option<u64>,
    /// Interarrival jitter of the datagrams at the end (RFC 3550, section 6.4.1); `None` for TCP.
    pub jitter_ns: Option<u64>,
    /// Links that its data crosses in this order, their indices joined by spaces.
    pub route: String,
}

/// Totals of a link in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRow {
    /// Index in the plan.
    pub link: u32,
    /// Its name.
    pub name: String,
    /// Rate of the line; `None` where it serialises in no time.
    pub rate_bps: Option<u64>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// What the queue holds: packets.
    pub capacity_packets: Option<u64>,
    /// What the queue holds: bytes.
    pub capacity_bytes: Option<u64>,
    /// Packets offered.
    pub arrived_packets: u64,
    /// Packets dropped by the queue.
    pub dropped_packets: u64,
    /// Packets lost by the wire, of those that left the line.
    pub lost_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Packets that left the line.
    pub sent_packets: u64,
    /// Bytes that left the line.
    pub sent_bytes: u64,
    /// Time-weighted mean number of packets waiting, the one in service excluded; on a medium of 802.11 it is included.
    pub mean_queue_packets: f64,
    /// Time-weighted mean number of bytes waiting.
    pub mean_queue_bytes: f64,
    /// Largest number of packets waiting.
    pub max_queue_packets: u64,
    /// Share of the capacity that was used.
    pub utilisation: f64,
    /// Bytes that the line could have carried, where its rate varies (trace, token bucket, schedule); else `None`.
    pub carriable_bytes: Option<u64>,
}

/// A flow at a sampling instant. Counters are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleRow {
    /// When.
    pub time_ns: u64,
    /// Which flow.
    pub flow: u32,
    /// The transport's effective window; `None` for UDP and for arrivals.
    pub cwnd_bytes: Option<u64>,
    /// The algorithm's threshold; `None` while it has none.
    pub ssthresh_bytes: Option<u64>,
    /// In flight as the sender estimates it; `None` for UDP.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed RTT.
    pub srtt_ns: Option<u64>,
    /// Last RTT sample.
    pub rtt_ns: Option<u64>,
    /// Pacing rate, where the flow paces.
    pub pacing_rate_bps: Option<u64>,
    /// Last delivery-rate sample.
    pub delivery_rate_bps: Option<u64>,
    /// Delivered in order to the application.
    pub delivered_bytes: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Entries into recovery, timeouts and ECN reductions.
    pub congestion_events: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Packets of the data direction dropped by queues.
    pub queue_drops: u64,
    /// Packets of the data direction lost by wires.
    pub wire_losses: u64,
    /// Sum of all RTT samples: differences give means over an interval.
    pub rtt_sum_ns: u64,
    /// Number of RTT samples.
    pub rtt_count: u64,
    /// 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss (as Linux counts them).
    pub state: u8,
    /// One-way delay of the last datagram received; `None` for TCP.
    pub delay_ns: Option<u64>,
    /// Sum of the one-way delays of all datagrams received; `None` for TCP.
    pub delay_sum_ns: Option<u64>,
    /// Number of datagrams received.
    pub delay_count: Option<u64>,
    /// Interarrival jitter now (RFC 3550, section 6.4.1).
    pub jitter_ns: Option<u64>,
}

/// A link at a sampling instant. Counters are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSampleRow {
    /// When.
    pub time_ns: u64,
    /// Which link.
    pub link: u32,
    /// Packets waiting now, the one in service excluded.
    pub queue_packets: u64,
    /// Bytes waiting now.
    pub queue_bytes: u64,
    /// Packets offered.
    pub arrived_packets: u64,
    /// Packets dropped by the queue.
    pub dropped_packets: u64,
    /// Packets lost by the wire, of those that left the line.
    pub lost_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Bytes that left the line.
    pub sent_bytes: u64,
    /// Integral over time of the packets waiting, packet-seconds times 10⁹: computed exactly, rounded once.
    pub queue_packet_ns: f64,
    /// Integral over time of the bytes waiting.
    pub queue_byte_ns: f64,
    /// Bytes that the line could have carried so far, where its rate varies; else `None`.
    pub carriable_bytes: Option<u64>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// When.
    pub time_ns: u64,
    /// Which flow.
    pub flow: u32,
    /// `open`, `established`, `recovery`, `recovered`, `timeout`, `ecn`, `undo`, `slow-start-exit`, `idle-restart`,
    /// `loss-probe`, `close`, `refused`, or what an algorithm remarks.
    pub kind: &'static str,
    /// Why: `fast-retransmit`, `rack`, `fack`, `rto`, `train`, `delay`, `cap`, `loss`, `eifel`, `dsack`, …; may be empty.
    pub cause: &'static str,
    /// Window before.
    pub cwnd_before_bytes: u64,
    /// Window to which it goes.
    pub cwnd_after_bytes: u64,
    /// What an algorithm held the window against, in segments.
    pub pipe_segments: Option<f64>,
}

/// A transfer that was completed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransferRow {
    /// Which flow.
    pub flow: u32,
    /// Which of its transfers.
    pub transfer: u64,
    /// When the application asked for it (connect, if it needs a connection).
    pub start_ns: u64,
    /// When the last byte reached the receiving application.
    pub end_ns: u64,
    /// Its size.
    pub size_bytes: u64,
}

/// A packet at the entrance of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketRow {
    /// When it arrived at the queue.
    pub time_ns: u64,
    /// Which link.
    pub link: u32,
    /// Which flow.
    pub flow: u32,
    /// 0 data, 1 ACK, 2 SYN, 3 SYN-ACK.
    pub kind: u8,
    /// First payload byte of data (from 0), acknowledged byte of an ACK; segments count as full.
    pub sequence_bytes: u64,
    /// Bytes on the wire.
    pub size_bytes: u32,
    /// 0 queued, 1 dropped by the queue, 2 lost by the wire, 3 queued and marked.
    pub fate: u8,
    /// When its last bit left the line.
    pub departure_ns: Option<u64>,
    /// It had been sent before.
    pub retransmission: bool,
    /// Its number in the order in which packets were sent; the same at every link of its way.
    pub packet: u64,
    /// When its sender put it on its first link.
    pub sent_ns: u64,
    /// When its last bit reached the far end of the link.
    pub arrival_ns: Option<u64>,
    /// Number of the flow's connection, modulo 256.
    pub connection: u32,
    /// Payload.
    pub payload_bytes: u32,
    /// Timestamp that an ACK echoes: when the segment that set it was sent; `None` where timestamps are not negotiated.
    pub echo_ns: Option<u64>,
    /// Receive window that an ACK advertises.
    pub window_bytes: Option<u64>,
    /// SACK blocks of an ACK, `from-to` in bytes as `sequence_bytes` counts them, joined by blanks; `permitted` on a SYN
    /// or SYN-ACK that negotiates them; else empty.
    pub sack: String,
    /// Codepoint of IP on arrival: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// ECN echo; on a SYN and SYN-ACK as RFC 3168 negotiates ECN.
    pub ece: bool,
    /// Congestion window reduced; on a SYN as RFC 3168 negotiates ECN.
    pub cwr: bool,
}

/// A station of 802.11 at a sampling instant, and at the end of the run. Counters are cumulative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StationRow {
    /// When.
    pub time_ns: u64,
    /// Name of the medium.
    pub medium: String,
    /// Name of the node.
    pub station: String,
    /// Transmissions that ask for an answer: data, or the RTS before it.
    pub attempts: u64,
    /// Of these, those without an answer.
    pub failures: u64,
    /// Of these, those that met another transmission.
    pub collisions: u64,
    /// Frames that noise destroyed.
    pub frame_errors: u64,
    /// Frames given up after the last attempt.
    pub given_up_packets: u64,
    /// Frames that were answered.
    pub sent_packets: u64,
    /// Their bytes as IP packets.
    pub sent_bytes: u64,
    /// Packets dropped by its queue.
    pub dropped_packets: u64,
    /// How long it was on the air, answers included.
    pub airtime_ns: u64,
    /// Packets in its queue, the one that contends or is on the air included.
    pub queue_packets: u64,
    /// Integral over time of these packets, packet-seconds times 10⁹.
    pub queue_packet_ns: f64,
    /// The most that there ever were.
    pub max_queue_packets: u64,
}
