//! Slow start of TCP Vegas, which doubles the window in every second round.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995.
//!
//! ```text
//! every second round: w += n                                           (1)
//! other rounds: diff = w (1 − base / R), w: segments delivered         (2)
//! diff > γ: w −= w / 8, and slow start ends                            (3)
//! ```
//!
//! Units: segments, seconds; R is the mean RTT of the round, since the minimum is that of the first segment of a burst,
//! which is not queued.
//! Differs from the source: nothing known. Linux increases the window in every round, takes the minimum RTT, and has
//! w = min(w, w base / R + 1) at the exit; all three are options.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, Kind, Reason, SlowStart, Spec, Step, Window,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::{above, whole_down, whole_up};
use crate::shared::rounds::{queued, Round, Rounds};

options! {
    struct Options {
        /// γ, backlog above which slow start ends
        gamma: f64["segments"] = 1.0 in 0.0..=10_000.0,
        /// rounds with an increase: every second one (other: the paper) or each (Linux)
        grow: Grow { Other = "other", Each = "each" } = Other,
        /// window at the exit: 7/8 of the window (eighth: ns-2), or the measured rate times base, plus one segment
        /// (rate: Linux)
        exit: ExitWindow { Eighth = "eighth", Rate = "rate" } = Eighth,
        /// R: the mean (ns-2) or the minimum (Linux) of the RTT samples of a round
        rtt: Rtt { Mean = "mean", Min = "min" } = Mean,
        /// rounding of diff: none; whole: to the nearest segment (native ns-2); half-up: up to the next half (Linux
        /// 2.6)
        rounding: Rounding { None = "none", Whole = "whole", HalfUp = "half-up" } = None,
        /// handshake: the RTT of the handshake counts too, which is shorter since the SYN is small (Linux modules of
        /// ns-2.35)
        base: Base { Data = "data", Handshake = "handshake" } = Data,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "vegas-ss",
    title: "Slow start of TCP Vegas",
    kind: Kind::SlowStart,
    source: "doi:10.1109/49.464716",
    year: 1995,
    confidence: Confidence::High,
    summary: "The window doubles in every second round trip; the rounds between measure the backlog. Slow start ends when more than gamma segments are queued.",
    parameters: Options::PARAMETERS,
    choices: &[
        "ssthresh after the exit is the window, not two segments, which is equivalent: congestion avoidance begins",
        "R is the mean RTT of the round",
    ],
    pitfalls: &["slow start ends early where bursts queue at the bottleneck; a path with a large BDP is then filled by one segment per round trip"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(VegasSs::new(arguments.into()))),
};
use crate::shared::exit;

/// Slow start of Vegas.
#[derive(Clone, Debug)]
pub struct VegasSs {
    gamma: f64,
    each: bool,
    to_rate: bool,
    mean: bool,
    /// Unit of the rounding of diff: 1 rounds to the nearest, 1/2 rounds up, 0 does not round.
    unit: f64,
    with_handshake: bool,
    rounds: Rounds,
    grows: bool,
}

impl VegasSs {
    fn new(options: Options) -> Self {
        Self {
            gamma: options.gamma,
            each: options.grow == Grow::Each,
            to_rate: options.exit == ExitWindow::Rate,
            mean: options.rtt == Rtt::Mean,
            unit: match options.rounding {
                Rounding::Whole => 1.0,
                Rounding::HalfUp => 0.5,
                Rounding::None => 0.0,
            },
            with_handshake: options.base == Base::Handshake,
            rounds: Rounds::default(),
            grows: true,
        }
    }

    /// The window at the exit, where the round ends slow start.
    fn exit_window(&self, round: &Round, w: f64) -> Option<f64> {
        let base = self.rounds.base();
        let rtt = round.rtt(self.mean);
        let diff = queued(round.delivered, base, rtt); // (2)
        let diff = if self.unit == 1.0 {
            whole_down(diff + 0.5)
        } else if self.unit > 0.0 {
            whole_up(diff / self.unit) * self.unit
        } else {
            diff
        };
        let window = if self.to_rate { w.min(whole_down(round.delivered * base / rtt) + 1.0) } else { w - w / 8.0 };
        above(diff, self.gamma).then_some(window.max(2.0)) // (3)
    }
}

impl SlowStart for VegasSs {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let turned = ack.round != self.rounds.number;
        let over = self.rounds.observe(ack).filter(|round| round.decides() && (self.each || !self.grows));
        if let Some((window, round)) = over.and_then(|round| Some((self.exit_window(&round, w)?, round))) {
            let pipe = round.delivered * self.rounds.base() / round.rtt(self.mean);
            return Step::with_exit(window - w, Some(exit::now(Reason::Delay, window, pipe)));
        }
        if turned {
            self.grows = self.each || !self.grows;
        }
        Step::grow(if self.grows { segments(ack) } else { 0.0 }) // (1)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.rounds.interrupt();
        self.grows = true;
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established if self.with_handshake => {
                self.rounds.base = self.rounds.base.min(window.rtt.map_or(u64::MAX, cwndlab_units::Duration::as_nanos));
            }
            Change::Idle => self.rounds.interrupt(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::rounds::testing::ack_in;

    fn start(text: &str) -> VegasSs {
        let algorithm = crate::catalogue().parse(&format!("reno+vegas-ss{text}")).unwrap();
        VegasSs::new((&algorithm.slow_start.unwrap().arguments).into())
    }

    /// The window after a round with one ACK per segment of the window, and whether slow start has ended.
    fn round(start: &mut VegasSs, number: u64, ms: f64, w: f64) -> (f64, bool) {
        let mut after = w;
        for _ in 0..w as u32 {
            let step = start.on_ack(&ack_in(number, ms), after, 1e9);
            after += step.grow;
            if step.exit.is_some() {
                return (after, true);
            }
        }
        (after, false)
    }

    /// Reference values: from w = 2 the windows after each of six round trips are 2, 4, 4, 8, 8, 16, the first
    /// unchanged.
    #[test]
    fn the_window_doubles_in_every_second_round() {
        let mut start = start("");
        let mut w = 2.0;
        let mut windows = Vec::new();
        for number in 1..=6 {
            w = round(&mut start, number, 100.0, w).0;
            windows.push(w);
        }
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0]);
    }

    /// Reference values: w = 16, base 100 ms. R = 107: diff 1.047, exit with 14 (ns-2) or min(16, 14.95 + 1), in whole
    /// segments 15 (Linux). By hand: at 106 ms diff is 0.906, and slow start continues.
    #[test]
    fn slow_start_ends_when_more_than_gamma_segments_are_queued() {
        let exit_window = |text: &str, ms: f64| {
            let mut start = start(text);
            start.rounds.base = 100_000_000;
            let round = Round { min: (ms * 1e6) as u64, mean: ms * 1e6, samples: 16, delivered: 16.0, time: 0 };
            start.exit_window(&round, 16.0)
        };
        assert_eq!(exit_window("", 107.0), Some(14.0));
        assert_eq!(exit_window("(exit=rate, rtt=min, grow=each)", 107.0), Some(15.0));
        assert_eq!(exit_window("", 106.0), None);
    }

    /// By hand: round 1 adds nothing, round 2 doubles 10 to 20, round 3 adds nothing and delivers 20 at 107 ms: diff is
    /// 20 · 0.0654 = 1.31, and the first ACK of round 4 reduces the window by an eighth.
    #[test]
    fn the_window_is_reduced_at_the_exit() {
        let algorithm = crate::catalogue().parse("reno+vegas-ss").unwrap();
        let mut flow = algorithm.build(&cwndlab_control::testing::path(10));
        let mut segments = Vec::new();
        for (number, acks, ms) in [(1, 10, 100.0), (2, 10, 100.0), (3, 20, 107.0), (4, 1, 107.0)] {
            for _ in 0..acks {
                let _ = flow.on_ack(&ack_in(number, ms));
            }
            segments.push(flow.cwnd().0 as f64 / 1000.0);
        }
        assert_eq!(segments[..3], [10.0, 20.0, 20.0]);
        assert_eq!(segments[3], 17.5);
    }
}
