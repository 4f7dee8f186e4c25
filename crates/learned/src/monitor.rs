//! The monitor of a flow: what happened since its last decision.

use cwndlab_control::{Ack, DeliveryRate};
use cwndlab_units::{Bytes, Duration, Time};

/// What happened to a flow between two decisions, a *monitor interval* (M. Dong et al., "PCC", NSDI 2015, section 2.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Its start.
    pub start: Time,
    /// Payload sent, retransmissions included.
    pub sent: Bytes,
    /// Payload acknowledged, cumulatively or by SACK.
    pub acked: Bytes,
    /// Payload marked lost.
    pub lost: Bytes,
    /// Payload acknowledged that arrived with a CE mark.
    pub marked: Bytes,
    /// The minimum RTT sample; `None` without a sample.
    pub rtt_min: Option<Duration>,
    /// The last RTT sample.
    pub rtt_last: Option<Duration>,
    /// The last delivery-rate sample.
    pub delivery_rate: Option<DeliveryRate>,
    rtts: Fit,
}

impl Interval {
    /// An interval that begins at `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self { start, ..Self::default() }
    }

    /// Adds an ACK.
    #[inline]
    pub fn add(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.lost += ack.lost;
        self.marked += ack.ce;
        if let Some(rtt) = ack.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
            self.rtt_last = Some(rtt);
            self.rtts.add((ack.now.as_nanos() - self.start.as_nanos()) as f64, rtt.as_nanos() as f64);
        }
        if ack.delivery_rate.is_some() {
            self.delivery_rate = ack.delivery_rate;
        }
    }

    /// Mean of the RTT samples, s; NaN without a sample.
    #[must_use]
    pub fn rtt_mean(&self) -> f64 {
        self.rtts.y / self.rtts.n / 1e9
    }

    /// Slope of the least-squares line through the RTT samples over their arrival times, the latency gradient of N. Jay
    /// et al., "A deep reinforcement learning perspective on internet congestion control", ICML 2019. NaN with fewer
    /// than two arrival times.
    #[must_use]
    pub fn rtt_slope(&self) -> f64 {
        self.rtts.slope()
    }
}

/// Sums for a line y = a + b x by least squares.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Fit {
    #[inline]
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// b = (n Σxy − Σx Σy) / (n Σx² − (Σx)²)
    fn slope(&self) -> f64 {
        let spread = self.n * self.xx - self.x * self.x;
        if spread > 0.0 {
            (self.n * self.xy - self.x * self.y) / spread
        } else {
            f64::NAN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;

    fn at(now_ms: u64, rtt: u64, acked: u64) -> Ack {
        let rtt = Some(Duration::from_millis(rtt));
        Ack { now: Time::ZERO + Duration::from_millis(now_ms), rtt, ..ack(acked) }
    }

    /// By hand: RTTs of 40, 50 and 60 ms at 10, 30 and 50 ms: mean 50 ms, slope 20 ms / 40 ms.
    #[test]
    fn an_interval_sums_its_acks() {
        let mut interval = Interval::new(Time::ZERO);
        for (now, rtt) in [(10, 40), (30, 50), (50, 60)] {
            interval.add(&at(now, rtt, 2));
        }
        assert_eq!(interval.acked, Bytes(6000));
        assert_eq!(interval.rtt_min, Some(Duration::from_millis(40)));
        assert_eq!(interval.rtt_last, Some(Duration::from_millis(60)));
        assert!((interval.rtt_mean() - 0.05).abs() < 1e-12);
        assert!((interval.rtt_slope() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn without_samples_mean_and_slope_are_unknown() {
        let mut interval = Interval::new(Time::ZERO);
        assert!(interval.rtt_mean().is_nan() && interval.rtt_slope().is_nan());
        interval.add(&at(10, 40, 2));
        assert!(interval.rtt_slope().is_nan());
    }
}
