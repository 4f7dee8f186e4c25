//! BIC: Binary Increase Congestion control, a search for the window of the last loss.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks",
//! INFOCOM 2004; constants and the counter of Linux `tcp_bic.c`.
//!
//! ```text
//! cnt = ACKs per segment; d = (W_max − w) / B
//! w ≤ low_window:      cnt = w                                        (1)
//! w < W_max:           d > S_max: w / S_max;  d ≤ 1: w smooth / B;  else w / d   (2)
//! w < W_max + B:       w smooth / B                                   (3)
//! w < W_max + S_max (B − 1): w (B − 1) / (w − W_max)                  (4)
//! beyond:              w / S_max                                      (5)
//! before the first loss: cnt ≤ 20
//! congestion event:    W_max = w (1 + β)/2 if w < W_max, else w; w = β w (w/2 up to low_window)  (6)
//! ```
//!
//! Units: segments. A timeout resets W_max.
//! Differs from the source: the constants are those of Linux. The paper has S_max = 32, β = 0.875 and halves the
//! distance (B = 2): `bic(smax=32, beta=0.875, b=2)`. ns-3 has smooth = 5, and W_max = β w where (6) has w (1 + β)/2.
//! Linux 6 is `bic(ack_ratio=measured, counter=linux-6)`, Linux 4 to 5.6 `bic(ack_ratio=measured, counter=linux-4)`.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use cwndlab_units::maths::floor;

use super::reno::segments;
use crate::shared::linux_counter::LinuxCounter;
use crate::shared::margin::below;

options! {
    struct Options {
        /// S_max, the maximum increment per round trip
        smax: f64["segments"] = 16.0 in 1.0..=1000.0,
        /// B: a search step covers 1/b of the distance to W_max
        b: f64 = 4.0 in 2.0..=16.0,
        /// multiplicative decrease factor
        beta: f64 = (819.0 / 1024.0) in 0.1..=0.99,
        /// the increment close to W_max is b/smooth segments per round trip
        smooth: f64 = 20.0 in 1.0..=1000.0,
        /// window up to which the algorithm is Reno
        low_window: f64["segments"] = 14.0 in 1.0..=1000.0,
        /// increments are larger by this factor; ns2: 31/16, as in ns-2.35 with one ACK per segment; measured: the
        /// segments per ACK, a moving mean in 16ths (Linux)
        ack_ratio: AckRatio { Unit = "unit", Ns2 = "ns2", Measured = "measured" } = Unit,
        /// linux: whole segments and integer division, one segment per cnt + 1 ACKs (Linux 2.6, ns-2.35, ns-3);
        /// linux-4: one per cnt ACKs (Linux 4 to 5.6); linux-6: one per cnt acknowledged segments (5.7 and later)
        counter: Counter { Real = "real", Linux = "linux", Linux4 = "linux-4", Linux6 = "linux-6" } = Real,
        /// W_max after a loss below W_max: the mean of the windows before and after the reduction, w (1 + β)/2, or the
        /// reduced window β w (ns-3)
        fast_convergence: FastConvergence { HalfWay = "half-way", Ns3 = "ns3" } = HalfWay,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bic",
    title: "BIC",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/INFCOM.2004.1354672; Linux tcp_bic.c",
    year: 2004,
    confidence: Confidence::High,
    summary: "A binary search for the window of the last loss, then probing above it with growing steps.",
    parameters: Options::PARAMETERS,
    choices: &["the constants of Linux instead of those of the paper"],
    pitfalls: &["takes bandwidth from Reno on paths with a short RTT"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Bic::new(arguments.into()))),
};

/// Congestion avoidance of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    s_max: f64,
    b: f64,
    beta: f64,
    smooth: f64,
    low_window: f64,
    ratio: f64,
    measured: bool,
    counts: Counter,
    ns3_convergence: bool,
    w_max: f64,
    /// ACKs or acknowledged segments not yet turned into window (Linux).
    counter: LinuxCounter,
}

impl Bic {
    fn new(options: Options) -> Self {
        Self {
            s_max: options.smax,
            b: options.b,
            beta: options.beta,
            smooth: options.smooth,
            low_window: options.low_window,
            ratio: match options.ack_ratio {
                AckRatio::Unit => 1.0,
                AckRatio::Ns2 => 31.0 / 16.0,
                AckRatio::Measured => DELAYED_ACKS,
            },
            measured: options.ack_ratio == AckRatio::Measured,
            counts: options.counter,
            ns3_convergence: options.fast_convergence == FastConvergence::Ns3,
            w_max: 0.0,
            counter: LinuxCounter::default(),
        }
    }

    /// Whether it is a module since Linux 4, which forgets the counter at a reduction.
    fn is_recent(&self) -> bool {
        matches!(self.counts, Counter::Linux4 | Counter::Linux6)
    }

    /// A quotient, rounded down where integer division is selected.
    #[inline]
    fn quotient(&self, value: f64) -> f64 {
        if self.counts == Counter::Real {
            value
        } else {
            floor(value)
        }
    }

    /// Acknowledged segments per increment of one segment. Without margins: the window rises on every branch.
    #[inline]
    fn count(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return w; // (1)
        }
        let cnt = if w < self.w_max {
            let d = self.quotient((self.w_max - w) / self.b);
            if d > self.s_max {
                w / self.s_max
            } else if d <= 1.0 {
                w * self.smooth / self.b
            } else {
                w / d // (2)
            }
        } else if w < self.w_max + self.b {
            w * self.smooth / self.b // (3)
        } else if w < self.w_max + self.s_max * (self.b - 1.0) {
            w * (self.b - 1.0) / (w - self.w_max) // (4)
        } else {
            w / self.s_max // (5)
        };
        let cnt = self.quotient(if self.w_max == 0.0 { cnt.min(20.0) } else { cnt });
        self.quotient(cnt / self.ratio).max(1.0)
    }
}

/// Segments per ACK before any is known (Linux).
const DELAYED_ACKS: f64 = 2.0;

impl CongestionAvoidance for Bic {
    fn observe(&mut self, ack: &Ack, _: f64) {
        // Linux, bictcp_acked: in integers of 1/16.
        if self.measured && !ack.recovering && ack.acked.0 > 0 {
            // An ACK may be several that came together.
            let each = segments(ack) / f64::from(ack.acks.max(1));
            for _ in 0..ack.acks {
                self.ratio += (each - floor(self.ratio)) / 16.0;
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let cnt = match self.counts {
            Counter::Real => return w + segments(ack) / self.count(w),
            _ => self.count(floor(w)),
        };
        w + match self.counts {
            Counter::Linux4 => self.counter.add(f64::from(ack.acks), cnt),
            Counter::Linux6 => self.counter.add(segments(ack), cnt),
            _ => f64::from(u8::from(self.counter.exceeds(segments(ack), cnt))),
        }
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let lowered = if self.ns3_convergence { w * self.beta } else { w * (1.0 + self.beta) / 2.0 };
        // (6); with a rounding margin, since a path without chance repeats its losses at the same window.
        self.w_max = self.quotient(if below(w, self.w_max) { lowered } else { w });
        if self.is_recent() {
            self.counter.reset();
        }
        if event.cause == Cause::Timeout {
            self.w_max = 0.0;
            if self.measured {
                self.ratio = DELAYED_ACKS;
            }
        }
        let reduced = w * if w <= self.low_window { 0.5 } else { self.beta };
        (if self.is_recent() { floor(reduced) } else { reduced }).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Undo && self.is_recent() {
            self.counter.reset(); // tcp_init_cwnd_reduction reset snd_cwnd_cnt
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.w_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// Reference values with Linux' constants and W_max = 200: +16, +10, +0.2 per round trip, and 63 ACKs just above
    /// W_max.
    #[test]
    fn the_counter_matches_linux() {
        let mut flow = Bic::new(Options::default());
        flow.w_max = 200.0;
        assert_eq!([100.0, 160.0, 197.0, 210.0].map(|w| flow.count(w)), [6.25, 16.0, 985.0, 63.0]);
        let w = flow.on_congestion(&loss(100), 100.0);
        assert!((w - 80.0).abs() < 0.1 && (flow.w_max - 90.0).abs() < 0.1);
    }

    /// By hand: W_max = 200, w = 103: d = 24 > S_max, so cnt = 103/16 = 6. The seventh segment adds one; with ACKs of
    /// two segments the fourth ACK does. ns-3 sets W_max to the reduced window after a loss at 100, below W_max.
    #[test]
    fn linux_adds_a_segment_per_cnt_plus_one_acks() {
        for (segments, acks) in [(1, 7), (2, 4)] {
            let mut flow = Bic { counts: Counter::Linux, w_max: 200.0, ..Bic::new(Options::default()) };
            let grown = (0..acks).map(|_| flow.on_ack(&ack(segments), 103.0)).collect::<Vec<_>>();
            assert_eq!(grown.iter().position(|w| *w == 104.0), Some(acks - 1));
        }
        let mut flow = Bic { ns3_convergence: true, beta: 0.8, w_max: 200.0, ..Bic::new(Options::default()) };
        assert_eq!((flow.on_congestion(&loss(100), 100.0), flow.w_max), (80.0, 80.0));
    }

    /// Linux 4 to 5.6, by hand: as below, but three ACKs add one, of however many segments they are.
    #[test]
    fn linux_4_counts_acks() {
        let options = Options { counter: Counter::Linux4, ack_ratio: AckRatio::Measured, ..Options::default() };
        let mut flow = Bic { w_max: 200.0, ..Bic::new(options) };
        assert_eq!([2, 2, 2, 2].map(|n| flow.on_ack(&ack(n), 103.0)), [103.0, 103.0, 104.0, 103.0]);
    }

    /// Linux 6, by hand: W_max = 200, w = 103: cnt = 6, and half of it while two segments per ACK are assumed. Three
    /// segments add one. An ACK of one segment lowers the mean by a 16th.
    #[test]
    fn linux_6_counts_segments_by_the_measured_acks() {
        let options = Options { counter: Counter::Linux6, ack_ratio: AckRatio::Measured, ..Options::default() };
        let mut flow = Bic { w_max: 200.0, ..Bic::new(options) };
        assert_eq!([1, 1, 1].map(|n| flow.on_ack(&ack(n), 103.0)), [103.0, 103.0, 104.0]);
        flow.observe(&ack(1), 103.0);
        assert_eq!(flow.ratio, 2.0 - 1.0 / 16.0);
        flow.observe(&Ack { acks: 2, ..ack(6) }, 103.0);
        assert_eq!(flow.ratio, 31.0 / 16.0 + 2.0 / 16.0 + 1.0 / 16.0);
    }
}
