//! Lateness of deliveries, as a histogram whose size does not depend on the length of the run.

/// Number of buckets. Each covers a quarter of an octave, from 1 µs.
const BUCKETS: usize = 96;

/// A histogram of lateness.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    max: u64,
    total: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], max: 0, total: 0 }
    }
}

/// Upper bound of a bucket, ns.
fn upper_bound(bucket: usize) -> u64 {
    let octave = bucket / 4;
    let quarter = bucket % 4;
    (1_000u64 << octave) * (4 + quarter as u64 + 1) / 4
}

impl Lateness {
    /// Counts a packet that was delivered `late` ns after its computed time.
    pub fn add(&mut self, late: u64) {
        let bucket = (0..BUCKETS).find(|&bucket| late <= upper_bound(bucket)).unwrap_or(BUCKETS - 1);
        self.counts[bucket] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// The quantile `share` (0 to 1) of the lateness, ns, rounded up to its bucket's bound (at most 25 % too high).
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut cumulative = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            cumulative += count;
            if cumulative >= wanted && cumulative > 0 {
                return upper_bound(bucket).min(self.max);
            }
        }
        self.max
    }

    /// The maximum lateness, ns.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Number of packets later than `late` ns. Packets in the bucket of `late` itself are not counted.
    #[must_use]
    pub fn beyond(&self, late: u64) -> u64 {
        let buckets = self.counts.iter().enumerate();
        buckets.filter(|(bucket, _)| *bucket > 0 && upper_bound(bucket - 1) >= late).map(|(_, count)| count).sum()
    }

    /// Number of packets.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Upper bound (ns) and count of each bucket that is not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (upper_bound(bucket), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lateness of 1 to 1000 µs, one packet each: the quantiles are known; a bucket is a quarter of an octave.
    #[test]
    fn quantiles_are_at_most_a_quarter_too_high() {
        let mut late = Lateness::default();
        for n in 1..=1_000u64 {
            late.add(n * 1_000);
        }
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            let quantile = late.quantile(share) as f64;
            assert!((1.0..=1.26).contains(&(quantile / exact)), "{share}: {quantile}");
        }
        assert_eq!((late.max(), late.total()), (1_000_000, 1_000));
        assert_eq!(late.buckets().map(|(_, count)| count).sum::<u64>(), 1_000);
        assert_eq!(Lateness::default().quantile(0.99), 0);
        // The bounds about 512 us are 512 and 640 us.
        assert_eq!((late.beyond(512_000), late.beyond(600_000)), (488, 360));
    }
}
