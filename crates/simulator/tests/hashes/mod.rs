//! Plans from TOML, and the hashes of their records.

use cwndlab_records::hash::hash;
use cwndlab_records::rows::Records;
use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::catalogue;

/// The plan of a scenario without faults.
pub(crate) fn plan(text: &str) -> Plan {
    let scenario = Scenario::from_toml(text, None).unwrap_or_else(|faults| panic!("{}: {text}", faults[0]));
    scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}: {text}", faults[0])).0
}

/// The hash of the records of a run.
pub(crate) fn record_hash(plan: &Plan, records: &Records) -> String {
    let header = Header { duration: plan.duration, sample_interval: plan.sample_interval, ..Header::default() };
    hash(&Tables::new(header, records.clone()))
}
