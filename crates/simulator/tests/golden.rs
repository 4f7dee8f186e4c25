//! Record hashes of complete runs, compared with `known-answers/record-hashes.json`, which the Python tests use too.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use cwndlab_records::hash::hash;
use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::Value;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The record hash of a bundled scenario that measures from its start.
fn record_hash(name: &str, duration: &str, seed: u64) -> String {
    let folder = repository().join("scenarios");
    let text = fs::read_to_string(folder.join(format!("{name}.toml"))).expect("the scenario exists");
    let mut scenario = Scenario::from_toml(&text, Some(&folder)).expect("the scenario is valid");
    scenario.set("duration", duration).expect("a scenario has a duration");
    let (plan, notes) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let records = run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled");
    let header = Header {
        scenario_hash: plan.scenario_hash.clone(),
        seed,
        engine: "simulate".to_owned(),
        duration: plan.duration,
        sample_interval: plan.sample_interval,
        notes,
        ..Header::default()
    };
    hash(&Tables::new(header, records))
}

#[test]
fn record_hashes_are_those_of_the_known_answers() {
    let file = repository().join("known-answers/record-hashes.json");
    let text = fs::read_to_string(file).expect("the known answers exist");
    let known: BTreeMap<String, Value> =
        serde_json::from_str(&text).expect("the known answers are a table by scenario");
    assert!(known.len() > 10);
    for (name, entry) in known {
        let duration = entry["duration"].as_str().unwrap();
        let seed = entry["seed"].as_u64().unwrap();
        assert_eq!(record_hash(&name, duration, seed), entry["hash"].as_str().unwrap(), "{name}");
    }
}
