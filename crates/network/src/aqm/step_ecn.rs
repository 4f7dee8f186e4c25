//! Drop-tail with a marking threshold, as in the switches of DCTCP.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257, section 3.1.

use cwndlab_config::{fields, Table};

use super::{capacity, drop_tail, ComputedDropTail, Configuration};

/// The declaration of the discipline.
pub static SPEC: Table = Table::new(
    "step-ecn",
    "Drop-tail that marks an arriving ECN-capable packet with which more than `mark_above` packets wait (DCTCP, RFC 8257).",
    &[&[capacity::field("1 bdp")], Config::FIELDS],
)
.class("StepEcn");

fields! {
    /// The configuration of the discipline.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// largest number of waiting packets, the arrival included, at which the arrival is not marked
        mark_above: u32 = required("'mark_above = 20': step-ecn marks above this many packets") in 0..=100_000_000,
        /// as a drop-tail queue
        drop_tail: drop_tail::Config,
    }
}

impl Configuration for Config {
    fn computed(&self) -> Option<ComputedDropTail> {
        let counts_in_service = self.drop_tail.counts_in_service;
        Some(ComputedDropTail { counts_in_service, mark_above: Some(self.mark_above) })
    }
}
