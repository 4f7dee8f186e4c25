//! TCP Vegas.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995.
//!
//! ```text
//! once per round, diff = w (1 − base / R):               (1)
//!   diff < α: w += 1 over the next;  diff > β: w −= 1;  else it stays  (2)
//! each congestion: w = 3/4 w                             (3)
//! ```
//!
//! Units: segments, seconds; R is the smallest RTT of the round.
//! Differs from the source: losses are found by the transport, not by the fine-grained timer, so a segment that is lost
//! twice costs 3/4 again and not 1/2; a timeout restarts at one segment, not two. A round of two samples or fewer adds a
//! segment, as Reno, since delayed ACKs may be all that it saw. Linux' later `diff = w (R − base) / base` is an option.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter,
    Spec, Value, Window,
};

use super::reno::segments;
use crate::shared::rounds::{queued, Round, Rounds};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "vegas",
    title: "TCP Vegas",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/49.464716",
    year: 1995,
    confidence: Confidence::High,
    summary: "Keeps between alpha and beta segments of its own in the queue: one segment more or less per round trip.",
    parameters: &[
        Parameter { name: "alpha", unit: "segments", default: Value::Number(2.0), domain: Domain::Range(0.0, 10_000.0), doc: "grow while fewer wait; Linux 2, ns-2 1" },
        Parameter { name: "beta", unit: "segments", default: Value::Number(4.0), domain: Domain::Range(0.0, 10_000.0), doc: "shrink while more wait; Linux 4, ns-2 3" },
        Parameter { name: "rtt", unit: "", default: Value::Word("min"), domain: Domain::Words(&["min", "mean"]), doc: "R: the smallest sample of the round (Linux) or their mean (ns-2)" },
        Parameter { name: "diff", unit: "", default: Value::Word("paper"), domain: Domain::Words(&["paper", "linux"]), doc: "linux divides by base instead of R, which makes diff larger by R/base" },
        Parameter { name: "loss", unit: "", default: Value::Number(0.75), domain: Domain::Range(0.1, 0.99), doc: "what a loss leaves: 0.75 the paper, 0.5 Linux; a timeout leaves half" },
        Parameter { name: "rounding", unit: "", default: Value::Word("none"), domain: Domain::Words(&["none", "whole", "half-up"]), doc: "of diff: none; to the nearest segment (native ns-2); up to the next half (Linux 2.6)" },
        Parameter { name: "base", unit: "", default: Value::Word("data"), domain: Domain::Words(&["data", "handshake"]), doc: "handshake counts the SYN too, which is smaller and so faster (ns-2.35's Linux modules)" },
        Parameter { name: "floor", unit: "", default: Value::Word("two"), domain: Domain::Words(&["two", "ssthresh"]), doc: "ssthresh: below the threshold of the last loss slow start lifts the window again, so that it never shrinks under it (Linux 2.6)" },
        Parameter { name: "step", unit: "", default: Value::Word("spread"), domain: Domain::Words(&["spread", "at-once", "other"]), doc: "spread: growth over the ACKs of the next round (the paper, ns-2); at-once: at its beginning (Linux); other: that, from the window a round before, so that it grows every other round only (Linux 2.6)" },
        Parameter { name: "min_cwnd", unit: "", default: Value::Word("ssthresh"), domain: Domain::Words(&["ssthresh", "half"]), doc: "half: while a loss is repaired the window may fall to half of ssthresh, as in ns-2.35's Linux modules (needs fack)" },
    ],
    choices: &[
        "alpha and beta are 2 and 4 segments (Linux); 1 and 3 in ns-2",
        "R is the smallest RTT of the round, which delayed ACKs do not move; ns-2 takes the mean",
        "base is kept over timeouts and idleness",
        "growth is spread over the next round, as in the paper; a decrease is taken at once, as in ns-2",
    ],
    pitfalls: &[
        "a latecomer takes the queue of the others for part of its base RTT and gets more than its share",
        "base never rises: after a change to a longer path the window shrinks to almost nothing",
        "loses against anything that fills the buffer",
    ],
    companion: "vegas-ss",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Vegas::new(arguments))),
};

/// How diff is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    None,
    Whole,
    HalfUp,
}

/// Vegas' avoidance.
#[derive(Clone, Debug)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    mean: bool,
    by_base: bool,
    loss: f64,
    rounding: Rounding,
    with_handshake: bool,
    sticks: bool,
    spread: bool,
    other: bool,
    rounds: Rounds,
    over: Option<Round>,
    /// The window does not shrink below; segments.
    floor: f64,
    /// The window at the end of the last round, before its step; 0 before the first.
    earlier: f64,
    /// What each segment adds, where growth is spread over the round.
    slope: f64,
    diff: f64,
}

impl Vegas {
    fn new(arguments: &Arguments) -> Self {
        Self {
            alpha: arguments.number("alpha"),
            beta: arguments.number("beta"),
            mean: arguments.word("rtt") == "mean",
            by_base: arguments.word("diff") == "linux",
            loss: arguments.number("loss"),
            rounding: match arguments.word("rounding") {
                "whole" => Rounding::Whole,
                "half-up" => Rounding::HalfUp,
                _ => Rounding::None,
            },
            with_handshake: arguments.word("base") == "handshake",
            sticks: arguments.word("floor") == "ssthresh",
            spread: arguments.word("step") == "spread",
            other: arguments.word("step") == "other",
            rounds: Rounds::default(),
            over: None,
            floor: 2.0,
            earlier: 0.0,
            slope: 0.0,
            diff: 0.0,
        }
    }

    /// (1), rounded as asked.
    fn diff(&self, w: f64, round: &Round) -> f64 {
        let (base, rtt) = (self.rounds.base(), round.rtt(self.mean));
        let diff = if self.by_base { queued(w, base, rtt) * rtt / base } else { queued(w, base, rtt) };
        match self.rounding {
            Rounding::None => diff,
            Rounding::Whole => (diff + 0.5).floor(),
            Rounding::HalfUp => (2.0 * diff).ceil() / 2.0,
        }
    }

    /// (2).
    fn step(&self, diff: f64) -> f64 {
        if diff < self.alpha {
            1.0
        } else if diff > self.beta {
            -1.0
        } else {
            0.0
        }
    }

    /// What a round decides: the new window.
    fn decide(&mut self, round: &Round, w: f64) -> f64 {
        self.diff = if round.decides() { self.diff(w, round) } else { 0.0 };
        let step = if round.decides() { self.step(self.diff) } else { 1.0 };
        let from = std::mem::replace(&mut self.earlier, w);
        self.slope = if self.spread && step > 0.0 { step / w } else { 0.0 };
        let next = if self.slope > 0.0 {
            w
        } else if self.other && from > 0.0 {
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
            self.floor = 2.0; // slow start ended below the threshold, by its own rule
        }
        if let Some(round) = self.over.take() {
            return self.decide(&round, w);
        }
        w + self.slope * segments(ack)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.rounds.interrupt();
        (self.over, self.slope) = (None, 0.0);
        let left = if event.cause == Cause::Timeout { 0.5 } else { self.loss };
        let ssthresh = (left * w).max(2.0); // (3)
        if self.sticks {
            self.floor = ssthresh;
        }
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established if self.with_handshake => {
                self.rounds.base = self.rounds.base.min(window.rtt.map_or(u64::MAX, |rtt| rtt.0));
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
    use crate::shared::rounds::testing::rounds;
    use cwndlab_control::testing::{loss, timeout};

    fn vegas(text: &str) -> Vegas {
        Vegas::new(&crate::catalogue().parse(text).unwrap().growth.arguments)
    }

    /// What a round of 20 segments with a smallest RTT of `ms` over a base of 100 ms does to the window.
    fn after(text: &str, ms: f64) -> (f64, f64) {
        let mut flow = vegas(text);
        flow.rounds.base = 100_000_000;
        let w = rounds(&mut flow, 1, &[ms], 20, 20.0);
        (w, flow.diff)
    }

    /// The sheet: w = 20, base = 100 ms. 120 ms: 3.33, hold (ns-2 rounds to 3: hold; Linux 4: hold). 110 ms: 1.82, one
    /// more (Linux 2: hold). 150 ms: 6.67, one less.
    #[test]
    fn the_window_moves_by_one_where_the_sheet_says_so() {
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

    /// The paper: a loss takes a quarter; RFC 5681's half after a timeout.
    #[test]
    fn a_loss_takes_a_quarter_and_a_timeout_half() {
        assert_eq!(vegas("vegas").on_congestion(&loss(40), 40.0), 30.0);
        assert_eq!(vegas("vegas(loss=0.5)").on_congestion(&loss(40), 40.0), 20.0);
        assert_eq!(vegas("vegas").on_congestion(&timeout(40), 40.0), 20.0);
    }

    /// Linux 2.6: a window at the threshold of the last loss is lifted by slow start whenever it shrinks.
    #[test]
    fn the_window_may_stick_at_ssthresh() {
        let mut flow = vegas("vegas(floor=ssthresh)");
        flow.rounds.base = 100_000_000;
        let w = flow.on_congestion(&loss(40), 40.0);
        assert_eq!(rounds(&mut flow, 1, &[200.0; 6], 20, w), w);
        let mut free = vegas("vegas");
        free.rounds.base = 100_000_000;
        assert!(rounds(&mut free, 1, &[200.0; 6], 20, w) < w);
    }

    /// By hand: after a round at the base RTT, the ACKs of the next 20 segments add one.
    #[test]
    fn growth_is_spread_over_the_next_round() {
        let mut flow = vegas("vegas");
        let w = rounds(&mut flow, 1, &[100.0; 2], 20, 20.0);
        assert!((w - 20.95).abs() < 1e-9, "{w}");
    }

    /// Linux 2.6, by hand: six rounds at the base RTT are six steps, or three where each starts a round before.
    #[test]
    fn the_step_may_start_from_the_window_before() {
        let after = |text: &str| rounds(&mut vegas(text), 1, &[100.0; 6], 20, 20.0);
        assert_eq!((after("vegas(step=at-once)"), after("vegas(step=other)")), (26.0, 23.0));
    }
}
