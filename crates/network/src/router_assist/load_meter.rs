//! Measurement of the load of a link.

use cwndlab_units::{Duration, Time};

/// The load of a link over consecutive intervals.
#[derive(Clone, Copy, Debug)]
pub struct LoadMeter {
    interval: Duration,
    start: Time,
    bytes: u64,
    rate: f64,
}

impl LoadMeter {
    /// A meter for an idle link.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval: interval.max(Duration::from_nanos(1)), start: Time::ZERO, bytes: 0, rate: 0.0 }
    }

    /// Counts a packet of `size` bytes.
    pub fn count(&mut self, now: Time, size: u32) {
        self.advance(now);
        self.bytes += u64::from(size);
    }

    /// Load of the last completed interval, bit/s. An interval without calls at its end extends to the next call.
    pub fn rate(&mut self, now: Time) -> f64 {
        self.advance(now);
        self.rate
    }

    /// Completes the interval if it is over at `now`.
    fn advance(&mut self, now: Time) {
        let passed = now.saturating_since(self.start);
        if passed >= self.interval {
            self.rate = self.bytes as f64 * 8e9 / passed.as_nanos() as f64;
            (self.start, self.bytes) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::MS;
    use super::*;

    /// By hand: 100 packets of 1500 bytes in 100 ms are 12 Mbit/s; then an interval of 1000 ms without packets.
    #[test]
    fn the_rate_is_that_of_the_last_interval() {
        let mut meter = LoadMeter::new(Duration::from_millis(100));
        for n in 0..100 {
            meter.count(Time::from_nanos(n * MS), 1500);
        }
        assert_eq!(meter.rate(Time::from_nanos(99 * MS)), 0.0);
        assert_eq!(meter.rate(Time::from_nanos(100 * MS)), 12e6);
        assert_eq!(meter.rate(Time::from_nanos(1100 * MS)), 0.0);
    }
}
