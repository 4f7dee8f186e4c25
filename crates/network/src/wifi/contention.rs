//! The backoff counters of all stations of a medium.
//!
//! After a transmission nearly all stations wait for the same interframe space, so that their counters fall by the same
//! number of slots: two passes over rows of numbers per transmission, which a processor makes several at a time.

use cwndlab_units::{Duration, Time};

/// No moment at all.
pub const NEVER: Time = Time::MAX;

/// Stands in a mask for a station that does not take part.
const ABSENT: u16 = u16::MAX;

/// Stations of a row.
const LANES: usize = 8;

/// A number of each station of a row. Contention windows have 15 bits.
type Row = [u16; LANES];

/// Where a station's number is.
fn place(station: usize) -> (usize, usize) {
    (station / LANES, station % LANES)
}

/// What a station waits for before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// When its interframe space ends.
    pub(super) ready: Time,
    /// When it takes the medium for idle.
    pub(super) idle_from: Time,
}

/// What a station waits for that waits for something else than most.
#[derive(Clone, Copy, Debug)]
struct Apart {
    station: u32,
    space: Space,
    /// Scratch of [`Contention::freeze`]: backoff left.
    left: u16,
}

/// The counters.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// By station: backoff left, in slots from the end of its interframe space on.
    slots: Vec<Row>,
    /// By station: 0 if it has a frame and waits as most do, else [`ABSENT`].
    mask: Vec<Row>,
    /// By station: it has a frame.
    sends: Vec<bool>,
    /// What most stations wait for.
    space: Space,
    /// Those that wait for something else, in the order of their numbers.
    own: Vec<Apart>,
    /// Those that make a first try without a backoff, in the order of their numbers.
    fresh: Vec<u32>,
}

impl Contention {
    /// So many stations without a frame on a medium that is idle from the beginning.
    pub(super) fn new(stations: usize, slot: Duration, ready: Time) -> Self {
        Self {
            slot,
            slots: vec![[0; LANES]; stations.div_ceil(LANES)],
            mask: vec![[ABSENT; LANES]; stations.div_ceil(LANES)],
            sends: vec![false; stations],
            space: Space { ready, idle_from: Time::ZERO },
            own: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// What a station waits for.
    pub(super) fn space(&self, station: usize) -> Space {
        let own = self.own.iter().find(|one| one.station as usize == station);
        own.map_or(self.space, |one| one.space)
    }

    /// A station waits for something of its own.
    pub(super) fn set_space(&mut self, station: usize, space: Space) {
        let at = self.own.partition_point(|one| (one.station as usize) < station);
        match self.own.get_mut(at).filter(|one| one.station as usize == station) {
            Some(one) => one.space = space,
            None => self.own.insert(at, Apart { station: station as u32, space, left: 0 }),
        }
        self.set_present(station, false);
    }

    /// A station has a frame and waits as most do, or not both.
    fn set_present(&mut self, station: usize, present: bool) {
        let (row, lane) = place(station);
        self.mask[row][lane] = if present { 0 } else { ABSENT };
    }

    /// All stations wait for `space`.
    pub(super) fn rest(&mut self, space: Space) {
        while let Some(Apart { station, .. }) = self.own.pop() {
            self.set_present(station as usize, self.sends[station as usize]);
        }
        self.space = space;
    }

    /// Backoff left of a station, slots.
    pub(super) fn slots(&self, station: usize) -> u32 {
        let (row, lane) = place(station);
        u32::from(self.slots[row][lane])
    }

    /// A station backs off.
    pub(super) fn set_slots(&mut self, station: usize, slots: u32) {
        let (row, lane) = place(station);
        self.slots[row][lane] = slots as u16;
    }

    /// When a station sends if nobody does before.
    pub(super) fn expiry(&self, station: usize) -> Time {
        self.space(station).ready + self.slot * u64::from(self.slots(station))
    }

    /// A station has a frame, or has none.
    pub(super) fn set_sends(&mut self, station: usize, sends: bool) {
        if self.sends[station] != sends {
            self.sends[station] = sends;
            let apart = self.own.iter().any(|one| one.station as usize == station);
            self.set_present(station, sends && !apart);
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
        let mut least = [ABSENT; LANES];
        for (slots, mask) in self.slots.iter().zip(&self.mask) {
            for ((least, slots), mask) in least.iter_mut().zip(slots).zip(mask) {
                *least = (*least).min(slots | mask);
            }
        }
        let least = least.into_iter().fold(ABSENT, u16::min);
        let most = if least == ABSENT { NEVER } else { self.space.ready + self.slot * u64::from(least) };
        let apart = self.own.iter().filter(|one| self.sends[one.station as usize]);
        let expiries =
            apart.map(|one| (one.space.ready + self.slot * u64::from(self.slots(one.station as usize)), one.station));
        let start = expiries.clone().map(|one| one.0).fold(most, Time::min).min(limit);
        if least != ABSENT && most == start {
            self.add_counting(least, first);
        }
        let before = first.len();
        first.extend(expiries.filter(|one| one.0 == start).map(|one| one.1));
        if first.len() > before {
            first.sort_unstable();
        }
        start
    }

    /// Adds the stations that have a frame, wait as most do and have so many slots left.
    fn add_counting(&self, left: u16, found: &mut Vec<u32>) {
        for (row, (slots, mask)) in self.slots.iter().zip(&self.mask).enumerate() {
            let mut hits: Row = [0; LANES];
            for (hit, (slots, mask)) in hits.iter_mut().zip(slots.iter().zip(mask)) {
                *hit = u16::from(slots | mask == left);
            }
            if hits == [0; LANES] {
                continue;
            }
            for (lane, _) in hits.iter().enumerate().filter(|one| *one.1 != 0) {
                found.push((row * LANES + lane) as u32);
            }
        }
    }

    /// Somebody begins to send at `at`: all counters stop, of which the slots that began before are taken off, and `more`.
    /// Those that meant to send without a backoff draw one, if `draw` gives it.
    pub(super) fn freeze(&mut self, at: Time, more: u64, mut draw: impl FnMut(usize) -> Option<u32>) {
        let mut own = std::mem::take(&mut self.own);
        for one in &mut own {
            let left = self.slots(one.station as usize).saturating_sub(self.counted(one.space, at, more).into());
            one.left = left as u16;
        }
        let counted = self.counted(self.space, at, more);
        for slots in self.slots.as_flattened_mut() {
            *slots = slots.saturating_sub(counted);
        }
        for one in &own {
            self.set_slots(one.station as usize, one.left.into());
        }
        self.own = own;
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.retain(|&station| {
            let keeps = self.expiry(station as usize) <= at;
            if let Some(slots) = if keeps { None } else { draw(station as usize) } {
                self.set_slots(station as usize, slots);
            }
            keeps
        });
        self.fresh = fresh;
    }

    /// Slots that began between the end of an interframe space and `at`, and `more`.
    fn counted(&self, space: Space, at: Time, more: u64) -> u16 {
        if at < space.ready {
            return 0;
        }
        ((at - space.ready).0 / self.slot.0 + more).min(u64::from(u16::MAX)) as u16
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
