//! The cell: what happens in each transmission time interval.

use std::collections::VecDeque;
use std::fmt::Debug;

use cwndlab_units::{Duration, Time};

use super::bearer::{Bearer, BearerConfig, BearerCounters, BlockState};
use super::config::{Configuration, RlcMode};
use super::radio::{blocks_for, cqi, thresholds, transport_block_bytes};
use super::schedule::{self, Candidate};
use super::users::{RrcState, User};
use crate::aqm::QueuedPacket;
use crate::random::Stream;
use crate::wifi::FrameOutcome;

/// Stands for no event.
pub const NEVER: Time = Time::MAX;

/// The kind of an event of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellEventKind {
    /// A hand-over interrupts a bearer.
    Handover,
    /// A packet connects an idle user.
    Promotion,
}

/// An event of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellEvent {
    /// Its start.
    pub time: Time,
    /// The bearer.
    pub bearer: u32,
    /// Its kind.
    pub kind: CellEventKind,
    /// Time from its start until the bearer can transmit again.
    pub duration: Duration,
}

/// The scheduling of a direction.
#[derive(Debug, Default)]
struct Direction {
    bearers: Vec<usize>,
    /// Blocks in transmission: bearer and number.
    sent: Vec<(usize, u64)>,
    /// Retransmissions of HARQ in the order of their times.
    retransmissions: VecDeque<(Time, usize, u64)>,
    /// Ends of the recovery or reordering of RLC in the order of their times.
    recoveries: VecDeque<(Time, usize, u64)>,
    /// Buffer.
    candidates: Vec<Candidate>,
}

/// A cell with its users.
///
/// At the time that [`next`](Self::next) returns, the caller calls [`process`](Self::process), and takes the outcomes
/// before it offers further packets.
#[derive(Debug)]
pub struct Cell<P> {
    configuration: Configuration,
    thresholds: [f64; 16],
    bearers: Vec<Bearer<P>>,
    users: Vec<User>,
    directions: [Direction; 2],
    /// Packets of all bearers.
    held: u64,
    /// Start of the last TTI that was processed, and its number from 1.
    last: Option<Time>,
    number: u64,
    /// Start of the next TTI with packets.
    wake: Time,
    next_handover: Time,
    random: Stream,
    events: Vec<CellEvent>,
}

impl<P: Copy + Debug> Cell<P> {
    /// A cell without packets; `random` decides which attempts fail.
    #[must_use]
    pub fn new(configuration: Configuration, users: u32, bearers: Vec<BearerConfig<P>>, random: Stream) -> Self {
        let cycle = configuration.rrc.map_or(Duration::ZERO, |rrc| rrc.paging_cycle);
        // Paging occasions are distributed over the cycle (TS 36.304, section 7.1).
        let phase = |user: u32| Duration::from_nanos(cycle.as_nanos() * u64::from(user) / u64::from(users.max(1)));
        let mut directions = [Direction::default(), Direction::default()];
        for (index, one) in bearers.iter().enumerate() {
            directions[usize::from(one.uplink)].bearers.push(index);
        }
        let bearers =
            bearers.into_iter().enumerate().map(|(index, one)| Bearer::new(index, one, &configuration)).collect();
        let mut cell = Self {
            thresholds: thresholds(),
            bearers,
            users: (0..users).map(|user| User::new(phase(user))).collect(),
            directions,
            held: 0,
            last: None,
            number: 0,
            wake: NEVER,
            next_handover: NEVER,
            random,
            events: Vec::new(),
            configuration,
        };
        cell.find_next_handover();
        cell
    }

    /// Time of the next event, unless a packet is offered before; [`NEVER`] if there is none.
    #[must_use]
    pub fn next(&self) -> Time {
        self.wake.min(self.next_handover)
    }

    /// The start of the first TTI from `now` on that has not been processed.
    fn boundary(&self, now: Time) -> Time {
        let tti = self.configuration.tti();
        let at = Time::from_nanos(now.as_nanos().next_multiple_of(tti.as_nanos()));
        self.last.map_or(at, |last| at.max(last + tti))
    }

    fn find_next_handover(&mut self) {
        let times = self.bearers.iter().filter_map(|bearer| bearer.next_handover().map(|(at, _)| at));
        self.next_handover = times.min().map_or(NEVER, |at| self.boundary(at));
    }

    /// Adds a packet to the queue of a bearer.
    pub fn offer(&mut self, now: Time, bearer: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let index = bearer as usize;
        let Bearer { user, uplink, .. } = self.bearers[index];
        if let Some(duration) = self.users[user].on_arrival(now, uplink, self.configuration.rrc.as_ref()) {
            self.bearers[index].counters.promotions += 1;
            self.events.push(CellEvent { time: now, bearer, kind: CellEventKind::Promotion, duration });
        }
        let before = self.bearers[index].held().0;
        self.bearers[index].offer(now, one, dropped);
        let after = self.bearers[index].held().0;
        self.held = self.held + after - before;
        self.users[user].held = self.users[user].held + after - before;
        if self.wake == NEVER && self.held > 0 {
            self.wake = self.boundary(now);
        }
    }

    /// Processes the start of a TTI at `now`: the end of the transmissions before it, hand-overs, and its assignment of
    /// resource blocks. Appends the packets that leave to `outcomes`, and those that queue disciplines drop to `dropped`.
    pub fn process(&mut self, now: Time, outcomes: &mut Vec<FrameOutcome<P>>, dropped: &mut Vec<QueuedPacket<P>>) {
        let tti = self.configuration.tti();
        self.number = now.as_nanos() / tti.as_nanos() + 1;
        self.last = Some(now);
        if self.next_handover <= now {
            for index in 0..self.bearers.len() {
                self.hand_over(now, index, outcomes, dropped);
            }
            self.find_next_handover();
        }
        for direction in 0..2 {
            self.decode(now, direction, outcomes);
            self.recover(now, direction, outcomes);
        }
        for direction in 0..2 {
            self.assign(now, direction, dropped);
        }
        self.wake = if self.held > 0 { now + tti } else { NEVER };
    }

    /// Packets of a bearer have left it.
    fn count_gone(&mut self, now: Time, index: usize, gone: u64) {
        self.held -= gone;
        let user = &mut self.users[self.bearers[index].user];
        for _ in 0..gone {
            user.on_departure(now);
        }
    }

    fn deliver(&mut self, now: Time, index: usize, outcomes: &mut Vec<FrameOutcome<P>>) {
        let gone = self.bearers[index].deliver(now, outcomes);
        self.count_gone(now, index, gone);
    }

    fn hand_over(
        &mut self,
        now: Time,
        index: usize,
        outcomes: &mut Vec<FrameOutcome<P>>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) {
        while let Some((time, duration)) = self.bearers[index].next_handover().filter(|&(time, _)| time <= now) {
            self.bearers[index].begin_handover(time + duration);
            self.events.push(CellEvent { time, bearer: index as u32, kind: CellEventKind::Handover, duration });
            if self.configuration.forwarding {
                // Blocks of unacknowledged mode are not forwarded (TS 36.323).
                self.bearers[index].restart_blocks(self.configuration.rlc.mode == RlcMode::Acknowledged);
                self.deliver(now, index, outcomes);
            } else {
                let gone = self.bearers[index].lose_all(now, outcomes, dropped);
                self.count_gone(now, index, gone);
            }
        }
    }

    /// The receivers decode the blocks of the last TTI.
    fn decode(&mut self, now: Time, direction: usize, outcomes: &mut Vec<FrameOutcome<P>>) {
        let mut sent = std::mem::take(&mut self.directions[direction].sent);
        for (index, number) in sent.drain(..) {
            let Some(block) = self.bearers[index].block(number) else { continue };
            let BlockState::Sent { fails } = block.state else { continue };
            if !fails {
                block.state = BlockState::Received;
                self.deliver(now, index, outcomes);
                continue;
            }
            let Configuration { harq, rlc, .. } = &self.configuration;
            // The attempt began a TTI ago.
            let at = now - self.configuration.tti() + self.configuration.harq.round;
            let bearer = &mut self.bearers[index];
            let Some(block) = bearer.block(number) else { continue };
            let first = block.attempts == 1;
            if block.attempts <= harq.retransmissions {
                block.state = BlockState::Retransmission(at);
                self.directions[direction].retransmissions.push_back((at, index, number));
            } else {
                let until = now + if rlc.mode == RlcMode::Acknowledged { rlc.recovery } else { rlc.reordering };
                block.state = BlockState::Recovery(until);
                self.directions[direction].recoveries.push_back((until, index, number));
            }
            bearer.counters.failed_blocks += u64::from(first);
        }
        self.directions[direction].sent = sent;
    }

    /// RLC repeats or gives up the blocks that HARQ gave up.
    fn recover(&mut self, now: Time, direction: usize, outcomes: &mut Vec<FrameOutcome<P>>) {
        while let Some(&(at, index, number)) = self.directions[direction].recoveries.front() {
            if at > now {
                break;
            }
            self.directions[direction].recoveries.pop_front();
            let Some(block) = self.bearers[index].block(number) else { continue };
            if block.state != BlockState::Recovery(at) {
                continue;
            }
            if self.configuration.rlc.mode == RlcMode::Acknowledged {
                block.state = BlockState::Waiting;
                block.left = block.bytes;
                self.bearers[index].again.push_back(number);
            } else {
                block.state = BlockState::Lost;
                self.deliver(now, index, outcomes);
            }
        }
    }

    /// Assigns the resource blocks of a direction.
    fn assign(&mut self, now: Time, direction: usize, dropped: &mut Vec<QueuedPacket<P>>) {
        let mut left = self.configuration.resource_blocks;
        self.retransmit(now, direction, &mut left);
        let mut candidates = std::mem::take(&mut self.directions[direction].candidates);
        for place in 0..self.directions[direction].bearers.len() {
            let index = self.directions[direction].bearers[place];
            candidates.extend(self.candidate(now, index));
        }
        while left > 0 {
            let Some(one) = schedule::next(self.configuration.scheduler, &mut candidates) else { break };
            left -= self.serve(now, direction, &one, left, dropped);
        }
        candidates.clear();
        self.directions[direction].candidates = candidates;
    }

    /// Retransmissions of HARQ, as far as their resource blocks are left.
    fn retransmit(&mut self, now: Time, direction: usize, left: &mut u32) {
        while let Some(&(at, index, number)) = self.directions[direction].retransmissions.front() {
            let wanted =
                self.bearers[index].block(number).filter(|block| block.state == BlockState::Retransmission(at));
            let blocks = wanted.map_or(0, |block| block.resource_blocks);
            if at > now || blocks > *left {
                break;
            }
            self.directions[direction].retransmissions.pop_front();
            if blocks > 0 {
                *left -= blocks;
                self.bearers[index].counters.harq_retransmissions += 1;
                self.transmit(now, direction, index, number);
            }
        }
    }

    /// The bearer as a candidate for the TTI at `now`, if it can transmit and has data.
    fn candidate(&mut self, now: Time, index: usize) -> Option<Candidate> {
        let bearer = &mut self.bearers[index];
        bearer.notice_idle(now);
        if bearer.held().0 == 0 || bearer.interrupted > now || !self.users[bearer.user].is_connected(now) {
            return None;
        }
        let mut bytes = bearer.waiting();
        if bearer.uplink {
            let position = bearer.position();
            bearer.grants.advance(now, position, bytes > 0);
            bytes = bearer.grants.known(position);
        }
        if bytes == 0 && bearer.again.is_empty() {
            return None;
        }
        let (_, measured) = bearer.channel.snr(now);
        let cqi = cqi(&self.thresholds, measured);
        (cqi > 0).then(|| Candidate {
            bearer: index,
            cqi,
            bits: self.configuration.block_bits[usize::from(bearer.uplink)][usize::from(cqi)],
            mean: bearer.service.mean(self.number, self.configuration.averaging),
            served: bearer.service.last,
            bytes,
        })
    }

    /// Sends data of a bearer in up to `available` resource blocks; returns the number used.
    fn serve(
        &mut self,
        now: Time,
        direction: usize,
        one: &Candidate,
        available: u32,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) -> u32 {
        let window = self.configuration.averaging;
        let index = one.bearer;
        let (repeated, mut bits) = self.repeat_blocks(now, direction, one, available);
        let mut used = repeated;
        if one.bytes > 0 && used < available {
            let blocks = blocks_for(one.bits, one.bytes).min(u64::from(available - used)) as u32;
            let size = transport_block_bytes(one.bits, blocks);
            let room = one.bytes.min(u64::from(size)) as u32;
            let bearer = &mut self.bearers[index];
            let before = bearer.held().0;
            let number = if room > 0 { bearer.fill(now, room, (one.cqi, blocks), dropped) } else { None };
            self.count_gone(now, index, before - self.bearers[index].held().0);
            let bearer = &mut self.bearers[index];
            let filled = number.and_then(|number| bearer.block(number)).map_or(0, |block| block.bytes);
            if bearer.uplink {
                let (position, waiting) = (bearer.position(), bearer.waiting());
                bearer.grants.report(now, position, waiting, filled < room);
            }
            if number.is_some() || bearer.uplink {
                used += blocks;
                bits += f64::from(filled) * 8.0;
            }
            match number {
                Some(number) => self.transmit(now, direction, index, number),
                None => self.bearers[index].counters.resource_blocks += u64::from(used - repeated),
            }
        }
        self.bearers[index].service.add(self.number, window, bits);
        used
    }

    /// RLC repeats blocks; returns the resource blocks used and the bits. A block that needs more than are available is
    /// transmitted over several TTIs.
    fn repeat_blocks(&mut self, now: Time, direction: usize, one: &Candidate, available: u32) -> (u32, f64) {
        let mut used = 0;
        let mut bits = 0.0;
        while let Some(&number) = self.bearers[one.bearer].again.front() {
            let bearer = &mut self.bearers[one.bearer];
            let Some(block) = bearer.block(number) else {
                bearer.again.pop_front();
                continue;
            };
            let blocks = blocks_for(one.bits, u64::from(block.left)).min(u64::from(available - used)) as u32;
            let part = transport_block_bytes(one.bits, blocks).min(block.left);
            if part == 0 {
                break;
            }
            block.left -= part;
            used += blocks;
            bits += f64::from(part) * 8.0;
            if block.left > 0 {
                bearer.counters.resource_blocks += u64::from(blocks);
                break;
            }
            (block.cqi, block.resource_blocks, block.attempts, block.snr) = (one.cqi, blocks, 0, 0.0);
            bearer.again.pop_front();
            bearer.counters.rlc_retransmissions += 1;
            self.transmit(now, direction, one.bearer, number);
        }
        (used, bits)
    }

    /// An attempt of a block.
    fn transmit(&mut self, now: Time, direction: usize, index: usize, number: u64) {
        let bearer = &mut self.bearers[index];
        let (snr, _) = bearer.channel.snr(now);
        let Some(block) = bearer.block(number) else { return };
        block.attempts += 1;
        block.snr += snr;
        let error = self.configuration.harq.error;
        let fails = block.snr < self.thresholds[usize::from(block.cqi)] || error > 0.0 && self.random.unit() < error;
        block.state = BlockState::Sent { fails };
        let blocks = block.resource_blocks;
        bearer.counters.resource_blocks += u64::from(blocks);
        self.directions[direction].sent.push((index, number));
    }

    /// Removes and returns the events so far.
    pub fn take_events(&mut self) -> Vec<CellEvent> {
        std::mem::take(&mut self.events)
    }

    /// The counters of a bearer.
    #[must_use]
    pub fn counters(&self, bearer: u32) -> BearerCounters {
        let bearer = &self.bearers[bearer as usize];
        BearerCounters { requests: bearer.grants.requests, ..bearer.counters }
    }

    /// Packets and bytes of a bearer: in its queue, and in transport blocks that are not delivered yet.
    #[must_use]
    pub fn held(&self, bearer: u32) -> (u64, u64) {
        self.bearers[bearer as usize].held()
    }

    /// Integrals over time of the packets and bytes of a bearer until `now`, ns.
    pub fn integrals(&mut self, now: Time, bearer: u32) -> (u128, u128) {
        self.bearers[bearer as usize].integrals(now)
    }

    /// Arrival of the oldest packet of a bearer.
    #[must_use]
    pub fn oldest(&self, bearer: u32) -> Option<Time> {
        self.bearers[bearer as usize].oldest()
    }

    /// State of the user of a bearer.
    #[must_use]
    pub fn rrc_state(&self, now: Time, bearer: u32) -> RrcState {
        self.users[self.bearers[bearer as usize].user].state(now, self.configuration.rrc.as_ref())
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bearers.iter().map(|bearer| bearer.memory() + size_of::<Bearer<P>>()).sum()
    }
}
