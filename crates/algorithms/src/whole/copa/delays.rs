//! Round-trip times in windows of their own: the smallest of long and of now, the largest of late.

use cwndlab_control::Ack;
use cwndlab_units::{Duration, Time};

use crate::shared::windowed::WindowedMax;

/// The smallest RTT, and the highest delivery rate, are of the last 10 s.
const LONG: Duration = Duration::from_secs(10);

/// RTTmin, RTTstanding, RTTmax, ns.
#[derive(Clone, Debug)]
pub struct Delays {
    // Minima are kept negated.
    min: WindowedMax<Time>,
    standing: WindowedMax<Time>,
    max: WindowedMax<Time>,
    rate: WindowedMax<Time>,
    /// The RTT that decides, ns; 0 before any is known.
    pub rtt: f64,
}

impl Default for Delays {
    fn default() -> Self {
        let none = WindowedMax::new(f64::NEG_INFINITY);
        let zero = WindowedMax::new(0.0);
        Self { min: none.clone(), standing: none, max: zero.clone(), rate: zero, rtt: 0.0 }
    }
}

impl Delays {
    /// An ACK: minima of 10 s and of half the smoothed RTT, the maximum of `rounds` round trips. `by_last`: the last
    /// sample decides, not the standing RTT.
    #[inline]
    pub fn update(&mut self, ack: &Ack, rounds: u64, by_last: bool) {
        let now = ack.now;
        if let Some(sample) = ack.rtt {
            let rtt = sample.0 as f64;
            self.min.update(LONG, now, -rtt);
            self.standing.update(ack.srtt / 2, now, -rtt);
            self.max.update(ack.srtt * rounds, now, rtt);
            self.rtt = if by_last { rtt } else { -self.standing.get() };
        }
        if let Some(sample) = ack.delivery_rate {
            self.rate.update(LONG, now, sample.rate().0 as f64 / 8e9);
        }
    }

    /// The smallest RTT; infinite before the first sample.
    #[inline]
    #[must_use]
    pub fn min(&self) -> f64 {
        -self.min.get()
    }

    /// How far RTTs lately lay above the smallest.
    #[inline]
    #[must_use]
    pub fn range(&self) -> f64 {
        self.max.get() - self.min()
    }

    /// The time of `bytes` at the highest delivery rate; 0 before one is known.
    #[inline]
    #[must_use]
    pub fn time_of(&self, bytes: f64) -> f64 {
        if self.rate.get() > 0.0 {
            bytes / self.rate.get()
        } else {
            0.0
        }
    }
}
