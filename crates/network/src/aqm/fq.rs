//! Fair queueing: one queue per flow, served by deficit round robin, without AQM.
//!
//! The module `fair` implements the scheduler.

use cwndlab_config::{fields, Table};

use super::fair::{self, QueueAqm, Scheduler};
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of fair queueing.
pub static SPEC: Table = Table::new(
        "fq",
        "One queue per flow, served by deficit round robin (Shreedhar, Varghese 1996); an overflow drops packets of the longest queue.",
        &[&[capacity::field("10000 packets")], Config::FIELDS],
)
.class("Fq");

fields! {
    /// The configuration of fair queueing.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// the scheduler
        scheduler: Scheduler,
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(fair::Config { queues: None, scheduler: self.scheduler, aqm: QueueAqm::None }.build(context))
    }
}
