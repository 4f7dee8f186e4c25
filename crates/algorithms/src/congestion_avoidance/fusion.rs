//! TCP-Fusion: delay-based increase by the estimated bandwidth, with Reno's window as the minimum.
//!
//! Source: K. Kaneko, T. Fujikawa, Z. Su, J. Katto, "TCP-Fusion: A Hybrid Congestion Control Algorithm for High-speed
//! Networks", PFLDnet 2007.
//!
//! ```text
//! once per round: diff = w (R − base) / R                                         (1)
//!                 α = max(w D_min / R, 1),  D_min = 4 ms                          (2)
//! diff < α:       each ack: w += W_inc n / w,  W_inc = max(BW · 1 ms, 1)          (3)
//! α ≤ diff ≤ 3 α: w is constant
//! diff > 3 α:     w −= diff − α                                                   (4)
//! in parallel:    each ack: w_reno += n / w_reno;  w ≥ w_reno                     (5)
//! loss:           w = max(w base / R, w / 2),  w_reno /= 2;  timeout: w /= 2      (6)
//! ```
//!
//! Units: segments, seconds, BW in segments/s; R is the minimum RTT of the round.
//! Differs from the source: BW is the delivery rate of a round, smoothed with weight 7/8 (Westwood+ with another
//! filter). TCP fusion of Solaris, which short-cuts loop-back connections, is unrelated.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Spec, Window,
};

use super::reno::segments;
use crate::shared::margin::{above, below};
use crate::shared::rounds::{queued, Round, Rounds};

options! {
    struct Options {
        /// D_min, target of the queueing delay
        d_min: f64["s"] = 0.004 in 0.000_01..=1.0,
        /// increment per round trip, as transmission time at the estimated bandwidth
        per_round: f64["s"] = 0.001 in 0.000_01..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fusion",
    title: "TCP-Fusion",
    kind: Kind::CongestionAvoidance,
    source: "Kaneko et al., PFLDnet 2007",
    year: 2007,
    confidence: Confidence::Medium,
    summary: "Increases the window by an estimate of the bandwidth while the queueing delay is below 4 ms and decreases it above 12 ms. The window is never below Reno's.",
    parameters: Options::PARAMETERS,
    choices: &[
        "BW is smoothed with weight 7/8 per round",
        "the decrease takes effect at once, at the end of the round",
        "R at a loss is the minimum RTT of the current round, since the last round with enough samples may be long ago",
        "a loss halves the parallel Reno window, whose initial value is the window at the start of congestion avoidance",
    ],
    pitfalls: &["with less than 4 ms of buffer the delay carries no information, and the algorithm is a faster Reno"],
    companion: "standard",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Fusion::new(arguments.into()))),
};

/// Congestion avoidance of TCP-Fusion.
#[derive(Clone, Debug)]
pub struct Fusion {
    d_min: f64,
    per_round: f64,
    rounds: Rounds,
    over: Option<Round>,
    /// Segments/s; 0 before the first sample.
    bandwidth: f64,
    /// R of the last round with enough samples, ns; 0 before the first.
    rtt: f64,
    /// Increment of this round trip, segments.
    increment: f64,
    /// The Reno window of (5); 0 before congestion avoidance.
    reno: f64,
}

impl Fusion {
    fn new(options: Options) -> Self {
        Self {
            d_min: options.d_min * 1e9,
            per_round: options.per_round,
            rounds: Rounds::default(),
            over: None,
            bandwidth: 0.0,
            rtt: 0.0,
            increment: 1.0,
            reno: 0.0,
        }
    }

    /// W_inc of (3).
    fn w_inc(&self) -> f64 {
        (self.bandwidth * self.per_round).max(1.0)
    }

    /// Updates BW and R at the end of a round.
    fn update_estimates(&mut self, round: &Round) {
        if round.time > 0 {
            let sample = round.delivered * 1e9 / round.time as f64;
            self.bandwidth = if self.bandwidth == 0.0 { sample } else { (7.0 * self.bandwidth + sample) / 8.0 };
        }
        self.rtt = round.min as f64;
    }

    /// Returns the window after a round and sets the increment of the next.
    fn decide(&mut self, w: f64) -> f64 {
        let diff = queued(w, self.rounds.base(), self.rtt); // (1)
        let alpha = (w * self.d_min / self.rtt).max(1.0); // (2)
                                                          // With rounding margins: (4) sets the window at which diff is α.
        self.increment = if below(diff, alpha) { self.w_inc() } else { 0.0 };
        if above(diff, 3.0 * alpha) {
            w - (diff - alpha) // (4)
        } else {
            w
        }
    }
}

impl CongestionAvoidance for Fusion {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack).filter(Round::decides) {
            self.update_estimates(&round);
            self.over = Some(round);
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = segments(ack);
        if self.reno == 0.0 {
            self.reno = w;
        }
        self.reno += n / self.reno; // (5)
        let w = if self.over.take().is_some() { self.decide(w) } else { w };
        (w + self.increment * n / w).max(self.reno) // (3)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        (self.over, self.increment) = (None, 1.0);
        let reno = if self.reno > 0.0 { self.reno } else { w };
        self.reno = (reno / 2.0).max(2.0);
        // Without an RTT sample, and at a timeout, the window is halved.
        let rtt = self.rounds.latest().filter(|_| event.cause != Cause::Timeout);
        let reduced = rtt.map_or(0.0, |rtt| w - queued(w, self.rounds.base(), rtt)).max(w / 2.0);
        reduced.max(2.0) // (6)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.rounds.interrupt();
            self.reno = 0.0;
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("bandwidth_segments_per_s", self.bandwidth);
        put("w_reno_segments", self.reno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::loss;
    use proptest::prelude::*;

    fn fusion(base: u64, rtt: f64) -> Fusion {
        let mut flow = Fusion::new(Options::default());
        flow.rounds.base = base * 1_000_000;
        flow.rtt = rtt * 1e6;
        flow
    }

    /// Reference values: 100 Mbit/s of 1500-byte segments give W_inc = 8.333.
    #[test]
    fn the_increment_is_a_millisecond_of_the_bandwidth() {
        let mut flow = fusion(100, 100.0);
        flow.bandwidth = 100e6 / 8.0 / 1500.0;
        assert!((flow.w_inc() - 8.333_333_333_333_334).abs() < 1e-12);
        assert_eq!((flow.decide(1000.0), flow.increment), (1000.0, flow.w_inc()));
    }

    /// Reference values: w = 1000, base 100 ms. R = 110: α = 36.4, diff = 90.9, constant. R = 120: diff = 166.7, 133.3
    /// less.
    #[test]
    fn the_window_is_constant_from_one_to_three_alpha_and_decreases_above() {
        let mut flow = fusion(100, 110.0);
        assert_eq!((flow.decide(1000.0), flow.increment), (1000.0, 0.0));
        let mut flow = fusion(100, 120.0);
        assert!((flow.decide(1000.0) - (1000.0 - 133.333_333_333_333)).abs() < 1e-9);
    }

    /// Reference values: w = 100, base 100 ms: R = 125 reduces w to 80, R = 300 to 50.
    #[test]
    fn a_loss_reduces_the_window_to_the_bdp_and_at_most_by_half() {
        let reduced = |ms: f64| {
            let mut flow = fusion(100, ms);
            let _ = flow.rounds.observe(&crate::shared::rounds::testing::ack_in(1, ms));
            flow.on_congestion(&loss(100), 100.0)
        };
        assert!((reduced(125.0) - 80.0).abs() < 1e-12);
        assert_eq!(reduced(300.0), 50.0);
    }

    #[test]
    fn the_window_is_never_below_reno() {
        let mut flow = fusion(100, 120.0);
        let ack = crate::shared::rounds::testing::ack_in(1, 120.0);
        flow.reno = 990.0;
        flow.over = Some(Round { min: 120_000_000, mean: 0.0, samples: 9, delivered: 9.0, time: 0 });
        assert!(flow.on_ack(&ack, 1000.0) > 990.0);
    }

    proptest! {
        /// (4) sets the window at which diff is α, 1 segment on long paths; the window is constant there.
        #[test]
        fn the_window_is_constant_after_it_fell_to_alpha(pipe in 1u32..2_000, queue in 4u32..100, service in 1_000u64..20_000) {
            let mut flow = fusion(1, 0.0);
            flow.d_min = 0.0; // α = 1
            let pipe = f64::from(pipe);
            let queue = f64::from(queue);
            flow.rounds.base = pipe as u64 * service;
            flow.rtt = (pipe + queue) * service as f64;
            let w = flow.decide(pipe + queue);
            prop_assert!((w - pipe - 1.0).abs() < 1e-6);
            flow.rtt = w * service as f64;
            prop_assert_eq!((flow.decide(w), flow.increment), (w, 0.0));
        }
    }
}
