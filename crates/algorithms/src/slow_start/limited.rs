//! Limited slow start.
//!
//! Source: S. Floyd, "Limited Slow-Start for TCP with Large Congestion Windows", RFC 3742, 2004.
//!
//! ```text
//! w ≤ max_ssthresh: w += n                              (1)
//! beyond:           w += n / K,  K = ⌊w / (max_ssthresh/2)⌋   (2)   at most max_ssthresh/2 per round trip
//! ```
//!
//! Units: segments. Differs from the source: nothing.

use cwndlab_control::{Ack, Build, Confidence, Domain, Kind, Parameter, SlowStart, Spec, Step, Value};
use cwndlab_units::maths::floor;

use crate::congestion_avoidance::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "limited",
    title: "Limited slow start",
    kind: Kind::SlowStart,
    source: "RFC 3742",
    year: 2004,
    confidence: Confidence::High,
    summary: "Doubles up to max_ssthresh, then adds at most half of that per round trip.",
    parameters: &[Parameter {
        name: "max_ssthresh",
        unit: "segments",
        default: Value::Number(100.0),
        domain: Domain::Range(2.0, 1e6),
        doc: "doubling ends here",
    }],
    choices: &[],
    pitfalls: &["takes long to fill a long fat path"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Limited { most: arguments.number("max_ssthresh") })),
};

/// Limited slow start.
#[derive(Clone, Debug)]
pub struct Limited {
    most: f64,
}

/// K of (2) at window `w`, 1 up to `most` segments.
#[inline]
#[must_use]
pub fn k(w: f64, most: f64) -> f64 {
    if w <= most {
        1.0
    } else {
        floor(w / (0.5 * most))
    }
}

impl Limited {
    fn k(&self, w: f64) -> f64 {
        k(w, self.most)
    }
}

impl SlowStart for Limited {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        Step::grow(segments(ack) / self.k(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `known-answers.csv`.
    #[test]
    fn k_is_that_of_the_rfc() {
        let start = Limited { most: 100.0 };
        assert_eq!([50.0, 150.0, 200.0, 400.0, 1000.0].map(|w| start.k(w)), [1.0, 3.0, 4.0, 8.0, 20.0]);
    }
}
