//! The schema of scenarios: the declared fields, and the typed scenario.

use cwndlab_config::{Faults, Reader};
use cwndlab_units::{Duration, Fault};
use serde_json::Value;

use crate::class;
use crate::plan::NamedValuesPlan;

mod canonical;
mod flow;
mod line;
mod link;
mod medium;
mod radio_fields;
pub mod tables;
mod topology;
mod typed;

pub use canonical::CANONICAL_VERSION;
use flow::{read_flow, read_jitter, WIRED, WIRELESS};
use medium::read_media;
use tables::{SCHEMA_VERSION, TOP};
use topology::read_topology;
pub use typed::{Access, Flow, Jitter, Link, Medium, NamedLink, Queue, Radio, Schema, Timing, Topology, Wlan};

/// JSON Schema of scenario files (draft 2020-12).
#[must_use]
pub fn json_schema() -> Value {
    cwndlab_config::schema::document("cwndlab scenario", &TOP)
}

/// All declared tables, for the documentation and for other languages.
#[must_use]
pub fn declarations() -> Value {
    cwndlab_config::describe::all(&TOP)
}

/// Reads a document.
///
/// # Errors
/// All faults of the document.
pub fn read(document: &Value) -> Result<Schema, Vec<Fault>> {
    let mut faults = Faults::default();
    let schema = read_top(document, &mut faults);
    match schema {
        Some(schema) if faults.0.is_empty() => Ok(schema),
        _ => Err(faults.0),
    }
}

fn read_named_values(table: &Reader<'_>, faults: &mut Faults) -> Option<NamedValuesPlan> {
    let mut plan = NamedValuesPlan::read(&table.table("named_values", faults)?, faults)?;
    plan.interval = plan.interval.or(plan.on_change.is_empty().then_some(Duration::ZERO));
    Some(plan)
}

fn read_top(document: &Value, faults: &mut Faults) -> Option<Schema> {
    let table = Reader::new(document, "", &TOP, faults)?;
    match table.get("schema_version") {
        None => faults.add("schema_version", "is missing", format!("write 'schema_version = {SCHEMA_VERSION}'")),
        Some(version) if version.as_u64() == Some(SCHEMA_VERSION) => {}
        Some(other) => faults.add(
            "schema_version",
            format!("version {other} is not supported; this program reads version {SCHEMA_VERSION}"),
            "use the release that wrote the scenario",
        ),
    }
    let duration = table.duration("duration", faults);
    let media = read_media(&table, faults);
    let topology = read_topology(&table, &media, faults);
    let directions = if table.gives("wlan") { WIRELESS } else { WIRED };
    let flows: Vec<Option<Flow>> = table
        .tables("flow", faults)
        .into_iter()
        .map(|(path, item)| read_flow(item, path, directions, faults))
        .collect();
    if flows.is_empty() && table.gives("flow") {
        faults.add("flow", "is empty", "write a '[[flow]]' with an algorithm");
    }
    let perturb = table.flag("perturb", faults).unwrap_or(false);
    // A scenario that states starts leaves nothing to vary there, also where it states that there is no delay.
    let unstated = if perturb { Jitter::Rtt } else { Jitter::Fixed(Duration::ZERO) };
    let jitter = if table.gives("start_jitter") { read_jitter(&table, faults) } else { Some(unstated) };
    let schema = Schema {
        title: table.string("title", faults).unwrap_or_default(),
        classes: class::read(table.get("algorithms"), faults),
        duration: duration.unwrap_or_default(),
        sample_interval: table.duration("sample_interval", faults).unwrap_or_default(),
        packets: table.flag("packets", faults).unwrap_or(false),
        named_values: read_named_values(&table, faults),
        measure_from: table.duration("measure_from", faults).unwrap_or_default(),
        jitter: jitter.unwrap_or(Jitter::Fixed(Duration::ZERO)),
        perturb,
        topology: topology?,
        media: media.into_iter().filter_map(|(_, medium)| medium).collect(),
        flows: flows.into_iter().collect::<Option<_>>()?,
    };
    if schema.measure_from >= schema.duration && duration.is_some() {
        faults.add("measure_from", "is not before the end of the run", "a time below 'duration'");
    }
    Some(schema)
}
