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
//! Differs from the source: the paper has S_max = 32, β = 0.875 and halves the distance (B = 2): `bic(smax=32, beta=0.875, b=2)`.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Confidence, Congestion, Domain, Growth, Kind, Parameter, Spec, Value,
};

use super::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bic",
    title: "BIC",
    kind: Kind::Growth,
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
    ],
    choices: &["Linux' constants rather than the paper's"],
    pitfalls: &["takes bandwidth from Reno on short paths"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Growth(|_, arguments| Box::new(Bic::new(arguments))),
};

/// BIC's avoidance.
#[derive(Debug)]
pub struct Bic {
    s_max: f64,
    b: f64,
    beta: f64,
    smooth: f64,
    low_window: f64,
    ratio: f64,
    w_max: f64,
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
            w_max: 0.0,
        }
    }

    /// ACKs per segment.
    #[inline]
    fn count(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return w; // (1)
        }
        let cnt = if w < self.w_max {
            let d = (self.w_max - w) / self.b;
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
        let cnt = if self.w_max == 0.0 { cnt.min(20.0) } else { cnt };
        (cnt / self.ratio).max(1.0)
    }
}

impl Growth for Bic {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        w + segments(ack) / self.count(w)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.w_max = if w < self.w_max { w * (1.0 + self.beta) / 2.0 } else { w }; // (6)
        if event.cause == Cause::Timeout {
            self.w_max = 0.0;
        }
        if w <= self.low_window {
            (w / 2.0).max(2.0)
        } else {
            (w * self.beta).max(2.0)
        }
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("w_max_segments", self.w_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::loss;

    /// The sheet's answers with Linux' constants and W_max = 200: +16, +10, +0.2 per round trip, and 63 ACKs just above.
    #[test]
    fn the_counter_is_linux_counter() {
        let mut flow = Bic::new(&Arguments::defaults(SPEC.parameters));
        flow.w_max = 200.0;
        assert_eq!([100.0, 160.0, 197.0, 210.0].map(|w| flow.count(w)), [6.25, 16.0, 985.0, 63.0]);
        let w = flow.on_congestion(&loss(100), 100.0);
        assert!((w - 80.0).abs() < 0.1 && (flow.w_max - 90.0).abs() < 0.1);
    }
}
