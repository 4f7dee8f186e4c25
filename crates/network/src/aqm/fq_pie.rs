//! FQ-PIE: fair queueing with PIE in each queue.
//!
//! The module `fair` implements the scheduler, [`super::pie`] the AQM.

use cwndlab_config::{fields, Table};
use cwndlab_units::{Fault, Rate};

use super::discipline::too_frequent;
use super::fair::{self, HashedScheduler, QueueAqm};
use super::{capacity, pie, Configuration, Discipline, Packet, QueueContext};

/// FQ-PIE's declaration.
pub static SPEC: Table = Table::new(
    "fq-pie",
    "Fair queueing with PIE in each queue, in place of RFC 8290's CoDel.",
    &[&[capacity::field("10240 packets")], Config::FIELDS],
)
.class("FqPie");

fields! {
    /// FQ-PIE's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// the scheduler
        scheduler: HashedScheduler,
        /// the AQM of each queue
        aqm: pie::Config,
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(fair::Config::hashed(self.scheduler, QueueAqm::Pie(self.aqm)).build(context))
    }

    fn fault_at(&self, _: Rate) -> Option<Fault> {
        too_frequent("update", self.aqm.update)
    }
}
