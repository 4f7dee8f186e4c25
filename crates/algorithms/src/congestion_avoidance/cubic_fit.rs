//! CUBIC-FIT: one connection that behaves as N CUBIC flows (our reconstruction).
//!
//! Source: J. Wang, J. Wen, Y. Han, J. Zhang, C. Li, Z. Xiong, "CUBIC-FIT: A High Performance and TCP CUBIC Friendly
//! Congestion Control Algorithm", IEEE Communications Letters 17(8), 2013, of which only a description is available.
//!
//! ```text
//! W(t) = N C (t − K)³ + W_max,  K = ((W_max − w_epoch) / (N C))^(1/3)    (1)
//! W_est += N α n / w                                                     (2)
//! congestion event: w −= max(b_N w, 1),  b_N = 4 b / (b + N³ (4 − b))    (3)   b = 0.3: N times CUBIC's response
//! N: from the queueing delay                                             (shared/virtual_flows.rs)
//! timeout: N = 1
//! ```
//!
//! Units: segments, seconds. The rest equals `cubic`; with N = 1 the algorithms are identical.
//! Differs from the source: (1), (3) and the constants of N are chosen so that the response function under
//! deterministic loss is N times CUBIC's. Constant b and C scaled by N⁴ would give the same response function. When N
//! changes, K changes too, so that the curve keeps its value w_epoch at the start of the epoch.

use cwndlab_control::{
    options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use super::cubic::{self, Base, Cubic};
use crate::shared::virtual_flows::VirtualFlows;

options! {
    struct Options {
        /// α, fraction of the window that may wait in the queue, per virtual flow
        alpha: f64 = 0.125 in 0.001..=1.0,
        /// maximum of N, a bound of ours
        max_flows: f64 = 16.0 in 1.0..=100.0,
        /// N changes by fractions once per round trip (continuous), or by one per epoch of at least 0.5 s (step)
        update: Update { Continuous = "continuous", Step = "step" } = Continuous,
        /// C, scale of the cubic function of one flow
        c: f64["segments/s^3"] = 0.4 in 0.001..=100.0,
        /// multiplicative decrease factor of one flow
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fast convergence, as in cubic
        fast_convergence: bool = true,
        /// Reno-friendly region: the window is at least the estimated window of N Reno flows
        reno_friendly: bool = true,
        /// quantity that a congestion event multiplies by 1 - b_N: FlightSize, as in cubic, or the window
        base: Base = Flight,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cubic-fit",
    title: "CUBIC-FIT",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/LCOMM.2013.060513.130664",
    year: 2013,
    confidence: Confidence::Low,
    summary: "One connection that behaves as N virtual CUBIC flows; N increases while the queue is short, as in TCP-FIT. Our reconstruction from a description.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the scale N C and the decrease b_N = 4b/(b + N^3 (4 - b)); constant b and C scaled by N^4 would give the same response function",
        "alpha = 1/8, N up to 16, and a reduction of at least one segment per loss",
        "N, and K with it, changes in congestion avoidance only",
    ],
    pitfalls: &["only a short description of the paper was available: results need not agree with the authors' figures"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(CubicFit::new(arguments.into()))),
};

/// Congestion avoidance of CUBIC-FIT.
#[derive(Clone, Debug)]
pub struct CubicFit {
    cubic: Cubic,
    virtual_flows: VirtualFlows,
    /// Decrease fraction of one flow.
    b: f64,
}

/// Decrease fraction of the window of `n` flows, where `b` is that of one flow: (3).
fn decrease_fraction(b: f64, n: f64) -> f64 {
    4.0 * b / (b + n * n * n * (4.0 - b))
}

impl CubicFit {
    fn new(options: Options) -> Self {
        let Options { alpha, max_flows, update, c, beta, fast_convergence, reno_friendly, base } = options;
        Self {
            cubic: Cubic::new(cubic::Options { c, beta, fast_convergence, reno_friendly, base }),
            virtual_flows: VirtualFlows::new(alpha, max_flows, update == Update::Step),
            b: 1.0 - beta,
        }
    }

    fn update_beta(&mut self) {
        let n = self.virtual_flows.flows();
        // With N = 1 the result is CUBIC's, bit for bit.
        self.cubic.beta = if n > 1.0 { 1.0 - decrease_fraction(self.b, n) } else { 1.0 - self.b };
    }
}

impl CongestionAvoidance for CubicFit {
    #[inline]
    fn observe(&mut self, ack: &Ack, w: f64) {
        self.virtual_flows.observe(ack);
        self.cubic.observe(ack, w);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if self.virtual_flows.decide() {
            self.cubic.set_flows(self.virtual_flows.flows()); // (1), (2)
            self.update_beta();
        }
        self.cubic.on_ack(ack, w)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let reduced = self.cubic.on_congestion(event, w).min(w - 1.0); // (3)
        self.virtual_flows.on_congestion(event.cause == Cause::Timeout);
        self.cubic.set_flows(self.virtual_flows.flows());
        self.update_beta();
        reduced.max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        self.cubic.on_window(window);
    }

    fn extra(&self, put: Extra<'_>) {
        put("flows", self.virtual_flows.flows());
        self.cubic.extra(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, timeout};
    use cwndlab_units::Time;

    fn flow() -> CubicFit {
        CubicFit::new(Options::default())
    }

    /// `known-answers.csv`: b_N with b = 0.3.
    #[test]
    fn decrease_fractions_match_the_known_answers() {
        for (n, fraction) in [
            (1.0, 0.3),
            (2.0, 0.040_133_779_264_214_04),
            (3.0, 0.011_976_047_904_191_616),
            (5.0, 0.002_592_912_705_272_255_7),
            (10.0, 0.000_324_298_029_889_469_4),
        ] {
            assert!((decrease_fraction(0.3, n) - fraction).abs() < 1e-15, "{n}: {}", decrease_fraction(0.3, n));
        }
    }

    /// Cross-check: one virtual flow is `cubic`.
    #[test]
    fn one_virtual_flow_equals_cubic() {
        let mut virtual_flows = flow();
        let mut cubic = Cubic::new(cubic::Options::default());
        assert_eq!(virtual_flows.on_congestion(&loss(100), 100.0), cubic.on_congestion(&loss(100), 100.0));
        let mut one = 70.0;
        let mut other = 70.0;
        for k in 0..400 {
            let ack = ack_at(Time::from_nanos(1_000_000_000 + k * 10_000_000), 1); // one round only: N does not change
            virtual_flows.observe(&ack, one);
            cubic.observe(&ack, other);
            (one, other) = (virtual_flows.on_ack(&ack, one), cubic.on_ack(&ack, other));
            assert_eq!(one, other, "ACK {k}");
        }
    }

    /// (1) by hand: W_max = 100, two flows: w = (1 − 0.0401) · 100, K = (4.0134 / 0.8)^(1/3) = 1.712 s. A reduction is
    /// at least one segment.
    #[test]
    fn two_virtual_flows_reduce_less_and_double_c() {
        let mut flow = flow();
        flow.virtual_flows.set(2.0);
        flow.cubic.set_flows(2.0);
        flow.update_beta();
        let w = flow.on_congestion(&loss(100), 100.0);
        assert!((w - 95.986_622).abs() < 1e-5, "{w}");
        let _ = flow.on_ack(&ack_at(Time::from_nanos(1_000_000_000), 1), w);
        let mut k = f64::NAN;
        flow.extra(&mut |name, value| k = if name == "k_s" { value } else { k });
        assert!((k - 1.711_9).abs() < 1e-3, "{k}");
        flow.virtual_flows.set(10.0);
        flow.cubic.set_flows(10.0);
        flow.update_beta();
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 99.0);
        let _ = flow.on_congestion(&timeout(99), 99.0);
        assert_eq!((flow.virtual_flows.flows(), flow.cubic.beta), (1.0, 0.7));
    }
}
