//! HyStart as Linux has it.
//!
//! Source: Linux `net/ipv4/tcp_cubic.c` v2.3 (6.x), after S. Ha, I. Rhee, Computer Networks 55(9), 2011.
//!
//! ```text
//! each ack: w += n                                                            (1)
//! leave with ssthresh = w when w ≥ 16 and
//!   the ACK train spans RTT_min + allowance, half of that where unpaced,      (2)
//!   or the least of the round's first 8 samples passes RTT_min + η            (3)
//! ```
//!
//! Units: segments, nanoseconds. The allowance is for delayed ACKs: 64 kB at the pacing rate ×4, at most 1 ms.
//! Differs from the source: microseconds become nanoseconds.

use cwndlab_control::{
    Ack, Build, Confidence, Congestion, Domain, Kind, Parameter, Path, SlowStart, Spec, Step, Value,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::hybrid::Hybrid;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hystart-linux",
    title: "HyStart (Linux)",
    kind: Kind::SlowStart,
    source: "Linux tcp_cubic.c v2.3",
    year: 2008,
    confidence: Confidence::High,
    summary: "HyStart with Linux' thresholds: the train must span the whole minimum RTT where packets are paced, half of it where not.",
    parameters: &[Parameter {
        name: "low_window",
        unit: "segments",
        default: Value::Number(16.0),
        domain: Domain::Range(1.0, 1e6),
        doc: "never leaves below",
    }],
    choices: &[],
    pitfalls: &["sees no train where ACKs are more than 2 ms apart: one ACK per two segments below 12 Mbit/s"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|path: &Path, arguments| {
        Box::new(HyStartLinux { low_window: arguments.number("low_window"), paced: path.paced, hybrid: Hybrid::default() })
    }),
};
use crate::shared::exit;

/// Linux, hystart_ack_delay: never more than a millisecond.
const MAX_ALLOWANCE_NS: u64 = 1_000_000;
/// What a device may send at once (`GSO_MAX_SIZE`), four times.
const BURST_BYTES: f64 = 65_536.0 * 4.0;

/// Linux' HyStart.
#[derive(Clone, Debug)]
pub struct HyStartLinux {
    low_window: f64,
    paced: bool,
    hybrid: Hybrid,
}

impl HyStartLinux {
    /// (2): half where unpaced, and the allowance for the pacing rate of slow start, 2 cwnd / srtt.
    #[inline]
    fn threshold(&self, ack: &Ack, w: f64) -> u64 {
        let rate = 2.0 * w * ack.mss.0 as f64 / ack.srtt.0.max(1) as f64;
        let allowance = ((BURST_BYTES / rate) as u64).min(MAX_ALLOWANCE_NS);
        // Without a sample there is no minimum, and no train is longer than that.
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
        if w >= self.low_window {
            let threshold = self.threshold(ack, w);
            exit = self.hybrid.detect(ack, threshold).map(|signal| exit::now(signal, w, f64::NAN));
        }
        Step::with_exit(segments(ack), exit)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            self.hybrid.restart();
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
        HyStartLinux { low_window: 16.0, paced, hybrid: Hybrid::default() }
    }

    /// ACKs 1 ms apart with an RTT of 50 ms: unpaced the train ends beyond 25 ms (and half of the allowance), paced beyond 50.
    #[test]
    fn the_train_spans_half_of_the_minimum_where_unpaced() {
        for (paced, first) in [(false, 26), (true, 52)] {
            let mut start = start(paced);
            let fired = (0..100u64).find(|ms| {
                let mut ack = ack_at(Time(1_000_000_000 + ms * 1_000_000), 1);
                ack.rtt = Some(Duration::from_millis(50));
                start.on_ack(&ack, 100.0, 1e9).exit.is_some()
            });
            assert_eq!(fired, Some(first), "paced: {paced}");
        }
    }

    /// The sheet: a minimum of 100 ms; the least of eight at 113 ms leaves, at 112 ms not.
    #[test]
    fn the_delay_rule_needs_an_eighth_more() {
        for (ms, leaves) in [(112, false), (113, true)] {
            let mut start = start(false);
            let _ = start.on_ack(&ack_at(Time(1), 1), 100.0, 1e9);
            let fired = (0..20u64).any(|n| {
                let mut ack = ack_at(Time(1_000_000_000 + n * 5_000_000), 1);
                ack.round = 2;
                ack.rtt = Some(Duration::from_millis(ms));
                start.on_ack(&ack, 100.0, 1e9).exit.is_some()
            });
            assert_eq!(fired, leaves, "{ms} ms");
        }
    }

    /// Linux, cubictcp_acked: without a sample nothing is judged. The battery found a sum that ran over here.
    #[test]
    fn without_a_sample_no_train_leaves() {
        let mut start = start(true);
        for ms in 0..100u64 {
            let mut ack = ack_at(Time(1_000_000_000 + ms * 1_000_000), 1);
            ack.rtt = None;
            assert_eq!(start.on_ack(&ack, 100.0, 1e9).exit, None, "{ms} ms");
        }
    }
}
