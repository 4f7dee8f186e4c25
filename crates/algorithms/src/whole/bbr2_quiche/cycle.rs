//! quiche's cycle of ProbeBW (`Cycle`): the time of probes, and the increase of inflight_hi. Numbers in parentheses are
//! the equations of [`crate::whole::bbr2_quiche`].

use cwndlab_units::{Duration, Time};

use crate::whole::bbr2_quiche::model::SEGMENT;
use crate::whole::bbr3::cycle::Phase;

/// (6): time from the begin of a cycle to the next probe (`probe_bw_probe_base_duration` and half a millisecond).
const WAIT: Duration = Duration::from_micros(2_000_500);
/// Maximum number of rounds between probes (`probe_bw_probe_max_rounds`).
const MAX_ROUNDS: f64 = 63.0;
/// Maximum exponent of the increase of inflight_hi.
const MAX_UP_ROUNDS: u32 = 30;

/// The cycle. Amounts in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cycle {
    /// The current phase; none before the first cycle.
    pub phase: Option<Phase>,
    /// The begin of the cycle, or of ProbeBW.
    pub started: Time,
    phase_started: Time,
    /// Rounds in the current phase.
    pub rounds_in_phase: u32,
    rounds: u32,
    up_rounds: u32,
    up_acked: f64,
    /// Bytes to acknowledge for an increase; none outside of probes.
    up_each: Option<f64>,
    /// The filter of the bandwidth has advanced in this cycle.
    pub has_advanced: bool,
    /// The samples are those of a probe.
    pub samples: bool,
    /// The last probe lost too much.
    pub too_high: bool,
    /// The last probe stopped at the level at which the one before lost too much.
    pub risky: bool,
}

impl Cycle {
    /// Enters a phase at `now`.
    pub fn enter(&mut self, phase: Phase, now: Time) {
        (self.phase, self.phase_started, self.rounds_in_phase) = (Some(phase), now, 0);
    }

    /// Enters Down (`enter_probe_down`).
    pub fn down(&mut self, too_high: bool, risky: bool, now: Time) {
        self.enter(Phase::Down, now);
        (self.too_high, self.risky) = (too_high, risky);
        (self.started, self.rounds, self.up_each, self.has_advanced) = (now, 0, None, false);
    }

    /// Enters Refill (`enter_probe_refill`).
    pub fn refill(&mut self, up_rounds: u32, now: Time) {
        self.enter(Phase::Refill, now);
        (self.samples, self.risky) = (false, false);
        (self.up_rounds, self.up_acked) = (up_rounds, 0.0);
    }

    /// Enters Up with the window `w` (`enter_probe_up`).
    pub fn up(&mut self, w: f64, now: Time) {
        self.enter(Phase::Up, now);
        self.samples = true;
        self.raise_slope(w);
    }

    /// The exponent of the next increase.
    #[must_use]
    pub fn up_rounds(&self) -> u32 {
        self.up_rounds
    }

    /// A round ends; not that in which cycle or phase began.
    pub fn on_round(&mut self, now: Time) {
        self.rounds += u32::from(self.started != now);
        self.rounds_in_phase += u32::from(self.phase_started != now);
    }

    /// Whether the phase has lasted longer than `span` (`has_phase_lasted`).
    #[must_use]
    pub fn has_lasted(&self, span: Duration, now: Time) -> bool {
        now.saturating_since(self.phase_started) > span
    }

    /// (6) (`is_time_to_probe_bandwidth`); `target`: the target inflight.
    #[must_use]
    pub fn is_due(&self, now: Time, target: f64) -> bool {
        let rounds = (target / SEGMENT).floor().min(MAX_ROUNDS);
        now.saturating_since(self.started) > WAIT || f64::from(self.rounds) >= rounds
    }

    /// The increase of inflight_hi for `acked` bytes (`probe_inflight_high_upward`).
    pub fn raise(&mut self, acked: f64, round: bool, w: f64) -> f64 {
        self.up_acked += acked;
        let steps = self.up_each.map_or(0.0, |each| (self.up_acked / each).floor());
        self.up_acked -= self.up_each.map_or(0.0, |each| steps * each);
        if round {
            self.raise_slope(w);
        }
        steps * SEGMENT
    }

    /// `raise_inflight_high_slope`.
    fn raise_slope(&mut self, w: f64) {
        self.up_each = Some((w / f64::from(1u32 << self.up_rounds)).floor().max(SEGMENT));
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    /// `probe_upward`, the test of quiche's own: from 100,000 bytes, a megabyte raises inflight_hi to 113,000, then to
    /// 135,100, then to 174,100; a round ends before each but the first.
    #[test]
    fn the_increase_of_inflight_hi_is_that_of_the_stack_itself() {
        for step in [100.0, 10_000.0, 65_536.0, 300_000.0] {
            let mut cycle = Cycle::default();
            cycle.refill(0, at(0));
            let mut high = 100_000.0;
            cycle.up(high, at(0));
            let mut reached = Vec::new();
            for round in 0..3 {
                if round > 0 {
                    high += cycle.raise(10_000.0, true, high);
                }
                let mut left = 1_000_000.0;
                while left > 0.0 {
                    high += cycle.raise(f64::min(step, left), false, high);
                    left -= step;
                }
                reached.push(high);
            }
            assert_eq!(reached, [113_000.0, 135_100.0, 174_100.0], "{step}");
        }
    }

    /// `is_time_to_probe_for_reno_coexistence` and `has_cycle_lasted`: by hand, 13,100 bytes are ten segments of 1300, and
    /// ten rounds; or 2000.5 ms.
    #[test]
    fn a_probe_is_due_after_two_seconds_or_the_rounds_of_a_reno_flow() {
        let mut cycle = Cycle::default();
        cycle.down(false, false, at(0));
        assert!(!cycle.is_due(at(2_000_500), 13_100.0) && cycle.is_due(at(2_000_501), 13_100.0));
        for _ in 0..9 {
            cycle.on_round(at(1));
        }
        assert!(!cycle.is_due(at(1), 13_100.0));
        cycle.on_round(at(0)); // that of its begin
        assert!(!cycle.is_due(at(1), 13_100.0));
        cycle.on_round(at(1));
        assert!(cycle.is_due(at(1), 13_100.0));
    }
}
