//! The data of the events that an audit uses, and their names in the versions of qlog.
//!
//! Sources: draft-ietf-quic-qlog-main-schema and draft-ietf-quic-qlog-quic-events, versions 00 to 11 (qlog 0.3, 0.4);
//! draft-marx-qlog-event-definitions-quic-h3 (draft-01, draft-02); for draft-00, what mvfst writes.

use cwndlab_units::Duration;
use serde::Deserialize;

use super::lenient::{spans, Number, Text};
use crate::event::{LoggedState, Metrics, Remark, What};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Header {
    packet_number: Number,
    packet_type: Text,
    packet_size: Number,
    length: Number,
    payload_length: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Frame {
    #[serde(rename = "frame_type")]
    kind: Text,
    acked_ranges: Vec<Vec<Number>>,
    ce: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Packet {
    header: Header,
    #[serde(rename = "packet_type")]
    kind: Text,
    #[serde(rename = "packet_number")]
    number: Number,
    raw: Number,
    #[serde(rename = "packet_size")]
    size: Number,
    frames: Option<Vec<Frame>>,
    #[serde(rename = "is_mtu_probe_packet")]
    mtu_probe: serde_json::Value,
}

/// Values of congestion control; `cwnd` is the name of draft-00, `current_cwnd` that of mvfst.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Values {
    congestion_window: Number,
    cwnd: Number,
    current_cwnd: Number,
    ssthresh: Number,
    bytes_in_flight: Number,
    smoothed_rtt: Number,
    latest_rtt: Number,
    min_rtt: Number,
}

/// `packets_lost` of mvfst: several losses in one event.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Losses {
    largest_lost_packet_num: Number,
    lost_packets: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Parameters {
    max_datagram_size: Number,
    initial_congestion_window: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StateChange {
    new: Text,
}

/// The fields of the schema `urn:cwndlab:qlog:tcp`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Tcp {
    connection: Number,
    sequence: Number,
    length: Number,
    ack: Number,
    sack: Vec<Vec<Number>>,
    ece: bool,
    ace: Number,
    timestamp_rtt: Number,
    kind: Text,
    cwnd_before: Number,
    cwnd_after: Number,
    cause: Text,
}

/// The event of one record: nothing, or up to a few events, since a QUIC packet may hold several ACK frames.
pub(crate) struct Read {
    pub(crate) events: Vec<What>,
    /// The connection within the flow, where the event names one.
    pub(crate) connection: Option<u64>,
    /// A packet was sent without a list of its frames.
    pub(crate) unlisted: bool,
    /// A packet was sent that has PING and PADDING only.
    pub(crate) padded_ping: bool,
    /// Size of a received packet, bytes.
    pub(crate) received: u64,
}

impl Read {
    fn of(events: Vec<What>) -> Self {
        Self { events, connection: None, unlisted: false, padded_ping: false, received: 0 }
    }
}

/// The name without its namespace: `recovery:metrics_updated`, `quic:recovery_metrics_updated` and `METRICS_UPDATED`
/// are the same event.
pub(crate) fn plain_name(name: &str) -> String {
    let name = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase().replace('-', "_");
    name.strip_prefix("recovery_").map_or(name.clone(), str::to_owned)
}

/// Translates the data of an event. `ms` is the unit of its durations in milliseconds.
///
/// # Errors
///
/// The data is no JSON object of the expected form.
pub(crate) fn translate(name: &str, data: &str, ms: f64) -> Result<Read, serde_json::Error> {
    match name {
        "packet_sent" => serde_json::from_str(data).map(|packet| sent(&packet)),
        "packet_received" => serde_json::from_str(data)
            .map(|packet: Packet| Read { received: size(&packet), ..Read::of(received(&packet)) }),
        "packet_lost" => serde_json::from_str(data).map(|packet| Read::of(lost(&packet))),
        "packets_lost" => serde_json::from_str(data).map(|one| Read::of(losses(&one))),
        "metrics_updated" | "metric_update" | "congestion_metric_update" => {
            serde_json::from_str(data).map(|values| Read::of(metrics(&values, ms)))
        }
        "parameters_set" => serde_json::from_str(data).map(|one: Parameters| {
            let mss = one.max_datagram_size.whole();
            let initial_cwnd = one.initial_congestion_window.whole();
            Read::of(vec![What::Parameters { mss, initial_cwnd }])
        }),
        "congestion_state_updated" => {
            serde_json::from_str(data).map(|one: StateChange| Read::of(state(&one).into_iter().collect()))
        }
        "segment_sent" | "ack_received" | "remark" => serde_json::from_str(data).map(|one| tcp(name, &one)),
        _ => Ok(Read::of(Vec::new())),
    }
}

fn space(packet: &Packet) -> u8 {
    let text = packet.header.packet_type.0.as_deref().or(packet.kind.0.as_deref()).unwrap_or("1RTT");
    match text.to_ascii_lowercase().as_str() {
        "initial" => 0,
        "handshake" => 1,
        _ => 2,
    }
}

fn number(packet: &Packet) -> Option<u64> {
    packet.header.packet_number.whole().or(packet.number.whole())
}

/// The type of a frame in one spelling.
fn kind(frame: &Frame) -> String {
    frame.kind.0.as_deref().unwrap_or_default().to_ascii_lowercase().replace('-', "_")
}

/// RFC 9002, section 2: packets with only ACK, PADDING and CONNECTION_CLOSE frames are not ack-eliciting. A packet with
/// PADDING counts as in flight, but is not acknowledged unless another frame elicits it.
fn elicits_ack(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| {
        let kind = kind(frame);
        !(is_ack(&kind) || matches!(kind.as_str(), "padding" | "connection_close" | ""))
    })
}

/// RFC 9000, section 14.4: what a probe of the path MTU may be limited to.
fn is_padded_ping(frames: &[Frame]) -> bool {
    let has = |wanted| frames.iter().any(|frame| kind(frame) == wanted);
    has("ping") && has("padding") && frames.iter().all(|frame| matches!(kind(frame).as_str(), "ping" | "padding"))
}

/// Size of a packet, bytes; 0 where the log does not say.
fn size(packet: &Packet) -> u64 {
    let header = &packet.header;
    let sizes = [packet.raw, packet.size, header.packet_size, header.length, header.payload_length];
    sizes.iter().find_map(|one| one.whole()).unwrap_or(0)
}

/// ACK frames, and those of extensions that have the same ranges.
fn is_ack(kind: &str) -> bool {
    matches!(kind, "ack" | "ack_ecn" | "ack_receive_timestamps")
}

fn sent(packet: &Packet) -> Read {
    let unlisted = packet.frames.is_none();
    let bytes = size(packet);
    let counts = packet.frames.as_ref().is_none_or(|frames| elicits_ack(frames));
    let mtu_probe = packet.mtu_probe == true;
    let events = match number(packet) {
        Some(number) if counts && bytes > 0 => {
            vec![What::PacketSent { space: space(packet), number, bytes, mtu_probe }]
        }
        _ => Vec::new(),
    };
    let padded_ping = packet.frames.as_ref().is_some_and(|frames| is_padded_ping(frames));
    Read { unlisted, padded_ping, ..Read::of(events) }
}

fn received(packet: &Packet) -> Vec<What> {
    let space = space(packet);
    let frames = packet.frames.iter().flatten();
    let acks = frames.filter(|frame| is_ack(&kind(frame)));
    acks.map(|frame| What::AckFrame { space, ranges: spans(&frame.acked_ranges), ce: frame.ce.whole().unwrap_or(0) })
        .collect()
}

fn lost(packet: &Packet) -> Vec<What> {
    let mtu_probe = packet.mtu_probe == true;
    number(packet).map(|number| What::PacketLost { space: space(packet), number, mtu_probe }).into_iter().collect()
}

fn losses(one: &Losses) -> Vec<What> {
    let largest = one.largest_lost_packet_num.whole();
    let count = one.lost_packets.whole().unwrap_or(1);
    largest.map(|largest| What::PacketsLost { largest, count }).into_iter().collect()
}

/// A duration in units of `ms` milliseconds, if there is one.
fn duration(one: Number, ms: f64) -> Option<Duration> {
    one.0.filter(|value| *value > 0.0).map(|value| Duration::from_nanos((value * ms * 1e6).round() as u64))
}

fn metrics(values: &Values, ms: f64) -> Vec<What> {
    let time = |one| duration(one, ms);
    let cwnd = [values.congestion_window, values.cwnd, values.current_cwnd];
    let cwnd = cwnd.iter().find_map(|one| one.whole()).filter(|bytes| *bytes > 0);
    // Stacks write their largest integer for a threshold without limit.
    let ssthresh = values.ssthresh.whole().filter(|bytes| *bytes < 1 << 40);
    vec![What::Metrics(Metrics {
        cwnd,
        ssthresh,
        in_flight: values.bytes_in_flight.whole(),
        srtt: time(values.smoothed_rtt),
        latest_rtt: time(values.latest_rtt),
        min_rtt: time(values.min_rtt),
    })]
}

fn state(change: &StateChange) -> Option<What> {
    let text = change.new.0.as_deref()?.to_ascii_lowercase();
    Some(What::State(match text.as_str() {
        "recovery" | "fast_recovery" => LoggedState::Recovery,
        "cwr" => LoggedState::Cwr,
        "loss" => LoggedState::Loss,
        "application_limited" => LoggedState::AppLimited,
        _ => LoggedState::Growing,
    }))
}

fn tcp(name: &str, one: &Tcp) -> Read {
    let what = match name {
        "segment_sent" => one
            .sequence
            .whole()
            .zip(one.length.whole())
            .map(|(seq, bytes)| What::Segment { seq, bytes, stamp: None, cwr: false })
            .filter(|what| !matches!(what, What::Segment { bytes: 0, .. })),
        "ack_received" => one.ack.whole().map(|ack| {
            let pair = |block: &Vec<Number>| Some((block.first()?.whole()?, block.get(1)?.whole()?));
            let sack = one.sack.iter().filter_map(pair).filter(|block| block.0 < block.1).collect();
            let duplicates = one.sack.is_empty();
            let echo_rtt = duration(one.timestamp_rtt, 1.0);
            let ace = one.ace.whole().and_then(|ace| u8::try_from(ace).ok());
            What::TcpAck { ack, sack, ece: one.ece && ace.is_none(), ace, echo: None, echo_rtt, rwnd: None, duplicates }
        }),
        _ => remark(one),
    };
    Read { connection: one.connection.whole(), ..Read::of(what.into_iter().collect()) }
}

fn remark(one: &Tcp) -> Option<What> {
    let remark = match (one.kind.0.as_deref()?, one.cause.0.as_deref()) {
        ("open", _) => Remark::Opened,
        ("established", _) => Remark::Established,
        ("recovery", _) => Remark::Recovery,
        ("ecn", _) => Remark::Ecn,
        ("timeout", Some("rto")) => Remark::Timeout,
        ("recovered", _) => Remark::Recovered,
        ("undo", _) => Remark::Undo,
        _ => return None,
    };
    Some(What::Remark { remark, cwnd: (one.cwnd_before.whole()?, one.cwnd_after.whole()?) })
}
