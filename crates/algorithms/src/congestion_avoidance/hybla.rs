//! TCP Hybla: grows as a flow of 25 ms would, whatever the RTT.
//!
//! Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22, 2004.
//!
//! ```text
//! ρ = max(RTT / RTT0, 1),  RTT0 = 25 ms                        (1)
//! each ack in slow start: w += (2^ρ − 1) n, not beyond ssthresh     (2)
//! each ack in avoidance:  w += ρ² n / w                        (3)
//! the first ACK:          w = ρ w0                             (4)
//! each congestion:        w / 2
//! ```
//!
//! Units: segments, seconds; RTT is smoothed, and ρ that of the smallest smoothed RTT.
//! Differs from the source: ρ ≤ 8 in slow start and in (4), since 2^ρ at 600 ms is 16.8 million segments per ACK. An initial
//! ssthresh is not multiplied by ρ. Hoe's ssthresh and pacing, the paper's companions, are not part of it.

use cwndlab_control::{
    Ack, Arguments, Build, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter, Spec, Step,
    Value,
};
use cwndlab_units::maths::{exp2, floor};

use super::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hybla",
    title: "TCP Hybla",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1002/sat.799",
    year: 2004,
    confidence: Confidence::High,
    summary: "With rho = RTT / 25 ms: 2^rho - 1 segments per ACK in slow start, rho^2 / w in avoidance, so that growth per second does not depend on the RTT.",
    parameters: &[
        Parameter {
            name: "rtt0",
            unit: "s",
            default: Value::Number(0.025),
            domain: Domain::Range(0.001, 1.0),
            doc: "RTT of the flow that is equalled; ns-3 has 0.05",
        },
        Parameter {
            name: "max_rho",
            unit: "",
            default: Value::Number(8.0),
            domain: Domain::Range(1.0, 30.0),
            doc: "largest rho of slow start and of the initial window, a guard of ours",
        },
        Parameter {
            name: "initial_window",
            unit: "",
            default: Value::Word("scaled"),
            domain: Domain::Words(&["scaled", "transport"]),
            doc: "rho times the transport's, at the first ACK (the paper), or the transport's",
        },
        Parameter {
            name: "rho",
            unit: "",
            default: Value::Word("real"),
            domain: Domain::Words(&["real", "linux"]),
            doc: "linux: rho in eighths, increments in 1/128 of a segment",
        },
        Parameter {
            name: "min_cwnd",
            unit: "",
            default: Value::Word("ssthresh"),
            domain: Domain::Words(&["ssthresh", "half"]),
            doc: "half: while a loss is repaired the window may fall to half of ssthresh, as in ns-2.35's Linux modules (needs fack)",
        },
    ],
    choices: &["rho of the smallest smoothed RTT, as in Linux", "rho up to 8 in slow start; avoidance knows no cap"],
    pitfalls: &[
        "2^rho overshoots by thousands of segments from 100 ms on: pace, or join a slow start that ends in time",
        "rho^2 overruns small buffers",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Hybla::new(arguments))),
};

/// Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    /// RTT0, ns.
    rtt0: f64,
    max_rho: f64,
    scaled: bool,
    eighths: bool,
    rtt_min: u64,
    /// ρ², and 2^ρ − 1.
    square: f64,
    burst: f64,
    rho: f64,
    begun: bool,
}

impl Hybla {
    fn new(arguments: &Arguments) -> Self {
        Self {
            rtt0: arguments.number("rtt0") * 1e9,
            max_rho: arguments.number("max_rho"),
            scaled: arguments.word("initial_window") == "scaled",
            eighths: arguments.word("rho") == "linux",
            rtt_min: u64::MAX,
            square: 1.0,
            burst: 1.0,
            rho: 1.0,
            begun: false,
        }
    }

    /// (1) and what follows from it, for a smoothed RTT in nanoseconds.
    fn set(&mut self, rtt: u64) {
        let rho = rtt as f64 / self.rtt0;
        self.rho = if self.eighths { floor(8.0 * rho) / 8.0 } else { rho }.max(1.0);
        self.square = self.rho * self.rho;
        self.burst = exp2(self.rho.min(self.max_rho)) - 1.0;
        if self.eighths {
            self.burst = floor(128.0 * self.burst) / 128.0;
        }
    }
}

impl CongestionAvoidance for Hybla {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        if ack.srtt.0 > 0 && ack.srtt.0 < self.rtt_min {
            self.rtt_min = ack.srtt.0;
            self.set(ack.srtt.0);
        }
    }

    fn start(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let mut grow = self.burst * segments(ack); // (2)
        if !self.begun && ack.cwnd_limited && !ack.recovering {
            self.begun = true;
            if self.scaled {
                grow += (self.rho.min(self.max_rho) - 1.0) * w; // (4)
            }
        }
        Step::grow(grow.min(ssthresh - w))
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let step = self.square / w;
        let step = if self.eighths { floor(128.0 * step) / 128.0 } else { step };
        w + segments(ack) * step.max(1.0 / w) // (3)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        (w / 2.0).max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};
    use cwndlab_units::Duration;

    fn flow(ms: f64) -> Hybla {
        let mut flow = Hybla::new(&Arguments::defaults(SPEC.parameters));
        flow.observe(&Ack { srtt: Duration((ms * 1e6) as u64), ..ack(1) }, 10.0);
        flow
    }

    /// `known-answers.csv`: 2^ρ − 1 and ρ² at 25, 50 and 100 ms; the sheet's ρ = 1.5.
    #[test]
    fn increments_are_those_of_the_sheet() {
        for (ms, burst, square) in [(25.0, 1.0, 1.0), (50.0, 3.0, 4.0), (100.0, 15.0, 16.0)] {
            assert_eq!((flow(ms).burst, flow(ms).square), (burst, square));
        }
        assert!((flow(37.5).burst - 1.828).abs() < 5e-4);
        assert_eq!(flow(10.0).rho, 1.0);
    }

    /// The sheet: at 100 ms and w = 16 one segment per ACK; ρ = 1 is Reno; ρ = 24 does not explode.
    #[test]
    fn an_ack_adds_rho_squared_over_w() {
        assert_eq!(flow(100.0).on_ack(&ack(1), 16.0), 17.0);
        assert_eq!(flow(25.0).on_ack(&ack(1), 16.0), 16.0 + 1.0 / 16.0);
        assert_eq!(flow(600.0).burst, 255.0);
        assert_eq!(flow(100.0).on_congestion(&loss(16), 16.0), 8.0);
    }

    /// (4) by hand: ρ = 2 makes 10 segments 20 and adds 3 for the ACK; the threshold is not passed.
    #[test]
    fn the_initial_window_is_scaled_once() {
        let mut flow = flow(50.0);
        assert_eq!(flow.start(&ack(1), 10.0, f64::INFINITY).grow, 13.0);
        assert_eq!(flow.start(&ack(1), 23.0, f64::INFINITY).grow, 3.0);
        assert_eq!(flow.start(&ack(1), 23.0, 24.0).grow, 1.0);
    }
}
