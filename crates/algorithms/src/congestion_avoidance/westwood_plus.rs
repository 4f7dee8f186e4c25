//! TCP Westwood+: Westwood with one bandwidth sample per round trip.
//!
//! Source: L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP
//! Congestion Control", ACM CCR 34(2), 2004.
//!
//! ```text
//! b = bytes acknowledged in the last round trip / its duration        (1)
//! B = 0.9 B + 0.1 (b + b_prev) / 2                                    (2)
//! each ack:         w += n / w                                        (3)
//! congestion event: ssthresh = max(B RTT_min / MSS, 2);  w = min(w, ssthresh)   (4)
//! ```
//!
//! Units: segments; bytes per second, seconds. B starts with the first sample, as in Linux.
//! Differs from the source: `filter = linux` has two filters of weight 7/8 in series instead of (2); `min_interval =
//! 0.05` is the minimum interval of (1) in Linux; `ssthresh = half` reduces the window at most to half, since ns-2.35
//! sets the window to B RTT_min but ssthresh to half of the window.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};

use super::reno::{acked_count, PerAck};
use super::westwood::reduced_window;

options! {
    struct Options {
        /// average: 0.9 B + 0.1 times the mean of the last two samples; linux: two low-pass filters of weight 7/8 in
        /// series
        filter: Filter { Average = "average", Linux = "linux" } = Average,
        /// minimum interval of a sample; 0.05 in Linux
        min_interval: f64["s"] = 0.0 in 0.0..=10.0,
        /// half: at least half of the window; in ns-2.35 ssthresh is half of the window, and slow start leads from B
        /// RTT_min back to it
        ssthresh: Ssthresh { Bandwidth = "bandwidth", Half = "half" } = Bandwidth,
        /// initial B: the first sample (Linux), or zero (ns-3)
        first: First { Sample = "sample", Zero = "zero" } = Sample,
        /// true: 1/w per ACK, regardless of the bytes that it acknowledges (ns-3)
        per_ack: PerAck = False,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "westwood-plus",
    title: "TCP Westwood+",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1145/997150.997155; Linux tcp_westwood.c",
    year: 2004,
    confidence: Confidence::High,
    summary: "Reno that sets the window after a loss to the delivery rate, sampled once per round trip and filtered, times the minimum RTT.",
    parameters: Options::PARAMETERS,
    choices: &[
        "B starts with the first sample, not with 0",
        "the length of an interval is the last RTT sample",
        "window and ssthresh are both B RTT_min",
    ],
    pitfalls: &[
        "B lags behind the doubling of slow start: the first loss reduces the window far below the BDP",
        "its smaller decrease takes bandwidth from Reno flows",
    ],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(WestwoodPlus::new(arguments.into()))),
};

/// Congestion avoidance of Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    options: Options,
    /// Minimum interval, ns.
    min_interval: u64,
    b: f64,
    /// The last sample, or the output of the first of two filters; `None` before the first sample.
    last: Option<f64>,
    begin: Option<u64>,
    bytes: u64,
    rtt: u64,
    rtt_min: u64,
}

impl WestwoodPlus {
    fn new(options: Options) -> Self {
        Self {
            options,
            min_interval: (options.min_interval * 1e9) as u64,
            b: 0.0,
            last: (options.first == First::Zero).then_some(0.0),
            begin: None,
            bytes: 0,
            rtt: u64::MAX,
            rtt_min: u64::MAX,
        }
    }

    fn filter(&mut self, sample: f64) {
        let Some(last) = self.last else {
            (self.b, self.last) = (sample, Some(sample));
            return;
        };
        if self.options.filter == Filter::Linux {
            let first = (7.0 * last + sample) / 8.0;
            self.b = (7.0 * self.b + first) / 8.0;
            self.last = Some(first);
        } else {
            self.b = 0.9 * self.b + 0.1 * (sample + last) / 2.0; // (2)
            self.last = Some(sample);
        }
    }
}

impl CongestionAvoidance for WestwoodPlus {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt.as_nanos().max(1);
            self.rtt_min = self.rtt_min.min(self.rtt);
        }
        let now = ack.now.as_nanos();
        let Some(begin) = self.begin else {
            self.begin = Some(now);
            return;
        };
        self.bytes += ack.acked.0;
        let span = now - begin;
        if self.rtt < u64::MAX && span >= self.rtt.max(self.min_interval) {
            self.filter(self.bytes as f64 * 1e9 / span as f64); // (1)
            (self.begin, self.bytes) = (Some(now), 0);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        w + acked_count(ack, self.options.per_ack == PerAck::True) / w // (3)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if self.last.is_none() {
            return (w / 2.0).max(2.0); // no estimate of the bandwidth yet
        }
        let floor = if self.options.ssthresh == Ssthresh::Half { (w / 2.0).max(2.0) } else { 2.0 };
        reduced_window(event, w, self.b, self.rtt_min).max(floor) // (4)
    }

    fn extra(&self, put: Extra<'_>) {
        put("bandwidth_bps", self.b * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::Time;

    fn flow() -> WestwoodPlus {
        WestwoodPlus::new(Options::default())
    }

    /// Reference values: samples of 10 Mbit/s from B = 0 give 0.5, then 1.45 Mbit/s.
    #[test]
    fn the_filter_averages_two_samples() {
        let mut flow = WestwoodPlus { last: Some(0.0), ..flow() };
        flow.filter(10.0);
        assert_eq!(flow.b, 0.5);
        flow.filter(10.0);
        assert!((flow.b - 1.45).abs() < 1e-15);
    }

    /// ns-3: from B = 0 a first sample of 10 gives 0.5, and an ACK of two segments adds 1/w.
    #[test]
    fn ns_3_starts_the_filter_at_zero_and_counts_acks() {
        let mut flow = WestwoodPlus::new(Options { first: First::Zero, per_ack: PerAck::True, ..Options::default() });
        flow.filter(10.0);
        assert_eq!((flow.b, flow.on_ack(&ack_at(Time::from_nanos(1_000_000_000), 2), 20.0)), (0.5, 20.05));
    }

    /// Linux, by hand: 8 after 0 gives 1 after the first filter and 1/8 after the second.
    #[test]
    fn linux_has_two_filters_in_series() {
        let mut flow = WestwoodPlus::new(Options { first: First::Zero, filter: Filter::Linux, ..Options::default() });
        flow.filter(8.0);
        assert_eq!((flow.last, flow.b), (Some(1.0), 0.125));
    }

    /// (1) and (4) by hand: ten segments of 1000 bytes in 100 ms at an RTT of 100 ms are a BDP of ten segments.
    #[test]
    fn a_loss_reduces_the_window_to_the_delivery_of_a_round_trip() {
        let mut flow = flow();
        for ms in 0..=10 {
            flow.observe(&ack_at(Time::from_nanos(1_000_000_000 + ms * 10_000_000), 1), 20.0);
        }
        assert!((flow.on_congestion(&loss(20), 20.0) - 10.0).abs() < 1e-9);
    }
}
