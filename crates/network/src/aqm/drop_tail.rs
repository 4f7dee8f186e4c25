//! Drop-tail: first in, first out; arrivals to a full queue are dropped.
//!
//! Departures are known on arrival, so that the link computes them ([`crate::queue`]) without events.

use cwndlab_config::{fields, Table};

use super::{capacity, ComputedDropTail, Configuration};

/// The declaration of drop-tail.
pub static SPEC: Table = Table::new(
    "droptail",
    "First in, first out; arrivals to a full queue are dropped.",
    &[&[capacity::field("1 bdp")], Config::FIELDS],
)
.class("DropTail");

fields! {
    /// Drop-tail's configuration.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Config {
        /// the packet under transmission counts towards the capacity
        counts_in_service: bool = false,
    }
}

impl Configuration for Config {
    fn computed(&self) -> Option<ComputedDropTail> {
        Some(ComputedDropTail { counts_in_service: self.counts_in_service, mark_above: None })
    }
}
