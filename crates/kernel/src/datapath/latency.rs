//! Latency histograms with buckets of a sixteenth of an octave, in the layout of the eBPF program.

pub use super::shared::BUCKETS;

/// Width of the first buckets, ns.
const UNIT: u64 = 256;

/// A latency histogram.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// Number of values in each bucket.
    pub counts: [u64; BUCKETS],
    /// The maximum latency, ns.
    pub max: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], max: 0 }
    }
}

/// The bucket of a latency of `ns`, as in `bucket()` of the eBPF program.
#[must_use]
pub fn bucket(ns: u64) -> usize {
    let x = (ns / UNIT).min(u64::from(u32::MAX));
    if x < 16 {
        return x as usize;
    }
    let top = x.ilog2();
    ((top - 3) * 16) as usize + ((x >> (top - 4)) & 15) as usize
}

/// The upper bound of a bucket, ns.
#[must_use]
pub fn upper_bound(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let units = if next < 16 { next } else { (16 + next % 16) << (next / 16 - 1) };
    units * UNIT
}

impl Latency {
    /// Counts one latency.
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns).min(BUCKETS - 1)] += 1;
        self.max = self.max.max(ns);
    }

    /// Number of latencies.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The quantile `share` (0 to 1), ns, rounded up to the bound of its bucket (at most 6.25 % or 256 ns too high).
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total() as f64 * share).ceil() as u64;
        let mut cumulative = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            cumulative += count;
            if cumulative >= wanted && cumulative > 0 {
                return upper_bound(bucket).min(self.max);
            }
        }
        self.max
    }

    /// Upper bound (ns) and count of each bucket that is not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (upper_bound(bucket), *count))
    }

    /// The sum of two histograms.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        for (own, more) in self.counts.iter_mut().zip(other.counts) {
            *own += more;
        }
        self.max = self.max.max(other.max);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 µs is 3.9 units, in bucket 3, which ends at 1024 ns; 50 µs is 195 units = 2⁷ · (1 + 8.4/16), in part 8
    /// of octave 7, which ends at 2⁷ · (1 + 9/16) = 200 units. The first octave of 16 parts is the fifth.
    #[test]
    fn buckets_are_sixteenths_of_an_octave() {
        assert_eq!((bucket(1_000), upper_bound(3)), (3, 1_024));
        assert_eq!((bucket(50_000), upper_bound(bucket(50_000))), (72, 200 * 256));
        // Up to 2⁴⁰ ns, which is 18 minutes; the last bucket also counts longer latencies.
        for ns in (0..38).flat_map(|shift| [1u64 << shift, (1 << shift) + 1, (3 << shift) - 1]) {
            let low = if bucket(ns) == 0 { 0 } else { upper_bound(bucket(ns) - 1) };
            let high = upper_bound(bucket(ns));
            assert!(low <= ns && ns < high, "{ns} is not within {low}..{high}");
        }
    }

    #[test]
    fn quantiles_are_at_most_a_sixteenth_too_high() {
        let mut latency = Latency::default();
        (1..=1_000u64).for_each(|n| latency.add(n * 1_000));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            let quantile = latency.quantile(share) as f64;
            assert!((1.0..=1.07).contains(&(quantile / exact)), "{share}: {quantile}");
        }
        assert_eq!((latency.max, latency.total()), (1_000_000, 1_000));
        assert_eq!(Latency::default().quantile(0.99), 0);
    }
}
