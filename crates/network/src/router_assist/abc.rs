//! The router side of Accel-Brake Control (ABC).
//!
//! Source: P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, "ABC: A simple explicit congestion
//! controller for wireless networks", NSDI 2020.
//!
//! ```text
//! tr = max(0, η μ − (μ/δ) max(x − d_t, 0))       target rate; x: queueing delay        (1)
//! f  = min(tr / (2 cr), 1)                       share of "accelerate"; cr: dequeue rate (2)
//! each packet: token ← min(token + f, limit); accelerate, and token − 1, if token > 1    (3)
//! ```
//!
//! Units: μ, tr and cr in bit/s, x, δ and d_t in seconds. μ is the line's present rate; cr is measured over 40 ms and capped
//! by μ.

use cwndlab_config::{fields, Positive, Probability, Table};
use cwndlab_units::Duration;

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::Header;
use super::load_meter::LoadMeter;

/// The declaration of the scheme.
pub static SPEC: Table = Table::new(
    "abc",
    "ABC: marks every packet \"accelerate\" or \"brake\"; requested by the algorithm `abc-wireless`.",
    &[Config::FIELDS],
)
.class("Abc");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// target utilisation
        eta: Probability = 0.98,
        /// target time for draining the queue
        delta: Positive<Duration> = "133 ms",
        /// queueing delay up to which the target rate is not reduced
        threshold: Duration = "20 ms",
    }
}

impl Configuration for Config {
    type Agent = Abc;

    fn build(&self, _capacity: f64) -> Abc {
        Abc::new(self.eta, self.delta.as_nanos() as f64 * 1e-9, self.threshold.as_nanos() as f64 * 1e-9)
    }
}

/// Interval over which the dequeue rate is measured.
const WINDOW: Duration = Duration::from_millis(40);
/// Maximum number of tokens, which limits the burst of accelerations after a pause.
const TOKEN_LIMIT: f64 = 10.0;

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Abc {
    eta: f64,
    delta: f64,
    threshold: f64,
    meter: LoadMeter,
    token: f64,
}

impl Abc {
    /// An agent; `delta` and `threshold` in seconds.
    #[must_use]
    pub fn new(eta: f64, delta: f64, threshold: f64) -> Self {
        Self { eta, delta, threshold, meter: LoadMeter::new(WINDOW), token: 1.0 }
    }

    /// (1): target rate in bit/s on a line of `mu` bit/s for a queueing delay of `x` seconds.
    #[must_use]
    pub fn target(&self, mu: f64, x: f64) -> f64 {
        (self.eta * mu - mu / self.delta * (x - self.threshold).max(0.0)).max(0.0)
    }

    /// (2): share of "accelerate" for a target rate of `tr` and a dequeue rate of `cr` bit/s.
    #[must_use]
    pub fn fraction(tr: f64, cr: f64) -> f64 {
        if tr <= 0.0 {
            0.0 // also in an outage, in which nothing is dequeued
        } else if cr <= 0.0 {
            1.0
        } else {
            (0.5 * tr / cr).min(1.0)
        }
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        self.meter.count(arrival.now, arrival.size);
        let Some(header) = header else { return };
        let cr = self.meter.rate(arrival.now).min(arrival.rate);
        let f = Self::fraction(self.target(arrival.rate, arrival.backlog.as_nanos() as f64 * 1e-9), cr);
        self.token = (self.token + f).min(TOKEN_LIMIT);
        if header.accelerate {
            if self.token > 1.0 {
                self.token -= 1.0; // (3)
            } else {
                header.accelerate = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::{packet, MS};
    use super::super::scheme::Scheme;
    use super::*;

    fn router() -> Abc {
        Abc::new(0.98, 0.133, 0.02)
    }

    /// `explicit-feedback.md`: tr = cr gives one half; x = d_t + 133 ms with μ = 10 gives 9.8 − 10 < 0, hence 0 and
    /// only brakes.
    #[test]
    fn the_share_of_accelerate_matches_the_paper() {
        let agent = router();
        assert_eq!(agent.target(10e6, 0.0), 9.8e6);
        assert_eq!(Abc::fraction(9.8e6, 9.8e6), 0.5);
        assert_eq!(agent.target(10e6, 0.153), 0.0);
        assert_eq!(Abc::fraction(0.0, 10e6), 0.0);
        assert_eq!((Abc::fraction(9.8e6, 0.0), Abc::fraction(0.0, 0.0)), (1.0, 0.0));
    }

    /// By hand: 12 Mbit/s arrive at a line whose rate has fallen to 2 Mbit/s. tr = 0.98 μ and cr = μ, so that 49 % of the packets
    /// are marked "accelerate"; with 86.5 ms of queue tr = 0.48 μ, and it is 24 %. In an outage none is.
    #[test]
    fn the_target_follows_the_rate_of_the_line() {
        for (rate, backlog_us, expected) in [(2e6, 0, 49), (2e6, 86_500, 24), (0.0, 0, 0)] {
            let mut agent = router();
            let mut accelerated = 0;
            for n in 0..240 {
                let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
                let arrival = Arrival { rate, backlog: Duration::from_micros(backlog_us), ..packet(n * MS) };
                agent.on_packet(arrival, Some(&mut header));
                accelerated += i32::from(header.accelerate && n >= 140);
            }
            assert!((accelerated - expected).abs() <= 1, "{accelerated} for {expected}");
        }
    }

    /// By hand: at tr = cr every second packet is marked "accelerate".
    #[test]
    fn accelerate_marks_are_evenly_spaced() {
        let mut agent = router();
        let mut marks = Vec::new();
        for n in 0..400 {
            let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
            agent.on_packet(Arrival { rate: 12e6 / 0.98, ..packet(n * MS) }, Some(&mut header));
            marks.push(header.accelerate);
        }
        let late = &marks[200..];
        assert_eq!(late.iter().filter(|mark| **mark).count(), 100);
        assert!(late.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// A router never changes "brake" to "accelerate".
    #[test]
    fn a_brake_is_not_changed_to_accelerate() {
        let mut header = Header { accelerate: false, ..Header::new(Scheme(0), f64::INFINITY, Duration::ZERO) };
        router().on_packet(packet(0), Some(&mut header));
        assert!(!header.accelerate);
    }
}
