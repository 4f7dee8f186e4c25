//! The state of BBR version 3 before a loss, and its return where the loss was spurious.

use cwndlab_control::Ack;

use crate::shared::bbr::Mode;
use crate::whole::bbr3::machine::Bbr3;

/// The state to which the detection of a spurious loss returns (the draft's `undo_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndoState {
    /// The present one.
    #[default]
    None,
    /// Startup, which losses ended.
    Startup,
    /// Up, which losses ended.
    Up,
}

impl Bbr3 {
    /// Saves the state before a loss (the draft's `SaveStateUponLoss`).
    pub(super) fn save_state(&mut self) {
        self.recovery.save(self.w, self.mode == Mode::ProbeRtt);
        self.path.bounds.save();
        self.undo_state = UndoState::None;
    }

    /// The losses were spurious (the draft's `HandleSpuriousLossDetection`).
    pub(super) fn undo_losses(&mut self) {
        self.path.full.restart(0.0);
        self.path.bounds.undo();
        self.recovery.active = false;
        self.w = self.w.max(self.recovery.prior);
        self.undone = Some(UndoState::None);
        match self.undo_state {
            UndoState::Startup if self.mode != Mode::Startup => {
                self.path.full.reached = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                    self.ssthresh = f64::INFINITY;
                }
            }
            UndoState::Up if self.mode != Mode::ProbeRtt && !self.is_up() => {
                self.start_refill(0);
                self.undone = Some(UndoState::Up);
            }
            _ => {}
        }
        self.undo_state = UndoState::None;
        self.pacing_gain = self.gain();
    }

    /// The losses that an ACK reports, segments. The transport reports losses with the next ACK: where that one proves
    /// them spurious there are none.
    pub(super) fn take_losses(&mut self, ack: &Ack) -> f64 {
        if let Some(state) = self.undone.take() {
            if state == UndoState::Up {
                self.path.rounds.restart(ack.delivered.0);
            }
            return 0.0;
        }
        let losses = ack.lost.0 as f64 / self.path.mss;
        if losses > 0.0 {
            if self.is_draft() && !self.path.bounds.loss_in_round {
                self.save_state();
            }
            self.path.loss_history.note(ack.delivered.0, losses);
        }
        losses
    }
}
