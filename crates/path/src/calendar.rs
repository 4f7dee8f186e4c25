//! Packets on the way from endpoints to shared links, by time: a calendar queue (R. Brown, "Calendar queues: a fast O(1)
//! priority queue implementation for the simulation event set problem", 1988).
//!
//! With thousands of flows each packet is on the wire of a link of its own, and that wire is no longer in the cache when the
//! packet arrives. Endpoints that run ahead of the clock send long before their packets arrive. A calendar takes them in the
//! order in which they are sent, each into the day of its arrival, and sorts a day when the clock reaches it: packets are
//! written and read in the order of their addresses.

use std::ops::{Range, RangeInclusive};

use cwndlab_units::{Duration, LinkId, Time};

use crate::packet::Packet;
use crate::ties::Ties;
use crate::year::Year;

/// The binary logarithm of the length of a day, ns. A longer day has more packets than fit into the first cache of the
/// processor, a shorter one only few.
const LENGTHS: RangeInclusive<u32> = 10..=17;
/// An interval with more packets is not sorted by insertion.
const LONG_INTERVAL: usize = 32;

/// Packets, each with the number of the hop that it reaches.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    pub(crate) packets: Vec<Packet>,
    pub(crate) hops: Vec<u32>,
}

impl Bundle {
    #[inline]
    pub(crate) fn push(&mut self, hop: usize, packet: &Packet) {
        self.packets.push(*packet);
        self.hops.push(hop as u32);
    }

    /// Removes all packets.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.hops.clear();
    }

    /// Sorts a few packets, which are nearly in order.
    #[inline]
    fn insert_in_order(&mut self, range: Range<usize>, link: &impl Fn(u32) -> LinkId) {
        let Self { packets, hops } = self;
        for end in range.start + 1..range.end {
            let mut at = end;
            while at > range.start && precedes((&packets[at], hops[at]), (&packets[at - 1], hops[at - 1]), link) {
                packets.swap(at, at - 1);
                hops.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    /// Sorts many packets, as where all flows start at the same time.
    #[cold]
    fn sort(&mut self, range: Range<usize>, link: &impl Fn(u32) -> LinkId) {
        let key = |place: usize| {
            let at = self.packets[place].at;
            (at, Ties::of_link(at, link(self.hops[place])), place)
        };
        let mut order: Vec<_> = range.clone().map(key).collect();
        order.sort_unstable();
        let sorted: Vec<_> = order.iter().map(|&(.., place)| (self.packets[place], self.hops[place])).collect();
        for (place, one) in range.zip(sorted) {
            (self.packets[place], self.hops[place]) = one;
        }
    }
}

/// How packets of endpoints get to shared links.
#[derive(Debug, Default)]
pub(crate) enum Approach {
    /// On the wires of their links.
    #[default]
    Wires,
    /// Sorted by time.
    Calendar(Box<Calendar>),
    /// In another part of a [divided network](crate::division), which receives these.
    Elsewhere(Bundle),
}

impl Approach {
    /// The calendar.
    #[inline]
    pub(crate) fn calendar(&self) -> Option<&Calendar> {
        match self {
            Self::Calendar(calendar) => Some(calendar),
            _ => None,
        }
    }

    /// The calendar, to be changed.
    #[inline]
    pub(crate) fn calendar_mut(&mut self) -> Option<&mut Calendar> {
        match self {
            Self::Calendar(calendar) => Some(calendar),
            _ => None,
        }
    }
}

/// The packets, by the day of their arrival.
#[derive(Debug)]
pub(crate) struct Calendar {
    year: Year<Bundle>,
    /// The packets of the present day, in order.
    present: Bundle,
    /// The next one of these.
    next: usize,
    /// Arrival of the next packet of the present day; after the last one the beginning of the next day with packets, or
    /// `Time::MAX`.
    next_time: Time,
    /// Memory for sorting.
    places: Vec<u32>,
}

impl Calendar {
    /// An empty calendar for packets that arrive `delay` after they are sent, or later. Where a day is shorter than `delay`,
    /// they never arrive on the day on which they are sent.
    pub(crate) fn new(delay: Duration) -> Self {
        let length = delay.as_nanos().max(1).ilog2().clamp(*LENGTHS.start(), *LENGTHS.end());
        Self { year: Year::new(length), present: Bundle::default(), next: 0, next_time: Time::MAX, places: Vec::new() }
    }

    /// No packet arrives before this time.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next_time
    }

    /// Whether the present day is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.next == self.present.hops.len()
    }

    /// Adds a packet that reaches the hop `hop` at `packet.at`. Returns whether the calendar takes it: it does not if the
    /// day of its arrival has begun.
    #[inline]
    pub(crate) fn add(&mut self, hop: usize, packet: &Packet) -> bool {
        let Some((day, was_empty)) = self.year.day(packet.at) else { return false };
        day.push(hop, packet);
        if was_empty && self.is_over() {
            self.next_time = self.next_day();
        }
        true
    }

    /// Begins the next day with packets, after the present one is over. `link` is the link before a hop.
    #[inline(never)]
    pub(crate) fn begin_day(&mut self, link: impl Fn(u32) -> LinkId) {
        let Some(number) = self.year.first() else { return };
        let mut day = self.year.begin(number);
        self.sort(&day, link);
        day.clear();
        self.year.recycle(day);
        self.next = 0;
        self.next_time = self.present.packets[0].at;
    }

    /// Writes the packets of `day` to `present`, in the order of their arrival: by time, and those of one time by the hashes
    /// and numbers of their links, as on wires. Those of one link at one time keep their order. The times of a day are
    /// spread, so that as many intervals as packets leave little to sort in each.
    fn sort(&mut self, day: &Bundle, link: impl Fn(u32) -> LinkId) {
        let count = day.hops.len();
        let length = self.year.length();
        let shift = length.saturating_sub(count.ilog2());
        let interval = |packet: &Packet| ((packet.at.as_nanos() & ((1 << length) - 1)) >> shift) as usize;
        self.places.clear();
        self.places.resize((1 << (length - shift)) + 1, 0);
        for packet in &day.packets {
            self.places[interval(packet) + 1] += 1;
        }
        let mut sum = 0;
        for place in &mut self.places {
            sum += *place;
            *place = sum;
        }
        self.present.packets.resize(count, Packet::default());
        self.present.hops.resize(count, 0);
        for (packet, &hop) in day.packets.iter().zip(&day.hops) {
            let place = &mut self.places[interval(packet)];
            (self.present.packets[*place as usize], self.present.hops[*place as usize]) = (*packet, hop);
            *place += 1;
        }
        let mut begin = 0;
        for &end in &self.places {
            let end = end as usize;
            if end - begin > LONG_INTERVAL {
                self.present.sort(begin..end, &link);
            } else {
                self.present.insert_in_order(begin..end, &link);
            }
            begin = end;
        }
    }

    /// The hop that the next packet of the present day reaches.
    #[inline]
    pub(crate) fn next_hop(&self) -> Option<u32> {
        self.present.hops.get(self.next).copied()
    }

    /// The hop that a packet of the present day reaches which is several places later.
    #[inline]
    pub(crate) fn later_hop(&self) -> Option<u32> {
        self.present.hops.get(self.next + 8).copied()
    }

    /// Removes the next packet of the present day and writes it to `packet`; returns the hop that it reaches.
    #[inline]
    pub(crate) fn take(&mut self, packet: &mut Packet) -> usize {
        let hop = self.present.hops[self.next];
        *packet = self.present.packets[self.next];
        self.next += 1;
        self.next_time = match self.present.packets.get(self.next) {
            Some(next) => next.at,
            None => self.next_day(),
        };
        hop as usize
    }

    /// The beginning of the first day with packets after the present one; `Time::MAX` if there is none.
    #[cold]
    fn next_day(&self) -> Time {
        self.year.first().map_or(Time::MAX, |number| self.year.beginning(number))
    }

    /// Removes all packets, in the order of their days; calls `visit` with each and with the hop that it reaches.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(u32, Packet)) {
        let Bundle { packets, hops } = std::mem::take(&mut self.present);
        packets.into_iter().zip(hops).skip(self.next).for_each(|(packet, hop)| visit(hop, packet));
        while let Some(number) = self.year.first() {
            let day = self.year.begin(number);
            day.packets.iter().zip(&day.hops).for_each(|(packet, &hop)| visit(hop, *packet));
        }
        (self.next, self.next_time) = (0, Time::MAX);
    }
}

/// Whether a packet arrives before another one that was added before it.
#[inline]
fn precedes(one: (&Packet, u32), other: (&Packet, u32), link: &impl Fn(u32) -> LinkId) -> bool {
    let at = one.0.at;
    if at != other.0.at {
        return at < other.0.at;
    }
    Ties::of_link(at, link(one.1)) < Ties::of_link(at, link(other.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The link before a hop.
    fn link(hop: u32) -> LinkId {
        LinkId::from(hop / 2)
    }

    /// Packets of a thousand links that arrive at the same time.
    #[test]
    fn many_packets_of_one_time_are_sorted() {
        let mut calendar = Calendar::new(Duration::from_nanos(1 << 20));
        let at = Time::from_nanos(1 << 21);
        for hop in 0..2000 {
            assert!(calendar.add(hop, &Packet { at, seq: hop as u32, ..Packet::default() }));
        }
        calendar.begin_day(link);
        let mut expected: Vec<_> = (0..2000).map(|hop| (Ties::of_link(at, link(hop)), hop)).collect();
        expected.sort_unstable();
        for (_, hop) in expected {
            let mut packet = Packet::default();
            assert_eq!((calendar.take(&mut packet), packet.seq), (hop as usize, hop));
        }
    }

    proptest! {
        /// The order is that of a sorted list: by time, hash and number of the link, and by the order of their addition. Packets
        /// are added while others arrive, each a delay after the clock: within a day, within a year, and later.
        #[test]
        fn packets_arrive_in_order(
            delay in prop_oneof![Just(0u64), Just(3000), Just(100_000)],
            steps in prop::collection::vec((0u64..20_000, prop_oneof![0u64..4, 0u64..1 << 30], 0u32..12), 1..300),
        ) {
            let mut calendar = Calendar::new(Duration::from_nanos(delay));
            let mut expected: Vec<(Time, u32, u32, u32)> = Vec::new();
            let mut clock = 0;
            for (serial, (pause, more, hop)) in (0..).zip(steps) {
                clock += pause;
                let until = Time::from_nanos(clock);
                expected.sort_by_key(|one| (one.0, one.1, one.2));
                while calendar.next_time() <= until {
                    if calendar.is_over() {
                        calendar.begin_day(link);
                        continue;
                    }
                    let (at, .., serial) = expected.remove(0);
                    prop_assert_eq!(calendar.next_time(), at);
                    let mut packet = Packet::default();
                    calendar.take(&mut packet);
                    prop_assert_eq!((packet.at, packet.seq), (at, serial));
                }
                prop_assert!(expected.first().is_none_or(|one| one.0 > until));
                let at = Time::from_nanos(clock + delay + more);
                let packet = Packet { at, seq: serial, ..Packet::default() };
                if calendar.add(hop as usize, &packet) {
                    let link = u32::from(link(hop));
                    expected.push((at, Ties::hash(at, link), link, serial));
                } else {
                    prop_assert!(delay < 2048, "a packet never arrives on the day on which it is sent");
                }
            }
            let mut rest = Vec::new();
            calendar.drain(|hop, packet| rest.push((packet.at, Ties::hash(packet.at, u32::from(link(hop))), u32::from(link(hop)), packet.seq)));
            let key = |one: &(Time, u32, u32, u32)| (one.0, one.1, one.2);
            rest.sort_by_key(key);
            expected.sort_by_key(key);
            prop_assert_eq!(rest, expected);
        }
    }
}
