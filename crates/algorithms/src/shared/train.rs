//! Bandwidth estimates from packet pairs and packet trains, for the slow starts that measure the path.
//!
//! Source: S. Keshav, "A Control-Theoretic Approach to Flow Control", SIGCOMM 1991 (the pair); C. Dovrolis, P.
//! Ramanathan, D. Moore, "What do packet dispersion techniques measure?", INFOCOM 2001 (the train).
//!
//! ```text
//! pair:  B = L / δ                 L bytes acknowledged by the second of two ACKs δ apart              (1)
//! train: B = (bytes of all ACKs but the first) / (t_last − t_first)    at least three ACKs             (2)
//! ```
//!
//! Units: bytes, bytes/s of payload. Delayed ACKs double both δ and L, so bytes are counted, not ACKs.
//! A report of several ACKs counts as this number of ACKs, spread evenly over its `interval`.

use cwndlab_control::Ack;
use cwndlab_units::{Duration, Time};

/// (1), bytes/s; zero for `delta` = 0.
#[must_use]
pub fn pair(delta: Duration, bytes: f64) -> f64 {
    if delta == Duration::ZERO {
        0.0
    } else {
        bytes * 1e9 / delta.as_nanos() as f64
    }
}

/// Maximum gap between two ACKs of one burst where the source gives no value: a quarter of the minimum RTT.
#[inline]
#[must_use]
pub fn max_burst_gap(ack: &Ack) -> Duration {
    ack.min_rtt / 4
}

/// The median; zero of no values.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// A train of ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Train {
    /// Time of the first ACK.
    pub first: Time,
    /// Time of the last ACK.
    pub last: Time,
    /// Bytes of all ACKs but the first.
    pub bytes: u64,
    /// Number of ACKs.
    pub acks: u32,
}

impl Train {
    /// Adds an ACK. One that arrives later than `gap` after the last starts a new train; the old one is returned.
    #[inline]
    pub fn push(&mut self, ack: &Ack, gap: Duration) -> Option<Self> {
        let now = ack.now;
        let begin = Time::from_nanos(ack.now.as_nanos().saturating_sub(ack.interval.as_nanos()));
        if self.acks > 0 && begin.saturating_since(self.last) <= gap {
            self.bytes += ack.acked.0;
            self.last = now;
            self.acks += ack.acks;
            return None;
        }
        let first = ack.acked.0 / u64::from(ack.acks.max(1));
        let new = Self { first: begin, last: now, bytes: ack.acked.0 - first, acks: ack.acks };
        let old = std::mem::replace(self, new);
        (old.acks > 0).then_some(old)
    }

    /// (2), bytes/s; zero for fewer than three ACKs.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.acks < 3 || self.last <= self.first {
            0.0
        } else {
            pair(self.last - self.first, self.bytes as f64)
        }
    }
}

/// Maximum number of pairs.
const MAX_PAIRS: usize = 16;

/// Rates of packet pairs: pairs of ACKs within a maximum gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairs {
    last: Option<Time>,
    rates: [f64; MAX_PAIRS],
    count: usize,
}

impl Pairs {
    /// Adds an ACK. Returns the rate of the pair that it forms with the ACK before, bytes/s.
    #[inline]
    pub fn push(&mut self, ack: &Ack, gap: Duration) -> Option<f64> {
        let now = ack.now;
        let acks = u64::from(ack.acks.max(1));
        let last = self.last.replace(now);
        let delta = if acks > 1 { ack.interval / (acks - 1) } else { now - last? };
        if delta == Duration::ZERO || delta > gap {
            return None;
        }
        let rate = pair(delta, ack.acked.0 as f64 / acks as f64);
        if self.count < MAX_PAIRS {
            self.rates[self.count] = rate;
            self.count += 1;
        }
        Some(rate)
    }

    /// The median rate of the first `k` pairs; `None` while there are fewer.
    #[must_use]
    pub fn median_of(&self, k: usize) -> Option<f64> {
        let k = k.clamp(1, MAX_PAIRS);
        (self.count >= k).then(|| median(&mut { self.rates }[..k]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;

    /// Reference values of `hoe`: 1460 bytes 1.168 ms apart are 10 Mbit/s; twice the bytes in twice the time (delayed
    /// ACKs) too.
    #[test]
    fn a_pair_is_bytes_over_time() {
        assert_eq!(pair(Duration::from_nanos(1_168_000), 1460.0) * 8.0, 10e6);
        assert_eq!(pair(Duration::from_nanos(2_336_000), 2920.0) * 8.0, 10e6);
        assert_eq!(pair(Duration::ZERO, 1460.0), 0.0);
    }

    /// (2), by hand: four ACKs of 1460 bytes 1 ms apart after the first are 3 · 1460 bytes in 3 ms.
    #[test]
    fn a_train_measures_bytes_over_time() {
        let train = Train { first: Time::ZERO, last: Time::from_nanos(3_000_000), bytes: 3 * 1460, acks: 4 };
        assert!((train.rate() - 1_460_000.0).abs() < 1e-6);
        assert_eq!(Train { acks: 2, ..train }.rate(), 0.0);
    }

    /// By hand: five ACKs 1 ms apart, then one 10 ms later: the train of five has 4 · 1000 bytes in 4 ms, and so has
    /// one report of five ACKs over 4 ms.
    #[test]
    fn a_gap_ends_a_train_and_a_report_is_a_train_of_its_own() {
        let mut train = Train::default();
        for n in 0..5 {
            assert!(train
                .push(&ack_at(Time::from_nanos(1_000_000_000 + n * 1_000_000), 1), Duration::from_millis(2))
                .is_none());
        }
        let old = train.push(&ack_at(Time::from_nanos(1_014_000_000), 1), Duration::from_millis(2)).unwrap();
        assert_eq!((old.rate(), old.acks), (1e6, 5));
        let mut report = ack_at(Time::from_nanos(1_004_000_000), 5);
        (report.acks, report.interval) = (5, Duration::from_millis(4));
        let mut train = Train::default();
        let _ = train.push(&report, Duration::from_millis(2));
        assert_eq!(train.rate(), 1e6);
    }

    /// The median is robust against one compressed pair among three.
    #[test]
    fn one_compressed_pair_does_not_change_the_median() {
        let mut pairs = Pairs::default();
        for ms in [0, 10, 11, 21] {
            let _ = pairs.push(&ack_at(Time::from_nanos(1_000_000_000 + ms * 1_000_000), 1), Duration::from_millis(25));
        }
        assert_eq!(pairs.median_of(4), None);
        assert_eq!(pairs.median_of(3), Some(100_000.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
