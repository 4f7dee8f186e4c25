//! TCP-Illinois: loss says whether, delay says how much.
//!
//! Source: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
//! networks", VALUETOOLS 2006, Performance Evaluation 65(6–7), 2008.
//!
//! ```text
//! d_a = mean RTT of the round − base,  d_m = largest RTT − base
//! d1 = d_m / 100,  d2 = d_m / 10,  d3 = 0.8 d_m
//! α = α_max for d_a ≤ d1, else κ1 / (κ2 + d_a)                            (1)
//!   κ1 = (d_m − d1) α_min α_max / (α_max − α_min),  κ2 = (d_m − d1) α_min / (α_max − α_min) − d1
//! β = β_min for d_a ≤ d2, β_max for d_a ≥ d3 or d3 ≤ d2, linear between   (2)
//! below 15 segments: α = 1, β = 1/2                                       (3)
//! each ack: w += α n / w;  each congestion: w = (1 − β) w                 (4)
//! ```
//!
//! Units: segments, seconds. Once d1 was passed, α = α_max needs θ = 5 rounds in a row below it.
//! Differs from the source: nothing that is known. `decrease = ns2` leaves β w of the window, as the module of Linux 2.6.22
//! in ns-2.35 does.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter, Spec,
    Value,
};

use super::reno::segments;
use crate::shared::round_rtt::{Round, RoundRtt};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "illinois",
    title: "TCP-Illinois",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1016/j.peva.2007.12.007",
    year: 2006,
    confidence: Confidence::High,
    summary: "Additive increase of 0.3 to 10 segments and a decrease of 1/8 to 1/2, both by the queueing delay.",
    parameters: &[
        Parameter {
            name: "alpha_min",
            unit: "segments",
            default: Value::Number(0.3),
            domain: Domain::Range(0.01, 1.0),
            doc: "increment per round trip at the largest delay",
        },
        Parameter {
            name: "alpha_max",
            unit: "segments",
            default: Value::Number(10.0),
            domain: Domain::Range(1.01, 1000.0),
            doc: "increment per round trip without a queue",
        },
        Parameter {
            name: "beta_min",
            unit: "",
            default: Value::Number(0.125),
            domain: Domain::Range(0.01, 0.9),
            doc: "what a loss takes without a queue",
        },
        Parameter {
            name: "beta_max",
            unit: "",
            default: Value::Number(0.5),
            domain: Domain::Range(0.01, 0.9),
            doc: "what a loss takes at a large delay",
        },
        Parameter {
            name: "theta",
            unit: "rounds",
            default: Value::Number(5.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "rounds in a row below d1 before alpha_max comes back",
        },
        Parameter {
            name: "w_thresh",
            unit: "segments",
            default: Value::Number(15.0),
            domain: Domain::Range(0.0, 1000.0),
            doc: "Reno below",
        },
        Parameter {
            name: "decrease",
            unit: "",
            default: Value::Word("paper"),
            domain: Domain::Words(&["paper", "ns2"]),
            doc: "ns2: a loss leaves beta w instead of (1 - beta) w, the fault of Linux 2.6.22 that ns-2.35 keeps",
        },
        Parameter {
            name: "min_cwnd",
            unit: "",
            default: Value::Word("ssthresh"),
            domain: Domain::Words(&["ssthresh", "half"]),
            doc: "half: while a loss is repaired the window may fall to half of ssthresh, as in ns-2.35's Linux modules (needs fack)",
        },
    ],
    choices: &["the largest RTT is kept for the whole connection, as in Linux"],
    pitfalls: &["one outlier of the RTT stretches all thresholds for good", "with decrease=ns2 the window falls to 1/8 where there is no queue"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Illinois::new(arguments))),
};

/// What delay decided.
#[derive(Clone, Copy, Debug)]
struct Pace {
    alpha: f64,
    beta: f64,
    /// d1 was passed.
    above: bool,
    /// Rounds in a row below it since.
    low: f64,
}

/// Illinois' avoidance.
#[derive(Clone, Debug)]
pub struct Illinois {
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    theta: f64,
    w_thresh: f64,
    inverted: bool,
    rtts: RoundRtt,
    now: Pace,
}

impl Illinois {
    fn new(arguments: &Arguments) -> Self {
        let (alpha_max, beta_max) = (arguments.number("alpha_max"), arguments.number("beta_max"));
        let start = Pace { alpha: alpha_max, beta: beta_max, above: false, low: 0.0 };
        Self {
            alpha_min: arguments.number("alpha_min"),
            alpha_max,
            beta_min: arguments.number("beta_min").min(beta_max),
            beta_max,
            theta: arguments.number("theta"),
            w_thresh: arguments.number("w_thresh"),
            inverted: arguments.word("decrease") == "ns2",
            rtts: RoundRtt::default(),
            now: start,
        }
    }

    /// (1), with the memory of having been above d1.
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let d1 = dm / 100.0;
        if da <= d1 {
            if !self.now.above {
                return self.alpha_max;
            }
            self.now.low += 1.0;
            if self.now.low < self.theta {
                return self.now.alpha;
            }
            (self.now.above, self.now.low) = (false, 0.0);
            return self.alpha_max;
        }
        (self.now.above, self.now.low) = (true, 0.0);
        let scale = (dm - d1) * self.alpha_min / (self.alpha_max - self.alpha_min);
        let (kappa1, kappa2) = (scale * self.alpha_max, scale - d1);
        kappa1 / (kappa2 + da)
    }

    /// (2).
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (dm / 10.0, 0.8 * dm);
        if da <= d2 {
            return self.beta_min;
        }
        if da >= d3 || d3 <= d2 {
            return self.beta_max;
        }
        (self.beta_min * (d3 - da) + self.beta_max * (da - d2)) / (d3 - d2)
    }

    fn decide(&mut self, round: Round, w: f64) {
        if w < self.w_thresh {
            (self.now.alpha, self.now.beta) = (1.0, 0.5); // (3)
        } else if round.samples > 0 {
            let base = self.rtts.base as f64;
            let (da, dm) = (round.mean() - base, self.rtts.max as f64 - base);
            self.now.alpha = self.alpha(da, dm);
            self.now.beta = self.beta(da, dm);
        }
    }
}

impl CongestionAvoidance for Illinois {
    #[inline]
    fn observe(&mut self, ack: &Ack, w: f64) {
        if let Some(round) = self.rtts.observe(ack) {
            self.decide(round, w);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        w + self.now.alpha * segments(ack) / w // (4)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let kept = if self.inverted { self.now.beta } else { 1.0 - self.now.beta };
        if event.cause == Cause::Timeout {
            self.now = Pace { alpha: 1.0, beta: 0.5, above: false, low: 0.0 };
            self.rtts.restart();
        }
        (w * kept).max(2.0) // (4)
    }

    fn extra(&self, put: Extra<'_>) {
        put("alpha_segments", self.now.alpha);
        put("beta", self.now.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, timeout};

    fn flow() -> Illinois {
        Illinois::new(&Arguments::defaults(SPEC.parameters))
    }

    /// `known-answers.csv`, d_m = 100 ms.
    #[test]
    fn alpha_and_beta_are_those_of_the_sheet() {
        for (da, alpha, beta) in [
            (1.0, 10.0, 0.125),
            (5.0, 4.335_766_423_357_665, 0.125),
            (10.0, 2.538_461_538_461_538_8, 0.125),
            (25.0, 1.131_428_571_428_571_5, 0.205_357_142_857_142_85),
            (45.0, 0.650_602_409_638_554_2, 0.312_5),
            (50.0, 0.588_118_811_881_188_1, 0.339_285_714_285_714_3),
            (80.0, 0.373_115_577_889_447_2, 0.5),
            (100.0, 0.3, 0.5),
        ] {
            assert!((flow().alpha(da, 100.0) - alpha).abs() < 1e-12, "{da}: {}", flow().alpha(da, 100.0));
            assert!((flow().beta(da, 100.0) - beta).abs() < 1e-12, "{da}: {}", flow().beta(da, 100.0));
        }
    }

    /// The sheet: after d1 was passed, α_max comes back with the fifth round in a row below it.
    #[test]
    fn the_largest_pace_comes_back_after_five_rounds() {
        let mut flow = flow();
        flow.now.alpha = flow.alpha(50.0, 100.0);
        let slow = flow.now.alpha;
        for _ in 0..4 {
            assert_eq!(flow.alpha(0.5, 100.0), slow);
        }
        assert_eq!(flow.alpha(0.5, 100.0), 10.0);
    }

    /// (3) and (4) by hand: 100 segments at β = 1/8 keep 87.5, inverted 12.5; a timeout keeps half, then α = 1.
    #[test]
    fn a_loss_leaves_what_beta_says() {
        let mut flow = flow();
        flow.now.beta = 0.125;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 87.5);
        flow.inverted = true;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 12.5);
        flow.inverted = false;
        flow.now.beta = 0.5;
        assert_eq!(flow.on_congestion(&timeout(100), 100.0), 50.0);
        assert_eq!(flow.on_ack(&ack(1), 10.0), 10.1);
    }

    /// (3): a round that ends below 15 segments is Reno's.
    #[test]
    fn a_small_window_is_reno() {
        let mut flow = flow();
        flow.observe(&Ack { round: 2, ..ack(1) }, 14.0);
        assert_eq!((flow.now.alpha, flow.now.beta), (1.0, 0.5));
    }
}
