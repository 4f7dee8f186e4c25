//! RACK: loss detection by transmission time, and its reordering window (RFC 8985, section 6.2; Linux,
//! `tcp_recovery.c`).

use cwndlab_units::{Bytes, Duration, Time};

use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, EVER_RETRANS};

/// Recoveries without a D-SACK for which a widened reordering window persists (RFC 8985, section 6.2, step 4).
const REO_WND_PERSIST: u32 = 16;
/// Largest multiplier of the reordering window under the RFC's rules.
const MAX_STEPS_RFC: u32 = 64;
/// Linux: `reo_wnd_steps` is a u8.
const MAX_STEPS_LINUX: u32 = 255;
/// Maximum degree of reordering (Linux, `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// The variables of RACK. The fields that every ACK uses come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Rack {
    /// Transmission time and number of the most recently sent segment that was delivered (`RACK.xmit_ts`,
    /// `RACK.end_seq`).
    sent_at: Time,
    seq: u64,
    /// RTT of the last delivery (`RACK.rtt`).
    rtt: Duration,
    /// A segment was delivered since the last loss detection (Linux, `tp->rack.advanced`).
    pub(crate) advanced: bool,
    /// Linux' rules apply where they differ from RFC 8985 (listed in docs/validity.md).
    linux: bool,
    /// Observations of reordering, at most 255 (Linux, `tp->reord_seen`; RFC 8985, `RACK.reordering_seen`).
    reord_seen: u8,
    /// A D-SACK arrived that will widen the reordering window (Linux, `tp->rack.dsack_seen`).
    dsack_seen: bool,
    /// Degree of reordering: the maximum displacement of a segment, at least `DupThresh` (Linux, `tp->reordering`).
    reordering: u32,
    /// Multiplier of the reordering window (`RACK.reo_wnd_mult`).
    reo_wnd_mult: u32,
    /// Recoveries for which the widened window persists (`RACK.reo_wnd_persist`).
    reo_wnd_persist: u32,
    /// The last widening: its round trip (RFC 8985), or the bytes delivered (Linux). The next one must come later.
    widened_at: u64,
}

impl Rack {
    /// The state before the first delivery.
    pub(crate) fn new(dup_thresh: u32, linux: bool) -> Self {
        Self {
            sent_at: Time::ZERO,
            seq: 0,
            rtt: Duration::ZERO,
            advanced: false,
            linux,
            reord_seen: 0,
            dsack_seen: false,
            reordering: dup_thresh,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            widened_at: 0,
        }
    }

    /// `RACK.rtt`, `RACK.reo_wnd_mult` and `RACK.reordering_seen`.
    pub(crate) fn values(&self) -> (Duration, u32, bool) {
        (self.rtt, self.reo_wnd_mult, self.reord_seen > 0)
    }

    /// Handles a delivered segment (RFC 8985, section 6.2, step 2). `in_order`: this ACK has already acknowledged other
    /// segments cumulatively.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        now: Time,
        seq: u64,
        segment: &Segment,
        min_rtt: Duration,
        by_sack: bool,
        in_order: &mut bool,
    ) {
        let rtt = now - segment.sent_at;
        // An ACK less than min_rtt after the retransmission acknowledges the original.
        if segment.flags & EVER_RETRANS != 0 && rtt < min_rtt {
            return;
        }
        let newest = segment.sent_at > self.sent_at || segment.sent_at == self.sent_at && seq >= self.seq;
        if newest {
            (self.sent_at, self.seq) = (segment.sent_at, seq);
        }
        // Linux, tcp_rack_advance: the RTT is that of the last segment processed, and SACKed segments are processed
        // first.
        if newest && !self.linux || self.linux && !(by_sack && *in_order) {
            self.rtt = rtt;
        }
        *in_order |= !by_sack;
        self.advanced = true;
    }

    /// Marks overdue segments lost (RFC 8985, section 6.2, step 5). Returns their number, and the time at which the
    /// last of the remaining segments sent before the newest delivered one becomes overdue.
    pub(crate) fn detect_loss(&self, now: Time, reo_wnd: Duration, scoreboard: &mut Scoreboard) -> (u32, Option<Time>) {
        if self.rtt == Duration::ZERO && self.sent_at == Time::ZERO {
            return (0, None);
        }
        let wait = self.rtt + reo_wnd;
        let newest = (self.sent_at, self.seq);
        let before = |sent_at: Time, seq: u64| (sent_at, seq) < newest;
        let next = scoreboard.next;
        let marked = scoreboard.mark_while(next, |seq, one| before(one.sent_at, seq) && one.sent_at + wait <= now)
            + scoreboard.mark_retransmitted_while(|one| before(one.sent_at, one.seq) && one.sent_at + wait <= now);
        (marked, scoreboard.last_sent(before).map(|sent_at| sent_at + wait))
    }

    /// The reordering window (RFC 8985, section 6.2, step 4; Linux, tcp_rack_reo_wnd). `recovering`: Recovery or Loss.
    pub(crate) fn reo_wnd(&self, recovering: bool, sacked: u32, dup_thresh: u32, rtt: &RttEstimator) -> Duration {
        let threshold = if self.linux { self.reordering } else { dup_thresh };
        let sure = recovering || sacked >= threshold;
        let min_rtt = rtt.min_or_max();
        if self.reord_seen == 0 && sure || min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        (min_rtt / 4 * u64::from(self.reo_wnd_mult)).min(rtt.srtt())
    }

    /// After an RTO, segments sent within this time are not marked lost (RFC 8985, section 6.3; Linux,
    /// tcp_timeout_mark_lost).
    pub(crate) fn rto_grace(&self, reo_wnd: Duration) -> Duration {
        if self.linux {
            self.rtt
        } else {
            self.rtt + reo_wnd
        }
    }

    /// Records reordering: `lowest` was sent once and arrived after higher segments (Linux, tcp_check_sack_reordering).
    pub(crate) fn note_reordering(&mut self, lowest: u64, fack: u64, dup_thresh: u32) {
        if lowest < fack {
            self.reord_seen = self.reord_seen.saturating_add(1);
            let max = MAX_REORDERING.max(dup_thresh);
            self.reordering = self.reordering.max((fack - lowest).min(u64::from(max)) as u32);
        }
    }

    /// The degree of reordering, segments.
    pub(crate) fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Number of observations of reordering, at most 255.
    pub(crate) fn reord_seen(&self) -> u8 {
        self.reord_seen
    }

    /// Whether the degree of reordering exceeds `dup_thresh`.
    pub(crate) fn reorders_beyond(&self, dup_thresh: u32) -> bool {
        self.reordering > dup_thresh
    }

    /// Resets an overestimated degree of reordering (Linux, tcp_enter_loss).
    pub(crate) fn reset_reordering(&mut self, dup_thresh: u32) {
        self.reordering = dup_thresh;
    }

    /// Sets the degree of reordering that more duplicate ACKs than segments show (Linux, tcp_check_reno_reordering).
    pub(crate) fn set_reordering(&mut self, segments: u32, dup_thresh: u32) {
        self.reord_seen = self.reord_seen.saturating_add(1);
        self.reordering = segments.min(MAX_REORDERING.max(dup_thresh));
    }

    /// Handles a D-SACK under the RFC's rules: widens the window, at most once per round trip.
    pub(crate) fn on_dsack_rfc(&mut self, round: u64) {
        if round > self.widened_at {
            self.widen(round, MAX_STEPS_RFC);
        }
    }

    /// Handles a D-SACK under Linux' rules: it counts after reordering was observed, unless the tail loss probe caused
    /// it (tcp_dsack_seen).
    pub(crate) fn on_dsack_linux(&mut self, of_tlp: bool) {
        self.dsack_seen |= self.reord_seen > 0 && !of_tlp;
    }

    /// Widens the window after a D-SACK, at most once per round trip (Linux, tcp_rack_update_reo_wnd).
    /// `prior_delivered` is that of the rate sample.
    pub(crate) fn update_reo_wnd(&mut self, prior_delivered: Option<Bytes>, delivered: Bytes) {
        let Some(prior) = prior_delivered.filter(|_| self.linux) else { return };
        if prior.0 < self.widened_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.dsack_seen = false;
            self.widen(delivered.0, MAX_STEPS_LINUX);
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Widens the window by one step at this round trip (RFC) or delivered count (Linux).
    fn widen(&mut self, mark: u64, max_steps: u32) {
        self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(max_steps);
        self.widened_at = mark;
        self.reo_wnd_persist = REO_WND_PERSIST;
    }

    /// Keeps the window widened for one more recovery, after D-SACKs undid one (Linux, tcp_try_undo_dsack).
    pub(crate) fn prolong_reo_wnd(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }

    /// Handles the end of a recovery.
    pub(crate) fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 && !self.linux {
            self.reo_wnd_mult = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(count: u64) -> Time {
        Time::ZERO + ms(count)
    }

    /// An estimator with an RTT of 100 ms, and a scoreboard of segments sent at these times, ms.
    fn path(sent_ms: &[u64]) -> (RttEstimator, Scoreboard) {
        let mut rtt = RttEstimator::sampling();
        rtt.sample(at(100), ms(100), ms(100));
        let mut scoreboard = Scoreboard::time_based(0, false);
        for &sent in sent_ms {
            scoreboard.push(Segment { sent_at: at(sent), len: 1000, ..Segment::default() });
        }
        (rtt, scoreboard)
    }

    /// RFC 8985, section 6.2, by hand: RACK.rtt 100 ms and a window of 100/4 = 25 ms. The segments of 0 and of 10 ms are
    /// overdue at 125 and at 135 ms, once that of 20 ms is delivered at 120.
    #[test]
    fn a_segment_is_lost_a_reordering_window_after_a_later_one_was_delivered() {
        let (rtt, mut scoreboard) = path(&[0, 10, 20]);
        let mut rack = Rack::new(3, false);
        scoreboard.sack(2, 3, |seq, segment| {
            rack.advance(at(120), seq, segment, ms(100), true, &mut false);
        });
        let reo_wnd = rack.reo_wnd(false, 1, 3, &rtt);
        assert_eq!(reo_wnd, ms(25));
        assert_eq!(rack.detect_loss(at(120), reo_wnd, &mut scoreboard), (0, Some(at(135))));
        assert_eq!(rack.detect_loss(at(125), reo_wnd, &mut scoreboard), (1, Some(at(135))));
        assert_eq!(rack.detect_loss(at(135), reo_wnd, &mut scoreboard), (1, None));
    }

    /// RFC 8985, section 6.2, step 4: without observed reordering, the window is zero after three SACKed segments and
    /// during recovery.
    #[test]
    fn the_reordering_window_is_zero_after_three_sacks_until_reordering_is_observed() {
        let (rtt, _) = path(&[]);
        let mut rack = Rack::new(3, false);
        assert_eq!([rack.reo_wnd(false, 3, 3, &rtt), rack.reo_wnd(true, 0, 3, &rtt)], [Duration::ZERO; 2]);
        rack.note_reordering(4, 9, 3);
        assert_eq!(rack.reo_wnd(false, 3, 3, &rtt), ms(25));
    }

    /// RFC 8985, section 6.2, step 4, by hand, min_rtt 100 ms: a D-SACK per round trip adds 25 ms, up to SRTT; after 16
    /// recoveries without one it is 25 ms again.
    #[test]
    fn dsacks_widen_the_reordering_window_for_sixteen_recoveries() {
        let (rtt, _) = path(&[]);
        let mut rack = Rack::new(3, false);
        let widened = [1, 1, 2, 3, 4].map(|round| {
            rack.on_dsack_rfc(round);
            rack.reo_wnd(false, 0, 3, &rtt)
        });
        assert_eq!(widened, [50, 50, 75, 100, 100].map(ms));
        (0..15).for_each(|_| rack.on_recovery_end());
        assert_eq!(rack.reo_wnd(false, 0, 3, &rtt), ms(100));
        rack.on_recovery_end();
        assert_eq!(rack.reo_wnd(false, 0, 3, &rtt), ms(25));
    }

    /// RFC 8985, section 6.2, step 1: an ACK less than min_rtt after a retransmission acknowledges the original.
    #[test]
    fn an_early_ack_of_a_retransmission_is_ignored() {
        let mut rack = Rack::new(3, false);
        let segment = Segment { sent_at: at(50), flags: EVER_RETRANS, ..Segment::default() };
        rack.advance(at(149), 0, &segment, ms(100), false, &mut false);
        assert!(!rack.advanced);
        rack.advance(at(150), 0, &segment, ms(100), false, &mut false);
        assert!(rack.advanced);
    }
}
