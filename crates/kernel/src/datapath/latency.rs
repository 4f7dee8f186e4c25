//! Histograms of latency in quarters of an octave, as the program keeps them.

pub use super::shared::BUCKETS;

/// Below this a latency is not told apart, ns.
const UNIT: u64 = 256;

/// A histogram.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// How many lie in each bucket.
    pub counts: [u64; BUCKETS],
    /// The longest, ns.
    pub most: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], most: 0 }
    }
}

/// The bucket of a latency: `bucket()` of the program.
#[must_use]
pub fn bucket(ns: u64) -> usize {
    let x = (ns / UNIT).min(u64::from(u32::MAX));
    if x < 4 {
        return x as usize;
    }
    let top = x.ilog2();
    ((top - 1) * 4) as usize + ((x >> (top - 2)) & 3) as usize
}

/// The upper end of a bucket, ns.
#[must_use]
pub fn edge(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let units = if next < 4 { next } else { (4 + next % 4) << (next / 4 - 1) };
    units * UNIT
}

impl Latency {
    /// One more.
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns).min(BUCKETS - 1)] += 1;
        self.most = self.most.max(ns);
    }

    /// How many.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latency that this share did not pass, ns, rounded up to a bucket's end (at most a quarter too much, or 256 ns).
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return edge(bucket).min(self.most);
            }
        }
        self.most
    }

    /// Upper end in ns and count of each bucket that holds something.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| (edge(bucket), *count))
    }

    /// This one and another.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (own, more) in self.counts.iter_mut().zip(other.counts) {
            *own += more;
        }
        self.most = self.most.max(other.most);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 µs is 3.9 units, bucket 3, which ends at 1024 ns; 50 µs is 195 units = 2⁷ · 1.52, quarter 2 of octave 7.
    #[test]
    fn buckets_are_quarters_of_an_octave() {
        assert_eq!((bucket(1_000), edge(3)), (3, 1_024));
        assert_eq!((bucket(50_000), edge(bucket(50_000))), (26, 224 * 256));
        // Up to 2⁴⁰ ns, which is 18 minutes: the last bucket holds what is beyond.
        for ns in (0..38).flat_map(|shift| [1u64 << shift, (1 << shift) + 1, (3 << shift) - 1]) {
            let (low, high) = (if bucket(ns) == 0 { 0 } else { edge(bucket(ns) - 1) }, edge(bucket(ns)));
            assert!(low <= ns && ns < high, "{ns} is not within {low}..{high}");
        }
    }

    #[test]
    fn quantiles_are_at_most_a_quarter_too_high() {
        let mut latency = Latency::default();
        (1..=1_000u64).for_each(|n| latency.add(n * 1_000));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            let found = latency.quantile(share) as f64;
            assert!((1.0..=1.26).contains(&(found / exact)), "{share}: {found}");
        }
        assert_eq!((latency.most, latency.total()), (1_000_000, 1_000));
        assert_eq!(Latency::default().quantile(0.99), 0);
    }
}
