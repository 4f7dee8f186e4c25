//! Time-dependent properties of a wire: scheduled delay and loss, and HARQ retransmissions of a radio link.

use cwndlab_units::{Duration, Time};

use crate::line::Timetable;
use crate::random::Stream;

/// A schedule of delays and loss probabilities.
#[derive(Clone, Debug)]
pub struct Changes {
    table: Timetable,
    /// Delay and loss probability of each step.
    steps: Box<[(Duration, f64)]>,
    stream: Stream,
}

impl Changes {
    /// Creates the schedule from steps of start time, delay and loss probability; times as in [`Timetable::new`].
    #[must_use]
    pub fn new(steps: &[(Time, Duration, f64)], period: Option<Duration>, stream: Stream) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        Self { table, steps: steps.iter().map(|step| (step.1, step.2)).collect(), stream }
    }

    /// Delay of a packet that leaves the line at `now`, and whether the packet is lost.
    pub fn pass(&mut self, now: Time) -> (Duration, bool) {
        let (delay, loss) = self.steps[self.table.step_at(now).0];
        (delay, loss > 0.0 && self.stream.unit() < loss)
    }
}

/// Retransmissions of transport blocks on a radio link (HARQ, 3GPP TS 36.321 §5.3.2). Each failed attempt adds a round
/// of 8 ms. Packets are delivered in order (RLC in acknowledged mode, TS 36.322 §5.1.3), so that a delayed packet delays
/// its successors.
///
/// The packets that leave the line within one ms form one block and are delayed together.
#[derive(Clone, Debug)]
pub struct Harq {
    /// Probability that an attempt fails.
    pub probability: f64,
    /// Time until the next attempt.
    pub round: Duration,
    /// Maximum number of retransmissions.
    pub max_retransmissions: u32,
    /// Random stream.
    pub stream: Stream,
    /// The current block, by its ms, and its delay.
    pub block: Option<(u64, Duration)>,
}

impl Harq {
    /// Delay of the block of a packet that leaves the line at `now`.
    pub fn block_delay(&mut self, now: Time) -> Duration {
        let number = now.as_nanos() / 1_000_000;
        if let Some((block, delay)) = self.block {
            if block == number {
                return delay;
            }
        }
        let mut delay = Duration::ZERO;
        for _ in 0..self.max_retransmissions {
            if self.stream.unit() >= self.probability {
                break;
            }
            delay += self.round;
        }
        self.block = Some((number, delay));
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// By hand: with probability p of another attempt and at most 3 the mean delay is 8 ms × (p + p² + p³): 0.888 ms at 10 %.
    #[test]
    fn failed_attempts_delay_a_block_by_whole_rounds() {
        let mut harq = Harq {
            probability: 0.1,
            round: Duration::from_millis(8),
            max_retransmissions: 3,
            stream: Stream::new(3, Purpose::Loss, 0),
            block: None,
        };
        let delays: Vec<u64> = (0..200_000).map(|n| harq.block_delay(ms(n)).as_nanos()).collect();
        assert!(delays.iter().all(|delay| delay % 8_000_000 == 0 && *delay <= 24_000_000));
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64 / 1e6;
        assert!((mean - 0.888).abs() < 0.03, "{mean} ms");
        let begin = ms(7_000_000);
        assert_eq!(
            harq.block_delay(begin + Duration::from_nanos(1)),
            harq.block_delay(begin + Duration::from_nanos(999_999)),
            "one block"
        );
    }

    #[test]
    fn delay_and_loss_follow_the_schedule() {
        let short = Duration::from_millis(20);
        let long = Duration::from_millis(30);
        let mut changes = Changes::new(
            &[(Time::ZERO, short, 0.0), (ms(15), long, 1.0)],
            Some(long),
            Stream::new(1, Purpose::Loss, 0),
        );
        let passed = [0, 14, 15, 29, 30, 46].map(|n| changes.pass(ms(n)));
        let low = (short, false);
        let high = (long, true);
        assert_eq!(passed, [low, low, high, high, low, high]);
    }
}
