//! PIE: drops arrivals at random; a PI controller computes the probability from the queueing delay and its trend.
//!
//! Source: Pan, Natarajan, Baker, White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033 (2017), §§4–5.
//!
//! ```text
//! every T_UPDATE: p += alpha (delay - QDELAY_REF) + beta (delay - delay_old)                        (1)
//!   multiplied by 1/2048, 1/512, 1/128, 1/32, 1/8, 1/2 below p = 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1      (2)
//!   step limited to 0.02 if p >= 0.1                                                                (3)
//!   p *= 0.98 while the queue is empty                                                              (4)
//! no drop during a burst of MAX_BURST, with p < 0.2 and a delay below QDELAY_REF / 2, or with two packets or fewer (5)
//! ```
//!
//! Units: ns; seconds in (1). The delay is the sojourn time of the last departed packet (timestamps, the second method
//! of §5.2), zero for an empty queue. Up to p = `mark_below`, ECN-capable packets are marked instead of dropped.

use cwndlab_config::{fields, Positive, Probability, Table};
use cwndlab_units::{Bytes, Duration, Fault, Rate, Time};

use super::discipline::too_frequent;
use super::fifo::Fifo;
use super::{capacity, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// PIE's declaration.
pub static SPEC: Table = Table::new(
    "pie",
    "Proportional integral controller enhanced (RFC 8033); the queueing delay is measured by timestamps.",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Pie");

fields! {
    /// PIE's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// target queueing delay, `QDELAY_REF`
        target: Positive<Duration> = "15 ms",
        /// time between two updates of the probability, `T_UPDATE`
        update: Positive<Duration> = "15 ms",
        /// weight of the deviation from the target, per second
        alpha: f64 = 0.125,
        /// weight of the trend of the delay, per second
        beta: f64 = 1.25,
        /// duration of a burst that is admitted without drops, `MAX_BURST`
        burst: Duration = "150 ms",
        /// marks ECN-capable packets and drops only the others
        ecn: bool = false,
        /// drop probability above which ECN-capable packets are dropped as well
        mark_below: Probability = 0.1,
        /// mean size of a packet
        mean_packet: Positive<Bytes> = "1000 B",
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Pie::new(*self, context.limit, context.stream)))
    }

    fn fault_at(&self, _: Rate) -> Option<Fault> {
        too_frequent("update", self.update)
    }
}

/// PIE's control state for one queue, which the caller owns ([`Pie`], or one queue of FQ-PIE).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controller {
    /// Drop probability, p.
    probability: f64,
    delay: Duration,
    delay_old: Duration,
    burst: Duration,
    next_update: Time,
    active: bool,
}

impl Controller {
    /// (1)–(4), once for each update that is due.
    fn catch_up(&mut self, config: &Config, now: Time, backlog: u64) {
        if !self.active {
            self.next_update = now + config.update;
            self.active = true;
            self.burst = config.burst;
        }
        while self.next_update <= now {
            self.next_update += config.update;
            if backlog == 0 {
                self.delay = Duration::ZERO;
            }
            self.step(config);
        }
    }

    /// One update, (1)–(4).
    fn step(&mut self, config: &Config) {
        let seconds = |a: Duration, b: Duration| (a.as_nanos() as f64 - b.as_nanos() as f64) * 1e-9;
        let mut step =
            config.alpha * seconds(self.delay, config.target) + config.beta * seconds(self.delay, self.delay_old);
        // (2)
        for (below, divisor) in [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)] {
            if self.probability < below {
                step /= divisor;
                break;
            }
        }
        // (3)
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        // (4)
        if self.delay == Duration::ZERO && self.delay_old == Duration::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(config.update);
        if self.probability == 0.0 && self.delay < config.target / 2 && self.delay_old < config.target / 2 {
            self.burst = config.burst;
        }
        self.delay_old = self.delay;
    }

    /// Returns whether a packet that arrives at a queue of `backlog` bytes is admitted; may mark it.
    pub(super) fn admits<P>(
        &mut self,
        config: &Config,
        now: Time,
        backlog: u64,
        stream: &mut Stream,
        one: &mut QueuedPacket<P>,
    ) -> bool {
        self.catch_up(config, now, backlog);
        let safe = self.burst > Duration::ZERO
            || (self.probability < 0.2 && self.delay_old < config.target / 2)
            || backlog <= 2 * config.mean_packet.0; // (5)
        if safe || stream.unit() >= self.probability {
            return true;
        }
        config.ecn && self.probability <= config.mark_below && one.mark()
    }

    /// Records the departure of a packet after `sojourn`.
    pub(super) fn on_departure(&mut self, config: &Config, now: Time, backlog: u64, sojourn: Duration) {
        self.catch_up(config, now, backlog);
        self.delay = sojourn;
    }
}

/// One queue managed by PIE.
#[derive(Debug)]
pub struct Pie<P> {
    config: Config,
    controller: Controller,
    stream: Stream,
    queue: Fifo<P>,
}

impl<P: Copy + Default + std::fmt::Debug + Send> Pie<P> {
    /// An empty queue that holds at most `limit`.
    #[must_use]
    pub fn new(config: Config, limit: Limit, stream: Stream) -> Self {
        Self { config, controller: Controller::default(), stream, queue: Fifo::new(limit, false) }
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, serving: u32, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let backlog = self.queue.backlog().1;
        if self.controller.admits(&self.config, now, backlog, &mut self.stream, &mut one) {
            self.queue.enqueue(now, serving, one, dropped);
        } else {
            dropped.push(one);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let backlog = self.queue.backlog().1;
        let one = self.queue.dequeue(now, dropped)?;
        self.controller.on_departure(&self.config, now, backlog, now - one.since);
        Some(one)
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
    use crate::random::Purpose;

    /// The defaults of RFC 8033.
    const CONFIG: Config = Config {
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        burst: Duration::from_millis(150),
        ecn: false,
        mark_below: 0.1,
        mean_packet: Bytes(1000),
    };

    /// By hand: p = 0.05 and a rise of the delay from 20 to 30 ms: (0.125 × 0.015 + 1.25 × 0.010) / 2 = 0.0071875.
    #[test]
    fn an_update_follows_the_rfc() {
        let mut pie = Controller {
            probability: 0.05,
            delay: Duration::from_millis(30),
            delay_old: Duration::from_millis(20),
            ..Controller::default()
        };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.057_187_5).abs() < 1e-12, "{}", pie.probability);
        // At p = 0 the step for the same deviation is multiplied by 1/2048.
        let mut pie = Controller {
            delay: Duration::from_millis(30),
            delay_old: Duration::from_millis(20),
            ..Controller::default()
        };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.014_375 / 2048.0).abs() < 1e-15);
        // A high probability increases by at most 0.02.
        let mut pie = Controller { probability: 0.3, delay: Duration::from_millis(900), ..Controller::default() };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.32).abs() < 1e-12);
    }

    #[test]
    fn the_probability_of_an_idle_queue_decays() {
        let mut pie = Controller { probability: 0.5, active: true, ..Controller::default() };
        pie.next_update = Time::ZERO + CONFIG.update;
        pie.catch_up(&CONFIG, Time::ZERO + CONFIG.update * 10, 0);
        // By hand: −0.125 × 0.015 and × 0.98, ten times, hence below 0.5 × 0.98^10.
        assert!(pie.probability < 0.5 * 0.8171 && pie.probability > 0.38, "{}", pie.probability);
    }

    /// No packet is dropped in the first 150 ms (the burst allowance) or with two packets of 1000 bytes waiting.
    #[test]
    fn a_burst_is_admitted() {
        let mut pie = Pie::new(Config { alpha: 1e6, ..CONFIG }, Limit::Unlimited, Stream::new(1, Purpose::Loss, 1));
        let mut dropped = Vec::new();
        for n in 0..14u64 {
            let now = Time::from_nanos(n * 10_000_000);
            for _ in 0..2 {
                pie.enqueue(
                    now,
                    1000,
                    QueuedPacket { since: now, size: 1000, packet: n, ..QueuedPacket::default() },
                    &mut dropped,
                );
            }
            let _ = pie.dequeue(now, &mut dropped);
        }
        assert!(dropped.is_empty());
    }
}
