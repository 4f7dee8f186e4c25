//! Values by the day of their time, for the event queue [`crate::calendar`].

use std::collections::BTreeMap;

use cwndlab_units::Time;

/// Days of a year; those after it are kept apart.
const DAYS: u64 = 1024;
/// Days of which one integer says whether they are empty.
const GROUP: u64 = u64::BITS as u64;

/// The days after the present one. A day has the values of two to the power of `length` ns.
#[derive(Debug)]
pub(crate) struct Year<D> {
    length: u32,
    /// The number of the present day.
    today: u64,
    /// The days of a year from tomorrow on, each at its number modulo [`DAYS`].
    days: Vec<D>,
    /// By place in `days`, whether the day has values.
    used: [u64; (DAYS / GROUP) as usize],
    /// Later days.
    later: BTreeMap<u64, D>,
    /// Empty days with memory.
    spare: Vec<D>,
}

impl<D: Default> Year<D> {
    /// A year without values, from the beginning of the run on.
    pub(crate) fn new(length: u32) -> Self {
        Self {
            length,
            today: 0,
            days: (0..DAYS).map(|_| D::default()).collect(),
            used: [0; (DAYS / GROUP) as usize],
            later: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// The length of a day: two to the power of this many ns.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// The beginning of a day.
    #[inline]
    pub(crate) fn beginning(&self, number: u64) -> Time {
        Time::from_nanos(number << self.length)
    }

    /// The day of this time, and whether it was empty; `None` if it is the present one or before it.
    #[inline]
    pub(crate) fn day(&mut self, time: Time) -> Option<(&mut D, bool)> {
        let number = time.as_nanos() >> self.length;
        if number.wrapping_sub(self.today + 1) >= DAYS {
            return self.later_day(number);
        }
        let place = (number % DAYS) as usize;
        let (used, bit) = (&mut self.used[place / GROUP as usize], 1 << (place as u64 % GROUP));
        let was_empty = *used & bit == 0;
        if was_empty {
            *used |= bit;
            self.days[place] = self.spare.pop().unwrap_or_default();
        }
        Some((&mut self.days[place], was_empty))
    }

    /// As [`day`](Self::day), for a day that is not within a year from tomorrow.
    #[cold]
    fn later_day(&mut self, number: u64) -> Option<(&mut D, bool)> {
        if number <= self.today {
            return None;
        }
        let was_empty = !self.later.contains_key(&number);
        Some((self.later.entry(number).or_default(), was_empty))
    }

    /// The number of the first day with values; `None` if there is none.
    #[cold]
    pub(crate) fn first(&self) -> Option<u64> {
        let tomorrow = self.today + 1;
        let begin = tomorrow % DAYS / GROUP;
        // The group of tomorrow comes twice: its days from tomorrow on, and at last those before.
        let within_year = (0..=DAYS / GROUP).find_map(|step| {
            let group = (begin + step) % (DAYS / GROUP);
            let from_tomorrow = u64::MAX << (tomorrow % GROUP);
            let mask = match step {
                0 => from_tomorrow,
                _ if step == DAYS / GROUP => !from_tomorrow,
                _ => u64::MAX,
            };
            let days = self.used[group as usize] & mask;
            (days != 0).then(|| {
                let place = group * GROUP + u64::from(days.trailing_zeros());
                tomorrow + (place + DAYS - tomorrow % DAYS) % DAYS
            })
        });
        within_year.or_else(|| self.later.keys().next().copied())
    }

    /// Begins the day with this number, which is the [first](Self::first) one with values; returns it.
    pub(crate) fn begin(&mut self, number: u64) -> D {
        let day = if number - self.today <= DAYS {
            let place = (number % DAYS) as usize;
            self.used[place / GROUP as usize] &= !(1 << (place as u64 % GROUP));
            std::mem::take(&mut self.days[place])
        } else {
            self.later.remove(&number).unwrap_or_default()
        };
        self.today = number;
        while let Some(entry) = self.later.first_entry().filter(|entry| *entry.key() <= number + DAYS) {
            let place = (*entry.key() % DAYS) as usize;
            self.used[place / GROUP as usize] |= 1 << (place as u64 % GROUP);
            self.days[place] = entry.remove();
        }
        day
    }

    /// Keeps the memory of a day from which all values are removed.
    pub(crate) fn recycle(&mut self, day: D) {
        self.spare.push(day);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Days of 1024 ns begin in order, each with its values in the order of their addition; the model is a sorted map.
        /// Values are added for times up to 2³⁰ ns after the present day.
        #[test]
        fn days_begin_in_order(steps in prop::collection::vec((prop_oneof![0u64..9000, 0u64..1 << 30], any::<bool>()), 1..300)) {
            let mut year: Year<Vec<u64>> = Year::new(10);
            let mut model: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            let mut today = 0;
            for (after, begins) in steps {
                let time = (today << 10) + after;
                let day = year.day(Time::from_nanos(time));
                prop_assert_eq!(day.is_none(), time >> 10 == today);
                if let Some((day, was_empty)) = day {
                    day.push(time);
                    prop_assert_eq!(was_empty, !model.contains_key(&(time >> 10)));
                    model.entry(time >> 10).or_default().push(time);
                }
                prop_assert_eq!(year.first(), model.keys().next().copied());
                if let Some((number, values)) = begins.then(|| model.pop_first()).flatten() {
                    let mut day = year.begin(number);
                    prop_assert_eq!(&day, &values);
                    day.clear();
                    year.recycle(day);
                    today = number;
                    prop_assert_eq!(year.beginning(today), Time::from_nanos(today << 10));
                }
            }
            while let Some((number, values)) = model.pop_first() {
                prop_assert_eq!(year.first(), Some(number));
                prop_assert_eq!(year.begin(number), values);
            }
            prop_assert_eq!(year.first(), None);
        }
    }
}
