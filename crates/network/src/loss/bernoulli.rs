//! Bernoulli loss: independent losses with a constant probability.

use cwndlab_config::{fields, Probability, Table};

use crate::random::Stream;

/// The declaration of the model.
pub static SPEC: Table =
    Table::new("bernoulli", "Each packet is lost with the same probability.", &[Config::FIELDS]).class("Bernoulli");

fields! {
    /// The configuration of the model.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// loss probability
        p: Probability = required("'p = 0.01'"),
    }
}

impl Config {
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
