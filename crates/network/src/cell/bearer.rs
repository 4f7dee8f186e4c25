//! A bearer: the queue, the transport blocks and the counters of one direction of one user.

use std::collections::VecDeque;
use std::fmt;

use cwndlab_units::{maths, Duration, Time};

use super::channel::Channel;
use super::config::Configuration;
use super::grants::GrantState;
use crate::aqm::{Discipline, QueuedPacket};
use crate::random::Stream;
use crate::wifi::FrameOutcome;

/// The configuration of a bearer.
#[derive(Debug)]
pub struct BearerConfig<P> {
    /// Its user.
    pub user: u32,
    /// It leads from the user to the base station.
    pub uplink: bool,
    /// The queue, with its own capacity.
    pub queue: Box<dyn Discipline<P>>,
    /// An arriving ECN-capable packet is marked if with it more than this number of packets wait.
    pub mark_above: Option<u32>,
    /// Mean SNR from each time on, dB; the first time is 0.
    pub snr_db: Vec<(Duration, f64)>,
    /// Times and interruptions of hand-overs.
    pub handovers: Vec<(Duration, Duration)>,
    /// Period of the SNR and of the hand-overs.
    pub repeat: Option<Duration>,
    /// Coherence time of Rayleigh fading.
    pub fading: Option<Duration>,
    /// Random stream of the fading.
    pub stream: Stream,
}

/// The counters of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerCounters {
    /// Packets offered.
    pub offered: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets delivered.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets lost by HARQ and RLC or by a hand-over.
    pub lost: u64,
    /// Resource blocks used, retransmissions included.
    pub resource_blocks: u64,
    /// Transport blocks with new data.
    pub transport_blocks: u64,
    /// Those whose first attempt failed.
    pub failed_blocks: u64,
    /// Retransmissions of HARQ.
    pub harq_retransmissions: u64,
    /// Retransmissions of RLC, after HARQ gave up or after a hand-over.
    pub rlc_retransmissions: u64,
    /// Scheduling requests.
    pub requests: u64,
    /// Promotions of the user that a packet of the bearer caused.
    pub promotions: u64,
    /// Hand-overs.
    pub handovers: u64,
    /// CQI of the last transport block; 0 before the first.
    pub cqi: u8,
    /// Maximum number of packets.
    pub max_packets: u64,
}

/// The state of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// It waits for a transmission by RLC.
    Waiting,
    /// It is in transmission, and fails or not.
    Sent { fails: bool },
    /// HARQ retransmits it at this time.
    Retransmission(Time),
    /// HARQ gave it up; RLC repeats it or gives it up at this time.
    Recovery(Time),
    /// The receiver has it.
    Received,
    /// It is lost.
    Lost,
}

/// A transport block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) bytes: u32,
    /// Bytes that RLC has yet to repeat.
    pub(super) left: u32,
    /// Packets whose last byte is in it.
    pub(super) ends: u32,
    /// It ends within a packet.
    pub(super) cut: bool,
    pub(super) cqi: u8,
    pub(super) resource_blocks: u32,
    /// Attempts of HARQ so far.
    pub(super) attempts: u32,
    /// Sum of the SNR of the attempts.
    pub(super) snr: f64,
    pub(super) state: BlockState,
}

/// A bearer.
pub(super) struct Bearer<P> {
    pub(super) user: usize,
    pub(super) uplink: bool,
    pub(super) channel: Channel,
    queue: Box<dyn Discipline<P>>,
    mark_above: u64,
    /// The packet of which a part is in transport blocks, and its rest.
    head: Option<QueuedPacket<P>>,
    head_left: u32,
    /// Packets whose last byte is in a transport block.
    travelling: VecDeque<QueuedPacket<P>>,
    /// A part of the next packet of `travelling` is lost.
    damaged: bool,
    /// Transport blocks from number `first` on.
    pub(super) blocks: VecDeque<Block>,
    first: u64,
    /// Blocks that RLC repeats.
    pub(super) again: VecDeque<u64>,
    pub(super) service: Service,
    /// Position in the stream of bytes.
    position: u64,
    pub(super) grants: GrantState,
    /// The last transport block took the last packet of the queue.
    drained: bool,
    /// End of the interruption by a hand-over.
    pub(super) interrupted: Time,
    handovers: Handovers,
    pub(super) counters: BearerCounters,
    held: Held,
}

/// The hand-overs of a bearer.
struct Handovers {
    /// Times and interruptions.
    list: Vec<(Duration, Duration)>,
    repeat: Option<Duration>,
    /// Number of the next one.
    next: usize,
}

/// Packets and bytes of a bearer, waiting and in transport blocks, and their integrals over time, ns.
#[derive(Debug, Default)]
struct Held {
    packets: u64,
    bytes: u64,
    counted: Time,
    packet_ns: u128,
    byte_ns: u128,
}

/// The service of a bearer so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// Mean throughput at the start of the TTI number `at`, bits per TTI.
    mean: f64,
    at: u64,
    /// The last TTI with a transmission, from 1.
    pub(super) last: u64,
}

impl Service {
    /// No service; the mean of 1 is that of ns-3.
    pub(super) const NONE: Self = Self { mean: 1.0, at: 0, last: 0 };

    /// The mean throughput at the start of the TTI number `tti`, bits per TTI; T ← (1 − 1/w) T in a TTI without service.
    pub(super) fn mean(&self, tti: u64, window: f64) -> f64 {
        match tti - self.at {
            0 => self.mean,
            1 => self.mean * (1.0 - 1.0 / window),
            idle => self.mean * maths::pow(1.0 - 1.0 / window, idle as f64),
        }
    }

    /// T ← (1 − 1/w) T + served / w, after the TTI number `tti`.
    pub(super) fn add(&mut self, tti: u64, window: f64, bits: f64) {
        let mean = self.mean(tti, window) * (1.0 - 1.0 / window) + bits / window;
        *self = Self { mean, at: tti + 1, last: tti };
    }
}

impl<P> fmt::Debug for Bearer<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Bearer").field("counters", &self.counters).field("held", &self.held).finish_non_exhaustive()
    }
}

impl<P: Copy> Bearer<P> {
    /// The bearer number `index`.
    pub(super) fn new(index: usize, one: BearerConfig<P>, cell: &Configuration) -> Self {
        let channel = Channel::new(&one.snr_db, one.repeat, one.fading, (cell.tti(), cell.cqi_delay), one.stream);
        let grants = GrantState::new(
            cell.request_interval(),
            cell.tti() * index as u64,
            cell.grant_delay(),
            cell.grants.first.0,
        );
        Self {
            user: one.user as usize,
            uplink: one.uplink,
            channel,
            queue: one.queue,
            mark_above: one.mark_above.map_or(u64::MAX, u64::from),
            head: None,
            head_left: 0,
            travelling: VecDeque::new(),
            damaged: false,
            blocks: VecDeque::new(),
            first: 0,
            again: VecDeque::new(),
            service: Service::NONE,
            position: 0,
            grants,
            drained: false,
            interrupted: Time::ZERO,
            handovers: Handovers { list: one.handovers, repeat: one.repeat, next: 0 },
            counters: BearerCounters::default(),
            held: Held::default(),
        }
    }

    /// Packets and bytes: waiting and in transport blocks.
    pub(super) fn held(&self) -> (u64, u64) {
        (self.held.packets, self.held.bytes)
    }

    /// Bytes that are in no transport block yet.
    pub(super) fn waiting(&self) -> u64 {
        self.queue.backlog().1 + u64::from(self.head_left)
    }

    /// Arrival of the packet that has waited longest.
    pub(super) fn oldest(&self) -> Option<Time> {
        let first = self.travelling.front().or(self.head.as_ref());
        first.map(|one| one.since).or_else(|| self.queue.oldest())
    }

    /// Integrals over time of packets and bytes until `now`, ns.
    pub(super) fn integrals(&mut self, now: Time) -> (u128, u128) {
        let held = &mut self.held;
        let span = u128::from(now.saturating_since(held.counted).as_nanos());
        held.packet_ns += u128::from(held.packets) * span;
        held.byte_ns += u128::from(held.bytes) * span;
        held.counted = now;
        (held.packet_ns, held.byte_ns)
    }

    fn remove(&mut self, now: Time, one: &QueuedPacket<P>) {
        self.integrals(now);
        self.held.packets -= 1;
        self.held.bytes -= u64::from(one.size);
    }

    fn count_dropped(&mut self, now: Time, dropped: &[QueuedPacket<P>]) {
        self.counters.dropped += dropped.len() as u64;
        for one in dropped {
            self.remove(now, one);
        }
    }

    /// Adds a packet to the queue.
    pub(super) fn offer(&mut self, now: Time, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.integrals(now);
        if self.queue.backlog().0 >= self.mark_above {
            one.mark();
        }
        self.counters.offered += 1;
        self.held.packets += 1;
        self.held.bytes += u64::from(one.size);
        let before = dropped.len();
        let serving = self.head.map_or(0, |head| head.size);
        self.queue.enqueue(now, serving, one, dropped);
        self.count_dropped(now, &dropped[before..]);
        self.counters.max_packets = self.counters.max_packets.max(self.held.packets);
        if self.held.packets == 0 {
            self.find_none(now); // the queue dropped the only packet
        }
    }

    /// The radio is ready for a packet, and the queue has none: disciplines learn by such a call that the line is idle.
    fn find_none(&mut self, now: Time) {
        let none = self.queue.dequeue(now, &mut Vec::new());
        debug_assert!(none.is_none(), "an empty queue has no packet");
    }

    /// A TTI begins: if the last transport block took the last packet, the queue may still be empty.
    pub(super) fn notice_idle(&mut self, now: Time) {
        if std::mem::take(&mut self.drained) && self.waiting() == 0 {
            self.find_none(now);
        }
    }

    /// Segments packets of up to `room` bytes into a transport block; returns its number, or `None` if the queue had none.
    pub(super) fn fill(
        &mut self,
        now: Time,
        room: u32,
        (cqi, resource_blocks): (u8, u32),
        dropped: &mut Vec<QueuedPacket<P>>,
    ) -> Option<u64> {
        let before = dropped.len();
        let mut left = room;
        let mut ends = 0;
        while left > 0 {
            let Some(head) = self.head.or_else(|| {
                let one = self.queue.dequeue(now, dropped);
                self.head_left = one.map_or(0, |one| one.size);
                one
            }) else {
                break;
            };
            let part = self.head_left.min(left);
            left -= part;
            self.head_left -= part;
            self.head = Some(head);
            if self.head_left == 0 {
                self.travelling.push_back(head);
                self.head = None;
                ends += 1;
            }
        }
        self.count_dropped(now, &dropped[before..]);
        // With room left, the queue was asked for another packet.
        self.drained = left == 0 && self.waiting() == 0;
        let bytes = room - left;
        if bytes == 0 {
            return None;
        }
        self.position += u64::from(bytes);
        let cut = self.head.is_some_and(|head| self.head_left < head.size);
        let state = BlockState::Waiting;
        self.blocks.push_back(Block { bytes, left: 0, ends, cut, cqi, resource_blocks, attempts: 0, snr: 0.0, state });
        self.counters.transport_blocks += 1;
        self.counters.cqi = cqi;
        Some(self.first + self.blocks.len() as u64 - 1)
    }

    /// The block of this number, unless it has been delivered or given up.
    pub(super) fn block(&mut self, number: u64) -> Option<&mut Block> {
        let place = number.checked_sub(self.first)? as usize;
        self.blocks.get_mut(place)
    }

    /// Position in the stream of bytes.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Appends packets that are delivered in order, or lost, to `outcomes`; returns their number.
    pub(super) fn deliver(&mut self, now: Time, outcomes: &mut Vec<FrameOutcome<P>>) -> u64 {
        let before = self.held.packets;
        while let Some(&Block { ends, cut, state, .. }) = self.blocks.front() {
            let lost = state == BlockState::Lost;
            if !lost && state != BlockState::Received {
                break;
            }
            self.blocks.pop_front();
            self.first += 1;
            self.damaged |= lost;
            for _ in 0..ends {
                let Some(one) = self.travelling.pop_front() else { break };
                let damaged = std::mem::replace(&mut self.damaged, lost);
                self.leave(now, one, damaged, outcomes);
            }
            if ends > 0 {
                self.damaged = lost && cut;
            }
        }
        before - self.held.packets
    }

    fn leave(&mut self, now: Time, one: QueuedPacket<P>, lost: bool, outcomes: &mut Vec<FrameOutcome<P>>) {
        self.remove(now, &one);
        if lost {
            self.counters.lost += 1;
            outcomes.push(FrameOutcome::Lost(one));
        } else {
            self.counters.sent += 1;
            self.counters.sent_bytes += u64::from(one.size);
            outcomes.push(FrameOutcome::Delivered(one));
        }
    }

    /// Loses all packets; returns their number.
    pub(super) fn lose_all(
        &mut self,
        now: Time,
        outcomes: &mut Vec<FrameOutcome<P>>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) -> u64 {
        let (held, drops) = (self.held.packets, dropped.len());
        self.blocks.iter_mut().for_each(|block| block.state = BlockState::Lost);
        self.again.clear();
        self.deliver(now, outcomes);
        self.damaged = false;
        self.head_left = 0;
        let mut next = self.head.take().or_else(|| self.queue.dequeue(now, dropped));
        while let Some(one) = next {
            self.leave(now, one, true, outcomes);
            next = self.queue.dequeue(now, dropped);
        }
        self.count_dropped(now, &dropped[drops..]);
        held - self.held.packets
    }

    /// All blocks that the receiver does not have are sent again by RLC, or are lost.
    pub(super) fn restart_blocks(&mut self, again: bool) {
        self.again.clear();
        for (number, block) in (self.first..).zip(&mut self.blocks) {
            if matches!(block.state, BlockState::Received | BlockState::Lost) {
                continue;
            }
            block.state = if again { BlockState::Waiting } else { BlockState::Lost };
            if again {
                block.left = block.bytes;
                self.again.push_back(number);
            }
        }
    }

    /// The next hand-over: its time and its interruption.
    pub(super) fn next_handover(&self) -> Option<(Time, Duration)> {
        let Handovers { list, repeat, next } = &self.handovers;
        let (at, interruption) = *list.get(next % list.len().max(1))?;
        let round = (next / list.len()) as u64;
        match *repeat {
            None if round > 0 => None,
            period => Some((Time::ZERO + at + period.unwrap_or(Duration::ZERO) * round, interruption)),
        }
    }

    /// Counts a hand-over whose interruption lasts until `end`, unless that of an earlier one lasts longer.
    pub(super) fn begin_handover(&mut self, end: Time) {
        self.handovers.next += 1;
        self.counters.handovers += 1;
        self.interrupted = self.interrupted.max(end);
        self.grants.reset(self.position);
    }

    /// Memory in use, bytes.
    pub(super) fn memory(&self) -> usize {
        self.queue.memory()
            + self.blocks.capacity() * size_of::<Block>()
            + self.travelling.capacity() * size_of::<QueuedPacket<P>>()
    }
}
