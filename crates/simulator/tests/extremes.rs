//! Long runs, standing queues and links computed ahead of the clock, with results computed by hand.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{LinkRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn link<'a>(records: &'a Records, name: &str) -> &'a LinkRow {
    records.links.iter().find(|row| row.name == name).expect("the link exists")
}

/// 2,000 flows with the default of 10,000 connections: 0.01 transfers per second each over 200 s are 4,000 ± 63
/// transfers, the last one close to the end. An agenda key of 64 bits without a window would overflow after 137 s.
#[test]
fn arrivals_of_many_flows_continue_until_the_end() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "200 s", "sample_interval": "0 s",
        "dumbbell": { "bottleneck": { "rate": "100 Mbps", "delay": "1 ms" } },
        "flow": [{ "algorithm": "reno", "rtt": "10 ms", "count": 2000,
            "workload": { "kind": "arrivals", "per_second": 0.01, "size": "1 kB" } }],
    }));
    let last = records.transfers.iter().map(|row| row.end_ns).max();
    assert!(last > Some(199_000_000_000), "{last:?}");
    let count = records.transfers.len() as f64;
    assert!((count - 4000.0).abs() < 5.0 * 63.3, "{count}");
}

/// The limit of connections may exceed the range of source numbers, because only existing connections need one.
#[test]
fn the_number_of_possible_connections_does_not_overflow() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "1 s", "sample_interval": "0 s",
        "dumbbell": { "bottleneck": { "rate": "100 Mbps", "delay": "1 ms", "queue": { "kind": "codel" } } },
        "flow": [{ "algorithm": "reno", "rtt": "10 ms", "count": 1074,
            "workload": { "kind": "arrivals", "per_second": 1.0, "size": "1 kB", "connections": 999_759 } }],
    }));
    assert!(records.transfers.len() > 900);
}

/// By hand: 100 Mbit/s arrive for 10 s and 1 Mbit/s leaves. The backlog rises to 123.75 MB, then falls by 0.125 MB a
/// second; its mean over 200 s is (0.5 · 123.75 · 10 + 123.75 · 190 − 0.125 · 190² / 2) / 200 = 109.375 MB. Its
/// integral, 2.2·10¹⁹ byte-nanoseconds, exceeds 64 bits.
#[test]
fn the_mean_of_a_standing_queue_is_exact() {
    for queue in [
        json!({ "capacity": "200 MB" }),
        json!({ "capacity": "unlimited" }),
        json!({ "kind": "fq", "capacity": "1000000 packets" }),
    ] {
        let records = simulate(&json!({
            "schema_version": 1, "duration": "200 s", "sample_interval": "10 s",
            "dumbbell": { "bottleneck": { "rate": "1 Mbps", "delay": "1 ms", "queue": queue } },
            "flow": [{ "transport": "udp", "rtt": "2 ms", "stop": "10 s",
                "workload": { "kind": "cbr", "rate": "100 Mbps", "packet": "1500 B" } }],
        }));
        let row = link(&records, "bottleneck");
        assert!((row.mean_queue_bytes / 109.375e6 - 1.0).abs() < 1e-4, "{row:?}");
        let samples: Vec<_> = records.link_samples.iter().filter(|row| row.link == 0).collect();
        assert!(samples.windows(2).all(|two| two[0].queue_byte_ns <= two[1].queue_byte_ns));
        let last = samples.last().unwrap();
        assert!((last.queue_byte_ns / (row.mean_queue_bytes * 2e11) - 1.0).abs() < 1e-12, "{last:?}");
    }
}

/// Every packet has 1500 bytes, so that the mean in bytes is 1500 times the mean in packets, on an 802.11 medium as
/// well.
#[test]
fn the_mean_of_a_standing_queue_at_a_station_is_exact() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "200 s", "sample_interval": "10 s",
        "wlan": { "standard": "802.11g", "rate": "6 Mbps", "queue": { "capacity": "1000000 packets" } },
        "flow": [{ "transport": "udp", "rtt": "2 ms", "stop": "10 s",
            "workload": { "kind": "cbr", "rate": "200 Mbps", "packet": "1500 B" } }],
    }));
    let row = link(&records, "ap-sta0");
    assert!(row.mean_queue_bytes > 150e6, "{row:?}");
    assert!((row.mean_queue_bytes / row.mean_queue_packets / 1500.0 - 1.0).abs() < 1e-9, "{row:?}");
}

/// The second link is computed when a packet enters the first one, 500 ms ahead. By hand: packets of 1500 bytes at 90
/// Mbit/s are 133,333 ns apart and take 12 µs on each of the two preceding lines, so that those sent in the first
/// 1.499976 s of 2 s reach it: 11,250. As a link of a graph, where every link has its own events, it has the same
/// counters.
#[test]
fn a_link_computed_ahead_of_the_clock_counts_only_up_to_the_end() {
    let flow = json!({ "transport": "udp", "workload": { "kind": "cbr", "rate": "90 Mbps", "packet": "1500 B" } });
    let far = json!({ "rate": "1 Gbps", "delay": "500 ms", "queue": { "capacity": "unlimited" } });
    for (rate, capacity) in
        [("1 Gbps", "100 packets"), ("60 Mbps", "100 packets"), ("60 Mbps", "1 GB"), ("60 Mbps", "unlimited")]
    {
        let near = json!({ "rate": rate, "queue": { "capacity": capacity } });
        let mut ahead = json!({ "schema_version": 1, "duration": "2 s", "dumbbell": { "bottleneck": far, "access": near }, "flow": [flow] });
        ahead["flow"][0]["rtt"] = json!("1 s");
        let mut apart = json!({ "schema_version": 1, "duration": "2 s", "flow": [flow], "link": [
            { "from": "s0", "to": "r1", "rate": rate, "queue": near["queue"] },
            { "from": "r1", "to": "r2", "rate": "1 Gbps", "delay": "500 ms", "queue": far["queue"] },
            { "from": "r2", "to": "d0", "rate": rate, "queue": near["queue"] },
        ] });
        (apart["flow"][0]["from"], apart["flow"][0]["to"]) = (json!("s0"), json!("d0"));
        let ahead = simulate(&ahead);
        let apart = simulate(&apart);
        let fused = link(&ahead, "r2-d0");
        let own = link(&apart, "r2-d0");
        if rate == "1 Gbps" {
            assert_eq!(fused.arrived_packets, 11_250);
        }
        let counts = |row: &LinkRow| {
            (row.arrived_packets, row.dropped_packets, row.sent_packets, row.sent_bytes, row.max_queue_packets)
        };
        assert_eq!(counts(fused), counts(own), "{rate} {capacity}");
        assert!((fused.mean_queue_packets - own.mean_queue_packets).abs() < 1e-9, "{fused:?} {own:?}");
        assert!((fused.mean_queue_bytes - own.mean_queue_bytes).abs() < 1e-6, "{fused:?} {own:?}");
        assert_eq!(ahead.flows[0].queue_drops, apart.flows[0].queue_drops);
    }
}

/// A packet that will be lost on the wire first waits in the queue: it does not count as lost before it is sent.
#[test]
fn no_packet_is_lost_before_it_is_sent() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "3 s", "sample_interval": "100 ms",
        "dumbbell": { "bottleneck": { "rate": "1 Mbps", "delay": "1 ms", "queue": { "capacity": "unlimited" },
            "loss": { "kind": "bernoulli", "p": 1.0 } } },
        "flow": [{ "transport": "udp", "rtt": "2 ms",
            "workload": { "kind": "cbr", "rate": "10 Mbps", "packet": "1500 B" } }],
    }));
    let row = link(&records, "bottleneck");
    // By hand: 3 s at 12 ms per packet.
    assert_eq!((row.sent_packets, row.lost_packets), (250, 250));
    assert_eq!(records.flows[0].wire_losses, 250);
    for sample in &records.link_samples {
        assert!(sample.lost_packets * 1500 <= sample.sent_bytes, "{sample:?}");
    }
}

/// Transfers of one byte produce the requested load: the sampling error of more than 10⁵ transfers is well below 2 %.
#[test]
fn a_load_of_small_transfers_is_its_share_of_the_line() {
    let records = simulate(&json!({
        "schema_version": 1, "duration": "20 s", "sample_interval": "0 s",
        "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "1 ms" } },
        "flow": [{ "algorithm": "reno", "rtt": "2 ms", "workload": { "kind": "arrivals", "load": 0.5, "size": "1 B" } }],
    }));
    let row = link(&records, "bottleneck");
    assert!((row.utilisation - 0.5).abs() < 0.01, "{row:?}");
}

/// Sums of RTTs and of one-way delays that a 400 Gbit/s path reaches within a day, here with RTTs of 30 days instead of
/// 10¹² packets. By hand: 30 days are 2.592 · 10¹⁵ ns. A window of 3000 segments makes 3001 RTT samples with the SYN's,
/// 7.8 · 10¹⁸ ns, which fits into 63 bits; the next window exceeds 64 bits. 4000 datagrams, one per second, are in
/// transit for 15 days each: 1.3 · 10¹⁵ ns, and 5.2 · 10¹⁸ ns in total; for 15,000 datagrams the sum is 1.9 · 10¹⁹ ns.
/// The means stay exact.
#[test]
fn sums_of_rtts_and_delays_are_exact_or_null() {
    const DAY: u64 = 86_400_000_000_000;
    let rto = json!({ "initial_window": 3000, "ack_every": 1, "initial_rto": "960 h", "min_rto": "960 h", "max_rto": "2400 h" });
    let records = simulate(&json!({
        "schema_version": 1, "duration": "2400 h", "sample_interval": "2000 s",
        "dumbbell": { "bottleneck": { "rate": "1 Gbps", "delay": "1 ms", "queue": { "capacity": "unlimited" } } },
        "flow": [
            { "algorithm": "reno", "rtt": "720 h", "profile": "rfc", "stack": rto },
            { "transport": "udp", "rtt": "720 h", "stop": "15000 s",
                "workload": { "kind": "cbr", "rate": "12 kbps", "packet": "1500 B" } },
        ],
    }));
    let near = |sum: u64, count: u64, one: u64| sum >= count * one && sum - count * one < 1_000_000_000 * count.max(1);
    let mut last_rtt = Some(0);
    let mut last_delay = Some(0);
    for row in &records.samples {
        let (sum, count, one, last) = match row.flow {
            0 => (row.rtt_sum_ns, row.rtt_count, 30 * DAY, &mut last_rtt),
            _ => (row.delay_sum_ns, row.delay_count.unwrap_or(0), 15 * DAY, &mut last_delay),
        };
        match sum {
            Some(sum) => assert!(near(sum, count, one) && *last <= Some(sum), "{row:?}"),
            None => assert!(u128::from(count) * u128::from(one) > 9e18 as u128, "{row:?}"),
        }
        *last = sum;
    }
    assert_eq!((last_rtt, last_delay), (None, None));
    let [tcp, udp] = &records.flows[..] else { panic!("two flows") };
    assert!(near(tcp.mean_rtt_ns.unwrap(), 1, 30 * DAY), "{tcp:?}");
    assert!(near(udp.mean_delay_ns.unwrap(), 1, 15 * DAY), "{udp:?}");
}
