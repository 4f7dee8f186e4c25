//! Findings: a planted case raises each code, and a clean run raises none.

use std::collections::BTreeSet;
use std::path::Path;

use cwndlab_path::network::Network;
use cwndlab_path::packet::{Packet, Tag, DATA};
use cwndlab_records::rows::{FindingRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run_within};
use cwndlab_units::Time;
use serde_json::{json, Value};

const MAX_EVENTS: u64 = 50_000_000;

fn run(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run_within(&plan, seed, MAX_EVENTS).expect("the run ends").0
}

fn codes(records: &Records) -> BTreeSet<&'static str> {
    records.findings.iter().map(|row| row.code).collect()
}

fn only(document: &Value, code: &str) -> FindingRow {
    let records = run(document, 1);
    assert_eq!(codes(&records), BTreeSet::from([code]), "{:#?}", records.findings);
    records.findings[0].clone()
}

/// A clean run: two flows on 10 Mbit/s with a queue of one BDP.
fn clean() -> Value {
    json!({
        "schema_version": 1, "duration": "20 s", "measure_from": "2 s", "sample_interval": "100 ms",
        "dumbbell": {
            "bottleneck": { "rate": "10 Mbps", "delay": "10 ms", "queue": { "capacity": "40 packets" } },
            "access": { "rate": "100 Mbps" },
        },
        "flow": [
            { "algorithm": "cubic", "rtt": "40 ms" },
            { "algorithm": "reno", "rtt": "40 ms", "start": "1 s" },
        ],
    })
}

#[test]
fn a_clean_run_has_no_findings() {
    let findings = run(&clean(), 1).findings;
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn a_flow_that_would_start_after_the_end_is_found() {
    let mut document = clean();
    document["flow"][1]["start"] = json!("20 s");
    let finding = only(&document, "never-starts");
    assert_eq!((finding.flow, finding.severity, finding.time_ns), (Some(1), "warning", Some(20_000_000_000)));
    assert_eq!(
        finding.text,
        "flow[1] would start at 20.000 s, but the run ends at 20.000 s".replace("flow[1]", &name(&document, 1))
    );
}

/// By hand: of 250 such flows the first 100 have a finding each, and one has the number of the others.
#[test]
fn of_many_flows_that_would_start_after_the_end_most_are_counted() {
    let mut document = clean();
    document["flow"][1]["start"] = json!("20 s");
    document["flow"][1]["count"] = json!(250);
    let mut findings = run(&document, 1).findings;
    assert_eq!(findings.iter().filter(|row| row.flow.is_some()).count(), 100);
    findings.retain(|row| row.flow.is_none());
    let text = format!(
        "and 150 further findings on flows, such as: {} would start at 20.000 s, but the run ends at 20.000 s",
        name(&document, 250)
    );
    let found: Vec<_> = findings.iter().map(|row| (row.code, row.severity, row.text.as_str())).collect();
    assert_eq!(found, [("never-starts", "warning", text.as_str())]);
}

fn name(document: &Value, flow: usize) -> String {
    run(document, 1).flows[flow].name.clone()
}

#[test]
fn a_flow_that_starts_in_the_last_tenth_or_after_the_warm_up_is_found() {
    let mut document = clean();
    document["flow"][1]["start"] = json!("18.1 s");
    assert_eq!(only(&document, "starts-late").flow, Some(1));
    document["flow"][1]["start"] = json!("3 s");
    assert_eq!(only(&document, "starts-after-warm-up").flow, Some(1));
}

#[test]
fn a_measurement_of_less_than_ten_round_trips_is_found() {
    let mut document = clean();
    document["measure_from"] = json!("19.7 s");
    let findings = run(&document, 1).findings;
    assert_eq!(
        findings.iter().map(|row| (row.code, row.flow)).collect::<Vec<_>>(),
        [("short-run", Some(0)), ("short-run", Some(1))]
    );
}

/// A packet is on a wire, and the counters of the links are those from before it was sent.
#[test]
fn counters_that_do_not_add_up_are_found() {
    let mut document = clean();
    document["dumbbell"]["access"] = json!({});
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap();
    let (plan, _) = scenario.plan(&catalogue()).unwrap();
    let mut network = Network::new(&plan, 1);
    let idle = network.links.clone();
    network.forward(Time::ZERO, Packet::new(DATA, Tag::default(), Time::ZERO, 1500));
    assert_eq!(network.check_counters(&plan, Time::from_nanos(1)), []);
    network.links = idle;
    let findings = network.check_counters(&plan, Time::from_nanos(1));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].code, findings[0].severity), ("counters", "severe"));
    assert!(findings[0].text.ends_with("1 packets are on its wire, of 0 accepted"), "{}", findings[0].text);
}

/// RFC 9293, section 3.8.6: a sender must not send more than the window; a window of 500 bytes holds no segment of 1448.
#[test]
fn a_receive_window_below_a_segment_is_found() {
    let mut document = clean();
    document["flow"][1]["stack"] = json!({ "receive_window": "500 B", "auto_tuning": false });
    let records = run(&document, 1);
    let codes = codes(&records);
    assert!(codes.contains("receive-window"), "{codes:?}");
    // Either the stack sends smaller segments, or the run says that it hangs.
    assert_eq!(records.flows[1].delivered_bytes == 0, codes.contains("nothing-delivered"), "{:#?}", records.findings);
    assert_eq!(records.flows[1].delivered_bytes == 0, codes.contains("hang"), "{:#?}", records.findings);
}

/// Every algorithm of the catalogue that needs a router agent, on a path without one.
#[test]
fn an_algorithm_without_its_router_agent_is_found() {
    let catalogue = catalogue();
    let mut found = 0;
    for text in cwndlab_conformance::algorithm_texts(&catalogue) {
        let algorithm = catalogue.parse(&text).unwrap();
        let Some((scheme, _)) = algorithm.router_assistance() else { continue };
        let mut document = clean();
        document["duration"] = json!("4 s");
        document["flow"][0]["algorithm"] = json!(text);
        let records = run(&document, 1);
        let one = records.findings.iter().find(|row| row.code == "missing-agent").unwrap_or_else(|| panic!("{text}"));
        assert_eq!(one.flow, Some(0));
        assert!(one.text.contains(&format!("'{scheme}'")), "{}", one.text);
        document["dumbbell"]["bottleneck"]["agents"] = json!([scheme]);
        assert!(!codes(&run(&document, 1)).contains("missing-agent"), "{text}");
        found += 1;
    }
    assert!(found >= 5, "{found}");
}

#[test]
fn an_algorithm_that_needs_marks_on_a_path_without_is_found() {
    let mut document = clean();
    document["flow"][0]["algorithm"] = json!("dctcp");
    assert_eq!(only(&document, "missing-ecn").flow, Some(0));
    document["flow"][0]["stack"] = json!({ "ecn": "off" });
    assert_eq!(only(&document, "missing-ecn").flow, Some(0));
    document["flow"][0]["stack"] = json!({ "ecn": "accurate" });
    document["dumbbell"]["bottleneck"]["queue"] =
        json!({ "kind": "step-ecn", "mark_above": 20, "capacity": "60 packets" });
    assert!(!codes(&run(&document, 1)).contains("missing-ecn"));
}

/// RFC 3168, section 6.1.2, and RFC 9331, section 4.3: an ECN-capable sender responds to marks.
#[test]
fn a_sender_that_negotiates_ecn_and_ignores_marks_is_found() {
    let mut document = clean();
    document["flow"] = json!([{ "algorithm": "bbr3", "rtt": "40 ms", "count": 2, "stack": { "ecn": "accurate" } }]);
    document["dumbbell"]["bottleneck"]["queue"] =
        json!({ "kind": "step-ecn", "mark_above": 10, "capacity": "100 packets" });
    let findings = run(&document, 1).findings;
    assert!(findings.iter().any(|row| row.code == "ignored-marks" && row.flow == Some(0)), "{findings:#?}");
    for algorithm in ["cubic", "bbr3(ecn=on)"] {
        document["flow"][0]["algorithm"] = json!(algorithm);
        assert!(!codes(&run(&document, 1)).contains("ignored-marks"), "{algorithm}");
    }
}

/// By hand: 10 Mbit/s × 40 ms are 34 packets, the bottleneck holds 40 more; slow start without losses fills the host.
#[test]
fn a_host_queue_that_holds_more_than_the_path_is_found() {
    let mut document = clean();
    document["dumbbell"]["bottleneck"] =
        json!({ "rate": "1 Gbps", "delay": "10 ms", "queue": { "capacity": "40 packets" } });
    document["dumbbell"]["access"] = json!({ "rate": "10 Mbps" });
    document["flow"] = json!([{ "algorithm": "reno", "rtt": "4 ms" }]);
    document["dumbbell"]["bottleneck"]["delay"] = json!("1 ms");
    let finding = only(&document, "host-queue");
    assert_eq!((finding.flow, finding.link.is_some()), (Some(0), true));
}

/// A random loss of 45 % in both directions is beyond what TCP repairs with fewer repetitions.
#[test]
fn a_flow_of_repetitions_is_found() {
    let mut document = clean();
    document["duration"] = json!("120 s");
    document["dumbbell"]["bottleneck"]["loss"] = json!([{ "kind": "bernoulli", "p": 0.45 }]);
    document["flow"] = json!([{ "algorithm": "reno", "rtt": "22 ms" }]);
    assert!(codes(&run(&document, 1)).contains("repetitions"));
}

#[test]
fn a_path_that_loses_everything_is_no_hang_of_the_sender() {
    let mut document = clean();
    document["duration"] = json!("60 s");
    document["dumbbell"]["bottleneck"]["schedule"] = json!([{ "at": "10 s", "loss": 1.0 }]);
    let codes = codes(&run(&document, 1));
    assert!(codes.contains("unanswered") && !codes.contains("hang"), "{codes:?}");
}

/// RFC 6298, section 2.1: the first timeout is 1 s. With an RTT of 18 s the first flight is sent again before it can be
/// acknowledged, and nothing hangs.
#[test]
fn a_path_longer_than_the_initial_timeout_is_no_hang_of_the_sender() {
    let document = json!({
        "schema_version": 1, "duration": "48 s", "sample_interval": "100 ms",
        "dumbbell": { "bottleneck": { "rate": "7 Mbps", "delay": "9.26 s", "queue": { "capacity": "1000 packets" } } },
        "flow": [{
            "algorithm": "cubic", "rtt": "18.52 s",
            "workload": { "kind": "page-loads", "main": "822 B", "object": "100 kB", "parse": "91 ms", "think": "37 ms" },
        }],
    });
    let severe: Vec<_> = run(&document, 8).findings.into_iter().filter(|one| one.code == "hang").collect();
    assert!(severe.is_empty(), "{severe:#?}");
}

#[test]
fn a_flow_whose_handshake_is_lost_delivers_nothing() {
    let mut document = clean();
    document["dumbbell"]["bottleneck"]["loss"] = json!([{ "kind": "bernoulli", "p": 1.0 }]);
    let findings = run(&document, 1).findings;
    assert_eq!(
        findings.iter().map(|row| (row.code, row.flow)).collect::<Vec<_>>(),
        [("nothing-delivered", Some(0)), ("nothing-delivered", Some(1))]
    );
}

/// Each bundled scenario; its findings are facts of its description.
#[test]
fn no_bundled_scenario_has_a_severe_finding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut scenario = Scenario::from_toml(&text, Some(&folder)).unwrap();
        // Ten seconds of each run are enough to exercise every part, and keep the test short.
        for (field, value) in [("duration", "10 s"), ("measure_from", "0 s")] {
            scenario.set(field, value).unwrap();
        }
        let (plan, _) = scenario.plan(&catalogue()).unwrap();
        let records = run_within(&plan, 1, MAX_EVENTS).unwrap().0;
        let severe: Vec<_> = records.findings.iter().filter(|row| row.severity == "severe").collect();
        assert!(severe.is_empty(), "{}: {severe:#?}", path.display());
    }
}
