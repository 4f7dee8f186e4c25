//! Gentle: additive increase, multiplicative decrease by a quarter.
//!
//! Source: `docs/add-an-algorithm.md`.
//!
//! ```text
//! each ack:        w += a n / w    (1)
//! each congestion: w = 3/4 w       (2)
//! ```
//!
//! Units: segments. Differs from the source: nothing.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Kind, Spec};

options! {
    struct Options {
        /// increase per round trip
        a: f64["segments"] = 1.0 in 0.1..=10.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "gentle",
    title: "Gentle",
    kind: Kind::CongestionAvoidance,
    source: "docs/add-an-algorithm.md",
    year: 2026,
    confidence: Confidence::High,
    summary: "Increase by a segment per round trip, decrease by a quarter after a loss.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &[],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Gentle::new(arguments.into()))),
};

/// The congestion avoidance of Gentle.
#[derive(Clone, Debug)]
pub struct Gentle {
    a: f64,
}

impl Gentle {
    fn new(options: Options) -> Self {
        Self { a: options.a }
    }
}

impl CongestionAvoidance for Gentle {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = ack.acked.0 as f64 / ack.mss.0 as f64;
        w + self.a * n / w // (1)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        (0.75 * w).max(2.0) // (2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// (1) and (2) by hand: a segment in a window of 10 adds 0.1 · 2; a loss reduces 80 segments to 60.
    #[test]
    fn a_loss_reduces_the_window_by_a_quarter() {
        let mut flow = Gentle { a: 2.0 };
        assert_eq!(flow.on_ack(&ack(1), 10.0), 10.2);
        assert_eq!(flow.on_congestion(&loss(80), 80.0), 60.0);
    }
}
