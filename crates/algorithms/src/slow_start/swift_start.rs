//! Swift-Start: a jump to half of the BDP estimated from packet pairs.
//!
//! Source: C. Partridge, D. Rockwell, M. Allman, R. Krishnan, J. Sterbenz, "A Swifter Start for TCP", BBN TR-8339,
//! 2002.
//!
//! ```text
//! at the start: w = min(w, 4)                                              (1)
//! B = median of L/δ over the first 3 pairs of close ACKs                   (2)   `shared::train`
//! w = max(w, ½ B RTT / MSS), paced over one RTT                            (3)   once
//! each ack: w += n                                                         (4)   otherwise
//! ```
//!
//! Units: bytes/s, seconds; windows in segments.
//! Differs from the source: the fraction ½ and the median of three pairs are our choice among the variants it
//! discusses.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Confidence, Congestion, Kind, Need, SlowStart, Spec, Step, Window,
};
use cwndlab_units::{Duration, Rate};

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::whole_down;
use crate::shared::pace;
use crate::shared::train::{max_burst_gap, Pairs};

options! {
    struct Options {
        /// fraction of B*RTT to which the window jumps
        share: f64 = 0.5 in 0.01..=2.0,
        /// number of pairs whose median is B
        pairs: f64 = 3.0 in 1.0..=16.0,
        /// maximum initial window; a smaller initial window of the stack takes precedence
        first: f64["segments"] = 4.0 in 2.0..=100.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "swift-start",
    title: "Swift-Start",
    kind: Kind::SlowStart,
    source: "Partridge et al., BBN TR-8339, 2002",
    year: 2002,
    confidence: Confidence::Medium,
    summary: "The spacing of the first four packets gives the bottleneck bandwidth B. The window jumps to half of B*RTT, paced over one RTT, and doubles per round trip from there.",
    parameters: Options::PARAMETERS,
    choices: &["the jump is to half of B*RTT", "B is the median of the first three pairs"],
    pitfalls: &[
        "after the jump it is standard slow start without an exit rule: it overshoots in the same way, one round trip later",
        "a smaller receive window, as with auto-tuning, delays the jump",
        "with delayed ACKs four packets give one pair: the jump follows in the second round",
        "with a short RTT and a moderate rate it is slower than regular TCP, as its authors report, since the initial window is smaller",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[
        ("ledbat", "it yields to other flows, and Swift-Start jumps to half of the BDP without regard to them"),
        ("ledbat-pp", "it yields to other flows, and Swift-Start jumps to half of the BDP without regard to them"),
    ],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(SwiftStart::new(arguments.into()))),
};

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Packet pairs are measured.
    Probe,
    /// The window is paced over the RTT after this round.
    Spread(u64),
    /// Standard slow start.
    Standard,
}

/// Slow start of Swift-Start.
#[derive(Clone, Debug)]
pub struct SwiftStart {
    share: f64,
    k: usize,
    first: f64,
    phase: Phase,
    pairs: Pairs,
    rtt: u64,
    pace: Option<Rate>,
}

/// (3), whole segments.
#[must_use]
pub fn window(share: f64, bytes_per_s: f64, rtt_s: f64, mss: f64) -> f64 {
    whole_down(share * bytes_per_s * rtt_s / mss)
}

impl SwiftStart {
    fn new(options: Options) -> Self {
        Self {
            share: options.share,
            k: options.pairs as usize,
            first: options.first,
            phase: Phase::Probe,
            pairs: Pairs::default(),
            rtt: 0,
            pace: None,
        }
    }
}

impl SlowStart for SwiftStart {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let mut grow = segments(ack); // (4)
        match self.phase {
            Phase::Probe => {
                if self.rtt == 0 {
                    self.rtt = ack.rtt.map_or(0, Duration::as_nanos);
                }
                let _ = self.pairs.push(ack, max_burst_gap(ack));
                if let Some(b) = self.pairs.median_of(self.k) {
                    let mss = ack.mss.0 as f64;
                    let target = window(self.share, b, self.rtt as f64 * 1e-9, mss); // (2), (3)
                    self.phase = Phase::Standard;
                    if target > w + grow {
                        grow = target - w;
                        self.pace = pace::over(target, mss, self.rtt);
                        self.phase = Phase::Spread(ack.round);
                    }
                }
            }
            Phase::Spread(round) => {
                if pace::is_spread(ack, w, round) {
                    (self.phase, self.pace) = (Phase::Standard, None);
                } else {
                    grow = 0.0;
                }
            }
            Phase::Standard => {}
        }
        Step::grow(grow)
    }

    fn established(&mut self, _: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        (w.min(self.first), ssthresh) // (1)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        (self.phase, self.pace) = (Phase::Standard, None);
        ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, undo};
    use cwndlab_units::Time;

    /// Reference values: 10 Mbit/s and 200 ms are 171.2 segments of 1460 bytes; the jump is to 85.
    #[test]
    fn the_window_jumps_to_half_of_the_bdp() {
        assert_eq!(window(0.5, 10e6 / 8.0, 0.2, 1460.0), 85.0);
    }

    /// By hand: four ACKs of 1000 bytes 1 ms apart, RTT 100 ms: 50 segments at 1000 · 8 · 50 / 0.1 s = 4 Mbit/s.
    #[test]
    fn the_fourth_ack_causes_the_jump_and_pacing_for_a_round() {
        let mut start = SwiftStart::new(Options::default());
        let (mut w, _) = start.established(&undo(), 10.0, f64::INFINITY);
        assert_eq!(w, 4.0);
        for n in 0..4 {
            w += start.on_ack(&ack_at(Time::from_nanos(1_000_000_000 + n * 1_000_000), 1), w, 1e9).grow;
        }
        assert_eq!((w, start.pacing_rate()), (50.0, Some(Rate(4_000_000))));
        assert_eq!(start.on_ack(&ack_at(Time::from_nanos(1_004_000_000), 1), w, 1e9).grow, 0.0);
        let mut next = ack_at(Time::from_nanos(1_100_000_000), 1);
        next.round = 2;
        next.prior_in_flight = cwndlab_units::Bytes(40_000);
        assert_eq!(start.on_ack(&next, w, 1e9).grow, 0.0, "four fifths of the window are in flight");
        next.prior_in_flight = cwndlab_units::Bytes(50_000);
        assert_eq!((start.on_ack(&next, w, 1e9).grow, start.pacing_rate()), (1.0, None));
    }
}
