//! How routers measure the load of a link.

use cwndlab_units::{Duration, Time};

/// The load of a link, over intervals one after another.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    interval: Duration,
    start: Time,
    bytes: u64,
    rate: f64,
}

impl Meter {
    /// A meter of an idle link.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval: interval.max(Duration(1)), start: Time::ZERO, bytes: 0, rate: 0.0 }
    }

    /// A packet passes.
    pub fn count(&mut self, now: Time, size: u32) {
        self.turn(now);
        self.bytes += u64::from(size);
    }

    /// Bits per second of the last interval that is over. One that lasted longer, since nobody looked, counts whole.
    pub fn rate(&mut self, now: Time) -> f64 {
        self.turn(now);
        self.rate
    }

    fn turn(&mut self, now: Time) {
        let passed = now.saturating_since(self.start);
        if passed >= self.interval {
            self.rate = self.bytes as f64 * 8e9 / passed.0 as f64;
            (self.start, self.bytes) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::MS;
    use super::*;

    /// By hand: 100 packets of 1500 bytes in 100 ms are 12 Mbit/s; after 900 ms of silence the long interval counts.
    #[test]
    fn a_meter_tells_the_last_interval() {
        let mut meter = Meter::new(Duration::from_millis(100));
        for n in 0..100 {
            meter.count(Time(n * MS), 1500);
        }
        assert_eq!(meter.rate(Time(99 * MS)), 0.0);
        assert_eq!(meter.rate(Time(100 * MS)), 12e6);
        assert_eq!(meter.rate(Time(1100 * MS)), 0.0);
    }
}
