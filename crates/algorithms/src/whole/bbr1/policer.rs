//! Finds a token-bucket policer: two spans with heavy loss that delivered at the same rate.
//!
//! Source: Linux `tcp_bbr.c`, "long-term bandwidth"; T. Flach and others, "An Internet-Wide Analysis of Traffic
//! Policing", SIGCOMM 2016.

use cwndlab_units::Time;

/// Rounds that a span lasts at least, and four times that at most.
const LEAST_ROUNDS: u32 = 4;
/// Share of losses that makes a span count: 50/256.
const LOSS: f64 = 50.0 / 256.0;
/// Two spans are alike within this ratio, or within 4 kbit/s.
const RATIO: f64 = 0.125;
const DIFFERENCE_BPS: f64 = 4_000.0;
/// Rounds for which the rate is believed.
const BELIEVED: u32 = 48;

/// What an ACK brought.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Now.
    pub now: Time,
    /// Delivered so far, segments.
    pub delivered: f64,
    /// Lost so far, segments.
    pub lost: f64,
    /// Something was lost just now.
    pub losses: bool,
    /// The sample was short of data.
    pub app_limited: bool,
    /// A round began.
    pub round: bool,
}

/// The detector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policer {
    /// The rate that the policer allows, segments/s, while it is believed.
    pub rate: Option<f64>,
    candidate: f64,
    sampling: bool,
    rounds: u32,
    from_ms: u64,
    from_delivered: f64,
    from_lost: f64,
}

impl Policer {
    fn begin(&mut self, seen: &Seen) {
        self.from_ms = seen.now.0 / 1_000_000;
        self.from_delivered = seen.delivered;
        self.from_lost = seen.lost;
        self.rounds = 0;
    }

    /// Forgets all.
    pub fn reset(&mut self, seen: &Seen) {
        *self = Self::default();
        self.begin(seen);
    }

    /// One ACK; answers whether belief ended and probing shall begin anew. `cycling`: the flow is in ProbeBW.
    #[inline]
    pub fn update(&mut self, seen: &Seen, cycling: bool, mss: f64) -> bool {
        if self.rate.is_some() {
            if cycling && seen.round {
                self.rounds += 1;
                if self.rounds >= BELIEVED {
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
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(seen);
        } else if self.rounds >= LEAST_ROUNDS && seen.losses {
            self.close(seen, mss);
        }
        false
    }

    fn close(&mut self, seen: &Seen, mss: f64) {
        let (lost, delivered) = (seen.lost - self.from_lost, seen.delivered - self.from_delivered);
        let span = (seen.now.0 / 1_000_000).saturating_sub(self.from_ms);
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

    /// By hand: 25 segments delivered and 7.5 lost in each 100 ms are 250 segments/s, believed at the second span's end.
    #[test]
    fn two_like_spans_with_a_fifth_lost_make_a_policer() {
        let mut policer = Policer::default();
        let mut seen =
            Seen { now: Time::ZERO, delivered: 0.0, lost: 0.0, losses: true, app_limited: false, round: true };
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
