//! Round-trip estimation and the retransmission timeout (RFC 6298).

use cwndlab_units::Duration;

use crate::stack::Stack;
use crate::ticks::Ticks;

/// Smoothed RTT, its variance, its minimum, and the timeout that follows.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT, ns; 0 before the first sample.
    pub srtt: u64,
    /// RTTVAR, ns.
    pub rttvar: u64,
    /// Smallest sample of the window.
    pub min: u64,
    /// Last sample.
    pub last: u64,
    /// Sum and number of all samples.
    pub sum: u64,
    /// Number of samples.
    pub count: u64,
    /// Smallest sample of the whole life.
    pub min_ever: u64,
    min_at: u64,
    pub(crate) backoff: u32,
    floor: u64,
    ceiling: u64,
    initial: u64,
    granularity: u64,
    floor_on_variance: bool,
    /// Reckons the timeout instead, where the stack counts ticks.
    ticks: Option<Ticks>,
}

/// Linux' `tcp_min_rtt_wlen`: the minimum is of the last 300 s.
const MIN_RTT_WINDOW_NS: u64 = 300_000_000_000;

impl RttEstimator {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            min: u64::MAX,
            last: 0,
            sum: 0,
            count: 0,
            min_ever: u64::MAX,
            min_at: 0,
            backoff: 0,
            floor: stack.min_rto.0,
            ceiling: stack.max_rto.0,
            initial: stack.initial_rto.0,
            granularity: stack.rto_granularity.0,
            floor_on_variance: stack.rto_floor_on_variance,
            ticks: Ticks::new(stack.rto_arithmetic, stack.rto_granularity.0, stack.timestamps),
        }
    }

    /// For samples alone, of a transport that keeps a timeout of its own.
    #[must_use]
    pub fn sampling() -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            min: u64::MAX,
            last: 0,
            sum: 0,
            count: 0,
            min_ever: u64::MAX,
            min_at: 0,
            backoff: 0,
            floor: 0,
            ceiling: u64::MAX,
            initial: u64::MAX,
            granularity: 0,
            floor_on_variance: false,
            ticks: None,
        }
    }

    /// A sample for the timeout, and `recent`, the sample of the newest segment, for the minimum.
    #[inline]
    pub fn sample(&mut self, now: u64, oldest: u64, recent: u64) {
        if self.srtt == 0 {
            self.srtt = oldest.max(1); // RFC 6298 (2.2)
            self.rttvar = oldest / 2;
        } else {
            let deviation = self.srtt.abs_diff(oldest);
            self.rttvar = self.rttvar - (self.rttvar >> 2) + (deviation >> 2); // (2.3)
            self.srtt = (self.srtt - (self.srtt >> 3) + (oldest >> 3)).max(1);
        }
        if let Some(ticks) = &mut self.ticks {
            ticks.sample(now, oldest);
        }
        self.backoff = 0;
        self.last = recent;
        self.sum += recent;
        self.count += 1;
        self.min_ever = self.min_ever.min(recent);
        if recent <= self.min || now - self.min_at > MIN_RTT_WINDOW_NS {
            self.min = recent;
            self.min_at = now;
        }
    }

    /// The timeout, back-off included.
    #[inline]
    #[must_use]
    pub fn rto(&self) -> u64 {
        let base = if let Some(ticks) = &self.ticks {
            ticks.rto().map_or(self.initial, |rto| rto.max(self.floor))
        } else if self.srtt == 0 {
            self.initial
        } else {
            let variance = (4 * self.rttvar).max(self.granularity);
            if self.floor_on_variance {
                self.srtt + variance.max(self.floor) // Linux: SRTT + max(200 ms, 4·RTTVAR)
            } else {
                (self.srtt + variance).max(self.floor) // RFC 6298 (2.4)
            }
        };
        if self.backoff == 0 {
            base.min(self.ceiling)
        } else {
            base.saturating_mul(1 << self.backoff).min(self.ceiling)
        }
    }

    /// The timer expired: doubles the timeout (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
        if let Some(ticks) = &mut self.ticks {
            ticks.back_off(self.backoff);
        }
    }

    /// Smoothed RTT as the contract wants it.
    #[must_use]
    pub fn srtt(&self) -> Duration {
        Duration(self.srtt)
    }

    /// Minimum RTT; zero before the first sample.
    #[inline]
    #[must_use]
    pub fn min_rtt(&self) -> Duration {
        Duration(if self.min == u64::MAX { 0 } else { self.min })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn estimator(floor_ms: u64, on_variance: bool) -> RttEstimator {
        RttEstimator {
            srtt: 0,
            rttvar: 0,
            min: u64::MAX,
            last: 0,
            sum: 0,
            count: 0,
            min_ever: u64::MAX,
            min_at: 0,
            backoff: 0,
            floor: floor_ms * MS,
            ceiling: 120_000 * MS,
            initial: 1000 * MS,
            granularity: MS,
            floor_on_variance: on_variance,
            ticks: None,
        }
    }

    fn first(ms: u64, floor_ms: u64, on_variance: bool) -> u64 {
        let mut rtt = estimator(floor_ms, on_variance);
        rtt.sample(0, ms * MS, ms * MS);
        rtt.rto() / MS
    }

    /// `known-answers.csv`: the first RTO before floors is three times the sample.
    #[test]
    fn the_first_timeout_is_three_times_the_sample() {
        assert_eq!([20, 100, 200, 500].map(|ms| first(ms, 0, false)), [60, 300, 600, 1500]);
    }

    /// By hand, 100 and 20 ms: the RFC's floor of 1 s, Windows' 300 ms, and Linux' 200 ms under the variance term.
    #[test]
    fn each_stack_has_its_floor() {
        assert_eq!([first(100, 1000, false), first(20, 300, false)], [1000, 300]);
        assert_eq!([first(100, 200, true), first(20, 200, true)], [300, 220]);
    }

    /// RFC 6298 by hand: after 100 ms, samples of 100, 100 and 140 ms give 250, 212.5 and 229.4 ms.
    #[test]
    fn samples_are_smoothed_variance_first() {
        let mut rtt = estimator(0, false);
        rtt.sample(0, 100 * MS, 100 * MS);
        let after = [100, 100, 140].map(|ms| {
            rtt.sample(1, ms * MS, ms * MS);
            (rtt.rto() as f64 / 1e6 * 10.0).round() / 10.0
        });
        assert_eq!(after, [250.0, 212.5, 229.4]);
    }

    /// RFC 6298 (5.5): each expiry doubles, up to the ceiling; a sample ends it.
    #[test]
    fn expiries_double_the_timeout() {
        let mut rtt = estimator(0, false);
        rtt.sample(0, 100 * MS, 100 * MS);
        let doubled = [0; 3].map(|_| {
            rtt.back_off();
            rtt.rto() / MS
        });
        assert_eq!(doubled, [600, 1200, 2400]);
        rtt.sample(1, 100 * MS, 100 * MS);
        assert_eq!(rtt.rto() / MS, 250);
    }
}
