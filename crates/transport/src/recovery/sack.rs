//! SACK: a segment is lost when three segments above it are SACKed; the pipe limits transmission.
//!
//! Source: RFC 6675 (IsLost, NextSeg, the rescue retransmission), with the window reduction of the stack profile.

use cwndlab_units::{CaState, Time};

use super::sack_based::{self, SackBased};
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::stack::Rampdown;
use crate::tcb::Tcb;
use crate::wire::Output;

/// SACK's recovery.
#[derive(Debug, Default)]
pub(crate) struct Sack {
    /// One past the highest segment retransmitted in this recovery (`HighRxt`).
    high_rxt: u64,
    /// The rescue retransmission of this recovery was sent (`RescueRxt`).
    rescued: bool,
}

impl SackBased for Sack {
    const CAUSE: &'static str = "sack";

    fn mark_lost(&self, tcb: &mut Tcb) -> u32 {
        let limit = tcb.scoreboard.sack_limit(tcb.stack.dup_thresh);
        tcb.scoreboard.mark_below(limit)
    }

    fn on_recovery_start(&mut self, tcb: &Tcb) {
        self.high_rxt = tcb.scoreboard.una;
        self.rescued = false;
    }

    fn reduces_at_once(&self, tcb: &Tcb) -> bool {
        tcb.stack.rampdown != Rampdown::Proportional
    }

    fn reduce(&mut self, tcb: &mut Tcb, summary: &AckSummary, marked: bool) {
        if self.reduces_at_once(tcb) {
            tcb.cwnd = tcb.ssthresh;
        } else {
            tcb.reduce_proportionally(summary.rate.segments, summary.advanced, marked);
        }
    }
}

impl LossRecovery for Sack {
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        sack_based::on_ack(self, tcb, now, summary, out);
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        tcb.undo.marker.is_none()
    }

    fn on_retransmit(&mut self, seq: u64) {
        self.high_rxt = self.high_rxt.max(seq + 1);
    }

    /// NextSeg, rules (3) and (4): the lowest segment that is not SACKed, then the rescue retransmission.
    fn next_hole(&mut self, tcb: &mut Tcb) -> Option<u64> {
        if tcb.state != CaState::Recovery {
            return None;
        }
        let fack = tcb.scoreboard.fack();
        if let Some(seq) = tcb.scoreboard.next_hole(self.high_rxt, fack) {
            self.high_rxt = seq + 1;
            return Some(seq);
        }
        if !self.rescued && fack < tcb.high_seq {
            self.rescued = true;
            return Some(tcb.high_seq - 1);
        }
        None
    }
}
