//! Fair queueing: a queue per flow, without active management.
//!
//! The law is that of the module `fair`, with a queue for every flow.

use cwndlab_config::{Faults, Reader, Table};

use super::fair::{self, Manager, FIELDS};
use super::{size, Configuration, Discipline, Packet, Place};

/// The entry of fair queueing among the disciplines.
pub static SPEC: Table = Table::new(
        "fq",
        "A queue per flow, served in turn by deficit round robin (Shreedhar, Varghese 1996); beyond the capacity the longest queue pays.",
        &[&[size::field("10000 packets")], FIELDS],
)
.class("Fq");

/// The configuration of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(fair::Config);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        fair::Config::read(table, None, Manager::None, faults).map(Self)
    }

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        Some(self.0.build(place))
    }
}
