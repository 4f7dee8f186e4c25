//! Independent losses: each packet with the same probability.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};

use crate::random::Stream;

/// The entry among the loss models.
pub static SPEC: Table = Table::new(
    "bernoulli",
    "Each packet is lost with the same probability.",
    &[&[Field::new("p", Kind::Probability, "loss probability").required("'p = 0.01'")]],
)
.class("Bernoulli");

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Loss probability.
    pub p: f64,
}

impl Config {
    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Some(Self { p: table.probability("p", faults)? })
    }

    pub(super) fn build(&self, stream: Stream) -> Process {
        Process { p: self.p, stream }
    }
}

/// The process.
#[derive(Clone, Debug)]
pub struct Process {
    p: f64,
    stream: Stream,
}

impl Process {
    #[inline]
    pub(super) fn takes(&mut self, _payload: bool) -> bool {
        self.stream.unit() < self.p
    }
}
