//! Vegas+: Vegas with an aggressive mode for competition with loss-based flows.
//!
//! Source: G. Hasegawa, K. Kurata, M. Murata, "Analysis and Improvement of Fairness between TCP Reno and Vegas for
//! Deployment of TCP Vegas to the Internet", ICNP 2000; known from published summaries.
//!
//! ```text
//! moderate:   Vegas                                                          (1)
//! aggressive: each ack: w += n / w                                           (2)
//! once per moderate round: R above that of the last round and w not increased: Count += 1
//!                          R below that of the last round: Count = max(Count − 1, 0)      (3)
//! Count = Count_max: aggressive                                              (4)
//! loss: w /= 2, Count = ⌊Count / 2⌋; moderate again at Count < 1             (5)
//! timeout: Count = 0, moderate
//! ```
//!
//! Units: segments, seconds; R is the mean RTT of a round.
//! Differs from the source: its text was not available; the condition of the return to the moderate mode is our choice.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use super::reno::segments;
use crate::shared::margin::{above, below};
use crate::shared::rounds::{queued, Round, Rounds};

options! {
    struct Options {
        /// moderate mode: backlog below which the window increases
        alpha: f64["segments"] = 2.0 in 0.0..=10_000.0,
        /// moderate mode: backlog above which the window decreases
        beta: f64["segments"] = 4.0 in 0.0..=10_000.0,
        /// rounds of rising RTT until the aggressive mode
        count_max: f64["rounds"] = 8.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "vegas-plus",
    title: "TCP Vegas+",
    kind: Kind::CongestionAvoidance,
    source: "Hasegawa, Kurata, Murata, ICNP 2000",
    year: 2000,
    confidence: Confidence::Medium,
    summary: "Vegas (moderate mode) until the RTT rises for several rounds without an increase of the window; then Reno (aggressive mode) until losses have reduced a counter to 0.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the moderate mode returns when Count, halved by each loss, falls below 1",
        "a loss halves the window in both modes",
    ],
    pitfalls: &["Vegas+ flows can raise the RTT themselves: with many of them some enter the aggressive mode"],
    companion: "vegas-ss",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(VegasPlus::new(arguments.into()))),
};

/// The mode of competition and its counter.
#[derive(Clone, Copy, Debug, Default)]
struct Mode {
    count: u32,
    aggressive: bool,
}

/// Congestion avoidance of Vegas+.
#[derive(Clone, Debug)]
pub struct VegasPlus {
    alpha: f64,
    beta: f64,
    count_max: u32,
    rounds: Rounds,
    over: Option<Round>,
    /// R of the last round, ns, and the window at its end; 0 before the first.
    last: (f64, f64),
    mode: Mode,
}

impl VegasPlus {
    fn new(options: Options) -> Self {
        Self {
            alpha: options.alpha,
            beta: options.beta,
            count_max: options.count_max as u32,
            rounds: Rounds::default(),
            over: None,
            last: (0.0, 0.0),
            mode: Mode::default(),
        }
    }

    /// (3) and (4), for a round with mean RTT `rtt` that ends at window `w`.
    fn count(&mut self, rtt: f64, w: f64) {
        let (last_rtt, last_w) = self.last;
        // No margin: a mean is the quotient of two integers, equal for equal means, and `last_w` is a copy.
        if last_rtt > 0.0 && rtt > last_rtt && w <= last_w {
            self.mode.count += 1;
        } else if rtt < last_rtt {
            self.mode.count = self.mode.count.saturating_sub(1);
        }
        self.mode.aggressive = self.mode.count >= self.count_max;
    }

    /// (1).
    fn vegas(&mut self, w: f64) -> f64 {
        let Some(round) = self.over.take() else { return w };
        if !round.decides() {
            return w + 1.0;
        }
        self.count(round.mean, w);
        let diff = queued(w, self.rounds.base(), round.mean);
        let mut next = w;
        if below(diff, self.alpha) {
            next += 1.0;
        } else if above(diff, self.beta) {
            next = (w - 1.0).max(2.0);
        }
        // The next round compares its window with the one after this round.
        self.last = (round.mean, next);
        next
    }
}

impl CongestionAvoidance for VegasPlus {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack) {
            self.over = Some(round);
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if self.mode.aggressive {
            w + segments(ack) / w // (2)
        } else {
            self.vegas(w)
        }
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        (self.over, self.last) = (None, (0.0, 0.0));
        self.mode.count = if event.cause == Cause::Timeout { 0 } else { self.mode.count / 2 };
        self.mode.aggressive &= self.mode.count >= 1; // (5)
        (w / 2.0).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.rounds.interrupt();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("count_rounds", f64::from(self.mode.count));
        put("aggressive", f64::from(u8::from(self.mode.aggressive)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{loss, timeout};

    fn flow() -> VegasPlus {
        VegasPlus::new(Options::default())
    }

    /// A round with mean RTT `ms` at a constant window; base is 100 ms, so that 3 of 30 segments are queued at 111 ms.
    fn round(flow: &mut VegasPlus, ms: f64) {
        flow.over = Some(Round { min: 0, mean: ms * 1e6, samples: 30, delivered: 30.0, time: 0 });
        flow.rounds.base = 100_000_000;
        assert_eq!(flow.vegas(30.0), 30.0);
    }

    /// Reference values: aggressive after eight consecutive rounds of rising RTT at a constant window; moderate again
    /// after four losses.
    #[test]
    fn eight_rounds_of_rising_rtt_start_the_aggressive_mode_and_four_losses_end_it() {
        let mut flow = flow();
        round(&mut flow, 110.0);
        for rise in 1..=8 {
            assert!(!flow.mode.aggressive);
            round(&mut flow, 110.0 + 0.1 * f64::from(rise));
        }
        assert!(flow.mode.aggressive);
        for (count, aggressive) in [(4, true), (2, true), (1, true), (0, false)] {
            assert_eq!(flow.on_congestion(&loss(30), 30.0), 15.0);
            assert_eq!((flow.mode.count, flow.mode.aggressive), (count, aggressive));
        }
    }

    #[test]
    fn a_falling_rtt_decrements_and_a_timeout_resets_the_counter() {
        let mut flow = flow();
        for ms in [110.0, 110.1, 110.2, 110.1] {
            round(&mut flow, ms);
        }
        assert_eq!(flow.mode.count, 1);
        flow.mode = Mode { count: 8, aggressive: true };
        let _ = flow.on_congestion(&timeout(30), 30.0);
        assert_eq!((flow.mode.count, flow.mode.aggressive), (0, false));
    }
}
