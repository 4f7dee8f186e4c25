//! What an ACK tells of arrivals: SACK and D-SACK blocks, samples of RTT and rate, reordering.

use cwndlab_control::{DeliveryRate, RecoveryKind};
use cwndlab_units::{Bytes, Duration, Rate};

use super::{Sender, State};
use crate::scoreboard::{Segment, APP_LIMITED, EVER_RETRANS, RETRANS, SACKED};
use crate::wire::{AckPacket, MAX_BLOCKS};

/// The largest degree of reordering that is kept (Linux, `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gain {
    /// Segments newly delivered, cumulatively or by SACK; under Linux' rules the needless ones of which a D-SACK tells, too.
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    /// RTT of the oldest and of the newest segment that was sent once and is acknowledged cumulatively; 0 is none.
    oldest: u64,
    newest: u64,
    /// The same of those newly SACKed.
    sacked_oldest: u64,
    sacked_newest: u64,
    /// The sample that the algorithm hears of; 0 is none.
    pub(crate) rtt: u64,
    /// Rate sample of the newest segment; `last_sent` 0 is none.
    prior_delivered: u64,
    prior_at: u64,
    send_interval: u64,
    last_sent: u64,
    app_limited: bool,
    /// It acknowledges more than was acknowledged.
    pub(crate) advanced: bool,
    /// It SACKs something new.
    pub(crate) sacked: bool,
    /// It reports a duplicate that may be of this sender's making, and one of the tail loss probe.
    pub(crate) duplicate: bool,
    pub(crate) probe_duplicate: bool,
    /// It echoes congestion (ECN).
    pub(crate) ece: bool,
    /// It changes the peer's window.
    pub(crate) window_update: bool,
    /// A segment that was never retransmitted and lies below `high_seq` arrived.
    pub(crate) original: bool,
    /// The retransmission timer, or the probe's, begins anew.
    pub(crate) rearm: bool,
    /// What was sent again is acknowledged cumulatively.
    resent: bool,
    /// A segment that is acknowledged cumulatively gave RACK its RTT.
    rack_in_order: bool,
    /// The lowest number of a segment sent once that this ACK acknowledges cumulatively and no SACK had told of.
    pub(crate) lowest: u64,
    /// One past the highest segment known to have arrived before.
    pub(crate) prior_fack: u64,
    /// All that was ever marked lost before.
    pub(crate) prior_lost: u64,
    /// Timestamp echo, ns; 0 is none.
    pub(crate) echo: u64,
}

impl Gain {
    /// Nothing yet, of an ACK that goes beyond what was acknowledged or not.
    #[inline]
    pub(crate) fn of(advanced: bool, prior_lost: u64) -> Self {
        Self { advanced, rearm: advanced, prior_lost, ..Self::default() }
    }
}

impl Sender {
    /// A segment is acknowledged cumulatively: counts it, samples RTT and rate, advances RACK.
    #[inline]
    pub(crate) fn deliver(&mut self, now: u64, seq: u64, segment: &Segment, gain: &mut Gain) {
        if segment.flags & EVER_RETRANS == 0 {
            let rtt = (now - segment.sent_at).max(1);
            if gain.oldest == 0 {
                gain.oldest = rtt;
            }
            gain.newest = rtt;
            gain.original |= seq < self.high_seq;
            gain.lowest = gain.lowest.min(seq);
            self.advance_rack(now, seq, segment, gain, false);
        } else {
            gain.resent = true;
            // Linux, tcp_skb_spurious_retrans: an echo from before the retransmission is of the original.
            let spurious = self.linux && self.stack.timestamps && gain.echo > 0 && gain.echo < segment.sent_at;
            if !spurious {
                self.advance_rack(now, seq, segment, gain, false);
            }
        }
        self.count_delivered(segment, gain);
    }

    /// A segment is SACKed: the same.
    fn deliver_sacked(&mut self, now: u64, seq: u64, segment: &Segment, gain: &mut Gain) {
        gain.sacked = true;
        if segment.flags & EVER_RETRANS == 0 {
            let rtt = (now - segment.sent_at).max(1);
            if gain.sacked_oldest == 0 {
                gain.sacked_oldest = rtt;
            }
            gain.sacked_newest = rtt;
            gain.original |= seq < self.high_seq;
        }
        self.advance_rack(now, seq, segment, gain, true);
        self.count_delivered(segment, gain);
    }

    #[inline]
    fn count_delivered(&mut self, segment: &Segment, gain: &mut Gain) {
        gain.segments += 1;
        gain.bytes += u64::from(segment.len);
        // Linux, tcp_rate_skb_delivered: the sample of the segment that was sent last.
        if segment.sent_at >= gain.last_sent {
            gain.last_sent = segment.sent_at;
            gain.prior_delivered = segment.delivered;
            gain.prior_at = segment.delivered_at;
            gain.send_interval = segment.sent_at - segment.first_sent_at;
            gain.app_limited = segment.flags & APP_LIMITED != 0;
            self.first_sent_at = segment.sent_at;
        }
    }

    /// The newest delivery by time of sending, and its RTT (RFC 8985, section 6.2, step 2).
    #[inline]
    fn advance_rack(&mut self, now: u64, seq: u64, segment: &Segment, gain: &mut Gain, by_sack: bool) {
        let rtt = now - segment.sent_at;
        // An ACK that comes sooner than min_rtt is of the original, not of the retransmission.
        if segment.flags & EVER_RETRANS != 0 && rtt < self.rtt.min {
            return;
        }
        let newest = (segment.sent_at, seq) >= (self.rack_sent, self.rack_seq);
        if newest {
            (self.rack_sent, self.rack_seq) = (segment.sent_at, seq);
        }
        // Linux, tcp_rack_advance: the RTT is of the delivery last looked at, and SACKs are looked at before the rest.
        if newest && !self.linux || self.linux && !(by_sack && gain.rack_in_order) {
            self.rack_rtt = rtt;
        }
        gain.rack_in_order |= !by_sack;
        self.rack_advanced = true;
    }

    /// SACK blocks; the first may tell of a duplicate.
    pub(crate) fn on_blocks(&mut self, now: u64, ack: &AckPacket, prior_una: u64, gain: &mut Gain) {
        if !Self::uses_sack(self.kind) {
            return;
        }
        let mut list = ack.blocks.list;
        let blocks = &mut list[..(ack.blocks.len as usize).min(MAX_BLOCKS)];
        // RFC 2883, section 4: it lies below the acknowledgement, or within the second block.
        let within = |outer: &(u64, u64)| outer.0 <= blocks[0].0 && blocks[0].1 <= outer.1;
        let told = ack.blocks.duplicate || self.linux && (blocks[0].0 < ack.ack || blocks.get(1).is_some_and(within));
        let duplicate = told.then(|| blocks[0]);
        let from = usize::from(duplicate.is_some());
        if let Some(block) = duplicate {
            self.on_duplicate_report(block, prior_una, gain);
        }
        let blocks = &mut blocks[from..];
        if self.kind == RecoveryKind::Rack {
            blocks.sort_unstable(); // Linux, tcp_sacktag_write_queue: in the order of the segments
        }
        let mut lowest = u64::MAX;
        let mut board = std::mem::take(&mut self.board);
        for &mut (from, to) in blocks {
            // Linux, tcp_is_sackblock_valid: a block at `una` contradicts itself.
            if self.linux && (from <= board.una || to > board.next || from >= to) {
                continue;
            }
            let high = board.fack;
            board.sack(from, to, |seq, segment| {
                if seq < high && segment.flags & EVER_RETRANS == 0 {
                    // A hole below what had arrived was filled by the original: the path reorders.
                    lowest = lowest.min(seq);
                }
                self.deliver_sacked(now, seq, segment, gain);
            });
        }
        self.board = board;
        if let Some((from, to)) = duplicate.filter(|_| self.linux) {
            self.note_duplicates(from, to, gain.duplicate, &mut lowest);
        }
        if lowest < u64::MAX && (!self.linux || self.state != State::Loss || self.undo_from.is_some()) {
            self.note_reordering(lowest);
        }
    }

    /// A report of duplicates above `una` (Linux, tcp_sacktag_one): which retransmissions were needless, and are not in
    /// flight any more.
    fn note_duplicates(&mut self, from: u64, to: u64, counts: bool, lowest: &mut u64) {
        for seq in from.max(self.board.una)..to.min(self.board.next) {
            let flags = self.board.get(seq).flags;
            if !counts || flags & EVER_RETRANS == 0 {
                continue;
            }
            if self.undo_from.is_some_and(|start| seq >= start) && self.undo_retrans > 0 {
                self.undo_retrans -= 1;
            }
            if flags & SACKED != 0 {
                *lowest = (*lowest).min(seq);
            }
            if flags & RETRANS != 0 {
                self.board.forget_resent(seq);
            }
        }
    }

    /// `lowest` arrived after higher ones, and was sent once: the path reorders (Linux, tcp_check_sack_reordering).
    pub(crate) fn note_reordering(&mut self, lowest: u64) {
        let fack = self.board.fack;
        if self.kind != RecoveryKind::Rack || lowest >= fack {
            return;
        }
        self.reordering_seen = true;
        let most = MAX_REORDERING.max(self.stack.dup_thresh);
        self.reordering = self.reordering.max((fack - lowest).min(u64::from(most)) as u32);
    }

    #[inline]
    pub(crate) fn sample_rtt(&mut self, now: u64, ack: &AckPacket, gain: &mut Gain) {
        // Linux, tcp_clean_rtx_queue: beside what was sent again nothing that it acknowledges gives a sample.
        let in_order = if self.linux && gain.resent { 0 } else { gain.oldest };
        let oldest = if in_order > 0 { in_order } else { gain.sacked_oldest };
        gain.rtt = if gain.sacked_newest > 0 { gain.sacked_newest } else { gain.newest };
        if oldest > 0 {
            self.rtt.sample(now, oldest, gain.rtt);
        } else if gain.advanced && self.stack.timestamps && ack.echo.0 > 0 && ack.echo.0 < now {
            let sample = now - ack.echo.0; // RFC 7323, section 4.1: timestamps lift Karn's ambiguity
            self.rtt.sample(now, sample, sample);
            if self.linux {
                gain.rtt = sample;
            }
        } else if self.linux {
            gain.rtt = 0;
        }
        // Linux, tcp_clean_rtx_queue: a SACK of what left before the head did, last, is progress.
        if self.linux && !gain.advanced && gain.sacked_oldest > 0 && self.board.outstanding() > 0 {
            gain.rearm = gain.sacked_oldest > now - self.board.get(self.board.una).sent_at;
        }
    }

    #[inline]
    pub(crate) fn sample_rate(&mut self, now: u64, gain: &Gain) -> Option<DeliveryRate> {
        if gain.segments == 0 {
            return None;
        }
        self.delivered += gain.bytes;
        if gain.last_sent == 0 && gain.prior_at == 0 {
            return None; // duplicates alone
        }
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let delivered = self.delivered - gain.prior_delivered;
        let interval = gain.send_interval.max(now - gain.prior_at);
        if interval == 0 || interval < self.rtt.min {
            return None; // Linux, tcp_rate_gen: shorter than min_rtt is ACK compression
        }
        // IEEE multiplication and division: the same everywhere, and a tenth of a 128-bit division.
        let rate = (delivered as f64 * 8e9 / interval as f64) as u64;
        if !gain.app_limited || rate > self.delivery_rate {
            self.delivery_rate = rate;
        }
        Some(DeliveryRate {
            rate: Rate(rate),
            delivered: Bytes(delivered),
            interval: Duration(interval),
            prior_delivered: Bytes(gain.prior_delivered),
            app_limited: gain.app_limited,
        })
    }

    /// What a delivery's segment had seen delivered when it left, bytes (Linux, `rs->prior_delivered`); `None` without one.
    pub(crate) fn prior_delivered(gain: &Gain) -> Option<u64> {
        (gain.last_sent > 0 || gain.prior_at > 0).then_some(gain.prior_delivered)
    }
}
