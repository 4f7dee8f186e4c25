//! Workloads of messaging and medical protocols, with times computed by hand.
//!
//! The line sends a byte in 1 µs, the path an RTT of 40 ms, a segment 1460 bytes and 40 bytes of headers. Each end
//! acknowledges each segment at once, so that an ACK of 40 bytes precedes what its application sends then.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{Records, TransferRow};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// Time on the line of an ACK or a SYN.
const ACK: u64 = 40 * US;

fn simulate(workload: &Value) -> Records {
    simulate_over(workload, &json!({}))
}

/// Lets the packets with payload in the flow's direction that have these numbers be lost.
fn losing(lost: &[u64]) -> Value {
    json!({ "loss": [{ "kind": "list", "indices": lost, "counts": "payload" }] })
}

/// The document of a scenario with this workload, over a line with these fields beside.
fn document(workload: &Value, line: &Value) -> Value {
    let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": { "ack_every": 1 }, "workload": workload });
    let mut bottleneck = json!({ "rate": "8 Mbps", "delay": "10 ms", "queue": { "capacity": "100 packets" } });
    for (name, value) in line.as_object().expect("a table") {
        bottleneck[name] = value.clone();
    }
    json!({ "schema_version": 1, "duration": "10 s", "flow": [flow], "dumbbell": { "bottleneck": bottleneck } })
}

fn simulate_over(workload: &Value, line: &Value) -> Records {
    let document = document(workload, line);
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// Bytes of a message in its segments.
fn packets(bytes: u64) -> u64 {
    bytes + 40 * bytes.div_ceil(1460)
}

/// Time on the line of messages that are sent together.
fn line(messages: &[u64]) -> u64 {
    messages.iter().map(|&bytes| packets(bytes)).sum::<u64>() * US
}

/// Time from the arrival of a message to that of its answers, sent together, at the other end.
fn answer(messages: &[u64]) -> u64 {
    ACK + send(messages)
}

/// Time from the writing of messages, when no ACK is due, to their arrival.
fn send(messages: &[u64]) -> u64 {
    20 * MS + line(messages)
}

/// Time from the start of a flow to the arrival of its first messages: the handshake of TCP, whose ACK they carry.
fn first(messages: &[u64]) -> u64 {
    40 * MS + 2 * ACK + send(messages)
}

fn times(row: &TransferRow) -> (u64, u64) {
    (row.start_ns, row.end_ns - row.start_ns)
}

/// RFC 8446 and RFC 5246: TLS 1.3 takes one round trip before CONNECT, 0-RTT none, TLS 1.2 two. CONNECT has 24 bytes,
/// CONNACK 4, each in a record with 22 or 29 bytes more. The first message is sent when CONNACK arrives.
#[test]
fn mqtt_connects_after_the_round_trips_of_tls() {
    let workload = json!({ "kind": "mqtt", "payload": "100 B", "period": "1 s", "client": 10, "topic": 20 });
    let connected = |tls: &str, authentication: &str| {
        let mut workload = workload.clone();
        (workload["tls"], workload["tls_authentication"]) = (json!(tls), json!(authentication));
        simulate(&workload).transfers[0].start_ns
    };
    let plain = simulate(&workload).transfers[0].start_ns;
    assert_eq!(plain, first(&[24]) + answer(&[4]));
    let full = first(&[162]) + answer(&[394]) + answer(&[233, 46]) + answer(&[26]);
    assert_eq!(connected("1.3", "raw-keys"), full);
    // What is written before TCP's handshake ends is one segment, what the server answers at once are two.
    let early = first(&[200 + 46]) + answer(&[194, 26]);
    assert_eq!(connected("1.3-0rtt", "psk-ecdhe"), early);
    let old = first(&[170]) + answer(&[3188]) + answer(&[117]) + answer(&[75]) + answer(&[53]) + answer(&[33]);
    assert_eq!(connected("1.2", "certificates"), old);
}

/// AMQP 1.0: SASL takes two round trips, open, begin and attach one if they are pipelined and three if not; a message
/// of 100 bytes has 30 more, and its disposition 23.
#[test]
fn amqp_attaches_and_settles() {
    for pipelined in [true, false] {
        let workload = json!({ "kind": "amqp", "payload": "100 B", "period": "1 s", "pipelined": pipelined });
        let records = simulate(&workload);
        let flights: &[u64] =
            if pipelined { &[58, 50, 50, 298, 331] } else { &[58, 50, 50, 108, 108, 40, 40, 150, 183] };
        let attached = first(&[8]) + flights.iter().map(|&bytes| answer(&[bytes])).sum::<u64>();
        assert_eq!(times(&records.transfers[0]), (attached, answer(&[130]) + answer(&[23])));
        // The second message does not follow an ACK.
        let second = (attached + 1000 * MS, send(&[130]) + answer(&[23]));
        assert_eq!(times(&records.transfers[1]), second);
    }
}

/// XMPP without TLS: stream, SCRAM twice, stream and bind are five round trips after that of TCP. The first stanza, 200
/// bytes around 100, follows `<enable/>` of 31 bytes.
#[test]
fn xmpp_logs_in_and_sends_a_stanza() {
    let workload = json!({ "kind": "xmpp", "payload": "100 B", "period": "1 s" });
    let records = simulate(&workload);
    let flights = [400, 150, 150, 150, 150, 150, 400, 150, 150];
    let bound = first(&[150]) + flights.iter().map(|&bytes| answer(&[bytes])).sum::<u64>();
    assert_eq!(times(&records.transfers[0]), (bound, answer(&[31, 300])));
    assert_eq!(times(&records.transfers[1]), (bound + 1000 * MS, send(&[300])));
}

/// HL7 over MLLP: 3 bytes around a message of 2000 and around its acknowledgement of 150, which the server sends 5 ms
/// after the arrival, when its ACK has left. A message that is generated while another one is outstanding waits.
#[test]
fn hl7_messages_wait_for_acknowledgements() {
    let workload = json!({ "kind": "hl7", "message": "2000 B", "period": "1 s", "burst": 2, "processing": "5 ms" });
    let records = simulate(&workload);
    let acknowledged = 5 * MS + send(&[153]);
    let opened = first(&[2003]) + acknowledged;
    assert_eq!(times(&records.transfers[0]), (0, opened));
    assert_eq!(times(&records.transfers[1]), (0, opened + answer(&[2003]) + acknowledged));
    let later = send(&[2003]) + acknowledged;
    assert_eq!(times(&records.transfers[2]), (1000 * MS, later));
}

/// DICOM: the sum over the images of serialisation, RTT and storage, after the association. An image of 10,000 bytes
/// and its command of 150 have 12 bytes for each of two PDUs, the response of 150 bytes has 12.
#[test]
fn a_dicom_study_takes_a_round_trip_and_the_storage_for_each_image() {
    let workload =
        json!({ "kind": "dicom", "images": 3, "image": "10000 B", "period": "1 s", "count": 1, "storage": "30 ms" });
    let records = simulate(&workload);
    let associated = first(&[2000]) + answer(&[1000]);
    let image = answer(&[10_174]) + 30 * MS + send(&[162]);
    assert_eq!(records.transfers.iter().map(times).collect::<Vec<_>>(), [(0, associated + 3 * image)]);
    assert_eq!(records.transfers[0].size_bytes, 30_000);
    assert_eq!(records.flows[0].end_ns, Some(associated + 3 * image));
}

/// DICOM PS3.8, 9.3.5, with the writes of pynetdicom and DCMTK: each has segments of its own. With Nagle's algorithm the data of
/// a response wait for the ACK of its headers, a round trip more for an image (RFC 9293, 3.7.4); an image that fills its
/// segments does not wait.
#[test]
fn what_a_dicom_end_writes_at_once_decides_its_segments() {
    let study = |fields: Value| {
        let mut workload = json!({ "kind": "dicom", "images": 3, "period": "1 s", "count": 1, "storage": "30 ms",
            "associate": "1460 B", "accept": "1460 B" });
        workload.as_object_mut().expect("a table").extend(fields.as_object().expect("a table").clone());
        times(&simulate(&workload).transfers[0]).1
    };
    let associated = first(&[1460]) + answer(&[1460]);
    let pdus = answer(&[162, 10_012]) + 30 * MS + send(&[12, 150]);
    let took = study(json!({ "image": "10000 B", "writes": "pdus", "archive_writes": "headers" }));
    assert_eq!(took, associated + 3 * pdus);
    let headers = answer(&[12, 150, 12, 10_000]) + 30 * MS + send(&[162]);
    let took = study(json!({ "image": "10000 B", "writes": "headers" }));
    assert_eq!(took, associated + 3 * headers);
    let waits = answer(&[10_220]) + 30 * MS + send(&[12]) + answer(&[]) + send(&[150]);
    let took = study(json!({ "image": "10046 B", "archive_writes": "headers", "nagle": true }));
    assert_eq!(took, associated + 3 * waits);
}

/// Round trips of 40 ms before a page of two of them, on a new connection: TCP 1, TLS 1.3 another one (RFC 8446, 2), TLS 1.2
/// two (RFC 5246, 7.3), QUIC 1 in all (RFC 9001), with 0-RTT none. Later pages have their own two. The bytes of the flights
/// take less than 11 ms on the line.
#[test]
fn a_page_waits_for_the_round_trips_of_its_version() {
    let trips = [
        ("2", "none", 3),
        ("2", "1.3", 4),
        ("2", "1.2", 5),
        ("2", "1.3-0rtt", 3),
        ("3", "1.3", 3),
        ("3", "1.3-0rtt", 2),
    ];
    for (http, tls, first) in trips {
        let records = simulate(&json!({ "kind": "page-loads", "main": "1000 B", "object": "500 B", "objects": 3,
            "parse": "0 s", "think": "1 s", "count": 2, "http": http, "tls": tls }));
        for (row, trips) in records.transfers.iter().zip([first, 2]) {
            let took = row.end_ns - row.start_ns;
            let least = trips * 40 * MS;
            assert!((least..least + 11 * MS).contains(&took), "HTTP/{http}, TLS {tls}: {took} ns");
            assert_eq!(row.size_bytes, 2500);
        }
        assert_eq!(records.transfers.len(), 2);
    }
}

/// REST over HTTP/2 with TLS 1.3 and 0-RTT: the request of 33 + 509 bytes follows the first flight of TLS, 200 bytes,
/// in one segment; the response of 1000 bytes, with 18 + 509 + 9 more, follows the server's flight of 194. After 2 s
/// the connection is open, header fields are short; after an idle time-out of 1 s it is not.
#[test]
fn rest_reuses_a_connection_until_its_idle_timeout() {
    let workload = |idle: &str| json!({ "kind": "rest", "response": "1000 B", "gap": "2 s", "tls": "1.3-0rtt", "idle_timeout": idle });
    let opened = first(&[200 + 542 + 22]) + answer(&[194, 1536 + 22]);
    for (idle, second) in [("75 s", send(&[69 + 22]) + answer(&[1078 + 22])), ("1 s", opened)] {
        let records = simulate(&workload(idle));
        assert_eq!(times(&records.transfers[0]), (0, opened));
        assert_eq!(times(&records.transfers[1]), (opened + 2000 * MS, second), "{idle}");
    }
}

/// HTTP/3, RFC 9000 and RFC 9001: a datagram of 1200 bytes, a server's flight of 3568 and its answer take one round trip
/// before the request, 0-RTT none. Packets have 28 + 34 bytes of headers and 1438 of data, an ACK has 62. The request has 506
/// bytes behind the client's last datagram, the response to it 1509; later they have 62 and 1065. With 0-RTT the request
/// arrives while the server's flight of 1166 is on the line, so that its ACK and its response follow that flight.
#[test]
fn http_3_takes_one_round_trip_or_none() {
    let wire = |bytes: u64| (bytes + 62 * bytes.div_ceil(1438)) * US;
    let send = |bytes: &[u64]| 20 * MS + bytes.iter().map(|&one| wire(one)).sum::<u64>();
    let ack = 62 * US;
    let answer = |bytes: &[u64]| ack + send(bytes);
    let workload = |tls: &str| json!({ "kind": "rest", "http": "3", "response": "1000 B", "gap": "2 s", "tls": tls });
    let again = send(&[62]) + answer(&[62 + 1003]);
    let full = send(&[1166]) + answer(&[3466]) + answer(&[1166, 506]) + answer(&[1509]);
    let early = send(&[1166]) + answer(&[1166, 1509]) + ack;
    for (tls, opened) in [("1.3", full), ("1.3-0rtt", early)] {
        let records = simulate(&workload(tls));
        assert_eq!(times(&records.transfers[0]), (0, opened), "{tls}");
        assert_eq!(times(&records.transfers[1]), (opened + 2000 * MS, again), "{tls}");
    }
}

/// RFC 9114, section 2: a lost packet of one response delays the others with HTTP/2, where they share a stream of bytes, and
/// not with HTTP/3. Six requests are sent together with the first flight. Packet 0 has the server's flight, each other one a
/// response. That of the second one is lost, and sent again after an RTT of 40 ms.
#[test]
fn a_lost_packet_delays_one_stream_of_http_3() {
    let late = |http: &str| {
        let workload = json!({ "kind": "rest", "http": http, "response": "500 B", "parallel": 6, "count": 6, "gap": "1 s",
            "tls": "1.3-0rtt" });
        let ends = |line| simulate_over(&workload, &line).transfers.iter().map(|row| row.end_ns).collect::<Vec<_>>();
        let (clean, lossy) = (ends(json!({})), ends(losing(&[2])));
        assert_eq!((clean.len(), lossy.len()), (6, 6));
        let last = clean.into_iter().max().expect("transfers");
        lossy.into_iter().filter(|&end| end > last + 20 * MS).count()
    };
    assert_eq!([late("2"), late("3")], [5, 1]);
}

/// Each of these changes of a flow over HTTP/3 is a fault at the field that it names.
#[test]
fn http_3_names_what_quic_does_not_have() {
    let valid = json!({ "kind": "rest", "http": "3", "gap": "1 s", "tls": "1.3" });
    for (place, pointer, value) in [
        ("flow[0].workload.tls", "/flow/0/workload/tls", json!("1.2")),
        ("flow[0].workload.tls", "/flow/0/workload/tls", json!("none")),
        ("flow[0].workload.parallel", "/flow/0/workload/parallel", json!(101)),
        ("flow[0].stack.mss", "/flow/0/stack/mss", json!("1187 B")),
        ("flow[0].algorithm", "/flow/0/algorithm", json!("rcp")),
        ("flow[0].algorithm", "/flow/0/algorithm", json!("reno/newreno")),
    ] {
        let mut document = document(&valid, &json!({}));
        document["flow"][0]["workload"]["parallel"] = json!(1);
        document["flow"][0]["stack"]["mss"] = json!("1188 B");
        let plan =
            |document: &Value| Scenario::from_json(&document.to_string(), None).and_then(|one| one.plan(&catalogue()));
        assert!(plan(&document).is_ok(), "{:?}", plan(&document).err());
        *document.pointer_mut(pointer).expect("the field is given") = value;
        let faults = plan(&document).expect_err(place);
        assert_eq!(faults[0].place, place, "{:?}", faults[0]);
    }
}

/// XEP-0198, section 5: the line is down from 2.5 s to 6.5 s, and the client gives its connection up 1.5 s after a request.
/// With resumption each message arrives once. Without, those of 3.2 and 4.2 s are lost with their connection; that of 5.2 s
/// waits for another one.
#[test]
fn xmpp_resumes_its_stream_after_an_outage() {
    let outage = json!({ "schedule": [{ "at": "2.5 s", "rate": "0 bps" }, { "at": "6.5 s", "rate": "8 Mbps" }] });
    let starts = |resume: bool| {
        let workload = json!({ "kind": "xmpp", "payload": "100 B", "period": "1 s", "ack_every": 1, "response_timeout": "1.5 s",
            "resume": resume });
        let rows = simulate_over(&workload, &outage).transfers;
        rows.iter().map(|row| row.start_ns / (1000 * MS)).collect::<Vec<_>>()
    };
    assert_eq!(starts(true), (0..10).collect::<Vec<_>>());
    assert_eq!(starts(false), [0, 1, 2, 5, 6, 7, 8, 9]);
}
