//! CUBIC of 2006 as in TCP/Linux of ns-2.35 (Linux 2.6.22, v2.1).
//!
//! Source: I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", PFLDnet 2005; Linux 2.6.22
//! `tcp_cubic.c`; Algorithm 2 of Khan, Shoaib, Sarfraz, "A Comprehensive Study of Modern and High Speed TCP-Variant in
//! Linux Kernel: TCP CUBIC", with its misprints corrected.
//!
//! ```text
//! K      = (b max(0, W_max − w))^(1/3),  b = 2.5                     (1)
//! target = origin + c (t + RTT_min − K)³, c = 0.4                    (2)
//! cnt    = w / (target − w) below the target, 100 w above            (3)
//! rate clamp from t + RTT_min = K on: cnt ≥ w / (160 RTT_min)  (16 segments per 100 ms)  (4)
//! before the first loss: cnt = 50         (2 % per round trip)       (5)
//! friendliness: w_tcp += 1 per ⌊23 w / 8⌋ ACKs; cnt ≤ w / (w_tcp − w)  (6)
//! w += 1 per cnt + 1 ACKs                                            (7)
//! congestion event: W_max = 0.9 w if w < W_max, else w; w = ssthresh = 0.8 w  (8)
//! a timeout discards the state, RTT_min too; samples of the first second of an epoch are no RTT_min  (9)
//! ```
//!
//! Units: segments, seconds.
//! Differs from the source: floating point; the window's increase is computed for each ACK, not 32 times a second.
//! Algorithm 2 departs from the code: a rate clamp of 2.5 segments/s, below K too (`rate_clamp = literal`), and a counter that grows the window by the ACK after it has exceeded cnt, so once per
//! cnt + 2 ACKs (`counter = literal`); its Eq. 3 is a misprint. `ack_ratio = ns2` divides cnt by 31/16, the constant ACK ratio of ns-2.35
//! without delayed ACKs.

use cwndlab_control::{options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};
use cwndlab_units::maths::{cbrt, floor};
use cwndlab_units::{Duration, Time};

use crate::shared::margin::below;

options! {
    struct Options {
        /// ns2: increments larger by 31/16, as in ns-2.35 with one ACK per segment
        ack_ratio: AckRatio { Unit = "unit", Ns2 = "ns2" } = Unit,
        /// limit of the increase: 160 segments/s from the plateau on (code), 2.5 segments/s everywhere (literal: the paper's text), or none (off)
        rate_clamp: RateClamp { Code = "code", Literal = "literal", Off = "off" } = Code,
        /// the window grows once per cnt + 1 ACKs (code), or per cnt + 2 (literal: as Algorithm 2 prints its counter)
        counter: Counting { Code = "code", Literal = "literal" } = Code,
        /// the window grows at least as fast as Reno's; in the code, not in the paper's Algorithm 2
        tcp_friendliness: bool = true,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cubic-ns2",
    title: "CUBIC (2006, ns-2)",
    kind: Kind::CongestionAvoidance,
    source: "PFLDnet 2005; Linux 2.6.22 tcp_cubic.c v2.1",
    year: 2006,
    confidence: Confidence::High,
    summary: "The first CUBIC: a decrease factor of 0.8 and an increase limited to 160 segments per second.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the paper's Eq. 3 lacks a parenthesis: K = (W_max beta / C)^(1/3)",
        "ssthresh is 0.8 w on a loss, which Algorithm 2 omits",
    ],
    pitfalls: &["no HyStart: after a large overshoot the small decrease leads to recoveries of several seconds"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(CubicNs2::new(arguments.into()))),
};

const B: f64 = 2.5;
const C: f64 = 0.4;
/// RTT samples this soon after the start of an epoch are not used for its minimum: the queue drains after a recovery.
const EPOCH_GRACE: Duration = Duration::from_secs(1);

/// Congestion avoidance of CUBIC v2.1.
#[derive(Clone, Debug)]
pub struct CubicNs2 {
    ratio: f64,
    clamp: Option<f64>,
    /// The clamp applies below the plateau, too.
    clamps_everywhere: bool,
    friendly: bool,
    literal_counter: bool,
    w_max: f64,
    k: f64,
    origin: f64,
    /// Start of the epoch; zero before the first ACK of congestion avoidance.
    epoch: Time,
    w_tcp: f64,
    acks: f64,
    counter: f64,
    /// Zero before the first sample.
    delay_min: Duration,
    lost_before: bool,
}

impl CubicNs2 {
    fn new(options: Options) -> Self {
        Self {
            ratio: if options.ack_ratio == AckRatio::Ns2 { 31.0 / 16.0 } else { 1.0 },
            clamp: match options.rate_clamp {
                RateClamp::Code => Some(160.0),
                RateClamp::Literal => Some(2.5),
                RateClamp::Off => None,
            },
            clamps_everywhere: options.rate_clamp == RateClamp::Literal,
            friendly: options.tcp_friendliness,
            literal_counter: options.counter == Counting::Literal,
            w_max: 0.0,
            k: 0.0,
            origin: 0.0,
            epoch: Time::ZERO,
            w_tcp: 0.0,
            acks: 0.0,
            counter: 0.0,
            delay_min: Duration::ZERO,
            lost_before: false,
        }
    }

    fn target(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.origin + C * from_plateau * from_plateau * from_plateau // (2)
    }

    fn begin(&mut self, now: Time, w: f64) {
        self.epoch = now.max(Time::from_nanos(1));
        self.k = cbrt(B * (self.w_max - w).max(0.0)); // (1)
        self.origin = self.w_max.max(w);
        self.w_tcp = w;
        self.acks = 0.0;
    }

    fn count(&mut self, now: Time, acks: f64, w: f64) -> f64 {
        if self.epoch == Time::ZERO {
            self.begin(now, w);
        }
        let delay = self.delay_min.as_nanos() as f64 * 1e-9;
        let t = (now - self.epoch).as_nanos() as f64 * 1e-9 + delay;
        let target = self.target(t);
        let mut cnt = if target > w { w / (target - w) } else { 100.0 * w }; // (3)
        let clamps = delay > 0.0 && (self.clamps_everywhere || t >= self.k);
        if let (Some(rate), true) = (self.clamp, clamps) {
            cnt = cnt.max(w / (rate * delay)); // (4)
        }
        if !self.lost_before {
            cnt = 50.0; // (5)
        }
        if self.friendly {
            self.acks += acks;
            let delta = floor(w * 23.0 / 8.0).max(1.0);
            while self.acks > delta {
                self.acks -= delta;
                self.w_tcp += 1.0;
            }
            if self.w_tcp > w {
                cnt = cnt.min(w / (self.w_tcp - w)); // (6)
            }
        }
        (cnt / self.ratio).max(1.0)
    }
}

impl CongestionAvoidance for CubicNs2 {
    fn observe(&mut self, ack: &Ack, _: f64) {
        let is_early = self.epoch != Time::ZERO && ack.now - self.epoch < EPOCH_GRACE;
        if let Some(rtt) = ack.rtt.filter(|_| !is_early) {
            if self.delay_min == Duration::ZERO || rtt < self.delay_min {
                self.delay_min = rtt;
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let acks = f64::from(ack.acks);
        let cnt = self.count(ack.now, acks, w);
        // Algorithm 2 compares what was counted before this ACK, the code what includes it.
        let counted = if self.literal_counter { self.counter } else { self.counter + acks };
        if counted > floor(cnt) {
            self.counter = 0.0; // (7)
            return w + 1.0;
        }
        self.counter += acks;
        w
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.epoch = Time::ZERO;
        self.lost_before = true;
        // (8); with a rounding margin, since a path without chance repeats its losses at the same window.
        self.w_max = if below(w, self.w_max) { 0.9 * w } else { w };
        if event.cause == Cause::Timeout {
            (self.w_max, self.k, self.lost_before, self.delay_min) = (0.0, 0.0, false, Duration::ZERO);
            // (9)
        }
        self.counter = 0.0;
        (0.8 * w).max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.w_max);
        put("k_s", self.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, ack_at, loss, timeout};

    /// `known-answers.csv`: W_max = 100, a loss, w = 80.
    #[test]
    fn k_and_targets_match_the_known_answers() {
        let mut flow = CubicNs2::new(Options::default());
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 80.0);
        flow.begin(Time::from_nanos(1), 80.0);
        assert!((flow.k - 3.684_031_498_640_386_4).abs() < 1e-12);
        for (t, target) in [(0.1, 81.584_842_191_972_27), (1.0, 92.265_667_901_200_97), (5.0, 100.911_583_538_635_6)] {
            assert!((flow.target(t) - target).abs() < 1e-9);
        }
    }

    /// By hand, before the first loss: cnt = 50 (5). Linux 2.6.22 increments after 50 counted ACKs, with the 51st;
    /// Algorithm 2 when the counter is above 50, with the 52nd.
    #[test]
    fn the_printed_counter_needs_one_more_ack() {
        for (counter, needed) in [(Counting::Code, 51), (Counting::Literal, 52)] {
            let options =
                Options { counter, rate_clamp: RateClamp::Off, tcp_friendliness: false, ..Options::default() };
            let mut flow = CubicNs2::new(options);
            let first = (1..=60).find(|_| flow.on_ack(&ack(1), 10.0) > 10.0);
            assert_eq!(first, Some(needed));
        }
    }

    /// By hand, W_max = 10,000, a loss, w = 8000, so K = 5000^(1/3) = 17.1 s, and an RTT of 0.1 s, with which the clamp is
    /// w / 16. At t + RTT = 1.1 s the target is 10,000 − 0.4 · 16³ = 8361.6; at 27.1 s it is 10,400. Linux 2.6.22 clamps
    /// from K on (`ca->cnt < min_cnt && t >= ca->bic_K`), Algorithm 2 always, to w / 0.25.
    #[test]
    fn the_rate_is_clamped_above_the_plateau() {
        let cnt = |rate_clamp, after_s: f64, w: f64| {
            let mut flow = CubicNs2::new(Options { rate_clamp, tcp_friendliness: false, ..Options::default() });
            flow.on_congestion(&loss(10_000), 10_000.0);
            flow.delay_min = Duration::from_millis(100);
            flow.begin(Time::from_nanos(1_000_000_000), 8000.0);
            flow.count(Time::from_nanos(1_000_000_000 + (after_s * 1e9) as u64), 1.0, w)
        };
        let close = |left: f64, right: f64| assert!((left / right - 1.0).abs() < 1e-3, "{left} {right}");
        close(cnt(RateClamp::Code, 1.0, 8000.0), 8000.0 / 361.7);
        close(cnt(RateClamp::Literal, 1.0, 8000.0), 8000.0 / 0.25);
        close(cnt(RateClamp::Code, 27.0, 9900.0), 9900.0 / 16.0);
        close(cnt(RateClamp::Off, 27.0, 9900.0), 9900.0 / 500.0);
    }

    /// Linux 2.6.22: `measure_delay` takes no sample in the first second of an epoch, `bictcp_reset` discards the minimum
    /// at a timeout.
    #[test]
    fn the_minimum_rtt_is_of_the_path_since_the_last_timeout() {
        let mut flow = CubicNs2::new(Options::default());
        let at = |seconds: u64, ms: u64| {
            let now = Time::from_nanos(seconds * 1_000_000_000);
            Ack { rtt: Some(Duration::from_millis(ms)), ..ack_at(now, 1) }
        };
        flow.observe(&at(1, 100), 10.0);
        flow.on_congestion(&timeout(10), 10.0);
        flow.observe(&at(2, 150), 10.0);
        assert_eq!(flow.delay_min, Duration::from_millis(150));
        flow.begin(Time::from_nanos(2_000_000_000), 10.0);
        flow.observe(&Ack { now: Time::from_nanos(2_900_000_000), ..at(2, 120) }, 10.0);
        assert_eq!(flow.delay_min, Duration::from_millis(150));
        flow.observe(&at(3, 130), 10.0);
        assert_eq!(flow.delay_min, Duration::from_millis(130));
    }
}
