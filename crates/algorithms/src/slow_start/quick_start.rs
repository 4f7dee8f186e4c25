//! Quick-Start: routers approve a rate in the handshake. The sender's half.
//!
//! Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007.
//!
//! ```text
//! the SYN asks for rate(N) = 40 kbit/s · 2^N                                          (1)   N = 1 … 15
//! approved rate R: w = max(IW, R RTT / (MSS + H)), paced at R until the first ACK     (2)   H = 40 bytes; R includes them
//! first ACK: w = min(w, what was sent), pacing ends; then w += n                      (3)   ssthresh unchanged
//! loss of a Quick-Start packet: w = IW, ssthresh as before                            (4)
//! no approval: IW, w += n                                                             (5)
//! ```
//!
//! Units: bit/s, seconds; windows in segments.
//! Differs from the source: (4) passes through one congestion event, since only that lowers a window; the threshold comes back
//! when the loss is repaired, but the growth has heard of it. After a timeout it is all ordinary.

use cwndlab_control::{
    Ack, Build, Capabilities, Cause, Confidence, Congestion, Domain, Event, EventKind, Kind, Need, Parameter, Path,
    Reason, SlowStart, Spec, Step, Value, Window,
};
use cwndlab_units::maths::floor;
use cwndlab_units::{Bytes, Duration, Rate};

use crate::congestion_avoidance::reno::segments;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "quick-start",
    title: "Quick-Start",
    kind: Kind::SlowStart,
    source: "RFC 4782",
    year: 2007,
    confidence: Confidence::High,
    summary: "The SYN asks the routers for a rate; what all approve is sent, paced, in the first round trip. Without approval it is standard slow start.",
    parameters: &[Parameter {
        name: "n",
        unit: "",
        default: Value::Number(12.0),
        domain: Domain::Range(1.0, 15.0),
        doc: "rate request: 40 kbit/s * 2^n; 12 is 163.84 Mbit/s, 15 is 1310.72 Mbit/s",
    }],
    choices: &["asks for 163.84 Mbit/s; the RFC leaves the request to the application"],
    pitfalls: &[
        "after the Quick-Start window it is standard slow start and overshoots as that does",
        "one router without an agent, and it is standard slow start from the initial window",
        "the receiver must offer the window: Linux' auto-tuning begins with 64 kB, and the approval is lost (stack = { auto_tuning = false })",
        "where routers approve more than there is, the repair runs at the initial window per round trip, since that is what (4) leaves",
        "what is approved but not used is lost to others for the interval of the routers",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::Agent("quick-start")],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|path, _| Box::new(QuickStart::new(path))),
};

/// Headers that RFC 4782 reckons with, bytes.
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

/// The payload of a rate that counts headers too.
fn payload(rate: Rate, mss: Bytes) -> Rate {
    Rate((u128::from(rate.0) * u128::from(mss.0) / u128::from(mss.0 + HEADER)) as u64)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Nothing was approved, or all is over.
    Standard,
    /// The Quick-Start window leaves.
    Sending,
    /// It waits until so many bytes are delivered.
    Validating(u64),
}

/// Quick-Start.
#[derive(Clone, Debug)]
pub struct QuickStart {
    mss: Bytes,
    initial: f64,
    phase: Phase,
    pace: Option<Rate>,
    ssthresh: f64,
    /// (4): the threshold that comes back.
    restore: Option<f64>,
    /// The answer of the routers is not in the records yet.
    answered: Option<Event>,
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
            answered: None,
        }
    }
}

impl SlowStart for QuickStart {
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let mut grow = segments(ack);
        self.ssthresh = ssthresh;
        match self.phase {
            Phase::Sending => {
                // (3): a window that was not used is not kept.
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
        Step::with_event(grow, self.answered.take())
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        let approved = window.feedback.map(|feedback| feedback.rate).zip(window.rtt);
        let quick = approved.map_or(0.0, |(rate, rtt)| floor(self::window(rate, rtt, self.mss)));
        let reason = if approved.is_some() { Reason::Approved } else { Reason::None };
        self.answered = Some(Event::new(EventKind::QuickStart, reason, quick.max(w)).against(quick));
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

    /// `known-answers.csv`, rows `quick-start`; request 0 asks for nothing.
    #[test]
    fn requests_double_from_80_kbit_per_second() {
        assert_eq!([1, 6, 8, 15].map(|n| rate(n).0), [80_000, 2_560_000, 10_240_000, 1_310_720_000]);
        assert_eq!(rate(0), Rate(0));
    }

    /// The sheet: N = 8 over 0.1 s is 85.33 segments of 1460 bytes, N = 10 is 341.
    #[test]
    fn the_window_counts_40_bytes_of_headers() {
        let of = |n| window(rate(n), Duration::from_millis(100), Bytes(1460));
        assert!((of(8) - 256.0 / 3.0).abs() < 1e-9);
        assert_eq!(of(10) as u64, 341);
    }

    /// By hand: 8.32 Mbit/s · 0.1 s / (1040 · 8) = 100 segments, 8 Mbit/s of payload; of them 60 were sent when the first ACK
    /// comes.
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

    /// (4): back to the initial window, and when the loss is repaired slow start goes on.
    #[test]
    fn a_lost_quick_start_packet_is_no_congestion() {
        let mut start = QuickStart::new(&path(10));
        let _ = start.established(&approved(10), 10.0, f64::INFINITY);
        let _ = start.on_ack(&ack(1), 120.0, f64::INFINITY);
        assert_eq!(start.on_congestion(&loss(100), 121.0, 60.0), 10.0);
        let mut repairing = ack(1);
        repairing.recovering = true;
        assert_eq!(start.outside(&repairing, 10.0, 10.0), 10.0);
        assert_eq!(start.outside(&ack(1), 10.0, 10.0), f64::INFINITY);
        assert_eq!(start.on_congestion(&loss(100), 121.0, 60.0), 60.0, "the next loss is one");
    }

    #[test]
    fn without_approval_it_is_standard_slow_start() {
        let mut start = QuickStart::new(&path(10));
        assert_eq!(start.established(&undo(), 10.0, 50.0), (10.0, 50.0));
        assert_eq!((start.on_ack(&ack(2), 10.0, 50.0).grow, start.pacing_rate()), (2.0, None));
    }
}
