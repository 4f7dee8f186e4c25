//! TCP Hybla: at any RTT the window grows per second as that of a flow with an RTT of 25 ms.
//!
//! Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal
//! of Satellite Communications and Networking 22, 2004.
//!
//! ```text
//! ρ = max(RTT / RTT0, 1),  RTT0 = 25 ms                        (1)
//! each ack in slow start:           w += (2^ρ − 1) n, up to ssthresh   (2)
//! each ack in congestion avoidance: w += ρ² n / w              (3)
//! first ack:                        w = ρ w0                   (4)
//! congestion event:                 w /= 2
//! ```
//!
//! Units: segments, seconds; ρ is that of the minimum smoothed RTT.
//! Differs from the source: ρ ≤ 8 in slow start and in (4), since 2^ρ at 600 ms is 16.8 million segments per ACK. An
//! initial ssthresh is not multiplied by ρ. Hoe's ssthresh estimation and pacing, which the paper adds, are not
//! included. Linux counts ACKs and not segments, and ρ in eighths, up to 16 in slow start:
//! `hybla(rho=linux, base=handshake, initial_window=transport, max_rho=16, per_ack=true)`. It begins with ρ segments, multiplies
//! a rounded 2^fraction by 2^integer, and is Reno while packets are missing: these three differ here.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Step, Window,
};
use cwndlab_units::maths::{exp2, floor};

use super::reno::{acked_count, PerAck};
use crate::shared::margin::whole_down;

options! {
    struct Options {
        /// RTT0, the RTT of the reference flow; 0.05 in ns-3
        rtt0: f64["s"] = 0.025 in 0.001..=1.0,
        /// maximum rho of slow start and of the initial window, a bound of ours
        max_rho: f64 = 8.0 in 1.0..=30.0,
        /// initial window: rho times that of the transport, from the first ACK on (scaled: the paper), or that of the
        /// transport
        initial_window: InitialWindow { Scaled = "scaled", Transport = "transport" } = Scaled,
        /// linux: rho in units of 1/8, increments in units of 1/128 segment
        rho: Rho { Real = "real", Linux = "linux" } = Real,
        /// handshake: the RTT of the handshake counts too, which is shorter since the SYN is small (Linux)
        base: Base { Data = "data", Handshake = "handshake" } = Data,
        /// true: the increments are those of an ACK, regardless of the segments that it acknowledges (Linux)
        per_ack: PerAck = False,
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "hybla",
    title: "TCP Hybla",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1002/sat.799",
    year: 2004,
    confidence: Confidence::High,
    summary: "With rho = RTT / 25 ms the window grows by 2^rho - 1 segments per ACK in slow start and by rho^2 / w in congestion avoidance, so that the growth per second does not depend on the RTT.",
    parameters: Options::PARAMETERS,
    choices: &["rho of the minimum smoothed RTT, as in Linux", "rho up to 8 in slow start; no bound in congestion avoidance"],
    pitfalls: &[
        "from an RTT of 100 ms on, 2^rho overshoots by thousands of segments: use pacing, or a slow start that ends early",
        "rho^2 overflows small buffers",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Hybla::new(arguments.into()))),
};

/// Slow start and congestion avoidance of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    options: Options,
    /// RTT0, ns.
    rtt0: f64,
    rtt_min: u64,
    /// ρ², and 2^ρ − 1.
    square: f64,
    burst: f64,
    rho: f64,
    begun: bool,
}

impl Hybla {
    fn new(options: Options) -> Self {
        Self { rtt0: options.rtt0 * 1e9, options, rtt_min: u64::MAX, square: 1.0, burst: 1.0, rho: 1.0, begun: false }
    }

    /// What an ACK counts.
    fn count(&self, ack: &Ack) -> f64 {
        acked_count(ack, self.options.per_ack == PerAck::True)
    }

    /// Updates ρ (1), ρ² and 2^ρ − 1 from a smoothed RTT in nanoseconds.
    fn set(&mut self, rtt: u64) {
        let rho = rtt as f64 / self.rtt0;
        self.rho = if self.options.rho == Rho::Linux { whole_down(8.0 * rho) / 8.0 } else { rho }.max(1.0);
        self.square = self.rho * self.rho;
        self.burst = exp2(self.rho.min(self.options.max_rho)) - 1.0;
        if self.options.rho == Rho::Linux {
            self.burst = whole_down(128.0 * self.burst) / 128.0;
        }
    }
}

impl CongestionAvoidance for Hybla {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        if ack.srtt.as_nanos() > 0 && ack.srtt.as_nanos() < self.rtt_min {
            self.rtt_min = ack.srtt.as_nanos();
            self.set(ack.srtt.as_nanos());
        }
    }

    fn on_window(&mut self, window: &Window) {
        if let (Change::Established, Base::Handshake, Some(rtt)) = (window.change, self.options.base, window.rtt) {
            self.rtt_min = rtt.as_nanos();
            self.set(rtt.as_nanos());
        }
    }

    fn start(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let mut grow = self.burst * self.count(ack); // (2)
        if !self.begun && ack.cwnd_limited && !ack.recovering {
            self.begun = true;
            if self.options.initial_window == InitialWindow::Scaled {
                grow += (self.rho.min(self.options.max_rho) - 1.0) * w; // (4)
            }
        }
        Step::grow(grow.min(ssthresh - w))
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if self.options.rho == Rho::Linux {
            // No margin: ρ² in 64ths and the window are whole. One segment per window only where the increment is 0.
            let whole = floor(w);
            let step = floor(128.0 * self.square / whole) / 128.0;
            return w + self.count(ack) * if step > 0.0 { step } else { 1.0 / whole };
        }
        w + self.count(ack) * self.square.max(1.0) / w // (3)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        (w / 2.0).max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};
    use cwndlab_units::Duration;

    fn flow(ms: f64) -> Hybla {
        let mut flow = Hybla::new(Options::default());
        flow.observe(&Ack { srtt: Duration::from_nanos((ms * 1e6) as u64), ..ack(1) }, 10.0);
        flow
    }

    /// `known-answers.csv`: 2^ρ − 1 and ρ² at 25, 50 and 100 ms; a reference value for ρ = 1.5.
    #[test]
    fn increments_match_the_known_answers() {
        for (ms, burst, square) in [(25.0, 1.0, 1.0), (50.0, 3.0, 4.0), (100.0, 15.0, 16.0)] {
            assert_eq!((flow(ms).burst, flow(ms).square), (burst, square));
        }
        assert!((flow(37.5).burst - 1.828).abs() < 5e-4);
        assert_eq!(flow(10.0).rho, 1.0);
    }

    /// Reference values: at 100 ms and w = 16 one segment per ACK; ρ = 1 is Reno; ρ = 24 is bounded.
    #[test]
    fn an_ack_adds_rho_squared_over_w() {
        assert_eq!(flow(100.0).on_ack(&ack(1), 16.0), 17.0);
        assert_eq!(flow(25.0).on_ack(&ack(1), 16.0), 16.0 + 1.0 / 16.0);
        assert_eq!(flow(600.0).burst, 255.0);
        assert_eq!(flow(100.0).on_congestion(&loss(16), 16.0), 8.0);
    }

    /// (4) by hand: ρ = 2 doubles 10 segments and adds 3 for the ACK; the window does not exceed ssthresh.
    #[test]
    fn the_initial_window_is_scaled_once() {
        let mut flow = flow(50.0);
        assert_eq!(flow.start(&ack(1), 10.0, f64::INFINITY).grow, 13.0);
        assert_eq!(flow.start(&ack(1), 23.0, f64::INFINITY).grow, 3.0);
        assert_eq!(flow.start(&ack(1), 23.0, 24.0).grow, 1.0);
    }

    /// Linux, by hand: an ACK of two segments adds ρ²/w as one of one segment does; the RTT of the handshake counts.
    #[test]
    fn linux_counts_acks_and_the_handshake() {
        let linux = Options { per_ack: PerAck::True, base: Base::Handshake, ..Options::default() };
        let mut flow = Hybla::new(linux);
        let window = Window::new(cwndlab_units::Time::ZERO, Change::Established, cwndlab_units::Bytes(1000));
        flow.on_window(&Window { rtt: Some(Duration::from_millis(50)), ..window });
        flow.observe(&Ack { srtt: Duration::from_millis(60), ..ack(2) }, 10.0);
        assert_eq!((flow.rho, flow.on_ack(&ack(2), 16.0)), (2.0, 16.25));
    }
}
