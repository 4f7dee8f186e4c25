//! C4: a rate for media on paths with jitter, from the delivery rate and the maximum RTT.
//!
//! Source: C. Huitema, S. Nandakumar, C. Jennings, "Christian's Congestion Control Code (C4) Specification",
//! draft-huitema-ccwg-c4-spec, in its repository private-octopus/c4 at commit e3377b6 (November 2025).
//!
//! ```text
//! each ack, unless congested: nominal_rate = max(nominal_rate, delivery rate)                                     (1)
//! end of an era after one with alpha ≤ 1:                                                                         (2)
//!   running_min = era_min if less, otherwise 7/8 running_min + era_min / 8
//!   nominal_max = M if greater, otherwise 7/8 nominal_max + M / 8,  M = min(era_max, running_min + 250 ms)
//! pacing = alpha nominal_rate, w = max(pacing nominal_max, 2 segments)                                            (3)
//! Initial   alpha 2, nominal_max fixed to the first RTT, until 3 eras without growth; delay ends it after 2 eras
//!           without growth, loss after more than 20 segments; neither reduces the rate                            (4)
//! Recovery  alpha 15/16 for one era; congested: a signal began it, or came since                                  (5)
//! Cruising  alpha 1 for 4 eras, and until the application does not limit
//! Pushing   alpha 5/4 after a success, otherwise 17/16, for one era, then Recovery; a signal reduces no rate
//! success   no signal since the push, and growth by a quarter of what is expected (5/4), or any (17/16);
//!           3 successes, or once running_min < 2/5 nominal_max: Initial                                           (6)
//! s(rate)   0 up to 50 kB/s, 0.92 at 1 MB/s, 1 from 10 MB/s, linear between                                       (7)
//! delay     RTT > nominal_max + T,  T = min(25 ms, (1/16 + 3/16 (1 − s)) nominal_max)                             (8)
//! loss      each segment: L = (lost + 15 L) / 16;  L > 0.02 + 0.5 (1 − s)                                         (9)
//! signal in Cruising: nominal_rate −= beta nominal_rate, beta = 1/4, after delay min(1/4, excess over (8) / T)    (10)
//! ```
//!
//! Units: rates in bytes/s, RTTs in ns, w in bytes. An era ends when a segment that was sent in it is delivered.
//! Differs from the source: the rate of (1) is the transport's sample, whose interval begins at the last delivery before
//! the segment was sent, not at its transmission: a sample is lower by up to a segment per RTT. Growth in Initial is 1/4 of
//! what alpha = 2 promises, as in the source code of that repository.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionControl, DeliveryRate, Event, EventKind,
    Extra, Kind, Need, Path, Phase, Reason, Spec, Ssthresh, State as Reported, Window,
};
use cwndlab_units::maths::pow;
use cwndlab_units::{Bytes, Rate};

use crate::shared::margin::{above, below};

options! {
    struct Options {
        /// rate of a push after a success, as a multiple of the nominal rate
        push: f64 = 1.25 in 1.0..=2.0,
        /// rate of a push after a failure
        low_push: f64 = 1.0625 in 1.0..=2.0,
        /// eras of cruising between pushes
        cruise: f64["eras"] = 4.0 in 1.0..=100.0,
        /// largest reduction of the rate, and that after a loss
        beta: f64 = 0.25 in 0.01..=0.9,
        /// RTTs that may be a signal of delay: all (the draft), or those of segments that were sent above the nominal rate
        /// (push: the code beside the draft, and picoquic's)
        delay: Delay { All = "all", Push = "push" } = All,
        /// largest jitter that the maximum RTT includes
        max_jitter: f64["ms"] = 250.0 in 0.0..=10_000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "c4",
    title: "C4",
    kind: Kind::Whole,
    source: "draft-huitema-ccwg-c4-spec (November 2025)",
    year: 2025,
    confidence: Confidence::High,
    summary: "Paces at a nominal rate, the largest delivery rate since the last congestion, and allows a window of that rate and the maximum RTT, so that jitter does not stall it. It pushes by 1/16 or 1/4 every few round trips. Flows with higher rates respond to smaller delays and losses, which equalises the rates.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the draft of November 2025; picoquic's code of 2026 differs: 2 eras of cruising, a probe before a push, delay is a signal as with delay = push, losses reduce by (1 + s)/8 and the maximum RTT too, a signal in Recovery restarts it once at 7/8, w has 15 ms more, ECN has a threshold",
        "the draft prints the condition of (1) reversed; its text and its code mean that measurements only raise the rate",
        "ECN is left open in the draft; an echo is a signal with beta = 1/4, as in the code beside it",
        "a signal in Pushing reduces nothing, also where its packet was sent before, as in the code beside the draft",
        "losses that only a timeout detects are no signal; after one the window is a segment until the next ACK",
        "the send quantum is that of the transport, where the draft has a quarter of the window up to 64 kB",
        "the nominal rate is at least a segment per second",
        "Initial is reported as Startup, Recovery as Drain, Cruising and Pushing as ProbeBW",
    ],
    pitfalls: &[
        "above 1 MB/s a single loss exceeds the threshold (9): random loss keeps the rate near there",
        "an application that limits every push keeps the rate where it is",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(C4::new(path, arguments.into()))),
};

const INITIAL_ALPHA: f64 = 2.0;
const RECOVERY_ALPHA: f64 = 15.0 / 16.0;
/// Eras without growth that end Initial, and successes that restart it.
const INITIAL_ERAS: u32 = 3;
const SUCCESSES: u32 = 3;
/// Eras without growth after which delay ends Initial, and segments after which loss does.
const DELAY_ERAS: u32 = 2;
const LOSS_SEGMENTS: f64 = 20.0;
/// Part of the expected growth that counts as growth (6).
const GROWTH: f64 = 0.25;
/// Fraction of the maximum RTT below which the minimum indicates high jitter (6).
const HIGH_JITTER: f64 = 0.4;
/// Weight of a segment in L of (9), and that of an era in (2).
const LOSS_WEIGHT: f64 = 1.0 / 16.0;
const RTT_WEIGHT: f64 = 1.0 / 8.0;
/// L of (9) that counts as none.
const NEGLIGIBLE: f64 = 1e-6;
/// The largest T of (8), ns.
const MAX_THRESHOLD: f64 = 25e6;
/// The largest rate, bytes/s, and window, bytes: above any path.
const MOST: f64 = 1e11;

/// s of (7) at `rate` bytes/s.
fn sensitivity(rate: f64) -> f64 {
    if rate < 1e6 {
        0.92 * ((rate - 5e4) / 9.5e5).max(0.0)
    } else {
        (0.92 + 0.08 * (rate - 1e6) / 9e6).min(1.0)
    }
}

/// T of (8), ns.
fn delay_threshold(s: f64, nominal_max: f64) -> f64 {
    ((1.0 / 16.0 + 3.0 / 16.0 * (1.0 - s)) * nominal_max).min(MAX_THRESHOLD)
}

/// The limit of L in (9).
fn loss_threshold(s: f64) -> f64 {
    0.02 + 0.5 * (1.0 - s)
}

/// The states of (4) and (5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Initial,
    Recovery,
    Cruising,
    Pushing,
}

/// An era: a round trip.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// What is sent after this many bytes are delivered belongs to the era.
    start: u64,
    /// alpha of the era before, whose segments are acknowledged in this one.
    alpha_previous: f64,
    max_rtt: f64,
    min_rtt: f64,
    /// The application did not limit a delivery-rate sample.
    unlimited: bool,
}

/// The estimates of the path (1), (2).
#[derive(Clone, Copy, Debug)]
struct Estimates {
    rate: f64,
    max_rtt: f64,
    min_rtt: f64,
}

/// The growth of the nominal rate since a reference (6).
#[derive(Clone, Copy, Debug)]
struct Growth {
    /// The rate at the reference.
    rate: f64,
    /// alpha with which growth was sought; at most 1 where none was.
    alpha: f64,
    /// A segment was sent without a limit of the application.
    unlimited: bool,
}

impl Growth {
    /// Whether `rate` is as large as success requires.
    fn is_reached(&self, rate: f64, low_push: f64) -> bool {
        if self.alpha <= low_push {
            above(rate, self.rate)
        } else {
            rate > 0.0 && !below(rate, self.rate * (1.0 + GROWTH * (self.alpha - 1.0)))
        }
    }
}

/// The congestion control of C4.
#[derive(Clone, Debug)]
pub struct C4 {
    options: Options,
    mss: f64,
    /// Initial window, bytes.
    initial: f64,
    mode: Mode,
    alpha: f64,
    nominal: Estimates,
    era: Era,
    growth: Growth,
    /// Eras in Initial without growth, or in Cruising.
    eras: u32,
    successes: u32,
    congested: bool,
    /// High jitter has restarted Initial.
    jitter_restarted: bool,
    /// L of (9).
    losses: f64,
    /// Segments delivered since Initial began.
    received: f64,
    /// Bytes delivered at the last ACK.
    delivered: u64,
    /// A timeout occurred since the last ACK.
    timed_out: bool,
}

impl C4 {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        Self {
            options,
            mss,
            initial: path.initial_cwnd.0 as f64,
            mode: Mode::Initial,
            alpha: INITIAL_ALPHA,
            nominal: Estimates { rate: 0.0, max_rtt: 0.0, min_rtt: f64::INFINITY },
            era: Era {
                start: 0,
                alpha_previous: INITIAL_ALPHA,
                max_rtt: 0.0,
                min_rtt: f64::INFINITY,
                unlimited: false,
            },
            growth: Growth { rate: 0.0, alpha: INITIAL_ALPHA, unlimited: false },
            eras: 0,
            successes: 0,
            congested: false,
            jitter_restarted: false,
            losses: 0.0,
            received: 0.0,
            delivered: 0,
            timed_out: false,
        }
    }

    /// (3), bytes/s and bytes; `None` before both estimates exist.
    fn control(&self) -> Option<(f64, f64)> {
        let Estimates { rate, max_rtt, .. } = self.nominal;
        let pacing = self.alpha * rate;
        (rate > 0.0 && max_rtt > 0.0).then(|| (pacing, (pacing * max_rtt * 1e-9).clamp(2.0 * self.mss, MOST)))
    }

    /// Begins an era with `alpha`.
    fn begin_era(&mut self, alpha: f64) {
        self.era = Era {
            start: self.delivered,
            alpha_previous: self.alpha,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            unlimited: false,
        };
        self.alpha = alpha;
    }

    /// Begins a state.
    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.eras = 0;
        let alpha = match mode {
            Mode::Initial => INITIAL_ALPHA,
            Mode::Recovery => RECOVERY_ALPHA,
            Mode::Cruising => 1.0,
            Mode::Pushing if self.successes > 0 => self.options.push,
            Mode::Pushing => self.options.low_push,
        };
        self.begin_era(alpha);
        if mode == Mode::Initial {
            (self.successes, self.received) = (0, 0.0);
            self.seek(alpha);
        }
        if mode == Mode::Pushing {
            self.growth.alpha = alpha;
        }
    }

    /// Growth counts from the present rate.
    fn seek(&mut self, alpha: f64) {
        self.growth = Growth { rate: self.nominal.rate, alpha, unlimited: false };
        self.congested = false;
    }

    /// Ends Initial. Returns its event.
    fn exit_initial(&mut self, reason: Reason) -> Event {
        self.seek(1.0);
        self.enter(Mode::Recovery);
        Event::new(EventKind::SlowStartExit, reason, self.cwnd().0 as f64 / self.mss)
    }

    /// A congestion signal (10). Returns the event of the end of Initial.
    fn signal(&mut self, reason: Reason, beta: f64) -> Option<Event> {
        if self.mode == Mode::Initial {
            let grown = above(self.nominal.rate, self.growth.rate);
            let ends = match reason {
                Reason::Delay => self.eras >= DELAY_ERAS && !grown,
                _ => self.received > LOSS_SEGMENTS,
            };
            let event = ends.then(|| self.exit_initial(reason));
            self.congested = ends;
            return event;
        }
        self.congested = true;
        if self.mode == Mode::Cruising {
            self.nominal.rate = (self.nominal.rate * (1.0 - beta)).max(self.mss);
        }
        if self.mode != Mode::Recovery {
            self.enter(Mode::Recovery);
        }
        None
    }

    /// (1).
    fn update_rate(&mut self, sample: &DeliveryRate) {
        let interval = sample.interval.as_nanos() as f64;
        if interval <= 0.0 {
            return;
        }
        let rate = (sample.delivered.0 as f64 * 1e9 / interval).min(MOST);
        if rate > self.nominal.rate && !(self.mode == Mode::Recovery && self.congested) {
            self.nominal.rate = rate.max(self.mss);
        }
        self.era.unlimited |= !sample.app_limited;
        self.growth.unlimited |= !sample.app_limited;
    }

    /// An RTT sample, ns: (8).
    fn on_rtt(&mut self, rtt: f64) -> Option<Event> {
        self.era.max_rtt = self.era.max_rtt.max(rtt);
        self.era.min_rtt = self.era.min_rtt.min(rtt);
        if self.nominal.max_rtt <= 0.0 {
            self.nominal.max_rtt = rtt;
        }
        let threshold = delay_threshold(sensitivity(self.nominal.rate), self.nominal.max_rtt);
        let excess = rtt - (self.nominal.max_rtt + threshold);
        let counts = self.options.delay == Delay::All || self.era.alpha_previous > 1.0;
        let beta = (excess / threshold).min(self.options.beta);
        (excess > 0.0 && counts).then(|| self.signal(Reason::Delay, beta))?
    }

    /// (9) for `lost` segments and then `acked` ones.
    fn on_losses(&mut self, lost: f64, acked: f64) -> Option<Event> {
        let kept = |segments: f64| pow(1.0 - LOSS_WEIGHT, segments);
        let mut event = None;
        if lost > 0.0 {
            self.losses = 1.0 - (1.0 - self.losses) * kept(lost);
            if above(self.losses, loss_threshold(sensitivity(self.nominal.rate))) {
                event = self.signal(Reason::Loss, self.options.beta);
            }
        }
        self.losses = if self.losses > NEGLIGIBLE { self.losses * kept(acked) } else { 0.0 };
        event
    }

    /// (2).
    fn update_rtts(&mut self) {
        let Era { alpha_previous, max_rtt, min_rtt, .. } = self.era;
        if alpha_previous > 1.0 || max_rtt <= 0.0 {
            return;
        }
        let nominal = &mut self.nominal;
        let mean = |old: f64, new: f64| old + RTT_WEIGHT * (new - old);
        nominal.min_rtt = if min_rtt < nominal.min_rtt { min_rtt } else { mean(nominal.min_rtt, min_rtt) };
        let capped = max_rtt.min(nominal.min_rtt + self.options.max_jitter * 1e6);
        nominal.max_rtt = if capped > nominal.max_rtt { capped } else { mean(nominal.max_rtt, capped) };
    }

    /// The end of an era. Returns the event of the end of Initial.
    fn end_era(&mut self, app_limited: bool) -> Option<Event> {
        let grown = self.growth.is_reached(self.nominal.rate, self.options.low_push);
        if self.mode == Mode::Initial {
            self.eras = if grown { 0 } else { self.eras + u32::from(self.era.unlimited) };
            if self.eras >= INITIAL_ERAS {
                return Some(self.exit_initial(Reason::FullPipe));
            }
            self.seek(INITIAL_ALPHA);
            self.begin_era(INITIAL_ALPHA);
            return None;
        }
        self.update_rtts();
        match self.mode {
            Mode::Recovery => self.end_recovery(grown),
            Mode::Pushing => self.enter(Mode::Recovery),
            Mode::Initial | Mode::Cruising => {
                self.eras += 1;
                if f64::from(self.eras) < self.options.cruise || app_limited {
                    self.begin_era(1.0);
                } else {
                    self.enter(Mode::Pushing);
                }
            }
        }
        None
    }

    /// (6).
    fn end_recovery(&mut self, grown: bool) {
        let pushed = self.growth.alpha > 1.0;
        if pushed && grown && !self.congested {
            self.successes += 1;
        } else if self.congested || self.growth.unlimited {
            self.successes = 0;
        }
        self.seek(1.0);
        let jitter = self.nominal.min_rtt < HIGH_JITTER * self.nominal.max_rtt;
        if self.successes >= SUCCESSES || (jitter && !self.jitter_restarted) {
            self.jitter_restarted |= self.successes < SUCCESSES;
            self.enter(Mode::Initial);
        } else {
            self.enter(Mode::Cruising);
        }
    }
}

impl CongestionControl for C4 {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.delivered = ack.delivered.0;
        let acked = ack.acked.0 as f64 / self.mss;
        self.received += acked;
        let timed_out = std::mem::take(&mut self.timed_out);
        if let Some(sample) = &ack.delivery_rate {
            self.update_rate(sample);
        }
        let lost = if timed_out { 0.0 } else { ack.lost.0 as f64 / self.mss };
        let after_loss = self.on_losses(lost, acked);
        let after_delay = ack.rtt.and_then(|rtt| self.on_rtt(rtt.as_nanos() as f64));
        let ends = ack.delivery_rate.is_some_and(|sample| sample.prior_delivered.0 >= self.era.start);
        let after_era = if ends { self.end_era(ack.app_limited) } else { None };
        after_loss.or(after_delay).or(after_era)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.timed_out |= event.restart;
        if event.cause == Cause::Ecn {
            let _ = self.signal(Reason::Named("ecn"), self.options.beta);
        }
    }

    fn cwnd(&self) -> Bytes {
        if self.timed_out {
            return Bytes(self.mss as u64);
        }
        Bytes(self.control().map_or(self.initial, |(_, window)| window) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Established {
            self.initial = self.initial.min(window.cwnd.0 as f64);
        }
        if let (Change::Established, Some(rtt)) = (window.change, window.rtt) {
            self.nominal.max_rtt = rtt.as_nanos() as f64;
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.control().map(|(pacing, _)| Rate((pacing * 8.0) as u64))
    }

    fn state(&self, extra: Option<Extra<'_>>) -> Reported {
        if let Some(put) = extra {
            put("alpha", self.alpha);
            put("nominal_rate_segments_per_s", self.nominal.rate / self.mss);
            put("nominal_max_rtt_s", self.nominal.max_rtt * 1e-9);
            put("running_min_rtt_s", self.nominal.min_rtt * 1e-9);
            put("loss_rate", self.losses);
            put("successes", f64::from(self.successes));
        }
        let phase = match self.mode {
            Mode::Initial => Phase::Startup,
            Mode::Recovery => Phase::Drain,
            Mode::Cruising | Mode::Pushing => Phase::ProbeBw,
        };
        let ssthresh = if self.mode == Mode::Initial { Ssthresh::Unlimited } else { Ssthresh::At(self.cwnd()) };
        Reported { ssthresh, phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, established, loss, path, timeout};
    use cwndlab_units::{Duration, Time};

    const MS: f64 = 1e6;

    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected} ± {within}");
    }

    /// A flow in `mode` with a nominal rate of `rate` bytes/s and a maximum RTT of `max_ms`.
    fn flow(mode: Mode, rate: f64, max_ms: f64) -> C4 {
        let mut flow = C4::new(&path(10), Options::default());
        flow.nominal = Estimates { rate, max_rtt: max_ms * MS, min_rtt: max_ms * MS };
        flow.seek(1.0);
        flow.enter(mode);
        flow
    }

    /// The ACK of a segment that was sent with `prior` bytes delivered, with the rate `rate` bytes/s and the RTT `rtt_ms`.
    fn ack(flow: &C4, rate: f64, rtt_ms: u64, prior: u64) -> Ack {
        let interval = Duration::from_millis(rtt_ms);
        let delivered = Bytes((rate * interval.as_secs()).round() as u64);
        Ack {
            delivered: Bytes(flow.delivered + 1000),
            rtt: Some(interval),
            delivery_rate: Some(DeliveryRate {
                delivered,
                interval,
                prior_delivered: Bytes(prior),
                app_limited: false,
            }),
            ..ack_at(Time::from_nanos(1_000_000_000), 1)
        }
    }

    /// The last ACK of the present era: the first segment sent in it.
    fn end(flow: &mut C4, rate: f64, rtt_ms: u64) -> Option<Event> {
        let last = ack(flow, rate, rtt_ms, flow.era.start);
        flow.on_ack(&last)
    }

    /// An ACK within the present era.
    fn within(flow: &mut C4, rate: f64, rtt_ms: u64) -> Option<Event> {
        flow.era.start = flow.era.start.max(1);
        let one = ack(flow, rate, rtt_ms, flow.era.start - 1);
        flow.on_ack(&one)
    }

    /// Reference values of (7), (8) and (9), by hand from the draft's interpolation.
    #[test]
    fn sensitivity_sets_the_thresholds_of_delay_and_loss() {
        for (rate, s) in [(0.0, 0.0), (5e4, 0.0), (5e5, 0.436), (1e6, 0.92), (5e6, 0.956), (1e7, 1.0), (1e9, 1.0)] {
            near(sensitivity(rate), s, 5e-4);
        }
        for (s, threshold_ms, loss) in [(1.0, 5.0, 0.02), (0.5, 12.5, 0.27), (0.0, 20.0, 0.52)] {
            near(delay_threshold(s, 80.0 * MS), threshold_ms * MS, 1e-3);
            near(loss_threshold(s), loss, 1e-12);
        }
        assert_eq!(delay_threshold(0.0, 200.0 * MS), 25.0 * MS);
    }

    /// Reference values of (2): the minimum 40 and an era's 48 ms give 41, the maximum 100 and an era's 60 ms give 95, and an
    /// era's 400 ms count as 290 with a minimum of 40.
    #[test]
    fn the_minimum_rises_and_the_maximum_falls_by_an_eighth() {
        let after = |min: f64, max: f64, era: (f64, f64), alpha: f64| {
            let mut flow = flow(Mode::Cruising, 1e6, max);
            flow.nominal.min_rtt = min * MS;
            (flow.era.min_rtt, flow.era.max_rtt, flow.era.alpha_previous) = (era.0 * MS, era.1 * MS, alpha);
            flow.update_rtts();
            (flow.nominal.min_rtt / MS, flow.nominal.max_rtt / MS)
        };
        assert_eq!(after(40.0, 100.0, (48.0, 60.0), 1.0), (41.0, 95.0));
        assert_eq!(after(40.0, 100.0, (40.0, 400.0), 15.0 / 16.0), (40.0, 290.0));
        assert_eq!(after(40.0, 100.0, (30.0, 110.0), 1.0), (30.0, 110.0));
        assert_eq!(after(40.0, 100.0, (30.0, 110.0), 1.25), (40.0, 100.0)); // segments of a push teach nothing
    }

    /// Reference value of (3): 2 MB/s and 50 ms in Cruising give 100 kB; by hand for the others, at least two segments.
    #[test]
    fn rate_and_window_are_the_nominal_ones_times_alpha() {
        let outputs = |mode, rate| {
            let flow = flow(mode, rate, 50.0);
            (flow.pacing_rate(), flow.cwnd())
        };
        assert_eq!(outputs(Mode::Cruising, 2e6), (Some(Rate(16_000_000)), Bytes(100_000)));
        assert_eq!(outputs(Mode::Recovery, 2e6), (Some(Rate(15_000_000)), Bytes(93_750)));
        assert_eq!(outputs(Mode::Pushing, 2e6), (Some(Rate(17_000_000)), Bytes(106_250)));
        assert_eq!(outputs(Mode::Initial, 2e6), (Some(Rate(32_000_000)), Bytes(200_000)));
        assert_eq!(outputs(Mode::Cruising, 2e4).1, Bytes(2000));
        let new = C4::new(&path(10), Options::default());
        assert_eq!((new.pacing_rate(), new.cwnd()), (None, Bytes(10_000)));
    }

    /// Reference value of (10): an excess of 1 ms with T = 5 ms reduces by a fifth; by hand, 10 ms by a quarter.
    #[test]
    fn delay_reduces_by_its_excess_up_to_a_quarter() {
        for (rtt_ms, rate) in [(85, 1e7), (86, 8e6), (95, 7.5e6)] {
            let mut flow = flow(Mode::Cruising, 1e7, 80.0); // s = 1, T = 5 ms
            let _ = within(&mut flow, 1e6, rtt_ms);
            near(flow.nominal.rate, rate, 1.0);
            assert_eq!(flow.mode == Mode::Recovery, rtt_ms > 85);
        }
    }

    /// The code beside the draft, c4_handle_rtt: only after an alpha above 1 is an RTT a signal.
    #[test]
    fn delay_may_count_after_a_push_only() {
        for (delay, alpha, mode) in
            [(Delay::All, 1.0, Mode::Recovery), (Delay::Push, 1.0, Mode::Cruising), (Delay::Push, 1.25, Mode::Recovery)]
        {
            let mut flow = flow(Mode::Cruising, 1e6, 80.0);
            (flow.options.delay, flow.era.alpha_previous) = (delay, alpha);
            let _ = within(&mut flow, 1e5, 120);
            assert_eq!(flow.mode, mode);
        }
    }

    /// (9) by hand: at 10 MB/s one loss, L = 1/16, is above 0.02; at 50 kB/s it takes 12, as 1 − (15/16)¹² = 0.539.
    #[test]
    fn slow_flows_tolerate_more_losses() {
        let lossy = |rate: f64, lost: u64| {
            let mut flow = flow(Mode::Cruising, rate, 100.0);
            let one = Ack { lost: Bytes(1000 * lost), ..ack(&flow, 1e4, 100, 0) };
            flow.era.start = 1;
            let _ = flow.on_ack(&one);
            flow.nominal.rate
        };
        assert_eq!([lossy(1e7, 1), lossy(5e4, 11), lossy(5e4, 12)], [7.5e6, 5e4, 3.75e4]);
    }

    /// The draft, "Initial state": the rate doubles while it grows, three eras without growth end it, an era that the
    /// application limits does not count, and the maximum RTT is the first.
    #[test]
    fn initial_ends_after_three_eras_without_growth() {
        let mut flow = C4::new(&path(10), Options::default());
        flow.on_window(&established(Duration::from_millis(100), None));
        for (rate, eras) in [(1e5, 0), (2e5, 0), (2e5, 1), (2.4e5, 2), (3.1e5, 0), (3.1e5, 1), (3.1e5, 2)] {
            assert_eq!(end(&mut flow, rate, 100), None);
            assert_eq!((flow.eras, flow.mode), (eras, Mode::Initial));
        }
        let mut limited = ack(&flow, 1e5, 100, flow.era.start);
        limited.delivery_rate.as_mut().unwrap().app_limited = true;
        assert_eq!(flow.on_ack(&limited), None);
        assert_eq!(flow.eras, 2);
        let event = end(&mut flow, 3.1e5, 100).unwrap();
        assert_eq!((event.kind, event.reason), (EventKind::SlowStartExit, Reason::FullPipe));
        assert_eq!((flow.mode, flow.nominal.rate, flow.nominal.max_rtt), (Mode::Recovery, 3.1e5, 100.0 * MS));
    }

    /// The draft, "Initial state": delay ends it after two eras without growth, losses after more than 20 segments; the rate
    /// is not reduced.
    #[test]
    fn signals_end_initial_under_conditions() {
        let mut delayed = flow(Mode::Initial, 1e7, 80.0);
        assert!(within(&mut delayed, 1e6, 120).is_none());
        delayed.eras = 2;
        assert_eq!(within(&mut delayed, 1e6, 120).unwrap().reason, Reason::Delay);
        let mut lossy = flow(Mode::Initial, 1e7, 80.0);
        for n in 1..=21 {
            let one = Ack { lost: Bytes(1000), ..ack(&lossy, 1e6, 80, 0) };
            lossy.era.start = 1;
            assert_eq!(lossy.on_ack(&one).is_some(), n == 21, "{n}");
        }
        assert_eq!((lossy.mode, lossy.nominal.rate), (Mode::Recovery, 1e7));
    }

    /// The draft, "States and Transition": Recovery, four eras of Cruising, and a push of 17/16; after a success 5/4.
    #[test]
    fn a_successful_push_makes_the_next_one_larger() {
        let mut flow = flow(Mode::Recovery, 1e6, 100.0);
        let mut alphas = Vec::new();
        for n in 0..14 {
            alphas.push(flow.alpha);
            let _ = end(&mut flow, if n < 6 { 1e6 } else { 1.01e6 }, 100);
        }
        let (recovery, low, push) = (0.9375, 1.0625, 1.25);
        assert_eq!(alphas[..7], [recovery, 1.0, 1.0, 1.0, 1.0, low, recovery]);
        assert_eq!(alphas[7..], [1.0, 1.0, 1.0, 1.0, push, recovery, 1.0]);
    }

    /// (6) by hand: after 17/16 any growth is enough, after 5/4 a sixteenth, 1/4 of what is expected.
    #[test]
    fn success_is_a_quarter_of_the_expected_growth() {
        let reached = |alpha, rate| Growth { rate: 16.0, alpha, unlimited: true }.is_reached(rate, 1.0625);
        assert!(!reached(1.0625, 16.0) && reached(1.0625, 16.01));
        assert!(!reached(1.25, 16.9) && reached(1.25, 17.0));
    }

    /// The draft, "Recovery state": three successive successes return to Initial.
    #[test]
    fn three_successes_restart_initial() {
        let mut flow = flow(Mode::Recovery, 1e6, 100.0);
        let mut rate = 1e6;
        for era in 0..18 {
            assert_ne!(flow.mode, Mode::Initial, "{era}");
            rate *= if flow.mode == Mode::Recovery { 1.1 } else { 1.0 };
            let _ = end(&mut flow, rate, 100);
        }
        assert_eq!((flow.mode, flow.successes), (Mode::Recovery, 2));
        let _ = end(&mut flow, 1.1 * rate, 100);
        assert_eq!((flow.mode, flow.successes), (Mode::Initial, 0));
    }

    /// The draft, "Restarting Initial if High Jitter": running_min below 2/5 of nominal_max, once. By hand: an era of 30 ms
    /// lowers a maximum of 100 to 91.25 ms, of which 2/5 are 36.5.
    #[test]
    fn high_jitter_restarts_initial_once() {
        let mut flow = flow(Mode::Recovery, 1e6, 100.0);
        for mode in [Mode::Initial, Mode::Cruising] {
            flow.enter(Mode::Recovery);
            flow.era.alpha_previous = 1.0;
            (flow.nominal.min_rtt, flow.nominal.max_rtt) = (40.0 * MS, 100.0 * MS);
            let _ = end(&mut flow, 1e6, 30);
            assert_eq!((flow.nominal.max_rtt, flow.mode), (91.25 * MS, mode));
        }
    }

    /// The draft, "Nominal rate": measurements only raise it, and not in a Recovery with a signal.
    #[test]
    fn congested_recoveries_do_not_raise_the_rate() {
        let mut flow = flow(Mode::Recovery, 1e6, 100.0);
        let _ = within(&mut flow, 9e5, 100);
        let _ = within(&mut flow, 1.1e6, 100);
        assert_eq!(flow.nominal.rate, 1.1e6);
        let _ = within(&mut flow, 1e6, 200); // a signal in Recovery reduces nothing
        let _ = within(&mut flow, 1.2e6, 100);
        assert_eq!((flow.nominal.rate, flow.alpha), (1.1e6, RECOVERY_ALPHA));
    }

    /// The draft, "Pushing state": a signal ends it, and reduces nothing; the push is no success.
    #[test]
    fn a_signal_in_pushing_reduces_nothing() {
        let mut flow = flow(Mode::Pushing, 1e6, 100.0);
        let _ = within(&mut flow, 1.02e6, 200);
        assert_eq!((flow.mode, flow.nominal.rate), (Mode::Recovery, 1.02e6));
        let _ = end(&mut flow, 1.05e6, 100);
        assert_eq!((flow.mode, flow.nominal.rate, flow.successes), (Mode::Cruising, 1.02e6, 0));
    }

    /// The draft, "Do not react to Probe Time Out": the losses of a timeout are no signal. RFC 5681, section 3.1: the window
    /// is one segment until the next ACK.
    #[test]
    fn a_timeout_is_no_signal() {
        let mut flow = flow(Mode::Cruising, 1e7, 100.0);
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
        let mut first = ack(&flow, 1e5, 100, 0);
        (first.lost, flow.era.start) = (Bytes(100_000), 1);
        let _ = flow.on_ack(&first);
        assert_eq!((flow.mode, flow.nominal.rate, flow.cwnd()), (Mode::Cruising, 1e7, Bytes(1_000_000)));
    }

    /// The code beside the draft: an echo of ECN reduces by a quarter.
    #[test]
    fn an_echo_of_ecn_reduces_by_a_quarter() {
        let mut flow = flow(Mode::Cruising, 1e6, 100.0);
        flow.on_congestion(&loss(100)); // losses count one by one, (9)
        assert_eq!(flow.nominal.rate, 1e6);
        flow.on_congestion(&Congestion { cause: Cause::Ecn, ..loss(100) });
        assert_eq!((flow.mode, flow.nominal.rate), (Mode::Recovery, 7.5e5));
    }
}
