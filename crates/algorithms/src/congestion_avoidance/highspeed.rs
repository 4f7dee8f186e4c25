//! HighSpeed TCP: AIMD whose increase and decrease depend on the window.
//!
//! Source: S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003.
//!
//! ```text
//! u    = (ln w − ln 38) / (ln 83000 − ln 38)                     (1)
//! b(w) = 0.5 + (0.1 − 0.5) u                                     (2)
//! p(w) = exp(ln 1e-3 + u (ln 1e-7 − ln 1e-3))                    (3)
//! a(w) = w² p(w) 2 b(w) / (2 − b(w));  a = 1, b = 1/2 up to 38   (4)
//! each ack: w += n a(w) / w;  congestion event: w = (1 − b(w)) w  (5)
//! ```
//!
//! Units: segments.
//! Differs from the source: a(w) is evaluated once per whole segment of window; u is 1 above 83000.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Kind, Spec};
use cwndlab_units::maths::{exp, floor, ln};

use super::reno::{acked_count, PerAck};

options! {
    struct Options {
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
        /// true: a(w)/w per ACK, regardless of the segments that it acknowledges (Linux)
        per_ack: PerAck = False,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "highspeed",
    title: "HighSpeed TCP",
    kind: Kind::CongestionAvoidance,
    source: "RFC 3649",
    year: 2003,
    confidence: Confidence::High,
    summary: "Reno up to 38 segments. Above, the response function of RFC 3649 gives larger increments and smaller reductions.",
    parameters: Options::PARAMETERS,
    choices: &["the formula instead of Linux' table of 72 rows"],
    pitfalls: &["large windows need limited slow start (RFC 3742)"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(HighSpeed::new(arguments.into()))),
};

const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;

fn u(w: f64) -> f64 {
    ((ln(w) - ln(LOW_WINDOW)) / (ln(HIGH_WINDOW) - ln(LOW_WINDOW))).clamp(0.0, 1.0)
    // (1)
}

/// b(w), the decrease fraction. It and a(w) are continuous at the low window and need no margins.
#[must_use]
pub fn b(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        0.5
    } else {
        0.5 + (0.1 - 0.5) * u(w)
    } // (2)
}

/// a(w), the increment in segments per round trip.
#[must_use]
pub fn a(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let u = u(w);
    let b = b(w);
    let p = exp(ln(1e-3) + u * (ln(1e-7) - ln(1e-3))); // (3)
    w * w * p * 2.0 * b / (2.0 - b) // (4)
}

/// Congestion avoidance of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    per_ack: bool,
    /// The window, in whole segments, for which `a` was computed.
    at: f64,
    a: f64,
}

impl HighSpeed {
    fn new(options: Options) -> Self {
        Self { per_ack: options.per_ack == PerAck::True, at: -1.0, a: 1.0 }
    }
}

impl CongestionAvoidance for HighSpeed {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let whole = floor(w);
        if whole != self.at {
            (self.at, self.a) = (whole, a(whole));
        }
        w + acked_count(ack, self.per_ack) * self.a / w // (5)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        ((1.0 - b(w)) * w).max(2.0)
    }
}
