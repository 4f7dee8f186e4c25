//! The event queue: a four-ary heap of (time, source).
//!
//! A source of events is a link with packets on it, a timer or a server. The heap holds only the next time of each, so
//! that its size depends on the network and not on windows. A link with another packet behind the first one replaces the
//! top in place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::Time;

use crate::ties::{Ties, RANK_BITS};
use crate::timers::TIMERS;

/// From the highest bits: time since the base in ns, the source's rank among those due at the same time ([`Ties`]), the
/// source. One integer needs one comparison.
type Key = u64;

const ARITY: usize = 4;
/// Pads the last group of children, so that four can always be compared.
const EMPTY: Key = Key::MAX;

/// The event queue.
///
/// Beside rank and source a key has room for 2⁵⁴ ns divided by the number of sources: 5 hours for 1,000, 1 s for 10⁷.
/// Entries beyond that window are kept in `later`; when the heap is empty, the window moves to the first of them. So every
/// time is exact to the nanosecond, whatever the number of sources.
#[derive(Debug)]
pub struct Agenda {
    /// Entries from index 3, so that the children of `i` are the aligned four from `4 (i − 2)`; padded with `EMPTY`.
    heap: Vec<Key>,
    len: usize,
    /// Bits of a source.
    bits: u32,
    mask: Key,
    /// Start of the window.
    base: Time,
    /// Length of the window, ns: the first time since the base that has no key.
    window: u64,
    /// Entries beyond the window.
    later: BinaryHeap<Reverse<(Time, u32)>>,
    ties: Ties,
}

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
    /// The agenda of a network. Sources are numbered: links, timers, servers. Of those due at the same time no link and no
    /// connection is preferred.
    #[must_use]
    pub fn new(links: usize, flows: usize, servers: usize) -> Self {
        let sources = links + flows * TIMERS + servers;
        let bits = usize::BITS - sources.leading_zeros();
        assert!(bits <= u32::BITS, "a source is a number of 32 bits");
        Self {
            heap: vec![EMPTY; 2 * ARITY],
            len: 0,
            bits,
            mask: (1 << bits) - 1,
            base: Time::ZERO,
            // One less than fits, so that no key is `EMPTY`.
            window: u64::MAX >> (bits + RANK_BITS),
            later: BinaryHeap::new(),
            ties: Ties::new(links, flows),
        }
    }

    /// The key of a time within the window.
    #[inline]
    fn key(&self, time: Time, source: u32) -> Option<Key> {
        // A time before the base wraps around to one beyond the window.
        let since = time.0.wrapping_sub(self.base.0);
        (since < self.window).then(|| {
            let moment = (since << RANK_BITS) | u64::from(self.ties.rank(time, source));
            (moment << self.bits) | u64::from(source)
        })
    }

    /// The time and the source of a key.
    #[inline]
    fn entry(&self, key: Key) -> (Time, u32) {
        (Time(self.base.0 + (key >> (self.bits + RANK_BITS))), (key & self.mask) as u32)
    }

    /// The rank of a source among those due at `time`.
    pub(crate) fn rank(&self, time: Time, source: u32) -> u32 {
        self.ties.rank(time, source)
    }

    /// The next event: its time and its source.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        let top = self.heap[TOP];
        (top != EMPTY).then(|| self.entry(top))
    }

    /// Adds an event of `source` at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, source: u32) {
        match self.key(time, source) {
            Some(key) => self.insert(key),
            None => self.push_beyond(time, source),
        }
    }

    #[inline]
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

    /// Adds an entry outside of the window.
    #[cold]
    fn push_beyond(&mut self, time: Time, source: u32) {
        self.later.push(Reverse((time, source)));
        if self.len == 0 || time < self.base {
            self.move_window();
        }
    }

    /// Moves the window to the first of all entries.
    #[cold]
    fn move_window(&mut self) {
        for &key in &self.heap[TOP..TOP + self.len] {
            let entry = self.entry(key);
            self.later.push(Reverse(entry));
        }
        self.heap.fill(EMPTY);
        self.len = 0;
        let Some(&Reverse((first, _))) = self.later.peek() else { return };
        self.base = first;
        while let Some(&Reverse((time, source))) = self.later.peek() {
            let Some(key) = self.key(time, source) else { break };
            self.later.pop();
            self.insert(key);
        }
    }

    /// Replaces the top by the next event of its source, at `time`.
    #[inline]
    pub fn replace_top(&mut self, time: Time, source: u32) {
        if let Some(key) = self.key(time, source) {
            self.sift_down(key);
        } else {
            self.pop();
            self.push(time, source);
        }
    }

    /// Removes the top.
    #[inline]
    pub fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let at = TOP + self.len;
        let last = std::mem::replace(&mut self.heap[at], EMPTY);
        if self.len > 0 {
            self.sift_down(last);
        } else if !self.later.is_empty() {
            self.move_window();
        }
    }

    #[inline]
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
        self.len + self.later.len()
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
    use cwndlab_units::Duration;
    use proptest::prelude::*;

    proptest! {
        /// Entries come out in the order of (time, source), however short the window: with 2³¹ sources it has
        /// 2²² ns, and times reach 2⁶² ns.
        #[test]
        fn entries_come_out_in_order(
            sources in prop_oneof![Just(9usize), Just(1 << 31)],
            times in prop::collection::vec((0u64..50, 0u32..9, 0u32..58), 0..200),
            moves in prop::collection::vec((0u64..20, 0u32..58), 0..100),
        ) {
            let mut agenda = Agenda::new(0, 0, sources);
            let mut model: Vec<(Time, u32)> = Vec::new();
            for &(time, source, shift) in &times {
                agenda.push(Time(time << shift), source);
                model.push((Time(time << shift), source));
            }
            for (later, shift) in moves {
                model.sort_unstable();
                prop_assert_eq!(agenda.peek(), model.first().copied());
                prop_assert_eq!(agenda.len(), model.len());
                if let Some(top) = model.first_mut() {
                    top.0 += Duration(later << shift);
                    agenda.replace_top(top.0, top.1);
                }
            }
            model.sort_unstable();
            for one in model {
                prop_assert_eq!(agenda.peek(), Some(one));
                agenda.pop();
            }
            prop_assert!(agenda.is_empty());
        }
    }

    /// 2,000 flows of arrivals with 10,000 connections of 4 timers each: keys have room for 2²⁷ ns = 0.13 s.
    #[test]
    fn times_beyond_the_window_are_kept_to_the_nanosecond() {
        let mut agenda = Agenda::new(0, 2_000 * 10_000, 0);
        let hour = 3_600_000_000_000;
        for (time, source) in [(hour, 1), (hour - 1, 2), (5, 3), (u64::MAX, 4), (hour, 0)] {
            agenda.push(Time(time), source);
        }
        let mut order = Vec::new();
        while let Some(next) = agenda.peek() {
            order.push((next.0 .0, next.1));
            agenda.pop();
        }
        assert_eq!(order, [(5, 3), (hour - 1, 2), (hour, 0), (hour, 1), (u64::MAX, 4)]);
    }

    /// The window may have moved to a distant entry: an earlier one still comes first.
    #[test]
    fn an_entry_before_the_window_comes_first() {
        let mut agenda = Agenda::new(0, 0, 1 << 31);
        agenda.push(Time(1 << 40), 0);
        agenda.push(Time(7), 1);
        agenda.push(Time((1 << 40) + 1), 2);
        assert_eq!(agenda.peek(), Some((Time(7), 1)));
        agenda.pop();
        assert_eq!(agenda.peek(), Some((Time(1 << 40), 0)));
    }
}
