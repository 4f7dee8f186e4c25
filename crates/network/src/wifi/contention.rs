//! The backoff counters of all stations of a medium.
//!
//! After a transmission nearly all stations wait for the same interframe space, so that their counters fall by the same
//! number of slots: two passes over a row of numbers per transmission, which a processor makes several at a time.

use cwndlab_units::{Duration, Time};

/// No moment at all.
pub const NEVER: Time = Time::MAX;

/// Stands in a mask for a station that does not take part.
const ABSENT: u32 = u32::MAX;

/// What a station waits for before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// When its interframe space ends.
    pub(super) ready: Time,
    /// When it takes the medium for idle.
    pub(super) idle_from: Time,
}

/// The counters.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// By station: backoff left, in slots from the end of its interframe space on.
    slots: Vec<u32>,
    /// By station: 0 if it has a frame and waits as most do, else [`ABSENT`].
    mask: Vec<u32>,
    /// By station: it has a frame.
    sends: Vec<bool>,
    /// What most stations wait for.
    space: Space,
    /// Those that wait for something else, in the order of their numbers.
    own: Vec<(u32, Space)>,
    /// Those that make a first try without a backoff, in the order of their numbers.
    fresh: Vec<u32>,
}

impl Contention {
    /// So many stations without a frame on a medium that is idle from the beginning.
    pub(super) fn new(stations: usize, slot: Duration, ready: Time) -> Self {
        Self {
            slot,
            slots: vec![0; stations],
            mask: vec![ABSENT; stations],
            sends: vec![false; stations],
            space: Space { ready, idle_from: Time::ZERO },
            own: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// What a station waits for.
    pub(super) fn space(&self, station: usize) -> Space {
        let own = self.own.iter().find(|one| one.0 as usize == station);
        own.map_or(self.space, |one| one.1)
    }

    /// A station waits for something of its own.
    pub(super) fn set_space(&mut self, station: usize, space: Space) {
        let at = self.own.partition_point(|one| (one.0 as usize) < station);
        match self.own.get_mut(at).filter(|one| one.0 as usize == station) {
            Some(one) => one.1 = space,
            None => self.own.insert(at, (station as u32, space)),
        }
        self.mask[station] = ABSENT;
    }

    /// All stations wait for `space`.
    pub(super) fn rest(&mut self, space: Space) {
        for (station, _) in std::mem::take(&mut self.own) {
            self.mask[station as usize] = if self.sends[station as usize] { 0 } else { ABSENT };
        }
        self.space = space;
    }

    /// Backoff left of a station, slots.
    pub(super) fn slots(&self, station: usize) -> u32 {
        self.slots[station]
    }

    /// A station backs off.
    pub(super) fn set_slots(&mut self, station: usize, slots: u32) {
        self.slots[station] = slots;
    }

    /// When a station sends if nobody does before.
    pub(super) fn expiry(&self, station: usize) -> Time {
        self.space(station).ready + self.slot * u64::from(self.slots[station])
    }

    /// A station has a frame, or has none.
    pub(super) fn set_sends(&mut self, station: usize, sends: bool) {
        if self.sends[station] != sends {
            self.sends[station] = sends;
            let apart = self.own.iter().any(|one| one.0 as usize == station);
            self.mask[station] = if sends && !apart { 0 } else { ABSENT };
        }
    }

    /// A station makes a first try without a backoff, or no longer does.
    pub(super) fn set_fresh(&mut self, station: usize, fresh: bool) {
        let at = self.fresh.partition_point(|&one| (one as usize) < station);
        let known = self.fresh.get(at).is_some_and(|&one| one as usize == station);
        if fresh && !known {
            self.fresh.insert(at, station as u32);
        } else if known && !fresh {
            self.fresh.remove(at);
        }
    }

    /// When the first stations send that have a frame, unless that is after `limit`; then `first` is these stations, in the
    /// order of their numbers.
    pub(super) fn first(&self, limit: Time, first: &mut Vec<u32>) -> Time {
        first.clear();
        let mut least = ABSENT;
        for (station, (slots, mask)) in (0..).zip(self.slots.iter().zip(&self.mask)) {
            let left = slots | mask;
            if left > least || left == ABSENT {
                continue;
            }
            if left < least {
                least = left;
                first.clear();
            }
            first.push(station);
        }
        let most = if least == ABSENT { NEVER } else { self.space.ready + self.slot * u64::from(least) };
        let apart = self.own.iter().filter(|one| self.sends[one.0 as usize]);
        let expiries = apart.map(|&(station, _)| (self.expiry(station as usize), station));
        let start = expiries.clone().map(|one| one.0).fold(most, Time::min).min(limit);
        if most > start {
            first.clear();
        }
        let before = first.len();
        first.extend(expiries.filter(|one| one.0 == start).map(|one| one.1));
        if first.len() > before {
            first.sort_unstable();
        }
        start
    }

    /// Somebody begins to send at `at`: all counters stop, of which the slots that began before are taken off, and `more`.
    /// Those that meant to send without a backoff draw one, if `draw` gives it.
    pub(super) fn freeze(&mut self, at: Time, more: u64, mut draw: impl FnMut(usize) -> Option<u32>) {
        let own: Vec<(u32, u32)> = self.own.iter().map(|one| (one.0, self.left(one.0, one.1, at, more))).collect();
        let counted = self.counted(self.space, at, more);
        for slots in &mut self.slots {
            *slots = slots.saturating_sub(counted);
        }
        for (station, slots) in own {
            self.slots[station as usize] = slots;
        }
        let fresh = std::mem::take(&mut self.fresh);
        for station in fresh {
            if self.expiry(station as usize) <= at {
                self.fresh.push(station);
            } else if let Some(slots) = draw(station as usize) {
                self.slots[station as usize] = slots;
            }
        }
    }

    /// Slots that began between the end of an interframe space and `at`, and `more`.
    fn counted(&self, space: Space, at: Time, more: u64) -> u32 {
        if at < space.ready {
            return 0;
        }
        ((at - space.ready).0 / self.slot.0 + more).min(u64::from(u32::MAX)) as u32
    }

    fn left(&self, station: u32, space: Space, at: Time, more: u64) -> u32 {
        self.slots[station as usize].saturating_sub(self.counted(space, at, more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOT: Duration = Duration(9);

    /// A station as the standard describes it, by itself.
    #[derive(Clone, Copy, Debug)]
    struct Model {
        slots: u32,
        space: Space,
        sends: bool,
        fresh: bool,
    }

    impl Model {
        fn expiry(self) -> Time {
            self.space.ready + SLOT * u64::from(self.slots)
        }

        fn freeze(&mut self, at: Time, more: u64, drawn: Option<u32>) {
            if at >= self.space.ready {
                let counted = (at - self.space.ready).0 / SLOT.0 + more;
                self.slots -= counted.min(u64::from(self.slots)) as u32;
            }
            if self.fresh && self.expiry() > at {
                self.fresh = false;
                self.slots = drawn.unwrap_or(self.slots);
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Space(usize, u64, u64),
        Rest(u64, u64),
        Slots(usize, u32),
        Sends(usize, bool),
        Fresh(usize, bool),
        Freeze(u64, u64, Option<u32>),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let station = 0..5usize;
        prop_oneof![
            (station.clone(), 0u64..300, 0u64..300)
                .prop_map(|(station, ready, idle)| Step::Space(station, ready, idle)),
            (0u64..300, 0u64..300).prop_map(|(ready, idle)| Step::Rest(ready, idle)),
            (station.clone(), 0u32..32).prop_map(|(station, slots)| Step::Slots(station, slots)),
            (station.clone(), any::<bool>()).prop_map(|(station, sends)| Step::Sends(station, sends)),
            (station, any::<bool>()).prop_map(|(station, fresh)| Step::Fresh(station, fresh)),
            (0u64..600, 0u64..2, prop::option::of(0u32..32))
                .prop_map(|(at, more, drawn)| Step::Freeze(at, more, drawn)),
        ]
    }

    proptest! {
        /// The counters are those of stations that count by themselves.
        #[test]
        fn counters_are_those_of_single_stations(steps in prop::collection::vec(any_step(), 0..60), limit in 0u64..2000) {
            let ready = Time(28);
            let mut all = Contention::new(5, SLOT, ready);
            let space = Space { ready, idle_from: Time::ZERO };
            let mut models = [Model { slots: 0, space, sends: false, fresh: false }; 5];
            for step in steps {
                match step {
                    Step::Space(station, ready, idle) => {
                        let space = Space { ready: Time(ready), idle_from: Time(idle) };
                        all.set_space(station, space);
                        models[station].space = space;
                    }
                    Step::Rest(ready, idle) => {
                        let space = Space { ready: Time(ready), idle_from: Time(idle) };
                        all.rest(space);
                        for one in &mut models {
                            one.space = space;
                        }
                    }
                    Step::Slots(station, slots) => {
                        all.set_slots(station, slots);
                        models[station].slots = slots;
                    }
                    Step::Sends(station, sends) => {
                        all.set_sends(station, sends);
                        models[station].sends = sends;
                    }
                    Step::Fresh(station, fresh) => {
                        all.set_fresh(station, fresh);
                        models[station].fresh = fresh;
                    }
                    Step::Freeze(at, more, drawn) => {
                        all.freeze(Time(at), more, |_| drawn);
                        for one in &mut models {
                            one.freeze(Time(at), more, drawn);
                        }
                    }
                }
                for (station, model) in models.iter().enumerate() {
                    prop_assert_eq!((all.slots(station), all.space(station)), (model.slots, model.space));
                    prop_assert_eq!(all.expiry(station), model.expiry());
                    prop_assert_eq!(all.fresh.contains(&(station as u32)), model.fresh);
                }
                let mut first = Vec::new();
                let start = all.first(Time(limit), &mut first);
                let expiries = models.iter().filter(|one| one.sends).map(|one| one.expiry());
                prop_assert_eq!(start, expiries.min().unwrap_or(NEVER).min(Time(limit)));
                let known = (0..).zip(&models).filter(|(_, one)| one.sends && one.expiry() == start);
                prop_assert_eq!(first, known.map(|(station, _)| station).collect::<Vec<u32>>());
            }
        }
    }
}
