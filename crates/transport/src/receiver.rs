//! The receiver of a connection: reassembly, delayed ACKs, SACK and D-SACK blocks, ECN echo, receive window.

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Time};

use crate::delayed_ack::DelayedAck;
use crate::reassembly::Reassembly;
use crate::receive_window::ReceiveWindow;
use crate::stack::{Ecn, Stack};
use crate::wire::{AckPacket, Blocks, Data, Output, MAX_BLOCKS};

/// The receiving end of a connection, in the order of use: two cache lines while nothing is lost.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// RCV.NXT: next segment expected.
    expected: u64,
    /// When a delayed ACK or a window update is due; `Time::MAX`: never.
    timer: Time,
    /// Payload delivered in order.
    delivered: Bytes,
    acks_sent: u64,
    acks: DelayedAck,
    reassembly: Reassembly,
    mss: u32,
    /// Segments that arrived with a CE mark (accurate ECN).
    ce_count: u32,
    /// ACKs carry ECE.
    ece: bool,
    sack: bool,
    dsack: bool,
    ecn: Ecn,
    max_blocks: u8,
    window: ReceiveWindow,
    /// Feedback of the routers on the last segment; `accelerated` of all segments.
    feedback: Option<Feedback>,
}

impl Receiver {
    /// Nothing received yet. `sack`: SACK is negotiated and of use.
    #[must_use]
    pub fn new(stack: &Stack, sack: bool) -> Self {
        let mss = stack.mss.0 as u32;
        Self {
            expected: stack.first_segment,
            timer: Time::MAX,
            delivered: Bytes::ZERO,
            acks_sent: 0,
            acks: DelayedAck::new(stack),
            reassembly: Reassembly::new(mss),
            mss,
            ce_count: 0,
            ece: false,
            sack,
            dsack: sack && stack.dsack,
            ecn: stack.ecn,
            max_blocks: stack.sack_blocks.min(MAX_BLOCKS as u32) as u8,
            window: ReceiveWindow::new(stack),
            feedback: None,
        }
    }

    /// RCV.NXT: next segment expected.
    #[inline]
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// When [`on_timer`](Self::on_timer) is due; `Time::MAX`: never.
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

    /// Begins its totals anew.
    pub fn reset_totals(&mut self) {
        (self.delivered, self.acks_sent) = (Bytes::ZERO, 0);
    }

    /// Memory held beyond the struct itself, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.reassembly.memory()
    }

    /// The window that the first packet of a connection advertises.
    #[must_use]
    pub fn first_window(&self) -> Bytes {
        self.window.size()
    }

    /// A data segment arrives; `ce`: it has a CE mark.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: &Data, ce: bool, out: &mut impl Output) {
        if self.ecn != Ecn::Off {
            self.on_ecn(now, data, ce, out);
        }
        if let Some(feedback) = data.feedback {
            self.on_feedback(feedback);
        }
        self.acks.on_arrival(now);
        if data.seq == self.expected && self.reassembly.is_empty() {
            self.expected += 1;
            self.deliver(now, Bytes(u64::from(data.len)));
            if self.acks.on_in_order(data.stamp) {
                self.send_ack(now, out, None);
            } else if self.timer == Time::MAX {
                self.timer = self.acks.due(now);
            }
            return;
        }
        self.on_other_data(now, data, out);
    }

    /// A window probe, a duplicate, or a segment that arrives while others are missing: acknowledged at once (RFC 5681,
    /// section 4.2).
    fn on_other_data(&mut self, now: Time, data: &Data, out: &mut impl Output) {
        let mut duplicate = None;
        if data.len > 0 {
            if data.seq == self.expected {
                self.fill_hole(now, data);
            } else if data.seq < self.expected || !self.reassembly.insert(data.seq, data.len) {
                duplicate = Some((data.seq, data.seq + 1));
            }
        }
        self.send_ack(now, out, duplicate);
    }

    /// The first hole is filled: everything up to the end of the run behind it is in order.
    fn fill_hole(&mut self, now: Time, data: &Data) {
        self.acks.on_hole_filled(data.stamp);
        self.expected += 1;
        let mut bytes = Bytes(u64::from(data.len));
        if let Some((end, run)) = self.reassembly.take_first(self.expected) {
            bytes += run;
            self.expected = end;
        }
        self.deliver(now, bytes);
    }

    /// Feedback of the routers on a segment: the last rate is kept, and what said "accelerate" is counted.
    #[cold]
    fn on_feedback(&mut self, new: Feedback) {
        let before = self.feedback.map_or(Bytes::ZERO, |one| one.accelerated);
        self.feedback = Some(Feedback { accelerated: before + new.accelerated, ..new });
    }

    fn on_ecn(&mut self, now: Time, data: &Data, ce: bool, out: &mut impl Output) {
        if data.cwr {
            self.ece = false;
        }
        if ce {
            self.ce_count = self.ce_count.wrapping_add(1);
            let changed = !self.ece;
            self.ece = true;
            // Segments before the mark are acknowledged without it (RFC 8257, section 3.2), and the mark at once.
            if changed && self.acks.is_pending() {
                self.send_ack(now, out, None);
            }
        } else if matches!(self.ecn, Ecn::Accurate | Ecn::Dctcp) {
            if self.ece && self.acks.is_pending() && self.ecn == Ecn::Dctcp {
                self.send_ack(now, out, None); // RFC 8257, section 3.2: the end of marking as well
            }
            self.ece = false;
        }
    }

    #[inline]
    fn deliver(&mut self, now: Time, bytes: Bytes) {
        self.delivered += bytes;
        self.window.on_data(now, bytes, self.expected, self.mss);
    }

    fn send_ack(&mut self, now: Time, out: &mut impl Output, duplicate: Option<(u64, u64)>) {
        self.acks.on_ack_sent();
        self.timer = Time::MAX;
        self.acks_sent += 1;
        let window = self.window.advertise(now);
        if window.0 < u64::from(self.mss) && self.window.is_read_slowly() {
            self.timer = now + self.window.time_to_open(self.mss);
        }
        let mut ack = AckPacket {
            ack: self.expected,
            window,
            echo: self.acks.echo(),
            ece: self.ece,
            ce_count: self.ce_count,
            feedback: self.feedback,
            blocks: Blocks::default(),
        };
        if self.sack && (duplicate.is_some() || !self.reassembly.is_empty()) {
            self.fill_blocks(&mut ack.blocks, duplicate);
        }
        out.ack(&ack);
    }

    /// The SACK blocks of an ACK, a D-SACK first (RFC 2883).
    fn fill_blocks(&self, blocks: &mut Blocks, duplicate: Option<(u64, u64)>) {
        if let Some(block) = duplicate.filter(|_| self.dsack) {
            blocks.list[0] = block;
            blocks.len = 1;
            blocks.duplicate = true;
        }
        self.reassembly.fill(blocks, self.max_blocks);
    }

    /// The clock reached [`timer`](Self::timer): a delayed ACK, or an update of a window that was closed.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        self.send_ack(now, out, None);
    }
}
