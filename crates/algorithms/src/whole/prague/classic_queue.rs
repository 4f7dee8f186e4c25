//! Detection of a shared queue with classic ECN by the variation of the RTT, and the response to its marks.
//!
//! Source: Briscoe, Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv 1911.00710 (2021), version 2 of the
//! algorithm, with the constants of `prague_classic_ecn_detection` in the Linux module `tcp_prague.c`, version 0.6.
//!
//! ```text
//! each RTT sample m: srtt += (m - srtt) / 2^k, mdev += (|m - srtt| - mdev) / 2^(k+1)                        (1)
//! each reduction: k = min(18, l + floor(l / 2) + 1), l = floor(log2 ssthresh)                              (2)
//! each round trip with (2) of Prague: c += log2(mdev / V0) / 2 + log2(max((srtt - min_rtt) / D0, 1)) / 2    (3)
//! reduction of a mark: alpha is at least 5/8 min(c - 8, 1), with c in 0 .. 17                               (4)
//! ```
//!
//! Units: seconds, segments. The score c begins at zero; 8 is the highest value without fallback.

use std::f64::consts::LN_2;

use cwndlab_control::Ack;
use cwndlab_units::{maths, Duration};

/// V0 of (3).
const VARIATION: Duration = Duration::from_micros(750);
/// D0 of (3).
const DEPTH: Duration = Duration::from_millis(2);
/// Smallest deviation, seconds.
const TINY: f64 = 1e-6;
/// Score up to which the queue counts as one of L4S (4).
const SCALABLE: f64 = 8.0;
/// Largest score (4).
const MOST: f64 = 17.0;
/// Largest k of (1).
const LARGEST_SHIFT: u32 = 18;

/// State of the detection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicQueue {
    /// c.
    score: f64,
    /// srtt and mdev of (1), seconds; zero before the first sample.
    srtt: f64,
    mdev: f64,
    /// k.
    shift: u32,
}

impl Default for ClassicQueue {
    fn default() -> Self {
        Self { score: 0.0, srtt: 0.0, mdev: TINY, shift: LARGEST_SHIFT }
    }
}

impl ClassicQueue {
    /// c.
    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// (1).
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(Duration::as_secs) else { return };
        if self.srtt == 0.0 {
            self.srtt = rtt;
            return;
        }
        let error = rtt - self.srtt;
        let gain = 1.0 / f64::from(1u32 << self.shift);
        self.srtt += error * gain;
        self.mdev += (error.abs() - self.mdev) * gain / 2.0;
    }

    /// (3).
    pub(super) fn on_round(&mut self, min_rtt: Duration) {
        if self.srtt == 0.0 || min_rtt == Duration::ZERO {
            return;
        }
        let halves = |value: f64, reference: Duration| 0.5 / LN_2 * maths::ln(value.max(TINY) / reference.as_secs());
        let depth = halves(self.srtt - min_rtt.as_secs(), DEPTH).max(0.0);
        self.score = (self.score + halves(self.mdev, VARIATION) + depth).clamp(0.0, MOST);
    }

    /// (2).
    pub(super) fn on_reduction(&mut self, ssthresh: f64) {
        let l = (ssthresh.clamp(1.0, 1e9) as u32).ilog2();
        self.shift = (l + l / 2 + 1).min(LARGEST_SHIFT);
    }

    /// (4).
    pub(super) fn least_alpha(&self) -> f64 {
        (self.score - SCALABLE).clamp(0.0, 1.0) * 0.625
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;

    fn of(mdev_us: f64, depth_ms: f64) -> ClassicQueue {
        ClassicQueue { srtt: 0.02 + depth_ms * 1e-3, mdev: mdev_us * 1e-6, ..ClassicQueue::default() }
    }

    fn after(mut queue: ClassicQueue, rounds: u32) -> ClassicQueue {
        (0..rounds).for_each(|_| queue.on_round(Duration::from_millis(20)));
        queue
    }

    /// (3), (4) by hand: a deviation of 4 V0 adds log2(4) / 2 = 1 per round trip, so that the eighth one is the last without
    /// fallback and the ninth has all of it; a depth of 4 D0 adds as much. A fourth of V0 takes it back.
    #[test]
    fn a_varying_queue_is_a_classic_one_after_eight_round_trips() {
        let alpha = |queue, rounds| (after(queue, rounds).least_alpha() * 1e6).round() / 1e6;
        assert_eq!([7, 8, 9, 30].map(|rounds| alpha(of(3000.0, 0.0), rounds)), [0.0, 0.0, 0.625, 0.625]);
        assert_eq!([3, 4, 5].map(|rounds| alpha(of(3000.0, 8.0), rounds)), [0.0, 0.0, 0.625]);
        let mut queue = after(of(3000.0, 0.0), 30);
        assert_eq!(queue.score(), MOST);
        queue.mdev = 187.5e-6;
        assert_eq!([8, 9].map(|rounds| alpha(queue, rounds)), [0.625, 0.0]);
    }

    /// (3) by hand: with a deviation of V0 and a depth up to D0 the score stays; a step at 1 ms is no classic queue.
    #[test]
    fn a_shallow_queue_stays_one_of_l4s() {
        assert!(after(of(750.0, 2.0), 100).score() < 1e-9);
        assert_eq!(after(of(300.0, 1.0), 100).score(), 0.0);
    }

    /// (2) by hand: ssthresh 64 to 127 gives 6 + 3 + 1 = 10. (1): a tenth of a second too much moves srtt by 2^-10 of it, and
    /// mdev by 2^-11.
    #[test]
    fn averages_are_slower_at_large_windows() {
        let mut queue = ClassicQueue::default();
        assert_eq!(
            [64.0, 100.0, 127.0, 3.0, f64::INFINITY].map(|ssthresh| {
                queue.on_reduction(ssthresh);
                queue.shift
            }),
            [10, 10, 10, 2, 18]
        );
        queue.on_reduction(64.0);
        for ms in [20, 120] {
            queue.on_ack(&Ack { rtt: Some(Duration::from_millis(ms)), ..ack(1) });
        }
        assert!((queue.srtt - (0.02 + 0.1 / 1024.0)).abs() < 1e-12);
        assert!((queue.mdev - (TINY + (0.1 - TINY) / 2048.0)).abs() < 1e-12);
    }
}
