//! The snapshot of an algorithm before a congestion event, for the undo of a spurious reduction.

use crate::contract::{Congestion, CongestionControl};

/// An algorithm's state before its last reduction, which an undo restores.
///
/// The transport holds it, so that no algorithm implements an undo. The undo restores the complete state: window and
/// ssthresh (RFC 4015, section 3), epoch (RFC 9438, section 4.9), and measurements. A window that is larger than before
/// the reduction does not change (Linux, `tcp_undo_cwnd_reduction`: the maximum of both). An algorithm that follows a
/// model of the path, by its [phase](crate::Phase::follows_model), keeps its state (Linux, `bbr_undo_cwnd`).
#[derive(Debug, Default)]
pub struct BeforeReduction(Option<Box<dyn CongestionControl>>);

impl BeforeReduction {
    /// Copies `control` before a congestion event that is not [repeated](Congestion::repeated).
    pub fn save(&mut self, control: &dyn CongestionControl, event: &Congestion) {
        if !event.repeated {
            self.0 = (!control.state(None).phase.follows_model()).then(|| control.snapshot());
        }
    }

    /// Reverts the last reduction. The transport then reports [`Change::Undo`](crate::Change::Undo).
    pub fn restore(&self, control: &mut Box<dyn CongestionControl>) {
        if let Some(before) = self.0.as_ref().filter(|before| before.cwnd() >= control.cwnd()) {
            *control = before.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Ack, Cause};
    use crate::event::Event;
    use crate::state::{Extra, Phase, State};
    use crate::testing::loss;
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

    fn reduced(phase: Phase) -> (Box<dyn CongestionControl>, BeforeReduction) {
        let (mut control, mut before): (Box<dyn CongestionControl>, _) =
            (Box::new(Halves(100, phase)), BeforeReduction::default());
        for repeated in [false, true] {
            let event = Congestion { repeated, cause: Cause::Timeout, ..loss(100) };
            before.save(&*control, &event);
            control.on_congestion(&event);
        }
        (control, before)
    }

    /// By hand: 100, 50, and 25 after the repeated timeout; the undo restores 100.
    #[test]
    fn an_undo_restores_the_state_before_the_first_of_repeated_timeouts() {
        let (mut control, before) = reduced(Phase::CongestionAvoidance);
        assert_eq!(control.cwnd(), Bytes(25));
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(100));
    }

    /// Linux, tcp_undo_cwnd_reduction: max(snd_cwnd, prior_cwnd).
    #[test]
    fn an_undo_does_not_reduce_a_larger_window() {
        let (mut control, before) = reduced(Phase::CongestionAvoidance);
        let _ = control.on_ack(&crate::testing::ack(1));
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(1025));
    }

    #[test]
    fn a_model_based_algorithm_keeps_its_state() {
        let (mut control, before) = reduced(Phase::ProbeBw);
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(25));
    }
}
