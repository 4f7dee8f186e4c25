//! TCP-FIT: one connection that behaves as N Reno flows.
//!
//! Source: J. Wang, J. Wen, J. Zhang, Y. Han, "TCP-FIT: An Improved TCP Congestion Control Algorithm and its Performance",
//! INFOCOM 2011.
//!
//! ```text
//! each ack:         w += N n / w                 (1)
//! each congestion:  w −= 2 w / (3 N + 1)         (2)   (2 − b) / b = 3 N: N times Reno's response
//! N:                by the queueing delay        (part/virtual_flows.rs)
//! a timeout:        N = 1
//! ```
//!
//! Units: segments. Differs from the source: N is real and moves once per round trip; `update = step` is the paper's
//! epoch of at least 0.5 s in which N moves by one. The paper leaves α within (0, 1); 1/8 is that of a public port.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter, Spec,
    Value,
};

use super::reno::segments;
use crate::shared::virtual_flows::VirtualFlows;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "tcp-fit",
    title: "TCP-FIT",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFCOM.2011.5935022",
    year: 2011,
    confidence: Confidence::Medium,
    summary: "N virtual Reno flows in one: N segments more per round trip (w += N n/w), 2/(3N+1) off after a loss; N rises while the queue is short.",
    parameters: &[
        Parameter {
            name: "alpha",
            unit: "",
            default: Value::Number(0.125),
            domain: Domain::Range(0.001, 1.0),
            doc: "share of the window that may queue, per flow; the paper leaves it within (0, 1)",
        },
        Parameter {
            name: "max_flows",
            unit: "",
            default: Value::Number(64.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "largest N, a guard of ours",
        },
        Parameter {
            name: "update",
            unit: "",
            default: Value::Word("continuous"),
            domain: Domain::Words(&["continuous", "step"]),
            doc: "N moves by fractions once per round trip, or by one per epoch of at least 0.5 s (the paper)",
        },
    ],
    choices: &["alpha = 1/8 and N by fractions; both have the same fixed point", "N moves in avoidance only"],
    pitfalls: &["two public ports compute 2/(3N+1) in integers, which is 0, or as 2/3 (N+1)"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(TcpFit::new(arguments))),
};

/// TCP-FIT's avoidance.
#[derive(Clone, Debug)]
pub struct TcpFit {
    virtual_flows: VirtualFlows,
}

impl TcpFit {
    fn new(arguments: &Arguments) -> Self {
        let steps = arguments.word("update") == "step";
        Self { virtual_flows: VirtualFlows::new(arguments.number("alpha"), arguments.number("max_flows"), steps) }
    }
}

/// What a loss takes of the window of `n` flows: (2).
pub(super) fn taken(n: f64) -> f64 {
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
        let kept = w * (1.0 - taken(self.virtual_flows.flows())); // (2)
        self.virtual_flows.lose(event.cause == Cause::Timeout);
        kept.max(2.0)
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
        TcpFit::new(&Arguments::defaults(SPEC.parameters))
    }

    /// `known-answers.csv`: 2/(3N+1).
    #[test]
    fn a_loss_takes_what_the_sheet_says() {
        for (n, fraction) in
            [(1.0, 0.5), (2.0, 0.285_714_285_714_285_7), (3.0, 0.2), (5.0, 0.125), (10.0, 0.064_516_129_032_258_06)]
        {
            assert!((taken(n) - fraction).abs() < 1e-15, "{n}: {}", taken(n));
        }
    }

    /// The sheet's cross-check: one flow is Reno.
    #[test]
    fn one_flow_is_reno() {
        let mut flow = flow();
        assert_eq!(flow.on_ack(&ack(1), 20.0), 20.0 + 1.0 / 20.0);
        assert_eq!(flow.on_congestion(&loss(20), 20.0), 10.0);
    }

    /// (1) of `part/virtual_flows.rs` by hand: no queue adds 1/8 per round, a timeout goes back to one.
    #[test]
    fn an_empty_queue_adds_an_eighth_per_round() {
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
