//! Logs in the forms of several stacks and versions.

use super::read;
use crate::event::{Log, Metrics, Protocol, What, ORIGIN};

/// The same two events in all forms: packet 7 of 1200 B sent at 100 ms, and the window 24,000 at 150 ms.
fn assert_reads(log: &Log) {
    let [sent, window] = &log.events[..] else { panic!("{:?}", log.events) };
    assert_eq!(sent.what, What::PacketSent { space: 2, number: 7, bytes: 1200, mtu_probe: false });
    assert_eq!(window.what, What::Metrics(Metrics { cwnd: Some(24_000), ..Metrics::default() }));
    assert_eq!((sent.time, window.time.as_nanos() - sent.time.as_nanos(), log.origin_ms), (ORIGIN, 50_000_000, 100.0));
    assert_eq!(log.protocol, Protocol::Quic);
}

fn parse(text: &str) -> Log {
    read(text.as_bytes(), None).unwrap_or_else(|fault| panic!("{}", fault.what))
}

fn error(text: &str) -> (String, String) {
    let fault = read(text.as_bytes(), None).expect_err("an error");
    (fault.what, fault.hint)
}

const HEAD: &str = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"common_fields":{"group_id":"a"}}}"#;
const SENT: &str = r#"{"time":100.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},"raw":{"length":1200},"frames":[{"frame_type":"stream"}]}}"#;
const WINDOW: &str = r#"{"time":150.0,"name":"recovery:metrics_updated","data":{"congestion_window":24000}}"#;

#[test]
fn json_seq_of_version_0_3() {
    assert_reads(&parse(&format!("\u{1e}{HEAD}\n\u{1e}{SENT}\n\u{1e}{WINDOW}\n")));
}

/// draft-ietf-quic-qlog-quic-events-11: names with the namespace of the schema.
#[test]
fn json_seq_of_later_drafts() {
    let head = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","trace":{"event_schemas":["urn:ietf:params:qlog:events:quic-11"]}}"#;
    let sent = SENT.replace("transport:", "quic:");
    let window = WINDOW.replace("recovery:metrics_updated", "quic:recovery_metrics_updated");
    assert_reads(&parse(&format!("\u{1e}{head}\n\u{1e}{sent}\n\u{1e}{window}\n")));
}

#[test]
fn json_of_version_0_3() {
    assert_reads(&parse(&format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{SENT},{WINDOW}]}}]}}"#)));
}

/// draft-01: events are lists; numbers are strings; times in microseconds by the configuration.
#[test]
fn json_of_draft_01() {
    assert_reads(&parse(
        r#"{"qlog_version":"draft-01","traces":[{"configuration":{"time_units":"us"},
        "event_fields":["relative_time","category","event","data"],"events":[
        [100000,"transport","packet_sent",{"packet_type":"1RTT","header":{"packet_number":"7","packet_size":1200}}],
        [150000,"recovery","metrics_updated",{"cwnd":24000}]]}]}"#,
    ));
}

/// Times relative to the previous event (`time_format` "delta").
#[test]
fn relative_times_add_up() {
    let head = HEAD.replace(r#""group_id":"a""#, r#""time_format":"delta""#);
    let window = WINDOW.replace("150.0", "50.0");
    assert_reads(&parse(&format!("\u{1e}{head}\n\u{1e}{SENT}\n\u{1e}{window}\n")));
}

/// RFC 9002, section 2: ACK-only packets are not in flight.
#[test]
fn packets_with_only_acks_are_not_in_flight() {
    let acks = SENT.replace("stream", "ack").replace(":7}", ":8}");
    assert_reads(&parse(&format!("{HEAD}\n{SENT}\n{acks}\n{WINDOW}\n")));
}

/// RFC 9000, section 19.3.1: between two ranges lies a packet at least, so that ranges that touch exclude their ends.
#[test]
fn ranges_that_touch_exclude_their_ends() {
    let acks = |ranges: &str| {
        let ack = format!(
            r#"{{"time":120.0,"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT"}},"frames":[{{"frame_type":"ack","acked_ranges":{ranges}}}]}}}}"#
        );
        let log = parse(&format!("\u{1e}{HEAD}\n\u{1e}{SENT}\n\u{1e}{ack}\n"));
        let What::AckFrame { ranges, .. } = &log.events[1].what else { panic!("{:?}", log.events) };
        (ranges.to_vec(), log.notes.len())
    };
    assert_eq!(acks("[[1, 4], [5, 7]]"), (vec![(1, 4), (5, 7)], 1));
    assert_eq!(acks("[[1, 4], [6, 7]]"), (vec![(1, 5), (6, 8)], 0));
    // Every packet apart, as some stacks write them.
    assert_eq!(acks("[[4, 4], [5, 5]]"), (vec![(4, 5), (5, 6)], 0));
    assert_eq!(acks("[[4], [5]]"), (vec![(4, 5), (5, 6)], 0));
}

/// draft-ietf-quic-qlog-quic-events-11: `is_mtu_probe_packet` of packets sent and lost. Without it, a probe has PING and
/// PADDING (RFC 9000, section 14.4) and is larger than the packets before it; one of their size may be another probe.
#[test]
fn probes_of_the_path_mtu_are_known_by_name_or_by_frames() {
    let probe = |length: u64, frames: &str, mark: &str| {
        let frames = SENT.replace(r#"{"frame_type":"stream"}"#, frames).replace("1200", &length.to_string());
        let log = parse(&format!("{HEAD}\n{SENT}\n{}\n", frames.replace(r#""frames""#, &format!(r#"{mark}"frames""#))));
        let What::PacketSent { mtu_probe, .. } = log.events[1].what else { panic!("{:?}", log.events) };
        mtu_probe
    };
    let padded = r#"{"frame_type":"ping"},{"frame_type":"padding"}"#;
    let mark = r#""is_mtu_probe_packet":true,"#;
    assert_eq!([probe(1452, padded, ""), probe(1200, padded, mark)], [true; 2]);
    let no_mark = mark.replace("true", "null");
    let ping = r#"{"frame_type":"ping"}"#;
    assert_eq!([probe(1200, padded, ""), probe(1452, ping, ""), probe(1200, padded, &no_mark)], [false; 3]);
    let lost = r#"{"time":120.0,"name":"recovery:packet_lost","data":{"header":{"packet_number":7},"is_mtu_probe_packet":true}}"#;
    let log = parse(&format!("{HEAD}\n{SENT}\n{lost}\n"));
    assert_eq!(log.events[1].what, What::PacketLost { space: 2, number: 7, mtu_probe: true });
}

/// RFC 7464, sections 2.1 and 2.2: a record separator begins a text, which may have line breaks. RFC 8259, section 8.1: a
/// reader may ignore a byte order mark.
#[test]
fn json_seq_with_line_breaks_and_a_byte_order_mark() {
    let broken = [HEAD, SENT, WINDOW].map(|record| format!("\u{1e}{}\n", record.replace(',', ",\n  ")));
    assert_reads(&parse(&broken.concat()));
    assert_reads(&parse(&format!("\u{feff}{HEAD}\n{SENT}\n{WINDOW}\n")));
    assert_reads(&parse(&format!(
        "\u{feff}{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{SENT},{WINDOW}]}}]}}"
    )));
}

/// RFC 7464, section 2.3: a truncated record is skipped.
#[test]
fn a_cut_sequence_is_read_up_to_the_cut() {
    let log = parse(&format!("\u{1e}{HEAD}\n\u{1e}{SENT}\n\u{1e}{WINDOW}\n\u{1e}{{\"time\":1"));
    assert_reads(&log);
    assert_eq!(log.notes, ["1 record of the log could not be read, the first is record 3"]);
}

#[test]
fn several_connections_need_a_choice() {
    let of = |name: &str, record: &str| record.replacen('{', &format!("{{\"group_id\":\"{name}\","), 1);
    let text = [HEAD, &of("one", SENT), &of("two", WINDOW)].join("\n");
    assert_eq!(error(&text).0, "has 2 connections: one, two");
    assert_eq!(read(text.as_bytes(), Some("two")).expect("it exists").events.len(), 1);
    let fault = read(text.as_bytes(), Some("three")).expect_err("no such connection");
    assert_eq!((&fault.what[..], &fault.hint[..]), ("has no connection 'three'", "its connections are: one, two"));
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(error("").0, "is empty");
    assert_eq!(error(HEAD).0, "has no event that an audit uses");
    assert_eq!(error("hello").0, "is not qlog: expected value at line 1 column 1");
    let cut = format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{SENT},"#);
    assert_eq!(error(&cut).0, "ends within a value in line 1: the file is truncated");
    assert_eq!(read(&[0xff, 0xfe], None).expect_err("no text").what, "is not text");
}

/// Two traces of one connection, as of qvis' example with two vantage points: each is a connection of its own.
#[test]
fn vantage_points_of_one_connection_are_told_apart() {
    let trace = |point: &str, event: &str| {
        format!(r#"{{"vantage_point":{point},"common_fields":{{"ODCID":"0a"}},"events":[{event}]}}"#)
    };
    let document = |one: &str, other: &str| {
        format!(r#"{{"qlog_version":"0.3","traces":[{},{}]}}"#, trace(one, SENT), trace(other, WINDOW))
    };
    let client = r#"{"type":"client"}"#;
    let server = r#"{"type":"server","name":"b"}"#;
    let both = document(client, server);
    assert_eq!(error(&both).0, "has 2 connections: 0a/client, 0a/server");
    assert_eq!(read(both.as_bytes(), Some("0a/server")).expect("it exists").events.len(), 1);
    // By name where the types are equal, by number where nothing differs.
    let named = |name: &str| format!(r#"{{"type":"network","name":"{name}"}}"#);
    assert_eq!(error(&document(&named("x"), &named("y"))).0, "has 2 connections: 0a/x, 0a/y");
    assert_eq!(error(&document("{}", "{}")).0, "has 2 connections: 0a/trace 0, 0a/trace 1");
    // Files that were joined.
    let joined = format!("\u{1e}{HEAD}\n\u{1e}{SENT}\n\u{1e}{HEAD}\n\u{1e}{WINDOW}\n");
    assert_eq!(error(&joined).0, "has 2 connections: a/trace 0, a/trace 1");
}

/// Events of mvfst before 2020: draft-00 with columns in `event_fields`, times in microseconds as texts, the window as
/// `current_cwnd`, and losses in one event.
#[test]
fn json_of_draft_00() {
    let log = parse(
        r#"{"qlog_version":"draft-00","traces":[{"configuration":{"time_offset":0,"time_units":"us"},
        "common_fields":{"dcid":"","reference_time":"0"},
        "event_fields":["CATEGORY","EVENT_TYPE","TRIGGER","relative_time","DATA"],"events":[
        ["TRANSPORT","PACKET_SENT","DEFAULT","100000",
         {"packet_type":"1RTT","header":{"packet_number":7,"packet_size":1200},"frames":[{"frame_type":"STREAM"}]}],
        ["METRIC_UPDATE","CONGESTION_METRIC_UPDATE","DEFAULT","150000",
         {"bytes_in_flight":1200,"current_cwnd":24000,"congestion_event":"","state":"Steady"}],
        ["LOSS","PACKETS_LOST","DEFAULT","160000",
         {"largest_lost_packet_num":7,"lost_bytes":2400,"lost_packets":2}]]}]}"#,
    );
    assert_eq!(log.events[0].what, What::PacketSent { space: 2, number: 7, bytes: 1200, mtu_probe: false });
    let window = Metrics { cwnd: Some(24_000), in_flight: Some(1200), ..Metrics::default() };
    assert_eq!(log.events[1].what, What::Metrics(window));
    assert_eq!(log.events[2].what, What::PacketsLost { largest: 7, count: 2 });
    assert_eq!(log.events[2].time.as_nanos() - ORIGIN.as_nanos(), 60_000_000);
}

#[test]
fn the_log_of_a_receiver_is_named() {
    let received = r#"{"time":100.0,"name":"transport:packet_received","data":{"raw":{"length":120000},"frames":[]}}"#;
    let log = parse(&format!("{HEAD}\n{SENT}\n{received}\n{WINDOW}\n"));
    assert!(log.notes[0].starts_with("the log is that of a receiver: it has 120 kB received and 1 kB sent"));
    assert!(parse(&format!("{HEAD}\n{SENT}\n{WINDOW}\n")).notes.is_empty());
}

#[test]
fn a_log_that_begins_with_a_late_packet_begins_in_the_middle() {
    assert!(!parse(&format!("{HEAD}\n{SENT}\n{WINDOW}\n")).begins_late);
    let late = SENT.replace("\"packet_number\":7", "\"packet_number\":7000");
    assert!(parse(&format!("{HEAD}\n{late}\n{WINDOW}\n")).begins_late);
}

#[test]
fn a_compressed_log_is_named() {
    let fault = read(&[0x1f, 0x8b, 8], None).expect_err("no text");
    assert_eq!((&*fault.what, &*fault.hint), ("is compressed with gzip", "unpack it with `gzip -d` first"));
}
