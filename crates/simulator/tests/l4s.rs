//! L4S: Prague over Accurate ECN, beside CUBIC through DualPI2, and on paths that change the ECN field.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

/// Kinds of packets in the records.
const DATA: u8 = 0;
const ACK: u8 = 1;
const SYN: u8 = 2;
const SYN_ACK: u8 = 3;

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

/// A run of 5 s over 50 Mbit/s with DualPI2 in both directions, in which these packets of the two directions are lost, with
/// all packets recorded.
fn with_losses(flow: Value, forward: &[u32], reverse: &[u32]) -> Records {
    let link = |indices: &[u32]| json!({ "rate": "50 Mbps", "queue": { "kind": "dualpi2" }, "loss": [{ "kind": "list", "indices": indices }] });
    let document = json!({
        "schema_version": 1, "duration": "5 s", "packets": true, "flow": [flow],
        "dumbbell": { "bottleneck": link(forward), "reverse": link(reverse) },
    });
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// ECE and CWR of the packets of a kind, and their ECN field, where they enter the bottleneck of their direction.
fn handshake(records: &Records, kind: u8) -> Vec<(bool, bool, u8)> {
    let link = u32::from(kind == SYN_ACK);
    let rows = records.packets.iter().filter(|row| row.kind == kind && row.link == link);
    rows.map(|row| (row.ece, row.cwr, row.ecn)).collect()
}

/// The ECN fields of data segments and of ACKs.
fn fields(records: &Records, kind: u8) -> BTreeSet<u8> {
    records.packets.iter().filter(|row| row.kind == kind).map(|row| row.ecn).collect()
}

/// RFC 9768, section 3.1.4.1: the first SYN and its first retransmission request Accurate ECN, with ECT(1); later ones do
/// not, without ECT. Section 3.1.2: after a SYN-ACK to such a SYN no packet is ECN-capable (section 3.1.5).
#[test]
fn a_syn_retransmitted_twice_ends_without_ecn() {
    let prague = json!({ "algorithm": "prague", "rtt": "20 ms" });
    let once = with_losses(prague.clone(), &[0], &[]);
    assert_eq!(handshake(&once, SYN), [(true, true, 1); 2]);
    assert_eq!(fields(&once, DATA), BTreeSet::from([1, 3]));
    let twice = with_losses(prague, &[0, 1], &[]);
    assert_eq!(handshake(&twice, SYN), [(true, true, 1), (true, true, 1), (false, false, 0)]);
    assert_eq!(handshake(&twice, SYN_ACK), [(false, false, 0)]);
    assert_eq!([DATA, ACK].map(|kind| fields(&twice, kind)), [BTreeSet::from([0]), BTreeSet::from([0])]);
    assert!(twice.events.iter().any(|event| event.kind == "fallback"));
    assert!(twice.flows[0].delivered_bytes > 1_000_000);
}

/// RFC 9768, section 3.1.5: the server stays in the mode of the first SYN, answers the first SYN without a request with
/// Accurate ECN all the same, and sends no ECT itself. The client enters the mode of the first SYN-ACK that arrives.
/// Section 3.2.3.2.2: a later SYN-ACK is 12 bytes shorter, without the option. Flags by table 2: the field of the latest SYN.
#[test]
fn the_first_syn_ack_to_arrive_decides() {
    let prague = json!({ "algorithm": "prague", "rtt": "20 ms" });
    let second = with_losses(prague, &[], &[0, 1]);
    // ECT(1) arrived: 011; then Not-ECT of the SYN without a request: 010.
    assert_eq!(handshake(&second, SYN_ACK), [(true, true, 0), (true, true, 0), (false, true, 0)]);
    let sizes = |kind, link| -> Vec<u32> {
        let rows = second.packets.iter().filter(|row| row.kind == kind && row.link == link);
        rows.map(|row| row.size_bytes).collect()
    };
    assert_eq!((sizes(SYN, 0), sizes(SYN_ACK, 1)), (vec![52; 3], vec![64, 52, 52]));
    assert_eq!(fields(&second, DATA), BTreeSet::from([1, 3]));
    assert_eq!(fields(&second, ACK), BTreeSet::from([0]));
    // The SYNs are sent at 0, 0.2, 0.6 and 1.4 s.
    let quick = json!({ "algorithm": "prague", "rtt": "20 ms", "stack": { "initial_rto": "200 ms" } });
    let third = with_losses(quick, &[], &[0, 1, 2]);
    assert_eq!(handshake(&third, SYN_ACK).last(), Some(&(false, false, 0)));
    assert_eq!(fields(&third, DATA), BTreeSet::from([0]));
}

/// Linux, `tcp_ecn_send`: ACKs of Accurate ECN carry the codepoint of data. RFC 3168, section 6.1.4: others are Not-ECT.
#[test]
fn acks_are_ecn_capable_with_accurate_ecn() {
    let acks = |algorithm: &str, profile: &str, stack: Value| {
        let flow = json!({ "algorithm": algorithm, "rtt": "20 ms", "profile": profile, "stack": stack });
        fields(&with_losses(flow, &[], &[]), ACK)
    };
    assert_eq!(acks("prague", "linux", json!({})), BTreeSet::from([1]));
    assert_eq!(acks("cubic", "linux", json!({ "ecn": "accecn" })), BTreeSet::from([2]));
    assert_eq!(acks("prague", "linux", json!({ "ecn_acks": false })), BTreeSet::from([0]));
    assert_eq!(acks("prague", "rfc", json!({})), BTreeSet::from([0]));
    assert_eq!(acks("cubic", "linux", json!({ "ecn": "classic" })), BTreeSet::from([0]));
}
