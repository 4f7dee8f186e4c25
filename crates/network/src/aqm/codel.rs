//! CoDel: drops packets when the minimum sojourn time over an interval exceeds the target.
//!
//! Source: Nichols, Jacobson, McGregor, Iyengar, "Controlled Delay Active Queue Management", RFC 8289 (2018), §5.
//!
//! ```text
//! above target for a whole interval, more than one MTU waiting -> drop                                  (1)
//! next drop at t + interval / sqrt(count)                                                               (2)
//! dropping restarts within 16 intervals of the last scheduled drop: count <- count - lastcount if > 1   (3)
//! departing packet, sojourn time above ce_threshold: mark (Linux, codel_impl.h)                         (4)
//! ```
//!
//! Units: ns, bytes. A packet's sojourn ends when the line takes it.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::{maths, Duration, Time};

use super::fifo::Fifo;
use super::{capacity, Codepoint, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;

/// CoDel's declaration.
pub static SPEC: Table = Table::new(
    "codel",
    "Controlled delay: drops packets when the minimum sojourn time over an interval exceeds the target (RFC 8289).",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Codel");

/// Backlog up to which no packet is dropped, bytes: one full packet.
const MTU: u64 = 1500;

fields! {
    /// CoDel's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// sojourn time below which no packet is dropped
        target: Positive<Duration> = "5 ms",
        /// sliding window, of the order of the largest expected RTT
        interval: Positive<Duration> = "100 ms",
        /// marks ECN-capable packets and drops only the others
        ecn: bool = false,
        /// sojourn time above which an ECN-capable packet is marked, whatever the state of CoDel (Linux; for L4S 1 ms)
        ce_threshold: Option<Duration> = absent("no such marks"),
        /// `ce_threshold` applies to packets with ECT(1) only (Linux, `ce_threshold_selector` 1/3)
        ce_threshold_ect1: bool = absent("false", false),
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Codel::new(*self, context.limit)))
    }
}

/// (2).
pub(super) fn control_law(interval: Duration, from: Time, count: u32) -> Time {
    from + Duration::from_nanos((interval.as_nanos() as f64 / maths::sqrt(f64::from(count))) as u64)
}

/// CoDel's control state for one queue, which the caller owns ([`Codel`], or one queue of FQ-CoDel).
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// `first_above_time`: end of the interval since the sojourn time exceeded the target; zero while it is below.
    first_above: Time,
    /// `dropping`.
    dropping: bool,
    /// `drop_next`: time of the next drop.
    next: Time,
    /// `count`: drops since the dropping state was entered.
    count: u32,
    /// `lastcount`: `count` when the dropping state was last entered.
    last_count: u32,
}

impl CodelState {
    /// (1). Returns whether a packet that leaves at `now` after `sojourn`, with `backlog` bytes behind it, may be
    /// dropped.
    fn is_due(&mut self, config: &Config, now: Time, sojourn: Duration, backlog: u64) -> bool {
        if sojourn < config.target || backlog <= MTU {
            self.first_above = Time::ZERO;
            return false;
        }
        if self.first_above == Time::ZERO {
            self.first_above = now + config.interval;
            return false;
        }
        now >= self.first_above
    }

    /// Dequeues packets by `next` until one is not dropped, and returns it; dropped packets are appended to `dropped`.
    /// `next` removes the head of the queue and returns it with the bytes that remain behind it.
    pub fn dequeue<P>(
        &mut self,
        config: &Config,
        now: Time,
        dropped: &mut Vec<QueuedPacket<P>>,
        mut next: impl FnMut() -> Option<(QueuedPacket<P>, u64)>,
    ) -> Option<QueuedPacket<P>> {
        let (one, due) = self.take(config, now, &mut next)?;
        let mut one = if self.dropping {
            self.keep_dropping(config, now, (one, due), dropped, next)?
        } else if due {
            self.begin_dropping(config, now, one, dropped, next)?
        } else {
            one
        };
        // (4)
        if config.ce_threshold.is_some_and(|threshold| now - one.since > threshold)
            && (!config.ce_threshold_ect1 || one.ecn == Codepoint::Scalable)
        {
            one.mark();
        }
        Some(one)
    }

    /// The head of the queue, and whether it may be dropped (`dodequeue`, RFC 8289, §5.6). An empty queue ends the
    /// dropping state.
    fn take<P>(
        &mut self,
        config: &Config,
        now: Time,
        next: &mut impl FnMut() -> Option<(QueuedPacket<P>, u64)>,
    ) -> Option<(QueuedPacket<P>, bool)> {
        let Some((one, behind)) = next() else {
            self.first_above = Time::ZERO;
            self.dropping = false;
            return None;
        };
        let due = self.is_due(config, now, now - one.since, behind);
        Some((one, due))
    }

    /// In the dropping state: drops packets until the next drop is in the future or the sojourn time is below the
    /// target.
    fn keep_dropping<P>(
        &mut self,
        config: &Config,
        now: Time,
        (mut one, due): (QueuedPacket<P>, bool),
        dropped: &mut Vec<QueuedPacket<P>>,
        mut next: impl FnMut() -> Option<(QueuedPacket<P>, u64)>,
    ) -> Option<QueuedPacket<P>> {
        self.dropping = due;
        while self.dropping && now >= self.next {
            self.count += 1;
            if config.ecn && one.mark() {
                self.next = control_law(config.interval, self.next, self.count);
                return Some(one);
            }
            dropped.push(one);
            (one, self.dropping) = self.take(config, now, &mut next)?;
            if self.dropping {
                self.next = control_law(config.interval, self.next, self.count);
            }
        }
        Some(one)
    }

    /// Enters the dropping state and drops one packet.
    fn begin_dropping<P>(
        &mut self,
        config: &Config,
        now: Time,
        mut one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
        mut next: impl FnMut() -> Option<(QueuedPacket<P>, u64)>,
    ) -> Option<QueuedPacket<P>> {
        self.dropping = true;
        // (3)
        let delta = self.count.wrapping_sub(self.last_count);
        let recent = now.saturating_since(self.next) < config.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.next = control_law(config.interval, now, self.count);
        if config.ecn && one.mark() {
            return Some(one);
        }
        dropped.push(one);
        Some(self.take(config, now, &mut next)?.0)
    }
}

/// One queue managed by CoDel.
#[derive(Debug)]
pub struct Codel<P> {
    config: Config,
    state: CodelState,
    queue: Fifo<P>,
}

impl<P: Copy + Default> Codel<P> {
    /// An empty queue that holds at most `limit`.
    #[must_use]
    pub fn new(config: Config, limit: Limit) -> Self {
        Self { config, state: CodelState::default(), queue: Fifo::new(limit, false) }
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, now: Time, serving: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.queue.enqueue(now, serving, one, dropped);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let queue = &mut self.queue;
        self.state.dequeue(&self.config, now, dropped, || {
            let one = queue.pop()?;
            Some((one, queue.backlog().1))
        })
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

    const CONFIG: Config = Config {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
        ce_threshold: None,
        ce_threshold_ect1: false,
    };

    /// `known-answers.csv`: interval / √count.
    #[test]
    fn the_drop_interval_decreases_with_the_square_root_of_the_count() {
        let spacing = |count| control_law(CONFIG.interval, Time::ZERO, count).as_nanos() as f64 / 1e6;
        for (count, expected) in [
            (1, 100.0),
            (2, 70.710_678_118_654_75),
            (3, 57.735_026_918_962_58),
            (4, 50.0),
            (10, 31.622_776_601_683_793),
        ] {
            // The result is rounded to nanoseconds.
            assert!((spacing(count) - expected).abs() < 1e-6, "{count}: {}", spacing(count));
        }
    }

    /// A standing queue 20 ms above the target, one packet per ms. The first drop is due after one interval (RFC 8289,
    /// §5.5), the others at the spacing of the control law; each takes place at the next departure.
    #[test]
    fn drops_from_a_standing_queue_follow_the_control_law() {
        let mut codel = Codel::new(CONFIG, Limit::Unlimited);
        let mut dropped = Vec::new();
        let mut drops = Vec::new();
        for n in 0..1_000u64 {
            let now = Time::from_nanos(n * 1_000_000);
            codel.enqueue(
                now,
                1500,
                QueuedPacket { since: now, size: 1500, packet: n, ..QueuedPacket::default() },
                &mut dropped,
            );
            if n >= 25 {
                let _ = codel.dequeue(now, &mut dropped);
                for _ in dropped.drain(..) {
                    drops.push(n);
                    // A new packet replaces the dropped one, so that the queue keeps its length.
                    codel.enqueue(
                        now,
                        1500,
                        QueuedPacket { since: now, size: 1500, packet: n, ..QueuedPacket::default() },
                        &mut Vec::new(),
                    );
                }
            }
        }
        assert_eq!(drops[..4], [125, 225, 296, 354]);
    }

    /// With one MTU or less behind the packet no packet is dropped, independent of its sojourn time (RFC 8289, §5.4).
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut codel = Codel::new(CONFIG, Limit::Unlimited);
        let mut dropped = Vec::new();
        for n in 0..50u64 {
            let now = Time::from_nanos(n * 200_000_000);
            codel.enqueue(
                now,
                0,
                QueuedPacket { since: now, size: 1500, packet: n, ..QueuedPacket::default() },
                &mut dropped,
            );
            assert!(codel.dequeue(now + Duration::from_millis(150), &mut dropped).is_some());
        }
        assert!(dropped.is_empty());
    }

    #[test]
    fn an_ecn_capable_packet_is_marked_instead_of_dropped() {
        let mut codel = Codel::new(Config { ecn: true, ..CONFIG }, Limit::Unlimited);
        let mut dropped = Vec::new();
        let mut marks = 0;
        for n in 0..1_000u64 {
            let now = Time::from_nanos(n * 1_000_000);
            let one =
                QueuedPacket { since: now, size: 1500, ecn: Codepoint::Classic, packet: n, ..QueuedPacket::default() };
            codel.enqueue(now, 1500, one, &mut dropped);
            if n >= 25 {
                marks += u64::from(codel.dequeue(now, &mut dropped).expect("a standing queue").marked);
            }
        }
        assert!(dropped.is_empty());
        assert!(marks > 5, "{marks}");
    }

    /// By hand: of ten packets of 1500 bytes at 10 Mbit/s, packet k waits 1.2 (k - 1) ms, so that with a threshold of 1 ms all but
    /// the first are marked. With `ce_threshold_ect1` those with ECT(0) are not; packets without ECN never are.
    #[test]
    fn packets_above_the_threshold_are_marked() {
        let marks = |ecn: Codepoint, ce_threshold_ect1: bool| {
            let ce_threshold = Some(Duration::from_millis(1));
            let mut codel = Codel::new(Config { ce_threshold, ce_threshold_ect1, ..CONFIG }, Limit::Unlimited);
            let packet = |n| QueuedPacket { size: 1500, ecn, packet: n, ..QueuedPacket::default() };
            (0..10u64).for_each(|n| codel.enqueue(Time::ZERO, 0, packet(n), &mut Vec::new()));
            let at = |n: u64| Time::from_nanos(1_200_000 * n);
            (0..10).filter(|n| codel.dequeue(at(*n), &mut Vec::new()).is_some_and(|one| one.marked)).collect::<Vec<_>>()
        };
        let others: Vec<u64> = (1..10).collect();
        assert_eq!(marks(Codepoint::Scalable, false), others);
        assert_eq!(marks(Codepoint::Scalable, true), others);
        assert_eq!(marks(Codepoint::Classic, false), others);
        assert!(marks(Codepoint::Classic, true).is_empty());
        assert!(marks(Codepoint::NotCapable, false).is_empty());
    }
}
