//! Minstrel-HT: the rate of a path by statistics of its own transmissions.
//!
//! Source: the description of the algorithm in Linux' documentation of mac80211 and in ns-3's `MinstrelHtWifiManager`:
//!
//! ```text
//! every 50 ms, for each rate that was tried: p ← p + (s/a − p)/4; s of a frames were acknowledged        (1)
//! throughput = min(p, 0.9) / airtime of 1200 bytes, 0 if p < 0.1                                         (2)
//! best, second: by (2); reliable: the fastest with p > 0.75, else that with the largest p                (3)
//! transmissions 1 and 2 without a response: best; 3 and 4: second; later ones: reliable                  (4)
//! each 16 + 2 · (mean length of an aggregate) frames: one frame at another rate, at random               (5)
//! ```

use cwndlab_units::{Duration, Time};

use crate::random::Stream;
use crate::wifi::phy::Mode;

/// Interval of the statistics.
const INTERVAL: Duration = Duration::from_millis(50);
/// Weight of the history in (1).
const HISTORY: f64 = 0.75;
/// Rates below this success probability have no throughput, and above the second one gain nothing.
const LEAST_SUCCESS: f64 = 0.1;
const FULL_SUCCESS: f64 = 0.9;
/// A reliable rate has at least this success probability.
const RELIABLE: f64 = 0.75;
/// Frame by whose airtime rates are compared, bytes.
const FRAME_BYTES: u32 = 1200;
/// Frames between two samples, without aggregates.
const SAMPLE_FRAMES: f64 = 16.0;

/// Statistics of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    attempts: u32,
    successes: u32,
    /// Success probability; `None` before the first try.
    probability: Option<f64>,
}

/// The state of a path.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    modes: Vec<Mode>,
    statistics: Vec<Statistics>,
    /// Rates by index: best, second, reliable.
    chain: [usize; 3],
    updated: Time,
    /// Frames since the last sample, and mean length of an aggregate.
    frames: f64,
    aggregate: f64,
    /// The rate of the present sample.
    sample: Option<usize>,
}

impl Minstrel {
    /// A path that has tried nothing, with its rates in ascending order.
    pub(super) fn new(modes: Vec<Mode>) -> Self {
        let statistics = vec![Statistics::default(); modes.len()];
        Self { statistics, chain: [0; 3], updated: Time::ZERO, frames: 0.0, aggregate: 1.0, sample: None, modes }
    }

    /// The mode of a transmission after this many without a response: (4) and (5). The second value is whether it is a
    /// sample, of one frame.
    pub(super) fn select(&mut self, now: Time, failures: u32, random: &mut Stream) -> (Mode, bool) {
        if now >= self.updated + INTERVAL {
            self.update();
            self.updated = now;
        }
        self.sample = None;
        if self.frames >= SAMPLE_FRAMES + 2.0 * self.aggregate {
            self.frames = 0.0;
            let candidate = random.below(self.modes.len() as u64) as usize;
            // A rate that is slower than the second and the reliable one can gain nothing.
            if !self.chain.contains(&candidate) && candidate > self.chain[1].min(self.chain[2]) {
                self.sample = Some(candidate);
                return (self.modes[candidate], true);
            }
        }
        let step = (failures / 2).min(2) as usize;
        (self.modes[self.chain[step]], false)
    }

    /// Counts the frames of a transmission, and those of them that were acknowledged.
    pub(super) fn count(&mut self, mode: Mode, frames: u32, acknowledged: u32) {
        let Some(rate) = self.modes.iter().position(|one| *one == mode) else { return };
        let statistics = &mut self.statistics[rate];
        statistics.attempts += frames;
        statistics.successes += acknowledged;
        self.frames += f64::from(frames);
        self.aggregate = HISTORY * self.aggregate + (1.0 - HISTORY) * f64::from(frames);
    }

    /// (1), (2) and (3).
    fn update(&mut self) {
        for one in &mut self.statistics {
            if one.attempts > 0 {
                let now = f64::from(one.successes) / f64::from(one.attempts);
                one.probability = Some(one.probability.map_or(now, |old| HISTORY * old + (1.0 - HISTORY) * now));
            }
            (one.attempts, one.successes) = (0, 0);
        }
        let known = |rate: usize| self.statistics[rate].probability.unwrap_or(0.0);
        let throughput = |rate: usize| {
            let probability = known(rate);
            let airtime = self.modes[rate].airtime(FRAME_BYTES).as_nanos() as f64;
            if probability < LEAST_SUCCESS {
                0.0
            } else {
                probability.min(FULL_SUCCESS) / airtime
            }
        };
        let mut order: Vec<usize> = (0..self.modes.len()).collect();
        order.sort_by(|a, b| throughput(*b).total_cmp(&throughput(*a)));
        let reliable = (0..self.modes.len()).rfind(|&rate| known(rate) > RELIABLE);
        let reliable = reliable.unwrap_or_else(|| {
            (0..self.modes.len()).max_by(|a, b| known(*a).total_cmp(&known(*b)).then(b.cmp(a))).unwrap_or(0)
        });
        self.chain = [order[0], order.get(1).copied().unwrap_or(0), reliable];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn modes() -> Vec<Mode> {
        (0..8).map(|mcs| Mode::Ht { mcs, streams: 1, short_guard: false }).collect()
    }

    fn mcs(mode: Mode) -> u8 {
        match mode {
            Mode::Ht { mcs, .. } => mcs,
            Mode::Ofdm { .. } => 99,
        }
    }

    /// By hand: rates up to MCS 4 succeed and others fail. Samples find MCS 4 within seconds, and it remains the best one.
    #[test]
    fn it_finds_the_fastest_rate_that_succeeds() {
        let mut minstrel = Minstrel::new(modes());
        let mut random = Stream::new(1, Purpose::Medium, 0);
        let mut used = [0; 8];
        for step in 0..20_000u64 {
            let (mode, _) = minstrel.select(Time::from_nanos(step * 500_000), 0, &mut random);
            used[usize::from(mcs(mode))] += u32::from(step >= 10_000);
            minstrel.count(mode, 1, u32::from(mcs(mode) <= 4));
        }
        assert!(used[4] > 9000, "{used:?}");
    }

    /// By hand: 0.75 of 0 and 0.25 of 1 are 0.25; then 0.75 · 0.25 + 0.25 = 0.4375.
    #[test]
    fn probabilities_are_averages_with_the_weight_of_three_quarters() {
        let mut minstrel = Minstrel::new(modes());
        for (acknowledged, expected) in [(0, 0.0), (4, 0.25), (4, 0.4375)] {
            minstrel.count(modes()[2], 4, acknowledged);
            minstrel.update();
            assert_eq!(minstrel.statistics[2].probability, Some(expected));
        }
    }

    /// (4): two attempts each at the best and the second rate, then the reliable one.
    #[test]
    fn failures_descend_the_chain() {
        let mut minstrel = Minstrel::new(modes());
        for (rate, acknowledged) in [(7, 6), (5, 6), (1, 10)] {
            minstrel.count(modes()[rate], 10, acknowledged);
        }
        minstrel.update();
        let mut random = Stream::new(1, Purpose::Medium, 0);
        let chain: Vec<u8> = (0..6).map(|failures| mcs(minstrel.select(Time::ZERO, failures, &mut random).0)).collect();
        // 0.6 of 65 and of 52 Mbit/s; 0.9 of 13 Mbit/s.
        assert_eq!(chain, [7, 7, 5, 5, 1, 1]);
    }
}
