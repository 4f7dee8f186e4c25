//! TCP Vegas: delay-based congestion avoidance with a few segments in the queue.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995.
//!
//! ```text
//! once per round, diff = w (1 − base / R):               (1)
//!   diff < α: w += 1 over the next round;  diff > β: w −= 1;  else w is constant  (2)
//! congestion event: w = 3/4 w                            (3)
//! ```
//!
//! Units: segments, seconds; R is the minimum RTT of the round.
//! Differs from the source: the transport detects losses, not the fine-grained timer, so the second loss of a segment
//! reduces the window to 3/4 again and not to 1/2; a timeout restarts at one segment, not two. A round with two samples
//! or fewer adds a segment, as Reno, since its samples may all come from delayed ACKs. `diff = w (R − base) / base` of
//! later Linux versions is an option.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Spec, Window,
};

use super::reno::segments;
use crate::shared::margin::{above, below, whole_down, whole_up};
use crate::shared::rounds::{queued, Round, Rounds};

options! {
    struct Options {
        /// backlog below which the window increases; Linux 2, ns-2 1
        alpha: f64["segments"] = 2.0 in 0.0..=10_000.0,
        /// backlog above which the window decreases; Linux 4, ns-2 3
        beta: f64["segments"] = 4.0 in 0.0..=10_000.0,
        /// R: the minimum (Linux) or the mean (ns-2) of the RTT samples of a round
        rtt: Rtt { Min = "min", Mean = "mean" } = Min,
        /// linux: diff is divided by base instead of R, which makes it larger by R/base
        diff: Diff { Paper = "paper", Linux = "linux" } = Paper,
        /// multiplicative decrease factor: 0.75 in the paper, 0.5 in Linux; a timeout halves the window
        loss: f64 = 0.75 in 0.1..=0.99,
        /// rounding of diff: none; whole: to the nearest segment (native ns-2); half-up: up to the next half (Linux
        /// 2.6); down: to whole segments (Linux with diff = linux)
        rounding: Rounding { None = "none", Whole = "whole", HalfUp = "half-up", Down = "down" } = None,
        /// handshake: the RTT of the handshake counts too, which is shorter since the SYN is small (Linux modules of
        /// ns-2.35)
        base: Base { Data = "data", Handshake = "handshake" } = Data,
        /// minimum window: two segments, or the ssthresh of the last loss, below which slow start raises the window
        /// again (Linux 2.6)
        floor: Floor { Two = "two", Ssthresh = "ssthresh" } = Two,
        /// spread: an increment is spread over the ACKs of the next round (the paper, ns-2); at-once: it takes effect
        /// at the start of the round (Linux); other: as at-once, but from the window of the round before, so that the
        /// window increases in every second round only (Linux 2.6)
        step: StepPattern { Spread = "spread", AtOnce = "at-once", Other = "other" } = Spread,
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "vegas",
    title: "TCP Vegas",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/49.464716",
    year: 1995,
    confidence: Confidence::High,
    summary: "Keeps between alpha and beta segments of the flow in the queue: the window changes by at most one segment per round trip.",
    parameters: Options::PARAMETERS,
    choices: &[
        "alpha and beta are 2 and 4 segments (Linux); 1 and 3 in ns-2",
        "R is the minimum RTT of the round, which delayed ACKs do not affect; ns-2 takes the mean",
        "timeouts and idle periods do not reset base",
        "an increment is spread over the next round, as in the paper; a decrease takes effect at once, as in ns-2",
    ],
    pitfalls: &[
        "a new flow includes the queue of earlier flows in its base RTT and gets more than its share",
        "base never rises: after a route change to a longer path the window falls almost to its minimum",
        "loses bandwidth to every algorithm that fills the buffer",
    ],
    companion: "vegas-ss",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Vegas::new(arguments.into()))),
};

/// Congestion avoidance of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    options: Options,
    rounds: Rounds,
    over: Option<Round>,
    /// Minimum window, segments.
    floor: f64,
    /// The window at the end of the last round, before its step; 0 before the first.
    earlier: f64,
    /// Increment per acknowledged segment, where an increment is spread over the round.
    slope: f64,
    diff: f64,
}

impl Vegas {
    fn new(options: Options) -> Self {
        Self { options, rounds: Rounds::default(), over: None, floor: 2.0, earlier: 0.0, slope: 0.0, diff: 0.0 }
    }

    /// (1), with the selected rounding.
    fn diff(&self, w: f64, round: &Round) -> f64 {
        let base = self.rounds.base();
        let rtt = round.rtt(self.options.rtt == Rtt::Mean);
        let diff =
            if self.options.diff == Diff::Linux { queued(w, base, rtt) * rtt / base } else { queued(w, base, rtt) };
        match self.options.rounding {
            Rounding::None => diff,
            Rounding::Whole => whole_down(diff + 0.5),
            Rounding::HalfUp => whole_up(2.0 * diff) / 2.0,
            Rounding::Down => whole_down(diff),
        }
    }

    /// (2).
    fn step(&self, diff: f64) -> f64 {
        // With rounding margins: on a path that holds whole segments the backlog is a whole number.
        if below(diff, self.options.alpha) {
            1.0
        } else if above(diff, self.options.beta) {
            -1.0
        } else {
            0.0
        }
    }

    /// The window after a round.
    fn decide(&mut self, round: &Round, w: f64) -> f64 {
        self.diff = if round.decides() { self.diff(w, round) } else { 0.0 };
        let step = if round.decides() { self.step(self.diff) } else { 1.0 };
        let from = std::mem::replace(&mut self.earlier, w);
        self.slope = if self.options.step == StepPattern::Spread && step > 0.0 { step / w } else { 0.0 };
        let next = if self.slope > 0.0 {
            w
        } else if self.options.step == StepPattern::Other && from > 0.0 {
            w + (from + step - w).clamp(-1.0, 1.0)
        } else {
            w + step
        };
        next.max(self.floor)
    }
}

impl CongestionAvoidance for Vegas {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(round) = self.rounds.observe(ack) {
            self.over = Some(round);
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if w < self.floor {
            self.floor = 2.0; // slow start ended below the threshold
        }
        if let Some(round) = self.over.take() {
            return self.decide(&round, w);
        }
        w + self.slope * segments(ack)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        (self.over, self.slope) = (None, 0.0);
        let factor = if event.cause == Cause::Timeout { 0.5 } else { self.options.loss };
        let ssthresh = (factor * w).max(2.0); // (3)
        if self.options.floor == Floor::Ssthresh {
            self.floor = ssthresh;
        }
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established if self.options.base == Base::Handshake => {
                self.rounds.base = self.rounds.base.min(window.rtt.map_or(u64::MAX, cwndlab_units::Duration::as_nanos));
            }
            Change::Idle => {
                self.rounds.interrupt();
                self.floor = 2.0;
            }
            Change::Undo | Change::Recovered | Change::Established => {}
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("base_rtt_s", self.rounds.base() * 1e-9);
        put("diff_segments", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: at 20 segments and base 100 ms, R = 124 ms is 4.8 segments, more than β; in Linux' integers it is 4, which
    /// is not. R = 126 ms is 5.2, and 5.
    #[test]
    fn linux_rounds_the_backlog_down() {
        let step = |ms: u64, rounding| {
            let options = Options { diff: Diff::Linux, step: StepPattern::AtOnce, rounding, ..Options::default() };
            let mut flow = Vegas::new(options);
            flow.rounds.base = 100_000_000;
            let round = Round { min: ms * 1_000_000, mean: 0.0, samples: 20, delivered: 20.0, time: 0 };
            flow.decide(&round, 20.0)
        };
        assert_eq!(
            [step(124, Rounding::None), step(124, Rounding::Down), step(126, Rounding::Down)],
            [19.0, 20.0, 19.0]
        );
    }
    use crate::shared::rounds::testing::rounds;
    use cwndlab_control::testing::{loss, timeout};
    use proptest::prelude::*;

    fn vegas(text: &str) -> Vegas {
        Vegas::new((&crate::catalogue().parse(text).unwrap().growth.arguments).into())
    }

    /// Window and diff after a round of 20 segments with a minimum RTT of `ms`, where base is 100 ms.
    fn after(text: &str, ms: f64) -> (f64, f64) {
        let mut flow = vegas(text);
        flow.rounds.base = 100_000_000;
        let w = rounds(&mut flow, 1, &[ms], 20, 20.0);
        (w, flow.diff)
    }

    /// Reference values: w = 20, base = 100 ms. 120 ms: diff 3.33, constant (ns-2 rounds to 3, Linux has 4: constant
    /// too). 110 ms: 1.82, one more (Linux 2: constant). 150 ms: 6.67, one less.
    #[test]
    fn window_and_diff_match_the_known_answers() {
        for (text, ms, w, diff) in [
            ("vegas(step=at-once)", 120.0, 20.0, 3.333_333_333_333_332_6),
            ("vegas(step=at-once)", 110.0, 21.0, 1.818_181_818_181_818_8),
            ("vegas(step=at-once)", 150.0, 19.0, 6.666_666_666_666_668),
            ("vegas(alpha=1, beta=3, rounding=whole)", 120.0, 20.0, 3.0),
            ("vegas(diff=linux)", 120.0, 20.0, 4.0),
            ("vegas(diff=linux)", 110.0, 20.0, 2.0),
        ] {
            let (window, seen) = after(text, ms);
            assert_eq!(window, w, "{text} at {ms} ms");
            assert!((seen - diff).abs() < 1e-12, "{text} at {ms} ms: {seen}");
        }
        let mut flow = vegas("vegas");
        flow.rounds.base = 50_000_000;
        let round = Round { min: 55_000_000, mean: 55e6, samples: 10, delivered: 10.0, time: 0 };
        assert!((flow.diff(10.0, &round) - 0.909_090_909_090_909).abs() < 1e-12);
    }

    /// The paper: a loss reduces the window by a quarter; RFC 5681: a timeout by half.
    #[test]
    fn a_loss_reduces_the_window_by_a_quarter_and_a_timeout_by_half() {
        assert_eq!(vegas("vegas").on_congestion(&loss(40), 40.0), 30.0);
        assert_eq!(vegas("vegas(loss=0.5)").on_congestion(&loss(40), 40.0), 20.0);
        assert_eq!(vegas("vegas").on_congestion(&timeout(40), 40.0), 20.0);
    }

    /// Linux 2.6: whenever the window falls below the ssthresh of the last loss, slow start raises it again.
    #[test]
    fn ssthresh_may_be_the_minimum_window() {
        let mut flow = vegas("vegas(floor=ssthresh)");
        flow.rounds.base = 100_000_000;
        let w = flow.on_congestion(&loss(40), 40.0);
        assert_eq!(rounds(&mut flow, 1, &[200.0; 6], 20, w), w);
        let mut free = vegas("vegas");
        free.rounds.base = 100_000_000;
        assert!(rounds(&mut free, 1, &[200.0; 6], 20, w) < w);
    }

    /// By hand: after a round at the base RTT, the ACKs of the next 20 segments add one segment.
    #[test]
    fn an_increment_is_spread_over_the_next_round() {
        let mut flow = vegas("vegas");
        let w = rounds(&mut flow, 1, &[100.0; 2], 20, 20.0);
        assert!((w - 20.95).abs() < 1e-9, "{w}");
    }

    /// Linux 2.6, by hand: six rounds at the base RTT give six increments, or three from the window of the round
    /// before.
    #[test]
    fn an_increment_may_start_from_the_window_of_the_round_before() {
        let after = |text: &str| rounds(&mut vegas(text), 1, &[100.0; 6], 20, 20.0);
        assert_eq!((after("vegas(step=at-once)"), after("vegas(step=other)")), (26.0, 23.0));
    }

    proptest! {
        /// By hand: a path that holds `pipe` segments of a service time s each has base = pipe s, and with α or β more
        /// R = (pipe + α) s: the backlog is α, and the window constant.
        #[test]
        fn the_window_is_constant_at_a_backlog_of_alpha_or_beta(pipe in 1u32..5_000, service in 1e3f64..1e7) {
            let mut flow = vegas("vegas");
            flow.rounds.base = (f64::from(pipe) * service) as u64;
            let service = flow.rounds.base as f64 / f64::from(pipe);
            for backlog in [flow.options.alpha, flow.options.beta] {
                let w = f64::from(pipe) + backlog;
                let round = Round { min: 0, mean: w * service, samples: 9, delivered: w, time: 0 };
                flow.options.rtt = Rtt::Mean; // R need not be whole nanoseconds
                prop_assert_eq!(flow.step(flow.diff(w, &round)), 0.0);
            }
        }
    }
}
