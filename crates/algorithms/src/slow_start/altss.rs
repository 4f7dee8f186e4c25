//! Alternative slow start.
//!
//! Source: T. O. Barayyan, "Alternative slow start algorithm for high bandwidth", ICCAT 2013, known only by the tables of
//! M. Ahmad et al., IEEE Access 6, 2018 (its reference 8): "initial cwnd size", "changes cwnd rapidly". The rule below
//! is our reconstruction.
//!
//! ```text
//! at the start: w = W0, ssthresh = 64 unless the host sets one      (1)
//! each ack: w += n                                                  (2)
//! ```
//!
//! Units: segments. Confidence: low. Differs from the source: unknown.

use cwndlab_control::{
    Ack, Build, Confidence, Congestion, Domain, Kind, Parameter, Reason, SlowStart, Spec, Step, Value, Window,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "altss",
    title: "Alternative slow start (ALTSS)",
    kind: Kind::SlowStart,
    source: "Barayyan, ICCAT 2013, after Ahmad et al., IEEE Access 2018",
    year: 2013,
    confidence: Confidence::Low,
    summary: "Standard slow start from an initial window W0 of its own up to an initial ssthresh of 64; our reconstruction.",
    parameters: &[
        Parameter {
            name: "w0",
            unit: "segments",
            default: Value::Number(10.0),
            domain: Domain::Range(1.0, 1000.0),
            doc: "initial window, in place of the stack's",
        },
        Parameter {
            name: "ssthresh",
            unit: "segments",
            default: Value::Number(64.0),
            domain: Domain::Range(0.0, 1e6),
            doc: "initial threshold where the host sets none; 0 is without limit",
        },
    ],
    choices: &["the initial window of 10 is RFC 6928's, the threshold of 64 ours"],
    pitfalls: &[
        "leaves at 64 segments whatever the path holds: on a fat path the growth must do the rest (ssthresh = 0 lifts it)",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| {
        let ssthresh = arguments.number("ssthresh");
        Box::new(AltSs {
            w0: arguments.number("w0"),
            ssthresh: if ssthresh > 0.0 { ssthresh } else { f64::INFINITY },
            over: false,
        })
    }),
};

/// Alternative slow start.
#[derive(Clone, Debug)]
pub struct AltSs {
    w0: f64,
    ssthresh: f64,
    over: bool,
}

impl SlowStart for AltSs {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let grow = segments(ack); // (2)
        let event = if self.over { None } else { exit::arrive(ack, Reason::Initial, w, grow, ssthresh) };
        Step::with_event(grow, event)
    }

    fn established(&mut self, _: &Window, _: f64, ssthresh: f64) -> (f64, f64) {
        (self.w0, if ssthresh.is_finite() { ssthresh } else { self.ssthresh }) // (1)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.over = true;
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, undo};

    /// The sheet: from 10 as standard slow start, from 32: 64, 128; it is standard slow start's w += n.
    #[test]
    fn it_doubles_from_its_own_window() {
        for w0 in [10.0, 32.0] {
            let mut start = AltSs { w0, ssthresh: 64.0, over: false };
            let (mut w, ssthresh) = start.established(&undo(), 2.0, f64::INFINITY);
            assert_eq!((w, ssthresh), (w0, 64.0));
            for expected in [2.0 * w0, 4.0 * w0] {
                w += (0..w as u64).map(|_| start.on_ack(&ack(1), 1.0, 1e9).grow).sum::<f64>();
                assert_eq!(w, expected);
            }
        }
    }

    #[test]
    fn a_threshold_of_the_host_stands() {
        let mut start = AltSs { w0: 10.0, ssthresh: 64.0, over: false };
        assert_eq!(start.established(&undo(), 10.0, 100.0), (10.0, 100.0));
    }
}
