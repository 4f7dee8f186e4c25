//! The router side of RCP: one rate for all flows of the line.
//!
//! Source: N. Dukkipati, N. McKeown et al., "Processor sharing flows in the Internet", IWQoS 2005.
//!
//! ```text
//! every T = min(10 ms, d0):
//!   R ← R [1 + (T/d0) (α (C − y) − β q / d0) / C], within [one packet per d0, C]    (1)
//! each packet: d0 ← 0.98 d0 + 0.02 rtt;  field ← min(field, R)                      (2)
//! ```
//!
//! Units: R, C and y in bit/s, q in bits, T and d0 in seconds. Initial values: R = C/20, d0 = 200 ms.

use cwndlab_config::{fields, Probability, Table};
use cwndlab_units::{Duration, Time};

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;

/// The declaration of the scheme.
pub static SPEC: Table =
    Table::new("rcp", "RCP: one rate for all flows of the line; requested by the algorithm `rcp`.", &[Config::FIELDS])
        .class("Rcp");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// weight of the spare capacity
        alpha: Probability = 0.4,
        /// weight of the queue
        beta: Probability = 0.4,
    }
}

impl Configuration for Config {
    type Agent = Rcp;

    const COUNTS_HEADERS: bool = true;

    fn build(&self, capacity: f64) -> Rcp {
        Rcp::new(capacity, self.alpha, self.beta)
    }
}

/// Weight of a packet's RTT in (2).
const GAIN: f64 = 0.02;
/// Maximum of T.
const MAX_STEP: Duration = Duration::from_millis(10);

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Rcp {
    capacity: f64,
    alpha: f64,
    beta: f64,
    rate: f64,
    d0: f64,
    start: Time,
    bytes: u64,
}

impl Rcp {
    /// An agent for a line of `capacity` bit/s; `alpha` and `beta` as in (1).
    #[must_use]
    pub fn new(capacity: f64, alpha: f64, beta: f64) -> Self {
        Self { capacity, alpha, beta, rate: capacity / 20.0, d0: 0.2, start: Time::ZERO, bytes: 0 }
    }

    /// R, bit/s.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// T.
    fn step(&self) -> Duration {
        MAX_STEP.min(Duration::from_nanos((self.d0 * 1e9) as u64)).max(Duration::from_nanos(1))
    }

    /// (1), for an input rate `y` over a step of `t` seconds and a queue of `q` bits.
    fn update(&mut self, t: f64, y: f64, q: f64) {
        let law = 1.0 + t / self.d0 * (self.alpha * (self.capacity - y) - self.beta * q / self.d0) / self.capacity;
        self.rate = (self.rate * law).clamp((12_000.0 / self.d0).min(self.capacity), self.capacity);
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        let passed = arrival.now.saturating_since(self.start);
        if passed >= self.step() {
            // There is no update between packets: a pause counts as one step of its length, at most one d0.
            let t = (passed.as_nanos() as f64 * 1e-9).min(self.d0);
            let y = self.bytes as f64 * 8e9 / passed.as_nanos() as f64;
            self.update(t, y, arrival.backlog.as_nanos() as f64 * 1e-9 * self.capacity);
            (self.start, self.bytes) = (arrival.now, 0);
        }
        self.bytes += u64::from(arrival.size);
        if let Some(header) = header {
            if header.rtt > Duration::ZERO {
                let rtt = header.rtt.as_nanos() as f64 * 1e-9;
                self.d0 += GAIN * (rtt - self.d0); // (2)
            }
            header.rate = header.rate.min(self.rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::super::scheme::Scheme;
    use super::*;

    fn router(rate: f64) -> Rcp {
        Rcp { rate, d0: 0.1, ..Rcp::new(100e6, 0.4, 0.4) }
    }

    /// `known-answers.csv`: C = 100, R = 10, T = d0: y = 50 and no queue give 12; y = 100 and a queue of 1 Mbit give
    /// 9.6 Mbit/s.
    #[test]
    fn the_control_equation_matches_the_paper() {
        let mut free = router(10e6);
        free.update(0.1, 50e6, 0.0);
        assert!((free.rate() - 12e6).abs() < 1e-6);
        let mut full = router(10e6);
        full.update(0.1, 100e6, 1e6);
        assert!((full.rate() - 9.6e6).abs() < 1e-6);
    }

    /// In equilibrium, y = C with an empty queue, R does not change.
    #[test]
    fn a_fully_used_line_without_queue_is_in_equilibrium() {
        let mut agent = router(25e6);
        agent.update(0.1, 100e6, 0.0);
        assert_eq!(agent.rate(), 25e6);
    }

    /// By hand: four flows that send at R converge to R = C / 4.
    #[test]
    fn compliant_flows_share_the_line() {
        let mut agent = Rcp::new(100e6, 0.4, 0.4);
        let mut sent = 0.0;
        let mut now = 0u64;
        while now < 5_000 * MS {
            now += MS / 10;
            sent += 4.0 * agent.rate() * 1e-4 / 8.0;
            while sent >= 1500.0 {
                sent -= 1500.0;
                let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::from_millis(50));
                agent.on_packet(packet(now), Some(&mut header));
            }
        }
        assert!((agent.rate() / 25e6 - 1.0).abs() < 0.02, "{}", agent.rate());
    }
}
