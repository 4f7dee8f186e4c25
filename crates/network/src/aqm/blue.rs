//! BLUE: a drop probability controlled by losses and idle periods, not by the queue length.
//!
//! Source: W. Feng, K. G. Shin, D. D. Kandlur, D. Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM
//! Transactions on Networking 10(4), 2002, section III and figure 3; the defaults are the paper's setting B4 (table
//! II).
//!
//! ```text
//! overflow, or an arrival with more than `above` packets waiting, freeze_time after the last update: p ← p + d1  (1)
//! the line becomes idle, freeze_time after the last update:                                          p ← p − d2  (2)
//! each arrival is dropped (or marked) with probability p                                                         (3)
//! ```
//!
//! Units: ns, packets. The source does not define the duration of an idle event. Here (2) applies once, when the line
//! becomes idle, independent of the length of the idle period.

use cwndlab_config::{fields, Probability, Table};
use cwndlab_units::{Duration, Time};

use super::fifo::Fifo;
use super::{capacity, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// BLUE's declaration.
pub static SPEC: Table = Table::new(
        "blue",
        "BLUE: the drop probability rises with losses and falls when the line is idle (Feng, Shin, Kandlur, Saha, ToN 2002).",
        &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Blue");

fields! {
    /// BLUE's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// increment of the probability
        d1: Probability = 0.02,
        /// decrement of the probability
        d2: Probability = 0.002,
        /// minimum time between two updates
        freeze_time: Duration = "100 ms",
        /// number of waiting packets above which an arrival counts as a loss
        above: Option<u64> = absent("only losses count") in 1..=100_000_000,
        /// marks ECN-capable packets instead of dropping them at random
        ecn: bool = false,
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Blue::new(*self, context.limit, context.stream)))
    }
}

/// A queue managed by BLUE.
#[derive(Debug)]
pub struct Blue<P> {
    config: Config,
    queue: Fifo<P>,
    stream: Stream,
    probability: f64,
    /// Time of the last change of the probability; `None` before the first change.
    updated: Option<Time>,
}

impl<P: Packet> Blue<P> {
    /// An empty queue that holds at most `limit`.
    #[must_use]
    pub fn new(config: Config, limit: Limit, stream: Stream) -> Self {
        Self { config, queue: Fifo::new(limit, false), stream, probability: 0.0, updated: None }
    }

    /// (1), (2)
    fn update(&mut self, now: Time, change: f64) {
        if self.updated.is_none_or(|updated| now - updated >= self.config.freeze_time) {
            self.probability = (self.probability + change).clamp(0.0, 1.0);
            self.updated = Some(now);
        }
    }
}

impl<P: Packet> Discipline<P> for Blue<P> {
    fn enqueue(&mut self, now: Time, serving: u32, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let before = dropped.len();
        if self.config.above.is_some_and(|above| self.queue.backlog().0 > above) {
            self.update(now, self.config.d1);
        }
        // (3). Every packet takes one draw, so that runs with other settings use the same random numbers.
        if self.stream.unit() < self.probability && !(self.config.ecn && one.mark()) {
            dropped.push(one);
            return;
        }
        self.queue.enqueue(now, serving, one, dropped);
        if dropped.len() > before {
            self.update(now, self.config.d1);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let one = self.queue.dequeue(now, dropped);
        if one.is_none() {
            self.update(now, -self.config.d2);
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

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    const CONFIG: Config =
        Config { d1: 0.02, d2: 0.002, freeze_time: Duration::from_millis(100), above: None, ecn: false };

    fn blue(config: Config, limit: u64) -> Blue<u64> {
        Blue::new(config, Limit::Packets(limit), Stream::new(1, Purpose::Loss, 1))
    }

    fn packet(number: u64, ecn: Codepoint) -> QueuedPacket<u64> {
        QueuedPacket { size: 1500, packet: number, ecn, ..QueuedPacket::default() }
    }

    /// By hand from the paper's figure 3, freeze time 100 ms: an overflow at 0 ms gives 0.02, at 50 ms no change, at
    /// 150 ms 0.04. An idle line at 200 ms gives no change, at 260 ms 0.038.
    #[test]
    fn the_probability_follows_overflow_and_idleness_with_a_freeze_time() {
        let mut queue = blue(CONFIG, 1);
        let mut dropped = Vec::new();
        queue.queue.enqueue(Time::ZERO, 1500, packet(0, Codepoint::NotCapable), &mut dropped);
        for (at, expected) in [(0, 0.02), (50, 0.02), (150, 0.04)] {
            // A random drop is not an overflow: the arrival is repeated until a packet meets the full queue.
            let before = dropped.len();
            while dropped.len() == before || queue.updated != Some(ms(at)) && expected > queue.probability {
                queue.enqueue(ms(at), 1500, packet(1, Codepoint::NotCapable), &mut dropped);
            }
            assert!((queue.probability - expected).abs() < 1e-12, "{at} ms: {}", queue.probability);
        }
        assert!(queue.dequeue(ms(160), &mut dropped).is_some());
        for (at, expected) in [(200, 0.04), (260, 0.038)] {
            assert!(queue.dequeue(ms(at), &mut dropped).is_none());
            assert!((queue.probability - expected).abs() < 1e-12, "{at} ms: {}", queue.probability);
        }
    }

    #[test]
    fn the_probability_stays_between_0_and_1() {
        let mut queue = blue(Config { d1: 0.7, d2: 0.9, freeze_time: Duration::from_nanos(1), ..CONFIG }, 1);
        let increment = queue.config.d1;
        queue.update(Time::from_nanos(1), increment);
        queue.update(Time::from_nanos(2), increment);
        assert_eq!(queue.probability, 1.0);
        queue.update(Time::from_nanos(3), -queue.config.d2);
        queue.update(Time::from_nanos(4), -queue.config.d2);
        assert_eq!(queue.probability, 0.0);
    }

    #[test]
    fn ecn_capable_packets_are_marked_and_others_dropped() {
        let mut queue = blue(Config { ecn: true, ..CONFIG }, 10);
        queue.probability = 1.0;
        let mut dropped = Vec::new();
        queue.enqueue(Time::ZERO, 0, packet(1, Codepoint::Classic), &mut dropped);
        queue.enqueue(Time::ZERO, 0, packet(2, Codepoint::NotCapable), &mut dropped);
        assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), [2]);
        assert!(queue.dequeue(Time::ZERO, &mut dropped).is_some_and(|one| one.marked && one.packet == 1));
    }
}
