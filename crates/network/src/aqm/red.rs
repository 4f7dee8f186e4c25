//! RED, gentle RED and adaptive RED: drops arrivals with a probability that rises with the average queue length.
//!
//! Sources: Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993;
//! Floyd, "Recommendation on using the gentle_ variant of RED", 2000; Floyd, Gummadi, Shenker, "Adaptive RED", 2001.
//!
//! ```text
//! avg <- (1 - w) avg + w q                        on every arrival; q: queue length                     (1)
//! avg <- (1 - w)^m avg                            after an idle time of m mean transmission times       (2)
//! p_b = max_p (avg - min) / (max - min)           between min and max                                   (3)
//! p_b = max_p + (1 - max_p) (avg - max) / max     between max and 2 max, if gentle                      (4)
//! p_a = p_b / (1 - count p_b)                     count: packets since the last drop                    (5)
//! p_a = p_b / (2 - count p_b), 0 before count p_b = 1, with `wait` (ns-2, ns-3)                         (6)
//! every 0.5 s: max_p += min(alpha, max_p/4) where avg > min + 0.6 (max - min) and max_p <= 0.5,
//!              max_p *= beta where avg < min + 0.4 (max - min) and max_p >= 0.01                        (7)
//! ```
//!
//! (7) takes the average of its time: (2) applies to it while the line is idle, as in Linux (`red_adaptive_algo`).
//!
//! Units: packets. ECN-capable packets are marked instead of dropped at random, and dropped by a forced drop (RFC 3168,
//! §7). Difference from the source: no random number is drawn while `count p_b` determines the result.

use cwndlab_config::{fields, Faults, FieldType, Kind, Positive, Probability, Reader, Table};
use cwndlab_units::{maths, Bytes, Duration, Fault, Rate, Time};

use super::fifo::Fifo;
use super::{capacity, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// RED's declaration.
pub static SPEC: Table = Table::new(
    "red",
    "Random early detection (Floyd, Jacobson, ToN 1993).",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Red");

/// A number above zero, or `"auto"`, which is `None`.
#[derive(Debug)]
pub enum Automatic {}

impl FieldType for Automatic {
    type Value = Option<f64>;

    const KIND: Kind = Kind::Either(&[Kind::Words(&[("auto", "derived from the line's rate")]), f64::KIND]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Option<f64>> {
        if table.get(name).is_some_and(|value| value == "auto") {
            return Some(None);
        }
        let number = table.number(name, faults);
        (number.is_some() || !table.gives(name)).then_some(number)
    }
}

fields! {
    /// The average queue lengths at which drops begin and end.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Thresholds {
        /// average queue below which no packet is dropped, packets; `"auto"`: half of the packets that the line sends
        /// in `target`, at least 5
        min_th: Automatic = 5.0,
        /// average queue at which the probability reaches `max_p`, packets; `"auto"`: three times `min_th`
        max_th: Automatic = 15.0,
        /// weight of a new value in the average; `"auto"`: 1 − e^(−1/C) for a line of C packets per second
        weight: Automatic = 0.002,
    }
    check
}

impl Thresholds {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.weight.is_some_and(|weight| weight > 1.0) {
            faults.add(
                table.at("weight"),
                "is above 1",
                "the weight of a new value in the average: 0.002, or \"auto\"",
            );
        }
        if let (Some(min), Some(max)) = (self.min_th, self.max_th) {
            if min >= max {
                faults.0.push(inverted(min, max).at(table.at("max_th")));
            }
        }
    }

    /// The fault of a `max_th` that is not above an automatic `min_th` on a line of this rate.
    pub(super) fn fault_at(&self, drops: &Drops, rate: Rate) -> Option<Fault> {
        let (None, Some(max)) = (self.min_th, self.max_th) else { return None };
        let min = Parameters::new(self, drops, None, rate).min_th;
        (min >= max).then(|| inverted((min * 100.0).round() / 100.0, max))
    }
}

/// The fault of a `max_th` that is not above `min_th`.
fn inverted(min: f64, max: f64) -> Fault {
    Fault::new("max_th", format!("{max} packets are not above min_th, {min} packets"), "three times min_th is usual")
}

fields! {
    /// The settings that RED and adaptive RED share.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Drops {
        /// drop probability at `max_th`
        max_p: Probability = 0.1,
        /// the probability rises linearly from `max_p` at `max_th` to 1 at twice `max_th`, without a step at `max_th`
        gentle: bool = true,
        /// spacing of drops as in ns-2 and ns-3 (`wait_`)
        wait: bool = false,
        /// marks ECN-capable packets instead of dropping them at random
        ecn: bool = false,
        /// target queueing delay of automatic thresholds
        target: Positive<Duration> = "5 ms",
        /// mean size of a packet
        mean_packet: Positive<Bytes> = "1500 B",
    }
}

fields! {
    /// RED's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// the thresholds
        thresholds: Thresholds,
        /// the probability
        drops: Drops,
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Red::new(
            Parameters::new(&self.thresholds, &self.drops, None, context.rate),
            context.limit,
            context.stream,
        )))
    }

    fn fault_at(&self, rate: Rate) -> Option<Fault> {
        self.thresholds.fault_at(&self.drops, rate)
    }
}

/// RED's parameters for a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Weight of a new value in the average.
    pub weight: f64,
    /// Average queue below which no packet is dropped, packets.
    pub min_th: f64,
    /// Average queue at which the probability reaches `max_p`, packets.
    pub max_th: f64,
    /// Drop probability at `max_th`.
    pub max_p: f64,
    /// The probability rises to 1 at twice `max_th`; otherwise it steps to 1 at `max_th`.
    pub gentle: bool,
    /// (6) in place of (5).
    pub wait: bool,
    /// Marks ECN-capable packets instead of dropping them at random.
    pub ecn: bool,
    /// Settings of (7); `None`: constant `max_p`.
    pub adapt: Option<Adapt>,
    /// Transmission time of a mean packet, ns.
    pub packet_time: f64,
}

/// Settings of adaptive RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapt {
    /// Time between two updates.
    pub interval: Duration,
    /// Largest increment.
    pub alpha: f64,
    /// Factor of a decrement.
    pub beta: f64,
}

impl Parameters {
    /// The parameters for a line of this rate; `adaptive`: the time between two updates of `max_p`.
    pub(super) fn new(thresholds: &Thresholds, drops: &Drops, adaptive: Option<Duration>, rate: Rate) -> Self {
        let packet_time = rate.time_for(drops.mean_packet).as_nanos() as f64;
        let min_th = thresholds.min_th.unwrap_or_else(|| Self::automatic_min_th(drops.target, packet_time));
        Self {
            weight: thresholds.weight.unwrap_or_else(|| Self::automatic_weight(packet_time)),
            min_th,
            max_th: thresholds.max_th.unwrap_or(3.0 * min_th),
            max_p: drops.max_p,
            gentle: drops.gentle,
            wait: drops.wait,
            ecn: drops.ecn,
            adapt: adaptive.map(|interval| Adapt { interval, alpha: 0.01, beta: 0.9 }),
            packet_time,
        }
    }

    /// 1 − e^(−1/C), where C is the line's rate in mean packets per second: the time constant of the average is one
    /// second. `packet_time` in ns.
    #[must_use]
    pub fn automatic_weight(packet_time: f64) -> f64 {
        1.0 - maths::exp(-packet_time * 1e-9)
    }

    /// `min_th` in packets for a target queueing delay of `delay`: half of the packets that the line sends in it, at
    /// least 5; `max_th` is three times `min_th` ("Adaptive RED", §5.2). `packet_time` in ns.
    #[must_use]
    pub fn automatic_min_th(delay: Duration, packet_time: f64) -> f64 {
        (delay.as_nanos() as f64 / packet_time / 2.0).max(5.0)
    }
}

/// RED's decision for an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Admit,
    RandomDrop,
    ForcedDrop,
}

/// A queue managed by RED.
#[derive(Debug)]
pub struct Red<P> {
    config: Parameters,
    average: f64,
    max_p: f64,
    /// Packets since the last drop or mark; −1 while the average is below `min_th`.
    count: i64,
    /// Time at which the queue became empty and the line idle.
    empty_since: Option<Time>,
    next_step: Time,
    stream: Stream,
    queue: Fifo<P>,
}

impl<P: Copy + Default + std::fmt::Debug + Send> Red<P> {
    /// An empty queue that holds at most `limit`.
    #[must_use]
    pub fn new(config: Parameters, limit: Limit, stream: Stream) -> Self {
        Self {
            config,
            average: 0.0,
            max_p: config.max_p,
            count: -1,
            empty_since: Some(Time::ZERO),
            next_step: config.adapt.map_or(Time::MAX, |adapt| Time::ZERO + adapt.interval),
            stream,
            queue: Fifo::new(limit, false),
        }
    }

    /// p_b, (3) and (4); 1 for a forced drop.
    fn base_probability(&self, average: f64) -> f64 {
        let Parameters { min_th, max_th, gentle, .. } = self.config;
        if average < min_th {
            0.0
        } else if average < max_th {
            self.max_p * (average - min_th) / (max_th - min_th)
        } else if gentle && average < 2.0 * max_th {
            self.max_p + (1.0 - self.max_p) * (average - max_th) / max_th
        } else {
            1.0
        }
    }

    /// p_a, (5) or (6).
    fn spaced_probability(&self, base: f64) -> f64 {
        let done = self.count as f64 * base;
        if self.config.wait {
            if done < 1.0 {
                0.0
            } else if done < 2.0 {
                base / (2.0 - done)
            } else {
                1.0
            }
        } else if done < 1.0 {
            base / (1.0 - done)
        } else {
            1.0
        }
    }

    /// The decision for one arrival.
    fn decide(&mut self) -> Decision {
        let base = self.base_probability(self.average);
        if base <= 0.0 {
            self.count = -1;
            return Decision::Admit;
        }
        if base >= 1.0 {
            self.count = 0;
            return Decision::ForcedDrop;
        }
        self.count += 1;
        let probability = self.spaced_probability(base);
        if probability <= 0.0 || (probability < 1.0 && self.stream.unit() >= probability) {
            return Decision::Admit;
        }
        self.count = 0;
        Decision::RandomDrop
    }

    /// (2): the average at `now` of a line that has been idle since `since`.
    fn decayed(&self, since: Time, now: Time) -> f64 {
        let missed = (now - since).as_nanos() as f64 / self.config.packet_time;
        self.average * maths::pow(1.0 - self.config.weight, missed)
    }

    /// (7), once for each update that is due; `idle_since`: the start of an idle time that ends at `now`.
    fn adapt(&mut self, now: Time, idle_since: Option<Time>) {
        let Some(Adapt { interval, alpha, beta }) = self.config.adapt else { return };
        let Parameters { min_th, max_th, .. } = self.config;
        while self.next_step <= now {
            let at = self.next_step;
            self.next_step += interval;
            let average = idle_since.filter(|&since| since < at).map_or(self.average, |since| self.decayed(since, at));
            let share = (average - min_th) / (max_th - min_th);
            if share > 0.6 && self.max_p <= 0.5 {
                self.max_p += alpha.min(self.max_p / 4.0);
            } else if share < 0.4 && self.max_p >= 0.01 {
                self.max_p *= beta;
            }
        }
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for Red<P> {
    fn enqueue(&mut self, now: Time, serving: u32, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let idle_since = self.empty_since.take().filter(|_| serving == 0);
        self.adapt(now, idle_since);
        if let Some(since) = idle_since {
            self.average = self.decayed(since, now);
        }
        self.average += self.config.weight * (self.queue.backlog().0 as f64 - self.average);
        match self.decide() {
            Decision::RandomDrop if self.config.ecn && one.mark() => self.queue.enqueue(now, serving, one, dropped),
            Decision::Admit => self.queue.enqueue(now, serving, one, dropped),
            Decision::RandomDrop | Decision::ForcedDrop => dropped.push(one),
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let one = self.queue.dequeue(now, dropped);
        if one.is_none() {
            self.empty_since = Some(now);
        }
        one
    }

    fn backlog(&self) -> (u64, u64) {
        self.queue.backlog()
    }

    fn oldest(&self) -> Option<Time> {
        self.queue.oldest()
    }

    fn memory(&self) -> usize {
        self.queue.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Codepoint;
    use crate::random::Purpose;

    const CONFIG: Parameters = Parameters {
        weight: 0.002,
        min_th: 5.0,
        max_th: 15.0,
        max_p: 0.02,
        gentle: true,
        wait: false,
        ecn: false,
        adapt: None,
        packet_time: 1e6,
    };

    fn red(config: Parameters) -> Red<u64> {
        Red::new(config, Limit::Unlimited, Stream::new(1, Purpose::Loss, 1))
    }

    /// `links-and-queues.md`: avg 10 between 5 and 15 with max_p 0.02 gives p_b = 0.01; p_b = 0.02 after 10 packets
    /// 0.025.
    #[test]
    fn the_probabilities_match_the_paper() {
        let mut red = red(CONFIG);
        assert!((red.base_probability(10.0) - 0.01).abs() < 1e-15);
        red.count = 10;
        assert!((red.spaced_probability(0.02) - 0.025).abs() < 1e-15);
        // Gentle: half way from max to 2 max, half way from max_p to 1.
        assert!((red.base_probability(22.5) - 0.51).abs() < 1e-12);
        assert_eq!(red.base_probability(30.0), 1.0);
        assert_eq!(red.base_probability(4.99), 0.0);
        // With `wait`: zero before count p_b = 1, then twice as steep.
        red.config.wait = true;
        assert_eq!(red.spaced_probability(0.02), 0.0);
        red.count = 75;
        assert!((red.spaced_probability(0.02) - 0.04).abs() < 1e-12);
    }

    /// Floyd and Jacobson 1993, §4: after L packets on an empty average the average is L + 1 + ((1−w)^(L+1) − 1)/w.
    #[test]
    fn the_average_rises_as_in_the_paper() {
        let mut red = red(Parameters { min_th: 1e9, max_th: 2e9, ..CONFIG });
        let mut dropped = Vec::new();
        for n in 0..100u64 {
            red.enqueue(
                Time::from_nanos(n),
                1500,
                QueuedPacket { since: Time::from_nanos(n), size: 1500, packet: n, ..QueuedPacket::default() },
                &mut dropped,
            );
        }
        // The paper includes the arriving packet in the queue length; here only the packets before it count: L = 99.
        let expected = 100.0 + (maths::pow(0.998, 100.0) - 1.0) / 0.002;
        assert!((red.average - expected).abs() < 1e-9, "{} {expected}", red.average);
    }

    /// With a constant average of 10 the gap between two drops is uniform over {1 … 1/p_b} (the paper, §7, method 2):
    /// mean 50.5.
    #[test]
    fn gaps_between_drops_are_uniform() {
        let mut red = red(CONFIG);
        red.average = 10.0;
        let mut gaps = Vec::new();
        let mut since = 0u32;
        red.count = 0;
        for _ in 0..200_000 {
            since += 1;
            if red.decide() != Decision::Admit {
                gaps.push(since);
                since = 0;
            }
        }
        let mean = gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 50.5).abs() < 1.5, "{mean}");
        assert!(gaps.iter().all(|&gap| gap <= 100));
    }

    /// Adaptive RED: above the target range an update increases max_p by min(0.01, max_p / 4); below it max_p is
    /// multiplied by 0.9.
    #[test]
    fn max_p_adapts() {
        let adapt = Some(Adapt { interval: Duration::from_millis(500), alpha: 0.01, beta: 0.9 });
        let mut red = red(Parameters { adapt, max_p: 0.1, ..CONFIG });
        red.average = 12.0;
        red.adapt(Time::from_nanos(1_000_000_000), None);
        assert!((red.max_p - 0.12).abs() < 1e-12);
        red.average = 8.0;
        red.adapt(Time::from_nanos(1_500_000_000), None);
        assert!((red.max_p - 0.108).abs() < 1e-12);
        red.average = 10.0;
        red.adapt(Time::from_nanos(9_000_000_000), None);
        assert!((red.max_p - 0.108).abs() < 1e-12);
    }

    /// By hand, at a packet time of 1 ms: updates at 0.5, 1, 1.5 and 2 s. An average of 12 between 5 and 15 is above 60 % and
    /// raises `max_p`, by 0.01. Idle since 0 s it is at most 12 × 0.998⁵⁰⁰ = 4.4 at each of them, which lowers `max_p` four
    /// times. Idle since 1.8 s it is 12 at the first three and 12 × 0.998²⁰⁰ = 8.0, below 40 %, at the last.
    #[test]
    fn max_p_follows_the_average_that_decays_while_the_line_is_idle() {
        let adapt = Some(Adapt { interval: Duration::from_millis(500), alpha: 0.01, beta: 0.9 });
        let now = Time::from_nanos(2_000_000_000);
        for (since, expected) in [(0, 0.1 * 0.9 * 0.9 * 0.9 * 0.9), (1_800_000_000, 0.13 * 0.9)] {
            let mut red = red(Parameters { adapt, max_p: 0.1, ..CONFIG });
            (red.average, red.empty_since) = (12.0, Some(Time::from_nanos(since)));
            red.enqueue(now, 0, QueuedPacket { since: now, size: 1500, ..QueuedPacket::default() }, &mut Vec::new());
            assert!((red.max_p - expected).abs() < 1e-12, "{} {expected}", red.max_p);
        }
    }

    /// By hand: 100 Mbit/s are 41.67 packets of 1500 bytes in 5 ms, so that an automatic `min_th` is 20.83; at 1 Mbit/s it is
    /// the least, 5.
    #[test]
    fn an_automatic_threshold_is_compared_at_the_rate_of_the_line() {
        let (target, mean_packet) = (Duration::from_millis(5), Bytes(1500));
        let drops = Drops { max_p: 0.1, gentle: true, wait: false, ecn: false, target, mean_packet };
        let fault = |max_th, mbps: u64| {
            let thresholds = Thresholds { min_th: None, max_th, weight: None };
            thresholds.fault_at(&drops, Rate(mbps * 1_000_000)).map(|fault| fault.what)
        };
        let what = |max: &str, min: &str| Some(format!("{max} packets are not above min_th, {min} packets"));
        assert_eq!(fault(Some(4.0), 100), what("4", "20.83"));
        assert_eq!(fault(Some(20.8), 100), what("20.8", "20.83"));
        assert_eq!(fault(Some(5.0), 1), what("5", "5"));
        assert_eq!([fault(Some(20.9), 100), fault(Some(5.1), 1), fault(None, 100)], [None, None, None]);
    }

    #[test]
    fn a_random_drop_marks_ecn_capable_packets() {
        let mut red = red(Parameters { ecn: true, weight: 1.0, min_th: 1.0, max_th: 100.0, max_p: 1.0, ..CONFIG });
        let mut dropped = Vec::new();
        for n in 0..90u64 {
            let ecn = if n % 2 == 0 { Codepoint::Classic } else { Codepoint::NotCapable };
            red.enqueue(
                Time::from_nanos(n),
                1500,
                QueuedPacket { since: Time::from_nanos(n), size: 1500, ecn, packet: n, ..QueuedPacket::default() },
                &mut dropped,
            );
        }
        assert!(dropped.iter().all(|one| one.packet % 2 == 1) && !dropped.is_empty());
        let marks =
            std::iter::from_fn(|| red.dequeue(Time::from_nanos(100), &mut dropped)).filter(|one| one.marked).count();
        assert!(marks > 0);
    }
}
