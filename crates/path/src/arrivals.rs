//! The next arrivals: when the first packet of each wire reaches its end, and on which wire that is first.
//!
//! A tournament tree. Its leaves are the wires, each with one key; every group of keys has its least one in the group
//! above. A new time of a wire is compared on the way from its leaf to the top: the way is known beforehand, so that the
//! processor waits for no comparison to find the next line.

use cwndlab_units::Time;

use crate::ties::{Ties, HASH_BITS};

/// From the highest bits: time since the base in ns, the wire's hash at that time ([`Ties`]), the wire. One integer needs
/// one comparison.
type Key = u64;

/// The keys of a group.
const WAYS: usize = 4;
/// No packet is on the wire.
const EMPTY: Key = Key::MAX;
/// The first packet arrives beyond the window.
const BEYOND: Key = Key::MAX - 1;

/// Keys that are compared with each other: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group([Key; WAYS]);

impl Group {
    /// The least key.
    #[inline]
    fn least(&self) -> Key {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
    }
}

/// The next arrival of every wire.
///
/// Beside hash and wire a key has room for 2⁵⁶ ns divided by the number of wires: 19 hours for 1,000, 4 s for 10⁷. Times
/// beyond that window have no key until the window moves to the first of all arrivals. So every time is exact to the
/// nanosecond, whatever the number of wires.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The last one is the top. The slots of all groups are numbered in turn. The first ones are leaves; those behind them
    /// have the least key of each group but the top.
    groups: Vec<Group>,
    /// The number of leaves.
    all_leaves: usize,
    /// By wire: its leaf. The last leaves are nearest to the top: wires with rare arrivals have the others.
    leaves: Vec<u32>,
    /// The least key of all.
    first: Key,
    /// Its time; `Time::MAX` without one.
    next: Time,
    /// Bits of a wire.
    bits: u32,
    mask: Key,
    /// Start of the window.
    base: Time,
    /// Length of the window, ns: the first time since the base that has no key.
    window: u64,
}

impl Arrivals {
    /// Nothing is under way. `rare` tells by wire that packets seldom leave it by an event.
    pub(crate) fn new(rare: &[bool]) -> Self {
        let wires = rare.len();
        let bits = usize::BITS - wires.leading_zeros();
        assert!(bits <= u32::BITS, "a wire is a number of 32 bits");
        // Each group adds its slots to the leaves; all but the top take one.
        let groups = wires.saturating_sub(1).div_ceil(WAYS - 1).max(1);
        let all_leaves = groups * (WAYS - 1) + 1;
        let mut leaves = vec![0; wires];
        let usual_first = (0..wires).filter(|&wire| !rare[wire]).chain((0..wires).filter(|&wire| rare[wire]));
        for (leaf, wire) in (0..all_leaves as u32).rev().zip(usual_first) {
            leaves[wire] = leaf;
        }
        Self {
            groups: vec![Group([EMPTY; WAYS]); groups],
            all_leaves,
            leaves,
            first: EMPTY,
            next: Time::MAX,
            bits,
            mask: (1 << bits) - 1,
            base: Time::ZERO,
            // One less than fits, so that no key is `EMPTY` or `BEYOND`.
            window: u64::MAX >> (bits + HASH_BITS),
        }
    }

    /// When the next packet arrives; `Time::MAX` if none is under way.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The wire of the next packet.
    #[inline]
    pub(crate) fn wire(&self) -> u32 {
        (self.first & self.mask) as u32
    }

    /// The first packet of `wire` arrives at `time`; `Time::MAX`: there is none. Answers whether the window has to move
    /// ([`move_window`](Self::move_window)) before the next arrival is known.
    #[inline]
    #[must_use]
    pub(crate) fn set(&mut self, wire: u32, time: Time) -> bool {
        // A time before the base wraps around to one beyond the window.
        let since = time.0.wrapping_sub(self.base.0);
        if since >= self.window {
            return self.set_beyond(wire, time);
        }
        let moment = (since << HASH_BITS) | u64::from(Ties::hash(time, wire));
        self.first = self.write(wire, (moment << self.bits) | u64::from(wire));
        self.next = Time(self.base.0 + (self.first >> (self.bits + HASH_BITS)));
        false
    }

    /// The same of a time beyond the window.
    #[cold]
    fn set_beyond(&mut self, wire: u32, time: Time) -> bool {
        self.first = self.write(wire, if time == Time::MAX { EMPTY } else { BEYOND });
        let moment = self.first >> (self.bits + HASH_BITS);
        self.next = if self.first == EMPTY { Time::MAX } else { Time(self.base.0 + moment) };
        self.first == BEYOND || time < self.base
    }

    /// Writes the key of a wire, and on the way to the top the least key of each group. Returns the least of all.
    #[inline]
    fn write(&mut self, wire: u32, key: Key) -> Key {
        let (mut slot, mut least) = (self.leaves[wire as usize] as usize, key);
        // The top would have the slot behind the last one.
        while let Some(group) = self.groups.get_mut(slot / WAYS) {
            group.0[slot % WAYS] = least;
            least = group.least();
            slot = self.all_leaves + slot / WAYS;
        }
        least
    }

    /// Moves the window to the first arrival. `first` tells by wire when its first packet arrives; `Time::MAX`: there is none.
    #[cold]
    pub(crate) fn move_window(&mut self, first: impl Fn(u32) -> Time) {
        let wires = 0..self.leaves.len() as u32;
        self.base = wires.clone().map(&first).min().unwrap_or(Time::ZERO);
        for wire in wires {
            let again = self.set(wire, first(wire));
            debug_assert!(!again || self.first == BEYOND, "no arrival is before the first one");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Arrivals beside a plain list of the times, by wire.
    struct Checked {
        arrivals: Arrivals,
        times: Vec<Time>,
    }

    impl Checked {
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

        fn found(&self) -> Option<(Time, u32)> {
            let next = self.arrivals.next_time();
            (next < Time::MAX).then(|| (next, self.arrivals.wire()))
        }
    }

    proptest! {
        /// Against the list, for networks of one wire to several groups of groups, with windows so short that most times lie
        /// beyond them, and times up to 2⁶² ns.
        #[test]
        fn the_first_of_all_arrivals_is_found(
            wires in prop_oneof![1usize..10, Just(80), Just(600)],
            window in prop_oneof![Just(8u64), Just(1 << 30)],
            steps in prop::collection::vec((0usize..600, prop::option::weighted(0.8, (0u64..50, 0u32..57))), 1..200),
        ) {
            let mut checked = Checked::new(wires, window);
            for (wire, step) in steps {
                checked.set(wire % wires, step.map_or(Time::MAX, |(time, shift)| Time(time << shift)));
                prop_assert_eq!(checked.found(), checked.expected());
            }
            while let Some((_, wire)) = checked.found() {
                checked.set(wire as usize, Time::MAX);
                prop_assert_eq!(checked.found(), checked.expected());
            }
        }
    }

    /// Every wire has a leaf of its own, and those with arrivals as a rule have the last ones.
    #[test]
    fn leaves_are_distinct() {
        for wires in [1, 7, 8, 9, 15, 16, 100] {
            let rare: Vec<bool> = (0..wires).map(|wire| wire % 2 == 0).collect();
            let Arrivals { groups, leaves, all_leaves, .. } = Arrivals::new(&rare);
            assert_eq!(all_leaves + groups.len() - 1, groups.len() * WAYS);
            let mut sorted = leaves.clone();
            sorted.sort_unstable();
            let expected: Vec<u32> = ((all_leaves - wires) as u32..all_leaves as u32).collect();
            assert_eq!(sorted, expected);
            let usual = (0..wires).filter(|&wire| !rare[wire]).map(|wire| leaves[wire]).min();
            let unusual = (0..wires).filter(|&wire| rare[wire]).map(|wire| leaves[wire]).max();
            assert!(usual > unusual || usual.is_none());
        }
    }
}
