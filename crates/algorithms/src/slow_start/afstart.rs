//! AFStart: slow start to a threshold from in-line measurements of the available bandwidth.
//!
//! Source: Y. Zhang, N. Ansari, M. Wu, H. Yu, "AFStart: An Adaptive Fast TCP Slow Start for Wide Area Networks", ICC
//! 2012; the measurement follows ImTCP (C. L. T. Man et al., 2006). The rule (4) of the increase is our reconstruction.
//!
//! ```text
//! train of 10 segments with rate r: RTT rise > 0.1 × its length: A ← A + (r − A)/4      (1)
//!                                   else: A ← max(A, r)
//! before the third train: w += n                                                        (2)
//! each RTT: ssthresh = A RTT_min / MSS, gap = ssthresh − w                              (3)
//!   w += min(gap, 3w, max(w, gap/2)) over the round trip, paced                         (4)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: low for (4).
//! Differs from the source: ImTCP shapes the gaps of its trains; here the window is paced evenly. A train whose RTT
//! does not rise was acknowledged as fast as it was sent: its rate is a lower bound of the available bandwidth.

use cwndlab_control::{
    Ack, Build, Capabilities, Change, Confidence, Congestion, Extra, Kind, Need, Reason, SlowStart, Spec, Step, Window,
};
use cwndlab_units::Rate;

use crate::congestion_avoidance::reno::segments;
use crate::shared::train::{max_burst_gap, Train};
use crate::shared::{exit, pace};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "afstart",
    title: "AFStart",
    kind: Kind::SlowStart,
    source: "Zhang et al., ICC 2012",
    year: 2012,
    confidence: Confidence::Low,
    summary: "Trains of ten segments measure the available bandwidth A. The window approaches A*RTT_min, at most quadrupled per round trip, with pacing. The rule of the increase is our reconstruction.",
    parameters: &[],
    choices: &[
        "a train has ten segments after its first ACK; its ACKs are at most a quarter of RTT_min apart",
        "a train whose RTT rises by at most a tenth of its length was not stretched: it can only raise the estimate",
        "the gain of the filter is a quarter",
    ],
    pitfalls: &[
        "jitter looks like a rising RTT or conceals one: A varies with it",
        "the first trains are bursts of standard slow start: alone on a path they measure its capacity, with competing flows more than the available bandwidth",
        "with an initial window of 10 and delayed ACKs the third train is complete in the third round; on a path with a BDP of less than about thirty segments a loss occurs before",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, _| Box::new(AfStart::default())),
};

/// Segments of a train.
const LENGTH: f64 = 10.0;
/// Number of trains before (3) and (4).
const TRAINS: u32 = 3;
/// (1): the gain of the filter, and the rise of the RTT, as a fraction of the train's length, of a stretched train.
const GAIN: f64 = 0.25;
const RISE: f64 = 0.1;

/// Slow start of AFStart.
#[derive(Clone, Debug, Default)]
pub struct AfStart {
    /// bytes/s; 0 while unknown.
    a: f64,
    trains: u32,
    train: Train,
    /// The transport's round number plus one; 0 before the first.
    round: u64,
    /// Window at the start of the round, and its increment in the round; segments.
    w_round: f64,
    add: f64,
    pace: Option<Rate>,
    /// RTT at the train's first ACK, ns.
    first_rtt: u64,
}

/// (4), segments.
#[must_use]
pub fn increment(w: f64, ssthresh: f64) -> f64 {
    let gap = ssthresh - w;
    gap.min(3.0 * w).min(w.max(gap / 2.0))
}

impl AfStart {
    /// (1).
    fn sample(&mut self, rate: f64, stretched: bool) {
        self.trains += 1;
        if self.a == 0.0 || !stretched {
            self.a = self.a.max(rate);
        } else {
            self.a += GAIN * (rate - self.a);
        }
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let begun = self.train.push(ack, max_burst_gap(ack)).is_some() || self.first_rtt == 0;
        if !begun && (self.train.bytes as f64) < LENGTH * ack.mss.0 as f64 {
            return;
        }
        if !begun {
            let rate = self.train.rate();
            let rise = rtt.as_nanos() as f64 - self.first_rtt as f64;
            if rate > 0.0 {
                // No margin: each train has other delays.
                self.sample(rate, rise > RISE * (self.train.last - self.train.first).as_nanos() as f64);
            }
            self.train = Train { first: ack.now, last: ack.now, bytes: 0, acks: ack.acks };
        }
        self.first_rtt = rtt.as_nanos();
    }

    fn restart(&mut self) {
        *self = Self { a: self.a, ..Self::default() };
    }
}

impl SlowStart for AfStart {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let n = segments(ack);
        let mss = ack.mss.0 as f64;
        self.measure(ack);
        if self.round != ack.round + 1 {
            self.round = ack.round + 1;
            self.add = 0.0;
            if self.trains >= TRAINS {
                // (3). Each round adds slightly less than the gap, so the target counts as reached within one segment.
                let target = self.a * ack.min_rtt.as_secs() / mss;
                if target < w + 1.0 {
                    return Step::with_exit(n, Some(exit::now(Reason::Available, w, target)));
                }
                (self.w_round, self.add) = (w, increment(w, target));
                self.pace = pace::over(w + self.add, mss, ack.min_rtt.as_nanos());
                let grow = n * self.add / self.w_round;
                return Step::with_exit(grow, Some(exit::at(Reason::Available, w + grow, target)));
            }
        }
        let grow = if self.add > 0.0 { n * self.add / self.w_round } else { n }; // (2), (4)
        let event = if self.add > 0.0 { exit::arrive(ack, Reason::Available, w, grow, ssthresh) } else { None };
        Step::with_event(grow, event)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        // After a loss or a timeout it is standard slow start to ssthresh until three new trains are complete.
        self.restart();
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.restart();
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: false }
    }

    fn extra(&self, put: Extra<'_>) {
        put("a_bps", self.a * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::Time;

    /// Reference values: from 10 to 200: 40, 120, 200.
    #[test]
    fn the_window_at_most_quadruples_per_round() {
        let mut w = 10.0;
        for expected in [40.0, 120.0, 200.0] {
            w += increment(w, 200.0);
            assert_eq!(w, expected);
        }
    }

    /// By hand: ACKs of 1000 bytes every 0.5 ms at an RTT of 100 ms: 200 segments. Three trains take 31 ACKs. The next
    /// round begins with w = 41 and a gap of 159; its increment is 79.5 (half the gap), paced at 120.5 · 1000 · 8 / 0.1
    /// s.
    #[test]
    fn three_trains_set_the_threshold() {
        let mut start = AfStart::default();
        let mut w = 10.0;
        for n in 0..31 {
            w += start.on_ack(&ack_at(Time::from_nanos(1_000_000_000 + n * 500_000), 1), w, 1e9).grow;
        }
        assert_eq!((w, start.trains, start.a), (41.0, 3, 2e6));
        let mut next = ack_at(Time::from_nanos(1_100_000_000), 1);
        next.round = 2;
        let step = start.on_ack(&next, w, 1e9);
        assert_eq!(step.exit.map(|exit| exit.ssthresh), Some(200.0));
        assert!((step.grow - 79.5 / 41.0).abs() < 1e-12);
        assert_eq!(start.pacing_rate(), Some(Rate(9_640_000)));
    }

    /// (1): ten segments of 1000 bytes 1 ms apart are 1 MB/s. At a constant RTT this is a lower bound; with an RTT that
    /// rises by 0.2 ms per ACK it lowers an estimate of 2 MB/s by a quarter of the difference.
    #[test]
    fn only_stretched_trains_lower_the_estimate() {
        for (rise_us, a) in [(0, 2e6), (200, 1.75e6)] {
            let mut start = AfStart { a: 2e6, ..AfStart::default() };
            for n in 0..11 {
                let mut ack = ack_at(Time::from_nanos(1_000_000_000 + n * 1_000_000), 1);
                ack.rtt = Some(cwndlab_units::Duration::from_micros(100_000 + n * rise_us));
                start.measure(&ack);
            }
            assert_eq!((start.a, start.trains), (a, 1));
        }
    }
}
