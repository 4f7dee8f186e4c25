//! Astart (Adaptive Start): slow start that raises ssthresh from an eligible rate estimate.
//!
//! Source: R. Wang, G. Pau, K. Yamada, M. Y. Sanadidi, M. Gerla, "TCP Startup Performance in Large Bandwidth Delay
//! Networks", INFOCOM 2004.
//!
//! ```text
//! expected = w / RTT_min,  actual = bytes acked over the last RTT / RTT                            (1)
//! T = max(Δ, RTT (1 − actual/expected))        Δ: time since the last ACK                          (2)
//! b = bytes acked in T / T                                                                         (3)
//! ERE ← ((2T − Δ) ERE + Δ (b + b_prev)) / (2T + Δ)                                                 (4)
//! start-up: ssthresh ← max(ssthresh, ERE RTT_min / MSS), 0 before the third sample                 (5)
//! w < ssthresh: w += n;  else congestion avoidance, until (5) restarts slow start                  (6)
//! the first loss ends start-up; a timeout restarts it                                              (7)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: medium for the rule, low for the filter.
//! Differs from the source: nothing known in the rule; the filter (4) is our choice. `floor = rtt` takes T ≥ RTT_min.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Confidence, Congestion, Extra, Kind, Need, Reason, SlowStart, Spec, Step, Window,
};
use cwndlab_units::{Duration, Time};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

options! {
    struct Options {
        /// minimum of T: the time since the last ACK (ack), with which an uncongested path shows its capacity, as with
        /// packet pairs, or RTT_min (rtt)
        floor: Floor { Ack = "ack", Rtt = "rtt" } = Ack,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "astart",
    title: "Adaptive Start (Astart)",
    kind: Kind::SlowStart,
    source: "Wang et al., INFOCOM 2004",
    year: 2004,
    confidence: Confidence::Medium,
    summary: "Raises ssthresh repeatedly to the eligible rate estimate times RTT_min. The window alternates between slow start and congestion avoidance until the first loss.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the minimum sampling interval is the time between two ACKs; with RTT_min the estimate never exceeds w/RTT, and slow start never restarts",
        "the filter is Tustin's with time constant T",
        "start-up, in which ssthresh is raised, lasts until the first loss",
    ],
    pitfalls: &[
        "ssthresh is never lowered: an overestimate from compressed ACKs is permanent",
        "the bursts of slow start need a buffer of about a quarter of the BDP; with less a loss occurs before the exit",
        "congestion avoidance runs in between: CUBIC begins its first epoch at the first linear phase",
    ],
    companion: "",
    needs: &[Need::EveryAck],
    incompatible: &[
        ("vegas", DELAY_BASED),
        ("vegas-plus", DELAY_BASED),
        ("fast", DELAY_BASED),
        ("ledbat", DELAY_BASED),
        ("ledbat-pp", DELAY_BASED),
    ],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Astart::new(arguments.into()))),
};

/// Reason against delay-based congestion avoidance.
const DELAY_BASED: &str =
    "it lowers the window when the delay rises, and until the first loss Astart would raise it to the BDP again";

/// Samples before (5).
const SAMPLES: u32 = 3;
/// Slots of the history of delivered bytes, and slots per RTT.
const SLOTS: u64 = 128;
const PER_RTT: u64 = 32;

/// Adaptive Start.
#[derive(Clone, Debug)]
pub struct Astart {
    floor_rtt: bool,
    /// bytes/s.
    ere: f64,
    previous: f64,
    samples: u32,
    last: Time,
    /// Bytes delivered before the start of each slot; length of a slot (0 before the first ACK); the newest slot, the
    /// first.
    counts: [u64; SLOTS as usize],
    width: Duration,
    slot: u64,
    begun: u64,
    active: bool,
}

/// (5), segments.
#[must_use]
pub fn threshold(ere: f64, rtt_min_s: f64, mss: f64, ssthresh: f64) -> f64 {
    ssthresh.max(ere * rtt_min_s / mss)
}

impl Astart {
    fn new(options: Options) -> Self {
        Self {
            floor_rtt: options.floor == Floor::Rtt,
            ere: 0.0,
            previous: 0.0,
            samples: 0,
            last: Time::ZERO,
            counts: [0; SLOTS as usize],
            width: Duration::ZERO,
            slot: 0,
            begun: 0,
            active: true,
        }
    }

    /// Starts the slots up to `now`, with `before` bytes delivered.
    #[inline]
    fn advance(&mut self, now: Time, before: u64) {
        let slot = now.as_nanos() / self.width.as_nanos();
        for one in (self.slot + 1).max(slot.saturating_sub(SLOTS - 1))..=slot {
            self.counts[(one % SLOTS) as usize] = before;
        }
        self.slot = slot;
    }

    /// Bytes delivered, and seconds, since the start of the slot at `now − span`, or of the oldest slot.
    #[inline]
    fn since(&self, now: Time, delivered: u64, span: Duration) -> (f64, f64) {
        let oldest = self.begun.max(self.slot.saturating_sub(SLOTS - 1));
        let slot = (now.as_nanos().saturating_sub(span.as_nanos()) / self.width.as_nanos()).max(oldest);
        let bytes = delivered.saturating_sub(self.counts[(slot % SLOTS) as usize]);
        (bytes as f64, (now.as_nanos() - slot * self.width.as_nanos()) as f64 * 1e-9)
    }

    #[inline]
    fn observe(&mut self, ack: &Ack, w: f64) {
        let now = ack.now;
        let delivered = ack.delivered.0;
        let rtt = ack.rtt.unwrap_or(ack.srtt);
        let before = delivered.saturating_sub(ack.acked.0);
        if self.width == Duration::ZERO {
            self.width = (ack.min_rtt / PER_RTT).max(Duration::from_nanos(1));
            let slot = now.as_nanos() / self.width.as_nanos();
            (self.slot, self.begun, self.last) = (slot, slot, now);
            self.counts[(self.slot % SLOTS) as usize] = before;
            return;
        }
        let delta = now - self.last;
        if delta == Duration::ZERO {
            return;
        }
        self.last = now;
        self.advance(now, before);
        let (acked, _) = self.since(now, delivered, rtt);
        let expected = w * ack.mss.0 as f64 * rtt.as_nanos() as f64 / ack.min_rtt.as_nanos().max(1) as f64;
        let idle = 1.0 - (acked / expected).min(1.0); // (1)
        let least = if self.floor_rtt { ack.min_rtt } else { delta };
        let span = Duration::from_nanos((idle * rtt.as_nanos() as f64) as u64).max(least); // (2)
        let b = if span <= delta {
            ack.acked.0 as f64 * 1e9 / delta.as_nanos() as f64
        } else {
            let (bytes, seconds) = self.since(now, delivered, span);
            bytes / seconds.max(span.as_nanos() as f64 * 1e-9)
        }; // (3)
        self.filter(b, span.as_nanos() as f64, delta.as_nanos() as f64);
    }

    /// (4).
    #[inline]
    fn filter(&mut self, b: f64, t: f64, delta: f64) {
        self.ere = ((2.0 * t - delta) * self.ere + delta * (b + self.previous)) / (2.0 * t + delta);
        self.previous = b;
        self.samples += 1;
    }

    #[inline]
    fn raised(&self, ack: &Ack, ssthresh: f64) -> f64 {
        if !self.active || self.samples < SAMPLES {
            return ssthresh;
        }
        threshold(self.ere, ack.min_rtt.as_secs(), ack.mss.0 as f64, ssthresh)
    }
}

impl SlowStart for Astart {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let grow = segments(ack); // (6)
        if !self.active {
            return Step::grow(grow);
        }
        self.observe(ack, w);
        // The threshold is raised when the window reaches it, to avoid an event for every ACK. No margins: the window rises
        // with every ACK, and up to the threshold only.
        let mut exit = None;
        if w + grow >= ssthresh {
            let new = self.raised(ack, ssthresh);
            exit = (new > ssthresh).then(|| exit::at(Reason::EligibleRate, w + grow, new));
        }
        Step { grow, exit, event: exit::arrive(ack, Reason::EligibleRate, w, grow, ssthresh) }
    }

    fn established(&mut self, _: &Window, w: f64, _: f64) -> (f64, f64) {
        (w, 0.0) // (5)
    }

    fn outside(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> f64 {
        if !self.active || ack.recovering {
            return ssthresh;
        }
        self.observe(ack, w);
        self.raised(ack, ssthresh)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.active = event.restart; // (7)
        ssthresh
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: false, outside: true }
    }

    fn extra(&self, put: Extra<'_>) {
        put("ere_bps", self.ere * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, undo};
    use cwndlab_units::Bytes;

    fn start(floor_rtt: bool) -> Astart {
        Astart { floor_rtt, ..Astart::new(Options::default()) }
    }

    /// Reference values: 40 Mbit/s, 50 ms, 1460 bytes: 171.2; 100 rises to it, 200 does not change.
    #[test]
    fn the_threshold_only_rises() {
        assert_eq!(threshold(40e6 / 8.0, 0.05, 1460.0, 100.0) as u64, 171);
        assert_eq!(threshold(40e6 / 8.0, 0.05, 1460.0, 200.0), 200.0);
    }

    /// (4) by hand: with T = Δ the weights are a third for the old value and two thirds for the mean of two samples.
    #[test]
    fn the_filter_is_a_tustin_filter() {
        let mut one = start(false);
        (one.ere, one.previous) = (3.0, 6.0);
        one.filter(12.0, 1.0, 1.0);
        assert_eq!(one.ere, 7.0);
    }

    /// A window of ten, ACKs 1 ms apart, RTT 100 ms: once a whole window is acknowledged in an RTT, T falls to the ACK
    /// gap and the estimate rises towards the capacity, 100 segments per RTT; with T ≥ RTT_min it remains below the
    /// window.
    #[test]
    fn the_estimate_of_an_uncongested_path_approaches_its_capacity() {
        for (floor_rtt, revives) in [(false, true), (true, false)] {
            let mut one = start(floor_rtt);
            assert_eq!(one.established(&undo(), 10.0, f64::INFINITY), (10.0, 0.0));
            let mut ssthresh = 0.0;
            let mut delivered = 0;
            for round in 0..3u64 {
                for n in 0..10 {
                    delivered += 1000;
                    let mut ack = ack_at(Time::from_nanos(1_000_000_000 + round * 100_000_000 + n * 1_000_000), 1);
                    ack.delivered = Bytes(delivered);
                    ssthresh = one.outside(&ack, 10.0, ssthresh);
                }
            }
            assert_eq!(ssthresh > 10.5, revives, "{ssthresh}");
            assert!(ssthresh <= 100.5, "{ssthresh}");
            let _ = one.on_congestion(&loss(10), 10.0, 5.0);
            assert_eq!(one.outside(&ack_at(Time::from_nanos(2_000_000_000), 1), 10.0, 5.0), 5.0, "start-up is over");
        }
    }
}
