//! The schema of scenarios: the declared fields, and the typed scenario.

use cwndlab_config::{Faults, Reader, Table, TableType};
use cwndlab_units::{Duration, Fault};
use serde_json::Value;

use crate::plan::NamedValuesPlan;

mod canonical;
mod cell;
mod field_types;
mod flow;
mod line;
mod link;
mod medium;
mod networks;
mod plan_tables;
mod radio_fields;
mod reconfiguration;
pub(crate) mod table;
mod topology;
pub mod typed;

pub use canonical::CANONICAL_VERSION;
pub use cell::{Cell, LinkCell};
pub use field_types::{
    Agents, Direction, FlowWorkload, Jitter, Losses, Overrides, Profile, Queue, RateOrNone, StartStep, Version,
    SCHEMA_VERSION,
};
pub use flow::{Flow, Flows, GivenStack, Protocol};
pub use line::Line;
pub use link::{Link, ReverseLink};
pub use medium::{LinkRadio, Medium, Radio, Stations};
pub use networks::{Access, Dumbbell, NamedLink, Node, ParkingLot, Wlan};
use plan_tables::NAMED_VALUES;
pub use radio_fields::{Propagation, Received};
pub use topology::{Graph, Network, Place, Topology};
pub use typed::Schema;
use typed::TOP;

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
    let schema = Reader::new(document, "", &TOP, &mut faults).and_then(|table| read_top(&table, &mut faults));
    match schema {
        Some(schema) if faults.0.is_empty() => Ok(schema),
        _ => Err(faults.0),
    }
}

impl TableType for NamedValuesPlan {
    const TABLE: &'static Table = &NAMED_VALUES;

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let mut plan = Self::read(table, faults)?;
        plan.interval = plan.interval.or(plan.on_change.is_empty().then_some(Duration::ZERO));
        Some(plan)
    }
}

fn read_top(table: &Reader<'_>, faults: &mut Faults) -> Option<Schema> {
    let mut schema = table.read_valid(Schema::read, faults)?;
    // A scenario that states starts leaves nothing to vary there, also where it states that there is no delay.
    if schema.perturb && !table.gives("start_jitter") {
        schema.start_jitter = Jitter::Rtt;
    }
    if schema.measure_from >= schema.duration {
        faults.add("measure_from", "is not before the end of the run", "a time below 'duration'");
    }
    Some(schema)
}
