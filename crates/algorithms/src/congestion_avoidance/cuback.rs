//! Cuback: CUBIC driven by the ACK clock.
//!
//! Source: K. Oku, "CUBACK: CUBIC Driven by the ACK Clock", draft-kazuho-ccwg-cuback, editor's copy (2026).
//!
//! ```text
//! each ack: pending += n;  while pending ≥ D(w): pending −= D(w), w += 1                     (1)
//! D(w) = max(2, A(w + 1) − A(w)),  A = min(A_cubic, A_reno)                                  (2)
//! A_cubic(w) = B (K + ((w − W_max) / C)^(1/3)),  K = ((W_max − e) / C)^(1/3)                 (3)
//! A_reno(w)  = (w − e) (w + e − 1) / (2 α)                                   for w ≤ w0      (4)
//!            = (w0 − e) (w0 + e − 1) / (2 α) + (w − w0) (w + w0 − 1) / 2     for w > w0
//! congestion event: w0 = F, B = F / srtt, ssthresh = max(β F, 2), and β F, at least 1, after ECN (RFC 9438, section 4.6)
//!                   W_max = F (1 + β) / 2 if F < W_max, else F               (RFC 9438, section 4.7)
//! without a congestion event, and after a timeout: W_max = w0 = e = w, B = w / srtt (RFC 9438, section 4.8)
//! ```
//!
//! Units: windows and A in segments, B in segments/s, K and srtt in seconds, C in segments/s³; e is the window at the
//! start of congestion avoidance, F FlightSize.
//! Differs from the source: nothing known. Undo of spurious events is that of every algorithm; a window that is not fully
//! used does not count.

use cwndlab_control::{options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};
use cwndlab_units::maths::{cbrt, float};
use cwndlab_units::Duration;

use super::reno::{flight, segments};
use crate::shared::margin::below;

options! {
    struct Options {
        /// C, scale of the cubic function
        c: f64["segments/s^3"] = 0.4 in 0.001..=100.0,
        /// multiplicative decrease factor
        beta: f64 = 0.7 in 0.1..=0.99,
        /// α, segments per round trip of the Reno-friendly region below the window before the event
        alpha: f64 = 0.529 in 0.01..=1.0,
        /// fast convergence: a congestion event below W_max sets W_max below the window (RFC 9438, section 4.7)
        fast_convergence: bool = true,
        /// quantity that a congestion event reduces, and of which W_max and B are derived: FlightSize or the window
        base: Base { Flight = "flight", Cwnd = "cwnd" } = Flight,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cuback",
    title: "Cuback",
    kind: Kind::CongestionAvoidance,
    source: "draft-kazuho-ccwg-cuback",
    year: 2026,
    confidence: Confidence::High,
    summary: "CUBIC as a function of the acknowledged data instead of the time. The window grows by a segment for each D(w) acknowledged segments, as Reno's does for each w. D is the lesser of what CUBIC and Reno would need.",
    parameters: Options::PARAMETERS,
    choices: &[
        "RFC 9438, section 4.6, allows cwnd instead of FlightSize; the default is FlightSize",
        "α is the draft's 0.529 for any beta; 3 (1 - β) / (1 + β) is 0.5294",
        "the epoch begins with the first ACK of congestion avoidance",
    ],
    pitfalls: &[
        "B is as old as the congestion event: with an RTT that was measured before the queue filled it is too high, and the window grows more slowly than CUBIC's",
        "the last segment below W_max needs the most data, 1357 segments in the example of 100 segments and 100 ms, since the curve is flat there",
    ],
    companion: "hystart-pp",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Cuback::new(arguments.into()))),
};

/// The least D of (2), segments: growth by half of the window per round trip.
const MIN_THRESHOLD: f64 = 2.0;

/// The parameters of a stage of congestion avoidance; none changes until the next congestion event.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// W_max.
    w_max: f64,
    /// w0.
    prior: f64,
    /// B, segments/s; zero while no RTT is known.
    bandwidth: f64,
    /// e; `None` before the first ACK of congestion avoidance.
    start: Option<f64>,
}

/// Congestion avoidance of Cuback.
#[derive(Clone, Debug)]
pub struct Cuback {
    options: Options,
    epoch: Epoch,
    /// No congestion event defines the next stage.
    undefined: bool,
    /// Acknowledged segments not yet turned into window.
    pending: f64,
}

impl Cuback {
    fn new(options: Options) -> Self {
        Self { options, epoch: Epoch::default(), undefined: true, pending: 0.0 }
    }

    /// (3); unlimited where no RTT is known.
    fn cubic(&self, w: f64, start: f64) -> f64 {
        let Epoch { w_max, bandwidth, .. } = self.epoch;
        let time = |distance: f64| cbrt(distance / self.options.c);
        if bandwidth > 0.0 {
            bandwidth * (time(w_max - start) + time(w - w_max))
        } else {
            f64::INFINITY
        }
    }

    /// (4).
    fn reno(&self, w: f64, start: f64) -> f64 {
        let sum = |from: f64, to: f64| (to - from) * (to + from - 1.0) / 2.0;
        let pivot = self.epoch.prior.max(start);
        if w <= pivot {
            sum(start, w) / self.options.alpha
        } else {
            sum(start, pivot) / self.options.alpha + sum(pivot, w)
        }
    }

    /// A of (2), segments acknowledged since the stage began with the window `start`.
    fn acknowledged(&self, w: f64, start: f64) -> f64 {
        self.cubic(w, start).min(self.reno(w, start))
    }

    /// D of (2).
    fn threshold(&self, w: f64, start: f64) -> f64 {
        (self.acknowledged(w + 1.0, start) - self.acknowledged(w, start)).max(MIN_THRESHOLD)
    }

    /// Begins a stage of congestion avoidance at `w`.
    fn begin(&mut self, w: f64, srtt: Duration) -> f64 {
        if std::mem::take(&mut self.undefined) {
            self.epoch = Epoch { w_max: w, prior: w, bandwidth: bandwidth(w, srtt), start: None };
        }
        self.epoch.start = Some(w);
        self.pending = 0.0;
        w
    }
}

/// B, segments/s.
fn bandwidth(w: f64, srtt: Duration) -> f64 {
    if srtt > Duration::ZERO {
        w / (float(srtt.as_nanos()) * 1e-9)
    } else {
        0.0
    }
}

impl CongestionAvoidance for Cuback {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let start = self.epoch.start.unwrap_or_else(|| self.begin(w, ack.srtt));
        self.pending += segments(ack);
        let mut w = w;
        loop {
            let threshold = self.threshold(w, start);
            if self.pending < threshold {
                return w;
            }
            self.pending -= threshold; // (1)
            w += 1.0;
        }
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let Options { beta, fast_convergence, base, .. } = self.options;
        let prior = if base == Base::Cwnd { w } else { flight(event).min(w) };
        let shrinks = fast_convergence && below(prior, self.epoch.w_max);
        self.epoch = Epoch {
            w_max: if shrinks { prior * (1.0 + beta) / 2.0 } else { prior },
            prior,
            bandwidth: bandwidth(prior, event.srtt),
            start: None,
        };
        self.undefined = event.cause == Cause::Timeout;
        // RFC 9438, section 4.6: at least two segments after a loss, one after an ECN echo.
        (beta * prior).max(if event.cause == Cause::Ecn { 1.0 } else { 2.0 })
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.epoch.w_max);
        put("cwnd_prior_segments", self.epoch.prior);
        put("bandwidth_segments_per_s", self.epoch.bandwidth);
        put("pending_segments", self.pending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, timeout};

    /// After a congestion event at 100 segments and an RTT of 100 ms: e = 70, B = 1000 segments/s.
    fn after_loss() -> Cuback {
        let mut flow = Cuback::new(Options::default());
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 70.0);
        assert_eq!((flow.epoch.w_max, flow.epoch.prior, flow.epoch.bandwidth), (100.0, 100.0, 1000.0));
        flow
    }

    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected} ± {within}");
    }

    /// Reference values of (2) for W_max = 100, e = 70, srtt = 0.1 s, computed from the draft's formulas: from 100 on A_reno
    /// is the lesser; the cubic is flat below W_max.
    #[test]
    fn thresholds_are_those_of_the_reference() {
        let flow = after_loss();
        let values =
            [(70, 47.4), (71, 48.5), (80, 62.5), (90, 100.9), (99, 1357.2), (100, 674.9), (101, 101.0), (110, 110.0)];
        for (w, expected) in values {
            near(flow.threshold(f64::from(w), 70.0), expected, 0.05);
        }
    }

    /// Reference values of (3) and (4): K = 4.217 s, hence A_cubic(100) = 4217.2; both curves are 0 at e.
    #[test]
    fn both_curves_begin_at_zero() {
        let flow = after_loss();
        near(flow.acknowledged(100.0, 70.0), 4217.2, 0.05);
        near(flow.cubic(70.0, 70.0), 0.0, 1e-9);
        assert_eq!(flow.reno(70.0, 70.0), 0.0);
    }

    /// The draft, appendix: A_reno(w + 1) − A_reno(w) = w / α below the pivot, and w above.
    #[test]
    fn the_reno_curve_sums_its_thresholds() {
        let flow = after_loss();
        for (w, alpha) in [(70.0, 0.529), (85.0, 0.529), (99.0, 0.529), (100.0, 1.0), (140.0, 1.0)] {
            near(flow.reno(w + 1.0, 70.0) - flow.reno(w, 70.0), w / alpha, 1e-9);
        }
    }

    /// (1) by hand: D(70) = 47.39: of 48 segments one is added, and 0.61 remain; D(70) + D(71) = 95.9, and an ACK of 96 adds
    /// two.
    #[test]
    fn the_window_grows_by_a_segment_per_threshold() {
        let mut flow = after_loss();
        let mut w = 70.0;
        for n in 1..=48 {
            w = flow.on_ack(&ack(1), w);
            assert_eq!(w, if n < 48 { 70.0 } else { 71.0 });
        }
        near(flow.pending, 0.61, 0.01);
        let mut flow = after_loss();
        assert_eq!(flow.on_ack(&ack(96), 70.0), 72.0);
    }

    /// The floor of (2): growth by at most half of the window in a round trip. By hand: B = 100 segments/s and C = 100 give
    /// 0.3 segments at 900, a distance of 100 from W_max.
    #[test]
    fn growth_per_round_trip_is_at_most_half_of_the_window() {
        let mut flow = Cuback::new(Options { c: 100.0, ..Options::default() });
        let _ = flow.on_congestion(&Congestion { srtt: Duration::from_secs(10), ..loss(1000) }, 1000.0);
        near(flow.cubic(901.0, 700.0) - flow.cubic(900.0, 700.0), 0.33, 0.01);
        assert_eq!(flow.on_ack(&ack(400), 700.0), 900.0);
    }

    /// RFC 9438, section 4.7, by hand: 80 below a W_max of 100 gives 68; the pivot of (4) is 80.
    #[test]
    fn fast_convergence_lowers_w_max_but_not_the_pivot() {
        let mut flow = after_loss();
        assert_eq!(flow.on_congestion(&loss(80), 80.0), 56.0);
        assert_eq!((flow.epoch.w_max, flow.epoch.prior), (68.0, 80.0));
        near(flow.reno(80.0, 56.0) - flow.reno(79.0, 56.0), 79.0 / 0.529, 1e-9);
    }

    /// The draft: without a congestion event W_max = e and K = 0. RFC 9438, section 4.8: the same after a timeout. By hand, w =
    /// 100, B = 1000: A_cubic(101) = 1000 ∛(1/0.4) = 1357, above A_reno = 100.
    #[test]
    fn without_a_congestion_event_the_plateau_is_the_present_window() {
        let mut flow = Cuback::new(Options::default());
        for timed_out in [false, true] {
            if timed_out {
                let _ = flow.on_congestion(&timeout(400), 400.0);
            }
            let _ = flow.on_ack(&ack(1), 100.0);
            assert_eq!((flow.epoch.w_max, flow.epoch.prior, flow.epoch.bandwidth), (100.0, 100.0, 1000.0));
            near(flow.cubic(101.0, 100.0), 1357.2, 0.05);
            assert_eq!(flow.threshold(100.0, 100.0), 100.0);
        }
    }

    /// The draft: a sender that uses FlightSize derives W_max and B from it as well.
    #[test]
    fn all_parameters_derive_from_the_same_quantity() {
        let mut flow = Cuback::new(Options::default());
        assert_eq!(flow.on_congestion(&loss(50), 100.0), 35.0);
        assert_eq!((flow.epoch.w_max, flow.epoch.bandwidth), (50.0, 500.0));
        let mut flow = Cuback::new(Options { base: Base::Cwnd, ..Options::default() });
        assert_eq!(flow.on_congestion(&loss(50), 100.0), 70.0);
        assert_eq!((flow.epoch.w_max, flow.epoch.bandwidth), (100.0, 1000.0));
    }
}
