//! The backoff counters of all access functions of a medium.
//!
//! After a transmission nearly all access functions wait from the same time on for their interframe space, and their
//! counters decrease by the same number of slots. The counters are stored in rows, so that SIMD instructions update
//! several at once.

use cwndlab_units::{Duration, Time};

/// A time that never occurs.
pub const NEVER: Time = Time::MAX;

/// Wait of an access function that does not contend after the common interframe space.
const ABSENT: u16 = u16::MAX;

/// Access functions per row.
const LANES: usize = 8;

/// One number per function of a row. Contention windows have 15 bits.
type Row = [u16; LANES];

/// Row and lane of an access function.
fn position(function: usize) -> (usize, usize) {
    (function / LANES, function % LANES)
}

/// The interframe space of an access function before its backoff continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// End of the interframe space.
    pub(super) ready: Time,
    /// Start of the idle period, as the function senses it.
    pub(super) idle_from: Time,
}

/// The interframe space of an access function that differs from the common one.
#[derive(Clone, Copy, Debug)]
struct OwnSpace {
    function: u32,
    space: Space,
    /// Remaining backoff, slots; a temporary of [`Contention::freeze`].
    remaining: u16,
}

/// The backoff counters.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// The shortest AIFS.
    aifs: Duration,
    /// By function: remaining backoff after the end of its interframe space, slots.
    slots: Vec<Row>,
    /// By function: slots between the end of the common interframe space and that of its own AIFS.
    offsets: Vec<Row>,
    has_offsets: bool,
    /// By function: its offset if it has a frame, otherwise [`ABSENT`].
    common: Vec<u16>,
    /// By function: the same, but [`ABSENT`] with an interframe space of its own.
    waits: Vec<Row>,
    /// The common interframe space: the shortest of all functions.
    space: Space,
    /// Access functions with another interframe space, by index.
    own: Vec<OwnSpace>,
    /// Access functions with immediate access, without a backoff, by index.
    immediate: Vec<u32>,
}

impl Contention {
    /// Creates the counters of functions without frames, by their AIFS. The medium is idle from the start.
    pub(super) fn new(aifs: &[Duration], slot: Duration) -> Self {
        let shortest = aifs.iter().copied().min().unwrap_or_default();
        let mut offsets = vec![[0; LANES]; aifs.len().div_ceil(LANES)];
        for (offset, aifs) in offsets.as_flattened_mut().iter_mut().zip(aifs) {
            *offset = ((*aifs - shortest).as_nanos() / slot.as_nanos()) as u16;
        }
        Self {
            slot,
            aifs: shortest,
            slots: vec![[0; LANES]; offsets.len()],
            waits: vec![[ABSENT; LANES]; offsets.len()],
            has_offsets: offsets.as_flattened().iter().any(|&offset| offset > 0),
            offsets,
            common: vec![ABSENT; aifs.len()],
            space: Space { ready: Time::ZERO + shortest, idle_from: Time::ZERO },
            own: Vec::new(),
            immediate: Vec::new(),
        }
    }

    /// End of the last transmission, acknowledgement included.
    pub(super) fn idle_from(&self) -> Time {
        self.space.idle_from
    }

    /// The interframe space of an access function.
    pub(super) fn space(&self, function: usize) -> Space {
        let own = self.own.iter().find(|one| one.function as usize == function);
        own.map_or_else(|| self.common_space(function), |one| one.space)
    }

    /// The common interframe space, extended to the AIFS of a function.
    fn common_space(&self, function: usize) -> Space {
        let (row, lane) = position(function);
        Space { ready: self.space.ready + self.slot * u64::from(self.offsets[row][lane]), ..self.space }
    }

    /// Sets an interframe space of a single function.
    pub(super) fn set_space(&mut self, function: usize, space: Space) {
        let at = self.own.partition_point(|one| (one.function as usize) < function);
        match self.own.get_mut(at).filter(|one| one.function as usize == function) {
            Some(one) => one.space = space,
            None => self.own.insert(at, OwnSpace { function: function as u32, space, remaining: 0 }),
        }
        self.set_wait(function, ABSENT);
    }

    fn set_wait(&mut self, function: usize, wait: u16) {
        let (row, lane) = position(function);
        self.waits[row][lane] = wait;
    }

    /// Whether an access function has a frame.
    fn sends(&self, function: usize) -> bool {
        self.common[function] != ABSENT
    }

    /// The medium is idle from `end` on; all functions wait for `more` and their AIFS before their backoff continues.
    pub(super) fn set_idle(&mut self, end: Time, more: Duration) {
        while let Some(OwnSpace { function, .. }) = self.own.pop() {
            self.set_wait(function as usize, self.common[function as usize]);
        }
        self.space = Space { ready: end + more + self.aifs, idle_from: end };
    }

    /// Remaining backoff of an access function, slots.
    pub(super) fn slots(&self, function: usize) -> u32 {
        let (row, lane) = position(function);
        u32::from(self.slots[row][lane])
    }

    /// Sets the backoff of an access function.
    pub(super) fn set_slots(&mut self, function: usize, slots: u32) {
        let (row, lane) = position(function);
        self.slots[row][lane] = slots as u16;
    }

    /// Time at which an access function sends, unless another one sends before.
    pub(super) fn expiry(&self, function: usize) -> Time {
        self.space(function).ready + self.slot * u64::from(self.slots(function))
    }

    /// Sets whether an access function has a frame.
    #[inline]
    pub(super) fn set_sends(&mut self, function: usize, sends: bool) {
        if self.sends(function) != sends {
            let (row, lane) = position(function);
            self.common[function] = if sends { self.offsets[row][lane] } else { ABSENT };
            if !self.own.iter().any(|one| one.function as usize == function) {
                self.waits[row][lane] = self.common[function];
            }
        }
    }

    /// Sets whether an access function has immediate access, without a backoff.
    pub(super) fn set_immediate(&mut self, function: usize, immediate: bool) {
        let at = self.immediate.partition_point(|&one| (one as usize) < function);
        let known = self.immediate.get(at).is_some_and(|&one| one as usize == function);
        if immediate && !known {
            self.immediate.insert(at, function as u32);
        } else if known && !immediate {
            self.immediate.remove(at);
        }
    }

    /// Time of the next transmission, at most `limit`. Sets `first` to the functions that send at that time, by index.
    pub(super) fn first(&self, limit: Time, first: &mut Vec<u32>) -> Time {
        first.clear();
        let mut min = [ABSENT; LANES];
        for (slots, waits) in self.slots.iter().zip(&self.waits) {
            for ((min, slots), wait) in min.iter_mut().zip(slots).zip(waits) {
                *min = (*min).min(slots.saturating_add(*wait));
            }
        }
        let min = min.into_iter().fold(ABSENT, u16::min);
        let common = if min == ABSENT { NEVER } else { self.space.ready + self.slot * u64::from(min) };
        if !self.own.is_empty() {
            return self.first_with_own(common.min(limit), (common, min), first);
        }
        if min != ABSENT && common <= limit {
            self.add_functions(min, first);
        }
        common.min(limit)
    }

    /// As [`first`](Self::first), with functions that have an interframe space of their own. `common`: the time and the slots
    /// of the first of the others.
    #[cold]
    fn first_with_own(&self, limit: Time, (common, min): (Time, u16), first: &mut Vec<u32>) -> Time {
        let own = self.own.iter().filter(|one| self.sends(one.function as usize));
        let expiries =
            own.map(|one| (one.space.ready + self.slot * u64::from(self.slots(one.function as usize)), one.function));
        let start = expiries.clone().map(|one| one.0).fold(limit, Time::min);
        if min != ABSENT && common == start {
            self.add_functions(min, first);
        }
        let before = first.len();
        first.extend(expiries.filter(|one| one.0 == start).map(|one| one.1));
        if first.len() > before {
            first.sort_unstable();
        }
        start
    }

    /// Adds the functions that send `remaining` slots after the common interframe space.
    fn add_functions(&self, remaining: u16, functions: &mut Vec<u32>) {
        for (row, (slots, waits)) in self.slots.iter().zip(&self.waits).enumerate() {
            let mut hits: Row = [0; LANES];
            for (hit, (slots, wait)) in hits.iter_mut().zip(slots.iter().zip(waits)) {
                *hit = u16::from(slots.saturating_add(*wait) == remaining);
            }
            if hits == [0; LANES] {
                continue;
            }
            for (lane, _) in hits.iter().enumerate().filter(|one| *one.1 != 0) {
                functions.push((row * LANES + lane) as u32);
            }
        }
    }

    /// Freezes all counters at the start of a transmission at `at`: subtracts the slots that began before, and `more`.
    /// Access functions with immediate access that did not send by then get the backoff of `draw`, if any.
    #[inline]
    pub(super) fn freeze(&mut self, at: Time, more: u64, draw: impl FnMut(usize) -> Option<u32>) {
        let counted = self.counted(self.space, at, more);
        if self.own.is_empty() {
            self.subtract(counted);
        } else {
            self.freeze_own(at, more, counted);
        }
        if !self.immediate.is_empty() {
            self.end_immediate(at, draw);
        }
    }

    /// Subtracts slots since the end of the common interframe space.
    #[inline]
    fn subtract(&mut self, counted: u16) {
        if self.has_offsets {
            for (slots, offset) in self.slots.as_flattened_mut().iter_mut().zip(self.offsets.as_flattened()) {
                *slots = slots.saturating_sub(counted.saturating_sub(*offset));
            }
        } else {
            for slots in self.slots.as_flattened_mut() {
                *slots = slots.saturating_sub(counted);
            }
        }
    }

    /// Freezes all counters where functions have interframe spaces of their own; `counted`: the slots since the end of the
    /// common one.
    #[cold]
    fn freeze_own(&mut self, at: Time, more: u64, counted: u16) {
        let mut own = std::mem::take(&mut self.own);
        for one in &mut own {
            let slots = self.slots(one.function as usize).saturating_sub(self.counted(one.space, at, more).into());
            one.remaining = slots as u16;
        }
        self.subtract(counted);
        for one in &own {
            self.set_slots(one.function as usize, one.remaining.into());
        }
        self.own = own;
    }

    /// Ends the immediate access of functions that did not send by `at`.
    fn end_immediate(&mut self, at: Time, mut draw: impl FnMut(usize) -> Option<u32>) {
        let mut immediate = std::mem::take(&mut self.immediate);
        immediate.retain(|&function| {
            let keeps = self.expiry(function as usize) <= at;
            if let Some(slots) = if keeps { None } else { draw(function as usize) } {
                self.set_slots(function as usize, slots);
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

    /// The backoff of a single access function, as in the standard.
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
        Idle(u64, u64),
        Slots(usize, u32),
        Sends(usize, bool),
        Immediate(usize, bool),
        Freeze(u64, u64, Option<u32>),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let function = 0..5usize;
        prop_oneof![
            (function.clone(), 0u64..300, 0u64..300)
                .prop_map(|(function, ready, idle)| Step::Space(function, ready, idle)),
            (0u64..300, 0u64..300).prop_map(|(end, more)| Step::Idle(end, more)),
            (function.clone(), 0u32..32).prop_map(|(function, slots)| Step::Slots(function, slots)),
            (function.clone(), any::<bool>()).prop_map(|(function, sends)| Step::Sends(function, sends)),
            (function, any::<bool>()).prop_map(|(function, immediate)| Step::Immediate(function, immediate)),
            (0u64..600, 0u64..2, prop::option::of(0u32..32))
                .prop_map(|(at, more, drawn)| Step::Freeze(at, more, drawn)),
        ]
    }

    proptest! {
        /// Compared with one model per access function.
        #[test]
        fn counters_equal_those_of_single_functions(
            steps in prop::collection::vec(any_step(), 0..60),
            offsets in prop::array::uniform5(0u64..7),
            limit in 0u64..2000,
        ) {
            let aifs = offsets.map(|offset| Duration::from_nanos(10) + SLOT * offset);
            let mut all = Contention::new(&aifs, SLOT);
            let mut models = aifs.map(|aifs| Model {
                slots: 0,
                space: Space { ready: Time::ZERO + aifs, idle_from: Time::ZERO },
                sends: false,
                immediate: false,
            });
            for step in steps {
                match step {
                    Step::Space(function, ready, idle) => {
                        let space = Space { ready: Time::from_nanos(ready), idle_from: Time::from_nanos(idle) };
                        all.set_space(function, space);
                        models[function].space = space;
                    }
                    Step::Idle(end, more) => {
                        let idle_from = Time::from_nanos(end);
                        all.set_idle(idle_from, Duration::from_nanos(more));
                        for (one, aifs) in models.iter_mut().zip(aifs) {
                            one.space = Space { ready: idle_from + Duration::from_nanos(more) + aifs, idle_from };
                        }
                    }
                    Step::Slots(function, slots) => {
                        all.set_slots(function, slots);
                        models[function].slots = slots;
                    }
                    Step::Sends(function, sends) => {
                        all.set_sends(function, sends);
                        models[function].sends = sends;
                    }
                    Step::Immediate(function, immediate) => {
                        all.set_immediate(function, immediate);
                        models[function].immediate = immediate;
                    }
                    Step::Freeze(at, more, drawn) => {
                        all.freeze(Time::from_nanos(at), more, |_| drawn);
                        for one in &mut models {
                            one.freeze(Time::from_nanos(at), more, drawn);
                        }
                    }
                }
                for (function, model) in models.iter().enumerate() {
                    prop_assert_eq!((all.slots(function), all.space(function)), (model.slots, model.space));
                    prop_assert_eq!(all.expiry(function), model.expiry());
                    prop_assert_eq!(all.immediate.contains(&(function as u32)), model.immediate);
                }
                let mut first = Vec::new();
                let start = all.first(Time::from_nanos(limit), &mut first);
                let expiries = models.iter().filter(|one| one.sends).map(|one| one.expiry());
                prop_assert_eq!(start, expiries.min().unwrap_or(NEVER).min(Time::from_nanos(limit)));
                let known = (0..).zip(&models).filter(|(_, one)| one.sends && one.expiry() == start);
                prop_assert_eq!(first, known.map(|(function, _)| function).collect::<Vec<u32>>());
            }
        }
    }
}
