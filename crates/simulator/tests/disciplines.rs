//! Queue disciplines under TCP: delays and rate shares predicted by their papers and RFCs.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{LinkRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use proptest::prelude::*;
use serde_json::{json, Value};

fn simulate(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn path(rate: &str, queue: Value, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": "60 s",
        "dumbbell": { "bottleneck": { "rate": rate, "delay": "10 ms", "queue": queue } },
        "flow": flows,
    })
}

fn bottleneck(records: &Records) -> &LinkRow {
    &records.links[0]
}

/// Mean queueing delay of the bottleneck, ms.
fn delay_ms(records: &Records) -> f64 {
    let link = bottleneck(records);
    link.mean_queue_bytes * 8e3 / link.rate_bps.expect("it has a rate") as f64
}

fn reno(count: u32, rtt: &str) -> Value {
    json!([{ "algorithm": "reno", "rtt": rtt, "count": count, "start_step": "137 ms" }])
}

/// RFC 8289, §1 and §4.2: with a target of 5 ms the delay stays near the target for any buffer, and the line stays
/// busy.
#[test]
fn codel_keeps_the_delay_of_a_large_buffer_near_its_target() {
    let uncontrolled = simulate(&path("20 Mbps", json!({ "capacity": "1000 packets" }), reno(4, "50 ms")), 1);
    let controlled = simulate(&path("20 Mbps", json!({ "kind": "codel" }), reno(4, "50 ms")), 1);
    assert!(delay_ms(&uncontrolled) > 100.0, "{}", delay_ms(&uncontrolled));
    assert!((2.0..15.0).contains(&delay_ms(&controlled)), "{}", delay_ms(&controlled));
    assert!(bottleneck(&controlled).utilisation > 0.93, "{}", bottleneck(&controlled).utilisation);
}

/// RFC 8033, §1: PIE controls the average queueing delay to its reference.
#[test]
fn pie_keeps_the_delay_at_its_reference() {
    let controlled = simulate(&path("20 Mbps", json!({ "kind": "pie" }), reno(10, "50 ms")), 1);
    assert!((10.0..20.0).contains(&delay_ms(&controlled)), "{}", delay_ms(&controlled));
    let slower = json!({ "kind": "pie", "target": "40 ms" });
    let slower = simulate(&path("20 Mbps", slower, reno(10, "50 ms")), 1);
    assert!((28.0..52.0).contains(&delay_ms(&slower)), "{}", delay_ms(&slower));
}

/// "Adaptive RED", §4: the average queue stays near the middle of [min, max] for any number of flows; that of plain RED
/// depends on it. Measured after 20 s, when the start is over and max_p has been adapted 40 times; there are enough
/// flows that their loss rate (1.5/W², here at least 2 %) is within the range of max_p.
#[test]
fn adaptive_red_keeps_the_queue_in_the_middle_of_its_thresholds() {
    let mean = |kind: &str, flows: u32| {
        let queue = json!({ "kind": kind, "min_th": 20, "max_th": 60, "weight": 0.002, "max_p": 0.1 });
        let records = simulate(&path("20 Mbps", queue, reno(flows, "80 ms")), 1);
        let integral = |at: u64| {
            let mut rows = records.link_samples.iter().filter(|row| row.link == 0);
            rows.find(|row| row.time_ns == at).expect("a sample").queue_packet_ns as f64
        };
        (integral(60_000_000_000) - integral(20_000_000_000)) / 40e9
    };
    for flows in [20, 60] {
        assert!((30.0..50.0).contains(&mean("ared", flows)), "{flows}: {}", mean("ared", flows));
    }
    assert!(mean("red", 60) > mean("red", 20) + 10.0);
}

/// Shreedhar and Varghese 1996: with a queue per flow, flows get equal shares for any RTTs and algorithms.
#[test]
fn fair_queueing_shares_equally() {
    let flows = json!([{ "algorithm": "reno", "rtt": "200 ms" }, { "algorithm": "cubic", "rtt": "20 ms" }]);
    let share = |queue: Value| {
        let records = simulate(&path("20 Mbps", queue, flows.clone()), 1);
        records.flows[0].delivered_bytes as f64 / records.flows[1].delivered_bytes as f64
    };
    let fair = share(json!({ "kind": "fq", "capacity": "400 packets" }));
    assert!((0.93..1.07).contains(&fair), "{fair}");
    let unfair = share(json!({ "capacity": "400 packets" }));
    assert!(unfair < 0.5, "{unfair}");
}

/// RFC 8290, §4.2: packets of a sparse flow do not queue behind those of flows that fill the line.
#[test]
fn a_sparse_flow_does_not_wait_in_fq_codel() {
    let flows = json!([
        { "algorithm": "cubic", "rtt": "40 ms", "count": 4 },
        { "algorithm": "reno", "rtt": "40 ms", "name": "sparse", "start": "5 s",
          "workload": { "kind": "transfers", "bytes": "1 kB", "gap": "200 ms" } },
    ]);
    let extra = |queue: Value| {
        let records = simulate(&path("20 Mbps", queue, flows.clone()), 1);
        let sparse = records.flows.last().expect("it exists").clone();
        (sparse.mean_rtt_ns.expect("it has samples") - sparse.base_rtt_ns) as f64 * 1e-6
    };
    // The delay consists of the packet in service and the quantum of each other flow.
    assert!(extra(json!({ "kind": "fq-codel" })) < 3.0);
    assert!(extra(json!({ "capacity": "200 packets" })) > 40.0);
}

/// RFC 9332, §1 and §2.1: scalable and classic flows get about the same rate, the scalable ones at a fraction of the delay.
#[test]
fn dualpi2_couples_rates_and_separates_delays() {
    let flows = json!([
        { "algorithm": "dctcp", "rtt": "20 ms", "stack": { "ecn": "accurate" } },
        { "algorithm": "reno", "rtt": "20 ms", "stack": { "ecn": "classic" } },
    ]);
    let records = simulate(&path("40 Mbps", json!({ "kind": "dualpi2" }), flows), 1);
    let rate = |at: usize| records.flows[at].delivered_bytes as f64;
    assert!((0.5..2.0).contains(&(rate(0) / rate(1))), "{} {}", rate(0), rate(1));
    let wait = |at: usize| (records.flows[at].mean_rtt_ns.expect("samples") - 20_000_000) as f64 * 1e-6;
    assert!(wait(0) < 3.0 && wait(1) > 8.0 && wait(1) < 20.0, "{} {}", wait(0), wait(1));
    assert_eq!(records.links[0].dropped_packets, 0);
}

/// RFC 3168: ECN-capable packets are marked, others dropped. The start is excluded: the probability then exceeds the 10 %
/// above which PIE drops all packets (RFC 8033, §5.1).
#[test]
fn ecn_capable_packets_are_marked_instead_of_dropped() {
    for queue in [
        json!({ "kind": "red", "ecn": true, "min_th": 20, "max_th": 150, "weight": 0.02 }),
        json!({ "kind": "codel", "ecn": true }),
        json!({ "kind": "pie", "ecn": true }),
        json!({ "kind": "fq-codel" }),
        json!({ "kind": "dualpi2" }),
        json!({ "kind": "cake" }),
        json!({ "kind": "cake", "bandwidth": "15 Mbps" }),
    ] {
        for (ecn, marks) in [("classic", true), ("off", false)] {
            let flows = json!([{ "algorithm": "reno", "rtt": "50 ms", "count": 2, "stack": { "ecn": ecn } }]);
            let records = simulate(&path("20 Mbps", queue.clone(), flows), 1);
            let link = bottleneck(&records);
            assert_eq!(link.marked_packets > 0, marks, "{queue}");
            let mut samples = records.link_samples.iter().filter(|row| row.link == 0);
            let early = samples.find(|row| row.time_ns == 10_000_000_000).expect("a sample").dropped_packets;
            let dropped = link.dropped_packets - early;
            assert_eq!(dropped > 0, !marks, "{queue}: {dropped} dropped after 10 s");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With every discipline each packet is dropped, sent or still queued; delivered data does not exceed sent data;
    /// the same seed gives the same records.
    #[test]
    fn packets_are_conserved(kind in 0usize..11, capacity in 3u32..200, flows in 1u32..5, ecn in any::<bool>(), seed in 0u64..9) {
        let kind = ["red", "ared", "codel", "pie", "dualpi2", "fq", "fq-codel", "fq-pie", "priority", "drr", "cake"][kind];
        let stack = json!({ "ecn": if ecn { "classic" } else { "off" } });
        let mut document = path(
            "10 Mbps",
            json!({ "kind": kind, "capacity": format!("{capacity} packets") }),
            json!([{ "algorithm": "cubic", "rtt": "40 ms", "count": flows, "stack": stack }]),
        );
        document["duration"] = json!("4 s");
        let records = simulate(&document, seed);
        let link = bottleneck(&records);
        let inside = link.arrived_packets - link.dropped_packets - link.sent_packets;
        prop_assert!(inside <= u64::from(capacity) + 1, "{kind}: {inside} inside");
        prop_assert!(link.max_queue_packets <= u64::from(capacity));
        let dropped: u64 = records.flows.iter().map(|flow| flow.queue_drops).sum();
        prop_assert_eq!(dropped, link.dropped_packets);
        for flow in &records.flows {
            prop_assert!(flow.delivered_bytes <= flow.sent_bytes);
        }
        prop_assert_eq!(format!("{records:?}"), format!("{:?}", simulate(&document, seed)));
    }
}

/// RFC 4594, section 2.3: voice by strict priority waits for at most the packet on the line, 1500 bytes at 2 Mbit/s are
/// 6 ms; behind drop-tail it waits for the whole queue of bulk data, 50 packets or 300 ms.
#[test]
fn voice_waits_for_one_packet_by_priority_and_for_the_queue_by_drop_tail() {
    let voice = json!({
        "name": "voice", "transport": "udp", "rtt": "40 ms", "dscp": "EF",
        "workload": { "kind": "cbr", "rate": "80 kbps", "packet": "200 B" },
    });
    let flows = json!([voice, { "algorithm": "cubic", "rtt": "40 ms", "count": 3 }]);
    let delay_ms = |kind: &str| {
        let queue = json!({ "kind": kind, "capacity": "50 packets" });
        let records = simulate(&path("2 Mbps", queue, flows.clone()), 1);
        records.flows[0].mean_delay_ns.expect("packets arrived") as f64 / 1e6
    };
    // 20 ms of propagation, 0.8 ms on the line.
    assert!((20.8..27.0).contains(&delay_ms("priority")), "{}", delay_ms("priority"));
    assert!(delay_ms("droptail") > 100.0, "{}", delay_ms("droptail"));
}

/// Shreedhar and Varghese 1996: backlogged classes share the line by their weights.
#[test]
fn classes_share_the_line_by_weight() {
    let flow = |name: &str, dscp: &str| json!({ "name": name, "algorithm": "cubic", "rtt": "40 ms", "dscp": dscp });
    let queue = json!({ "kind": "drr", "capacity": "200 packets", "video": 3 });
    let records = simulate(&path("10 Mbps", queue, json!([flow("data", "CS0"), flow("video", "AF41")])), 1);
    let [data, video] = [0, 1].map(|flow| records.flows[flow].delivered_bytes as f64);
    assert!((video / data - 3.0).abs() < 0.3, "{}", video / data);
}

/// RFC 3246, section 2.8: traffic that preempts other needs a limit. By hand: 12 Mbit/s of EF take the whole line of 10 Mbit/s
/// by strict priority. A policer of 1 Mbit/s leaves 9 Mbit/s to CUBIC; it drops the excess, or the excess competes with CUBIC.
#[test]
fn a_policer_protects_the_other_classes_from_voice() {
    let flood = json!({
        "name": "flood", "transport": "udp", "rtt": "40 ms", "dscp": "EF",
        "workload": { "kind": "cbr", "rate": "12 Mbps", "packet": "1000 B" },
    });
    let flows = json!([flood, { "algorithm": "cubic", "rtt": "40 ms" }]);
    let mbps = |police: Value| {
        let mut queue = json!({ "kind": "priority", "capacity": "100 packets" });
        if !police.is_null() {
            queue["police"] = police;
        }
        let records = simulate(&path("10 Mbps", queue, flows.clone()), 1);
        [0, 1].map(|flow| records.flows[flow].delivered_bytes as f64 * 8.0 / 60e6)
    };
    let [_, starved] = mbps(Value::Null);
    assert!(starved < 0.01, "{starved}");
    let [flood, cubic] = mbps(json!({ "rate": "1 Mbps", "burst": "12 kB" }));
    assert!((0.9..1.01).contains(&flood) && (7.5..9.0).contains(&cubic), "{flood} {cubic}");
    let [flood, cubic] = mbps(json!({ "rate": "1 Mbps", "burst": "12 kB", "excess": "demote" }));
    assert!(flood > 8.0 && cubic < 1.0, "{flood} {cubic}");
}

/// "Piece of CAKE", sections III and IV: the shaper moves the queue of a slow modem to itself. By hand: bulk has 1/16 of the
/// 10 Mbit/s while best effort wants the rest, two flows of a tin share equally whatever their RTTs, as long as both have a
/// queue, for which the target is 50 ms; voice waits for a packet of the shaper.
#[test]
fn cake_shares_a_shaped_line_by_tins_and_flows() {
    let flow =
        |name: &str, dscp: &str, rtt: &str| json!({ "name": name, "algorithm": "cubic", "rtt": rtt, "dscp": dscp });
    let voice = json!({
        "name": "voice", "transport": "udp", "rtt": "40 ms", "dscp": "EF",
        "workload": { "kind": "cbr", "rate": "80 kbps", "packet": "200 B" },
    });
    let flows = json!([flow("near", "CS0", "20 ms"), flow("far", "CS0", "50 ms"), flow("bulk", "LE", "40 ms"), voice]);
    let queue = json!({ "kind": "cake", "bandwidth": "10 Mbps", "rtt": "1 s" });
    let records = simulate(&path("12 Mbps", queue, flows), 1);
    let sent = bottleneck(&records).sent_bytes as f64 * 8.0 / 60e6;
    assert!((9.7..10.0).contains(&sent), "{sent}");
    let [near, far, bulk] = [0, 1, 2].map(|flow| records.flows[flow].delivered_bytes as f64 * 8.0 / 60e6);
    assert!((0.9..1.1).contains(&(far / near)), "{near} {far}");
    assert!((0.5..0.75).contains(&bulk), "{bulk}");
    let delay = records.flows[3].mean_delay_ns.expect("packets arrived") as f64 / 1e6;
    // 20 ms of propagation, 0.13 ms on the line, and less than 1.2 ms of a packet of another tin.
    assert!((20.1..21.4).contains(&delay), "{delay}");
}
