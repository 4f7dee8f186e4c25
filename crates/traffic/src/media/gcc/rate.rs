//! The throughput, and the rate by the delay (`robust_throughput_estimator.cc`, `aimd_rate_control.cc`,
//! `link_capacity_estimator.cc`). Rates in bit/s.

use std::collections::VecDeque;

use cwndlab_units::{maths, Bytes, Duration, Time};

use super::trend::Usage;

/// Packets and time of the window of the throughput, the most packets, and those that it needs.
const WINDOW_PACKETS: usize = 20;
const WINDOW: Duration = Duration::from_secs(1);
const MOST_PACKETS: usize = 500;
const LONGEST_WINDOW: Duration = Duration::from_secs(5);
const REQUIRED_PACKETS: usize = 10;
const BETA: f64 = 0.85;
/// What is subtracted beside, and the smallest rate.
const FLOOR: f64 = 5e3;
/// Multiplicative growth per second, and its smallest step.
const GROWTH: f64 = 1.08;
const LEAST_GROWTH: f64 = 1e3;
/// The smallest additive growth per second.
const LEAST_INCREASE: f64 = 4e3;
/// The rate is at most this multiple of the throughput, and this much more.
const THROUGHPUT_LIMIT: (f64, f64) = (1.5, 10e3);
/// Gain of the capacity by a reduction.
const CAPACITY_GAIN: f64 = 0.05;
/// Bounds of the capacity's variance, over the capacity in kbit/s.
const VARIANCE: (f64, f64) = (0.4, 2.5);
/// Frames per second of an additive step, whatever those of the video are.
const FRAMES: f64 = 30.0;
/// Payload into which a frame is divided.
const PACKET: f64 = 1200.0;
/// Time beside the RTT of an additive step, s.
const RESPONSE: f64 = 0.1;

/// The throughput of the last packets.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    /// Arrival, time of sending, and size, by arrival.
    packets: VecDeque<(Time, Time, Bytes)>,
}

impl Throughput {
    /// Handles a packet that arrived.
    pub(super) fn on_packet(&mut self, sent: Time, arrival: Time, size: Bytes) {
        let at = self.packets.partition_point(|one| one.0 <= arrival);
        self.packets.insert(at, (arrival, sent, size));
        while let (Some(&(first, ..)), Some(&(last, ..))) = (self.packets.front(), self.packets.back()) {
            let span = last - first;
            let more = self.packets.len() > WINDOW_PACKETS && span > WINDOW;
            if !more && self.packets.len() <= MOST_PACKETS && span <= LONGEST_WINDOW {
                return;
            }
            self.packets.pop_front();
        }
    }

    /// The smaller of the rates of sending and of arrival; the longest gap between arrivals counts as the second longest.
    pub(super) fn rate(&self) -> Option<f64> {
        if self.packets.len() < REQUIRED_PACKETS {
            return None;
        }
        let (first, last) = (self.packets.front()?, self.packets.back()?);
        let mut gaps = [0_u64; 2];
        for (one, next) in self.packets.iter().zip(self.packets.iter().skip(1)) {
            let gap = (next.0 - one.0).as_nanos();
            if gap > gaps[0] {
                gaps = [gap, gaps[0]];
            } else if gap > gaps[1] {
                gaps[1] = gap;
            }
        }
        let bytes = self.packets.iter().map(|one| one.2).sum::<Bytes>().0 as f64;
        let arrival_ns = (last.0 - first.0).as_nanos() - (gaps[0] - gaps[1]);
        let sent = self.packets.iter().map(|one| (one.1, one.2));
        let (newest, oldest) = (sent.clone().max_by_key(|one| one.0)?, sent.min_by_key(|one| one.0)?);
        let rate = |bytes: f64, ns: u64| bytes * 8e9 / (ns.max(1_000_000)) as f64;
        let arriving = rate(bytes - first.2 .0 as f64, arrival_ns);
        Some(arriving.min(rate(bytes - newest.1 .0 as f64, (newest.0 - oldest.0).as_nanos())))
    }
}

/// The estimate of the capacity, from the throughput at reductions; kbit/s.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    /// `None`: unknown.
    kbps: Option<f64>,
    /// The normalised variance, which remains when the estimate is discarded.
    variance: f64,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { kbps: None, variance: VARIANCE.0 }
    }
}

impl Capacity {
    /// Three deviations above or below the estimate, bit/s.
    fn bound(&self, side: f64) -> Option<f64> {
        self.kbps.map(|kbps| 1e3 * (kbps + side * 3.0 * (self.variance * kbps).sqrt()).max(0.0))
    }

    /// Handles the throughput at a reduction, bit/s.
    fn update(&mut self, throughput: f64) {
        let sample = throughput / 1e3;
        let kbps = self.kbps.map_or(sample, |kbps| kbps + CAPACITY_GAIN * (sample - kbps));
        let error = kbps - sample;
        let variance = self.variance + CAPACITY_GAIN * (error * error / kbps.max(1.0) - self.variance);
        *self = Self { kbps: Some(kbps), variance: variance.clamp(VARIANCE.0, VARIANCE.1) };
    }
}

/// The rate by the delay.
#[derive(Debug)]
pub(super) struct DelayControl {
    range: (f64, f64),
    /// The target, bit/s.
    pub(super) target: f64,
    /// The last known throughput.
    throughput: f64,
    capacity: Capacity,
    /// The rate does not grow until the queue has drained.
    holds: bool,
    /// Time of the last growth, reduction or probe, and of the end of a hold.
    changed: Option<Time>,
}

impl DelayControl {
    pub(super) fn new(range: (f64, f64)) -> Self {
        let range = (range.0.max(FLOOR), range.1.max(FLOOR));
        let target = range.0;
        Self { range, target, throughput: target, capacity: Capacity::default(), holds: true, changed: None }
    }

    /// Handles a report: throughput, the result of a probe, and the RTT.
    pub(super) fn update(&mut self, usage: Usage, acked: Option<f64>, probed: Option<f64>, rtt: Duration, now: Time) {
        match (usage, probed) {
            (Usage::Over, _) => self.reduce(acked, rtt, now),
            (_, Some(probed)) => {
                // `SetEstimate`: the capacity is that of reductions only.
                self.target = probed;
                self.changed = Some(now);
            }
            (Usage::Under, None) => {
                self.throughput = acked.unwrap_or(self.throughput);
                self.holds = true;
            }
            (Usage::Normal, None) => self.increase(acked, rtt, now),
        }
        self.target = self.target.clamp(self.range.0, self.range.1);
    }

    fn reduce(&mut self, acked: Option<f64>, rtt: Duration, now: Time) {
        let Some(acked) = acked else {
            // With each report: `InitialTimeToReduceFurther` compares a value below half of the rate with that half.
            self.target /= 2.0;
            self.changed = Some(now);
            return;
        };
        let distance = rtt.clamp(Duration::from_millis(10), Duration::from_millis(200));
        if self.changed.is_some_and(|at| now - at < distance) && acked >= self.target / 2.0 {
            return;
        }
        let mut rate = BETA * acked;
        if rate > FLOOR {
            rate -= FLOOR;
        }
        if let Some(kbps) = self.capacity.kbps.filter(|_| rate > self.target) {
            rate = BETA * kbps * 1e3;
        }
        self.target = self.target.min(rate);
        if self.capacity.bound(-1.0).is_some_and(|bound| acked < bound) {
            self.capacity.kbps = None;
        }
        self.capacity.update(acked);
        (self.throughput, self.holds, self.changed) = (acked, true, Some(now));
    }

    fn increase(&mut self, acked: Option<f64>, rtt: Duration, now: Time) {
        self.throughput = acked.unwrap_or(self.throughput);
        // Growth begins anew after a reduction, and after the queue has drained.
        let holds = std::mem::take(&mut self.holds);
        let since = self.changed.replace(now).filter(|_| !holds).unwrap_or(now);
        if self.capacity.bound(1.0).is_some_and(|bound| self.throughput > bound) {
            self.capacity.kbps = None;
        }
        let seconds = (now - since).as_nanos() as f64 / 1e9;
        let limit = THROUGHPUT_LIMIT.0 * self.throughput + THROUGHPUT_LIMIT.1;
        let grown = if self.capacity.kbps.is_some() {
            self.target + self.additive(rtt) * seconds
        } else {
            self.target + (self.target * (maths::pow(GROWTH, seconds.min(1.0)) - 1.0)).max(LEAST_GROWTH)
        };
        self.target = self.target.max(grown.min(limit));
    }

    /// The additive growth per second: half a packet per response time.
    fn additive(&self, rtt: Duration) -> f64 {
        let frame = self.target / 8.0 / FRAMES;
        let packet = 8.0 * frame / (frame / PACKET).ceil();
        let response = rtt.as_nanos() as f64 / 1e9 + RESPONSE;
        LEAST_INCREASE.max(packet / response / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn control(target: f64) -> DelayControl {
        DelayControl { target, throughput: target, ..DelayControl::new((5e3, 1e9)) }
    }

    const RTT: Duration = Duration::from_millis(100);

    /// By hand: at a throughput of 1 Mbit/s, 0.85 · 1000 − 5 = 845 kbit/s. A second reduction waits for an RTT. Without
    /// throughput the rate halves with each report (`DelayBasedBwe::MaybeUpdateEstimate`).
    #[test]
    fn overuse_takes_a_part_of_the_throughput() {
        let mut one = control(1.2e6);
        one.update(Usage::Over, Some(1e6), None, RTT, at(1000));
        assert!((one.target - 845e3).abs() < 1e-6);
        one.update(Usage::Over, Some(0.9e6), None, RTT, at(1050));
        assert!((one.target - 845e3).abs() < 1e-6);
        let mut blind = control(1e6);
        blind.update(Usage::Over, None, None, RTT, at(1000));
        assert!((blind.target - 500e3).abs() < 1e-6);
        blind.update(Usage::Over, None, None, RTT, at(1050));
        assert!((blind.target - 250e3).abs() < 1e-6);
    }

    /// `AimdRateControl::TimeToReduceFurther`: a reduction waits for an RTT after any change, growth included, unless the
    /// throughput is below half of the rate. By hand, with an RTT of 180 ms and reports each 100 ms: growth at 1000 ms, overuse
    /// at 1100 waits until 1200.
    #[test]
    fn a_reduction_waits_after_growth() {
        let rtt = Duration::from_millis(180);
        for (acked, waits) in [(1e6, true), (0.49e6, false)] {
            let mut one = control(1e6);
            one.update(Usage::Normal, Some(1e6), None, rtt, at(1000));
            let before = one.target;
            one.update(Usage::Over, Some(acked), None, rtt, at(1100));
            assert_eq!(one.target == before, waits, "{acked} {}", one.target);
            one.update(Usage::Over, Some(acked), None, rtt, at(1200));
            assert!((one.target - (0.85 * acked - 5e3)).abs() < 1e-6, "{acked} {}", one.target);
        }
    }

    /// `AimdRateControl::SetEstimate` sets the rate and the time of its change only. By hand: from a probe's 1 Mbit/s the rate
    /// grows by 8 % in a second, and the first reduction sets the capacity.
    #[test]
    fn a_probe_does_not_set_the_capacity() {
        let mut one = control(300e3);
        one.update(Usage::Normal, Some(300e3), None, RTT, at(0));
        one.update(Usage::Normal, Some(1e6), Some(1e6), RTT, at(1000));
        assert!((one.target - 1e6).abs() < 1e-6);
        one.update(Usage::Normal, Some(1e6), None, RTT, at(2000));
        assert!((one.target - 1.08e6).abs() < 1.0, "{}", one.target);
        one.update(Usage::Over, Some(900e3), None, RTT, at(3000));
        assert_eq!(one.capacity.kbps, Some(900.0));
    }

    /// By hand: samples of 1000 and 800 kbit/s give 990 and a variance of 0.95 · 0.4 + 0.05 · 190² / 990 = 2.2032, which
    /// `LinkCapacityEstimator::Reset` keeps: the next sample makes 0.95 of it.
    #[test]
    fn the_variance_outlasts_the_capacity() {
        let mut one = Capacity::default();
        one.update(1e6);
        one.update(800e3);
        assert!((one.variance - 2.203_23).abs() < 1e-5, "{}", one.variance);
        one.kbps = None;
        one.update(500e3);
        assert!((one.variance - 0.95 * 2.203_23).abs() < 1e-5, "{}", one.variance);
        assert_eq!(one.kbps, Some(500.0));
    }

    /// By hand: 300 kbit/s grow by 8 % in a second; with a capacity 1 Mbit/s grow by half a packet of 1042 bytes per 200 ms,
    /// 20.8 kbit/s per second.
    #[test]
    fn growth_is_multiplicative_until_a_reduction() {
        let growing = |target| DelayControl { changed: Some(at(0)), holds: false, ..control(target) };
        let mut one = growing(300e3);
        one.update(Usage::Normal, Some(300e3), None, RTT, at(1000));
        assert!((one.target - 324e3).abs() < 1.0, "{}", one.target);
        let mut near = growing(1e6);
        near.capacity.kbps = Some(1000.0);
        near.update(Usage::Normal, Some(1e6), None, RTT, at(1000));
        assert!((near.target - 1e6 - 20_833.0).abs() < 1.0, "{}", near.target);
    }

    /// By hand: 21 packets of 1000 bytes, one each 10 ms, are 800 kbit/s; a gap of 100 ms among them counts as one of 10.
    #[test]
    fn the_throughput_leaves_out_the_longest_gap() {
        let mut one = Throughput::default();
        for n in 0..9_u64 {
            one.on_packet(at(10 * n), at(10 * n + 50), Bytes(1000));
        }
        assert_eq!(one.rate(), None);
        for n in 9..21_u64 {
            one.on_packet(at(10 * n), at(10 * n + 50 + if n > 15 { 90 } else { 0 }), Bytes(1000));
        }
        assert!(one.rate().is_some_and(|rate| (rate - 800e3).abs() < 1e-3), "{:?}", one.rate());
    }

    /// `NearMaxIncreaseRate…` of libwebrtc's `aimd_rate_control_unittest.cc`: 4 kbit/s per second at least, 5 at 90 kbit/s and
    /// an RTT of 200 ms and at 60 kbit/s and 100 ms, about 14 after a reduction from 300 kbit/s.
    #[test]
    fn additive_growth_of_libwebrtc() {
        for (target, rtt, expected) in [(30e3, 200, 4000.0), (90e3, 200, 5000.0), (60e3, 100, 5000.0)] {
            let found = control(target).additive(Duration::from_millis(rtt));
            assert!((found - expected).abs() < 1e-6, "{target} {found}");
        }
        let mut one = control(300e3);
        one.update(Usage::Over, Some(300e3), None, Duration::from_millis(200), at(0));
        assert!((one.additive(Duration::from_millis(200)) - 14e3).abs() < 1e3);
    }

    /// aiortc's `test_rate.py`: the first report, and the first after the queue has drained, let 300 kbit/s grow by the least
    /// step, to 301 kbit/s, with and without a throughput; underuse leaves it.
    #[test]
    fn growth_begins_with_the_least_step() {
        for acked in [Some(300e3), None] {
            let mut one = control(300e3);
            one.update(Usage::Normal, acked, None, RTT, at(0));
            assert!((one.target - 301e3).abs() < 1e-6, "{}", one.target);
            one.update(Usage::Under, acked, None, RTT, at(100));
            one.update(Usage::Normal, acked, None, RTT, at(5000));
            assert!((one.target - 302e3).abs() < 1e-6, "{}", one.target);
        }
    }

    /// `BweLimitedByAckedBitrate` and `BweNotLimitedByDecreasingAckedBitrate` there: after 20 s at 10 kbit/s
    /// 1.5 · 10 + 10 = 25 kbit/s, at 100 kbit/s 160, which half the throughput does not reduce.
    #[test]
    fn the_throughput_limits_growth() {
        for (acked, expected) in [(10e3, 25e3), (100e3, 160e3)] {
            let mut one = control(acked);
            for n in 0..200 {
                one.update(Usage::Normal, Some(acked), None, Duration::from_millis(200), at(100 * n));
            }
            assert!((one.target - expected).abs() < 1e-6, "{}", one.target);
            one.update(Usage::Normal, Some(acked / 2.0), None, Duration::from_millis(200), at(20_000));
            assert!((one.target - expected).abs() < 1e-6, "{}", one.target);
        }
    }

    /// `test_clear_max_throughput` of aiortc: a throughput beyond three deviations discards the capacity, and the next
    /// reduction sets it.
    #[test]
    fn a_throughput_out_of_bounds_discards_the_capacity() {
        let mut one = control(100e3);
        let mut kbps = |usage, acked, second: u64| {
            one.update(usage, Some(acked), None, RTT, at(1000 * second));
            one.capacity.kbps
        };
        assert_eq!(kbps(Usage::Normal, 100e3, 0), None);
        assert_eq!(kbps(Usage::Over, 100e3, 1), Some(100.0));
        assert_eq!(kbps(Usage::Normal, 100e3, 2), Some(100.0));
        assert_eq!(kbps(Usage::Normal, 150e3, 3), None);
        assert_eq!(kbps(Usage::Over, 150e3, 4), Some(150.0));
        assert_eq!(kbps(Usage::Over, 100e3, 5), Some(100.0));
    }

    /// Packets of 1000 bytes sent and arriving at these bytes/s, as libwebrtc's `robust_throughput_estimator_unittest.cc` has
    /// them: a packet arrives after the time that it takes.
    struct Feeder {
        sent: u64,
        arrived: u64,
    }

    impl Feeder {
        fn packets(&mut self, count: usize, sending: u64, arriving: u64) -> Vec<(Time, Time)> {
            let one = |_| {
                let sent = self.sent;
                self.sent += 1_000_000_000_000 / sending;
                self.arrived += 1_000_000_000_000 / arriving;
                (Time::from_nanos(sent), Time::from_nanos(self.arrived))
            };
            (0..count).map(one).collect()
        }
    }

    fn feed(one: &mut Throughput, packets: &[(Time, Time)]) -> Option<f64> {
        for &(sent, arrival) in packets {
            one.on_packet(sent, arrival, Bytes(1000));
        }
        one.rate().map(|rate| rate / 8.0)
    }

    /// `InitialEstimate`, `EstimateAdapts`, `CappedByReceiveRate`, `CappedBySendRate`, `HighLoss` and `ReorderedFeedback`
    /// there, bytes/s.
    #[test]
    fn throughputs_of_libwebrtc() {
        let start = || (Throughput::default(), Feeder { sent: 100_000_000_000, arrived: 10_000_000_000 });
        let (mut one, mut feeder) = start();
        let near = |found: Option<f64>, expected: f64, part: f64| {
            assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < part), "{found:?} {expected}");
        };
        assert_eq!(feed(&mut one, &feeder.packets(9, 100_000, 100_000)), None);
        for count in [1, 15, 75] {
            near(feed(&mut one, &feeder.packets(count, 100_000, 100_000)), 1e5, 1e-9);
        }
        for (rate, rounds) in [(200_000, 20), (50_000, 5)] {
            for _ in 0..rounds {
                let found = feed(&mut one, &feeder.packets(10, rate, rate));
                assert!(found.is_some_and(|found| (49_999.9..200_000.1).contains(&found)), "{found:?}");
            }
            for _ in 0..rounds {
                near(feed(&mut one, &feeder.packets(10, rate, rate)), rate as f64, 1e-9);
            }
        }
        for (sending, arriving, expected) in [(100_000, 25_000, 25e3), (50_000, 100_000, 50e3)] {
            let (mut one, mut feeder) = start();
            near(feed(&mut one, &feeder.packets(20, sending, arriving)), expected, 0.05);
        }
        let (mut one, mut feeder) = start();
        let half: Vec<_> = feeder.packets(20, 100_000, 100_000).into_iter().step_by(2).collect();
        near(feed(&mut one, &half), 50e3, 0.05);
        let (mut one, mut feeder) = start();
        near(feed(&mut one, &feeder.packets(20, 100_000, 100_000)), 1e5, 1e-9);
        let delayed = feeder.packets(10, 100_000, 100_000);
        assert!(feed(&mut one, &feeder.packets(10, 100_000, 100_000)).is_some_and(|found| found < 1e5 - 1.0));
        near(feed(&mut one, &delayed), 1e5, 1e-9);
        near(feed(&mut one, &feeder.packets(15, 100_000, 100_000)), 1e5, 1e-9);
    }
}
