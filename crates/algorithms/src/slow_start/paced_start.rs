//! Paced Start: a search for the gap between segments at which the queue neither grows nor drains.
//!
//! Source: N. Hu, P. Steenkiste, "Improving TCP Startup Performance using Active Measurements: Algorithm and
//! Evaluation", ICNP 2003.
//!
//! ```text
//! the initial window, sent as a burst: g_B = δ of its first pair of ACKs                     (1)   per segment
//! trains of 4, 8, 16, 16, … segments, source gap g_s; g_a: mean ACK gap
//!   g_a > 1.1 g_s: g_lo ← g_s;  else g_hi ← g_s                                             (2)
//! next g_s = (g_lo + g_hi)/2, or 2 g_s where g_hi is unset; first g_s = 2 g_B, g_lo = g_B   (3)
//! g_hi − g_lo < 0.1 g_hi, or 8 trains: w = RTT_min / g_hi                                   (4)
//! the window is paced at g_hi over one round trip, then slow start ends                     (5)
//! ```
//!
//! Units: seconds per segment; windows in segments.
//! Differs from the source: the search, (3) and (4), and the lengths of the trains are ours; a train is sent when the
//! last one is completely acknowledged, so that it is not clocked by ACKs.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Change, Confidence, Congestion, Extra, Kind, Need, Reason, SlowStart, Spec,
    Step, Window,
};
use cwndlab_units::Rate;

use crate::congestion_avoidance::reno::segments;
use crate::shared::train::{max_burst_gap, Pairs};
use crate::shared::{exit, pace};

options! {
    struct Options {
        /// ratio of ACK gap to source gap above which a train was too fast
        wider: f64 = 1.1 in 1.0..=3.0,
        /// maximum number of trains
        trains: f64 = 8.0 in 1.0..=100.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "paced-start",
    title: "Paced Start",
    kind: Kind::SlowStart,
    source: "Hu, Steenkiste, ICNP 2003",
    year: 2003,
    confidence: Confidence::Medium,
    summary: "Sends short paced trains, one per round trip, and searches for the source gap at which the gaps of the ACKs are not wider. The window is RTT_min / gap.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the search is a bisection between the gap of the bottleneck and the first gap at which ACKs are not wider",
        "the initial window is a burst before the trains",
        "an ACK that is eight source gaps late is a delayed ACK and does not count",
        "a sender with too little data for its trains changes to standard slow start",
    ],
    pitfalls: &[
        "sends 16 segments per round trip during the search: seven round trips alone on a path, which is slower than doubling where the RTT is short and the rate high",
        "the search ends up to a tenth below the turning point, with a window that much below the BDP",
        "with a standing queue of competing flows RTT_min includes that queue, and the window is too large by it",
        "without pacing in the host (pacing = off) trains are bursts, and the search ends at the widest gap",
        "an odd last segment is acknowledged by a delayed ACK, which adds the ACK delay of the receiver to every train",
        "a smaller receive window, as with auto-tuning, delays the full window",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(PacedStart::new(arguments.into()))),
};

/// Lengths of the trains, segments; later trains have the last length.
const LENGTHS: [f64; 3] = [4.0, 8.0, 16.0];
/// (4): relative width of the interval at which the search ends.
const TOLERANCE: f64 = 0.1;
/// Lateness, in source gaps, from which on an ACK counts as delayed by the receiver and is not a sample of the path.
const LATE: f64 = 8.0;

/// The search for the gap, seconds per segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Largest gap that was too narrow.
    pub lo: f64,
    /// Smallest gap that was wide enough; 0 before the first.
    pub hi: f64,
    /// Source gap of the current train.
    pub source: f64,
    /// Completed trains.
    pub trains: u32,
}

impl Gaps {
    /// (3): starts the search at twice the gap of the bottleneck.
    #[must_use]
    pub fn begin(bottleneck: f64) -> Self {
        Self { lo: bottleneck, hi: 0.0, source: 2.0 * bottleneck, trains: 0 }
    }

    /// (2), (3): evaluates the train by its ACK gap and sets the next source gap.
    pub fn update(&mut self, ack_gap: f64, wider: f64) {
        // No margins: every train has another source gap, and the number of trains is limited.
        if ack_gap > wider * self.source {
            self.lo = self.source;
        } else {
            self.hi = self.source;
        }
        self.source = if self.hi > 0.0 { f64::midpoint(self.lo, self.hi) } else { 2.0 * self.source };
        self.trains += 1;
    }

    /// (4): the resulting gap, once the search has ended, at the latest after `max_trains`.
    #[must_use]
    pub fn result(&self, max_trains: u32) -> Option<f64> {
        let converged = self.hi > 0.0 && self.hi - self.lo < TOLERANCE * self.hi;
        let gap = if self.hi > 0.0 { self.hi } else { self.source };
        (converged || self.trains >= max_trains).then_some(gap)
    }
}

/// The ACKs of a train.
#[derive(Clone, Copy, Debug, Default)]
struct TrainAcks {
    first: u64,
    last: u64,
    /// Segments of all ACKs but the first.
    count: f64,
    acks: u32,
}

impl TrainAcks {
    #[inline]
    fn push(&mut self, ack: &Ack, source: f64) {
        let n = segments(ack);
        if self.acks == 0 {
            self.first = ack.now.as_nanos();
        } else if (ack.now.as_nanos() - self.last) as f64 * 1e-9 > LATE * n * source {
            return;
        } else {
            self.count += n;
        }
        self.last = ack.now.as_nanos();
        self.acks += 1;
    }

    /// Mean gap, seconds per segment; needs at least two ACKs.
    fn gap(&self) -> Option<f64> {
        (self.count > 0.0).then(|| (self.last - self.first) as f64 * 1e-9 / self.count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The initial window is in flight.
    Burst,
    /// A train is in flight.
    Train,
    /// The window is paced over this round.
    Spread(u64),
    /// Standard slow start.
    Standard,
}

/// Slow start of Paced Start.
#[derive(Clone, Debug)]
pub struct PacedStart {
    wider: f64,
    max_trains: u32,
    phase: Phase,
    pairs: Pairs,
    gaps: Gaps,
    train: TrainAcks,
    pace: Option<Rate>,
}

impl PacedStart {
    fn new(options: Options) -> Self {
        Self {
            wider: options.wider,
            max_trains: options.trains as u32,
            phase: Phase::Burst,
            pairs: Pairs::default(),
            gaps: Gaps::default(),
            train: TrainAcks::default(),
            pace: None,
        }
    }

    /// Starts the next train, or ends the search, after all segments of a train or of the burst are acknowledged.
    fn next(&mut self, ack: &Ack, w: f64) -> Step {
        let train = std::mem::take(&mut self.train);
        if self.phase == Phase::Burst {
            let Some(rate) = self.pairs.median_of(1) else {
                self.phase = Phase::Standard; // no pair of ACKs
                return Step::grow(segments(ack));
            };
            self.gaps = Gaps::begin(ack.mss.0 as f64 / rate); // (1)
            self.phase = Phase::Train;
        } else {
            self.gaps.update(train.gap().unwrap_or(f64::INFINITY), self.wider);
        }
        let mss = ack.mss.0 as f64;
        if let Some(gap) = self.gaps.result(self.max_trains) {
            let target = (ack.min_rtt.as_secs() / gap).max(2.0);
            self.pace = pace::over(1.0, mss, (gap * 1e9) as u64);
            self.phase = Phase::Spread(ack.round);
            return Step::with_exit(target - w, Some(exit::at(Reason::TurningPoint, target, target + 1.0)));
            // (4), (5)
        }
        self.pace = pace::over(1.0, mss, (self.gaps.source * 1e9) as u64);
        let length = LENGTHS[(self.gaps.trains as usize).min(LENGTHS.len() - 1)];
        Step::grow(length - w)
    }

    fn change_to_standard(&mut self) {
        (self.phase, self.pace) = (Phase::Standard, None);
    }
}

impl SlowStart for PacedStart {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if ack.app_limited && !matches!(self.phase, Phase::Spread(_)) {
            self.change_to_standard(); // too little data for trains
        }
        match self.phase {
            Phase::Standard => return Step::grow(segments(ack)),
            Phase::Spread(round) if pace::is_spread(ack, w, round) => {
                self.change_to_standard();
                return Step::with_exit(segments(ack), Some(exit::now(Reason::TurningPoint, w, w)));
                // (5)
            }
            Phase::Spread(_) => return Step::grow(0.0),
            Phase::Burst => {
                let _ = self.pairs.push(ack, max_burst_gap(ack));
            }
            Phase::Train => self.train.push(ack, self.gaps.source),
        }
        if ack.in_flight.0 == 0 {
            return self.next(ack, w);
        }
        // Nothing may be sent before the rest of the train is acknowledged.
        Step::grow(ack.in_flight.0 as f64 / ack.mss.0 as f64 - w)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.change_to_standard();
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.change_to_standard();
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: false }
    }

    fn extra(&self, put: Extra<'_>) {
        put("gap_lo_s", self.gaps.lo);
        put("gap_hi_s", self.gaps.hi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::{Bytes, Time};

    /// Reference values in milliseconds: g_B = 0.5: 1.0 is wide enough; 0.75 has ACK gaps of 1.0 and is too narrow;
    /// next 0.875.
    #[test]
    fn the_gap_is_searched_by_bisection() {
        let mut gaps = Gaps::begin(0.5);
        assert_eq!(gaps.source, 1.0);
        gaps.update(1.0, 1.1);
        assert_eq!((gaps.hi, gaps.source), (1.0, 0.75));
        gaps.update(1.0, 1.1);
        assert_eq!((gaps.lo, gaps.source), (0.75, 0.875));
        assert_eq!(gaps.result(8), None);
    }

    /// Eight of ten segments are in flight: nothing may be sent. An application-limited sender is not restricted.
    #[test]
    fn the_window_is_restricted_to_the_train_unless_application_limited() {
        let mut start = PacedStart::new(Options::default());
        let mut ack = ack_at(Time::from_nanos(1_000_000_000), 2);
        ack.in_flight = Bytes(8000);
        assert_eq!(start.on_ack(&ack, 10.0, 1e9).grow, -2.0);
        ack.app_limited = true;
        assert_eq!(start.on_ack(&ack, 8.0, 1e9).grow, 2.0);
    }

    #[test]
    fn the_gap_doubles_until_one_is_wide_enough() {
        let mut gaps = Gaps::begin(0.5);
        gaps.update(3.0, 1.1);
        assert_eq!((gaps.lo, gaps.source), (1.0, 2.0));
    }

    /// A path without competing flows: segments sent at gap g have ACK gaps of max(g, 1 ms). With RTT_min = 100 ms and
    /// g = 1 ms the BDP is 100 segments. The bisection stops within a tenth: 93.75 … 100.
    #[test]
    fn without_competition_the_window_approaches_the_bdp() {
        let mut start = PacedStart::new(Options::default());
        let mut w = 10.0;
        let mut ssthresh = f64::INFINITY;
        let mut now = 1_000_000_000u64;
        let mut gap_ns = 1_000_000u64;
        for round in 0..20 {
            let size = w as u64;
            for n in 0..size {
                now += gap_ns;
                let mut ack = ack_at(Time::from_nanos(now), 1);
                (ack.round, ack.in_flight) = (round, Bytes((size - 1 - n) * 1000));
                let step = start.on_ack(&ack, w, ssthresh);
                w += step.grow;
                if let Some(exit) = step.exit {
                    ssthresh = exit.ssthresh;
                }
                if w >= ssthresh {
                    assert!((93.0..=100.0).contains(&w), "{w}");
                    assert_eq!(round, 6, "burst, five trains, and the round in which the window is paced");
                    return;
                }
            }
            now += 50_000_000;
            gap_ns = start.pacing_rate().map_or(1_000_000, |rate| (1000 * 8_000_000_000 / rate.0).max(1_000_000));
        }
        panic!("slow start did not end");
    }
}
