//! The rewards of a monitor interval, those of `cwndlab.gym.rewards`.

use serde::Deserialize;

use super::features::{Measured, ORCA_LOSS};

/// What a reward may know of a path, and the policy does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathFacts {
    /// The flow's fair share, segments per second.
    pub fair_rate: f64,
    /// The RTT without queues, s.
    pub base_rtt: f64,
}

/// A reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reward {
    /// Throughput by the fair share − ¼ · queueing delay by the base RTT − 2 · loss ratio.
    Plain,
    /// 0.001 · (10 · throughput − 1000 · mean RTT − 2000 · loss ratio): N. Jay et al., ICML 2019; the factor 0.001 and
    /// a mean RTT of 0 without samples are those of PCC-RL, `src/gym/network_sim.py`.
    Aurora,
    /// (throughput − 5 · loss rate) / largest throughput · delay metric: S. Abbasloo et al., SIGCOMM 2020, in the form
    /// of Orca's `rl-module/envwrapper.py`.
    Orca,
}

impl Reward {
    /// The reward of an interval.
    #[must_use]
    pub fn of(self, one: &Measured, path: PathFacts) -> f64 {
        let latency = if one.rtt_mean.is_nan() { 0.0 } else { one.rtt_mean };
        match self {
            Self::Plain => {
                let queueing = (latency / path.base_rtt - 1.0).max(0.0);
                one.throughput / path.fair_rate - 0.25 * queueing - 2.0 * one.loss_ratio
            }
            Self::Aurora => 0.001 * (10.0 * one.throughput - 1000.0 * latency - 2000.0 * one.loss_ratio),
            Self::Orca if one.largest_throughput > 0.0 => {
                (one.throughput - ORCA_LOSS * one.loss_rate()) / one.largest_throughput * one.delay_metric()
            }
            Self::Orca => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 of 100 segments acknowledged in 0.1 s, 10 lost; a mean RTT of 80 ms where 50 are possible.
    fn interval() -> Measured {
        let measured = Measured {
            duration: 0.1,
            acked: 90.0,
            lost: 10.0,
            rtt_mean: 0.08,
            srtt: 0.1,
            min_rtt: 0.05,
            ..Measured::nothing()
        };
        measured.derived()
    }

    /// By hand: 0.9 − 0.25 · 1 − 2 · 0.1; 0.001 · (9000 − 80 − 200); 400 / 900 · 0.625.
    #[test]
    fn rewards_are_those_of_their_formulas() {
        let path = PathFacts { fair_rate: 1000.0, base_rtt: 0.04 };
        for (reward, expected) in [(Reward::Plain, 0.45), (Reward::Aurora, 8.72), (Reward::Orca, 400.0 / 900.0 * 0.625)]
        {
            assert!((reward.of(&interval(), path) - expected).abs() < 1e-12, "{reward:?}");
        }
    }

    /// Nothing acknowledged and no RTT sample: a throughput of 0 and no queueing delay.
    #[test]
    fn an_interval_without_samples_has_no_reward() {
        let path = PathFacts { fair_rate: 1000.0, base_rtt: 0.04 };
        for reward in [Reward::Plain, Reward::Aurora, Reward::Orca] {
            assert_eq!(reward.of(&Measured::nothing().derived(), path), 0.0, "{reward:?}");
        }
    }

    #[test]
    fn a_row_is_the_interval() {
        let one = interval();
        assert_eq!(Measured::from_row(one.to_row()).to_row().map(f64::to_bits), one.to_row().map(f64::to_bits));
    }
}
