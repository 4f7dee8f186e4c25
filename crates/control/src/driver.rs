//! An algorithm as a transport drives it: with the snapshot that the undo of a spurious reduction restores.

use std::sync::{Arc, Mutex, PoisonError};

use crate::catalogue::Algorithm;
use crate::contract::{Change, Congestion, CongestionControl, Path, Window};
use crate::event::Event;
use crate::report::Report;
use crate::spec::Need;

/// An algorithm of one flow, with its state before its last reduction.
///
/// The driver holds that state, so that no algorithm implements an undo. The undo restores the complete state: window and
/// ssthresh (RFC 4015, section 3), epoch (RFC 9438, section 4.9), and measurements. A window that is larger than before
/// the reduction does not change (Linux, `tcp_undo_cwnd_reduction`: the maximum of both). An algorithm that follows a
/// model of the path, by its [phase](crate::Phase::follows_model), keeps its state (Linux, `bbr_undo_cwnd`).
#[derive(Clone, Debug)]
pub struct Driver {
    /// The state before the last reduction. Copies of a driver share it, and nothing changes it: the mutex is there
    /// because an algorithm is not `Sync`.
    before: Option<Arc<Mutex<Box<dyn CongestionControl>>>>,
    /// The algorithm. Calls of `on_congestion` and `on_window` pass by the undo; those of the driver do not.
    pub control: Box<dyn CongestionControl>,
    /// The algorithm sets the window during recovery and after idle periods too (Linux: a module with `cong_control`):
    /// [`Algorithm::is_model_based`].
    pub model_based: bool,
    /// The algorithm follows routers, and another one in their place without them: [`Need::Agent`].
    pub needs_agent: bool,
    /// The algorithm is notified of a loss within the reduction for a mark: [`Need::LossInReduction`].
    pub hears_losses_in_reductions: bool,
}

impl Driver {
    /// The driver of `control`, the algorithm of a new flow.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>, model_based: bool) -> Self {
        Self { before: None, control, model_based, needs_agent: false, hears_losses_in_reductions: false }
    }

    /// The driver of an algorithm of the catalogue for a new flow over `path`.
    #[must_use]
    pub fn of(algorithm: &Algorithm, path: &Path) -> Self {
        let hears_losses_in_reductions = algorithm.needs(Need::LossInReduction);
        let needs_agent = algorithm.router_assistance().is_some();
        Self { needs_agent, hears_losses_in_reductions, ..Self::new(algorithm.build(path), algorithm.is_model_based()) }
    }

    /// Delivers a report; returns the algorithm's event, if it has one.
    pub fn deliver(&mut self, report: &Report) -> Option<Event> {
        match report {
            Report::Congestion(event) => self.on_congestion(event),
            Report::Window(window) => self.on_window(window),
            _ => return report.deliver(&mut *self.control),
        }
        None
    }

    /// Delivers a congestion event. Saves the state before it, unless it is [repeated](Congestion::repeated).
    pub fn on_congestion(&mut self, event: &Congestion) {
        if !event.repeated {
            let undoable = !self.control.state(None).phase.follows_model();
            self.before = undoable.then(|| Arc::new(Mutex::new(self.control.snapshot())));
        }
        self.control.on_congestion(event);
    }

    /// Delivers a change of the window. Reverts the last reduction before a [`Change::Undo`].
    pub fn on_window(&mut self, window: &Window) {
        if self.needs_agent && window.change == Change::Established && window.feedback.is_none() {
            self.model_based = false; // the sender of the entry's fallback
        }
        if let (Change::Undo, Some(before)) = (window.change, &self.before) {
            let before = before.lock().unwrap_or_else(PoisonError::into_inner);
            if before.cwnd() >= self.control.cwnd() {
                self.control = before.clone();
            }
        }
        self.control.on_window(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Ack, Cause};
    use crate::state::{Extra, Phase, State};
    use crate::testing::{loss, undo};
    use cwndlab_units::Bytes;

    /// Halves its window at a congestion event; reports this phase.
    #[derive(Clone, Debug)]
    struct Halves(u64, Phase);

    impl CongestionControl for Halves {
        fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
            self.0 += ack.acked.0;
            None
        }

        fn on_congestion(&mut self, _: &Congestion) {
            self.0 /= 2;
        }

        fn cwnd(&self) -> Bytes {
            Bytes(self.0)
        }

        fn state(&self, _: Option<Extra<'_>>) -> State {
            State { phase: self.1, ..State::UNKNOWN }
        }
    }

    /// The window of 100 bytes after two congestion events, `acked` more bytes, and an undo.
    fn undone(phase: Phase, acked: bool) -> Bytes {
        let mut driver = Driver::new(Box::new(Halves(100, phase)), false);
        for repeated in [false, true] {
            driver.on_congestion(&Congestion { repeated, cause: Cause::Timeout, ..loss(100) });
        }
        assert_eq!(driver.control.cwnd(), Bytes(25));
        if acked {
            let _ = driver.deliver(&Report::Ack(crate::testing::ack(1)));
        }
        driver.on_window(&undo());
        driver.control.cwnd()
    }

    /// By hand: 100, 50, and 25 after the repeated timeout; the undo restores 100.
    #[test]
    fn an_undo_restores_the_state_before_the_first_of_repeated_timeouts() {
        assert_eq!(undone(Phase::CongestionAvoidance, false), Bytes(100));
    }

    /// Linux, tcp_undo_cwnd_reduction: max(snd_cwnd, prior_cwnd).
    #[test]
    fn an_undo_does_not_reduce_a_larger_window() {
        assert_eq!(undone(Phase::CongestionAvoidance, true), Bytes(1025));
    }

    /// Without feedback of routers the sender is the fallback of its entry, whose recovery is the transport's.
    #[test]
    fn a_fallback_is_not_model_based() {
        for (rate, stays) in [(Some(cwndlab_units::Rate(1)), true), (None, false)] {
            let mut driver = Driver::new(Box::new(Halves(100, Phase::SlowStart)), true);
            driver.needs_agent = true;
            driver.on_window(&crate::testing::established(cwndlab_units::Duration::from_millis(100), rate));
            assert_eq!(driver.model_based, stays);
        }
    }

    #[test]
    fn a_model_based_algorithm_keeps_its_state() {
        assert_eq!(undone(Phase::ProbeBw, false), Bytes(25));
    }
}
