//! HyStart as Linux implements it.
//!
//! Source: Linux `net/ipv4/tcp_cubic.c` v2.3 (6.x), after S. Ha, I. Rhee, Computer Networks 55(9), 2011.
//!
//! ```text
//! each ack: w += n                                                            (1)
//! exit with ssthresh = w when w ≥ 16 and
//!   the ACK train spans RTT_min + allowance, half of that without pacing,     (2)
//!   or the minimum of the round's first 8 samples exceeds RTT_min + η         (3)
//! ```
//!
//! It exits once, and again only after a timeout, which resets the minimum RTT as well (`bictcp_reset`). After an idle period
//! slow start ends at ssthresh.
//!
//! Units: segments, nanoseconds. The allowance for delayed ACKs is four times 64 kB at the pacing rate, at most 1 ms.
//! Differs from the source: nanoseconds instead of microseconds.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, Kind, Path, SlowStart, Spec, Step};

use crate::congestion_avoidance::reno::segments;
use crate::shared::hybrid::Hybrid;

options! {
    struct Options {
        /// minimum window at the exit
        low_window: f64["segments"] = 16.0 in 1.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hystart-linux",
    title: "HyStart (Linux)",
    kind: Kind::SlowStart,
    source: "Linux tcp_cubic.c v2.3",
    year: 2008,
    confidence: Confidence::High,
    summary: "HyStart with Linux' thresholds: an ACK train must span the minimum RTT with pacing, half of it without.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &["ACKs more than 2 ms apart are no train: below 12 Mbit/s with one ACK per two segments"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path: &Path, arguments| {
        let options = Options::from(arguments);
        let hybrid = Hybrid::default();
        Box::new(HyStartLinux { low_window: options.low_window, paced: path.paced, hybrid, found: false })
    }),
};
use crate::shared::exit;

/// Linux, hystart_ack_delay: the maximum allowance, 1 ms.
const MAX_ALLOWANCE_NS: u64 = 1_000_000;
/// Four times the maximum size of a super-segment (`GSO_MAX_SIZE`).
const BURST_BYTES: f64 = 65_536.0 * 4.0;

/// Slow start of HyStart in Linux.
#[derive(Clone, Debug)]
pub struct HyStartLinux {
    low_window: f64,
    paced: bool,
    hybrid: Hybrid,
    /// It has ended a slow start (Linux, `found`).
    found: bool,
}

impl HyStartLinux {
    /// (2): the threshold of the train, ns, with the allowance at the pacing rate of slow start, 2 cwnd / srtt.
    #[inline]
    fn threshold(&self, ack: &Ack, w: f64) -> u64 {
        let rate = 2.0 * w * ack.mss.0 as f64 / ack.srtt.as_nanos().max(1) as f64;
        let allowance = ((BURST_BYTES / rate) as u64).min(MAX_ALLOWANCE_NS);
        // Before the first sample the minimum is infinite, so no train exceeds the threshold.
        let whole = self.hybrid.rtt_min.saturating_add(allowance);
        if self.paced {
            whole
        } else {
            whole / 2
        }
    }
}

impl SlowStart for HyStartLinux {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        self.hybrid.observe(ack);
        let mut exit = None;
        // No margin: the window rises with every ACK.
        if w >= self.low_window && !self.found {
            let threshold = self.threshold(ack, w);
            exit = self.hybrid.detect(ack, threshold).map(|signal| exit::now(signal, w, f64::NAN));
            self.found = exit.is_some();
        }
        Step::with_exit(segments(ack), exit)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            (self.hybrid, self.found) = (Hybrid::default(), false);
        }
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::{Duration, Time};

    fn start(paced: bool) -> HyStartLinux {
        HyStartLinux { low_window: 16.0, paced, hybrid: Hybrid::default(), found: false }
    }

    /// ACKs 1 ms apart with an RTT of 50 ms: without pacing the exit is after 25 ms plus half of the allowance, with
    /// pacing after 50 ms plus the allowance.
    #[test]
    fn the_train_spans_half_of_the_minimum_rtt_without_pacing() {
        for (paced, first) in [(false, 26), (true, 52)] {
            let mut start = start(paced);
            let fired = (0..100u64).find(|ms| {
                let mut ack = ack_at(Time::from_nanos(1_000_000_000 + ms * 1_000_000), 1);
                ack.rtt = Some(Duration::from_millis(50));
                start.on_ack(&ack, 100.0, 1e9).exit.is_some()
            });
            assert_eq!(fired, Some(first), "paced: {paced}");
        }
    }

    /// Linux, bictcp_reset: what it found stays found, and the minimum RTT stays, until a timeout.
    #[test]
    fn it_exits_once_until_a_timeout() {
        let mut start = start(false);
        let ack = |ms: u64, rtt_ms: u64| {
            let ack = ack_at(Time::from_nanos(1_000_000_000 + ms * 1_000_000), 1);
            Ack { rtt: Some(Duration::from_millis(rtt_ms)), ..ack }
        };
        let train = |start: &mut HyStartLinux, from: u64| {
            (from..from + 100).any(|ms| start.on_ack(&Ack { round: from, ..ack(ms, 50) }, 100.0, 1e9).exit.is_some())
        };
        assert_eq!([train(&mut start, 0), train(&mut start, 1000)], [true, false]);
        start.on_congestion(&cwndlab_control::testing::timeout(100), 100.0, 1e9);
        assert_eq!(start.hybrid.rtt_min, u64::MAX);
        assert!(train(&mut start, 2000));
    }

    /// Reference values with a minimum of 100 ms: the minimum of eight samples causes an exit at 113 ms, none at 112
    /// ms.
    #[test]
    fn the_delay_detector_needs_a_rise_by_an_eighth() {
        for (ms, exits) in [(112, false), (113, true)] {
            let mut start = start(false);
            let _ = start.on_ack(&ack_at(Time::from_nanos(1), 1), 100.0, 1e9);
            let fired = (0..20u64).any(|n| {
                let mut ack = ack_at(Time::from_nanos(1_000_000_000 + n * 5_000_000), 1);
                ack.round = 2;
                ack.rtt = Some(Duration::from_millis(ms));
                start.on_ack(&ack, 100.0, 1e9).exit.is_some()
            });
            assert_eq!(fired, exits, "{ms} ms");
        }
    }

    /// Linux, cubictcp_acked: without an RTT sample there is no exit. The conformance battery found an integer overflow
    /// here.
    #[test]
    fn without_an_rtt_sample_no_train_ends_slow_start() {
        let mut start = start(true);
        for ms in 0..100u64 {
            let mut ack = ack_at(Time::from_nanos(1_000_000_000 + ms * 1_000_000), 1);
            ack.rtt = None;
            assert_eq!(start.on_ack(&ack, 100.0, 1e9).exit, None, "{ms} ms");
        }
    }
}
