//! CUBIC of RFC 9438.
//!
//! Source: L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert (ed.), "CUBIC for Fast and Long-Distance Networks", RFC 9438,
//! 2023.
//!
//! ```text
//! W(t)   = C (t − K)³ + W_max                                       (1)
//! K      = ((W_max − cwnd_epoch) / C)^(1/3)                         (2)
//! target = W(t + RTT), within [w, 1.5 w]                            (section 4.2)
//! W_est += α n / w;  α = 3 (1 − β) / (1 + β), 1 once W_est ≥ prior  (4)
//! each ack: w = W_est if W(t) < W_est, else w += n (target − w) / w (sections 4.3 to 4.5)
//! congestion event: ssthresh = max(β F, 2), w = max(β F, 1) after ECN  (section 4.6)
//!                   W_max = w (1 + β) / 2 if w < W_max, else w       (section 4.7)
//! ```
//!
//! Units: windows in segments, t, K and RTT (smoothed) in seconds, C in segments/s³.
//! Differs from the source: nothing known. t does not advance while the window is not fully used (section 5.8): the
//! start of the epoch moves by the length of that period.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};
use cwndlab_units::maths::{cbrt, float};
use cwndlab_units::{Bytes, Time};

use super::reno::{flight, segments};
use crate::shared::margin::below;

options! {
    pub struct Options {
        /// C, scale of the cubic function
        c: f64["segments/s^3"] = 0.4 in 0.001..=100.0,
        /// multiplicative decrease factor
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fast convergence: a congestion event below W_max sets W_max below the window, which releases bandwidth for
        /// new flows (section 4.7)
        fast_convergence: bool = true,
        /// Reno-friendly region: the window is at least Reno's estimated window (section 4.3)
        reno_friendly: bool = true,
        /// quantity that a congestion event multiplies by beta: FlightSize (the RFC) or the window
        base: Base { Flight = "flight", Cwnd = "cwnd" } = Flight,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cubic",
    title: "CUBIC",
    kind: Kind::CongestionAvoidance,
    source: "RFC 9438",
    year: 2023,
    confidence: Confidence::High,
    summary: "The window is a cubic function of the time since the last congestion event, with its plateau at the window of that event. The window never grows more slowly than Reno's.",
    parameters: Options::PARAMETERS,
    choices: &["section 4.6 allows cwnd instead of FlightSize; the default is FlightSize"],
    pitfalls: &["in the Reno-friendly region its share depends on the RTT as Reno's does"],
    companion: "hystart-pp",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Cubic::new(arguments.into()))),
};

/// Creates CUBIC with these options.
#[must_use]
pub fn make(options: Options) -> Cubic {
    Cubic::new(options)
}

/// The state of an epoch of congestion avoidance, which a congestion event ends.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    w_max: f64,
    k: f64,
    /// Start of the epoch; `None` before the first ACK of congestion avoidance.
    start: Option<Time>,
    w_est: f64,
    prior: f64,
}

/// Congestion avoidance of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Number N of virtual flows, which scales C and α (`cubic-fit`); otherwise 1.
    pub(super) flows: f64,
    c: f64,
    pub(super) beta: f64,
    alpha: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    from_cwnd: bool,
    epoch: Epoch,
    after_timeout: bool,
    /// First ACK since which the window has not been used.
    unused_since: Option<Time>,
    /// When the last data of an application that pauses were acknowledged.
    emptied: Option<Time>,
}

impl Cubic {
    pub(super) fn new(options: Options) -> Self {
        let beta = options.beta;
        Self {
            flows: 1.0,
            c: options.c,
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: options.fast_convergence,
            reno_friendly: options.reno_friendly,
            from_cwnd: options.base == Base::Cwnd,
            epoch: Epoch::default(),
            after_timeout: false,
            unused_since: None,
            emptied: None,
        }
    }

    /// The window `t` seconds into the epoch: (1).
    #[inline]
    fn window(&self, t: f64) -> f64 {
        let from_plateau = t - self.epoch.k;
        self.flows * self.c * from_plateau * from_plateau * from_plateau + self.epoch.w_max
    }

    /// Sets the number of virtual flows. K changes so that the curve keeps its value at the start of the epoch: (2).
    pub(super) fn set_flows(&mut self, flows: f64) {
        self.epoch.k *= cbrt(self.flows / flows);
        self.flows = flows;
    }

    fn begin(&mut self, now: Time, w: f64) {
        self.epoch.start = Some(now);
        self.epoch.w_est = w;
        // No margin: K is 0 at the tie too.
        if w < self.epoch.w_max && !self.after_timeout {
            self.epoch.k = cbrt((self.epoch.w_max - w) / (self.flows * self.c));
        // (2)
        } else {
            self.epoch.k = 0.0;
            self.epoch.w_max = w;
        }
        self.after_timeout = false;
    }
}

impl CongestionAvoidance for Cubic {
    fn observe(&mut self, ack: &Ack, _: f64) {
        if !ack.cwnd_limited && self.unused_since.is_none() {
            self.unused_since = self.emptied.take().or(Some(ack.now));
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let now = ack.now;
        let emptied = self.emptied.take();
        if ack.in_flight == Bytes::ZERO && ack.app_limited {
            self.emptied = Some(now);
        }
        if let Some(unused_since) = self.unused_since.take().or(emptied) {
            // Section 5.8: periods with an unused window do not count.
            self.epoch.start = self.epoch.start.map(|start| (start + (now - unused_since)).min(now));
        }
        if self.epoch.start.is_none() {
            self.begin(now, w);
        }
        let n = segments(ack);
        let t = float((now - self.epoch.start.unwrap_or(now)).as_nanos()) * 1e-9;
        // No margins here and for the Reno-friendly region: t and W_est move on with every ACK.
        let alpha = if self.epoch.w_est >= self.epoch.prior { 1.0 } else { self.alpha };
        self.epoch.w_est += self.flows * alpha * n / w; // (4)
        if self.reno_friendly && self.window(t) < self.epoch.w_est {
            // Section 4.3: the Reno-friendly region.
            return w.max(self.epoch.w_est);
        }
        // Sections 4.2, 4.4 and 4.5: target is within [w, 1.5 w].
        let target = self.window(t + float(ack.srtt.as_nanos()) * 1e-9).clamp(w, 1.5 * w);
        w + n * (target - w) / w
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.epoch.start = None;
        self.epoch.prior = w;
        // Section 4.7: fast convergence; with a rounding margin, since a path without chance repeats its losses at the same
        // window.
        let shrinks = self.fast_convergence && below(w, self.epoch.w_max);
        self.epoch.w_max = if shrinks { w * (1.0 + self.beta) / 2.0 } else { w };
        self.after_timeout = event.cause == Cause::Timeout;
        let base = if self.from_cwnd { w } else { flight(event).min(w) };
        // Section 4.6: at least two segments after a loss, one after an ECN echo.
        (self.beta * base).max(if event.cause == Cause::Ecn { 1.0 } else { 2.0 })
    }

    fn on_window(&mut self, window: &Window) {
        // Where the window was unused before, the period that the next ACK leaves out has this one in it.
        if window.change == Change::Idle && self.unused_since.is_none() {
            self.epoch.start = self.epoch.start.map(|start| (start + window.idle).min(window.now));
        }
        if window.change == Change::Idle {
            self.emptied = None;
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.epoch.w_max);
        put("k_s", self.epoch.k);
        put("w_est_segments", self.epoch.w_est);
        put("cwnd_prior_segments", self.epoch.prior);
        put("epoch_start_s", self.epoch.start.map_or(f64::INFINITY, |start| float(start.as_nanos()) * 1e-9));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::{Bytes, Duration};
    use proptest::prelude::*;

    fn cubic() -> Cubic {
        Cubic::new(Options::default())
    }

    fn after_loss_at(w_max: f64) -> Cubic {
        let mut flow = cubic();
        let w = flow.on_congestion(&loss(w_max as u64), w_max);
        flow.begin(Time::ZERO, w);
        flow
    }

    /// `known-answers.csv`, from (1) and (2) with C = 0.4 and β = 0.7.
    #[test]
    fn k_and_w_match_the_known_answers() {
        for (w_max, k, w1) in [
            (100.0, 4.217_163_326_508_746, 86.680_763_835_129_88),
            (1_000.0, 9.085_602_964_160_698, 788.555_093_909_846),
            (10_000.0, 19.574_338_205_844_313, 7_436.696_453_589_12),
        ] {
            let flow = after_loss_at(w_max);
            assert!((flow.epoch.k - k).abs() < 1e-9, "K of {w_max}: {}", flow.epoch.k);
            assert!((flow.window(1.0) - w1).abs() < 1e-7, "W(1) of {w_max}: {}", flow.window(1.0));
            assert!((flow.window(0.0) - 0.7 * w_max).abs() < 1e-7);
            assert!((flow.window(k) - w_max).abs() < 1e-7);
            assert!((flow.window(2.0 * k) - 1.3 * w_max).abs() < 1e-6);
        }
    }

    /// Section 5.8, by hand: the window is unused from 1 s on, the connection idle from 2 s to 12 s, and the window full
    /// again at 13 s. The curve goes on where it was at 1 s: its start moves by 12 s.
    #[test]
    fn an_idle_period_within_an_unused_one_counts_once() {
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        let mut flow = after_loss_at(100.0);
        flow.observe(&Ack { now: second(1), cwnd_limited: false, ..ack_at(second(1), 1) }, 70.0);
        let idle = Duration::from_nanos(10_000_000_000);
        flow.on_window(&Window { idle, ..Window::new(second(12), Change::Idle, Bytes(70_000)) });
        flow.on_ack(&ack_at(second(13), 1), 70.0);
        assert_eq!(flow.epoch.start, Some(second(12)));
        // Idle alone: the start moves by the idle time.
        flow.on_window(&Window { idle, ..Window::new(second(30), Change::Idle, Bytes(70_000)) });
        assert_eq!(flow.epoch.start, Some(second(22)));
    }

    /// Section 5.8, by hand: the last data are acknowledged at 1 s, the next ones at 4 s, and nothing told of the pause.
    #[test]
    fn a_pause_without_a_restart_does_not_count() {
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        let mut flow = after_loss_at(100.0);
        let last = Ack { in_flight: Bytes::ZERO, app_limited: true, ..ack_at(second(1), 1) };
        flow.observe(&last, 70.0);
        flow.on_ack(&last, 70.0);
        let start = flow.epoch.start;
        flow.on_ack(&ack_at(second(4), 1), 70.0);
        assert_eq!(flow.epoch.start, start.map(|at| at + Duration::from_secs(3)));
        // A window that is fully acknowledged at once is no pause.
        flow.on_ack(&Ack { in_flight: Bytes::ZERO, ..ack_at(second(5), 1) }, 70.0);
        flow.on_ack(&ack_at(second(6), 1), 70.0);
        assert_eq!(flow.epoch.start, start.map(|at| at + Duration::from_secs(3)));
    }

    /// RFC 9438, section 4.7: w = 80 below W_max = 100 sets W_max to 80 · 1.7/2 = 68.
    #[test]
    fn fast_convergence_lowers_w_max() {
        let mut flow = after_loss_at(100.0);
        let w = flow.on_congestion(&loss(80), 80.0);
        assert_eq!((flow.epoch.w_max, w), (68.0, 56.0));
    }

    /// `known-answers.csv`: α = 3 · 0.3 / 1.7.
    #[test]
    fn alpha_matches_equation_4() {
        assert!((cubic().alpha - 0.529_411_764_705_882_4).abs() < 1e-15);
    }

    /// Section 4.2: the window grows by at most half in one round trip.
    #[test]
    fn the_window_grows_by_at_most_half_per_round_trip() {
        let mut flow = after_loss_at(100.0);
        let mut w = 70.0;
        for _ in 0..70 {
            w = flow.on_ack(&ack_at(Time::from_nanos(60_000_000_000), 1), w);
        }
        assert!(w <= 105.5, "{w}");
    }

    proptest! {
        /// Section 4.7: a loss at W_max is not a sign of a new flow. The windows differ by rounding: W_max is reached again by
        /// the curve.
        #[test]
        fn a_loss_at_w_max_does_not_lower_it(segments in 10u32..100_000) {
            let w_max = f64::from(segments);
            let mut flow = after_loss_at(w_max);
            let again = flow.window(0.0) / 0.7;
            flow.on_congestion(&loss(again as u64), again);
            prop_assert!((flow.epoch.w_max / w_max - 1.0).abs() < 1e-9, "{}", flow.epoch.w_max);
        }
    }
}
