//! Compound TCP.
//!
//! Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long Distance Networks",
//! INFOCOM 2006; draft-sridharan-tcpm-ctcp-02.
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
//! Units: segments, seconds; R is the minimum of the round, win in (2) and (3) the window at its start. dwnd is 0 in slow
//! start and grows from 38 segments on.
//! Differs from the source: the draft leaves λ open; 1/4 as in the Linux port.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter,
    Spec, Value, Window,
};
use cwndlab_units::maths::{pow, sqrt};

use super::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ctcp",
    title: "Compound TCP",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFOCOM.2006.188; draft-sridharan-tcpm-ctcp-02",
    year: 2006,
    confidence: Confidence::High,
    summary: "Reno plus a delay window that grows while the queue is short and goes away when it is not.",
    parameters: &[
        Parameter {
            name: "alpha",
            unit: "",
            default: Value::Number(0.125),
            domain: Domain::Range(0.001, 10.0),
            doc: "growth of the delay window",
        },
        Parameter {
            name: "beta",
            unit: "",
            default: Value::Number(0.5),
            domain: Domain::Range(0.1, 0.9),
            doc: "what a loss takes of the whole window",
        },
        Parameter {
            name: "k",
            unit: "",
            default: Value::Number(0.75),
            domain: Domain::Range(0.1, 1.0),
            doc: "exponent of the growth",
        },
        Parameter {
            name: "eta",
            unit: "",
            default: Value::Number(1.0),
            domain: Domain::Range(0.1, 10.0),
            doc: "how fast the delay window goes",
        },
        Parameter {
            name: "gamma",
            unit: "segments",
            default: Value::Number(30.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "queue that counts as congestion",
        },
        Parameter {
            name: "auto",
            unit: "",
            default: Value::Word("on"),
            domain: Domain::Words(&["on", "off"]),
            doc: "tune gamma at losses",
        },
        Parameter {
            name: "lambda",
            unit: "",
            default: Value::Number(0.25),
            domain: Domain::Range(0.0, 1.0),
            doc: "weight of a new sample in gamma; left open by the draft",
        },
        Parameter {
            name: "low_window",
            unit: "segments",
            default: Value::Number(38.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "Reno alone below",
        },
    ],
    choices: &["win^k as in the paper, not the draft's dwnd^k", "LowWindow 38; other descriptions have about 40"],
    pitfalls: &["a base RTT measured with a standing queue hides the queue"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Ctcp::new(arguments))),
};

/// Compound's avoidance.
#[derive(Clone, Debug)]
pub struct Ctcp {
    alpha: f64,
    beta: f64,
    k: f64,
    eta: f64,
    gamma0: f64,
    gamma: f64,
    auto: bool,
    lambda: f64,
    low_window: f64,
    dwnd: f64,
    base: u64,
    round: u64,
    round_min: u64,
    samples: u32,
    diff_reno: Option<f64>,
    /// The whole window at the start of the round that is being measured.
    measured: f64,
    /// Bytes.
    mss: f64,
}

impl Ctcp {
    fn new(arguments: &Arguments) -> Self {
        let gamma = arguments.number("gamma");
        Self {
            alpha: arguments.number("alpha"),
            beta: arguments.number("beta"),
            k: arguments.number("k"),
            eta: arguments.number("eta"),
            gamma0: gamma,
            gamma,
            auto: arguments.word("auto") == "on",
            lambda: arguments.number("lambda"),
            low_window: arguments.number("low_window"),
            dwnd: 0.0,
            base: u64::MAX,
            round: 0,
            round_min: u64::MAX,
            samples: 0,
            diff_reno: None,
            measured: 0.0,
            mss: 1.0,
        }
    }

    /// The increment of the delay window: (2). The usual exponent of 3/4 takes two square roots instead of a power.
    fn increment(&self, win: f64) -> f64 {
        let power = if self.k == 0.75 { sqrt(win) * sqrt(sqrt(win)) } else { pow(win, self.k) };
        (self.alpha * power - 1.0).max(0.0)
    }

    /// (5).
    fn tune(&mut self, diff_reno: f64) {
        let sample = 0.75 * diff_reno;
        self.gamma = ((1.0 - self.lambda) * self.gamma + self.lambda * sample).clamp(5.0, 30.0);
    }

    /// The decision at the end of a round: the new whole window.
    fn decide(&mut self, win: f64) -> f64 {
        let cwnd = win - self.dwnd;
        let queued = 1.0 - self.base as f64 / self.round_min as f64;
        self.diff_reno = Some(cwnd * queued);
        let diff = self.measured * queued;
        let grown = self.dwnd + self.increment(self.measured);
        self.dwnd = if diff < self.gamma { grown } else { (self.dwnd - self.eta * diff).max(0.0) };
        cwnd + self.dwnd
    }
}

impl CongestionAvoidance for Ctcp {
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.mss = ack.mss.0 as f64;
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt.0);
            self.round_min = self.round_min.min(rtt.0);
            self.samples += 1;
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let mut win = w + segments(ack) / w; // (1)
        if ack.round > self.round {
            // The Vegas family's rule: two samples or fewer decide nothing.
            if self.samples > 2 && self.measured >= self.low_window {
                win = self.decide(win);
            }
            self.measured = win;
            (self.round, self.round_min, self.samples) = (ack.round, u64::MAX, 0);
        }
        win.max(2.0)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if event.cause == Cause::Timeout {
            (self.dwnd, self.gamma, self.diff_reno) = (0.0, self.gamma0, None);
            return (w / 2.0).max(2.0);
        }
        if let (true, Some(diff)) = (self.auto, self.diff_reno.take()) {
            self.tune(diff);
        }
        let cwnd = w - self.dwnd;
        self.dwnd = (w * (1.0 - self.beta) - cwnd / 2.0).max(0.0); // (4)
        (cwnd / 2.0 + self.dwnd).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Idle => self.dwnd = 0.0, // slow start begins again
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

    /// The sheet: win = 100 with cwnd 60 and dwnd 40; a loss leaves 30 and 20.
    #[test]
    fn a_loss_halves_the_whole_window() {
        let mut flow = Ctcp::new(&Arguments::defaults(SPEC.parameters));
        flow.dwnd = 40.0;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
        assert_eq!(flow.dwnd, 20.0);
    }

    /// By hand: recovery ends at ten of 50 segments, of which the delay window can be no more; idleness leaves none of it.
    #[test]
    fn a_window_that_is_imposed_bounds_the_delay_window() {
        let mut flow = Ctcp::new(&Arguments::defaults(SPEC.parameters));
        flow.observe(&ack(1), 100.0);
        flow.dwnd = 40.0;
        flow.on_window(&Window { change: Change::Recovered, cwnd: MSS * 10, ..undo() });
        assert_eq!(flow.dwnd, 10.0);
        flow.on_window(&Window { change: Change::Idle, cwnd: MSS * 10, ..undo() });
        assert_eq!(flow.dwnd, 0.0);
    }

    /// `known-answers.csv`: α win^k − 1, and γ = 26.25 after a loss with diff_reno = 20.
    #[test]
    fn increments_and_gamma_are_those_of_the_sheet() {
        let mut flow = Ctcp::new(&Arguments::defaults(SPEC.parameters));
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
