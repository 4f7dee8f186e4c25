//! LEDBAT++: LEDBAT on round-trip times, with periodic slowdowns.
//!
//! Source: P. Balasubramanian, O. Ertugay, D. Havey, "LEDBAT++: Congestion Control for Background Traffic",
//! draft-irtf-iccrg-ledbat-plus-plus.
//!
//! ```text
//! GAIN = 1 / min(16, ⌈2 TARGET / base⌉),  TARGET = 60 ms                        (1)
//! per round trip: q ≤ TARGET: w += GAIN                                         (2)
//!                 else:       w += max(GAIN − w (q / TARGET − 1), −w / 2)       (3)
//! slow start:     each ack: w += GAIN n;  q > 3/4 TARGET ends the first slow start   (4)
//! slowdown:       two round trips after slow start: ssthresh = w, w = 2 for two round trips, slow start to ssthresh;
//!                 the next begins 9 times its duration after its end            (5)
//! congestion event: w = max(w / 2, 2)                                           (6)
//! ```
//!
//! Units: segments, seconds; base and q as in `ledbat`, of round-trip times.
//! Differs from the source: the initial window is that of the stack, not two segments.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Reason, Spec,
    Step, Window,
};
use cwndlab_units::{Duration, Time};

use super::ledbat::History;
use super::reno::segments;
use crate::shared::margin::whole_up;

options! {
    struct Options {
        /// TARGET, the queueing delay in equilibrium
        target: f64["s"] = 0.06 in 0.001..=0.1,
        /// on: periodic slowdowns, which empty the queue
        slowdown: bool = true,
        /// time between slowdowns / duration of the last slowdown
        spacing: f64 = 9.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ledbat-pp",
    title: "LEDBAT++",
    kind: Kind::CongestionAvoidance,
    source: "draft-irtf-iccrg-ledbat-plus-plus",
    year: 2020,
    confidence: Confidence::High,
    summary: "LEDBAT on round-trip times, with a slower increase, a multiplicative decrease, and slowdowns that empty the queue so that the base delay can be measured.",
    parameters: Options::PARAMETERS,
    choices: &["two round trips are two smoothed RTTs", "a loss or a timeout ends a slowdown"],
    pitfalls: &["slowdowns also empty the path of a single flow: the bottleneck is not fully used for about a tenth of the time"],
    companion: "",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(LedbatPp::new(arguments.into()))),
};
use crate::shared::exit;

/// The phase of the slowdown cycle (5).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// In slow start, or before the first ACK after it.
    Start,
    /// Steady, until the next slowdown.
    Steady { until: Time },
    /// Slowdown: two segments until `until`.
    Low { began: Time, until: Time, ssthresh: f64 },
    /// Slowdown: slow start back to `ssthresh`.
    Back { began: Time, ssthresh: f64 },
}

/// The window of a slowdown, segments.
const LOW: f64 = 2.0;

/// Slow start and congestion avoidance of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    /// ns.
    target: f64,
    slowdowns: bool,
    spacing: f64,
    history: History,
    phase: Phase,
    /// The first slow start is over.
    begun: bool,
}

impl LedbatPp {
    fn new(options: Options) -> Self {
        Self {
            target: options.target * 1e9,
            slowdowns: options.slowdown,
            spacing: options.spacing,
            history: History::default(),
            phase: Phase::Start,
            begun: false,
        }
    }

    /// (1), for a base delay in ns.
    fn gain(&self, base: f64) -> f64 {
        if base <= 0.0 {
            return 1.0;
        }
        1.0 / whole_up(2.0 * self.target / base).clamp(1.0, 16.0)
    }

    /// (2) and (3): change of the window in segments per round trip.
    fn per_round(&self, w: f64, base: f64, q: f64) -> f64 {
        let gain = self.gain(base);
        // No margin: (2) equals (3) at the tie.
        if q <= self.target {
            gain
        } else {
            (gain - w * (q / self.target - 1.0)).max(-w / 2.0)
        }
    }

    fn steady(&mut self, ack: &Ack, w: f64) -> f64 {
        let base = self.history.base();
        let q = self.history.queueing();
        w + self.per_round(w, base, q) * segments(ack) / w
    }

    /// (5): the window after an ACK.
    fn step(&mut self, ack: &Ack, w: f64) -> f64 {
        let now = ack.now;
        let two = ack.srtt * 2;
        match self.phase {
            Phase::Start => {
                self.begun = true;
                self.phase = Phase::Steady { until: if self.slowdowns { now + two } else { Time::MAX } };
                self.steady(ack, w)
            }
            Phase::Steady { until } if now >= until && w > LOW => {
                self.phase = Phase::Low { began: now, until: now + two, ssthresh: w };
                LOW
            }
            Phase::Steady { .. } => self.steady(ack, w),
            Phase::Low { until, .. } if now < until => w,
            Phase::Low { began, ssthresh, .. } | Phase::Back { began, ssthresh } => {
                let next = w + self.gain(self.history.base()) * segments(ack);
                self.phase = Phase::Back { began, ssthresh };
                if next < ssthresh {
                    return next;
                }
                self.phase = self.after_slowdown(began, now);
                ssthresh
            }
        }
    }

    fn after_slowdown(&self, began: Time, now: Time) -> Phase {
        Phase::Steady {
            until: now + Duration::from_nanos((self.spacing * now.saturating_since(began).as_nanos() as f64) as u64),
        }
    }
}

impl CongestionAvoidance for LedbatPp {
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.history.observe(ack);
    }

    fn start(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        self.phase = Phase::Start;
        let q = self.history.queueing();
        let ends = !self.begun && q > 0.75 * self.target; // (4); no margin: the window rises with every ACK
        Step::with_exit(
            self.gain(self.history.base()) * segments(ack),
            ends.then(|| exit::now(Reason::Delay, w, f64::NAN)),
        )
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        self.step(ack, w).max(LOW)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.begun = true;
        self.phase = match self.phase {
            Phase::Low { began, .. } | Phase::Back { began, .. } => self.after_slowdown(began, event.now),
            steady @ Phase::Steady { .. } => steady,
            Phase::Start => Phase::Start,
        };
        if event.cause == Cause::Timeout {
            self.phase = Phase::Start;
        }
        (w / 2.0).max(2.0) // (6)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.phase = Phase::Start;
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("base_delay_s", self.history.base() * 1e-9);
        put("queueing_s", self.history.queueing() * 1e-9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};

    fn flow() -> LedbatPp {
        LedbatPp::new(Options::default())
    }

    /// `known-answers.csv`: GAIN for bases of 1, 10, 20, 50, 60 and 120 ms.
    #[test]
    fn the_gain_matches_the_known_answers() {
        for (base, gain) in [
            (1.0, 0.0625),
            (10.0, 0.083_333_333_333_333_33),
            (20.0, 0.166_666_666_666_666_66),
            (50.0, 0.333_333_333_333_333_3),
            (60.0, 0.5),
            (120.0, 1.0),
        ] {
            assert!((flow().gain(base * 1e6) - gain).abs() < 1e-15, "{base} ms");
        }
    }

    /// Reference values: w = 50, base 20 ms. q = 30 and 60: +1/6; 90: −24.83; 120 and 300: −25.
    #[test]
    fn the_decrease_grows_with_the_delay_up_to_half_the_window() {
        let step = |ms: f64| flow().per_round(50.0, 20e6, ms * 1e6);
        for (ms, change) in
            [(30.0, 1.0 / 6.0), (60.0, 1.0 / 6.0), (90.0, -24.833_333_333), (120.0, -25.0), (300.0, -25.0)]
        {
            assert!((step(ms) - change).abs() < 1e-9, "{ms} ms: {}", step(ms));
        }
    }

    fn at(ms: u64) -> Ack {
        let mut ack = ack_at(Time::from_nanos(ms * 1_000_000), 1);
        ack.rtt = Some(Duration::from_millis(120));
        ack.srtt = Duration::from_millis(120);
        ack
    }

    /// (5), by hand, with GAIN 1: slow start ends at 1 s. The slowdown has two segments from 1.24 s to 1.48 s and ends
    /// at 1.6 s, when the window is ten segments again. The next one begins 9 · 0.36 s later.
    #[test]
    fn slowdowns_recur_after_nine_times_their_duration() {
        let mut flow = flow();
        let deliver = |flow: &mut LedbatPp, ms: u64, w: f64| {
            flow.observe(&at(ms), w);
            flow.on_ack(&at(ms), w)
        };
        let w = deliver(&mut flow, 1_000, 10.0);
        assert_eq!(w, 10.1);
        assert_eq!(deliver(&mut flow, 1_240, 10.0), 2.0);
        assert_eq!(deliver(&mut flow, 1_479, 2.0), 2.0);
        let mut w = 2.0;
        for n in 0..8 {
            w = deliver(&mut flow, if n < 7 { 1_500 } else { 1_600 }, w);
        }
        assert_eq!((w, flow.phase), (10.0, Phase::Steady { until: Time::from_nanos(1_600_000_000 + 9 * 360_000_000) }));
    }

    #[test]
    fn slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut flow = flow();
        let mut ack = at(1);
        ack.rtt = Some(Duration::from_millis(20));
        flow.observe(&ack, 10.0);
        let step = flow.start(&ack, 10.0, f64::INFINITY);
        assert!((step.grow - 1.0 / 6.0).abs() < 1e-15 && step.exit.is_none());
        ack.rtt = Some(Duration::from_millis(66));
        (0..4).for_each(|_| flow.observe(&ack, 10.0));
        assert!(flow.start(&ack, 10.0, f64::INFINITY).exit.is_some());
        assert_eq!(flow.on_congestion(&loss(10), 10.0), 5.0);
    }
}
