//! Rapid Start: threefold growth per round trip while no queue builds up, and a gradual reduction after the first loss.
//!
//! Source: K. Oku, M. Welzl, "Rapid Startup of Congestion Control", draft-kazuho-ccwg-rapid-start, editor's copy 00e5ea1;
//! factors = first: that of November 2025 (3d0bd41).
//!
//! ```text
//! floor = minimum RTT of the last RTT_min                                                       (1)
//! floor ≤ min(RTT_min + 4 ms, 1.1 RTT_min): g = 2, else g = 1;  each ack: w += g n              (2)
//! pacing: the first window over the RTT of the handshake, later (1 + g) w_r per smoothed RTT    (3)
//!   w_r: the window at the start of the round
//! first congestion event, at a window of w_0: w = s w_0                                         (4)
//! each ack of that recovery: w −= a acked + s lost, to no less than max(β w_0 / 3, β IW)        (5)
//! a = K (1 − β),  s = β + a;  K = 2/3, in the first draft 11/18                                 (6)
//! ```
//!
//! Units: segments, nanoseconds. β is the reduction of congestion avoidance, ssthresh / w_0, at least ½.
//! Differs from the source: congestion avoidance has W_max from the window at the congestion event (the draft: twice the
//! estimate of the full BDP, for CUBIC with fast convergence).

use cwndlab_control::{
    options, Ack, Build, Capabilities, Confidence, Congestion, Extra, Kind, Need, Path, SlowStart, Spec, Step, Window,
};
use cwndlab_units::{Duration, Rate, Time};

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::above;
use crate::shared::pace;
use cwndlab_units::windowed::WindowedMax;

options! {
    struct Options {
        /// K of the reduction: derived is 2/3, first is the 11/18 of the draft's first version
        factors: Factors { Derived = "derived", First = "first" } = Derived,
        /// additive margin of the queue threshold
        margin: f64["s"] = 0.004 in 0.0..=1.0,
        /// queue threshold relative to RTT_min
        ratio: f64 = 1.1 in 1.0..=3.0,
        /// initial window as a multiple of the stack's
        first: f64 = 1.0 in 1.0..=2.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rapid-start",
    title: "Rapid Start",
    kind: Kind::SlowStart,
    source: "draft-kazuho-ccwg-rapid-start",
    year: 2025,
    confidence: Confidence::High,
    summary: "The window triples per round trip while the RTT is within 4 ms and 10 % of its minimum, and doubles otherwise, with pacing. After the first loss it falls with every acknowledged and lost byte, to beta times the delivered window.",
    parameters: Options::PARAMETERS,
    choices: &[
        "pacing spreads the window that a round trip will reach, since the present window per RTT would hold the growth below 3",
        "RTT_min is that of data, without the handshake's small packets",
        "beta is ssthresh of congestion avoidance relative to the window, at least 1/2; it is lower than the constant where congestion avoidance reduces from the data in flight",
        "the reduction stops at beta times the initial window, which the draft permits",
        "a timeout as the first congestion event ends it without its reduction",
    ],
    pitfalls: &[
        "has no exit by itself: it ends with a loss, of up to two thirds of the window where that tripled",
        "the reduction needs SACK: with a recovery without SACK, and in the kernel, the transport reduces to s w_0",
        "a receive window that grows by auto-tuning limits the growth per round trip",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, arguments| Box::new(RapidStart::new(path, arguments.into()))),
};

/// Largest growth per round trip: (5) expects at most this multiple of the full BDP in flight.
const GROWTH: f64 = 3.0;
/// Smallest β: that of RFC 5681.
const MIN_BETA: f64 = 0.5;

/// The factors (6) of the reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// s: `silence_factor` and `loss_factor` of the draft.
    pub silence: f64,
    /// a: `ack_factor`.
    pub ack: f64,
}

/// (6).
#[must_use]
pub fn reduction(beta: f64, k: f64) -> Reduction {
    let ack = k * (1.0 - beta);
    Reduction { silence: beta + ack, ack }
}

/// The queue threshold of (2), ns.
#[must_use]
pub fn threshold(rtt_min: f64, margin: f64, ratio: f64) -> f64 {
    (rtt_min + margin).min(ratio * rtt_min)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Growth by (2).
    Growing,
    /// The first recovery: factors, and the least window.
    Reducing(Reduction, f64),
    /// Standard slow start.
    Standard,
}

/// Slow start of Rapid Start.
#[derive(Clone, Debug)]
pub struct RapidStart {
    options: Options,
    mss: f64,
    /// Initial window of the stack, segments.
    initial: f64,
    phase: Phase,
    /// RTT_min, ns; infinite before the first sample.
    rtt_min: f64,
    /// (1), negated, ns.
    floor: WindowedMax<Time>,
    round: u64,
    w_round: f64,
    pace: Option<Rate>,
}

impl RapidStart {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        Self {
            options,
            mss,
            initial: path.initial_cwnd.0 as f64 / mss,
            phase: Phase::Growing,
            rtt_min: f64::INFINITY,
            floor: WindowedMax::new(f64::NEG_INFINITY),
            round: u64::MAX,
            w_round: 0.0,
            pace: None,
        }
    }

    /// (1), (2): g.
    fn growth(&mut self, ack: &Ack) -> f64 {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_nanos() as f64;
            self.rtt_min = self.rtt_min.min(rtt);
            let _ = self.floor.update(Duration::from_nanos(self.rtt_min as u64), ack.now, -rtt);
        }
        let threshold = threshold(self.rtt_min, self.options.margin * 1e9, self.options.ratio);
        if above(-self.floor.get(), threshold) {
            1.0
        } else {
            GROWTH - 1.0
        }
    }

    fn end(&mut self) {
        (self.phase, self.pace) = (Phase::Standard, None);
    }
}

impl SlowStart for RapidStart {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if self.phase != Phase::Growing {
            self.end();
            return Step::grow(segments(ack));
        }
        let g = self.growth(ack);
        if self.round != ack.round {
            (self.round, self.w_round) = (ack.round, w);
        }
        self.pace = pace::over((1.0 + g) * self.w_round, self.mss, ack.srtt.as_nanos()); // (3)
        Step::grow(g * segments(ack))
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        let first = w * self.options.first;
        self.pace = pace::over(first, self.mss, window.rtt.map_or(0, Duration::as_nanos)); // (3)
        (first, ssthresh)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64, ssthresh: f64) -> f64 {
        if self.phase != Phase::Growing || event.restart {
            self.end();
            return ssthresh;
        }
        let beta = (ssthresh / w).clamp(MIN_BETA, 1.0);
        let k = if self.options.factors == Factors::Derived { 2.0 / 3.0 } else { 11.0 / 18.0 };
        let factors = reduction(beta, k);
        self.pace = None;
        self.phase = Phase::Reducing(factors, (beta * w / GROWTH).max(beta * self.initial));
        w * factors.silence // (4)
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.phase, Phase::Reducing(..))
    }

    fn recover(&mut self, ack: &Ack, w: f64) -> (f64, f64) {
        let Phase::Reducing(factors, least) = self.phase else { return (w, w) };
        let lost = ack.lost.0 as f64 / ack.mss.0 as f64;
        let reduced = (w - factors.ack * segments(ack) - factors.silence * lost).max(least.min(w)); // (5)
        (reduced, reduced)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: false }
    }

    fn extra(&self, put: Extra<'_>) {
        put("rtt_floor_s", -self.floor.get() * 1e-9);
        put("rtt_min_s", self.rtt_min * 1e-9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, established, loss, path, timeout, MSS};
    use cwndlab_units::Bytes;

    fn start() -> RapidStart {
        RapidStart::new(&path(10), Options::default())
    }

    fn acked(now_ms: u64, round: u64, rtt_ms: u64, segments: u64) -> Ack {
        let mut ack = ack_at(Time::from_nanos(now_ms * 1_000_000), segments);
        (ack.round, ack.rtt) = (round, Some(Duration::from_millis(rtt_ms)));
        ack
    }

    /// Draft, "Increasing the Congestion Window": the smaller of 4 ms and 10 % above the minimum. By hand: 22 ms for 20
    /// ms, 104 ms for 100 ms.
    #[test]
    fn the_queue_threshold_is_4_ms_or_a_tenth() {
        assert!([(20e6, 22e6), (100e6, 104e6)].iter().all(|&(min, most)| !above(threshold(min, 4e6, 1.1), most)));
        assert!((threshold(20e6, 4e6, 1.1) - 22e6).abs() < 1.0 && threshold(100e6, 4e6, 1.1) == 104e6);
    }

    /// Draft: threefold growth per round trip without a queue: 10, 30, 90, 270. Twofold above the threshold: at 105 ms
    /// after a minimum of 100 ms, once the samples of the last 100 ms are above it.
    #[test]
    fn the_window_triples_until_a_queue_builds_up() {
        let mut start = start();
        let (mut w, _) = start.established(&established(Duration::from_millis(100), None), 10.0, f64::INFINITY);
        let mut windows = vec![w];
        for round in 1..4 {
            for n in 0..w as u64 {
                w += start.on_ack(&acked(1000 + 100 * round + n / 10, round, 100, 1), w, 1e9).grow;
            }
            windows.push(w);
        }
        assert_eq!(windows, [10.0, 30.0, 90.0, 270.0]);
        assert_eq!(start.on_ack(&acked(1400, 4, 105, 1), w, 1e9).grow, 2.0, "the floor is still 100 ms");
        for ms in [1440, 1480, 1520, 1560] {
            let _ = start.on_ack(&acked(ms, 4, 105, 1), w, 1e9);
        }
        assert_eq!(start.on_ack(&acked(1600, 5, 105, 1), w, 1e9).grow, 1.0);
    }

    /// By hand: 10 segments of 1000 bytes over 100 ms are 0.8 Mbit/s; in the first round of ACKs 30 are 2.4 Mbit/s.
    #[test]
    fn the_first_window_is_paced_over_the_rtt() {
        let mut start = start();
        let _ = start.established(&established(Duration::from_millis(100), None), 10.0, f64::INFINITY);
        assert_eq!(start.pacing_rate(), Some(Rate(800_000)));
        let _ = start.on_ack(&acked(1100, 1, 100, 1), 10.0, 1e9);
        assert_eq!(start.pacing_rate(), Some(Rate(2_400_000)));
    }

    /// Draft, "Reduction Factors": β = 0.5: 5/6, 1/3; 0.7: 9/10, 1/5; 0.8: 14/15, 2/15. First version (3d0bd41): 29/36,
    /// 11/36; 53/60, 11/60.
    #[test]
    fn the_factors_follow_from_beta() {
        let close = |beta: f64, k: f64, silence: f64, ack: f64| {
            let factors = reduction(beta, k);
            assert!((factors.silence - silence).abs() < 1e-12 && (factors.ack - ack).abs() < 1e-12, "{beta} {k}");
        };
        close(0.5, 2.0 / 3.0, 5.0 / 6.0, 1.0 / 3.0);
        close(0.7, 2.0 / 3.0, 0.9, 0.2);
        close(0.8, 2.0 / 3.0, 14.0 / 15.0, 2.0 / 15.0);
        close(0.5, 11.0 / 18.0, 29.0 / 36.0, 11.0 / 36.0);
        close(0.7, 11.0 / 18.0, 53.0 / 60.0, 11.0 / 60.0);
    }

    /// The windows at the entry and at the end of a recovery from 300 segments, of which `lost` are lost.
    fn recovery(factors: Factors, beta: f64, lost: u64) -> [f64; 2] {
        let mut start = RapidStart::new(&path(10), Options { factors, ..Options::default() });
        let _ = start.on_ack(&acked(1100, 1, 100, 1), 299.0, 1e9);
        let entry = start.on_congestion(&loss(300), 300.0, 300.0 * beta);
        assert!(start.owns_recovery());
        let mut w = entry;
        for n in 0..(300 - lost) {
            let mut ack = acked(1200 + n, 2, 100, 1);
            ack.lost = if lost > 0 { MSS * (lost / (300 - lost)) } else { Bytes::ZERO };
            (w, _) = start.recover(&ack, w);
        }
        [entry, w]
    }

    /// Draft, "Congestion Handling" and its derivation, with w_0 = 300: without further loss β · 300; with two thirds
    /// lost β · 100, which is the floor. The first version has the same results from another silence: 265 and 241.7.
    #[test]
    fn the_recovery_ends_at_beta_times_the_delivered_window() {
        for (factors, beta, lost, expected) in [
            (Factors::Derived, 0.7, 0, [270.0, 210.0]),
            (Factors::Derived, 0.7, 200, [270.0, 70.0]),
            (Factors::Derived, 0.5, 200, [250.0, 50.0]),
            (Factors::First, 0.7, 0, [265.0, 210.0]),
            (Factors::First, 0.7, 200, [265.0, 70.0]),
            (Factors::First, 0.5, 0, [241.666_666_666_666_66, 150.0]),
            (Factors::First, 0.5, 200, [241.666_666_666_666_66, 50.0]),
        ] {
            let windows = recovery(factors, beta, lost);
            assert!((windows[0] - expected[0]).abs() < 1e-9 && (windows[1] - expected[1]).abs() < 1e-9, "{windows:?}");
        }
    }

    /// Draft, appendix: with two thirds lost sending resumes after 1 − β of the full BDP: of 100 segments, 30 are
    /// acknowledged when the window reaches the data in flight (β = 0.7).
    #[test]
    fn the_silence_drains_what_congestion_avoidance_would() {
        let factors = reduction(0.7, 2.0 / 3.0);
        let in_flight = |x: f64| 300.0 - 3.0 * x;
        let w = |x: f64| 300.0 * factors.silence - x * factors.ack - 2.0 * x * factors.silence;
        assert!(w(29.0) < in_flight(29.0) && (w(30.0) - in_flight(30.0)).abs() < 1e-9 && w(31.0) > in_flight(31.0));
    }

    /// Draft: more loss than overflow explains ends at the floor; a small window ends at β · IW.
    #[test]
    fn the_reduction_stops_at_its_floor() {
        assert_eq!(recovery(Factors::Derived, 0.7, 299)[1], 70.0);
        let mut start = start();
        let _ = start.on_ack(&acked(1100, 1, 100, 1), 12.0, 1e9);
        let w = start.on_congestion(&loss(12), 12.0, 6.0);
        let mut ack = acked(1200, 2, 100, 1);
        ack.lost = MSS * 11;
        assert_eq!(start.recover(&ack, w), (5.0, 5.0));
    }

    /// Draft: after the first recovery, and after a timeout, the rules of the congestion controller apply.
    #[test]
    fn it_ends_with_the_first_congestion_event() {
        for event in [loss(300), timeout(300)] {
            let mut start = start();
            let _ = start.on_ack(&acked(1100, 1, 100, 1), 300.0, 1e9);
            let _ = start.on_congestion(&event, 300.0, 150.0);
            assert_eq!(start.owns_recovery(), !event.restart);
            assert_eq!(start.on_ack(&acked(2000, 9, 100, 2), 2.0, 150.0).grow, 2.0);
            assert_eq!((start.on_congestion(&loss(300), 300.0, 150.0), start.owns_recovery()), (150.0, false));
        }
    }

    /// Reno halves: β = 0.5, without further loss half of 300, as after any congestion event.
    #[test]
    fn congestion_avoidance_continues_from_the_reduced_window() {
        let mut flow = crate::catalogue().parse("reno+rapid-start").unwrap().build(&path(300));
        flow.on_congestion(&loss(300));
        assert_eq!(flow.cwnd(), Bytes(250_000));
        for n in 0..300 {
            let mut ack = acked(1200 + n, 2, 100, 1);
            ack.recovering = true;
            let _ = flow.on_ack(&ack);
        }
        assert_eq!(flow.cwnd(), Bytes(150_000));
    }
}
