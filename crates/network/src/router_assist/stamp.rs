//! The bandwidth stamp of the algorithm `iotcc`: the available bandwidth at the start of a connection.
//!
//! Source: L. P. Verma, M. Kumar, "An IoT based congestion control algorithm", Internet of Things 9, 2020.
//!
//! ```text
//! available = max(C − load, C / 100); stamp = min(stamp, available)    (1)
//! ```
//!
//! The paper stamps the SYN-ACK with the load between SYN and SYN-ACK of the same connection, which is too short an
//! interval. Here the SYN is stamped, at the same line half a round trip earlier, with the load of the last 100 ms.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::Duration;

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;
use super::load_meter::LoadMeter;

/// The declaration of the scheme.
pub static SPEC: Table = Table::new(
    "bandwidth-stamp",
    "Stamp of the available bandwidth at the start of a connection; requested by the algorithm `iotcc`.",
    &[Config::FIELDS],
)
.class("BandwidthStamp");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// interval over which the load is measured
        interval: Positive<Duration> = "100 ms",
    }
}

impl Configuration for Config {
    type Agent = Stamp;

    fn build(&self, capacity: f64) -> Stamp {
        Stamp::new(capacity, self.interval)
    }
}

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Stamp {
    capacity: f64,
    meter: LoadMeter,
}

impl Stamp {
    /// An agent for a line of `capacity` bit/s that measures its load over `interval`.
    #[must_use]
    pub fn new(capacity: f64, interval: Duration) -> Self {
        Self { capacity, meter: LoadMeter::new(interval) }
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        if let Some(header) = header.filter(|_| arrival.syn) {
            let available = (self.capacity - self.meter.rate(arrival.now)).max(self.capacity / 100.0);
            header.rate = header.rate.min(available); // (1)
        }
        self.meter.count(arrival.now, arrival.size);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::super::scheme::Scheme;
    use super::*;

    fn stamped(load: f64) -> f64 {
        let mut agent = Stamp::new(1.5e6, Duration::from_millis(100));
        for n in 0..100 {
            agent.on_packet(Arrival { size: (load / 8e3) as u32, ..packet(n * MS) }, None);
        }
        let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
        agent.on_packet(Arrival { syn: true, ..packet(100 * MS) }, Some(&mut header));
        header.rate
    }

    /// By hand: 0.5 of 1.5 Mbit/s are used: 1 Mbit/s; a fully used line stamps a hundredth of its rate.
    #[test]
    fn the_stamp_is_the_available_bandwidth_and_at_least_a_hundredth() {
        assert_eq!(stamped(0.0), 1.5e6);
        assert!((stamped(0.5e6) - 1.0e6).abs() < 5e3, "{}", stamped(0.5e6));
        assert_eq!(stamped(1.5e6), 15e3);
    }

    /// Data packets are not stamped: the scheme has one request, at the start.
    #[test]
    fn only_a_syn_is_stamped() {
        let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
        Stamp::new(1.5e6, Duration::from_millis(100)).on_packet(packet(0), Some(&mut header));
        assert_eq!(header.rate, f64::INFINITY);
    }
}
