//! What became of every segment in flight.
//!
//! Three ideas keep an ACK at O(1) amortised, whatever the window: SACKed runs are skipped by a union-find in the
//! segments themselves; every detection rule is a pointer that moves forward only, since what it marks once stays
//! marked; retransmissions stand in a queue in the order of their sending, so that time and order agree there too.

use std::collections::VecDeque;

use prefetch_index::prefetch_index;

/// The receiver reported it.
pub const SACKED: u8 = 1;
/// Taken for lost.
pub const LOST: u8 = 2;
/// A retransmission of it is outstanding.
pub const RETRANS: u8 = 4;
/// It was retransmitted at some time.
pub const EVER_RETRANS: u8 = 8;
/// The sender was short of data when it left.
pub const APP_LIMITED: u8 = 16;
/// RACK marked it and looks at it again when it left again, not before: Linux takes it off the list by time of sending.
const OFF_CLOCK: u8 = 32;

/// A segment in flight. Times in ns, `delivered` in bytes, as Linux' `tcp_skb_cb.tx`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// When it was last sent.
    pub sent_at: u64,
    /// When the first segment of its rate sample was sent.
    pub first_sent_at: u64,
    /// When `delivered` was last raised before it left.
    pub delivered_at: u64,
    /// Bytes delivered before it left.
    pub delivered: u64,
    /// Of a SACKed segment: how far ahead the next one is that may not be SACKed.
    pub(crate) jump: u32,
    /// Payload.
    pub len: u16,
    /// Flags above.
    pub flags: u8,
    /// How often it was sent again.
    pub resent: u8,
}

/// A retransmission: segment, when it left, and the next new segment at that moment.
#[derive(Clone, Copy, Debug)]
pub struct Resent {
    /// The segment.
    pub seq: u64,
    /// When it was sent again.
    pub sent_at: u64,
    /// `snd_nxt` then.
    pub next: u64,
}

/// The segments between `una` and `next`. What only losses need stands last.
#[derive(Debug)]
#[repr(C)]
pub struct Scoreboard {
    ring: Vec<Segment>,
    mask: u32,
    /// Oldest unacknowledged segment.
    pub una: u64,
    /// Next new segment.
    pub next: u64,
    /// SACKed segments.
    pub sacked: u32,
    /// Segments marked lost (SACKed ones excluded).
    pub lost: u32,
    /// Retransmissions outstanding.
    pub retrans: u32,
    /// One past the highest segment known to have arrived.
    pub fack: u64,
    /// The three highest SACKed segments, ascending; RFC 6675's IsLost asks for the third.
    top: [u64; 3],
    /// Where each marking rule goes on: nothing unSACKed, unmarked and never retransmitted lies below.
    scan: u64,
    /// Marked lost, waiting for retransmission, in the order of marking; of the numbers `by_time`.
    queue: VecDeque<u64>,
    /// Retransmissions in the order of sending.
    pub resent: VecDeque<Resent>,
    /// As RACK keeps it: by time of sending, and what goes again goes lowest first, as Linux' retransmission queue.
    by_time: bool,
}

const NONE: u64 = u64::MAX;
/// Slots of the smallest ring.
const SMALLEST: usize = 16;

impl Default for Scoreboard {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Scoreboard {
    /// Empty; `first` is the number of the first segment.
    #[must_use]
    pub fn new(first: u64) -> Self {
        Self {
            ring: Vec::new(),
            mask: 0,
            una: first,
            next: first,
            sacked: 0,
            lost: 0,
            retrans: 0,
            fack: first,
            top: [NONE; 3],
            queue: VecDeque::new(),
            resent: VecDeque::new(),
            scan: first,
            by_time: false,
        }
    }

    /// Empty, for RACK.
    #[must_use]
    pub fn by_time(first: u64) -> Self {
        Self { by_time: true, ..Self::new(first) }
    }

    #[inline]
    fn slot(&self, seq: u64) -> usize {
        (seq as u32 & self.mask) as usize
    }

    /// The segment `seq`, which must be in flight.
    #[inline]
    #[must_use]
    pub fn get(&self, seq: u64) -> &Segment {
        &self.ring[self.slot(seq)]
    }

    /// The segment `seq`, which must be in flight.
    #[inline]
    pub fn get_mut(&mut self, seq: u64) -> &mut Segment {
        let slot = self.slot(seq);
        &mut self.ring[slot]
    }

    /// Segments between `una` and `next`.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        (self.next - self.una) as u32
    }

    /// In flight as Linux estimates it: outstanding − SACKed − lost + retransmitted.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.outstanding() + self.retrans - self.sacked - self.lost
    }

    /// Adds a new segment and answers its number.
    #[inline]
    pub fn push(&mut self, segment: Segment) -> u64 {
        if self.outstanding() as usize == self.ring.len() {
            self.resize((2 * self.ring.len()).max(SMALLEST));
        } else if self.slot(self.next) == 0 {
            self.fit();
        }
        let seq = self.next;
        self.next += 1;
        *self.get_mut(seq) = segment;
        self.expect(seq + 2);
        seq
    }

    /// The segment `seq` is soon asked for.
    #[inline]
    fn expect(&self, seq: u64) {
        prefetch_index(&self.ring, self.slot(seq));
    }

    /// Once per lap: a ring that was a quarter full at most is halved. Every slot is written in turn, so that what a slow
    /// start once needed would push the rest out of the cache for ever.
    #[cold]
    fn fit(&mut self) {
        if self.ring.len() > SMALLEST && self.outstanding() as usize <= self.ring.len() / 4 {
            self.resize(self.ring.len() / 2);
        }
    }

    fn resize(&mut self, size: usize) {
        let mut ring = vec![Segment::default(); size];
        let mask = size as u32 - 1;
        for seq in self.una..self.next {
            ring[(seq as u32 & mask) as usize] = *self.get(seq);
        }
        self.ring = ring;
        self.mask = mask;
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.ring.capacity() * size_of::<Segment>()
            + self.queue.capacity() * 8
            + self.resent.capacity() * size_of::<Resent>()
    }

    /// Takes the oldest segment off, with all counts. The caller looks at it afterwards.
    #[inline]
    pub fn pop_front(&mut self) -> Segment {
        let segment = *self.get(self.una);
        self.una += 1;
        if segment.flags & (SACKED | LOST | RETRANS) != 0 {
            if segment.flags & SACKED != 0 {
                self.sacked -= 1;
            } else if segment.flags & LOST != 0 {
                self.lost -= 1;
            }
            if segment.flags & RETRANS != 0 {
                self.retrans -= 1;
            }
        }
        segment
    }

    /// Tidies the pointers after the oldest segments went. Call once per ACK that advanced.
    #[inline]
    pub fn advanced(&mut self) {
        self.expect(self.una + 1);
        self.expect(self.una + 2);
        if self.fack < self.una {
            self.fack = self.una;
        }
        if self.scan < self.una {
            self.scan = self.una;
        }
        if self.outstanding() == 0 {
            self.queue.clear();
            self.resent.clear();
        }
        if self.sacked == 0 {
            self.top = [NONE; 3];
        }
    }

    /// First segment at or after `seq` that is not SACKED (or `next`).
    #[inline]
    fn find(&mut self, seq: u64) -> u64 {
        let mut at = seq;
        while at < self.next && self.get(at).flags & SACKED != 0 {
            at += u64::from(self.get(at).jump);
        }
        // Path compression: every run skipped on the way points to its end.
        let mut from = seq;
        while from < at {
            let entry = self.get_mut(from);
            let step = u64::from(entry.jump);
            entry.jump = (at - from) as u32;
            from += step;
        }
        at
    }

    /// Marks what is new in `[from, to)` as SACKed and calls `each` on it, before its flags change.
    #[inline]
    pub fn sack(&mut self, from: u64, to: u64, mut each: impl FnMut(u64, &Segment)) {
        let to = to.min(self.next);
        let by_time = self.by_time;
        let mut at = self.find(from.max(self.una));
        while at < to {
            let segment = self.get_mut(at);
            each(at, segment);
            let flags = segment.flags;
            // Linux, tcp_sacktag_one: what was sent again without being lost is still in flight, though the original arrived.
            let twice = by_time && flags & (LOST | RETRANS) == RETRANS;
            let cleared = if twice { LOST } else { LOST | RETRANS };
            segment.flags = (flags | SACKED) & !cleared;
            segment.jump = 1;
            self.sacked += 1;
            if flags & LOST != 0 {
                self.lost -= 1;
            }
            if flags & RETRANS != 0 && !twice {
                self.retrans -= 1;
            }
            self.note_top(at);
            at = self.find(at + 1);
        }
        if to > self.fack {
            self.fack = to;
        }
    }

    #[inline]
    fn note_top(&mut self, seq: u64) {
        let top = &mut self.top;
        if top[2] == NONE || seq > top[2] {
            *top = [top[1], top[2], seq];
        } else if top[1] == NONE || seq > top[1] {
            *top = [top[1], seq, top[2]];
        } else if top[0] == NONE || seq > top[0] {
            top[0] = seq;
        }
    }

    /// Marks `seq` lost and queues it.
    #[inline]
    pub fn mark_lost(&mut self, seq: u64) {
        let segment = self.get_mut(seq);
        debug_assert!(segment.flags & SACKED == 0, "a SACKed segment cannot be lost");
        if segment.flags & RETRANS != 0 {
            segment.flags &= !RETRANS;
            self.retrans -= 1;
        }
        let segment = self.get_mut(seq);
        if segment.flags & LOST == 0 {
            segment.flags |= LOST;
            self.lost += 1;
        }
        if self.by_time && self.queue.back().is_some_and(|&last| last > seq) {
            let at = self.queue.partition_point(|&queued| queued < seq);
            self.queue.insert(at, seq);
        } else {
            self.queue.push_back(seq);
        }
    }

    /// RACK marks `seq` lost.
    fn mark_late(&mut self, seq: u64) {
        self.mark_lost(seq);
        self.get_mut(seq).flags |= OFF_CLOCK;
    }

    /// RFC 6675's limit: whatever is unSACKed below it has three SACKed segments above.
    #[must_use]
    pub fn limit_sack(&self, dup_thresh: u32) -> u64 {
        if dup_thresh == 3 {
            if self.top[0] == NONE {
                self.una
            } else {
                self.top[0]
            }
        } else if self.sacked >= dup_thresh {
            self.fack.saturating_sub(u64::from(dup_thresh))
        } else {
            self.una
        }
    }

    /// FACK's limit: whatever is unSACKed more than `reordering` below the forward-most SACKed one.
    #[must_use]
    pub fn limit_fack(&self, reordering: u32) -> u64 {
        self.fack.saturating_sub(u64::from(reordering)).max(self.una)
    }

    /// Marks every unSACKed, never retransmitted segment below `limit` lost; answers how many.
    pub fn mark_below(&mut self, limit: u64) -> u32 {
        self.mark_while(limit.min(self.next), |_, _| true)
    }

    /// RACK: marks originals in sending order while `late` says so (RFC 8985, step 5).
    pub fn mark_while(&mut self, limit: u64, mut late: impl FnMut(u64, &Segment) -> bool) -> u32 {
        let mut marked = 0;
        let mut at = self.scan.max(self.una);
        while at < limit {
            let segment = self.get(at);
            if segment.flags & SACKED != 0 {
                at = self.find(at);
                continue;
            }
            if segment.flags & (LOST | RETRANS | EVER_RETRANS | OFF_CLOCK) == 0 {
                if !late(at, segment) {
                    break;
                }
                self.mark_late(at);
                marked += 1;
            }
            at += 1;
        }
        self.scan = at.min(self.next);
        marked
    }

    /// When the last of the segments left that RACK waits for and that `before` holds for.
    pub fn last_sent(&mut self, before: impl Fn(u64, u64) -> bool) -> Option<u64> {
        let mut last = None;
        let mut at = self.scan.max(self.una);
        while at < self.next {
            let segment = self.get(at);
            if segment.flags & SACKED != 0 {
                at = self.find(at);
                continue;
            }
            if segment.flags & (LOST | RETRANS | EVER_RETRANS | OFF_CLOCK) == 0 {
                if !before(segment.sent_at, at) {
                    break;
                }
                last = Some(segment.sent_at);
            }
            at += 1;
        }
        let again = self.resent.iter().rev().find(|one| before(one.sent_at, one.seq) && self.awaits(one));
        last.max(again.map(|one| one.sent_at))
    }

    /// The retransmission is the latest of its segment, and on its way as far as anybody knows.
    fn awaits(&self, one: &Resent) -> bool {
        if one.seq < self.una || one.seq >= self.next {
            return false;
        }
        let segment = self.get(one.seq);
        if segment.sent_at != one.sent_at {
            return false;
        }
        if !self.by_time {
            return segment.flags & RETRANS != 0;
        }
        segment.flags & (SACKED | OFF_CLOCK) == 0 && segment.flags & (LOST | RETRANS) != LOST
    }

    /// Takes the oldest live retransmission off the queue if `lost` says so, and marks it lost again.
    pub fn mark_resent_while(&mut self, mut lost: impl FnMut(&Resent) -> bool) -> u32 {
        let mut marked = 0;
        while let Some(&front) = self.resent.front() {
            if self.awaits(&front) {
                if !lost(&front) {
                    break;
                }
                self.mark_late(front.seq);
                marked += 1;
            }
            self.resent.pop_front();
        }
        marked
    }

    /// The next segment to retransmit.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u64> {
        while let Some(&seq) = self.queue.front() {
            if seq >= self.una {
                let flags = self.get(seq).flags;
                if flags & (SACKED | RETRANS) == 0 && flags & LOST != 0 {
                    return Some(seq);
                }
            }
            self.queue.pop_front();
        }
        None
    }

    /// `seq` leaves again, in place of the one that is lost.
    pub fn resend(&mut self, seq: u64, now: u64) {
        let segment = self.get_mut(seq);
        let counted = segment.flags & RETRANS != 0;
        segment.flags |= RETRANS;
        self.retrans += u32::from(!counted);
        self.send_again(seq, now);
    }

    /// `seq` leaves again to ask whether it arrived: a second copy, which counts as in flight no more than the first
    /// (Linux, tcp_send_loss_probe).
    pub fn send_again(&mut self, seq: u64, now: u64) {
        let next = self.next;
        let segment = self.get_mut(seq);
        segment.flags = (segment.flags | EVER_RETRANS) & !OFF_CLOCK;
        segment.sent_at = now;
        segment.resent = segment.resent.saturating_add(1);
        self.resent.push_back(Resent { seq, sent_at: now, next });
    }

    /// The retransmission of `seq` is known to have arrived, beside the original.
    pub fn forget_resent(&mut self, seq: u64) {
        self.get_mut(seq).flags &= !RETRANS;
        self.retrans -= 1;
    }

    /// Something that was sent again is not acknowledged yet (Linux, tcp_any_retrans_done).
    #[must_use]
    pub fn any_resent(&self) -> bool {
        self.retrans > 0 || (self.outstanding() > 0 && self.get(self.una).flags & EVER_RETRANS != 0)
    }

    /// The timer expired: everything not SACKed is lost, retransmissions too (RFC 5681, RFC 6675 section 5.1), but for what
    /// `spare` says of all but the head.
    pub fn lose_all(&mut self, spare: impl Fn(&Segment) -> bool) {
        self.queue.clear();
        let mut spared = false;
        let mut at = self.una;
        while at < self.next {
            at = self.find(at);
            if at >= self.next {
                break;
            }
            if at > self.una && spare(self.get(at)) {
                spared = true;
                if self.get(at).flags & (LOST | RETRANS) == LOST {
                    self.mark_lost(at); // it waits still
                }
            } else {
                self.mark_lost(at);
            }
            at += 1;
        }
        if spared {
            let mut resent = std::mem::take(&mut self.resent);
            resent.retain(|one| self.awaits(one));
            self.resent = resent;
            self.scan = self.una;
        } else {
            self.resent.clear();
            self.scan = self.next;
        }
    }

    /// The receiver threw away what it had SACKed (RFC 2018, section 8).
    pub fn forget_sacks(&mut self) {
        for seq in self.una..self.next {
            self.get_mut(seq).flags &= !SACKED;
        }
        self.sacked = 0;
        self.fack = self.una;
        self.top = [NONE; 3];
        self.scan = self.una;
    }

    /// A reduction was spurious: what was marked lost is in flight again, and stands where it left by the clock.
    pub fn unlose_all(&mut self) {
        for seq in self.una..self.next {
            self.get_mut(seq).flags &= !LOST;
        }
        self.lost = 0;
        self.queue.clear();
        if !self.by_time {
            return;
        }
        self.scan = self.una;
        let mut resent: Vec<_> = (self.una..self.next)
            .filter(|&seq| self.get(seq).flags & (SACKED | EVER_RETRANS | OFF_CLOCK) == EVER_RETRANS)
            .map(|seq| Resent { seq, sent_at: self.get(seq).sent_at, next: self.next })
            .collect();
        resent.sort_unstable_by_key(|one| (one.sent_at, one.seq));
        self.resent = resent.into();
    }

    /// The lowest segment that is neither SACKed nor retransmitted since `from`, below `to` (RFC 6675, NextSeg rule 3).
    pub fn next_hole(&mut self, from: u64, to: u64) -> Option<u64> {
        let mut at = from.max(self.una);
        while at < to {
            at = self.find(at);
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board(n: u32) -> Scoreboard {
        let mut board = Scoreboard::new(0);
        for at in 0..n {
            board.push(Segment { sent_at: u64::from(at) + 1, len: 1000, ..Segment::default() });
        }
        board
    }

    /// RFC 6675, IsLost, by hand: of 20 segments number 5 is missing. Two SACKed above it are too few, three are enough.
    #[test]
    fn three_sacked_segments_above_make_a_loss() {
        let mut board = board(20);
        for _ in 0..5 {
            board.pop_front();
        }
        board.advanced();
        board.sack(6, 8, |_, _| {});
        assert_eq!(board.mark_below(board.limit_sack(3)), 0);
        board.sack(8, 9, |_, _| {});
        assert_eq!(board.mark_below(board.limit_sack(3)), 1);
        assert_eq!(board.next_lost(), Some(5));
        assert_eq!(board.in_flight(), 15 - 3 - 1);
    }

    /// Mathis & Mahdavi 1996, by hand: one SACK four above `una` is a loss for FACK, not for RFC 6675.
    #[test]
    fn fack_acts_on_the_first_sack_beyond_three() {
        let mut board = board(10);
        board.sack(4, 5, |_, _| {});
        assert_eq!(board.mark_below(board.limit_sack(3)), 0);
        assert_eq!(board.limit_fack(3), 2);
        assert_eq!(board.mark_below(board.limit_fack(3)), 2);
    }

    proptest! {
        /// Against a plain model: flags in a vector.
        #[test]
        fn counts_agree_with_a_plain_model(steps in prop::collection::vec((0u8..5, 0u64..60, 1u64..9), 1..200)) {
            let mut board = board(60);
            let mut sacked = vec![false; 4000];
            let mut lost = vec![false; 4000];
            let mut resent = vec![false; 4000];
            for (kind, at, len) in steps {
                let seq = board.una + at;
                match kind {
                    0 => {
                        board.sack(seq, seq + len, |_, _| {});
                        for one in seq..(seq + len).min(board.next) {
                            sacked[one as usize] = true;
                            lost[one as usize] = false;
                            resent[one as usize] = false;
                        }
                    }
                    1 if board.outstanding() > 0 => {
                        board.pop_front();
                        board.advanced();
                    }
                    2 => {
                        board.mark_below(board.limit_sack(3));
                        let high: Vec<u64> = (board.una..board.next).filter(|&one| sacked[one as usize]).collect();
                        if high.len() >= 3 {
                            for one in board.una..high[high.len() - 3] {
                                if !sacked[one as usize] && !resent[one as usize] { lost[one as usize] = true; }
                            }
                        }
                    }
                    3 => {
                        if let Some(one) = board.next_lost() {
                            board.resend(one, 1000);
                            resent[one as usize] = true;
                        }
                    }
                    _ => {
                        board.push(Segment { len: 1000, ..Segment::default() });
                    }
                }
                let range = board.una..board.next;
                prop_assert_eq!(board.sacked, range.clone().filter(|&one| sacked[one as usize]).count() as u32);
                prop_assert_eq!(board.retrans, range.clone().filter(|&one| resent[one as usize]).count() as u32);
                let model = range.filter(|&one| lost[one as usize]).count() as u32;
                prop_assert_eq!(board.lost, model);
                prop_assert!(board.in_flight() <= board.outstanding() + board.retrans);
            }
        }
    }
}
