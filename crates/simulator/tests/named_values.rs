//! The table `named_values`: which rows a scenario asks for, and that it changes nothing else.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{NamedValueRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

fn simulate(named_values: Option<Value>) -> Records {
    let mut document = json!({
        "schema_version": 1, "duration": "2 s",
        "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "10 ms", "queue": { "capacity": "20 packets" } } },
        "flow": [{ "algorithm": "cubic", "rtt": "40 ms" }, { "algorithm": "bbr3", "rtt": "40 ms" }],
    });
    if let Some(named_values) = named_values {
        document["named_values"] = named_values;
    }
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn names(records: &Records) -> Vec<&str> {
    let mut names: Vec<&str> = records.named_values.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn without_the_option_there_are_no_rows_and_with_it_the_run_is_the_same() {
    let without = simulate(None);
    let with = simulate(Some(json!({})));
    assert!(without.named_values.is_empty() && !with.named_values.is_empty());
    assert_eq!(without.samples, with.samples);
    assert_eq!(without.flows, with.flows);
    assert_eq!(without.events, with.events);
}

/// A row is a change: no value repeats the one before it, and rows are in the order of time.
#[test]
fn each_row_is_a_change_of_its_value() {
    let rows = simulate(Some(json!({}))).named_values;
    assert!(rows.is_sorted_by_key(|row| row.time_ns));
    let mut last = std::collections::BTreeMap::new();
    for NamedValueRow { flow, name, value, .. } in rows {
        assert_ne!(last.insert((flow, name), value.to_bits()), Some(value.to_bits()), "{name}");
    }
}

#[test]
fn names_select_values_of_the_algorithm_and_of_the_transport() {
    let records = simulate(Some(json!({ "names": ["w_max_segments", "state", "transport.cwnd_segments"] })));
    assert_eq!(names(&records), ["state", "transport.cwnd_segments", "w_max_segments"]);
    let with = |flow: u32, name: &str| records.named_values.iter().any(|row| row.flow == flow && row.name == name);
    assert!(with(0, "w_max_segments") && !with(1, "w_max_segments") && with(1, "state") && !with(0, "state"));
}

/// By hand: snapshots at least 100 ms apart are at most 20 in 2 s, and each has at most one row of a value.
#[test]
fn the_interval_bounds_the_rows() {
    let records = simulate(Some(json!({ "names": ["transport.una_segments"], "interval": "100 ms" })));
    let times: Vec<u64> = records.named_values.iter().filter(|row| row.flow == 0).map(|row| row.time_ns).collect();
    assert!((15..=20).contains(&times.len()), "{}", times.len());
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 100_000_000));
}

/// With `on_change` alone, rows are taken at changes of that value only: BBR's states.
#[test]
fn a_change_of_a_chosen_value_takes_a_snapshot() {
    let chosen = json!({ "names": ["state", "max_bw_segments_per_s"], "on_change": ["state"] });
    let records = simulate(Some(chosen));
    let of = |name: &str| records.named_values.iter().filter(|row| row.name == name).count();
    assert!(of("state") >= 3 && of("max_bw_segments_per_s") <= of("state"));
}
