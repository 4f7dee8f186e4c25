//! The event queue of arrivals: the next arrival of each wire, and the first of all.
//!
//! The queue is a tournament tree. Each wire is a leaf with one key, and the minimum of every group of keys is in the
//! group above. A new arrival time is compared along the path from its leaf to the root. This path is known in advance,
//! so that the processor does not wait for a comparison to find the next cache line.

use cwndlab_units::Time;

use crate::ties::{Ties, HASH_BITS};

/// From the highest bits: time since the base in ns, hash of the wire at that time ([`Ties`]), wire. A single integer
/// needs one comparison.
type Key = u64;

/// Keys per group.
const WAYS: usize = 4;
/// Key of a wire without packets.
const EMPTY: Key = Key::MAX;
/// Key of a wire whose next arrival is beyond the window.
const BEYOND: Key = Key::MAX - 1;

/// A group of keys, half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group([Key; WAYS]);

impl Group {
    /// Replaces one key; returns the minimum of all. The minimum of the others does not wait for the new key, which the
    /// group below has just computed.
    #[inline]
    fn replace(&mut self, at: usize, key: Key) -> Key {
        let pair = (at & 2) ^ 2;
        let others = self.0[at ^ 1].min(self.0[pair].min(self.0[pair + 1]));
        self.0[at] = key;
        key.min(others)
    }
}

/// The next arrival of every wire.
///
/// In addition to hash and wire, a key can represent 2⁵⁶ ns divided by the number of wires: 19 hours for 1,000 wires, 4
/// s for 10⁷. Times beyond that window have no key until the window moves to the first of all arrivals. Every time is
/// therefore exact to the nanosecond for any number of wires.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// All groups; the last one is the root. Slots are numbered consecutively over the groups. The first slots are
    /// leaves; the others hold the minimum of each group except the root.
    groups: Vec<Group>,
    /// The number of leaves.
    leaf_count: usize,
    /// The leaf of each wire. The last leaves are nearest to the root and belong to wires with frequent arrivals.
    leaves: Vec<u32>,
    /// The minimum key.
    first: Key,
    /// The time of `first`; `Time::MAX` if there is none.
    next: Time,
    /// Bits for a wire.
    bits: u32,
    mask: Key,
    /// Start of the window.
    base: Time,
    /// Length of the window, ns: the first time since the base that does not fit into a key.
    window: u64,
}

impl Arrivals {
    /// An empty queue. `rare` marks wires with few arrival events.
    pub(crate) fn new(rare: &[bool]) -> Self {
        let wires = rare.len();
        let bits = usize::BITS - wires.leading_zeros();
        assert!(bits <= u32::BITS, "a wire is a number of 32 bits");
        // Each group adds its slots to the leaves; all except the root occupy one.
        let groups = wires.saturating_sub(1).div_ceil(WAYS - 1).max(1);
        let leaf_count = groups * (WAYS - 1) + 1;
        let mut leaves = vec![0; wires];
        let usual_first = (0..wires).filter(|&wire| !rare[wire]).chain((0..wires).filter(|&wire| rare[wire]));
        for (leaf, wire) in (0..leaf_count as u32).rev().zip(usual_first) {
            leaves[wire] = leaf;
        }
        Self {
            groups: vec![Group([EMPTY; WAYS]); groups],
            leaf_count,
            leaves,
            first: EMPTY,
            next: Time::MAX,
            bits,
            mask: (1 << bits) - 1,
            base: Time::ZERO,
            // One less than would fit, so that no key equals `EMPTY` or `BEYOND`.
            window: u64::MAX >> (bits + HASH_BITS),
        }
    }

    /// Time of the next arrival; `Time::MAX` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The wire of the next arrival.
    #[inline]
    pub(crate) fn wire(&self) -> u32 {
        (self.first & self.mask) as u32
    }

    /// Sets the next arrival of `wire`; `Time::MAX` if there is none. Returns whether the window has to move
    /// ([`move_window`](Self::move_window)) before the next arrival of all wires is known.
    #[inline]
    #[must_use]
    pub(crate) fn set(&mut self, wire: u32, time: Time) -> bool {
        // A time before the base wraps around to one beyond the window.
        let since = time.as_nanos().wrapping_sub(self.base.as_nanos());
        if since >= self.window {
            return self.set_beyond(wire, time);
        }
        let moment = (since << HASH_BITS) | u64::from(Ties::hash(time, wire));
        self.first = self.write(wire, (moment << self.bits) | u64::from(wire));
        self.next = Time::from_nanos(self.base.as_nanos() + (self.first >> (self.bits + HASH_BITS)));
        false
    }

    /// Sets a next arrival beyond the window.
    #[cold]
    fn set_beyond(&mut self, wire: u32, time: Time) -> bool {
        self.first = self.write(wire, if time == Time::MAX { EMPTY } else { BEYOND });
        let moment = self.first >> (self.bits + HASH_BITS);
        self.next = if self.first == EMPTY { Time::MAX } else { Time::from_nanos(self.base.as_nanos() + moment) };
        self.first == BEYOND || time < self.base
    }

    /// Writes the key of a wire, and the minimum of each group on the path to the root. Returns the minimum of all
    /// keys.
    #[inline]
    fn write(&mut self, wire: u32, key: Key) -> Key {
        let mut slot = self.leaves[wire as usize] as usize;
        let mut min = key;
        // The slot of the root would be one past the last.
        while let Some(group) = self.groups.get_mut(slot / WAYS) {
            min = group.replace(slot % WAYS, min);
            slot = self.leaf_count + slot / WAYS;
        }
        min
    }

    /// Moves the window to the first arrival. `first` returns the next arrival of a wire; `Time::MAX` if there is none.
    #[cold]
    pub(crate) fn move_window(&mut self, first: impl Fn(u32) -> Time) {
        let wires = 0..self.leaves.len() as u32;
        self.base = wires.clone().map(&first).min().unwrap_or(Time::ZERO);
        for wire in wires {
            let again = self.set(wire, first(wire));
            debug_assert!(!again || self.first == BEYOND, "no arrival precedes the first one");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The queue together with a reference model: a list of the times by wire.
    struct Model {
        arrivals: Arrivals,
        times: Vec<Time>,
    }

    impl Model {
        fn new(wires: usize, window: u64) -> Self {
            let rare: Vec<bool> = (0..wires).map(|wire| wire % 3 == 1).collect();
            let arrivals = Arrivals { window, ..Arrivals::new(&rare) };
            Self { arrivals, times: vec![Time::MAX; wires] }
        }

        fn set(&mut self, wire: usize, time: Time) {
            self.times[wire] = time;
            if self.arrivals.set(wire as u32, time) {
                self.arrivals.move_window(|wire| self.times[wire as usize]);
            }
        }

        /// The first arrival: by time, hash and wire.
        fn expected(&self) -> Option<(Time, u32)> {
            let under_way = (0..).zip(&self.times).filter(|one| *one.1 < Time::MAX);
            under_way
                .map(|(wire, &time)| (time, Ties::hash(time, wire), wire))
                .min()
                .map(|(time, _, wire)| (time, wire))
        }

        fn actual(&self) -> Option<(Time, u32)> {
            let next = self.arrivals.next_time();
            (next < Time::MAX).then(|| (next, self.arrivals.wire()))
        }
    }

    proptest! {
        /// Compares the queue with the model, for one wire up to trees of several levels, with windows so short that
        /// most times are beyond them, and times up to 2⁶² ns.
        #[test]
        fn the_next_arrival_is_the_first_of_all_wires(
            wires in prop_oneof![1usize..10, Just(80), Just(600)],
            window in prop_oneof![Just(8u64), Just(1 << 30)],
            steps in prop::collection::vec((0usize..600, prop::option::weighted(0.8, (0u64..50, 0u32..57))), 1..200),
        ) {
            let mut model = Model::new(wires, window);
            for (wire, step) in steps {
                model.set(wire % wires, step.map_or(Time::MAX, |(time, shift)| Time::from_nanos(time << shift)));
                prop_assert_eq!(model.actual(), model.expected());
            }
            while let Some((_, wire)) = model.actual() {
                model.set(wire as usize, Time::MAX);
                prop_assert_eq!(model.actual(), model.expected());
            }
        }
    }

    /// Every wire has its own leaf, and wires with frequent arrivals have the last leaves.
    #[test]
    fn leaves_are_distinct_and_frequent_wires_are_nearest_to_the_root() {
        for wires in [1, 7, 8, 9, 15, 16, 100] {
            let rare: Vec<bool> = (0..wires).map(|wire| wire % 2 == 0).collect();
            let Arrivals { groups, leaves, leaf_count, .. } = Arrivals::new(&rare);
            assert_eq!(leaf_count + groups.len() - 1, groups.len() * WAYS);
            let mut sorted = leaves.clone();
            sorted.sort_unstable();
            let expected: Vec<u32> = ((leaf_count - wires) as u32..leaf_count as u32).collect();
            assert_eq!(sorted, expected);
            let usual = (0..wires).filter(|&wire| !rare[wire]).map(|wire| leaves[wire]).min();
            let unusual = (0..wires).filter(|&wire| rare[wire]).map(|wire| leaves[wire]).max();
            assert!(usual > unusual || usual.is_none());
        }
    }
}
