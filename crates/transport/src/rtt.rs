//! Round-trip estimation and the retransmission timeout (RFC 6298).

use cwndlab_units::Duration;

use crate::stack::Stack;

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
        let base = if self.srtt == 0 {
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
