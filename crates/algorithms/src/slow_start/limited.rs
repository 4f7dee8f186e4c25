//! Limited slow start: at most max_ssthresh/2 segments per round trip at large windows.
//!
//! Source: S. Floyd, "Limited Slow-Start for TCP with Large Congestion Windows", RFC 3742, 2004.
//!
//! ```text
//! w ≤ max_ssthresh: w += n                              (1)
//! above:            w += n / K,  K = ⌊w / (max_ssthresh/2)⌋   (2)   at most max_ssthresh/2 per round trip
//! ```
//!
//! Units: segments. Differs from the source: nothing.

use cwndlab_control::{options, Ack, Build, Confidence, Kind, SlowStart, Spec, Step};
use cwndlab_units::maths::floor;

use crate::congestion_avoidance::reno::segments;

options! {
    struct Options {
        /// window at which the doubling ends
        max_ssthresh: f64["segments"] = 100.0 in 2.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "limited",
    title: "Limited slow start",
    kind: Kind::SlowStart,
    source: "RFC 3742",
    year: 2004,
    confidence: Confidence::High,
    summary:
        "The window doubles per round trip up to max_ssthresh, then increases by at most max_ssthresh/2 per round trip.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &["takes long to fill a path with a large BDP"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Limited { max_ssthresh: Options::from(arguments).max_ssthresh })),
};

/// Limited slow start.
#[derive(Clone, Debug)]
pub struct Limited {
    max_ssthresh: f64,
}

/// K of (2) at window `w`; 1 up to `max_ssthresh` segments.
#[inline]
#[must_use]
pub fn k(w: f64, max_ssthresh: f64) -> f64 {
    // No margins: the window rises with every ACK.
    if w <= max_ssthresh {
        1.0
    } else {
        floor(w / (0.5 * max_ssthresh))
    }
}

impl Limited {
    fn k(&self, w: f64) -> f64 {
        k(w, self.max_ssthresh)
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
    fn k_matches_the_known_answers() {
        let start = Limited { max_ssthresh: 100.0 };
        assert_eq!([50.0, 150.0, 200.0, 400.0, 1000.0].map(|w| start.k(w)), [1.0, 3.0, 4.0, 8.0, 20.0]);
    }
}
