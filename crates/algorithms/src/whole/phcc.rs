//! PHCC: congestion control by estimated probabilities of delay and loss.
//!
//! Source: S. Jamali, M. Talebi, R. Fotohi, "Congestion Control in High-speed Networks Using … Estimation Approach",
//! 2021.
//!
//! ```text
//! P(D) = P(D_old) P(D|D_old) + (1 − P(D_old)) P(D|¬D_old)                   (1)   Eq. 2
//! P(L) = [the same form in L] + [the same form in L given D], at most 1     (2)   Eq. 3; eq3 = mean: half of it
//! W(D_tar) = α R / q; q = max(R − base, 1 ms, base / 100)                   (3)   Eq. 6
//! W = ½ [(1 − P(D)) W(D_tar) + (1 − P(L)) W_loss]                           (4)   Eqs. 4, 5, 7
//! D_min = ssthresh base / w                                                 (5)   Eq. 8
//! D_max = max(F (R − base) / BFS, D_loss); BFS = w (1 − base / R)           (6)   Eqs. 9, 10
//! once per round trip:
//!   R < D_min:         slow start, w += n per ACK, while w R / base < ssthresh     (7)
//!   D_min ≤ R ≤ D_max: w changes to W, within [w / 2, 2 w]                         (8)   spread: over a round trip
//!   R > D_max:         w is constant                                               (9)   critical = cap: min(w, W)
//! loss: W_loss = w, D_loss = R, then ssthresh = w = max(w / 2, 2); timeout: w = 1  (10)  timeout = half: as a loss
//! d = (R − base) / (max − base), D = d > ½; P(D_old) = P(D), P(L_old) = P(L) of the last round;
//!   old = round: P(D_old) = d, P(L_old) = L of the last round
//! ```
//!
//! Units: segments, seconds; R is the mean RTT of the round, F the segments in flight; `phcc/likelihood.rs` estimates
//! the P(·|·). The algorithm includes slow start: the delay selects the phase of each round trip.
//! Differs from the source: see the choices of the entry.

pub mod likelihood;
pub mod options;

use cwndlab_control::{
    Ack, Build, Change, Confidence, Congestion, CongestionControl, Event, Extra, Kind, Need, Path, Phase, Reason, Spec,
    Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Rate};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::shared::margin::{above, below};
use crate::whole::phcc::likelihood::Likelihood;
use crate::whole::phcc::options::{AfterTimeout, Critical, DMax, Options, Unlost};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "phcc",
    title: "PHCC: probabilistic high-speed congestion control",
    kind: Kind::Whole,
    source: "Jamali, Talebi, Fotohi, \"Congestion Control in High-speed Networks Using the Probabilistic Estimation Approach\"",
    year: 2021,
    confidence: Confidence::Medium,
    summary: "Once per round trip the window changes to the mean of a delay target (FAST's alpha*R/q) and a loss target (the window of the last loss), each weighted by one minus the estimated probability of delay or loss. Slow start below the lower of two delay thresholds, no increase above the upper one. The estimators are our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &[
        "conditional probabilities are estimated from counts of transitions between rounds, with one pseudo-count (delay) or 1 in 10 (loss); the counts decay by a twentieth per round",
        "Eq. 3 is the printed sum, at most 1; D in Eq. 6 is the RTT, which gives FAST's fixed point; the queueing delay has a minimum",
        "Eq. 9 uses the base RTT, since D_min would be circular; a BFS below one segment gives no threshold",
        "the loss target is the window before the last loss, 2 w before the first; ECN marks count as losses",
        "the bound of 2 w applies to the weighted target; with the same bound on the delay target a flow with an early first loss would not recover",
        "the window is constant in the critical phase; a step is within [w/2, 2w] and at once, with pacing",
        "recommended reading, in which most claims of the paper hold together (docs/reproductions.md): what the paper leaves open of the algorithm has its values as defaults, alpha=20, loss_prior=0.1, critical=hold, pacing=on, spread=off; eq3 and old are as printed. timeout=half is printed too; a timeout leaves one segment here, as RFC 5681 requires. The recovery of that reading is phcc/newreno, and the algorithms beside it have ns-2.35's parameters",
    ],
    pitfalls: &[
        "half of the target depends on the window of the last loss: without further losses flows keep unequal shares, or a standing queue of up to the whole buffer",
        "the window changes at once, by up to a factor of two: a buffer of 0.1 BDP drops a fifth of the packets (docs/matrix.md), with spread=on hardly any",
        "with alpha*BDP above 2 q^2 (the slope of the control law, q in packets) it oscillates instead of converging: with alpha=100 and spread=on, after a loss at a small window, it uses 65 % of a path of 3000 packets",
        "with alpha=100 and spread=on, delay_cap=on: one loss in the first windows limits it permanently to 6 % of that path; pacing=off: each step overflows a short buffer, and half of the path is unused",
        "before the first loss the window doubles until a loss occurs; the critical phase begins only above the delay of the last loss",
        "minimum and maximum RTT are those of the connection: for a late flow the base RTT includes the standing queue",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck], // R is the mean of all samples, and slow start counts ACKs
    incompatible: &[],
    model_based: false,
    build: Build::Whole(|path, arguments| Box::new(Phcc::new(path, arguments.into()))),
};

/// The phase of a round trip, which the delay selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Congestion,
    Critical,
}

/// The windows, and window and RTT (s) at the last loss.
#[derive(Clone, Copy, Debug)]
struct WindowState {
    w: f64,
    ssthresh: f64,
    w_loss: Option<f64>,
    d_loss: f64,
}

/// Minimum and maximum RTT of the connection, and R, s.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    base: f64,
    max: f64,
    r: f64,
}

/// Measurements of the current round.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    number: u64,
    sum_rtt: f64,
    samples: f64,
    lost: bool,
}

/// Congestion control of PHCC.
#[derive(Clone, Debug)]
pub struct Phcc {
    options: Options,
    mss: f64,
    window: WindowState,
    phase: Stage,
    /// Target of the window, and change per acknowledged segment towards it.
    target: f64,
    slope: f64,
    rtt: Rtt,
    round: Round,
    next: Likelihood,
}

impl Phcc {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        let window = WindowState { w, ssthresh, w_loss: None, d_loss: f64::INFINITY };
        Self {
            options,
            mss,
            window,
            phase: Stage::Start,
            target: w,
            slope: 0.0,
            rtt: Rtt { base: f64::INFINITY, max: 0.0, r: 0.0 },
            round: Round::default(),
            next: Likelihood::new(&options),
        }
    }

    /// W of (4), from (3).
    fn target_window(&self) -> f64 {
        let w = self.window.w;
        let q = (self.rtt.r - self.rtt.base).max(self.options.q_floor * 1e-3).max(self.rtt.base / 100.0);
        let uncapped = self.options.alpha * self.rtt.r / q;
        let delay = (1.0 - self.next.delay) * if self.options.delay_cap { uncapped.min(2.0 * w) } else { uncapped }; // (3)
        let target = match self.window.w_loss {
            Some(w_loss) => w_loss,
            None if self.options.unlost == Unlost::Double => 2.0 * w,
            None => return delay,
        };
        0.5 * (delay + (1.0 - self.next.loss) * target) // (4)
    }

    /// D_min of (5) and D_max of (6), s.
    fn thresholds(&self, flight: f64) -> (f64, f64) {
        let w = self.window.w;
        let queued = self.rtt.r - self.rtt.base;
        let bfs = w * (1.0 - self.rtt.base / self.rtt.r);
        let by_delay = if below(bfs, 1.0) { f64::INFINITY } else { flight * queued / bfs };
        let by_delay = if self.options.d_max == DMax::Loss { 0.0 } else { by_delay };
        let by_loss = if self.options.d_max == DMax::Delay { 0.0 } else { self.window.d_loss };
        (self.window.ssthresh * self.rtt.base / w, by_delay.max(by_loss))
    }

    /// Sets the phase and the target window of the next round.
    fn decide(&mut self, flight: f64) {
        let d = ((self.rtt.r - self.rtt.base) / (self.rtt.max - self.rtt.base).max(1e-12)).clamp(0.0, 1.0);
        self.next.round(d, self.round.lost); // (1), (2)
        let (d_min, d_max) = self.thresholds(flight);
        let w = self.window.w;
        let target = self.target_window().clamp(w / 2.0, 2.0 * w);
        // With rounding margins: (7) limits the window to that at which D_min is R, and D_max is R where F = w.
        (self.phase, self.target) = if below(self.rtt.r, d_min) {
            (Stage::Start, w)
        } else if !above(self.rtt.r, d_max) {
            (Stage::Congestion, target) // (8)
        } else {
            // (9)
            (Stage::Critical, if self.options.critical == Critical::Hold { w } else { target.min(w) })
        };
        self.slope = (self.target - w) / if self.options.spread { w } else { 1.0 };
    }

    /// Ends a round. Returns the event of the end of slow start.
    fn close(&mut self, ack: &Ack) -> Option<Event> {
        let mut event = None;
        if self.round.samples > 0.0 {
            self.rtt.r = if self.options.rtt == options::Rtt::Smoothed {
                ack.srtt.as_nanos() as f64 * 1e-9
            } else {
                self.round.sum_rtt / self.round.samples
            };
            let before = self.phase;
            self.decide(ack.prior_in_flight.0 as f64 / self.mss);
            if before == Stage::Start && self.phase != before {
                event = Some(exit::now(Reason::DelayMinimum, self.window.w, self.window.ssthresh).event);
            }
        }
        self.round = Round { number: ack.round, ..Round::default() };
        event
    }

    /// Changes the window for `n` acknowledged segments: (7), or towards the target.
    #[inline]
    fn grow_towards_target(&mut self, n: f64) {
        let w = self.window.w;
        let (step, limit) = match self.phase {
            Stage::Start if self.rtt.r > 0.0 => (n, self.window.ssthresh * self.rtt.base / self.rtt.r), // (7)
            Stage::Start => (n, self.window.ssthresh),
            _ => (n * self.slope, self.target),
        };
        self.window.w = if step > 0.0 { (w + step).min(limit.max(w)) } else { (w + step).max(limit.min(w)).max(1.0) };
    }

    /// Sets the window and discards its target.
    fn set_window(&mut self, w: f64) {
        (self.window.w, self.target, self.slope) = (w, w, 0.0);
    }
}

impl CongestionControl for Phcc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_nanos() as f64 * 1e-9;
            (self.rtt.base, self.rtt.max) = (self.rtt.base.min(rtt), self.rtt.max.max(rtt));
            (self.round.sum_rtt, self.round.samples) = (self.round.sum_rtt + rtt, self.round.samples + 1.0);
        }
        self.round.lost |= ack.lost.0 > 0;
        let event = if ack.round > self.round.number { self.close(ack) } else { None };
        let shrinks = self.phase != Stage::Start && self.slope <= 0.0;
        if !ack.recovering && (ack.cwnd_limited || shrinks) {
            self.grow_towards_target(segments(ack));
        }
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.round.lost = true;
        if !event.repeated {
            self.window.ssthresh = (self.window.w / 2.0).max(2.0); // (10), at least RFC 5681's minimum
            self.window.w_loss = Some(self.window.w);
            self.window.d_loss = if self.rtt.r > 0.0 { self.rtt.r } else { event.srtt.as_nanos() as f64 * 1e-9 };
        }
        // The paper halves the window after a loss and after a timeout alike.
        let restart = event.restart && self.options.timeout == AfterTimeout::One;
        self.phase = if restart { Stage::Start } else { Stage::Congestion };
        self.set_window(if restart { 1.0 } else { self.window.ssthresh });
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        // A rounding margin: k segments may be stored as a sum of fractions.
        Bytes(((self.window.w + 1e-9) * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Idle | Change::Recovered => self.set_window((window.cwnd.0 as f64 / self.mss).max(1.0)),
            Change::Established if window.cwnd < self.cwnd() => self.set_window(window.cwnd.0 as f64 / self.mss),
            Change::Undo | Change::Established => {}
        }
    }

    /// Linux' factors (`tcp_update_pacing_rate`); with less the window would not be sent within a round trip.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let factor = if self.phase == Stage::Start { 16.0 } else { 9.6 }; // bits: 8 times 2, 8 times 1.2
        (self.options.pacing && self.rtt.r > 0.0).then(|| Rate((factor * self.window.w * self.mss / self.rtt.r) as u64))
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            if let Some(w_loss) = self.window.w_loss {
                put("w_loss_segments", w_loss);
            }
            put("p_delay", self.next.delay);
            put("p_loss", self.next.loss);
        }
        let starts = self.phase == Stage::Start && self.window.w < self.window.ssthresh;
        let phase = if starts { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.window.ssthresh, self.mss), phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, path, timeout};
    use cwndlab_units::Duration;
    use proptest::prelude::*;

    fn flow(options: &str) -> Phcc {
        let algorithm = crate::catalogue().parse(&format!("phcc({options})")).unwrap();
        Phcc::new(&path(10), (&algorithm.growth.arguments).into())
    }

    /// A flow with window `w`, a base RTT of 120 ms and R = `r` seconds.
    fn at(options: &str, w: f64, r: f64) -> Phcc {
        let mut flow = flow(options);
        (flow.window.w, flow.rtt.base, flow.rtt.max, flow.rtt.r) = (w, 0.12, 0.2, r);
        flow
    }

    /// Ends a round with an RTT of `rtt_ms` by an ACK of `n` segments.
    fn round(flow: &mut Phcc, number: u64, rtt_ms: u64, n: u64) {
        let mut ack = ack(n);
        (ack.round, ack.rtt) = (number, Some(Duration::from_millis(rtt_ms)));
        flow.on_ack(&ack);
    }

    /// `known-answers.csv`: W = 806.125 from R = 130 ms, q = 10 ms, α = 100, W_loss = 900.
    #[test]
    fn the_window_matches_the_known_answer() {
        let mut flow = at("alpha=100", 800.0, 0.13);
        (flow.next.delay, flow.next.loss, flow.window.w_loss) = (0.35, 0.1475, Some(900.0));
        assert!((flow.target_window() - 806.125).abs() < 1e-9, "{}", flow.target_window());
        flow.window.w = 500.0;
        assert!((flow.target_window() - 806.125).abs() < 1e-9);
        flow.options.delay_cap = true; // bounds the delay target of 1300 to 1000
        assert!((flow.target_window() - 0.5 * (0.65 * 1000.0 + 767.25)).abs() < 1e-9);
    }

    /// Reference values: ssthresh 500, base 120 ms: D_min is 75 ms for w = 800, 150 ms for w = 400; Eq. 10 gives R at F
    /// = w.
    #[test]
    fn the_thresholds_match_the_reference_values() {
        let mut flow = at("d_max=delay", 800.0, 0.15);
        flow.window.ssthresh = 500.0;
        let (d_min, d_max) = flow.thresholds(800.0);
        assert!((d_min - 0.075).abs() < 1e-12 && (d_max - 0.15).abs() < 1e-12);
        flow.decide(800.0);
        assert_eq!(flow.phase, Stage::Congestion);
        flow.decide(790.0);
        assert_eq!(flow.phase, Stage::Critical);
        (flow.window.w, flow.rtt.r) = (400.0, 0.121);
        assert!((flow.thresholds(400.0).0 - 0.15).abs() < 1e-12);
        flow.decide(400.0);
        assert_eq!(flow.phase, Stage::Start);
    }

    /// (7): doubling up to the window at which D_min = R; (8): a target within a factor of two, over a round trip.
    #[test]
    fn the_window_doubles_then_reaches_its_target_within_a_round_trip() {
        let mut flow = flow("spread=on");
        round(&mut flow, 1, 100, 10);
        assert_eq!((flow.window.w, flow.phase), (20.0, Stage::Start));
        flow.on_congestion(&loss(20));
        assert_eq!((flow.window.w, flow.window.w_loss), (10.0, Some(20.0)));
        round(&mut flow, 2, 100, 0);
        assert_eq!(flow.phase, Stage::Congestion);
        let target = flow.target;
        assert!(target > 10.0 && target <= 20.0, "{target}");
        round(&mut flow, 2, 100, 5);
        assert!((flow.window.w - 0.5 * (10.0 + target)).abs() < 1e-9);
        round(&mut flow, 2, 100, 500);
        assert!((flow.window.w - target).abs() < 1e-9);
        flow.window.ssthresh = 30.0;
        round(&mut flow, 3, 100, 500);
        assert!(flow.phase == Stage::Start && (flow.window.w - 30.0).abs() < 1e-9);
    }

    proptest! {
        /// (7) limits the window to w R / base = ssthresh, at which D_min of (5) is R in real numbers: slow start ends by
        /// (8), whatever the last bits are. The next round has the same R, as on a path whose queue is empty or full.
        #[test]
        fn slow_start_ends_at_the_window_at_which_d_min_is_the_rtt(
            ssthresh in 2.0f64..10_000.0, base in 0.0001f64..1.0, stretch in 1.0f64..2.0,
        ) {
            let mut flow = flow("");
            let r = base * stretch;
            (flow.window.ssthresh, flow.rtt.base, flow.rtt.max, flow.rtt.r) = (ssthresh, base, 2.0 * r, r);
            flow.window.w = (ssthresh / stretch / 2.0).max(1.0);
            flow.phase = Stage::Start;
            flow.grow_towards_target(1e9);
            flow.decide(flow.window.w);
            prop_assert_eq!(flow.phase, Stage::Congestion, "D_min {} s for {} s", flow.thresholds(1.0).0, r);
        }

        /// Eqs. 9 and 10: a queue of one segment of w is a BFS of one, which gives a threshold.
        #[test]
        fn a_queue_of_one_segment_gives_an_upper_threshold(pipe in 1u32..5_000, service in 1e-6f64..1e-2) {
            let w = f64::from(pipe) + 1.0;
            let mut flow = at("d_max=delay", w, w * service);
            flow.rtt.base = f64::from(pipe) * service;
            prop_assert!(flow.thresholds(w).1.is_finite());
        }
    }

    /// By hand, as the paper says of a loss and of a timeout alike: half of 800, then half of that, with `timeout=half`.
    #[test]
    fn a_timeout_can_halve_the_window() {
        let mut flow = at("timeout=half", 800.0, 0.13);
        flow.on_congestion(&timeout(100));
        assert_eq!((flow.window.w, flow.window.ssthresh), (400.0, 400.0));
        flow.on_congestion(&loss(100));
        assert_eq!(flow.window.w, 200.0);
    }

    /// (10) and the contract: half the window, one segment after a timeout; repeated timeouts do not change `ssthresh`.
    #[test]
    fn losses_halve_the_window() {
        let mut flow = at("", 100.0, 0.15);
        flow.on_congestion(&loss(100));
        assert_eq!(
            (flow.window.w, flow.window.ssthresh, flow.window.w_loss, flow.window.d_loss),
            (50.0, 50.0, Some(100.0), 0.15)
        );
        flow.window.w = 100.0;
        flow.on_congestion(&timeout(100));
        assert_eq!((flow.window.w, flow.window.ssthresh), (1.0, 50.0));
        flow.on_congestion(&Congestion { repeated: true, ..timeout(1) });
        assert_eq!((flow.window.ssthresh, flow.window.w_loss), (50.0, Some(100.0)));
    }
}
