//! FAST TCP: a delay-based window with a constant number of segments in the queue.
//!
//! Source: C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM 2004;
//! IEEE/ACM ToN 14(6), 2006.
//!
//! ```text
//! R = (1 − a) R + a rtt, a = min(3 / w, 1/4);  q = R − base       (1)
//! every second round: w = min(2 w, (1 − γ) w + γ (base / R w' + α)) (2)
//!   w': the window one round trip ago; an increase is spread over the round
//! q < 0.75 ms: w += n                                             (3)
//! congestion event: w /= 2                                        (4)
//! ```
//!
//! Units: segments, seconds. In equilibrium α segments of the flow are queued: w q / R = α.
//! Differs from the source: an increase is spread over the ACKs of a round, not paced.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Spec, Window,
};

use super::reno::segments;
use crate::shared::rounds::queued;

options! {
    struct Options {
        /// α, segments of the flow in the queue in equilibrium; the authors tuned it to the class of the capacity (8,
        /// 20, 200)
        alpha: f64["segments"] = 20.0 in 1.0..=100_000.0,
        /// upper end of a dead band: no update while alpha to beta segments are queued; 0: no dead band
        beta: f64["segments"] = 0.0 in 0.0..=100_000.0,
        /// γ, step of an update, as a fraction of the distance
        gamma: f64 = 0.5 in 0.01..=1.0,
        /// rounds between updates
        update: f64["rounds"] = 2.0 in 1.0..=10.0,
        /// w' of the update: the window one round trip ago, to which R belongs (earlier), or the current window as
        /// printed (current)
        window: Reference { Earlier = "earlier", Current = "current" } = Earlier,
        /// maximum weight of a sample in R; 1/256 in the ns-2 module
        weight: f64 = 0.25 in 0.001..=1.0,
        /// queueing delay below which the window doubles per round trip
        mi_threshold: f64["s"] = 0.000_75 in 0.0..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fast",
    title: "FAST TCP",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFCOM.2004.1354670",
    year: 2004,
    confidence: Confidence::High,
    summary: "Controls the window so that alpha segments of the flow are in the queue. The steps are proportional to the distance from that equilibrium.",
    parameters: Options::PARAMETERS,
    choices: &["alpha is 20 segments", "no dead band"],
    pitfalls: &[
        "n flows keep n alpha segments in the queue; with a shorter buffer there is no equilibrium",
        "a base RTT that was measured with a standing queue lengthens the queue permanently",
        "queueing on the reverse path counts as congestion",
    ],
    companion: "standard",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Fast::new(arguments.into()))),
};

/// The window update (2). Windows in segments; `base` and `rtt` in the same unit of time.
#[inline]
#[must_use]
pub fn update(w: f64, earlier: f64, base: f64, rtt: f64, gamma: f64, target: f64) -> f64 {
    (2.0 * w).min((1.0 - gamma) * w + gamma * (base / rtt * earlier + target))
}

/// (1): base and smoothed RTT.
#[derive(Clone, Copy, Debug)]
pub struct Delay {
    /// Smallest RTT, ns; infinite before the first sample.
    pub base: f64,
    /// Smoothed RTT, ns; 0 before the first sample.
    pub rtt: f64,
    weight: f64,
}

impl Delay {
    /// Without samples; `weight` is the maximum weight of a sample.
    #[must_use]
    pub fn new(weight: f64) -> Self {
        Self { base: f64::INFINITY, rtt: 0.0, weight }
    }

    /// Adds the RTT sample of an ACK at window `w`.
    #[inline]
    pub fn observe(&mut self, ack: &Ack, w: f64) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_nanos().max(1) as f64;
        self.base = self.base.min(rtt);
        let a = (3.0 / w).min(self.weight);
        self.rtt = if self.rtt == 0.0 { rtt } else { (1.0 - a) * self.rtt + a * rtt };
    }

    /// Queueing delay, ns; 0 before the first sample.
    #[inline]
    #[must_use]
    pub fn queueing(&self) -> f64 {
        (self.rtt - self.base).max(0.0)
    }
}

/// Congestion avoidance of FAST.
#[derive(Clone, Debug)]
pub struct Fast {
    /// Segments to keep in the queue.
    pub(crate) alpha: f64,
    beta: f64,
    gamma: f64,
    every: u64,
    from_earlier: bool,
    /// Queueing delay below which the window doubles, ns.
    mi_threshold: f64,
    delay: Delay,
    round: u64,
    updated: u64,
    /// Windows at the start of this round and of the last.
    starts: [f64; 2],
    /// Target window of the last update, and the increase per acknowledged segment towards it.
    target: f64,
    slope: f64,
}

impl Fast {
    fn new(options: Options) -> Self {
        Self {
            alpha: options.alpha,
            beta: options.beta,
            gamma: options.gamma,
            every: options.update as u64,
            from_earlier: options.window == Reference::Earlier,
            mi_threshold: options.mi_threshold * 1e9,
            delay: Delay::new(options.weight),
            round: 0,
            updated: 0,
            starts: [0.0; 2],
            target: 0.0,
            slope: 0.0,
        }
    }

    /// FAST without doubling at short queues and with (2) on the current window, for algorithms that set `alpha`.
    #[must_use]
    pub(crate) fn plain(alpha: f64, gamma: f64) -> Self {
        let defaults = Self::new(Options::default());
        Self { alpha, gamma, from_earlier: false, mi_threshold: 0.0, ..defaults }
    }

    /// The target window of an update at window `w`.
    fn target(&self, w: f64) -> f64 {
        // No margins: at a backlog of α the update returns w too, and `mi_threshold` is passed in either direction, since
        // the smoothed RTT never stays at it.
        let backlog = queued(w, self.delay.base, self.delay.rtt);
        if backlog >= self.alpha && backlog < self.beta {
            return w;
        }
        let earlier = if self.from_earlier && self.starts[1] > 0.0 { self.starts[1] } else { w };
        update(w, earlier, self.delay.base, self.delay.rtt, self.gamma, self.alpha).max(2.0)
    }

    /// Starts a round at window `w`. Returns whether it updates the target.
    fn turn(&mut self, round: u64, w: f64) -> bool {
        self.starts = if round == self.round + 1 { [w, self.starts[0]] } else { [w, w] };
        self.round = round;
        if round < self.updated + self.every {
            return false;
        }
        self.updated = round;
        self.target = self.target(w); // (2)
        self.slope = (self.target - w).max(0.0) / w;
        true
    }
}

impl CongestionAvoidance for Fast {
    fn observe(&mut self, ack: &Ack, w: f64) {
        self.delay.observe(ack, w);
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if self.delay.rtt == 0.0 {
            return w;
        }
        let updated = ack.round != self.round && self.turn(ack.round, w);
        if self.delay.queueing() < self.mi_threshold {
            self.slope = 0.0;
            return w + segments(ack); // (3)
        }
        if updated && self.target < w {
            return self.target;
        }
        w + (self.slope * segments(ack)).min((self.target - w).max(0.0))
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        (self.slope, self.starts, self.updated) = (0.0, [0.0; 2], event.round);
        (w / 2.0).max(2.0) // (4)
    }

    fn on_window(&mut self, window: &Window) {
        if matches!(window.change, Change::Idle | Change::Recovered) {
            (self.slope, self.starts) = (0.0, [0.0; 2]);
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("base_rtt_s", self.delay.base * 1e-9);
        put("queueing_s", self.delay.queueing() * 1e-9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::loss;

    /// `known-answers.csv`: w = 100, base 100, R 110, α 20: 105.45…; the fixed point at q = 10 is α R / q = 220; the
    /// window at most doubles.
    #[test]
    fn an_update_matches_the_known_answer() {
        assert!((update(100.0, 100.0, 100.0, 110.0, 0.5, 20.0) - 105.454_545_454_545_45).abs() < 1e-12);
        assert!((update(220.0, 220.0, 100.0, 110.0, 0.5, 20.0) - 220.0).abs() < 1e-12);
        assert_eq!(update(50.0, 50.0, 100.0, 100.0, 0.5, 200.0), 100.0);
    }

    /// By hand: with w > 12 the weight of a sample is 3/w; 110 ms after 100 ms at w = 30 gives 101 ms, 1 ms of it
    /// queueing.
    #[test]
    fn the_rtt_is_smoothed_over_a_third_of_the_window() {
        let mut delay = Delay::new(0.25);
        for ms in [100.0, 110.0] {
            delay.observe(&crate::shared::rounds::testing::ack_in(1, ms), 30.0);
        }
        assert!((delay.rtt - 101e6).abs() < 1.0 && (delay.queueing() - 1e6).abs() < 1.0);
    }

    /// At a constant RTT of 110 ms and a base of 100 ms the window converges to 220 from both sides.
    #[test]
    fn it_converges_to_alpha_segments_in_the_queue() {
        for from in [50.0, 600.0] {
            let mut flow = Fast::new(Options::default());
            flow.delay.base = 100e6;
            let w = crate::shared::rounds::testing::rounds(&mut flow, 1, &[110.0; 300], 600, from);
            assert!((w - 220.0).abs() < 0.5, "{w} from {from}");
        }
    }

    #[test]
    fn a_loss_halves_and_a_short_queue_doubles_the_window() {
        let mut flow = Fast::new(Options::default());
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
        let ack = crate::shared::rounds::testing::ack_in(1, 100.0);
        flow.observe(&ack, 50.0);
        assert_eq!(flow.on_ack(&ack, 50.0), 51.0);
    }
}
