//! FQ-CoDel: fair queueing with CoDel in each queue.
//!
//! The module `fair` implements the scheduler, [`super::codel`] the AQM.

use cwndlab_config::{fields, Table};

use super::fair::{self, HashedScheduler, QueueAqm};
use super::{capacity, codel, Configuration, Discipline, Packet, QueueContext};

/// FQ-CoDel's declaration.
pub static SPEC: Table = Table::new(
    "fq-codel",
    "Fair queueing with CoDel in each queue (RFC 8290).",
    &[&[capacity::field("10240 packets")], Config::FIELDS],
)
.class("FqCodel");

fields! {
    /// FQ-CoDel's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// the scheduler
        scheduler: HashedScheduler,
        /// the AQM of each queue
        aqm: codel::Config { ecn = true },
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(fair::Config::hashed(self.scheduler, QueueAqm::Codel(self.aqm)).build(context))
    }
}
