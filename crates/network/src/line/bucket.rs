//! A token bucket (RFC 2697 calls its size the committed burst; Linux's `tbf` adds the peak rate).

use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Bits per byte times nanoseconds per second.
const BYTE: u128 = 8_000_000_000;

/// Tokens come at a rate, at most a burst of them is kept; a packet waits for its tokens and leaves at the peak rate.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    burst: Bytes,
    peak: Option<Rate>,
    /// Tokens ever spent or spilt: those there at a moment are rate × time + burst − this, in (bit/s)·ns, hence exact.
    dropped: u128,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: Rate, burst: Bytes, peak: Option<Rate>) -> Self {
        assert!(rate.0 > 0, "tokens come");
        Self { rate, burst, peak, dropped: 0 }
    }

    /// As [`Line::serve`](super::Line::serve). A packet larger than the bucket goes when that is full, and leaves a debt.
    pub fn serve(&mut self, start: Time, size: u32) -> Time {
        let (rate, burst) = (u128::from(self.rate.0), u128::from(self.burst.0) * BYTE);
        // What came beyond a full bucket is spilt.
        self.dropped = self.dropped.max(u128::from(start.0) * rate);
        let size_tokens = u128::from(size) * BYTE;
        let needed = (self.dropped + size_tokens.min(burst)).saturating_sub(burst);
        let begin = start.max(Time(needed.div_ceil(rate) as u64));
        self.dropped += size_tokens;
        begin + self.peak.map_or(Duration::ZERO, |peak| peak.time_for(Bytes(u64::from(size))))
    }

    /// As [`Line::offered`](super::Line::offered): the first burst, and what came since.
    #[must_use]
    pub fn offered(&self, now: Time) -> u64 {
        self.burst.0 + (u128::from(now.0) * u128::from(self.rate.0) / BYTE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// By hand: 12 Mbit/s are a packet of 1500 bytes per ms; three fit into the bucket and leave at once.
    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = TokenBucket::new(Rate(12_000_000), Bytes(4500), None);
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..6)
            .map(|_| {
                free = bucket.serve(free, 1500);
                free.0 / MS
            })
            .collect();
        assert_eq!(left, [0, 0, 0, 1, 2, 3]);
        assert_eq!(bucket.offered(Time(3 * MS)), 6 * 1500);
        // After 7 ms of rest the bucket is full again, and no fuller.
        let left: Vec<u64> = (0..4)
            .map(|_| {
                free = bucket.serve(free.max(Time(10 * MS)), 1500);
                free.0 / MS
            })
            .collect();
        assert_eq!(left, [10, 10, 10, 11]);
    }

    /// By hand: at a peak of 120 Mbit/s a packet takes 0.1 ms, during which a tenth of one packet's tokens come.
    #[test]
    fn a_burst_leaves_at_the_peak_rate() {
        let mut bucket = TokenBucket::new(Rate(12_000_000), Bytes(3000), Some(Rate(120_000_000)));
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..4)
            .map(|_| {
                free = bucket.serve(free, 1500);
                free.0 / 100_000
            })
            .collect();
        assert_eq!(left, [1, 2, 11, 21]);
    }

    /// By hand: a bucket of 1000 bytes at 8 Mbit/s (1 byte per µs) lets 1500 bytes go when full, then pays back.
    #[test]
    fn a_packet_larger_than_the_bucket_leaves_a_debt() {
        let mut bucket = TokenBucket::new(Rate(8_000_000), Bytes(1000), None);
        assert_eq!(bucket.serve(Time::ZERO, 1500), Time::ZERO);
        assert_eq!(bucket.serve(Time::ZERO, 1000), Time(1_500_000));
    }
}
