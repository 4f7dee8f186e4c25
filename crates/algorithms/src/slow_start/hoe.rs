//! Hoe's initial ssthresh: slow start to the BDP estimated from packet pairs.
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
//! Differs from the source: the median of the first three pairs replaces the line fitted through three ACKs.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, Extra, Kind, Reason, SlowStart, Spec, Step};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::shared::margin::whole_down;
use crate::shared::train::{max_burst_gap, Pairs};

options! {
    struct Options {
        /// number of pairs whose median is B; 1: the first pair
        pairs: f64 = 3.0 in 1.0..=16.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hoe",
    title: "Hoe's initial ssthresh",
    kind: Kind::SlowStart,
    source: "Hoe, SIGCOMM 1996",
    year: 1996,
    confidence: Confidence::High,
    summary: "Estimates the bottleneck bandwidth B from packet pairs of the first ACKs and sets the initial ssthresh to B*RTT; the window doubles per round trip up to it.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the median of the first pairs instead of the paper's line through three ACKs",
        "two ACKs are a pair where they are at most a quarter of the minimum RTT apart",
    ],
    pitfalls: &[
        "B is the capacity, not the available bandwidth: with competing flows slow start ends late",
        "the bursts of slow start need a buffer of about a quarter of the BDP; with less a loss occurs before the exit",
        "ACK compression leads to an overestimate of B",
        "a sender that paces its first window (pacing = always) measures its own pacing rate, and slow start ends at about twice the initial window",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Hoe::new(arguments.into()))),
};

/// Slow start with Hoe's initial ssthresh.
#[derive(Clone, Debug)]
pub struct Hoe {
    k: usize,
    pairs: Pairs,
    rtt: f64,
    /// (2), segments; `None` while unknown.
    pipe: Option<f64>,
    /// A congestion event has occurred.
    congested: bool,
}

/// (2), whole segments.
#[must_use]
pub fn pipe(bytes_per_s: f64, rtt_s: f64, mss: f64) -> f64 {
    whole_down(bytes_per_s * rtt_s / mss)
}

impl Hoe {
    fn new(options: Options) -> Self {
        Self { k: options.pairs as usize, pairs: Pairs::default(), rtt: 0.0, pipe: None, congested: false }
    }
}

impl SlowStart for Hoe {
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let grow = segments(ack); // (3)
        if self.congested {
            return Step::grow(grow);
        }
        if self.pipe.is_some() {
            return Step::with_event(grow, exit::arrive(ack, Reason::Pair, w, grow, ssthresh));
        }
        if self.rtt == 0.0 {
            self.rtt = ack.rtt.map_or(0.0, cwndlab_units::Duration::as_secs);
        }
        let _ = self.pairs.push(ack, max_burst_gap(ack));
        self.pipe = self.pairs.median_of(self.k).map(|b| pipe(b, self.rtt, ack.mss.0 as f64)); // (1), (2)
        Step::with_exit(grow, self.pipe.map(|pipe| exit::at(Reason::Pair, w + grow, pipe)))
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.congested = true; // only the initial ssthresh is estimated
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
    use proptest::prelude::*;

    /// Reference values: 1460 bytes 1.168 ms apart and an RTT of 100 ms give a threshold of 85.
    #[test]
    fn the_threshold_is_the_bandwidth_delay_product() {
        assert_eq!(pipe(crate::shared::train::pair(Duration::from_nanos(1_168_000), 1460.0), 0.1, 1460.0), 85.0);
    }

    /// By hand: ACKs of 1000 bytes 1 ms apart at an RTT of 100 ms: 100 segments, with the fourth ACK; the window then
    /// doubles up to it.
    #[test]
    fn three_pairs_set_the_threshold_once() {
        let mut start = Hoe::new(Options::default());
        let exits: Vec<_> = (0..6)
            .map(|n| start.on_ack(&ack_at(Time::from_nanos(1_000_000_000 + n * 1_000_000), 1), 10.0, 1e9))
            .map(|step| step.exit.map(|exit| (exit.ssthresh, exit.event.kind)))
            .collect();
        assert_eq!(exits, [None, None, None, Some((100.0, EventKind::ThresholdSet)), None, None]);
        let last = ack_at(Time::from_nanos(2_000_000_000), 1);
        let event = start.on_ack(&last, 99.0, 100.0).event;
        assert_eq!(event.map(|event| event.kind), Some(EventKind::SlowStartExit));
        assert_eq!(start.on_congestion(&loss(50), 100.0, 25.0), 25.0);
    }

    proptest! {
        /// (2): n segments of a pair's gap each are n segments.
        #[test]
        fn a_path_of_whole_segments_has_that_threshold(n in 1u32..10_000, gap in 1u64..10_000_000, mss in 500u32..9_000) {
            let rate = crate::shared::train::pair(Duration::from_nanos(gap), f64::from(mss));
            prop_assert_eq!(pipe(rate, Duration::from_nanos(gap * u64::from(n)).as_secs(), f64::from(mss)), f64::from(n));
        }
    }
}
