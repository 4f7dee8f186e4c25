//! What else a wire does by the clock: delay and loss by a timetable, and the retransmissions of a radio link.

use cwndlab_units::{Duration, Time};

use crate::line::Timetable;
use crate::random::Stream;

/// Delays and loss probabilities by a timetable.
#[derive(Clone, Debug)]
pub struct Changes {
    table: Timetable,
    /// Delay and loss probability of each step.
    steps: Box<[(Duration, f64)]>,
    stream: Stream,
}

impl Changes {
    /// From each moment on its delay and loss probability; moments as in [`Timetable::new`].
    #[must_use]
    pub fn new(steps: &[(Time, Duration, f64)], period: Option<Duration>, stream: Stream) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        Self { table, steps: steps.iter().map(|step| (step.1, step.2)).collect(), stream }
    }

    /// Delay of a packet that leaves the line at `now`, and whether the wire takes it.
    pub fn pass(&mut self, now: Time) -> (Duration, bool) {
        let (delay, loss) = self.steps[self.table.step_at(now).0];
        (delay, loss > 0.0 && self.stream.unit() < loss)
    }
}

/// Retransmissions of transport blocks on a radio link (HARQ, 3GPP TS 36.321 §5.3.2): each failed attempt costs a round of
/// 8 ms, and packets are handed up in order (RLC in acknowledged mode, TS 36.322 §5.1.3), so that all wait for a late one.
///
/// What leaves the line within one ms is one block: it is late as a whole.
#[derive(Clone, Debug)]
pub struct Harq {
    /// An attempt fails with this probability.
    pub probability: f64,
    /// Time until the next attempt.
    pub round: Duration,
    /// The most retransmissions.
    pub most: u32,
    /// Chance.
    pub stream: Stream,
    /// The block under way, by its ms, and by how much it is late.
    pub block: Option<(u64, Duration)>,
}

impl Harq {
    /// By how much the block of a packet is late that leaves the line at `now`.
    pub fn late(&mut self, now: Time) -> Duration {
        let number = now.0 / 1_000_000;
        if let Some((block, late)) = self.block {
            if block == number {
                return late;
            }
        }
        let mut late = Duration::ZERO;
        for _ in 0..self.most {
            if self.stream.unit() >= self.probability {
                break;
            }
            late += self.round;
        }
        self.block = Some((number, late));
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// By hand: with probability p of another attempt and at most 3 the mean delay is 8 ms × (p + p² + p³): 0.888 ms at 10 %.
    #[test]
    fn blocks_are_late_by_rounds_as_often_as_attempts_fail() {
        let mut harq = Harq {
            probability: 0.1,
            round: Duration::from_millis(8),
            most: 3,
            stream: Stream::new(3, 0, 0),
            block: None,
        };
        let late: Vec<u64> = (0..200_000).map(|n| harq.late(ms(n)).0).collect();
        assert!(late.iter().all(|late| late % 8_000_000 == 0 && *late <= 24_000_000));
        let mean = late.iter().sum::<u64>() as f64 / late.len() as f64 / 1e6;
        assert!((mean - 0.888).abs() < 0.03, "{mean} ms");
        let begin = ms(7_000_000);
        assert_eq!(harq.late(begin + Duration(1)), harq.late(begin + Duration(999_999)), "one block");
    }

    #[test]
    fn delay_and_loss_follow_the_clock() {
        let (short, long) = (Duration::from_millis(20), Duration::from_millis(30));
        let mut changes =
            Changes::new(&[(Time::ZERO, short, 0.0), (ms(15), long, 1.0)], Some(long), Stream::new(1, 0, 0));
        let found = [0, 14, 15, 29, 30, 46].map(|n| changes.pass(ms(n)));
        let (low, high) = ((short, false), (long, true));
        assert_eq!(found, [low, low, high, high, low, high]);
    }
}
