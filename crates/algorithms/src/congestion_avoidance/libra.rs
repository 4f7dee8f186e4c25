//! TCP Libra: a throughput that does not depend on the RTT.
//!
//! Source: G. Marfia, C. E. Palazzi, G. Pau, M. Gerla, M. Roccetti, "TCP Libra: Derivation, analysis, and comparison
//! with other RTT-fair TCPs", Computer Networks 54, 2010 (Networking 2007).
//!
//! ```text
//! α = k1 C exp(−k2 (T − T_min) / (T_max − T_min)),  k1 = k2 = 2        (1)
//! each ack:         w += α T² / (T + T0) n / w,  T0 = 1 s              (2)
//! congestion event: w −= w T1 / (2 (T + T0)),  T1 = 1 s                (3)
//! C: dispersion of the pair of ACKs with the minimum sum of delays     (4)   CapProbe
//! ```
//!
//! Units: segments; T, the last RTT sample, in seconds; C in Mbit/s. The exponent of (1) is 0 while T_max = T_min.
//! Differs from the source: the unit of C is not published; with k1 = 2 only Mbit/s gives increments of Reno's order.
//! Pairs are ACKs, at the sender, of segments that were sent at nearly the same instant. The algorithm is Reno before
//! the first pair, and in the reduction after a timeout.

use cwndlab_control::{options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};
use cwndlab_units::maths::exp;

use super::reno::segments;

options! {
    struct Options {
        /// k1, scale of the increase; the unit is our assumption, since that of C is not published
        k1: f64["1/(Mbit/s)"] = 2.0 in 0.0001..=1000.0,
        /// k2, decay of the increase with the queueing delay
        k2: f64 = 2.0 in 0.0..=100.0,
        /// T0 of the increase T^2/(T + T0) and of the decrease T1/(2(T + T0))
        t0: f64["s"] = 1.0 in 0.01..=100.0,
        /// T1 of the decrease T1/(2(T + T0))
        t1: f64["s"] = 1.0 in 0.01..=100.0,
        /// C, the capacity; 0: estimated from packet pairs
        capacity: f64["Mbit/s"] = 0.0 in 0.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "libra",
    title: "TCP Libra",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1016/j.comnet.2010.02.014",
    year: 2007,
    confidence: Confidence::Medium,
    summary: "The increase is T^2/(T+1) times a capacity estimate and decreases with the queueing delay; the decrease is 1/(2(T+1)) of the window. The throughput does not depend on the RTT T.",
    parameters: Options::PARAMETERS,
    choices: &[
        "C in Mbit/s",
        "the capacity is that of the pair with the minimum sum of delays so far (CapProbe)",
        "a timeout halves the window, as in Reno",
    ],
    pitfalls: &[
        "at an RTT of 50 ms and 20 Mbit/s the increment is about 0.1 segments per round trip, and the share in competition with Reno a fifth",
        "pacing and delayed ACKs leave few packet pairs: without a pair it is Reno",
        "at an RTT of 1 s and 100 Mbit/s the increment is 100 segments per round trip",
    ],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Libra::new(arguments.into()))),
};

/// Two segments are a pair where the dispersion of their ACKs is at least this many times the time between sending
/// them.
const MIN_DISPERSION_RATIO: u64 = 10;

/// CapProbe: capacity estimation by the packet pair with the minimum queueing.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    /// Arrival time of the last ACK, and its RTT, ns.
    last: Option<(u64, u64)>,
    /// Minimum sum of the delays of a pair, ns.
    min_sum: u64,
    /// Mbit/s.
    capacity: Option<f64>,
}

impl Pairs {
    #[inline]
    fn observe(&mut self, ack: &Ack) {
        let (now, Some(rtt)) = (ack.now.as_nanos(), ack.rtt) else {
            self.last = None;
            return;
        };
        let before = self.last.replace((now, rtt.as_nanos()));
        // The dispersion of ACKs that are reported together is unknown.
        let (Some((at, earlier)), 1) = (before, ack.acks) else { return };
        let dispersion = now - at;
        let sent = now.saturating_sub(rtt.as_nanos());
        let sent_before = at.saturating_sub(earlier);
        let sum = rtt.as_nanos() + earlier;
        if dispersion == 0 || sent.abs_diff(sent_before) > dispersion / MIN_DISPERSION_RATIO || sum >= self.min_sum {
            return;
        }
        self.min_sum = sum;
        self.capacity = Some(ack.acked.0 as f64 * 8e3 / dispersion as f64); // (4): bits per ns is 1000 Mbit/s
    }
}

/// Congestion avoidance of Libra.
#[derive(Clone, Debug)]
pub struct Libra {
    options: Options,
    pairs: Pairs,
    known: bool,
    rtt: u64,
    rtt_min: u64,
    rtt_max: u64,
}

impl Libra {
    fn new(options: Options) -> Self {
        let capacity = Some(options.capacity).filter(|rate| *rate > 0.0);
        Self {
            options,
            pairs: Pairs { last: None, min_sum: u64::MAX, capacity },
            known: capacity.is_some(),
            rtt: 0,
            rtt_min: u64::MAX,
            rtt_max: 0,
        }
    }

    /// (1) and (2): increment in segments per round trip; 1, as in Reno, while the capacity or the RTT is unknown.
    #[inline]
    fn step(&self) -> f64 {
        let (Some(capacity), true) = (self.pairs.capacity, self.rtt > 0) else { return 1.0 };
        let range = self.rtt_max - self.rtt_min;
        let share = if range == 0 { 0.0 } else { (self.rtt - self.rtt_min) as f64 / range as f64 };
        let t = self.rtt as f64 * 1e-9;
        let damped = if share == 0.0 { 1.0 } else { exp(-self.options.k2 * share) };
        self.options.k1 * capacity * damped * t * t / (t + self.options.t0)
    }

    /// (3): decrease fraction.
    fn decrease_fraction(&self) -> f64 {
        if self.rtt == 0 || self.pairs.capacity.is_none() {
            return 0.5;
        }
        (self.options.t1 / (2.0 * (self.rtt as f64 * 1e-9 + self.options.t0))).min(0.9)
    }
}

impl CongestionAvoidance for Libra {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt.as_nanos().max(1);
            self.rtt_min = self.rtt_min.min(self.rtt);
            self.rtt_max = self.rtt_max.max(self.rtt);
        }
        if !self.known {
            self.pairs.observe(ack);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        w + self.step() * segments(ack) / w // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let fraction = if event.cause == Cause::Timeout { 0.5 } else { self.decrease_fraction() };
        (w * (1.0 - fraction)).max(2.0) // (3)
    }

    fn extra(&self, put: Extra<'_>) {
        if let Some(capacity) = self.pairs.capacity {
            put("capacity_mbps", capacity);
        }
        put("alpha_segments", self.step());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::{Duration, Time};

    fn flow(capacity: f64) -> Libra {
        let mut flow = Libra::new(Options::default());
        flow.pairs.capacity = (capacity > 0.0).then_some(capacity);
        flow
    }

    fn at(ms: [u64; 3]) -> Libra {
        let [rtt, rtt_min, rtt_max] = ms.map(|ms| ms * 1_000_000);
        Libra { rtt, rtt_min, rtt_max, ..flow(100.0) }
    }

    /// Reference values, C = 100 Mbit/s: increments per round trip and decrease fractions.
    #[test]
    fn increments_and_decreases_match_the_reference_values() {
        assert!((at([100, 100, 200]).step() - 1.818).abs() < 5e-4);
        assert!((at([100, 50, 150]).step() - 0.669).abs() < 5e-4);
        assert!((at([50, 50, 50]).step() - 0.476).abs() < 5e-4);
        assert!((at([1000, 1000, 1000]).step() - 100.0).abs() < 1e-9);
        for (ms, fraction) in [(100, 0.454_5), (50, 0.476_2), (1000, 0.25)] {
            assert!((at([ms, ms, ms]).decrease_fraction() - fraction).abs() < 5e-5);
        }
    }

    /// Without a packet pair the algorithm is Reno.
    #[test]
    fn with_unknown_capacity_it_is_reno() {
        let mut flow = flow(0.0);
        flow.observe(&ack_at(Time::from_nanos(1_000_000_000), 1), 10.0);
        assert_eq!(flow.on_ack(&ack_at(Time::from_nanos(1_000_000_000), 1), 10.0), 10.1);
        assert_eq!(flow.on_congestion(&loss(10), 10.0), 5.0);
    }

    /// CapProbe by hand: two segments of 1000 bytes sent together arrive 1 ms apart: 8 Mbit/s. Neither a pair with more
    /// queueing nor segments sent apart replace this estimate.
    #[test]
    fn the_pair_with_the_minimum_delay_gives_the_capacity() {
        let mut flow = flow(0.0);
        let ack = |now: u64, rtt: u64| Ack { rtt: Some(Duration::from_nanos(rtt)), ..ack_at(Time::from_nanos(now), 1) };
        flow.observe(&ack(1_000_000_000, 100_000_000), 10.0);
        flow.observe(&ack(1_001_000_000, 101_000_000), 10.0);
        assert!((flow.pairs.capacity.unwrap() - 8.0).abs() < 1e-9);
        flow.observe(&ack(1_200_000_000, 120_000_000), 10.0);
        flow.observe(&ack(1_205_000_000, 125_000_000), 10.0);
        flow.observe(&ack(1_300_000_000, 90_000_000), 10.0);
        flow.observe(&ack(1_310_000_000, 90_000_000), 10.0);
        assert!((flow.pairs.capacity.unwrap() - 8.0).abs() < 1e-9);
    }
}
