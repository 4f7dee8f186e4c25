//! Workloads other than bulk transfers, with results computed by hand.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled")
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
fn cbr_is_evenly_spaced_and_delayed_by_line_and_wire() {
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
        // The last packet that arrives within a second left at 988 ms: 248 packets of 1472 bytes of payload.
        assert_eq!(flow.delivered_bytes, 248 * 1472);
        assert_eq!((flow.sent_packets, flow.sent_bytes, flow.wire_bytes), (251, 251 * 1472, 251 * 1500));
        assert_eq!(flow.min_rtt_ns, None);
        assert!(records.samples.iter().all(|row| row.cwnd_bytes.is_none() && row.in_flight_bytes.is_none()));
    }
}

/// A spacing of 10⁹·8·1000/7·10⁶ ns is not an integer; 7 packets take exactly 8 ms.
#[test]
fn rounding_errors_of_the_spacing_do_not_accumulate() {
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
fn packets_above_the_line_rate_are_dropped_at_a_full_queue() {
    let records = simulate(&dumbbell("10 Mbps", "10 packets", "10 s", json!([cbr("12 Mbps", "1500 B")])), 1);
    let flow = &records.flows[0];
    let link = &records.links[0];
    assert_eq!(flow.sent_packets, 10_001);
    assert!(flow.queue_drops.abs_diff(10_001 - 8333 - 11) <= 1, "{} drops", flow.queue_drops);
    assert_eq!(flow.queue_drops, link.dropped_packets);
    // A packet in the last position waits for the one in service and nine others; with its own, at most 11 transmission
    // times.
    let longest = 10_000_000 + 11 * 1_200_000;
    assert!(flow.max_delay_ns.is_some_and(|delay| delay <= longest && delay > longest - 1_200_000), "{flow:?}");
}

/// A flow sends nothing after its stop time, which is its end.
#[test]
fn a_source_stops_at_its_stop_time() {
    let mut flow = cbr("3 Mbps", "1500 B");
    flow["start"] = json!("100 ms");
    flow["stop"] = json!("300 ms");
    let records = simulate(&dumbbell("10 Mbps", "10 packets", "1 s", json!([flow])), 1);
    assert_eq!(records.flows[0].sent_packets, 50);
    assert_eq!((records.flows[0].start_ns, records.flows[0].end_ns), (100_000_000, Some(300_000_000)));
    assert_eq!(records.flows[0].delivered_bytes, records.flows[0].sent_bytes);
}

/// A random source: bursts of CBR whose mean rate is the rate's share of active time, here a third of 8 Mbit/s. Over 2000 s with
/// about 1300 cycles of exponential periods the standard error is some 2 %.
#[test]
fn an_on_off_source_sends_at_its_rate_in_its_share_of_active_time() {
    let periods = |kind: &str, on: &str, off: &str| {
        let one = |mean: &str| match kind {
            "pareto" => json!({ "kind": "pareto", "shape": 2.5, "mean": mean }),
            _ => json!({ "kind": "exponential", "mean": mean }),
        };
        json!({ "transport": "udp", "rtt": "20 ms", "workload":
            { "kind": "on-off", "rate": "8 Mbps", "packet": "1000 B", "on": one(on), "off": one(off) } })
    };
    // Periods of half a packet's transmission time must not lose active time.
    for (kind, on, off, duration) in [
        ("exponential", "500 ms", "1 s", "2000 s"),
        ("pareto", "500 ms", "1 s", "2000 s"),
        ("exponential", "500 us", "1 ms", "20 s"),
    ] {
        let records = simulate(&dumbbell("100 Mbps", "unlimited", duration, json!([periods(kind, on, off)])), 1);
        let seconds: f64 = duration[..duration.len() - 2].parse().expect("a number");
        let rate = records.flows[0].wire_bytes as f64 * 8.0 / seconds;
        assert!((rate / (8e6 / 3.0) - 1.0).abs() < 0.08, "{kind} {on}: {rate:.0} bit/s");
    }
}

/// A TCP source with random active periods sends only in them: a third of the time at line rate.
#[test]
fn tcp_with_random_periods_sends_only_in_them() {
    let flow = json!([{ "algorithm": "reno", "rtt": "21 ms", "workload":
        { "kind": "on-off", "on": { "kind": "exponential", "mean": "2 s" }, "off": { "kind": "pareto", "shape": 2.5, "mean": "4 s" } } }]);
    let records = simulate(&dumbbell("10 Mbps", "50 packets", "2000 s", flow), 4);
    let share = records.links[0].utilisation;
    assert!((share - 1.0 / 3.0).abs() < 0.05, "{share}");
}

/// Video: 25 frames per second, whose mean size follows from the rate; a frame of n bytes is sent at once in ⌈n /
/// packet⌉ packets.
#[test]
fn video_sends_frames_at_even_intervals() {
    for sizes in ["log-normal", "gamma"] {
        let flow = json!([{ "transport": "udp", "rtt": "20 ms", "workload":
            { "kind": "vbr", "rate": "4 Mbps", "packet": "1200 B", "frame_rate": 25, "cv": 0.5, "sizes": sizes } }]);
        let mut document = dumbbell("100 Mbps", "unlimited", "200 s", flow);
        document["packets"] = json!(true);
        let records = simulate(&document, 1);
        let mut frames: Vec<(u64, u64)> = Vec::new();
        for row in records.packets.iter().filter(|row| row.link == 0) {
            assert_eq!(row.time_ns % 40_000_000, 0);
            match frames.last_mut() {
                Some(last) if last.0 == row.time_ns => last.1 += u64::from(row.size_bytes),
                _ => frames.push((row.time_ns, u64::from(row.size_bytes))),
            }
        }
        assert_eq!(frames.len(), 5001);
        // Mean 20,000 bytes; standard error of 5001 draws 0.7 %; a last packet of less than 29 bytes is padded.
        let mean = frames.iter().map(|frame| frame.1 as f64).sum::<f64>() / 5001.0;
        assert!((mean / 20_000.0 - 1.0).abs() < 0.03, "{sizes}: {mean}");
        let spread = frames.iter().map(|frame| (frame.1 as f64 - mean) * (frame.1 as f64 - mean)).sum::<f64>() / 5001.0;
        assert!((spread.sqrt() / mean - 0.5).abs() < 0.05, "{sizes}: {}", spread.sqrt() / mean);
    }
}

fn arrivals(extra: Value) -> Value {
    let mut workload = json!({ "kind": "arrivals", "size": "20 kB" });
    for (key, value) in extra.as_object().expect("a table") {
        workload[key] = value.clone();
    }
    json!({ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": { "initial_window": 2, "ack_every": 1 }, "workload": workload })
}

/// A Poisson process: 50 arrivals a second for 100 s are 5000 ± 71, and gaps have mean and standard deviation 20 ms.
#[test]
fn arrivals_are_a_poisson_process() {
    let records =
        simulate(&dumbbell("1 Gbps", "unlimited", "100 s", json!([arrivals(json!({ "per_second": 50 }))])), 1);
    let count = records.transfers.len() as f64;
    assert!((count - 5000.0).abs() < 4.0 * 71.0, "{count}");
    let gaps: Vec<f64> =
        records.transfers.windows(2).map(|two| (two[1].start_ns - two[0].start_ns) as f64 * 1e-6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let spread = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((mean - 20.0).abs() < 1.2 && (spread - 20.0).abs() < 1.2, "{mean} ± {spread}");
}

/// A lone short flow by hand: 14 segments of 1460 bytes from a window of 2 leave in rounds of 2, 4 and 8. Handshake, two whole
/// rounds, then half a round and the line: on a line of 1 Gbit/s a SYN takes 320 ns each way, a segment 12 µs and its ACK
/// 320 ns. The last round's segments leave as ACKs 4 × 2 come in; the ACKs are a segment's time apart.
#[test]
fn a_lone_short_flow_takes_handshake_and_slow_start_rounds() {
    let flow = arrivals(json!({ "per_second": 2, "size": "20440 B" }));
    let records = simulate(&dumbbell("1 Gbps", "unlimited", "50 s", json!([flow])), 1);
    let handshake = 40_000_000 + 2 * 320;
    let round = 40_000_000 + 12_000 + 320;
    // Two segments are sent per ACK: the n-th segment of a round leaves the line n · 12 µs after the first one started.
    let last_round = 20_000_000 + 8 * 12_000;
    let alone: Vec<u64> = records
        .transfers
        .windows(3)
        .filter(|three| three[1].start_ns > three[0].end_ns + 60_000_000 && three[2].start_ns > three[1].end_ns)
        .map(|three| three[1].end_ns - three[1].start_ns)
        .collect();
    assert!(alone.len() > 20, "{}", alone.len());
    assert!(
        alone.iter().all(|&took| took == handshake + 2 * round + last_round),
        "{} instead of {}",
        alone[0],
        handshake + 2 * round + last_round
    );
}

/// The offered load equals the requested one: half of 20 Mbit/s with heavy-tailed sizes, and headers and handshakes
/// within 5 %.
#[test]
fn an_offered_load_is_its_share_of_the_line() {
    let size = json!({ "kind": "pareto", "shape": 1.5, "min": "5 kB", "max": "200 kB" });
    let records = simulate(
        &dumbbell("20 Mbps", "200 packets", "400 s", json!([arrivals(json!({ "load": 0.5, "size": size }))])),
        1,
    );
    assert!((records.links[0].utilisation / 0.5 - 1.0).abs() < 0.08, "{}", records.links[0].utilisation);
    let ended = records.transfers.iter().map(|row| row.size_bytes).sum::<u64>();
    assert!(records.flows[0].delivered_bytes >= ended);
}

/// Every transfer completes once; connections are reused, so that there are no more of them than simultaneous
/// transfers.
#[test]
fn every_transfer_ends_once_and_connections_are_reused() {
    let mut document = dumbbell(
        "20 Mbps",
        "20 packets",
        "120 s",
        json!([arrivals(
            json!({ "per_second": 100, "count": 3000, "size": { "kind": "exponential", "mean": "10 kB" } })
        )]),
    );
    document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.01 });
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).expect("the plan is valid");
    let (records, cost) =
        cwndlab_simulator::run_counted(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled");
    let numbers: Vec<u64> = records.transfers.iter().map(|row| row.transfer).collect();
    assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
    let flow = &records.flows[0];
    assert_eq!(flow.delivered_bytes, records.transfers.iter().map(|row| row.size_bytes).sum::<u64>());
    assert_eq!(flow.acked_bytes, flow.delivered_bytes);
    assert!(flow.end_ns.is_some() && flow.retransmitted_packets > 0 && flow.wire_losses > 0);
    assert!(records.samples.windows(2).all(|two| two[0].delivered_bytes <= two[1].delivered_bytes));
    assert!(cost.memory_bytes < 2_000_000, "{} bytes", cost.memory_bytes);
}

/// Recorded packets have the number of their connection among those of the flow: each opens with one SYN, carries one
/// transfer, and has the same number in both directions.
#[test]
fn recorded_packets_tell_the_connections_of_a_flow_apart() {
    let flow = arrivals(json!({ "per_second": 50, "count": 100, "size": "30 kB" }));
    let mut document = dumbbell("20 Mbps", "unlimited", "4 s", json!([flow]));
    document["packets"] = json!(true);
    let records = simulate(&document, 1);
    let mss = records.flows[0].mss_bytes;
    let of_kind = |link: u32, kind: u8| {
        records.packets.iter().filter(move |row| row.link == link && row.kind == kind).collect::<Vec<_>>()
    };
    let syns: Vec<u32> = of_kind(0, 2).iter().map(|row| row.connection).collect();
    assert_eq!(syns, (0..100).collect::<Vec<_>>());
    for connection in 0..100 {
        let mine: Vec<_> = of_kind(0, 0).into_iter().filter(|row| row.connection == connection).collect();
        assert_eq!(mine.iter().map(|row| row.payload_bytes).sum::<u32>(), 30_000);
        assert!(mine.windows(2).all(|two| two[0].sequence_bytes < two[1].sequence_bytes));
        let acks = of_kind(1, 1).into_iter().filter(|row| row.connection == connection);
        assert_eq!(acks.map(|row| row.sequence_bytes).max(), mine.last().map(|last| last.sequence_bytes + mss));
    }
}

/// With at most two connections, transfers that arrive while both are busy are rejected and recorded.
#[test]
fn arrivals_above_the_connection_limit_are_rejected() {
    let flow = arrivals(json!({ "per_second": 100, "connections": 2, "count": 500 }));
    let records = simulate(&dumbbell("10 Mbps", "100 packets", "20 s", json!([flow])), 1);
    let refused = records.events.iter().filter(|row| row.kind == "refused").count();
    assert_eq!(records.transfers.len() + refused, 500);
    assert!(refused > 100, "{refused}");
}

/// By hand on a line of 12 Mbit/s: SYN and SYN-ACK, a request of 100 bytes as one packet of 140 (93,334 ns rounded up),
/// a response of one full segment (1 ms), each with 20 ms of propagation.
#[test]
fn a_request_and_its_response_take_two_round_trips() {
    let workload = |new: bool| {
        json!({ "kind": "request-response", "request": "100 B", "response": "1460 B", "think": "1 s",
        "count": 3, "new_connection": new })
    };
    for new in [true, false] {
        let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "workload": workload(new) }]);
        let records = simulate(&dumbbell("12 Mbps", "100 packets", "10 s", flow), 1);
        let handshake = 40_000_000 + 2 * 26_667;
        let exchange = 40_000_000 + 93_334 + 1_000_000;
        let took: Vec<u64> = records.transfers.iter().map(|row| row.end_ns - row.start_ns).collect();
        let later = if new { handshake + exchange } else { exchange };
        assert_eq!(took, [handshake + exchange, later, later]);
        assert_eq!(records.transfers[1].start_ns, records.transfers[0].end_ns + 1_000_000_000);
        assert_eq!(records.flows[0].delivered_bytes, 3 * 1460);
        assert!(records.flows[0].end_ns.is_some());
    }
}

/// By hand on a line of 12 Mbit/s, in two round trips after the handshake, 50 ms apart: a request of 440 bytes on the
/// wire (293,334 ns rounded up) and a main object of 1451 bytes, with its frame header one full segment (1 ms); two
/// requests in 840 bytes (560,000 ns) and two objects of 721 bytes, which with their frame headers (RFC 9113, 4.1) fill
/// a segment as well. The two requests are less than a full segment, so that their ACK is delayed (RFC 5681, 4.2) and the
/// objects do not wait for it.
#[test]
fn a_page_takes_two_round_trips_after_the_handshake() {
    let workload = json!({ "kind": "page-loads", "request": "400 B", "main": "1451 B", "parse": "50 ms",
        "objects": 2, "object": "721 B", "think": "1 s", "count": 2 });
    let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "workload": workload }]);
    let records = simulate(&dumbbell("12 Mbps", "100 packets", "10 s", flow), 1);
    let handshake = 40_053_334;
    let page = 41_293_334 + 50_000_000 + 41_560_000;
    let took: Vec<u64> = records.transfers.iter().map(|row| row.end_ns - row.start_ns).collect();
    assert_eq!(took, [handshake + page, page]);
    assert_eq!(records.transfers[1].start_ns, records.transfers[0].end_ns + 1_000_000_000);
    assert!(records.transfers.iter().all(|row| row.size_bytes == 1451 + 2 * 721));
    assert_eq!(records.flows[0].delivered_bytes, 4 * 1460);
}

/// RFC 6298, section 3, and Linux' tcp_synack_rtt_meas: with an RTT of 1,100 ms the SYN is retransmitted after one
/// second and acknowledged twice, so that the SYN-ACK acknowledged by the request is ambiguous. No sample is shorter
/// than the RTT of the path.
#[test]
fn a_repeated_syn_ack_gives_no_rtt_sample() {
    let workload = json!({ "kind": "request-response", "request": "100 B", "response": "1460 B", "think": "1 s",
        "count": 3, "new_connection": true });
    let flow = json!([{ "algorithm": "reno", "rtt": "1100 ms", "profile": "linux", "workload": workload }]);
    let records = simulate(&dumbbell("12 Mbps", "100 packets", "40 s", flow), 1);
    assert_eq!(records.transfers.len(), 3);
    assert!(records.flows[0].min_rtt_ns.is_some_and(|rtt| rtt >= 1_100_000_000), "{:?}", records.flows[0].min_rtt_ns);
}

/// By hand: the first connections have an idle path: 40 ms, and at most 4.333 ms of one packet and ACK on the line of 3
/// Mbit/s; from 5 s on a bulk flow keeps a queue of up to 100 packets of 4 ms each, at least half full.
#[test]
fn the_smallest_rtt_of_a_flow_covers_all_its_connections() {
    let flows = json!([
        { "algorithm": "reno", "rtt": "40 ms", "workload":
            { "kind": "transfers", "bytes": "1448 B", "gap": "1 s", "new_connection": true } },
        { "algorithm": "reno", "rtt": "40 ms", "start": "5 s" },
    ]);
    let records = simulate(&dumbbell("3 Mbps", "100 packets", "30 s", flows), 1);
    assert!(records.transfers.len() > 10);
    let min_rtt = records.flows[0].min_rtt_ns.expect("a sample");
    assert!((40_000_000..45_000_000).contains(&min_rtt), "{min_rtt}");
}

/// RFC 9959, by hand: 400 segments over 100 ms take a handshake and six rounds of slow start (10, 20, 40, 80, 160, 90).
/// A second connection that jumps to 56 or more after the first round takes four (10, 56, 112, 222): half of what the
/// first one delivered in the RTT before its end, 90 and a part of 160 segments. The third one resumes as well.
#[test]
fn a_connection_resumes_with_the_window_of_the_last_one() {
    let run = |algorithm: &str| {
        let workload =
            json!({ "kind": "transfers", "bytes": "584 kB", "gap": "1 s", "count": 3, "new_connection": true });
        let stack = json!({ "auto_tuning": false });
        let flow = json!([{ "algorithm": algorithm, "rtt": "100 ms", "profile": "linux", "stack": stack, "workload": workload }]);
        simulate(&dumbbell("1 Gbps", "1000 packets", "10 s", flow), 1)
    };
    let took = |records: &Records| -> Vec<u64> {
        records.transfers.iter().map(|row| (row.end_ns - row.start_ns) / 100_000_000).collect()
    };
    assert_eq!(took(&run("reno+standard")), [6, 6, 6]);
    let resumed = run("reno+careful-resume(base=standard)");
    assert_eq!(took(&resumed), [6, 4, 4]);
    let phases: Vec<_> =
        resumed.events.iter().filter(|row| row.kind == "careful-resume").map(|row| row.cause).collect();
    let validated = ["unvalidated", "validating", "validated"];
    assert_eq!(phases, [validated, validated].concat());
}

/// RFC 9959 by hand: 1 Gbit/s, an RTT of 100 ms, an initial window of 10 segments of 1448 bytes. Flows with one store start
/// from what the flow that ended last had delivered: the second one jumps to half of it after the first round trip. One
/// that starts while another is active has no parameters, and neither has one with another store.
#[test]
fn flows_of_one_store_start_with_the_parameters_of_the_last_one() {
    let flow = |start: &str, store: Option<&str>, bytes: &str| {
        let mut flow = json!({ "algorithm": "reno+careful-resume(base=standard)", "rtt": "100 ms", "profile": "linux",
            "start": start, "stack": { "auto_tuning": false }, "workload": { "kind": "bulk", "bytes": bytes } });
        if let Some(store) = store {
            flow["saved_parameters"] = json!(store);
        }
        flow
    };
    let flows = json!([
        flow("0 s", Some("server"), "584 kB"),
        flow("2 s", Some("server"), "2 MB"),
        flow("2100 ms", Some("server"), "584 kB"),
        flow("4 s", Some("other"), "584 kB"),
        flow("6 s", Some("other"), "584 kB"),
        flow("6 s", None, "584 kB"),
    ]);
    let records = simulate(&dumbbell("1 Gbps", "4000 packets", "10 s", flows), 1);
    let jumps: Vec<(u32, u64)> = records
        .events
        .iter()
        .filter(|row| row.kind == "careful-resume" && row.cause == "unvalidated")
        .map(|row| (row.flow, row.cwnd_after_bytes / 1448))
        .collect();
    // 584 kB are 404 segments: windows of 10, 20, 40, 80 and 160, and a rest of 94. The rest is sent while the first 47 or,
    // with an ACK for two, 48 of the 160 are acknowledged. Its last segment therefore has 404 - 198 = 206 in flight, which
    // are delivered in its RTT, at most 1 ms above the minimum of 100 ms: the jump is 103 or 102 segments.
    assert_eq!(jumps.iter().map(|jump| jump.0).collect::<Vec<_>>(), [1, 4]);
    assert!(jumps.iter().all(|jump| (102..=103).contains(&jump.1)), "{jumps:?}");
}

/// The parameters are those of the end of the last transfer, so that a lifetime of 1 s ends before the next connection.
#[test]
fn saved_parameters_are_as_old_as_the_last_transfer() {
    let jumps = |lifetime: &str| {
        let workload =
            json!({ "kind": "transfers", "bytes": "584 kB", "gap": "2 s", "count": 2, "new_connection": true });
        let flow = json!([{ "algorithm": format!("reno+careful-resume(base=standard, lifetime={lifetime})"),
            "rtt": "100 ms", "profile": "linux", "stack": { "auto_tuning": false }, "workload": workload }]);
        let records = simulate(&dumbbell("1 Gbps", "1000 packets", "10 s", flow), 1);
        records.events.iter().filter(|row| row.cause == "unvalidated").count()
    };
    assert_eq!([jumps("3"), jumps("1")], [1, 0]);
}

/// Many clients over a lossy line: every exchange completes once, with the bytes of the responses.
#[test]
fn every_exchange_completes_once_despite_losses() {
    let flow = json!([{ "algorithm": "cubic", "rtt": "40 ms", "count": 5, "workload":
        { "kind": "request-response", "request": { "kind": "uniform", "min": "50 B", "max": "3 kB" }, "count": 40,
          "response": { "kind": "log-normal", "median": "10 kB", "sigma": 1.2 }, "think": { "kind": "exponential", "mean": "100 ms" } } }]);
    let mut document = dumbbell("10 Mbps", "20 packets", "120 s", flow);
    document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.02 });
    document["dumbbell"]["reverse"] = json!({ "loss": { "kind": "bernoulli", "p": 0.02 } });
    let records = simulate(&document, 2);
    for flow in &records.flows {
        let mine = records.transfers.iter().filter(|row| row.flow == flow.flow);
        assert_eq!(mine.clone().count(), 40, "{flow:?}");
        assert_eq!(flow.delivered_bytes, mine.map(|row| row.size_bytes).sum::<u64>());
    }
}

/// By hand from MQTT 3.1.1: CONNECT 24 bytes (identifier of 10), PUBLISH of 100 bytes to a topic of 20 is 124 bytes, at QoS 1 126
/// and answered by 4. With 40 bytes of headers on a line of 12 Mbit/s. The receiver acknowledges each segment at once, and its
/// bare ACK of 40 bytes precedes its application's reply.
#[test]
fn mqtt_messages_have_the_specifications_sizes_and_times() {
    for (qos, publish) in [(0, 124), (1, 126)] {
        let workload =
            json!({ "kind": "mqtt", "qos": qos, "payload": "100 B", "period": "1 s", "client": 10, "topic": 20 });
        let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": { "ack_every": 1 }, "stop": "9500 ms", "workload": workload }]);
        let mut document = dumbbell("12 Mbps", "100 packets", "10 s", flow);
        document["packets"] = json!(true);
        let records = simulate(&document, 1);
        let line = |bytes: u64| (bytes * 8_000u64).div_ceil(12);
        let connected = 80_000_000 + 2 * line(40) + line(24 + 40) + line(40) + line(44);
        let took = 20_000_000 + line(publish + 40) + if qos == 1 { 20_000_000 + line(40) + line(44) } else { 0 };
        assert_eq!(records.transfers.len(), 10);
        for (n, row) in records.transfers.iter().enumerate() {
            // The first message is sent after the ACK of the CONNACK.
            let behind = if n == 0 { line(40) } else { 0 };
            assert_eq!(row.start_ns, connected + n as u64 * 1_000_000_000);
            assert_eq!(row.end_ns - row.start_ns, took + behind, "QoS {qos}, {n}");
            assert_eq!(row.size_bytes, 100);
        }
        let flow = &records.flows[0];
        assert_eq!(flow.delivered_bytes, 24 + 10 * publish);
        assert_eq!(flow.end_ns, Some(9_500_000_000));
        let answers: Vec<u32> =
            records.packets.iter().filter(|row| row.link == 1 && row.kind == 0).map(|row| row.size_bytes).collect();
        assert_eq!(answers, vec![44; if qos == 1 { 11 } else { 1 }]);
    }
}

/// A sensor without messages for its keep-alive time sends a PINGREQ of 2 bytes, answered by 2 bytes (3.1.2.10, 3.12,
/// 3.13).
#[test]
fn a_silent_sensor_sends_pings() {
    let workload =
        json!({ "kind": "mqtt", "payload": "100 B", "period": "10 s", "client": 10, "topic": 20, "keep_alive": "3 s" });
    let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "workload": workload }]);
    let mut document = dumbbell("12 Mbps", "100 packets", "19 s", flow);
    document["packets"] = json!(true);
    let records = simulate(&document, 1);
    let pings =
        |link| records.packets.iter().filter(|row| row.link == link && row.kind == 0 && row.size_bytes == 42).count();
    // Pings follow the messages at 0.08 s and 10.08 s after 3, 6 and 9 s; the one at 16 s is followed by 19.08 s.
    assert_eq!((pings(0), pings(1)), (5, 5));
}

/// Nagle (RFC 9293, 3.7.4): messages every 10 ms with an RTT of 40 ms are combined, one small segment per round trip.
#[test]
fn nagle_combines_small_messages() {
    let segments = |nagle: bool| {
        let workload = json!({ "kind": "mqtt", "payload": "100 B", "period": "10 ms", "nagle": nagle });
        let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": { "ack_every": 1 }, "workload": workload }]);
        let records = simulate(&dumbbell("12 Mbps", "100 packets", "10 s", flow), 1);
        assert!(records.transfers.len().abs_diff(990) < 10, "{}", records.transfers.len());
        records.flows[0].sent_packets as f64
    };
    let without = segments(false);
    let with = segments(true);
    assert!((without / 990.0 - 1.0).abs() < 0.02, "{without}");
    assert!((with / (9.9 / 0.0402) - 1.0).abs() < 0.05, "{with}");
}

/// Lost messages are retransmitted and delivered in order, and each is counted once.
#[test]
fn every_message_arrives_once_despite_losses_and_duplicates() {
    let workload = json!({ "kind": "mqtt", "qos": 1, "period": "200 ms", "jitter": "100 ms", "payload": { "kind": "uniform", "min": "128 B", "max": "4 kB" } });
    let flow = json!([{ "algorithm": "cubic", "rtt": "40 ms", "count": 20, "start_jitter": "1 s", "stop": "30 s", "workload": workload },
        { "transport": "udp", "rtt": "40 ms", "workload": { "kind": "cbr", "rate": "1 Mbps" } }]);
    let mut document = dumbbell("20 Mbps", "100 packets", "60 s", flow);
    document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.02 });
    document["dumbbell"]["bottleneck"]["duplicate"] = json!(0.05);
    let records = simulate(&document, 1);
    for flow in &records.flows[..20] {
        let mine: Vec<_> = records.transfers.iter().filter(|row| row.flow == flow.flow).collect();
        // 29 s at five messages per second, less one second for a lost SYN.
        assert!(mine.len() >= 138, "{}", mine.len());
        assert!(mine
            .windows(2)
            .all(|two| two[0].transfer + 1 == two[1].transfer && two[0].start_ns <= two[1].start_ns));
    }
    let udp = &records.flows[20];
    assert!(udp.delivered_bytes <= udp.sent_bytes - udp.wire_losses * 1472, "{udp:?}");
}

/// Starts with exponential gaps are a Poisson process: 401 flows, 50 ms apart on average, spread over 20 s ± 1 s; the first one
/// starts at its `start`.
#[test]
fn exponential_start_gaps_are_a_poisson_process() {
    let flow = json!([{ "algorithm": "reno", "rtt": "21 ms", "count": 401, "start": "1 s",
        "start_step": { "kind": "exponential", "mean": "50 ms" }, "workload": { "kind": "bulk", "bytes": "1 kB" } }]);
    let records = simulate(&dumbbell("10 Mbps", "50 packets", "30 s", flow), 1);
    let starts: Vec<u64> = records.flows.iter().map(|row| row.start_ns).collect();
    assert_eq!(starts[0], 1_000_000_000);
    assert!(starts.is_sorted());
    let gaps: Vec<f64> = starts.windows(2).map(|two| (two[1] - two[0]) as f64 * 1e-6).collect();
    let mean = gaps.iter().sum::<f64>() / 400.0;
    let spread = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 400.0).sqrt();
    assert!((mean - 50.0).abs() < 10.0 && (spread - 50.0).abs() < 12.0, "{mean} ± {spread}");
}

/// By hand: from 1 s to 2 s a write of 1448 bytes each 11.584 ms, 87 of them; unlimited data from 2 s on fill the line of
/// 833 packets/s, after slow start.
#[test]
fn scheduled_writes_limit_the_flow_until_a_step() {
    let steps = json!([{ "at": "1 s", "rate": "1 Mbps" }, { "at": "2 s", "rate": "unlimited" }, { "at": "4 s", "rate": "0 bps" }]);
    let workload = json!({ "kind": "scheduled-writes", "steps": steps });
    let flow = json!({ "algorithm": "reno", "rtt": "20 ms", "workload": workload });
    let mut document = dumbbell("10 Mbps", "100 packets", "6 s", json!([flow]));
    document["sample_interval"] = json!("500 ms");
    let records = simulate(&document, 1);
    let delivered: Vec<u64> = records.samples.iter().map(|row| row.delivered_bytes / 1448).collect();
    // Samples each 0.5 s from 0.5 s; 20 ms of the path are behind the writes.
    assert_eq!(delivered[0], 0);
    assert!((41..=43).contains(&delivered[2]) && (85..=87).contains(&delivered[3]), "{delivered:?}");
    assert!(delivered[7] - delivered[5] >= 780, "{delivered:?}");
    assert_eq!(delivered[9], delivered[10], "nothing is written after 4 s, and the queue is empty");
    assert!(records.transfers.is_empty());
}

/// A flow of CoAP over a line of 1 Mbit/s with a base RTT of 100 ms.
fn coap(workload: &Value, loss: &Value, duration: &str) -> Records {
    let mut one = json!({ "kind": "coap", "payload": "10 B", "period": "10 s" });
    one.as_object_mut().unwrap().extend(workload.as_object().unwrap().clone());
    let flow = json!({ "transport": "udp", "rtt": "100 ms", "workload": one, "service": { "deadline": "1 s" } });
    let mut document = dumbbell("1 Mbps", "100 packets", duration, json!([flow]));
    document["dumbbell"]["bottleneck"]["loss"] = loss.clone();
    simulate(&document, 1)
}

/// By hand: a request of 28 + 4 + 4 + 16 + 1 + 10 = 63 bytes takes 504 us on the line and 50 ms on its way, the response of 28 + 4
/// + 4 = 36 bytes 288 us and 50 ms. Ten requests start in 100 s.
#[test]
fn a_coap_request_takes_a_round_trip() {
    let records = coap(&json!({}), &json!([]), "99 s");
    let times: Vec<_> =
        records.messages.iter().map(|row| (row.generated_ns, row.delivered_ns, row.size_bytes)).collect();
    let at = |n: u64| n * 10_000_000_000;
    assert_eq!(times, (0..10).map(|n| (at(n), Some(at(n) + 50_504_000), 10)).collect::<Vec<_>>());
    let transfers: Vec<_> = records.transfers.iter().map(|row| row.end_ns - row.start_ns).collect();
    assert_eq!(transfers, [100_792_000; 10]);
    let flow = &records.flows[0];
    assert_eq!((flow.sent_packets, flow.sent_bytes, flow.wire_bytes), (10, 350, 630));
    assert_eq!((flow.min_delay_ns, flow.max_delay_ns), (Some(50_504_000), Some(50_504_000)));
}

/// By hand: with DTLS 1.3 and a pre-shared key, flights of 28 + 136 and 28 + 153 bytes take a round trip; the last flight of 28 +
/// 56 goes ahead of the request, which has 11 bytes more.
#[test]
fn a_dtls_handshake_takes_a_round_trip() {
    let records = coap(&json!({ "dtls": "1.3" }), &json!([]), "29 s");
    let delays: Vec<_> = records.messages.iter().map(|row| row.delivered_ns.unwrap() - row.generated_ns).collect();
    let request = 50_000_000 + (63 + 11) * 8_000;
    let handshake = 100_000_000 + (28 + 136 + 28 + 153 + 28 + 56) * 8_000;
    assert_eq!(delays, [handshake + request, request, request]);
    let lost = coap(&json!({ "dtls": "1.3" }), &json!([{ "kind": "list", "indices": [0, 1] }]), "29 s");
    assert_eq!(lost.messages[0].delivered_ns, Some(3_000_000_000 + handshake + request), "timeouts of 1 and 2 s");
}

/// By hand: a request of 28 + 60 bytes takes 704 us and 50 ms, its response of 28 + 200 bytes 1824 us and 50 ms. On a line that
/// loses the first response the client repeats the request after 1 s.
#[test]
fn a_request_over_udp_is_repeated() {
    let workload =
        json!({ "kind": "udp-request-response", "request": "60 B", "response": "200 B", "think": "1 s", "count": 3 });
    let times = |loss: Value| {
        let flow =
            json!({ "transport": "udp", "rtt": "100 ms", "workload": workload, "service": { "deadline": "1 s" } });
        let mut document = dumbbell("1 Mbps", "100 packets", "20 s", json!([flow]));
        document["dumbbell"]["bottleneck"]["loss"] = loss;
        let records = simulate(&document, 1);
        records.transfers.iter().map(|row| row.end_ns - row.start_ns).collect::<Vec<_>>()
    };
    let exchange = 100_000_000 + (88 + 228) * 8_000;
    assert_eq!(times(json!([])), [exchange; 3]);
    let lost = times(json!([{ "kind": "list", "indices": [0] }]));
    assert_eq!(lost, [exchange + 1_000_000_000, exchange, exchange]);
}

/// RFC 7252, section 4.8.2: on a line that loses everything, a confirmable message is sent five times in at most 45 s (MAX_TRANSMIT_SPAN)
/// and given up after 62 to 93 s (MAX_TRANSMIT_WAIT), when the next one starts. Nothing is delivered, everything is recorded.
#[test]
fn coap_gives_a_message_up_after_max_transmit_wait() {
    let records = coap(&json!({}), &json!([{ "kind": "bernoulli", "p": 1.0 }]), "189 s");
    assert_eq!(records.messages.len(), 19);
    assert!(records.messages.iter().all(|row| row.delivered_ns.is_none()));
    assert!((10..=15).contains(&records.flows[0].sent_packets), "{}", records.flows[0].sent_packets);
}

/// RFC 7959: 2500 bytes in blocks of 1024 take three round trips, of 28 + 1052, 28 + 1052 and 28 + 480 bytes; responses with the
/// option Block1 have 28 + 11. By hand: 3 · 100 ms + (1080 + 1080 + 508 + 3 · 39) · 8 us.
#[test]
fn blocks_are_sent_in_lock_step() {
    let records = coap(&json!({ "payload": "2500 B" }), &json!([]), "5 s");
    assert_eq!(records.transfers[0].end_ns, 300_000_000 + (1080 + 1080 + 508 + 3 * 39) * 8_000);
    assert_eq!(records.messages[0].delivered_ns, Some(250_000_000 + (1080 + 1080 + 508 + 2 * 39) * 8_000));
}

/// Without loss and queues, an observer has each state after half a round trip; a flow has its messages whatever its workload.
#[test]
fn messages_of_every_workload_are_recorded() {
    let records = coap(&json!({ "method": "observe", "period": "1 s" }), &json!([]), "5 s");
    assert!(records.messages.len() >= 4);
    let delay = |row: &cwndlab_records::rows::MessageRow| row.delivered_ns.unwrap() - row.generated_ns;
    assert!(records.messages.iter().all(|row| delay(row) == 50_000_000 + (28 + 21) * 8_000), "{:?}", records.messages);
    for (transport, workload) in [
        ("tcp", json!({ "kind": "bulk", "bytes": "20 kB" })),
        ("tcp", json!({ "kind": "transfers", "bytes": "20 kB", "count": 3, "gap": "1 s" })),
        ("tcp", json!({ "kind": "arrivals", "per_second": 1, "size": "20 kB", "count": 5 })),
        ("tcp", json!({ "kind": "request-response", "request": "1 kB", "response": "20 kB", "count": 5 })),
        ("tcp", json!({ "kind": "mqtt", "qos": 2, "period": "1 s" })),
        ("tcp", json!({ "kind": "page-loads", "count": 2, "think": "1 s" })),
        ("udp", json!({ "kind": "cbr", "rate": "100 kbps", "packet": "500 B" })),
        ("udp", json!({ "kind": "vbr", "rate": "400 kbps" })),
    ] {
        let mut flow =
            json!({ "transport": transport, "rtt": "100 ms", "workload": workload, "service": { "class": "a" } });
        if transport == "tcp" {
            flow["algorithm"] = json!("cubic");
        }
        let records = simulate(&dumbbell("1 Mbps", "100 packets", "9 s", json!([flow])), 1);
        let delivered = records.messages.iter().filter(|row| row.delivered_ns.is_some()).count();
        assert!(delivered > 0, "{workload}");
        if transport == "tcp" {
            assert_eq!(delivered, records.transfers.len().max(delivered), "{workload}");
        }
        let order: Vec<_> = records.messages.iter().map(|row| (row.message, row.generated_ns)).collect();
        assert!(order.is_sorted(), "{workload}");
    }
}

/// A transfer that the end of the run interrupts is a message that was not delivered. By hand: 1 MB takes more than 8 s at 1 Mbit/s.
#[test]
fn a_transfer_that_does_not_end_is_an_undelivered_message() {
    for workload in [
        json!({ "kind": "bulk", "bytes": "1 MB" }),
        json!({ "kind": "arrivals", "per_second": 1e3, "size": "1 MB", "count": 1 }),
    ] {
        let flow = json!({ "algorithm": "cubic", "rtt": "100 ms", "workload": workload, "service": { "class": "a" } });
        let records = simulate(&dumbbell("1 Mbps", "100 packets", "5 s", json!([flow])), 1);
        let messages: Vec<_> = records.messages.iter().map(|row| (row.delivered_ns, row.size_bytes)).collect();
        assert_eq!(messages, [(None, 1_000_000)], "{workload}");
    }
}

/// A flow without a service level leaves the table empty: its records, and their hash, are those of earlier releases.
#[test]
fn only_flows_with_a_service_level_record_messages() {
    let flow = json!({ "algorithm": "cubic", "rtt": "100 ms", "workload": { "kind": "mqtt", "period": "1 s" } });
    assert_eq!(simulate(&dumbbell("1 Mbps", "100 packets", "5 s", json!([flow])), 1).messages, []);
}
