//! FQ-PIE: fair queueing with PIE in each queue.
//!
//! The module `fair` implements the scheduler, [`super::pie`] the AQM.

use cwndlab_config::{Faults, Reader, Table};

use super::fair::{self, QueueAqm, FIELDS, QUEUES};
use super::{capacity, pie, Configuration, Discipline, Packet, QueueContext};

/// FQ-PIE's declaration.
pub static SPEC: Table = Table::new(
    "fq-pie",
    "Fair queueing with PIE in each queue, in place of RFC 8290's CoDel.",
    &[&[capacity::field("10240 packets"), QUEUES], FIELDS, pie::FIELDS],
)
.class("FqPie");

/// FQ-PIE's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(fair::Config);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let queues = table.integer("queues", faults);
        let aqm = pie::Config::read(table, faults).map(QueueAqm::Pie);
        fair::Config::read(table, Some(queues?), aqm?, faults).map(Self)
    }

    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(context))
    }
}
