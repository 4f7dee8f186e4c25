//! Admission control and the times for which flows hold what they reserve.

use std::sync::atomic::AtomicBool;

use cwndlab_network::wifi::AccessCategory;
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

/// Calls of 80 kbit/s in packets of 200 B, upload, each with 106 µs on the air; and a bulk flow, on a cell of 802.11g.
fn cell(edca: &Value, calls: &Value) -> Value {
    let mut call = json!({ "name": "call", "transport": "udp", "rtt": "20 ms", "dscp": "EF", "direction": "upload",
        "start_jitter": "0 s", "workload": { "kind": "cbr", "rate": "80 kbps", "packet": "200 B" } });
    call.as_object_mut().expect("a table").extend(calls.as_object().expect("a table").clone());
    let bulk = json!({ "name": "bulk", "algorithm": "cubic", "rtt": "20 ms", "direction": "upload" });
    json!({ "schema_version": 1, "duration": "4 s", "flow": [call, bulk],
        "wlan": { "standard": "802.11g", "edca": edca, "wire": { "rate": "100 Mbps" } } })
}

/// hostapd, `wmm_process_tspec`, and IEEE 802.11-2016, clause 18, by hand: a frame of 238 B at 54 Mbit/s takes 20 + 9 · 4 + 6 =
/// 62 µs, SIFS 10, an ACK at 24 Mbit/s 20 + 2 · 4 + 6 = 34; 50 packets a second of 106 µs with a surplus of 1.1 are 5.83 ms of
/// each second. Of 12 ms two calls have room, the third one when one of them has stopped. mac80211: a call without time uses
/// video, the next category without ACM, or best effort if video has it too.
#[test]
fn calls_are_admitted_while_their_medium_time_fits() {
    let reserve =
        json!({ "reserve": "80 kbps", "msdu": "200 B", "count": 4, "start_step": "500 ms", "hold": "1300 ms" });
    let voice = json!({ "dscp_mapping": "rfc8325", "voice": { "acm": true }, "medium_time": "12 ms" });
    let downgraded = |document: &Value| {
        let downgraded = Lifetimes::new(&plan(document), 1).downgraded;
        downgraded.iter().map(|one| (one.flow.index(), one.category)).collect::<Vec<_>>()
    };
    assert_eq!(downgraded(&cell(&voice, &reserve)), [(2, AccessCategory::Video)]);
    let mut both = voice.clone();
    both["video"] = json!({ "acm": true });
    assert_eq!(downgraded(&cell(&both, &reserve)), [(2, AccessCategory::BestEffort)]);
    for (time, refused) in [("5.829 ms", 4), ("5.84 ms", 2), ("17.6 ms", 0)] {
        let mut edca = voice.clone();
        edca["medium_time"] = json!(time);
        assert_eq!(downgraded(&cell(&edca, &reserve)).len(), refused, "{time}");
    }
    let records = simulate(&cell(&voice, &reserve));
    let found: Vec<_> = records.findings.iter().filter(|row| row.code == "downgraded").collect();
    assert_eq!((found.len(), found[0].flow, found[0].time_ns), (1, Some(2), Some(1_000_000_000)));
    assert_eq!(found[0].text, "wlan has no medium time for call-3, which uses the category video");
}

/// A call that asks for no time where all other categories want it uses background: its packets leave as those of a call
/// with CS1 do where none wants it.
#[test]
fn a_call_without_medium_time_is_sent_in_a_lower_category() {
    let all = json!({ "dscp_mapping": "rfc8325", "voice": { "acm": true }, "video": { "acm": true },
        "best_effort": { "acm": true }, "medium_time": "1 s" });
    let mut asked = cell(&all, &json!({ "count": 2 }));
    asked["flow"][1]["reserve"] = json!("1 Mbps");
    let free = cell(&json!("rfc8325"), &json!({ "count": 2, "dscp": "CS1" }));
    let [asked, free] = [asked, free].map(|one| simulate(&one));
    let delays = |records: &Records| -> Vec<_> { records.flows.iter().map(|row| row.mean_delay_ns).collect() };
    assert_eq!(delays(&asked), delays(&free));
    let voice = simulate(&cell(&json!("rfc8325"), &json!({ "count": 2 })));
    assert!(delays(&voice)[0] < delays(&asked)[0], "{:?} {:?}", delays(&voice), delays(&asked));
    assert_eq!(asked.findings.iter().filter(|row| row.code == "downgraded").count(), 2);
}

#[test]
fn a_packet_size_needs_a_reservation_and_a_reservation_a_controlled_category() {
    let place = |document: &Value| {
        let scenario = Scenario::from_json(&document.to_string(), None).expect("the fields are valid");
        scenario.plan(&catalogue()).expect_err("a fault")[0].place.clone()
    };
    let voice = json!({ "dscp_mapping": "rfc8325", "voice": { "acm": true } });
    assert_eq!(place(&cell(&voice, &json!({ "msdu": "200 B" }))), "flow[0].msdu");
    assert_eq!(place(&cell(&voice, &json!({ "reserve": "80 kbps", "dscp": "AF41" }))), "flow[0].reserve");
}
