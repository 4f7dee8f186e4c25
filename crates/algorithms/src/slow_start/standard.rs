//! Standard slow start.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 5681, section 3.1; RFC 3465.
//!
//! ```text
//! each ack: w += min(n, L)    (1)   L = 1 (RFC 5681), 2 (RFC 3465), none (Linux)
//! ```
//!
//! Units: segments.
//! Differs from the source: nothing; `limit = 0` is no limit.

use cwndlab_control::{options, Ack, Build, Confidence, Kind, SlowStart, Spec, Step};

use crate::congestion_avoidance::reno::segments;

options! {
    pub struct Options {
        /// L, maximum increment per ACK; 0: no limit, as in Linux
        limit: f64["segments"] = 0.0 in 0.0..=100.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "standard",
    title: "Slow start",
    kind: Kind::SlowStart,
    source: "RFC 5681, RFC 3465",
    year: 1988,
    confidence: Confidence::High,
    summary: "The window doubles per round trip until a loss or ssthresh.",
    parameters: Options::PARAMETERS,
    choices: &["no limit per ACK, as in Linux; RFC 5681 allows 1 segment, RFC 3465 allows 2"],
    pitfalls: &["overshoots to up to twice the BDP plus the buffer"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(make(arguments.into()))),
};

/// Creates standard slow start with these options.
#[must_use]
pub fn make(options: Options) -> Standard {
    let limit = options.limit;
    Standard { limit: if limit > 0.0 { limit } else { f64::INFINITY } }
}

/// Standard slow start.
#[derive(Clone, Debug)]
pub struct Standard {
    limit: f64,
}

impl SlowStart for Standard {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _: f64, _: f64) -> Step {
        Step::grow(segments(ack).min(self.limit * f64::from(ack.acks)))
        // (1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;

    /// From w = 10: 20, 40, 80 after 1, 2, 3 round trips; with one ACK per two segments and one segment per ACK 15, 22,
    /// 33.
    #[test]
    fn the_window_doubles_and_with_delayed_acks_and_a_limit_grows_by_half() {
        let mut free = Standard { limit: f64::INFINITY };
        let mut strict = Standard { limit: 1.0 };
        let mut w = 10u64;
        let mut v = 10u64;
        for (double, half) in [(20, 15), (40, 22), (80, 33)] {
            w += (0..w).map(|_| free.on_ack(&ack(1), 1.0, 1e9).grow as u64).sum::<u64>();
            v += (0..v / 2).map(|_| strict.on_ack(&ack(2), 1.0, 1e9).grow as u64).sum::<u64>();
            assert_eq!((w, v), (double, half));
        }
    }
}
