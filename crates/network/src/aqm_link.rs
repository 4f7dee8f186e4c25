//! A link with any queue [`Discipline`], driven by events.
//!
//! The caller schedules one event per link, at the time that [`AqmLink::offer`] or [`AqmLink::wake`] returned last, and
//! calls [`AqmLink::wake`] at that time.

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::aqm::{Discipline, QueuedPacket};
use crate::line::{Departures, Line};

/// The result of an event.
#[derive(Clone, Copy, Debug)]
pub struct Woken<P> {
    /// The packet whose last bit leaves the line now.
    pub sent: Option<QueuedPacket<P>>,
    /// Time of the next event; `None` while the queue is empty and the line idle.
    pub next: Option<Time>,
}

/// State of the line.
#[derive(Clone, Copy, Debug)]
enum Work<P> {
    Idle,
    /// The packet in service, and the departure time of its last bit.
    Sending(QueuedPacket<P>, Time),
    /// A shaper withholds the next packet until this time.
    Withheld(Time),
}

/// A queue and its line.
#[derive(Debug)]
pub struct AqmLink<P> {
    queue: Box<dyn Discipline<P>>,
    line: Line,
    departures: Departures,
    /// Mean rate of the line.
    rate: Rate,
    work: Work<P>,
    /// Packets offered.
    pub offered: u64,
    /// Packets that the discipline dropped.
    pub dropped: u64,
    /// Packets sent with a mark.
    pub marked: u64,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Maximum length of the queue, packets.
    pub max_queue_length: u64,
    counted: Time,
    packet_ns: u128,
    byte_ns: u128,
}

impl<P: Copy> AqmLink<P> {
    /// An idle line, whose mean rate is `rate`.
    #[must_use]
    pub fn new(queue: Box<dyn Discipline<P>>, line: Line, rate: Rate) -> Self {
        Self {
            queue,
            line,
            departures: Departures::default(),
            rate,
            work: Work::Idle,
            offered: 0,
            dropped: 0,
            marked: 0,
            sent: 0,
            sent_bytes: 0,
            max_queue_length: 0,
            counted: Time::ZERO,
            packet_ns: 0,
            byte_ns: 0,
        }
    }

    /// Enqueues a packet, and appends the packets that are dropped to `dropped`. Returns the time of the next
    /// [`wake`](Self::wake) if none was scheduled.
    pub fn offer(&mut self, now: Time, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) -> Option<Time> {
        self.count(now);
        self.offered += 1;
        let before = dropped.len();
        let serving = self.serving();
        self.queue.enqueue(now, serving, one, dropped);
        let next = if matches!(self.work, Work::Idle) { self.begin(now, dropped) } else { None };
        self.dropped += (dropped.len() - before) as u64;
        self.max_queue_length = self.max_queue_length.max(self.queue.backlog().0);
        next
    }

    /// Processes the scheduled event.
    pub fn wake(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Woken<P> {
        self.count(now);
        let sent = match self.work {
            Work::Sending(one, at) if at <= now => {
                self.work = Work::Idle;
                self.sent += 1;
                self.sent_bytes += u64::from(one.size);
                self.marked += u64::from(one.marked);
                Some(one)
            }
            Work::Sending(_, at) => return Woken { sent: None, next: Some(at) },
            Work::Withheld(_) => {
                self.work = Work::Idle;
                None
            }
            Work::Idle => None,
        };
        let before = dropped.len();
        let next = self.begin(now, dropped);
        self.dropped += (dropped.len() - before) as u64;
        Woken { sent, next }
    }

    fn begin(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<Time> {
        let Some(one) = self.queue.dequeue(now, dropped) else {
            let at = self.queue.next_release()?;
            self.work = Work::Withheld(at);
            return Some(at);
        };
        if one.since == now {
            self.line.arrive(now);
        }
        let at = self.line.serve(&mut self.departures, now, one.size);
        self.work = Work::Sending(one, at);
        Some(at)
    }

    fn count(&mut self, now: Time) {
        let (packets, bytes) = self.queue.backlog();
        let span = now.saturating_since(self.counted).as_nanos();
        self.packet_ns += u128::from(packets) * u128::from(span);
        self.byte_ns += u128::from(bytes) * u128::from(span);
        self.counted = now;
    }

    /// Size of the packet in service, bytes; 0 if the line is idle.
    #[must_use]
    pub fn serving(&self) -> u32 {
        match self.work {
            Work::Sending(one, _) => one.size,
            Work::Withheld(_) | Work::Idle => 0,
        }
    }

    /// Packets and bytes in the queue.
    #[must_use]
    pub fn backlog(&self) -> (u64, u64) {
        self.queue.backlog()
    }

    /// Time for which the oldest packet of the queue has waited; 0 for an empty queue.
    #[must_use]
    pub fn age(&self, now: Time) -> Duration {
        self.queue.oldest().map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    /// Carriable bytes of the line until `now`; `None` for an unlimited rate.
    #[must_use]
    pub fn offered_bytes(&self, now: Time) -> Option<u64> {
        self.line.offered(now)
    }

    /// Time that the line needs for the packet in service and, at its present rate, for the queue; at its mean rate in an outage.
    #[must_use]
    pub fn backlog_time(&self, now: Time) -> Duration {
        let rest = match self.work {
            Work::Sending(_, at) | Work::Withheld(at) => at.saturating_since(now),
            Work::Idle => Duration::ZERO,
        };
        let present = self.line.present_rate(now).map_or(self.rate, |rate| Rate(rate as u64));
        let rate = if present.0 > 0 { present } else { self.rate };
        rest + rate.time_for_backlog(Bytes(self.queue.backlog().1))
    }

    /// The exact integrals of the queue length until `now`, in packet-nanoseconds and byte-nanoseconds.
    pub fn integrals(&mut self, now: Time) -> (u128, u128) {
        self.count(now);
        (self.packet_ns, self.byte_ns)
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.queue.memory() + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Fifo;
    use crate::line::Opportunities;
    use crate::link::tests::config;
    use crate::link::{Link, LinkConfig, Offer, Outcome};
    use crate::queue::Limit;
    use crate::random::{Purpose, Stream};
    use proptest::prelude::*;

    proptest! {
        /// Compared with [`Link`]: drops, departures and integrals.
        #[test]
        fn with_drop_tail_it_equals_the_computed_link(
            gaps in prop::collection::vec((0u64..3_000_000, 40u32..1500), 1..300),
            limit in 1u64..20,
            counts in any::<bool>(),
        ) {
            let mut link = Link::new(LinkConfig {
                line: Line::Fixed(Rate(10_000_000)), delay: Duration::from_nanos(0), limit: Limit::Packets(limit), counts_in_service: counts,
                mark_above: None, losses: Vec::new(), changes: None, harq: None, jitter: None, wifi_jitter: None, duplicate: 0.0, ecn: None, stream: Stream::new(1, Purpose::Loss, 1),
            });
            let mut aqm_link = AqmLink::new(Box::new(Fifo::new(Limit::Packets(limit), counts)), Line::Fixed(Rate(10_000_000)), Rate(10_000_000));
            let mut now = Time::ZERO;
            let mut next = None;
            let mut expected = Vec::new();
            let mut left = Vec::new();
            let mut dropped = Vec::new();
            for (number, &(gap, size)) in gaps.iter().enumerate() {
                now += Duration::from_nanos(gap);
                while let Some(at) = next.filter(|&at| at <= now) {
                    let woken = aqm_link.wake(at, &mut dropped);
                    left.extend(woken.sent.map(|one| (one.packet, at)));
                    next = woken.next;
                }
                let one = QueuedPacket { since: now, size, packet: number, ..QueuedPacket::default() };
                next = aqm_link.offer(now, one, &mut dropped).or(next);
                if let Outcome::Arrives { departure, .. } = link.offer(now, Offer { size, ect: false, payload: true }) {
                    expected.push((number, departure));
                }
            }
            let integrals = (link.integrals(now), aqm_link.integrals(now));
            prop_assert_eq!(integrals.0, integrals.1);
            while let Some(at) = next {
                let woken = aqm_link.wake(at, &mut dropped);
                left.extend(woken.sent.map(|one| (one.packet, at)));
                next = woken.next;
            }
            prop_assert_eq!(left, expected);
            prop_assert_eq!(aqm_link.dropped, link.totals().dropped);
            prop_assert_eq!(aqm_link.sent_bytes, link.totals().accepted_bytes);
        }
    }

    /// By hand, with an opportunity for 1500 bytes at every multiple of 10 ms: 750 bytes of 5 ms leave at 10 ms. Others that
    /// arrive at 10 ms miss that opportunity, and share the next; a packet that waits uses a rest.
    #[test]
    fn a_packet_misses_the_rest_of_an_opportunity_at_its_arrival() {
        let line = || Line::Opportunities(Box::new(Opportunities::new([10].as_slice().into(), 1500, Duration::ZERO)));
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let arrivals = [5, 10, 10, 21, 22].map(ms);
        let expected = [10, 20, 20, 30, 30].map(ms);
        let mut link = Link::new(LinkConfig { line: line(), ..config(0, 0, Limit::Packets(9)) });
        let left = arrivals.map(|now| match link.offer(now, Offer { size: 750, ect: false, payload: true }) {
            Outcome::Arrives { departure, .. } => departure,
            other => panic!("{other:?}"),
        });
        assert_eq!(left, expected);
        for wakes_first in [true, false] {
            let mut aqm_link = AqmLink::new(Box::new(Fifo::new(Limit::Packets(9), false)), line(), Rate(1_200_000));
            let (mut next, mut left) = (None, Vec::new());
            let mut wake = |aqm_link: &mut AqmLink<u32>, next: &mut Option<Time>, until: Time| {
                while let Some(at) = next.filter(|&at| at < until) {
                    let woken = aqm_link.wake(at, &mut Vec::new());
                    left.extend(woken.sent.map(|_| at));
                    *next = woken.next;
                }
            };
            for now in arrivals {
                wake(&mut aqm_link, &mut next, if wakes_first { now + Duration::from_nanos(1) } else { now });
                let one = QueuedPacket { since: now, size: 750, packet: 0u32, ..QueuedPacket::default() };
                next = aqm_link.offer(now, one, &mut Vec::new()).or(next);
            }
            wake(&mut aqm_link, &mut next, ms(100));
            assert_eq!(left, expected);
        }
    }
}
