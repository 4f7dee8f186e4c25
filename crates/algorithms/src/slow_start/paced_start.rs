//! Paced Start.
//!
//! Source: N. Hu, P. Steenkiste, "Improving TCP Startup Performance using Active Measurements: Algorithm and Evaluation",
//! ICNP 2003.
//!
//! ```text
//! the initial window, sent at once: g_B = δ of its first pair of ACKs                        (1)   per segment
//! trains of 4, 8, 16, 16, … segments, source gap g_s; g_a: mean ACK gap
//!   g_a > 1.1 g_s: g_lo ← g_s;  else g_hi ← g_s                                             (2)
//! next g_s = (g_lo + g_hi)/2, or 2 g_s where g_hi is unset; first g_s = 2 g_B, g_lo = g_B   (3)
//! g_hi − g_lo < 0.1 g_hi, or 8 trains: w = RTT_min / g_hi                                   (4)
//! that window is paced at g_hi over one round trip, then slow start ends                    (5)
//! ```
//!
//! Units: seconds per segment; windows in segments.
//! Differs from the source: the search, (3) and (4), and the lengths are ours; a train leaves when the last one is
//! acknowledged in full, so that ACKs do not clock it.

use cwndlab_control::{
    Ack, Build, Capabilities, Change, Confidence, Congestion, Domain, Extra, Kind, Need, Parameter, Reason, SlowStart,
    Spec, Step, Value, Window,
};
use cwndlab_units::Rate;

use crate::congestion_avoidance::reno::segments;
use crate::shared::train::{close, Pairs};
use crate::shared::{exit, pace};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "paced-start",
    title: "Paced Start",
    kind: Kind::SlowStart,
    source: "Hu, Steenkiste, ICNP 2003",
    year: 2003,
    confidence: Confidence::Medium,
    summary: "Sends short paced trains, one per round trip, and searches the source gap at which they come back no wider; the window is RTT_min over that gap.",
    parameters: &[
        Parameter { name: "wider", unit: "", default: Value::Number(1.1), domain: Domain::Range(1.0, 3.0), doc: "a train whose ACKs are wider apart than this many source gaps was too fast" },
        Parameter { name: "trains", unit: "", default: Value::Number(8.0), domain: Domain::Range(1.0, 100.0), doc: "most trains" },
    ],
    choices: &[
        "the source gap is searched by bisection between the bottleneck's gap and the first that passes",
        "the initial window is a first burst of its own, before the trains",
        "an ACK eight source gaps late is a delayed one and not counted",
        "a sender that has too little data for its trains goes over to standard slow start",
    ],
    pitfalls: &[
        "sends 16 segments per round trip while it searches: seven round trips alone on a path, which on a short fat path is slower than doubling",
        "ends at up to a tenth below the turning point, that much less than the pipe",
        "where others keep a queue, RTT_min includes it, and the window is their queue too large",
        "where the host cannot pace (pacing = off) trains leave as bursts and the search ends at the widest gap",
        "an odd segment left to a delayed ACK costs the receiver's ACK delay per train",
        "the window waits for the receiver's where that is smaller, as with auto-tuning",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| {
        Box::new(PacedStart {
            wider: arguments.number("wider"),
            most: arguments.number("trains") as u32,
            phase: Phase::Burst,
            pairs: Pairs::default(),
            gaps: Gaps::default(),
            train: Trip::default(),
            pace: None,
        })
    }),
};

/// Lengths of the trains, segments; the last one holds from there on.
const LENGTHS: [f64; 3] = [4.0, 8.0, 16.0];
/// (4).
const NARROW: f64 = 0.1;
/// An ACK so many source gaps late was held back by the receiver (delayed ACK): it tells nothing of the path.
const LATE: f64 = 8.0;

/// The search for the gap, seconds per segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Known to be too narrow.
    pub lo: f64,
    /// Known to pass; 0 while none is.
    pub hi: f64,
    /// Of the train under way.
    pub source: f64,
    /// Trains judged.
    pub trains: u32,
}

impl Gaps {
    /// (3): begins at twice the bottleneck's gap.
    #[must_use]
    pub fn begin(bottleneck: f64) -> Self {
        Self { lo: bottleneck, hi: 0.0, source: 2.0 * bottleneck, trains: 0 }
    }

    /// (2), (3): judges the train by its ACK gap and chooses the next source gap.
    pub fn judge(&mut self, ack_gap: f64, wider: f64) {
        if ack_gap > wider * self.source {
            self.lo = self.source;
        } else {
            self.hi = self.source;
        }
        self.source = if self.hi > 0.0 { f64::midpoint(self.lo, self.hi) } else { 2.0 * self.source };
        self.trains += 1;
    }

    /// (4): the gap, once it is found.
    #[must_use]
    pub fn found(&self, most: u32) -> Option<f64> {
        let found = self.hi > 0.0 && self.hi - self.lo < NARROW * self.hi;
        let last = if self.hi > 0.0 { self.hi } else { self.source };
        (found || self.trains >= most).then_some(last)
    }
}

/// The ACKs of a train.
#[derive(Clone, Copy, Debug, Default)]
struct Trip {
    first: u64,
    last: u64,
    /// Segments of all ACKs but the first.
    count: f64,
    acks: u32,
}

impl Trip {
    #[inline]
    fn push(&mut self, ack: &Ack, source: f64) {
        let n = segments(ack);
        if self.acks == 0 {
            self.first = ack.now.0;
        } else if (ack.now.0 - self.last) as f64 * 1e-9 > LATE * n * source {
            return;
        } else {
            self.count += n;
        }
        self.last = ack.now.0;
        self.acks += 1;
    }

    /// Mean gap, seconds per segment; two ACKs at least.
    fn gap(&self) -> Option<f64> {
        (self.count > 0.0).then(|| (self.last - self.first) as f64 * 1e-9 / self.count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The initial window is out.
    Burst,
    /// A train is out.
    Train,
    /// The window is spread over this round.
    Spread(u64),
    Standard,
}

/// Paced Start.
#[derive(Clone, Debug)]
pub struct PacedStart {
    wider: f64,
    most: u32,
    phase: Phase,
    pairs: Pairs,
    gaps: Gaps,
    train: Trip,
    pace: Option<Rate>,
}

impl PacedStart {
    /// All of a train, or of the burst, is acknowledged: what comes next.
    fn next(&mut self, ack: &Ack, w: f64) -> Step {
        let trip = std::mem::take(&mut self.train);
        if self.phase == Phase::Burst {
            let Some(rate) = self.pairs.median_of(1) else {
                self.phase = Phase::Standard; // nothing to measure by
                return Step::grow(segments(ack));
            };
            self.gaps = Gaps::begin(ack.mss.0 as f64 / rate); // (1)
            self.phase = Phase::Train;
        } else {
            self.gaps.judge(trip.gap().unwrap_or(f64::INFINITY), self.wider);
        }
        let mss = ack.mss.0 as f64;
        if let Some(gap) = self.gaps.found(self.most) {
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

    fn give_up(&mut self) {
        (self.phase, self.pace) = (Phase::Standard, None);
    }
}

impl SlowStart for PacedStart {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if ack.app_limited && !matches!(self.phase, Phase::Spread(_)) {
            self.give_up(); // no data, no trains
        }
        match self.phase {
            Phase::Standard => return Step::grow(segments(ack)),
            Phase::Spread(round) if pace::is_spread(ack, w, round) => {
                self.give_up();
                return Step::with_exit(segments(ack), Some(exit::now(Reason::TurningPoint, w, w)));
                // (5)
            }
            Phase::Spread(_) => return Step::grow(0.0),
            Phase::Burst => {
                let _ = self.pairs.push(ack, close(ack));
            }
            Phase::Train => self.train.push(ack, self.gaps.source),
        }
        if ack.in_flight.0 == 0 {
            return self.next(ack, w);
        }
        // The rest of the train is awaited: nothing may leave meanwhile.
        Step::grow(ack.in_flight.0 as f64 / ack.mss.0 as f64 - w)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.give_up();
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.give_up();
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
    use cwndlab_control::testing::{ack_at, path};
    use cwndlab_control::Arguments;
    use cwndlab_units::{Bytes, Time};

    /// The sheet, in milliseconds: g_B = 0.5: 1.0 passes, 0.75 comes back at 1.0 and is too narrow, next 0.875.
    #[test]
    fn the_gap_is_searched_by_bisection() {
        let mut gaps = Gaps::begin(0.5);
        assert_eq!(gaps.source, 1.0);
        gaps.judge(1.0, 1.1);
        assert_eq!((gaps.hi, gaps.source), (1.0, 0.75));
        gaps.judge(1.0, 1.1);
        assert_eq!((gaps.lo, gaps.source), (0.75, 0.875));
        assert_eq!(gaps.found(8), None);
    }

    /// Eight of ten are still out: nothing may leave. A sender without data is not held.
    #[test]
    fn it_awaits_its_train_but_not_the_application() {
        let Build::SlowStart(make) = SPEC.build else { unreachable!() };
        let mut start = make(&path(10), &Arguments::defaults(SPEC.parameters));
        let mut ack = ack_at(Time(1_000_000_000), 2);
        ack.in_flight = Bytes(8000);
        assert_eq!(start.on_ack(&ack, 10.0, 1e9).grow, -2.0);
        ack.app_limited = true;
        assert_eq!(start.on_ack(&ack, 8.0, 1e9).grow, 2.0);
    }

    #[test]
    fn without_a_gap_that_passes_it_doubles() {
        let mut gaps = Gaps::begin(0.5);
        gaps.judge(3.0, 1.1);
        assert_eq!((gaps.lo, gaps.source), (1.0, 2.0));
    }

    /// A path alone: what leaves at gap g comes back at max(g, 1 ms). RTT 100 ms: the pipe is 100 segments; the sheet's
    /// RTT_min = 100 ms, g = 1 ms gives 100. The bisection stops within a tenth: 93.75 … 100.
    #[test]
    fn alone_on_a_path_it_finds_nearly_the_pipe() {
        let Build::SlowStart(make) = SPEC.build else { unreachable!() };
        let mut start = make(&path(10), &Arguments::defaults(SPEC.parameters));
        let (mut w, mut ssthresh, mut now, mut gap_ns) = (10.0, f64::INFINITY, 1_000_000_000u64, 1_000_000u64);
        for round in 0..20 {
            let size = w as u64;
            for n in 0..size {
                now += gap_ns;
                let mut ack = ack_at(Time(now), 1);
                (ack.round, ack.in_flight) = (round, Bytes((size - 1 - n) * 1000));
                let step = start.on_ack(&ack, w, ssthresh);
                w += step.grow;
                if let Some(exit) = step.exit {
                    ssthresh = exit.ssthresh;
                }
                if w >= ssthresh {
                    assert!((93.0..=100.0).contains(&w), "{w}");
                    assert_eq!(round, 6, "burst, five trains, and the round in which the window is spread");
                    return;
                }
            }
            now += 50_000_000;
            gap_ns = start.pacing_rate().map_or(1_000_000, |rate| (1000 * 8_000_000_000 / rate.0).max(1_000_000));
        }
        panic!("it never left");
    }
}
