//! Gallop-Vegas: slow start between linear and exponential increase, with the exit rule of Vegas.
//!
//! Source: C.-Y. Ho, Y.-C. Chan, Y.-C. Chen, "Gallop-Vegas: An Enhanced Slow-Start Mechanism for TCP Vegas", Journal of
//! Communications and Networks 8(3), 2006. Its abstract states: growth between linear and exponential, spread evenly,
//! exit by the difference of Vegas. The rule below is our reconstruction.
//!
//! ```text
//! each ack: w += n min(incr, w_r) / w_r       w_r: the window at the start of the round (1)
//! each round: diff = w (1 − base/R)           R: minimum RTT of the round, base: minimum of R   (2)
//!   diff > γ:    exit                         γ = 1 segment                             (3)
//!   diff > γ/2:  incr ← max(1, incr/2)                                                  (4)
//!   else:        incr ← incr + 1                                                        (5)
//! pacing: w + incr segments per smoothed RTT                                            (6)
//! ```
//!
//! Units: segments, nanoseconds. Confidence: low. Differs from the source: unknown.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Change, Confidence, Congestion, Extra, Kind, Need, Reason, SlowStart, Spec,
    Step, Window,
};
use cwndlab_units::Rate;

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::above;
use crate::shared::rounds::queued;
use crate::shared::{exit, pace};

options! {
    struct Options {
        /// γ, backlog by Vegas' estimate at which slow start ends
        gamma: f64["segments"] = 1.0 in 0.1..=100.0,
        /// on: the window is paced over the RTT
        pace: bool = true,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "gallop",
    title: "Gallop (Gallop-Vegas slow start)",
    kind: Kind::SlowStart,
    source: "Ho, Chan, Chen, JCN 2006",
    year: 2006,
    confidence: Confidence::Low,
    summary: "The increment per round trip rises by one segment each round, so that the window grows with the square of time, with pacing. Slow start ends when Vegas' diff exceeds gamma. Our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &[
        "between gamma/2 and gamma the increment is halved instead of raised",
        "the increment is at most the window, so the window at most doubles",
        "the RTT of a round is its minimum sample; base is the minimum of those, without the RTT of the handshake, whose small packets are faster",
    ],
    pitfalls: &[
        "quadratic growth is slow at a large BDP: a BDP of P segments takes about sqrt(2P) round trips, 41 for 826 segments",
        "with competing flows in the queue diff exceeds gamma at once, and slow start ends with a small window",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Gallop::new(arguments.into()))),
};

/// Slow start of Gallop-Vegas.
#[derive(Clone, Debug)]
pub struct Gallop {
    gamma: f64,
    pacing: bool,
    incr: f64,
    round: u64,
    /// Window at the start of the round, segments.
    w_round: f64,
    /// Minimum RTT of the round, and of all rounds, ns.
    rtt: u64,
    base: u64,
    pace: Option<Rate>,
}

/// (2), segments.
#[must_use]
pub fn diff(w: f64, base: u64, rtt: u64) -> f64 {
    queued(w, base as f64, rtt as f64)
}

impl Gallop {
    fn new(options: Options) -> Self {
        Self {
            gamma: options.gamma,
            pacing: options.pace,
            incr: 1.0,
            round: u64::MAX,
            w_round: 0.0,
            rtt: u64::MAX,
            base: u64::MAX,
            pace: None,
        }
    }

    /// (3) to (5): starts a round. Returns the diff of the last one where slow start ends.
    fn next_round(&mut self, ack: &Ack, w: f64) -> Option<f64> {
        let first = self.round == u64::MAX;
        let rtt = std::mem::replace(&mut self.rtt, u64::MAX);
        (self.round, self.w_round) = (ack.round, w);
        if first || rtt == u64::MAX {
            return None;
        }
        self.base = self.base.min(rtt);
        let diff = diff(w, self.base, rtt);
        if above(diff, self.gamma) {
            return Some(diff);
        }
        self.incr = if above(diff, self.gamma / 2.0) { (self.incr / 2.0).max(1.0) } else { self.incr + 1.0 };
        None
    }

    fn restart(&mut self) {
        (self.incr, self.round, self.rtt) = (1.0, u64::MAX, u64::MAX);
    }
}

impl SlowStart for Gallop {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if self.round != ack.round {
            if let Some(diff) = self.next_round(ack, w) {
                return Step::with_exit(segments(ack), Some(exit::now(Reason::Backlog, w, w - diff)));
            }
            if self.pacing {
                self.pace = pace::over(w + self.incr, ack.mss.0 as f64, ack.srtt.as_nanos());
                // (6)
            }
        }
        if let Some(rtt) = ack.rtt {
            self.rtt = self.rtt.min(rtt.as_nanos());
        }
        Step::grow(segments(ack) * self.incr.min(self.w_round) / self.w_round)
        // (1)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            self.restart();
        }
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.restart();
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: self.pacing, outside: false }
    }

    fn extra(&self, put: Extra<'_>) {
        put("incr_segments", self.incr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;
    use cwndlab_units::Duration;
    use proptest::prelude::*;

    fn round(start: &mut Gallop, number: u64, rtt_ms: u64, w: f64) -> (f64, bool) {
        let mut sum = w;
        let mut left = false;
        for _ in 0..w as u64 {
            let mut one = ack(1);
            (one.round, one.rtt) = (number, Some(Duration::from_millis(rtt_ms)));
            let step = start.on_ack(&one, sum, 1e9);
            (sum, left) = (sum + step.grow, left || step.exit.is_some());
        }
        (sum, left)
    }

    /// Reference values: from w = 2 increments of 1, 2, 3, 4, 5: after five rounds 17 (standard slow start: 64).
    #[test]
    fn increments_rise_by_one_per_round() {
        let mut start = Gallop::new(Options::default());
        let mut w = 2.0;
        for (number, expected) in [3.0, 5.0, 8.0, 12.0, 17.0].into_iter().enumerate() {
            w = round(&mut start, number as u64, 100, w).0;
            assert!((w - expected).abs() < 1e-9, "{w}");
            w = expected;
        }
    }

    /// By hand, base 100 ms, w = 20: R = 103 ms gives diff = 0.58, which halves the increment; 106 ms gives 1.13, the
    /// exit.
    #[test]
    fn diff_halves_the_increment_and_ends_slow_start() {
        assert!((diff(20.0, 100, 103) - 0.582_524_271_844_66).abs() < 1e-12);
        let mut start = Gallop::new(Options::default());
        (start.incr, start.base) = (8.0, 100_000_000);
        let _ = round(&mut start, 0, 103, 20.0);
        assert!(!round(&mut start, 1, 106, 20.0).1);
        assert_eq!(start.incr, 4.0);
        assert!(round(&mut start, 2, 100, 20.0).1);
    }

    proptest! {
        /// (3): a backlog of γ = 1 segment does not end slow start, one of 2 does.
        #[test]
        fn a_backlog_of_gamma_does_not_end_slow_start(pipe in 2u32..5_000, service in 1_000u64..1_000_000) {
            let mut start = Gallop::new(Options::default());
            start.base = u64::from(pipe) * service;
            let ends = |start: &mut Gallop, backlog: u32| {
                (start.round, start.rtt) = (1, u64::from(pipe + backlog) * service);
                let mut next = ack(1);
                next.round = 2;
                start.next_round(&next, f64::from(pipe + backlog)).is_some()
            };
            prop_assert!(!ends(&mut start, 1) && ends(&mut start, 2));
        }
    }
}
