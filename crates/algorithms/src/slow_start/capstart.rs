//! CapStart: standard or limited slow start, chosen by a capacity estimate.
//!
//! Source: D. Cavendish, K. Kumazoe, M. Tsuru, Y. Oie, M. Gerla, "CapStart: An Adaptive TCP Slow Start for High Speed
//! Networks", INTERNET 2009; the filter is CapProbe's (R. Kapoor et al., SIGCOMM 2004).
//!
//! ```text
//! Ĉ = L/δ of the pair with the minimum sum of its two RTTs, of ≥ 4 pairs            (1)   `shared::train`
//! Ĉ ≥ 0.8 C_local, the sender's link is the bottleneck: w += n                      (2)   standard
//! else max_ssthresh = max(2, ½ Ĉ RTT_min / MSS): w += n up to it,                   (3)   limited slow start
//!      then w += n / K, K = ⌊w / (max_ssthresh/2)⌋
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: medium; the thresholds are ours.
//! Differs from the source: RTTs replace one-way delays, which a sender cannot measure.

use cwndlab_control::{options, Ack, Build, Confidence, Event, EventKind, Extra, Kind, Reason, SlowStart, Spec, Step};

use super::limited;
use crate::congestion_avoidance::reno::segments;
use crate::shared::train::{max_burst_gap, Pairs};

options! {
    struct Options {
        /// rate of the sender's link
        c_local: f64["Mbit/s"] = 1000.0 in 0.001..=1e6,
        /// fraction of c_local from which on the sender's link counts as the bottleneck
        same: f64 = 0.8 in 0.0..=1.0,
        /// number of pairs before the choice
        pairs: f64 = 4.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "capstart",
    title: "CapStart",
    kind: Kind::SlowStart,
    source: "Cavendish et al., INTERNET 2009",
    year: 2009,
    confidence: Confidence::Medium,
    summary: "Estimates the capacity of the path by the packet pair with the minimum delay. Standard slow start where the sender's link is the bottleneck, limited slow start where the path is.",
    parameters: Options::PARAMETERS,
    choices: &[
        "max_ssthresh is half of the bandwidth-delay product",
        "standard slow start until the fourth pair; the choice is made once",
    ],
    pitfalls: &[
        "has no exit rule: limited slow start also ends with a loss, but of at most a quarter of the BDP instead of a whole one",
        "c_local must be the rate of the sender's link: with a value that is too high every path counts as the bottleneck",
        "a sender that paces its first window (pacing = always) measures its own pacing rate: max_ssthresh is far too small",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(CapStart::new(arguments.into()))),
};

/// Slow start of CapStart.
#[derive(Clone, Debug)]
pub struct CapStart {
    c_local: f64,
    same: f64,
    required_pairs: u32,
    pairs: Pairs,
    count: u32,
    last_rtt: u64,
    /// Minimum sum of a pair's RTTs, ns, and the rate of that pair, bytes/s.
    best: (u64, f64),
    /// max_ssthresh, segments: infinite for standard slow start; `None` before the choice.
    limit: Option<f64>,
}

impl CapStart {
    fn new(options: Options) -> Self {
        Self {
            c_local: options.c_local * 1e6 / 8.0,
            same: options.same,
            required_pairs: options.pairs as u32,
            pairs: Pairs::default(),
            count: 0,
            last_rtt: u64::MAX / 2,
            best: (u64::MAX, 0.0),
            limit: None,
        }
    }

    /// (1).
    fn measure(&mut self, ack: &Ack) {
        let rtt = ack.rtt.map_or(u64::MAX / 2, cwndlab_units::Duration::as_nanos);
        if let Some(rate) = self.pairs.push(ack, max_burst_gap(ack)) {
            self.count += 1;
            if rtt + self.last_rtt < self.best.0 {
                self.best = (rtt + self.last_rtt, rate);
            }
        }
        self.last_rtt = rtt;
    }

    /// (2), (3): max_ssthresh, segments.
    fn choose(&self, c: f64, rtt_min_s: f64, mss: f64) -> f64 {
        // No margin: a measurement is compared with a given value once.
        if c >= self.same * self.c_local {
            f64::INFINITY
        } else {
            (0.5 * c * rtt_min_s / mss).max(2.0)
        }
    }
}

impl SlowStart for CapStart {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let grow = segments(ack);
        let Some(limit) = self.limit else {
            self.measure(ack);
            if self.count >= self.required_pairs && self.best.1 > 0.0 {
                let limit = self.choose(self.best.1, ack.min_rtt.as_secs(), ack.mss.0 as f64);
                let reason = if limit.is_finite() { Reason::Limited } else { Reason::Standard };
                self.limit = Some(limit);
                let event = Event::new(EventKind::CapStart, reason, w).against(2.0 * limit);
                return Step::with_event(grow, Some(event));
            }
            return Step::grow(grow);
        };
        Step::grow(grow / limited::k(w, limit))
    }

    fn extra(&self, put: Extra<'_>) {
        put("c_bps", self.best.1 * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::{Duration, Time};

    fn start() -> CapStart {
        CapStart::new(Options::default())
    }

    /// Reference values: with a link of 1 Gbit/s, 980 Mbit/s is standard, 100 Mbit/s at 100 ms limited from 428
    /// segments on.
    #[test]
    fn a_bottleneck_on_the_path_limits_slow_start_at_half_its_bdp() {
        assert_eq!(start().choose(980e6 / 8.0, 0.1, 1460.0), f64::INFINITY);
        assert_eq!(start().choose(100e6 / 8.0, 0.1, 1460.0) as u64, 428);
    }

    /// By hand: pairs 1 ms apart, except one compressed to 0.1 ms whose ACKs were delayed by 10 ms. The pair with the
    /// minimum delay counts: 1000 bytes per ms at 100 ms, half of 100 segments.
    #[test]
    fn the_pair_with_the_minimum_delay_counts() {
        let mut start = start();
        for (us, rtt) in [(0, 100), (1000, 101), (11_000, 111), (11_100, 110), (12_100, 110), (13_100, 110)] {
            let mut ack = ack_at(Time::from_nanos(1_000_000_000 + us * 1000), 1);
            ack.rtt = Some(Duration::from_millis(rtt));
            let _ = start.on_ack(&ack, 10.0, 1e9);
        }
        assert_eq!(start.limit, Some(50.0));
        assert_eq!(start.on_ack(&ack_at(Time::from_nanos(2_000_000_000), 1), 50.0, 1e9).grow, 1.0);
        assert_eq!(start.on_ack(&ack_at(Time::from_nanos(2_000_000_000), 1), 100.0, 1e9).grow, 0.25);
    }
}
