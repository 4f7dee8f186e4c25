//! ECN reductions and the end of a reduction, for every recovery except RACK (RFC 3168, section 6.1.2; RFC 5681).

use cwndlab_control::Cause;
use cwndlab_units::{CaState, Time};

use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// Whether an ECN echo requires a reduction: at most one per window of data, and none during recovery.
#[inline]
pub(super) fn ecn_requires_reduction(tcb: &Tcb, summary: &AckSummary) -> bool {
    summary.ece && tcb.state <= CaState::Disorder && tcb.scoreboard.una >= tcb.high_seq
}

/// Enters CWR with an ACK that newly delivers so many segments.
pub(super) fn enter_cwr(tcb: &mut Tcb, now: Time, delivered: u32, out: &mut impl Output) {
    let before = tcb.cwnd;
    tcb.start_prr(delivered);
    tcb.on_congestion(now, Cause::Ecn, false, false, out);
    tcb.state = CaState::Cwr;
    tcb.high_seq = tcb.scoreboard.next;
    tcb.ecn.queue_cwr(tcb.stack.ecn);
    tcb.counters.ecn_reductions += 1;
    out.event("ecn", "echo", before, tcb.ssthresh, f64::NAN);
}

/// Returns to Open when all data outstanding at the entry into CWR, Recovery or Loss is acknowledged. `exit_window`
/// computes the window after a reduction by the transport.
pub(super) fn exit_to_open(tcb: &mut Tcb, now: Time, exit_window: impl FnOnce(&mut Tcb) -> u32, out: &mut impl Output) {
    let from = tcb.state;
    tcb.state = if tcb.scoreboard.sacked > 0 { CaState::Disorder } else { CaState::Open };
    tcb.force_retransmit = false;
    tcb.undo.frto = false;
    tcb.notify_recovered(now);
    let before = tcb.cwnd;
    if from == CaState::Loss || tcb.algorithm_owns_cwnd() {
        out.event("recovered", "", before, before, f64::NAN);
        return;
    }
    let window = exit_window(tcb);
    out.event("recovered", "", before, window, f64::NAN);
    tcb.cwnd = window.max(1);
}
