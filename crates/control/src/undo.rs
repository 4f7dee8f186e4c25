//! What a transport keeps of an algorithm before a congestion event, so that it can take the reduction back.

use crate::contract::{Congestion, CongestionControl};

/// An algorithm as it stood before its last reduction: what an undo restores.
///
/// The transport keeps it, so that no algorithm implements an undo. Restored is the whole state: the window and the threshold
/// (RFC 4015, section 3), the epoch (RFC 9438, section 4.9), and what was measured. A window that has grown past the one of
/// before stays (Linux, `tcp_undo_cwnd_reduction`: the larger of the two). An algorithm that follows a model of the path,
/// by its [phase](crate::Phase::follows_model), keeps it (Linux, `bbr_undo_cwnd`).
#[derive(Debug, Default)]
pub struct BeforeReduction(Option<Box<dyn CongestionControl>>);

impl BeforeReduction {
    /// Keeps a copy of `control` in front of a congestion event that is not [repeated](Congestion::repeated).
    pub fn save(&mut self, control: &dyn CongestionControl, event: &Congestion) {
        if !event.repeated {
            self.0 = (!control.state(None).phase.follows_model()).then(|| control.snapshot());
        }
    }

    /// Takes the last reduction back. The transport then reports [`Change::Undo`](crate::Change::Undo).
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

    /// Halves at a loss, in this phase.
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

    /// By hand: 100, 50, and 25 with the repeated timeout; the undo gives back 100.
    #[test]
    fn an_undo_restores_what_stood_before_the_first_of_repeated_timeouts() {
        let (mut control, before) = reduced(Phase::CongestionAvoidance);
        assert_eq!(control.cwnd(), Bytes(25));
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(100));
    }

    /// Linux, tcp_undo_cwnd_reduction: max(snd_cwnd, prior_cwnd).
    #[test]
    fn a_window_that_has_grown_past_the_one_of_before_stays() {
        let (mut control, before) = reduced(Phase::CongestionAvoidance);
        let _ = control.on_ack(&crate::testing::ack(1));
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(1025));
    }

    #[test]
    fn an_algorithm_that_follows_a_model_keeps_it() {
        let (mut control, before) = reduced(Phase::ProbeBw);
        before.restore(&mut control);
        assert_eq!(control.cwnd(), Bytes(25));
    }
}
