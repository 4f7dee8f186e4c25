//! The bundled scenarios give the records that `known-answers/record-hashes.json` holds.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::Scenario;
use serde_json::Value;

/// The hash of a scenario's records; `as_before` stands in the place of the scenario's own hash.
fn hash(name: &str, duration: &str, seed: u64) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut scenario = Scenario::from_toml(&text, path.parent()).expect("a bundled scenario");
    scenario.set("duration", duration).expect("a duration");
    let (plan, _) = scenario.plan(&cwndlab_simulator::catalogue()).expect("a bundled scenario");
    let records = cwndlab_simulator::run(&plan, seed, &AtomicBool::new(false), None).expect("it runs");
    let header = Header { scenario_hash: plan.scenario_hash.clone(), seed, ..Header::default() };
    cwndlab_records::hash::hash(&Tables::new(header, &records))
}

#[test]
fn bundled_scenarios_give_the_known_records() {
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../known-answers/record-hashes.json");
    let known: Value = serde_json::from_str(&std::fs::read_to_string(known).expect("known answers")).expect("JSON");
    let mut differ = Vec::new();
    for (name, entry) in known.as_object().expect("a table") {
        let seed = entry["seed"].as_u64().expect("a seed");
        if hash(name, entry["duration"].as_str().expect("a duration"), seed) != entry["hash"] {
            differ.push(name.as_str());
        }
    }
    assert!(differ.is_empty(), "other records than the known ones: {}", differ.join(", "));
}
