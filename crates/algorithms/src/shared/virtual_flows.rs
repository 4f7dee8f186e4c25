//! The number N of virtual flows of a connection, for `tcp-fit`, `cubic-fit` and `fast-fit`.
//!
//! Source: J. Wang, J. Wen, J. Zhang, Y. Han, "TCP-FIT: An Improved TCP Congestion Control Algorithm and its
//! Performance", INFOCOM 2011.
//!
//! ```text
//! once per round:  N = max(1, N + α − N (R − base) / R)                        (1)
//! fixed point:     N* = max(1, α R / (R − base))                               (2)
//! or in steps, once per max(RTT, 0.5 s), with Q = w (R − base) / R:
//!                  N + 1 where Q < α w / N;  max(1, N − 1) where Q > α w / N   (3)
//! ```
//!
//! Units: nanoseconds; R is the mean RTT of the round (of the epoch in (3)), base the minimum RTT. N is a real number
//! in (1).

use cwndlab_control::Ack;

use super::margin::{above, below};
use super::round_rtt::{Round, RoundRtt};

/// Minimum length of an epoch of (3).
const EPOCH_NS: u64 = 500_000_000;

/// The number of virtual flows, and the measurements that determine it.
#[derive(Clone, Debug)]
pub struct VirtualFlows {
    alpha: f64,
    cap: f64,
    steps: bool,
    n: f64,
    rtts: RoundRtt,
    /// Samples since the last decision.
    sum: u64,
    samples: u32,
    decided: u64,
    due: bool,
}

impl VirtualFlows {
    /// Starts with one flow. `cap` is the maximum of N, `steps` selects (3).
    #[must_use]
    pub fn new(alpha: f64, cap: f64, steps: bool) -> Self {
        let rtts = RoundRtt::default();
        Self { alpha, cap, steps, n: 1.0, rtts, sum: 0, samples: 0, decided: 0, due: false }
    }

    /// N.
    #[must_use]
    pub fn flows(&self) -> f64 {
        self.n
    }

    /// Adds an ACK of any phase.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        let Some(Round { sum, samples, .. }) = self.rtts.observe(ack) else { return };
        if !self.steps {
            // (1): the mean of the last round, also after rounds in which nothing is decided.
            (self.sum, self.samples, self.due) = (sum, samples, true);
            return;
        }
        self.sum += sum;
        self.samples += samples;
        if ack.now.as_nanos().saturating_sub(self.decided) >= EPOCH_NS {
            self.decided = ack.now.as_nanos();
            self.due = true;
        }
    }

    /// Updates N where a round or an epoch has ended, at an ACK of congestion avoidance, in which alone N is used.
    /// Returns whether N changed.
    #[inline]
    pub fn decide(&mut self) -> bool {
        if !self.due {
            return false;
        }
        self.due = false;
        let round = Round { min: 0, sum: self.sum, samples: self.samples };
        (self.sum, self.samples) = (0, 0);
        if !round.decides() {
            return false;
        }
        let queued = (1.0 - self.rtts.base as f64 / round.mean()).max(0.0);
        let before = self.n;
        self.n = if self.steps { self.step(queued) } else { self.next(queued) };
        self.n != before
    }

    /// (1), with `queued` = (R − base) / R.
    fn next(&self, queued: f64) -> f64 {
        (self.n + self.alpha - self.n * queued).clamp(1.0, self.cap)
    }

    /// (3), both sides divided by w.
    fn step(&self, queued: f64) -> f64 {
        let share = self.alpha / self.n;
        let by = f64::from(i8::from(below(queued, share)) - i8::from(above(queued, share)));
        (self.n + by).clamp(1.0, self.cap)
    }

    /// A congestion event: a timeout resets N to one.
    pub fn on_congestion(&mut self, timeout: bool) {
        if timeout {
            self.n = 1.0;
        }
        (self.sum, self.samples, self.due) = (0, 0, false);
        self.rtts.restart();
    }

    #[cfg(test)]
    pub(crate) fn set(&mut self, n: f64) {
        self.n = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::{Duration, Time};
    use proptest::prelude::*;

    /// Reference values: base 100 ms; the fixed point is N* = 1 for R = 120 ms, 12.63 for R = 101 ms (α = 1/8: 0.125 ·
    /// 101).
    #[test]
    fn n_converges_to_the_fixed_point() {
        for (rtt, fixed_point) in [(120.0, 1.0), (101.0, 12.625)] {
            let mut virtual_flows = VirtualFlows::new(0.125, 64.0, false);
            for _ in 0..5_000 {
                virtual_flows.n = virtual_flows.next((rtt - 100.0) / rtt);
            }
            assert!((virtual_flows.n - fixed_point).abs() < 1e-9, "{rtt}: {}", virtual_flows.n);
        }
    }

    /// (1): the mean of the last round, 120 ms, and not that of a slow start before it.
    #[test]
    fn the_first_decision_takes_the_round_before_it() {
        let mut virtual_flows = VirtualFlows::new(0.125, 64.0, false);
        let mut at = |round: u64, ms: u64| {
            let rtt = Some(Duration::from_millis(ms));
            for _ in 0..4 {
                let now = Time::from_nanos(round * 1_000_000_000);
                virtual_flows.observe(&Ack { round, rtt, ..cwndlab_control::testing::ack_at(now, 1) });
            }
        };
        for round in 1..50 {
            at(round, 100);
        }
        at(50, 120);
        at(51, 120);
        virtual_flows.n = 8.0;
        virtual_flows.decide();
        // By hand, (1): 8 + 0.125 − 8 · 20/120.
        assert!((virtual_flows.n - (8.125 - 8.0 / 6.0)).abs() < 1e-9, "{}", virtual_flows.n);
    }

    /// (3) by hand: α/N = 1/8 for one flow; queueing of 1/10 of the RTT is below it, of 1/5 above.
    #[test]
    fn n_steps_up_below_the_queueing_target_and_down_above() {
        let mut virtual_flows = VirtualFlows::new(0.125, 64.0, true);
        assert_eq!(virtual_flows.step(0.1), 2.0);
        assert_eq!(virtual_flows.step(0.2), 1.0);
        virtual_flows.n = 3.0;
        assert_eq!(virtual_flows.step(0.1), 2.0);
    }

    proptest! {
        /// (3): N is constant where Q = α w / N, here for N of 1/k, with Q / w = α / N of a path of whole segments.
        #[test]
        fn n_is_constant_at_its_fixed_point(n in 1u32..64, rtt in 1e6f64..1e9) {
            let mut virtual_flows = VirtualFlows::new(0.125, 64.0, true);
            virtual_flows.n = f64::from(n);
            let base = rtt * (1.0 - 0.125 / f64::from(n));
            prop_assert_eq!(virtual_flows.step(1.0 - base / rtt), f64::from(n));
        }
    }
}
