//! L4S: Prague over Accurate ECN, beside CUBIC through DualPI2, and on paths that change the ECN field.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

/// A path of 50 Mbit/s through DualPI2, whose wire changes the ECN field by `change`.
fn simulate(flows: Value, change: Option<&str>) -> Records {
    let mut link = json!({ "rate": "50 Mbps", "queue": { "kind": "dualpi2" } });
    if let Some(change) = change {
        link["ecn"] = json!(change);
    }
    let document =
        json!({ "schema_version": 1, "duration": "30 s", "dumbbell": { "bottleneck": link }, "flow": flows });
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn rate_mbps(records: &Records, flow: usize) -> f64 {
    records.flows[flow].delivered_bytes as f64 * 8e-6 / 30.0
}

/// Mean RTT above the base RTT, ms.
fn delay_ms(records: &Records, flow: usize) -> f64 {
    let row = &records.flows[flow];
    (row.mean_rtt_ns.expect("samples") - row.base_rtt_ns) as f64 * 1e-6
}

/// Coexistence at equal base RTTs R, ms: RFC 9332, appendix C, with W = 2.73 / p for Prague and 1.22 / √p for CUBIC
/// (docs/algorithms/prague.md), gives 1.12 (R + 15) / max(R, 25), that is 0.9, 1.1, 1.6, 1.5, 1.3 at 5, 10, 20, 40, 80 ms.
/// Prague waits a fraction of CUBIC's delay. tests/test_coexistence.py has the published ratios.
#[test]
fn prague_shares_dualpi2_with_cubic_at_a_lower_delay() {
    for ms in [5.0, 10.0, 20.0, 40.0, 80.0f64] {
        let rtt = format!("{ms} ms");
        let flows = json!([{ "algorithm": "prague", "rtt": rtt }, { "algorithm": "cubic", "rtt": rtt }]);
        let records = simulate(flows, None);
        let [prague, cubic] = [0, 1].map(|flow| rate_mbps(&records, flow));
        let [low, classic] = [0, 1].map(|flow| delay_ms(&records, flow));
        let expected = 1.12 * (ms + 15.0) / ms.max(25.0);
        assert!((1.0 / 1.65..1.65).contains(&(prague / cubic / expected)), "{rtt}: {prague} {cubic}, {expected}");
        assert!(prague + cubic > 40.0, "{rtt}: {prague} {cubic}");
        assert!(low < 4.0 && classic > 2.0 * low, "{rtt}: {low} {classic}");
    }
}

/// RFC 9331, section 4.3: as independent of the RTT as possible between the smallest RTT and the target of 25 ms.
#[test]
fn prague_flows_of_short_rtts_get_equal_rates() {
    let flows = json!([{ "algorithm": "prague", "rtt": "5 ms" }, { "algorithm": "prague", "rtt": "20 ms" }]);
    let records = simulate(flows, None);
    let ratio = rate_mbps(&records, 0) / rate_mbps(&records, 1);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// RFC 9768, section 3.2.2.3: the SYN-ACK tells that ECT(1) of the SYN became Not-ECT, and the sender stops using ECN. CE
/// in place of ECT(1) is a valid change.
#[test]
fn a_bleached_syn_disables_ecn() {
    for (change, falls_back) in [("bleach", true), ("ect0", false), ("unmark", false)] {
        let records = simulate(json!([{ "algorithm": "prague", "rtt": "20 ms" }]), Some(change));
        let fallback = records.events.iter().any(|event| event.kind == "fallback");
        assert_eq!(fallback, falls_back, "{change}");
        assert_eq!(records.links[0].marked_packets == 0, falls_back, "{change}");
    }
}

/// RFC 9768, section 3.1.5, RFC 9331, section 4.3: with a peer that supports classic ECN or none, Prague answers echoes and
/// losses as Reno does, and still uses the path.
#[test]
fn prague_runs_with_any_peer() {
    for peer in ["accurate", "classic", "off"] {
        for option in [true, false] {
            let stack = json!({ "peer_ecn": peer, "accecn_option": option });
            let records = simulate(json!([{ "algorithm": "prague", "rtt": "20 ms", "stack": stack }]), None);
            assert!(rate_mbps(&records, 0) > 30.0, "{peer}: {}", rate_mbps(&records, 0));
        }
    }
}

/// RFC 9768, section 3.2.2.5: with and without the option, and with delayed ACKs, DCTCP receives as many marks as with exact
/// counts.
#[test]
fn dctcp_works_alike_with_the_ace_field_and_exact_counts() {
    let rate = |ecn: &str| {
        let flows = json!([{ "algorithm": "dctcp", "rtt": "20 ms", "stack": { "ecn": ecn } }]);
        rate_mbps(&simulate(flows, None), 0)
    };
    let [exact, wire] = [rate("accurate"), rate("accecn")];
    assert!(exact > 40.0 && wire > 40.0);
}
