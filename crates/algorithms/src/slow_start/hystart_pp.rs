//! HyStart++: slow start with a phase of conservative slow start (CSS) after a delay increase.
//!
//! Source: P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406, 2023.
//!
//! ```text
//! slow start:  w += min(n, L);  L = 8 segments per ACK, no limit with pacing      (1)
//! thresh = clamp(lastRoundMinRTT / 8, 4 ms, 16 ms)                                (2)
//! ≥ 8 samples and currentRoundMinRTT ≥ lastRoundMinRTT + thresh: enter CSS        (3)
//! CSS:         w += min(n, L) / 4                                                 (4)
//! currentRoundMinRTT < baseline: resume slow start                                (5)
//! five rounds of CSS: ssthresh = w                                                (6)
//! ```
//!
//! Units: segments, nanoseconds. (2) to (6) apply to the initial slow start only.
//! Differs from the source: nothing known.

use cwndlab_control::{
    options, Ack, Build, Confidence, Congestion, Event, EventKind, Extra, Kind, Path, Reason, SlowStart, Spec, Step,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// rounds of conservative slow start
        css_rounds: f64["rounds"] = 5.0 in 1.0..=100.0,
        /// divisor of the increase in conservative slow start
        css_growth_divisor: f64 = 4.0 in 2.0..=100.0,
        /// L, maximum increment per ACK without pacing
        l: f64["segments"] = 8.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hystart-pp",
    title: "HyStart++",
    kind: Kind::SlowStart,
    source: "RFC 9406",
    year: 2023,
    confidence: Confidence::High,
    summary: "A rise of the RTT starts conservative slow start, with a quarter of the increase. Slow start ends after five such rounds, or resumes when the RTT falls again.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &["delay is the only signal: with a very small buffer a loss occurs first"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, arguments| Box::new(HyStartPp::new(path, arguments.into()))),
};

const N_RTT_SAMPLE: u32 = 8;

/// (2).
fn thresh(last: u64) -> u64 {
    (last / 8).clamp(4_000_000, 16_000_000)
}

/// Slow start of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStartPp {
    limit: f64,
    rounds: u32,
    divisor: f64,
    round: u64,
    last: u64,
    current: u64,
    samples: u32,
    /// Baseline RTT, ns, and completed rounds, in CSS.
    css: Option<(u64, u32)>,
    /// The initial slow start is over.
    over: bool,
}

impl HyStartPp {
    /// With the constants of the RFC.
    pub(super) fn standard(path: &Path) -> Self {
        Self::new(path, Options::default())
    }

    fn new(path: &Path, options: Options) -> Self {
        Self {
            limit: if path.paced { f64::INFINITY } else { options.l },
            rounds: options.css_rounds as u32,
            divisor: options.css_growth_divisor,
            round: u64::MAX,
            last: u64::MAX,
            current: u64::MAX,
            samples: 0,
            css: None,
            over: false,
        }
    }

    fn next_round(&mut self, ack: &Ack) -> bool {
        if self.round == ack.round {
            return false;
        }
        self.round = ack.round;
        (self.last, self.current, self.samples) = (self.current, u64::MAX, 0);
        let Some((_, done)) = &mut self.css else { return false };
        *done += 1;
        *done >= self.rounds // (6)
    }
}

impl SlowStart for HyStartPp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let grow = segments(ack).min(self.limit * f64::from(ack.acks)); // (1)
        if self.over {
            return Step::grow(grow);
        }
        if self.next_round(ack) {
            self.over = true;
            return Step::with_exit(grow, Some(exit::now(Reason::Css, w, f64::NAN)));
        }
        if let Some(rtt) = ack.rtt {
            self.current = self.current.min(rtt.as_nanos());
            self.samples += 1;
        }
        let mut event = None;
        if self.samples >= N_RTT_SAMPLE && self.current != u64::MAX {
            match self.css {
                None if self.last != u64::MAX && self.current >= self.last + thresh(self.last) => {
                    self.css = Some((self.current, 0)); // (3)
                    event = Some(Event::new(EventKind::CssEnter, Reason::Delay, w));
                }
                Some((baseline, _)) if self.current < baseline => {
                    self.css = None; // (5)
                    event = Some(Event::new(EventKind::CssLeave, Reason::Delay, w));
                }
                _ => {}
            }
        }
        let grow = if self.css.is_some() { grow / self.divisor } else { grow }; // (4)
        Step::with_event(grow, event)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.over = true;
        ssthresh
    }

    fn extra(&self, put: Extra<'_>) {
        let seconds = |ns: u64| if ns == u64::MAX { f64::INFINITY } else { ns as f64 * 1e-9 };
        put("last_round_min_rtt_s", seconds(self.last));
        put("current_round_min_rtt_s", seconds(self.current));
        put("rtt_sample_count", f64::from(self.samples));
        put("css_baseline_min_rtt_s", self.css.map_or(f64::INFINITY, |(baseline, _)| seconds(baseline)));
        put("css_round_count", self.css.map_or(0.0, |(_, rounds)| f64::from(rounds)));
        put("in_css", f64::from(u8::from(self.css.is_some() && !self.over)));
        put("hystart_over", f64::from(u8::from(self.over)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, path};
    use cwndlab_units::{Duration, Time};

    fn start(path: &Path) -> Box<dyn SlowStart> {
        Box::new(HyStartPp::new(path, Options::default()))
    }

    fn round(start: &mut dyn SlowStart, number: u64, us: u64, w: f64) -> (f64, bool) {
        let mut grown = 0.0;
        let mut left = false;
        for n in 0..40 {
            let mut ack = ack_at(Time::from_nanos(number * 100_000_000 + n), 1);
            ack.round = number;
            ack.rtt = Some(Duration::from_micros(us));
            let step = start.on_ack(&ack, w, 1e9);
            grown += step.grow;
            left |= step.exit.is_some();
        }
        (grown, left)
    }

    /// RFC 9406, by hand: after a round of 100 ms slow start continues at 112 ms; 112.5 ms starts CSS, where 40 ACKs
    /// add 10.
    #[test]
    fn conservative_slow_start_begins_at_an_eighth_and_ends_after_five_rounds() {
        let mut one = start(&path(10));
        let _ = round(&mut *one, 1, 100_000, 40.0);
        assert_eq!(round(&mut *one, 2, 112_000, 40.0), (40.0, false));
        let mut two = start(&path(10));
        let _ = round(&mut *two, 1, 100_000, 40.0);
        let _ = round(&mut *two, 2, 112_500, 40.0);
        for number in 3..7 {
            assert_eq!(round(&mut *two, number, 113_000, 40.0), (10.0, false), "round {number}");
        }
        assert!(round(&mut *two, 7, 113_000, 40.0).1);
    }

    #[test]
    fn the_threshold_is_clamped() {
        assert_eq!([20, 100, 200].map(|ms| thresh(ms * 1_000_000)), [4_000_000, 12_500_000, 16_000_000]);
    }
}
