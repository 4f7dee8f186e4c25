//! H-TCP: an additive increase that rises with the time since the last congestion event.
//!
//! Source: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp; constants and measurement of Linux `tcp_htcp.c`.
//!
//! ```text
//! α(Δ) = 1 for Δ ≤ 1 s, else 1 + 10 (Δ − 1) + ((Δ − 1) / 2)²,  times 2 (1 − β)     (1)
//! each ack:         w += α n / w                                                  (2)
//! congestion event: β = 1/2 where |B − B⁻| > B⁻ / 5, else clamp(RTT_min / RTT_max, 1/2, 0.8);  w = β w   (3)
//! B: maximum b of the epoch, b = (3 b + acked per interval) / 4 over intervals of at least RTT_min and a window
//! RTT scaling: α(Δ) RTT_min / 100 ms, the factor within [0.1, 2]                  (4)
//! ```
//!
//! Units: segments, seconds; Δ is the time since the last congestion event (the start of the flow before the first).
//! Differs from the source: RTT_max and B are measured as in Linux. RTT_max rises by at most 20 ms per sample and
//! decays by 5 % towards RTT_min at each event; β is 1/2 for RTT_min ≤ 10 ms and for the first epoch after a change of
//! B. `rtt_scaling = linux` rounds α(Δ) down to integers before and after (4), at least 1. `counter = linux` is Linux 6's
//! counter: the ACK of an increment does not count, α changes with increments only, Δ begins where the recovery ends, and
//! every sample outside of a recovery counts for RTT_max. Linux does not restore α and β where a reduction is undone; here they
//! are.

pub mod ns3;

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};
use cwndlab_units::maths::floor;
use cwndlab_units::Time;

use super::reno::{flight, segments};
use crate::congestion_avoidance::htcp::ns3::Ns3;

options! {
    struct Options {
        /// time after a congestion event until which the increase is Reno's
        delta_l: f64["s"] = 1.0 in 0.0..=100.0,
        /// on: the decrease factor is RTT_min / RTT_max; off: 1/2
        adaptive_backoff: bool = true,
        /// on: the decrease factor is 1/2 where the throughput changed by more than a fifth since the last epoch
        bandwidth_switch: bool = true,
        /// on: the increase is scaled by RTT_min / 100 ms (optional in the draft); linux: the same in integers, the
        /// default of Linux
        rtt_scaling: RttScaling { Off = "off", On = "on", Linux = "linux" } = Off,
        /// linux: whole segments; the ACK of an increment does not count, α changes with increments only, Δ begins where
        /// the recovery ends, and every sample outside of one counts for RTT_max
        counter: Counter { Real = "real", Linux = "linux" } = Real,
        /// source of RTT_min and RTT_max: RTT samples, or the smoothed RTT (Linux 2.6.22, ns-2.35)
        rtt: Rtt { Sample = "sample", Smoothed = "smoothed" } = Sample,
        /// ns3: alpha in bytes per ACK, RTTs and throughput of the last epoch only, a bandwidth test for increases only
        /// (see congestion_avoidance::htcp::ns3)
        module: Module { Linux = "linux", Ns3 = "ns3" } = Linux,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "htcp",
    title: "H-TCP",
    kind: Kind::CongestionAvoidance,
    source: "PFLDnet 2004; draft-leith-tcp-htcp-06; Linux tcp_htcp.c",
    year: 2004,
    confidence: Confidence::High,
    summary: "The additive increase rises with the time t since the last congestion event: 1 + 10 (t - 1) + ((t - 1)/2)^2 segments per round trip after 1 s, times 2 (1 - beta). The decrease factor beta adapts to the queue, from 0.5 to 0.8.",
    parameters: Options::PARAMETERS,
    choices: &[
        "RTT scaling is off by default",
        "the bandwidth test detects increases and decreases (the draft, Linux); that of ns-3 increases only",
    ],
    pitfalls: &["of two flows the one with the more recent loss is slower for seconds"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Htcp::new(arguments.into()))),
};

const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Maximum rise of RTT_max per sample.
const RISE_NS: u64 = 20_000_000;
/// RTT_min up to which β is 1/2, since queueing delays are too small to measure (Linux).
const SHORT_RTT_NS: u64 = 10_000_000;
/// Round trips after an event whose samples do not count; with Linux' counter they do.
const SETTLING: u64 = 3;

/// The state between two congestion events.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The last congestion event, or the start.
    since: Option<Time>,
    rtt_max: u64,
    /// Maximum throughput of the epoch before, segments/s.
    b_before: f64,
    /// The throughput of the epoch before was stable: β may adapt.
    adaptive: bool,
    beta: f64,
}

/// Congestion avoidance of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    options: Options,
    scaled: bool,
    ns3: Option<Ns3>,
    epoch: Epoch,
    rtt_min: u64,
    lost: bool,
    /// Throughput, segments/s: smoothed, and the maximum of this epoch.
    b: f64,
    b_max: f64,
    /// The current interval of the throughput measurement: segments and start.
    counted: f64,
    interval: Time,
    alpha: f64,
    linux: Option<WholeSegments>,
}

/// Linux' counter of acknowledged segments.
#[derive(Clone, Copy, Debug, Default)]
struct WholeSegments {
    credit: f64,
    /// In recovery at the last ACK.
    recovering: bool,
}

impl Htcp {
    fn new(options: Options) -> Self {
        let epoch = Epoch { since: None, rtt_max: 0, b_before: 0.0, adaptive: false, beta: BETA_MIN };
        Self {
            options,
            scaled: options.rtt_scaling != RttScaling::Off,
            ns3: (options.module == Module::Ns3).then(Ns3::default),
            epoch,
            rtt_min: u64::MAX,
            lost: false,
            b: 0.0,
            b_max: 0.0,
            counted: 0.0,
            interval: Time::ZERO,
            alpha: 1.0,
            linux: (options.counter == Counter::Linux).then(WholeSegments::default),
        }
    }

    /// (1) and (4) without the factor 2 (1 − β), `delta` seconds after the last event; segments per round trip.
    #[inline]
    fn increase(&self, delta: f64) -> f64 {
        // No margin: the increase is continuous.
        let over = delta - self.options.delta_l;
        let mut increase = if over > 0.0 { 1.0 + 10.0 * over + over * over / 4.0 } else { 1.0 };
        if self.options.rtt_scaling == RttScaling::Linux {
            increase = floor(increase);
        }
        if self.scaled && self.rtt_min < u64::MAX {
            increase *= (self.rtt_min as f64 / 1e8).clamp(0.1, 2.0);
            if self.options.rtt_scaling == RttScaling::Linux {
                increase = floor(increase).max(1.0);
            }
        }
        increase
    }

    /// (1) at `now`.
    #[inline]
    fn update_alpha(&mut self, now: Time) {
        let delta = now.saturating_since(self.epoch.since.unwrap_or(now)).as_nanos() as f64 * 1e-9;
        self.alpha = 2.0 * (1.0 - self.epoch.beta) * self.increase(delta);
    }

    /// Round trips since the last event.
    fn rounds(&self, now: Time) -> u64 {
        now.saturating_since(self.epoch.since.unwrap_or(now)).as_nanos() / self.rtt_min.max(1)
    }

    /// (3): β at a congestion event.
    fn beta(&mut self) -> f64 {
        let b = self.b_max;
        let before = self.epoch.b_before;
        self.epoch.b_before = b;
        // No margin: equal epochs have equal throughput, far from both bounds.
        if self.options.bandwidth_switch && !(0.8 * before..=1.2 * before).contains(&b) {
            self.epoch.adaptive = false;
            return BETA_MIN;
        }
        if !self.epoch.adaptive {
            self.epoch.adaptive = true;
            return BETA_MIN;
        }
        if !self.options.adaptive_backoff || self.rtt_min <= SHORT_RTT_NS || self.epoch.rtt_max == 0 {
            return BETA_MIN;
        }
        (self.rtt_min as f64 / self.epoch.rtt_max as f64).clamp(BETA_MIN, BETA_MAX)
    }

    fn measure_rtt(&mut self, ack: &Ack) {
        let sample =
            if self.options.rtt == Rtt::Smoothed { (ack.srtt.as_nanos() > 0).then_some(ack.srtt) } else { ack.rtt };
        let Some(rtt) = sample else { return };
        let rtt = rtt.as_nanos().max(1);
        self.rtt_min = self.rtt_min.min(rtt);
        if !ack.recovering && (self.linux.is_some() || self.lost && self.rounds(ack.now) > SETTLING) {
            self.epoch.rtt_max = self.epoch.rtt_max.max(self.rtt_min);
            if rtt <= self.epoch.rtt_max + RISE_NS {
                self.epoch.rtt_max = self.epoch.rtt_max.max(rtt);
            }
        }
    }

    fn measure_throughput(&mut self, ack: &Ack, w: f64) {
        let now = ack.now;
        if ack.recovering || self.interval == Time::ZERO {
            (self.counted, self.interval) = (0.0, now);
            return;
        }
        self.counted += segments(ack);
        let span = (now - self.interval).as_nanos();
        if self.counted < w - self.alpha.max(1.0) || span < self.rtt_min || span == 0 {
            return;
        }
        let sample = self.counted * 1e9 / span as f64;
        if self.rounds(now) <= SETTLING {
            (self.b, self.b_max) = (sample, sample);
        } else {
            self.b = (3.0 * self.b + sample) / 4.0;
            self.b_max = self.b_max.max(self.b);
        }
        (self.counted, self.interval) = (0.0, now);
    }
}

impl CongestionAvoidance for Htcp {
    #[inline]
    fn observe(&mut self, ack: &Ack, w: f64) {
        if self.epoch.since.is_none() {
            self.epoch.since = Some(ack.now);
        }
        if let Some(ns3) = &mut self.ns3 {
            ns3.observe(ack, self.epoch.since.unwrap_or(Time::ZERO));
            return;
        }
        if let Some(linux) = &mut self.linux {
            if std::mem::replace(&mut linux.recovering, ack.recovering) && !ack.recovering {
                self.epoch.since = Some(ack.now);
            }
        }
        self.measure_rtt(ack);
        self.measure_throughput(ack, w);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if let Some(linux) = self.linux {
            let mut credit = linux.credit;
            let mut w = w;
            // An ACK may be several that came together.
            let each = segments(ack) / f64::from(ack.acks.max(1));
            for _ in 0..ack.acks.max(1) {
                if floor(credit * self.alpha) < floor(w) {
                    credit += each;
                } else {
                    (credit, w) = (0.0, w + 1.0);
                    self.update_alpha(ack.now);
                }
            }
            self.linux = Some(WholeSegments { credit, ..linux });
            return w;
        }
        self.update_alpha(ack.now);
        if self.ns3.is_some() {
            return w + Ns3::step(ack, w, self.alpha);
        }
        w + self.alpha * segments(ack) / w // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if let Some(ns3) = &mut self.ns3 {
            (self.epoch.beta, self.epoch.since) = (ns3.beta(), Some(event.now));
            return (self.epoch.beta * flight(event)).max(2.0);
        }
        self.epoch.beta = self.beta();
        if let Some(linux) = &mut self.linux {
            *linux = WholeSegments { credit: 0.0, recovering: true };
            self.update_alpha(event.now);
        }
        self.epoch.since = Some(event.now);
        self.lost = true;
        if self.epoch.rtt_max > self.rtt_min {
            self.epoch.rtt_max = self.rtt_min + (self.epoch.rtt_max - self.rtt_min) * 95 / 100;
        }
        if self.linux.is_some() {
            return floor(floor(w) * floor(128.0 * self.epoch.beta) / 128.0).max(2.0);
        }
        (self.epoch.beta * w).max(2.0) // (3)
    }

    fn on_window(&mut self, window: &Window) {
        if let (Change::Undo, Some(linux)) = (window.change, &mut self.linux) {
            linux.credit = 0.0; // tcp_init_cwnd_reduction reset snd_cwnd_cnt
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("alpha_segments", self.alpha);
        put("beta", self.epoch.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, ack_at, loss};

    fn flow() -> Htcp {
        Htcp::new(Options::default())
    }

    /// `known-answers.csv`: α(Δ), and with 2 (1 − β) for β = 0.8.
    #[test]
    fn alpha_matches_the_known_answers() {
        for (delta, raw, scaled) in
            [(0.5, 1.0, 0.4), (1.0, 1.0, 0.4), (2.0, 11.25, 4.5), (5.0, 45.0, 18.0), (11.0, 126.0, 50.4)]
        {
            assert!((flow().increase(delta) - raw).abs() < 1e-12, "{delta}");
            assert!((2.0 * (1.0 - 0.8) * flow().increase(delta) - scaled).abs() < 1e-12, "{delta}");
        }
    }

    /// Reference values: Linux' integers at Δ = 2 s for RTT_min of 100, 50, 200, 400 and 25 ms.
    #[test]
    fn rtt_scaling_of_linux_is_in_integers() {
        let increases = [100, 50, 200, 400, 25].map(|ms| {
            let flow = Htcp {
                rtt_min: ms * 1_000_000,
                ..Htcp::new(Options { rtt_scaling: RttScaling::Linux, ..Options::default() })
            };
            flow.increase(2.0)
        });
        assert_eq!(increases, [11.0, 5.0, 22.0, 22.0, 2.0]);
    }

    /// (3) by hand: RTT_min = 100 ms and RTT_max = 125 ms give β = 0.8, 160 ms 0.625, 300 ms 1/2. A throughput that
    /// rose by a third gives 1/2, and so does the epoch after it.
    #[test]
    fn beta_depends_on_the_queue_while_the_throughput_is_stable() {
        for (rtt_max, beta) in [(125, 0.8), (160, 0.625), (300, 0.5)] {
            let mut flow = Htcp { rtt_min: 100_000_000, b_max: 1_000.0, ..flow() };
            flow.epoch = Epoch { rtt_max: rtt_max * 1_000_000, b_before: 900.0, adaptive: true, ..flow.epoch };
            assert_eq!(flow.on_congestion(&loss(100), 100.0), 100.0 * beta);
            flow.b_max = 1_333.0;
            assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
            assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
        }
    }

    /// Linux, by hand: α = 1 and ACKs of two segments. Two ACKs have four segments, and the third, which does not count,
    /// adds one; two that came together are two. Δ begins with the first ACK after the recovery.
    #[test]
    fn linux_adds_a_segment_with_the_ack_after_a_window() {
        let mut flow = Htcp::new(Options { counter: Counter::Linux, ..Options::default() });
        assert_eq!([4.0, 4.0, 4.0, 5.0].map(|w| flow.on_ack(&ack(2), w)), [4.0, 4.0, 5.0, 5.0]);
        assert_eq!(flow.on_ack(&Ack { acks: 2, ..ack(4) }, 5.0), 5.0);
        assert_eq!(flow.on_ack(&Ack { acks: 2, ..ack(4) }, 5.0), 6.0);
        flow.on_congestion(&loss(6), 6.0);
        let end = Time::from_nanos(3_000_000_000);
        flow.observe(&Ack { recovering: true, ..ack_at(end, 1) }, 3.0);
        assert_ne!(flow.epoch.since, Some(end));
        flow.observe(&ack_at(end, 1), 3.0);
        assert_eq!(flow.epoch.since, Some(end));
    }
}
