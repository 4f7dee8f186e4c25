//! TCP-FIT: one connection that behaves as N Reno flows.
//!
//! Source: J. Wang, J. Wen, J. Zhang, Y. Han, "TCP-FIT: An Improved TCP Congestion Control Algorithm and its
//! Performance", INFOCOM 2011.
//!
//! ```text
//! each ack:         w += N n / w                 (1)
//! congestion event: w −= 2 w / (3 N + 1)         (2)   (2 − b) / b = 3 N: N times Reno's response
//! N:                from the queueing delay      (shared/virtual_flows.rs)
//! timeout:          N = 1
//! ```
//!
//! Units: segments.
//! Differs from the source: N is a real number and changes once per round trip; with `update = step` N changes by one
//! per epoch of at least 0.5 s, as in the paper. The paper only requires α in (0, 1); 1/8 is the value of a public
//! port.

use cwndlab_control::{options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};

use super::reno::segments;
use crate::shared::virtual_flows::VirtualFlows;

options! {
    struct Options {
        /// α, fraction of the window that may wait in the queue, per virtual flow; the paper requires (0, 1)
        alpha: f64 = 0.125 in 0.001..=1.0,
        /// maximum of N, a bound of ours
        max_flows: f64 = 64.0 in 1.0..=1000.0,
        /// N changes by fractions once per round trip (continuous), or by one per epoch of at least 0.5 s (step: the
        /// paper)
        update: Update { Continuous = "continuous", Step = "step" } = Continuous,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "tcp-fit",
    title: "TCP-FIT",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFCOM.2011.5935022",
    year: 2011,
    confidence: Confidence::Medium,
    summary: "One connection that behaves as N virtual Reno flows: an increment of N segments per round trip (w += N n/w), a decrease by 2/(3N+1) of the window. N increases while the queue is short.",
    parameters: Options::PARAMETERS,
    choices: &[
        "alpha = 1/8; N changes by fractions, which has the same fixed point as whole steps",
        "N changes in congestion avoidance only",
    ],
    pitfalls: &["of two public ports one computes 2/(3N+1) in integers, which gives 0, the other as 2/3 (N+1)"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(TcpFit::new(arguments.into()))),
};

/// Congestion avoidance of TCP-FIT.
#[derive(Clone, Debug)]
pub struct TcpFit {
    virtual_flows: VirtualFlows,
}

impl TcpFit {
    fn new(options: Options) -> Self {
        let steps = options.update == Update::Step;
        Self { virtual_flows: VirtualFlows::new(options.alpha, options.max_flows, steps) }
    }
}

/// Decrease fraction of the window of `n` flows: (2).
pub(super) fn decrease_fraction(n: f64) -> f64 {
    2.0 / (3.0 * n + 1.0)
}

impl CongestionAvoidance for TcpFit {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.virtual_flows.observe(ack);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        self.virtual_flows.decide();
        w + self.virtual_flows.flows() * segments(ack) / w // (1)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let reduced = w * (1.0 - decrease_fraction(self.virtual_flows.flows())); // (2)
        self.virtual_flows.on_congestion(event.cause == Cause::Timeout);
        reduced.max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("flows", self.virtual_flows.flows());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, timeout};
    use cwndlab_units::Duration;

    fn flow() -> TcpFit {
        TcpFit::new(Options::default())
    }

    /// `known-answers.csv`: 2/(3N+1).
    #[test]
    fn decrease_fractions_match_the_known_answers() {
        for (n, fraction) in
            [(1.0, 0.5), (2.0, 0.285_714_285_714_285_7), (3.0, 0.2), (5.0, 0.125), (10.0, 0.064_516_129_032_258_06)]
        {
            assert!((decrease_fraction(n) - fraction).abs() < 1e-15, "{n}: {}", decrease_fraction(n));
        }
    }

    /// Cross-check: one virtual flow is Reno.
    #[test]
    fn one_virtual_flow_equals_reno() {
        let mut flow = flow();
        assert_eq!(flow.on_ack(&ack(1), 20.0), 20.0 + 1.0 / 20.0);
        assert_eq!(flow.on_congestion(&loss(20), 20.0), 10.0);
    }

    /// (1) of `shared/virtual_flows.rs` by hand: without a queue N increases by 1/8 per round; a timeout resets it to
    /// one.
    #[test]
    fn n_increases_by_an_eighth_per_round_without_a_queue() {
        let mut flow = flow();
        for round in 1..=9 {
            for _ in 0..3 {
                let ack = Ack { round, ..ack(1) };
                flow.observe(&ack, 10.0);
                let _ = flow.on_ack(&ack, 10.0);
            }
        }
        assert_eq!(flow.virtual_flows.flows(), 2.0);
        let late = Ack { rtt: Some(Duration::from_millis(200)), round: 10, ..ack(1) };
        flow.observe(&late, 10.0);
        assert_eq!(flow.on_congestion(&timeout(10), 10.0), 10.0 * (1.0 - 2.0 / 7.0));
        assert_eq!(flow.virtual_flows.flows(), 1.0);
    }
}
