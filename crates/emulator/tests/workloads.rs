//! Workloads over kernel TCP: each offers data as its definition says, no more and no less, also where it pauses or
//! stops. The answers follow from the definitions and from the line, which carries at most its rate: no bound in bytes
//! depends on the load of the machine, except that of less than the expected data (half of them).
//!
//! The tests are skipped where the kernel denies namespaces, unless `CWNDLAB_REQUIRE_EMULATION` is set.

use cwndlab_records::rows::{Records, TransferRow};
use serde_json::{json, Value};

use common::run;

mod common;

/// Payload of a packet of 1500 bytes: 40 bytes of IPv4 and TCP, 12 of timestamps.
const SHARE: f64 = 1448.0 / 1500.0;
/// Capacity of the bottleneck's queue, packets.
const QUEUE: u64 = 20;

/// Flows over a line of `rate` Mbit/s with a queue of [`QUEUE`] packets.
fn over_line(rate: u64, duration: &str, flows: &Value) -> Option<Records> {
    over(rate, QUEUE, duration, flows)
}

fn over(rate: u64, packets: u64, duration: &str, flows: &Value) -> Option<Records> {
    let queue = json!({ "capacity": format!("{packets} packets") });
    let line = json!({ "rate": format!("{rate} Mbps"), "delay": "2 ms", "queue": queue });
    let document =
        json!({ "schema_version": 1, "duration": duration, "dumbbell": { "bottleneck": line }, "flow": flows });
    run(&document).map(|(records, _)| records)
}

/// The payload that a line of `rate` Mbit/s with a base RTT of 40 ms carries of an endless supply of `active` seconds in `periods` parts: at the
/// end of each, the queue, the packets on the path and two unsent segments may follow.
fn most(rate: u64, active: f64, periods: u64) -> u64 {
    let packets_on_path = (rate as f64 * 1e6 * 0.04 / 12_000.0).ceil() as u64;
    let line = (rate as f64 * 1e6 * active / 8.0 * SHARE) as u64;
    line + periods * (QUEUE + packets_on_path + 1 + 2) * 1448
}

fn check(delivered: u64, rate: u64, active: f64, periods: u64) {
    let most = most(rate, active, periods);
    let least = (rate as f64 * 1e6 * active / 8.0 * SHARE / 2.0) as u64;
    assert!((least..=most).contains(&delivered), "{delivered}: at least {least}, at most {most}");
}

/// 2 Mbit/s, active for 500 ms of every 2 s, two periods in 4 s: 242 kB of payload and what is on the way at the ends. The
/// whole line carries 965 kB in this time.
#[test]
fn an_application_that_pauses_sends_nothing_in_the_pause() {
    let workload = json!({ "kind": "on-off", "on": "500 ms", "off": "1500 ms" });
    for algorithm in ["cubic", "bbr1"] {
        let flows = json!([{ "algorithm": algorithm, "rtt": "40 ms", "workload": workload }]);
        let Some(records) = over_line(2, "4 s", &flows) else { return };
        check(records.flows[0].delivered_bytes, 2, 1.0, 2);
    }
}

/// 2 Mbit/s until 1 s: 241 kB of payload and what is on the way at the stop, of 965 kB in 4 s. A second flow without a
/// stop has the rest of the line.
#[test]
fn an_application_that_stops_leaves_the_line_to_the_other_flows() {
    let flow = json!({ "algorithm": "cubic", "rtt": "40 ms", "stop": "1 s" });
    let Some(records) = over_line(2, "4 s", &json!([flow])) else { return };
    check(records.flows[0].delivered_bytes, 2, 1.0, 1);
    assert!(records.flows[0].end_ns.is_some_and(|end| end >= 1_000_000_000));
    let other = json!({ "algorithm": "cubic", "rtt": "40 ms", "start": "1500 ms" });
    let Some(records) = over_line(2, "4 s", &json!([flow, other])) else { return };
    check(records.flows[0].delivered_bytes, 2, 1.0, 1);
    check(records.flows[1].delivered_bytes, 2, 2.5, 1);
}

/// Unlimited for 500 ms, a pause of 1 s, then 400 kbit/s until 3 s: gaps of 28.96 ms, so that ⌈1.5 s / 28.96 ms⌉ = 52
/// writes of 1448 bytes.
#[test]
fn a_schedule_of_writes_pauses_and_limits_its_rate() {
    let steps = json!([{ "at": "0 s", "rate": "unlimited" }, { "at": "500 ms", "rate": "0 Mbps" },
        { "at": "1500 ms", "rate": "400 kbps" }]);
    let workload = json!({ "kind": "scheduled-writes", "steps": steps });
    let flows = json!([{ "algorithm": "cubic", "rtt": "40 ms", "stop": "3 s", "workload": workload }]);
    let Some(records) = over_line(2, "4 s", &flows) else { return };
    check(records.flows[0].delivered_bytes - 52 * 1448, 2, 0.5, 1);
}

/// 10 Mbit/s in writes of 1448 bytes, until 1 s: gaps of 1.1584 ms, so that ⌈1 s / 1.1584 ms⌉ = 864 writes, all of which
/// arrive, however late the thread of the application wakes up for each.
#[test]
fn writes_at_a_rate_have_this_rate() {
    let workload = json!({ "kind": "scheduled-writes", "steps": [{ "at": "0 s", "rate": "10 Mbps" }] });
    let flows = json!([{ "algorithm": "cubic", "rtt": "40 ms", "stop": "1 s", "workload": workload }]);
    let Some(records) = over_line(20, "3 s", &flows) else { return };
    assert_eq!(records.flows[0].delivered_bytes, 864 * 1448);
}

/// Data that the application has written before its stop are sent, also those that no send buffer takes: 24 MB, of which
/// the line carries 6 MB before the stop. The limit of the kernel's send buffer is 16 MB at first. The writes: 240 of
/// 100 kB, one each 2 ms until 480 ms.
#[test]
fn data_written_before_the_stop_are_sent_after_it() {
    let writes =
        json!({ "kind": "scheduled-writes", "write": "100 kB", "steps": [{ "at": "0 s", "rate": "400 Mbps" }] });
    let transfer = json!({ "kind": "transfers", "bytes": "24 MB" });
    for workload in [writes, transfer] {
        let flow = json!({ "algorithm": "cubic", "rtt": "10 ms", "stop": "480 ms", "workload": workload });
        let Some(records) = over(100, 200, "8 s", &json!([flow])) else { return };
        let flow = &records.flows[0];
        assert_eq!((flow.delivered_bytes, flow.end_ns.is_some()), (24_000_000, true), "{workload}");
        let sizes: Vec<_> = records.transfers.iter().map(|row| row.size_bytes).collect();
        assert_eq!(sizes, if workload["kind"] == "transfers" { vec![24_000_000] } else { Vec::new() });
    }
}

/// A sensor publishes by its own clock: a message of 4 MB each 100 ms from the CONNACK (two round trips of 10 ms) until the
/// stop at 1 s are ten, or one less where the machine delays the handshake by 80 ms. The line of 100 Mbit/s carries three of
/// them in this time, the send buffer takes at most 16 MB at first.
#[test]
fn a_sensor_publishes_by_its_own_clock_where_the_line_is_too_slow() {
    let workload = json!({ "kind": "mqtt", "payload": "4 MB", "period": "100 ms" });
    let flows = json!([{ "algorithm": "cubic", "rtt": "10 ms", "stop": "1 s", "workload": workload }]);
    let Some(records) = over(100, 200, "10 s", &flows) else { return };
    assert!((9..=10).contains(&records.transfers.len()), "{}", records.transfers.len());
    let starts: Vec<_> = records.transfers.iter().map(|row| row.start_ns).collect();
    assert!(starts.is_sorted() && starts[starts.len() - 1] < 1_100_000_000, "{starts:?}");
}

/// The path loses everything from 2 s to 5 s. The sensor gives its connection up after 500 ms without a response, and again
/// at each such interval: none of its handshakes is complete before 5 s. It measures by its own clock meanwhile: of a
/// message each 100 ms, 25 have their times between 2.5 and 5 s.
#[test]
fn a_sensor_measures_while_its_handshakes_are_lost() {
    let workload = json!({ "kind": "mqtt", "qos": 1, "payload": "200 B", "period": "100 ms",
        "response_timeout": "500 ms" });
    let flows =
        json!([{ "algorithm": "cubic", "rtt": "40 ms", "service": { "deadline": "1 s" }, "workload": workload }]);
    let line = json!({ "rate": "20 Mbps", "delay": "2 ms",
        "schedule": [{ "at": "2 s", "loss": 1 }, { "at": "5 s", "loss": 0 }] });
    let document = json!({ "schema_version": 1, "duration": "8 s", "dumbbell": { "bottleneck": line }, "flow": flows });
    let Some((records, _)) = run(&document) else { return };
    let generated: Vec<_> = records.messages.iter().map(|row| row.generated_ns).collect();
    let lost = generated.iter().filter(|&&at| (2_500_000_000..5_000_000_000).contains(&at)).count();
    assert!((20..=26).contains(&lost), "{generated:?}");
    let delivered = records.messages.iter().filter(|row| row.delivered_ns.is_some_and(|at| at > 5_000_000_000)).count();
    assert!(delivered > 0, "{:?}", records.messages);
}

/// With QoS 1 a message is complete when its PUBACK arrives, also after the stop. Sizes by MQTT 3.1.1: CONNECT with an
/// identifier of 23 bytes 37, PUBLISH of 200 bytes to a topic of 20 bytes 1 + 2 + 22 + 2 + 200 = 227.
#[test]
fn messages_published_before_the_stop_are_acknowledged() {
    let workload = json!({ "kind": "mqtt", "qos": 1, "payload": "200 B", "period": "20 ms" });
    let flows = json!([{ "algorithm": "cubic", "rtt": "400 ms", "stop": "1500 ms", "workload": workload }]);
    let Some(records) = over_line(20, "4 s", &flows) else { return };
    let published = (records.flows[0].delivered_bytes - 37) / 227;
    assert_eq!(records.flows[0].delivered_bytes, 37 + published * 227);
    assert!(published >= 10 && records.transfers.len() as u64 == published, "{published}");
}

/// The archive stores each of three images for 50 ms before its response. With TCP, TLS 1.3 and the association a study
/// takes six round trips of 20 ms at least, and 150 ms.
#[test]
fn a_server_responds_after_its_processing() {
    let workload = json!({ "kind": "dicom", "images": 3, "image": "10 kB", "period": "1 s", "count": 1,
        "storage": "50 ms", "tls": "1.3" });
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms", "workload": workload }]);
    let Some(records) = over_line(20, "3 s", &flows) else { return };
    let took: Vec<_> = records.transfers.iter().map(|row| row.end_ns - row.start_ns).collect();
    assert!(took.len() == 1 && took[0] >= 270_000_000, "{took:?}");
    assert!(records.flows[0].end_ns.is_some_and(|end| end < 3_000_000_000));
}

/// The broker has the last message of QoS 0, whose arrival ends the flow.
#[test]
fn the_last_message_ends_the_flow_at_either_end() {
    let workload = json!({ "kind": "mqtt", "payload": "200 B", "period": "20 ms", "burst": 2, "count": 5 });
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms", "workload": workload }]);
    let Some(records) = over_line(20, "2 s", &flows) else { return };
    assert_eq!(records.transfers.len(), 5);
    assert!(records.flows[0].end_ns.is_some_and(|end| end < 2_000_000_000));
}

/// The requests of a closed loop: the next one follows the response by the think time of 100 ms, so that no two responses
/// start less than a round trip and a think time apart, and none starts after the stop. A response under way at the
/// stop arrives: 2 Mbit/s carry its 200 kB in 0.83 s.
#[test]
fn a_client_thinks_between_responses_and_stops() {
    let gaps =
        |rows: &[TransferRow]| -> Vec<u64> { rows.windows(2).map(|pair| pair[1].start_ns - pair[0].end_ns).collect() };
    let exchange = |response: &str| json!({ "kind": "request-response", "request": "300 B", "response": response, "think": "100 ms" });
    let flow = |workload| json!([{ "algorithm": "cubic", "rtt": "40 ms", "stop": "500 ms", "workload": workload }]);
    let Some(records) = over_line(2, "4 s", &flow(exchange("1 kB"))) else { return };
    assert!((1..=4).contains(&records.transfers.len()), "{:?}", records.transfers);
    assert!(gaps(&records.transfers).iter().all(|&gap| gap >= 100_000_000));
    let Some(records) = over_line(2, "4 s", &flow(exchange("200 kB"))) else { return };
    assert_eq!((records.transfers.len(), records.flows[0].delivered_bytes), (1, 200_000));
}

/// The next transfer follows the last acknowledgement of the previous one by the gap of 100 ms: each transfer takes at least
/// half a round trip.
#[test]
fn a_transfer_follows_the_gap() {
    let workload = json!({ "kind": "transfers", "bytes": "20 kB", "gap": "100 ms", "count": 8 });
    let flows = json!([{ "algorithm": "cubic", "rtt": "40 ms", "workload": workload }]);
    let Some(records) = over_line(20, "5 s", &flows) else { return };
    assert_eq!(records.transfers.iter().map(|row| row.size_bytes).collect::<Vec<_>>(), [20_000; 8]);
    assert!(records.transfers.windows(2).all(|pair| pair[1].start_ns >= pair[0].end_ns + 100_000_000));
    assert!(records.transfers.iter().all(|row| row.end_ns - row.start_ns >= 20_000_000));
}

/// Counts by the definitions: 2 Mbit/s are a packet of 1500 bytes each 6 ms, 167 in 1 s, 10 in an active period of 60 ms (100
/// in ten periods of 120 ms); frames of about 7000 bytes each 40 ms, five packets, are 125 in 1 s. The sources stop at 1 s or 1.2 s.
#[test]
fn datagrams_have_the_rate_of_their_workload_until_the_stop() {
    let flow =
        |stop: &str, workload: Value| json!({ "transport": "udp", "rtt": "40 ms", "stop": stop, "workload": workload });
    let flows = json!([
        flow("1 s", json!({ "kind": "cbr", "rate": "2 Mbps", "packet": "1500 B" })),
        flow("1200 ms", json!({ "kind": "on-off", "rate": "2 Mbps", "on": "60 ms", "off": "60 ms" })),
        flow("1 s", json!({ "kind": "vbr", "rate": "1400 kbps", "packet": "1500 B", "cv": 0.001 })),
    ]);
    let Some(records) = over_line(20, "2 s", &flows) else { return };
    let sent: Vec<_> = records.flows.iter().map(|row| row.sent_packets).collect();
    assert!((sent[0], sent[2]) == (167, 125) && (99..=101).contains(&sent[1]), "{sent:?}");
}

/// By hand: a message needs half of the base RTT of 40 ms at least, on every transport. CoAP's requests, whose ends the path
/// itself runs, come at their times: one per 200 ms from 0 s on, the last one at the end, 3 s.
#[test]
fn messages_of_flows_with_a_service_level_are_recorded() {
    let service = json!({ "deadline": "1 s" });
    let flows = json!([
        { "transport": "udp", "rtt": "40 ms", "workload": { "kind": "coap", "period": "200 ms" }, "service": service },
        { "transport": "udp", "rtt": "40 ms", "workload": { "kind": "cbr", "rate": "80 kbps", "packet": "200 B" },
            "service": service },
        { "algorithm": "cubic", "rtt": "40 ms", "workload": { "kind": "mqtt", "qos": 1, "period": "200 ms" },
            "service": service },
        { "algorithm": "cubic", "rtt": "40 ms", "workload": { "kind": "transfers", "bytes": "20 kB", "gap": "200 ms" },
            "service": service },
        { "algorithm": "cubic", "rtt": "40 ms", "workload": { "kind": "bulk", "bytes": "100 kB" } },
    ]);
    let Some(records) = over_line(2, "3 s", &flows) else { return };
    let of = |flow: u32| records.messages.iter().filter(move |row| row.flow == flow);
    for flow in 0..4 {
        let delays: Vec<u64> = of(flow).filter_map(|row| row.delivered_ns.map(|at| at - row.generated_ns)).collect();
        assert!(!delays.is_empty() && delays.iter().all(|&delay| delay >= 20_000_000), "flow {flow}: {delays:?}");
    }
    let times: Vec<u64> = of(0).map(|row| row.generated_ns).collect();
    assert_eq!(times, (0..=15).map(|n| n * 200_000_000).collect::<Vec<_>>());
    assert!(records.transfers.iter().any(|row| row.flow == 0), "exchanges of CoAP are transfers");
    assert_eq!(of(4).count(), 0);
}

/// A broker's subscriber has the messages of a sensor over TCP and of a device over UDP: each crosses two lines of 10 ms.
#[test]
fn a_broker_sends_on_what_it_receives() {
    let service = json!({ "deadline": "1 s" });
    let flows = json!([
        { "name": "sensor", "algorithm": "cubic", "from": "a", "to": "b", "workload": { "kind": "mqtt", "period": "100 ms" } },
        { "name": "device", "transport": "udp", "from": "a", "to": "b", "workload": { "kind": "coap", "period": "100 ms" } },
        { "name": "desk", "algorithm": "cubic", "from": "b", "to": "c", "service": service,
            "workload": { "kind": "mqtt-subscription", "sources": ["sensor", "device"], "qos": 1 } },
    ]);
    let link = |from: &str, to: &str| json!({ "from": from, "to": to, "rate": "80 Mbps", "delay": "10 ms" });
    let links = json!([link("a", "b"), link("b", "c")]);
    let document = json!({ "schema_version": 1, "duration": "3 s", "link": links, "flow": flows });
    let Some((records, _)) = run(&document) else { return };
    let delays: Vec<u64> =
        records.messages.iter().filter_map(|row| row.delivered_ns.map(|at| at - row.generated_ns)).collect();
    assert!(delays.len() > 20 && delays.iter().all(|&delay| delay >= 20_000_000), "{delays:?}");
    assert!(records.messages.iter().all(|row| row.flow == 2));
}
