//! The router side of SIRENS: feedback of the available bandwidth.
//!
//! Source: K. Nakauchi, K. Kobayashi, "An explicit router feedback framework for high bandwidth-delay product
//! networks", Computer Networks 51(7), 2007. Only the idea is from the paper; the format of the feedback is not.
//!
//! ```text
//! available = max(0, C − load over the last interval); header: minimum over the path    (1)
//! ```

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::Duration;

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;
use super::load_meter::LoadMeter;

/// The declaration of the scheme.
pub static SPEC: Table = Table::new(
    "sirens",
    "SIRENS: routers write the available bandwidth; requested by the slow start `alss-sirens`.",
    &[Config::FIELDS],
)
.class("Sirens");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// interval over which the load is measured
        interval: Positive<Duration> = "100 ms",
    }
}

impl Configuration for Config {
    type Agent = Sirens;

    fn build(&self, capacity: f64) -> Sirens {
        Sirens::new(capacity, self.interval)
    }
}

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Sirens {
    capacity: f64,
    meter: LoadMeter,
}

impl Sirens {
    /// An agent for a line of `capacity` bit/s that measures its load over `interval`.
    #[must_use]
    pub fn new(capacity: f64, interval: Duration) -> Self {
        Self { capacity, meter: LoadMeter::new(interval) }
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        if let Some(header) = header {
            header.rate = header.rate.min((self.capacity - self.meter.rate(arrival.now)).max(0.0));
            // (1)
        }
        self.meter.count(arrival.now, arrival.size);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::super::{Agent, Header, Scheme};
    use super::*;

    /// `explicit-feedback.md`: hops of 100, 60 and 80 Mbit/s with loads of 20, 30 and 10 Mbit/s have 30 Mbit/s
    /// available.
    #[test]
    fn the_header_has_the_minimum_over_the_path() {
        let mut header =
            Header::new(Scheme::from_name(SPEC.name).expect("its own scheme"), f64::INFINITY, Duration::ZERO);
        for (capacity, load) in [(100e6, 20e6), (60e6, 30e6), (80e6, 10e6)] {
            let mut agent = Agent::Sirens(Sirens::new(capacity, Duration::from_millis(100)));
            for n in 0..100 {
                let size = (load / 8e3) as u32;
                agent.on_packet(Arrival { size, connection: 1.into(), ..packet(n * MS) }, None);
            }
            let probe = Arrival { size: 40, syn: true, ..packet(100 * MS) };
            agent.on_packet(probe, Some(&mut header));
        }
        assert_eq!((header.rate, header.routers), (30e6, 3));
    }
}
