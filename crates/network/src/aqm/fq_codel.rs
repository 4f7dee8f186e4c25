//! FQ-CoDel: fair queueing with CoDel in each queue.
//!
//! The module `fair` implements the scheduler, [`super::codel`] the AQM.

use cwndlab_config::{Faults, Field, Reader, Table};

use super::fair::{self, QueueAqm, FIELDS, QUEUES};
use super::{capacity, codel, Configuration, Discipline, Packet, QueueContext};

/// FQ-CoDel's declaration.
pub static SPEC: Table = Table::new(
    "fq-codel",
    "Fair queueing with CoDel in each queue (RFC 8290).",
    &[
        &[capacity::field("10240 packets"), QUEUES],
        FIELDS,
        &[
            Field::duration("target", "5 ms", "sojourn time below which no packet is dropped").above_zero(),
            Field::duration("interval", "100 ms", "sliding window, of the order of the largest expected RTT")
                .above_zero(),
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
        let queues = table.integer("queues", faults);
        let aqm = codel::Config::read(table, faults).map(QueueAqm::Codel);
        fair::Config::read(table, Some(queues?), aqm?, faults).map(Self)
    }

    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(context))
    }
}
