//! Declarations of a run's tables: the rows that an engine fills, their columns and the documentation of each.
//!
//! Each field is a column of the same name, with the unit as suffix; times are nanoseconds of the run's clock, and `None`
//! is null. To add a column (`docs/add-a-column.md` has all steps), add a field here, set it where each engine fills the
//! row, and increment `SCHEMA_VERSION` (`table.rs`). A row built with `..default()` leaves the column null. `#[hash(…)]`
//! before the field selects a `HashRule` (`declaration.rs`): `if_values` keeps the hashes of runs in which the column is
//! null. A column with values in every run changes every hash; run `tools/refresh_hashes.py` then.

use cwndlab_units::{Duration, SenderCounters, SenderState};

use crate::declaration::Unsigned;

mod cells;

pub use cells::{CellUserRow, LinkEventRow};

records! {
    RunRow,
    flows: FlowRow,
    links: LinkRow,
    samples: SampleRow,
    link_samples: LinkSampleRow,
    events: EventRow,
    transfers: TransferRow,
    messages: MessageRow,
    packets: PacketRow,
    stations: StationRow,
    cell_users: CellUserRow,
    link_events: LinkEventRow,
    lateness: LatenessRow,
    calibration: CalibrationRow,
    named_values: NamedValueRow,
    findings: FindingRow,
}

table! {
    /// The run: one row.
    #[table(runs)]
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct RunRow {
        /// SHA-256 of the scenario's canonical form, in hexadecimal.
        #[hash(never)]
        pub scenario_hash: String,
        /// Seed of all random streams.
        pub seed: Unsigned,
        /// `simulate`, `emulate`, or `live` for a measurement on a real path.
        pub engine: String,
        /// Version of the engine.
        #[hash(never)]
        pub version: String,
        /// Name of the machine.
        #[hash(never)]
        pub host: String,
        /// Duration of the run on its own clock.
        pub duration_ns: u64,
        /// Start of the measurement; metrics exclude earlier times.
        pub measure_from_ns: u64,
        /// Interval between samples; 0 where there are none.
        pub sample_interval_ns: u64,
        /// Notes on the run, one per line, such as a queue whose capacity was rounded up.
        pub notes: String,
    }
}

table! {
    /// Totals of a flow over its lifetime.
    #[table(flows)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FlowRow {
        /// Index of the flow in the scenario.
        pub flow: u32,
        /// Label of the flow.
        pub name: String,
        /// Canonical name of the algorithm, recovery included.
        pub algorithm: String,
        /// Stack profile.
        pub profile: String,
        /// Payload of a full segment.
        pub mss_bytes: u64,
        /// Propagation delay of the round trip, without queues.
        pub base_rtt_ns: u64,
        /// Time at which the flow opened: its start in the scenario plus jitter.
        pub start_ns: u64,
        /// Time at which all its data were acknowledged; null while it is open.
        pub end_ns: Option<u64>,
        /// Payload delivered in order to the application, counted once.
        pub delivered_bytes: u64,
        /// Payload acknowledged to the sender.
        pub acked_bytes: u64,
        /// Payload sent, retransmissions included.
        pub sent_bytes: u64,
        /// Bytes sent, headers and retransmissions included.
        pub wire_bytes: u64,
        /// Segments sent, retransmissions included.
        pub sent_packets: u64,
        /// Payload retransmitted.
        pub retransmitted_bytes: u64,
        /// Segments retransmitted.
        pub retransmitted_packets: u64,
        /// ACKs that the receiver sent.
        pub ack_packets: u64,
        /// Data packets that queues dropped.
        pub queue_drops: u64,
        /// Data packets that links lost by their loss models.
        pub wire_losses: u64,
        /// Expirations of the retransmission timer.
        pub timeouts: u64,
        /// Entries into loss recovery.
        pub recoveries: u64,
        /// Window reductions in response to an ECN echo.
        pub ecn_reductions: u64,
        /// Window reductions undone after a spurious retransmission.
        pub undos: u64,
        /// Tail loss probes sent.
        pub loss_probes: u64,
        /// Smallest RTT sample.
        pub min_rtt_ns: Option<u64>,
        /// Mean of the RTT samples.
        pub mean_rtt_ns: Option<u64>,
        /// Smallest one-way delay of a datagram, queues included; null for TCP.
        #[hash(if_values)]
        pub min_delay_ns: Option<u64>,
        /// Mean one-way delay of the datagrams; null for TCP.
        #[hash(if_values)]
        pub mean_delay_ns: Option<u64>,
        /// Largest one-way delay of a datagram; null for TCP.
        #[hash(if_values)]
        pub max_delay_ns: Option<u64>,
        /// Interarrival jitter of the datagrams at the end (RFC 3550, section 6.4.1); null for TCP.
        #[hash(if_values)]
        pub jitter_ns: Option<u64>,
        /// Airtime of its packets in the direction of the data on 802.11 media, with responses, retries and collisions; of
        /// an aggregate, its share of the bytes. Null where no link of its route is on a medium.
        #[hash(if_values)]
        pub airtime_ns: Option<u64>,
        /// Airtime of its packets in the direction of the ACKs, as `airtime_ns`.
        #[hash(if_values)]
        pub ack_airtime_ns: Option<u64>,
        /// Indices of the links that its data cross, in this order, separated by spaces.
        #[hash(never)]
        pub route: String,
    }
}

table! {
    /// Totals of a link in one direction.
    #[table(links)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct LinkRow {
        /// Index of the link.
        pub link: u32,
        /// Name of the link.
        pub name: String,
        /// Rate of the line; null where it is unlimited.
        pub rate_bps: Option<u64>,
        /// Propagation delay.
        #[hash(if_rows)]
        pub delay_ns: u64,
        /// Capacity of the queue in packets; null if it has no limit in packets.
        pub capacity_packets: Option<u64>,
        /// Capacity of the queue in bytes; null if it has no limit in bytes.
        pub capacity_bytes: Option<u64>,
        /// Packets that arrived at the queue.
        pub arrived_packets: u64,
        /// Packets that the queue dropped.
        pub dropped_packets: u64,
        /// Packets that the loss model destroyed after they had left the line.
        pub lost_packets: u64,
        /// Packets marked with CE.
        pub marked_packets: u64,
        /// Packets that left the line.
        pub sent_packets: u64,
        /// Bytes that left the line.
        pub sent_bytes: u64,
        /// Time-weighted mean length of the queue, without the packet in service; on an 802.11 medium including it, in a cell
        /// including what is in transport blocks.
        pub mean_queue_packets: f64,
        /// Time-weighted mean length of the queue.
        pub mean_queue_bytes: f64,
        /// Maximum length of the queue.
        pub max_queue_packets: u64,
        /// Share of `rate_bps`, or of `carriable_bytes`, that was used; above 1 where a radio link is faster than `rate_bps`.
        pub utilisation: f64,
        /// Bytes that the line could have carried, where its rate varies (trace, token bucket, schedule); else null.
        #[hash(if_values)]
        pub carriable_bytes: Option<u64>,
    }
}

table! {
    /// A flow at a sampling instant. Counters are cumulative.
    #[table(samples)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct SampleRow {
        /// Time of the sample.
        pub time_ns: u64,
        /// Index of the flow.
        pub flow: u32,
        /// Congestion window that the transport applies; null for UDP and for arrivals.
        #[hash(nulls_if_any)]
        pub cwnd_bytes: Option<u64>,
        /// Slow-start threshold; null where the algorithm has none.
        pub ssthresh_bytes: Option<u64>,
        /// The sender's estimate of the bytes in flight; null for UDP.
        #[hash(nulls_if_any)]
        pub in_flight_bytes: Option<u64>,
        /// Smoothed RTT (RFC 6298).
        pub srtt_ns: Option<u64>,
        /// Latest RTT sample.
        pub rtt_ns: Option<u64>,
        /// Pacing rate; null where the flow is not paced.
        pub pacing_rate_bps: Option<u64>,
        /// Latest delivery-rate sample.
        pub delivery_rate_bps: Option<u64>,
        /// Payload delivered in order to the application.
        pub delivered_bytes: u64,
        /// Payload sent, retransmissions included.
        pub sent_bytes: u64,
        /// Payload retransmitted.
        pub retransmitted_bytes: u64,
        /// Segments retransmitted.
        pub retransmitted_packets: u64,
        /// Congestion events: entries into recovery, timeouts and ECN reductions.
        pub congestion_events: u64,
        /// Expirations of the retransmission timer.
        pub timeouts: u64,
        /// Data packets that queues dropped.
        pub queue_drops: u64,
        /// Data packets that links lost by their loss models.
        pub wire_losses: u64,
        /// Sum of all RTT samples; differences give the mean over an interval. Null above 2⁶³ − 1, because a wrapped or
        /// rounded sum would silently falsify differences; `mean_rtt_ns` of the flow is exact in any case.
        #[hash(nulls_if_any)]
        pub rtt_sum_ns: Option<u64>,
        /// Number of RTT samples.
        pub rtt_count: u64,
        /// Recovery state as Linux numbers it: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        pub state: u8,
        /// One-way delay of the latest datagram; null for TCP.
        #[hash(if_values)]
        pub delay_ns: Option<u64>,
        /// Sum of the one-way delays of all datagrams received; null for TCP and, as `rtt_sum_ns`, above 2⁶³ − 1.
        /// `mean_delay_ns` of the flow is exact in any case.
        #[hash(if_values)]
        pub delay_sum_ns: Option<u64>,
        /// Number of datagrams received; null for TCP.
        #[hash(if_values)]
        pub delay_count: Option<u64>,
        /// Interarrival jitter of the datagrams (RFC 3550, section 6.4.1); null for TCP.
        #[hash(if_values)]
        pub jitter_ns: Option<u64>,
    }
}

impl SampleRow {
    /// Sets the columns of the sender of one connection.
    #[inline]
    pub fn set_sender(&mut self, sender: &SenderState) {
        self.cwnd_bytes = Some(sender.cwnd.0);
        self.ssthresh_bytes = sender.ssthresh.map(|threshold| threshold.0);
        self.in_flight_bytes = Some(sender.in_flight.0);
        self.srtt_ns = sender.srtt.map(Duration::as_nanos);
        self.rtt_ns = sender.rtt.map(Duration::as_nanos);
        self.pacing_rate_bps = sender.pacing_rate.map(|rate| rate.0);
        self.delivery_rate_bps = sender.delivery_rate.map(|rate| rate.0);
        self.state = sender.ca_state.map_or(0, |state| state as u8);
    }

    /// Sets the counters, of one sender or of several.
    #[inline]
    pub fn set_counters(&mut self, counters: &SenderCounters) {
        self.sent_bytes = counters.sent_bytes;
        self.retransmitted_bytes = counters.retransmitted_bytes;
        self.retransmitted_packets = counters.retransmitted_packets;
        self.congestion_events = counters.congestion_events();
        self.timeouts = counters.timeouts;
    }
}

table! {
    /// A link at a sampling instant. Counters are cumulative.
    #[table(link_samples)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct LinkSampleRow {
        /// Time of the sample.
        pub time_ns: u64,
        /// Index of the link.
        pub link: u32,
        /// Length of the queue, without the packet in service.
        pub queue_packets: u64,
        /// Length of the queue.
        pub queue_bytes: u64,
        /// Packets that arrived at the queue.
        pub arrived_packets: u64,
        /// Packets that the queue dropped.
        pub dropped_packets: u64,
        /// Packets that the loss model destroyed after they had left the line.
        pub lost_packets: u64,
        /// Packets marked with CE.
        pub marked_packets: u64,
        /// Bytes that left the line.
        pub sent_bytes: u64,
        /// Integral of the queue length over time, computed exactly and rounded once.
        pub queue_packet_ns: f64,
        /// Integral of the queue length over time, computed exactly and rounded once.
        pub queue_byte_ns: f64,
        /// Bytes that the line could have carried so far, where its rate varies; else null.
        #[hash(if_values)]
        pub carriable_bytes: Option<u64>,
        /// Time for which the oldest packet of the queue has waited, on an 802.11 medium, in a cell and where the rate of the line
        /// varies; 0 for an empty queue, else null.
        #[hash(if_values)]
        pub queue_age_ns: Option<u64>,
    }
}

table! {
    /// An event of a flow.
    #[table(events)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EventRow {
        /// Time of the event.
        pub time_ns: u64,
        /// Index of the flow.
        pub flow: u32,
        /// `open`, `established`, `recovery`, `recovered`, `timeout`, `ecn`, `undo`, `slow-start-exit`, `idle-restart`,
        /// `loss-probe`, `close`, `refused`, or another `EventKind` of `crates/control/src/event.rs`.
        pub kind: &'static str,
        /// Cause: `fast-retransmit`, `rack`, `fack`, `rto`, `train`, `delay`, `cap`, `loss`, `eifel`, `dsack`, or a
        /// `Reason` of `crates/control/src/event.rs`, where each is explained; may be empty.
        pub cause: &'static str,
        /// Window before the event.
        pub cwnd_before_bytes: u64,
        /// Window that the event sets; for an event that the algorithm reports, its window at that time.
        pub cwnd_after_bytes: u64,
        /// Path capacity that the algorithm compared with its window; null for other events.
        pub pipe_segments: Option<f64>,
    }
}

table! {
    /// A completed transfer.
    #[table(transfers)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct TransferRow {
        /// Index of the flow.
        pub flow: u32,
        /// Number of the transfer within the flow.
        pub transfer: u64,
        /// Time of the application's request; for a transfer with its own connection, the time at which the connection opened.
        pub start_ns: u64,
        /// Time at which the receiving application received the last byte.
        pub end_ns: u64,
        /// Size of the transfer.
        pub size_bytes: u64,
    }
}

table! {
    /// A message of a flow that states a service level: a transfer, a page, a message, a frame, or a packet of a flow over
    /// UDP; delivered or not.
    #[table(messages)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct MessageRow {
        /// Index of the flow.
        #[hash(if_rows)]
        pub flow: u32,
        /// Number of the message within the flow, in the order of generation.
        #[hash(if_rows)]
        pub message: u64,
        /// Time at which the application generated it.
        #[hash(if_rows)]
        pub generated_ns: u64,
        /// Time at which the application to which it is addressed had it in full; null if that did not happen in the run.
        #[hash(if_rows)]
        pub delivered_ns: Option<u64>,
        /// Size.
        #[hash(if_rows)]
        pub size_bytes: u64,
    }
}

table! {
    /// A packet that arrives at a link.
    #[table(packets)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PacketRow {
        /// Time of arrival at the queue.
        pub time_ns: u64,
        /// Index of the link.
        pub link: u32,
        /// Index of the flow.
        pub flow: u32,
        /// 0 data, 1 ACK, 2 SYN, 3 SYN-ACK.
        pub kind: u8,
        /// First payload byte of data, from 0; acknowledged byte of an ACK. Every segment counts as a full MSS.
        /// For a window probe, which has no payload, the first unacknowledged byte.
        pub sequence_bytes: u64,
        /// Size on the wire, headers included.
        pub size_bytes: u32,
        /// 0 queued, 1 dropped by the queue, 2 lost by the loss model, 3 queued and marked.
        pub fate: u8,
        /// Time at which its last bit left the line, which may be after the end of the run; null for a dropped packet, and for
        /// one that a queue discipline or a medium still held at the end.
        pub departure_ns: Option<u64>,
        /// The packet is a retransmission.
        pub retransmission: bool,
        /// Number of the packet in the order of sending, the same at every link.
        #[hash(if_rows)]
        pub packet: u64,
        /// Time at which its sender transmitted it on its first link.
        #[hash(if_rows)]
        pub sent_ns: u64,
        /// Time at which its last bit reached the far end of the link; null for a packet that did not arrive.
        #[hash(if_rows)]
        pub arrival_ns: Option<u64>,
        /// Number of the flow's simulated TCP connection, in the order in which they open, from 0; both directions of a
        /// dialogue have one. 0 in an emulation, and over UDP.
        #[hash(if_rows)]
        pub connection: u32,
        /// Payload.
        #[hash(if_rows)]
        pub payload_bytes: u32,
        /// Timestamp that an ACK echoes: the sending time of the segment that set it; null without timestamps.
        #[hash(if_rows)]
        pub echo_ns: Option<u64>,
        /// Receive window that an ACK advertises.
        #[hash(if_rows)]
        pub window_bytes: Option<u64>,
        /// SACK blocks of an ACK, `from-to` in bytes as in `sequence_bytes`, separated by spaces; `permitted` on a SYN or
        /// SYN-ACK that negotiates SACK; else empty.
        #[hash(if_rows)]
        pub sack: String,
        /// ECN codepoint on arrival: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
        #[hash(if_rows)]
        pub ecn: u8,
        /// ECN-Echo flag; on a SYN and SYN-ACK as RFC 3168 negotiates ECN.
        #[hash(if_rows)]
        pub ece: bool,
        /// Congestion Window Reduced flag; on a SYN as RFC 3168 negotiates ECN.
        #[hash(if_rows)]
        pub cwr: bool,
        /// The flags AE, CWR and ECE of an ACK, a SYN or a SYN-ACK as a number (RFC 9768, section 3.2.1: ACE), where the flow
        /// asks for Accurate ECN; else null.
        #[hash(if_values)]
        pub ace: Option<u32>,
    }
}

table! {
    /// An 802.11 station at a sampling instant, and at the end of the run. Counters are cumulative.
    #[table(stations, optional)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StationRow {
        /// Time of the sample.
        pub time_ns: u64,
        /// Name of the medium.
        pub medium: String,
        /// Name of the node.
        pub station: String,
        /// Transmissions that require a response: an RTS, or data without one.
        pub attempts: u64,
        /// Transmissions without a response.
        pub failures: u64,
        /// Attempts that collided with another transmission.
        pub collisions: u64,
        /// Frames destroyed by noise.
        pub frame_errors: u64,
        /// Packets dropped after the last attempt.
        pub given_up_packets: u64,
        /// Packets acknowledged.
        pub sent_packets: u64,
        /// Bytes acknowledged, as IP packets.
        pub sent_bytes: u64,
        /// Packets that the queue dropped.
        pub dropped_packets: u64,
        /// Airtime, responses included.
        pub airtime_ns: u64,
        /// Length of the queue, including the packet in contention or transmission.
        pub queue_packets: u64,
        /// Integral of the queue length over time.
        pub queue_packet_ns: f64,
        /// Maximum length of the queue.
        pub max_queue_packets: u64,
        /// Failures because another station that the receiver senses began in the same slot. This column and the
        /// following ones are null on media without a channel.
        #[hash(if_values)]
        pub same_slot_failures: Option<u64>,
        /// Failures because another frame at the receiver began before or after: of a hidden station, or its own.
        #[hash(if_values)]
        pub hidden_failures: Option<u64>,
        /// Failures without another frame: noise, or a lost response.
        #[hash(if_values)]
        pub noise_failures: Option<u64>,
        /// Time of sending.
        #[hash(if_values)]
        pub sending_ns: Option<u64>,
        /// Time of receiving frames for the station.
        #[hash(if_values)]
        pub receiving_ns: Option<u64>,
        /// Time of receiving frames for other stations.
        #[hash(if_values)]
        pub overheard_ns: Option<u64>,
        /// Time of energy above the threshold without a detected preamble.
        #[hash(if_values)]
        pub energy_ns: Option<u64>,
    }
}

table! {
    /// A bin of the histogram of an emulation's lateness.
    #[table(lateness, optional)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LatenessRow {
        /// Upper end of the bin, inclusive; the lower end is the upper end of the previous bin.
        pub late_ns: u64,
        /// Packets delivered this late after the computed time.
        pub packets: u64,
    }
}

table! {
    /// A property of an emulated path, configured and measured.
    #[table(calibration, optional)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CalibrationRow {
        /// Index of the flow whose route is measured.
        pub flow: u32,
        /// `base_rtt_ns`, `rate_bps` or `capacity_packets`.
        pub quantity: &'static str,
        /// Value in the scenario.
        pub expected: f64,
        /// Value that the probes measured.
        pub measured: f64,
    }
}

table! {
    /// A named value of a flow's sender that changed: a variable of its algorithm, or of the transport (`transport.…`).
    #[table(named_values, optional)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NamedValueRow {
        /// Time of the event of the sender after which the value was taken.
        pub time_ns: u64,
        /// Index of the flow.
        pub flow: u32,
        /// Name of the value, with its unit; `docs/suites.md` lists the names.
        pub name: &'static str,
        /// The new value; true is 1, false is 0, no limit is infinity.
        pub value: f64,
    }
}

table! {
    /// A finding on the run, severe ones first; [its code](records.md#findings) names the condition.
    #[table(findings, optional)]
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FindingRow {
        /// Name of the condition.
        #[hash(never)]
        pub code: &'static str,
        /// `note`, `warning` or `severe`; follows from the code.
        #[hash(never)]
        pub severity: &'static str,
        /// Index of the flow; null if it concerns none.
        #[hash(never)]
        pub flow: Option<u32>,
        /// Index of the link; null if it concerns none.
        #[hash(never)]
        pub link: Option<u32>,
        /// Start of the condition; null if it concerns the whole run.
        #[hash(never)]
        pub time_ns: Option<u64>,
        /// The finding, with its numbers.
        #[hash(never)]
        pub text: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::{fitting, ColumnType, HashRule};

    fn column(table: &str, name: &str) -> &'static crate::declaration::Column {
        let table = TABLES.iter().find(|one| one.name == table).unwrap();
        table.columns.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn a_column_has_type_unit_hash_rule_and_description_of_its_declaration() {
        let cwnd = column("samples", "cwnd_bytes");
        assert_eq!((cwnd.column_type, cwnd.nullable, cwnd.hash_rule), (ColumnType::Int64, true, HashRule::NullsIfAny));
        assert_eq!(cwnd.unit(), "bytes");
        assert_eq!(cwnd.description, "Congestion window that the transport applies; null for UDP and for arrivals.");
        assert_eq!(column("runs", "seed").column_type, ColumnType::UInt64);
        assert_eq!(column("link_samples", "queue_packet_ns").unit(), "packet·ns");
        assert_eq!(column("events", "kind").unit(), "");
        assert_eq!(column("flows", "route").hash_rule, HashRule::Never);
    }

    /// The column holds 63 bits; runs without overflow have the hash of a column without nulls.
    #[test]
    fn a_sum_is_exact_or_null() {
        assert_eq!([fitting(0), fitting((1 << 63) - 1), fitting(1 << 63)], [Some(0), Some((1 << 63) - 1), None]);
        let sum = column("samples", "rtt_sum_ns");
        assert_eq!((sum.column_type, sum.nullable, sum.hash_rule), (ColumnType::Int64, true, HashRule::NullsIfAny));
    }

    #[test]
    fn the_lines_of_a_doc_comment_are_joined_by_spaces() {
        let description = column("events", "cause").description;
        assert!(description.contains("or a `Reason` of `crates/control/src/event.rs`, where"), "{description}");
    }

    #[test]
    fn tables_of_special_runs_are_optional() {
        let optional: Vec<&str> = TABLES.iter().filter(|table| table.optional).map(|table| table.name).collect();
        assert_eq!(
            optional,
            ["stations", "cell_users", "link_events", "lateness", "calibration", "named_values", "findings"]
        );
    }

    #[test]
    fn every_time_column_is_in_nanoseconds() {
        for table in TABLES {
            for column in table.columns {
                let name = column.name;
                assert!(!["_s", "_ms", "_us"].iter().any(|unit| name.ends_with(unit)), "{}.{name}", table.name);
            }
        }
    }
}
