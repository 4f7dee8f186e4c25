//! Recovery without SACK: fast retransmit after duplicate ACKs, common to Tahoe, Reno and NewReno (RFC 5681, section
//! 3.2).

use cwndlab_control::Cause;
use cwndlab_units::{Bytes, CaState, Time};

use super::reduction::{ecn_requires_reduction, enter_cwr, exit_to_open};
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// The differences between Tahoe, Reno and NewReno.
pub(super) trait DupackBased {
    /// Handles reaching the duplicate-ACK threshold: reports the congestion, marks lost segments, sets state and
    /// window.
    fn enter(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output);

    /// Handles a partial ACK of `acked` segments during Recovery. Returns whether Recovery continues.
    fn on_partial_ack(&mut self, _tcb: &mut Tcb, _acked: u32) -> bool {
        false
    }

    /// The window at the end of Recovery.
    fn exit_window(&mut self, tcb: &mut Tcb, _now: Time) -> u32 {
        tcb.ssthresh
    }
}

/// Handles an ACK.
pub(super) fn on_ack(
    kind: &mut impl DupackBased,
    tcb: &mut Tcb,
    now: Time,
    summary: &mut AckSummary,
    out: &mut impl Output,
) {
    if ecn_requires_reduction(tcb, summary) {
        enter_cwr(tcb, now, summary.rate.segments, out);
    }
    if !summary.advanced {
        if tcb.scoreboard.flight_size() > 0 {
            on_duplicate(kind, tcb, now, out);
        }
        return;
    }
    let acked = (summary.ack - summary.prior_una) as u32;
    // Segments reported by duplicate ACKs have already been delivered (Linux, tcp_add_reno_sack).
    let reported = tcb.controller.bytes(tcb.dupacks.take_reported(acked));
    summary.rate.bytes = summary.rate.bytes.saturating_sub(reported).max(Bytes(1));
    let full = tcb.scoreboard.una >= tcb.high_seq;
    match tcb.state {
        CaState::Recovery => {
            let continues = !full && kind.on_partial_ack(tcb, acked);
            if !continues {
                end_fast_recovery(kind, tcb, now, out);
            }
        }
        CaState::Loss | CaState::Cwr if full => exit_to_open(tcb, now, |tcb| tcb.ssthresh, out),
        CaState::Cwr => tcb.reduce_proportionally(acked, true, false),
        _ => {}
    }
    if tcb.state != CaState::Recovery {
        tcb.dupacks.count = 0;
    }
    if tcb.state == CaState::Open {
        tcb.dupacks.clear_reported();
    }
}

fn on_duplicate(kind: &mut impl DupackBased, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    tcb.dupacks.on_duplicate(tcb.scoreboard.flight_size());
    if tcb.state == CaState::Recovery {
        tcb.cwnd += 1; // RFC 5681, section 3.2, step 4: the segment that caused the duplicate has left the network
    } else if tcb.dupacks.count == tcb.stack.dup_thresh && covers_recover(tcb) && tcb.state != CaState::Loss {
        fast_retransmit(kind, tcb, now, out);
    } else if tcb.state == CaState::Cwr {
        tcb.reduce_proportionally(1, false, false);
    }
}

/// RFC 6582, section 3.2, step 2: the ACK covers more than `recover`, so that spurious retransmissions did not cause
/// these duplicates.
fn covers_recover(tcb: &Tcb) -> bool {
    tcb.dupacks.recover == 0 || tcb.scoreboard.una > tcb.dupacks.recover
}

fn fast_retransmit(kind: &mut impl DupackBased, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    let before = tcb.cwnd;
    tcb.counters.recoveries += 1;
    tcb.controller.count_lost(1);
    kind.enter(tcb, now, out);
    tcb.force_retransmit = true;
    out.event("recovery", "fast-retransmit", before, tcb.ssthresh, f64::NAN);
}

/// Enters fast recovery of Reno and NewReno (RFC 5681, section 3.2, steps 2 and 3). A reduction for a mark is that of the
/// window of data in which a segment is lost, too (RFC 3168, section 6.1.2).
pub(super) fn enter_fast_recovery(tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    if tcb.state != CaState::Cwr || tcb.controller.hears_losses_in_reductions() {
        tcb.on_congestion(now, Cause::Loss, false, false, out);
        tcb.ecn.queue_cwr(tcb.stack.ecn);
    }
    tcb.high_seq = tcb.scoreboard.next;
    tcb.dupacks.recover = tcb.high_seq;
    tcb.scoreboard.mark_lost(tcb.scoreboard.una);
    tcb.state = CaState::Recovery;
    tcb.cwnd = tcb.ssthresh + tcb.stack.dup_thresh; // step 3: ssthresh + 3
}

fn end_fast_recovery(kind: &mut impl DupackBased, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    tcb.state = CaState::Open;
    tcb.force_retransmit = false;
    let window = kind.exit_window(tcb, now);
    tcb.notify_recovered(now);
    out.event("recovered", "", tcb.cwnd, window, f64::NAN);
    tcb.cwnd = window;
}
