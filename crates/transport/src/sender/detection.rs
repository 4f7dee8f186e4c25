//! Which segments are lost: RFC 6675, FACK, RACK (RFC 8985).

use cwndlab_control::RecoveryKind;

use super::timers::Pending;
use super::{Gain, Sender, State};

/// RACK gives reordering back its patience after this many recoveries without a D-SACK (RFC 8985, 6.2).
const REO_PERSIST: u32 = 16;
/// Linux widens the window of reordering to this many quarters of min_rtt at most.
const MOST_QUARTERS: u32 = 255;
/// What Linux adds to the timers of RACK and of the tail loss probe (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMEOUT_MIN_NS: u64 = 2_000_000;

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
            RecoveryKind::Rack => self.detect_by_time(now).0,
            _ => 0,
        };
        self.lost_total += u64::from(marked);
        marked
    }

    /// RACK, where it has news: marks what is late, and arms the reordering timer for what is not late yet, in place of any
    /// other. Answers whether a retransmission is lost (Linux, tcp_identify_packet_loss).
    pub(crate) fn identify_losses(&mut self, now: u64, gain: &mut Gain) -> bool {
        if !self.rack_advanced || self.board.outstanding() == 0 {
            return false;
        }
        self.rack_advanced = false;
        let resent = self.board.retrans;
        let (marked, last) = self.detect_by_time(now);
        self.lost_total += u64::from(marked);
        if let Some(last) = last {
            let slack = if self.linux { TIMEOUT_MIN_NS } else { 0 };
            self.keep_rto(now, gain.rearm);
            self.arm(Pending::Reorder, (last + slack).max(now + 1).min(now + self.rtt.rto()));
            gain.rearm = false;
        }
        self.board.retrans < resent
    }

    /// RFC 8985, section 6.2, step 5: marks what is late; answers how many that were, and when the last of what left before
    /// the newest delivery will be.
    pub(crate) fn detect_by_time(&mut self, now: u64) -> (u32, Option<u64>) {
        if self.rack_rtt == 0 && self.rack_sent == 0 {
            return (0, None);
        }
        let wait = self.rack_rtt + self.reordering_window();
        let (sent, seq) = (self.rack_sent, self.rack_seq);
        let before = |at: u64, number: u64| (at, number) < (sent, seq);
        let next = self.board.next;
        let marked =
            self.board.mark_while(next, |number, one| before(one.sent_at, number) && one.sent_at + wait <= now)
                + self.board.mark_resent_while(|one| before(one.sent_at, one.seq) && one.sent_at + wait <= now);
        (marked, self.board.last_sent(before).map(|at| at + wait))
    }

    /// What left less than this ago is not lost because the retransmission timer expired.
    pub(crate) fn patience(&self) -> u64 {
        self.rack_rtt + if self.linux { 0 } else { self.reordering_window() }
    }

    /// RFC 8985, section 6.2, step 4.
    fn reordering_window(&self) -> u64 {
        let threshold = if self.linux { self.reordering } else { self.stack.dup_thresh };
        let sure = self.state >= State::Recovery || self.board.sacked >= threshold;
        if !self.reordering_seen && sure || self.rtt.min == u64::MAX {
            return 0;
        }
        (u64::from(self.reo_mult) * (self.rtt.min / 4)).min(self.rtt.srtt)
    }

    /// A D-SACK: the retransmission was needless, unless more is reported than was sent again (Linux, tcp_dsack_seen).
    pub(crate) fn on_duplicate_report(&mut self, (from, to): (u64, u64), prior_una: u64, gain: &mut Gain) {
        let count = to.saturating_sub(from).min(u64::from(u32::MAX)) as u32;
        self.duplicates += u64::from(count);
        if count == 0 || self.linux && self.duplicates > self.count.retransmitted_packets {
            return;
        }
        gain.duplicate = true;
        gain.probe_duplicate = count == 1 && self.probe_end == Some(to);
        if self.linux {
            // What arrived twice arrived: it counts as delivered.
            gain.segments += count;
            gain.bytes += u64::from(count) * u64::from(self.mss);
            // RACK ignores what it did not cause: without reordering, and of a probe.
            self.reo_pending |= self.reordering_seen && !gain.probe_duplicate;
            let known = to <= prior_una && self.undo_from.is_some_and(|start| to > start);
            if known && self.undo_retrans > 0 {
                self.undo_retrans = (self.undo_retrans - count.cast_signed()).max(0);
            }
            return;
        }
        if self.undo_from.is_some_and(|start| from >= start) && self.undo_retrans > 0 {
            self.undo_retrans -= 1;
        }
        if self.round > self.reo_round {
            self.reo_round = self.round;
            self.reo_mult = (self.reo_mult + 1).min(64);
            self.reo_persist = REO_PERSIST;
        }
    }

    /// Linux, tcp_rack_update_reo_wnd: a report of a duplicate widens the window of reordering, once per round trip.
    pub(crate) fn widen_reordering(&mut self, gain: &Gain) {
        let Some(prior) = Self::prior_delivered(gain).filter(|_| self.linux) else { return };
        if prior < self.reo_round {
            self.reo_pending = false;
        }
        if self.reo_pending {
            self.reo_mult = (self.reo_mult + 1).min(MOST_QUARTERS);
            self.reo_pending = false;
            self.reo_round = self.delivered;
            self.reo_persist = REO_PERSIST;
        } else if self.reo_persist == 0 {
            self.reo_mult = 1;
        }
    }

    /// A recovery was taken back upon D-SACKs: patience lasts one recovery longer (Linux, tcp_try_undo_dsack).
    pub(crate) fn prolong_reordering(&mut self) {
        self.reo_persist = (self.reo_persist + 1).min(REO_PERSIST);
    }

    /// A recovery ended.
    pub(crate) fn relax_reordering(&mut self) {
        self.reo_persist = self.reo_persist.saturating_sub(1);
        if self.reo_persist == 0 && !self.linux {
            self.reo_mult = 1;
        }
    }
}
