//! FQ-PIE: fair queueing with PIE in each queue.
//!
//! The laws are those of the module `fair` and [`super::pie`].

use cwndlab_config::{Faults, Reader, Table};

use super::fair::{self, Manager, FIELDS, QUEUES};
use super::{pie, size, Configuration, Discipline, Packet, Place};

/// FQ-PIE's entry among the disciplines.
pub static SPEC: Table = Table::new(
    "fq-pie",
    "Fair queueing with PIE in each queue, in place of RFC 8290's CoDel.",
    &[&[size::field("10240 packets"), QUEUES], FIELDS, pie::FIELDS],
)
.class("FqPie");

/// FQ-PIE's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(fair::Config);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let queues = table.whole("queues", faults);
        let manager = pie::Config::read(table, faults).map(Manager::Pie);
        fair::Config::read(table, Some(queues?), manager?, faults).map(Self)
    }

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(place))
    }
}
