//! Quick-Start: an initial window from a rate that the routers approve in the handshake; the sender's part.
//!
//! Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007.
//!
//! ```text
//! the SYN requests rate(N) = 40 kbit/s · 2^N                                          (1)   N = 1 … 15
//! approved rate R: w = max(IW, R RTT / (MSS + H)), paced at R until the first ACK     (2)   H = 40 bytes, part of R
//! first ACK: w = min(w, segments sent), pacing ends; then w += n                      (3)   ssthresh unchanged
//! loss of a Quick-Start packet: w = IW, ssthresh as before                            (4)
//! no approval: w = IW, w += n                                                         (5)
//! ```
//!
//! Units: bit/s, seconds; windows in segments.
//! Differs from the source: (4) involves one congestion event, since only an event reduces a window. ssthresh is
//! restored at the end of the recovery, but the state of congestion avoidance includes the event. The response to a
//! timeout is the standard one.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Cause, Confidence, Congestion, Event, EventKind, Kind, Need, Path, Reason,
    SlowStart, Spec, Step, Window,
};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::whole_down;

options! {
    struct Options {
        /// rate request: 40 kbit/s * 2^n; 12 is 163.84 Mbit/s, 15 is 1310.72 Mbit/s
        n: f64 = 12.0 in 1.0..=15.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "quick-start",
    title: "Quick-Start",
    kind: Kind::SlowStart,
    source: "RFC 4782",
    year: 2007,
    confidence: Confidence::High,
    summary: "The SYN requests a rate from the routers; the sender paces at the rate that all of them approve in the first round trip. Without approval it is standard slow start.",
    parameters: Options::PARAMETERS,
    choices: &["the request is 163.84 Mbit/s; the RFC leaves it to the application"],
    pitfalls: &[
        "after the Quick-Start window it is standard slow start, with its overshoot",
        "with one router without an agent on the path it is standard slow start from the initial window",
        "the receiver must advertise a sufficient window: auto-tuning in Linux starts at 64 kB, and the approved rate is not used (stack = { auto_tuning = false })",
        "where routers approve more than the available rate, the recovery proceeds at one initial window per round trip, to which a loss of a Quick-Start packet reduces the window",
        "an approved rate that is not used is unavailable to other flows for an interval of the routers",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::Agent("quick-start")],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, _| Box::new(QuickStart::new(path))),
};

/// Length of the headers in RFC 4782, bytes.
const HEADER: u64 = 40;

/// (1): the rate of request `n`; zero for `n = 0`.
#[must_use]
pub fn rate(n: u32) -> Rate {
    Rate(if n == 0 { 0 } else { 40_000 << n.min(15) })
}

/// (2): the Quick-Start window, segments, unrounded.
#[must_use]
pub fn window(rate: Rate, rtt: Duration, mss: Bytes) -> f64 {
    rate.0 as f64 * rtt.as_secs() / (8 * (mss.0 + HEADER)) as f64
}

/// The rate of payload for a rate that includes headers.
fn payload(rate: Rate, mss: Bytes) -> Rate {
    Rate((u128::from(rate.0) * u128::from(mss.0) / u128::from(mss.0 + HEADER)) as u64)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Standard slow start: no rate was approved, or the Quick-Start window is acknowledged.
    Standard,
    /// The Quick-Start window is being sent.
    Sending,
    /// The Quick-Start window is in flight until this number of bytes is delivered.
    Validating(u64),
}

/// Slow start of Quick-Start.
#[derive(Clone, Debug)]
pub struct QuickStart {
    mss: Bytes,
    initial: f64,
    phase: Phase,
    pace: Option<Rate>,
    ssthresh: f64,
    /// (4): the ssthresh to restore.
    restore: Option<f64>,
    /// The event of the routers' response, for the next ACK to return.
    response: Option<Event>,
}

impl QuickStart {
    fn new(path: &Path) -> Self {
        let initial = path.initial_cwnd.0 as f64 / path.mss.0 as f64;
        Self {
            mss: path.mss,
            initial,
            phase: Phase::Standard,
            pace: None,
            ssthresh: f64::INFINITY,
            restore: None,
            response: None,
        }
    }
}

impl SlowStart for QuickStart {
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let mut grow = segments(ack);
        self.ssthresh = ssthresh;
        match self.phase {
            Phase::Sending => {
                // (3): the window falls to the part that was used.
                let sent = ack.prior_in_flight.0 as f64 / ack.mss.0 as f64;
                if sent < w {
                    grow += sent.max(self.initial) - w;
                }
                self.pace = None;
                self.phase = Phase::Validating((ack.delivered + ack.in_flight).0);
            }
            Phase::Validating(end) if ack.delivered.0 >= end => self.phase = Phase::Standard,
            _ => {}
        }
        Step::with_event(grow, self.response.take())
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        let approved = window.feedback.map(|feedback| feedback.rate).zip(window.rtt);
        let quick = approved.map_or(0.0, |(rate, rtt)| whole_down(self::window(rate, rtt, self.mss)));
        let reason = if approved.is_some() { Reason::Approved } else { Reason::None };
        self.response = Some(Event::new(EventKind::QuickStart, reason, quick.max(w)).against(quick));
        if quick <= w {
            return (w, ssthresh); // (5)
        }
        self.phase = Phase::Sending;
        self.pace = approved.map(|(rate, _)| payload(rate, self.mss));
        (quick, ssthresh) // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        let quick = self.phase != Phase::Standard && event.cause == Cause::Loss && !event.restart;
        (self.phase, self.pace) = (Phase::Standard, None);
        self.restore = quick.then_some(self.ssthresh);
        if quick {
            self.initial // (4)
        } else {
            ssthresh
        }
    }

    fn outside(&mut self, ack: &Ack, _: f64, ssthresh: f64) -> f64 {
        if ack.recovering {
            return ssthresh;
        }
        self.restore.take().map_or(ssthresh, |before| before.max(ssthresh)) // (4)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, path, undo, MSS};
    use cwndlab_control::Feedback;

    fn approved(mbps: u64) -> Window {
        let feedback = Some(Feedback { rate: Rate::from_mbps(mbps), accelerated: Bytes::ZERO });
        Window { rtt: Some(Duration::from_millis(100)), feedback, ..undo() }
    }

    /// `known-answers.csv`, rows `quick-start`; request 0 is a rate of zero.
    #[test]
    fn requested_rates_double_from_80_kbit_per_second() {
        assert_eq!([1, 6, 8, 15].map(|n| rate(n).0), [80_000, 2_560_000, 10_240_000, 1_310_720_000]);
        assert_eq!(rate(0), Rate(0));
    }

    /// Reference values: N = 8 over 0.1 s gives 85.33 segments of 1460 bytes, N = 10 gives 341.
    #[test]
    fn the_window_counts_40_bytes_of_headers() {
        let of = |n| window(rate(n), Duration::from_millis(100), Bytes(1460));
        assert!((of(8) - 256.0 / 3.0).abs() < 1e-9);
        assert_eq!(of(10) as u64, 341);
    }

    /// By hand: 8.32 Mbit/s · 0.1 s / (1040 · 8) = 100 segments, 8 Mbit/s of payload; 60 of them were sent before the
    /// first ACK.
    #[test]
    fn the_approved_window_is_paced_until_the_first_ack() {
        let mut start = QuickStart::new(&path(10));
        let mut window = approved(1);
        window.feedback = Some(Feedback { rate: Rate(8_320_000), accelerated: Bytes::ZERO });
        assert_eq!(start.established(&window, 10.0, f64::INFINITY), (100.0, f64::INFINITY));
        assert_eq!(start.pacing_rate(), Some(Rate(8_000_000)));
        let mut first = ack(1);
        first.prior_in_flight = MSS * 60;
        assert_eq!(start.on_ack(&first, 100.0, f64::INFINITY).grow, -39.0);
        assert_eq!(start.pacing_rate(), None);
        assert_eq!(start.on_ack(&ack(1), 61.0, f64::INFINITY).grow, 1.0);
    }

    /// (4): the window falls to the initial window, and slow start continues after the recovery.
    #[test]
    fn the_loss_of_a_quick_start_packet_restores_ssthresh() {
        let mut start = QuickStart::new(&path(10));
        let _ = start.established(&approved(10), 10.0, f64::INFINITY);
        let _ = start.on_ack(&ack(1), 120.0, f64::INFINITY);
        assert_eq!(start.on_congestion(&loss(100), 121.0, 60.0), 10.0);
        let mut repairing = ack(1);
        repairing.recovering = true;
        assert_eq!(start.outside(&repairing, 10.0, 10.0), 10.0);
        assert_eq!(start.outside(&ack(1), 10.0, 10.0), f64::INFINITY);
        assert_eq!(start.on_congestion(&loss(100), 121.0, 60.0), 60.0, "the next loss is a congestion event");
    }

    #[test]
    fn without_approval_it_is_standard_slow_start() {
        let mut start = QuickStart::new(&path(10));
        assert_eq!(start.established(&undo(), 10.0, 50.0), (10.0, 50.0));
        assert_eq!((start.on_ack(&ack(2), 10.0, 50.0).grow, start.pacing_rate()), (2.0, None));
    }
}
