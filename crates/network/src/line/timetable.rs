//! A timetable of steps, optionally periodic: the step that applies at a time.

use cwndlab_units::{Duration, Time};

/// A time after the end of every run, small enough that adding a delay does not overflow the clock.
pub const NEVER: Time = Time::from_nanos(1 << 60);

/// The start times of steps, the first one 0, optionally repeated with a period.
#[derive(Clone, Debug)]
pub struct Timetable {
    at: Box<[Time]>,
    period: Option<Duration>,
}

impl Timetable {
    /// Steps that start at these times, ascending from 0, each before the end of the `period`.
    ///
    /// # Panics
    /// If the times are not ascending from 0 or lie outside the period.
    #[must_use]
    pub fn new(at: Box<[Time]>, period: Option<Duration>) -> Self {
        assert!(
            at.first() == Some(&Time::ZERO) && at.windows(2).all(|pair| pair[0] < pair[1]),
            "the times of steps ascend from 0: {at:?}"
        );
        assert!(
            period.is_none_or(|period| at.last().is_some_and(|last| *last < Time::ZERO + period)),
            "the steps start within their period"
        );
        Self { at, period }
    }

    /// The index of the step that applies at `now`, and its end; [`NEVER`] for the last step without a period.
    #[must_use]
    pub fn step_at(&self, now: Time) -> (usize, Time) {
        let base = self
            .period
            .map_or(Duration::ZERO, |period| Duration::from_nanos(now.as_nanos() - now.as_nanos() % period.as_nanos()));
        let step = self.at.partition_point(|&at| at <= now - base) - 1;
        let end = self.at.get(step + 1).copied().or(self.end()).map_or(NEVER, |end| end + base);
        (step, end)
    }

    /// End of the first period.
    fn end(&self) -> Option<Time> {
        self.period.map(|period| Time::ZERO + period)
    }

    /// Number of complete periods before `now`, and the corresponding time within the first period.
    #[must_use]
    pub fn split(&self, now: Time) -> (u64, Time) {
        self.period.map_or((0, now), |period| {
            (now.as_nanos() / period.as_nanos(), Time::from_nanos(now.as_nanos() % period.as_nanos()))
        })
    }

    /// Start and end of each step within the first period.
    pub fn spans(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        let ends = self.at.iter().skip(1).copied().chain([self.end().unwrap_or(NEVER)]);
        self.at.iter().copied().zip(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: steps at 0, 10 and 15 of every 20.
    #[test]
    fn steps_repeat_with_the_period() {
        let table = Timetable::new([0, 10, 15].map(Time::from_nanos).into(), Some(Duration::from_nanos(20)));
        let steps = [0, 9, 10, 15, 19, 20, 31, 55].map(|now| table.step_at(Time::from_nanos(now)));
        let expected = [(0, 10), (0, 10), (1, 15), (2, 20), (2, 20), (0, 30), (1, 35), (2, 60)];
        assert_eq!(steps, expected.map(|(step, end)| (step, Time::from_nanos(end))));
        assert_eq!(
            Timetable::new([0, 10].map(Time::from_nanos).into(), None).step_at(Time::from_nanos(12)),
            (1, NEVER)
        );
    }
}
