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
//! rate clamp: cnt ≥ w / (160 RTT_min)     (16 segments per 100 ms)   (4)
//! before the first loss: cnt = 50         (2 % per round trip)       (5)
//! friendliness: w_tcp += 1 per ⌊23 w / 8⌋ ACKs; cnt ≤ w / (w_tcp − w)  (6)
//! w += 1 per cnt + 1 ACKs                                            (7)
//! congestion event: W_max = 0.9 w if w < W_max, else w; w = ssthresh = 0.8 w  (8)
//! ```
//!
//! Units: segments, seconds.
//! Differs from the source: floating point. Algorithm 2 departs from the code: a rate clamp of 2.5 segments/s
//! (`rate_clamp = literal`), and a counter that grows the window by the ACK after it has exceeded cnt, so once per
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
        /// limit of the increase: 160 segments/s (code), 2.5 segments/s (literal: the paper's text), or none (off)
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

/// Congestion avoidance of CUBIC v2.1.
#[derive(Clone, Debug)]
pub struct CubicNs2 {
    ratio: f64,
    clamp: Option<f64>,
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

    fn count(&mut self, now: Time, w: f64) -> f64 {
        if self.epoch == Time::ZERO {
            self.begin(now, w);
        }
        let delay = self.delay_min.as_nanos() as f64 * 1e-9;
        let target = self.target((now - self.epoch).as_nanos() as f64 * 1e-9 + delay);
        let mut cnt = if target > w { w / (target - w) } else { 100.0 * w }; // (3)
        if let (Some(rate), true) = (self.clamp, delay > 0.0) {
            cnt = cnt.max(w / (rate * delay)); // (4)
        }
        if !self.lost_before {
            cnt = 50.0; // (5)
        }
        if self.friendly {
            self.acks += 1.0;
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
        if let Some(rtt) = ack.rtt {
            if self.delay_min == Duration::ZERO || rtt < self.delay_min {
                self.delay_min = rtt;
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let cnt = self.count(ack.now, w);
        let acks = f64::from(ack.acks);
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
            (self.w_max, self.k, self.lost_before) = (0.0, 0.0, false);
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
    use cwndlab_control::testing::{ack, loss};

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
}
