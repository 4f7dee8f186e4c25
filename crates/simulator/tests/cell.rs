//! Flows over a cell of LTE or NR.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{CellUserRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// Users at these SNR with a download each.
fn downloads(cell: &Value, snr: &[f64], workload: &Value) -> Value {
    let mut links = vec![json!({ "from": "server", "to": "enb", "rate": "1 Gbps", "delay": "20 ms" })];
    let mut flows = Vec::new();
    for (user, snr) in snr.iter().enumerate() {
        let name = format!("ue{user}");
        links.push(json!({ "from": "enb", "to": name, "cell": "lte", "snr": snr }));
        flows.push(json!({ "name": name, "from": "server", "to": name }));
        for (key, value) in workload.as_object().unwrap() {
            flows[user][key] = value.clone();
        }
    }
    json!({ "schema_version": 1, "duration": "10 s", "cell": [cell], "link": links, "flow": flows })
}

fn totals(records: &Records, link: &str) -> CellUserRow {
    let index = records.links.iter().find(|row| row.name == link).expect("the link exists").link;
    records.cell_users.iter().rfind(|row| row.link == index).expect("the link has rows").clone()
}

/// By hand, without errors: a datagram that reaches the base station at 20 ms, a multiple of the TTI, is sent in that TTI
/// and delivered 1 ms later. The wire needs 1.6 µs for 200 bytes, so that it is the next TTI.
#[test]
fn a_datagram_waits_for_its_tti() {
    let cell = json!({ "name": "lte", "base_station": "enb", "harq": { "probability": 0.0 } });
    let workload = json!({ "transport": "udp", "workload": { "kind": "cbr", "rate": "1.6 kbps", "packet": "200 B" } });
    let records = simulate(&downloads(&cell, &[20.0], &workload), 1);
    assert_eq!(records.flows[0].min_delay_ns, Some(22_000_000));
    assert_eq!(records.flows[0].max_delay_ns, Some(22_000_000));
}

/// Proportional fairness with full queues: equal shares of the resource blocks, throughputs in proportion to the transport
/// block sizes of CQI 5, 9 and 12 (TS 36.213, table 7.1.7.2.1-1).
#[test]
fn downloads_share_the_resource_blocks_of_a_cell() {
    let cell = json!({ "name": "lte", "base_station": "enb", "harq": { "probability": 0.0 } });
    let workload = json!({ "transport": "udp", "workload": { "kind": "cbr", "rate": "60 Mbps", "packet": "1500 B" } });
    let records = simulate(&downloads(&cell, &[7.5, 14.0, 20.0], &workload), 1);
    for (user, bits) in [14_112.0, 30_576.0, 46_888.0].into_iter().enumerate() {
        let row = totals(&records, &format!("enb-ue{user}"));
        let share = row.resource_blocks as f64 / (100.0 * 9980.0);
        assert!((share - 1.0 / 3.0).abs() < 0.005, "{share} of user {user}");
        let rate = records.links.iter().find(|link| link.name == format!("enb-ue{user}")).unwrap().sent_bytes as f64;
        let expected = bits / 8.0 * 9980.0 / 3.0;
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} {expected}");
    }
}

/// Every packet of a link is dropped, lost, delivered or still in the cell, and a run depends only on its seed.
#[test]
fn counters_of_a_cell_add_up_and_depend_only_on_the_seed() {
    for cell in [
        json!({ "name": "lte", "base_station": "enb" }),
        json!({ "name": "lte", "base_station": "enb", "technology": "nr", "rlc": { "mode": "um" }, "forwarding": false,
            "harq": { "probability": 0.4, "round": "3 ms", "most": 1 } }),
        json!({ "name": "lte", "base_station": "enb", "rrc": { "inactivity": "20 ms" }, "scheduler": "max-rate" }),
    ] {
        let mut document = downloads(&cell, &[3.0, 12.0, 20.0], &json!({ "algorithm": "cubic" }));
        document["link"][2]["fading"] = json!("20 ms");
        document["link"][3]["queue"] = json!({ "kind": "fq-codel" });
        document["link"][3]["schedule"] = json!([{ "at": "3 s", "snr": 10, "handover": "80 ms", "delay": "30 ms" }]);
        document["flow"][1]["from"] = json!("ue1");
        document["flow"][1]["to"] = json!("server");
        let records = simulate(&document, 1);
        assert!(records.findings.iter().all(|row| row.code != "counters"), "{:?}", records.findings);
        assert!(records.flows.iter().all(|flow| flow.delivered_bytes > 0));
        let own = records.links.iter().filter(|link| link.name.contains("enb-ue") || link.name.contains("ue1-enb"));
        for link in own {
            let row = totals(&records, &link.name);
            assert!(row.transport_blocks > 0 && row.failed_blocks < row.transport_blocks, "{row:?}");
            assert!(row.harq_retransmissions >= row.failed_blocks / 2, "{row:?}");
        }
        let again = simulate(&document, 1);
        assert_eq!((&records.cell_users, &records.link_events), (&again.cell_users, &again.link_events));
        assert_ne!(records.cell_users, simulate(&document, 2).cell_users);
        let handovers: Vec<_> = records.link_events.iter().filter(|row| row.kind == "handover").collect();
        assert_eq!(handovers.len(), 2, "both directions of the link");
        assert!(handovers.iter().all(|row| (row.time_ns, row.duration_ns) == (3_000_000_000, 80_000_000)));
    }
}
