//! ALTSS: alternative slow start with its own initial window and ssthresh (our reconstruction).
//!
//! Source: T. O. Barayyan, "Alternative slow start algorithm for high bandwidth", ICCAT 2013, known only from the
//! tables of M. Ahmad et al., IEEE Access 6, 2018 (its reference 8): "initial cwnd size", "changes cwnd rapidly". The
//! rule below is our reconstruction.
//!
//! ```text
//! at the start: w = W0, ssthresh = 64 where the host sets none      (1)
//! each ack: w += n                                                  (2)
//! ```
//!
//! Units: segments. Confidence: low. Differs from the source: unknown.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, Kind, Reason, SlowStart, Spec, Step, Window};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// initial window, which replaces that of the stack
        w0: f64["segments"] = 10.0 in 1.0..=1000.0,
        /// initial ssthresh where the host sets none; 0: no limit
        ssthresh: f64["segments"] = 64.0 in 0.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "altss",
    title: "Alternative slow start (ALTSS)",
    kind: Kind::SlowStart,
    source: "Barayyan, ICCAT 2013, after Ahmad et al., IEEE Access 2018",
    year: 2013,
    confidence: Confidence::Low,
    summary: "Standard slow start from its own initial window W0 to an initial ssthresh of 64. Our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &["the initial window of 10 is that of RFC 6928, the ssthresh of 64 our choice"],
    pitfalls: &[
        "slow start ends at 64 segments at any BDP: on paths with a larger BDP congestion avoidance has to fill the path (ssthresh = 0 removes the limit)",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| {
        let options = Options::from(arguments);
        let ssthresh = options.ssthresh;
        Box::new(AltSs {
            w0: options.w0,
            ssthresh: if ssthresh > 0.0 { ssthresh } else { f64::INFINITY },
            congested: false,
        })
    }),
};

/// Alternative slow start.
#[derive(Clone, Debug)]
pub struct AltSs {
    w0: f64,
    ssthresh: f64,
    /// A congestion event has occurred.
    congested: bool,
}

impl SlowStart for AltSs {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let grow = segments(ack); // (2)
        let event = if self.congested { None } else { exit::arrive(ack, Reason::Initial, w, grow, ssthresh) };
        Step::with_event(grow, event)
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        // RFC 5681, section 3.1: one segment after a handshake with losses, which has no RTT.
        let w0 = if window.rtt.is_none() && w <= 1.0 { w } else { self.w0 };
        (w0, if ssthresh.is_finite() { ssthresh } else { self.ssthresh }) // (1)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.congested = true;
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, undo};

    /// Reference values: from 10 as standard slow start, from 32: 64, 128, with standard slow start's w += n.
    #[test]
    fn the_window_doubles_from_w0() {
        for w0 in [10.0, 32.0] {
            let mut start = AltSs { w0, ssthresh: 64.0, congested: false };
            let (mut w, ssthresh) = start.established(&undo(), 2.0, f64::INFINITY);
            assert_eq!((w, ssthresh), (w0, 64.0));
            for expected in [2.0 * w0, 4.0 * w0] {
                w += (0..w as u64).map(|_| start.on_ack(&ack(1), 1.0, 1e9).grow).sum::<f64>();
                assert_eq!(w, expected);
            }
        }
    }

    #[test]
    fn an_ssthresh_of_the_host_takes_precedence() {
        let mut start = AltSs { w0: 10.0, ssthresh: 64.0, congested: false };
        assert_eq!(start.established(&undo(), 10.0, 100.0), (10.0, 100.0));
    }
}
