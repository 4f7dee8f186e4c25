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
mod tests;
