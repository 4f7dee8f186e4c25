//! CUBIC of RFC 8312 (2018), the variant of most textbooks.
//!
//! Source: I. Rhee, L. Xu, S. Ha, A. Zimmermann, L. Eggert, R. Scheffenegger, "CUBIC for Fast Long-Distance Networks",
//! RFC 8312, 2018.
//!
//! ```text
//! W(t)     = C (t − K)³ + W_max                                            (1)
//! K        = (W_max (1 − β) / C)^(1/3)                                     (2)
//! W_est(t) = β W_max + α t / RTT,  α = 3 (1 − β) / (1 + β)                 (4)
//! each ack: w = W_est(t) if W(t) < W_est(t), else w += n (W(t + RTT) − w) / w   (sections 4.2 to 4.4)
//! congestion event: W_max = w (1 + β) / 2 if w < the last W_max, else w    (section 4.6)
//!                   ssthresh = max(β w, 2)                                 (section 4.5)
//! ```
//!
//! Units: windows in segments, t, K and RTT (smoothed) in seconds, C in segments/s³.
//! Differs from the source: w does not change where W(t + RTT) is below it. Differences from RFC 9438: K does not
//! depend on the window at the start of the epoch; β multiplies the window, not FlightSize; the step has no bound; α is
//! constant; t advances while the window is not used.

use cwndlab_control::{options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};
use cwndlab_units::maths::cbrt;
use cwndlab_units::Time;

use super::reno::segments;
use crate::shared::margin::below;

options! {
    struct Options {
        /// C, scale of the cubic function
        c: f64["segments/s^3"] = 0.4 in 0.001..=100.0,
        /// multiplicative decrease factor
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fast convergence: a congestion event below the last maximum sets W_max below the window, which releases
        /// bandwidth for new flows (section 4.6)
        fast_convergence: bool = true,
        /// TCP-friendly region: the window is at least Reno's estimated window (section 4.2)
        reno_friendly: bool = true,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cubic-8312",
    title: "CUBIC (RFC 8312)",
    kind: Kind::CongestionAvoidance,
    source: "RFC 8312",
    year: 2018,
    confidence: Confidence::High,
    summary: "CUBIC as most textbooks present it: K depends on the last maximum alone, the Reno-friendly window has a closed form, ssthresh is computed from the window.",
    parameters: Options::PARAMETERS,
    choices: &[
        "where fast convergence lowers W_max, K and W_est use the lowered value, as in the text",
        "where slow start ends without a loss, W_est begins at β W_max as elsewhere (section 4.8 gives only W_max and K)",
    ],
    pitfalls: &[
        "t advances while the application has nothing to send, and the step has no bound: the window jumps afterwards",
        "obsoleted by RFC 9438 (`cubic`)",
    ],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Cubic8312::new(arguments.into()))),
};

/// The state of an epoch of congestion avoidance, which a congestion event ends.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// W_max of (1), (2) and (4).
    w_max: f64,
    /// The window of the last congestion event, before fast convergence lowered it: the threshold of fast convergence.
    last_max: f64,
    k: f64,
    /// W_est at the start of the epoch: (4).
    initial_w_est: f64,
    /// Start; `None` before the first ACK of congestion avoidance.
    start: Option<Time>,
}

/// Congestion avoidance of CUBIC in RFC 8312.
#[derive(Clone, Debug)]
pub struct Cubic8312 {
    c: f64,
    beta: f64,
    alpha: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    epoch: Epoch,
    /// No W_max is known: slow start ended without a loss, or a timeout occurred (section 4.7).
    w_max_unknown: bool,
}

impl Cubic8312 {
    fn new(options: Options) -> Self {
        let beta = options.beta;
        Self {
            c: options.c,
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: options.fast_convergence,
            reno_friendly: options.reno_friendly,
            epoch: Epoch::default(),
            w_max_unknown: true,
        }
    }

    #[inline]
    fn window(&self, t: f64) -> f64 {
        let from_plateau = t - self.epoch.k;
        self.c * from_plateau * from_plateau * from_plateau + self.epoch.w_max // (1)
    }

    #[inline]
    fn w_est(&self, t: f64, rtt: f64) -> f64 {
        self.epoch.initial_w_est + self.alpha * t / rtt // (4)
    }

    fn begin(&mut self, now: Time, w: f64) {
        self.epoch.start = Some(now);
        if self.w_max_unknown {
            (self.epoch.w_max, self.epoch.k) = (w, 0.0); // section 4.8
        } else {
            self.epoch.k = cbrt(self.epoch.w_max * (1.0 - self.beta) / self.c); // (2)
        }
        self.epoch.initial_w_est = self.beta * self.epoch.w_max;
        self.w_max_unknown = false;
    }
}

impl CongestionAvoidance for Cubic8312 {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let now = ack.now;
        if self.epoch.start.is_none() {
            self.begin(now, w);
        }
        let t = (now - self.epoch.start.unwrap_or(now)).as_nanos() as f64 * 1e-9;
        let rtt = ack.srtt.as_nanos() as f64 * 1e-9;
        if self.reno_friendly && rtt > 0.0 {
            let w_est = self.w_est(t, rtt);
            // No margin: t moves on.
            if self.window(t) < w_est {
                return w.max(w_est);
            }
        }
        w + (segments(ack) * (self.window(t + rtt) - w) / w).max(0.0)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.epoch.start = None;
        // With a rounding margin, since a path without chance repeats its losses at the same window.
        let shrinks = self.fast_convergence && below(w, self.epoch.last_max);
        self.epoch.w_max = if shrinks { w * (1.0 + self.beta) / 2.0 } else { w };
        self.epoch.last_max = w;
        self.w_max_unknown = event.cause == Cause::Timeout;
        (self.beta * w).max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.epoch.w_max);
        put("k_s", self.epoch.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, timeout};

    fn after_loss_at(w_max: f64) -> Cubic8312 {
        let mut flow = Cubic8312::new(Options::default());
        let w = flow.on_congestion(&loss(w_max as u64), w_max);
        flow.begin(Time::ZERO, w);
        flow
    }

    /// Reference values for W_max = 100: W_est(1) = 75.29 at an RTT of 0.1 s, below W(1) = 86.68; 122.9 at 0.01 s,
    /// above it.
    #[test]
    fn the_regions_match_the_known_answers() {
        let flow = after_loss_at(100.0);
        assert!((flow.window(1.0) - 86.680_763_835_129_88).abs() < 1e-9);
        assert!((flow.w_est(1.0, 0.1) - 75.294_117_647).abs() < 1e-6);
        assert!((flow.w_est(1.0, 0.01) - 122.941_176_47).abs() < 1e-6);
        assert!((flow.window(0.0) - 70.0).abs() < 1e-9);
    }

    /// Section 4.2 by hand: at 1 s and 10 ms the window is W_est; at 100 ms it grows by (W(1.1) − w) / w.
    #[test]
    fn an_ack_sets_the_window_or_adds_to_it() {
        let mut flow = after_loss_at(100.0);
        let short =
            Ack { srtt: cwndlab_units::Duration::from_millis(10), ..ack_at(Time::from_nanos(1_000_000_000), 1) };
        assert!((flow.on_ack(&short, 80.0) - 122.941_176_47).abs() < 1e-6);
        let target = flow.window(1.1);
        assert_eq!(flow.on_ack(&ack_at(Time::from_nanos(1_000_000_000), 1), 80.0), 80.0 + (target - 80.0) / 80.0);
    }

    /// Sections 4.2 and 4.8 by hand: slow start ends at 100 segments without a loss. W(1) is 100.4; W_est is 70 + 5.29 at
    /// an RTT of 0.1 s.
    #[test]
    fn an_end_of_slow_start_without_a_loss_is_the_plateau() {
        let mut flow = Cubic8312::new(Options::default());
        flow.begin(Time::ZERO, 100.0);
        assert!((flow.window(1.0) - 100.4).abs() < 1e-9);
        assert!((flow.w_est(1.0, 0.1) - 75.294_117_647).abs() < 1e-6);
    }

    /// Section 4.6: 80 after 100 sets W_max to 68. Section 4.7: after a timeout W_max is the window at the start of the
    /// epoch.
    #[test]
    fn fast_convergence_and_timeouts_set_w_max() {
        let mut flow = after_loss_at(100.0);
        assert_eq!((flow.on_congestion(&loss(80), 80.0), flow.epoch.w_max), (56.0, 68.0));
        let _ = flow.on_congestion(&timeout(80), 80.0);
        flow.begin(Time::ZERO, 40.0);
        assert_eq!((flow.epoch.w_max, flow.epoch.k), (40.0, 0.0));
    }
}
