//! Random extreme scenarios, and the invariants of all runs.
//!
//! A case depends only on its seed. Its duration is that of about [`PACKETS`] packets on its fastest line, which bounds
//! the cost. Its run fails after [`EVENTS`] events.

mod generator;
mod invariants;
mod variation;

use std::panic::AssertUnwindSafe;

use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run_within};

/// Approximate number of packets on the lines of a case.
pub(crate) const PACKETS: f64 = 30_000.0;
/// Maximum number of events of a run.
pub(crate) const EVENTS: u64 = 20_000_000;

/// The outcome of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// All invariants hold.
    Passed,
    /// The scenario is invalid; the reason.
    Rejected(String),
    /// An invariant was violated; the scenario as TOML, and the violation.
    Violated(String, String),
}

/// The scenario of this seed, as JSON. Every fourth one is perturbed.
pub(crate) fn document(seed: u64) -> String {
    let mut document = generator::scenario(seed);
    variation::vary(&mut document, seed);
    if seed % 4 == 3 {
        document["perturb"] = true.into();
    }
    document.to_string()
}

/// Generates the case of this seed, runs it and checks its records.
pub(crate) fn check(seed: u64) -> Verdict {
    let document = document(seed);
    let join = |faults: Vec<cwndlab_units::Fault>| {
        Verdict::Rejected(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    let scenario = match Scenario::from_json(&document, None) {
        Ok(scenario) => scenario,
        Err(faults) => return join(faults),
    };
    let plan = match scenario.plan(&catalogue()) {
        Ok((plan, _)) => plan,
        Err(faults) => return join(faults),
    };
    let violated = |what: String| Verdict::Violated(scenario.to_toml(), what);
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| run_within(&plan, seed, EVENTS)));
    match attempt {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            violated(format!("the engine panicked: {}", text.unwrap_or("without a message")))
        }
        Ok(Err(_)) => violated(format!("the run exceeds {EVENTS} events")),
        Ok(Ok((records, _))) => match invariants::check(&plan.perturbed(seed), &records) {
            Ok(()) => Verdict::Passed,
            Err(what) => violated(what),
        },
    }
}
