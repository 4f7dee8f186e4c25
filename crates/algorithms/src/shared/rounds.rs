//! What the delay-based algorithms know of a round trip: its RTT samples, and what it delivered.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995; the rule of two samples is that of Linux' Vegas family.
//!
//! ```text
//! base = the smallest RTT ever seen                                       (1)
//! a round ends with the ACK of the first segment sent after it began      (2)
//! R    = the smallest sample of a round, or their mean                    (3)
//! diff = w (1 − base / R)   segments that wait in queues                  (4)
//! ```
//!
//! Units: nanoseconds, segments. A round decides nothing that has two samples or fewer (they may all come from delayed
//! ACKs), that a loss was repaired in, or that was not seen from its beginning.

use cwndlab_control::Ack;

use crate::congestion_avoidance::reno::segments;

/// Samples below which a round decides nothing.
pub const MIN_SAMPLES: u32 = 3;

/// A round trip that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Smallest sample, ns.
    pub min: u64,
    /// Mean of the samples, ns.
    pub mean: f64,
    /// How many there were.
    pub samples: u32,
    /// Segments that it delivered: what was in flight when it began.
    pub delivered: f64,
    /// How long it took, ns.
    pub time: u64,
}

impl Round {
    /// Enough samples for a decision.
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

/// (4): segments of a window `w` that wait, at a round-trip time of `rtt`; 0 while nothing is known.
#[inline]
#[must_use]
pub fn queued(w: f64, base: f64, rtt: f64) -> f64 {
    if rtt > base {
        w * (1.0 - base / rtt)
    } else {
        0.0
    }
}

/// The samples of the round that runs, and the smallest ever.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// (1), ns; `u64::MAX` before the first sample.
    pub base: u64,
    /// Which one it is, as the transport counts.
    pub number: u64,
    began: u64,
    min: u64,
    sum: u64,
    samples: u32,
    delivered: f64,
    /// Smallest sample of the round before, whether it could decide or not; `u64::MAX` where there was none.
    last: u64,
    /// It cannot decide: its beginning was not seen, or a loss is repaired.
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
    /// Takes an ACK in; the round that it ends, where that one may decide.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> Option<Round> {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.0.max(1);
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
        let over = Round {
            min: self.min,
            mean: self.sum as f64 / f64::from(self.samples.max(1)),
            samples: self.samples,
            delivered: self.delivered,
            time: ack.now.0.saturating_sub(self.began),
        };
        self.begin(ack);
        whole.then_some(over)
    }

    /// (2).
    fn begin(&mut self, ack: &Ack) {
        (self.number, self.began) = (ack.round, ack.now.0);
        self.last = self.min;
        (self.min, self.sum, self.samples, self.delivered) = (u64::MAX, 0, 0, 0.0);
        self.void = ack.recovering;
    }

    /// Forgets the round that runs; `base` stays.
    pub fn interrupt(&mut self) {
        self.void = true;
    }

    /// The round-trip time of now, ns, for a loss, which does not wait for a round to end: the smallest sample of the
    /// round that runs, of the one before where there are too few.
    #[must_use]
    pub fn latest(&self) -> Option<f64> {
        let min = if self.samples >= MIN_SAMPLES { self.min } else { self.min.min(self.last) };
        (min < u64::MAX).then_some(min as f64)
    }

    /// `base`, ns, for a division; infinite before the first sample.
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
        let mut ack = ack_at(Time(round * 100_000_000), 1);
        ack.rtt = Some(Duration((ms * 1e6) as u64));
        ack.round = round;
        ack
    }

    /// Feeds congestion avoidance with rounds from `first` on, one per entry of `rtts` (ms), each of `acks` ACKs of one segment, and the
    /// ACK that ends the last: the window after it.
    pub(crate) fn rounds(flow: &mut dyn CongestionAvoidance, first: u64, rtts: &[f64], acks: u32, mut w: f64) -> f64 {
        let mut tell = |round: u64, ms: f64| {
            let ack = ack_in(round, ms);
            flow.observe(&ack, w);
            w = flow.on_ack(&ack, w);
        };
        for (at, ms) in rtts.iter().enumerate() {
            for _ in 0..acks {
                tell(first + at as u64, *ms);
            }
        }
        tell(first + rtts.len() as u64, rtts[rtts.len() - 1]);
        w
    }
}

#[cfg(test)]
mod tests {
    use super::testing::ack_in;
    use super::*;

    fn round(rounds: &mut Rounds, number: u64, rtts: &[f64]) -> Option<Round> {
        let mut over = None;
        for ms in rtts {
            over = rounds.observe(&ack_in(number, *ms)).or(over);
        }
        over
    }

    /// By hand: 110, 120 and the 130 ms of the ACK that ends the round: minimum 110, mean 120, three segments.
    #[test]
    fn a_round_ends_with_the_ack_of_what_was_sent_in_it() {
        let mut rounds = Rounds::default();
        assert_eq!(round(&mut rounds, 1, &[100.0, 110.0, 120.0]), None, "the first was not seen from its beginning");
        let over = round(&mut rounds, 2, &[130.0]).unwrap();
        assert_eq!((over.min, over.mean, over.samples, over.delivered), (110_000_000, 120e6, 3, 3.0));
        assert_eq!((over.time, rounds.base), (100_000_000, 100_000_000));
        assert!(over.decides());
        assert!(!round(&mut rounds, 3, &[130.0]).unwrap().decides(), "one sample");
    }

    #[test]
    fn a_round_in_which_a_loss_is_repaired_decides_nothing() {
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
    fn diff_is_what_waits_in_queues() {
        for (rtt, diff) in
            [(120e6, 3.333_333_333_333_332_6), (110e6, 1.818_181_818_181_818_8), (150e6, 6.666_666_666_666_668)]
        {
            assert!((queued(20.0, 100e6, rtt) - diff).abs() < 1e-14, "{rtt}");
        }
        assert_eq!(queued(20.0, 100e6, 100e6), 0.0);
    }
}
