//! Admission control and the times for which flows hold what they reserve.

use std::sync::atomic::AtomicBool;

use cwndlab_path::lifetimes::Lifetimes;
use cwndlab_records::rows::Records;
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn plan(document: &Value) -> Plan {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the fields are valid");
    scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0])).0
}

/// Calls of 100 kbit/s over a line of which admission gives them 1 Mbit/s.
fn calls(calls: &Value) -> Value {
    let mut call = json!({ "name": "call", "transport": "udp", "rtt": "20 ms", "reserve": "100 kbps", "start_jitter": "0 s",
        "workload": { "kind": "cbr", "rate": "100 kbps", "packet": "250 B" } });
    call.as_object_mut().expect("a table").extend(calls.as_object().expect("a table").clone());
    json!({ "schema_version": 1, "duration": "10 s", "flow": [call],
        "dumbbell": { "bottleneck": { "rate": "2 Mbps", "delay": "5 ms", "admission": 0.5, "queue": { "capacity": "100 packets" } } } })
}

fn simulate(document: &Value) -> Records {
    run(&plan(document), 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// The probability that all `circuits` are taken, by Erlang's recursion B(n) = a B(n−1) / (n + a B(n−1)), B(0) = 1.
fn erlang_b(load: f64, circuits: u32) -> f64 {
    (1..=circuits).fold(1.0, |last, n| load * last / (f64::from(n) + load * last))
}

/// A. K. Erlang, 1917: a Poisson process of calls with any distribution of their holding times that finds ten circuits is
/// refused with probability B(10) = 0.2146 at ten erlangs (tables of the formula). The share of 40,000 calls, which are
/// correlated over a holding time, is within 0.02.
#[test]
fn refused_calls_follow_erlangs_formula() {
    assert!((erlang_b(10.0, 10) - 0.2146).abs() < 5e-5);
    for hold in [json!({ "kind": "exponential", "mean": "100 s" }), json!("100 s")] {
        let start_step = json!({ "kind": "exponential", "mean": "10 s" });
        let document = calls(&json!({ "count": 40_000, "start_step": start_step, "hold": hold }));
        let lifetimes = Lifetimes::new(&plan(&document), 1);
        let share = lifetimes.refused.len() as f64 / 40_000.0;
        assert!((share - erlang_b(10.0, 10)).abs() < 0.02, "{share} with {hold}");
    }
}

/// Of twelve calls that start 100 ms apart and hold 5 s, the first ten are admitted, and so is one that starts when the first
/// has stopped. A refused call sends nothing, and the run says so.
#[test]
fn a_call_without_room_sends_nothing() {
    let records = simulate(&calls(&json!({ "count": 12, "start_step": "100 ms", "hold": "5 s" })));
    let sent: Vec<bool> = records.flows.iter().map(|row| row.sent_packets > 0).collect();
    assert_eq!(sent, [vec![true; 10], vec![false; 2]].concat());
    let found: Vec<_> = records.findings.iter().map(|row| (row.code, row.flow, row.time_ns)).collect();
    let refused = |flow: u32| ("refused", Some(flow), Some(u64::from(flow) * 100_000_000));
    assert_eq!(found, [refused(10), refused(11)]);
    let later = simulate(&calls(&json!({ "count": 11, "start_step": "500 ms", "hold": "5 s" })));
    assert!(later.findings.iter().all(|row| row.code != "refused") && later.flows[10].sent_packets > 0);
    // 5 s at 50 packets a second.
    assert!(later.flows[..10].iter().all(|row| row.sent_packets == 250), "{:?}", later.flows[0]);
}

/// A flow of TCP, and one of both directions' messages, stop when their time is over.
#[test]
fn every_workload_stops_at_its_time() {
    for workload in [json!({ "kind": "bulk" }), json!({ "kind": "mqtt", "period": "100 ms" })] {
        let flow = json!({ "algorithm": "cubic", "rtt": "20 ms", "hold": "2 s", "workload": workload });
        let document = json!({ "schema_version": 1, "duration": "5 s", "flow": [flow],
            "dumbbell": { "bottleneck": { "rate": "2 Mbps", "delay": "5 ms" } } });
        let records = simulate(&document);
        let end = records.flows[0].end_ns.expect("it ends");
        assert!((2_000_000_000..2_500_000_000).contains(&end), "{workload}: {end}");
    }
}

#[test]
fn a_reservation_needs_a_link_with_admission() {
    let mut document = calls(&json!({}));
    document["dumbbell"]["bottleneck"].as_object_mut().expect("a table").remove("admission");
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the fields are valid");
    let faults = scenario.plan(&catalogue()).expect_err("a fault");
    assert_eq!(faults[0].place, "flow[0].reserve");
}
