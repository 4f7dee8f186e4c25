//! Kernel TCP over the simulator's links. The tests check function, not timing. They are skipped where the kernel
//! denies namespaces, unless `CWNDLAB_REQUIRE_EMULATION` is set.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread;

use cwndlab_algorithms::catalogue;
use cwndlab_emulator::{emulate, Datapath, Family, Options, Session, Setting, Side};
use cwndlab_linux::namespace::Namespace;
use cwndlab_linux::privileges::skip_test;
use cwndlab_linux::sysctl;
use cwndlab_scenario::Scenario;
use cwndlab_traffic::{Application, NEVER};
use cwndlab_units::{Fault, Time};
use serde_json::{json, Value};

use common::{run, within_limit, LIMIT};

mod common;

/// A dumbbell whose bottleneck has 20 Mbit/s and this queue.
fn dumbbell(duration: &str, queue: Value, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": duration,
        "dumbbell": { "bottleneck": { "rate": "20 Mbps", "delay": "5 ms", "queue": queue } },
        "flow": flows,
    })
}

/// ip-sysctl.rst: `tcp_comp_sack_nr` and `tcp_adv_win_scale` belong to a network namespace; `kernel.hostname` does not. A
/// setting of one side leaves the other one as it was.
#[test]
fn settings_belong_to_one_side() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms" }]);
    let document = dumbbell("1 s", json!({ "capacity": "20 packets" }), flows);
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let open = |name: &str, value: &str| {
        let setting = Setting { side: Side::Receivers, name: name.to_owned(), value: value.to_owned() };
        let options = Options { programs: true, settings: vec![setting], ..Options::default() };
        Session::open(Arc::new(plan.clone()), 1, &options, &AtomicBool::new(false))
    };
    let session = match open("net.ipv4.tcp_comp_sack_nr", "7") {
        Ok(session) => session,
        Err(fault) if std::env::var_os("CWNDLAB_REQUIRE_EMULATION").is_none() => {
            return skip_test(&fault.to_string());
        }
        Err(fault) => panic!("{fault}"),
    };
    let value = |side| {
        session
            .namespace(side)
            .enter(|| Ok(sysctl::read("net.ipv4.tcp_comp_sack_nr")))
            .expect("it enters")
            .expect("read")
    };
    assert_eq!(value(Side::Receivers), "7");
    assert_ne!(value(Side::Senders), "7");
    let (_, quality, _) = session.close().expect("the records");
    assert!(quality.notes.iter().any(|note| note == "receiver: net.ipv4.tcp_comp_sack_nr = 7"), "{:?}", quality.notes);
    let hint = "\n  hint: name a setting below net, such as net.ipv4.tcp_comp_sack_nr (ip-sysctl.rst of the kernel)";
    for (name, what) in [
        ("kernel.hostname", "is no setting of a network namespace"),
        ("net.ipv4.tcp_comp_snack", "this kernel has no such setting in a network namespace"),
    ] {
        let error = open(name, "7").expect_err("refused").to_string();
        assert_eq!(error, format!("settings.receiver.{name}: {what}{hint}"));
    }
    let error = open("net.ipv4.tcp_comp_sack_nr", "many").expect_err("refused").to_string();
    assert!(error.starts_with("settings.receiver.net.ipv4.tcp_comp_sack_nr: 'many' is refused: "), "{error}");
}

/// A bulk flow at 20 Mbit/s for 3 s delivers 7.5 MB at most; the queue of 100 packets and the base RTT of 20 ms are the
/// scenario's.
#[test]
fn kernel_tcp_uses_the_rate_of_the_simulators_link() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms" }]);
    let Some((records, quality)) = run(&dumbbell("3 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    let flow = &records.flows[0];
    assert!(quality.lateness.total() > 3_000 && quality.refused == 0);
    assert!(flow.delivered_bytes > 3_000_000, "{}", flow.delivered_bytes);
    assert!(flow.min_rtt_ns.expect("a sample") >= 20_000_000);
    assert!(records.links[0].max_queue_packets <= 100);
    assert!(!records.samples.is_empty() && !records.link_samples.is_empty());
    assert!(flow.delivered_bytes <= flow.sent_bytes);
    let counted: u64 = records.lateness.iter().map(|bin| bin.packets).sum();
    assert_eq!(counted, quality.lateness.total());
    let calibrated =
        |quantity: &str| records.calibration.iter().find(|row| row.quantity == quantity).expect("measured");
    assert_eq!((calibrated("capacity_packets").expected, calibrated("capacity_packets").measured), (100.0, 100.0));
    assert!(calibrated("base_rtt_ns").measured >= 20e6 && calibrated("rate_bps").expected == 20e6);
}

/// Slow start doubles the window per round trip (RFC 5681, section 3.1), from 10 segments (RFC 6928): after six of 200 ms,
/// of which the first is the handshake, 10 + 20 + 40 + 80 + 160 are acknowledged. The receive window begins with 64 kB
/// and grows as the receiver reads; a receiver that waits for 64 kB leaves no more than half of them.
#[test]
fn a_receiver_of_endless_data_does_not_limit_slow_start() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "200 ms" }]);
    let Some((records, _)) = run(&dumbbell("1.4 s", json!({ "capacity": "1000 packets" }), flows)) else { return };
    let last = records.samples.iter().rfind(|row| row.time_ns <= 1_350_000_000).expect("samples");
    let segments = last.delivered_bytes / records.flows[0].mss_bytes;
    assert!((250..=310).contains(&segments), "{segments}");
}

/// The path loses everything until 2 s, so that SYNs are sent again after 1 s or more (RFC 6298, rule 2.1). By hand: 50 kB
/// are 34 segments of 1448 bytes and the rest; none of them is lost. RFC 9293, section 3.4: a SYN is no data.
#[test]
fn lost_syns_are_neither_data_nor_timeouts_of_data() {
    let workload = json!({ "kind": "bulk", "bytes": "50 kB" });
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms", "workload": workload }]);
    let mut document = dumbbell("6 s", json!({ "capacity": "100 packets" }), flows);
    document["dumbbell"]["bottleneck"]["schedule"] = json!([{ "at": "0 s", "loss": 1 }, { "at": "2 s", "loss": 0 }]);
    let Some((records, _)) = run(&document) else { return };
    let flow = &records.flows[0];
    assert_eq!((flow.delivered_bytes, flow.acked_bytes, flow.timeouts), (50_000, 50_000, 0));
    assert_eq!((flow.sent_packets, flow.retransmitted_packets), (35, 0));
}

/// A calibration that is cancelled before it begins ends at once, and no session begins.
#[test]
fn a_calibration_can_be_cancelled() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "600 ms" }]);
    let document = dumbbell("1 s", json!({ "capacity": "20 packets" }), flows);
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let fault = Session::open(Arc::new(plan), 1, &Options::default(), &AtomicBool::new(true)).expect_err("cancelled");
    if fault.place != "emulate" {
        return skip_test(&fault.to_string());
    }
    assert_eq!(fault.to_string(), "emulate: the run was cancelled before its end");
}

/// 1428 bytes of payload, 40 of IPv6, 20 of TCP and 12 of timestamps are 1500; over IPv4 they are 1480.
#[test]
fn flows_whose_headers_take_72_bytes_use_ipv6() {
    let stack = json!({ "mss": "1428 B", "header": "72 B", "ack": "72 B" });
    let workload = json!({ "kind": "request-response", "request": "300 B", "response": "50 kB", "count": 3 });
    let flows = json!([
        { "algorithm": "cubic", "rtt": "20 ms", "stack": stack },
        { "algorithm": "cubic", "rtt": "20 ms", "stack": stack, "workload": workload },
    ]);
    let Some((records, quality)) = run(&dumbbell("2 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    let link = &records.links[0];
    let flow = &records.flows[0];
    assert!(link.sent_bytes > 1480 * link.sent_packets && link.sent_bytes <= 1500 * link.sent_packets, "{link:?}");
    assert_eq!((flow.mss_bytes, quality.refused), (1428, 0));
    assert!(flow.delivered_bytes > 1_000_000 && flow.min_rtt_ns.expect("a sample") >= 20_000_000);
    assert_eq!(records.transfers.iter().map(|row| row.size_bytes).collect::<Vec<_>>(), [50_000; 3]);
    // Neither neighbour discovery nor router solicitations.
    assert_eq!(quality.unmatched, 0);
}

/// RFC 8200, section 5: the MTU of IPv6 is at least 1280 bytes.
#[test]
fn ipv6_over_a_small_mtu_is_an_error() {
    let stack = json!({ "mss": "1000 B", "header": "72 B", "ack": "72 B" });
    let flows = json!([{ "algorithm": "reno", "rtt": "20 ms", "stack": stack }]);
    let document = dumbbell("1 s", json!({ "capacity": "100 packets" }), flows);
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let fault = within_limit(|stop| emulate(Arc::new(plan), 1, Datapath::Kernel, &Options::default(), stop))
        .expect_err("the MTU is too small");
    assert_eq!(
        fault.to_string(),
        "flow[0].stack.header: IPv6 needs an MTU of 1280 bytes, the path has 1072\n  hint: a flow's stack.mss and \
         stack.header make the MTU: write larger ones, or use IPv4"
    );
}

/// Sizes and counts are the scenario's; no exchange is quicker than a round trip of 20 ms.
#[test]
fn a_response_follows_each_request() {
    let workload = json!({ "kind": "request-response", "request": "300 B", "response": "50 kB", "think": "20 ms",
        "count": 5 });
    let flows = json!([
        { "algorithm": "cubic", "rtt": "20 ms", "workload": workload },
        { "algorithm": "reno", "rtt": "20 ms", "workload": { "kind": "request-response", "request": "300 B",
            "response": "50 kB", "think": "20 ms", "count": 5, "new_connection": true } },
    ]);
    let Some((records, _)) = run(&dumbbell("3 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    for flow in 0..2u32 {
        let rows: Vec<_> = records.transfers.iter().filter(|row| row.flow == flow).collect();
        assert_eq!(rows.iter().map(|row| row.size_bytes).collect::<Vec<_>>(), [50_000; 5]);
        assert!(rows.iter().all(|row| row.end_ns - row.start_ns >= 20_000_000));
        let row = &records.flows[flow as usize];
        assert_eq!(row.delivered_bytes, 250_000);
        assert!(row.acked_bytes >= 200_000 && row.end_ns.is_some(), "{row:?}");
    }
    assert_eq!(records.flows[1].algorithm, "kernel:reno");
}

/// Two round trips of 20 ms after the handshake, 20 ms of parsing; sizes and counts are the scenario's.
#[test]
fn pages_are_loaded_with_all_their_objects() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms", "workload": { "kind": "page-loads", "main": "10 kB",
        "object": "5 kB", "objects": 4, "parse": "20 ms", "think": "10 ms", "count": 5 } }]);
    let Some((records, _)) = run(&dumbbell("3 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    assert_eq!(records.transfers.iter().map(|row| row.size_bytes).collect::<Vec<_>>(), [30_000; 5]);
    assert!(records.transfers.iter().all(|row| row.end_ns - row.start_ns >= 60_000_000));
    // A frame header of 9 bytes for each object (RFC 9113, 4.1).
    assert_eq!(records.flows[0].delivered_bytes, 5 * (30_000 + 5 * 9));
    assert!(records.flows[0].end_ns.is_some());
}

/// A message every 100 ms from the connection on; a transfer with QoS 1 takes at least a round trip, with QoS 0 half of
/// one.
#[test]
fn sensors_publish_at_both_qos_levels() {
    let sensor = |qos: u8| json!({ "kind": "mqtt", "qos": qos, "payload": "200 B", "period": "100 ms" });
    let flows = json!([
        { "algorithm": "cubic", "rtt": "20 ms", "workload": sensor(0) },
        { "algorithm": "cubic", "rtt": "20 ms", "workload": sensor(1) },
    ]);
    let Some((records, _)) = run(&dumbbell("2 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    for (flow, min_ns) in [(0u32, 10_000_000), (1, 20_000_000)] {
        let rows: Vec<_> = records.transfers.iter().filter(|row| row.flow == flow).collect();
        assert!((5..=20).contains(&rows.len()), "{}", rows.len());
        assert!(rows.iter().all(|row| row.size_bytes == 200 && row.end_ns - row.start_ns >= min_ns));
    }
}

/// The starts and sizes that the workload draws from the random streams of the first flow with seed 1, as the simulator
/// does from the start of the flow on.
fn drawn_arrivals(document: &Value) -> Vec<(u64, u64)> {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let context = plan.flows[0.into()].context(0.into(), 1, Time::from_nanos(plan.duration.as_nanos()));
    let Application::Arrivals(mut process) = plan.flows[0.into()].workload.application(&context) else {
        panic!("the workload is one of arrivals")
    };
    let mut drawn = Vec::new();
    let mut at = Time::ZERO;
    while at < NEVER {
        let (arrival, next) = process.on_timer(at);
        drawn.extend(arrival.map(|arrival| (at.as_nanos(), arrival.bytes.0)));
        at = next;
    }
    drawn
}

/// Each transfer has its own connection: a handshake of 20 ms and half a round trip for the data. Starts and sizes are
/// those of the simulator.
#[test]
fn arriving_transfers_have_the_simulators_times_and_sizes() {
    let size = json!({ "kind": "exponential", "mean": "20 kB" });
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms",
        "workload": { "kind": "arrivals", "per_second": 40, "size": size, "count": 60 } }]);
    let document = dumbbell("4 s", json!({ "capacity": "100 packets" }), flows);
    let drawn = drawn_arrivals(&document);
    let Some((records, _)) = run(&document) else { return };
    let rows: Vec<_> = records.transfers.iter().map(|row| (row.start_ns, row.size_bytes)).collect();
    assert_eq!((rows.len(), &rows), (60, &drawn));
    assert_eq!(records.transfers.iter().map(|row| row.transfer).collect::<Vec<_>>(), (0..60).collect::<Vec<_>>());
    assert!(records.transfers.iter().all(|row| row.end_ns - row.start_ns >= 30_000_000));
    let flow = &records.flows[0];
    let bytes = drawn.iter().map(|(_, bytes)| bytes).sum::<u64>();
    assert_eq!((flow.delivered_bytes, flow.end_ns.is_some()), (bytes, true));
    assert_eq!(flow.acked_bytes, bytes);
    assert!(records.samples.iter().all(|row| row.cwnd_bytes.is_none() && row.srtt_ns.is_none()));
    assert!(flow.min_rtt_ns.expect("a sample") >= 20_000_000);
}

/// No transfer of 200 kB is complete within 10 ms on this path, so that one connection refuses most of 100 per second.
#[test]
fn arrivals_beyond_the_connections_are_refused() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms",
        "workload": { "kind": "arrivals", "per_second": 100, "size": "200 kB", "connections": 1 } }]);
    let document = dumbbell("2 s", json!({ "capacity": "100 packets" }), flows);
    let drawn = drawn_arrivals(&document);
    let Some((records, _)) = run(&document) else { return };
    let refused: Vec<_> = records.events.iter().filter(|row| row.kind == "refused").collect();
    assert!(refused.iter().all(|row| row.cause == "connections"));
    assert!(records.transfers.len() > 2 && refused.len() > records.transfers.len());
    // At the end of the run, at most one transfer is under way, and the last arrival may not have been drawn yet.
    let counted = records.transfers.len() + refused.len();
    assert!((drawn.len() - 2..=drawn.len()).contains(&counted), "{counted} of {}", drawn.len());
}

/// `TCP_INFO` of a connection that a program made itself: a window of at least one segment and an RTT of at least the
/// base RTT (20 ms). The queue of 20 packets drops, so that the sender retransmits; counters never fall.
#[test]
fn connections_of_programs_are_sampled() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms" }]);
    let document = dumbbell("2 s", json!({ "capacity": "20 packets" }), flows);
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let options = Options { programs: true, ..Options::default() };
    let session = match Session::open(Arc::new(plan), 1, &options, &AtomicBool::new(false)) {
        Ok(session) => session,
        Err(fault) if std::env::var_os("CWNDLAB_REQUIRE_EMULATION").is_none() => {
            return skip_test(&fault.to_string());
        }
        Err(fault) => panic!("{fault}"),
    };
    let at = (Side::Receivers.address(0.into(), Family::V6), 5201);
    let io = |error: std::io::Error| Fault::new("socket", error.to_string(), "");
    let listener = session.namespace(Side::Receivers).enter(|| TcpListener::bind(at).map_err(io)).expect("bound");
    let mut sender = session.namespace(Side::Senders).enter(|| TcpStream::connect(at).map_err(io)).expect("connected");
    let (mut receiver, _) = listener.accept().expect("a connection");
    receiver.set_read_timeout(Some(LIMIT)).expect("an option");
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(&vec![0; 3_000_000]).expect("the receiver reads");
            sender.shutdown(Shutdown::Write).expect("it is open");
        });
        let read = std::io::copy(&mut receiver, &mut std::io::sink()).expect("no error");
        assert_eq!(read, 3_000_000);
    });
    drop(sender);
    let (records, ..) = session.close().expect("the records");
    let rows: Vec<_> = records.samples.iter().filter(|row| row.cwnd_bytes.is_some()).collect();
    assert!(!rows.is_empty(), "3 MB at 20 Mbit/s take 1.2 s");
    assert!(rows.iter().all(|row| row.cwnd_bytes >= Some(1428) && row.srtt_ns >= Some(20_000_000)), "{rows:?}");
    assert!(records.samples.is_sorted_by_key(|row| row.retransmitted_packets));
    assert!(records.samples.last().is_some_and(|row| row.retransmitted_packets > 0), "{:?}", records.samples.last());
}

/// The last link takes microseconds and delivers each packet twice, so that the copies arrive together. Each copy is a
/// delivery of its own, with the bytes of its packet. A receiver discards the second copy (RFC 9293, 3.10.7.4).
#[test]
fn a_wire_that_duplicates_every_packet_delivers_every_packet_whole() {
    let workload = json!({ "kind": "transfers", "bytes": "500 kB", "count": 4 });
    let document = json!({
        "schema_version": 1, "duration": "4 s",
        "link": [
            { "from": "a", "to": "b", "rate": "20 Mbps", "delay": "10 ms", "queue": { "capacity": "1000 packets" } },
            { "from": "b", "to": "c", "rate": "10 Gbps", "delay": "0 ms", "duplicate": 1.0 },
        ],
        "flow": [{ "algorithm": "cubic", "from": "a", "to": "c", "workload": workload }],
    });
    let Some((records, quality)) = run(&document) else { return };
    assert_eq!(records.transfers.iter().map(|row| row.size_bytes).collect::<Vec<_>>(), [500_000; 4]);
    let flow = &records.flows[0];
    let link = &records.links[0];
    assert_eq!((flow.delivered_bytes, flow.wire_losses, quality.refused), (2_000_000, 0, 0));
    let deliveries = quality.lateness.total() - flow.ack_packets;
    assert!(deliveries >= 2 * link.sent_packets, "{deliveries}, {flow:?}, {:?}", records.links);
}

/// Flows that share a queue which marks above 5 ms (CoDel, RFC 8289): a flow with ECN has reductions without losses
/// (RFC 3168), a flow without ECN has losses. The setting is the flow's own, over either version of IP.
#[test]
fn ecn_is_a_setting_of_each_flow() {
    let ipv6 = json!({ "mss": "1428 B", "header": "72 B", "ack": "72 B", "ecn": "classic" });
    let flows = json!([
        { "algorithm": "reno", "rtt": "20 ms" },
        { "algorithm": "reno", "rtt": "20 ms", "stack": { "ecn": "classic" } },
        { "algorithm": "reno", "rtt": "20 ms", "stack": ipv6 },
    ]);
    let queue = json!({ "kind": "codel", "capacity": "1000 packets", "ecn": true });
    let Some((records, _)) = run(&dumbbell("4 s", queue, flows)) else { return };
    let [without, with, over_ipv6] = &records.flows[..] else { panic!("three flows") };
    assert!(without.ecn_reductions == 0 && without.queue_drops > 0, "{without:?}");
    for flow in [with, over_ipv6] {
        assert!(flow.ecn_reductions > 0 && flow.queue_drops == 0, "{flow:?}");
    }
    assert!(records.links[0].marked_packets > 0);
}

/// RFC 3168, sections 5 and 18.1: with CE set on every segment the sender reduces although no queue marks; if the path clears
/// the field behind a queue that marks, the sender learns of no congestion, and the queue grows to its limit.
#[test]
fn links_that_change_the_ecn_field_change_what_kernels_receive() {
    let flow = json!([{ "algorithm": "reno", "rtt": "20 ms", "stack": { "ecn": "classic" } }]);
    let marking = json!({ "kind": "codel", "capacity": "1000 packets", "ecn": true });
    for (change, queue, reduces) in [
        ("mark", json!({ "capacity": "1000 packets" }), true),
        ("bleach", marking.clone(), false),
        ("unmark", marking.clone(), false),
        ("ect0", marking, true),
    ] {
        let mut document = dumbbell("3 s", queue, flow.clone());
        document["dumbbell"]["bottleneck"]["ecn"] = json!(change);
        let Some((records, _)) = run(&document) else { return };
        assert_eq!(records.flows[0].ecn_reductions > 0, reduces, "{change}: {:?}", records.flows[0]);
    }
}

/// `enum tcp_ecn_mode` of `include/net/tcp_ecn.h`: 3 is accurate ECN for incoming and outgoing connections.
/// The kernel has one setting for all connections of a namespace, so that a mixture has classic ECN.
#[test]
fn accurate_ecn_is_used_where_the_kernel_has_it() {
    let queue = json!({ "kind": "codel", "capacity": "1000 packets", "ecn": true });
    let stack = json!({ "ecn": "accurate" });
    let one = json!({ "algorithm": "reno", "rtt": "20 ms", "stack": stack });
    let other = json!({ "algorithm": "reno", "rtt": "20 ms" });
    let write = || sysctl::write("net.ipv4.tcp_ecn", "3");
    let has_it = Namespace::new().is_ok_and(|namespace| namespace.enter(write).is_ok());
    for (flows, accurate) in [(json!([one]), has_it), (json!([one, other]), false)] {
        let Some((records, quality)) = run(&dumbbell("3 s", queue.clone(), flows)) else { return };
        let told = quality.notes.iter().any(|note| note == "ECN of flow0: accurate (RFC 9768)");
        let classic = quality.notes.iter().any(|note| note.starts_with("ECN of flow0: classic (RFC 3168)"));
        assert_eq!((told, classic), (accurate, !accurate), "{:?}", quality.notes);
        let flow = &records.flows[0];
        assert!(flow.ecn_reductions > 0 && flow.queue_drops == 0, "{flow:?}");
    }
}

/// 2 Mbit/s for 2 s are 333 packets of 1500 bytes (and one at the start), beside TCP on the same line; a datagram takes
/// at least half of the base RTT and its serialisation (0.6 ms).
#[test]
fn datagrams_share_the_queue_with_kernel_tcp() {
    let flows = json!([
        { "algorithm": "cubic", "rtt": "20 ms", "workload": { "kind": "on-off", "on": "200 ms", "off": "50 ms" } },
        { "transport": "udp", "rtt": "20 ms", "workload": { "kind": "cbr", "rate": "2 Mbps", "packet": "1500 B" } },
    ]);
    let Some((records, _)) = run(&dumbbell("2 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    let datagrams = &records.flows[1];
    assert!((333..=335).contains(&datagrams.sent_packets), "{}", datagrams.sent_packets);
    assert!(datagrams.min_delay_ns.expect("some arrived") >= 10_600_000);
    assert!(datagrams.mean_delay_ns > datagrams.min_delay_ns, "datagrams wait behind TCP's packets");
    assert!(records.flows[0].delivered_bytes > 500_000);
    assert!(records.samples.iter().any(|row| row.flow == 1 && row.delivered_bytes > 0));
}
