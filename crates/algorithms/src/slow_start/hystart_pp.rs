//! HyStart++: slow start with a phase of conservative slow start (CSS) after a delay increase.
//!
//! Source: P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406, 2023. For
//! detection = msquic: `src/core/cubic.c` of msquic (4984c21); = picoquic: `picoquic/cc_common.c` of picoquic (d199d45).
//!
//! ```text
//! slow start:  w += min(n, L);  L = 8 segments per ACK, no limit with pacing      (1)
//! thresh = clamp(lastRoundMinRTT / 8, 4 ms, 16 ms)                                (2)
//! ≥ 8 samples and currentRoundMinRTT ≥ lastRoundMinRTT + thresh: enter CSS        (3)
//! CSS:         w += min(n, L) / 4                                                 (4)
//! currentRoundMinRTT < baseline: resume slow start                                (5)
//! five rounds of CSS: ssthresh = w                                                (6)
//! detection = msquic: (3), (5) with the minimum of a round's first 8 samples, from the ninth on
//! detection = picoquic: of each 7 samples at least 1 ms apart the minimum m and the maximum M
//!   floor = min M;  7 times m > floor + max(floor / 4, RTT / w): ssthresh = w     (7)
//! ```
//!
//! Units: segments, nanoseconds. (2) to (7) apply to the initial slow start only.
//! Differs from the source: nothing known of the RFC; picoquic's estimate of the loss rate is not part of it.

use cwndlab_control::{
    options, Ack, Build, Confidence, Congestion, Event, EventKind, Extra, Kind, Path, Reason, SlowStart, Spec, Step,
};

use cwndlab_units::{Duration, Time};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// rounds of conservative slow start
        css_rounds: f64["rounds"] = 5.0 in 1.0..=100.0,
        /// divisor of the increase in conservative slow start
        css_growth_divisor: f64 = 4.0 in 2.0..=100.0,
        /// L, maximum increment per ACK without pacing; 1e6: no limit
        l: f64["segments"] = 8.0 in 1.0..=1e6,
        /// detection of the rise of the RTT: that of the RFC, of msquic, or of picoquic, which has no conservative slow start
        detection: Detection { Rfc = "rfc", Msquic = "msquic", Picoquic = "picoquic" } = Rfc,
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
    choices: &[
        "QUIC stacks: quiche has l = 1e6, msquic l = 1e6 and detection = msquic, picoquic l = 1e6 and detection = picoquic, neqo the RFC",
    ],
    pitfalls: &[
        "delay is the only signal: with a very small buffer a loss occurs first",
        "with detection = msquic a round of fewer than nine ACKs detects nothing",
    ],
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

/// Samples of (7), their least distance, and the excesses that end slow start.
const SCOPE: usize = 7;
const SAMPLE_GAP: Duration = Duration::from_millis(1);

/// The detector (7).
#[derive(Clone, Debug)]
struct Filter {
    samples: [u64; SCOPE],
    taken: usize,
    last: Time,
    floor: u64,
    excesses: usize,
}

impl Filter {
    fn new() -> Self {
        Self { samples: [0; SCOPE], taken: 0, last: Time::ZERO, floor: u64::MAX, excesses: 0 }
    }

    /// Whether slow start ends, at a time of `packet` ns per segment.
    fn detects(&mut self, now: Time, rtt: u64, packet: u64) -> bool {
        if now <= self.last + SAMPLE_GAP {
            return false;
        }
        self.samples[self.taken % SCOPE] = rtt;
        (self.last, self.taken) = (now, self.taken + 1);
        if self.taken < SCOPE {
            return false;
        }
        let (least, most) = self.samples.iter().fold((u64::MAX, 0), |(a, b), &one| (a.min(one), b.max(one)));
        self.floor = self.floor.min(most);
        if least <= self.floor {
            self.excesses = 0;
        } else if least > self.floor + (self.floor / 4).max(packet) {
            self.excesses += 1;
        }
        self.excesses >= SCOPE
    }
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
    /// Samples of a round in its minimum, and samples before a test.
    counted: u32,
    tested: u32,
    filter: Option<Box<Filter>>,
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
            counted: if options.detection == Detection::Msquic { N_RTT_SAMPLE } else { u32::MAX },
            tested: if options.detection == Detection::Msquic { N_RTT_SAMPLE + 1 } else { N_RTT_SAMPLE },
            filter: (options.detection == Detection::Picoquic).then(|| Box::new(Filter::new())),
        }
    }

    /// (7).
    #[cold]
    fn filtered(&mut self, ack: &Ack, w: f64, grow: f64) -> Step {
        let packet = (ack.srtt.as_nanos() as f64 / w) as u64;
        let detects = |filter: &mut Box<Filter>, rtt: Duration| filter.detects(ack.now, rtt.as_nanos(), packet);
        self.over = self.filter.as_mut().zip(ack.rtt).is_some_and(|(filter, rtt)| detects(filter, rtt));
        Step::with_exit(grow, self.over.then(|| exit::now(Reason::Delay, w, f64::NAN)))
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
        if self.filter.is_some() {
            return self.filtered(ack, w, grow);
        }
        if self.next_round(ack) {
            self.over = true;
            return Step::with_exit(grow, Some(exit::now(Reason::Css, w, f64::NAN)));
        }
        if let Some(rtt) = ack.rtt {
            if self.samples < self.counted {
                self.current = self.current.min(rtt.as_nanos());
            }
            self.samples += 1;
        }
        let mut event = None;
        if self.samples >= self.tested && self.current != u64::MAX {
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
        assert_eq!(thresh(80_000_000), 10_000_000);
    }

    /// Events of a round of ACKs with these RTTs, after a round of 100 ms.
    fn entered(detection: Detection, rtts_ms: &[u64]) -> bool {
        let mut start = HyStartPp::new(&path(10), Options { detection, ..Options::default() });
        let _ = round(&mut start, 1, 100_000, 40.0);
        rtts_ms.iter().any(|&ms| {
            let mut ack = ack_at(Time::from_nanos(200_000_000), 1);
            (ack.round, ack.rtt) = (2, Some(Duration::from_millis(ms)));
            start.on_ack(&ack, 40.0, 1e9).event.is_some()
        })
    }

    /// `CubicCongestionControlOnDataAcknowledged` of msquic, by hand: eight ACKs of 113 ms are no detection, the ninth is,
    /// even with a sample of 100 ms. The RFC tests with the eighth.
    #[test]
    fn msquic_tests_the_first_eight_samples_from_the_ninth_on() {
        let rise = [113; 8];
        let fall = [113, 113, 113, 113, 113, 113, 113, 113, 100];
        assert_eq!([&rise[..7], &rise].map(|rtts| entered(Detection::Rfc, rtts)), [false, true]);
        assert_eq!([&rise[..], &fall].map(|rtts| entered(Detection::Msquic, rtts)), [false, true]);
    }

    /// `picoquic_cc_hystart_test`, by hand: after a floor of 100 ms the seventh sample of 126 ms makes a minimum above 125
    /// ms, and the thirteenth the seventh such one. 125 ms is no excess. Samples within 1 ms do not count.
    #[test]
    fn picoquic_ends_slow_start_after_seven_excesses() {
        let run = |ms: u64, gap: u64| {
            let mut filter = Filter::new();
            let mut now = 0;
            let mut sample = |ms: u64| {
                now += gap;
                filter.detects(Time::from_nanos(now), ms * 1_000_000, 0)
            };
            assert!((0..20).all(|_| !sample(100)));
            (1..100).find(|_| sample(ms))
        };
        assert_eq!(
            [(126, 1_000_001), (125, 1_000_001), (126, 600_000)].map(|(ms, gap)| run(ms, gap)),
            [Some(13), None, Some(26)]
        );
    }

    /// The window at the exit is the present one, without conservative slow start.
    #[test]
    fn picoquic_has_no_conservative_slow_start() {
        let mut start = HyStartPp::new(&path(10), Options { detection: Detection::Picoquic, ..Options::default() });
        let mut steps = (0..40u64).map(|n| {
            let mut ack = ack_at(Time::from_nanos((n + 1) * 2_000_000), 1);
            ack.rtt = Some(Duration::from_millis(if n < 10 { 100 } else { 200 }));
            start.on_ack(&ack, 40.0, 1e9)
        });
        let left = steps.position(|step| step.exit.is_some_and(|exit| exit.ssthresh == 40.0));
        assert_eq!(left, Some(10 + 12));
        assert!(steps.all(|step| step.exit.is_none() && step.grow == 1.0));
    }
}
