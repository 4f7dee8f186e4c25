//! Recovery with SACK, common to SACK and FACK: entry, undo of spurious reductions, exit (RFC 6675; RFC 3522, 3708 and
//! 5682 for the undo).

use cwndlab_control::Cause;
use cwndlab_units::{CaState, Time};

use super::reduction::{ecn_requires_reduction, enter_cwr, exit_to_open};
use crate::ack_summary::AckSummary;
use crate::rexmit::Rexmit;
use crate::tcb::Tcb;
use crate::wire::Output;

/// The differences between SACK and FACK.
pub(super) trait SackBased {
    /// The cause of a recovery in the table `events`.
    const CAUSE: &'static str;

    /// Marks lost segments; returns their number.
    fn mark_lost(&self, tcb: &mut Tcb) -> u32;

    /// Called at the start of a reduction.
    fn on_reduction_start(&mut self) {}

    /// Called at the start of Recovery.
    fn on_recovery_start(&mut self, _tcb: &Tcb) {}

    /// Whether the window is set to `ssthresh` at the start of Recovery, instead of ACK by ACK.
    fn reduces_at_once(&self, tcb: &Tcb) -> bool;

    /// Updates the window after an ACK during CWR and Recovery. `marked`: segments were marked lost because of this
    /// ACK.
    fn reduce(&mut self, tcb: &mut Tcb, summary: &AckSummary, marked: bool);

    /// The window at the end of a reduction.
    fn exit_window(&self, tcb: &mut Tcb, _now: Time) -> u32 {
        tcb.ssthresh
    }
}

/// Handles an ACK.
#[inline]
pub(super) fn on_ack<K: SackBased>(
    kind: &mut K,
    tcb: &mut Tcb,
    now: Time,
    summary: &AckSummary,
    out: &mut impl Output,
) {
    if ecn_requires_reduction(tcb, summary) {
        kind.on_reduction_start();
        enter_cwr(tcb, now, summary.rate.segments, out);
    }
    let board = &tcb.scoreboard;
    if tcb.state == CaState::Open && board.sacked == 0 && board.lost == 0 && tcb.undo.marker.is_none() {
        return;
    }
    update_recovery(kind, tcb, now, summary, out);
}

fn update_recovery<K: SackBased>(kind: &mut K, tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) {
    if (summary.advanced || summary.dsack) && try_undo(tcb, now, summary, out) {
        return;
    }
    if tcb.state >= CaState::Cwr && tcb.scoreboard.una >= tcb.high_seq {
        exit_to_open(tcb, now, |tcb| kind.exit_window(tcb, now), out);
    }
    let marked = kind.mark_lost(tcb);
    tcb.controller.count_lost(marked);
    match tcb.state {
        CaState::Open | CaState::Disorder => {
            if tcb.scoreboard.lost > 0 {
                enter_recovery(kind, tcb, now, summary.rate.segments, out);
            } else {
                tcb.state = if tcb.scoreboard.sacked > 0 { CaState::Disorder } else { CaState::Open };
            }
        }
        CaState::Cwr if tcb.scoreboard.lost > 0 => enter_recovery(kind, tcb, now, summary.rate.segments, out),
        CaState::Loss => step_frto(tcb, summary),
        _ => {}
    }
    if tcb.state.is_reducing() && !tcb.algorithm_owns_cwnd() {
        kind.reduce(tcb, summary, marked > 0);
    }
}

fn enter_recovery<K: SackBased>(kind: &mut K, tcb: &mut Tcb, now: Time, delivered: u32, out: &mut impl Output) {
    let before = tcb.cwnd;
    kind.on_reduction_start();
    tcb.start_prr(delivered);
    if tcb.state != CaState::Cwr || tcb.controller.hears_losses_in_reductions() {
        tcb.on_congestion(now, Cause::Loss, false, false, out);
        tcb.ecn.queue_cwr(tcb.stack.ecn);
    }
    tcb.state = CaState::Recovery;
    tcb.high_seq = tcb.scoreboard.next;
    kind.on_recovery_start(tcb);
    tcb.force_retransmit = !(tcb.controller.is_model_based() && tcb.features.sack);
    tcb.init_undo();
    tcb.counters.recoveries += 1;
    if kind.reduces_at_once(tcb) && !tcb.algorithm_owns_cwnd() {
        tcb.cwnd = tcb.ssthresh;
    }
    out.event("recovery", K::CAUSE, before, tcb.ssthresh, f64::NAN);
}

/// Undoes a reduction that was spurious: Eifel by timestamps (RFC 3522), D-SACK (RFC 3708), F-RTO (RFC 5682).
fn try_undo(tcb: &mut Tcb, now: Time, summary: &AckSummary, out: &mut impl Output) -> bool {
    if !tcb.stack.undo || tcb.undo.marker.is_none() {
        return false;
    }
    // Linux, tcp_try_undo_partial: a delayed part of the window is not proof while other segments are retransmitted.
    let partial = tcb.state == CaState::Recovery && tcb.scoreboard.una < tcb.high_seq;
    let eifel = tcb.stack.timestamps
        && tcb.undo.echo_precedes_retransmission(summary.echo)
        && !(partial && tcb.scoreboard.retrans > 0);
    let frto = tcb.undo.frto && tcb.state == CaState::Loss && summary.original;
    let dsack = tcb.undo.all_spurious() && tcb.undo.has_retrans_stamp() && summary.dsack;
    if !(eifel || frto || dsack) {
        if tcb.state <= CaState::Disorder && tcb.scoreboard.una >= tcb.high_seq + u64::from(tcb.cwnd) {
            tcb.undo.marker = None; // no D-SACK is expected one window later
        }
        return false;
    }
    let cause = if frto {
        "f-rto"
    } else if eifel {
        "eifel"
    } else {
        "dsack"
    };
    undo(tcb, now, cause, out);
    true
}

fn undo(tcb: &mut Tcb, now: Time, cause: &'static str, out: &mut impl Output) {
    let before = tcb.cwnd;
    tcb.undo.marker = None;
    tcb.controller.restore_derived_ssthresh();
    tcb.counters.undos += 1;
    tcb.cwnd = tcb.controller.undo(now, before);
    tcb.scoreboard.unmark_all_lost();
    tcb.state = if tcb.scoreboard.sacked > 0 { CaState::Disorder } else { CaState::Open };
    tcb.undo.frto = false;
    tcb.force_retransmit = false;
    tcb.rtt.reset_backoff();
    out.event("undo", cause, before, tcb.cwnd, f64::NAN);
}

/// F-RTO: the first ACK after the timeout allows new data before retransmissions; the second one shows whether the timeout
/// was spurious ([`try_undo`]), or ends F-RTO (RFC 5682, section 3.1).
fn step_frto(tcb: &mut Tcb, summary: &AckSummary) {
    let first = tcb.scoreboard.next == tcb.high_seq && summary.advanced && tcb.scoreboard.una < tcb.high_seq;
    tcb.undo.frto &= first && tcb.send_buffer.may_send(tcb.scoreboard.flight_size());
    if tcb.undo.frto {
        tcb.rexmit = Rexmit::New; // step 2b
    }
}
