//! FAST-FIT: FAST with TCP-FIT's number of virtual flows (our reconstruction).
//!
//! Source: Wang et al., FAST-FIT, Frontiers of Computer Science, 2014 (high throughput and fairness towards Reno in
//! delay-based TCP over large networks). The available descriptions state only that it combines FAST's window update
//! with TCP-FIT's number of virtual flows.
//!
//! ```text
//! every second round: w = min(2 w, (1 − γ) w + γ (base / R w + N α₀))  (1)   FAST, for N flows
//! once per round: N = clamp(N + α − N (R̄ − base) / R̄, 1, 64)           (2)   TCP-FIT, shared/virtual_flows.rs
//! congestion event: w = w (1 − 2 / (3 N + 1))                           (3)
//! timeout: N = 1
//! ```
//!
//! Units: segments, seconds; R is FAST's smoothed RTT, R̄ the mean RTT of the round.
//! Differs from the source: the combination of the two is our choice; FAST's doubling below 0.75 ms is omitted.

use cwndlab_control::{
    options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Spec, Window,
};

use super::fast::Fast;
use super::tcp_fit::decrease_fraction;
use crate::shared::virtual_flows::VirtualFlows;

options! {
    struct Options {
        /// segments of each virtual flow in the queue in equilibrium
        alpha0: f64["segments"] = 20.0 in 1.0..=100_000.0,
        /// γ, step of an update, as a fraction of the distance
        gamma: f64 = 0.5 in 0.01..=1.0,
        /// α, increase of N per round; the equilibrium of N is alpha R / q
        alpha: f64 = 0.125 in 0.001..=1.0,
        /// maximum of N, a bound of ours
        max_flows: f64 = 64.0 in 1.0..=1000.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fast-fit",
    title: "FAST-FIT",
    kind: Kind::CongestionAvoidance,
    source: "Wang et al., Frontiers of Computer Science 2014",
    year: 2014,
    confidence: Confidence::Low,
    summary: "FAST's window update with a queue of N alpha0 segments, where N is TCP-FIT's number of virtual flows. Our reconstruction from short descriptions.",
    parameters: Options::PARAMETERS,
    choices: &["alpha0 is 20 segments, alpha 1/8, N at most 64", "FAST's update uses the current window", "no doubling at short queues"],
    pitfalls: &["the queue grows with the RTT of the path: N is inversely proportional to the fraction of queueing in the RTT"],
    companion: "standard",
    needs: &[Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(FastFit::new(arguments.into()))),
};

/// Congestion avoidance of FAST-FIT.
#[derive(Clone, Debug)]
pub struct FastFit {
    fast: Fast,
    alpha0: f64,
    virtual_flows: VirtualFlows,
}

impl FastFit {
    fn new(options: Options) -> Self {
        let alpha0 = options.alpha0;
        Self {
            fast: Fast::plain(alpha0, options.gamma),
            alpha0,
            virtual_flows: VirtualFlows::new(options.alpha, options.max_flows, false),
        }
    }
}

impl CongestionAvoidance for FastFit {
    fn observe(&mut self, ack: &Ack, w: f64) {
        self.virtual_flows.observe(ack);
        self.fast.observe(ack, w);
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        self.virtual_flows.decide(); // (2)
        self.fast.alpha = self.virtual_flows.flows() * self.alpha0;
        self.fast.on_ack(ack, w) // (1)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let _ = self.fast.on_congestion(event, w);
        let reduced = w * (1.0 - decrease_fraction(self.virtual_flows.flows())); // (3)
        self.virtual_flows.on_congestion(event.cause == Cause::Timeout);
        reduced.max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        self.fast.on_window(window);
    }

    fn extra(&self, put: Extra<'_>) {
        put("flows", self.virtual_flows.flows());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion_avoidance::fast::update;
    use cwndlab_control::testing::{ack_at, loss, timeout};
    use cwndlab_units::{Duration, Time};

    fn flow(n: f64) -> FastFit {
        let mut flow = FastFit::new(Options::default());
        flow.virtual_flows.set(n);
        flow
    }

    /// Reference values: w = 100, base 100, R 110: N = 1 gives 105.45, N = 5 gives 145.45.
    #[test]
    fn the_queue_is_n_times_that_of_fast() {
        for (n, w) in [(1.0, 105.454_545_454_545_45), (5.0, 145.454_545_454_545_45)] {
            assert!((update(100.0, 100.0, 100.0, 110.0, 0.5, n * 20.0) - w).abs() < 1e-12);
        }
    }

    /// Reference values of `tcp-fit`: b is 1/2, 0.2857, 0.2, 1/8, 0.0645 for N of 1, 2, 3, 5, 10; a timeout resets N.
    #[test]
    fn the_reduction_decreases_with_the_number_of_virtual_flows() {
        for (n, b) in [(1.0, 0.5), (2.0, 2.0 / 7.0), (3.0, 0.2), (5.0, 0.125), (10.0, 2.0 / 31.0)] {
            assert!((flow(n).on_congestion(&loss(100), 100.0) - 100.0 * (1.0 - b)).abs() < 1e-9, "{n}");
        }
        let mut flow = flow(5.0);
        let _ = flow.on_congestion(&timeout(100), 100.0);
        assert_eq!(flow.virtual_flows.flows(), 1.0);
        // The queue is that of one flow again: from 50 segments at 110 ms to 0.5 · 50 + 0.5 (50 / 1.1 + 20), not + 100.
        let mut back = ack_at(Time::from_nanos(2_000_000_000), 50);
        (back.rtt, back.round) = (Some(Duration::from_millis(110)), 9);
        flow.fast.observe(&ack_at(Time::from_nanos(1_900_000_000), 1), 1.0);
        (0..200).for_each(|_| flow.fast.observe(&back, 1.0));
        assert!((flow.on_ack(&back, 50.0) - 57.727_272_727).abs() < 1e-6);
    }
}
