//! One-way delays and their jitter.

use cwndlab_units::Duration;

/// Statistics of one-way delays from the source to the sink, queues included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// Number of received packets.
    pub count: u64,
    /// Sum of the delays, ns.
    pub sum: u128,
    /// Delay of the last packet.
    pub last: Duration,
    /// Minimum.
    pub min: Duration,
    /// Maximum.
    pub max: Duration,
    /// 16 times the interarrival jitter, the integer representation of RFC 3550, appendix A.8.
    jitter_16: u64,
}

impl Delays {
    /// Adds the delay of a packet.
    pub fn add(&mut self, delay: Duration) {
        if self.count > 0 {
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16. D, the difference of two packets' spacings at sender and
            // receiver, equals the difference of their transit times. Packets are taken in the order of arrival.
            self.jitter_16 =
                self.jitter_16 + delay.as_nanos().abs_diff(self.last.as_nanos()) - ((self.jitter_16 + 8) >> 4);
        }
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.count += 1;
        self.sum += u128::from(delay.as_nanos());
        self.last = delay;
    }

    /// The interarrival jitter (RFC 3550, section 6.4.1).
    #[must_use]
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.jitter_16 >> 4)
    }

    /// Mean delay; `None` before the first packet.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.sum.checked_div(u128::from(self.count)).map(|mean| Duration::from_nanos(mean as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550, appendix A.8, by hand in its integers: transit times 100, 260, 100, 100 differ by 160, 160, 0, so that
    /// 16 J is 160, then 160 + 160 - 10 = 310, then 310 - 19 = 291. The reported value is 16 J >> 4.
    #[test]
    fn the_jitter_matches_rfc_3550() {
        let mut delays = Delays::default();
        let jitter: Vec<u64> = [100, 260, 100, 100]
            .into_iter()
            .map(|transit| {
                delays.add(Duration::from_nanos(transit));
                delays.jitter().as_nanos()
            })
            .collect();
        assert_eq!(jitter, [0, 10, 19, 18]);
    }

    /// For a constant change of the transit time by 1 ms the jitter converges to 1 ms, the fixed point of J += (|D| -
    /// J) / 16.
    #[test]
    fn jitter_converges_to_a_constant_difference() {
        let mut delays = Delays::default();
        for packet in 0..1000 {
            delays.add(Duration::from_nanos(if packet % 2 == 0 { 5_000_000 } else { 6_000_000 }));
        }
        assert!(delays.jitter().as_nanos().abs_diff(1_000_000) <= 1, "{:?}", delays.jitter());
    }
}
