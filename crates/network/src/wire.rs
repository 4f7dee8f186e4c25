//! Delays of a wire beyond a constant: scheduled delay, its variation and loss, HARQ retransmissions of a radio link,
//! jitter of Wi-Fi.

use std::ops::RangeInclusive;

use cwndlab_units::{random, Duration, Time};

use crate::line::Timetable;
use crate::random::Stream;

/// A wire between two steps of its schedule.
#[derive(Clone, Copy, Debug)]
pub struct WireState {
    /// Propagation delay.
    pub delay: Duration,
    /// Loss probability.
    pub loss: f64,
    /// Delay variation of bad Wi-Fi.
    pub wifi_jitter: Option<WifiJitter>,
}

/// A schedule of delays, their variation and loss probabilities.
#[derive(Clone, Debug)]
pub struct Changes {
    table: Timetable,
    steps: Box<[WireState]>,
    stream: Stream,
}

impl Changes {
    /// Creates the schedule from steps with their start times; times as in [`Timetable::new`].
    #[must_use]
    pub fn new(steps: &[(Time, WireState)], period: Option<Duration>, stream: Stream) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        Self { table, steps: steps.iter().map(|step| step.1).collect(), stream }
    }

    /// The wire for a packet that leaves the line at `now`, and whether the packet is lost.
    pub fn pass(&mut self, now: Time) -> (WireState, bool) {
        let state = self.steps[self.table.step_at(now).0];
        (state, state.loss > 0.0 && self.stream.unit() < state.loss)
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

/// Random delay of packets over bad Wi-Fi, in two stages (C. Huitema, `papers/wifi-jitter.md` of
/// github.com/private-octopus/c4). Frames wait for the channel: a Poisson number of ms with the mean 1, of which the
/// last one is cut short. In a spike of probability x they also wait for a Poisson number of 7.5 ms with the mean 12.
/// Packets are delivered in order.
#[derive(Clone, Copy, Debug)]
pub struct WifiJitter {
    spike_probability: f64,
}

/// Unit of the first stage.
const WAIT: Duration = Duration::from_millis(1);
/// Probability of no unit in the first stage, whose mean is 1: e^−1.
const NO_WAIT: f64 = 0.367_879_441_171_442_33;
/// Unit of a spike.
const SPIKE: Duration = Duration::from_micros(7_500);
/// Probability of a spike without a unit, whose mean is 12: e^−12.
const NO_SPIKE: f64 = 6.144_212_353_328_21e-6;
/// Mean of a spike.
const MEAN_SPIKE: Duration = Duration::from_millis(90);

impl WifiJitter {
    /// Range of the mean: without spikes, and with one for every packet.
    pub const MEANS: RangeInclusive<Duration> = WAIT..=Duration::from_millis(91);

    /// The jitter with this mean, of which the source counts 1 ms for the first stage; its exact mean is 0.68 ms.
    #[must_use]
    pub fn with_mean(mean: Duration) -> Self {
        let spikes = mean.saturating_sub(WAIT).as_nanos() as f64 / MEAN_SPIKE.as_nanos() as f64;
        Self { spike_probability: spikes.min(1.0) }
    }

    /// Delay of the next packet.
    pub fn delay(self, stream: &mut Stream) -> Duration {
        let waits = u64::from(random::poisson(NO_WAIT, || stream.unit()));
        let mut delay = WAIT * waits;
        if waits > 0 {
            delay -= Duration::from_nanos(stream.below(WAIT.as_nanos()));
        }
        if stream.unit() < self.spike_probability {
            delay += SPIKE * u64::from(random::poisson(NO_SPIKE, || stream.unit()));
        }
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

    /// Mean and standard deviation, ms.
    fn moments(delays: &[f64]) -> (f64, f64) {
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / delays.len() as f64;
        (mean, variance.sqrt())
    }

    fn jitter(mean_ms: u64) -> Vec<f64> {
        let jitter = WifiJitter::with_mean(Duration::from_millis(mean_ms));
        let mut stream = Stream::new(5, Purpose::Wire, 0);
        (0..200_000).map(|_| jitter.delay(&mut stream).as_nanos() as f64 / 1e6).collect()
    }

    /// By hand: N − r with N Poisson(1) and r uniform in [0, 1] for N > 0 has the mean 1 − (1 − 1/e)/2 = 0.684 ms, and
    /// 1/e of the packets are not delayed. A spike of 7.5 ms × Poisson(12) has the mean 90 ms and the standard deviation
    /// 7.5 ms × √12 = 26.0 ms. A mean of 7 ms requires a spike for 6 of 90 packets, and is 0.684 + 6 = 6.684 ms.
    #[test]
    fn wifi_jitter_has_the_moments_of_its_two_stages() {
        let first = jitter(1);
        let (mean, deviation) = moments(&first);
        assert!((mean - 0.684).abs() < 0.01, "{mean} ms");
        assert!(first.iter().all(|&delay| delay < 15.0));
        let undelayed = first.iter().filter(|&&delay| delay == 0.0).count() as f64 / first.len() as f64;
        assert!((undelayed - 0.3679).abs() < 0.005, "{undelayed}");
        let (spike_mean, spike_deviation) = moments(&jitter(91));
        assert!((spike_mean - mean - 90.0).abs() < 0.3, "{spike_mean} ms");
        let expected = (deviation * deviation + 12.0 * 7.5 * 7.5).sqrt();
        assert!((spike_deviation - expected).abs() < 0.3, "{spike_deviation} ms");
        let bad = jitter(7);
        assert!((moments(&bad).0 - 6.684).abs() < 0.25, "{} ms", moments(&bad).0);
        let spikes = bad.iter().filter(|&&delay| delay > 15.0).count() as f64 / bad.len() as f64;
        assert!((spikes - 6.0 / 90.0).abs() < 0.003, "{spikes}");
    }

    #[test]
    fn delay_and_loss_follow_the_schedule() {
        let short = Duration::from_millis(20);
        let long = Duration::from_millis(30);
        let state = |delay, loss| WireState { delay, loss, wifi_jitter: None };
        let mut changes = Changes::new(
            &[(Time::ZERO, state(short, 0.0)), (ms(15), state(long, 1.0))],
            Some(long),
            Stream::new(1, Purpose::Loss, 0),
        );
        let passed = [0, 14, 15, 29, 30, 46].map(|n| {
            let (state, lost) = changes.pass(ms(n));
            (state.delay, lost)
        });
        let low = (short, false);
        let high = (long, true);
        assert_eq!(passed, [low, low, high, high, low, high]);
    }
}
