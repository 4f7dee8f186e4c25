//! Copa's RTT statistics over sliding windows: long-term minimum, standing RTT, recent maximum.

use cwndlab_control::Ack;
use cwndlab_units::{Duration, Time};

use cwndlab_units::windowed::WindowedMax;

/// Window of the minimum RTT and of the maximum delivery rate.
const LONG: Duration = Duration::from_secs(10);

/// RTTmin, RTTstanding, RTTmax, ns.
#[derive(Clone, Debug)]
pub struct Delays {
    // Minima are maxima of negated values.
    min: WindowedMax<Time>,
    standing: WindowedMax<Time>,
    max: WindowedMax<Time>,
    rate: WindowedMax<Time>,
    /// The RTT of the control law, ns; 0 before the first.
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
    /// Adds an ACK: minima over 10 s and over half the smoothed RTT, the maximum over `rounds` round trips. `by_last`:
    /// the control law uses the last sample instead of the standing RTT.
    #[inline]
    pub fn update(&mut self, ack: &Ack, rounds: u64, by_last: bool) {
        let now = ack.now;
        if let Some(sample) = ack.rtt {
            let rtt = sample.as_nanos() as f64;
            self.min.update(LONG, now, -rtt);
            self.standing.update(ack.srtt / 2, now, -rtt);
            self.max.update(ack.srtt * rounds, now, rtt);
            self.rtt = if by_last { rtt } else { -self.standing.get() };
        }
        if let Some(sample) = ack.delivery_rate {
            self.rate.update(LONG, now, sample.rate().0 as f64 / 8e9);
        }
    }

    /// The minimum RTT, ns; infinite before the first sample.
    #[inline]
    #[must_use]
    pub fn min(&self) -> f64 {
        -self.min.get()
    }

    /// RTTmax − RTTmin, ns.
    #[inline]
    #[must_use]
    pub fn range(&self) -> f64 {
        self.max.get() - self.min()
    }

    /// The time of `bytes` at the maximum delivery rate, ns; 0 before the first rate sample.
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
