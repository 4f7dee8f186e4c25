//! A token bucket (RFC 2697: its size is the committed burst size), with an optional peak rate as in Linux' `tbf`.

use cwndlab_units::{Bytes, Rate, Time};

use super::service_time::{Departures, ServiceTime};

/// Bits per byte times nanoseconds per second.
const BYTE: u128 = 8_000_000_000;

/// A line that sends a packet at the peak rate when enough tokens are available. Tokens accumulate at a rate, up to a
/// burst.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    burst: Bytes,
    peak: Option<Rate>,
    /// Tokens spent or discarded so far, in (bit/s)·ns, hence exact. Available tokens are rate × time + burst − this
    /// value.
    used: u128,
    /// Departures at the peak rate.
    peaks: Departures,
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Panics
    /// If `rate` is 0.
    #[must_use]
    pub fn new(rate: Rate, burst: Bytes, peak: Option<Rate>) -> Self {
        assert!(rate.0 > 0, "the rate of a token bucket is above 0");
        Self { rate, burst, peak, used: 0, peaks: Departures::default() }
    }

    /// The rate of the tokens.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// As [`Line::serve`](super::Line::serve). A packet larger than the bucket leaves when the bucket is full, and the
    /// missing tokens are a debt.
    pub fn serve(&mut self, start: Time, size: u32) -> Time {
        let rate = u128::from(self.rate.0);
        let burst = u128::from(self.burst.0) * BYTE;
        // Tokens beyond a full bucket are discarded.
        self.used = self.used.max(u128::from(start.as_nanos()) * rate);
        let size_tokens = u128::from(size) * BYTE;
        let needed = (self.used + size_tokens.min(burst)).saturating_sub(burst);
        let begin = start.max(Time::from_nanos(needed.div_ceil(rate) as u64));
        self.used += size_tokens;
        self.peak.map_or(begin, |peak| self.peaks.next(begin, ServiceTime::new(peak, size)))
    }

    /// Takes the tokens of a packet that arrives at `now`, as a policer does: with too few tokens the packet is in excess,
    /// and takes none (RFC 2697, section 3, without the excess burst).
    pub fn conforms(&mut self, now: Time, size: u32) -> bool {
        let earned = u128::from(now.as_nanos()) * u128::from(self.rate.0);
        self.used = self.used.max(earned);
        let used = self.used + u128::from(size) * BYTE;
        let conforms = used <= earned + u128::from(self.burst.0) * BYTE;
        if conforms {
            self.used = used;
        }
        conforms
    }

    /// As [`Line::offered`](super::Line::offered): the initial burst and all tokens since.
    #[must_use]
    pub fn offered(&self, now: Time) -> u64 {
        self.burst.0 + (u128::from(now.as_nanos()) * u128::from(self.rate.0) / BYTE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// By hand: 12 Mbit/s are one packet of 1500 bytes per ms; three packets fit into the bucket and leave at once.
    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = TokenBucket::new(Rate(12_000_000), Bytes(4500), None);
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..6)
            .map(|_| {
                free = bucket.serve(free, 1500);
                free.as_nanos() / MS
            })
            .collect();
        assert_eq!(left, [0, 0, 0, 1, 2, 3]);
        assert_eq!(bucket.offered(Time::from_nanos(3 * MS)), 6 * 1500);
        // After an idle time of 7 ms the bucket is full again, without excess tokens.
        let left: Vec<u64> = (0..4)
            .map(|_| {
                free = bucket.serve(free.max(Time::from_nanos(10 * MS)), 1500);
                free.as_nanos() / MS
            })
            .collect();
        assert_eq!(left, [10, 10, 10, 11]);
    }

    /// By hand: 800 kbit/s are 100 bytes per ms. The bucket of 500 bytes admits two packets of 200 bytes; 100 bytes remain,
    /// hence the third is in excess, and conforms after 1 ms. After 9 ms the bucket is full, not more.
    #[test]
    fn a_policer_admits_the_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::new(Rate(800_000), Bytes(500), None);
        let mut conforms = |at: u64, size| bucket.conforms(Time::from_nanos(at), size);
        assert_eq!([0; 3].map(|at| conforms(at, 200)), [true, true, false]);
        assert!(!conforms(MS - 1, 200));
        assert!(conforms(MS, 200));
        assert!(!conforms(MS, 1));
        assert_eq!([10 * MS; 3].map(|at| conforms(at, 200)), [true, true, false]);
        // A packet larger than the bucket never conforms, and takes no tokens.
        assert!(!conforms(30 * MS, 501));
        assert!(conforms(30 * MS, 500));
    }

    /// By hand: at a peak rate of 120 Mbit/s a packet takes 0.1 ms, in which a tenth of its tokens accumulate.
    #[test]
    fn a_burst_leaves_at_the_peak_rate() {
        let mut bucket = TokenBucket::new(Rate(12_000_000), Bytes(3000), Some(Rate(120_000_000)));
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..4)
            .map(|_| {
                free = bucket.serve(free, 1500);
                free.as_nanos() / 100_000
            })
            .collect();
        assert_eq!(left, [1, 2, 11, 21]);
    }

    /// By hand: a full bucket of 1000 bytes at 8 Mbit/s (1 byte per µs) sends 1500 bytes, and the next packet waits for
    /// the debt.
    #[test]
    fn a_packet_larger_than_the_bucket_leaves_a_debt() {
        let mut bucket = TokenBucket::new(Rate(8_000_000), Bytes(1000), None);
        assert_eq!(bucket.serve(Time::ZERO, 1500), Time::ZERO);
        assert_eq!(bucket.serve(Time::ZERO, 1000), Time::from_nanos(1_500_000));
    }
}
