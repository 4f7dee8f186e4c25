//! NewReno: a partial ACK during fast recovery retransmits the next segment, and recovery ends when all data
//! outstanding at its start is acknowledged.
//!
//! Source: RFC 6582, section 3.2, with the "Impatient" variant of the retransmission timer and option (1) for the window at
//! the end.

use cwndlab_control::Change;
use cwndlab_units::Time;

use super::dupack_based::{self, DupackBased};
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// NewReno's recovery.
#[derive(Debug, Default)]
pub(crate) struct NewReno {
    /// A partial ACK of this recovery has restarted the retransmission timer; further ones do not.
    partial_ack_seen: bool,
}

impl DupackBased for NewReno {
    fn enter(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        dupack_based::enter_fast_recovery(tcb, now, out);
        self.partial_ack_seen = false;
    }

    /// Step 3, partial acknowledgement: deflates the window by the acknowledged segments, and adds back one.
    fn on_partial_ack(&mut self, tcb: &mut Tcb, acked: u32) -> bool {
        tcb.cwnd = tcb.cwnd.saturating_sub(acked).max(1) + 1;
        if tcb.scoreboard.flight_size() > 0 {
            tcb.scoreboard.mark_lost(tcb.scoreboard.una);
            tcb.controller.count_lost(1);
            tcb.force_retransmit = true;
        }
        true
    }

    /// Step 3, full acknowledgement, option (1): min(ssthresh, max(FlightSize, SMSS) + SMSS).
    fn exit_window(&mut self, tcb: &mut Tcb, now: Time) -> u32 {
        let window = tcb.ssthresh.min(tcb.scoreboard.in_flight().max(1) + 1);
        if window < tcb.ssthresh {
            tcb.notify_window(now, Change::Recovered, window);
        }
        window
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        dupack_based::on_ack(self, tcb, now, summary, out);
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        tcb.dupacks.is_clear()
    }

    /// "Impatient": only the first partial ACK restarts the timer.
    fn restarts_rto(&mut self) -> bool {
        !std::mem::replace(&mut self.partial_ack_seen, true)
    }

    fn holds_rto(&self) -> bool {
        self.partial_ack_seen
    }
}
