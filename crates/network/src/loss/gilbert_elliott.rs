//! Gilbert–Elliott loss: a Markov chain of two states, each with its own loss probability.
//!
//! Sources: E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960; E. O. Elliott, "Estimates of Error Rates for
//! Codes on Burst-Noise Channels", 1963. The chain starts in the good state and makes one transition before each
//! packet.

use cwndlab_config::{fields, Probability, Table};

use crate::random::Stream;

/// The declaration of the model.
pub static SPEC: Table = Table::new(
    "gilbert-elliott",
    "Bursts of losses: a Markov chain of a good and a bad state with one transition before each packet (Gilbert 1960, Elliott 1963).",
    &[Config::FIELDS],
)
.class("GilbertElliott");

fields! {
    /// The configuration of the model.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// probability of the transition from the good to the bad state
        p: Probability = required("'p = 0.01'"),
        /// probability of the transition from the bad to the good state
        r: Probability = required("'r = 0.01'"),
        /// loss probability in the bad state
        loss_bad: Probability = 1.0,
        /// loss probability in the good state
        loss_good: Probability = 0.0,
    }
}

impl Config {
    pub(super) fn build(&self, stream: Stream) -> Process {
        Process { config: self.clone(), bad: false, stream }
    }
}

/// The loss process.
#[derive(Clone, Debug)]
pub struct Process {
    config: Config,
    bad: bool,
    stream: Stream,
}

impl Process {
    #[inline]
    pub(super) fn loses(&mut self, _payload: bool) -> bool {
        let change = self.stream.unit();
        self.bad = if self.bad { change >= self.config.r } else { change < self.config.p };
        self.stream.unit() < if self.bad { self.config.loss_bad } else { self.config.loss_good }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// By hand: p = 0.01, r = 0.3, loss 0.5 in the bad state and none in the good one: the chain is in the
    /// bad state for p / (p + r) = 0.0323 of the packets, and the mean loss probability is 0.01613.
    #[test]
    fn the_mean_loss_matches_the_stationary_distribution() {
        let config = Config { p: 0.01, r: 0.3, loss_bad: 0.5, loss_good: 0.0 };
        let mut process = config.build(Stream::new(3, Purpose::Loss, 0));
        let n = 2_000_000;
        let lost = (0..n).filter(|_| process.loses(true)).count();
        let mean = lost as f64 / f64::from(n);
        assert!((mean - 0.016_129_032_258_064_516).abs() < 0.0005, "{mean}");
    }
}
