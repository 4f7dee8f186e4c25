//! How routers measure the load of a link.

/// The load of a link, over intervals one after another.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    interval: u64,
    start: u64,
    bytes: u64,
    rate: f64,
}

impl Meter {
    /// A meter of an idle link.
    #[must_use]
    pub fn new(interval: u64) -> Self {
        Self { interval: interval.max(1), start: 0, bytes: 0, rate: 0.0 }
    }

    /// A packet passes.
    pub fn count(&mut self, now: u64, size: u32) {
        self.turn(now);
        self.bytes += u64::from(size);
    }

    /// Bits per second of the last interval that is over. One that lasted longer, since nobody looked, counts whole.
    pub fn rate(&mut self, now: u64) -> f64 {
        self.turn(now);
        self.rate
    }

    fn turn(&mut self, now: u64) {
        let passed = now.saturating_sub(self.start);
        if passed >= self.interval {
            self.rate = self.bytes as f64 * 8e9 / passed as f64;
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
        let mut meter = Meter::new(100 * MS);
        for n in 0..100 {
            meter.count(n * MS, 1500);
        }
        assert_eq!(meter.rate(99 * MS), 0.0);
        assert_eq!(meter.rate(100 * MS), 12e6);
        assert_eq!(meter.rate(1100 * MS), 0.0);
    }
}
