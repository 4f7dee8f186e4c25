//! The bandwidth stamp of the algorithm `iotcc`: the available bandwidth at the start of a connection.
//!
//! Source: L. P. Verma, M. Kumar, "An IoT based congestion control algorithm", Internet of Things 9, 2020.
//!
//! ```text
//! available = max(C − load, C / 100); stamp = min(stamp, available)    (1)
//! ```
//!
//! The paper stamps the SYN-ACK with the load between SYN and SYN-ACK (Algorithm 1): `stamped = "syn-ack"`. The load is
//! then that of one round trip between the router and the receiver, which may be a few packets only. By default the SYN
//! is stamped, at the same line half a round trip earlier, with the load of a fixed interval.

use std::collections::BTreeMap;

use cwndlab_config::{fields, words, Positive, Table};
use cwndlab_units::{ConnectionId, Duration, Time};

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

words! {
    /// The packet that is stamped.
    pub enum Stamped {
        /// the SYN, when it arrives at the link, with the load of the last `interval`
        Syn = "syn",
        /// the SYN-ACK, when it passes the router from which the link starts, with the load since the SYN
        SynAck = "syn-ack",
    }
}

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// interval over which the load is measured, if the SYN is stamped
        interval: Positive<Duration> = "100 ms",
        /// packet that is stamped
        stamped: Stamped = absent("syn", Stamped::Syn),
    }
}

impl Configuration for Config {
    type Agent = Stamp;

    fn answers(&self) -> bool {
        self.stamped == Stamped::SynAck
    }

    fn build(&self, capacity: f64) -> Stamp {
        Stamp::new(capacity, self.interval, self.stamped)
    }
}

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Stamp {
    capacity: f64,
    meter: LoadMeter,
    stamped: Stamped,
    /// Bytes that arrived at the link.
    bytes: u64,
    /// The SYNs without an answer: their time, and the bytes up to them.
    pending: BTreeMap<ConnectionId, (Time, u64)>,
}

impl Stamp {
    /// An agent for a line of `capacity` bit/s that measures its load over `interval`, or between SYN and SYN-ACK.
    #[must_use]
    pub fn new(capacity: f64, interval: Duration, stamped: Stamped) -> Self {
        Self { capacity, meter: LoadMeter::new(interval), stamped, bytes: 0, pending: BTreeMap::new() }
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        let header = header.filter(|_| arrival.syn);
        match self.stamped {
            Stamped::Syn => {
                if let Some(header) = header {
                    let load = self.meter.rate(arrival.now);
                    self.stamp(header, load);
                }
                self.meter.count(arrival.now, arrival.size);
            }
            Stamped::SynAck => {
                self.bytes += u64::from(arrival.size);
                if header.is_some() {
                    self.pending.insert(arrival.connection, (arrival.now, self.bytes));
                }
            }
        }
    }

    pub(super) fn on_syn_ack(&mut self, now: Time, connection: ConnectionId, header: &mut Header) {
        let Some((since, bytes)) = self.pending.remove(&connection) else { return };
        let passed = now.saturating_since(since).as_nanos().max(1);
        self.stamp(header, (self.bytes - bytes) as f64 * 8e9 / passed as f64);
    }

    /// (1).
    fn stamp(&self, header: &mut Header, load: f64) {
        let available = (self.capacity - load).max(self.capacity / 100.0);
        header.rate = header.rate.min(available);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::super::scheme::Scheme;
    use super::*;

    fn stamped(load: f64) -> f64 {
        let mut agent = Stamp::new(1.5e6, Duration::from_millis(100), Stamped::Syn);
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
        Stamp::new(1.5e6, Duration::from_millis(100), Stamped::Syn).on_packet(packet(0), Some(&mut header));
        assert_eq!(header.rate, f64::INFINITY);
    }

    /// Algorithm 1, by hand: 6 packets of 1500 bytes between SYN and SYN-ACK, 120 ms apart, are 0.6 of 1.5 Mbit/s.
    /// The packets before the SYN do not count, and a second answer finds no SYN.
    #[test]
    fn the_syn_ack_is_stamped_with_the_load_since_the_syn() {
        let mut agent = Stamp::new(1.5e6, Duration::from_millis(100), Stamped::SynAck);
        let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
        agent.on_packet(packet(0), None);
        agent.on_packet(Arrival { syn: true, ..packet(10 * MS) }, Some(&mut header));
        assert_eq!(header.rate, f64::INFINITY);
        for n in 1..=6 {
            agent.on_packet(packet((10 + n) * MS), None);
        }
        agent.on_syn_ack(Time::from_nanos(130 * MS), 0.into(), &mut header);
        assert!((header.rate - 0.9e6).abs() < 1.0, "{}", header.rate);
        let mut again = Header { rate: f64::INFINITY, ..header };
        agent.on_syn_ack(Time::from_nanos(140 * MS), 0.into(), &mut again);
        assert_eq!(again.rate, f64::INFINITY);
    }
}
