//! The data in flight of a TCP sender: what was sent, acknowledged, SACKed, and marked lost.

use std::collections::VecDeque;

use cwndlab_transport::segment::Segment;
use cwndlab_units::{Duration, Time};

use crate::event::Span;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) seq: u64,
    pub(super) end: u64,
    pub(super) segment: Segment,
    pub(super) retransmitted: bool,
    pub(super) sacked: bool,
    lost: bool,
}

impl InFlight {
    fn bytes(&self) -> u64 {
        self.end - self.seq
    }

    /// It was sent again, and nothing says yet that it arrived.
    fn is_outstanding(&self) -> bool {
        self.retransmitted && !self.sacked
    }
}

/// The data from SND.UNA to SND.NXT. The work of an ACK is in proportion to the segments that it changes.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<InFlight>,
    una: u64,
    next: u64,
    sacked: u64,
    /// End of the highest SACKed segment (Linux, tcp_highest_sack_seq).
    highest_sacked: u64,
    /// Bytes marked lost and not sent again (RFC 8985, section 6.2, step 5).
    lost: u64,
    /// Segments that were sent again and have not arrived (Linux, `retrans_out`).
    outstanding: u64,
    /// Transmission time and first byte of what was sent, in this order (Linux, `tsorted_sent_queue`): segments that are
    /// neither marked lost nor older than the newest that was delivered, and some that were acknowledged since.
    transmissions: VecDeque<(Time, u64)>,
    /// Transmission time of the most recently sent segment that was delivered (RFC 8985, RACK.xmit_ts).
    newest_delivered: Time,
}

impl Scoreboard {
    /// SND.UNA.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// SACKed data, bytes.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Data marked lost and not sent again, bytes.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments that were sent again and have not arrived.
    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    pub(super) fn newest_delivered(&self) -> Time {
        self.newest_delivered
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn flight(&self) -> u64 {
        self.next - self.una
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.flight().saturating_sub(self.sacked) // an ACK may end within a segment that is SACKed
    }

    /// The end of the highest SACKed data, or SND.UNA.
    pub(super) fn fack(&self) -> u64 {
        if self.sacked > 0 {
            self.highest_sacked
        } else {
            self.una
        }
    }

    /// The first byte of the connection, or of the capture.
    pub(super) fn begin(&mut self, seq: u64) {
        (self.una, self.next) = (seq, seq);
    }

    /// Whether the first segment was sent again, since the last timeout if there is no SACK.
    pub(super) fn is_first_retransmitted(&self) -> bool {
        self.segments.front().is_some_and(|one| one.retransmitted)
    }

    /// Whether the segment with byte `seq` is the last.
    pub(super) fn is_last(&self, seq: u64) -> bool {
        self.index(seq) + 1 == self.segments.len()
    }

    fn index(&self, seq: u64) -> usize {
        self.segments.partition_point(|one| one.end <= seq)
    }

    /// New data is sent.
    pub(super) fn send(&mut self, seq: u64, bytes: u64, segment: Segment) {
        let end = seq + bytes;
        self.segments.push_back(InFlight { seq, end, segment, retransmitted: false, sacked: false, lost: false });
        self.transmissions.push_back((segment.sent_at, seq));
        self.next = end;
    }

    /// The segment with byte `seq` is sent again.
    pub(super) fn send_again(&mut self, seq: u64, segment: Segment) {
        let index = self.index(seq);
        let Some(one) = self.segments.get_mut(index) else { return };
        self.outstanding += u64::from(!one.retransmitted && !one.sacked);
        one.retransmitted = true;
        self.lost -= if std::mem::take(&mut one.lost) { one.bytes() } else { 0 };
        one.segment = Segment { len: one.segment.len, ..segment };
        self.transmissions.push_back((segment.sent_at, one.seq));
    }

    /// Removes the first segment if `ack` acknowledges it.
    pub(super) fn acknowledge(&mut self, ack: u64) -> Option<InFlight> {
        let one = *self.segments.front().filter(|one| one.end <= ack)?;
        self.segments.pop_front();
        self.lost -= if one.lost { one.bytes() } else { 0 };
        self.sacked -= if one.sacked { one.bytes() } else { 0 };
        self.outstanding -= u64::from(one.is_outstanding());
        self.newest_delivered = self.newest_delivered.max(one.segment.sent_at);
        Some(one)
    }

    /// Everything before `ack` has arrived.
    pub(super) fn advance(&mut self, ack: u64) {
        self.una = self.una.max(ack);
    }

    /// Marks the segments of a SACK block, and passes those on that are new.
    pub(super) fn sack(&mut self, (from, to): Span, mut new: impl FnMut(&InFlight)) {
        let first = self.segments.partition_point(|one| one.seq < from);
        for one in self.segments.range_mut(first..).take_while(|one| one.end <= to).filter(|one| !one.sacked) {
            self.outstanding -= u64::from(one.is_outstanding());
            one.sacked = true;
            self.highest_sacked = if self.sacked > 0 { self.highest_sacked.max(one.end) } else { one.end };
            self.lost -= if std::mem::take(&mut one.lost) { one.bytes() } else { 0 };
            self.newest_delivered = self.newest_delivered.max(one.segment.sent_at);
            self.sacked += one.bytes();
            new(one);
        }
    }

    /// Without SACK: marks the first `count` segments lost, but those that were or were sent again (Linux,
    /// tcp_newreno_mark_lost). Returns the bytes newly marked.
    pub(super) fn mark_first_lost(&mut self, count: usize) -> u64 {
        self.transmissions.clear(); // which only marks by time need
        let mut marked = 0;
        for one in self.segments.iter_mut().take(count).filter(|one| !one.lost && !one.retransmitted) {
            one.lost = true;
            marked += one.bytes();
        }
        self.lost += marked;
        marked
    }

    /// Without SACK: a timeout marks all segments lost, those that were sent again too (Linux, tcp_timeout_mark_lost).
    /// Returns the bytes newly marked.
    pub(super) fn mark_all_lost(&mut self) -> u64 {
        self.segments.iter_mut().for_each(|one| one.retransmitted = false);
        self.outstanding = 0;
        self.mark_first_lost(usize::MAX)
    }

    /// Nothing is lost: a reduction was undone (Linux, tcp_undo_cwnd_reduction).
    pub(super) fn unmark_lost(&mut self) {
        self.segments.iter_mut().for_each(|one| one.lost = false);
        self.lost = 0;
    }

    /// Marks the segments lost that were sent before the newest that was delivered, and at least `wait` ago (RFC 8985,
    /// section 6.2, step 5). Returns the bytes newly marked.
    pub(super) fn mark_lost(&mut self, now: Time, wait: Duration) -> u64 {
        let mut marked = 0;
        while let Some(&(sent_at, seq)) = self.transmissions.front() {
            if sent_at >= self.newest_delivered || sent_at + wait > now {
                break;
            }
            self.transmissions.pop_front();
            let index = self.segments.partition_point(|one| one.seq < seq);
            let Some(one) = self.segments.get_mut(index) else { continue };
            // Otherwise it was acknowledged, or sent again since.
            if one.seq == seq && one.segment.sent_at == sent_at && !one.sacked && !one.lost {
                one.lost = true;
                marked += one.bytes();
            }
        }
        self.lost += marked;
        marked
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_transport::rate_sample::RateSampler;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn sent(ms: u64) -> Segment {
        RateSampler::default().new_segment(at(ms), 1000)
    }

    /// RFC 8985, section 6.2, by hand: the first of three segments is lost when the second arrives, and again when the third
    /// arrives after the retransmission was lost, too: it was sent before the third was sent again.
    #[test]
    fn a_retransmission_can_be_lost_as_well() {
        let mut board = Scoreboard::default();
        for number in 0..3 {
            board.send(number * 1000, 1000, sent(number));
        }
        board.sack((1000, 2000), |_| {});
        assert_eq!((board.mark_lost(at(50), Duration::ZERO), board.lost(), board.outstanding()), (1000, 1000, 0));
        board.send_again(0, sent(51));
        assert_eq!((board.mark_lost(at(52), Duration::ZERO), board.lost(), board.outstanding()), (0, 0, 1));
        board.send_again(2000, sent(60));
        board.sack((2000, 3000), |_| {});
        assert_eq!((board.mark_lost(at(110), Duration::ZERO), board.lost(), board.outstanding()), (1000, 1000, 1));
        assert_eq!((board.in_flight(), board.fack()), (1000, 3000));
        assert_eq!(std::iter::from_fn(|| board.acknowledge(3000)).count(), 3);
        board.advance(3000);
        assert_eq!((board.in_flight(), board.lost(), board.outstanding(), board.una()), (0, 0, 0, 3000));
    }

    /// A segment within the reordering window is not lost yet (RFC 8985, section 6.2, step 5).
    #[test]
    fn within_the_reordering_window_nothing_is_lost() {
        let mut board = Scoreboard::default();
        board.send(0, 1000, sent(0));
        board.send(1000, 1000, sent(1));
        board.sack((1000, 2000), |_| {});
        assert_eq!(board.mark_lost(at(50), Duration::from_millis(51)), 0);
        assert_eq!(board.mark_lost(at(51), Duration::from_millis(51)), 1000);
    }
}
