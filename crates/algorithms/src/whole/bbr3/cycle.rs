//! BBR version 3's cycle of ProbeBW: the time of probes, and the increase of inflight_long. Numbers in parentheses are
//! the equations of [`crate::whole::bbr3`].

use cwndlab_units::{Duration, Time};

use crate::shared::bbr::FlowRandom;

/// The phases of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Drains the queue of the probe.
    Down,
    /// Sends within the bounds, with headroom.
    Cruise,
    /// Fills the pipe for a round.
    Refill,
    /// Probes: sends faster than the bandwidth of the model.
    Up,
}

/// The part of the cycle to which the current ACKs belong (the draft's `ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// No probe, and no feedback of one.
    Init,
    /// Refill.
    Refilling,
    /// The inflight rises.
    ProbeStarting,
    /// The feedback of the probe arrives.
    ProbeFeedback,
    /// The probe has stopped; its feedback still arrives.
    ProbeStopping,
}

/// Time between probes: 2 s plus a random time of up to 1 s.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_MORE_MS: u64 = 1000;
/// Maximum number of rounds between probes; the number is that of a Reno flow of the same window.
const MAX_ROUNDS: f64 = 63.0;

/// The cycle of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// The current phase.
    pub phase: Phase,
    /// The rate samples are those of a probe (the draft's `bw_probe_samples`).
    pub samples: bool,
    /// The last probe lost too much (`prev_probe_too_high`).
    pub too_high: bool,
    /// The last probe stopped at the level at which the one before lost too much (`stopped_risky_probe`).
    pub risky: bool,
    /// The part of the cycle to which the current ACKs belong.
    pub ack_phase: AckPhase,
    /// Start of the current phase (`cycle_stamp`).
    pub started: Time,
    /// Time until the next probe (`bw_probe_wait`).
    pub wait: Duration,
    /// Rounds since the last probe, plus 0 or 1 (`rounds_since_probe_up`).
    pub rounds: f64,
    /// Rounds in which inflight_long was raised (`bw_probe_up_rounds`).
    pub up_rounds: u32,
    up_acked: f64,
    /// Segments to acknowledge for an increment (`probe_up_acked_per_inc`).
    pub up_each: f64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            phase: Phase::Down,
            samples: false,
            too_high: false,
            risky: false,
            ack_phase: AckPhase::Init,
            started: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0.0,
            up_rounds: 0,
            up_acked: 0.0,
            up_each: f64::INFINITY,
        }
    }
}

impl Cycle {
    /// A round has ended. Returns whether all samples of the last probe have arrived.
    #[inline]
    pub fn on_round(&mut self) -> bool {
        self.rounds += 1.0;
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.ack_phase = AckPhase::Init;
                self.samples = false;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Stops a probe at the start of ProbeRTT.
    pub fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// Enters Down and draws the time until the next probe.
    pub fn down(&mut self, now: Time, random: &mut FlowRandom) {
        self.up_each = f64::INFINITY;
        self.rounds = random.below(2) as f64;
        self.wait = WAIT + Duration::from_millis(random.below(WAIT_MORE_MS));
        self.started = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.phase = Phase::Down;
    }

    /// Enters Refill, before a probe whose first increase of inflight_long is 2^`exponent` segments per round trip.
    pub fn refill(&mut self, exponent: u32) {
        (self.up_rounds, self.up_acked, self.risky) = (exponent, 0.0, false);
        self.ack_phase = AckPhase::Refilling;
        self.phase = Phase::Refill;
    }

    /// Enters Up with the window `w`.
    pub fn up(&mut self, now: Time, w: f64) {
        self.samples = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.started = now;
        self.phase = Phase::Up;
        self.raise_slope(w);
    }

    /// (6): whether the next probe is due; `target` is the target inflight, segments.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time, target: f64) -> bool {
        // No margin: the number of rounds moves on.
        now > self.started + self.wait || self.rounds >= target.min(MAX_ROUNDS)
    }

    /// The increase of inflight_long, segments, for `acked` segments: 1, 2, 4, … per round trip.
    #[inline]
    pub fn raise(&mut self, acked: f64, round: bool, w: f64) -> f64 {
        self.up_acked += acked;
        let step = (self.up_acked / self.up_each).floor();
        if step >= 1.0 {
            self.up_acked -= step * self.up_each;
        }
        if round {
            self.raise_slope(w);
        }
        step
    }

    /// Doubles the increment of inflight_long per round (the draft's `BBRRaiseInflightLongSlope`).
    fn raise_slope(&mut self, w: f64) {
        self.up_each = (w / f64::from(1u32 << self.up_rounds)).floor().max(1.0);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values: with ten segments in flight the next probe is due after nine or ten rounds, by a random draw,
    /// or after two to three seconds.
    #[test]
    fn the_time_between_probes_is_that_of_a_reno_flow() {
        let mut cycle = Cycle::default();
        cycle.down(Time::ZERO, &mut FlowRandom::new(3));
        let rounds = (1..100).find(|_| {
            cycle.on_round();
            cycle.is_due(Time::from_nanos(1), 10.0)
        });
        assert!(matches!(rounds, Some(9 | 10)), "{rounds:?}");
        cycle.down(Time::ZERO, &mut FlowRandom::new(3));
        assert!(
            !cycle.is_due(Time::from_nanos(1_999_000_000), 10.0) && cycle.is_due(Time::from_nanos(3_000_000_000), 10.0)
        );
    }

    /// By hand: with a window of 16 the increases are 1, 2, 4 in three rounds of 16 segments.
    #[test]
    fn the_increase_of_inflight_long_doubles_each_round() {
        let mut cycle = Cycle::default();
        cycle.refill(0);
        cycle.up(Time::ZERO, 16.0);
        let steps = [1, 2, 3].map(|_| (0..16).map(|n| cycle.raise(1.0, n == 15, 16.0)).sum::<f64>());
        assert_eq!(steps, [1.0, 2.0, 4.0]);
    }
}
