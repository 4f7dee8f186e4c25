//! NADA: a congestion control for real-time media by delay, losses and marks (RFC 8698). Equations have its numbers.

use std::collections::VecDeque;

use cwndlab_units::{maths, Bytes, Duration, Time};

use crate::media::feedback::{Aggregate, Format};
use crate::media::rate_control::{Arrival, Decision, Feedback, Parameters, RateControl};

/// Parameters of table 2; times in ms, rates in bit/s.
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
const LOGWIN: Duration = Duration::from_millis(500);
const QEPS: f64 = 10.0;
const DFILT: f64 = 120.0;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const PMRREF: f64 = 0.01;
const DMARK: f64 = 2.0;
const BETA: f64 = 0.1;
const ALPHA: f64 = 0.1;
/// Samples of the minimum filter (section 5.1.1).
const FILTER: usize = 15;
/// Weights of the last loss intervals (RFC 5348, 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Both ends.
#[derive(Debug)]
pub(crate) struct Control {
    sender: Sender,
    receiver: Receiver,
}

impl Control {
    /// A sender at the smallest rate at the time `now`, and a receiver.
    pub(crate) fn new(parameters: &Parameters, now: Time) -> Self {
        Self { sender: Sender::new(parameters, now), receiver: Receiver::new() }
    }
}

impl RateControl for Control {
    fn format(&self) -> Format {
        Format::Aggregate
    }

    fn on_arrival(&mut self, packet: &Arrival) {
        self.receiver.on_packet(packet);
    }

    fn aggregate(&mut self, now: Time) -> Option<Aggregate> {
        Some(self.receiver.report(now))
    }

    fn on_feedback(&mut self, feedback: &Feedback, now: Time) {
        if let Some(report) = &feedback.aggregate {
            self.sender.on_report(report, now);
        }
    }

    fn decision(&self, buffered: Bytes) -> Decision {
        let (target, pacing) = (self.sender.video_rate(buffered), self.sender.sending_rate(buffered));
        Decision { target, pacing, window: None, probe: None }
    }
}

/// The receiver (sections 4.2 and 5.1).
#[derive(Debug)]
struct Receiver {
    /// Smallest one-way delay, ms.
    base: f64,
    /// The last queueing delays, ms.
    filter: VecDeque<f64>,
    /// Packets of the window: arrival, size, queueing delay, mark.
    arrived: VecDeque<(Time, Bytes, f64, bool)>,
    /// Missing packets of the window: time of detection, number.
    missing: VecDeque<(Time, u64)>,
    /// Sequence number after the largest one received.
    next: u64,
    /// Smoothed ratios of lost and of marked packets.
    loss: f64,
    marks: f64,
    /// Loss intervals, packets, the latest first: the open one since the last loss, or since the first packet, then
    /// complete ones.
    intervals: VecDeque<f64>,
    last: (Time, Time),
}

impl Receiver {
    fn new() -> Self {
        Self {
            base: f64::INFINITY,
            filter: VecDeque::new(),
            arrived: VecDeque::new(),
            missing: VecDeque::new(),
            next: 0,
            loss: 0.0,
            marks: 0.0,
            intervals: VecDeque::from([0.0]),
            last: (Time::ZERO, Time::ZERO),
        }
    }

    /// Handles a packet. One that is overtaken counts as lost (5.1.2).
    fn on_packet(&mut self, packet: &Arrival) {
        let &Arrival { number: seq, size, sent, at: now, is_marked } = packet;
        if seq < self.next {
            return;
        }
        let gap = seq - self.next;
        self.next = seq + 1;
        if gap > 0 {
            self.missing.push_back((now, gap));
            self.intervals.push_front(0.0);
            self.intervals.truncate(WEIGHTS.len() + 1);
        }
        self.intervals[0] += 1.0;
        let delay = (now - sent).as_nanos() as f64 / 1e6;
        self.base = self.base.min(delay);
        let queue = delay - self.base;
        self.filter.push_back(queue);
        if self.filter.len() > FILTER {
            self.filter.pop_front();
        }
        self.arrived.push_back((now, size, queue, is_marked));
        self.last = (sent, now);
    }

    /// The weighted average of the complete loss intervals, packets (RFC 5348, 5.4); `None` before the first loss. That RFC
    /// counts the open interval too if it lengthens the average, which is then more than a seventh of it: no loss would ever
    /// expire, MULTILOSS being 7.
    fn loss_interval(&self) -> Option<f64> {
        let complete = self.intervals.iter().skip(1).zip(WEIGHTS);
        let (sum, weights) = complete.fold((0.0, 0.0), |(sum, all), (one, weight)| (sum + weight * one, all + weight));
        (weights > 0.0).then(|| sum / weights)
    }

    /// The queueing delay of the signal: (1) while the last loss is recent, with linear interpolation behind.
    fn warped(&self, queue: f64) -> f64 {
        let Some(interval) = self.loss_interval() else { return queue };
        let warped = if queue < QTH { queue } else { QTH * maths::exp(-LAMBDA * (queue - QTH) / QTH) };
        let over = (self.intervals[0] - MULTILOSS * interval) / interval.max(1.0);
        warped + (queue - warped) * over.clamp(0.0, 1.0)
    }

    /// The report at `now`.
    fn report(&mut self, now: Time) -> Aggregate {
        while self.arrived.front().is_some_and(|one| now - one.0 > LOGWIN) {
            self.arrived.pop_front();
        }
        while self.missing.front().is_some_and(|one| now - one.0 > LOGWIN) {
            self.missing.pop_front();
        }
        let missing = self.missing.iter().map(|one| one.1).sum::<u64>() as f64;
        let all = missing + self.arrived.len() as f64;
        let ratio = if all > 0.0 { missing / all } else { 0.0 };
        self.loss = ALPHA * ratio + (1.0 - ALPHA) * self.loss; // (10)
        let marked = self.arrived.iter().filter(|one| one.3).count() as f64;
        let marked = if all > 0.0 { marked / all } else { 0.0 };
        self.marks = ALPHA * marked + (1.0 - ALPHA) * self.marks; // (10), for marks
        let queue = self.filter.iter().copied().fold(f64::INFINITY, f64::min);
        let queue = if queue.is_finite() { queue } else { 0.0 };
        let (lost, marked) = (self.loss / PLRREF, self.marks / PMRREF);
        let bytes = self.arrived.iter().map(|one| one.1).sum::<Bytes>();
        Aggregate {
            ramps_up: missing == 0.0 && self.arrived.iter().all(|one| one.2 < QEPS),
            signal: self.warped(queue) + DMARK * marked * marked + DLOSS * lost * lost, // (2)
            rate: bytes.0 as f64 * 8e9 / LOGWIN.as_nanos() as f64,
            last: (self.last.0, now - self.last.1),
        }
    }
}

/// The sender (sections 4.3 and 5.2).
#[derive(Debug)]
struct Sender {
    /// Smallest and largest rate, bit/s.
    range: (f64, f64),
    priority: f64,
    /// Interval of reports, ms.
    interval: f64,
    frame_rate: f64,
    /// The reference rate, bit/s.
    rate: f64,
    /// The signal of the last report, ms.
    signal: f64,
    last: Time,
}

impl Sender {
    /// A sender at the smallest rate at the time `now`.
    fn new(parameters: &Parameters, now: Time) -> Self {
        let &Parameters { range, priority, feedback, frame_rate, .. } = parameters;
        let interval = feedback.as_nanos() as f64 / 1e6;
        Self { range, priority, interval, frame_rate, rate: range.0, signal: 0.0, last: now }
    }

    /// Handles a report that arrived at `now`.
    fn on_report(&mut self, report: &Aggregate, now: Time) {
        if report.ramps_up {
            let (sent, held) = report.last;
            let rtt = (now - sent).saturating_sub(held).as_nanos() as f64 / 1e6;
            let gamma = GAMMA_MAX.min(QBOUND / (rtt + self.interval + DFILT)); // (3)
            self.rate = self.rate.max((1.0 + gamma) * report.rate); // (4)
        } else {
            let delta = (now - self.last).as_nanos() as f64 / 1e6;
            let offset = report.signal - self.priority * XREF * self.range.1 / self.rate; // (5)
            let change = report.signal - self.signal; // (6)
            self.rate -= (KAPPA * delta / TAU * offset / TAU + KAPPA * ETA * change / TAU) * self.rate;
            // (7)
        }
        self.rate = self.rate.clamp(self.range.0, self.range.1); // (8), (9)
        self.signal = report.signal;
        self.last = now;
    }

    /// The amount by which a rate-shaping buffer of this size changes both rates, bit/s: (11), (12).
    fn shift(&self, buffer: Bytes) -> f64 {
        (0.05 * self.rate).min(BETA * 8.0 * buffer.0 as f64 * self.frame_rate)
    }

    /// The encoder's target rate, bit/s: (13).
    fn video_rate(&self, buffer: Bytes) -> f64 {
        self.range.0.max(self.rate - self.shift(buffer))
    }

    /// The sending rate, bit/s: (14).
    fn sending_rate(&self, buffer: Bytes) -> f64 {
        self.range.1.min(self.rate + self.shift(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn sender(rate: f64) -> Sender {
        let parameters = Parameters {
            range: (150e3, 1.5e6),
            priority: 1.0,
            feedback: Duration::from_millis(100),
            frame_rate: 30.0,
            is_l4s: false,
        };
        let mut sender = Sender::new(&parameters, at(0));
        sender.rate = rate;
        sender
    }

    fn report(ramps_up: bool, signal: f64, rate: f64) -> Aggregate {
        Aggregate { ramps_up, signal, rate, last: (at(0), Duration::ZERO) }
    }

    /// By hand, (3) and (4): γ = min(0.5, 50 / (100 + 100 + 120)) = 0.15625 with an RTT of 100 ms.
    #[test]
    fn the_ramp_up_bounds_the_queue() {
        let mut sender = sender(150e3);
        sender.on_report(&report(true, 0.0, 400e3), at(100));
        assert!((sender.rate - 1.15625 * 400e3).abs() < 1e-6);
    }

    /// By hand, (5) to (7): at 1 Mbit/s with a steady signal of 20 ms, x_offset = 20 − 10 · 1.5 = 5 ms, and a report each 100
    /// ms takes 0.1 %. A rise by 10 ms takes 2 % more. At 20 ms the equilibrium is 750 kbit/s.
    #[test]
    fn the_gradual_update_follows_offset_and_change() {
        let mut steady = sender(1e6);
        steady.signal = 20.0;
        steady.on_report(&report(false, 20.0, 0.0), at(100));
        assert!((steady.rate - 999e3).abs() < 1.0, "{}", steady.rate);
        let mut rising = sender(1e6);
        rising.signal = 10.0;
        rising.on_report(&report(false, 20.0, 0.0), at(100));
        assert!((rising.rate - 979e3).abs() < 1.0, "{}", rising.rate);
        let mut equal = sender(750e3);
        equal.signal = 20.0;
        equal.on_report(&report(false, 20.0, 0.0), at(100));
        assert!((equal.rate - 750e3).abs() < 1e-6);
    }

    /// RFC 8698, section 5.2.2: a buffer of 2000 bytes changes both rates by 48 kbit/s, and 5 % at most.
    #[test]
    fn a_buffer_changes_both_rates() {
        let sender = sender(1e6);
        assert_eq!((sender.video_rate(Bytes(2000)), sender.sending_rate(Bytes(2000))), (952e3, 1048e3));
        assert_eq!(sender.video_rate(Bytes(20_000)), 950e3);
    }

    /// A receiver of packets of 100 bytes each 10 ms, all delayed by `queue` ms after the first one. Each `loss`th is missing.
    fn receiver(queue: u64, loss: u64, packets: u64) -> (Receiver, Time) {
        let mut receiver = Receiver::new();
        let mut now = at(20);
        for seq in 0..packets {
            let sent = at(seq * 10);
            now = at(seq * 10 + 20 + if seq > 0 { queue } else { 0 });
            if loss == 0 || seq == 0 || seq % loss > 0 {
                receiver.on_packet(&Arrival { number: seq, size: Bytes(100), sent, at: now, is_marked: false });
            }
        }
        (receiver, now)
    }

    /// By hand: without losses the signal is the queueing delay; 50 packets of 100 bytes in 500 ms are 80 kbit/s. At 10 ms
    /// the ramp-up ends.
    #[test]
    fn without_losses_the_signal_is_the_delay() {
        for (queue, ramps_up) in [(9, true), (10, false), (100, false)] {
            let (mut receiver, now) = receiver(queue, 0, 200);
            let report = receiver.report(now);
            assert!((report.signal - queue as f64).abs() < 1e-9, "{report:?}");
            assert_eq!((report.ramps_up, report.last.1), (ramps_up, Duration::ZERO));
            assert!((report.rate / 80e3 - 1.0).abs() < 0.03, "{report:?}");
        }
    }

    /// By hand, (1): 100 ms are 50 · exp(−0.5 · 50 / 50) = 30.33 ms while a loss is recent; (2): losses of 2 % for a long time
    /// add 10 · 2² = 40 ms.
    #[test]
    fn losses_warp_the_delay() {
        let (mut receiver, now) = receiver(100, 50, 10_000);
        for _ in 0..200 {
            receiver.report(now);
        }
        let report = receiver.report(now);
        assert!(!report.ramps_up && (report.signal - 30.33 - 40.0).abs() < 2.0, "{report:?}");
        assert_eq!(receiver.loss_interval(), Some(49.0));
    }

    /// By hand, (2): of the 51 packets of a window 3 are marked, 5.88 %, which adds 2 · 5.88² = 69.2 ms to 20 ms.
    #[test]
    fn marks_count_as_delay() {
        let (mut receiver, mut now) = (Receiver::new(), at(0));
        let mut signal = 0.0;
        for number in 0..10_000 {
            now = at(number * 10 + 20 + if number > 0 { 20 } else { 0 });
            let is_marked = number % 20 == 0;
            receiver.on_packet(&Arrival { number, size: Bytes(100), sent: at(number * 10), at: now, is_marked });
            if number % 10 == 0 {
                signal = receiver.report(now).signal;
            }
        }
        assert!((signal - 89.2).abs() < 0.1 && !receiver.report(now).ramps_up, "{signal}");
    }

    /// By hand: with losses each 50 packets the last one is recent for 350 packets; the delay counts half of the way to its
    /// value after 375, and in full from 400 on. RFC 5348, 5.4: an interval of 100 before seven of 50, with weight 0.2 of 6,
    /// makes the average 51.67.
    #[test]
    fn a_loss_expires() {
        for (since, share) in [(349.0, 0.0), (375.0, 0.5), (400.0, 1.0), (1000.0, 1.0)] {
            let later = Receiver { intervals: VecDeque::from([since, 50.0, 50.0]), ..Receiver::new() };
            let expected = 30.327 + (100.0 - 30.327) * share;
            assert!((later.warped(100.0) - expected).abs() < 1e-2, "{since}: {}", later.warped(100.0));
        }
        let mut intervals = vec![7.0];
        intervals.extend([50.0; 7]);
        intervals.push(100.0);
        let varied = Receiver { intervals: intervals.into(), ..Receiver::new() };
        assert!(varied.loss_interval().is_some_and(|mean| (mean - 51.667).abs() < 1e-3));
        assert_eq!(Receiver::new().warped(100.0), 100.0);
    }
}
