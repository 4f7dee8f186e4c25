//! s2n-quic's cycle of ProbeBW (`probe_bw::State`): the time of probes, and the increase of inflight_hi. Numbers in
//! parentheses are the equations of [`crate::whole::bbr2_s2n`].

use cwndlab_units::{Duration, Time};

use crate::shared::bbr::FlowRandom;
use crate::whole::bbr3::cycle::{AckPhase, Phase};

/// The shortest time between probes, and the number of values of its random part, which is 0 to 1000 ms.
const WAIT: Duration = Duration::from_secs(2);
const WAITS_MS: u64 = 1001;
/// The random part that belongs to given draws of rounds.
const GIVEN_MS: u64 = 1000;
/// Maximum number of rounds between probes.
const MAX_ROUNDS: f64 = 63.0;
/// Maximum exponent of the increase of inflight_hi.
const MAX_UP_ROUNDS: u32 = 30;

/// The cycle. Amounts in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// The current phase.
    pub phase: Phase,
    /// The part of the cycle to which the current ACKs belong.
    pub ack_phase: AckPhase,
    /// The rate samples are those of a probe (`bw_probe_samples`).
    pub samples: bool,
    /// Start of Down or Up.
    pub started: Time,
    /// Time from the start of Down to the next probe.
    pub wait: Duration,
    /// Rounds since the last probe, plus 0 or 1.
    pub rounds: u64,
    up_rounds: u32,
    up_acked: f64,
    up_each: f64,
    /// Draws of rounds that are given: the binary digits below the first one.
    draws: u64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            phase: Phase::Down,
            ack_phase: AckPhase::Init,
            samples: false,
            started: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_each: f64::INFINITY,
            draws: 0,
        }
    }
}

impl Cycle {
    /// A cycle with given draws of rounds.
    #[must_use]
    pub fn with_draws(draws: u64) -> Self {
        Self { draws, ..Self::default() }
    }

    /// A round begins, in ProbeBW or not. Returns whether all samples of the last probe have arrived (`update_ack_phase`).
    pub fn on_round(&mut self, probing: bool) -> bool {
        match self.ack_phase {
            _ if !probing => self.samples = false,
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                (self.samples, self.ack_phase) = (false, AckPhase::Init);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Enters ProbeBW: a new cycle, except for what the samples are.
    pub fn enter(&mut self) {
        *self = Self { samples: self.samples, draws: self.draws, ..Self::default() };
    }

    /// Enters Down, and draws the time of the next probe (`start_down`).
    pub fn down(&mut self, now: Time, random: &mut FlowRandom) {
        self.up_each = f64::INFINITY;
        let (rounds, ms) =
            if self.draws > 1 { (self.draws & 1, GIVEN_MS) } else { (random.below(2), random.below(WAITS_MS)) };
        self.draws >>= 1;
        (self.rounds, self.wait) = (rounds, WAIT + Duration::from_millis(ms));
        (self.started, self.ack_phase, self.phase) = (now, AckPhase::ProbeStopping, Phase::Down);
    }

    /// Enters Refill (`start_refill`).
    pub fn refill(&mut self) {
        (self.up_rounds, self.up_acked) = (0, 0.0);
        (self.ack_phase, self.phase) = (AckPhase::Refilling, Phase::Refill);
    }

    /// Enters Up with the window `w` (`start_up`).
    pub fn up(&mut self, now: Time, w: f64, mss: f64) {
        self.samples = true;
        (self.started, self.ack_phase, self.phase) = (now, AckPhase::ProbeStarting, Phase::Up);
        self.raise_slope(w, mss);
    }

    /// Whether the phase that began at `started` has lasted longer than `span`.
    #[must_use]
    pub fn has_lasted(&self, span: Duration, now: Time) -> bool {
        now > self.started + span
    }

    /// (6): whether the next probe is due; `target` is the target inflight (`is_time_to_probe_bw`).
    #[must_use]
    pub fn is_due(&self, now: Time, target: f64, mss: f64) -> bool {
        self.has_lasted(self.wait, now) || self.rounds as f64 >= (target / mss).floor().min(MAX_ROUNDS)
    }

    /// The increase of inflight_hi for `acked` bytes (`probe_inflight_hi_upward`).
    pub fn raise(&mut self, acked: f64, round: bool, w: f64, mss: f64) -> f64 {
        self.up_acked += acked;
        let steps = (self.up_acked / self.up_each).floor();
        if steps >= 1.0 {
            self.up_acked -= steps * self.up_each;
        }
        if round {
            self.raise_slope(w, mss);
        }
        steps * mss
    }

    /// The bytes for an increase, of which a window has twice as many in each round (`raise_inflight_hi_slope`).
    fn raise_slope(&mut self, w: f64, mss: f64) {
        let growth = f64::from(1u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.up_each = (w / growth).max(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    /// `is_reno_coexistence_probe_time` and `pick_probe_wait`: by hand, with 10.9 segments in flight the next probe is due
    /// after ten rounds, less the draw of 0 or 1, or after 2 to 3 s.
    #[test]
    fn the_time_between_probes_is_that_of_a_reno_flow() {
        let mut cycle = Cycle::default();
        cycle.down(Time::ZERO, &mut FlowRandom::new(3));
        let drawn = cycle.rounds;
        assert!(drawn < 2);
        while !cycle.is_due(Time::from_nanos(1), 10_900.0, MSS) {
            cycle.rounds += 1;
        }
        assert_eq!(cycle.rounds, 10);
        cycle.down(Time::ZERO, &mut FlowRandom::new(3));
        let due = |ms: u64| cycle.is_due(Time::from_nanos(ms * 1_000_000), 10_900.0, MSS);
        assert!(!due(2000) && due(3001));
    }

    /// By hand: the binary number 1101 has the draws 1, 0 and 1; the fourth is at random.
    #[test]
    fn draws_may_be_given() {
        let (mut cycle, mut random) = (Cycle::with_draws(0b1101), FlowRandom::new(3));
        let drawn = [1, 2, 3].map(|_| {
            cycle.down(Time::ZERO, &mut random);
            (cycle.rounds, cycle.wait.as_nanos() / 1_000_000)
        });
        assert_eq!(drawn, [(1, 3000), (0, 3000), (1, 3000)]);
        let mut random_rounds = (0..20).map(|_| {
            cycle.down(Time::ZERO, &mut random);
            cycle.rounds
        });
        assert!(random_rounds.any(|rounds| rounds == 1));
    }

    /// `raise_inflight_hi_slope`: by hand, with a window of 16 segments inflight_hi grows by 1, 2 and 4 of them in three
    /// rounds, of 16 segments each.
    #[test]
    fn the_increase_of_inflight_hi_doubles_each_round() {
        let mut cycle = Cycle::default();
        cycle.refill();
        cycle.up(Time::ZERO, 16.0 * MSS, MSS);
        let steps = [1, 2, 3].map(|_| (0..16).map(|n| cycle.raise(MSS, n == 15, 16.0 * MSS, MSS)).sum::<f64>());
        assert_eq!(steps, [1000.0, 2000.0, 4000.0]);
    }

    /// `update_ack_phase`: the samples of a probe end with the first round after it; outside of ProbeBW with any round.
    #[test]
    fn the_samples_of_a_probe_end_a_round_after_it() {
        let mut cycle = Cycle::default();
        cycle.up(Time::ZERO, 16.0 * MSS, MSS);
        assert!(!cycle.on_round(true) && cycle.samples);
        cycle.down(Time::ZERO, &mut FlowRandom::new(1));
        assert!(cycle.on_round(true) && !cycle.samples);
        cycle.up(Time::ZERO, 16.0 * MSS, MSS);
        assert!(!cycle.on_round(false) && !cycle.samples);
    }
}
