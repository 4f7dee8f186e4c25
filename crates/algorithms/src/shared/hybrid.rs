//! The two detectors of hybrid slow start, for `hystart`, `hystart-linux` and `ccm-ss`.
//!
//! Source: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011 (report 2008).
//!
//! ```text
//! train: ACKs at most 2 ms apart since the start of the round; fires when they span a threshold  (1)
//! delay: fires when the minimum of the round's first 8 RTT samples exceeds RTT_min + η,
//!        η = clamp(RTT_min / 8, 4 ms, 16 ms)                                                      (2)
//! ```
//!
//! Units: RTTs and the threshold in nanoseconds.

use cwndlab_control::{Ack, Reason};
use cwndlab_units::{Duration, Time};

/// Maximum gap between the ACKs of a train.
pub const GAP: Duration = Duration::from_millis(2);
/// Number of samples of a round for the delay detector.
const SAMPLES: u32 = 8;

/// η of (2).
#[must_use]
pub fn eta(rtt_min: u64) -> u64 {
    (rtt_min / 8).clamp(4_000_000, 16_000_000)
}

/// The state of the detectors in a round.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid {
    round: u64,
    round_start: Time,
    last_ack: Time,
    current: u64,
    samples: u32,
    /// Minimum RTT of the connection, ns.
    pub rtt_min: u64,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self {
            round: u64::MAX,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            current: u64::MAX,
            samples: 0,
            rtt_min: u64::MAX,
        }
    }
}

impl Hybrid {
    /// Discards the round; the minimum RTT does not change.
    pub fn restart(&mut self) {
        *self = Self { rtt_min: self.rtt_min, ..Self::default() };
    }

    /// Adds an ACK; rounds are those of the transport.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        let now = ack.now;
        if self.round != ack.round {
            self.round = ack.round;
            (self.round_start, self.last_ack) = (now, now);
            (self.current, self.samples) = (u64::MAX, 0);
        }
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt.as_nanos().max(1));
        }
    }

    /// The detector that fires, ACK train or delay. The threshold of the train is `threshold`, ns.
    #[inline]
    pub fn detect(&mut self, ack: &Ack, threshold: u64) -> Option<Reason> {
        let now = ack.now;
        let mut signal = None;
        if now - self.last_ack <= GAP {
            self.last_ack = now;
            if (now - self.round_start).as_nanos() > threshold {
                signal = Some(Reason::Train); // (1)
            }
        }
        if let Some(rtt) = ack.rtt {
            // Linux compares the minimum of all samples of the round from the ninth sample on.
            self.current = self.current.min(rtt.as_nanos());
            if self.samples < SAMPLES {
                self.samples += 1;
            } else if self.current > self.rtt_min + eta(self.rtt_min) {
                signal = Some(Reason::Delay); // (2)
            }
        }
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `known-answers.csv`: η for minima of 10, 32, 50, 100, 128 and 200 ms.
    #[test]
    fn eta_is_an_eighth_between_4_and_16_ms() {
        let etas = [10, 32, 50, 100, 128, 200].map(|ms| eta(ms * 1_000_000) as f64 / 1e6);
        assert_eq!(etas, [4.0, 4.0, 6.25, 12.5, 16.0, 16.0]);
    }
}
