//! Drop-tail: first in, first out; arrivals to a full queue are dropped.
//!
//! Departures are known on arrival, so that the link computes them ([`crate::queue`]) without events.

use cwndlab_config::{Faults, Field, Reader, Table};

use super::{capacity, ComputedDropTail, Configuration};

/// The declaration of drop-tail.
pub static SPEC: Table = Table::new(
    "droptail",
    "First in, first out; arrivals to a full queue are dropped.",
    &[&[capacity::field("1 bdp"), COUNTS_IN_SERVICE]],
)
.class("DropTail");

/// The field that selects whether the packet under transmission counts towards the capacity.
pub(super) const COUNTS_IN_SERVICE: Field =
    Field::flag("counts_in_service", false, "the packet under transmission counts towards the capacity");

/// Drop-tail's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Config {
    /// The packet under transmission counts towards the capacity.
    pub counts_in_service: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Some(Self { counts_in_service: table.flag("counts_in_service", faults)? })
    }

    fn computed(&self) -> Option<ComputedDropTail> {
        Some(ComputedDropTail { counts_in_service: self.counts_in_service, mark_above: None })
    }
}
