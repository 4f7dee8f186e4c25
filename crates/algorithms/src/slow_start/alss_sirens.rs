//! ALSS with SIRENS: limited slow start up to the available bandwidth that routers report.
//!
//! Source: K. Nakauchi, K. Kobayashi, "An explicit router feedback framework for high bandwidth-delay product
//! networks", Computer Networks 51(7), 2007 (SIRENS), and the ALSS mentioned with it. The rule below is our
//! reconstruction.
//!
//! ```text
//! A = minimum of (C − load) over the path, reported by routers at most once per RTT     (1)
//! W_lim = A RTT_min / MSS                                                               (2)
//! w ≤ min(W_lim, max_ssthresh): w += n                                                  (3)
//! above: w += n / K, K = ⌊w / (max_ssthresh/2)⌋, max_ssthresh/2 per round trip          (4)   RFC 3742
//! w ≥ W_lim: slow start ends                                                            (5)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: low.
//! Differs from the source: unknown; the wire format is ours. Without an agent on every router of the path there are no
//! reports: (3) and (4) continue until a loss.

use cwndlab_control::{
    options, Ack, Build, Confidence, Congestion, Event, EventKind, Extra, Feedback, Kind, Need, Reason, SlowStart,
    Spec, Step, Window,
};
use cwndlab_units::{Duration, Time};

use super::limited;
use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// window at which the doubling ends
        max_ssthresh: f64["segments"] = 100.0 in 2.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "alss-sirens",
    title: "Additive limited slow start with SIRENS",
    kind: Kind::SlowStart,
    source: "Nakauchi, Kobayashi, Computer Networks 2007",
    year: 2007,
    confidence: Confidence::Low,
    summary: "Routers report the available bandwidth A. The window doubles per round trip up to max_ssthresh, then increases by half of max_ssthresh per round trip up to A*RTT_min, where slow start ends. Our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &[
        "A is the minimum of capacity minus load over the path; W_lim is A*RTT_min",
        "a report is valid until the next one; after a timeout for one second",
    ],
    pitfalls: &[
        "reports after the start of the flow include its own load: A decreases while the window increases, so that W_lim falls towards the window and slow start ends early",
        "adds 50 segments per round trip at any BDP: on a path with a large BDP it takes as long as limited slow start",
    ],
    companion: "",
    needs: &[Need::Agent("sirens")],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(AlssSirens::new(Options::from(arguments).max_ssthresh))),
};

/// Maximum age of a report at a timeout.
const MAX_REPORT_AGE: Duration = Duration::from_secs(1);

/// Additive limited slow start.
#[derive(Clone, Debug)]
pub struct AlssSirens {
    max_ssthresh: f64,
    /// A, bytes/s, and the time of its report; infinite before the first report.
    a: f64,
    reported: Time,
    /// The first ACK has arrived.
    begun: bool,
}

/// (2), segments.
#[must_use]
pub fn limit(bytes_per_s: f64, rtt_min_s: f64, mss: f64) -> f64 {
    bytes_per_s * rtt_min_s / mss
}

impl AlssSirens {
    fn new(max_ssthresh: f64) -> Self {
        Self { max_ssthresh, a: f64::INFINITY, reported: Time::ZERO, begun: false }
    }

    /// (1).
    #[inline]
    fn update_bandwidth(&mut self, feedback: Option<Feedback>, now: Time) {
        if let Some(feedback) = feedback {
            (self.a, self.reported) = (feedback.rate.0 as f64 / 8.0, now);
        }
    }
}

impl SlowStart for AlssSirens {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        self.update_bandwidth(ack.feedback, ack.now);
        let limit =
            if self.a.is_finite() { limit(self.a, ack.min_rtt.as_secs(), ack.mss.0 as f64) } else { f64::INFINITY };
        let first = !std::mem::replace(&mut self.begun, true);
        let event = (first && limit.is_infinite()).then(|| Event::new(EventKind::NoFeedback, Reason::Sirens, w));
        let n = segments(ack);
        let grow = n / limited::k(w, self.max_ssthresh); // (3), (4)
        let exit = (w + grow >= limit).then(|| exit::now(Reason::Available, limit.max(w), limit)); // (5)
        Step { grow, exit, event }
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        self.update_bandwidth(window.feedback, window.now);
        (w, ssthresh)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart && event.now - self.reported > MAX_REPORT_AGE {
            self.a = f64::INFINITY;
        }
        ssthresh
    }

    fn extra(&self, put: Extra<'_>) {
        if self.a.is_finite() {
            put("a_bps", self.a * 8.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, undo};
    use cwndlab_units::{Bytes, Rate};

    fn with_report(mbps: u64) -> (AlssSirens, Window) {
        let feedback = Some(Feedback { rate: Rate::from_mbps(mbps), accelerated: Bytes::ZERO });
        (AlssSirens::new(100.0), Window { feedback, ..undo() })
    }

    /// Reference values: 50 Mbit/s, 100 ms, 1460 bytes: 428.1 segments.
    #[test]
    fn the_limit_is_the_available_bandwidth_times_the_rtt() {
        assert!((limit(50e6 / 8.0, 0.1, 1460.0) - 428.082_191_780_8).abs() < 1e-9);
    }

    /// Reference values: doubling up to 100, then 50 per round trip; seven round trips from 100 to a limit of 428. Here
    /// 1000-byte segments and 34.24 Mbit/s give that limit.
    #[test]
    fn from_100_to_428_takes_seven_rounds() {
        let mut start = AlssSirens::new(100.0);
        start.a = 34.24e6 / 8.0;
        assert_eq!(start.on_ack(&ack(1), 99.0, 1e9).grow, 1.0);
        let mut w = 100.0;
        let mut rounds = 0;
        'rounds: loop {
            for _ in 0..w as u64 {
                let step = start.on_ack(&ack(1), w, 1e9);
                w += step.grow;
                if let Some(exit) = step.exit {
                    assert!((exit.ssthresh - 428.0).abs() < 1e-9, "{exit:?}");
                    break 'rounds;
                }
            }
            rounds += 1;
            assert!((w - 100.0 - 50.0 * f64::from(rounds)).abs() < 1.0 + f64::from(rounds), "{w}");
        }
        assert_eq!(rounds + 1, 7);
    }

    #[test]
    fn a_path_without_agents_causes_an_event() {
        let (mut start, window) = with_report(50);
        let _ = start.established(&window, 10.0, f64::INFINITY);
        assert_eq!(start.a, 6.25e6);
        let alone = AlssSirens::new(100.0).on_ack(&ack(1), 10.0, 1e9);
        assert_eq!(alone.event.map(|event| event.kind), Some(EventKind::NoFeedback));
    }
}
