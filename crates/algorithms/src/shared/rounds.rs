//! RTT samples and deliveries per round, for the delay-based algorithms.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995; the rule of two samples is that of Linux' Vegas family.
//!
//! ```text
//! base = minimum RTT of the connection                                    (1)
//! a round ends with the ACK of the first segment sent after its start     (2)
//! R    = minimum or mean of the samples of a round                        (3)
//! diff = w (1 − base / R)   segments in queues (backlog)                  (4)
//! ```
//!
//! Units: nanoseconds, segments. Three kinds of rounds do not count: those with two samples or fewer, which may all
//! come from delayed ACKs; those with a loss recovery; and those whose start was not observed.

use cwndlab_control::Ack;

use crate::congestion_avoidance::reno::segments;

/// Minimum number of samples of a round that counts.
pub const MIN_SAMPLES: u32 = 3;

/// A completed round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Minimum RTT, ns.
    pub min: u64,
    /// Mean RTT, ns.
    pub mean: f64,
    /// Number of samples.
    pub samples: u32,
    /// Segments delivered, which were in flight at the start of the round.
    pub delivered: f64,
    /// Duration, ns.
    pub time: u64,
}

impl Round {
    /// Whether the round has enough samples.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }

    /// R of (3), ns.
    #[must_use]
    pub fn rtt(&self, mean: bool) -> f64 {
        if mean {
            self.mean
        } else {
            self.min as f64
        }
    }
}

/// (4): the backlog of a window `w` at a round-trip time of `rtt`, segments; 0 before the first sample.
#[inline]
#[must_use]
pub fn queued(w: f64, base: f64, rtt: f64) -> f64 {
    if rtt > base {
        w * (1.0 - base / rtt)
    } else {
        0.0
    }
}

/// The samples of the current round, and the minimum RTT of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// (1), ns; `u64::MAX` before the first sample.
    pub base: u64,
    /// The number of the round in the transport.
    pub number: u64,
    began: u64,
    min: u64,
    sum: u64,
    samples: u32,
    delivered: f64,
    /// Minimum RTT of the last round, even where that does not count; `u64::MAX` without samples.
    last: u64,
    /// The round does not count: its start was not observed, or it includes a recovery.
    void: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            base: u64::MAX,
            number: 0,
            began: 0,
            min: u64::MAX,
            sum: 0,
            samples: 0,
            delivered: 0.0,
            last: u64::MAX,
            void: true,
        }
    }
}

impl Rounds {
    /// Adds an ACK. Returns the round that it ends, where that round counts.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> Option<Round> {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_nanos().max(1);
            self.base = self.base.min(rtt); // (1)
            self.min = self.min.min(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
        self.delivered += segments(ack);
        self.void |= ack.recovering;
        if ack.round == self.number {
            return None;
        }
        let whole = ack.round == self.number + 1 && !self.void;
        let completed = Round {
            min: self.min,
            mean: self.sum as f64 / f64::from(self.samples.max(1)),
            samples: self.samples,
            delivered: self.delivered,
            time: ack.now.as_nanos().saturating_sub(self.began),
        };
        self.begin(ack);
        whole.then_some(completed)
    }

    /// (2): starts a round.
    fn begin(&mut self, ack: &Ack) {
        (self.number, self.began) = (ack.round, ack.now.as_nanos());
        self.last = self.min;
        (self.min, self.sum, self.samples, self.delivered) = (u64::MAX, 0, 0, 0.0);
        self.void = ack.recovering;
    }

    /// Discards the current round; `base` does not change.
    pub fn interrupt(&mut self) {
        self.void = true;
    }

    /// The present round-trip time, ns, for losses, which occur within a round: the minimum of the current round,
    /// together with the last one where the current one has too few samples.
    #[must_use]
    pub fn latest(&self) -> Option<f64> {
        let min = if self.samples >= MIN_SAMPLES { self.min } else { self.min.min(self.last) };
        (min < u64::MAX).then_some(min as f64)
    }

    /// `base`, ns; infinite before the first sample.
    #[must_use]
    pub fn base(&self) -> f64 {
        if self.base == u64::MAX {
            f64::INFINITY
        } else {
            self.base as f64
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use cwndlab_control::testing::ack_at;
    use cwndlab_control::{Ack, CongestionAvoidance};
    use cwndlab_units::{Duration, Time};

    /// An ACK of one segment in round `round` with an RTT of `ms`.
    pub(crate) fn ack_in(round: u64, ms: f64) -> Ack {
        let mut ack = ack_at(Time::from_nanos(round * 100_000_000), 1);
        ack.rtt = Some(Duration::from_nanos((ms * 1e6) as u64));
        ack.round = round;
        ack
    }

    /// The window after rounds from `first` on, one per entry of `rtts` (ms), each of `acks` ACKs of one segment, and
    /// after the ACK that ends the last of them.
    pub(crate) fn rounds(flow: &mut dyn CongestionAvoidance, first: u64, rtts: &[f64], acks: u32, mut w: f64) -> f64 {
        let mut deliver = |round: u64, ms: f64| {
            let ack = ack_in(round, ms);
            flow.observe(&ack, w);
            w = flow.on_ack(&ack, w);
        };
        for (at, ms) in rtts.iter().enumerate() {
            for _ in 0..acks {
                deliver(first + at as u64, *ms);
            }
        }
        deliver(first + rtts.len() as u64, rtts[rtts.len() - 1]);
        w
    }
}

#[cfg(test)]
mod tests {
    use super::testing::ack_in;
    use super::*;

    fn round(rounds: &mut Rounds, number: u64, rtts: &[f64]) -> Option<Round> {
        let mut completed = None;
        for ms in rtts {
            completed = rounds.observe(&ack_in(number, *ms)).or(completed);
        }
        completed
    }

    /// By hand: 110, 120 and the 130 ms of the ACK that ends the round: minimum 110, mean 120, three segments.
    #[test]
    fn a_round_ends_with_the_ack_of_data_sent_in_it() {
        let mut rounds = Rounds::default();
        assert_eq!(round(&mut rounds, 1, &[100.0, 110.0, 120.0]), None, "the start of the first was not observed");
        let completed = round(&mut rounds, 2, &[130.0]).unwrap();
        assert_eq!(
            (completed.min, completed.mean, completed.samples, completed.delivered),
            (110_000_000, 120e6, 3, 3.0)
        );
        assert_eq!((completed.time, rounds.base), (100_000_000, 100_000_000));
        assert!(completed.decides());
        assert!(!round(&mut rounds, 3, &[130.0]).unwrap().decides(), "one sample");
    }

    #[test]
    fn a_round_with_a_recovery_does_not_count() {
        let mut rounds = Rounds::default();
        let _ = round(&mut rounds, 1, &[100.0; 4]);
        let mut repaired = ack_in(1, 100.0);
        repaired.recovering = true;
        let _ = rounds.observe(&repaired);
        assert_eq!(round(&mut rounds, 2, &[100.0; 4]), None);
        assert!(round(&mut rounds, 3, &[100.0]).is_some());
        assert_eq!(round(&mut rounds, 5, &[100.0]), None, "a round was missed");
    }

    /// `known-answers.csv`, `vegas`: w = 20, base = 100 ms.
    #[test]
    fn diff_is_the_backlog() {
        for (rtt, diff) in
            [(120e6, 3.333_333_333_333_332_6), (110e6, 1.818_181_818_181_818_8), (150e6, 6.666_666_666_666_668)]
        {
            assert!((queued(20.0, 100e6, rtt) - diff).abs() < 1e-14, "{rtt}");
        }
        assert_eq!(queued(20.0, 100e6, 100e6), 0.0);
    }
}
