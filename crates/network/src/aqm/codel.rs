//! CoDel: drops when the shortest sojourn time of an interval stays above the target.
//!
//! Source: Nichols, Jacobson, McGregor, Iyengar, "Controlled Delay Active Queue Management", RFC 8289 (2018), §5.
//!
//! ```text
//! above target for a whole interval, more than one MTU waiting -> drop                     (1)
//! next drop at t + interval / sqrt(count)                                                  (2)
//! dropping again within 16 intervals of the last drop's time: count goes on from count - 2  (3)
//! ```
//!
//! Units: ns, bytes. A packet's sojourn ends when the line takes it.

use cwndlab_config::{Faults, Field, Reader, Table};
use cwndlab_units::{maths, Duration, Time};

use super::fifo::Fifo;
use super::{size, Configuration, Discipline, Packet, Place, Waiting};
use crate::queue::Limit;

/// CoDel's entry among the disciplines.
pub static SPEC: Table = Table::new(
    "codel",
    "Controlled delay: drops when the shortest sojourn time of an interval stays above the target (RFC 8289).",
    &[&[
        size::field("1000 packets"),
        Field::duration("target", "5 ms", "sojourn time below which nothing is dropped").above_zero(),
        Field::duration("interval", "100 ms", "sliding window, of the order of the largest usual RTT").above_zero(),
        Field::flag("ecn", false, "marks ECN-capable packets and drops only the others"),
    ]],
)
.class("Codel");

/// Never drop with this many bytes waiting or fewer: one full packet.
const MTU: u64 = 1500;

/// CoDel's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Sojourn time below which nothing is dropped.
    pub target: Duration,
    /// Sliding window, of the order of the largest usual RTT.
    pub interval: Duration,
    /// Mark ECN-capable packets and drop only the others.
    pub ecn: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (target, interval) = (table.duration("target", faults), table.duration("interval", faults));
        let ecn = table.flag("ecn", faults);
        Some(Self { target: target?, interval: interval?, ecn: ecn? })
    }

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Codel::new(*self, place.limit)))
    }
}

/// When to drop; the queue is somebody else's (CoDel's own, or one of FQ-CoDel's many).
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// When the sojourn time will have been above the target for an interval; zero: it is below.
    first_above: Time,
    dropping: bool,
    /// Time of the next drop.
    next: Time,
    /// Drops since dropping began.
    count: u32,
    /// `count` when dropping last began.
    last_count: u32,
}

impl CodelState {
    /// (1) The packet that leaves at `now` after `sojourn`, with `backlog` bytes behind it, may be dropped.
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

    /// (2)
    fn control_law(config: &Config, from: Time, count: u32) -> Time {
        from + Duration((config.interval.0 as f64 / maths::sqrt(f64::from(count))) as u64)
    }

    /// Takes packets from `next` until one may leave; those dropped go to `dropped`. `next` answers a packet and the bytes
    /// that wait behind it.
    pub fn dequeue<P>(
        &mut self,
        config: &Config,
        now: Time,
        dropped: &mut Vec<Waiting<P>>,
        mut next: impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<Waiting<P>> {
        let (one, due) = self.take(config, now, &mut next)?;
        if self.dropping {
            self.keep_dropping(config, now, (one, due), dropped, next)
        } else if due {
            self.begin_dropping(config, now, one, dropped, next)
        } else {
            Some(one)
        }
    }

    /// The packet at the head, and whether it may be dropped (`dodequeue`, RFC 8289, §5.6). An empty queue ends the dropping.
    fn take<P>(
        &mut self,
        config: &Config,
        now: Time,
        next: &mut impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<(Waiting<P>, bool)> {
        let Some((one, behind)) = next() else {
            self.first_above = Time::ZERO;
            self.dropping = false;
            return None;
        };
        let due = self.is_due(config, now, now - one.since, behind);
        Some((one, due))
    }

    /// In the dropping state: drops until the next drop lies ahead or the sojourn time is below the target.
    fn keep_dropping<P>(
        &mut self,
        config: &Config,
        now: Time,
        (mut one, due): (Waiting<P>, bool),
        dropped: &mut Vec<Waiting<P>>,
        mut next: impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<Waiting<P>> {
        self.dropping = due;
        while self.dropping && now >= self.next {
            self.count += 1;
            if config.ecn && one.mark() {
                self.next = Self::control_law(config, self.next, self.count);
                return Some(one);
            }
            dropped.push(one);
            (one, self.dropping) = self.take(config, now, &mut next)?;
            if self.dropping {
                self.next = Self::control_law(config, self.next, self.count);
            }
        }
        Some(one)
    }

    /// Enters the dropping state with a first drop.
    fn begin_dropping<P>(
        &mut self,
        config: &Config,
        now: Time,
        mut one: Waiting<P>,
        dropped: &mut Vec<Waiting<P>>,
        mut next: impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<Waiting<P>> {
        self.dropping = true;
        // (3)
        let delta = self.count.wrapping_sub(self.last_count);
        let recent = now.saturating_since(self.next) < config.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.next = Self::control_law(config, now, self.count);
        if config.ecn && one.mark() {
            return Some(one);
        }
        dropped.push(one);
        Some(self.take(config, now, &mut next)?.0)
    }
}

/// One queue under CoDel.
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
    fn enqueue(&mut self, now: Time, serving: u32, one: Waiting<P>, dropped: &mut Vec<Waiting<P>>) {
        self.queue.enqueue(now, serving, one, dropped);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Waiting<P>>) -> Option<Waiting<P>> {
        let queue = &mut self.queue;
        self.state.dequeue(&self.config, now, dropped, || {
            let one = queue.pop()?;
            Some((one, queue.backlog().1))
        })
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

    const CONFIG: Config =
        Config { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false };

    /// `known-answers.csv`: interval / √count.
    #[test]
    fn drops_come_closer_by_the_square_root_of_their_number() {
        let spacing = |count| CodelState::control_law(&CONFIG, Time::ZERO, count).0 as f64 / 1e6;
        for (count, expected) in [
            (1, 100.0),
            (2, 70.710_678_118_654_75),
            (3, 57.735_026_918_962_58),
            (4, 50.0),
            (10, 31.622_776_601_683_793),
        ] {
            // Whole nanoseconds.
            assert!((spacing(count) - expected).abs() < 1e-6, "{count}: {}", spacing(count));
        }
    }

    /// A queue that stands 20 ms above the target, one packet per ms: the first drop comes after one interval (RFC 8289
    /// §5.5), the others at the control law's spacing, each seen at the next departure.
    #[test]
    fn a_standing_queue_is_dropped_from_at_the_laws_moments() {
        let mut codel = Codel::new(CONFIG, Limit::Unlimited);
        let (mut dropped, mut drops) = (Vec::new(), Vec::new());
        for n in 0..1_000u64 {
            let now = Time(n * 1_000_000);
            codel.enqueue(now, 1500, Waiting { since: now, size: 1500, packet: n, ..Waiting::default() }, &mut dropped);
            if n >= 25 {
                let _ = codel.dequeue(now, &mut dropped);
                for _ in dropped.drain(..) {
                    drops.push(n);
                    // What was dropped is made up for, so that the queue stands.
                    codel.enqueue(
                        now,
                        1500,
                        Waiting { since: now, size: 1500, packet: n, ..Waiting::default() },
                        &mut Vec::new(),
                    );
                }
            }
        }
        assert_eq!(drops[..4], [125, 225, 296, 354]);
    }

    /// With one MTU or less behind the packet nothing is dropped, however long it waited (RFC 8289, §5.4).
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut codel = Codel::new(CONFIG, Limit::Unlimited);
        let mut dropped = Vec::new();
        for n in 0..50u64 {
            let now = Time(n * 200_000_000);
            codel.enqueue(now, 0, Waiting { since: now, size: 1500, packet: n, ..Waiting::default() }, &mut dropped);
            assert!(codel.dequeue(now + Duration::from_millis(150), &mut dropped).is_some());
        }
        assert!(dropped.is_empty());
    }

    #[test]
    fn a_capable_packet_is_marked_in_place_of_dropped() {
        let mut codel = Codel::new(Config { ecn: true, ..CONFIG }, Limit::Unlimited);
        let (mut dropped, mut marks) = (Vec::new(), 0);
        for n in 0..1_000u64 {
            let now = Time(n * 1_000_000);
            let one = Waiting {
                since: now,
                size: 1500,
                ecn: super::super::Codepoint::Classic,
                packet: n,
                ..Waiting::default()
            };
            codel.enqueue(now, 1500, one, &mut dropped);
            if n >= 25 {
                marks += u64::from(codel.dequeue(now, &mut dropped).expect("some wait").marked);
            }
        }
        assert!(dropped.is_empty());
        assert!(marks > 5, "{marks}");
    }
}
