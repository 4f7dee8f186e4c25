//! Fair queueing: one queue per flow, served by deficit round robin, with an optional AQM in each (FQ-CoDel, FQ-PIE).
//!
//! Sources: Shreedhar, Varghese, "Efficient Fair Queuing Using Deficit Round-Robin", 1996; Høiland-Jørgensen et al.,
//! "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm", RFC 8290 (2018), §4.
//!
//! ```text
//! an inactive queue that receives a packet joins the list of new queues with a credit of one quantum    (1)
//! the head of the list of new queues, else of old queues, sends while its credit is positive           (2)
//! without credit it receives a quantum and moves to the tail of the list of old queues                 (3)
//! an empty new queue moves to the tail of the list of old queues; an empty old queue becomes inactive  (4)
//! overflow: half of the packets of the longest queue, at most a batch, are dropped from its head,
//!           until the limit holds                                                                      (5)
//! ```
//!
//! Units: bytes of credit. A salted hash of the flow's identifier selects its queue; without a configured number of
//! queues every flow has its own queue.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_config::{fields, Faults, Reader};
use cwndlab_units::{Bytes, Time};

use super::codel::{self, CodelState};
use super::fifo::Fifo;
use super::longest::Lengths;
use super::pie::{self, Controller};
use super::{Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// The AQM of each queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueAqm {
    /// No AQM.
    None,
    /// CoDel.
    Codel(codel::Config),
    /// PIE.
    Pie(pie::Config),
}

fields! {
    /// The scheduler of all fair queues.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Scheduler {
        /// credit of a queue per round, from 64 B to 1 MiB
        quantum: Bytes = "1514 B",
        /// maximum number of packets dropped at once when the capacity is exceeded
        batch: u32 = 64 in 1..=1_000_000,
    }
    check
}

impl Scheduler {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        check_quantum(self.quantum, table, faults);
    }
}

/// Adds a fault if the field `quantum` is outside its range.
pub(super) fn check_quantum(quantum: Bytes, table: &Reader<'_>, faults: &mut Faults) {
    if quantum < Bytes(64) || quantum > Bytes(1 << 20) {
        let hint = "from 64 B to 1 MiB: \"1514 B\"";
        faults.add(table.at("quantum"), format!("{quantum} is outside the range of a quantum"), hint);
    }
}

fields! {
    /// The scheduler of disciplines that hash flows to queues.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HashedScheduler {
        /// number of queues; flows are hashed to them
        queues: u32 = 1024 in 1..=65_536,
        /// the scheduler
        scheduler: Scheduler,
    }
}

/// Settings of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Number of queues; with `None` every flow has its own queue.
    pub queues: Option<u32>,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The AQM of each queue.
    pub aqm: QueueAqm,
}

impl Config {
    /// Fair queueing with this AQM.
    pub(super) fn hashed(HashedScheduler { queues, scheduler }: HashedScheduler, aqm: QueueAqm) -> Self {
        Self { queues: Some(queues), scheduler, aqm }
    }

    /// An empty discipline.
    pub(super) fn build<P: Packet>(self, context: QueueContext) -> Box<dyn Discipline<P>> {
        Box::new(FairQueue::new(self, context.limit, context.stream))
    }
}

/// The list of a flow's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Inactive,
    New,
    Old,
}

/// One of the queues, with its scheduling and AQM state.
#[derive(Debug)]
struct FlowQueue<P> {
    queue: Fifo<P>,
    credit: i64,
    list: List,
    state: CodelState,
    controller: Controller,
}

/// A set of queues served by deficit round robin.
#[derive(Debug)]
pub struct FairQueue<P> {
    config: Config,
    limit: Limit,
    flow_queues: Vec<FlowQueue<P>>,
    lengths: Lengths,
    /// Index of the queue of each flow, or of each hash.
    index: BTreeMap<u64, u32>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    salt: u64,
    stream: Stream,
    packets: u64,
    bytes: u64,
}

impl<P: Copy + Default + std::fmt::Debug + Send> FairQueue<P> {
    /// No queues yet; `limit` applies to the sum of all queues.
    #[must_use]
    pub fn new(config: Config, limit: Limit, mut stream: Stream) -> Self {
        Self {
            config,
            limit,
            flow_queues: Vec::new(),
            lengths: Lengths::new(),
            index: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            salt: stream.bits(),
            stream,
            packets: 0,
            bytes: 0,
        }
    }

    /// Index of the queue of `flow`, created on first use.
    fn flow_queue(&mut self, flow: u64) -> usize {
        let key = match self.config.queues {
            None => flow,
            Some(queues) => {
                let mut mixed = flow ^ self.salt;
                cwndlab_units::random::splitmix(&mut mixed) % u64::from(queues.max(1))
            }
        };
        let next = self.flow_queues.len() as u32;
        let at = *self.index.entry(key).or_insert(next);
        if at == next {
            self.flow_queues.push(FlowQueue {
                queue: Fifo::new(Limit::Unlimited, false),
                credit: 0,
                list: List::Inactive,
                state: CodelState::default(),
                controller: Controller::default(),
            });
        }
        at as usize
    }

    /// (5), once.
    fn drop_from_longest(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) {
        let longest = self.lengths.longest();
        let flow_queue = &mut self.flow_queues[longest];
        let count = (flow_queue.queue.backlog().0 / 2).clamp(1, u64::from(self.config.scheduler.batch.max(1)));
        for _ in 0..count {
            let Some(one) = flow_queue.queue.dequeue(now, dropped) else { break };
            self.packets -= 1;
            self.bytes -= u64::from(one.size);
            dropped.push(one);
        }
        self.lengths.set(longest, flow_queue.queue.backlog().1);
    }

    /// The list of new queues, or of old queues.
    fn list(&mut self, new: bool) -> &mut VecDeque<u32> {
        if new {
            &mut self.new
        } else {
            &mut self.old
        }
    }

    /// The next packet of a flow's queue, after the drops of its AQM.
    fn take(&mut self, index: usize, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let FlowQueue { queue, state, controller, .. } = &mut self.flow_queues[index];
        let (packets, bytes) = queue.backlog();
        let taken = match &self.config.aqm {
            QueueAqm::Codel(config) => state.dequeue(config, now, dropped, || {
                let one = queue.pop()?;
                Some((one, queue.backlog().1))
            }),
            QueueAqm::Pie(config) => {
                let one = queue.dequeue(now, dropped);
                if let Some(one) = &one {
                    controller.on_departure(config, now, bytes, now - one.since);
                }
                one
            }
            QueueAqm::None => queue.dequeue(now, dropped),
        };
        let remaining = queue.backlog();
        self.packets -= packets - remaining.0;
        self.bytes -= bytes - remaining.1;
        self.lengths.set(index, remaining.1);
        taken
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for FairQueue<P> {
    fn enqueue(&mut self, now: Time, serving: u32, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let at = self.flow_queue(one.flow);
        let flow_queue = &mut self.flow_queues[at];
        if let QueueAqm::Pie(config) = &self.config.aqm {
            let backlog = flow_queue.queue.backlog().1;
            if !flow_queue.controller.admits(config, now, backlog, &mut self.stream, &mut one) {
                dropped.push(one);
                return;
            }
        }
        self.packets += 1;
        self.bytes += u64::from(one.size);
        flow_queue.queue.enqueue(now, serving, one, dropped);
        self.lengths.set(at, flow_queue.queue.backlog().1);
        if flow_queue.list == List::Inactive {
            // (1)
            flow_queue.list = List::New;
            flow_queue.credit = self.config.scheduler.quantum.0.cast_signed();
            self.new.push_back(at as u32);
        }
        // A limit in bytes may take several batches of small packets for a large one.
        while !self.limit.holds(self.backlog()) {
            self.drop_from_longest(now, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        loop {
            let (at, fresh) = match (self.new.front(), self.old.front()) {
                (Some(&at), _) => (at, true),
                (None, Some(&at)) => (at, false),
                (None, None) => return None,
            };
            let flow_queue = &mut self.flow_queues[at as usize];
            if flow_queue.credit <= 0 {
                // (3)
                flow_queue.credit += self.config.scheduler.quantum.0.cast_signed();
                flow_queue.list = List::Old;
                self.list(fresh).pop_front();
                self.old.push_back(at);
                continue;
            }
            let taken = self.take(at as usize, now, dropped);
            let flow_queue = &mut self.flow_queues[at as usize];
            if let Some(one) = taken {
                flow_queue.credit -= i64::from(one.size);
                return Some(one);
            }
            // (4)
            flow_queue.list = if fresh { List::Old } else { List::Inactive };
            self.list(fresh).pop_front();
            if fresh {
                self.old.push_back(at);
            }
        }
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn oldest(&self) -> Option<Time> {
        self.flow_queues.iter().filter_map(|flow_queue| flow_queue.queue.oldest()).min()
    }

    fn memory(&self) -> usize {
        let queues = self.flow_queues.iter();
        queues.map(|queue| queue.queue.memory() + size_of::<FlowQueue<P>>()).sum::<usize>() + self.lengths.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use proptest::prelude::*;

    fn fair(queues: Option<u32>, limit: Limit) -> FairQueue<u64> {
        let config = Config { queues, scheduler: Scheduler { quantum: Bytes(1514), batch: 64 }, aqm: QueueAqm::None };
        FairQueue::new(config, limit, Stream::new(1, Purpose::Loss, 1))
    }

    fn packet(flow: u64, size: u32, number: u64) -> QueuedPacket<u64> {
        QueuedPacket { since: Time::ZERO, size, flow, packet: number, ..QueuedPacket::default() }
    }

    /// Shreedhar and Varghese 1996: backlogged flows get equal numbers of bytes, independent of their packet sizes.
    #[test]
    fn byte_shares_do_not_depend_on_packet_sizes() {
        let mut fair = fair(None, Limit::Unlimited);
        let mut dropped = Vec::new();
        for number in 0..4_000 {
            fair.enqueue(
                Time::ZERO,
                1500,
                packet(number % 2, if number % 2 == 0 { 1500 } else { 300 }, number),
                &mut dropped,
            );
        }
        let mut bytes = [0u64; 2];
        for _ in 0..1_500 {
            let one = fair.dequeue(Time::ZERO, &mut dropped).expect("backlogged");
            bytes[one.flow as usize] += u64::from(one.size);
        }
        assert!((bytes[0] as f64 / bytes[1] as f64 - 1.0).abs() < 0.02, "{bytes:?}");
    }

    /// RFC 8290, §4.2: new flows are served before backlogged flows.
    #[test]
    fn a_new_flow_is_served_first() {
        let mut fair = fair(None, Limit::Unlimited);
        let mut dropped = Vec::new();
        for number in 0..10 {
            fair.enqueue(Time::ZERO, 1500, packet(1, 1500, number), &mut dropped);
        }
        for _ in 0..3 {
            let _ = fair.dequeue(Time::ZERO, &mut dropped);
        }
        fair.enqueue(Time::ZERO, 1500, packet(2, 100, 99), &mut dropped);
        assert_eq!(fair.dequeue(Time::ZERO, &mut dropped).map(|one| one.packet), Some(99));
    }

    /// RFC 8290, §4.1: an overflow drops half of the longest queue, from its head.
    #[test]
    fn an_overflow_drops_from_the_longest_queue() {
        let mut fair = fair(None, Limit::Packets(20));
        let mut dropped = Vec::new();
        for number in 0..18 {
            fair.enqueue(Time::ZERO, 1500, packet(1, 1500, number), &mut dropped);
        }
        for number in 18..21 {
            fair.enqueue(Time::ZERO, 1500, packet(2, 1500, number), &mut dropped);
        }
        assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    }

    /// By hand: 46 packets of 64 bytes, 2944 bytes, wait when one of 1500 of another flow arrives. For at most 3000 bytes 23 of
    /// the small ones have to go, the oldest first; with batches of ten they are 30.
    #[test]
    fn a_large_packet_drops_as_many_small_ones_as_a_capacity_in_bytes_demands() {
        for (batch, drops) in [(1, 23), (10, 30), (64, 23)] {
            let mut fair = fair(None, Limit::Bytes(3000));
            fair.config.scheduler.batch = batch;
            let mut dropped = Vec::new();
            for number in 0..46 {
                fair.enqueue(Time::ZERO, 0, packet(1, 64, number), &mut dropped);
            }
            fair.enqueue(Time::ZERO, 0, packet(2, 1500, 46), &mut dropped);
            assert_eq!(fair.backlog(), (47 - drops, (46 - drops) * 64 + 1500), "{batch}");
            assert!(dropped.iter().map(|one| one.packet).eq(0..drops));
        }
    }

    proptest! {
        /// Every packet leaves exactly once, and the packets of a flow in order; no packet remains.
        #[test]
        fn packets_are_conserved(
            steps in prop::collection::vec((0u64..6, 40u32..1500, any::<bool>()), 1..400),
            limit in 1u64..50,
            queues in prop::option::of(1u32..5),
        ) {
            let mut fair = fair(queues, Limit::Packets(limit));
            let mut dropped = Vec::new();
            let mut out = Vec::new();
            for (number, &(flow, size, take)) in steps.iter().enumerate() {
                fair.enqueue(Time::ZERO, 0, packet(flow, size, number as u64), &mut dropped);
                prop_assert!(fair.backlog().0 <= limit);
                if take { out.extend(fair.dequeue(Time::ZERO, &mut dropped)); }
            }
            while let Some(one) = fair.dequeue(Time::ZERO, &mut dropped) { out.push(one); }
            prop_assert_eq!(fair.backlog(), (0, 0));
            prop_assert_eq!(out.len() + dropped.len(), steps.len());
            for flow in 0..6 {
                let mine: Vec<_> = out.iter().filter(|one| one.flow == flow).map(|one| one.packet).collect();
                prop_assert!(mine.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
