//! HCC TCP: delay-based control at short queues, Reno's increase at longer ones (our reconstruction).
//!
//! Source: Xu et al., "Hybrid congestion control for high-speed networks", Journal of Network and Computer
//! Applications, 2011; reconstructed from its abstract and from descriptions in later papers.
//!
//! ```text
//! W_D = α R / q                                                                          (1)
//! once per round:
//!   q < 1/4 of the maximum q:  w = min(W_D, 2 w, (1 − γ) w + γ (base / R w + α)), γ = 1/2  (2)
//!   q > 3/4:                   w is constant
//!   else:                      w += 1                                                     (3)
//! loss: w /= 2                                                                           (4)
//! ```
//!
//! Units: segments, seconds; R is the mean RTT of the round, q = R − base.
//! Differs from the source: only its idea is known: delay as the first signal, loss as the second. The source also has a
//! reference window, that of the last loss. No description says what it does, and (3) increases by one segment per round
//! trip below and above it, so there is none here.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use super::fast::update;
use crate::shared::margin::{above, below};
use crate::shared::rounds::{Round, Rounds};

options! {
    struct Options {
        /// segments in the queue in the equilibrium of the delay-based update
        alpha: f64["segments"] = 100.0 in 1.0..=100_000.0,
        /// fraction of the maximum queueing delay below which the update is delay-based
        low: f64 = 0.25 in 0.0..=1.0,
        /// fraction of the maximum queueing delay above which the window is constant
        high: f64 = 0.75 in 0.0..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hcc",
    title: "HCC TCP (hybrid congestion control for high-speed networks)",
    kind: Kind::CongestionAvoidance,
    source: "Xu et al., J. Network and Computer Applications 2011",
    year: 2011,
    confidence: Confidence::Low,
    summary: "FAST's delay-based update while the queue is short, Reno's increment while it is longer, a constant window close to the maximum queueing delay. Our reconstruction from an abstract.",
    parameters: Options::PARAMETERS,
    choices: &["thresholds of 1/4 and 3/4 of the maximum queueing delay so far", "gamma of the delay-based update is 1/2, and its step takes effect at once", "a loss halves the window", "the window of the last loss, a reference of the source whose use is not described, has no effect"],
    pitfalls: &["before the first queue the maximum queueing delay is unknown, and the update is delay-based"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Hcc::new(arguments.into()))),
};

/// Congestion avoidance of HCC.
#[derive(Clone, Debug)]
pub struct Hcc {
    options: Options,
    rounds: Rounds,
    over: Option<Round>,
    /// Largest mean RTT of a round, ns.
    rtt_max: f64,
}

impl Hcc {
    fn new(options: Options) -> Self {
        Self { options, rounds: Rounds::default(), over: None, rtt_max: 0.0 }
    }

    /// W_D of (1).
    fn w_d(&self, rtt: f64, q: f64) -> f64 {
        if q > 0.0 {
            self.options.alpha * rtt / q
        } else {
            f64::INFINITY
        }
    }

    /// The window after a round with mean RTT `rtt`, ns.
    fn decide(&self, w: f64, rtt: f64) -> f64 {
        let base = self.rounds.base();
        let q = rtt - base;
        let range = self.rtt_max - base;
        // With rounding margins, since queues of whole packets are whole fractions of the longest. None for q = 0: a mean
        // equals the minimum only where all samples do.
        if q <= 0.0 || below(q, self.options.low * range) {
            return update(w, w, base, rtt, 0.5, self.options.alpha).min(self.w_d(rtt, q));
            // (2)
        }
        if above(q, self.options.high * range) {
            w
        } else {
            w + 1.0 // (3)
        }
    }
}

impl CongestionAvoidance for Hcc {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack) {
            self.rtt_max = self.rtt_max.max(round.mean);
            self.over = Some(round);
        }
    }

    fn on_ack(&mut self, _: &Ack, w: f64) -> f64 {
        match self.over.take() {
            None => w,
            Some(round) if !round.decides() => w + 1.0,
            Some(round) => self.decide(w, round.mean).max(2.0),
        }
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        self.over = None;
        (w / 2.0).max(2.0) // (4)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.rounds.interrupt();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        if self.rtt_max > 0.0 {
            put("max_queueing_s", (self.rtt_max - self.rounds.base()) * 1e-9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::loss;

    fn hcc() -> Hcc {
        let mut flow = Hcc::new(Options::default());
        flow.rounds.base = 100_000_000;
        flow.rtt_max = 140e6;
        flow
    }

    /// Reference values: R = 110, q = 10, α = 100 give W_D = 1100; after a loss at 800 w = 400.
    #[test]
    fn the_delay_target_and_the_loss_match_the_reference_values() {
        let mut flow = hcc();
        assert!((flow.w_d(110e6, 10e6) - 1100.0).abs() < 1e-9);
        assert_eq!(flow.on_congestion(&loss(800), 800.0), 400.0);
    }

    /// By hand, with a maximum q of 40 ms. 5 ms: 0.5 · 400 + 0.5 (400/1.05 + 100) = 440.48; 20 ms: one more; 35 ms:
    /// constant.
    #[test]
    fn the_update_is_delay_based_at_short_queues_and_reno_above() {
        let flow = hcc();
        assert!((flow.decide(400.0, 105e6) - 440.476_190_476).abs() < 1e-6);
        assert_eq!(flow.decide(400.0, 120e6), 401.0);
        assert_eq!(flow.decide(400.0, 135e6), 400.0);
        assert_eq!(flow.decide(40.0, 100e6), 80.0, "it at most doubles");
    }
}
