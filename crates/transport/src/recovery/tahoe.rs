//! Tahoe: fast retransmit, then slow start from one segment.
//!
//! Source: V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, doi:10.1145/52324.52356; RFC 2581, section 3.2, for
//! the threshold of three duplicate ACKs.

use cwndlab_control::Cause;
use cwndlab_units::{CaState, Time};

use super::dupack_based::{self, DupackBased};
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// Tahoe's recovery.
#[derive(Debug)]
pub(crate) struct Tahoe;

impl DupackBased for Tahoe {
    /// Marks all segments in flight lost, as after a timeout.
    fn enter(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        // A reduction for a mark is that of this window of data (RFC 3168, section 6.1.2).
        let repeated = tcb.state == CaState::Cwr && !tcb.controller.hears_losses_in_reductions();
        tcb.on_congestion(now, Cause::Loss, true, repeated, out);
        if !repeated {
            tcb.ecn.queue_cwr(tcb.stack.ecn);
        }
        tcb.high_seq = tcb.scoreboard.next;
        tcb.dupacks.recover = tcb.high_seq;
        let _ = tcb.scoreboard.mark_all_lost(|_| false);
        tcb.state = CaState::Loss;
        tcb.cwnd = tcb.ssthresh;
        tcb.dupacks.count = 0;
    }
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        dupack_based::on_ack(self, tcb, now, summary, out);
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        tcb.dupacks.is_clear()
    }
}
