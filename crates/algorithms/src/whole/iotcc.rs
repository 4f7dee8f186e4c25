//! IoT-based congestion control: an initial window from the routers' bandwidth, then increase by bands of delay.
//!
//! Source: L. P. Verma, M. Kumar, "An IoT based Congestion Control Algorithm", Internet of Things 9, 2020 (unnamed).
//!
//! ```text
//! handshake: cwnd = ssthresh = BW / α                              (1)
//!   mode = bdp:     W0 = BW RTT / (8 MSS) / α   segments
//!   mode = literal: W0 = BW / (8 MSS) · 1 s / α segments
//! slow start, cwnd ≤ ssthresh: x = ssthresh RTT / 1 s, cwnd += n max(x, 1)       (2)
//! congestion avoidance: cwnd += n / cwnd                           (3)
//! each ack: β = (RTT − RTT_min) / RTT_max                          (4)   beta = range: / (RTT_max − RTT_min)
//!   β < ρ:     (2) or (3)                                          (5)   reactive
//!   ρ ≤ β < σ: cwnd += n (1 − β) / cwnd                            (6)   increase = literal: 1/cwnd + (1 − β) per ACK
//!                                                                        increase = sum: n (2 − β) / cwnd
//!   σ ≤ β < τ: cwnd is constant                                    (7)
//!   β ≥ τ:     cwnd −= n / cwnd                                    (8)
//! loss: ssthresh = cwnd = max(F/2, 2); timeout: cwnd = 1           (9)   NewReno
//! ```
//!
//! Units: segments, seconds, BW in bit/s; n segments acknowledged; ρ = 0.5, σ = 0.8, τ = 0.9, α = 4.
//! It includes its own start: the routers' stamp gives the initial window, and the bands (6) to (8) apply in slow start.
//! Differs from the source, whose units are inconsistent: see the choices of the entry.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionControl, Event, EventKind, Extra, Kind, Need, Path,
    Phase, Reason, Spec, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Rate};

use crate::congestion_avoidance::reno::{flight, segments};
use crate::shared::margin::below;

options! {
    struct Options {
        /// initial window: stamped bandwidth times the RTT of the handshake, divided by alpha (bdp), or the bandwidth
        /// in segments per second divided by alpha, used as segments (literal)
        mode: Mode { Bdp = "bdp", Literal = "literal" } = Bdp,
        /// α, divisor of the stamped bandwidth
        alpha: f64 = 4.0 in 1.0..=1e9,
        /// divisor of the delay RTT - RTT_min in beta: RTT_max as printed, with which beta is at most 1 -
        /// RTT_min/RTT_max (max), or RTT_max - RTT_min, with which beta covers 0 to 1 (range)
        beta: Beta { Max = "max", Range = "range" } = Max,
        /// increase between rho and sigma: (1-beta)/cwnd per segment, the linear increase of the text (text); 1/cwnd +
        /// (1-beta) per ACK, as printed in Algorithm 3 (literal); or (2-beta)/cwnd per segment, Algorithm 3 with both
        /// terms divided by cwnd (sum)
        increase: Increase { Text = "text", Literal = "literal", Sum = "sum" } = Text,
        /// ρ, beta from which on the increase is slower
        rho: f64 = 0.5 in 0.0..=1.0,
        /// σ, beta from which on the window is constant
        sigma: f64 = 0.8 in 0.0..=1.0,
        /// τ, beta from which on the window decreases
        tau: f64 = 0.9 in 0.0..=1.0,
        /// with mode=literal: bdp bounds the initial window by the stamped bandwidth times the RTT of the handshake,
        /// and x as in mode=bdp
        cap: Cap { None = "none", Bdp = "bdp" } = None,
        /// maximum increment per segment in slow start, with mode=bdp or cap=bdp
        x_max: f64["segments"] = 8.0 in 1.0..=1e6,
        /// on: the initial window is paced over the RTT of the handshake; off: it is sent at once, since the paper paces
        /// nothing
        pacing: bool = true,
        /// where a router has no agent: the initial window of the stack, with NewReno or with the bands of delay
        unstamped: Unstamped { Newreno = "newreno", Bands = "bands" } = Newreno,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "iotcc",
    title: "IoT based congestion control",
    kind: Kind::Whole,
    source: "Verma and Kumar, Internet of Things 9, 2020",
    year: 2020,
    confidence: Confidence::Medium,
    summary: "The initial window is a fraction of the bandwidth that the routers of the path stamp on the handshake. Afterwards the position of the delay between its extremes determines whether the window increases, increases slowly, is constant or decreases. The response to losses is NewReno's.",
    parameters: Options::PARAMETERS,
    choices: &[
        "BW/alpha does not have the unit of a window: the default is a fraction of the BDP, mode=literal uses segments per second",
        "x = ssthresh*RTT with the RTT in seconds; it exceeds 1 only where ssthresh > 1/RTT",
        "the linear increase by (1-beta) of the text instead of Algorithm 3's increment per ACK, which is a slower doubling",
        "bands include their lower bound: beta = rho is in the second band; RTT is the last sample, its extremes are those of the connection",
        "increments are per acknowledged segment, so that delayed ACKs do not halve them (except with increase=literal)",
        "the response to losses and timeouts, and details that the paper omits, are NewReno's; an ECN mark counts as a loss",
    ],
    pitfalls: &[
        "beta=max: a constant window needs a queue of 4, a decrease one of 9 times the base RTT; the scenarios of the paper never reach tau",
        "after the initial window the increase is one segment per round trip: on a fast path it takes BDP*(1 - 1/alpha) round trips to fill the path",
        "beta=range: for a flow that starts with a standing queue RTT_min includes that queue; it measures short delays only and reduces other flows to one segment",
        "increase=literal doubles slowly up to a full queue and loses about a tenth of its packets with a queue of 50 packets",
        "the stamp is that of the handshake: it does not reflect later changes of the path",
        "flows that start together all receive the same stamped bandwidth",
        "the initial window needs pacing; with stack.pacing = \"off\" it is a burst",
        "RTT_max never expires: after one long delay all later delays appear short",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::Agent("bandwidth-stamp")],
    incompatible: &[],
    model_based: false,
    build: Build::Whole(|path, arguments| Box::new(Iotcc::new(path, arguments.into()))),
};

/// Floor of `ssthresh`, segments (RFC 5681).
const MIN_SSTHRESH: f64 = 2.0;

impl Options {
    /// The stamped bandwidth times the RTT bounds the initial window; `x_max` bounds x.
    fn capped(&self) -> bool {
        self.mode == Mode::Bdp || self.cap == Cap::Bdp
    }
}

/// The last RTT sample, minimum and maximum RTT, s, and β of (4).
#[derive(Clone, Copy, Debug)]
struct Delay {
    rtt: f64,
    rtt_min: f64,
    rtt_max: f64,
    beta: f64,
}

impl Default for Delay {
    fn default() -> Self {
        Self { rtt: 0.0, rtt_min: f64::INFINITY, rtt_max: 0.0, beta: 0.0 }
    }
}

impl Delay {
    /// Updates (4) with a sample, s.
    #[inline]
    fn sample(&mut self, rtt: f64, beta: Beta) {
        self.rtt = rtt;
        self.rtt_min = self.rtt_min.min(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
        let divisor = if beta == Beta::Range { self.rtt_max - self.rtt_min } else { self.rtt_max };
        self.beta = if divisor > 0.0 { (rtt - self.rtt_min) / divisor } else { 0.0 };
    }
}

/// IoT-based congestion control.
#[derive(Clone, Debug)]
pub struct Iotcc {
    options: Options,
    delay: Delay,
    mss: f64,
    w: f64,
    ssthresh: f64,
    /// The bandwidth stamped by the routers, bit/s.
    stamp: Option<f64>,
    /// The pacing rate of the initial window, until its first ACK.
    pace: Option<Rate>,
    /// The event of the start, until the first ACK returns it.
    begun: Option<Event>,
}

impl Iotcc {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        Self { options, delay: Delay::default(), mss, w, ssthresh, stamp: None, pace: None, begun: None }
    }

    /// (1), segments; `None` where it needs an RTT and there is no sample.
    fn initial_window(&self, rate: f64, rtt: Option<f64>) -> Option<f64> {
        let per_second = rate / (8.0 * self.mss);
        let w = if self.options.mode == Mode::Literal {
            let all = per_second / self.options.alpha;
            if self.options.capped() {
                all.min(per_second * rtt?)
            } else {
                all
            }
        } else {
            per_second * rtt? / self.options.alpha
        };
        Some(w.max(1.0))
    }

    /// x of (2), at least 1.
    #[inline]
    fn step(&self) -> f64 {
        let x = if self.ssthresh.is_finite() { self.ssthresh * self.delay.rtt } else { 1.0 };
        if self.options.capped() {
            x.clamp(1.0, self.options.x_max)
        } else {
            x.max(1.0)
        }
    }

    fn establish(&mut self, window: &Window) {
        let rtt = window.rtt.map(|rtt| rtt.as_nanos() as f64 * 1e-9);
        if let Some(rtt) = rtt {
            self.delay.sample(rtt, self.options.beta);
        }
        self.stamp = window.feedback.map(|feedback| feedback.rate.0 as f64);
        let Some((rate, w)) = self.stamp.and_then(|rate| Some((rate, self.initial_window(rate, rtt)?))) else {
            let reason = if self.stamp.is_none() { Reason::NoStamp } else { Reason::NoRtt };
            self.w = self.w.min(window.cwnd.0 as f64 / self.mss);
            self.begun = Some(Event::new(EventKind::Fallback, reason, self.w));
            return;
        };
        (self.w, self.ssthresh) = (w, w.max(MIN_SSTHRESH));
        let pipe = rtt.map_or(f64::NAN, |rtt| rate * rtt / (8.0 * self.mss));
        self.begun = Some(Event::new(EventKind::SlowStartExit, Reason::Stamp, w).against(pipe));
        self.pace =
            rtt.filter(|rtt| *rtt > 0.0 && self.options.pacing).map(|rtt| Rate((w * self.mss * 8.0 / rtt) as u64));
    }
}

impl CongestionControl for Iotcc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.pace = None;
        let begun = self.begun.take();
        if let Some(rtt) = ack.rtt {
            self.delay.sample(rtt.as_nanos() as f64 * 1e-9, self.options.beta);
        }
        if ack.recovering {
            return begun;
        }
        let n = segments(ack);
        // With rounding margins: a queue of one BDP has a β of 1/2. None for `ssthresh`: a window at the tie is a copy.
        let reactive = below(self.delay.beta, self.options.rho)
            || self.stamp.is_none() && self.options.unstamped == Unstamped::Newreno;
        if !reactive && !below(self.delay.beta, self.options.tau) {
            self.w = (self.w - n / self.w).max(1.0); // (8)
        }
        if !ack.cwnd_limited {
            return begun;
        }
        if reactive {
            // (5)
            self.w += if self.w <= self.ssthresh { n * self.step() } else { n / self.w };
        } else if below(self.delay.beta, self.options.sigma) {
            let room = 1.0 - self.delay.beta; // (6)
            self.w += if self.options.increase == Increase::Literal {
                f64::from(ack.acks) * (1.0 / self.w + room)
            } else {
                let constant = f64::from(u8::from(self.options.increase == Increase::Sum));
                n * (constant + room) / self.w
            };
        }
        begun
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !event.repeated {
            self.ssthresh = (flight(event).min(self.w) / 2.0).max(MIN_SSTHRESH);
            // (9)
        }
        self.pace = None;
        self.w = if event.restart { 1.0 } else { self.ssthresh };
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        // A rounding margin: k segments may be stored as a sum of fractions.
        Bytes(((self.w + 1e-9) * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Undo => {}
            Change::Idle | Change::Recovered => self.w = (window.cwnd.0 as f64 / self.mss).max(1.0),
            Change::Established => self.establish(window),
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            put("w_segments", self.w);
            put("beta", self.delay.beta);
            if let Some(stamp) = self.stamp {
                put("stamp_bps", stamp);
            }
        }
        let phase = if self.w < self.ssthresh { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, established, loss, path, timeout};
    use cwndlab_units::Duration;
    use proptest::prelude::*;

    fn flow(options: &str) -> Iotcc {
        let algorithm = crate::catalogue().parse(&format!("iotcc({options})")).unwrap();
        Iotcc::new(&path(10), (&algorithm.growth.arguments).into())
    }

    /// By hand: 1 Mbit/s in 1000-byte segments over 4 is a window of 31.25 segments, and 2.5 Mbit/s over 100 ms.
    #[test]
    fn the_initial_window_is_paced_or_sent_at_once() {
        let rate = |options: &str| stamped(options, Some(1_000_000), 100).pacing_rate();
        assert_eq!(rate("mode=literal"), Some(Rate(2_500_000)));
        assert_eq!(rate("mode=literal, pacing=off"), None);
    }

    /// A flow after a handshake with an RTT of `rtt_ms` and a stamp of `bps`.
    fn stamped(options: &str, bps: Option<u64>, rtt_ms: u64) -> Iotcc {
        let mut flow = flow(options);
        flow.on_window(&established(Duration::from_millis(rtt_ms), bps.map(Rate)));
        flow
    }

    /// β after samples of `min`, `max` and `last` milliseconds.
    fn beta(options: &str, min: f64, max: f64, last: f64) -> f64 {
        let mut flow = flow(options);
        for ms in [min, max, last] {
            flow.delay.sample(ms / 1e3, flow.options.beta);
        }
        flow.delay.beta
    }

    fn step(flow: &mut Iotcc, beta: f64, w: f64) -> f64 {
        (flow.w, flow.stamp, flow.ssthresh) = (w, Some(1e6), 2.0);
        flow.delay.beta = beta;
        let mut ack = ack(1);
        ack.rtt = None;
        flow.on_ack(&ack);
        flow.w - w
    }

    /// `known-answers.csv` and reference values: β as printed, and its maximum on the paths of the paper.
    #[test]
    fn beta_matches_the_known_answers() {
        assert_eq!(beta("", 100.0, 300.0, 250.0), 0.5);
        assert!((beta("", 100.0, 300.0, 300.0) - 2.0 / 3.0).abs() < 1e-12);
        assert!((beta("", 50.0, 500.0, 500.0) - 0.9).abs() < 1e-12);
        assert!((beta("", 100.0, 366.7, 366.7) - 0.727_297_518_407_417_5).abs() < 1e-12);
        assert!((beta("", 40.0, 306.7, 306.7) - 0.870).abs() < 5e-4);
        assert_eq!(beta("beta=range", 100.0, 300.0, 300.0), 1.0);
        assert!((beta("beta=range", 100.0, 300.0, 250.0) - 0.75).abs() < 1e-12);
    }

    /// `known-answers.csv`: W0 and x at 1.5 Mbit/s with 1000-byte segments and 120 ms, and at 10 Mbit/s.
    #[test]
    fn the_initial_window_matches_the_known_answers() {
        for (options, bps, w0, x) in [
            ("", 1_500_000, 5.625, 1.0),
            ("", 10_000_000, 37.5, 4.5),
            ("mode=literal", 1_500_000, 46.875, 5.625),
            ("mode=literal, cap=bdp", 1_500_000, 22.5, 2.7),
        ] {
            let flow = stamped(options, Some(bps), 120);
            assert!((flow.w - w0).abs() < 1e-12 && flow.ssthresh == flow.w, "{options}: {}", flow.w);
            assert!((flow.step() - x).abs() < 1e-12, "{options}: x {}", flow.step());
        }
        assert!((stamped("", Some(1_500_000), 120).ssthresh * 0.12 - 0.675).abs() < 1e-12); // below 1: one segment
        assert_eq!(stamped("x_max=2", Some(10_000_000), 120).step(), 2.0);
    }

    /// Reference values: 37.5 segments of 1000 bytes over 120 ms are 2.5 Mbit/s, until the first ACK.
    #[test]
    fn the_initial_window_is_paced_over_the_rtt_of_the_handshake() {
        let mut flow = stamped("", Some(10_000_000), 120);
        assert_eq!(flow.pacing_rate(), Some(Rate(2_500_000)));
        flow.on_ack(&ack(1));
        assert_eq!(flow.pacing_rate(), None);
        assert_eq!(stamped("", Some(1), 120).w, 1.0);
    }

    /// A path without the agent: the initial window, doubled by NewReno at any delay, and an event.
    #[test]
    fn a_path_without_agent_uses_newreno() {
        let mut flow = stamped("", None, 10);
        assert_eq!((flow.w, flow.pacing_rate()), (10.0, None));
        assert_eq!(flow.on_ack(&ack(1)).map(|event| event.reason), Some(Reason::NoStamp));
        assert!(flow.delay.beta > 0.89 && flow.w == 11.0);
        let mut bands = stamped("unstamped=bands", None, 10);
        bands.on_ack(&ack(1));
        assert_eq!(bands.w, 9.9); // β = 0.9
    }

    /// (5) to (8), by hand at w = 20; reference value: −0.05 per ACK from τ on.
    #[test]
    fn the_bands_determine_the_change_of_the_window() {
        let mut text = flow("");
        let expected =
            [(0.49, 0.05), (0.5, 0.025), (0.79, 0.0105), (0.8, 0.0), (0.89, 0.0), (0.9, -0.05), (1.0, -0.05)];
        for (beta, change) in expected {
            assert!((step(&mut text, beta, 20.0) - change).abs() < 1e-12, "{beta}");
        }
        assert!((step(&mut flow("increase=literal"), 0.5, 20.0) - 0.55).abs() < 1e-12);
        assert!((step(&mut flow("increase=sum"), 0.5, 20.0) - 0.075).abs() < 1e-12); // (2 − 0.5) / 20
        assert_eq!(step(&mut text, 0.95, 1.0), 0.0);
    }

    /// (9): half of FlightSize; a timeout restarts from one segment, a repeated one does not change `ssthresh`.
    #[test]
    fn the_response_to_losses_is_that_of_newreno() {
        let mut flow = stamped("", Some(80_000_000), 120);
        flow.w = 100.0;
        flow.on_congestion(&loss(100));
        assert_eq!((flow.w, flow.ssthresh), (50.0, 50.0));
        flow.w = 100.0;
        flow.on_congestion(&timeout(100));
        assert_eq!((flow.w, flow.ssthresh), (1.0, 50.0));
        flow.on_congestion(&Congestion { repeated: true, ..timeout(1) });
        assert_eq!((flow.w, flow.ssthresh), (1.0, 50.0));
    }

    proptest! {
        /// (5): with a buffer of one BDP the longest RTT is twice the shortest, β = 1/2 = ρ, and the window is not reactive.
        #[test]
        fn a_queue_of_one_bdp_has_a_beta_of_one_half(rtt in 1_000u64..10_000_000_000) {
            let mut flow = stamped("", Some(10_000_000), 40);
            flow.delay = Delay::default();
            let mut samples = ack(0);
            for ns in [rtt, 2 * rtt] {
                samples.rtt = Some(Duration::from_nanos(ns));
                flow.on_ack(&samples);
            }
            prop_assert!(!below(flow.delay.beta, flow.options.rho), "{}", flow.delay.beta);
        }
    }
}
