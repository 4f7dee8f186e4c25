//! The receiver of a connection: reassembly, delayed ACKs, SACK and D-SACK blocks, ECN echo, receive window.

use std::mem;
use std::sync::Arc;

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Duration, Time};
use prefetch_index::prefetch_index;

use crate::accecn::{Codepoint, MarkCounters, OptionUse};
use crate::delayed_ack::{Arrival, DelayedAck};
use crate::reassembly::Reassembly;
use crate::receive_window::ReceiveWindow;
use crate::rtt::Estimate;
use crate::stack::{Ecn, Rules, Stack};
use crate::ticks;
use crate::wire::{AckPacket, Data, Output, PlainAck, SackBlocks, MAX_BLOCKS};

/// ACKs of out-of-order segments that are sent at once for each value of RCV.NXT (Linux, `TCP_FASTRETRANS_THRESH`).
const FAST_RETRANSMIT_THRESHOLD: u32 = 3;
/// SACK blocks that an ACK is expected to hold beside the one that changes (Linux, `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;
/// Quick ACKs after the first CE mark of an episode, and after a segment that is not ECN-capable (Linux,
/// tcp_data_ecn_check).
const QUICK_ACKS_OF_ECN: u32 = 2;

/// The receiver of a connection. Fields are in the order of use: two cache lines suffice without losses.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// Shared by all connections with the same parameters, so that it stays in the cache.
    stack: Arc<Stack>,
    /// RCV.NXT: next segment expected.
    expected: u64,
    /// When a delayed ACK or a window update is due; `Time::MAX` if none is.
    timer: Time,
    /// Payload delivered in order.
    delivered: Bytes,
    acks_sent: u64,
    acks: DelayedAck,
    /// Segments that arrived out of order, if there are any.
    reassembly: Option<Box<Reassembly>>,
    /// Feedback of the routers on the last segment; `accelerated` is the total of all segments.
    feedback: Option<Box<Feedback>>,
    /// Segments that arrived with a CE mark (accurate ECN).
    ce_count: u32,
    /// ACKs carry ECE.
    ece: bool,
    /// A segment that was ECN-capable arrived (Linux, `TCP_ECN_SEEN`).
    ect_seen: bool,
    /// Counters of Accurate ECN as on the wire.
    marks: Option<Box<MarkCounters>>,
    /// SACK is negotiated and the sender evaluates it.
    sack: bool,
    window: ReceiveWindow,
    /// What the last ACK acknowledged, where ACKs are divided.
    acknowledged: u64,
}

impl Receiver {
    /// Asks for what a segment reads beyond the receiver itself.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(reassembly) = &self.reassembly {
            prefetch_index(std::slice::from_ref(&**reassembly), 0);
        }
    }

    /// A receiver before the first segment. `sack`: SACK is negotiated and the sender evaluates it.
    #[must_use]
    pub fn new(stack: &Arc<Stack>, sack: bool) -> Self {
        Self {
            stack: Arc::clone(stack),
            expected: stack.first_segment,
            timer: Time::MAX,
            delivered: Bytes::ZERO,
            acks_sent: 0,
            acks: DelayedAck::new(stack),
            reassembly: None,
            feedback: None,
            ce_count: 0,
            ece: false,
            ect_seen: false,
            marks: (stack.ecn == Ecn::AccEcn).then(Box::default),
            sack,
            window: ReceiveWindow::new(stack),
            acknowledged: stack.first_segment,
        }
    }

    /// Handles the end of the handshake, in which the SYN-ACK took `delay`; with the first segment's it is the RTT that the
    /// receiver measures.
    pub fn on_established(&mut self, delay: Duration) {
        self.acks.on_established(delay);
        self.window.on_established(delay);
    }

    /// The RTT of the handshake, once data arrived in order: that of a server, whose SYN-ACK the client's first packet
    /// acknowledges (Linux, tcp_synack_rtt_meas).
    #[must_use]
    pub fn handshake_rtt(&self) -> Duration {
        self.acks.handshake_rtt()
    }

    /// RCV.NXT: next segment expected.
    #[inline]
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// When [`on_timer`](Self::on_timer) is due; `Time::MAX` if the timer is off.
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// Payload delivered in order.
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// ACKs sent.
    #[must_use]
    pub fn acks_sent(&self) -> u64 {
        self.acks_sent
    }

    /// Resets the totals.
    pub fn reset_totals(&mut self) {
        (self.delivered, self.acks_sent) = (Bytes::ZERO, 0);
    }

    /// Memory in use beyond the struct itself, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.reassembly.as_ref().map_or(0, |one| size_of::<Reassembly>() + one.memory())
    }

    /// The window that the first packet of a connection advertises.
    #[must_use]
    pub fn first_window(&self) -> Bytes {
        self.window.advertised()
    }

    /// Handles a data segment; `ce`: it has a CE mark.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: Data, ce: bool, out: &mut impl Output) {
        if self.stack.ecn != Ecn::Off {
            match &self.marks {
                None => self.on_ecn(now, &data, ce, out),
                Some(_) => self.count_mark(data.ect, data.ect_changed, ce, data.len),
            }
        }
        if let Some(feedback) = data.feedback {
            self.on_feedback(feedback);
        }
        let old = data.timestamp < self.acks.echo() && self.acks.is_old(data.timestamp, &self.stack);
        if data.seq != self.expected || self.reassembly.is_some() || old {
            // Values in place of a reference, so that a segment of the fast path stays in registers.
            self.on_data_slow_path(now, data.seq, data.len, data.timestamp, old, out);
            return;
        }
        self.expected += 1;
        let len = Bytes(u64::from(data.len));
        self.deliver(now, len, data.timestamp);
        let arrival = Arrival { timestamp: data.timestamp, len, push: data.push };
        match self.acks.on_in_order(now, arrival, self.window.advertised(), self.timer, &self.stack) {
            None if self.sends_plain_acks() => out.plain_ack(self.next_plain_ack(now)),
            None => self.send_ack(now, out, None),
            Some(due) => {
                if due < self.timer {
                    self.acks.armed = now;
                }
                self.timer = due;
            }
        }
    }

    /// Handles a window probe, an old segment, a duplicate, or a segment that arrives while others are missing. Each is
    /// acknowledged immediately (RFC 5681, section 4.2), unless Linux compresses its ACK.
    #[inline(never)]
    fn on_data_slow_path(&mut self, now: Time, seq: u64, len: u32, timestamp: Time, old: bool, out: &mut impl Output) {
        if self.stack.conceal_losses && seq > self.expected && !old {
            self.expected = seq;
        }
        let mut duplicate = (len > 0 && seq < self.expected).then_some((seq, seq + 1));
        if duplicate.is_some() && self.stack.rules == Rules::Linux {
            self.acks.enter_quick_acks(self.stack.quick_acks, self.window.advertised(), &self.stack);
        }
        let waits = if old || duplicate.is_some() || len == 0 {
            false // RFC 7323, section 5.3, R1: an old segment is acknowledged and dropped
        } else if seq == self.expected {
            self.fill_hole(now, len, timestamp);
            !self.acks.is_due() && self.compress_ack(now, None)
        } else {
            self.flush_compressed(now, seq, out);
            if !self.store_out_of_order(seq, len) {
                duplicate = Some((seq, seq + 1));
            } else if self.stack.rules == Rules::Linux && self.sack && self.window.open(&self.stack) {
                self.acks.acknowledge_now();
            }
            self.compress_ack(now, duplicate)
        };
        if !waits {
            self.send_ack(now, out, duplicate);
        }
    }

    /// Stores an out-of-order segment. Returns whether it is new.
    fn store_out_of_order(&mut self, seq: u64, len: u32) -> bool {
        let mss = self.stack.mss.0 as u32;
        self.reassembly.get_or_insert_with(|| Box::new(Reassembly::new(mss))).insert(seq, len)
    }

    /// Sends the ACK that waits before a segment changes a block that this ACK could not report with the next one (Linux,
    /// tcp_sack_new_ofo_skb).
    fn flush_compressed(&mut self, now: Time, seq: u64, out: &mut impl Output) {
        let waits = |queue: &Reassembly| queue.compressed > 0 && queue.recency(seq) >= EXPECTED_BLOCKS;
        if self.reassembly.as_deref().is_some_and(waits) {
            self.send_ack(now, out, None);
        }
    }

    /// Whether the ACK of an out-of-order segment waits for others, at most `sack_compression` of them and a fraction of the
    /// RTT; the first three for each value of RCV.NXT are sent (Linux, __tcp_ack_snd_check).
    fn compress_ack(&mut self, now: Time, duplicate: Option<(u64, u64)>) -> bool {
        let most = self.stack.sack_compression;
        let Some(queue) = self.reassembly.as_deref_mut() else { return false };
        if !self.sack || self.acks.is_due() || queue.compressed >= most {
            return false;
        }
        if queue.sent_at != self.expected {
            (queue.sent_at, queue.sent) = (self.expected, 0);
        }
        if queue.sent < FAST_RETRANSMIT_THRESHOLD {
            queue.sent += 1;
            return false;
        }
        queue.compressed += 1;
        queue.duplicate = duplicate; // an earlier one is forgotten (Linux, tcp_data_queue: `rx_opt.dsack`)
        if queue.compressed == 1 {
            let due = now + self.acks.compression_delay(); // a timer of high resolution, without ticks
            if due < self.timer {
                (self.timer, self.acks.armed) = (due, Time::MAX);
            }
        }
        true
    }

    /// Fills the first hole: all segments up to the end of the run above it are now in order.
    fn fill_hole(&mut self, now: Time, len: u32, timestamp: Time) {
        let mut bytes = Bytes(u64::from(len));
        self.acks.on_hole_filled(now, timestamp, bytes, self.window.advertised(), &self.stack);
        self.expected += 1;
        if let Some((end, run)) = self.reassembly.as_mut().and_then(|queue| queue.take_first(self.expected)) {
            bytes += run;
            self.acks.add(run);
            self.expected = end;
            self.reassembly.take_if(|queue| queue.is_empty());
        }
        self.deliver(now, bytes, timestamp);
    }

    /// Handles the routers' feedback on a segment: keeps the last rate and counts bytes marked "accelerate".
    #[cold]
    fn on_feedback(&mut self, new: Feedback) {
        let before = self.feedback.as_ref().map_or(Bytes::ZERO, |one| one.accelerated);
        self.feedback = Some(Box::new(Feedback { accelerated: before + new.accelerated, ..new }));
    }

    /// Counts a segment by the codepoint with which it arrived (RFC 9768).
    #[inline(never)]
    fn count_mark(&mut self, ect: bool, changed: bool, ce: bool, len: u32) {
        let arrived = match (ce, ect) {
            (true, _) => Codepoint::Ce,
            (_, false) => Codepoint::NotEct,
            _ if self.stack.ect1 != changed => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        };
        if self.marks.as_mut().is_some_and(|counters| counters.on_packet(arrived, len)) {
            self.acks.acknowledge_now();
        }
    }

    #[inline(never)]
    fn on_ecn(&mut self, now: Time, data: &Data, ce: bool, out: &mut impl Output) {
        match self.stack.ecn {
            Ecn::Dctcp => return self.echo_as_dctcp(now, ce, out),
            Ecn::Classic if self.stack.rules == Rules::Linux => return self.echo_as_linux(data, ce),
            _ => {}
        }
        if data.cwr {
            self.ece = false;
        }
        if ce {
            self.ce_count = self.ce_count.wrapping_add(1);
            let changed = !self.ece;
            self.ece = true;
            if changed && self.stack.rules == Rules::Linux {
                self.quick_acks_of_ecn();
            }
            if changed && self.acks.is_pending() {
                self.send_ack(now, out, None);
            }
        } else if self.stack.ecn == Ecn::Accurate {
            self.ece = false;
        }
    }

    /// Echoes marks from the first one to CWR (RFC 3168, section 6.1.3). Linux acknowledges data with CWR at once, since the
    /// window may be one segment (tcp_ecn_accept_cwr), and two segments after the first mark or after one that is not
    /// ECN-capable, which is a retransmission (tcp_data_ecn_check).
    fn echo_as_linux(&mut self, data: &Data, ce: bool) {
        if data.cwr {
            self.ece = false;
            if data.len > 0 {
                self.acks.acknowledge_at_once();
            }
        }
        if !data.ect {
            if self.ect_seen {
                self.quick_acks_of_ecn();
            }
            return;
        }
        self.ect_seen = true;
        if ce {
            self.ce_count = self.ce_count.wrapping_add(1);
            if !self.ece {
                self.quick_acks_of_ecn();
            }
            self.ece = true;
        }
    }

    /// Acknowledges the next two segments one by one (Linux, tcp_data_ecn_check).
    fn quick_acks_of_ecn(&mut self) {
        self.acks.enter_quick_acks(QUICK_ACKS_OF_ECN, self.window.advertised(), &self.stack);
    }

    /// Echoes marks as for DCTCP: a segment that changes the state is acknowledged immediately, and those before it with the
    /// state until then (RFC 8257, section 3.2; Linux, dctcp_ece_ack_update). CWR has no effect.
    fn echo_as_dctcp(&mut self, now: Time, ce: bool, out: &mut impl Output) {
        self.ce_count = self.ce_count.wrapping_add(u32::from(ce));
        if ce == self.ece {
            return;
        }
        if self.acks.is_pending() {
            self.send_ack(now, out, None);
        }
        self.ece = ce;
        self.acks.acknowledge_at_once();
    }

    #[inline]
    fn deliver(&mut self, now: Time, bytes: Bytes, sent: Time) {
        self.delivered += bytes;
        if self.window.on_data(now, bytes, sent, &self.stack) {
            self.acks.acknowledge_now();
        }
    }

    /// Sends an ACK, with SACK blocks where segments are missing, or a D-SACK of a `duplicate`.
    fn send_ack(&mut self, now: Time, out: &mut impl Output, duplicate: Option<(u64, u64)>) {
        let pending = self.acks.pending();
        if duplicate.is_none() && self.reassembly.is_none() && self.sends_plain_acks() {
            out.plain_ack(self.next_plain_ack(now));
            return;
        }
        let mut ack = self.next_ack(now);
        let waiting = self.reassembly.as_deref_mut().and_then(Reassembly::on_ack_sent);
        let duplicate = duplicate.or(waiting);
        if self.sack && (duplicate.is_some() || self.reassembly.is_some()) {
            self.fill_blocks(&mut ack.blocks, duplicate);
        }
        if let Some(counters) = self.marks.as_deref_mut() {
            let option = if self.stack.accecn_option { OptionUse::WhenChanged } else { OptionUse::Never };
            let (feedback, blocks) = counters.feedback(ack.blocks.len, self.stack.timestamps, option);
            (ack.accecn, ack.blocks.len) = (Some(feedback), blocks);
        }
        if self.stack.ack_division > 1 {
            self.send_pieces(&ack, pending, out);
        }
        out.ack(&ack);
    }

    /// Sends the pieces of an ACK of this much new data before the last one, which is the whole ACK. Each acknowledges an
    /// equal part of the data; none has SACK blocks. Data in a segment that is not full are acknowledged whole.
    #[cold]
    fn send_pieces(&mut self, whole: &AckPacket, new: Bytes, out: &mut impl Output) {
        let (first, mss) = (mem::replace(&mut self.acknowledged, whole.ack), self.stack.mss.0);
        if new.0 != (whole.ack - first) * mss {
            return;
        }
        let pieces = u64::from(self.stack.ack_division);
        let mut last = 0;
        for acknowledged in (1..pieces).map(|piece| new.0 * piece / pieces) {
            if acknowledged > last {
                let (ack, part) = (first + acknowledged / mss, (acknowledged % mss) as u32);
                out.ack(&AckPacket { ack, part, blocks: SackBlocks::default(), ..*whole });
                self.acks_sent += 1;
                last = acknowledged;
            }
        }
    }

    /// Sends no feedback of Accurate ECN: the handshake ended without it.
    pub fn turn_accecn_off(&mut self) {
        self.marks = None;
    }

    /// Whether an ACK without SACK blocks has no options.
    #[inline]
    fn sends_plain_acks(&self) -> bool {
        self.stack.ecn == Ecn::Off && self.feedback.is_none() && self.stack.ack_division == 1
    }

    /// The next ACK, without SACK blocks.
    #[inline]
    fn next_ack(&mut self, now: Time) -> AckPacket {
        let feedback = self.feedback.as_deref().copied();
        AckPacket { ce_count: self.ce_count, feedback, ..self.next_plain_ack(now).into() }
    }

    /// Handles a segment that the endpoint sends in the other direction of a dialogue, where it has these estimates.
    /// Returns the ACK that leaves with it: the one that is delayed, if it has no options.
    pub fn on_data_sent(&mut self, now: Time, rtt: Estimate) -> Option<PlainAck> {
        self.acks.on_data_sent(now, rtt, &self.stack);
        let waits = self.acks.is_pending() && self.reassembly.is_none() && self.sends_plain_acks();
        waits.then(|| self.acknowledge(now))
    }

    /// The next ACK of its own packet, without options.
    #[inline]
    fn next_plain_ack(&mut self, now: Time) -> PlainAck {
        self.acks_sent += 1;
        self.acknowledge(now)
    }

    /// Acknowledges what arrived.
    #[inline]
    fn acknowledge(&mut self, now: Time) -> PlainAck {
        self.acks.on_ack_sent(&self.stack);
        self.timer = Time::MAX;
        let window = self.window.advertise(now, &self.stack);
        if let Some(read_rate) = self.stack.read_rate.filter(|_| window == Bytes::ZERO) {
            self.timer = now + self.window.time_to_open(self.stack.mss, read_rate);
            self.acks.armed = Time::MAX;
        }
        PlainAck { ack: self.expected, window, echo: self.acks.echo(), ece: self.ece }
    }

    /// Fills in the SACK blocks of an ACK, a D-SACK first (RFC 2883).
    fn fill_blocks(&self, blocks: &mut SackBlocks, duplicate: Option<(u64, u64)>) {
        if let Some(block) = duplicate.filter(|_| self.stack.dsack) {
            blocks.list[0] = block;
            blocks.len = 1;
            blocks.duplicate = true;
        }
        if let Some(queue) = &self.reassembly {
            queue.fill(blocks, self.stack.sack_blocks.min(MAX_BLOCKS as u32) as u8);
        }
    }

    /// Handles the expiry of [`timer`](Self::timer): sends a delayed or compressed ACK, or an update of a closed window.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        if ticks::waits_for_tick(now, &mut self.acks.armed, &mut self.timer, self.stack.tick()) {
            return;
        }
        if self.reassembly.is_none() {
            self.acks.on_expired(&self.stack);
        }
        self.send_ack(now, out, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_stack::linux;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Acks(Vec<AckPacket>);

    impl Output for Acks {
        fn data(&mut self, _: &Data) {}
        fn ack(&mut self, ack: &AckPacket) {
            self.0.push(*ack);
        }
        fn syn(&mut self, _: u32) {}
        fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
    }

    fn us(count: u64) -> Time {
        Time::ZERO + Duration::from_micros(count)
    }

    fn segment(seq: u64, timestamp: Time) -> Data {
        Data {
            seq,
            len: 1000,
            retransmission: false,
            ect: false,
            ect_changed: false,
            cwr: false,
            push: false,
            timestamp,
            feedback: None,
        }
    }

    fn stack() -> Stack {
        Stack { sack_compression: 44, timestamps: true, quick_acks: 0, auto_tuning: false, ..linux() }
    }

    /// A receiver at 20 ms, after a handshake of 10 ms and the first segment in order.
    fn opened(stack: &Stack, out: &mut Acks) -> Receiver {
        let mut receiver = Receiver::new(&stack.clone().into(), true);
        receiver.on_established(Duration::from_millis(5));
        receiver.on_data(us(20_000), segment(0, us(15_000)), false, out);
        receiver
    }

    /// RFC 8257, section 3.2, with two ACKs at a change, as in Linux (dctcp_ece_ack_update): what was not acknowledged before
    /// has the state until then, and the segment that changes it is acknowledged at once. Others wait for a second one.
    #[test]
    fn a_change_of_the_mark_is_acknowledged_at_once() {
        let (mut out, stack) = (Acks::default(), Stack { ecn: Ecn::Dctcp, ..stack() });
        let mut receiver = opened(&stack, &mut out);
        let marks = [true, false, false, true, true, false, true];
        for (number, &ce) in marks.iter().enumerate() {
            let now = us(21_000 + 10 * number as u64);
            receiver.on_data(now, segment(1 + number as u64, now), ce, &mut out);
        }
        let acks: Vec<(u64, bool)> = out.0.iter().map(|ack| (ack.ack, ack.ece)).collect();
        let first = [(1, false), (2, true), (3, false)];
        let then = [(4, false), (5, true), (6, true), (7, false), (8, true)];
        assert_eq!(acks, [&first[..], &then[..]].concat());
    }

    /// Linux, tcp_data_ecn_check and tcp_ecn_accept_cwr: the first mark and the segment after it are acknowledged one by one,
    /// so are two from one that is not ECN-capable, as retransmissions are, and CWR at once; others wait for a second one. A
    /// receiver by RFC 3168 acknowledges what waits before the first mark.
    #[test]
    fn marks_and_cwr_are_acknowledged_at_once() {
        let acks = |rules| {
            let quick_acks = if rules == Rules::Linux { 16 } else { 0 };
            let stack = Stack { ecn: Ecn::Classic, rules, quick_acks, ..stack() };
            let (mut out, mut receiver) = (Acks::default(), Receiver::new(&stack.into(), true));
            let mut arrives = |number: u64, (ect, cwr, ce)| {
                let now = us(20_000 + 10 * number);
                receiver.on_data(now, Data { ect, cwr, ..segment(number, now) }, ce, &mut out);
                std::mem::take(&mut out.0).into_iter().map(move |ack| (ack.ack.wrapping_sub(18), ack.ece))
            };
            // The quick ACKs at the start of a connection, and two segments with one ACK.
            assert!((0..18).flat_map(|number| arrives(number, (true, false, false)).collect::<Vec<_>>()).count() < 18);
            let plain = (true, false, false);
            let (marked, cwr, no_ect) = ((true, false, true), (true, true, false), (false, false, false));
            let arrivals = [plain, marked, plain, plain, cwr, plain, no_ect, plain, plain, plain];
            let numbered = arrivals.into_iter().enumerate();
            numbered.flat_map(|(at, one)| arrives(18 + at as u64, one).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let linux = [(2, true), (3, true), (5, false), (7, false), (8, false), (10, false)];
        assert_eq!(acks(Rules::Linux), linux);
        assert_eq!(acks(Rules::Rfc), [(1, true), (3, true), (5, false), (7, false), (9, false)]);
    }

    /// Linux, HZ = 250: an ACK delayed by 40 ms at 20 ms, in tick 5, leaves at tick 5 + 10 + 1, 64 ms (`calc_index`). The
    /// timer of compressed ACKs has high resolution.
    #[test]
    fn a_delayed_ack_leaves_at_a_tick() {
        let stack = Stack { rto_granularity: Duration::from_millis(4), ..stack() };
        let mut out = Acks::default();
        let mut receiver = opened(&stack, &mut out);
        while receiver.timer() < us(60_001) {
            receiver.on_timer(receiver.timer(), &mut out);
        }
        assert_eq!((receiver.timer(), out.0.len()), (us(64_000), 0));
        receiver.on_timer(us(64_000), &mut out);
        assert_eq!((receiver.timer(), out.0.len()), (Time::MAX, 1));
    }

    /// Linux, __tcp_ack_snd_check, by hand: of 60 segments above a hole, one each 10 µs, the first three are acknowledged
    /// at once, the next 44 wait, and the 48th finds 44 waiting. The timer of 5 % of 10 ms, with its slack of 0.1 ms, has
    /// not expired by then.
    #[test]
    fn acks_of_segments_above_a_hole_are_compressed() {
        let stack = stack();
        let mut out = Acks::default();
        let mut receiver = opened(&stack, &mut out);
        out.0.clear();
        let mut at_once = Vec::new();
        for number in 1..=60 {
            let now = us(30_000 + 10 * number);
            assert!(receiver.timer() > now);
            receiver.on_data(now, segment(1 + number, now), false, &mut out);
            if !out.0.is_empty() {
                at_once.push(number);
                out.0.clear();
            }
        }
        assert_eq!(at_once, [1, 2, 3, 48]);
        assert_eq!(receiver.timer(), us(30_490 + 600));
        receiver.on_timer(receiver.timer(), &mut out);
        assert_eq!(out.0[0].blocks.as_slice(), [(2, 62)]);
        assert_eq!(receiver.timer(), Time::MAX);
    }

    /// RFC 5681, section 4.2: a segment that fills a hole is acknowledged at once, though ACKs wait.
    #[test]
    fn a_segment_that_fills_the_hole_ends_the_compression() {
        let stack = stack();
        let mut out = Acks::default();
        let mut receiver = opened(&stack, &mut out);
        (2..8).for_each(|seq| receiver.on_data(us(30_000), segment(seq, us(29_000)), false, &mut out));
        out.0.clear();
        receiver.on_data(us(30_100), segment(1, us(30_000)), false, &mut out);
        assert_eq!(out.0.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [8]);
        assert_eq!(receiver.timer(), Time::MAX);
    }

    /// Savage et al. 1999, section 3.3: a receiver that acknowledges the segments it missed sends neither duplicate ACKs nor
    /// SACK blocks. What did not arrive is not delivered.
    #[test]
    fn concealed_losses_leave_no_trace_in_acks() {
        let stack = Stack { conceal_losses: true, ..stack() };
        let mut out = Acks::default();
        let mut receiver = opened(&stack, &mut out);
        for seq in [2, 5, 6, 9, 10] {
            receiver.on_data(us(30_000), segment(seq, us(29_000)), false, &mut out);
        }
        let acks: Vec<_> = out.0.iter().map(|ack| ack.ack).collect();
        assert!(acks.windows(2).all(|pair| pair[0] < pair[1]), "{acks:?}");
        assert!(out.0.iter().all(|ack| ack.blocks.len == 0));
        assert_eq!((receiver.expected(), receiver.delivered()), (11, Bytes(6000)));
    }

    /// RFC 7323, section 5.3, R1: after a retransmission with a newer timestamp, a segment sent long before it is dropped and
    /// acknowledged. Without PAWS it is stored.
    #[test]
    fn a_segment_older_than_the_echoed_timestamp_is_dropped() {
        for (paws, blocks) in [(true, 0), (false, 1)] {
            let stack = Stack { paws, sack_compression: 0, ..stack() };
            let mut out = Acks::default();
            let mut receiver = opened(&stack, &mut out);
            receiver.on_data(us(30_000), segment(2, us(25_000)), false, &mut out);
            receiver.on_data(us(60_000), segment(1, us(50_000)), false, &mut out);
            receiver.on_data(us(61_000), segment(4, us(26_000)), false, &mut out);
            let last = out.0.last().expect("an ACK");
            assert_eq!((last.ack, last.echo, last.blocks.as_slice().len()), (3, us(50_000), blocks));
        }
    }

    proptest! {
        /// Everything that arrives is acknowledged: at once, or by a timer that runs for at most half a second; and a
        /// compressed ACK reports it within the compression delay.
        #[test]
        fn every_arrival_is_acknowledged_in_time(
            compression in prop_oneof![Just(0u32), Just(44)],
            quick_acks in prop_oneof![Just(0u32), Just(16)],
            arrivals in prop::collection::vec((0u64..30, 1u64..60_000), 1..80),
        ) {
            let stack = Stack { sack_compression: compression, quick_acks, ..stack() };
            let mut out = Acks::default();
            let mut now = us(20_000);
            let mut receiver = opened(&stack, &mut out);
            let mut unacknowledged = false;
            for (seq, gap) in arrivals {
                now += Duration::from_micros(gap);
                if receiver.timer() <= now {
                    receiver.on_timer(receiver.timer(), &mut out);
                    prop_assert_eq!(out.0.last().map(|ack| ack.ack), Some(receiver.expected()));
                }
                let before = out.0.len();
                receiver.on_data(now, segment(seq, now), false, &mut out);
                unacknowledged = out.0.len() == before;
                let limit = if seq > receiver.expected() { Duration::from_micros(1100) } else { Duration::from_millis(500) };
                prop_assert!(!unacknowledged || receiver.timer() <= now + limit);
            }
            if unacknowledged {
                receiver.on_timer(receiver.timer(), &mut out);
            }
            prop_assert_eq!(out.0.last().map(|ack| ack.ack), Some(receiver.expected()));
        }
    }
}
