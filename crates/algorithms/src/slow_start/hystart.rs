//! HyStart (hybrid slow start) as published.
//!
//! Source: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011 (report 2008).
//!
//! ```text
//! each ack: w += n                                                   (1)
//! exit with ssthresh = w when w ≥ 16 and the ACK train spans RTT_min/2,    (2)
//!   or the delay at the start of the round rose by η (see `shared::hybrid`)  (3)
//! ```
//!
//! Units: segments, nanoseconds.
//! Differs from the source: nothing known; the forward delay is half of the minimum RTT.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, Kind, SlowStart, Spec, Step};

use crate::congestion_avoidance::reno::segments;
use crate::shared::hybrid::Hybrid;

options! {
    struct Options {
        /// minimum window at the exit
        low_window: f64["segments"] = 16.0 in 1.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hystart",
    title: "Hybrid slow start (HyStart)",
    kind: Kind::SlowStart,
    source: "doi:10.1016/j.comnet.2011.01.014",
    year: 2008,
    confidence: Confidence::Medium,
    summary: "Slow start that ends when an ACK train spans the one-way delay or the RTT rises.",
    parameters: Options::PARAMETERS,
    choices: &["the one-way delay is RTT_min/2"],
    pitfalls: &["jitter and delayed ACKs cause early exits"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| {
        let options = Options::from(arguments);
        Box::new(HyStart { low_window: options.low_window, hybrid: Hybrid::default() })
    }),
};
use crate::shared::exit;

/// Slow start of HyStart.
#[derive(Clone, Debug)]
pub struct HyStart {
    low_window: f64,
    hybrid: Hybrid,
}

impl SlowStart for HyStart {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        self.hybrid.observe(ack);
        let signal = self.hybrid.detect(ack, self.hybrid.rtt_min / 2); // (2), (3)
                                                                       // No margin: the window rises with every ACK.
        let exit = signal.filter(|_| w >= self.low_window).map(|signal| exit::now(signal, w, f64::NAN));
        Step::with_exit(segments(ack), exit) // (1)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            self.hybrid.restart();
        }
        ssthresh
    }
}
