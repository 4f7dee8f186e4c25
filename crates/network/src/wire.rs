//! What else a wire does by the clock: delay and loss by a timetable, and the retransmissions of a radio link.

use crate::line::Timetable;
use crate::random::Stream;

/// Delays and loss probabilities by a timetable.
#[derive(Clone, Debug)]
pub struct Changes {
    table: Timetable,
    /// Delay, ns, and loss probability of each step.
    steps: Box<[(u64, f64)]>,
    stream: Stream,
}

impl Changes {
    /// From each moment on its delay, ns, and loss probability; moments as in [`Timetable::new`].
    #[must_use]
    pub fn new(steps: &[(u64, u64, f64)], period: Option<u64>, stream: Stream) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        Self { table, steps: steps.iter().map(|step| (step.1, step.2)).collect(), stream }
    }

    /// Delay of a packet that leaves the line at `now`, and whether the wire takes it.
    pub fn pass(&mut self, now: u64) -> (u64, bool) {
        let (delay, loss) = self.steps[self.table.look(now).0];
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
    /// Time until the next attempt, ns.
    pub round: u64,
    /// The most retransmissions.
    pub most: u32,
    /// Chance.
    pub stream: Stream,
    /// The block under way, by its ms, and by how much it is late.
    pub block: Option<(u64, u64)>,
}

impl Harq {
    /// By how much the block of a packet is late that leaves the line at `now`.
    pub fn late(&mut self, now: u64) -> u64 {
        let number = now / 1_000_000;
        if let Some((block, late)) = self.block {
            if block == number {
                return late;
            }
        }
        let mut late = 0;
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

    const MS: u64 = 1_000_000;

    /// By hand: with probability p of another attempt and at most 3 the mean delay is 8 ms × (p + p² + p³): 0.888 ms at 10 %.
    #[test]
    fn blocks_are_late_by_rounds_as_often_as_attempts_fail() {
        let mut harq = Harq { probability: 0.1, round: 8 * MS, most: 3, stream: Stream::new(3, 0, 0), block: None };
        let late: Vec<u64> = (0..200_000).map(|n| harq.late(n * MS)).collect();
        assert!(late.iter().all(|late| late % (8 * MS) == 0 && *late <= 24 * MS));
        let mean = late.iter().sum::<u64>() as f64 / late.len() as f64 / 1e6;
        assert!((mean - 0.888).abs() < 0.03, "{mean} ms");
        assert_eq!(harq.late(7_000_000 * MS + 1), harq.late(7_000_000 * MS + 999_999), "one block");
    }

    #[test]
    fn delay_and_loss_follow_the_clock() {
        let mut changes =
            Changes::new(&[(0, 20 * MS, 0.0), (15 * MS, 30 * MS, 1.0)], Some(30 * MS), Stream::new(1, 0, 0));
        let found = [0, 14, 15, 29, 30, 46].map(|ms| changes.pass(ms * MS));
        let (low, high) = ((20 * MS, false), (30 * MS, true));
        assert_eq!(found, [low, low, high, high, low, high]);
    }
}
