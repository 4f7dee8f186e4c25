//! Bundled scenarios and a fixed set of random extreme ones, with overflow checks: Cargo's profile `test` inherits
//! these from `dev`. `make fuzz` runs more random scenarios.

mod fuzzing;

use std::path::Path;

use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run_within};
use fuzzing::{check, Verdict, EVENTS};

/// Seeds of the fixed set. Seeds 41, 50 and 65 found Wi-Fi stations that counted packets as sent during their
/// transmission.
const SEEDS: std::ops::Range<u64> = 30..90;

#[test]
fn arithmetic_is_checked() {
    let max = std::hint::black_box(u64::MAX);
    assert!(std::panic::catch_unwind(|| max + 1).is_err(), "this profile does not check for overflow");
}

#[test]
fn random_extreme_scenarios_satisfy_the_invariants() {
    let mut rejected = Vec::new();
    for seed in SEEDS {
        match check(seed) {
            Verdict::Passed => {}
            Verdict::Rejected(why) => rejected.push(format!("{seed}: {why}")),
            Verdict::Violated(scenario, what) => panic!("seed {seed}: {what}\n{scenario}"),
        }
    }
    assert!(rejected.len() < 12, "too many invalid scenarios: {rejected:#?}");
}

#[test]
fn every_bundled_scenario_runs_with_checked_arithmetic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut n = 0;
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut scenario = Scenario::from_toml(&text, Some(&folder)).unwrap();
        // One second of each is enough to exercise every part, even if some flows start later.
        for (field, value) in [("duration", "1 s"), ("measure_from", "0 s")] {
            scenario.set(field, value).unwrap();
        }
        for perturb in ["false", "true"] {
            scenario.set("perturb", perturb).unwrap();
            let (plan, _) = scenario.plan(&catalogue()).unwrap();
            run_within(&plan, 1, EVENTS).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        n += 1;
    }
    assert!(n >= 10);
}
