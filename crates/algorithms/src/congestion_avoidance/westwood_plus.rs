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
//! 0.05` is the minimum interval of (1) in Linux. `filter = linux-6` is Linux' module, in which a duplicate ACK counts as
//! what it delivers, not as one segment, and the window of the end of a recovery is set by the first ACK of a sender that
//! the window limits; the parameters but `tick` and `per_ack` have no effect there. `ssthresh = half` reduces the window
//! at most to half, since ns-2.35 sets the window to B RTT_min but ssthresh to half of the window.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use super::reno::{acked_count, PerAck};
use super::westwood::reduced_window;

options! {
    struct Options {
        /// average: 0.9 B + 0.1 times the mean of the last two samples; linux: two low-pass filters of weight 7/8 in
        /// series; linux-6: the same in whole bytes per tick, the minimum interval, and the window as in Linux 6, where a
        /// loss halves it, and the end of the recovery sets it to B RTT_min
        filter: Filter { Average = "average", Linux = "linux", Linux6 = "linux-6" } = Average,
        /// minimum interval of a sample; 0.05 in Linux
        min_interval: f64["s"] = 0.0 in 0.0..=10.0,
        /// half: at least half of the window; in ns-2.35 ssthresh is half of the window, and slow start leads from B
        /// RTT_min back to it
        ssthresh: Ssthresh { Bandwidth = "bandwidth", Half = "half" } = Bandwidth,
        /// initial B: the first sample (Linux), or zero (ns-3)
        first: First { Sample = "sample", Zero = "zero" } = Sample,
        /// true: 1/w per ACK, regardless of the bytes that it acknowledges (ns-3)
        per_ack: PerAck = False,
        /// tick of the clock of linux-6: 1/HZ
        tick: f64["s"] = 0.001 in 0.001..=0.01,
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
    module: Option<Module>,
}

/// The state of Linux' module, `tcp_westwood.c`: times in ticks, rates in bytes per tick.
#[derive(Clone, Debug)]
struct Module {
    /// A tick, ns, and the minimum interval.
    tick: u64,
    min_interval: u64,
    /// The outputs of the two filters.
    first: u64,
    rate: u64,
    bytes: u64,
    /// The first ACK has arrived.
    counts: bool,
    begin: Option<u64>,
    rtt: Option<u64>,
    rtt_min: Option<u64>,
    /// The window is that of a loss, until the recovery ends.
    reduced: bool,
}

impl Module {
    fn new(tick: u64) -> Self {
        let min_interval = 50_000_000 / tick; // TCP_WESTWOOD_RTT_MIN
        Self {
            tick,
            min_interval,
            first: 0,
            rate: 0,
            bytes: 0,
            counts: false,
            begin: None,
            rtt: None,
            rtt_min: None,
            reduced: false,
        }
    }

    /// An ACK (tcp_westwood_pkts_acked, then tcp_westwood_ack): an interval ends before it counts. The first one counts
    /// nothing, as on the kernel's fast path.
    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt.as_nanos().div_ceil(self.tick).max(1));
        }
        let now = ack.now.as_nanos() / self.tick;
        let begin = *self.begin.get_or_insert(now);
        let span = now - begin;
        if let Some(rtt) = self.rtt {
            if span > rtt.max(self.min_interval) {
                self.filter(self.bytes / span);
                (self.begin, self.bytes) = (Some(now), 0);
            }
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        self.bytes += if std::mem::replace(&mut self.counts, true) { ack.acked.0 } else { 0 };
    }

    /// westwood_filter.
    fn filter(&mut self, sample: u64) {
        if self.first == 0 && self.rate == 0 {
            (self.first, self.rate) = (sample, sample);
        } else {
            self.first = (7 * self.first + sample) / 8;
            self.rate = (7 * self.rate + self.first) / 8;
        }
    }

    /// B RTT_min, segments (tcp_westwood_bw_rttmin). RTT_min is 20 s before the first sample.
    fn window(&self, mss: u64) -> f64 {
        let rtt_min = self.rtt_min.unwrap_or(20_000_000_000 / self.tick);
        (self.rate * rtt_min / mss.max(1)).max(2) as f64
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.reduced = !event.restart;
        if event.restart {
            let window = self.window(event.mss.0);
            self.rtt_min = None; // reset_rtt_min
            return window;
        }
        (w / 2.0).floor().max(2.0)
    }

    /// The window at an ACK outside of recovery.
    fn recovered(&mut self, ack: &Ack, w: f64) -> f64 {
        if std::mem::take(&mut self.reduced) {
            self.window(ack.mss.0)
        } else {
            w
        }
    }
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
            module: (options.filter == Filter::Linux6).then(|| Module::new((options.tick * 1e9).round() as u64)),
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
        if let Some(module) = &mut self.module {
            return module.observe(ack);
        }
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
        let w = self.module.as_mut().map_or(w, |module| module.recovered(ack, w));
        w + acked_count(ack, self.options.per_ack == PerAck::True) / w // (3)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if let Some(module) = &mut self.module {
            return module.on_congestion(event, w);
        }
        if self.last.is_none() {
            return (w / 2.0).max(2.0); // no estimate of the bandwidth yet
        }
        let floor = if self.options.ssthresh == Ssthresh::Half { (w / 2.0).max(2.0) } else { 2.0 };
        reduced_window(event, w, self.b, self.rtt_min).max(floor) // (4)
    }

    fn on_window(&mut self, window: &Window) {
        let Some(module) = &mut self.module else { return };
        match window.change {
            Change::Established => module.begin = Some(window.now.as_nanos() / module.tick),
            Change::Undo | Change::Idle => module.reduced = false,
            Change::Recovered => {}
        }
    }

    fn extra(&self, put: Extra<'_>) {
        let rate = |module: &Module| module.rate as f64 * 1e9 / module.tick as f64;
        put("bandwidth_bps", self.module.as_ref().map_or(self.b, rate) * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::{Bytes, Duration, Time};

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

    /// Linux, by hand: the handshake at 0, the first ACK after 100 ms, which counts nothing. At 101 ms an interval without
    /// data ends. Until 202 ms, in 101 ticks, 10,000 bytes arrive, 99 per tick. A loss halves 21 to 10; after it the window
    /// is 99 × 100 / 1000. A timeout gives the same threshold, and forgets RTT_min, which is that of the next ACK: 0.2 s.
    #[test]
    fn linux_sets_the_window_where_the_recovery_ends() {
        let mut flow = WestwoodPlus::new(Options { filter: Filter::Linux6, ..Options::default() });
        let at = |ms: u64| Time::from_nanos(1_000_000_000 + ms * 1_000_000);
        let ack = |ms: u64, segments: u64| {
            let rtt = Some(Duration::from_millis(100));
            Ack { rtt, mss: Bytes(1000), acked: Bytes(segments * 1000), ..ack_at(at(ms), segments) }
        };
        flow.on_window(&Window::new(at(0), Change::Established, Bytes(10_000)));
        for (ms, segments) in [(100, 1), (101, 4), (150, 6), (202, 1)] {
            flow.observe(&ack(ms, segments), 21.0);
        }
        let module = flow.module.as_ref().unwrap();
        assert_eq!((module.first, module.rate, module.rtt_min), (99, 99, Some(100)));
        assert_eq!(flow.on_congestion(&loss(21), 21.0), 10.0);
        assert_eq!(flow.on_ack(&ack(300, 1), 10.0), 9.0 + 1.0 / 9.0);
        assert_eq!(flow.on_ack(&ack(301, 1), 10.0), 10.0 + 0.1);
        assert_eq!(flow.on_congestion(&Congestion { restart: true, ..loss(10) }, 10.0), 9.0);
        assert_eq!(flow.on_ack(&ack(302, 1), 10.0), 10.0 + 0.1);
        flow.observe(&Ack { rtt: Some(Duration::from_millis(200)), ..ack(303, 1) }, 10.0);
        assert_eq!(flow.module.as_ref().unwrap().rtt_min, Some(200));
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
