//! Drop-tail with a marking threshold, as in the switches of DCTCP.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257, section 3.1.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};

use super::drop_tail::COUNTS_IN_SERVICE;
use super::{capacity, ComputedDropTail, Configuration};

/// The declaration of the discipline.
pub static SPEC: Table = Table::new(
    "step-ecn",
    "Drop-tail that marks an arriving ECN-capable packet if more than `mark_above` packets wait (DCTCP, RFC 8257).",
    &[&[
        capacity::field("1 bdp"),
        Field::new(
            "mark_above",
            Kind::Integer(0, 100_000_000),
            "largest number of waiting packets at which an arrival is not marked",
        )
        .required("'mark_above = 20': step-ecn marks above this many packets"),
        COUNTS_IN_SERVICE,
    ]],
)
.class("StepEcn");

/// The configuration of the discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest number of waiting packets at which an arrival is not marked.
    pub mark_above: u32,
    /// The packet under transmission counts towards the capacity.
    pub counts_in_service: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (mark_above, counts) = (table.integer("mark_above", faults), table.flag("counts_in_service", faults));
        Some(Self { mark_above: mark_above? as u32, counts_in_service: counts? })
    }

    fn computed(&self) -> Option<ComputedDropTail> {
        Some(ComputedDropTail { counts_in_service: self.counts_in_service, mark_above: Some(self.mark_above) })
    }
}
