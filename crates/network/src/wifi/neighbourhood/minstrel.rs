//! Rate adaptation by the published rules of Minstrel-HT (Linux, `rc80211_minstrel_ht`).
//!
//! Each mode has a success probability, an exponentially weighted mean over intervals of 50 ms. The mode of the highest
//! throughput is used, for later attempts of a frame the second one and then the most reliable one. Of every 16 frames and
//! two aggregates, one frame is a probe of another mode.

use cwndlab_units::{Duration, Time};

use crate::random::Stream;
use crate::wifi::phy::{Mode, SIFS};

/// Time between updates of the probabilities.
const INTERVAL: Duration = Duration::from_millis(50);
/// Weight of the history.
const HISTORY: f64 = 0.75;
/// Probability above which more reliability has no value for the throughput, and below which a mode has none.
const USEFUL: [f64; 2] = [0.1, 0.9];
/// Probability above which the most reliable mode is the fastest one.
const RELIABLE: f64 = 0.75;
/// Size of the packets of which the throughput is estimated, bytes.
const PACKET_BYTES: u32 = 1200;
/// Attempts of a frame with each mode of the chain.
const TRIES: u32 = 2;
/// Probes of modes slower than the best one that are left out before one is sent.
const SKIPPED: u32 = 20;

/// The statistics of a mode.
#[derive(Clone, Copy, Debug)]
struct Rate {
    mode: Mode,
    /// Time per packet: of its bits, and of what an aggregate shares.
    packet_ns: [f64; 2],
    /// Frames and acknowledged frames in the present interval.
    attempts: u32,
    successes: u32,
    probability: Option<f64>,
}

/// The state of Minstrel for a receiver.
#[derive(Debug)]
pub(super) struct Minstrel {
    rates: Vec<Rate>,
    /// Indices of the best, the second and the most reliable mode.
    chain: [usize; 3],
    next_update: Time,
    /// Mean length of aggregates, frames.
    mean_length: f64,
    /// Frames until the next probe.
    until_probe: f64,
    skipped: u32,
    /// Transmissions without a response since the last one with it.
    misses: u32,
}

impl Minstrel {
    /// The modes of the standard of `mode`, with up to as many streams.
    pub(super) fn new(mode: Mode) -> Self {
        let modes = (1..=mode.streams()).flat_map(|streams| mode.alternatives(streams));
        let rate = |mode: Mode| {
            let overhead = mode.airtime(0) + SIFS + mode.control().airtime(mode.block_ack_bytes());
            let bits_ns = f64::from(PACKET_BYTES) * 8e9 / mode.rate_bps() as f64;
            Rate {
                mode,
                packet_ns: [bits_ns, overhead.as_nanos() as f64],
                attempts: 0,
                successes: 0,
                probability: None,
            }
        };
        Self {
            rates: modes.map(rate).collect(),
            chain: [0; 3],
            next_update: Time::ZERO + INTERVAL,
            mean_length: 1.0,
            until_probe: 0.0,
            skipped: 0,
            misses: 0,
        }
    }

    /// Estimated packets per nanosecond.
    fn throughput(&self, rate: &Rate) -> f64 {
        let probability = rate.probability.unwrap_or(0.0);
        if probability < USEFUL[0] {
            return 0.0;
        }
        probability.min(USEFUL[1]) / (rate.packet_ns[0] + rate.packet_ns[1] / self.mean_length)
    }

    /// The mode of the next transmission, and whether it is a probe, which is a single frame. Transmissions without a response
    /// descend the chain; frames of an aggregate that fail alone do not.
    pub(super) fn select(&mut self, now: Time, random: &mut Stream) -> (Mode, bool) {
        if now >= self.next_update {
            self.update();
            self.next_update = now + INTERVAL;
        }
        if self.until_probe <= 0.0 && self.rates.len() > 1 {
            let index = random.below(self.rates.len() as u64) as usize;
            self.until_probe = 16.0 + 2.0 * self.mean_length;
            let slower = self.rates[index].packet_ns[0] > self.rates[self.chain[0]].packet_ns[0];
            self.skipped += u32::from(slower);
            if !self.chain.contains(&index) && (!slower || self.skipped > SKIPPED) {
                self.skipped = if slower { 0 } else { self.skipped };
                return (self.rates[index].mode, true);
            }
        }
        let link = (self.misses / TRIES).min(2) as usize;
        (self.rates[self.chain[link]].mode, false)
    }

    /// Counts the frames of an exchange, of which `successes` were acknowledged; `answered`: it had a response.
    pub(super) fn count(&mut self, mode: Mode, attempts: u32, successes: u32, answered: bool) {
        self.misses = if answered { 0 } else { self.misses + 1 };
        self.until_probe -= f64::from(attempts);
        self.mean_length = HISTORY * self.mean_length + (1.0 - HISTORY) * f64::from(attempts);
        if let Some(rate) = self.rates.iter_mut().find(|rate| rate.mode == mode) {
            rate.attempts += attempts;
            rate.successes += successes;
        }
    }

    /// Ends an interval: updates the probabilities and selects the modes.
    fn update(&mut self) {
        for rate in self.rates.iter_mut().filter(|rate| rate.attempts > 0) {
            let now = f64::from(rate.successes) / f64::from(rate.attempts);
            rate.probability = Some(rate.probability.map_or(now, |old| HISTORY * old + (1.0 - HISTORY) * now));
            (rate.attempts, rate.successes) = (0, 0);
        }
        let best = self.highest(|one, rate| (0.0, one.throughput(rate)), usize::MAX);
        let second = self.highest(|one, rate| (0.0, one.throughput(rate)), best);
        let reliable = self.highest(
            |one, rate| {
                let probability = rate.probability.unwrap_or(0.0);
                (probability.min(RELIABLE), if probability > RELIABLE { one.throughput(rate) } else { 0.0 })
            },
            usize::MAX,
        );
        self.chain = [best, second, reliable];
    }

    /// The index of the mode with the highest value, except one; of equal ones the first.
    fn highest(&self, value: impl Fn(&Self, &Rate) -> (f64, f64), except: usize) -> usize {
        let mut found = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut at = 0;
        for (index, rate) in self.rates.iter().enumerate().filter(|one| one.0 != except) {
            let value = value(self, rate);
            if value > found {
                (found, at) = (value, index);
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use crate::wifi::phy::Format;

    /// By hand: 1, then 0.75 · 1 + 0.25 · 0.5 = 0.875, then 0.75 · 0.875 = 0.65625; a mode below 10 % has no throughput, and
    /// that of MCS 1 exceeds that of MCS 0 while its probability exceeds about a half.
    #[test]
    fn probabilities_are_weighted_means_over_intervals() {
        let mut all = Minstrel::new(Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 });
        let mut random = Stream::new(1, Purpose::Medium, 0);
        let mode = |mcs| Mode::Ht { mcs, streams: 1, short_guard: false, format: Format::HT20 };
        for (interval, successes, probability) in [(1, 10, 1.0), (2, 5, 0.875), (3, 0, 0.65625)] {
            all.count(mode(1), 10, successes, true);
            all.count(mode(0), 1000, 1000, true);
            all.count(mode(7), 1000, 50, true);
            (all.misses, all.until_probe) = (6, 1.0);
            let selected = all.select(Time::ZERO + INTERVAL * interval, &mut random);
            assert!((all.rates[1].probability.unwrap() - probability).abs() < 1e-12, "{interval}");
            assert_eq!(all.throughput(&all.rates[7]), 0.0);
            assert_eq!(selected, (mode(u8::from(interval < 3)), false), "the most reliable mode");
            assert_eq!(all.chain[..2], [1, 0], "best and second");
        }
    }
}
