//! RTT statistics per round, for `veno`, `illinois` and the algorithms with virtual flows.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas", IEEE JSAC 13(8), 1995: decisions once per round trip; the rule of
//! Linux' Vegas family that rounds with two samples or fewer do not count, because of delayed ACKs.
//!
//! Units: nanoseconds.

use cwndlab_control::Ack;

use super::rounds::MIN_SAMPLES;

/// The RTT samples of a completed round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Minimum.
    pub min: u64,
    /// Sum of the samples.
    pub sum: u64,
    /// Number of samples.
    pub samples: u32,
}

impl Round {
    const EMPTY: Self = Self { min: u64::MAX, sum: 0, samples: 0 };

    /// Mean of the samples; NaN without samples.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / f64::from(self.samples)
    }

    /// Whether the round has enough samples.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }
}

/// RTT statistics of the connection and of the current round.
#[derive(Clone, Copy, Debug)]
pub struct RoundRtt {
    /// Minimum RTT of the connection; `u64::MAX` before the first sample.
    pub base: u64,
    /// Maximum RTT of the connection; 0 before the first sample.
    pub max: u64,
    round: u64,
    current: Round,
}

impl Default for RoundRtt {
    fn default() -> Self {
        Self { base: u64::MAX, max: 0, round: 0, current: Round::EMPTY }
    }
}

impl RoundRtt {
    /// Adds an ACK. The first ACK of a round returns the round before.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> Option<Round> {
        let mut completed = None;
        if ack.round != self.round {
            self.round = ack.round;
            completed = Some(self.current);
            self.current = Round::EMPTY;
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_nanos().max(1);
            self.base = self.base.min(rtt);
            self.max = self.max.max(rtt);
            self.current.min = self.current.min.min(rtt);
            self.current.sum += rtt;
            self.current.samples += 1;
        }
        completed
    }

    /// Discards the current round.
    pub fn restart(&mut self) {
        self.current = Round::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;
    use cwndlab_units::Duration;

    /// By hand: 100, 120 and 140 ms in one round; the first ACK of the next round returns it.
    #[test]
    fn the_first_ack_of_a_round_returns_the_last_round() {
        let mut rounds = RoundRtt::default();
        let _ = rounds.observe(&ack(1));
        for ms in [120, 140] {
            assert!(rounds.observe(&cwndlab_control::Ack { rtt: Some(Duration::from_millis(ms)), ..ack(1) }).is_none());
        }
        let over = rounds.observe(&cwndlab_control::Ack { round: 2, rtt: None, ..ack(1) }).unwrap();
        assert_eq!((over.min, over.mean(), over.decides()), (100_000_000, 120e6, true));
        assert_eq!((rounds.base, rounds.max), (100_000_000, 140_000_000));
    }
}
