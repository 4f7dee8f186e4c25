//! Which segments are lost: RFC 6675, FACK, RACK (RFC 8985).

use cwndlab_control::RecoveryKind;

use super::Sender;
use crate::receiver::NEVER;

/// RACK gives reordering back its patience after this many recoveries without a D-SACK (RFC 8985, 6.2).
const REO_PERSIST: u32 = 16;

impl Sender {
    /// Marks what the recovery in force holds for lost; answers how many segments that were.
    pub(crate) fn detect(&mut self, now: u64) -> u32 {
        let marked = match self.kind {
            RecoveryKind::Sack => {
                let limit = self.board.limit_sack(self.stack.dup_thresh);
                self.board.mark_below(limit)
            }
            RecoveryKind::Fack => {
                let limit = self.board.limit_fack(self.stack.dup_thresh);
                let fack = self.board.fack;
                // A retransmission is lost when data that left after it has arrived (Linux 2.6, tcp_mark_lost_retrans).
                self.board.mark_below(limit) + self.board.mark_resent_while(|one| fack > one.next)
            }
            RecoveryKind::Rack => self.detect_by_time(now),
            _ => 0,
        };
        self.lost_total += u64::from(marked);
        marked
    }

    /// RFC 8985, step 5; arms the reordering timer for what is not late yet.
    pub(crate) fn detect_by_time(&mut self, now: u64) -> u32 {
        self.reorder_at = NEVER;
        if self.rack_rtt == 0 {
            return 0;
        }
        let wait = self.rack_rtt + self.reordering_window();
        let (sent, seq) = (self.rack_sent, self.rack_seq);
        let before = |at: u64, number: u64| (at, number) < (sent, seq);
        let next = self.board.next;
        let marked =
            self.board.mark_while(next, |number, one| before(one.sent_at, number) && one.sent_at + wait <= now)
                + self.board.mark_resent_while(|one| before(one.sent_at, one.seq) && one.sent_at + wait <= now);
        let original = self.board.oldest_original().filter(|(number, one)| before(one.sent_at, *number));
        let resent = self.board.resent.front().filter(|one| before(one.sent_at, one.seq));
        let due = original.map(|(_, one)| one.sent_at).into_iter().chain(resent.map(|one| one.sent_at)).min();
        if let Some(at) = due {
            self.reorder_at = (at + wait).max(now + 1);
        }
        marked
    }

    /// RFC 8985, step 4.
    fn reordering_window(&self) -> u64 {
        let sure = self.state >= super::State::Recovery || self.board.sacked >= self.stack.dup_thresh;
        if !self.reordering_seen && sure {
            return 0;
        }
        (u64::from(self.reo_mult) * (self.rtt.min / 4)).min(self.rtt.srtt)
    }

    /// A D-SACK: the retransmission was needless.
    pub(crate) fn on_duplicate_report(&mut self, seq: u64) {
        if self.undo_from.is_some_and(|from| seq >= from) && self.undo_retrans > 0 {
            self.undo_retrans -= 1;
        }
        if self.probe_end.is_some_and(|end| seq + 1 == end) {
            self.probe_end = None; // the probe was not needed: no loss (RFC 8985, 7.4.2)
        }
        if self.round > self.reo_round {
            self.reo_round = self.round;
            self.reo_mult = (self.reo_mult + 1).min(64);
            self.reo_persist = REO_PERSIST;
        }
    }

    /// A recovery ended.
    pub(crate) fn relax_reordering(&mut self) {
        self.reo_persist = self.reo_persist.saturating_sub(1);
        if self.reo_persist == 0 {
            self.reo_mult = 1;
        }
    }
}
