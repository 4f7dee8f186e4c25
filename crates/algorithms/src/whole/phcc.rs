//! PHCC TCP: congestion control by probabilistic estimation of delay and loss.
//!
//! Source: S. Jamali, M. Talebi, R. Fotohi, "Congestion Control in High-speed Networks Using … Estimation Approach", 2021.
//!
//! ```text
//! P(D) = P(D_old) P(D|D_old) + (1 − P(D_old)) P(D|¬D_old)                   (1)   Eq. 2
//! P(L) = ½ [the same form in L] + ½ [the same form in L given D]            (2)   Eq. 3, which sums them
//! W(D_tar) = α R / q; q = max(R − base, 1 ms, base / 100)                   (3)   Eq. 6
//! W = ½ [(1 − P(D)) W(D_tar) + (1 − P(L)) W_loss]                           (4)   Eqs. 4, 5, 7
//! D_min = ssthresh base / w                                                 (5)   Eq. 8
//! D_max = max(F (R − base) / BFS, D_loss); BFS = w (1 − base / R)           (6)   Eqs. 9, 10
//! once per round trip:
//!   R < D_min:         slow start, w += n per ACK, while w R / base < ssthresh     (7)
//!   D_min ≤ R ≤ D_max: w goes to W, within [w / 2, 2 w], over the next round trip  (8)
//!   R > D_max:         w goes to min(w, W)                                         (9)
//! loss: ssthresh = w = max(w / 2, 2), W_loss = w before, D_loss = R; timeout: w = 1  (10)
//! d = (R − base) / (max − base), D = d > ½; P(D_old) = d, P(L_old) = L of the last round
//! ```
//!
//! Units: segments, seconds; R is the mean of the round, F what is in flight; `part/likelihood.rs` counts the P(·|·). It
//! owns its start: each round trip chooses its phase by delay. Differs from the source in what the choices name.

pub mod likelihood;
pub mod options;

use cwndlab_control::{
    Ack, Arguments, Build, Change, Confidence, Congestion, CongestionControl, Domain, Event, Extra, Kind, Need,
    Parameter, Path, Phase, Reason, Spec, Ssthresh, State, Value, Window,
};
use cwndlab_units::{Bytes, Rate};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::whole::phcc::likelihood::Likelihood;
use crate::whole::phcc::options::Options;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "phcc",
    title: "PHCC: probabilistic high-speed congestion control",
    kind: Kind::Whole,
    source: "Jamali, Talebi, Fotohi, \"Congestion Control in High-speed Networks Using the Probabilistic Estimation Approach\"",
    year: 2021,
    confidence: Confidence::Medium,
    summary: "Once per round trip the window goes to the mean of a delay target (FAST's alpha*R/q) and a loss target (the window of the last loss), each weighed by the estimated probability that it is not met; slow start below, no growth above two delay thresholds. The estimators are our reconstruction.",
    parameters: &[
        Parameter { name: "alpha", unit: "packets", default: Value::Number(100.0), domain: Domain::Range(1.0, 1e6), doc: "packets in the queue that the delay target aims at; the paper names none" },
        Parameter { name: "eq3", unit: "", default: Value::Word("mean"), domain: Domain::Words(&["mean", "clamp"]), doc: "Eq. 3 sums two total probabilities and can reach 2: their mean, or the sum, 1 at most" },
        Parameter { name: "threshold", unit: "", default: Value::Number(0.5), domain: Domain::Range(0.01, 0.99), doc: "share of the delay's span above which a round counts as delayed" },
        Parameter { name: "memory", unit: "", default: Value::Number(0.95), domain: Domain::Range(0.0, 1.0), doc: "what the counts of transitions keep per round" },
        Parameter { name: "loss_prior", unit: "", default: Value::Number(0.01), domain: Domain::Range(0.0001, 0.5), doc: "probability of a loss before any evidence, worth 100 rounds" },
        Parameter { name: "rtt", unit: "", default: Value::Word("mean"), domain: Domain::Words(&["mean", "smoothed"]), doc: "R: the mean of the round, or the transport's smoothed RTT" },
        Parameter { name: "q_floor", unit: "ms", default: Value::Number(1.0), domain: Domain::Range(0.001, 1000.0), doc: "smallest queueing delay that the delay target divides by; a hundredth of the base RTT at least" },
        Parameter { name: "delay_cap", unit: "", default: Value::Word("off"), domain: Domain::Words(&["on", "off"]), doc: "off: the step is bounded by 2 w after weighing; on: the delay target as well before it, so that a flow leaves the window of an early loss by a small factor only" },
        Parameter { name: "unlost", unit: "", default: Value::Word("double"), domain: Domain::Words(&["double", "delay"]), doc: "before the first loss: the loss target is 2 w, or there is none and the delay target stands alone" },
        Parameter { name: "d_max", unit: "", default: Value::Word("both"), domain: Domain::Words(&["both", "delay", "loss"]), doc: "upper threshold of the delay: the larger of Eq. 10 and the delay at the last loss, or one of them" },
        Parameter { name: "critical", unit: "", default: Value::Word("cap"), domain: Domain::Words(&["cap", "hold"]), doc: "above it, where the paper is silent: go to W if that is less, or stay" },
        Parameter { name: "pacing", unit: "", default: Value::Word("on"), domain: Domain::Words(&["on", "off"]), doc: "on: the transport paces at 1.2 w/R (2 w/R in slow start), so that a doubled window does not come in clumps; off: ACKs alone clock it" },
        Parameter { name: "spread", unit: "", default: Value::Word("on"), domain: Domain::Words(&["on", "off"]), doc: "on: a new window is reached over a round trip, ACK by ACK; off: at once" },
    ],
    choices: &[
        "likelihoods are counted transitions between rounds with one pseudo-count (delay) or 1 in 100 (loss), which forget a twentieth per round",
        "Eq. 3 is the mean of its two parts; D in Eq. 6 is the RTT, so it is FAST's fixed point; the queueing delay is floored",
        "Eq. 9 takes the base RTT, since D_min would be circular; BFS below one segment sets no threshold",
        "the loss target is the window before the last loss, 2 w before the first; ECN marks count as losses",
        "the bound of 2 w is on the step; on the delay target as well it would trap a flow whose first loss comes early",
        "the critical phase does not grow; a step stays within [w/2, 2w] and is spread over a round trip, paced",
    ],
    pitfalls: &[
        "half of the window is anchored to the last loss: where none follows, flows stay where their last losses left them, with unequal shares or a standing queue of up to the whole buffer",
        "with alpha*BDP above 2 q^2 (the law's slope, q in packets) it swings instead of settling: after a loss at a small window it takes 65 % of a 3000-packet path",
        "delay_cap=on: one loss in the first windows leaves it at 6 % of that path for good; pacing=off: each step overflows a short buffer and half of the path stays unused",
        "before the first loss it doubles until one comes; the critical phase begins only beyond the delay of the last loss",
        "the RTT's extremes are of the connection: a late starter takes the standing queue for its base",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck], // R is a mean of all samples, and a step is spread ACK by ACK
    refuses: &[],
    model_based: false,
    build: Build::Whole(|path, arguments| Box::new(Phcc::new(path, arguments))),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Congestion,
    Critical,
}

/// Windows, and window and RTT (s) at the last loss.
#[derive(Clone, Copy, Debug)]
struct Memory {
    w: f64,
    ssthresh: f64,
    w_loss: Option<f64>,
    d_loss: f64,
}

/// Extremes of the RTT and R, its last mean, s.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    base: f64,
    max: f64,
    r: f64,
}

/// What a round trip has brought so far.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    number: u64,
    sum_rtt: f64,
    samples: f64,
    lost: bool,
}

/// PHCC.
#[derive(Clone, Debug)]
pub struct Phcc {
    options: Options,
    mss: f64,
    now: Memory,
    phase: Stage,
    /// Where the window goes; by how much per acknowledged segment.
    target: f64,
    slope: f64,
    rtt: Rtt,
    round: Round,
    next: Likelihood,
}

impl Phcc {
    fn new(path: &Path, arguments: &Arguments) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        let now = Memory { w, ssthresh, w_loss: None, d_loss: f64::INFINITY };
        Self {
            options: Options::new(arguments),
            mss,
            now,
            phase: Stage::Start,
            target: w,
            slope: 0.0,
            rtt: Rtt { base: f64::INFINITY, max: 0.0, r: 0.0 },
            round: Round::default(),
            next: Likelihood::new(arguments),
        }
    }

    /// W of (4), from (3).
    fn window(&self) -> f64 {
        let w = self.now.w;
        let q = (self.rtt.r - self.rtt.base).max(self.options.q_floor).max(self.rtt.base / 100.0);
        let uncapped = self.options.alpha * self.rtt.r / q;
        let delay = (1.0 - self.next.delay) * if self.options.delay_cap { uncapped.min(2.0 * w) } else { uncapped }; // (3)
        let target = match self.now.w_loss {
            Some(w_loss) => w_loss,
            None if self.options.unlost_double => 2.0 * w,
            None => return delay,
        };
        0.5 * (delay + (1.0 - self.next.loss) * target) // (4)
    }

    /// D_min of (5) and D_max of (6), s.
    fn thresholds(&self, flight: f64) -> (f64, f64) {
        let (w, queued) = (self.now.w, self.rtt.r - self.rtt.base);
        let bfs = w * (1.0 - self.rtt.base / self.rtt.r);
        let by_delay = if bfs < 1.0 { f64::INFINITY } else { flight * queued / bfs };
        let by_delay = if self.options.by_delay { by_delay } else { 0.0 };
        let by_loss = if self.options.by_loss { self.now.d_loss } else { 0.0 };
        (self.now.ssthresh * self.rtt.base / w, by_delay.max(by_loss))
    }

    /// The end of a round: the phase of the next, and where its window goes.
    fn decide(&mut self, flight: f64) {
        let d = ((self.rtt.r - self.rtt.base) / (self.rtt.max - self.rtt.base).max(1e-12)).clamp(0.0, 1.0);
        self.next.round(d, self.round.lost); // (1), (2)
        let (d_min, d_max) = self.thresholds(flight);
        let w = self.now.w;
        let wanted = self.window().clamp(w / 2.0, 2.0 * w);
        (self.phase, self.target) = if self.rtt.r < d_min {
            (Stage::Start, w)
        } else if self.rtt.r <= d_max * (1.0 + 1e-9) {
            (Stage::Congestion, wanted) // (8); a hair more, since D_max is R where F = w
        } else {
            // (9)
            (Stage::Critical, if self.options.hold { w } else { wanted.min(w) })
        };
        self.slope = (self.target - w) / if self.options.spread { w } else { 1.0 };
    }

    fn close(&mut self, ack: &Ack) -> Option<Event> {
        let mut event = None;
        if self.round.samples > 0.0 {
            self.rtt.r =
                if self.options.smoothed { ack.srtt.0 as f64 * 1e-9 } else { self.round.sum_rtt / self.round.samples };
            let before = self.phase;
            self.decide(ack.prior_in_flight.0 as f64 / self.mss);
            if before == Stage::Start && self.phase != before {
                event = Some(exit::now(Reason::DelayMinimum, self.now.w, self.now.ssthresh).event);
            }
        }
        self.round = Round { number: ack.round, ..Round::default() };
        event
    }

    #[inline]
    fn go(&mut self, n: f64) {
        let w = self.now.w;
        let (step, limit) = match self.phase {
            Stage::Start if self.rtt.r > 0.0 => (n, self.now.ssthresh * self.rtt.base / self.rtt.r), // (7)
            Stage::Start => (n, self.now.ssthresh),
            _ => (n * self.slope, self.target),
        };
        self.now.w = if step > 0.0 { (w + step).min(limit.max(w)) } else { (w + step).max(limit.min(w)).max(1.0) };
    }

    /// Another window: the old one's target is void.
    fn settle(&mut self, w: f64) {
        (self.now.w, self.target, self.slope) = (w, w, 0.0);
    }
}

impl CongestionControl for Phcc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.0 as f64 * 1e-9;
            (self.rtt.base, self.rtt.max) = (self.rtt.base.min(rtt), self.rtt.max.max(rtt));
            (self.round.sum_rtt, self.round.samples) = (self.round.sum_rtt + rtt, self.round.samples + 1.0);
        }
        self.round.lost |= ack.lost.0 > 0;
        let event = if ack.round > self.round.number { self.close(ack) } else { None };
        let shrinks = self.phase != Stage::Start && self.slope <= 0.0;
        if !ack.recovering && (ack.cwnd_limited || shrinks) {
            self.go(segments(ack));
        }
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.round.lost = true;
        if !event.repeated {
            self.now.ssthresh = (self.now.w / 2.0).max(2.0); // (10), not below RFC 5681's floor
            self.now.w_loss = Some(self.now.w);
            self.now.d_loss = if self.rtt.r > 0.0 { self.rtt.r } else { event.srtt.0 as f64 * 1e-9 };
        }
        self.phase = if event.restart { Stage::Start } else { Stage::Congestion };
        self.settle(if event.restart { 1.0 } else { self.now.ssthresh });
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(((self.now.w + 1e-9) * self.mss) as u64) // a hair more: a sum of fractions is k segments
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Idle | Change::Recovered => self.settle((window.cwnd.0 as f64 / self.mss).max(1.0)),
            Change::Undo | Change::Established => {}
        }
    }

    /// Linux' factors (`tcp_update_pacing_rate`): below the first a window would not be sent in its round trip.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let factor = if self.phase == Stage::Start { 16.0 } else { 9.6 }; // bits: 8 times 2, 8 times 1.2
        (self.options.paces && self.rtt.r > 0.0).then(|| Rate((factor * self.now.w * self.mss / self.rtt.r) as u64))
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            if let Some(w_loss) = self.now.w_loss {
                put("w_loss_segments", w_loss);
            }
            put("p_delay", self.next.delay);
            put("p_loss", self.next.loss);
        }
        let starts = self.phase == Stage::Start && self.now.w < self.now.ssthresh;
        let phase = if starts { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.now.ssthresh, self.mss), phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, path, timeout};
    use cwndlab_units::Duration;

    fn flow(options: &str) -> Phcc {
        let algorithm = crate::catalogue().parse(&format!("phcc({options})")).unwrap();
        Phcc::new(&path(10), &algorithm.growth.arguments)
    }

    /// At window `w` with base RTT 120 ms and `r` seconds.
    fn at(options: &str, w: f64, r: f64) -> Phcc {
        let mut flow = flow(options);
        (flow.now.w, flow.rtt.base, flow.rtt.max, flow.rtt.r) = (w, 0.12, 0.2, r);
        flow
    }

    /// A round trip of `rtt_ms` ends with an ACK of `n` segments.
    fn round(flow: &mut Phcc, number: u64, rtt_ms: u64, n: u64) {
        let mut ack = ack(n);
        (ack.round, ack.rtt) = (number, Some(Duration::from_millis(rtt_ms)));
        flow.on_ack(&ack);
    }

    /// `known-answers.csv`: W = 806.125 from R = 130 ms, q = 10 ms, α = 100, W_loss = 900.
    #[test]
    fn the_window_is_that_of_the_sheet() {
        let mut flow = at("", 800.0, 0.13);
        (flow.next.delay, flow.next.loss, flow.now.w_loss) = (0.35, 0.1475, Some(900.0));
        assert!((flow.window() - 806.125).abs() < 1e-9, "{}", flow.window());
        flow.now.w = 500.0;
        assert!((flow.window() - 806.125).abs() < 1e-9);
        flow.options.delay_cap = true; // the delay target of 1300 is capped at 1000
        assert!((flow.window() - 0.5 * (0.65 * 1000.0 + 767.25)).abs() < 1e-9);
    }

    /// The sheet: ssthresh 500, base 120 ms: w = 800 has D_min 75 ms, w = 400 150 ms; D_delay is R at F = w.
    #[test]
    fn the_thresholds_are_those_of_the_sheet() {
        let mut flow = at("d_max=delay", 800.0, 0.15);
        flow.now.ssthresh = 500.0;
        let (d_min, d_max) = flow.thresholds(800.0);
        assert!((d_min - 0.075).abs() < 1e-12 && (d_max - 0.15).abs() < 1e-12);
        flow.decide(800.0);
        assert_eq!(flow.phase, Stage::Congestion);
        flow.decide(790.0);
        assert_eq!(flow.phase, Stage::Critical);
        (flow.now.w, flow.rtt.r) = (400.0, 0.121);
        assert!((flow.thresholds(400.0).0 - 0.15).abs() < 1e-12);
        flow.decide(400.0);
        assert_eq!(flow.phase, Stage::Start);
    }

    /// (7): doubling, and no further than where D_min is R; (8): within a factor of two, spread over a round trip.
    #[test]
    fn the_window_doubles_then_goes_to_its_target_within_a_round_trip() {
        let mut flow = flow("");
        round(&mut flow, 1, 100, 10);
        assert_eq!((flow.now.w, flow.phase), (20.0, Stage::Start));
        flow.on_congestion(&loss(20));
        assert_eq!((flow.now.w, flow.now.w_loss), (10.0, Some(20.0)));
        round(&mut flow, 2, 100, 0);
        assert_eq!(flow.phase, Stage::Congestion);
        let target = flow.target;
        assert!(target > 10.0 && target <= 20.0, "{target}");
        round(&mut flow, 2, 100, 5);
        assert!((flow.now.w - 0.5 * (10.0 + target)).abs() < 1e-9);
        round(&mut flow, 2, 100, 500);
        assert!((flow.now.w - target).abs() < 1e-9);
        flow.now.ssthresh = 30.0;
        round(&mut flow, 3, 100, 500);
        assert!(flow.phase == Stage::Start && (flow.now.w - 30.0).abs() < 1e-9);
    }

    /// (10) and the contract: half, one segment after a timeout, `ssthresh` once per timeout.
    #[test]
    fn losses_halve_the_window() {
        let mut flow = at("", 100.0, 0.15);
        flow.on_congestion(&loss(100));
        assert_eq!((flow.now.w, flow.now.ssthresh, flow.now.w_loss, flow.now.d_loss), (50.0, 50.0, Some(100.0), 0.15));
        flow.now.w = 100.0;
        flow.on_congestion(&timeout(100));
        assert_eq!((flow.now.w, flow.now.ssthresh), (1.0, 50.0));
        flow.on_congestion(&Congestion { repeated: true, ..timeout(1) });
        assert_eq!((flow.now.ssthresh, flow.now.w_loss), (50.0, Some(100.0)));
    }
}
