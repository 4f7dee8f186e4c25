//! H-TCP of ns-3, where it differs from Linux.
//!
//! Source: ns-3.37, `TcpHtcp`, by its behaviour and documentation.
//!
//! ```text
//! each ack:  w += 1 / w + max(α, 1) / MSS, whole bytes                                        (1)
//! B        = bytes acknowledged outside recoveries since the last event / the time since then   (2)
//! β        = RTT_min / RTT_max of that time where B⁻ < B < 2 B⁻, else 1/2                       (3)
//! ```
//!
//! Units: segments, bytes, nanoseconds. In (1) α is in bytes, where the paper has segments per round trip; in (3) the
//! threshold of a fifth is compared with an integer quotient, and β has no bounds.

use cwndlab_control::Ack;
use cwndlab_units::maths::floor;
use cwndlab_units::Time;

/// Measurements of the current epoch.
#[derive(Clone, Copy, Debug)]
pub struct Ns3 {
    rtt_min: u64,
    rtt_max: u64,
    bytes: u64,
    /// Bytes per second: of this epoch, and of the one before.
    b: f64,
    b_before: f64,
}

impl Default for Ns3 {
    fn default() -> Self {
        Self { rtt_min: u64::MAX, rtt_max: 0, bytes: 0, b: 0.0, b_before: 0.0 }
    }
}

impl Ns3 {
    /// Adds an ACK of the epoch that began at `since`.
    #[inline]
    pub fn observe(&mut self, ack: &Ack, since: Time) {
        if !ack.recovering {
            self.bytes += ack.acked.0;
        }
        let span = ack.now.saturating_since(since).as_nanos();
        if span > 0 {
            self.b = self.bytes as f64 * 1e9 / span as f64; // (2)
        }
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt.as_nanos());
            self.rtt_max = self.rtt_max.max(rtt.as_nanos());
        }
    }

    /// (1): increment of an ACK, segments.
    #[inline]
    #[must_use]
    pub fn step(ack: &Ack, w: f64, alpha: f64) -> f64 {
        let mss = ack.mss.0 as f64;
        f64::from(ack.acks) * floor(mss / w + alpha.max(1.0)) / mss
    }

    /// (3): β of the epoch. Starts a new epoch.
    pub fn beta(&mut self) -> f64 {
        // No margin: epochs of equal length and size have equal quotients.
        let steady = self.b > self.b_before && self.b < 2.0 * self.b_before;
        let beta = if steady && self.rtt_max > 0 { self.rtt_min as f64 / self.rtt_max as f64 } else { 0.5 };
        *self = Self { b_before: self.b, ..Self::default() };
        beta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::Duration;

    /// By hand: w = 100 segments of 1000 bytes and α = 11 give 10 + 11 bytes; α = 0.4 counts as 1.
    #[test]
    fn alpha_is_in_bytes() {
        let ack = ack_at(Time::from_nanos(1_000_000_000), 2);
        assert!((Ns3::step(&ack, 100.0, 11.0) - 0.021).abs() < 1e-12);
        assert!((Ns3::step(&ack, 100.0, 0.4) - 0.011).abs() < 1e-12);
    }

    /// By hand: samples of 60 and 100 ms give β = 0.6 after an increase of the throughput, 1/2 after a decrease.
    #[test]
    fn beta_adapts_only_after_an_increase_of_the_throughput() {
        let mut epoch = Ns3::default();
        let mut beta = |bytes: u64, begin: u64| {
            for (ms, rtt) in [(500, 60), (1000, 100)] {
                let start = Time::ZERO + Duration::from_secs(begin);
                let mut ack = ack_at(start + Duration::from_millis(ms), bytes);
                ack.rtt = Some(Duration::from_millis(rtt));
                epoch.observe(&ack, start);
            }
            epoch.beta()
        };
        assert_eq!([beta(10, 0), beta(12, 1), beta(11, 2), beta(30, 3)], [0.5, 0.6, 0.5, 0.5]);
    }
}
