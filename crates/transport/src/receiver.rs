//! The receiver of a connection: reassembly, delayed ACKs, SACK and D-SACK blocks, ECN echo, receive window.

use std::sync::Arc;

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Time};

use crate::delayed_ack::DelayedAck;
use crate::reassembly::Reassembly;
use crate::receive_window::ReceiveWindow;
use crate::stack::{Ecn, Stack};
use crate::wire::{AckPacket, Data, Output, SackBlocks, MAX_BLOCKS};

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
    /// SACK is negotiated and the sender evaluates it.
    sack: bool,
    window: ReceiveWindow,
}

impl Receiver {
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
            sack,
            window: ReceiveWindow::new(stack),
        }
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
        self.window.size()
    }

    /// Handles a data segment; `ce`: it has a CE mark.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: Data, ce: bool, out: &mut impl Output) {
        if self.stack.ecn != Ecn::Off {
            self.on_ecn(now, data.cwr, ce, out);
        }
        if let Some(feedback) = data.feedback {
            self.on_feedback(feedback);
        }
        self.acks.on_arrival(now, self.stack.quick_acks);
        if data.seq != self.expected || self.reassembly.is_some() {
            self.on_data_slow_path(now, (data.seq, data.len), data.timestamp, out);
            return;
        }
        self.expected += 1;
        self.deliver(now, Bytes(u64::from(data.len)));
        if self.acks.on_in_order(data.timestamp, self.stack.ack_every) {
            let ack = self.next_ack(now);
            out.ack(&ack);
        } else if self.timer == Time::MAX {
            self.timer = now + self.stack.ack_delay;
        }
    }

    /// Handles a window probe, a duplicate, or a segment that arrives while others are missing. Each is acknowledged
    /// immediately (RFC 5681, section 4.2).
    #[inline(never)]
    fn on_data_slow_path(&mut self, now: Time, (seq, len): (u64, u32), timestamp: Time, out: &mut impl Output) {
        let mut duplicate = None;
        if len > 0 {
            if seq == self.expected {
                self.fill_hole(now, len, timestamp);
            } else if seq < self.expected || !self.store_out_of_order(seq, len) {
                duplicate = Some((seq, seq + 1));
            }
        }
        self.send_ack(now, out, duplicate);
    }

    /// Stores an out-of-order segment. Returns whether it is new.
    fn store_out_of_order(&mut self, seq: u64, len: u32) -> bool {
        let mss = self.stack.mss.0 as u32;
        self.reassembly.get_or_insert_with(|| Box::new(Reassembly::new(mss))).insert(seq, len)
    }

    /// Fills the first hole: all segments up to the end of the run above it are now in order.
    fn fill_hole(&mut self, now: Time, len: u32, timestamp: Time) {
        self.acks.on_hole_filled(timestamp);
        self.expected += 1;
        let mut bytes = Bytes(u64::from(len));
        if let Some((end, run)) = self.reassembly.as_mut().and_then(|queue| queue.take_first(self.expected)) {
            bytes += run;
            self.expected = end;
            self.reassembly.take_if(|queue| queue.is_empty());
        }
        self.deliver(now, bytes);
    }

    /// Handles the routers' feedback on a segment: keeps the last rate and counts bytes marked "accelerate".
    #[cold]
    fn on_feedback(&mut self, new: Feedback) {
        let before = self.feedback.as_ref().map_or(Bytes::ZERO, |one| one.accelerated);
        self.feedback = Some(Box::new(Feedback { accelerated: before + new.accelerated, ..new }));
    }

    #[inline(never)]
    fn on_ecn(&mut self, now: Time, cwr: bool, ce: bool, out: &mut impl Output) {
        if cwr {
            self.ece = false;
        }
        if ce {
            self.ce_count = self.ce_count.wrapping_add(1);
            let changed = !self.ece;
            self.ece = true;
            // Segments before the mark are acknowledged without it (RFC 8257, section 3.2), and the mark immediately.
            if changed && self.acks.is_pending() {
                self.send_ack(now, out, None);
            }
        } else if matches!(self.stack.ecn, Ecn::Accurate | Ecn::Dctcp) {
            if self.ece && self.acks.is_pending() && self.stack.ecn == Ecn::Dctcp {
                self.send_ack(now, out, None); // RFC 8257, section 3.2: the end of marking is acknowledged immediately too
            }
            self.ece = false;
        }
    }

    #[inline]
    fn deliver(&mut self, now: Time, bytes: Bytes) {
        self.delivered += bytes;
        self.window.on_data(now, bytes, self.expected, &self.stack);
    }

    /// Sends an ACK, with SACK blocks where segments are missing, or a D-SACK of a `duplicate`.
    fn send_ack(&mut self, now: Time, out: &mut impl Output, duplicate: Option<(u64, u64)>) {
        let mut ack = self.next_ack(now);
        if self.sack && (duplicate.is_some() || self.reassembly.is_some()) {
            self.fill_blocks(&mut ack.blocks, duplicate);
        }
        out.ack(&ack);
    }

    /// The next ACK, without SACK blocks.
    #[inline]
    fn next_ack(&mut self, now: Time) -> AckPacket {
        self.acks.on_ack_sent();
        self.timer = Time::MAX;
        self.acks_sent += 1;
        let window = self.window.advertise(now, &self.stack);
        if let Some(read_rate) = self.stack.read_rate.filter(|_| window < self.stack.mss) {
            self.timer = now + self.window.time_to_open(self.stack.mss, read_rate);
        }
        AckPacket {
            ack: self.expected,
            window,
            echo: self.acks.echo(),
            ece: self.ece,
            ce_count: self.ce_count,
            feedback: self.feedback.as_deref().copied(),
            blocks: SackBlocks::default(),
        }
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

    /// Handles the expiry of [`timer`](Self::timer): sends a delayed ACK, or an update of a closed window.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        self.send_ack(now, out, None);
    }
}
