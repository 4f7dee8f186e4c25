//! A schedule of writes: the state of an application whose rate changes at given times.

use cwndlab_config::{fields, Faults, FieldType, Kind, RateOrOutage, Reader};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::action::Action;
use crate::NEVER;

const UNLIMITED: &str = "unlimited";

/// A rate of writes; `None`: unlimited.
#[derive(Debug)]
pub enum WriteRate {}

impl FieldType for WriteRate {
    type Value = Option<Rate>;

    const KIND: Kind =
        Kind::Either(&[RateOrOutage::KIND, Kind::Words(&[(UNLIMITED, "as much as the connection takes")])]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Option<Rate>> {
        if table.get(name).is_some_and(|value| value == UNLIMITED) {
            return Some(None);
        }
        table.rate(name, faults).map(Some)
    }
}

fields! {
    /// A step of the schedule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WriteStep {
        /// time after the start of the flow, ascending
        at: Duration = required("'at = \"2 s\"'"),
        /// rate of the writes from then on, payload; `"0 Mbps"` pauses. The first write, and the first one after a pause or
        /// `"unlimited"`, is at once; at a change of the rate, what the last one would have written so far counts
        rate: WriteRate = required("'rate = \"1 Mbps\"'"),
    }
}

/// A schedule of writes and its position.
#[derive(Clone, Debug)]
pub struct WriteSchedule {
    steps: Vec<WriteStep>,
    write: Bytes,
    start: Option<Time>,
    /// Number of steps that have begun.
    begun: usize,
    /// What the rates have earned since the last write, in 10⁻⁹ bit: bit/s times nanoseconds. Where no rate limits the
    /// application, a write is earned.
    credit: u128,
    /// The time until which `credit` counts.
    counted: Time,
}

impl WriteSchedule {
    /// A schedule before its start: `steps` at ascending times, writes of `write` bytes.
    #[must_use]
    pub fn new(steps: Vec<WriteStep>, write: Bytes) -> Self {
        Self { steps, write, start: None, begun: 0, credit: 0, counted: Time::ZERO }
    }

    /// What a write costs, in that unit.
    fn cost(&self) -> u128 {
        u128::from(self.write.0) * 8_000_000_000
    }

    /// The rate of the step in force; `None` if it has none, or pauses.
    fn rate(&self) -> Option<u128> {
        let step = self.steps[..self.begun].last()?;
        step.rate.filter(|&rate| rate > Rate::ZERO).map(|rate| u128::from(rate.0))
    }

    /// Begins the steps that are due at `now`; returns whether there is one.
    fn enter(&mut self, start: Time, now: Time) -> bool {
        let before = self.begun;
        while let Some(at) = self.steps.get(self.begun).map(|step| start + step.at).filter(|&at| at <= now) {
            let earned = |rate| self.credit + rate * u128::from((at - self.counted).as_nanos());
            self.credit = self.rate().map_or(self.cost(), earned).min(self.cost());
            self.counted = at;
            self.begun += 1;
        }
        self.begun > before
    }

    /// The time at which this rate has earned a write.
    fn next_write(&self, rate: u128) -> Time {
        self.counted + Duration::from_nanos((self.cost() - self.credit).div_ceil(rate) as u64)
    }

    /// Handles the timer, which is due at `now`; returns the action and the next timer.
    pub(crate) fn on_timer(&mut self, now: Time) -> (Action, Time) {
        let Some(start) = self.start else {
            // The connection opens without data to send; the first step is due at the same time.
            self.start = Some(now);
            return (Action::Open(Some(Bytes::ZERO)), now);
        };
        let entered = self.enter(start, now) || self.begun == 0;
        let end = self.steps.get(self.begun).map_or(NEVER, |step| start + step.at);
        if let Some(rate) = self.rate() {
            if entered {
                // The pause ends an unlimited supply.
                return (Action::Pause, self.next_write(rate).max(now).min(end));
            }
            (self.credit, self.counted) = (0, now);
            return (Action::Supply(self.write), self.next_write(rate).min(end));
        }
        let is_unlimited = self.steps[..self.begun].last().is_some_and(|step| step.rate.is_none());
        let action = match (entered, is_unlimited) {
            (false, _) => Action::Nothing,
            (true, true) => Action::Write(None),
            (true, false) => Action::Pause,
        };
        (action, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(count: u64) -> Time {
        Time::ZERO + ms(count)
    }

    /// The actions of a schedule that starts at `start`, each with its time, before `end`.
    fn actions(steps: &[(u64, Option<Rate>)], write: u64, start: u64, end: Time) -> Vec<(Time, Action)> {
        let steps = steps.iter().map(|&(from, rate)| WriteStep { at: ms(from), rate }).collect();
        let mut schedule = WriteSchedule::new(steps, Bytes(write));
        let mut now = at(start);
        let mut seen = Vec::new();
        while now < end {
            let (action, next) = schedule.on_timer(now);
            seen.push((now, action));
            now = next;
        }
        seen
    }

    /// The times of the writes of a schedule that starts at 0.
    fn writes(steps: &[(u64, Option<Rate>)], write: u64, end: Time) -> Vec<Time> {
        let actions = actions(steps, write, 0, end);
        actions.iter().filter(|(_, action)| matches!(action, Action::Supply(_))).map(|&(time, _)| time).collect()
    }

    /// By hand: 1000 bytes at 800 kbit/s take 10 ms; from 25 ms unlimited, from 40 ms nothing. The flow starts at 100 ms.
    #[test]
    fn writes_follow_the_rate_of_the_step() {
        let seen = actions(&[(0, Some(Rate(800_000))), (25, None), (40, Some(Rate::ZERO))], 1000, 100, NEVER);
        let write = Action::Supply(Bytes(1000));
        let expected = [
            (100, Action::Open(Some(Bytes::ZERO))),
            (100, Action::Pause),
            (100, write),
            (110, write),
            (120, write),
            (125, Action::Write(None)),
            (140, Action::Pause),
        ];
        assert_eq!(seen, expected.map(|(time, action)| (at(time), action)));
    }

    /// By hand: alternate steps of 10 ms at 1 and 1.001 Mbit/s permit 1,000,500 bits in 1 s, 86.4 writes of 11,584 bits after
    /// the first one. Steps of 1 s at 1 and 1.001 kbit/s permit 20,010 bits in 20 s, 1.7 writes: the second one at
    /// 11,584 bits, of which 11 s give 11,005 and the next step, of 1.001 kbit/s, 579 in 0.578 s.
    #[test]
    fn a_change_of_the_rate_permits_no_more() {
        let alternating = |length, low: u64| -> Vec<_> {
            (0..100).map(|n| (n * length, Some(Rate(low + n % 2 * low / 1000)))).collect()
        };
        assert_eq!(writes(&alternating(10, 1_000_000), 1448, at(1000)).len(), 87);
        let slow = writes(&alternating(1000, 1000), 1448, at(20_000));
        assert_eq!(slow.iter().map(|time| time.as_nanos() / 1_000_000).collect::<Vec<_>>(), [0, 11_578]);
    }

    /// By hand: 1000 bytes at 800 kbit/s take 10 ms. At 15 ms half a write is earned, whose other half takes 10 ms at 400
    /// kbit/s: 25 ms. The next one takes 20 ms, and at 45 ms the rate changes again: it is not lost. A pause from 50 ms
    /// forgets the half of 5 ms at 800 kbit/s, and the step after it begins with a write.
    #[test]
    fn what_is_earned_counts_at_the_next_rate() {
        let [fast, slow] = [800_000, 400_000].map(|bits| Some(Rate(bits)));
        let steps = [(0, fast), (15, slow), (45, fast), (50, Some(Rate::ZERO)), (70, fast)];
        assert_eq!(writes(&steps, 1000, at(85)), [0, 10, 25, 45, 70, 80].map(at));
    }

    /// A schedule whose first step is later than the start writes nothing before it.
    #[test]
    fn nothing_is_written_before_the_first_step() {
        let mut schedule = WriteSchedule::new(vec![WriteStep { at: ms(5), rate: None }], Bytes(1000));
        let actions = [at(0), at(0), at(5)].map(|now| schedule.on_timer(now));
        assert_eq!(
            actions,
            [(Action::Open(Some(Bytes::ZERO)), at(0)), (Action::Pause, at(5)), (Action::Write(None), NEVER)]
        );
    }
}
