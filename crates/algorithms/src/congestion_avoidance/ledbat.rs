//! LEDBAT: low-priority transport that controls the queueing delay to a target.
//!
//! Source: S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, "Low Extra Delay Background Transport (LEDBAT)", RFC 6817,
//! 2012.
//!
//! ```text
//! base = minimum delay of the last ten minutes, by minute                 (1)
//! q    = minimum of the last 4 samples − base                             (2)
//! each ack: w += GAIN (TARGET − q) / TARGET n / w                         (3)
//! congestion event: w = min(w, max(w / 2, 2))                             (4)
//! ```
//!
//! Units: segments, seconds.
//! Differs from the source: the RFC measures one-way delays by the receiver's clock. The transport here has RTT samples
//! only, so queueing on the reverse path counts too, as in LEDBAT++. The initial window is that of the stack, not two
//! segments. There is no slow start, as in the RFC's algorithm; a flow may select one. ALLOWED_INCREASE, which prevents
//! the growth of an unused window, is replaced by the transport's rule: congestion avoidance receives only ACKs of
//! window-limited periods. Compared with the bytes in flight, as printed, it would keep a host that sends in bursts at
//! its first windows.

use cwndlab_control::{
    options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Reason, Spec, Step,
};

use super::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// TARGET, the queueing delay in equilibrium; at most 100 ms (section 2.5), BitTorrent 100 ms, Windows 60 ms
        target: f64["s"] = 0.1 in 0.001..=0.1,
        /// GAIN, increment in segments per round trip without a queue; at most 1
        gain: f64 = 1.0 in 0.01..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ledbat",
    title: "LEDBAT (low extra delay background transport)",
    kind: Kind::CongestionAvoidance,
    source: "RFC 6817",
    year: 2012,
    confidence: Confidence::High,
    summary: "Low-priority (scavenger) transport: controls the queueing delay to a target, and so yields to flows that fill the buffer.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the RTT replaces the one-way delay: queueing on the reverse path counts",
        "no slow start, since the RFC's algorithm has none",
        "timeouts do not reset the history of base delays",
    ],
    pitfalls: &[
        "latecomer advantage: a new flow measures the queue of earlier flows as its base delay and starves them",
        "with a target above the buffer's delay it is loss-based",
        "the base delay of the first flow rises after ten minutes without an empty queue",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| {
        let options = Options::from(arguments);
        Box::new(Ledbat {
            target: options.target * 1e9,
            gain: options.gain,
            history: History::default(),
        })
    }),
};

/// Length of the history of base delays, minutes.
const BASE_HISTORY: usize = 10;
/// Number of samples whose minimum is the current delay.
const CURRENT_FILTER: usize = 4;
const MINUTE_NS: u64 = 60_000_000_000;

/// The history of delays for (1) and (2), ns.
#[derive(Clone, Copy, Debug)]
pub struct History {
    minutes: [u64; BASE_HISTORY],
    minute: u64,
    at: usize,
    samples: [u64; CURRENT_FILTER],
    next: usize,
    /// The minimum of `minutes`.
    base: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            minutes: [u64::MAX; BASE_HISTORY],
            minute: 0,
            at: 0,
            samples: [u64::MAX; CURRENT_FILTER],
            next: 0,
            base: u64::MAX,
        }
    }
}

impl History {
    /// Adds the RTT sample of an ACK.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_nanos().max(1);
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % CURRENT_FILTER;
        if ack.now.as_nanos() >= self.minute + MINUTE_NS {
            self.minute = ack.now.as_nanos() - ack.now.as_nanos() % MINUTE_NS;
            self.at = (self.at + 1) % BASE_HISTORY;
            self.minutes[self.at] = rtt;
            self.base = self.minutes.iter().copied().min().unwrap_or(rtt);
        } else if rtt < self.minutes[self.at] {
            self.minutes[self.at] = rtt;
            self.base = self.base.min(rtt);
        }
    }

    /// Base delay, ns; 0 before the first sample.
    #[must_use]
    pub fn base(&self) -> f64 {
        if self.base == u64::MAX {
            0.0
        } else {
            self.base as f64
        }
    }

    /// q of (2), ns; 0 before the first sample.
    #[inline]
    #[must_use]
    pub fn queueing(&self) -> f64 {
        let current = self.samples.iter().fold(u64::MAX, |least, &sample| least.min(sample));
        if current == u64::MAX {
            0.0
        } else {
            (current - self.base.min(current)) as f64
        }
    }
}

/// Congestion avoidance of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// ns.
    target: f64,
    gain: f64,
    history: History,
}

impl Ledbat {
    /// (3): increment in segments per round trip.
    fn per_round(&self, q: f64) -> f64 {
        self.gain * (self.target - q) / self.target
    }
}

impl CongestionAvoidance for Ledbat {
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.history.observe(ack);
    }

    fn start(&mut self, _: &Ack, w: f64, _: f64) -> Step {
        // After a timeout the window is one segment: raise it to the floor of (4).
        Step::with_exit((2.0 - w).max(0.0), Some(exit::now(Reason::None, w, f64::NAN)))
    }

    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        (w + self.per_round(self.history.queueing()) * segments(ack) / w).max(2.0)
        // (3)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        w.min((w / 2.0).max(2.0)) // (4)
    }

    fn extra(&self, put: Extra<'_>) {
        put("base_delay_s", self.history.base() * 1e-9);
        put("queueing_s", self.history.queueing() * 1e-9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::{Duration, Time};

    fn ledbat() -> Ledbat {
        Ledbat { target: 100e6, gain: 1.0, history: History::default() }
    }

    fn sample(now_s: u64, ms: u64) -> Ack {
        let mut ack = ack_at(Time::from_nanos(now_s * 1_000_000_000), 1);
        ack.rtt = Some(Duration::from_millis(ms));
        ack
    }

    /// Reference values, target 100 ms: no queue +1, 25 ms +0.75, 100 ms 0, 150 ms −0.5, 300 ms −2 per round trip.
    #[test]
    fn the_increment_per_round_trip_matches_the_reference_values() {
        let steps = [0, 25, 100, 150, 300].map(|ms| ledbat().per_round(f64::from(ms) * 1e6));
        assert_eq!(steps, [1.0, 0.75, 0.0, -0.5, -2.0]);
    }

    /// RFC 6817, section 3.4.2 and 4.2: the minimum of the last four samples minus the minimum of ten minutes.
    #[test]
    fn the_base_delay_expires_after_ten_minutes_and_the_current_delay_after_four_samples() {
        let mut history = History::default();
        for ms in [50, 90, 80, 70, 85] {
            history.observe(&sample(1, ms));
        }
        assert_eq!((history.base(), history.queueing()), (50e6, 20e6));
        for minute in 1..=9 {
            history.observe(&sample(60 * minute + 1, 60 + minute));
        }
        assert_eq!(history.base(), 50e6);
        history.observe(&sample(601, 90));
        assert_eq!(history.base(), 61e6);
    }

    /// By hand: without a queue an ACK adds 1/w; a loss halves the window, but does not change one of one segment.
    #[test]
    fn an_ack_adds_1_over_w_and_a_loss_halves_the_window() {
        let mut flow = ledbat();
        flow.observe(&sample(1, 50), 10.0);
        assert_eq!(flow.on_ack(&sample(1, 50), 10.0), 10.1);
        assert_eq!((flow.on_congestion(&loss(9), 9.0), flow.on_congestion(&loss(1), 1.0)), (4.5, 1.0));
    }
}
