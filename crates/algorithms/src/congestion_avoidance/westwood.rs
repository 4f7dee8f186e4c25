//! TCP Westwood: Reno that sets the window after a loss to the estimated BDP.
//!
//! Source: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001.
//!
//! ```text
//! b_k = d_k / Δ_k                                          (1)   each ACK of d bytes, Δ after the last
//! B_k = a B_{k−1} + (1 − a) (b_k + b_{k−1}) / 2,  a = (2τ − Δ_k) / (2τ + Δ_k),  τ = 0.5 s    (2)
//! no ACKs: b = 0 every τ/2                                 (3)
//! each ack:         w += n / w                             (4)
//! congestion event: ssthresh = max(B RTT_min / MSS, 2);  w = min(w, ssthresh)    (5)
//! ```
//!
//! Units: segments; bytes per second, seconds. B starts with the first sample. ACKs of one instant count towards the
//! next sample.
//! Differs from the source: duplicate ACKs count by the bytes that they SACK; without SACK these bytes count with the
//! ACK that covers them. A loss at w below the computed ssthresh sets ssthresh to w.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec};

use super::reno::{acked_count, PerAck};
use crate::shared::margin::above;

options! {
    struct Options {
        /// time constant of the filter
        tau: f64["s"] = 0.5 in 0.01..=100.0,
        /// true: 1/w per ACK, regardless of the bytes that it acknowledges (ns-3)
        per_ack: PerAck = False,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "westwood",
    title: "TCP Westwood",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1145/381677.381704",
    year: 2001,
    confidence: Confidence::High,
    summary: "Reno that sets the window after a loss to the filtered ACK rate times the minimum RTT.",
    parameters: Options::PARAMETERS,
    choices: &[
        "after a period without ACKs the sample covers the whole period; its weight is the time since the last zero sample",
        "B starts with the first sample, not with 0",
    ],
    pitfalls: &["bursts of ACKs (ACK compression) inflate B: westwood-plus samples once per round trip"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Westwood::new(arguments.into()))),
};

/// Maximum number of consecutive zero samples; after them B is practically 0.
const MAX_ZEROS: u32 = 64;

/// The window after a congestion event, (5), segments; `b` in bytes per second, `rtt_min` in nanoseconds.
pub(super) fn reduced_window(event: &Congestion, w: f64, b: f64, rtt_min: u64) -> f64 {
    let pipe = if rtt_min == u64::MAX { 0.0 } else { b * rtt_min as f64 * 1e-9 / event.mss.0 as f64 };
    let ssthresh = pipe.max(2.0);
    if event.restart {
        ssthresh
    } else {
        ssthresh.min(w.max(2.0))
    }
}

/// Congestion avoidance of Westwood.
#[derive(Clone, Debug)]
pub struct Westwood {
    tau: f64,
    per_ack: bool,
    b: f64,
    /// b_{k−1}; `None` before the first sample.
    last: Option<f64>,
    /// Time of the last sample, ns.
    at: Option<u64>,
    /// Bytes of later ACKs at that instant, which count towards the next sample.
    more: u64,
    rtt_min: u64,
}

impl Westwood {
    fn new(options: Options) -> Self {
        Self {
            tau: options.tau,
            per_ack: options.per_ack == PerAck::True,
            b: 0.0,
            last: None,
            at: None,
            more: 0,
            rtt_min: u64::MAX,
        }
    }

    /// (2): `sample` after `gap` seconds.
    #[inline]
    fn filter(&mut self, sample: f64, gap: f64) {
        let Some(last) = self.last.replace(sample) else {
            self.b = sample;
            return;
        };
        let a = (2.0 * self.tau - gap) / (2.0 * self.tau + gap);
        self.b = a * self.b + (1.0 - a) * (sample + last) / 2.0;
    }

    /// (1) and (3): `bytes` were acknowledged `gap` seconds after the last ACK.
    #[inline]
    fn sample(&mut self, bytes: f64, gap: f64) {
        let most = self.tau / 2.0;
        let mut rest = gap;
        if above(gap, most) && self.last.is_some() {
            for _ in 0..MAX_ZEROS {
                if !above(rest, most) {
                    break;
                }
                self.filter(0.0, most); // (3)
                rest -= most;
            }
            rest = rest.min(most);
        }
        self.filter(bytes / gap, rest.min(most)); // (1)
    }
}

impl CongestionAvoidance for Westwood {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min = self.rtt_min.min(rtt.as_nanos().max(1));
        }
        let now = ack.now.as_nanos();
        match self.at {
            Some(at) if now > at => {
                self.sample((self.more + ack.acked.0) as f64, (now - at) as f64 * 1e-9);
                (self.at, self.more) = (Some(now), 0);
            }
            Some(_) => self.more += ack.acked.0,
            None => self.at = Some(now),
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        w + acked_count(ack, self.per_ack) / w // (4)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        reduced_window(event, w, self.b, self.rtt_min)
    }

    fn extra(&self, put: Extra<'_>) {
        put("bandwidth_bps", self.b * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, timeout};
    use cwndlab_units::{Bytes, Time};

    fn flow() -> Westwood {
        Westwood::new(Options::default())
    }

    /// Reference values: 10 Mbit/s, 50 ms and 1460 bytes give 42.8 segments; a smaller window does not change.
    #[test]
    fn a_loss_reduces_the_window_to_the_bdp() {
        let mut flow = Westwood { b: 10e6 / 8.0, rtt_min: 50_000_000, ..flow() };
        let event = Congestion { mss: Bytes(1460), ..loss(60) };
        assert!((flow.on_congestion(&event, 60.0) - 42.808).abs() < 1e-3);
        assert_eq!(flow.on_congestion(&event, 30.0), 30.0);
        let event = Congestion { mss: Bytes(1460), ..timeout(30) };
        assert!((flow.on_congestion(&event, 30.0) - 42.808).abs() < 1e-3);
    }

    /// Reference values: for Δ = 0.1 s the weight of B is 0.818. B = 0 and b = 0 give 0 and the minimum of two
    /// segments.
    #[test]
    fn the_filter_is_a_tustin_filter() {
        let mut flow = Westwood { b: 1.0, last: Some(0.0), ..flow() };
        flow.filter(0.0, 0.1);
        assert!((flow.b - 0.9 / 1.1).abs() < 1e-15);
        let mut flow = Westwood { last: Some(0.0), ..self::flow() };
        flow.filter(0.0, 0.1);
        assert_eq!((flow.b, flow.on_congestion(&loss(9), 9.0)), (0.0, 2.0));
    }

    /// (1) by hand: two ACKs of 1000 bytes at a time, every 10 ms: 2000 bytes in 10 ms.
    #[test]
    fn simultaneous_acks_count() {
        let mut flow = flow();
        for n in 0..400 {
            flow.observe(&ack_at(Time::from_nanos(1_000_000_000 + n / 2 * 10_000_000), 1), 10.0);
        }
        assert!((flow.b - 200_000.0).abs() < 2_000.0, "{}", flow.b);
    }

    /// (3) by hand: a second without ACKs is four intervals of 0.25 s, three of them with zero samples: a = 0.6 each.
    #[test]
    fn periods_without_acks_add_zero_samples() {
        let mut flow = Westwood { b: 1000.0, last: Some(1000.0), ..flow() };
        flow.sample(100.0, 1.0);
        // 0.6 · 1000 + 0.4 · 500 = 800, then 480, 288, and 0.6 · 288 + 0.4 · (100 + 0) / 2 = 192.8.
        assert!((flow.b - 192.8).abs() < 1e-9, "{}", flow.b);
    }
}
