//! Segment numbers above 2³², of which packets carry the low half, and windows above 4 GiB.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use proptest::prelude::*;
use serde_json::{json, Value};

/// A run whose connections start with the segment number `first`.
fn simulate(document: &Value, seed: u64, first: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (mut plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    for flow in &mut plan.flows {
        Arc::make_mut(&mut Arc::make_mut(&mut flow.kind).stack).first_segment = first;
    }
    run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// All tables as text.
fn tables(records: &Records) -> String {
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        records.flows, records.samples, records.events, records.transfers, records.links
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Results do not depend on the number of the first segment, even if the number in packets wraps: in 10 s about
    /// 8,000 segments are sent, and the number wraps after `before` segments.
    #[test]
    fn results_do_not_depend_on_the_first_segment_number(
        recovery in prop::sample::select(vec!["rack", "sack", "fack", "newreno", "reno", "tahoe"]),
        profile in prop::sample::select(vec!["linux", "rfc", "ns2"]),
        growth in prop::sample::select(vec!["cubic", "reno", "bbr1", "vegas"]),
        workload in prop::sample::select(vec![
            json!({ "kind": "bulk" }),
            json!({ "kind": "transfers", "bytes": "150 kB", "gap": "30 ms" }),
            json!({ "kind": "on-off", "on": "500 ms", "off": "900 ms" }),
            json!({ "kind": "request-response", "request": "3 kB", "response": "80 kB" }),
        ]),
        loss in 0.001f64..0.03,
        reorder in prop::bool::ANY,
        queue in 5u32..100,
        before in 1u64..4000,
        seed in 1u64..1000,
    ) {
        let document = json!({
            "schema_version": 1, "duration": "10 s",
            "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "10 ms", "loss": { "kind": "bernoulli", "p": loss }, "jitter": { "spread": "3 ms", "reorder": reorder },
                "queue": { "capacity": format!("{queue} packets") } } },
            "flow": [{ "algorithm": format!("{growth}/{recovery}"), "rtt": "40 ms", "profile": profile, "workload": workload }],
        });
        let plain = tables(&simulate(&document, seed, 0));
        prop_assert_eq!(plain, tables(&simulate(&document, seed, (1 << 32) - before)));
    }
}

/// The BDP of 100 Gbit/s and 1 s is 12.5 GB, three times 4 GiB: with a receive window of 100 GB the line is fully used.
#[test]
fn a_window_of_more_than_four_gibibytes_fills_its_path() {
    let records = simulate(
        &json!({
            "schema_version": 1, "duration": "12 s",
            "dumbbell": { "bottleneck": { "rate": "100 Gbps", "delay": "10 ms", "queue": { "capacity": "1 bdp" } } },
            "flow": [{ "algorithm": "reno", "rtt": "1 s", "stack": { "mss": "64000 B", "initial_window": 20_000,
                "initial_ssthresh": 250_000, "receive_window": "100 GB", "auto_tuning": false } }],
        }),
        1,
        0,
    );
    let delivered = |second: u64| {
        let row = records.samples.iter().find(|row| row.time_ns == second * 1_000_000_000).expect("a sample");
        row.delivered_bytes as f64
    };
    let share = (delivered(11) - delivered(10)) / 12.5e9 * 64_052.0 / 64_000.0;
    assert!((share - 1.0).abs() < 1e-3, "{share}");
    let window = records.samples.iter().filter_map(|row| row.cwnd_bytes).max();
    assert!(window > Some(12_500_000_000), "{window:?}");
}
