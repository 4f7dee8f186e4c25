//! A policer at the entrance of a queue: a token bucket, and what becomes of packets in excess.
//!
//! Sources: RFC 2475, section 2.3.3.3; RFC 2697 (the bucket, with one rate, one burst and no excess burst); RFC 3246,
//! section 2.8 (a limit for traffic that preempts other).

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table, TableType};
use cwndlab_units::{Bytes, Rate, Time};

use crate::line::TokenBucket;

words! {
    /// What becomes of a packet in excess.
    pub enum Excess {
        /// it is dropped
        Drop = "drop",
        /// this queue treats it as best effort (CS0), so that it can leave after later packets of its flow; queues behind it read the DSCP of the flow
        Demote = "demote",
    }
}

fields! {
    /// A policer's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Police {
        /// rate at which tokens accumulate
        rate: Rate = required("'rate = \"1 Mbps\"'"),
        /// size of the bucket, which is full at the start; a larger packet is always in excess
        burst: Positive<Bytes> = required("'burst = \"12 kB\"'"),
        /// what becomes of a packet without enough tokens
        excess: Excess = "drop",
    }
}

impl TableType for Police {
    const TABLE: &'static Table = &Table::new(
        "police",
        "A policer: a packet on arrival takes tokens as bytes; without enough of them it is in excess (RFC 2697).",
        &[Police::FIELDS],
    );

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Self::read(table, faults)
    }
}

/// A policer.
#[derive(Debug)]
pub(super) struct Policer {
    bucket: TokenBucket,
    excess: Excess,
}

impl Policer {
    /// A policer with a full bucket.
    pub(super) fn new(Police { rate, burst, excess }: Police) -> Self {
        Self { bucket: TokenBucket::new(rate, burst, None), excess }
    }

    /// What becomes of a packet that arrives at `now`; `None` if it conforms.
    pub(super) fn excess(&mut self, now: Time, size: u32) -> Option<Excess> {
        (!self.bucket.conforms(now, size)).then_some(self.excess)
    }
}
