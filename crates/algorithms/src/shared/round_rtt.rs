//! The round-trip times of a round, shared by `veno`, `illinois` and the algorithms of N virtual flows.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas", IEEE JSAC 13(8), 1995: decisions once per round trip; the rule of the Linux
//! Vegas family that two samples or fewer decide nothing, which guards against delayed ACKs.
//!
//! Units: nanoseconds.

use cwndlab_control::Ack;

use super::rounds::MIN_SAMPLES;

/// What a round that is over had.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Smallest sample.
    pub min: u64,
    /// Sum of the samples.
    pub sum: u64,
    /// How many there were.
    pub samples: u32,
}

impl Round {
    const EMPTY: Self = Self { min: u64::MAX, sum: 0, samples: 0 };

    /// Mean of the samples; NaN without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / f64::from(self.samples)
    }

    /// Enough samples to decide on.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }
}

/// Statistics of the connection and of the round in progress.
#[derive(Clone, Copy, Debug)]
pub struct RoundRtt {
    /// Smallest sample of the connection; `u64::MAX` before the first.
    pub base: u64,
    /// Largest sample of the connection; 0 before the first.
    pub max: u64,
    round: u64,
    now: Round,
}

impl Default for RoundRtt {
    fn default() -> Self {
        Self { base: u64::MAX, max: 0, round: 0, now: Round::EMPTY }
    }
}

impl RoundRtt {
    /// Takes an ACK in; the first ACK of a round yields the round before it.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> Option<Round> {
        let mut over = None;
        if ack.round != self.round {
            self.round = ack.round;
            over = Some(self.now);
            self.now = Round::EMPTY;
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.0.max(1);
            self.base = self.base.min(rtt);
            self.max = self.max.max(rtt);
            self.now.min = self.now.min.min(rtt);
            self.now.sum += rtt;
            self.now.samples += 1;
        }
        over
    }

    /// Forgets the round in progress.
    pub fn restart(&mut self) {
        self.now = Round::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;
    use cwndlab_units::Duration;

    /// By hand: 100, 120 and 140 ms in one round; the next round's first ACK tells.
    #[test]
    fn a_round_is_told_by_the_first_ack_of_the_next() {
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
