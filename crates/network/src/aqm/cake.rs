//! CAKE: a shaper, tins by DSCP, fair queueing within a tin, and COBALT in each queue.
//!
//! Sources: Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//! IEEE LANMAN 2018 (arXiv 1804.07617); `net/sched/sch_cake.c` of Linux 6.x; tc-cake(8).
//!
//! ```text
//! shaper: no packet before t_next; each adds size / bandwidth to t_next, which begins at the arrival at an
//!         empty queue                                                                                   (1)
//! tin with a shaper: the last one within its threshold, else the one whose threshold allows it first    (2)
//! tin without a shaper: in turns by their quanta                                                        (3)
//! flow: a queue of 8 in the set of its hash, 1024 in a tin; by deficit round robin, new flows first     (4)
//! overflow: the head of the longest queue is dropped                                                    (5)
//! an empty queue whose COBALT has not come to rest stays in a list, of which each departure visits one  (6)
//! ```
//!
//! Units: ns, bytes. The module `tins` has the tins, `cobalt` the AQM. A packet has no host here, hence the fairness between
//! hosts of the source (`triple-isolate`) is left out; with one flow for each host it is fairness between flows. Left out
//! as well: the ACK filter, `ingress`, `autorate-ingress`, `wash`, ATM and PTM framing. The limit of the source counts the
//! memory of packets, here it counts their size on the wire; its heap loses the order of queues that shrink, so that the
//! queue that it drops from is not always the longest. The quantum of a flow has no dither.

use std::collections::VecDeque;

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use super::cobalt::{Cobalt, Parameters, MTU};
use super::fifo::Fifo;
use super::longest::Lengths;
use super::tins::Tins;
use super::{capacity, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// CAKE's declaration.
pub static SPEC: Table = Table::new(
    "cake",
    "CAKE: a shaper, tins by `dscp` of the flow, fair queueing within a tin, CoDel and BLUE in each queue (Høiland-Jørgensen, Täht, Morton 2018; Linux' sch_cake). An overflow drops the head of the longest queue. ECN-capable packets are marked by CoDel. Fairness between hosts and the ACK filter are left out. The default capacity is that of Linux with a `bandwidth` up to 84 Mbit/s; above, Linux has four times `bandwidth` × `rtt`, and without a shaper 15.5 MB.",
    &[&[capacity::field("4 MiB")], Config::FIELDS],
)
.class("Cake");

/// Queues of a tin, and of a set.
const QUEUES: usize = 1024;
const WAYS: usize = 8;
/// The lowest rate of a tin: 64 bytes per second.
const MIN_RATE: u64 = 512;
/// Greatest `overhead` and `mpu`, as in tc-cake(8).
const MAX_OVERHEAD: Bytes = Bytes(256);

words! {
    /// What has a queue of its own.
    pub enum Isolation {
        /// each flow
        Flows = "flows",
        /// each tin
        Flowblind = "flowblind",
    }
}

fields! {
    /// CAKE's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// rate of the shaper, without a burst: below the line's rate, so that the queue is here. Not on a medium, whose
        /// stations ask for packets themselves
        bandwidth: Option<Rate> = absent("no shaper: the line's rate is the limit, and tins share it by their weights"),
        /// size that the shaper and the round robin add to each packet, at most 256 B
        overhead: Bytes = "0 B",
        /// least size of a packet with its overhead, at most 256 B
        mpu: Bytes = "0 B",
        /// mapping of DSCPs to tins; a tin above its threshold loses its priority
        tins: Tins = "diffserv3",
        /// what has a queue of its own
        isolation: Isolation = "flows",
        /// CoDel's interval, of the order of the largest expected RTT; its target is a twentieth, and longer in slow tins
        rtt: Positive<Duration> = "100 ms",
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        for (name, size) in [("overhead", self.overhead), ("mpu", self.mpu)] {
            if size > MAX_OVERHEAD {
                faults.add(
                    table.at(name),
                    format!("{size} is above {MAX_OVERHEAD}"),
                    "Ethernet: overhead 38 B, mpu 84 B",
                );
            }
        }
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Cake::new(*self, context.limit, context.stream)))
    }

    fn shapes(&self) -> bool {
        self.bandwidth.is_some()
    }
}

/// The lists of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In no list.
    Idle,
    /// In the list of new or of old queues.
    Active,
    /// Empty, in the list of decaying queues.
    Decaying,
}

/// The queue of a flow.
#[derive(Debug)]
struct FlowQueue<P> {
    queue: Fifo<P>,
    tin: usize,
    /// Hash of the flow that used it last.
    tag: u32,
    deficit: i64,
    state: State,
    cobalt: Cobalt,
}

/// A tin.
#[derive(Debug)]
struct Tin {
    parameters: Parameters,
    /// Its threshold, with a shaper.
    rate: Option<Rate>,
    /// Its credit in a round without a shaper, and that of its flows, bytes.
    quantum: i64,
    flow_quantum: i64,
    deficit: i64,
    /// Time at which its threshold allows the next packet.
    next: Time,
    packets: u64,
    /// Number of active queues.
    active: u32,
    /// Index of the queue in each slot, once it was used.
    slots: Vec<Option<u32>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
}

impl Tin {
    fn new(config: &Config, rate: Option<u64>, quantum: u64) -> Self {
        let rate = rate.map(|rate| Rate(rate.max(MIN_RATE)));
        Self {
            parameters: Parameters::new(config.rtt, rate),
            rate,
            quantum: quantum.cast_signed(),
            flow_quantum: rate.map_or(MTU, |rate| ((rate.0 / 8) >> 12).clamp(300, MTU)).cast_signed(),
            deficit: 0,
            next: Time::ZERO,
            packets: 0,
            active: 0,
            slots: vec![None; QUEUES],
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
        }
    }

    /// The list to serve.
    fn list(&mut self, decays: bool) -> &mut VecDeque<u32> {
        if decays && !self.decaying.is_empty() {
            &mut self.decaying
        } else if !self.new.is_empty() {
            &mut self.new
        } else {
            &mut self.old
        }
    }
}

/// A queue managed by CAKE.
#[derive(Debug)]
pub struct Cake<P> {
    config: Config,
    limit: Limit,
    tins: Vec<Tin>,
    queues: Vec<FlowQueue<P>>,
    lengths: Lengths,
    /// The tin in turn.
    turn: usize,
    /// Time before which the shaper releases no packet.
    next: Time,
    salt: u64,
    stream: Stream,
    packets: u64,
    bytes: u64,
}

impl<P: Packet> Cake<P> {
    /// Empty queues; `limit` applies to their sum.
    #[must_use]
    pub fn new(config: Config, limit: Limit, mut stream: Stream) -> Self {
        let rates = config.bandwidth.map(|bandwidth| config.tins.thresholds(bandwidth.0));
        let tin = |(index, quantum)| Tin::new(&config, rates.as_ref().map(|rates: &Vec<u64>| rates[index]), quantum);
        Self {
            config,
            limit,
            tins: config.tins.quanta().into_iter().enumerate().map(tin).collect(),
            queues: Vec::new(),
            lengths: Lengths::new(),
            turn: 0,
            next: Time::ZERO,
            salt: stream.bits(),
            stream,
            packets: 0,
            bytes: 0,
        }
    }

    /// (4): the queue of a flow, which is then its own until another flow finds it idle.
    fn flow_queue(&mut self, tin: usize, flow: u64) -> usize {
        let mut mixed = flow ^ self.salt;
        let hash = match self.config.isolation {
            Isolation::Flows => cwndlab_units::random::splitmix(&mut mixed) as u32,
            Isolation::Flowblind => 0,
        };
        let direct = hash as usize % QUEUES;
        let set = direct - direct % WAYS;
        let slots = &mut self.tins[tin].slots;
        let mut ways = (0..WAYS).map(|way| set + (direct + way) % WAYS);
        let at = |slot: usize| slots[slot].map(|at| &self.queues[at as usize]);
        let slot = ways
            .clone()
            .find(|&slot| at(slot).is_some_and(|queue| queue.tag == hash))
            .or_else(|| ways.find(|&slot| at(slot).is_none_or(|queue| queue.state == State::Idle)))
            .unwrap_or(direct);
        let next = self.queues.len() as u32;
        let index = *slots[slot].get_or_insert(next) as usize;
        if index == self.queues.len() {
            self.queues.push(FlowQueue {
                queue: Fifo::new(Limit::Unlimited, false),
                tin,
                tag: hash,
                deficit: 0,
                state: State::Idle,
                cobalt: Cobalt::default(),
            });
        }
        self.queues[index].tag = hash;
        index
    }

    /// Size that counts for the shaper and the round robin.
    fn charged(&self, size: u32) -> u64 {
        (u64::from(size) + self.config.overhead.0).max(self.config.mpu.0)
    }

    /// Removes the head of a queue.
    fn pop(&mut self, index: usize) -> Option<QueuedPacket<P>> {
        let FlowQueue { queue, tin, .. } = &mut self.queues[index];
        let one = queue.pop()?;
        self.tins[*tin].packets -= 1;
        self.packets -= 1;
        self.bytes -= u64::from(one.size);
        self.lengths.set(index, queue.backlog().1);
        Some(one)
    }

    /// (5).
    fn drop_from_longest(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) {
        let longest = self.lengths.longest();
        dropped.extend(self.pop(longest));
        let FlowQueue { cobalt, tin, .. } = &mut self.queues[longest];
        cobalt.on_overflow(&self.tins[*tin].parameters, now);
    }

    /// The tin to serve, if there are packets.
    fn next_tin(&mut self, now: Time) -> usize {
        let busy = |tin: &Tin| tin.active > 0;
        if self.config.bandwidth.is_some() {
            // (2). Of equal minima the last one is served; all thresholds met are equal.
            let waits = self.tins.iter().enumerate().filter(|(_, tin)| busy(tin));
            let urgent = waits.rev().min_by_key(|(_, tin)| tin.next.saturating_since(now));
            return urgent.map_or(0, |(at, _)| at);
        }
        // (3)
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && busy(tin) {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// The next packet of a queue that its AQM does not drop. The last packet is not dropped.
    fn take(&mut self, index: usize, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        loop {
            let mut one = self.pop(index)?;
            let FlowQueue { cobalt, tin, queue, .. } = &mut self.queues[index];
            let drops = cobalt.drops(&self.tins[*tin].parameters, now, &mut one, &mut self.stream);
            if !drops || queue.front().is_none() {
                return Some(one);
            }
            dropped.push(one);
        }
    }

    /// Counts a packet that leaves for its tin and for the shaper.
    fn charge(&mut self, tin: usize, index: usize, now: Time, size: u32) {
        let size = self.charged(size);
        let tin = &mut self.tins[tin];
        self.queues[index].deficit -= size.cast_signed();
        tin.deficit -= size.cast_signed();
        if let (Some(bandwidth), Some(rate)) = (self.config.bandwidth, tin.rate) {
            let time = rate.time_for(Bytes(size));
            tin.next = if tin.next < now { tin.next + time } else { tin.next.max(now + time) };
            // (1)
            self.next += bandwidth.time_for(Bytes(size));
        }
    }
}

impl<P: Packet> Discipline<P> for Cake<P> {
    fn enqueue(&mut self, now: Time, serving: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let at = self.config.tins.tin(one.dscp);
        let index = self.flow_queue(at, one.flow);
        let tin = &mut self.tins[at];
        if tin.packets == 0 {
            tin.next = tin.next.max(now);
        }
        if self.packets == 0 {
            self.next = self.next.max(now);
        }
        tin.packets += 1;
        self.packets += 1;
        self.bytes += u64::from(one.size);
        let flow = &mut self.queues[index];
        flow.queue.enqueue(now, serving, one, dropped);
        self.lengths.set(index, flow.queue.backlog().1);
        if flow.state != State::Active {
            if flow.state == State::Decaying {
                tin.decaying.retain(|&other| other as usize != index);
            }
            flow.state = State::Active;
            flow.deficit = tin.flow_quantum;
            tin.active += 1;
            tin.new.push_back(index as u32);
        }
        while !self.limit.holds(self.backlog()) {
            self.drop_from_longest(now, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let mut decays = true;
        // (1)
        while self.packets > 0 && self.next <= now {
            let at = self.next_tin(now);
            let tin = &mut self.tins[at];
            let quantum = tin.flow_quantum;
            let decayed = std::mem::take(&mut decays);
            let list = tin.list(decayed);
            let Some(index) = list.front().map(|&index| index as usize) else { continue };
            if self.queues[index].deficit <= 0 {
                self.queues[index].deficit += quantum;
                list.pop_front();
                tin.old.push_back(index as u32);
                continue;
            }
            if let Some(one) = self.take(index, now, dropped) {
                self.charge(at, index, now, one.size);
                return Some(one);
            }
            let (flow, tin) = (&mut self.queues[index], &mut self.tins[at]);
            tin.list(decayed).pop_front();
            tin.active -= u32::from(flow.state == State::Active);
            // (6)
            flow.cobalt.on_empty(&tin.parameters, now);
            flow.state = if flow.cobalt.is_at_rest(now) { State::Idle } else { State::Decaying };
            if flow.state == State::Decaying {
                tin.decaying.push_back(index as u32);
            }
        }
        None
    }

    fn next_release(&self) -> Option<Time> {
        (self.packets > 0).then_some(self.next)
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn oldest(&self) -> Option<Time> {
        self.queues.iter().filter_map(|flow| flow.queue.oldest()).min()
    }

    fn memory(&self) -> usize {
        let queues = self.queues.iter().map(|flow| flow.queue.memory() + size_of::<FlowQueue<P>>());
        let slots = self.tins.len() * QUEUES * size_of::<Option<u32>>();
        queues.sum::<usize>() + slots + self.lengths.memory()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Codepoint;
    use super::*;
    use crate::aqm_link::AqmLink;
    use crate::dscp::Dscp;
    use crate::line::Line;
    use crate::random::Purpose;

    const MBIT: u64 = 1_000_000;
    const CONFIG: Config = Config {
        bandwidth: None,
        overhead: Bytes(0),
        mpu: Bytes(0),
        tins: Tins::Diffserv4,
        isolation: Isolation::Flows,
        rtt: Duration::from_millis(100),
    };

    fn shaped(mbit: u64) -> Config {
        Config { bandwidth: Some(Rate::from_mbps(mbit)), ..CONFIG }
    }

    fn cake(config: Config, limit: Limit) -> Cake<u64> {
        Cake::new(config, limit, Stream::new(1, Purpose::Queue, 1))
    }

    fn packet(flow: u64, dscp: Dscp, size: u32, number: u64) -> QueuedPacket<u64> {
        QueuedPacket { size, flow, dscp, packet: number, ..QueuedPacket::default() }
    }

    type Departures = Vec<(Time, QueuedPacket<u64>)>;

    /// Sends packets over a line: departures with their times, and drops with theirs.
    fn send(
        config: Config,
        line: u64,
        arrivals: impl Iterator<Item = (Time, QueuedPacket<u64>)>,
    ) -> (Departures, Vec<(Time, u64)>) {
        let mut link = AqmLink::new(Box::new(cake(config, Limit::Unlimited)), Line::Fixed(Rate(line)), Rate(line));
        let (mut sent, mut lost, mut dropped, mut next) = (Vec::new(), Vec::new(), Vec::new(), None);
        for (now, one) in arrivals.map(|(now, one)| (now, Some(one))).chain([(Time::MAX, None)]) {
            while let Some(at) = next.filter(|&at| at <= now) {
                let woken = link.wake(at, &mut dropped);
                sent.extend(woken.sent.map(|one| (at, one)));
                lost.extend(dropped.drain(..).map(|one| (at, one.packet)));
                next = woken.next;
            }
            if let Some(one) = one {
                let begun = link.offer(now, QueuedPacket { since: now, ..one }, &mut dropped);
                assert!(begun.is_none() || next.is_none(), "one event at a time");
                next = begun.or(next);
                lost.extend(dropped.drain(..).map(|one| (now, one.packet)));
            }
        }
        assert_eq!(link.backlog(), (0, 0));
        (sent, lost)
    }

    /// Each departure and each drop is that of `sch_cake.c`, compiled as a program with a virtual clock: 13,334 packets of
    /// ten flows, up to twice what the line carries. In that program the inverse square root is exact and begins at 1, and
    /// a random number is always the largest, so that quanta have no dither.
    #[test]
    fn departures_and_drops_are_those_of_the_source() {
        use Dscp::{Af11, Af21, Af41, Cs0, Cs1, Cs3, Cs6, Ef, Le};
        let of_flow = [Cs0, Cs1, Af11, Af41, Ef, Cs0, Af21, Le, Cs3, Cs6];
        let arrivals = (0..20_000u64).filter(|n| n / 2000 % 2 == 0 || n % 3 == 0).zip(0..).map(|(n, number)| {
            let flow = (n * n + n / 7) % 10;
            let ecn = if flow % 3 == 0 { Codepoint::Classic } else { Codepoint::NotCapable };
            let one = packet(flow, of_flow[flow as usize], 1500 - 97 * flow as u32, number);
            (Time::from_nanos(n * 450_000 + n * 7919 % 1000 * 300), QueuedPacket { ecn, ..one })
        });
        for (tins, config, line, drops, marks, last, digest) in [
            (Tins::Diffserv3, shaped(10), 100, 2985, 1405, 8_999_268_600, 1_047_853_922_514_912_200),
            (Tins::Diffserv4, shaped(10), 100, 2746, 901, 8_999_268_600, 1_049_439_784_810_060_660),
            (Tins::Besteffort, shaped(10), 100, 2806, 2020, 8_999_268_600, 1_049_169_499_265_199_560),
            (Tins::Diffserv4, CONFIG, 10, 3309, 3089, 9_000_348_600, 1_043_931_808_632_114_000u64),
            (Tins::Precedence, CONFIG, 10, 2692, 1096, 9_000_348_600, 1_051_153_887_775_818_400),
        ] {
            let (sent, lost) = send(Config { tins, ..config }, line * MBIT, arrivals.clone());
            assert_eq!(lost.len(), drops, "{tins:?}");
            assert_eq!(sent.iter().filter(|(_, one)| one.marked).count(), marks, "{tins:?}");
            assert_eq!(sent.last().map(|(at, _)| at.as_nanos()), Some(last), "{tins:?}");
            let sent = sent.iter().map(|(at, one)| at.as_nanos().wrapping_mul(2 * one.packet));
            let lost = lost.iter().map(|(at, number)| at.as_nanos().wrapping_mul(2 * number + 1));
            assert_eq!(sent.chain(lost).fold(0, u64::wrapping_add), digest, "{tins:?}");
        }
    }

    /// By hand: at 8 Mbit/s a byte takes 1 µs. A packet of 40 bytes with an overhead of 38 counts as the `mpu` of 84, one of
    /// 1000 as 1038; the first leaves at once.
    #[test]
    fn the_shaper_counts_overhead_and_has_no_burst() {
        let config = Config { overhead: Bytes(38), mpu: Bytes(84), ..shaped(8) };
        let sizes = [40, 1000, 40, 40];
        let arrivals =
            sizes.into_iter().zip(0..).map(|(size, number)| (Time::ZERO, packet(1, Dscp::Cs0, size, number)));
        // On the line a byte takes 1 ns.
        let begins = send(config, 8_000 * MBIT, arrivals).0;
        let begins: Vec<u64> = begins.iter().map(|(at, one)| at.as_nanos() - u64::from(one.size)).collect();
        assert_eq!(begins, [0, 84_000, 1_122_000, 1_206_000]);
    }

    /// By hand from the rule: voice of 200 bytes every 20 ms is within its quarter of 10 Mbit/s, and waits for at most one
    /// packet of the shaper, 1500 bytes or 1.2 ms, while bulk floods with twice the bandwidth.
    #[test]
    fn a_flood_of_bulk_does_not_delay_voice() {
        let arrivals = (0..20_000u64).map(|n| {
            let one = if n % 34 == 0 { packet(2, Dscp::Ef, 200, n) } else { packet(1, Dscp::Cs1, 1500, n) };
            (Time::from_nanos(n * 600_000), one)
        });
        let (sent, lost) = send(shaped(10), 100 * MBIT, arrivals);
        assert!(lost.iter().all(|(_, number)| number % 34 > 0) && lost.len() > 2000, "{}", lost.len());
        let voice: Vec<_> = sent.iter().filter(|(_, one)| one.dscp == Dscp::Ef).collect();
        assert_eq!(voice.len(), 589);
        let longest = voice.iter().map(|(at, one)| (*at - one.since).as_nanos()).max();
        // Its own transmission takes 16 µs.
        assert!(longest <= Some(1_216_000), "{longest:?}");
    }

    /// By hand from the thresholds, of tins that are all backlogged: voice has its 1/4, video its 1/2, bulk its 1/16, and
    /// best effort, whose threshold is the whole, the rest. Without a shaper 256 : 512 : 64 : 1024.
    #[test]
    fn a_tin_above_its_threshold_loses_its_priority() {
        for (config, expected) in [
            (shaped(10), [3.0 / 16.0, 1.0 / 16.0, 1.0 / 2.0, 1.0 / 4.0]),
            (CONFIG, [1024.0 / 1856.0, 64.0 / 1856.0, 512.0 / 1856.0, 256.0 / 1856.0]),
        ] {
            let classes = [Dscp::Cs0, Dscp::Cs1, Dscp::Af41, Dscp::Ef];
            let mut queue = cake(config, Limit::Unlimited);
            let mut dropped = Vec::new();
            for number in 0..40_000 {
                let class = number as usize % 4;
                queue.enqueue(Time::ZERO, 0, packet(1, classes[class], 1000, number), &mut dropped);
            }
            let mut bytes = [0.0; 4];
            let mut now = Time::ZERO;
            for _ in 0..8_000 {
                let one = queue.dequeue(now, &mut dropped).expect("backlogged");
                bytes[Tins::Diffserv4.tin(one.dscp)] += f64::from(one.size);
                now = queue.next.max(now);
            }
            let whole: f64 = bytes.iter().sum();
            for (tin, share) in expected.into_iter().enumerate() {
                assert!((bytes[tin] / whole - share).abs() < 0.01, "{tin}: {}", bytes[tin] / whole);
            }
        }
    }

    /// Shreedhar and Varghese 1996: flows of one tin have equal numbers of bytes, whatever the sizes of their packets; in one
    /// queue shares are as arrivals.
    #[test]
    fn flows_of_a_tin_share_equally() {
        for (isolation, expected) in [(Isolation::Flows, 1.0), (Isolation::Flowblind, 5.0)] {
            let mut queue = cake(Config { isolation, ..CONFIG }, Limit::Unlimited);
            let mut dropped = Vec::new();
            for number in 0..8_000 {
                let size = if number % 2 == 0 { 1500 } else { 300 };
                queue.enqueue(Time::ZERO, 0, packet(number % 2, Dscp::Cs0, size, number), &mut dropped);
            }
            let mut bytes = [0.0; 2];
            for _ in 0..3_000 {
                let one = queue.dequeue(Time::ZERO, &mut dropped).expect("backlogged");
                bytes[one.flow as usize] += f64::from(one.size);
            }
            assert!((bytes[0] / bytes[1] / expected - 1.0).abs() < 0.02, "{bytes:?}");
        }
    }

    /// "Piece of CAKE", section III: sets of 8 queues avoid collisions. With 100 flows in 1024 queues a plain hash has 4.7
    /// pairs on average; here 9 flows of one set would collide, which has a probability of 10⁻⁶.
    #[test]
    fn flows_have_queues_of_their_own() {
        let mut queue = cake(CONFIG, Limit::Unlimited);
        for number in 0..1000 {
            queue.enqueue(Time::ZERO, 0, packet(number % 100, Dscp::Cs0, 100, number), &mut Vec::new());
        }
        assert_eq!(queue.queues.len(), 100);
        assert!(queue.queues.iter().all(|flow| flow.queue.backlog().0 == 10));
    }

    /// The source, `cake_drop`: the head of the longest queue, whichever tin it is in, until the limit holds.
    #[test]
    fn an_overflow_drops_the_head_of_the_longest_queue() {
        let mut queue = cake(CONFIG, Limit::Bytes(10_000));
        let mut dropped = Vec::new();
        for number in 0..6 {
            queue.enqueue(Time::ZERO, 0, packet(1, Dscp::Ef, 1500, number), &mut dropped);
        }
        queue.enqueue(Time::ZERO, 0, packet(2, Dscp::Cs1, 1000, 6), &mut dropped);
        assert!(dropped.is_empty());
        queue.enqueue(Time::ZERO, 0, packet(2, Dscp::Cs1, 1800, 7), &mut dropped);
        assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(queue.backlog(), (6, 8800));
    }

    #[test]
    fn a_large_overhead_is_a_fault() {
        let document = serde_json::json!({ "overhead": "38 B", "mpu": "257 B" });
        let mut faults = Faults::default();
        let table = Reader::new(&document, "queue", &SPEC, &mut faults).expect("a table");
        let _ = Config::read(&table, &mut faults);
        let found: Vec<(&str, &str)> = faults.0.iter().map(|one| (one.place.as_str(), one.what.as_str())).collect();
        assert_eq!(found, [("queue.mpu", "257 B is above 256 B")]);
    }

    proptest! {
        /// Every packet leaves exactly once, and those of a flow in order; the limit holds; a shaper releases the next packet
        /// after the time at which it withholds it.
        #[test]
        fn packets_are_conserved(
            steps in prop::collection::vec((0u64..6, 40u32..1500, 0u64..3_000_000, any::<bool>()), 1..400),
            limit in 1u64..50,
            shapes in any::<bool>(),
            tins in 0usize..5,
        ) {
            let classes = [Dscp::Cs0, Dscp::Le, Dscp::Af21, Dscp::Af41, Dscp::Ef, Dscp::Cs7];
            let tins = [Tins::Besteffort, Tins::Diffserv3, Tins::Diffserv4, Tins::Diffserv8, Tins::Precedence][tins];
            let mut queue = cake(Config { tins, ..if shapes { shaped(2) } else { CONFIG } }, Limit::Packets(limit));
            let (mut now, mut out, mut dropped) = (Time::ZERO, Vec::new(), Vec::new());
            for (number, &(flow, size, gap, takes)) in steps.iter().enumerate() {
                now += Duration::from_nanos(gap);
                let one = packet(flow, classes[flow as usize], size, number as u64);
                queue.enqueue(now, 0, QueuedPacket { since: now, ..one }, &mut dropped);
                prop_assert!(queue.backlog().0 <= limit);
                prop_assert_eq!(queue.oldest().is_some(), queue.backlog().0 > 0);
                if takes { out.extend(queue.dequeue(now, &mut dropped)); }
            }
            loop {
                if let Some(one) = queue.dequeue(now, &mut dropped) { out.push(one); continue; }
                let Some(at) = queue.next_release() else { break };
                prop_assert!(at > now && shapes);
                now = at;
            }
            prop_assert_eq!(queue.backlog(), (0, 0));
            prop_assert_eq!(out.len() + dropped.len(), steps.len());
            for flow in 0..6 {
                let mine: Vec<_> = out.iter().filter(|one| one.flow == flow).map(|one| one.packet).collect();
                prop_assert!(mine.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
