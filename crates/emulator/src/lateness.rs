//! How late packets were delivered: a histogram of fixed size, whatever the length of the run.

/// Buckets of a quarter of an octave, from 1 µs.
const BUCKETS: usize = 96;

/// A histogram of lateness.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    most: u64,
    total: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], most: 0, total: 0 }
    }
}

/// Upper end of a bucket, ns.
fn edge(bucket: usize) -> u64 {
    let (octave, quarter) = (bucket / 4, bucket % 4);
    (1_000u64 << octave) * (4 + quarter as u64 + 1) / 4
}

impl Lateness {
    /// One packet was this late, ns.
    pub fn add(&mut self, late: u64) {
        let bucket = (0..BUCKETS).find(|&bucket| late <= edge(bucket)).unwrap_or(BUCKETS - 1);
        self.counts[bucket] += 1;
        self.total += 1;
        self.most = self.most.max(late);
    }

    /// The lateness that this share of the packets did not pass, ns, rounded up to a bucket's end (at most 25 % too much).
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return edge(bucket).min(self.most);
            }
        }
        self.most
    }

    /// The latest, ns.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Packets that were later than this, ns; those of the bucket in which it lies are not counted.
    #[must_use]
    pub fn beyond(&self, late: u64) -> u64 {
        let buckets = self.counts.iter().enumerate();
        buckets.filter(|(bucket, _)| *bucket > 0 && edge(bucket - 1) >= late).map(|(_, count)| count).sum()
    }

    /// Packets.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Upper end in ns and count of each bucket that holds something.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| (edge(bucket), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_quarter_too_high() {
        let mut late = Lateness::default();
        for n in 1..=1_000u64 {
            late.add(n * 1_000);
        }
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            let found = late.quantile(share) as f64;
            assert!((1.0..=1.26).contains(&(found / exact)), "{share}: {found}");
        }
        assert_eq!((late.most(), late.total()), (1_000_000, 1_000));
        assert_eq!(late.buckets().map(|(_, count)| count).sum::<u64>(), 1_000);
        assert_eq!(Lateness::default().quantile(0.99), 0);
        // Edges about 512 us are 512 and 640 us.
        assert_eq!((late.beyond(512_000), late.beyond(600_000)), (488, 360));
    }
}
