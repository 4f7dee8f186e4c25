//! The event queue of timers and servers: a four-ary heap of (time, source). Packets on wires have a separate event
//! queue (`crates/path/src/arrivals.rs`).
//!
//! The heap holds only the next event of each source, so that its size depends on the network and not on windows. A
//! server that continues replaces the top in place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::{EventSource, Time};

use crate::ties::{Ties, RANK_BITS};

/// From the highest bits: time since the base in ns, rank of the source among simultaneous events ([`Ties`]), source. A
/// single integer needs one comparison.
type Key = u64;

const ARITY: usize = 4;
/// Padding of the last group of children, so that four keys can always be compared.
const EMPTY: Key = Key::MAX;

/// The event queue.
///
/// In addition to rank and source, a key can represent 2⁵⁴ ns divided by the number of sources: 5 hours for 1,000
/// sources, 1 s for 10⁷. `later` holds entries beyond that window. When the heap is empty, the window moves to the
/// first of them. An event before the window, such as the timer of a packet that arrives while all others wait for a
/// distant time, begins a window of its own: the heap is put aside, and taken back when the new one is empty. Every time
/// is therefore exact to the nanosecond for any number of sources.
#[derive(Debug)]
pub struct Agenda {
    /// Entries start at index 3, so that the four children of `i` start at the aligned index `4 (i − 2)`; padded with
    /// `EMPTY`.
    heap: Vec<Key>,
    len: usize,
    /// Time of the top; `Time::MAX` if the queue is empty.
    next: Time,
    /// Bits for a source.
    bits: u32,
    mask: Key,
    /// Start of the window.
    base: Time,
    /// Length of the window, ns: the first time since the base that does not fit into a key, or that lies in the window
    /// last put aside.
    window: u64,
    /// Entries beyond the window.
    later: BinaryHeap<Reverse<(Time, EventSource)>>,
    /// Windows put aside, each before the one below.
    aside: Vec<Aside>,
    ties: Ties,
}

/// A heap that waits while earlier events are processed.
#[derive(Debug)]
struct Aside {
    heap: Vec<Key>,
    len: usize,
    base: Time,
}

/// A heap with fewer entries is not put aside: moving them costs less.
const MIN_ASIDE: usize = 64;

/// Index of the top.
const TOP: usize = 3;

#[inline]
fn children(at: usize) -> usize {
    (at - 2) * ARITY
}

#[inline]
fn parent(at: usize) -> usize {
    at / ARITY + 2
}

impl Agenda {
    /// An empty agenda for `sources` sources; `ties` orders simultaneous events.
    #[must_use]
    pub(crate) fn new(sources: usize, ties: Ties) -> Self {
        let bits = usize::BITS - sources.leading_zeros();
        assert!(bits <= u32::BITS, "a source is a number of 32 bits");
        Self {
            heap: vec![EMPTY; 2 * ARITY],
            len: 0,
            next: Time::MAX,
            bits,
            mask: (1 << bits) - 1,
            base: Time::ZERO,
            window: Self::window_of(bits),
            later: BinaryHeap::new(),
            aside: Vec::new(),
            ties,
        }
    }

    /// The length of a window, ns: one less than would fit, so that no key equals `EMPTY`.
    fn window_of(bits: u32) -> u64 {
        u64::MAX >> (bits + RANK_BITS)
    }

    /// The key of an event, if its time is within the window.
    #[inline]
    fn key(&self, time: Time, source: EventSource) -> Option<Key> {
        // A time before the base wraps around to one beyond the window.
        let since = time.as_nanos().wrapping_sub(self.base.as_nanos());
        (since < self.window).then(|| {
            let moment = (since << RANK_BITS) | u64::from(self.ties.rank(time, source));
            (moment << self.bits) | u64::from(source)
        })
    }

    /// The time and the source of a key.
    #[inline]
    fn entry(&self, key: Key) -> (Time, EventSource) {
        (Time::from_nanos(self.base.as_nanos() + (key >> (self.bits + RANK_BITS))), self.source_of(key))
    }

    /// The source of a key.
    #[inline]
    fn source_of(&self, key: Key) -> EventSource {
        EventSource::from((key & self.mask) as u32)
    }

    /// Time of the next event; `Time::MAX` if there is none.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// The source of the next event.
    #[inline]
    #[must_use]
    pub fn source(&self) -> EventSource {
        self.source_of(self.heap[TOP])
    }

    /// Updates the time of the top.
    fn note_next(&mut self) {
        let top = self.heap[TOP];
        self.next = if top == EMPTY { Time::MAX } else { self.entry(top).0 };
    }

    /// Adds an event of `source` at `time`.
    pub fn push(&mut self, time: Time, source: EventSource) {
        match self.key(time, source) {
            Some(key) => self.insert(key),
            None => self.push_beyond(time, source),
        }
        self.note_next();
    }

    fn insert(&mut self, new: Key) {
        let mut at = TOP + self.len;
        self.len += 1;
        if at >= self.heap.len() {
            self.heap.resize(self.heap.len() + 16 * ARITY, EMPTY);
        }
        while at > TOP {
            let above = parent(at);
            let value = self.heap[above];
            if value <= new {
                break;
            }
            self.heap[at] = value;
            at = above;
        }
        self.heap[at] = new;
    }

    /// Adds an entry outside the window.
    #[cold]
    fn push_beyond(&mut self, time: Time, source: EventSource) {
        self.later.push(Reverse((time, source)));
        if self.len > 0 && time >= self.base {
            return;
        }
        if self.len >= MIN_ASIDE {
            let heap = std::mem::replace(&mut self.heap, vec![EMPTY; 2 * ARITY]);
            self.aside.push(Aside { heap, len: self.len, base: self.base });
        } else {
            for &key in &self.heap[TOP..TOP + self.len] {
                let entry = self.entry(key);
                self.later.push(Reverse(entry));
            }
            self.heap.fill(EMPTY);
        }
        self.len = 0;
        self.move_window();
    }

    /// Moves the window of an empty heap to the first of all entries.
    #[cold]
    fn move_window(&mut self) {
        let first = self.later.peek().map(|&Reverse((time, _))| time);
        if let Some(aside) = self.aside.pop_if(|aside| first.is_none_or(|first| first >= aside.base)) {
            (self.heap, self.len, self.base) = (aside.heap, aside.len, aside.base);
        } else {
            let Some(first) = first else { return };
            self.base = first;
        }
        let end = self.aside.last().map_or(u64::MAX, |aside| (aside.base - self.base).as_nanos());
        self.window = Self::window_of(self.bits).min(end);
        while let Some(&Reverse((time, source))) = self.later.peek() {
            let Some(key) = self.key(time, source) else { break };
            self.later.pop();
            self.insert(key);
        }
    }

    /// Replaces the top by the next event of its source, at `time`.
    pub fn replace_top(&mut self, time: Time, source: EventSource) {
        if let Some(key) = self.key(time, source) {
            self.sift_down(key);
            self.note_next();
        } else {
            self.pop();
            self.push(time, source);
        }
    }

    /// Removes the top.
    pub fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let at = TOP + self.len;
        let last = std::mem::replace(&mut self.heap[at], EMPTY);
        if self.len > 0 {
            self.sift_down(last);
        } else if !(self.later.is_empty() && self.aside.is_empty()) {
            self.move_window();
        }
        self.note_next();
    }

    fn sift_down(&mut self, new: Key) {
        let heap = self.heap.as_mut_slice();
        let mut at = TOP;
        loop {
            let first = children(at);
            let Some(&[a, b, c, d]) = heap.get(first..).and_then(|rest| rest.first_chunk::<ARITY>()) else { break };
            let (left, left_at) = if a <= b { (a, first) } else { (b, first + 1) };
            let (right, right_at) = if c <= d { (c, first + 2) } else { (d, first + 3) };
            let (value, child) = if left <= right { (left, left_at) } else { (right, right_at) };
            if new <= value {
                break;
            }
            heap[at] = value;
            at = child;
        }
        heap[at] = new;
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len + self.later.len() + self.aside.iter().map(|aside| aside.len).sum::<usize>()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_sources::EventSources;
    use cwndlab_units::Duration;
    use proptest::prelude::*;

    /// An agenda of servers only, whose simultaneous events are ordered by number.
    fn agenda(sources: usize) -> Agenda {
        Agenda::new(sources, Ties::new(EventSources::new(0, 0)))
    }

    fn peek(agenda: &Agenda) -> Option<(Time, EventSource)> {
        (!agenda.is_empty()).then(|| (agenda.next_time(), agenda.source()))
    }

    proptest! {
        /// Entries are removed in the order of (time, source) even with a short window: with 2³¹ sources it has 2²² ns,
        /// and times reach 2⁶² ns.
        #[test]
        fn entries_are_removed_in_order(
            sources in prop_oneof![Just(9usize), Just(1 << 31)],
            distant in prop::collection::vec(0u64..1 << 21, 0..200),
            times in prop::collection::vec((0u64..50, 0u32..9, 0u32..58), 0..200),
            moves in prop::collection::vec((any::<bool>(), 0u64..20, 0u32..58), 0..100),
        ) {
            let mut agenda = agenda(sources);
            let mut model: Vec<(Time, EventSource)> = Vec::new();
            // Many entries in one distant window, then some before and behind it.
            let distant = distant.into_iter().map(|time| ((1 << 40) + time, 8));
            for (time, source) in distant.chain(times.into_iter().map(|(time, source, shift)| (time << shift, source))) {
                let event = (Time::from_nanos(time), EventSource::from(source));
                agenda.push(event.0, event.1);
                model.push(event);
            }
            for (new, later, shift) in moves {
                model.sort_unstable();
                prop_assert_eq!(peek(&agenda), model.first().copied());
                prop_assert_eq!(agenda.len(), model.len());
                let Some(&(time, source)) = model.first() else { break };
                let next = (time + Duration::from_nanos(later << shift), source);
                if new {
                    agenda.push(next.0, source);
                    model.push(next);
                } else {
                    agenda.replace_top(next.0, source);
                    model[0] = next;
                }
            }
            model.sort_unstable();
            for one in model {
                prop_assert_eq!(peek(&agenda), Some(one));
                agenda.pop();
            }
            prop_assert!(agenda.is_empty());
        }
    }

    /// 2,000 flows of arrivals with 10,000 connections of 4 timers each: keys have room for 2²⁷ ns = 0.13 s.
    #[test]
    fn times_beyond_the_window_are_exact_to_the_nanosecond() {
        let mut agenda = agenda(2_000 * 10_000 * 4);
        let hour = 3_600_000_000_000;
        for (time, source) in [(hour, 1), (hour - 1, 2), (5, 3), (u64::MAX, 4), (hour, 0)] {
            agenda.push(Time::from_nanos(time), EventSource::from(source));
        }
        let mut order = Vec::new();
        while let Some(next) = peek(&agenda) {
            order.push((next.0.as_nanos(), u32::from(next.1)));
            agenda.pop();
        }
        assert_eq!(order, [(5, 3), (hour - 1, 2), (hour, 0), (hour, 1), (u64::MAX, 4)]);
    }

    /// 200,000 connections of four timers wait for the same distant second, while one after the other gets an earlier
    /// timer: the others do not move.
    #[test]
    fn an_entry_before_the_window_moves_no_other() {
        let mut agenda = agenda(1 << 22);
        for source in 0..200_000 {
            agenda.push(Time::from_nanos(20_000_000_000 + u64::from(source)), EventSource::from(source));
        }
        for step in 1..1000 {
            let time = Time::from_nanos(10_000_000 * step);
            agenda.push(time, EventSource::from(7));
            assert_eq!(peek(&agenda), Some((time, EventSource::from(7))));
            assert_eq!((agenda.later.len(), agenda.len()), (0, 200_001));
            agenda.pop();
            assert_eq!(peek(&agenda), Some((Time::from_nanos(20_000_000_000), EventSource::from(0))));
        }
    }

    /// After the window has moved to a distant entry, an earlier one is still removed first.
    #[test]
    fn an_entry_before_the_window_comes_first() {
        let mut agenda = agenda(1 << 31);
        agenda.push(Time::from_nanos(1 << 40), EventSource::from(0));
        agenda.push(Time::from_nanos(7), EventSource::from(1));
        agenda.push(Time::from_nanos((1 << 40) + 1), EventSource::from(2));
        assert_eq!(peek(&agenda), Some((Time::from_nanos(7), EventSource::from(1))));
        agenda.pop();
        assert_eq!(peek(&agenda), Some((Time::from_nanos(1 << 40), EventSource::from(0))));
    }
}
