//! Round-trip time estimation and the retransmission timeout (RFC 6298).

use std::cmp::Reverse;

use cwndlab_units::windowed::WindowedMax;
use cwndlab_units::{Duration, Time};

use crate::coarse_rto::CoarseRto;
use crate::stack::Stack;

/// Smoothed RTT, RTT variance, minimum RTT, and the timeout. The fields that every sample uses come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    /// Zero before the first sample.
    srtt: Duration,
    rttvar: Duration,
    /// Smallest sample of the last [`MIN_RTT_WINDOW`]; `Duration::MAX` before the first one.
    min: Duration,
    /// Only a sample of at most this size, or one after `min_due`, changes the minimum or its successors.
    min_bound: Duration,
    min_due: Time,
    last: Duration,
    /// Sum of the samples: its lower 64 bits, ns, and the number of overflows.
    sum: u64,
    overflows: u32,
    count: u64,
    /// The timeout, back-off included.
    rto: Duration,
    /// Minimum timeout.
    floor: Duration,
    /// Maximum timeout.
    ceiling: Duration,
    granularity: Duration,
    /// Computes the timeout if the stack counts clock ticks.
    coarse: Option<Box<CoarseRto>>,
    /// Doublings of the RTO since the last sample.
    backoff: u32,
    /// The minimum applies to the variance term only (Linux).
    floor_on_variance: bool,
    min_ever: Duration,
    /// Timeout before the first sample.
    initial: Duration,
    /// The smallest sample of the window and its successors.
    minima: WindowedMax<Time, Reverse<Duration>>,
}

/// The estimates that an endpoint uses in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// The timeout, back-off included.
    pub rto: Duration,
}

/// Window of the minimum filter (Linux, `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);
/// Timeout at the start of the data transfer, if the SYN was retransmitted (RFC 6298, 5.7).
const AFTER_SYN_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of doublings of the timeout.
const MAX_BACKOFF: u32 = 16;

impl RttEstimator {
    /// An estimator without samples, with the timeout parameters of the stack.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        let mut new = Self {
            floor: stack.min_rto,
            ceiling: stack.max_rto,
            initial: stack.initial_rto,
            granularity: stack.rto_granularity,
            floor_on_variance: stack.rto_floor_on_variance,
            coarse: CoarseRto::new(stack.rto_arithmetic, stack.rto_granularity, stack.timestamps).map(Box::new),
            ..Self::sampling()
        };
        new.update_rto();
        new
    }

    /// An estimator for RTT samples only, for a transport that computes its own timeout (QUIC).
    #[must_use]
    pub fn sampling() -> Self {
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min: Duration::MAX,
            min_bound: Duration::MAX,
            min_due: Time::MAX,
            last: Duration::ZERO,
            sum: 0,
            overflows: 0,
            count: 0,
            min_ever: Duration::MAX,
            backoff: 0,
            rto: Duration::MAX,
            floor: Duration::ZERO,
            ceiling: Duration::MAX,
            initial: Duration::MAX,
            minima: WindowedMax::new(Reverse(Duration::MAX)),
            granularity: Duration::ZERO,
            floor_on_variance: false,
            coarse: None,
        }
    }

    /// Adds the samples of one ACK: `oldest`, of the oldest segment that it acknowledges, for SRTT and the timeout, and
    /// `newest`, of the newest one, for the minimum.
    #[inline]
    pub fn sample(&mut self, now: Time, oldest: Duration, newest: Duration) {
        if self.srtt == Duration::ZERO {
            self.srtt = Duration::from_nanos(oldest.as_nanos().max(1)); // RFC 6298 (2.2)
            self.rttvar = oldest / 2;
        } else {
            let deviation = self.srtt.as_nanos().abs_diff(oldest.as_nanos());
            self.rttvar =
                Duration::from_nanos(self.rttvar.as_nanos() - (self.rttvar.as_nanos() >> 2) + (deviation >> 2)); // (2.3)
            self.srtt = Duration::from_nanos(
                (self.srtt.as_nanos() - (self.srtt.as_nanos() >> 3) + (oldest.as_nanos() >> 3)).max(1),
            );
        }
        if let Some(coarse) = &mut self.coarse {
            coarse.sample(now, oldest);
        }
        self.backoff = 0;
        self.update_rto();
        self.last = newest;
        let (sum, overflows) = self.sum.overflowing_add(newest.as_nanos());
        self.sum = sum;
        self.overflows += u32::from(overflows);
        self.count += 1;
        if newest <= self.min_bound || now > self.min_due {
            self.update_min(now, newest);
        }
    }

    /// The minimum of the window, of which later minima take the place when it expires (Linux, tcp_update_rtt_min).
    fn update_min(&mut self, now: Time, newest: Duration) {
        self.min_ever = self.min_ever.min(newest);
        self.min = self.minima.update(MIN_RTT_WINDOW, now, Reverse(newest)).0;
        self.min_bound = self.minima.third().0;
        self.min_due = self.minima.due(MIN_RTT_WINDOW);
    }

    /// The retransmission timeout, back-off included.
    #[inline]
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// Recomputes the timeout after a new sample or a change of the back-off.
    #[inline]
    fn update_rto(&mut self) {
        let base = if let Some(coarse) = &self.coarse {
            coarse.rto().map_or(self.initial, |rto| rto.max(self.floor))
        } else if self.srtt == Duration::ZERO {
            self.initial
        } else {
            let variance = (self.rttvar * 4).max(self.granularity);
            if self.floor_on_variance {
                self.srtt + variance.max(self.floor) // Linux: SRTT + max(200 ms, 4·RTTVAR)
            } else {
                (self.srtt + variance).max(self.floor) // RFC 6298 (2.4)
            }
        };
        let doubled = if self.backoff == 0 {
            base
        } else {
            Duration::from_nanos(base.as_nanos().saturating_mul(1 << self.backoff))
        };
        self.rto = doubled.min(self.ceiling);
    }

    /// Doubles the timeout after an expiry of the retransmission timer (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        if let Some(coarse) = &mut self.coarse {
            coarse.back_off(self.backoff);
        }
        self.update_rto();
    }

    /// Restarts the timeout at three seconds if the handshake gave no sample because the SYN was retransmitted (RFC
    /// 6298, 5.7; Linux, tcp_init_metrics, `TCP_TIMEOUT_FALLBACK`). A longer initial timeout stays.
    pub(crate) fn on_ambiguous_handshake(&mut self) {
        if self.srtt == Duration::ZERO && self.initial < AFTER_SYN_TIMEOUT {
            self.initial = AFTER_SYN_TIMEOUT;
            self.reset_backoff();
        }
    }

    /// Ends the back-off after a spurious timeout.
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
        self.update_rto();
    }

    /// SRTT and RTO.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        Estimate { srtt: self.srtt, rto: self.rto }
    }

    /// Smoothed RTT; zero before the first sample.
    #[inline]
    #[must_use]
    pub fn srtt(&self) -> Duration {
        self.srtt
    }

    /// RTT variance; zero before the first sample.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Doublings of the timeout since the last sample.
    #[must_use]
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Smallest sample of the last 300 s; zero before the first sample.
    #[inline]
    #[must_use]
    pub fn min_rtt(&self) -> Duration {
        if self.min == Duration::MAX {
            Duration::ZERO
        } else {
            self.min
        }
    }

    /// Smallest sample of the last 300 s; `Duration::MAX` before the first sample, so that every duration compares as
    /// shorter.
    #[inline]
    #[must_use]
    pub fn min_or_max(&self) -> Duration {
        self.min
    }

    /// Last sample; zero before the first.
    #[must_use]
    pub fn last(&self) -> Duration {
        self.last
    }

    /// Sum and number of all samples, ns.
    #[must_use]
    pub fn totals(&self) -> (u128, u64) {
        (u128::from(self.overflows) << u64::BITS | u128::from(self.sum), self.count)
    }

    /// Resets the sum and the number of samples.
    pub(crate) fn reset_totals(&mut self) {
        (self.sum, self.overflows, self.count) = (0, 0, 0);
    }

    /// Smallest sample of the connection; `Duration::MAX` before the first.
    #[must_use]
    pub fn min_ever(&self) -> Duration {
        self.min_ever
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn estimator(floor_ms: u64, on_variance: bool) -> RttEstimator {
        RttEstimator {
            floor: ms(floor_ms),
            ceiling: ms(120_000),
            initial: ms(1000),
            granularity: ms(1),
            floor_on_variance: on_variance,
            ..RttEstimator::sampling()
        }
    }

    fn first(sample_ms: u64, floor_ms: u64, on_variance: bool) -> Duration {
        let mut rtt = estimator(floor_ms, on_variance);
        rtt.sample(Time::ZERO, ms(sample_ms), ms(sample_ms));
        rtt.rto()
    }

    /// `known-answers.csv`: the first RTO before floors is three times the sample.
    #[test]
    fn the_first_timeout_is_three_times_the_sample() {
        assert_eq!([20, 100, 200, 500].map(|sample| first(sample, 0, false)), [60, 300, 600, 1500].map(ms));
    }

    /// By hand, 100 and 20 ms: the RFC's minimum of 1 s, Windows' 300 ms, and Linux' 200 ms for the variance term.
    #[test]
    fn each_stack_has_its_minimum_rto() {
        assert_eq!([first(100, 1000, false), first(20, 300, false)], [1000, 300].map(ms));
        assert_eq!([first(100, 200, true), first(20, 200, true)], [300, 220].map(ms));
    }

    /// RFC 6298 by hand: after 100 ms, samples of 100, 100 and 140 ms give 250, 212.5 and 229.4 ms.
    #[test]
    fn the_variance_is_updated_before_the_smoothed_rtt() {
        let mut rtt = estimator(0, false);
        rtt.sample(Time::ZERO, ms(100), ms(100));
        let after = [100, 100, 140].map(|sample| {
            rtt.sample(Time::from_nanos(1), ms(sample), ms(sample));
            (rtt.rto().as_millis() * 10.0).round() / 10.0
        });
        assert_eq!(after, [250.0, 212.5, 229.4]);
    }

    /// By hand: 50 ms at 0 expires after 300 s, and 60 ms, the smallest of the quarter before 150 s, takes its place, though
    /// the latest samples are of 90 ms.
    #[test]
    fn the_minimum_expires_and_the_next_one_takes_its_place() {
        let mut rtt = estimator(0, false);
        let minima: Vec<(u64, f64)> = (0..=60)
            .map(|step| {
                let at = Time::from_nanos(10 * step * 1_000_000_000);
                let sample = ms(match step {
                    0 => 50,
                    14 => 60,
                    _ => 90,
                });
                rtt.sample(at, sample, sample);
                (10 * step, rtt.min_rtt().as_millis())
            })
            .collect();
        let at = |seconds: u64| minima.iter().find(|(at, _)| *at == seconds).map(|(_, min)| *min);
        assert_eq!([at(300), at(310), at(440), at(450)], [50.0, 60.0, 60.0, 90.0].map(Some));
        assert_eq!(rtt.min_ever(), ms(50));
    }

    proptest::proptest! {
        /// With the bound and the time that spare most updates, the minimum is that of the filter which sees every sample.
        #[test]
        fn the_minimum_is_that_of_all_samples(
            samples in proptest::collection::vec((0_u64..60, 1_u64..40), 1..200),
        ) {
            let (mut rtt, mut all) = (estimator(0, false), WindowedMax::new(Reverse(Duration::MAX)));
            let mut now = Time::ZERO;
            for (gap, sample) in samples {
                now += Duration::from_secs(gap);
                rtt.sample(now, ms(sample), ms(sample));
                let expected = all.update(MIN_RTT_WINDOW, now, Reverse(ms(sample))).0;
                proptest::prop_assert_eq!(rtt.min_rtt(), expected);
            }
        }
    }

    /// RFC 6298 (5.5): each expiry doubles the timeout; a sample ends the back-off.
    #[test]
    fn expiries_double_the_timeout() {
        let mut rtt = estimator(0, false);
        rtt.sample(Time::ZERO, ms(100), ms(100));
        let doubled = [0; 3].map(|_| {
            rtt.back_off();
            rtt.rto()
        });
        assert_eq!(doubled, [600, 1200, 2400].map(ms));
        rtt.sample(Time::from_nanos(1), ms(100), ms(100));
        assert_eq!(rtt.rto(), ms(250));
    }
}
