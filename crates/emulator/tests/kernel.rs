//! Kernel TCP over the simulator's links. The tests check function, not timing. They are skipped where the kernel
//! denies namespaces, unless `CWNDLAB_REQUIRE_EMULATION` is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cwndlab_algorithms::catalogue;
use cwndlab_emulator::{emulate, Datapath, Quality, MAX_LATENESS};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use serde_json::{json, Value};

/// Time limit of an emulation; the runs of these tests take seconds.
const LIMIT: Duration = Duration::from_secs(120);

fn within_limit<T>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = &AtomicBool::new(false);
    let (done, ended) = mpsc::channel::<()>();
    let stop = &stop;
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let result = work(stop);
        drop(done);
        result
    })
}

fn run(document: &Value) -> Option<(Records, Quality)> {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let is_required = std::env::var_os("CWNDLAB_REQUIRE_EMULATION").is_some();
    match within_limit(|stop| emulate(Arc::new(plan), 1, Datapath::Kernel, MAX_LATENESS, stop)) {
        Ok(result) => Some(result),
        Err(fault) if !is_required && (fault.place.contains("unshare") || fault.place.contains("/dev/net/tun")) => {
            eprintln!("skipped: {fault}");
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}

fn dumbbell(duration: &str, queue: Value, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": duration,
        "dumbbell": { "bottleneck": { "rate": "20 Mbps", "delay": "5 ms", "queue": queue } },
        "flow": flows,
    })
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
