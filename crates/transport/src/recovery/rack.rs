//! RACK-TLP: loss detection by transmission time, and the states Disorder, CWR, Recovery and Loss with their undo, as
//! in Linux.
//!
//! Source: RFC 8985; Linux 6.x, `tcp_input.c` and `tcp_recovery.c`, function by function: each function has the name of
//! its Linux counterpart. Where Linux differs from the RFC, `Features::linux` selects (listed in docs/validity.md).

use cwndlab_control::Cause;
use cwndlab_units::{CaState, Duration, Time};

use super::enter_loss::enter_loss;
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::rexmit::Rexmit;
use crate::segment::SACKED;
use crate::tcb::Tcb;
use crate::timers::{Timer, TIMEOUT_MIN};
use crate::wire::Output;

/// Minimum time that a receiver suspected of reneging has to send ACKs that disprove it (Linux,
/// tcp_check_sack_reneging).
const RENEGING: Duration = Duration::from_millis(10);

/// RACK's recovery; its variables are in [`crate::rack`].
#[derive(Debug)]
pub(crate) struct RackTlp;

impl LossRecovery for RackTlp {
    /// tcp_ack, from tcp_rack_update_reo_wnd on.
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        let plain = tcb.state == CaState::Open && summary.advanced && !summary.has_blocks && !summary.ece;
        if plain && tcb.timers.tlp_end_seq.is_none() && tcb.scoreboard.sacked == 0 {
            return;
        }
        on_dubious_ack(tcb, now, summary, out);
    }

    fn on_old_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        tcb.rexmit = Rexmit::None;
        fastretrans_alert(tcb, now, summary, out);
    }

    /// tcp_rack_reo_timeout.
    fn on_reordering_timer(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let (marked, _) = detect_loss(tcb, now);
        let enters = if tcb.features.linux { tcb.state != CaState::Recovery } else { tcb.state < CaState::Recovery };
        if marked > 0 && enters {
            enter_recovery(tcb, now, false, 0, out);
            cwnd_reduction(tcb, u32::from(tcb.features.linux), false, true);
        }
    }

    /// RFC 8985, section 6.3; Linux, tcp_timeout_mark_lost: does not mark recently sent segments.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let mark_lost = |tcb: &mut Tcb| {
            let grace = tcb.rack.rto_grace(reo_wnd(tcb));
            // Without SACK RACK's RTT remains zero (Linux, tcp_clean_rtx_queue).
            let spares = !tcb.counts_duplicates();
            tcb.scoreboard.mark_all_lost(|segment| spares && segment.sent_at + grace > now)
        };
        enter_loss(tcb, now, mark_lost, out);
    }
}

fn reo_wnd(tcb: &Tcb) -> Duration {
    tcb.rack.reo_wnd(tcb.state >= CaState::Recovery, tcb.scoreboard.sacked, tcb.stack.dup_thresh, &tcb.rtt)
}

/// Handles an ACK that does more than advance SND.UNA in Open.
fn on_dubious_ack(tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
    if summary.was_idle {
        if summary.dsack {
            fastretrans_alert(tcb, now, summary, out);
        }
        process_tlp_ack(tcb, now, summary, out);
        return;
    }
    let prior_lost = tcb.controller.lost();
    tcb.rack.update_reo_wnd(summary.rate.prior_delivered(), tcb.rate.delivered());
    process_tlp_ack(tcb, now, summary, out);
    let dubious = tcb.state != CaState::Open || summary.sacked || summary.dsack || summary.ece;
    if dubious || summary.is_duplicate_ack() {
        fastretrans_alert(tcb, now, summary, out);
    }
    if tcb.state.is_reducing() {
        let marked = tcb.controller.lost() > prior_lost;
        cwnd_reduction(tcb, summary.rate.segments, summary.advanced, marked);
    }
}

/// tcp_fastretrans_alert.
fn fastretrans_alert(tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
    tcb.undo.restorable &= !summary.ece;
    if check_sack_reneging(tcb, now, summary) {
        tcb.rexmit = Rexmit::None;
        return;
    }
    if tcb.state == CaState::Open {
        tcb.undo.clear_retrans_stamp();
    } else if tcb.scoreboard.una >= tcb.high_seq && exit_reduction(tcb, now, summary, out) == Exit::Held {
        return;
    }
    match tcb.state {
        CaState::Recovery => alert_in_recovery(tcb, now, summary, out),
        CaState::Loss => {
            process_loss(tcb, now, summary, out);
            let lost_again = identify_packet_loss(tcb, now, summary);
            if tcb.state == CaState::Open || lost_again {
                try_to_open(tcb, now, summary, out);
            }
        }
        _ => try_to_open(tcb, now, summary, out),
    }
}

/// How a Recovery or a Loss ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Not yet: without SACK, data above `high_seq` has to be acknowledged, against false fast retransmits (RFC 6582,
    /// section 4.1).
    Held,
    /// The reduction was spurious.
    Undone,
    /// The losses are repaired.
    Repaired,
}

/// Handles the acknowledgement of all data outstanding at the start of the state (tcp_fastretrans_alert, step D).
fn exit_reduction(tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) -> Exit {
    match tcb.state {
        // One segment more than the reduction covers, so that the CWR bit reaches the receiver.
        CaState::Cwr if tcb.scoreboard.una > tcb.high_seq => end_cwnd_reduction(tcb, now, out),
        CaState::Recovery => {
            tcb.forget_duplicates();
            let exit = try_undo_recovery(tcb, now, summary, out);
            if exit == Exit::Repaired {
                end_cwnd_reduction(tcb, now, out);
            }
            return exit;
        }
        _ => {}
    }
    Exit::Repaired
}

/// tcp_fastretrans_alert, step E, in Recovery.
fn alert_in_recovery(tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
    tcb.add_duplicate(summary);
    if summary.advanced && try_undo_partial(tcb, now, summary, out) {
        tcb.rexmit = Rexmit::None;
        return;
    }
    if try_undo_dsack(tcb, now, out) {
        try_keep_open(tcb);
    }
    identify_packet_loss(tcb, now, summary);
    if tcb.state == CaState::Recovery {
        tcb.rexmit = Rexmit::Lost;
    } else if tcb.scoreboard.lost > 0 {
        enter_recovery(tcb, now, summary.ece, summary.rate.segments, out);
    }
}

/// The states Open, Disorder and CWR, and the state after Loss (tcp_fastretrans_alert, `default`; tcp_try_to_open).
fn try_to_open(tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
    if summary.advanced {
        tcb.forget_duplicates();
    }
    tcb.add_duplicate(summary);
    if tcb.state <= CaState::Disorder {
        try_undo_dsack(tcb, now, out);
    }
    identify_packet_loss(tcb, now, summary);
    if tcb.scoreboard.lost > 0 {
        enter_recovery(tcb, now, summary.ece, summary.rate.segments, out);
        return;
    }
    if !tcb.scoreboard.any_retrans_done() {
        tcb.undo.clear_retrans_stamp();
    }
    if summary.ece {
        tcb.undo.restorable = false;
        if tcb.state < CaState::Cwr {
            enter_cwr(tcb, now, summary.rate.segments, out);
        }
    }
    if tcb.state != CaState::Cwr {
        try_keep_open(tcb);
    }
}

/// tcp_enter_cwr.
fn enter_cwr(tcb: &mut Tcb, now: Time, delivered: u32, out: &mut impl Output) {
    tcb.undo.marker = None;
    let before = tcb.cwnd;
    init_cwnd_reduction(tcb, now, Cause::Ecn, delivered, out);
    tcb.state = CaState::Cwr;
    tcb.counters.ecn_reductions += 1;
    out.event("ecn", "echo", before, tcb.ssthresh, f64::NAN);
}

/// tcp_try_keep_open.
fn try_keep_open(tcb: &mut Tcb) {
    let board = &tcb.scoreboard;
    let clean = board.sacked == 0 && board.lost == 0 && !board.any_retrans_done();
    let state = if clean { CaState::Open } else { CaState::Disorder };
    if tcb.state != state {
        tcb.state = state;
        tcb.high_seq = tcb.scoreboard.next;
    }
}

/// tcp_init_cwnd_reduction.
fn init_cwnd_reduction(tcb: &mut Tcb, now: Time, cause: Cause, delivered: u32, out: &mut impl Output) {
    tcb.start_prr(delivered);
    tcb.on_congestion(now, cause, false, false, out);
    tcb.high_seq = tcb.scoreboard.next;
    tcb.timers.tlp_end_seq = None;
    tcb.ecn.queue_cwr(tcb.stack.ecn);
}

/// tcp_cwnd_reduction.
fn cwnd_reduction(tcb: &mut Tcb, delivered: u32, advanced: bool, marked: bool) {
    if !tcb.algorithm_owns_cwnd() {
        tcb.reduce_proportionally(delivered, advanced, marked);
    }
}

/// tcp_enter_recovery.
fn enter_recovery(tcb: &mut Tcb, now: Time, ece: bool, delivered: u32, out: &mut impl Output) {
    let before = tcb.cwnd;
    tcb.init_undo();
    tcb.undo.restorable = false;
    if !tcb.state.is_reducing() {
        tcb.undo.restorable = !ece;
        init_cwnd_reduction(tcb, now, Cause::Loss, delivered, out);
    } else if tcb.controller.hears_losses_in_reductions() {
        // dctcp_state; bbr_set_cwnd_to_recover_or_restore, which reads the state.
        tcb.on_congestion(now, Cause::Loss, false, false, out);
    }
    if !tcb.features.linux && tcb.timers.running == Timer::LossProbe {
        tcb.rearm_rto(now); // RFC 8985, section 7.2: no probe in recovery; Linux replaces it when the first segment is retransmitted
    }
    tcb.state = CaState::Recovery;
    tcb.rexmit = Rexmit::Lost;
    tcb.force_retransmit = !(tcb.controller.is_model_based() && tcb.features.knows_pipe());
    tcb.counters.recoveries += 1;
    out.event("recovery", "rack", before, tcb.ssthresh, f64::NAN);
}

/// tcp_end_cwnd_reduction.
fn end_cwnd_reduction(tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    tcb.state = CaState::Open;
    tcb.force_retransmit = false;
    let before = tcb.cwnd;
    if !tcb.algorithm_owns_cwnd() {
        tcb.cwnd = tcb.ssthresh;
    }
    tcb.notify_recovered(now);
    out.event("recovered", "", before, tcb.cwnd, f64::NAN);
}

/// tcp_identify_packet_loss, after a delivery: marks overdue segments lost, and starts the reordering timer for those
/// not yet overdue in place of any other timer. Returns whether a retransmission is lost.
fn identify_packet_loss(tcb: &mut Tcb, now: Time, summary: &mut AckSummary) -> bool {
    if tcb.counts_duplicates() {
        tcb.mark_first_lost(summary.advanced);
        return false;
    }
    if !tcb.rack.advanced || tcb.scoreboard.flight_size() == 0 {
        return false;
    }
    tcb.rack.advanced = false;
    let retrans = tcb.scoreboard.retrans;
    let (_, overdue_at) = detect_loss(tcb, now);
    if let Some(overdue_at) = overdue_at {
        let slack = if tcb.features.linux { TIMEOUT_MIN } else { Duration::ZERO };
        let rto_at = now + tcb.rtt.rto();
        if summary.restart_timer {
            tcb.timers.rto_at = rto_at;
        }
        tcb.timers.arm(now, Timer::Reordering, (overdue_at + slack).max(now + Duration::from_nanos(1)).min(rto_at));
        summary.restart_timer = false;
    }
    tcb.scoreboard.retrans < retrans
}

/// tcp_rack_detect_loss. Returns the number of marked segments, and the time at which the next one becomes overdue.
fn detect_loss(tcb: &mut Tcb, now: Time) -> (u32, Option<Time>) {
    let reo_wnd = reo_wnd(tcb);
    let (marked, overdue_at) = tcb.rack.detect_loss(now, reo_wnd, &mut tcb.scoreboard);
    tcb.controller.count_lost(marked);
    (marked, overdue_at)
}

/// tcp_check_sack_reneging: the first segment in flight is SACKed. The timer leaves the receiver time for ACKs that
/// disprove reneging.
fn check_sack_reneging(tcb: &mut Tcb, now: Time, summary: &mut AckSummary) -> bool {
    let board = &tcb.scoreboard;
    let reneged = board.flight_size() > 0 && board.get(board.una).flags & SACKED != 0;
    if !(summary.advanced && reneged && tcb.features.linux) {
        return false;
    }
    tcb.timers.rto_at = now + tcb.rtt.rto();
    tcb.timers.arm(now, Timer::Rto, now + (tcb.rtt.srtt() / 2).max(RENEGING));
    summary.restart_timer = false;
    true
}

/// tcp_may_undo. Without SACK a recovery forgets the time of its retransmission while it is held ([`Exit::Held`]), which is
/// no evidence that there was none (tcp_packet_delayed).
fn may_undo(tcb: &Tcb, summary: &AckSummary) -> bool {
    let held = tcb.counts_duplicates() && tcb.scoreboard.una >= tcb.high_seq && !tcb.undo.has_retrans_stamp();
    if held {
        return tcb.undo.marker.is_some() && tcb.undo.all_spurious();
    }
    tcb.undo.may_undo(summary.echo, tcb.stack.timestamps)
}

/// tcp_try_undo_recovery, called when all data outstanding at the start of Recovery or Loss is acknowledged.
fn try_undo_recovery(tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) -> Exit {
    let spurious = may_undo(tcb, summary);
    if spurious {
        let cause = tcb.undo.cause();
        undo_cwnd_reduction(tcb, now, false, cause, out);
    } else {
        tcb.rack.on_recovery_end();
    }
    if tcb.counts_duplicates() && tcb.scoreboard.una == tcb.high_seq {
        if !tcb.scoreboard.any_retrans_done() {
            tcb.undo.clear_retrans_stamp();
        }
        return Exit::Held;
    }
    tcb.state = CaState::Open;
    tcb.undo.frto = false;
    if spurious {
        Exit::Undone
    } else {
        Exit::Repaired
    }
}

/// tcp_try_undo_partial: timestamps show that part of the window was delayed, and the rest may be delayed as well.
/// While retransmissions are outstanding, the sender does not retransmit (returns true); otherwise it undoes the
/// reduction.
fn try_undo_partial(tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) -> bool {
    if tcb.undo.marker.is_none() || !tcb.undo.packet_delayed(summary.echo, tcb.stack.timestamps) {
        return false;
    }
    tcb.note_reordering(summary.prior_una);
    if tcb.scoreboard.retrans > 0 {
        return true;
    }
    if !tcb.scoreboard.any_retrans_done() {
        tcb.undo.clear_retrans_stamp();
    }
    undo_cwnd_reduction(tcb, now, true, "eifel", out);
    try_keep_open(tcb);
    false
}

/// tcp_try_undo_dsack.
fn try_undo_dsack(tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
    if tcb.undo.marker.is_none() || !tcb.undo.all_spurious() {
        return false;
    }
    tcb.rack.prolong_reo_wnd();
    undo_cwnd_reduction(tcb, now, false, "dsack", out);
    true
}

/// tcp_process_loss: F-RTO, and the end of Loss.
fn process_loss(tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
    let recovered = tcb.scoreboard.una >= tcb.high_seq;
    if summary.advanced && may_undo(tcb, summary) {
        let cause = tcb.undo.cause();
        try_undo_loss(tcb, now, cause, out);
        return;
    }
    if tcb.undo.frto {
        if summary.original {
            try_undo_loss(tcb, now, "f-rto", out); // RFC 5682, section 3.1, step 3b
            return;
        }
        if tcb.scoreboard.next > tcb.high_seq {
            if summary.sacked || summary.is_duplicate_ack() {
                tcb.undo.frto = false; // step 3a: the loss was genuine
            }
        } else if summary.advanced && !recovered {
            tcb.high_seq = tcb.scoreboard.next;
            if tcb.send_buffer.may_send(tcb.scoreboard.flight_size()) {
                tcb.rexmit = Rexmit::New; // step 2b
                return;
            }
            tcb.undo.frto = false;
        }
    }
    if !recovered {
        if summary.advanced {
            tcb.forget_duplicates();
        } else if tcb.scoreboard.next > tcb.high_seq {
            tcb.add_duplicate(summary); // beyond step 2b of F-RTO a duplicate is of new data
        }
        tcb.rexmit = Rexmit::Lost;
    } else if try_undo_recovery(tcb, now, summary, out) == Exit::Repaired {
        tcb.force_retransmit = false;
        tcb.notify_recovered(now);
        out.event("recovered", "", tcb.cwnd, tcb.cwnd, f64::NAN);
    }
}

/// tcp_try_undo_loss.
fn try_undo_loss(tcb: &mut Tcb, now: Time, cause: &'static str, out: &mut impl Output) {
    undo_cwnd_reduction(tcb, now, true, cause, out);
    tcb.timers.timed_out_una = None;
    tcb.state = CaState::Open;
    tcb.undo.frto = false;
}

/// tcp_undo_cwnd_reduction: restores the window after a spurious reduction, and with `unmark` clears all loss marks.
fn undo_cwnd_reduction(tcb: &mut Tcb, now: Time, unmark: bool, cause: &'static str, out: &mut impl Output) {
    let before = tcb.cwnd;
    if unmark {
        tcb.scoreboard.unmark_all_lost();
    }
    if tcb.undo.restorable {
        tcb.controller.restore_derived_ssthresh();
        tcb.cwnd = tcb.controller.undo(now, before);
    }
    tcb.undo.marker = None;
    tcb.rack.advanced = true;
    tcb.force_retransmit = false;
    tcb.counters.undos += 1;
    out.event("undo", cause, before, tcb.cwnd, f64::NAN);
}

/// tcp_process_tlp_ack; RFC 8985, section 7.4.2: detects whether the tail loss probe repaired a loss.
fn process_tlp_ack(tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) {
    let Some(end_seq) = tcb.timers.tlp_end_seq.filter(|&end_seq| summary.ack >= end_seq) else { return };
    if !tcb.timers.tlp_retrans || summary.tlp_dsack {
        tcb.timers.tlp_end_seq = None; // new data arrived, or both copies
    } else if summary.ack > end_seq {
        // Only one of the two copies arrived: a loss, which requires a reduction.
        let before = tcb.cwnd;
        init_cwnd_reduction(tcb, now, Cause::Loss, summary.rate.segments, out);
        tcb.counters.recoveries += 1;
        if !tcb.algorithm_owns_cwnd() {
            tcb.cwnd = tcb.ssthresh;
        }
        tcb.state = CaState::Cwr;
        try_keep_open(tcb);
        tcb.notify_recovered(now);
        out.event("recovery", "tail-loss-probe", before, tcb.ssthresh, f64::NAN);
    } else if !(summary.advanced || summary.window_update || summary.zero_window || summary.sacked) {
        tcb.timers.tlp_end_seq = None; // a duplicate ACK: both copies arrived
    }
}
