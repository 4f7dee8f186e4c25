//! BIC: binary increase congestion control.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks",
//! INFOCOM 2004; constants and the counter of Linux `tcp_bic.c`.
//!
//! ```text
//! cnt = ACKs per segment; d = (W_max − w) / B
//! w ≤ low_window:      cnt = w                                        (1)
//! w < W_max:           d > S_max: w / S_max;  d ≤ 1: w smooth / B;  else w / d   (2)
//! w < W_max + B:       w smooth / B                                   (3)
//! w < W_max + S_max (B − 1): w (B − 1) / (w − W_max)                  (4)
//! beyond:              w / S_max                                      (5)
//! before the first loss cnt ≤ 20
//! each congestion:     W_max = w (1 + β)/2 if w < W_max, else w; w = β w (w/2 up to low_window)  (6)
//! ```
//!
//! Units: segments. A timeout forgets W_max.
//! Differs from the source: ns-3 has smooth = 5 and W_max = β w where (6) has w (1 + β)/2. The paper has S_max = 32, β = 0.875 and halves the distance (B = 2): `bic(smax=32, beta=0.875, b=2)`.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter, Spec,
    Value,
};

use cwndlab_units::maths::floor;

use super::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bic",
    title: "BIC",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFCOM.2004.1354672; Linux tcp_bic.c",
    year: 2004,
    confidence: Confidence::High,
    summary: "Searches the window of the last loss by bisection, then probes beyond it.",
    parameters: &[
        Parameter {
            name: "smax",
            unit: "segments",
            default: Value::Number(16.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "largest increment per round trip",
        },
        Parameter {
            name: "b",
            unit: "",
            default: Value::Number(4.0),
            domain: Domain::Range(2.0, 16.0),
            doc: "the search goes 1/b of the distance",
        },
        Parameter {
            name: "beta",
            unit: "",
            default: Value::Number(819.0 / 1024.0),
            domain: Domain::Range(0.1, 0.99),
            doc: "what a loss leaves of the window",
        },
        Parameter {
            name: "smooth",
            unit: "",
            default: Value::Number(20.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "round trips near the old maximum",
        },
        Parameter {
            name: "low_window",
            unit: "segments",
            default: Value::Number(14.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "Reno up to here",
        },
        Parameter {
            name: "ack_ratio",
            unit: "",
            default: Value::Word("unit"),
            domain: Domain::Words(&["unit", "ns2"]),
            doc: "ns2: increments 31/16 times as large, as ns-2.35 with one ACK per segment",
        },
        Parameter {
            name: "counter",
            unit: "",
            default: Value::Word("real"),
            domain: Domain::Words(&["real", "linux"]),
            doc: "linux: whole segments and divisions, one segment per cnt + 1 ACKs (Linux 2.6, ns-2.35, ns-3)",
        },
        Parameter {
            name: "fast_convergence",
            unit: "",
            default: Value::Word("half-way"),
            domain: Domain::Words(&["half-way", "ns3"]),
            doc: "W_max after a loss below it: half-way down as (6), or the window that is left, β w (ns-3)",
        },
    ],
    choices: &["Linux' constants rather than the paper's"],
    pitfalls: &["takes bandwidth from Reno on short paths"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Bic::new(arguments))),
};

/// BIC's avoidance.
#[derive(Clone, Debug)]
pub struct Bic {
    s_max: f64,
    b: f64,
    beta: f64,
    smooth: f64,
    low_window: f64,
    ratio: f64,
    whole: bool,
    forgets: bool,
    w_max: f64,
    /// Acknowledged segments not yet turned into window (Linux).
    credit: f64,
}

impl Bic {
    fn new(arguments: &Arguments) -> Self {
        Self {
            s_max: arguments.number("smax"),
            b: arguments.number("b"),
            beta: arguments.number("beta"),
            smooth: arguments.number("smooth"),
            low_window: arguments.number("low_window"),
            ratio: if arguments.word("ack_ratio") == "ns2" { 31.0 / 16.0 } else { 1.0 },
            whole: arguments.word("counter") == "linux",
            forgets: arguments.word("fast_convergence") == "ns3",
            w_max: 0.0,
            credit: 0.0,
        }
    }

    /// A quotient as it is, or whole as Linux divides.
    #[inline]
    fn quotient(&self, value: f64) -> f64 {
        if self.whole {
            floor(value)
        } else {
            value
        }
    }

    /// ACKs per segment.
    #[inline]
    fn count(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return w; // (1)
        }
        let cnt = if w < self.w_max {
            let d = self.quotient((self.w_max - w) / self.b);
            if d > self.s_max {
                w / self.s_max
            } else if d <= 1.0 {
                w * self.smooth / self.b
            } else {
                w / d // (2)
            }
        } else if w < self.w_max + self.b {
            w * self.smooth / self.b // (3)
        } else if w < self.w_max + self.s_max * (self.b - 1.0) {
            w * (self.b - 1.0) / (w - self.w_max) // (4)
        } else {
            w / self.s_max // (5)
        };
        let cnt = self.quotient(if self.w_max == 0.0 { cnt.min(20.0) } else { cnt });
        self.quotient(cnt / self.ratio).max(1.0)
    }
}

impl CongestionAvoidance for Bic {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if !self.whole {
            return w + segments(ack) / self.count(w);
        }
        self.credit += segments(ack);
        if self.credit <= self.count(floor(w)) {
            return w;
        }
        self.credit = 0.0;
        w + 1.0
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let remembered = if self.forgets { w * self.beta } else { w * (1.0 + self.beta) / 2.0 };
        self.w_max = self.quotient(if w < self.w_max { remembered } else { w }); // (6)
        if event.cause == Cause::Timeout {
            self.w_max = 0.0;
        }
        if w <= self.low_window {
            (w / 2.0).max(2.0)
        } else {
            (w * self.beta).max(2.0)
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.w_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// The sheet's answers with Linux' constants and W_max = 200: +16, +10, +0.2 per round trip, and 63 ACKs just above.
    #[test]
    fn the_counter_is_linux_counter() {
        let mut flow = Bic::new(&Arguments::defaults(SPEC.parameters));
        flow.w_max = 200.0;
        assert_eq!([100.0, 160.0, 197.0, 210.0].map(|w| flow.count(w)), [6.25, 16.0, 985.0, 63.0]);
        let w = flow.on_congestion(&loss(100), 100.0);
        assert!((w - 80.0).abs() < 0.1 && (flow.w_max - 90.0).abs() < 0.1);
    }

    /// By hand: W_max = 200, w = 103: d = 24, beyond S_max, cnt = 103/16 = 6: the seventh segment adds one, ACKs of two the
    /// fourth. ns-3 after a loss at 100 below W_max remembers what it leaves.
    #[test]
    fn linux_counts_whole_segments_and_one_more() {
        for (segments, acks) in [(1, 7), (2, 4)] {
            let mut flow = Bic { whole: true, w_max: 200.0, ..Bic::new(&Arguments::defaults(SPEC.parameters)) };
            let grown = (0..acks).map(|_| flow.on_ack(&ack(segments), 103.0)).collect::<Vec<_>>();
            assert_eq!(grown.iter().position(|w| *w == 104.0), Some(acks - 1));
        }
        let mut flow =
            Bic { forgets: true, beta: 0.8, w_max: 200.0, ..Bic::new(&Arguments::defaults(SPEC.parameters)) };
        assert_eq!((flow.on_congestion(&loss(100), 100.0), flow.w_max), (80.0, 80.0));
    }
}
