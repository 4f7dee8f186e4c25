//! The router side of Quick-Start.
//!
//! Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007.
//!
//! ```text
//! rate(N) = 40 kbit/s · 2^N for N = 1 … 15, 0 for N = 0                                  (1)
//! spare = max(0, θ C − load − approved in the last T); grant the largest rate(N) ≤ spare  (2)
//! ```
//!
//! Units: bit/s. The RFC leaves θ and T to the router (its appendix describes an example); the defaults are θ = 0.95
//! and T = 200 ms.

use std::collections::VecDeque;

use cwndlab_config::{fields, Positive, Probability, Table};
use cwndlab_units::{Duration, Time};

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;
use super::load_meter::LoadMeter;

/// The declaration of the scheme.
pub static SPEC: Table = Table::new(
    "quick-start",
    "Quick-Start (RFC 4782): routers approve or reduce the rate requested in the SYN; requested by the slow start `quick-start`.",
    &[Config::FIELDS],
)
.class("QuickStart");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// maximum share of the line for load and approved rates
        theta: Probability = 0.95,
        /// period for which an approved rate is reserved, and over which the load is measured
        interval: Positive<Duration> = "200 ms",
    }
}

impl Configuration for Config {
    type Agent = QuickStart;

    fn requested_rate(parameter: &dyn Fn(&str) -> Option<f64>) -> f64 {
        parameter("n").map_or(f64::INFINITY, |n| rate(n as u8))
    }

    fn build(&self, capacity: f64) -> QuickStart {
        QuickStart::new(capacity, self.theta, self.interval)
    }
}

/// (1): rate of the field value `n`, bit/s.
#[must_use]
pub fn rate(n: u8) -> f64 {
    if n == 0 {
        0.0
    } else {
        40e3 * f64::from(1u32 << n.min(15))
    }
}

/// The largest encodable rate that is at most `bps`, bit/s.
#[must_use]
pub fn encodable(bps: f64) -> f64 {
    (0..=15).rev().map(rate).find(|rate| *rate <= bps).unwrap_or(0.0)
}

/// The state of a router.
#[derive(Clone, Debug)]
pub struct QuickStart {
    capacity: f64,
    theta: f64,
    interval: Duration,
    meter: LoadMeter,
    approved: VecDeque<(Time, f64)>,
}

impl QuickStart {
    /// An agent for a line of `capacity` bit/s.
    #[must_use]
    pub fn new(capacity: f64, theta: f64, interval: Duration) -> Self {
        Self { capacity, theta, interval, meter: LoadMeter::new(interval), approved: VecDeque::new() }
    }

    /// (2): rate approved at `now` for a request of `request`, bit/s.
    pub fn grant(&mut self, now: Time, request: f64) -> f64 {
        while self.approved.front().is_some_and(|(at, _)| *at + self.interval <= now) {
            self.approved.pop_front();
        }
        let recent: f64 = self.approved.iter().map(|(_, rate)| rate).sum();
        let spare = (self.theta * self.capacity - self.meter.rate(now) - recent).max(0.0);
        let granted = encodable(request.min(spare));
        if granted > 0.0 {
            self.approved.push_back((now, granted));
        }
        granted
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        if let Some(header) = header.filter(|_| arrival.syn) {
            header.rate = self.grant(arrival.now, header.rate);
        }
        self.meter.count(arrival.now, arrival.size);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::*;

    /// `known-answers.csv`: 80 kbit/s, 2.56, 10.24 and 1310.72 Mbit/s.
    #[test]
    fn field_values_encode_the_rates_of_the_rfc() {
        assert_eq!([1, 6, 8, 15].map(rate), [80_000.0, 2_560_000.0, 10_240_000.0, 1_310_720_000.0]);
        assert_eq!(rate(0), 0.0);
    }

    /// `explicit-feedback.md`: a request of 10.24 Mbit/s receives 2.56 Mbit/s from 3 Mbit/s of spare capacity and 0
    /// from 50 kbit/s.
    #[test]
    fn the_largest_encodable_spare_rate_is_approved() {
        assert_eq!(QuickStart::new(3e6 / 0.95, 0.95, Duration::from_millis(200)).grant(Time::ZERO, rate(8)), 2.56e6);
        assert_eq!(QuickStart::new(50e3 / 0.95, 0.95, Duration::from_millis(200)).grant(Time::ZERO, rate(8)), 0.0);
    }

    /// By hand: 100 Mbit/s · 0.95 = 95 Mbit/s suffice for two approvals of 40.96 Mbit/s, not for three; after 200 ms
    /// for a third.
    #[test]
    fn recently_approved_rates_reduce_the_spare_capacity() {
        let mut agent = QuickStart::new(100e6, 0.95, Duration::from_millis(200));
        let grants: Vec<f64> = [0, 1, 2, 300].map(|ms| agent.grant(Time::from_nanos(ms * MS), rate(10))).into();
        assert_eq!(grants, [40.96e6, 40.96e6, 10.24e6, 40.96e6]);
    }

    /// By hand: a load of 9 Mbit/s on a line of 10 leaves 0.5 of 9.5 Mbit/s spare: N = 3, 320 kbit/s.
    #[test]
    fn the_load_reduces_the_spare_capacity() {
        let mut agent = QuickStart::new(10e6, 0.95, Duration::from_millis(200));
        for n in 0..=300 {
            agent.on_packet(super::Arrival { size: 1125, ..packet(n * MS) }, None);
        }
        assert_eq!(agent.grant(Time::from_nanos(300 * MS), rate(15)), 320e3);
    }
}
