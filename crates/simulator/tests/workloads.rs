//! Sources other than bulk transfers: answers known by hand.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, seed, &AtomicBool::new(false), None).expect("nobody cancels")
}

fn dumbbell(rate: &str, queue: &str, duration: &str, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": duration,
        "dumbbell": { "bottleneck": { "rate": rate, "delay": "10 ms", "queue": { "capacity": queue } } },
        "flow": flows,
    })
}

fn cbr(rate: &str, packet: &str) -> Value {
    json!({ "transport": "udp", "rtt": "20 ms", "workload": { "kind": "cbr", "rate": rate, "packet": packet } })
}

/// By hand: 1500 bytes each at 3 Mbit/s are 4 ms apart; each takes 1.2 ms on a line of 10 Mbit/s and 10 ms on its wire.
#[test]
fn cbr_is_evenly_spaced_and_late_by_line_and_wire() {
    for direction in ["forward", "reverse"] {
        let mut flow = cbr("3 Mbps", "1500 B");
        flow["direction"] = json!(direction);
        let mut document = dumbbell("10 Mbps", "100 packets", "1 s", json!([flow]));
        document["packets"] = json!(true);
        let records = simulate(&document, 1);
        let link = u32::from(direction == "reverse");
        let sent: Vec<u64> = records.packets.iter().filter(|row| row.link == link).map(|row| row.time_ns).collect();
        assert_eq!(sent, (0..=250).map(|n| n * 4_000_000).collect::<Vec<_>>());
        let flow = &records.flows[0];
        assert_eq!((flow.algorithm.as_str(), flow.profile.as_str(), flow.mss_bytes), ("none", "udp", 1472));
        assert_eq!(flow.min_delay_ns, Some(11_200_000));
        assert_eq!(flow.max_delay_ns, Some(11_200_000));
        // The last one on its wire within a second left at 988 ms: 248 packets of 1472 bytes of payload.
        assert_eq!(flow.delivered_bytes, 248 * 1472);
        assert_eq!((flow.sent_packets, flow.sent_bytes, flow.wire_bytes), (251, 251 * 1472, 251 * 1500));
        assert_eq!(flow.min_rtt_ns, None);
        assert!(records.samples.iter().all(|row| row.cwnd_bytes.is_none() && row.in_flight_bytes.is_none()));
    }
}

/// A step of 10⁹·8·1000/7·10⁶ ns is no whole number; after 7 packets exactly 8 ms are over.
#[test]
fn no_rounding_adds_up() {
    let mut document = dumbbell("none", "unlimited", "1 s", json!([cbr("7 Mbps", "1000 B")]));
    document["dumbbell"]["bottleneck"] = json!({ "delay": "10 ms" });
    document["packets"] = json!(true);
    let records = simulate(&document, 1);
    let sent: Vec<u64> = records.packets.iter().filter(|row| row.link == 0).map(|row| row.time_ns).collect();
    assert!(sent.iter().step_by(7).enumerate().all(|(n, &time)| time == n as u64 * 8_000_000));
    assert_eq!(sent.len(), 876);
}

/// 12 Mbit/s into a line of 10 Mbit/s: a sixth is lost. By hand: in 10 s 10,001 packets arrive, the line sends one per 1.2 ms
/// (8333), ten wait, one is in service.
#[test]
fn what_is_above_the_lines_rate_is_lost_at_a_full_queue() {
    let records = simulate(&dumbbell("10 Mbps", "10 packets", "10 s", json!([cbr("12 Mbps", "1500 B")])), 1);
    let (flow, link) = (&records.flows[0], &records.links[0]);
    assert_eq!(flow.sent_packets, 10_001);
    assert!((flow.queue_drops as i64 - (10_001 - 8333 - 11)).abs() <= 1, "{} drops", flow.queue_drops);
    assert_eq!(flow.queue_drops, link.dropped_packets);
    // Who takes the last place waits for the one in service and nine others; with its own time at most 11 packets' time.
    let longest = 10_000_000 + 11 * 1_200_000;
    assert!(flow.max_delay_ns.is_some_and(|delay| delay <= longest && delay > longest - 1_200_000), "{flow:?}");
}

/// A flow that stops sends nothing more, and that was its end.
#[test]
fn a_source_stops_when_it_is_told() {
    let mut flow = cbr("3 Mbps", "1500 B");
    flow["start"] = json!("100 ms");
    flow["stop"] = json!("300 ms");
    let records = simulate(&dumbbell("10 Mbps", "10 packets", "1 s", json!([flow])), 1);
    assert_eq!(records.flows[0].sent_packets, 50);
    assert_eq!((records.flows[0].start_ns, records.flows[0].end_ns), (100_000_000, Some(300_000_000)));
    assert_eq!(records.flows[0].delivered_bytes, records.flows[0].sent_bytes);
}
