//! Linux' sender without SACK (`tcp_is_reno`): a duplicate ACK counts as the SACK of an unknown segment.

use super::Tcb;
use crate::ack_summary::AckSummary;
use crate::segment::LOST;
use cwndlab_units::CaState;

impl Tcb {
    /// Whether duplicate ACKs count as SACKs (Linux, tcp_is_reno). The scoreboard's number of SACKed segments is that of
    /// these ACKs, and no segment is marked.
    #[inline]
    pub(crate) fn counts_duplicates(&self) -> bool {
        self.features.linux && !self.features.sack
    }

    /// If the ACK is a duplicate that counts, it delivers a segment (Linux, tcp_add_reno_sack).
    pub(crate) fn add_duplicate(&mut self, summary: &mut AckSummary) {
        if !self.counts_duplicates() || !summary.is_duplicate_ack() {
            return;
        }
        let prior = self.scoreboard.sacked;
        self.scoreboard.sacked += 1;
        self.limit_duplicates(0);
        if self.scoreboard.sacked > prior {
            let bytes = self.controller.bytes(1);
            self.rate.count(bytes);
            summary.rate.segments += 1;
            summary.rate.bytes += bytes;
        }
    }

    /// Handles the cumulative acknowledgement of segments, of which the first one was missing: duplicate ACKs delivered
    /// the others (Linux, tcp_remove_reno_sacks). No segment is known to have arrived by its original transmission if one
    /// of them was retransmitted (Linux, tcp_clean_rtx_queue).
    pub(crate) fn remove_duplicates(&mut self, summary: &mut AckSummary) {
        if !self.counts_duplicates() {
            return;
        }
        let acked = summary.rate.segments;
        let reported = self.scoreboard.sacked.min(acked.saturating_sub(1));
        self.scoreboard.sacked -= reported;
        summary.rate.segments -= reported;
        summary.rate.bytes = summary.rate.bytes.saturating_sub(self.controller.bytes(reported));
        summary.original &= !summary.retransmitted;
        self.limit_duplicates(acked);
    }

    /// Forgets the duplicate ACKs that count (Linux, tcp_reset_reno_sack).
    pub(crate) fn forget_duplicates(&mut self) {
        if self.counts_duplicates() {
            self.scoreboard.sacked = 0;
        }
    }

    /// More duplicate ACKs than segments beyond the missing ones show reordering (Linux, tcp_check_reno_reordering,
    /// tcp_limit_reno_sacked).
    fn limit_duplicates(&mut self, acked: u32) {
        let board = &mut self.scoreboard;
        let flight = board.flight_size();
        let holes = board.lost.max(1).min(flight);
        if board.sacked + holes > flight {
            board.sacked = flight - holes;
            self.rack.set_reordering(flight + acked, self.stack.dup_thresh);
        }
    }

    /// Marks the first segment lost after as many duplicate ACKs as the degree of reordering, or a partial ACK (Linux,
    /// tcp_newreno_mark_lost).
    pub(crate) fn mark_first_lost(&mut self, advanced: bool) {
        let board = &mut self.scoreboard;
        let lost = match self.state {
            CaState::Recovery => advanced,
            CaState::Loss => false,
            _ => board.sacked >= self.rack.reordering(),
        };
        if lost && board.flight_size() > 0 && board.get(board.una).flags & LOST == 0 {
            board.mark_lost(board.una);
            self.controller.count_lost(1);
        }
    }
}
