//! AIMD with delay back-off: increases the window as Reno, and reduces it also when the queueing delay is large.
//!
//! ```text
//! each ACK:         w += n / w                      (1)   slow start: w += n
//! each round trip:  w *= 0.9  if rtt > g min_rtt    (2)
//! each congestion:  w /= 2                          (3)
//! ```
//!
//! Units: segments. Differs from a source: there is none; this is an example, the same as `own_algorithm.py`.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionControl, Event, Extra, Kind, Path, Phase, Spec,
    Ssthresh, State, Window,
};
use cwndlab_units::Bytes;

options! {
    struct Options {
        /// RTT by its minimum above which the window is reduced
        g: f64 = 1.5 in 1.0..=10.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "delay-aimd",
    title: "Delay AIMD",
    kind: Kind::Whole,
    source: "docs/add-an-algorithm.md",
    year: 2026,
    confidence: Confidence::High,
    summary: "AIMD that also reduces its window when the queueing delay is large.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &[],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Whole(|path, arguments| Box::new(DelayAimd::new(path, arguments.into()))),
};

/// The algorithm of a flow.
#[derive(Clone, Debug)]
struct DelayAimd {
    w: f64,
    ssthresh: f64,
    g: f64,
    mss: f64,
    /// The round trip of the last reduction by delay, and the one after it.
    round: u64,
}

impl DelayAimd {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        Self { w: path.initial_cwnd.0 as f64 / mss, ssthresh, g: options.g, mss, round: 0 }
    }
}

impl CongestionControl for DelayAimd {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if ack.recovering || !ack.cwnd_limited {
            return None; // the transport sets the window, or an unused window gives no evidence of capacity
        }
        let n = ack.acked.0 as f64 / self.mss;
        let is_late = ack.rtt.is_some_and(|rtt| rtt.as_secs() > self.g * ack.min_rtt.as_secs());
        if ack.round > self.round && is_late {
            self.w = (0.9 * self.w).max(2.0); // (2)
            self.ssthresh = self.w;
            self.round = ack.round + 1; // the RTTs of the next round still include the old queue
        } else if self.w < self.ssthresh {
            self.w += n;
        } else {
            self.w += n / self.w; // (1)
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !event.repeated {
            self.ssthresh = (self.w / 2.0).max(2.0); // (3)
        }
        self.w = if event.restart { 1.0 } else { self.ssthresh };
    }

    fn cwnd(&self) -> Bytes {
        // The rounding margin of the engine: k segments may be the sum of fractions.
        Bytes(((self.w + 1e-9) * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        if !matches!(window.change, Change::Established | Change::Undo) {
            self.w = window.cwnd.0 as f64 / self.mss; // after an idle period or a recovery
        }
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(named) = extra {
            named("w_segments", self.w);
        }
        let phase = if self.w < self.ssthresh { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
    }
}
