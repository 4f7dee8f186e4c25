//! Detection of token-bucket policers by two intervals with high loss and the same delivery rate.
//!
//! Source: Linux `tcp_bbr.c`, "long-term bandwidth"; T. Flach and others, "An Internet-Wide Analysis of Traffic
//! Policing", SIGCOMM 2016.

use cwndlab_units::Time;

/// Minimum length of an interval in rounds; the maximum is four times that.
const MIN_ROUNDS: u32 = 4;
/// Minimum fraction of lost segments of an interval: 50/256.
const LOSS: f64 = 50.0 / 256.0;
/// Maximum difference of the rates of two intervals: relative, or 4 kbit/s.
const RATIO: f64 = 0.125;
const DIFFERENCE_BPS: f64 = 4_000.0;
/// Rounds for which a detected rate is used.
const MAX_RATE_ROUNDS: u32 = 48;

/// The measurements of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct PolicerSample {
    /// Time of the ACK.
    pub now: Time,
    /// Delivered in total, segments.
    pub delivered: f64,
    /// Lost in total, segments.
    pub lost: f64,
    /// The ACK reports losses.
    pub losses: bool,
    /// The rate sample is application-limited.
    pub app_limited: bool,
    /// A round began.
    pub round: bool,
}

/// The detector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policer {
    /// The detected rate of the policer, segments/s, while it is in use.
    pub rate: Option<f64>,
    candidate: f64,
    sampling: bool,
    rounds: u32,
    from_ms: u64,
    from_delivered: f64,
    from_lost: f64,
}

impl Policer {
    fn begin(&mut self, seen: &PolicerSample) {
        self.from_ms = seen.now.as_nanos() / 1_000_000;
        self.from_delivered = seen.delivered;
        self.from_lost = seen.lost;
        self.rounds = 0;
    }

    /// Resets the detector.
    pub fn reset(&mut self, seen: &PolicerSample) {
        *self = Self::default();
        self.begin(seen);
    }

    /// Adds an ACK. Returns whether the use of a detected rate has ended, after which probing restarts. `cycling`: the
    /// flow is in ProbeBW.
    #[inline]
    pub fn update(&mut self, seen: &PolicerSample, cycling: bool, mss: f64) -> bool {
        if self.rate.is_some() {
            if cycling && seen.round {
                self.rounds += 1;
                if self.rounds >= MAX_RATE_ROUNDS {
                    self.reset(seen);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            if !seen.losses {
                return false;
            }
            self.begin(seen);
            self.sampling = true;
        }
        if seen.app_limited {
            self.reset(seen);
            return false;
        }
        self.rounds += u32::from(seen.round);
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(seen);
        } else if self.rounds >= MIN_ROUNDS && seen.losses {
            self.end_interval(seen, mss);
        }
        false
    }

    fn end_interval(&mut self, seen: &PolicerSample, mss: f64) {
        let lost = seen.lost - self.from_lost;
        let delivered = seen.delivered - self.from_delivered;
        let span = (seen.now.as_nanos() / 1_000_000).saturating_sub(self.from_ms);
        // No margins: each interval has another span, in whole ms.
        if delivered <= 0.0 || lost < LOSS * delivered || span < 1 {
            return;
        }
        let rate = delivered * 1e3 / span as f64;
        let apart = (rate - self.candidate).abs();
        if self.candidate > 0.0 && (apart <= RATIO * self.candidate || apart * mss * 8.0 <= DIFFERENCE_BPS) {
            self.rate = Some(f64::midpoint(rate, self.candidate));
            self.rounds = 0;
            return;
        }
        self.candidate = rate;
        self.begin(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Duration;

    /// By hand: 25 segments delivered and 7.5 lost per 100 ms are 250 segments/s, detected at the end of the second
    /// interval.
    #[test]
    fn two_similar_intervals_with_a_fifth_lost_indicate_a_policer() {
        let mut policer = Policer::default();
        let mut seen =
            PolicerSample { now: Time::ZERO, delivered: 0.0, lost: 0.0, losses: true, app_limited: false, round: true };
        policer.update(&seen, true, 1448.0);
        for _ in 0..7 {
            seen.now += Duration::from_millis(100);
            seen.delivered += 25.0;
            seen.lost += 7.5;
            assert!(!policer.update(&seen, true, 1448.0));
        }
        assert_eq!(policer.rate, Some(250.0));
        for _ in 0..47 {
            assert!(!policer.update(&seen, true, 1448.0));
        }
        assert!(policer.update(&seen, true, 1448.0));
        assert_eq!(policer.rate, None);
    }
}
