//! The bandwidth stamp of the IoT algorithm: what is left of a line when a connection begins.
//!
//! Source: L. P. Verma, M. Kumar, "An IoT based congestion control algorithm", Internet of Things 9, 2020.
//!
//! ```text
//! available = max(C − load, C / 100); stamp = min(stamp, available)    (1)
//! ```
//!
//! The paper takes the load between SYN and SYN-ACK of the same connection, which is too short a time, and lets the
//! SYN-ACK be stamped; here the SYN is, at the same line half a round trip earlier, with the load of the last 100 ms.

use cwndlab_config::{Faults, Field, Reader, Table};
use cwndlab_units::Duration;

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;
use super::meter::Meter;

/// The scheme's entry.
pub static SPEC: Table = Table::new(
    "bandwidth-stamp",
    "The stamp of the IoT algorithm: the bandwidth that is left when the connection begins; asked by `iotcc`.",
    &[&[Field::duration("interval", "100 ms", "time over which the load is measured").above_zero()]],
)
.class("BandwidthStamp");

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time over which the load is measured.
    pub interval: Duration,
}

impl Configuration for Config {
    type Agent = Stamp;

    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Some(Self { interval: table.duration("interval", faults)? })
    }

    fn build(&self, capacity: f64) -> Stamp {
        Stamp::new(capacity, self.interval)
    }
}

/// What a router keeps.
#[derive(Clone, Debug)]
pub struct Stamp {
    capacity: f64,
    meter: Meter,
}

impl Stamp {
    /// An agent of a line of `capacity` that measures its load over `interval`.
    #[must_use]
    pub fn new(capacity: f64, interval: Duration) -> Self {
        Self { capacity, meter: Meter::new(interval) }
    }

    pub(super) fn pass(&mut self, arrival: Arrival, header: Option<&mut Header>) {
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
    use super::super::Scheme;
    use super::*;

    fn stamped(load: f64) -> f64 {
        let mut agent = Stamp::new(1.5e6, Duration::from_millis(100));
        for n in 0..100 {
            agent.pass(Arrival { size: (load / 8e3) as u32, ..packet(n * MS) }, None);
        }
        let mut header = Header::new(Scheme::Stamp, f64::INFINITY, Duration::ZERO);
        agent.pass(Arrival { syn: true, ..packet(100 * MS) }, Some(&mut header));
        header.rate
    }

    /// By hand: of 1.5 Mbit/s 0.5 are used: 1 Mbit/s; a full line still says its hundredth.
    #[test]
    fn the_stamp_is_what_is_left_and_at_least_a_hundredth() {
        assert_eq!(stamped(0.0), 1.5e6);
        assert!((stamped(0.5e6) - 1.0e6).abs() < 5e3, "{}", stamped(0.5e6));
        assert_eq!(stamped(1.5e6), 15e3);
    }

    /// Data is not stamped: the scheme asks once, at the start.
    #[test]
    fn only_a_syn_is_stamped() {
        let mut header = Header::new(Scheme::Stamp, f64::INFINITY, Duration::ZERO);
        Stamp::new(1.5e6, Duration::from_millis(100)).pass(packet(0), Some(&mut header));
        assert_eq!(header.rate, f64::INFINITY);
    }
}
