//! Bernoulli loss: independent losses with a constant probability.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};

use crate::random::Stream;

/// The declaration of the model.
pub static SPEC: Table = Table::new(
    "bernoulli",
    "Each packet is lost with the same probability.",
    &[&[Field::new("p", Kind::Probability, "loss probability").required("'p = 0.01'")]],
)
.class("Bernoulli");

/// The configuration of the model.
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

/// The loss process.
#[derive(Clone, Debug)]
pub struct Process {
    p: f64,
    stream: Stream,
}

impl Process {
    #[inline]
    pub(super) fn loses(&mut self, _payload: bool) -> bool {
        self.stream.unit() < self.p
    }
}
