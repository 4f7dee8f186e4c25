//! BBR version 3 in ProbeBW: when to probe, and how the bound for long rises. The numbers are the equations of
//! [`crate::whole::bbr3`].

use cwndlab_units::{Duration, Time};

use crate::shared::bbr::Chance;

/// The phases of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Drains what the probe queued.
    Down,
    /// Keeps to the bounds, with headroom.
    Cruise,
    /// Fills the pipe for a round.
    Refill,
    /// Sends faster than the path delivered so far.
    Up,
}

/// What the rate samples that arrive tell about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// Between probes 2 s and up to 1 s more pass.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_MORE_MS: u64 = 1000;
/// As many rounds as a Reno flow of this window would need, at most so many.
const MOST_ROUNDS: f64 = 63.0;

/// The cycle.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// Its phase.
    pub phase: Phase,
    /// Samples show a probe.
    pub samples: bool,
    /// The last probe lost too much.
    pub too_high: bool,
    /// The last probe stopped where the one before it lost too much.
    pub risky: bool,
    feedback: Feedback,
    started: Time,
    wait: Duration,
    rounds: f64,
    up_rounds: u32,
    up_acked: f64,
    up_each: f64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            phase: Phase::Down,
            samples: false,
            too_high: false,
            risky: false,
            feedback: Feedback::None,
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
    /// A round trip has passed. Answers whether the samples of the last probe have all arrived.
    #[inline]
    pub fn on_round(&mut self) -> bool {
        self.rounds += 1.0;
        match self.feedback {
            Feedback::Starting => self.feedback = Feedback::Probing,
            Feedback::Stopping => {
                self.feedback = Feedback::None;
                self.samples = false;
                return true;
            }
            _ => {}
        }
        false
    }

    /// ProbeRTT begins.
    pub fn stop(&mut self) {
        self.feedback = Feedback::Stopping;
    }

    /// Enters Down, with a new time until the next probe.
    pub fn down(&mut self, now: Time, chance: &mut Chance) {
        self.up_each = f64::INFINITY;
        self.rounds = chance.below(2) as f64;
        self.wait = WAIT + Duration::from_millis(chance.below(WAIT_MORE_MS));
        self.started = now;
        self.feedback = Feedback::Stopping;
        self.phase = Phase::Down;
    }

    /// Enters Refill.
    pub fn refill(&mut self) {
        (self.up_rounds, self.up_acked, self.risky) = (0, 0.0, false);
        self.feedback = Feedback::Refilling;
        self.phase = Phase::Refill;
    }

    /// Enters Up with the window `w`.
    pub fn up(&mut self, now: Time, w: f64) {
        self.samples = true;
        self.feedback = Feedback::Starting;
        self.started = now;
        self.phase = Phase::Up;
        self.steepen(w);
    }

    /// (6): time for the next probe; `target` is what shall be in flight, segments.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time, target: f64) -> bool {
        now > self.started + self.wait || self.rounds >= target.min(MOST_ROUNDS)
    }

    /// By how many segments `acked` more raise the bound for long: 1, 2, 4, … per round trip.
    #[inline]
    pub fn raise(&mut self, acked: f64, round: bool, w: f64) -> f64 {
        self.up_acked += acked;
        let step = (self.up_acked / self.up_each).floor();
        if step >= 1.0 {
            self.up_acked -= step * self.up_each;
        }
        if round {
            self.steepen(w);
        }
        step
    }

    fn steepen(&mut self, w: f64) {
        self.up_each = (w / f64::from(1u32 << self.up_rounds)).floor().max(1.0);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sheet: with ten segments in flight ten rounds pass, less the one that chance may take, or two to three seconds.
    #[test]
    fn the_wait_is_that_of_a_reno_flow() {
        let mut cycle = Cycle::default();
        cycle.down(Time::ZERO, &mut Chance::new(3));
        let rounds = (1..100).find(|_| {
            cycle.on_round();
            cycle.is_due(Time(1), 10.0)
        });
        assert!(matches!(rounds, Some(9 | 10)), "{rounds:?}");
        cycle.down(Time::ZERO, &mut Chance::new(3));
        assert!(!cycle.is_due(Time(1_999_000_000), 10.0) && cycle.is_due(Time(3_000_000_000), 10.0));
    }

    /// By hand: a window of 16 adds 1, 2, 4 in three rounds of 16.
    #[test]
    fn the_bound_rises_faster_each_round() {
        let mut cycle = Cycle::default();
        cycle.refill();
        cycle.up(Time::ZERO, 16.0);
        let steps = [1, 2, 3].map(|_| (0..16).map(|n| cycle.raise(1.0, n == 15, 16.0)).sum::<f64>());
        assert_eq!(steps, [1.0, 2.0, 4.0]);
    }
}
