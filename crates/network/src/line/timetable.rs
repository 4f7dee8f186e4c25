//! Which of several steps is in force at a moment.

/// A moment behind every run, far enough from the end of the clock that delays can be added.
pub const NEVER: u64 = 1 << 60;

/// Moments at which something changes, the first one 0, perhaps repeated with a period.
#[derive(Clone, Debug)]
pub struct Timetable {
    at: Box<[u64]>,
    period: Option<u64>,
}

impl Timetable {
    /// Changes at these moments, ascending from 0, each before the end of the `period`.
    #[must_use]
    pub fn new(at: Box<[u64]>, period: Option<u64>) -> Self {
        assert!(at.first() == Some(&0) && at.windows(2).all(|pair| pair[0] < pair[1]), "steps ascend from 0: {at:?}");
        assert!(
            period.is_none_or(|period| at.last().is_some_and(|last| *last < period)),
            "steps lie within their period"
        );
        Self { at, period }
    }

    /// The step in force at `now`, and when it ends.
    #[must_use]
    pub fn look(&self, now: u64) -> (usize, u64) {
        let base = self.period.map_or(0, |period| now - now % period);
        let step = self.at.partition_point(|&at| at <= now - base) - 1;
        let end = self.at.get(step + 1).copied().or(self.period).map_or(NEVER, |end| base + end);
        (step, end)
    }

    /// Whole periods before `now`, and the time since the last of them.
    #[must_use]
    pub fn split(&self, now: u64) -> (u64, u64) {
        self.period.map_or((0, now), |period| (now / period, now % period))
    }

    /// Start and end of each step within the first period.
    pub fn spans(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.at.iter().skip(1).copied().chain([self.period.unwrap_or(NEVER)]);
        self.at.iter().copied().zip(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: steps at 0, 10 and 15 of every 20.
    #[test]
    fn steps_come_again_with_their_period() {
        let table = Timetable::new(Box::new([0, 10, 15]), Some(20));
        let found = [0, 9, 10, 15, 19, 20, 31, 55].map(|now| table.look(now));
        assert_eq!(found, [(0, 10), (0, 10), (1, 15), (2, 20), (2, 20), (0, 30), (1, 35), (2, 60)]);
        assert_eq!(Timetable::new(Box::new([0, 10]), None).look(12), (1, NEVER));
    }
}
