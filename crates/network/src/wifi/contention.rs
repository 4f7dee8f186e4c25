//! The backoff counters of all stations of a medium.
//!
//! After a transmission nearly all stations wait for the same interframe space, and their counters decrease by the same
//! number of slots. The counters are stored in rows, so that SIMD instructions update several at once.

use cwndlab_units::{Duration, Time};

/// A time that never occurs.
pub const NEVER: Time = Time::MAX;

/// Mask of a station that does not contend with the common interframe space.
const ABSENT: u16 = u16::MAX;

/// Stations per row.
const LANES: usize = 8;

/// One number per station of a row. Contention windows have 15 bits.
type Row = [u16; LANES];

/// Row and lane of a station.
fn position(station: usize) -> (usize, usize) {
    (station / LANES, station % LANES)
}

/// The interframe space of a station before its backoff continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// End of the interframe space.
    pub(super) ready: Time,
    /// Start of the idle period, as the station senses it.
    pub(super) idle_from: Time,
}

/// The interframe space of a station that differs from the common one.
#[derive(Clone, Copy, Debug)]
struct OwnSpace {
    station: u32,
    space: Space,
    /// Remaining backoff, slots; a temporary of [`Contention::freeze`].
    remaining: u16,
}

/// The backoff counters.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// By station: remaining backoff after the end of its interframe space, slots.
    slots: Vec<Row>,
    /// By station: 0 if it has a frame and the common interframe space, otherwise [`ABSENT`].
    mask: Vec<Row>,
    /// By station: it has a frame.
    sends: Vec<bool>,
    /// The common interframe space.
    space: Space,
    /// Stations with another interframe space, by index.
    own: Vec<OwnSpace>,
    /// Stations with immediate access, without a backoff, by index.
    immediate: Vec<u32>,
}

impl Contention {
    /// Creates the counters of `stations` without frames; the medium is idle from the start.
    pub(super) fn new(stations: usize, slot: Duration, ready: Time) -> Self {
        Self {
            slot,
            slots: vec![[0; LANES]; stations.div_ceil(LANES)],
            mask: vec![[ABSENT; LANES]; stations.div_ceil(LANES)],
            sends: vec![false; stations],
            space: Space { ready, idle_from: Time::ZERO },
            own: Vec::new(),
            immediate: Vec::new(),
        }
    }

    /// The interframe space of a station.
    pub(super) fn space(&self, station: usize) -> Space {
        let own = self.own.iter().find(|one| one.station as usize == station);
        own.map_or(self.space, |one| one.space)
    }

    /// Sets an interframe space of a single station.
    pub(super) fn set_space(&mut self, station: usize, space: Space) {
        let at = self.own.partition_point(|one| (one.station as usize) < station);
        match self.own.get_mut(at).filter(|one| one.station as usize == station) {
            Some(one) => one.space = space,
            None => self.own.insert(at, OwnSpace { station: station as u32, space, remaining: 0 }),
        }
        self.set_present(station, false);
    }

    /// Sets whether a station has a frame and the common interframe space.
    fn set_present(&mut self, station: usize, present: bool) {
        let (row, lane) = position(station);
        self.mask[row][lane] = if present { 0 } else { ABSENT };
    }

    /// Sets the interframe space of all stations.
    pub(super) fn set_common_space(&mut self, space: Space) {
        while let Some(OwnSpace { station, .. }) = self.own.pop() {
            self.set_present(station as usize, self.sends[station as usize]);
        }
        self.space = space;
    }

    /// Remaining backoff of a station, slots.
    pub(super) fn slots(&self, station: usize) -> u32 {
        let (row, lane) = position(station);
        u32::from(self.slots[row][lane])
    }

    /// Sets the backoff of a station.
    pub(super) fn set_slots(&mut self, station: usize, slots: u32) {
        let (row, lane) = position(station);
        self.slots[row][lane] = slots as u16;
    }

    /// Time at which a station sends, unless another one sends before.
    pub(super) fn expiry(&self, station: usize) -> Time {
        self.space(station).ready + self.slot * u64::from(self.slots(station))
    }

    /// Sets whether a station has a frame.
    pub(super) fn set_sends(&mut self, station: usize, sends: bool) {
        if self.sends[station] != sends {
            self.sends[station] = sends;
            let has_own = self.own.iter().any(|one| one.station as usize == station);
            self.set_present(station, sends && !has_own);
        }
    }

    /// Sets whether a station has immediate access, without a backoff.
    pub(super) fn set_immediate(&mut self, station: usize, immediate: bool) {
        let at = self.immediate.partition_point(|&one| (one as usize) < station);
        let known = self.immediate.get(at).is_some_and(|&one| one as usize == station);
        if immediate && !known {
            self.immediate.insert(at, station as u32);
        } else if known && !immediate {
            self.immediate.remove(at);
        }
    }

    /// Time of the next transmission, at most `limit`. Sets `first` to the stations that send at that time, by index.
    pub(super) fn first(&self, limit: Time, first: &mut Vec<u32>) -> Time {
        first.clear();
        let mut min = [ABSENT; LANES];
        for (slots, mask) in self.slots.iter().zip(&self.mask) {
            for ((min, slots), mask) in min.iter_mut().zip(slots).zip(mask) {
                *min = (*min).min(slots | mask);
            }
        }
        let min = min.into_iter().fold(ABSENT, u16::min);
        let common = if min == ABSENT { NEVER } else { self.space.ready + self.slot * u64::from(min) };
        let own = self.own.iter().filter(|one| self.sends[one.station as usize]);
        let expiries =
            own.map(|one| (one.space.ready + self.slot * u64::from(self.slots(one.station as usize)), one.station));
        let start = expiries.clone().map(|one| one.0).fold(common, Time::min).min(limit);
        if min != ABSENT && common == start {
            self.add_stations(min, first);
        }
        let before = first.len();
        first.extend(expiries.filter(|one| one.0 == start).map(|one| one.1));
        if first.len() > before {
            first.sort_unstable();
        }
        start
    }

    /// Adds the stations with a frame, the common interframe space and `remaining` slots of backoff.
    fn add_stations(&self, remaining: u16, stations: &mut Vec<u32>) {
        for (row, (slots, mask)) in self.slots.iter().zip(&self.mask).enumerate() {
            let mut hits: Row = [0; LANES];
            for (hit, (slots, mask)) in hits.iter_mut().zip(slots.iter().zip(mask)) {
                *hit = u16::from(slots | mask == remaining);
            }
            if hits == [0; LANES] {
                continue;
            }
            for (lane, _) in hits.iter().enumerate().filter(|one| *one.1 != 0) {
                stations.push((row * LANES + lane) as u32);
            }
        }
    }

    /// Freezes all counters at the start of a transmission at `at`: subtracts the slots that began before, and `more`.
    /// Stations with immediate access that did not send by then get the backoff of `draw`, if any.
    #[inline]
    pub(super) fn freeze(&mut self, at: Time, more: u64, mut draw: impl FnMut(usize) -> Option<u32>) {
        let mut own = std::mem::take(&mut self.own);
        for one in &mut own {
            let slots = self.slots(one.station as usize).saturating_sub(self.counted(one.space, at, more).into());
            one.remaining = slots as u16;
        }
        let counted = self.counted(self.space, at, more);
        for slots in self.slots.as_flattened_mut() {
            *slots = slots.saturating_sub(counted);
        }
        for one in &own {
            self.set_slots(one.station as usize, one.remaining.into());
        }
        self.own = own;
        let mut immediate = std::mem::take(&mut self.immediate);
        immediate.retain(|&station| {
            let keeps = self.expiry(station as usize) <= at;
            if let Some(slots) = if keeps { None } else { draw(station as usize) } {
                self.set_slots(station as usize, slots);
            }
            keeps
        });
        self.immediate = immediate;
    }

    /// Number of slots that began between the end of an interframe space and `at`, plus `more`.
    fn counted(&self, space: Space, at: Time, more: u64) -> u16 {
        if at < space.ready {
            return 0;
        }
        ((at - space.ready).as_nanos() / self.slot.as_nanos() + more).min(u64::from(u16::MAX)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOT: Duration = Duration::from_nanos(9);

    /// The backoff of a single station, as in the standard.
    #[derive(Clone, Copy, Debug)]
    struct Model {
        slots: u32,
        space: Space,
        sends: bool,
        immediate: bool,
    }

    impl Model {
        fn expiry(self) -> Time {
            self.space.ready + SLOT * u64::from(self.slots)
        }

        fn freeze(&mut self, at: Time, more: u64, drawn: Option<u32>) {
            if at >= self.space.ready {
                let counted = (at - self.space.ready).as_nanos() / SLOT.as_nanos() + more;
                self.slots -= counted.min(u64::from(self.slots)) as u32;
            }
            if self.immediate && self.expiry() > at {
                self.immediate = false;
                self.slots = drawn.unwrap_or(self.slots);
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Space(usize, u64, u64),
        CommonSpace(u64, u64),
        Slots(usize, u32),
        Sends(usize, bool),
        Immediate(usize, bool),
        Freeze(u64, u64, Option<u32>),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let station = 0..5usize;
        prop_oneof![
            (station.clone(), 0u64..300, 0u64..300)
                .prop_map(|(station, ready, idle)| Step::Space(station, ready, idle)),
            (0u64..300, 0u64..300).prop_map(|(ready, idle)| Step::CommonSpace(ready, idle)),
            (station.clone(), 0u32..32).prop_map(|(station, slots)| Step::Slots(station, slots)),
            (station.clone(), any::<bool>()).prop_map(|(station, sends)| Step::Sends(station, sends)),
            (station, any::<bool>()).prop_map(|(station, immediate)| Step::Immediate(station, immediate)),
            (0u64..600, 0u64..2, prop::option::of(0u32..32))
                .prop_map(|(at, more, drawn)| Step::Freeze(at, more, drawn)),
        ]
    }

    proptest! {
        /// Compared with one model per station.
        #[test]
        fn counters_equal_those_of_single_stations(steps in prop::collection::vec(any_step(), 0..60), limit in 0u64..2000) {
            let ready = Time::from_nanos(28);
            let mut all = Contention::new(5, SLOT, ready);
            let space = Space { ready, idle_from: Time::ZERO };
            let mut models = [Model { slots: 0, space, sends: false, immediate: false }; 5];
            for step in steps {
                match step {
                    Step::Space(station, ready, idle) => {
                        let space = Space { ready: Time::from_nanos(ready), idle_from: Time::from_nanos(idle) };
                        all.set_space(station, space);
                        models[station].space = space;
                    }
                    Step::CommonSpace(ready, idle) => {
                        let space = Space { ready: Time::from_nanos(ready), idle_from: Time::from_nanos(idle) };
                        all.set_common_space(space);
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
                    Step::Immediate(station, immediate) => {
                        all.set_immediate(station, immediate);
                        models[station].immediate = immediate;
                    }
                    Step::Freeze(at, more, drawn) => {
                        all.freeze(Time::from_nanos(at), more, |_| drawn);
                        for one in &mut models {
                            one.freeze(Time::from_nanos(at), more, drawn);
                        }
                    }
                }
                for (station, model) in models.iter().enumerate() {
                    prop_assert_eq!((all.slots(station), all.space(station)), (model.slots, model.space));
                    prop_assert_eq!(all.expiry(station), model.expiry());
                    prop_assert_eq!(all.immediate.contains(&(station as u32)), model.immediate);
                }
                let mut first = Vec::new();
                let start = all.first(Time::from_nanos(limit), &mut first);
                let expiries = models.iter().filter(|one| one.sends).map(|one| one.expiry());
                prop_assert_eq!(start, expiries.min().unwrap_or(NEVER).min(Time::from_nanos(limit)));
                let known = (0..).zip(&models).filter(|(_, one)| one.sends && one.expiry() == start);
                prop_assert_eq!(first, known.map(|(station, _)| station).collect::<Vec<u32>>());
            }
        }
    }
}
