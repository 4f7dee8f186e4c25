//! The scoreboard (RFC 6675, section 2): the state of the segments in flight, which may be SACKed, lost or
//! retransmitted.
//!
//! An ACK costs O(1) amortised, for any window: a union-find structure in the segments skips SACKed runs; every
//! loss-detection rule is a pointer that only moves forward, because a segment stays marked; the queue of
//! retransmissions is in order of transmission, so that it is sorted by time.

use std::collections::VecDeque;

use cwndlab_units::{Bytes, Time};
use prefetch_index::prefetch_index;

use crate::sack_cache::SackCache;
use crate::segment::{Retransmission, Run, Segment, EVER_RETRANS, LOST, OFF_TSORTED, RETRANS, SACKED, TOUCHED};

/// The segments between SND.UNA and SND.NXT. Fields used only with losses come last.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    ring: Vec<Segment>,
    /// SND.UNA: oldest unacknowledged segment.
    pub(crate) una: u64,
    /// SND.NXT: next new segment.
    pub(crate) next: u64,
    mask: u32,
    /// Number of SACKed segments.
    pub(crate) sacked: u32,
    /// Number of segments marked lost (without SACKed ones).
    pub(crate) lost: u32,
    /// Number of outstanding retransmissions.
    pub(crate) retrans: u32,
    /// One past the highest SACKed segment, or below `una`.
    highest_sacked_end: u64,
    /// One past the highest retransmitted segment.
    retransmitted_end: u64,
    /// The SACK blocks of previous ACKs.
    pub(crate) sack_cache: SackCache,
    /// The three highest SACKed segments, ascending; IsLost of RFC 6675 needs the third.
    highest: [u64; 3],
    /// Position of the loss-detection rules: every segment below is SACKed, marked lost or retransmitted.
    scan: u64,
    /// Segments marked lost and not yet retransmitted, in order of marking; if `time_based`, by segment number.
    lost_queue: VecDeque<u64>,
    /// Retransmissions in order of transmission.
    retransmissions: VecDeque<Retransmission>,
    /// For RACK, as in Linux: losses are detected by transmission time, and the lowest segment is retransmitted first.
    time_based: bool,
    /// A segment retransmitted without being marked lost stays in flight when it is SACKed (Linux, tcp_sacktag_one).
    keeps_copies: bool,
}

const NONE: u64 = u64::MAX;
/// Minimum slots of the ring.
const SMALLEST: usize = 16;

impl Scoreboard {
    /// An empty scoreboard; `first` is the number of the first segment.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            ring: Vec::new(),
            una: first,
            next: first,
            mask: 0,
            sacked: 0,
            lost: 0,
            retrans: 0,
            highest_sacked_end: first,
            retransmitted_end: first,
            sack_cache: SackCache::default(),
            highest: [NONE; 3],
            lost_queue: VecDeque::new(),
            retransmissions: VecDeque::new(),
            scan: first,
            time_based: false,
            keeps_copies: false,
        }
    }

    /// An empty scoreboard for RACK, under Linux' rules or those of the RFCs.
    pub(crate) fn time_based(first: u64, linux: bool) -> Self {
        Self { time_based: true, keeps_copies: linux, ..Self::new(first) }
    }

    #[inline]
    fn slot(&self, seq: u64) -> usize {
        (seq as u32 & self.mask) as usize
    }

    /// The segment `seq`, which must be in flight.
    #[inline]
    pub(crate) fn get(&self, seq: u64) -> &Segment {
        &self.ring[self.slot(seq)]
    }

    /// The segment `seq`, which must be in flight.
    #[inline]
    pub(crate) fn get_mut(&mut self, seq: u64) -> &mut Segment {
        let slot = self.slot(seq);
        &mut self.ring[slot]
    }

    /// Segments between `una` and `next`.
    #[inline]
    pub(crate) fn flight_size(&self) -> u32 {
        (self.next - self.una) as u32
    }

    /// One past the highest segment known to have arrived.
    #[inline]
    pub(crate) fn fack(&self) -> u64 {
        self.highest_sacked_end.max(self.una)
    }

    /// Whether every segment in flight was sent once and is neither SACKed nor marked lost.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.sacked == 0 && self.lost == 0 && self.retrans == 0 && self.una >= self.retransmitted_end
    }

    /// Estimated segments in flight (Linux, tcp_packets_in_flight): flight size − SACKed − lost + retransmitted.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.flight_size() + self.retrans - self.sacked - self.lost
    }

    /// Appends a new segment and returns its number.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) -> u64 {
        if self.flight_size() as usize == self.ring.len() {
            self.resize((2 * self.ring.len()).max(SMALLEST));
        } else if self.slot(self.next) == 0 {
            self.shrink();
        }
        let seq = self.next;
        self.next += 1;
        *self.get_mut(seq) = segment;
        self.prefetch(seq + 2);
        seq
    }

    /// Prefetches the first segments that an ACK may acknowledge.
    #[inline]
    pub(crate) fn prefetch_first(&self) {
        self.prefetch(self.una);
        self.prefetch(self.una + 2);
    }

    /// Prefetches the segment `seq`.
    #[inline]
    fn prefetch(&self, seq: u64) {
        prefetch_index(&self.ring, self.slot(seq));
    }

    /// Halves a ring of which at most a quarter is in use; called once per lap. Every slot is written in turn, so that
    /// a ring sized in an early slow start would displace other data from the cache.
    #[cold]
    fn shrink(&mut self) {
        if self.ring.len() > SMALLEST && self.flight_size() as usize <= self.ring.len() / 4 {
            self.resize(self.ring.len() / 2);
        }
    }

    #[cold]
    fn resize(&mut self, size: usize) {
        let mut ring = vec![Segment::default(); size];
        let mask = size as u32 - 1;
        for seq in self.una..self.next {
            ring[(seq as u32 & mask) as usize] = *self.get(seq);
        }
        self.ring = ring;
        self.mask = mask;
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.ring.capacity() * size_of::<Segment>()
            + self.lost_queue.capacity() * 8
            + self.retransmissions.capacity() * size_of::<Retransmission>()
    }

    /// Removes and returns the oldest segment, and updates the counts.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Segment {
        let segment = *self.get(self.una);
        self.una += 1;
        if segment.flags & (SACKED | LOST | RETRANS) != 0 {
            if segment.flags & SACKED != 0 {
                self.sacked -= 1;
                if self.sacked == 0 {
                    self.highest = [NONE; 3];
                }
            } else if segment.flags & LOST != 0 {
                self.lost -= 1;
            }
            if segment.flags & RETRANS != 0 {
                self.retrans -= 1;
            }
        }
        segment
    }

    /// Removes the oldest segment together with the following segments below `to` that form a run with it.
    #[inline]
    pub(crate) fn pop_run(&mut self, to: u64) -> Run {
        let first = self.una;
        let segment = self.pop_front();
        let mut bytes = u64::from(segment.len);
        let mut last = segment;
        if segment.flags & TOUCHED == 0 {
            let mut end = self.una;
            while end < to && self.get(end).flags & TOUCHED == 0 {
                bytes += u64::from(self.get(end).len);
                end += 1;
            }
            if end > self.una {
                last = *self.get(end - 1);
                self.una = end;
            }
        }
        let segments = (self.una - first) as u32;
        Run { first, first_sent_at: segment.sent_at, last, segments, bytes: Bytes(bytes) }
    }

    /// Removes the oldest segments below `to`, all of which are [untouched](Self::is_untouched).
    #[inline]
    pub(crate) fn pop_untouched(&mut self, to: u64) -> Run {
        let ring = self.ring.as_slice();
        let first = self.una;
        let segments = (to - self.una) as u32;
        let at = |one: u32| &ring[((first as u32).wrapping_add(one) & self.mask) as usize];
        let first_sent_at = at(0).sent_at;
        let bytes = (0..segments).map(|one| u64::from(at(one).len)).sum();
        let last = *at(segments - 1);
        self.una = to;
        Run { first, first_sent_at, last, segments, bytes: Bytes(bytes) }
    }

    /// Prefetches the next segments after the oldest ones were removed; called once per ACK that advances SND.UNA.
    #[inline]
    pub(crate) fn on_una_advanced(&mut self) {
        self.prefetch(self.una + 1);
        self.prefetch(self.una + 2);
        if self.flight_size() == 0 {
            self.lost_queue.clear();
            self.retransmissions.clear();
        }
    }

    /// First segment at or after `seq` that is not SACKed, or `next`.
    #[inline]
    fn first_unsacked(&mut self, seq: u64) -> u64 {
        let mut at = seq;
        while at < self.next && self.get(at).flags & SACKED != 0 {
            at += u64::from(self.get(at).jump);
        }
        // Path compression: every skipped run points to the end.
        let mut from = seq;
        while from < at {
            let entry = self.get_mut(from);
            let step = u64::from(entry.jump);
            entry.jump = (at - from) as u32;
            from += step;
        }
        at
    }

    /// Marks the segments of `[from, to)` SACKed. Calls `each` for every newly SACKed one, before its flags change.
    #[inline]
    pub(crate) fn sack(&mut self, from: u64, to: u64, mut each: impl FnMut(u64, &Segment)) {
        let to = to.min(self.next);
        let keeps_copies = self.keeps_copies;
        let mut at = self.first_unsacked(from.max(self.una));
        while at < to {
            let segment = self.get_mut(at);
            each(at, segment);
            let flags = segment.flags;
            // Linux, tcp_sacktag_one: a segment retransmitted without being marked lost stays in flight although the
            // original arrived. RFC 6675, SetPipe: a SACKed segment is not in the pipe.
            let copy_in_flight = keeps_copies && flags & (LOST | RETRANS) == RETRANS;
            let cleared = if copy_in_flight { LOST } else { LOST | RETRANS };
            segment.flags = (flags | SACKED) & !cleared;
            segment.jump = 1;
            self.sacked += 1;
            if flags & LOST != 0 {
                self.lost -= 1;
            }
            if flags & RETRANS != 0 && !copy_in_flight {
                self.retrans -= 1;
            }
            self.note_highest(at);
            at = self.first_unsacked(at + 1);
        }
        self.highest_sacked_end = self.highest_sacked_end.max(to);
    }

    #[inline]
    fn note_highest(&mut self, seq: u64) {
        let top = &mut self.highest;
        if top[2] == NONE || seq > top[2] {
            *top = [top[1], top[2], seq];
        } else if top[1] == NONE || seq > top[1] {
            *top = [top[1], seq, top[2]];
        } else if top[0] == NONE || seq > top[0] {
            top[0] = seq;
        }
    }

    /// Marks `seq` lost and queues it for retransmission. In Linux a retransmission whose segment an undo has unmarked is not
    /// lost by its first mark, which is that of the original (`tcp_mark_skb_lost`): it stays in flight, and only the timeout
    /// repeats it.
    #[inline]
    pub(crate) fn mark_lost(&mut self, seq: u64) {
        let keeps_copies = self.keeps_copies;
        let segment = self.get_mut(seq);
        debug_assert!(segment.flags & SACKED == 0, "a SACKed segment cannot be lost");
        let is_original = keeps_copies && segment.flags & LOST == 0;
        if segment.flags & RETRANS != 0 && !is_original {
            segment.flags &= !RETRANS;
            self.retrans -= 1;
        }
        let segment = self.get_mut(seq);
        if segment.flags & LOST == 0 {
            segment.flags |= LOST;
            self.lost += 1;
        }
        if self.time_based && self.lost_queue.back().is_some_and(|&last| last > seq) {
            let at = self.lost_queue.partition_point(|&queued| queued < seq);
            self.lost_queue.insert(at, seq);
        } else {
            self.lost_queue.push_back(seq);
        }
    }

    /// Marks `seq` lost by RACK's rule.
    fn mark_lost_by_time(&mut self, seq: u64) {
        self.mark_lost(seq);
        self.get_mut(seq).flags |= OFF_TSORTED;
    }

    /// RFC 6675, IsLost: segments below this limit that are not SACKed have `dup_thresh` SACKed segments above them.
    pub(crate) fn sack_limit(&self, dup_thresh: u32) -> u64 {
        if dup_thresh == 3 {
            if self.highest[0] == NONE {
                self.una
            } else {
                self.highest[0]
            }
        } else if self.sacked >= dup_thresh {
            self.fack().saturating_sub(u64::from(dup_thresh))
        } else {
            self.una
        }
    }

    /// FACK: segments below this limit that are not SACKed are more than `reordering` below the highest SACKed one.
    pub(crate) fn fack_limit(&self, reordering: u32) -> u64 {
        self.fack().saturating_sub(u64::from(reordering)).max(self.una)
    }

    /// Marks lost every segment below `limit` that is neither SACKed nor retransmitted; returns their number.
    pub(crate) fn mark_below(&mut self, limit: u64) -> u32 {
        self.mark_while(limit.min(self.next), |_, _| true)
    }

    /// RACK: marks original transmissions lost in order of transmission while `overdue` holds (RFC 8985, section 6.2,
    /// step 5); returns their number.
    pub(crate) fn mark_while(&mut self, limit: u64, mut overdue: impl FnMut(u64, &Segment) -> bool) -> u32 {
        let mut marked = 0;
        let mut at = self.scan.max(self.una);
        while at < limit {
            let segment = self.get(at);
            if segment.flags & SACKED != 0 {
                at = self.first_unsacked(at);
                continue;
            }
            if segment.flags & (LOST | RETRANS | EVER_RETRANS | OFF_TSORTED) == 0 {
                if !overdue(at, segment) {
                    break;
                }
                self.mark_lost_by_time(at);
                marked += 1;
            }
            at += 1;
        }
        self.scan = at.min(self.next);
        marked
    }

    /// Latest transmission time of the segments that RACK still considers and that satisfy `before`, an order by time,
    /// then by number.
    pub(crate) fn last_sent(&mut self, before: impl Fn(Time, u64) -> bool) -> Option<Time> {
        let mut last = None;
        let mut at = self.scan.max(self.una);
        while at < self.next {
            let segment = self.get(at);
            if segment.flags & SACKED != 0 {
                at = self.first_unsacked(at);
                continue;
            }
            if segment.flags & (LOST | RETRANS | EVER_RETRANS | OFF_TSORTED) == 0 {
                if !before(segment.sent_at, at) {
                    break;
                }
                last = Some(segment.sent_at);
            }
            at += 1;
        }
        // Usually all retransmissions sent before the newest delivered segment have been marked lost.
        if self.retransmissions.front().is_none_or(|one| !before(one.sent_at, 0)) {
            return last;
        }
        let end = self.retransmissions.partition_point(|one| before(one.sent_at, 0));
        let mut candidates = self.retransmissions.range(..end).rev();
        let again = candidates.find(|one| before(one.sent_at, one.seq) && self.is_outstanding(one));
        last.max(again.map(|one| one.sent_at))
    }

    /// Whether the retransmission is the latest one of its segment, and neither acknowledged nor marked lost.
    fn is_outstanding(&self, one: &Retransmission) -> bool {
        if one.seq < self.una || one.seq >= self.next {
            return false;
        }
        let segment = self.get(one.seq);
        if segment.sent_at != one.sent_at {
            return false;
        }
        if !self.time_based {
            return segment.flags & RETRANS != 0;
        }
        segment.flags & (SACKED | OFF_TSORTED) == 0 && segment.flags & (LOST | RETRANS) != LOST
    }

    /// Marks outstanding retransmissions lost, oldest first, while `lost` holds; returns their number.
    pub(crate) fn mark_retransmitted_while(&mut self, mut lost: impl FnMut(&Retransmission) -> bool) -> u32 {
        let mut marked = 0;
        while let Some(&front) = self.retransmissions.front() {
            if self.is_outstanding(&front) {
                if !lost(&front) {
                    break;
                }
                self.mark_lost_by_time(front.seq);
                marked += 1;
            }
            self.retransmissions.pop_front();
        }
        marked
    }

    /// The next segment to retransmit.
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        while let Some(&seq) = self.lost_queue.front() {
            if seq >= self.una {
                let flags = self.get(seq).flags;
                if flags & (SACKED | RETRANS) == 0 && flags & LOST != 0 {
                    return Some(seq);
                }
            }
            self.lost_queue.pop_front();
        }
        None
    }

    /// Records the retransmission of `seq`, which is marked lost.
    pub(crate) fn retransmit(&mut self, seq: u64, now: Time) {
        let segment = self.get_mut(seq);
        let counted = segment.flags & RETRANS != 0;
        segment.flags |= RETRANS;
        self.retrans += u32::from(!counted);
        self.send_copy(seq, now);
    }

    /// Records the transmission of another copy of `seq`, which does not count as in flight (Linux,
    /// tcp_send_loss_probe).
    pub(crate) fn send_copy(&mut self, seq: u64, now: Time) {
        let next = self.next;
        let segment = self.get_mut(seq);
        segment.flags = (segment.flags | EVER_RETRANS) & !OFF_TSORTED;
        segment.sent_at = now;
        self.retransmitted_end = self.retransmitted_end.max(seq + 1);
        self.retransmissions.push_back(Retransmission { seq, sent_at: now, next });
    }

    /// Removes the retransmission of `seq` from the data in flight, after a D-SACK.
    pub(crate) fn clear_retrans(&mut self, seq: u64) {
        self.get_mut(seq).flags &= !RETRANS;
        self.retrans -= 1;
    }

    /// Whether a retransmitted segment is outstanding (Linux, tcp_any_retrans_done).
    pub(crate) fn any_retrans_done(&self) -> bool {
        self.retrans > 0 || (self.flight_size() > 0 && self.get(self.una).flags & EVER_RETRANS != 0)
    }

    /// After an RTO, marks lost all segments that are not SACKed, including retransmissions (RFC 5681; RFC 6675,
    /// section 5.1). Segments that satisfy `spare` are not marked, except the first one. Returns the number of those newly
    /// marked, of which retransmissions are lost again (Linux, tcp_mark_skb_lost).
    pub(crate) fn mark_all_lost(&mut self, spare: impl Fn(&Segment) -> bool) -> u32 {
        self.lost_queue.clear();
        let mut spared = false;
        let mut marked = 0;
        let mut at = self.una;
        while at < self.next {
            at = self.first_unsacked(at);
            if at >= self.next {
                break;
            }
            if at > self.una && spare(self.get(at)) {
                spared = true;
                if self.get(at).flags & (LOST | RETRANS) == LOST {
                    self.mark_lost(at); // it is still not retransmitted
                }
            } else {
                marked += u32::from(self.get(at).flags & (LOST | RETRANS) != LOST);
                self.mark_lost(at);
                if at == self.una && self.get(at).flags & RETRANS != 0 {
                    self.clear_retrans(at); // the timer repeats the first one in any case (Linux, tcp_retransmit_timer)
                }
            }
            at += 1;
        }
        let mut kept = std::mem::take(&mut self.retransmissions);
        kept.retain(|one| self.is_outstanding(one));
        self.retransmissions = kept;
        self.scan = if spared { self.una } else { self.next };
        marked
    }

    /// Discards all SACKs of a receiver that reneged (RFC 2018, section 8).
    pub(crate) fn discard_sacks(&mut self) {
        for seq in self.una..self.next {
            self.get_mut(seq).flags &= !SACKED;
        }
        self.sacked = 0;
        self.sack_cache = SackCache::default();
        self.highest_sacked_end = self.una;
        self.highest = [NONE; 3];
        self.scan = self.una;
    }

    /// Clears all loss marks after a spurious loss detection; all segments are considered again.
    pub(crate) fn unmark_all_lost(&mut self) {
        // Only RACK has a list of segments in the order of transmission, from which lost ones are removed.
        let cleared = if self.time_based { LOST } else { LOST | OFF_TSORTED };
        for seq in self.una..self.next {
            self.get_mut(seq).flags &= !cleared;
        }
        self.lost = 0;
        self.lost_queue.clear();
        self.scan = self.una;
        if !self.time_based {
            return;
        }
        let mut again: Vec<_> = (self.una..self.next)
            .filter(|&seq| self.get(seq).flags & (SACKED | EVER_RETRANS | OFF_TSORTED) == EVER_RETRANS)
            .map(|seq| Retransmission { seq, sent_at: self.get(seq).sent_at, next: self.next })
            .collect();
        again.sort_unstable_by_key(|one| (one.sent_at, one.seq));
        self.retransmissions = again.into();
    }

    /// The lowest segment in `[from, to)` that is neither SACKed, retransmitted nor marked lost (RFC 6675, NextSeg rule
    /// 3).
    pub(crate) fn next_hole(&mut self, from: u64, to: u64) -> Option<u64> {
        let mut at = from.max(self.una);
        while at < to {
            at = self.first_unsacked(at);
            if at >= to {
                return None;
            }
            if self.get(at).flags & (RETRANS | LOST) == 0 {
                return Some(at);
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests;
