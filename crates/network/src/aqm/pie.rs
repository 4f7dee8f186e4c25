//! PIE: drops at random on arrival; a controller steers the probability by the queueing delay and its trend.
//!
//! Source: Pan, Natarajan, Baker, White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033 (2017), §§4–5.
//!
//! ```text
//! every T_UPDATE: p += alpha (delay - QDELAY_REF) + beta (delay - delay_old)                        (1)
//!   scaled by 1/2048, 1/512, 1/128, 1/32, 1/8, 1/2 below p = 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1      (2)
//!   a step of at most 0.02 where p >= 0.1                                                           (3)
//!   p *= 0.98 while the queue stays empty                                                           (4)
//! no drop during a burst of MAX_BURST, with p < 0.2 and a delay below QDELAY_REF / 2, or with two packets or fewer (5)
//! ```
//!
//! Units: ns outside, seconds in (1). The delay is the sojourn time of the packet that left last (§5.2's second way,
//! timestamps), zero with an empty queue. Packets up to `mark_below` are marked in place of dropped if they can be.

use cwndlab_config::{Faults, Field, Reader, Table};
use cwndlab_units::{Bytes, Duration, Time};

use super::fifo::Fifo;
use super::{size, Configuration, Discipline, Packet, Place, Waiting};
use crate::queue::Limit;
use crate::random::Stream;

/// PIE's entry among the disciplines.
pub static SPEC: Table = Table::new(
    "pie",
    "Proportional integral controller enhanced (RFC 8033); the queueing delay is measured by timestamps.",
    &[&[size::field("1000 packets")], FIELDS],
)
.class("Pie");

/// The fields of the controller.
pub(super) const FIELDS: &[Field] = &[
    Field::duration("target", "15 ms", "queueing delay that the controller aims at, `QDELAY_REF`").above_zero(),
    Field::duration("update", "15 ms", "time between two updates of the probability, `T_UPDATE`").above_zero(),
    Field::number("alpha", 0.125, "weight of the deviation from the target, per second"),
    Field::number("beta", 1.25, "weight of the trend of the delay, per second"),
    Field::duration("burst", "150 ms", "length of a burst that passes without drops, `MAX_BURST`"),
    Field::flag("ecn", false, "marks ECN-capable packets and drops only the others"),
    Field::probability("mark_below", 0.1, "probability above which ECN-capable packets are dropped as well"),
    Field::bytes("mean_packet", "1000 B", "mean size of a packet").above_zero(),
];

/// PIE's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// `QDELAY_REF`.
    pub target: Duration,
    /// `T_UPDATE`.
    pub update: Duration,
    /// Weight of the deviation, per second.
    pub alpha: f64,
    /// Weight of the trend, per second.
    pub beta: f64,
    /// `MAX_BURST`.
    pub burst: Duration,
    /// Mark ECN-capable packets and drop only the others.
    pub ecn: bool,
    /// Probability above which ECN-capable packets are dropped as well.
    pub mark_below: f64,
    /// Mean packet.
    pub packet: Bytes,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let mut time = |key| table.duration(key, faults);
        let (target, update, burst) = (time("target"), time("update"), time("burst"));
        let (alpha, beta) = (table.number("alpha", faults), table.number("beta", faults));
        let (ecn, mark_below) = (table.flag("ecn", faults), table.probability("mark_below", faults));
        let packet = table.bytes("mean_packet", faults);
        Some(Self {
            target: target?,
            update: update?,
            alpha: alpha?,
            beta: beta?,
            burst: burst?,
            ecn: ecn?,
            mark_below: mark_below?,
            packet: packet?,
        })
    }

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Pie::new(*self, place.limit, place.stream)))
    }
}

/// The controller; the queue is somebody else's (PIE's own, or one of FQ-PIE's many).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controller {
    /// Drop probability.
    probability: f64,
    delay: Duration,
    delay_old: Duration,
    burst: Duration,
    next_update: Time,
    active: bool,
}

impl Controller {
    /// (1)–(4), as often as it is due.
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

    fn step(&mut self, config: &Config) {
        let seconds = |a: Duration, b: Duration| (a.0 as f64 - b.0 as f64) * 1e-9;
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

    /// The packet that arrives beside `backlog` bytes may stay, perhaps marked.
    pub(super) fn admits<P>(
        &mut self,
        config: &Config,
        now: Time,
        backlog: u64,
        stream: &mut Stream,
        one: &mut Waiting<P>,
    ) -> bool {
        self.catch_up(config, now, backlog);
        let safe = self.burst > Duration::ZERO
            || (self.probability < 0.2 && self.delay_old < config.target / 2)
            || backlog <= 2 * config.packet.0; // (5)
        if safe || stream.unit() >= self.probability {
            return true;
        }
        config.ecn && self.probability <= config.mark_below && one.mark()
    }

    /// A packet leaves after `sojourn`.
    pub(super) fn left(&mut self, config: &Config, now: Time, backlog: u64, sojourn: Duration) {
        self.catch_up(config, now, backlog);
        self.delay = sojourn;
    }
}

/// One queue under PIE.
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
    fn enqueue(&mut self, now: Time, serving: u32, mut one: Waiting<P>, dropped: &mut Vec<Waiting<P>>) {
        let backlog = self.queue.backlog().1;
        if self.controller.admits(&self.config, now, backlog, &mut self.stream, &mut one) {
            self.queue.enqueue(now, serving, one, dropped);
        } else {
            dropped.push(one);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Waiting<P>>) -> Option<Waiting<P>> {
        let backlog = self.queue.backlog().1;
        let one = self.queue.dequeue(now, dropped)?;
        self.controller.left(&self.config, now, backlog, now - one.since);
        Some(one)
    }

    fn backlog(&self) -> (u64, u64) {
        self.queue.backlog()
    }

    fn memory(&self) -> usize {
        self.queue.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8033's values.
    const CONFIG: Config = Config {
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        burst: Duration::from_millis(150),
        ecn: false,
        mark_below: 0.1,
        packet: Bytes(1000),
    };

    /// By hand: p = 0.05 and a delay that rose from 20 to 30 ms: (0.125 × 0.015 + 1.25 × 0.010) / 2 = 0.0071875.
    #[test]
    fn a_step_is_the_rfcs() {
        let mut pie = Controller {
            probability: 0.05,
            delay: Duration::from_millis(30),
            delay_old: Duration::from_millis(20),
            ..Controller::default()
        };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.057_187_5).abs() < 1e-12, "{}", pie.probability);
        // From nothing the same deviation counts 1/2048.
        let mut pie = Controller {
            delay: Duration::from_millis(30),
            delay_old: Duration::from_millis(20),
            ..Controller::default()
        };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.014_375 / 2048.0).abs() < 1e-15);
        // A high probability rises by at most 0.02.
        let mut pie = Controller { probability: 0.3, delay: Duration::from_millis(900), ..Controller::default() };
        pie.step(&CONFIG);
        assert!((pie.probability - 0.32).abs() < 1e-12);
    }

    #[test]
    fn an_idle_queue_forgets() {
        let mut pie = Controller { probability: 0.5, active: true, ..Controller::default() };
        pie.next_update = Time::ZERO + CONFIG.update;
        pie.catch_up(&CONFIG, Time::ZERO + CONFIG.update * 10, 0);
        // −0.125 × 0.015 and × 0.98, ten times, by hand in the other order of magnitude: below 0.5 × 0.98^10.
        assert!(pie.probability < 0.5 * 0.8171 && pie.probability > 0.38, "{}", pie.probability);
    }

    /// The first 150 ms belong to a burst, and two packets of 1000 bytes are never touched.
    #[test]
    fn a_burst_passes() {
        let mut pie = Pie::new(Config { alpha: 1e6, ..CONFIG }, Limit::Unlimited, Stream::new(1, 1, 1));
        let mut dropped = Vec::new();
        for n in 0..14u64 {
            let now = Time(n * 10_000_000);
            for _ in 0..2 {
                pie.enqueue(
                    now,
                    1000,
                    Waiting { since: now, size: 1000, packet: n, ..Waiting::default() },
                    &mut dropped,
                );
            }
            let _ = pie.dequeue(now, &mut dropped);
        }
        assert!(dropped.is_empty());
    }
}
