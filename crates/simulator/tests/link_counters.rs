//! The counters of links, compared with the packets of the same run, one by one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{LinkRow, PacketRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use proptest::prelude::*;
use serde_json::{json, Value};

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}: {document}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// Counts of a link from its packets.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    arrived: u64,
    dropped: u64,
    lost: u64,
    sent: u64,
    sent_bytes: u64,
    /// Sum of the waiting times until the end, ns.
    waited: u128,
    /// Maximum number of packets that wait at the same time.
    longest: u64,
}

impl Counts {
    fn of_row(row: &LinkRow, span: u64) -> Self {
        Self {
            arrived: row.arrived_packets,
            dropped: row.dropped_packets,
            lost: row.lost_packets,
            sent: row.sent_packets,
            sent_bytes: row.sent_bytes,
            waited: (row.mean_queue_packets * span as f64).round() as u128,
            longest: row.max_queue_packets,
        }
    }

    /// The service of a packet begins when the packet before it has left, or when it arrives.
    fn of_packets(packets: &[&PacketRow], end: u64) -> Self {
        let mut counts = Self { arrived: packets.len() as u64, ..Self::default() };
        let mut free = 0;
        let mut waiting = VecDeque::new();
        for one in packets {
            let Some(departure) = one.departure_ns else {
                counts.dropped += u64::from(one.fate == 1);
                continue;
            };
            let start = free.max(one.time_ns);
            free = departure;
            counts.waited += u128::from(start.min(end) - one.time_ns);
            while waiting.front().is_some_and(|&start| start <= one.time_ns) {
                waiting.pop_front();
            }
            if start > one.time_ns {
                waiting.push_back(start);
                counts.longest = counts.longest.max(waiting.len() as u64);
            }
            let left = departure <= end;
            counts.lost += u64::from(left && one.fate == 2);
            counts.sent += u64::from(left);
            counts.sent_bytes += if left { u64::from(one.size_bytes) } else { 0 };
        }
        counts
    }
}

/// The packets of each link, in the order of arrival.
fn by_link(records: &Records) -> BTreeMap<u32, Vec<&PacketRow>> {
    let mut links: BTreeMap<u32, Vec<&PacketRow>> = BTreeMap::new();
    for packet in &records.packets {
        links.entry(packet.link).or_default().push(packet);
    }
    links
}

/// Checks the counters of a scenario whose queues are drop-tail: those of a run with packet records, in which every
/// link computes each packet, and those of the run without, in which links are computed together and ahead of the
/// clock.
fn check(mut scenario: Value) -> Result<(), TestCaseError> {
    let plain = simulate(&scenario);
    scenario["packets"] = json!(true);
    let recorded = simulate(&scenario);
    let end = scenario["duration"].as_str().and_then(|text| text.strip_suffix(" ns")).unwrap().parse().unwrap();
    let packets = by_link(&recorded);
    for (row, other) in plain.links.iter().zip(&recorded.links) {
        let expected = Counts::of_packets(packets.get(&row.link).map_or(&[], |all| all), end);
        prop_assert_eq!(Counts::of_row(row, end), expected, "{}: {}", row.name, scenario);
        prop_assert_eq!(row, other, "{}", scenario);
    }
    balance(&recorded, end)
}

/// Every packet that arrives at the end of a link until the end of the run reaches the next link of its route at that
/// time, or its endpoint; and no other packet does.
fn balance(records: &Records, end: u64) -> Result<(), TestCaseError> {
    let mut journeys: BTreeMap<u64, Vec<&PacketRow>> = BTreeMap::new();
    for row in &records.packets {
        journeys.entry(row.packet).or_default().push(row);
    }
    let mut delivered: BTreeMap<u32, u64> = BTreeMap::new();
    for (packet, mut hops) in journeys {
        hops.sort_by_key(|row| row.time_ns);
        for pair in hops.windows(2) {
            prop_assert_eq!(pair[0].arrival_ns, Some(pair[1].time_ns), "packet {}", packet);
        }
        let last = hops[hops.len() - 1];
        if last.kind == 0 && last.arrival_ns.is_some_and(|at| at <= end) {
            *delivered.entry(last.flow).or_default() += u64::from(last.payload_bytes);
        }
    }
    // Without a transport above, every datagram that arrives is delivered.
    for flow in records.flows.iter().filter(|flow| flow.algorithm.is_empty()) {
        prop_assert_eq!(flow.delivered_bytes, delivered.get(&flow.flow).copied().unwrap_or(0), "{}", flow.name);
    }
    Ok(())
}

fn capacity() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("unlimited".to_owned()),
        (1u32..200).prop_map(|n| format!("{n} packets")),
        (1_500u32..200_000).prop_map(|n| format!("{n} B")),
    ]
}

/// Rates from 100 kbit/s to 400 Gbit/s, log-uniform, most of them with serialisation times that are not whole
/// nanoseconds.
fn rate() -> impl Strategy<Value = u64> {
    (5.0f64..11.6).prop_map(|exponent| cwndlab_units::maths::pow(10.0, exponent) as u64)
}

fn line(rate: u64, capacity: &str) -> Value {
    json!({ "rate": format!("{rate} bps"), "queue": { "capacity": capacity } })
}

fn flow() -> impl Strategy<Value = Value> {
    let size = 40u32..9_000;
    prop_oneof![
        (size.clone(), 1u32..100).prop_map(|(size, load)| json!({ "transport": "udp", "load": load, "size": size,
            "workload": { "kind": "cbr", "packet": format!("{size} B") } })),
        (size, 1u32..100).prop_map(|(size, load)| json!({ "transport": "udp", "load": load, "size": size,
            "workload": { "kind": "vbr", "packet": format!("{size} B") } })),
        (1u32..300_000, 200u32..9_000).prop_map(|(bytes, mss)| json!({ "algorithm": "reno",
            "workload": { "kind": "bulk", "bytes": format!("{bytes} B") }, "stack": { "mss": format!("{mss} B") } })),
        (1u32..50_000).prop_map(|bytes| json!({ "algorithm": "cubic", "workload": { "kind": "request-response",
            "request": format!("{} B", 1 + bytes / 20), "response": format!("{bytes} B"), "think": "1 ms" } })),
    ]
}

prop_compose! {
    /// A dumbbell with access links of any rate and queue, and up to three flows, for about 2,000 packets.
    fn scenario()(
        bottleneck in rate(), access in rate(), queues in (capacity(), capacity()), wire in any::<bool>(),
        flows in prop::collection::vec(flow(), 1..4), loss in 0u32..3,
    ) -> Value {
        let slower = bottleneck.min(access);
        // In one RTT the slower line sends 10 to 100 packets.
        let rtt = 40 * 8 * 1_500 * 1_000_000_000 / slower + 2_000;
        let mut flows = flows;
        for flow in &mut flows {
            flow["rtt"] = json!(format!("{rtt} ns"));
            if let Some(load) = flow["load"].as_u64() {
                let offered = (slower * load / 50).max(8_000);
                flow["workload"]["rate"] = json!(format!("{offered} bps"));
            }
            let flow = flow.as_object_mut().unwrap();
            flow.remove("load");
            flow.remove("size");
        }
        let mut middle = line(bottleneck, &queues.0);
        middle["delay"] = json!(format!("{} ns", rtt / 8));
        if loss > 0 {
            middle["loss"] = json!({ "kind": "bernoulli", "p": 0.05 * f64::from(loss) });
        }
        let mut dumbbell = json!({ "bottleneck": middle, "access": line(access, &queues.1) });
        if !wire {
            dumbbell["access"]["queue"] = json!({ "capacity": "unlimited" });
        }
        json!({ "schema_version": 1, "duration": format!("{} ns", 20 * rtt), "sample_interval": "0 s",
            "dumbbell": dumbbell, "flow": flows })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// For any sizes and rates: sent = delivered + dropped + queued + on the wire, on every link, sampled or not.
    #[test]
    fn the_counters_of_every_link_are_those_of_its_packets(scenario in scenario()) {
        check(scenario)?;
    }
}

/// By hand: 1,000 segments of 1448 bytes and one of 1 byte are 1,001 data packets. All of them wait at the host, which
/// has 10 Mbit/s in front of 100 Mbit/s, at most as many as the window.
#[test]
fn a_host_queue_is_no_longer_than_the_packets_that_arrived() {
    let mut scenario = json!({
        "schema_version": 1, "duration": "3000000000 ns", "sample_interval": "0 s",
        "dumbbell": { "bottleneck": { "rate": "100 Mbps", "delay": "1 ms" }, "access": { "rate": "10 Mbps" } },
        "flow": [{ "algorithm": "reno", "rtt": "40 ms", "workload": { "kind": "bulk", "bytes": "1448001 B" } }],
    });
    let records = simulate(&scenario);
    let host = records.links.iter().find(|row| row.name == "s0-r1").expect("the access link exists");
    assert!(host.max_queue_packets < host.arrived_packets, "{host:?}");
    assert_eq!(host.arrived_packets, host.sent_packets);
    scenario["flow"][0]["workload"] = json!({ "kind": "vbr", "rate": "30 Mbps" });
    scenario["flow"][0]["transport"] = json!("udp");
    scenario["flow"][0].as_object_mut().unwrap().remove("algorithm");
    check(scenario).unwrap();
}

/// By hand: 64 bytes are 512 bits, 5.17 ns at 99 Gbit/s: in 100 µs the line carries 19,335 of them, 99.99 % of its rate.
/// Rounded up to 6 ns each they would be 16,667.
#[test]
fn a_line_of_small_packets_carries_its_rate() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "100 us", "sample_interval": "0 s",
        "dumbbell": { "bottleneck": { "rate": "99 Gbps", "delay": "1 us", "queue": { "capacity": "unlimited" } } },
        "flow": [{ "transport": "udp", "rtt": "2 us",
            "workload": { "kind": "cbr", "rate": "200 Gbps", "packet": "64 B" } }],
    }));
    let row = records.links.iter().find(|row| row.name == "bottleneck").expect("it exists");
    assert!(row.utilisation > 0.999 && row.utilisation <= 1.0, "{row:?}");
}

/// Behind a queue discipline the packets that wait at the end have a row each, without a departure.
#[test]
fn packets_that_wait_at_the_end_have_a_row() {
    for kind in ["droptail", "red", "codel", "fq-codel", "pie", "dualpi2"] {
        let records = simulate(&json!({
            "schema_version": 1, "duration": "1 s", "sample_interval": "0 s", "packets": true,
            "dumbbell": { "bottleneck": { "rate": "1 Mbps", "delay": "1 ms", "queue": { "kind": kind, "capacity": "50 packets" } } },
            "flow": [{ "transport": "udp", "rtt": "2 ms", "workload": { "kind": "cbr", "rate": "2 Mbps", "packet": "1000 B" } }],
        }));
        let row = records.links.iter().find(|row| row.name == "bottleneck").expect("it exists");
        let rows = records.packets.iter().filter(|packet| packet.link == row.link);
        assert_eq!(rows.clone().count() as u64, row.arrived_packets, "{kind}");
        let waits = |packet: &&PacketRow| packet.fate != 1 && packet.departure_ns.is_none_or(|at| at > 1_000_000_000);
        let waiting = rows.filter(waits).count() as u64;
        assert_eq!(waiting, row.arrived_packets - row.dropped_packets - row.sent_packets, "{kind}");
        assert!(waiting > 10, "{kind}: {waiting}");
    }
}
