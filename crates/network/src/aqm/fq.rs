//! Fair queueing: one queue per flow, served by deficit round robin, without AQM.
//!
//! The module `fair` implements the scheduler.

use cwndlab_config::{Faults, Reader, Table};

use super::fair::{self, QueueAqm, FIELDS};
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of fair queueing.
pub static SPEC: Table = Table::new(
        "fq",
        "One queue per flow, served by deficit round robin (Shreedhar, Varghese 1996); an overflow drops packets of the longest queue.",
        &[&[capacity::field("10000 packets")], FIELDS],
)
.class("Fq");

/// The configuration of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(fair::Config);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        fair::Config::read(table, None, QueueAqm::None, faults).map(Self)
    }

    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(context))
    }
}
