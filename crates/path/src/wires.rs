//! Packets between the end of a link's line and the end of its wire: each arrival is an event.
//!
//! Arrivals are by far the most events, and nearly all of them lie a propagation delay ahead. So they are kept in a calendar
//! queue (R. Brown, "Calendar queues", 1988): time is divided into slots of equal length, and each slot has a list of its
//! packets in the order of their arrival. Nearly every packet is the last one of its slot, or alone in it, so that adding
//! it costs the same however many are under way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::{Duration, Time};

use crate::packet::Packet;
use crate::ties::Ties;

/// The shortest slot, as a power of two in ns: 1 µs.
const SHORTEST: u32 = 10;
/// The first calendar has so many slots.
const FEWEST: usize = 256;
/// The calendar gets more slots with the packets under way, so many for each; and up to [`MOST`] where lists are long.
const SLOTS_PER_PACKET: usize = 2;
const MOST: usize = 1 << 16;
/// Packets that are not the last ones of their lists, after which the length of lists is looked at.
const LOOK_AFTER: u32 = 1024;
/// Lists are long if such a packet goes past so many others.
const LONG: u64 = 4;
/// Where a packet would have to go past more others, its list is sorted when its turn comes, or it joins the crowd.
const MOST_PASSED: u64 = 32;
/// So many times the longest propagation delay fits into the calendar. Beyond it lie packets that wait long for their line.
const DELAYS: u64 = 8;
/// Bits of a word of the map of slots.
const WORD: usize = u64::BITS as usize;

/// In place of a packet's place: none.
const NONE: u32 = u32::MAX;
/// In place of the current slot: no packet is under way.
const IDLE: u64 = 1 << 63;

/// By what arrivals are ordered: time, rank and link. Packets of one link that arrive at one time come as they were added.
type Key = (Time, u32, u32);

/// A place for a packet: a cache line.
#[derive(Clone, Copy, Debug)]
struct Place {
    packet: Packet,
    /// The link whose wire it is on.
    link: u32,
    /// The place behind this one in its list: of its slot, or of the free places.
    next: u32,
}

const _: () = assert!(size_of::<Place>() == 64);

/// The packets of a slot: a list of places.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// [`NONE`] without packets; with the bit [`UNSORTED`] if they are in the order in which they were added.
    first: u32,
    last: u32,
}

const UNSORTED: u32 = 1 << 31;
const EMPTY: Slot = Slot { first: NONE, last: NONE };

/// The slots that lie ahead, in a ring.
#[derive(Debug)]
struct Calendar {
    slots: Vec<Slot>,
    /// By slot, a bit: it has packets.
    occupied: Vec<u64>,
}

impl Calendar {
    /// So many empty slots, a power of two.
    fn new(slots: usize) -> Self {
        Self { slots: vec![EMPTY; slots], occupied: vec![0; slots / WORD] }
    }

    fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The index of a slot.
    #[inline]
    fn index(&self, slot: u64) -> usize {
        slot as usize & (self.slots.len() - 1)
    }

    /// Notes that a slot has packets.
    #[inline]
    fn occupy(&mut self, index: usize) {
        self.occupied[index / WORD] |= 1 << (index % WORD);
    }

    /// Empties a slot; returns its packets.
    #[inline]
    fn empty(&mut self, slot: u64) -> Slot {
        let index = self.index(slot);
        self.occupied[index / WORD] &= !(1 << (index % WORD));
        std::mem::replace(&mut self.slots[index], EMPTY)
    }

    /// The first slot with packets behind `slot`, which has none.
    #[inline]
    fn next_after(&self, slot: u64) -> Option<u64> {
        let from = slot + 1;
        let first = self.index(from);
        let bits = self.occupied[first / WORD] >> (first % WORD);
        if bits != 0 {
            return Some(from + u64::from(bits.trailing_zeros()));
        }
        self.next_word(from - (first % WORD) as u64)
    }

    /// The same behind the word that begins with the slot `from`, and at last in that word, a turn later.
    fn next_word(&self, from: u64) -> Option<u64> {
        let words = self.occupied.len();
        let first = from as usize / WORD;
        (1..=words).find_map(|ahead| {
            let bits = self.occupied[(first + ahead) & (words - 1)];
            (bits != 0).then(|| from + (ahead * WORD) as u64 + u64::from(bits.trailing_zeros()))
        })
    }
}

/// The packets on all wires.
#[derive(Debug)]
pub(crate) struct Wires {
    /// When the next packet arrives; `Time::MAX` if none is under way.
    next_time: Time,
    /// The packets of the current slot and of those before it, the next one first.
    present: Slot,
    /// The place that became free last: the one that is most likely still in the cache.
    free: u32,
    /// Only some have a packet.
    places: Vec<Place>,
    /// Length of a slot: this power of two, ns.
    shift: u32,
    /// The packets up to this slot are in `present`, those of all but one of the slots behind it in the calendar,
    /// and those behind in `later`; or [`IDLE`].
    current: u64,
    calendar: Calendar,
    /// Packets that belong into `present` and would have gone past too many, with serial numbers. While
    /// there are any, others join them.
    crowd: BinaryHeap<Reverse<(Key, u64, u32)>>,
    /// Arrivals behind the last slot of the calendar, with serial numbers: those of one time stay in order.
    later: BinaryHeap<Reverse<(Time, u64, u32)>>,
    serial: u64,
    /// Packets that were not the last ones of their lists, and how many others they went past.
    inserted: (u32, u64),
    ties: Ties,
}

impl Wires {
    /// Empty wires; so long is the longest propagation delay.
    pub(crate) fn new(longest: Duration, ties: Ties) -> Self {
        let slot = longest.0.saturating_mul(DELAYS).div_ceil(FEWEST as u64);
        Self {
            next_time: Time::MAX,
            present: EMPTY,
            free: NONE,
            places: Vec::new(),
            shift: slot.next_power_of_two().trailing_zeros().max(SHORTEST),
            current: IDLE,
            calendar: Calendar::new(FEWEST),
            crowd: BinaryHeap::new(),
            later: BinaryHeap::new(),
            serial: 0,
            inserted: (0, 0),
            ties,
        }
    }

    /// The rank of a source of events among those due at `time`.
    pub(crate) fn rank(&self, time: Time, source: u32) -> u32 {
        self.ties.rank(time, source)
    }

    /// When the next packet arrives; `Time::MAX` if none is under way.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next_time
    }

    /// Adds a packet, which the caller writes, to the wire of `link`; it arrives at `at`.
    #[allow(clippy::inline_always)] // as a call it would keep the packet in memory meanwhile
    #[inline(always)]
    pub(crate) fn add(&mut self, link: u32, at: Time) -> &mut Packet {
        if self.free == NONE {
            self.grow();
        }
        let place = self.free;
        let entry = &mut self.places[place as usize];
        self.free = entry.next;
        (entry.packet.at, entry.link, entry.next) = (at, link, NONE);
        let slot = at.0 >> self.shift;
        if slot.wrapping_sub(self.current).wrapping_sub(1) < self.calendar.len() - 1 {
            self.put(slot, at, place);
        } else {
            self.add_beside(at, place);
        }
        &mut self.places[place as usize].packet
    }

    /// Puts a packet into the calendar.
    #[allow(clippy::inline_always)] // as `add`
    #[inline(always)]
    fn put(&mut self, slot: u64, at: Time, place: u32) {
        let index = self.calendar.index(slot);
        let Slot { first, last } = self.calendar.slots[index];
        if first == NONE {
            self.calendar.slots[index] = Slot { first: place, last: place };
            self.calendar.occupy(index);
            return;
        }
        let before = &mut self.places[last as usize];
        if before.packet.at < at {
            before.next = place;
            self.calendar.slots[index].last = place;
        } else {
            self.insert(index, at, place);
        }
    }

    /// Takes the next packet, whose arrival is the event of now; returns the link, too.
    #[inline]
    pub(crate) fn take(&mut self) -> (Packet, u32) {
        if !self.crowd.is_empty() {
            return self.take_beside_crowd();
        }
        let place = self.present.first;
        let entry = &mut self.places[place as usize];
        let Place { packet, link, next } = *entry;
        entry.next = self.free;
        self.free = place;
        self.present.first = next;
        match self.places.get(next as usize) {
            Some(next) => self.next_time = next.packet.at,
            None => self.turn_page(),
        }
        (packet, link)
    }

    /// The same while there is a crowd. Of equals those in `present` were added first.
    #[cold]
    fn take_beside_crowd(&mut self) -> (Packet, u32) {
        let first = self.places.get(self.present.first as usize);
        let key = first.map_or((Time::MAX, 0, 0), |one| self.key(one.packet.at, one.link));
        let mut place = self.present.first;
        match self.crowd.peek() {
            Some(&Reverse((crowded, _, other))) if crowded < key => {
                place = other;
                self.crowd.pop();
            }
            _ => self.present.first = self.places[place as usize].next,
        }
        let entry = &mut self.places[place as usize];
        let Place { packet, link, .. } = *entry;
        entry.next = self.free;
        self.free = place;
        let crowd = self.crowd.peek().map(|&Reverse(((at, ..), ..))| at);
        let present = self.places.get(self.present.first as usize).map(|one| one.packet.at);
        match crowd.into_iter().chain(present).min() {
            Some(next) => self.next_time = next,
            None => self.turn_page(),
        }
        (packet, link)
    }

    fn key(&self, at: Time, link: u32) -> Key {
        (at, self.ties.rank(at, link), link)
    }

    /// The arrival at `at` of the packet at `place` comes before that of another one.
    fn is_before(&self, at: Time, place: u32, other: u32) -> bool {
        let [place, other] = [place, other].map(|place| &self.places[place as usize]);
        if at == other.packet.at {
            return self.key(at, place.link) < self.key(at, other.link);
        }
        at < other.packet.at
    }

    /// Puts a packet into a sorted list where it belongs. `None`, and nothing is done, if it would go past too many others.
    fn insert_into(&mut self, list: Slot, at: Time, place: u32) -> Option<Slot> {
        let Slot { first, last } = list;
        if !self.is_before(at, place, last) {
            return Some(self.append(list, place));
        }
        let (mut before, mut next, mut passed) = (NONE, first, 0);
        while !self.is_before(at, place, next) {
            before = next;
            next = self.places[next as usize].next;
            passed += 1;
            if passed > MOST_PASSED {
                return None;
            }
        }
        self.inserted.0 += 1;
        self.inserted.1 += passed;
        self.places[place as usize].next = next;
        if before == NONE {
            return Some(Slot { first: place, last });
        }
        self.places[before as usize].next = place;
        Some(list)
    }

    /// Puts a packet at the end of a list.
    fn append(&mut self, list: Slot, place: u32) -> Slot {
        self.places[list.last as usize].next = place;
        Slot { last: place, ..list }
    }

    /// Adds a packet to a slot whose last one does not arrive before it.
    #[cold]
    fn insert(&mut self, index: usize, at: Time, place: u32) {
        let mut list = self.calendar.slots[index];
        if list.first & UNSORTED == 0 {
            if let Some(list) = self.insert_into(list, at, place) {
                self.calendar.slots[index] = list;
                return;
            }
            list.first |= UNSORTED;
        }
        self.calendar.slots[index] = self.append(list, place);
    }

    /// Makes the slots shorter if lists are long.
    #[cold]
    fn look_at_lists(&mut self) {
        let (packets, passed) = std::mem::take(&mut self.inserted);
        if passed > LONG * u64::from(packets) && self.can_halve_slots() {
            self.halve_slots();
        }
    }

    /// Sorts the packets of a slot, which are in the order in which they were added.
    #[cold]
    fn sort(&mut self, list: Slot) -> Slot {
        let mut places = Vec::new();
        let mut place = list.first & !UNSORTED;
        while place != NONE {
            places.push(place);
            place = self.places[place as usize].next;
        }
        places.sort_by_cached_key(|&place| {
            let Place { packet, link, .. } = self.places[place as usize];
            self.key(packet.at, link)
        });
        let behind = places.iter().skip(1).copied().chain([NONE]);
        for (&place, next) in places.iter().zip(behind) {
            self.places[place as usize].next = next;
        }
        Slot { first: places[0], last: places[places.len() - 1] }
    }

    /// Adds a packet that does not belong into the calendar.
    #[cold]
    fn add_beside(&mut self, at: Time, place: u32) {
        let slot = at.0 >> self.shift;
        if self.current == IDLE {
            self.current = slot;
        }
        if slot > self.current {
            self.serial += 1;
            self.later.push(Reverse((at, self.serial, place)));
            return;
        }
        self.next_time = self.next_time.min(at);
        if self.present.first == NONE && self.crowd.is_empty() {
            self.present = Slot { first: place, last: place };
            return;
        }
        if self.crowd.is_empty() {
            if let Some(list) = self.insert_into(self.present, at, place) {
                self.present = list;
                return;
            }
        }
        let key = self.key(at, self.places[place as usize].link);
        self.serial += 1;
        self.crowd.push(Reverse((key, self.serial, place)));
    }

    /// The packets of the next slot are the next ones.
    fn turn_page(&mut self) {
        let far = self.later.peek().map(|&Reverse((at, ..))| at.0 >> self.shift);
        let Some(next) = self.calendar.next_after(self.current).or(far) else {
            (self.current, self.next_time) = (IDLE, Time::MAX);
            return;
        };
        self.current = next;
        if far.is_some() {
            self.fetch_later();
        }
        self.present = self.calendar.empty(next);
        if self.present.first & UNSORTED != 0 {
            self.present = self.sort(self.present);
        }
        self.next_time = self.places[self.present.first as usize].packet.at;
        if self.inserted.0 >= LOOK_AFTER {
            self.look_at_lists();
        }
    }

    /// Puts those into the calendar that lie in its slots by now.
    #[cold]
    fn fetch_later(&mut self) {
        while let Some(&Reverse((at, _, place))) = self.later.peek() {
            let slot = at.0 >> self.shift;
            if slot - self.current >= self.calendar.len() {
                break;
            }
            self.later.pop();
            self.put(slot, at, place);
        }
    }

    /// Adds free places, and slots if there are too few.
    #[cold]
    fn grow(&mut self) {
        let (first, more) = (self.places.len() as u32, 16 + self.places.len() as u32 / 2);
        let behind = |place: u32| if place + 1 < first + more { place + 1 } else { NONE };
        let free = |place| Place { packet: Packet::default(), link: 0, next: behind(place) };
        self.places.extend((first..first + more).map(free));
        self.free = first;
        while self.calendar.slots.len() < SLOTS_PER_PACKET * self.places.len() && self.can_halve_slots() {
            self.halve_slots();
        }
    }

    fn can_halve_slots(&self) -> bool {
        self.calendar.slots.len() < MOST && self.shift > SHORTEST
    }

    /// Puts twice as many slots of half the length in place of the present ones.
    fn halve_slots(&mut self) {
        let mut before = Calendar::new(2 * self.calendar.slots.len());
        std::mem::swap(&mut before, &mut self.calendar);
        self.shift -= 1;
        if self.current == IDLE {
            return;
        }
        let past = self.current;
        self.current = 2 * past + 1;
        for slot in past + 1..past + before.len() {
            let Slot { first, .. } = before.empty(slot);
            let mut place = if first == NONE { NONE } else { first & !UNSORTED };
            while place != NONE {
                let next = std::mem::replace(&mut self.places[place as usize].next, NONE);
                let at = self.places[place as usize].packet.at;
                self.put(at.0 >> self.shift, at, place);
                place = next;
            }
        }
        self.fetch_later();
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
            + self.later.capacity() * size_of::<(Time, u64, u32)>()
            + self.crowd.capacity() * size_of::<(Key, u64, u32)>()
            + self.calendar.slots.len() * size_of::<Slot>()
            + self.calendar.occupied.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINKS: u32 = 3;

    proptest! {
        /// Packets arrive by time, rank and link, and those of a link that arrive at one time in the order in which they
        /// were added; whether the next one lies in the present slot, in the calendar or far behind it.
        #[test]
        fn packets_arrive_in_order(
            steps in prop::collection::vec((0..LINKS, 0u64..4, prop::sample::select(vec![0u32, 8, 10, 14, 20, 21, 22, 30, 50]), 0u32..4), 1..400),
            longest in 0u64..300_000_000,
            shift_by in prop::sample::select(vec![0u32, 0, 12, 64]),
        ) {
            let ties = Ties::new(LINKS as usize, 1);
            let mut wires = Wires::new(Duration(longest), ties);
            let mut model: Vec<(Time, u32, u32, u32)> = Vec::new();
            let mut now = Time::ZERO;
            for (seq, (link, times, shift, taken)) in (0u32..).zip(steps) {
                let at = Time(now.0 + (times << shift.saturating_sub(shift_by)));
                *wires.add(link, at) = Packet { at, seq, ..Packet::default() };
                model.push((at, ties.rank(at, link), link, seq));
                model.sort_unstable();
                for _ in 0..taken.min(model.len() as u32) {
                    let (at, _, link, seq) = model.remove(0);
                    prop_assert_eq!(wires.next_time(), at);
                    let (packet, from) = wires.take();
                    prop_assert_eq!((packet.at, from, packet.seq), (at, link, seq));
                    now = at;
                }
                prop_assert_eq!(wires.next_time(), model.first().map_or(Time::MAX, |one| one.0));
            }
        }
    }

    /// Short delays beside a long one: many packets meet in few slots, which get shorter.
    #[test]
    fn long_lists_shorten_the_slots() {
        let mut wires = Wires::new(Duration(500_000_000), Ties::new(1, 1));
        let (shift, mut random, mut last) = (wires.shift, 1u64, Time::ZERO);
        for round in 0..50_000u32 {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            let at = Time(last.0 + (random >> 33) % 10_000_000);
            *wires.add(0, at) = Packet { at, ..Packet::default() };
            if round >= 100 {
                let (packet, _) = wires.take();
                assert!(packet.at >= last);
                last = packet.at;
            }
        }
        assert!(wires.shift < shift - 2, "{}", wires.shift);
    }

    /// Many packets of many links arrive at one time, behind those that arrive later.
    #[test]
    fn simultaneous_arrivals_take_no_long_walk() {
        let links = 200_000;
        let ties = Ties::new(links as usize, 1);
        let mut wires = Wires::new(Duration(1_000_000), ties);
        for (time, link) in (0..links).map(|link| (1_000_001, link)).chain((0..links).map(|link| (1_000_000, link))) {
            *wires.add(link, Time(time)) = Packet { at: Time(time), seq: link, ..Packet::default() };
        }
        let mut last = None;
        for _ in 0..2 * links {
            let (packet, link) = wires.take();
            let key = Some((packet.at, ties.rank(packet.at, link), link));
            assert!(last < key && packet.seq == link);
            last = key;
        }
    }

    /// A burst on one link at one time, at once and ahead.
    #[test]
    fn a_burst_at_one_time_takes_no_long_walk() {
        let mut wires = Wires::new(Duration(1_000_000), Ties::new(1, 1));
        for at in [Time(5), Time(1_000_000)] {
            for seq in 0..300_000 {
                *wires.add(0, at) = Packet { at, seq, ..Packet::default() };
            }
        }
        for seq in (0..300_000).chain(0..300_000) {
            assert_eq!(wires.take().0.seq, seq);
        }
    }

    /// Packets from beyond the calendar meet in long lists, too.
    #[test]
    fn distant_packets_arrive_in_order() {
        let (links, ties) = (30, Ties::new(30, 1));
        let mut wires = Wires::new(Duration(1_000_000), ties);
        let arrivals: Vec<_> = (0..200).flat_map(|n| (0..links).map(move |link| (Time(1 << 40 | n), link))).collect();
        let mut model: Vec<_> = arrivals.iter().map(|&(at, link)| (at, ties.rank(at, link), link)).collect();
        *wires.add(0, Time(5)) = Packet { at: Time(5), ..Packet::default() };
        for (at, link) in arrivals {
            *wires.add(link, at) = Packet { at, ..Packet::default() };
        }
        assert_eq!(wires.take().0.at, Time(5));
        model.sort_unstable();
        for (at, _, link) in model {
            let (packet, from) = wires.take();
            assert_eq!((packet.at, from), (at, link));
        }
        assert_eq!(wires.next_time(), Time::MAX);
    }

    /// Places are used again.
    #[test]
    fn memory_is_that_of_the_packets_under_way() {
        let mut wires = Wires::new(Duration(1_000_000), Ties::new(1, 1));
        for round in 0..10_000u64 {
            let at = Time(round * 100_000);
            *wires.add(0, at) = Packet { at, ..Packet::default() };
            if round >= 20 {
                wires.take();
            }
        }
        assert!(wires.places.len() < 64, "{}", wires.places.len());
    }
}
