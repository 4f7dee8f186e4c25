//! The receiver: reassembly, delayed ACKs, SACK and D-SACK blocks, ECN echo, the receive window.

use std::collections::VecDeque;

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Time};

use crate::stack::{Ecn, Stack};
use crate::wire::{AckPacket, Blocks, Data, Output, MAX_BLOCKS};

/// Never: a timer that is off.
pub const NEVER: u64 = u64::MAX;

/// What Linux' receive window starts with (`tcp_rmem` aside): 64 kB.
const FIRST_WINDOW: u64 = 65_535;

/// The receiving end of a connection, in the order in which it is touched: two cache lines while nothing is lost.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next segment expected.
    pub expected: u64,
    pending: u32,
    /// When the delayed ACK or a window update is due.
    pub timer: u64,
    /// Payload delivered in order for the first time.
    pub delivered: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    echo: u64,
    last_arrival: u64,
    ack_delay: u64,
    quick: u32,
    ack_every: u32,
    /// Out-of-order runs, ascending, disjoint, with the bytes that each holds.
    runs: VecDeque<(u64, u64)>,
    mss: u32,
    ce_count: u32,
    ece: bool,
    sack: bool,
    dsack: bool,
    ecn: Ecn,
    max_blocks: u8,
    window: Window,
    /// What routers wrote on the last segment; `accelerated` of all.
    feedback: Option<Feedback>,
    /// Lengths of out-of-order segments that are not full (last ones of a transfer).
    odd: Vec<(u64, u32)>,
    /// A segment of each recently changed run, newest first.
    recent: [u64; MAX_BLOCKS],
    recents: u8,
    quick_acks: u32,
}

/// The receive window and, with auto-tuning, how it grows (Linux' dynamic right-sizing).
#[derive(Debug)]
struct Window {
    size: u64,
    ceiling: u64,
    auto: bool,
    /// Bytes that the application took in the last round, and where the round began.
    space: u64,
    round_end: u64,
    round_bytes: u64,
    /// Bytes per second that the application reads; 0 reads at once.
    read_bps: u64,
    buffered: u64,
    drained_at: u64,
    advertised: u64,
}

impl Receiver {
    /// Nothing received yet.
    #[must_use]
    pub fn new(stack: &Stack, sack: bool) -> Self {
        let ceiling = stack.receive_window.0;
        Self {
            expected: stack.first_segment,
            delivered: 0,
            acks_sent: 0,
            timer: NEVER,
            runs: VecDeque::new(),
            odd: Vec::new(),
            recent: [0; MAX_BLOCKS],
            recents: 0,
            pending: 0,
            quick: stack.quick_acks,
            echo: 0,
            ece: false,
            ce_count: 0,
            feedback: None,
            mss: stack.mss.0 as u32,
            ack_every: stack.ack_every.max(1),
            ack_delay: stack.ack_delay.0,
            quick_acks: stack.quick_acks,
            max_blocks: stack.sack_blocks.min(MAX_BLOCKS as u32) as u8,
            sack,
            dsack: sack && stack.dsack,
            ecn: stack.ecn,
            last_arrival: 0,
            window: Window {
                size: if stack.auto_tuning { ceiling.min(FIRST_WINDOW) } else { ceiling },
                ceiling,
                auto: stack.auto_tuning,
                space: FIRST_WINDOW / 2,
                round_end: 0,
                round_bytes: 0,
                read_bps: stack.read_rate.map_or(0, |rate| rate.0),
                buffered: 0,
                drained_at: 0,
                advertised: 0,
            },
        }
    }

    /// Memory held beyond the struct itself, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.runs.capacity() * 16 + self.odd.capacity() * 16
    }

    /// The window that the first packet of a connection advertises.
    #[must_use]
    pub fn first_window(&self) -> u64 {
        self.window.size
    }

    /// A data segment arrives; `ce` tells that it bears a CE mark.
    #[inline]
    pub fn on_data(&mut self, now: u64, data: &Data, ce: bool, out: &mut impl Output) {
        if self.ecn != Ecn::Off {
            self.note_ecn(data, ce, out, now);
        }
        if let Some(feedback) = data.feedback {
            self.note_feedback(feedback);
        }
        // Linux returns to quick ACKs after an idle time of one RTO or more; 200 ms is its smallest.
        if now - self.last_arrival > 200_000_000 && self.last_arrival > 0 && self.quick == 0 {
            self.quick = self.quick_acks;
        }
        self.last_arrival = now;
        if data.seq == self.expected && self.runs.is_empty() {
            // RFC 7323, section 4.3: the echo is of the segment that the last ACK was waiting for.
            if self.pending == 0 {
                self.echo = data.stamp.0;
            }
            self.expected += 1;
            self.deliver(now, u64::from(data.len));
            self.pending += 1;
            if self.quick > 0 {
                self.quick -= 1;
                self.send_ack(now, out, None);
            } else if self.pending >= self.ack_every {
                self.send_ack(now, out, None);
            } else if self.timer == NEVER {
                self.timer = now + self.ack_delay;
            }
            return;
        }
        self.out_of_order(now, data, out);
    }

    fn out_of_order(&mut self, now: u64, data: &Data, out: &mut impl Output) {
        if data.len == 0 {
            self.send_ack(now, out, None); // a question after the window (RFC 9293, 3.8.6.1)
            return;
        }
        if data.seq < self.expected {
            self.send_ack(now, out, Some((data.seq, data.seq + 1)));
            return;
        }
        if data.seq == self.expected {
            // Fills the first hole: everything up to the end of the first run that it touches is in order now.
            self.echo = data.stamp.0;
            self.expected += 1;
            let mut bytes = u64::from(data.len);
            if let Some(&(from, to)) = self.runs.front() {
                if from == self.expected {
                    bytes += self.take_run(from, to);
                    self.runs.pop_front();
                    self.expected = to;
                }
            }
            self.deliver(now, bytes);
            self.send_ack(now, out, None); // RFC 5681, section 4.2: at once when a gap is filled
            return;
        }
        if self.insert(data.seq) {
            if data.len != self.mss {
                self.odd.push((data.seq, data.len));
            }
            self.send_ack(now, out, None);
        } else {
            self.send_ack(now, out, Some((data.seq, data.seq + 1)));
        }
    }

    fn take_run(&mut self, from: u64, to: u64) -> u64 {
        let mut bytes = (to - from) * u64::from(self.mss);
        let mss = u64::from(self.mss);
        self.odd.retain(|&(seq, len)| {
            let inside = seq >= from && seq < to;
            if inside {
                bytes = bytes - mss + u64::from(len);
            }
            !inside
        });
        bytes
    }

    /// Puts `seq` into the runs; `false` if it was there.
    fn insert(&mut self, seq: u64) -> bool {
        let at = self.runs.partition_point(|&(_, to)| to < seq);
        let fresh = match self.runs.get(at).copied() {
            None => {
                self.runs.push_back((seq, seq + 1));
                true
            }
            Some((from, to)) if from <= seq && seq < to => false,
            Some((from, to)) if to == seq => {
                let joins = self.runs.get(at + 1).filter(|next| next.0 == seq + 1).map(|next| next.1);
                self.runs[at] = (from, joins.unwrap_or(seq + 1));
                if joins.is_some() {
                    self.runs.remove(at + 1);
                }
                true
            }
            Some((from, to)) if from == seq + 1 => {
                self.runs[at] = (seq, to);
                true
            }
            Some(_) => {
                self.runs.insert(at, (seq, seq + 1));
                true
            }
        };
        self.remember(seq);
        fresh
    }

    /// The run of `seq` is the most recent one.
    fn remember(&mut self, seq: u64) {
        let run = self.run_of(seq);
        let mut kept = [0; MAX_BLOCKS];
        kept[0] = seq;
        let mut n = 1;
        for index in 0..self.recents as usize {
            let other = self.recent[index];
            if n < MAX_BLOCKS && self.run_of(other).is_some() && self.run_of(other) != run {
                kept[n] = other;
                n += 1;
            }
        }
        self.recent = kept;
        self.recents = n as u8;
    }

    fn run_of(&self, seq: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|&(_, to)| to <= seq);
        self.runs.get(at).copied().filter(|&(from, _)| from <= seq)
    }

    /// What routers wrote on a segment: the rate is the last one's, what says "accelerate" is counted.
    #[cold]
    fn note_feedback(&mut self, new: Feedback) {
        let before = self.feedback.map_or(Bytes::ZERO, |one| one.accelerated);
        self.feedback = Some(Feedback { accelerated: before + new.accelerated, ..new });
    }

    fn note_ecn(&mut self, data: &Data, ce: bool, out: &mut impl Output, now: u64) {
        if data.cwr {
            self.ece = false;
        }
        if ce {
            self.ce_count = self.ce_count.wrapping_add(1);
            let changed = !self.ece;
            self.ece = true;
            // A mark is told at once: what is held back would not carry it (RFC 3168; DCTCP, section 3.2).
            if changed && self.pending > 0 {
                self.send_ack(now, out, None);
            }
        } else if matches!(self.ecn, Ecn::Accurate | Ecn::Dctcp) {
            let changed = self.ece;
            if changed && self.pending > 0 && self.ecn == Ecn::Dctcp {
                self.send_ack(now, out, None); // RFC 8257, section 3.2: the end of marking is told apart, too
            }
            self.ece = false;
        }
    }

    #[inline]
    fn deliver(&mut self, now: u64, bytes: u64) {
        self.delivered += bytes;
        let window = &mut self.window;
        if window.read_bps > 0 {
            window.drain(now);
            window.buffered += bytes;
        }
        if window.auto {
            window.round_bytes += bytes;
            if self.expected >= window.round_end {
                window.tune(self.mss);
                window.round_end = self.expected + window.size / u64::from(self.mss);
            }
        }
    }

    fn send_ack(&mut self, now: u64, out: &mut impl Output, duplicate: Option<(u64, u64)>) {
        self.pending = 0;
        self.timer = NEVER;
        self.acks_sent += 1;
        let window = self.window.offer(now);
        let mut blocks = Blocks::default();
        if self.sack {
            if let Some(block) = duplicate.filter(|_| self.dsack) {
                blocks.list[0] = block;
                blocks.len = 1;
                blocks.duplicate = true;
            }
            if !self.runs.is_empty() {
                self.fill(&mut blocks);
            }
        }
        if window < u64::from(self.mss) && self.window.read_bps > 0 {
            self.timer = now + self.window.time_to_open(u64::from(self.mss));
        }
        out.ack(&AckPacket {
            ack: self.expected,
            window,
            echo: Time(self.echo),
            ece: self.ece,
            ce_count: self.ce_count,
            feedback: self.feedback,
            blocks,
        });
    }

    fn fill(&self, blocks: &mut Blocks) {
        for &seq in &self.recent[..self.recents as usize] {
            if blocks.len >= self.max_blocks {
                return;
            }
            if let Some(run) = self.run_of(seq) {
                blocks.list[blocks.len as usize] = run;
                blocks.len += 1;
            }
        }
    }

    /// The timer is due: a delayed ACK, or news of a window that was closed.
    pub fn on_timer(&mut self, now: u64, out: &mut impl Output) {
        self.send_ack(now, out, None);
    }
}

impl Window {
    fn drain(&mut self, now: u64) {
        let read = u128::from(self.read_bps) * u128::from(now - self.drained_at) / 8_000_000_000;
        if read > 0 {
            self.buffered = self.buffered.saturating_sub(read as u64);
            self.drained_at = now;
        }
    }

    /// One round of Linux' `tcp_rcv_space_adjust`: twice what was read in a round, more while that grows.
    fn tune(&mut self, mss: u32) {
        let copied = self.round_bytes;
        self.round_bytes = 0;
        if copied > self.space {
            let mut size = 2 * copied + 16 * u64::from(mss);
            size += 2 * (u128::from(size) * u128::from(copied - self.space) / u128::from(self.space)) as u64;
            self.size = self.size.max(size).min(self.ceiling);
            self.space = copied;
        }
    }

    fn offer(&mut self, now: u64) -> u64 {
        if self.read_bps == 0 {
            self.advertised = self.size;
        } else {
            self.drain(now);
            let free = self.size.saturating_sub(self.buffered);
            // Silly window avoidance (RFC 9293, section 3.8.6.2.2): nothing below a sensible step.
            self.advertised = if free < 1460 { 0 } else { free };
        }
        self.advertised
    }

    fn time_to_open(&self, mss: u64) -> u64 {
        let wanted = (self.size / 2).max(2 * mss).min(self.size);
        let surplus = self.buffered.saturating_sub(self.size - wanted).max(mss);
        (u128::from(surplus) * 8_000_000_000 / u128::from(self.read_bps)) as u64 + 1
    }
}
