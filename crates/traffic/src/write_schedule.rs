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
        /// rate of the writes from then on, payload; `"0 Mbps"` pauses
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
}

impl WriteSchedule {
    /// A schedule before its start: `steps` at ascending times, writes of `write` bytes.
    #[must_use]
    pub fn new(steps: Vec<WriteStep>, write: Bytes) -> Self {
        Self { steps, write, start: None, begun: 0 }
    }

    /// Handles the timer, which is due at `now`; returns the action and the next timer.
    pub(crate) fn on_timer(&mut self, now: Time) -> (Action, Time) {
        let Some(start) = self.start else {
            // The connection opens without data to send; the first step is due at the same time.
            self.start = Some(now);
            return (Action::Open(Some(Bytes::ZERO)), now);
        };
        let before = self.begun;
        while self.steps.get(self.begun).is_some_and(|step| start + step.at <= now) {
            self.begun += 1;
        }
        let end = self.steps.get(self.begun).map_or(NEVER, |step| start + step.at);
        let entered = self.begun > before || self.begun == 0;
        match self.begun.checked_sub(1).map(|current| self.steps[current].rate) {
            Some(None) if entered => (Action::Write(None), end),
            Some(None) => (Action::Nothing, end),
            Some(Some(rate)) if rate > Rate::ZERO => {
                if entered {
                    return (Action::Pause, now); // ends an unlimited supply; the first write is due now
                }
                let gap = Duration::from_nanos(
                    (u128::from(self.write.0) * 8_000_000_000).div_ceil(u128::from(rate.0)) as u64
                );
                (Action::Supply(self.write), (now + gap).min(end))
            }
            _ if entered => (Action::Pause, end),
            _ => (Action::Nothing, end),
        }
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

    /// By hand: 1000 bytes at 800 kbit/s take 10 ms; from 25 ms unlimited, from 40 ms nothing. The flow starts at 100 ms.
    #[test]
    fn writes_follow_the_rate_of_the_step() {
        let rates = [(0, Some(Rate(800_000))), (25, None), (40, Some(Rate::ZERO))];
        let steps = rates.map(|(from, rate)| WriteStep { at: ms(from), rate }).to_vec();
        let mut schedule = WriteSchedule::new(steps, Bytes(1000));
        let mut now = at(100);
        let mut seen = Vec::new();
        while now < NEVER {
            let (action, next) = schedule.on_timer(now);
            seen.push((now, action));
            now = next;
        }
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
