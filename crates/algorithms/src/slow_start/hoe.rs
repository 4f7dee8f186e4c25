//! Hoe's initial threshold.
//!
//! Source: J. C. Hoe, "Improving the Start-up Behavior of a Congestion Control Scheme for TCP", SIGCOMM 1996.
//!
//! ```text
//! B = median of L/δ over the first k pairs of close ACKs      (1)   `shared::train`
//! ssthresh = B RTT                                            (2)   once, with the first RTT sample
//! each ack: w += n while w < ssthresh                         (3)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments.
//! Differs from the source: its text fits a line through three ACKs; the median of the first three pairs stands for that.

use cwndlab_control::{
    Ack, Arguments, Build, Confidence, Congestion, Domain, Extra, Kind, Need, Parameter, Reason, SlowStart, Spec, Step,
    Value,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::shared::train::{close, Pairs};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hoe",
    title: "Hoe's initial ssthresh",
    kind: Kind::SlowStart,
    source: "Hoe, SIGCOMM 1996",
    year: 1996,
    confidence: Confidence::High,
    summary: "Measures the bottleneck by packet pairs of the first ACKs and sets the initial ssthresh to B*RTT; then doubles up to it.",
    parameters: &[Parameter {
        name: "pairs",
        unit: "",
        default: Value::Number(3.0),
        domain: Domain::Range(1.0, 16.0),
        doc: "the median of so many pairs is B; 1 takes the first",
    }],
    choices: &[
        "the median of the first pairs rather than the paper's line through three ACKs",
        "ACKs are close where they are at most a quarter of the smallest RTT apart",
    ],
    pitfalls: &[
        "B is the capacity, not what others leave of it: beside other flows it leaves late",
        "the bursts of doubling need a buffer of about a quarter of the pipe; with less the loss comes before the exit",
        "ACK compression makes B too large",
        "a sender that paces its first window (pacing = always) measures its own pace and leaves at about twice the initial window",
    ],
    companion: "",
    needs: &[Need::EveryAck],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Hoe::new(arguments))),
};

/// Hoe's start.
#[derive(Clone, Debug)]
pub struct Hoe {
    k: usize,
    pairs: Pairs,
    rtt: f64,
    /// (2), segments; `None` while unknown.
    pipe: Option<f64>,
    over: bool,
}

/// (2), whole segments.
#[must_use]
pub fn pipe(bytes_per_s: f64, rtt_s: f64, mss: f64) -> f64 {
    cwndlab_units::maths::floor(bytes_per_s * rtt_s / mss)
}

impl Hoe {
    fn new(arguments: &Arguments) -> Self {
        Self { k: arguments.number("pairs") as usize, pairs: Pairs::default(), rtt: 0.0, pipe: None, over: false }
    }
}

impl SlowStart for Hoe {
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let grow = segments(ack); // (3)
        if self.over {
            return Step::grow(grow);
        }
        if self.pipe.is_some() {
            return Step::with_event(grow, exit::arrive(ack, Reason::Pair, w, grow, ssthresh));
        }
        if self.rtt == 0.0 {
            self.rtt = ack.rtt.map_or(0.0, cwndlab_units::Duration::as_secs);
        }
        let _ = self.pairs.push(ack, close(ack));
        self.pipe = self.pairs.median_of(self.k).map(|b| pipe(b, self.rtt, ack.mss.0 as f64)); // (1), (2)
        Step::with_exit(grow, self.pipe.map(|pipe| exit::at(Reason::Pair, w + grow, pipe)))
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.over = true; // the initial threshold only
        ssthresh
    }

    fn extra(&self, put: Extra<'_>) {
        put("pipe_segments", self.pipe.unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_control::EventKind;
    use cwndlab_units::{Duration, Time};

    /// The sheet: 1460 bytes 1.168 ms apart and an RTT of 100 ms give a threshold of 85.
    #[test]
    fn the_threshold_is_the_bandwidth_delay_product() {
        assert_eq!(pipe(crate::shared::train::pair(Duration(1_168_000), 1460.0), 0.1, 1460.0), 85.0);
    }

    /// By hand: ACKs of 1000 bytes 1 ms apart, RTT 100 ms: 100 segments, known with the fourth ACK; then it doubles up to it.
    #[test]
    fn three_pairs_set_it_once() {
        let mut start = Hoe::new(&Arguments::defaults(SPEC.parameters));
        let exits: Vec<_> = (0..6)
            .map(|n| start.on_ack(&ack_at(Time(1_000_000_000 + n * 1_000_000), 1), 10.0, 1e9))
            .map(|step| step.exit.map(|exit| (exit.ssthresh, exit.event.kind)))
            .collect();
        assert_eq!(exits, [None, None, None, Some((100.0, EventKind::ThresholdSet)), None, None]);
        let last = ack_at(Time(2_000_000_000), 1);
        let event = start.on_ack(&last, 99.0, 100.0).event;
        assert_eq!(event.map(|event| event.kind), Some(EventKind::SlowStartExit));
        assert_eq!(start.on_congestion(&loss(50), 100.0, 25.0), 25.0);
    }
}
