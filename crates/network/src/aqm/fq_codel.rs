//! FQ-CoDel: fair queueing with CoDel in each queue.
//!
//! The laws are those of the module `fair` and [`super::codel`].

use cwndlab_config::{Faults, Field, Reader, Table};

use super::fair::{self, Manager, FIELDS, QUEUES};
use super::{codel, size, Configuration, Discipline, Packet, Place};

/// FQ-CoDel's entry among the disciplines.
pub static SPEC: Table = Table::new(
    "fq-codel",
    "Fair queueing with CoDel in each queue (RFC 8290).",
    &[
        &[size::field("10240 packets"), QUEUES],
        FIELDS,
        &[
            Field::duration("target", "5 ms", "sojourn time below which nothing is dropped").above_zero(),
            Field::duration("interval", "100 ms", "sliding window, of the order of the largest usual RTT").above_zero(),
            Field::flag("ecn", true, "marks ECN-capable packets and drops only the others"),
        ],
    ],
)
.class("FqCodel");

/// FQ-CoDel's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(fair::Config);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let queues = table.whole("queues", faults);
        let manager = codel::Config::read(table, faults).map(Manager::Codel);
        fair::Config::read(table, Some(queues?), manager?, faults).map(Self)
    }

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(place))
    }
}
