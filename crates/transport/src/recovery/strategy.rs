//! The interface between the sender and a kind of loss recovery.

use cwndlab_units::Time;

use super::enter_loss::enter_loss;
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// A kind of loss recovery. It reads and changes the state in `tcb`; the sender transmits afterwards.
pub(crate) trait LossRecovery {
    /// An ACK arrived and its deliveries are counted: detects losses, enters and leaves recovery, sets the window meanwhile.
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output);

    /// In Open, an ACK that only advances SND.UNA over segments sent once changes nothing: [`on_ack`](Self::on_ack) is
    /// not called for it.
    fn is_quiet(&self, _tcb: &Tcb) -> bool {
        true
    }

    /// An ACK below SND.UNA arrived that carries SACK blocks (Linux' rules only).
    fn on_old_ack(&mut self, _tcb: &mut Tcb, _now: Time, _summary: &mut AckSummary, _out: &mut impl Output) {}

    /// The reordering timer expired.
    fn on_reordering_timer(&mut self, _tcb: &mut Tcb, _now: Time, _out: &mut impl Output) {}

    /// The retransmission timer expired while segments are in flight.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        enter_loss(tcb, now, |tcb| tcb.scoreboard.mark_all_lost(|_| false), out);
    }

    /// A segment marked lost is retransmitted.
    fn on_retransmit(&mut self, _seq: u64) {}

    /// Without new data to send: another segment to retransmit though it is not marked lost.
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
