//! Router-assisted algorithms end to end: rate shares, queues, and the fallback if a router has no agent.

use std::sync::atomic::AtomicBool;

use cwndlab_control::Need;
use cwndlab_network::router_assist::{perc::max_min, Scheme, SPECS};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn dumbbell(agents: Value, access: Value, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": "20 s", "measure_from": "5 s",
        "dumbbell": {
            "bottleneck": { "rate": "20 Mbps", "delay": "10 ms", "queue": { "capacity": "2 bdp(50 ms)" }, "agents": agents },
            "access": access,
        },
        "flow": flows,
    })
}

fn access_1gbps() -> Value {
    json!({ "rate": "1 Gbps" })
}

/// Payload delivered per second over the last ten seconds, Mbit/s.
fn goodputs(records: &Records) -> Vec<f64> {
    let at = |flow: usize, time: u64| {
        let row = records.samples.iter().find(|row| row.flow == flow as u32 && row.time_ns == time);
        row.map_or(0.0, |row| row.delivered_bytes as f64)
    };
    (0..records.flows.len()).map(|flow| (at(flow, 20_000_000_000) - at(flow, 10_000_000_000)) * 8.0 / 1e7).collect()
}

fn mean_queue(records: &Records) -> f64 {
    let late: Vec<f64> = records
        .link_samples
        .iter()
        .filter(|row| row.link == 0 && row.time_ns > 10_000_000_000)
        .map(|row| row.queue_packets as f64)
        .collect();
    late.iter().sum::<f64>() / late.len() as f64
}

fn causes<'a>(records: &'a Records, kind: &str) -> Vec<&'a str> {
    records.events.iter().filter(|event| event.kind == kind).map(|event| event.cause).collect()
}

/// The `SPEC` of a scheme in `network` and the `needs` of algorithms use the same names.
#[test]
fn needed_schemes_exist_and_all_schemes_are_needed() {
    let needed: Vec<&str> = catalogue()
        .specs
        .iter()
        .flat_map(|spec| spec.needs)
        .filter_map(|need| if let Need::Agent(scheme) = need { Some(*scheme) } else { None })
        .collect();
    assert!(needed.iter().all(|name| Scheme::from_name(name).is_some()), "{needed:?}");
    assert!(SPECS.iter().all(|spec| needed.contains(&spec.name)), "{needed:?}");
}

/// RCP's equilibrium: R = C / n for any RTTs, and no queue (Dukkipati et al., IWQoS 2005).
#[test]
fn rcp_gives_flows_of_different_rtts_the_same_rate() {
    let flows =
        json!([{ "algorithm": "rcp", "rtt": "30 ms" }, { "algorithm": "rcp", "rtt": "120 ms", "start": "1 s" }]);
    let records = simulate(&dumbbell(json!(["rcp"]), access_1gbps(), flows));
    let rates = goodputs(&records);
    assert!(rates.iter().all(|rate| (8.3..10.0).contains(rate)), "{rates:?}");
    assert!(mean_queue(&records) < 10.0, "{}", mean_queue(&records));
    assert!(causes(&records, "fallback").is_empty());
}

/// Max-min fairness: the long flow of a parking lot gets the smallest share, the short flows get the remainder.
#[test]
fn perc_converges_to_the_max_min_shares() {
    let hop = |rate: &str| json!({ "rate": rate, "delay": "5 ms", "queue": { "capacity": "200 packets" }, "agents": ["perc"] });
    let document = json!({
        "schema_version": 1, "duration": "20 s",
        "parking_lot": { "hops": [hop("10 Mbps"), hop("4 Mbps")] },
        "flow": [
            { "algorithm": "perc", "rtt": "40 ms", "enter": 1, "leave": 2 },
            { "algorithm": "perc", "rtt": "40 ms" },
            { "algorithm": "perc", "rtt": "40 ms", "enter": 2, "leave": 3 },
        ],
    });
    let rates = goodputs(&simulate(&document));
    let shares = max_min(&[10.0, 4.0], &[vec![0], vec![0, 1], vec![1]]);
    for (rate, share) in rates.iter().zip(shares) {
        // Headers take 52 of 1500 bytes.
        assert!((rate / share - 1448.0 / 1500.0).abs() < 0.05, "{rates:?}");
    }
}

/// ABC fills the line with a queue near the threshold and equal shares (Goyal et al., NSDI 2020, sections 3 and 6).
#[test]
fn abc_fills_the_line_and_shares_it() {
    let flows = json!([{ "algorithm": "abc-wireless", "rtt": "50 ms" }, { "algorithm": "abc-wireless", "rtt": "50 ms", "start": "2 s" }]);
    let records = simulate(&dumbbell(json!(["abc"]), access_1gbps(), flows));
    let rates = goodputs(&records);
    let total: f64 = rates.iter().sum();
    assert!(total > 18.0, "{rates:?}");
    assert!(rates[1] / rates[0] > 0.7, "{rates:?}");
    // The additive increase of each flow, 1/w per ACK, causes a queue above the threshold of 20 ms.
    let queue_ms = mean_queue(&records) * 1500.0 * 8.0 / 20e3;
    assert!((15.0..40.0).contains(&queue_ms), "{queue_ms} ms");
}

/// If a router with a rate has no agent, every sender falls back and records it.
#[test]
fn without_an_agent_senders_fall_back_and_record_it() {
    for algorithm in ["rcp", "perc", "abc-wireless"] {
        let flows = json!([{ "algorithm": algorithm, "rtt": "50 ms" }]);
        let records = simulate(&dumbbell(json!([]), access_1gbps(), flows));
        assert_eq!(causes(&records, "fallback"), ["a router has no agent"], "{algorithm}");
        assert!(goodputs(&records)[0] > 17.0, "{algorithm}: {:?}", goodputs(&records));
    }
}

/// The sender falls back if one of two routers has no agent.
#[test]
fn feedback_needs_an_agent_at_every_router() {
    let flows = json!([{ "algorithm": "rcp", "rtt": "50 ms" }]);
    let access = json!({ "rate": "1 Gbps", "agents": [] });
    let records = simulate(&dumbbell(json!(["rcp"]), access, flows));
    assert_eq!(causes(&records, "fallback"), ["a router has no agent"]);
}

/// Headers are forwarded, lost, duplicated and returned; losses do not reduce the rate set by the routers.
#[test]
fn headers_survive_loss_and_duplication() {
    for algorithm in ["perc", "rcp", "abc-wireless"] {
        let flow = json!({ "algorithm": algorithm, "rtt": "30 ms" });
        let mut document = dumbbell(json!(["perc", "rcp", "abc"]), access_1gbps(), json!([flow, flow]));
        document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.005 });
        document["dumbbell"]["bottleneck"]["duplicate"] = json!(0.005);
        let total: f64 = goodputs(&simulate(&document)).iter().sum();
        assert!(total > if algorithm == "abc-wireless" { 5.0 } else { 15.0 }, "{algorithm}: {total}");
    }
}

fn first_window(records: &Records) -> f64 {
    let event = records.events.iter().find(|event| event.kind == "established").expect("a handshake");
    event.cwnd_after_bytes as f64 / 1448.0
}

/// RFC 4782: N = 8 requests 10.24 Mbit/s, which an idle line of 20 Mbit/s · 0.95 grants: 10.24 Mbit/s · 50 ms is 42
/// segments of 1500 bytes with headers, before the first ACK.
#[test]
fn quick_start_begins_with_the_granted_rate() {
    let flows = json!([{ "algorithm": "cubic+quick-start(n=8)", "rtt": "50 ms" }]);
    let records = simulate(&dumbbell(json!(["quick-start"]), access_1gbps(), flows.clone()));
    assert!((41.0..=43.0).contains(&first_window(&records)), "{}", first_window(&records));
    let records = simulate(&dumbbell(json!([]), access_1gbps(), flows));
    assert_eq!(first_window(&records), 10.0);
    assert_eq!(causes(&records, "fallback"), ["a router has no agent"]);
}

/// The IoT paper's path: W0 = BW · RTT / (8 · MSS) / α; here 20 Mbit/s, 50 ms and α = 4 are 21.6 segments. A second
/// flow that starts on a busy line has a smaller window.
#[test]
fn the_iot_algorithm_begins_with_a_share_of_the_free_capacity() {
    let flow = json!({ "algorithm": "iotcc", "rtt": "50 ms" });
    let mut late = flow.clone();
    late["start"] = json!("10 s");
    let records = simulate(&dumbbell(json!(["bandwidth-stamp"]), access_1gbps(), json!([flow, late])));
    let windows: Vec<f64> = records
        .events
        .iter()
        .filter(|event| event.kind == "established")
        .map(|event| event.cwnd_after_bytes as f64 / 1448.0)
        .collect();
    assert!((20.0..=22.0).contains(&windows[0]), "{windows:?}");
    assert!(windows[1] < 5.0, "{windows:?}");
}

/// The router stamps the SYN-ACK with the load since the SYN (Algorithm 1 of the IoT paper). Datagrams of 8 Mbit/s begin
/// after the SYN has passed: the stamp of the SYN does not know of them, that of the SYN-ACK does. By hand: the SYN is at
/// the router after 7.5 ms, the SYN-ACK after 42.5 ms, and the datagrams of 1028 bytes are there from 27.5 ms on, one per
/// ms: 15 or 16 of them in 35 ms are 3.5 to 3.8 Mbit/s, which leave a quarter of 20 Mbit/s · 50 ms times 0.81 to 0.825.
#[test]
fn the_stamp_of_the_syn_ack_has_the_load_since_the_syn() {
    let window = |agent: Value| {
        let flow = json!({ "algorithm": "iotcc", "rtt": "50 ms", "start": "10 s" });
        let datagrams = json!({
            "transport": "udp", "rtt": "50 ms", "start": "10.020 s",
            "workload": { "kind": "cbr", "rate": "8 Mbps", "packet": "1000 B" },
        });
        first_window(&simulate(&dumbbell(json!([agent]), access_1gbps(), json!([flow, datagrams]))))
    };
    let quarter = 20e6 * 0.05 / 8.0 / 1448.0 / 4.0;
    let idle = window(json!("bandwidth-stamp")) / quarter;
    let loaded = window(json!({ "scheme": "bandwidth-stamp", "stamped": "syn-ack" })) / quarter;
    assert!((0.95..=1.0).contains(&idle), "{idle}");
    assert!((0.78..=0.84).contains(&loaded), "{loaded}");
}

/// Records of packets do not change what the agents see.
#[test]
fn the_stamp_of_the_syn_ack_does_not_depend_on_packet_records() {
    let flows = json!([
        { "algorithm": "iotcc", "rtt": "50 ms", "count": 3, "start_jitter": "1 s" },
        { "algorithm": "iotcc", "rtt": "70 ms", "direction": "reverse", "start": "2 s" },
    ]);
    let agent = json!({ "scheme": "bandwidth-stamp", "stamped": "syn-ack" });
    let mut document = dumbbell(json!([agent]), access_1gbps(), flows);
    let windows = |document: &Value| -> Vec<u64> {
        let records = simulate(document);
        let established = records.events.iter().filter(|event| event.kind == "established");
        established.map(|event| event.cwnd_after_bytes).collect()
    };
    let without = windows(&document);
    document["packets"] = json!(true);
    assert_eq!(windows(&document), without);
    assert_eq!(without.len(), 4);
}

/// SIRENS reports the free capacity: slow start is limited to it and exits there, without a loss.
#[test]
fn alss_exits_slow_start_at_the_free_capacity() {
    let flows = json!([{ "algorithm": "cubic+alss-sirens", "rtt": "50 ms" }]);
    let records = simulate(&dumbbell(json!(["sirens"]), access_1gbps(), flows));
    let exit = records.events.iter().find(|event| event.kind == "slow-start-exit").expect("an exit");
    assert!(exit.time_ns < 2_000_000_000, "{}", exit.time_ns);
    let bdp = 20e6 * 0.05 / 8.0;
    assert!((0.5..1.2).contains(&(exit.cwnd_before_bytes as f64 / bdp)), "{}", exit.cwnd_before_bytes as f64 / bdp);
}
