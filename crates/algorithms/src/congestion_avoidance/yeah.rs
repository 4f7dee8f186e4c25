//! YeAH-TCP: a fast and a slow mode, chosen by the queueing delay.
//!
//! Source: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007.
//!
//! ```text
//! once per round, R its minimum RTT: Q = w (R − base) / R,  L = (R − base) / base           (1)
//! fast (Q < Qmax and L < 1/φ): each ack: w += n / min(w, 100)                               (2)
//! slow (else):                 each ack: w += n / w                                         (3)
//! slow, Q > Qmax, w > w_reno:  w = max(w − min(Q / γ, ε w), w_reno),  ssthresh = w          (4)
//! w_reno: max(w / 2, 2) in the first slow round, then +1 in each; 2 again after ζ fast rounds  (5)
//! loss: after fewer than ρ consecutive slow rounds w −= clamp(Q, δ w, w / 2), else w /= 2;  (6)
//!       w_reno = max(w_reno / 2, 2)
//! Qmax = 80 segments, φ = 8, γ = 1, ε = 1/2, δ = 1/8, ρ = 16, ζ = 50
//! ```
//!
//! Units: segments, seconds. (4) also applies in slow start, which it ends; otherwise slow start is standard.
//! Differs from the source: nothing known. `per_ack` applies to (3), as in ns-3. There 1/φ in integers is 0, so that any
//! queue selects the slow mode (`phi = 1000`). `counter = linux-4` and `linux-6` are Linux' modules, with whole segments, where
//! a timeout is a loss as others are.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Reason, Spec,
    Step, Window,
};

use cwndlab_units::maths::floor;

use super::reno::{acked_count, segments, PerAck};
use crate::shared::linux_counter::LinuxCounter;
use crate::shared::margin::above;
use crate::shared::rounds::{queued, Round, Rounds};

options! {
    struct Options {
        /// Qmax, backlog of the flow above which the queue is drained
        q_max: f64["segments"] = 80.0 in 1.0..=100_000.0,
        /// φ: the slow mode starts at a queueing delay of base / phi
        phi: f64 = 8.0 in 0.1..=1000.0,
        /// γ: 1/gamma of the backlog is drained per round
        gamma: f64 = 1.0 in 1.0..=100.0,
        /// ρ, consecutive slow rounds after which Reno flows are assumed to compete and a loss halves the window
        rho: f64["rounds"] = 16.0 in 1.0..=10_000.0,
        /// ζ, fast rounds after which the estimate of Reno's window is reset
        zeta: f64["rounds"] = 50.0 in 1.0..=10_000.0,
        /// handshake: the RTT of the handshake counts too, which is shorter since the SYN is small (Linux modules of
        /// ns-2.35)
        base: Base { Data = "data", Handshake = "handshake" } = Data,
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
        /// true: 1/w per ACK, regardless of the bytes that it acknowledges (ns-3)
        per_ack: PerAck = False,
        /// linux-4: whole segments, one per min(w, 100) + 1 acknowledged segments in the fast mode, one per w ACKs in the slow
        /// one (4 to 5.6); linux-6: one per min(w, 100) or w acknowledged segments (5.7 and later)
        counter: Counter { Real = "real", Linux4 = "linux-4", Linux6 = "linux-6" } = Real,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "yeah",
    title: "YeAH-TCP",
    kind: Kind::CongestionAvoidance,
    source: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
    year: 2007,
    confidence: Confidence::High,
    summary: "Scalable TCP's increase while the queue is short, Reno's while it is longer. The queue is drained before it overflows, unless Reno flows compete.",
    parameters: Options::PARAMETERS,
    choices: &[
        "timeouts and idle periods do not reset base",
        "a round with too few samples does not change the mode",
    ],
    pitfalls: &["with buffers of less than 80 segments it is loss-based"],
    companion: "",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Yeah::new(arguments.into()))),
};
use crate::shared::exit;

/// ε, the maximum fraction of the window by which draining the queue reduces it.
const EPSILON: f64 = 0.5;
/// δ, the minimum decrease fraction of a loss.
const DELTA: f64 = 0.125;
/// Maximum number of acknowledged segments per increment in the fast mode.
const AI_COUNT: f64 = 100.0;

/// The counters of the modes.
#[derive(Clone, Copy, Debug)]
struct Counts {
    w_reno: f64,
    fast: u32,
    /// Consecutive slow rounds; 0 in the fast mode.
    slow: u32,
}

/// Slow start and congestion avoidance of YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    q_max: f64,
    phi: f64,
    gamma: f64,
    rho: u32,
    zeta: u32,
    with_handshake: bool,
    per_ack: bool,
    counter: Counter,
    whole: LinuxCounter,
    rounds: Rounds,
    over: Option<Round>,
    queue: f64,
    counts: Counts,
}

impl Yeah {
    fn new(options: Options) -> Self {
        let counts = Counts { w_reno: 2.0, fast: 0, slow: 0 };
        Self {
            q_max: options.q_max,
            phi: options.phi,
            gamma: options.gamma,
            rho: options.rho as u32,
            zeta: options.zeta as u32,
            with_handshake: options.base == Base::Handshake,
            per_ack: options.per_ack == PerAck::True,
            counter: options.counter,
            whole: LinuxCounter::default(),
            rounds: Rounds::default(),
            over: None,
            queue: 0.0,
            counts,
        }
    }

    /// A number of segments, whole in Linux' modules.
    fn rounded(&self, segments: f64) -> f64 {
        if self.counter == Counter::Real {
            segments
        } else {
            floor(segments)
        }
    }

    /// The increase of an ACK: (2), (3).
    fn increase(&mut self, ack: &Ack, w: f64) -> f64 {
        let is_slow = self.counts.slow > 0;
        let (n, acks) = (segments(ack), f64::from(ack.acks));
        match self.counter {
            Counter::Real if is_slow => acked_count(ack, self.per_ack) / w,
            Counter::Real => n / w.min(AI_COUNT),
            Counter::Linux4 if is_slow => self.whole.add(acks, floor(w)),
            Counter::Linux6 => self.whole.add(n, floor(if is_slow { w } else { w.min(AI_COUNT) })),
            Counter::Linux4 => f64::from(u8::from(self.whole.exceeds(n, floor(w.min(AI_COUNT))))),
        }
    }

    /// The window after the round that has just ended, if one has.
    fn end_round(&mut self, w: f64) -> f64 {
        let Some(round) = self.over.take().filter(Round::decides) else { return w };
        let base = self.rounds.base();
        let rtt = round.rtt(false);
        // (1)
        self.queue = self.rounded(queued(w, base, rtt));
        // No margin for L: RTTs are whole nanoseconds, and the quotient is rounded once.
        let long = above(self.queue, self.q_max);
        if !long && rtt - base <= base / self.phi {
            self.counts.fast += 1;
            self.counts.slow = 0;
            if self.counts.fast > self.zeta {
                (self.counts.w_reno, self.counts.fast) = (2.0, 0);
            }
            return w;
        }
        let mut next = w;
        if long && w > self.counts.w_reno {
            // (4)
            next = (w - self.rounded((self.queue / self.gamma).min(EPSILON * w))).max(self.counts.w_reno);
        }
        // (5)
        let reno = self.counts.w_reno;
        self.counts.w_reno = if reno <= 2.0 { self.rounded(next / 2.0).max(2.0) } else { reno + 1.0 };
        self.counts.slow += 1;
        next
    }
}

impl CongestionAvoidance for Yeah {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack) {
            self.over = Some(round);
        }
    }

    fn start(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let grow = segments(ack);
        if !ack.cwnd_limited || ack.recovering {
            return Step::grow(grow);
        }
        let next = self.end_round(w);
        if next >= w {
            return Step::grow(grow);
        }
        Step::with_exit(next - w, Some(exit::now(Reason::Delay, next, w - self.queue)))
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let step = self.increase(ack, w);
        self.end_round(w + step).max(2.0)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        self.over = None;
        self.whole.reset();
        let half = self.rounded(w / 2.0);
        // In Linux a timeout is a loss like others (tcp_yeah_ssthresh).
        let times_out = event.cause == Cause::Timeout && self.counter == Counter::Real;
        let competes = self.counts.slow >= self.rho || times_out;
        let cut = if competes { half } else { self.queue.clamp(self.rounded(DELTA * w), half) }; // (6)
        self.counts.fast = 0;
        if times_out {
            self.counts.slow = 0;
        }
        self.counts.w_reno = self.rounded(self.counts.w_reno / 2.0).max(2.0);
        (w - cut).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established if self.with_handshake => {
                self.rounds.base = self.rounds.base.min(window.rtt.map_or(u64::MAX, cwndlab_units::Duration::as_nanos));
            }
            Change::Idle => self.rounds.interrupt(),
            Change::Undo | Change::Recovered | Change::Established => {}
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("base_rtt_s", self.rounds.base() * 1e-9);
        put("queue_segments", self.queue);
        put("w_reno_segments", self.counts.w_reno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::rounds::testing::ack_in;
    use cwndlab_control::testing::{loss, timeout};

    fn yeah() -> Yeah {
        Yeah::new(Options::default())
    }

    /// The window after a round with an RTT of `ms` at a window of 500, where base is 100 ms.
    fn after_round(flow: &mut Yeah, ms: u64) -> f64 {
        flow.rounds.base = 100_000_000;
        flow.over = Some(Round { min: ms * 1_000_000, mean: 0.0, samples: 500, delivered: 500.0, time: 0 });
        flow.end_round(500.0)
    }

    /// Reference values: base 100 ms, w = 500. 110 and 112 ms: fast; 113: slow without a reduction; 130: Q = 115.4, 115
    /// less.
    #[test]
    fn mode_and_reduction_match_the_reference_values() {
        for (ms, queue, slow, w) in
            [(110, 45.454_545, 0, 500.0), (112, 53.571_429, 0, 500.0), (113, 57.522_124, 1, 500.0)]
        {
            let mut flow = yeah();
            assert_eq!(after_round(&mut flow, ms), w, "{ms} ms");
            assert!((flow.queue - queue).abs() < 1e-5, "{ms} ms: {}", flow.queue);
            assert_eq!(flow.counts.slow, slow, "{ms} ms");
        }
        let mut flow = yeah();
        assert!((after_round(&mut flow, 130) - 384.615_384_6).abs() < 1e-6);
        assert!((flow.counts.w_reno - 192.307_692_3).abs() < 1e-6);
        flow.counts.w_reno = 400.0;
        assert_eq!(after_round(&mut flow, 130), 400.0, "not below Reno's window");
    }

    /// Reference values: a loss in the fast mode at Q = 45 reduces 500 by 62 (an eighth); after 16 slow rounds by half.
    #[test]
    fn a_loss_reduces_the_window_by_the_backlog_between_an_eighth_and_half() {
        let cut = |queue: f64, slow: u32| {
            let mut flow = yeah();
            (flow.queue, flow.counts.slow) = (queue, slow);
            500.0 - flow.on_congestion(&loss(500), 500.0)
        };
        assert_eq!(cut(45.0, 0), 62.5);
        assert_eq!(cut(115.0, 15), 115.0);
        assert_eq!(cut(400.0, 0), 250.0);
        assert_eq!(cut(45.0, 16), 250.0);
        assert_eq!(yeah().on_congestion(&timeout(500), 500.0), 250.0);
    }

    /// Linux 6.1 in virtual time: a timeout at 260 segments without a queue sets ssthresh to 228, 260 − ⌊260 / 8⌋.
    #[test]
    fn a_timeout_of_linux_reduces_the_window_as_a_loss_does() {
        let mut flow = Yeah { counter: Counter::Linux6, ..yeah() };
        assert_eq!(flow.on_congestion(&timeout(260), 260.0), 228.0);
    }

    /// By hand. Fast: one segment per 100 acknowledged; slow: one per window.
    #[test]
    fn the_increase_is_scalable_in_the_fast_mode_and_reno_in_the_slow_mode() {
        let mut flow = yeah();
        assert!((flow.on_ack(&ack_in(1, 100.0), 500.0) - 500.01).abs() < 1e-12);
        flow.counts.slow = 1;
        assert!((flow.on_ack(&ack_in(1, 100.0), 500.0) - 500.002).abs() < 1e-12);
    }

    /// By hand. At 50 segments, ACKs of two: Linux 4 adds one for more than 50 acknowledged segments in the fast mode, for 50
    /// ACKs in the slow one; Linux 6 for 50 segments in both.
    #[test]
    fn linux_counted_acks_in_the_slow_mode() {
        let cases =
            [(Counter::Linux4, 0, 26), (Counter::Linux4, 1, 50), (Counter::Linux6, 0, 25), (Counter::Linux6, 1, 25)];
        for (counter, slow, acks) in cases {
            let mut flow = Yeah { counter, ..yeah() };
            flow.counts.slow = slow;
            let one = ack_in(1, 100.0);
            let two = Ack { acked: one.mss * 2, ..one };
            assert_eq!((1..100).find(|_| flow.on_ack(&two, 50.0) > 50.0), Some(acks), "{counter:?} {slow}");
        }
    }

    #[test]
    fn a_long_queue_ends_slow_start() {
        let mut flow = yeah();
        flow.rounds.base = 100_000_000;
        flow.over = Some(Round { min: 130_000_000, mean: 0.0, samples: 500, delivered: 500.0, time: 0 });
        let step = flow.start(&ack_in(1, 130.0), 500.0, f64::INFINITY);
        assert!((step.exit.unwrap().ssthresh - 384.615_384_6).abs() < 1e-6 && step.grow < -115.0);
    }
}
