//! TCP-Fusion.
//!
//! Source: K. Kaneko, T. Fujikawa, Z. Su, J. Katto, "TCP-Fusion: A Hybrid Congestion Control Algorithm for High-speed
//! Networks", PFLDnet 2007.
//!
//! ```text
//! once per round: diff = w (R − base) / R                                         (1)
//!                 α = max(w D_min / R, 1),  D_min = 4 ms                          (2)
//! diff < α:       each ack: w += W_inc n / w,  W_inc = max(BW · 1 ms, 1)          (3)
//! α ≤ diff ≤ 3 α: it stays
//! diff > 3 α:     w −= diff − α                                                   (4)
//! beside it:      each ack: w_reno += n / w_reno;  w is never below w_reno        (5)
//! a loss:         w = max(w base / R, w / 2),  w_reno /= 2;  a timeout: w /= 2    (6)
//! ```
//!
//! Units: segments, seconds, BW in segments/s; R is the smallest RTT of the round.
//! Differs from the source: BW is what a round delivers over its time, smoothed by 7/8 (Westwood+ with another filter).
//! The loop-back shortcut of Solaris that is called TCP fusion is unrelated.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter,
    Spec, Value, Window,
};

use super::reno::segments;
use crate::shared::rounds::{queued, Round, Rounds};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fusion",
    title: "TCP-Fusion",
    kind: Kind::CongestionAvoidance,
    source: "Kaneko et al., PFLDnet 2007",
    year: 2007,
    confidence: Confidence::Medium,
    summary: "Fills the path by the estimated bandwidth while the queue is below 4 ms, gives back above 12 ms, and is never below Reno.",
    parameters: &[
        Parameter { name: "d_min", unit: "s", default: Value::Number(0.004), domain: Domain::Range(0.000_01, 1.0), doc: "the queueing delay it aims at" },
        Parameter { name: "per_round", unit: "s", default: Value::Number(0.001), domain: Domain::Range(0.000_01, 1.0), doc: "a round trip adds what the bandwidth carries in this time" },
    ],
    choices: &[
        "BW is smoothed by 7/8 per round",
        "the decrease is taken at the end of the round, at once",
        "R at a loss is the smallest sample of the round that runs, since the last judged one may be long ago",
        "a loss halves the Reno window beside it, which begins at the window at which avoidance begins",
    ],
    pitfalls: &["below 4 ms of buffer the delay says nothing and it is a faster Reno"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Fusion::new(arguments))),
};

/// TCP-Fusion's avoidance.
#[derive(Clone, Debug)]
pub struct Fusion {
    d_min: f64,
    per_round: f64,
    rounds: Rounds,
    over: Option<Round>,
    /// Segments/s; 0 before the first sample.
    bandwidth: f64,
    /// R of the last round that could be judged, ns; 0 before.
    rtt: f64,
    /// Segments that this round trip adds.
    increment: f64,
    /// The Reno window of (5); 0 before avoidance.
    reno: f64,
}

impl Fusion {
    fn new(arguments: &Arguments) -> Self {
        Self {
            d_min: arguments.number("d_min") * 1e9,
            per_round: arguments.number("per_round"),
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

    fn learn(&mut self, round: &Round) {
        if round.time > 0 {
            let sample = round.delivered * 1e9 / round.time as f64;
            self.bandwidth = if self.bandwidth == 0.0 { sample } else { (7.0 * self.bandwidth + sample) / 8.0 };
        }
        self.rtt = round.min as f64;
    }

    /// What a round decides: the new window, and what the next one adds.
    fn decide(&mut self, w: f64) -> f64 {
        let diff = queued(w, self.rounds.base(), self.rtt); // (1)
        let alpha = (w * self.d_min / self.rtt).max(1.0); // (2)
        self.increment = if diff < alpha { self.w_inc() } else { 0.0 };
        if diff > 3.0 * alpha {
            w - (diff - alpha) // (4)
        } else {
            w
        }
    }
}

impl CongestionAvoidance for Fusion {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack).filter(Round::decides) {
            self.learn(&round);
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
        // Without a sample the loss halves.
        let rtt = self.rounds.latest().filter(|_| event.cause != Cause::Timeout);
        let kept = rtt.map_or(0.0, |rtt| w - queued(w, self.rounds.base(), rtt)).max(w / 2.0);
        kept.max(2.0) // (6)
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

    fn fusion(base: u64, rtt: f64) -> Fusion {
        let mut flow = Fusion::new(&Arguments::defaults(SPEC.parameters));
        flow.rounds.base = base * 1_000_000;
        flow.rtt = rtt * 1e6;
        flow
    }

    /// The sheet: 100 Mbit/s of 1500-byte segments give W_inc = 8.333.
    #[test]
    fn a_round_adds_a_millisecond_of_the_bandwidth() {
        let mut flow = fusion(100, 100.0);
        flow.bandwidth = 100e6 / 8.0 / 1500.0;
        assert!((flow.w_inc() - 8.333_333_333_333_334).abs() < 1e-12);
        assert_eq!((flow.decide(1000.0), flow.increment), (1000.0, flow.w_inc()));
    }

    /// The sheet: w = 1000, base 100 ms. R = 110: α = 36.4, diff = 90.9, hold. R = 120: diff = 166.7, 133.3 less.
    #[test]
    fn between_one_and_three_alpha_it_stays_and_beyond_it_goes_back() {
        let mut flow = fusion(100, 110.0);
        assert_eq!((flow.decide(1000.0), flow.increment), (1000.0, 0.0));
        let mut flow = fusion(100, 120.0);
        assert!((flow.decide(1000.0) - (1000.0 - 133.333_333_333_333)).abs() < 1e-9);
    }

    /// The sheet: w = 100, base 100 ms: R = 125 leaves 80, R = 300 leaves 50.
    #[test]
    fn a_loss_leaves_what_the_path_holds_and_half_at_least() {
        let left = |ms: f64| {
            let mut flow = fusion(100, ms);
            let _ = flow.rounds.observe(&crate::shared::rounds::testing::ack_in(1, ms));
            flow.on_congestion(&loss(100), 100.0)
        };
        assert!((left(125.0) - 80.0).abs() < 1e-12);
        assert_eq!(left(300.0), 50.0);
    }

    #[test]
    fn it_is_never_below_reno() {
        let mut flow = fusion(100, 120.0);
        let ack = crate::shared::rounds::testing::ack_in(1, 120.0);
        flow.reno = 990.0;
        flow.over = Some(Round { min: 120_000_000, mean: 0.0, samples: 9, delivered: 9.0, time: 0 });
        assert!(flow.on_ack(&ack, 1000.0) > 990.0);
    }
}
