//! Drop-tail with a marking threshold, as DCTCP's switches have it.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257, section 3.1.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};

use super::drop_tail::COUNTS_IN_SERVICE;
use super::{size, Computed, Configuration};

/// The entry among the disciplines.
pub static SPEC: Table = Table::new(
    "step-ecn",
    "Drop-tail that marks ECN-capable packets which find more than `mark_above` packets waiting (DCTCP, RFC 8257).",
    &[&[
        size::field("1 bdp"),
        Field::new("mark_above", Kind::Whole(0, 100_000_000), "packets that may wait without a mark")
            .required("'mark_above = 20': step-ecn marks above this many packets"),
        COUNTS_IN_SERVICE,
    ]],
)
.class("StepEcn");

/// The configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Packets that may wait without a mark.
    pub mark_above: u32,
    /// The packet under transmission counts towards the capacity.
    pub counts_in_service: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (mark_above, counts) = (table.whole("mark_above", faults), table.flag("counts_in_service", faults));
        Some(Self { mark_above: mark_above? as u32, counts_in_service: counts? })
    }

    fn computed(&self) -> Option<Computed> {
        Some(Computed { counts_in_service: self.counts_in_service, mark_above: Some(self.mark_above) })
    }
}
