//! Deliveries reported by an ACK: cumulative acknowledgement, SACK and D-SACK blocks, RTT samples (Linux, tcp_clean_rtx_queue,
//! tcp_sacktag_write_queue).

use cwndlab_units::{Bytes, CaState, Duration, Time};

use super::Tcb;
use crate::accecn::Delivered;
use crate::ack_summary::AckSummary;
use crate::segment::{Run, EVER_RETRANS, RETRANS, SACKED};
use crate::wire::{AckPacket, MAX_BLOCKS};

impl Tcb {
    /// SND.UNA advances to `summary.ack`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Time, summary: &mut AckSummary) {
        let una = summary.prior_una;
        summary.prior_fack =
            if self.scoreboard.sacked > 0 && self.features.sack { self.scoreboard.fack() } else { una };
        self.acknowledge_run(now, summary.ack, summary);
        if self.scoreboard.una < summary.ack {
            self.acknowledge_rest(now, summary);
        }
        self.scoreboard.on_una_advanced();
    }

    /// Acknowledges the runs after the first one, if the ACK covers several.
    #[cold]
    fn acknowledge_rest(&mut self, now: Time, summary: &mut AckSummary) {
        while self.scoreboard.una < summary.ack {
            self.acknowledge_run(now, summary.ack, summary);
        }
    }

    /// Acknowledges the first run of segments below `to`.
    #[inline]
    fn acknowledge_run(&mut self, now: Time, to: u64, summary: &mut AckSummary) {
        let run = self.scoreboard.pop_run(to);
        self.counters.acked_bytes += run.bytes.0;
        if run.last.flags & SACKED == 0 {
            self.deliver(now, &run, summary);
        }
    }

    /// Delivers a run that is acknowledged cumulatively and was not SACKed before.
    #[inline]
    fn deliver(&mut self, now: Time, run: &Run, summary: &mut AckSummary) {
        let segment = &run.last;
        let original = segment.flags & EVER_RETRANS == 0;
        if original {
            summary.note_acked(now, run, self.high_seq);
        } else {
            summary.retransmitted = true;
        }
        // Linux, tcp_skb_spurious_retrans: an echo older than the retransmission belongs to the original.
        // RFC 8985, section 6.2, step 2, says the same.
        let spurious =
            !original && self.stack.timestamps && summary.echo > Time::ZERO && summary.echo < segment.sent_at;
        if !spurious {
            let min_rtt = self.rtt.min_or_max();
            self.rack.advance(now, run.last_seq(), segment, min_rtt, false, &mut summary.rack_in_order);
        }
        self.rate.on_run_delivered(run, &mut summary.rate);
    }

    /// The D-SACK of an ACK, if its first block is one: it is below the cumulative acknowledgement, or within the second
    /// block (RFC 2883, section 4).
    fn dsack_of(&self, ack: &AckPacket) -> Option<(u64, u64)> {
        let blocks = &ack.blocks.list[..(ack.blocks.len as usize).min(MAX_BLOCKS)];
        let first = *blocks.first()?;
        let second = blocks.get(1);
        let within = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
        let is_dsack = ack.blocks.duplicate || self.features.linux && (first.0 < ack.ack || second.is_some_and(within));
        is_dsack.then_some(first)
    }

    /// Processes the D-SACK of an ACK, if it has one. Called before SND.UNA advances, since the segment may be one that the
    /// same ACK acknowledges (Linux, tcp_ack: tcp_sacktag_write_queue precedes tcp_clean_rtx_queue).
    pub(crate) fn on_dsack_block(&mut self, ack: &AckPacket, summary: &mut AckSummary) {
        let Some((from, to)) = self.dsack_of(ack).filter(|_| self.features.sack) else { return };
        self.on_dsack(from, to, summary);
        if self.features.linux && summary.dsack {
            self.mark_dsacked(from, to, summary);
        }
    }

    /// Processes the SACK blocks of an ACK, except a D-SACK.
    pub(crate) fn on_sack_blocks(&mut self, now: Time, ack: &AckPacket, summary: &mut AckSummary) {
        if !self.features.sack {
            return;
        }
        let mut list = ack.blocks.list;
        let count = (ack.blocks.len as usize).min(MAX_BLOCKS);
        let blocks = &mut list[usize::from(self.dsack_of(ack).is_some())..count];
        let una = self.scoreboard.una;
        let next = self.scoreboard.next;
        let linux = self.features.linux;
        // Linux, tcp_is_sackblock_valid: a block that starts at SND.UNA is invalid.
        let is_valid = |from, to| !linux || from > una && to <= next && from < to;
        let count = self.scoreboard.sack_cache.take_new(blocks, next, is_valid);
        let blocks = &mut blocks[..count];
        if self.features.time_based && count > 1 {
            blocks.sort_unstable(); // Linux, tcp_sacktag_write_queue: in ascending order
        }
        let lowest = self.mark_sacked(now, blocks, summary).min(summary.lowest_dsacked);
        if lowest < u64::MAX && (!self.features.linux || self.state != CaState::Loss || self.undo.marker.is_some()) {
            self.note_reordering(lowest);
        }
    }

    /// Marks segments SACKed. Returns the lowest one that was sent once and is below a segment delivered before, which
    /// shows reordering; `u64::MAX` if there is none.
    fn mark_sacked(&mut self, now: Time, blocks: &[(u64, u64)], summary: &mut AckSummary) -> u64 {
        let mut lowest = u64::MAX;
        let Self { scoreboard, rack, rate, rtt, high_seq, .. } = self;
        let min_rtt = rtt.min_or_max();
        // RFC 8985, section 6.2, step 2; Linux does not ask it of SACKed segments.
        let has_echo = !self.features.linux && self.stack.timestamps && summary.echo > Time::ZERO;
        for &(from, to) in blocks {
            let fack = scoreboard.fack();
            scoreboard.sack(from, to, |seq, segment| {
                if seq < fack && segment.flags & EVER_RETRANS == 0 {
                    lowest = lowest.min(seq);
                }
                summary.note_sacked(now, seq, segment, *high_seq);
                let original = has_echo && segment.flags & EVER_RETRANS != 0 && summary.echo < segment.sent_at;
                if !original {
                    rack.advance(now, seq, segment, min_rtt, true, &mut summary.rack_in_order);
                }
                rate.on_delivered(segment, &mut summary.rate);
            });
        }
        lowest
    }

    /// Processes a D-SACK. It shows a spurious retransmission, unless D-SACKs report more than was retransmitted
    /// (Linux, tcp_dsack_seen).
    fn on_dsack(&mut self, from: u64, to: u64, summary: &mut AckSummary) {
        let count = to.saturating_sub(from).min(u64::from(u32::MAX)) as u32;
        if !self.undo.on_dsack(count, self.counters.retransmitted_packets, self.features.linux) {
            return;
        }
        summary.dsack = true;
        summary.tlp_dsack = count == 1 && self.timers.tlp_end_seq == Some(to);
        if self.features.linux {
            // A segment that arrived twice was delivered.
            summary.rate.segments += count;
            summary.rate.bytes += self.controller.bytes(count);
            self.rack.on_dsack_linux(summary.tlp_dsack);
            if to <= summary.prior_una && self.undo.marker.is_some_and(|marker| to > marker) {
                self.undo.count_spurious(count);
            }
            return;
        }
        if self.undo.marker.is_some_and(|marker| from >= marker) {
            self.undo.count_spurious(1);
        }
        self.rack.on_dsack_rfc(self.rate.round());
    }

    /// Processes a D-SACK above SND.UNA (Linux, tcp_sacktag_one): counts spurious retransmissions and removes them from
    /// the data in flight.
    fn mark_dsacked(&mut self, from: u64, to: u64, summary: &mut AckSummary) {
        for seq in from.max(self.scoreboard.una)..to.min(self.scoreboard.next) {
            let flags = self.scoreboard.get(seq).flags;
            if flags & EVER_RETRANS == 0 {
                continue;
            }
            if self.undo.marker.is_some_and(|marker| seq >= marker) {
                self.undo.count_spurious(1);
            }
            if flags & SACKED != 0 {
                summary.lowest_dsacked = summary.lowest_dsacked.min(seq);
            }
            if flags & RETRANS != 0 {
                self.scoreboard.clear_retrans(seq);
            }
        }
    }

    /// Records reordering: `lowest` was sent once and arrived after higher segments.
    pub(crate) fn note_reordering(&mut self, lowest: u64) {
        if self.features.time_based {
            self.rack.note_reordering(lowest, self.scoreboard.fack(), self.stack.dup_thresh);
        }
    }

    /// Takes the RTT sample of an ACK, and decides whether the retransmission timer restarts.
    #[inline]
    pub(crate) fn sample_rtt(&mut self, now: Time, summary: &mut AckSummary) {
        let samples = summary.rtt;
        // An ACK of a retransmitted segment gives no sample of other segments, which waited at the receiver for it
        // (Linux, tcp_clean_rtx_queue; ns-2 and BSD stop timing a segment at a retransmission).
        let in_order = if summary.retransmitted { Duration::ZERO } else { samples.oldest };
        let oldest = if in_order > Duration::ZERO { in_order } else { samples.sacked_oldest };
        summary.rtt.reported =
            if samples.sacked_newest > Duration::ZERO { samples.sacked_newest } else { samples.newest };
        if oldest > Duration::ZERO {
            self.rtt.sample(now, oldest, summary.rtt.reported);
        } else if summary.advanced && self.stack.timestamps && summary.echo > Time::ZERO && summary.echo < now {
            let sample = now - summary.echo; // RFC 7323, section 4.1: timestamps resolve Karn's ambiguity
            self.rtt.sample(now, sample, sample);
            if self.features.linux {
                summary.rtt.reported = sample;
            }
        } else if self.features.linux {
            summary.rtt.reported = Duration::ZERO;
        }
        // Linux, tcp_clean_rtx_queue: a SACK of a segment sent before the last transmission of the first one in flight
        // is progress.
        if self.features.linux
            && !summary.advanced
            && samples.sacked_oldest > Duration::ZERO
            && self.scoreboard.flight_size() > 0
        {
            let head = self.scoreboard.get(self.scoreboard.una).sent_at;
            summary.restart_timer = samples.sacked_oldest > now - head;
        }
    }

    /// Processes the ECN echo. Returns the marked data, and whether the ACK requires a reduction.
    #[inline]
    pub(crate) fn on_ecn_echo(&mut self, ack: &AckPacket, summary: &AckSummary) -> (Bytes, bool) {
        let delivered = Delivered { packets: summary.rate.segments, bytes: summary.rate.bytes };
        let (marked, echo) = self.ecn.on_ack(self.stack.ecn, ack, delivered, self.controller.mss());
        (self.controller.bytes(marked), echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Fixed;
    use crate::linux_stack;
    use crate::stack::Stack;
    use crate::tcb::Features;
    use crate::wire::SackBlocks;
    use proptest::prelude::*;

    /// The history of a segment before its acknowledgement: nothing, a SACK, a loss mark or a retransmission.
    type History = (u8, u64);

    fn stack() -> Stack {
        Stack { timestamps: true, ..linux_stack::linux() }
    }

    fn sent(linux: bool, histories: &[History]) -> Tcb {
        let features = Features { sack: true, time_based: true, linux };
        let mut tcb = Tcb::new(Box::new(Fixed(10_000)), features, &stack().into());
        let mut now = Time::from_nanos(1_000_000);
        for &(_, gap) in histories {
            now += Duration::from_nanos(gap);
            tcb.scoreboard.push(tcb.rate.new_segment(now, 1000 + gap as u32));
        }
        tcb.high_seq = histories.len() as u64 / 2;
        for (seq, &(event, gap)) in (tcb.scoreboard.una..).zip(histories) {
            match event {
                1 => tcb.scoreboard.sack(seq, seq + 1, |_, _| {}),
                2 => tcb.scoreboard.mark_lost(seq),
                3 => {
                    tcb.scoreboard.mark_lost(seq);
                    tcb.scoreboard.retransmit(seq, now + Duration::from_nanos(gap));
                }
                _ => {}
            }
        }
        tcb
    }

    fn ack_of(ack: u64, echo: Time) -> AckPacket {
        AckPacket {
            ack,
            part: 0,
            window: Bytes(1 << 20),
            echo,
            ece: false,
            ce_count: 0,
            accecn: None,
            blocks: SackBlocks::default(),
            feedback: None,
        }
    }

    /// RFC 6298, section 3 (Karn), and RFC 7323, section 4.1, by hand: the first of two segments is lost and sent again
    /// after a minute, and its ACK is for both. The second one waited for it at the receiver: a minute is no RTT. With
    /// timestamps the sample is the time since the echoed one, 300 ms.
    #[test]
    fn an_ack_of_a_retransmission_gives_no_sample_of_the_segments_that_waited_for_it() {
        for (linux, timestamps) in [(false, true), (true, true), (false, false), (true, false)] {
            let mut tcb = sent(linux, &[(3, 0), (0, 0)]);
            std::sync::Arc::make_mut(&mut tcb.stack).timestamps = timestamps;
            let una = tcb.scoreboard.una;
            let now = Time::from_nanos(60_000_000_000);
            let packet = ack_of(una + 2, Time::from_nanos(59_700_000_000));
            let mut summary = AckSummary::new(&packet, una);
            tcb.acknowledge(now, &mut summary);
            tcb.sample_rtt(now, &mut summary);
            let expected = if timestamps { Duration::from_millis(300) } else { Duration::ZERO };
            assert_eq!(tcb.rtt.srtt(), expected, "linux: {linux}, timestamps: {timestamps}");
        }
    }

    /// RFC 8985, section 6.2, step 2, by hand: a segment is sent again at 1 s, and its ACK echoes a timestamp of 0.9 s. It is
    /// of the original, so that RACK does not learn of the retransmission; with an echo of 1.1 s it does.
    #[test]
    fn an_ack_that_echoes_an_earlier_time_is_of_the_original() {
        for (linux, echo_ms, learns) in
            [(false, 900, false), (false, 1100, true), (true, 900, false), (true, 1100, true)]
        {
            let mut tcb = sent(linux, &[(2, 0), (0, 0)]);
            let una = tcb.scoreboard.una;
            let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
            let rtt = Duration::from_millis(100);
            tcb.rtt.sample(at(500), rtt, rtt);
            tcb.scoreboard.retransmit(una, at(1000));
            let packet = ack_of(una + 1, at(echo_ms));
            let mut summary = AckSummary::new(&packet, una);
            tcb.acknowledge(at(1200), &mut summary);
            assert_eq!(tcb.rack.advanced, learns, "linux: {linux}, echo: {echo_ms} ms");
        }
    }

    proptest! {
        /// An ACK of several segments has the effect of delivering them one by one, oldest first.
        #[test]
        fn a_run_is_delivered_like_its_segments_one_by_one(
            linux in any::<bool>(),
            histories in prop::collection::vec((prop_oneof![5 => Just(0u8), 1 => 1u8..4], 0u64..3), 1..40),
            part in 0.0f64..1.0,
        ) {
            let mut whole = sent(linux, &histories);
            let mut single = sent(linux, &histories);
            let una = whole.scoreboard.una;
            let now = Time::from_nanos(1_000_100);
            let packet = ack_of(una + 1 + (part * histories.len() as f64) as u64, Time::from_nanos(1_000_000));
            let mut summary = AckSummary::new(&packet, una);
            let mut expected = summary;
            whole.acknowledge(now, &mut summary);
            expected.prior_fack = summary.prior_fack;
            while single.scoreboard.una < packet.ack {
                single.acknowledge_run(now, single.scoreboard.una + 1, &mut expected);
            }
            single.scoreboard.on_una_advanced();
            prop_assert_eq!(format!("{summary:?}"), format!("{expected:?}"));
            prop_assert_eq!(format!("{whole:?}"), format!("{single:?}"));
        }
    }
}
