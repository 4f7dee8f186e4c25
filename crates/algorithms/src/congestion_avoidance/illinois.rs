//! TCP-Illinois: loss-based AIMD whose increase and decrease depend on the queueing delay.
//!
//! Source: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for
//! high-speed networks", VALUETOOLS 2006, Performance Evaluation 65(6–7), 2008.
//!
//! ```text
//! d_a = mean RTT of the round − base,  d_m = maximum RTT − base
//! d1 = d_m / 100,  d2 = d_m / 10,  d3 = 0.8 d_m
//! α = α_max for d_a ≤ d1, else κ1 / (κ2 + d_a)                            (1)
//!   κ1 = (d_m − d1) α_min α_max / (α_max − α_min),  κ2 = (d_m − d1) α_min / (α_max − α_min) − d1
//! β = β_min for d_a ≤ d2, β_max for d_a ≥ d3 or d3 ≤ d2, linear between   (2)
//! below 15 segments: α = 1, β = 1/2                                       (3)
//! each ack: w += α n / w;  congestion event: w = (1 − β) w                (4)
//! ```
//!
//! Units: segments, seconds. After d_a exceeded d1, α returns to α_max after θ = 5 consecutive rounds below d1.
//! Differs from the source: nothing known. `decrease = ns2` reduces the window to β w, as the module of Linux 2.6.22 in
//! ns-2.35 does. `counter = linux` counts whole segments as Linux does, where the rounds below d1 need not be consecutive.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use cwndlab_units::maths::floor;

use super::reno::segments;
use crate::shared::margin::above;
use crate::shared::round_rtt::{Round, RoundRtt};

options! {
    struct Options {
        /// α_min, increment per round trip at the maximum delay
        alpha_min: f64["segments"] = 0.3 in 0.01..=1.0,
        /// α_max, increment per round trip without a queue
        alpha_max: f64["segments"] = 10.0 in 1.01..=1000.0,
        /// β_min, decrease fraction without a queue
        beta_min: f64 = 0.125 in 0.01..=0.9,
        /// β_max, decrease fraction at a large delay
        beta_max: f64 = 0.5 in 0.01..=0.9,
        /// θ, rounds below d1 until the increment returns to alpha_max
        theta: f64["rounds"] = 5.0 in 1.0..=1000.0,
        /// window below which the algorithm is Reno
        w_thresh: f64["segments"] = 15.0 in 0.0..=1000.0,
        /// ns2: a loss reduces the window to beta w instead of (1 - beta) w, a bug of Linux 2.6.22 that is present in
        /// ns-2.35
        decrease: Decrease { Paper = "paper", Ns2 = "ns2" } = Paper,
        /// linux: whole segments; the rest of the ACKs after an increment does not count, and the θ rounds need not be
        /// consecutive
        counter: Counter { Real = "real", Linux = "linux" } = Real,
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "illinois",
    title: "TCP-Illinois",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1016/j.peva.2007.12.007",
    year: 2006,
    confidence: Confidence::High,
    summary: "AIMD whose parameters depend on the queueing delay: an increase of 10 to 0.3 segments per round trip and a decrease by 1/8 to 1/2 of the window.",
    parameters: Options::PARAMETERS,
    choices: &["the maximum RTT is that of the whole connection, as in Linux"],
    pitfalls: &["one RTT outlier raises all thresholds permanently", "decrease=ns2 reduces the window to 1/8 where there is no queue"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Illinois::new(arguments.into()))),
};

/// The delay-dependent parameters of AIMD.
#[derive(Clone, Copy, Debug)]
struct Factors {
    alpha: f64,
    beta: f64,
    /// d_a exceeded d1.
    above: bool,
    /// Rounds below d1 since then, consecutive ones but with Linux' counter.
    low: f64,
}

/// Congestion avoidance of TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    theta: f64,
    w_thresh: f64,
    inverted: bool,
    integer: bool,
    /// Acknowledged segments since the last increment (Linux).
    credit: f64,
    rtts: RoundRtt,
    factors: Factors,
}

impl Illinois {
    fn new(options: Options) -> Self {
        let alpha_max = options.alpha_max;
        let beta_max = options.beta_max;
        let factors = Factors { alpha: alpha_max, beta: beta_max, above: false, low: 0.0 };
        Self {
            alpha_min: options.alpha_min,
            alpha_max,
            beta_min: options.beta_min.min(beta_max),
            beta_max,
            theta: options.theta,
            w_thresh: options.w_thresh,
            inverted: options.decrease == Decrease::Ns2,
            integer: options.counter == Counter::Linux,
            credit: 0.0,
            rtts: RoundRtt::default(),
            factors,
        }
    }

    /// (1), with the hysteresis of θ rounds.
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let d1 = dm / 100.0;
        // With a rounding margin, since one round above d1 lowers α for θ rounds.
        if !above(da, d1) {
            if !self.factors.above {
                return self.alpha_max;
            }
            self.factors.low += 1.0;
            if self.factors.low < self.theta {
                return self.factors.alpha;
            }
            (self.factors.above, self.factors.low) = (false, 0.0);
            return self.alpha_max;
        }
        self.factors.above = true;
        if !self.integer {
            self.factors.low = 0.0;
        }
        let scale = (dm - d1) * self.alpha_min / (self.alpha_max - self.alpha_min);
        let kappa1 = scale * self.alpha_max;
        let kappa2 = scale - d1;
        kappa1 / (kappa2 + da)
    }

    /// (2).
    fn beta(&self, da: f64, dm: f64) -> f64 {
        // No margins: (2) is continuous, and d3 ≤ d2 only where both are 0.
        let d2 = dm / 10.0;
        let d3 = 0.8 * dm;
        if da <= d2 {
            return self.beta_min;
        }
        if da >= d3 || d3 <= d2 {
            return self.beta_max;
        }
        (self.beta_min * (d3 - da) + self.beta_max * (da - d2)) / (d3 - d2)
    }

    fn decide(&mut self, round: Round, w: f64) {
        // No margin for the window: every ACK raises it.
        if w < self.w_thresh {
            (self.factors.alpha, self.factors.beta) = (1.0, 0.5); // (3)
        } else if round.samples > 0 {
            let base = self.rtts.base as f64;
            let da = round.mean() - base;
            let dm = self.rtts.max as f64 - base;
            self.factors.alpha = self.alpha(da, dm);
            self.factors.beta = self.beta(da, dm);
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
        if !self.integer {
            return w + self.factors.alpha * segments(ack) / w; // (4)
        }
        self.credit += segments(ack);
        let whole = floor(w);
        let delta = floor(self.credit * self.factors.alpha);
        if delta < whole {
            return w;
        }
        self.credit = 0.0;
        w + floor(delta / whole)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.credit = 0.0;
        let factor = if self.inverted { self.factors.beta } else { 1.0 - self.factors.beta };
        if event.cause == Cause::Timeout {
            self.factors = Factors { alpha: 1.0, beta: 0.5, above: false, low: 0.0 };
            self.rtts.restart();
        }
        if self.integer {
            return (floor(w) - floor(floor(w) * (1.0 - factor))).max(2.0);
        }
        (w * factor).max(2.0) // (4)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Undo {
            self.credit = 0.0; // tcp_init_cwnd_reduction reset snd_cwnd_cnt
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("alpha_segments", self.factors.alpha);
        put("beta", self.factors.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, timeout};

    fn flow() -> Illinois {
        Illinois::new(Options::default())
    }

    /// `known-answers.csv`, d_m = 100 ms.
    #[test]
    fn alpha_and_beta_match_the_known_answers() {
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

    /// Reference values: after d_a exceeded d1, α returns to α_max with the fifth consecutive round below it.
    #[test]
    fn alpha_max_returns_after_five_rounds() {
        let mut flow = flow();
        flow.factors.alpha = flow.alpha(50.0, 100.0);
        let slow = flow.factors.alpha;
        for _ in 0..4 {
            assert_eq!(flow.alpha(0.5, 100.0), slow);
        }
        assert_eq!(flow.alpha(0.5, 100.0), 10.0);
    }

    /// (3) and (4) by hand: β = 1/8 reduces 100 segments to 87.5, inverted to 12.5; a timeout halves, then α = 1.
    #[test]
    fn a_loss_reduces_the_window_by_beta() {
        let mut flow = flow();
        flow.factors.beta = 0.125;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 87.5);
        flow.inverted = true;
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 12.5);
        flow.inverted = false;
        flow.factors.beta = 0.5;
        assert_eq!(flow.on_congestion(&timeout(100), 100.0), 50.0);
        assert_eq!(flow.on_ack(&ack(1), 10.0), 10.1);
    }

    /// (3): a round that ends below 15 segments sets Reno's α and β.
    #[test]
    fn a_small_window_uses_reno_parameters() {
        let mut flow = flow();
        flow.observe(&Ack { round: 2, ..ack(1) }, 14.0);
        assert_eq!((flow.factors.alpha, flow.factors.beta), (1.0, 0.5));
    }

    /// Linux, by hand: with α = 10 and 30 segments two ACKs of two segments give 40, an increment, and the rest of 10
    /// does not count. A round above d1 keeps the count of those below it.
    #[test]
    fn linux_counts_whole_segments() {
        let mut flow = Illinois::new(Options { counter: Counter::Linux, ..Options::default() });
        assert_eq!([30.0, 30.0, 31.0].map(|w| flow.on_ack(&ack(2), w)), [30.0, 31.0, 31.0]);
        assert_eq!(flow.credit, 2.0);
        (flow.factors.above, flow.factors.low) = (true, 3.0);
        flow.alpha(50.0, 100.0);
        assert_eq!(flow.factors.low, 3.0);
    }
}
