//! The interface between the sender and a kind of loss recovery.

use cwndlab_units::Time;

use super::enter_loss::enter_loss;
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// A kind of loss recovery. It updates the state in `tcb`; the sender transmits afterwards.
pub(crate) trait LossRecovery {
    /// Handles an ACK whose deliveries are counted: detects losses, enters and exits recovery, sets the window during
    /// recovery.
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output);

    /// Whether an ACK in Open that only advances SND.UNA over segments sent once has no effect on this recovery, so
    /// that [`on_ack`](Self::on_ack) is not called for it.
    fn allows_fast_path(&self, _tcb: &Tcb) -> bool {
        true
    }

    /// Handles an ACK below SND.UNA with SACK blocks (Linux' rules only).
    fn on_old_ack(&mut self, _tcb: &mut Tcb, _now: Time, _summary: &mut AckSummary, _out: &mut impl Output) {}

    /// Handles the expiry of the reordering timer.
    fn on_reordering_timer(&mut self, _tcb: &mut Tcb, _now: Time, _out: &mut impl Output) {}

    /// Handles the expiry of the retransmission timer while segments are in flight.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        enter_loss(tcb, now, |tcb| tcb.scoreboard.mark_all_lost(|_| false), out);
    }

    /// Handles the retransmission of a segment marked lost.
    fn on_retransmit(&mut self, _seq: u64) {}

    /// Another segment to retransmit although it is not marked lost, if there is no new data to send.
    fn next_hole(&mut self, _tcb: &mut Tcb) -> Option<u64> {
        None
    }

    /// Whether an ACK of new data during Recovery restarts the retransmission timer.
    fn restarts_rto(&mut self) -> bool {
        true
    }

    /// Whether a retransmission during Recovery leaves the retransmission timer as it is.
    fn holds_rto(&self) -> bool {
        false
    }
}
