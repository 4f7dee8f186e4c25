//! Compound TCP: Reno's window plus a window controlled by delay.
//!
//! Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long Distance
//! Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02.
//!
//! ```text
//! win = cwnd + dwnd; each ack: cwnd += n / win                             (1)
//! once per round, diff = win (1 − base / R):
//!   diff < γ: dwnd += max(α win^k − 1, 0)                                  (2)
//!   else:     dwnd  = max(dwnd − η diff, 0)                                (3)
//! loss: dwnd = max(win (1 − β) − cwnd / 2, 0), cwnd /= 2                   (4)
//! γ-tuning on loss: γ = clamp((1 − λ) γ + λ · 3/4 · diff_reno, 5, 30)      (5)
//! ```
//!
//! Units: segments, seconds; R is the minimum RTT of the round, win in (2) and (3) the window at its start. dwnd is 0
//! in slow start and increases from a window of 38 segments on.
//! Differs from the source: the draft gives no value of λ; 1/4 as in the Linux port.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};
use cwndlab_units::maths::{pow, sqrt};

use super::reno::segments;
use crate::shared::margin::below;

options! {
    struct Options {
        /// α, scale of the delay window's increase
        alpha: f64 = 0.125 in 0.001..=10.0,
        /// β, fraction by which a loss reduces the total window
        beta: f64 = 0.5 in 0.1..=0.9,
        /// exponent of the delay window's increase
        k: f64 = 0.75 in 0.1..=1.0,
        /// η, decrease of the delay window per queued segment
        eta: f64 = 1.0 in 0.1..=10.0,
        /// γ, backlog at which the delay window decreases
        gamma: f64["segments"] = 30.0 in 1.0..=1000.0,
        /// on: losses tune gamma (γ auto-tuning)
        auto: bool = true,
        /// λ, weight of a new sample in gamma; the draft gives no value
        lambda: f64 = 0.25 in 0.0..=1.0,
        /// window below which the delay window does not increase
        low_window: f64["segments"] = 38.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ctcp",
    title: "Compound TCP",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFOCOM.2006.188; draft-sridharan-tcpm-ctcp-02",
    year: 2006,
    confidence: Confidence::High,
    summary: "The window is the sum of Reno's window and a delay window. The delay window increases while the queue is short and decreases when it is long.",
    parameters: Options::PARAMETERS,
    choices: &["win^k as in the paper, not dwnd^k as in the draft", "LowWindow is 38; other descriptions have about 40"],
    pitfalls: &["a base RTT that was measured with a standing queue includes that queue, so the backlog is underestimated"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Ctcp::new(arguments.into()))),
};

/// Congestion avoidance of Compound TCP.
#[derive(Clone, Debug)]
pub struct Ctcp {
    options: Options,
    gamma0: f64,
    gamma: f64,
    dwnd: f64,
    base: u64,
    round: u64,
    round_min: u64,
    samples: u32,
    diff_reno: Option<f64>,
    /// The total window at the start of the current round.
    round_window: f64,
    /// Bytes.
    mss: f64,
}

impl Ctcp {
    fn new(options: Options) -> Self {
        let gamma = options.gamma;
        Self {
            options,
            gamma0: gamma,
            gamma,
            dwnd: 0.0,
            base: u64::MAX,
            round: 0,
            round_min: u64::MAX,
            samples: 0,
            diff_reno: None,
            round_window: 0.0,
            mss: 1.0,
        }
    }

    /// The increment of the delay window: (2). The default exponent of 3/4 takes square roots instead of a power.
    fn increment(&self, win: f64) -> f64 {
        let power = if self.options.k == 0.75 { sqrt(win) * sqrt(sqrt(win)) } else { pow(win, self.options.k) };
        (self.options.alpha * power - 1.0).max(0.0)
    }

    /// (5).
    fn tune(&mut self, diff_reno: f64) {
        let sample = 0.75 * diff_reno;
        self.gamma = ((1.0 - self.options.lambda) * self.gamma + self.options.lambda * sample).clamp(5.0, 30.0);
    }

    /// Updates the delay window at the end of a round. Returns the new total window.
    fn decide(&mut self, win: f64) -> f64 {
        let cwnd = win - self.dwnd;
        let queued = 1.0 - self.base as f64 / self.round_min as f64;
        self.diff_reno = Some(cwnd * queued);
        let diff = self.round_window * queued;
        let grown = self.dwnd + self.increment(self.round_window);
        self.dwnd = if below(diff, self.gamma) { grown } else { (self.dwnd - self.options.eta * diff).max(0.0) };
        cwnd + self.dwnd
    }
}

impl CongestionAvoidance for Ctcp {
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.mss = ack.mss.0 as f64;
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt.as_nanos());
            self.round_min = self.round_min.min(rtt.as_nanos());
            self.samples += 1;
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let mut win = w + segments(ack) / w; // (1)
        if ack.round > self.round {
            // As in Linux' Vegas family, a round with two samples or fewer changes nothing. No margin for the window: every
            // ACK raises it.
            if self.samples > 2 && self.round_window >= self.options.low_window {
                win = self.decide(win);
            }
            self.round_window = win;
            (self.round, self.round_min, self.samples) = (ack.round, u64::MAX, 0);
        }
        win.max(2.0)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if event.cause == Cause::Timeout {
            (self.dwnd, self.gamma, self.diff_reno) = (0.0, self.gamma0, None);
            return (w / 2.0).max(2.0);
        }
        if let (true, Some(diff)) = (self.options.auto, self.diff_reno.take()) {
            self.tune(diff);
        }
        let cwnd = w - self.dwnd;
        self.dwnd = (w * (1.0 - self.options.beta) - cwnd / 2.0).max(0.0); // (4)
        (cwnd / 2.0 + self.dwnd).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Idle => self.dwnd = 0.0, // slow start restarts
            Change::Recovered => self.dwnd = self.dwnd.min(window.cwnd.0 as f64 / self.mss),
            Change::Undo | Change::Established => {}
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("dwnd_segments", self.dwnd);
        put("gamma_segments", self.gamma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, undo, MSS};

    /// Reference values: win = 100 with cwnd 60 and dwnd 40; after a loss 30 and 20.
    #[test]
    fn a_loss_halves_the_total_window() {
        let mut flow = Ctcp::new(Options::default());
        flow.dwnd = 40.0;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
        assert_eq!(flow.dwnd, 20.0);
    }

    /// By hand: recovery ends with ten of 50 segments, which bound the delay window; an idle period resets it.
    #[test]
    fn a_window_set_by_the_transport_bounds_the_delay_window() {
        let mut flow = Ctcp::new(Options::default());
        flow.observe(&ack(1), 100.0);
        flow.dwnd = 40.0;
        flow.on_window(&Window { change: Change::Recovered, cwnd: MSS * 10, ..undo() });
        assert_eq!(flow.dwnd, 10.0);
        flow.on_window(&Window { change: Change::Idle, cwnd: MSS * 10, ..undo() });
        assert_eq!(flow.dwnd, 0.0);
    }

    /// `known-answers.csv`: α win^k − 1, and γ = 26.25 after a loss with diff_reno = 20.
    #[test]
    fn increments_and_gamma_match_the_known_answers() {
        let mut flow = Ctcp::new(Options::default());
        for (win, step) in [
            (16.0, 0.0),
            (38.0, 0.913_144_222_023_742_2),
            (100.0, 2.952_847_075_210_474),
            (1000.0, 21.228_492_625_486_535),
            (10_000.0, 124.0),
        ] {
            assert!((flow.increment(win) - step).abs() < 1e-9);
        }
        flow.tune(20.0);
        assert_eq!(flow.gamma, 26.25);
    }
}
