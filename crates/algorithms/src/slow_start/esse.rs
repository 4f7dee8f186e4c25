//! ESSE (early slow start exit): exit at a fraction of the pipe size estimated from ACK trains.
//!
//! Source: S. Giordano, G. Procissi, F. Russo, R. Secchi, "On the Use of Pipe-Size Estimators to Improve TCP Transient
//! Behavior", ICC 2005. The estimator and the rule below are our reconstruction.
//!
//! ```text
//! B = maximum rate of a round's trains of ≥ 8 ACKs, ≤ RTT_min/4 apart   (1)   `shared::train`
//! pipe = ⌈B RTT_min / MSS⌉                                              (2)
//! two consecutive rounds agree within 20 % and w ≥ 0.9 pipe: exit       (3)
//! each ack: w += n                                                      (4)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: low to medium.
//! Differs from the source: nothing known; it describes the idea, the constants are ours.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, Extra, Kind, Reason, SlowStart, Spec, Step, Window,
};
use cwndlab_units::Duration;

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::shared::margin::{above, below, whole_up};
use crate::shared::train::Train;

options! {
    struct Options {
        /// fraction of the pipe size at which slow start ends
        share: f64 = 0.9 in 0.1..=2.0,
        /// maximum difference of two estimates, relative to the larger one
        agreement: f64 = 0.2 in 0.0..=1.0,
        /// minimum length of a train
        acks: f64["ACKs"] = 8.0 in 3.0..=1000.0,
        /// maximum gap between the ACKs of a train, as a fraction of RTT_min
        gap: f64 = 0.25 in 0.0001..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "esse",
    title: "Early slow start exit (ESSE)",
    kind: Kind::SlowStart,
    source: "Giordano et al., ICC 2005",
    year: 2005,
    confidence: Confidence::Low,
    summary: "Estimates the pipe size B*RTT_min from ACK trains; slow start ends at 0.9 of it once the estimates of two rounds agree. The rule is our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the estimate of a round is that of its fastest train",
        "rounds without a train of eight ACKs do not count",
    ],
    pitfalls: &[
        "a gap of up to a quarter of RTT_min counts as part of a train: where the sender pauses within a round (receive window, delayed bursts) the pipe size is underestimated, and two rounds agree late",
        "a train measures the capacity where the sender transmits bursts, but the sender's own rate where it paces",
        "the bursts of slow start need a buffer of about a quarter of the BDP; with less a loss occurs before the exit",
        "needs two rounds with eight ACKs each: with an initial window of 10 and delayed ACKs the exit is in the third round at the earliest",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Esse::new(arguments.into()))),
};

/// Slow start of ESSE.
#[derive(Clone, Debug)]
pub struct Esse {
    share: f64,
    agreement: f64,
    acks: u32,
    gap: f64,
    round: u64,
    train: Train,
    /// Maximum rate of this round, bytes/s.
    best: f64,
    /// The last two estimates, newest first, segments.
    pipes: [f64; 2],
}

/// (2).
fn pipe(bytes_per_s: f64, rtt_min_s: f64, mss: f64) -> f64 {
    whole_up(bytes_per_s * rtt_min_s / mss)
}

impl Esse {
    fn new(options: Options) -> Self {
        Self {
            share: options.share,
            agreement: options.agreement,
            acks: options.acks as u32,
            gap: options.gap,
            round: u64::MAX,
            train: Train::default(),
            best: 0.0,
            pipes: [0.0; 2],
        }
    }

    /// Takes the rate of a train that has ended as a sample.
    fn end_train(&mut self, train: &Train) {
        if train.acks >= self.acks {
            self.best = self.best.max(train.rate()); // (1)
        }
    }

    fn next_round(&mut self, ack: &Ack) {
        let train = std::mem::take(&mut self.train);
        self.end_train(&train);
        self.round = ack.round;
        if self.best > 0.0 {
            self.pipes = [pipe(self.best, ack.min_rtt.as_secs(), ack.mss.0 as f64), self.pipes[0]];
        }
        self.best = 0.0;
    }

    /// (3).
    fn is_full(&self, w: f64) -> bool {
        let [new, old] = self.pipes;
        let agree = !above((new - old).abs(), self.agreement * new.max(old));
        old > 0.0 && agree && !below(w, self.share * new)
    }

    fn restart(&mut self) {
        (self.round, self.train, self.best, self.pipes) = (u64::MAX, Train::default(), 0.0, [0.0; 2]);
    }
}

impl SlowStart for Esse {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if self.round != ack.round {
            self.next_round(ack);
        }
        if let Some(ended) =
            self.train.push(ack, Duration::from_nanos((self.gap * ack.min_rtt.as_nanos() as f64) as u64))
        {
            self.end_train(&ended);
        }
        let exit = self.is_full(w).then(|| exit::now(Reason::Pipe, w, self.pipes[0]));
        Step::with_exit(segments(ack), exit) // (4)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            self.restart();
        }
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.restart();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("pipe_segments", self.pipes[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::Time;

    /// Reference values: 10 Mbit/s, 80 ms, 1460 bytes: 69 segments.
    #[test]
    fn the_pipe_size_is_rounded_up() {
        assert_eq!(pipe(10e6 / 8.0, 0.08, 1460.0), 69.0);
    }

    /// Reference values: with two estimates of 69, slow start continues at 62 and ends at 63; estimates that differ by
    /// 30 % do not agree.
    #[test]
    fn slow_start_ends_at_nine_tenths_of_two_equal_estimates() {
        let mut start = Esse {
            share: 0.9,
            agreement: 0.2,
            acks: 8,
            gap: 0.25,
            round: 1,
            train: Train::default(),
            best: 0.0,
            pipes: [69.0, 69.0],
        };
        assert!(!start.is_full(62.0) && start.is_full(63.0));
        start.pipes = [69.0, 48.0];
        assert!(!start.is_full(63.0));
    }

    /// By hand: ACKs of 1000 bytes every millisecond at an RTT of 100 ms: a pipe size of 100 after two rounds of ten
    /// ACKs.
    #[test]
    fn two_rounds_of_trains_estimate_the_pipe_size() {
        let mut start = Esse::new(Options::default());
        let mut exits = Vec::new();
        for round in 0..3u64 {
            for n in 0..10 {
                let mut ack = ack_at(Time::from_nanos(1_000_000_000 + round * 100_000_000 + n * 1_000_000), 1);
                ack.round = round;
                exits.push(start.on_ack(&ack, 95.0, 1e9).exit.map(|exit| exit.event.pipe_segments));
            }
        }
        assert_eq!(exits.iter().position(Option::is_some), Some(20));
        assert_eq!(exits[20], Some(100.0));
    }
}
