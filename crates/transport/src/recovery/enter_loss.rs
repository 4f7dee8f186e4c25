//! The retransmission timeout: entry into Loss (RFC 5681, section 3.1, equation 4; RFC 6298, section 5; Linux,
//! tcp_enter_loss).

use cwndlab_control::{Cause, Change};
use cwndlab_units::{CaState, Time};

use crate::segment::SACKED;
use crate::tcb::Tcb;
use crate::wire::Output;

/// Enters Loss. `mark_lost` marks the lost segments, and returns the number of those newly marked.
pub(super) fn enter_loss(tcb: &mut Tcb, now: Time, mark_lost: impl FnOnce(&mut Tcb) -> u32, out: &mut impl Output) {
    let before = tcb.cwnd;
    let una = tcb.scoreboard.una;
    // No data was acknowledged since the last expiry of the timer (Linux, icsk_retransmits).
    let again = tcb.timers.timed_out_una == Some(una);
    // Under a closed window the retransmission probes the window and does not count (Linux, tcp_retransmit_timer).
    tcb.timers.timed_out_una = (!(tcb.features.linux && tcb.send_buffer.is_window_closed())).then_some(una);
    let first = tcb.state != CaState::Loss;
    // RFC 5681, equation 4; Linux, tcp_enter_loss: one reduction per window of data.
    let repeated = if tcb.features.linux {
        tcb.state > CaState::Disorder && una < tcb.high_seq && (first || again)
    } else {
        !first && again
    };
    check_sacks(tcb);
    tcb.forget_duplicates(); // Linux, tcp_timeout_mark_lost
    tcb.rtt.back_off();
    tcb.counters.timeouts += 1;
    tcb.on_congestion(now, Cause::Timeout, true, repeated, out);
    let marked = mark_lost(tcb);
    if tcb.features.linux && !repeated || !tcb.features.linux && first {
        tcb.undo.restorable = true;
        tcb.init_undo();
    }
    tcb.controller.count_lost(marked);
    // RFC 5682, section 2.1, and its SACK variant: after the first timeout, in Linux also after repeated ones.
    if tcb.features.linux {
        tcb.undo.frto = tcb.stack.undo && (tcb.state < CaState::Recovery || again);
    } else if first {
        tcb.undo.frto = tcb.stack.undo;
    }
    tcb.high_seq = tcb.scoreboard.next;
    tcb.dupacks.recover = tcb.high_seq;
    tcb.ecn.queue_cwr(tcb.stack.ecn); // also after a timeout (RFC 3168, section 6.1.2; Linux, tcp_enter_loss)
    tcb.state = CaState::Loss;
    tcb.cwnd = tcb.ssthresh;
    let in_flight = tcb.scoreboard.in_flight();
    if tcb.features.linux && in_flight > 0 && !tcb.controller.is_model_based() {
        tcb.cwnd = in_flight + 1;
        tcb.notify_window(now, Change::Recovered, tcb.cwnd);
    }
    tcb.dupacks.count = 0;
    tcb.timers.tlp_end_seq = None;
    tcb.force_retransmit = true;
    out.event("timeout", "rto", before, tcb.cwnd, f64::NAN);
    tcb.arm_rto(now);
}

/// Detects reneging: the first segment in flight is SACKed (RFC 2018, section 8). Otherwise, many SACKs before a
/// timeout show that the degree of reordering was overestimated (Linux).
fn check_sacks(tcb: &mut Tcb) {
    if tcb.scoreboard.get(tcb.scoreboard.una).flags & SACKED != 0 {
        tcb.scoreboard.discard_sacks();
    } else if tcb.features.linux && tcb.state <= CaState::Disorder && tcb.scoreboard.sacked >= tcb.stack.dup_thresh {
        tcb.rack.reset_reordering(tcb.stack.dup_thresh);
    }
}
