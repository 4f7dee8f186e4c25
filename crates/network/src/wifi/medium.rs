//! The 802.11 medium: the order of transmissions and their outcomes.

mod exchange;
mod txop;

use cwndlab_units::{Duration, Time};

use super::access_function::{AccessFunction, Airtimes, Frame, Path, PendingExchange, State};
use super::contention::{Contention, Space, NEVER};
use super::edca::{AccessCategory, Protection};
use super::exchange::{Exchange, FrameCounts, Txop};
use super::phy::SIFS;
use super::rules::{Beacon, Deferral, Rules};
use super::stations::{PathConfig, QueueConfig, Stations};
use crate::aqm::QueuedPacket;
use crate::random::Stream;

/// The outcome for a packet.
#[derive(Clone, Copy, Debug)]
pub enum FrameOutcome<P> {
    /// The receiver has it.
    Delivered(QueuedPacket<P>),
    /// It was dropped after the last attempt.
    Lost(QueuedPacket<P>),
}

/// The medium with its stations.
///
/// At the time that [`next`](Self::next) returns, the caller calls [`process_until`](Self::process_until) and then
/// [`take`](Self::take), which returns the outcomes, before it offers further packets.
#[derive(Debug)]
pub struct Medium<P> {
    rules: Rules,
    stations: Stations<P>,
    /// Backoff counters of the access functions.
    contention: Contention,
    /// The TXOP in which the next exchange may be, if there is one.
    txop: Option<Txop>,
    /// The exchange of the next transmission, if a single access function sends.
    single: Option<Exchange>,
    /// Buffer for the exchanges of a collision.
    colliding: Vec<Exchange>,
    random: Stream,
    /// Scheduled time of the next beacon.
    beacon_due: Time,
    /// Time of `outcomes`, if there are any.
    due: Time,
    outcomes: Vec<FrameOutcome<P>>,
    /// Start of the next transmission, unless another packet is offered before.
    start: Time,
    next: Time,
    /// Access functions that send at `start`.
    winners: Vec<u32>,
    beacons: u64,
}

/// The outcomes of the frames of an exchange.
#[derive(Default)]
struct Tally {
    /// Attempts for a frame.
    limit: u32,
    counts: FrameCounts,
    /// Bytes of all frames, of those that leave the queue, and of those that were received.
    bytes: u64,
    departed_bytes: u64,
    sent_bytes: u64,
}

impl Tally {
    /// Counts an attempt for a frame, and sets its state. `which` of its counters counts a failure.
    #[allow(clippy::inline_always)] // the body of a loop, and of its usual case
    #[inline(always)]
    fn attempt<P>(&mut self, frame: &mut Frame<P>, which: usize, fails: bool) {
        self.bytes += u64::from(frame.one.size);
        if fails {
            frame.failures[which] += 1;
            if frame.failures[which] < self.limit {
                return;
            }
            frame.state = State::Lost;
            self.counts.lost += 1;
        } else {
            frame.state = State::Received;
            self.counts.received += 1;
            self.sent_bytes += u64::from(frame.one.size);
        }
        self.departed_bytes += u64::from(frame.one.size);
    }
}

impl<P: Copy> Medium<P> {
    /// A medium without frames. With EDCA each station has four queues, in the order of [`AccessCategory::ALL`].
    #[must_use]
    pub fn new(rules: Rules, queues: Vec<QueueConfig<P>>, paths: &[PathConfig], random: Stream) -> Self {
        let categories = if rules.edca.is_some() { AccessCategory::COUNT } else { 1 };
        let stations = Stations::new(&vec![&rules; queues.len() / categories], queues, paths);
        let aifs: Vec<Duration> = stations.functions.iter().map(|one| one.aifs).collect();
        let mut medium = Self {
            stations,
            contention: Contention::new(&aifs, rules.slot),
            txop: None,
            single: None,
            colliding: Vec::new(),
            random,
            beacon_due: rules.beacon.map_or(NEVER, |beacon| Time::ZERO + beacon.interval),
            due: NEVER,
            outcomes: Vec::new(),
            start: NEVER,
            next: NEVER,
            winners: Vec::new(),
            beacons: 0,
            rules,
        };
        medium.schedule_next();
        medium
    }

    /// Time of the next event, unless a packet is offered before; [`NEVER`] if there is none. It does not precede the time
    /// of the last call.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Processes transmissions until `now`, up to the first with outcomes.
    #[inline]
    pub fn process_until(&mut self, now: Time) {
        if self.outcomes.is_empty() && self.start <= now {
            self.process_transmissions(now);
        }
    }

    #[inline(never)]
    fn process_transmissions(&mut self, now: Time) {
        while self.outcomes.is_empty() && self.start <= now {
            self.transmit();
            if self.outcomes.is_empty() {
                self.schedule_next();
            } else {
                self.next = self.due;
            }
        }
    }

    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
    pub fn offer(&mut self, now: Time, path: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.process_until(now);
        if let Some(index) = self.stations.offer(now, path, one, dropped) {
            self.contention.set_sends(index, true);
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// The stations.
    #[must_use]
    pub fn stations(&self) -> &Stations<P> {
        &self.stations
    }

    /// Beacons sent.
    #[must_use]
    pub fn beacons(&self) -> u64 {
        self.beacons
    }

    /// Moves the outcomes until `now` to `taken`, which must be empty, and refills devices. Appends the packets that
    /// disciplines drop to `dropped`.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
    pub fn take(&mut self, now: Time, taken: &mut Vec<FrameOutcome<P>>, dropped: &mut Vec<QueuedPacket<P>>) {
        debug_assert!(taken.is_empty(), "the caller has processed the previous outcomes");
        if self.due > now {
            return;
        }
        std::mem::swap(&mut self.outcomes, taken);
        self.due = NEVER;
        if !self.stations.pending.is_empty() {
            let contention = &mut self.contention;
            self.stations.refill_pending(now, dropped, |index, sends| contention.set_sends(index, sends));
        }
        self.schedule_next();
    }

    /// Starts contention for a frame that arrived at an empty device.
    fn begin_contending(&mut self, now: Time, index: usize) {
        let slot = self.rules.slot;
        let edca = self.rules.counts_busy_slot;
        let deferral = self.rules.deferral;
        let function = &self.stations.functions[index];
        let contention = &mut self.contention;
        if contention.slots(index) > 0 && contention.expiry(index) > now {
            return; // the backoff after the last frame is still in progress
        }
        let in_gap = now >= function.gap_from && now - function.gap_from < SIFS;
        let Space { ready, idle_from } = contention.space(index);
        if now < idle_from && !in_gap {
            contention.set_slots(index, self.random.below(u64::from(function.cw) + 1) as u32);
            return;
        }
        contention.set_slots(index, 0);
        contention.set_immediate(index, true);
        if now > ready {
            let ready = match deferral {
                Deferral::Draws if edca => {
                    ready + Duration::from_nanos((now - ready).as_nanos().next_multiple_of(slot.as_nanos()))
                }
                Deferral::Draws => now,
                Deferral::Keeps => now + function.aifs,
            };
            contention.set_space(index, Space { ready, idle_from });
        }
    }

    /// Computes start and senders of the next transmission, and the time of the next event.
    fn schedule_next(&mut self) {
        if self.txop.is_none() || !self.continue_txop() {
            self.start = self.contention.first(self.beacon_start(), &mut self.winners);
        }
        self.schedule_event();
    }

    /// Updates the schedule if an access function has started contention and nothing else has changed.
    fn schedule_with(&mut self, index: usize) {
        let expiry = self.contention.expiry(index);
        if expiry > self.start {
            return;
        }
        if expiry < self.start {
            self.start = expiry;
            self.winners.clear();
        }
        let at = self.winners.partition_point(|&one| (one as usize) < index);
        self.winners.insert(at, index as u32);
        self.schedule_event();
    }

    /// Computes the time of the next event from start and senders of the next transmission.
    fn schedule_event(&mut self) {
        let start = self.start;
        self.next = start;
        self.single = None;
        // The transmission of a single frame needs no event at its start.
        if let [only] = self.winners[..] {
            if self.rules.aggregation.is_none() && self.beacon_start() > start {
                let exchange = self.exchange(only as usize);
                self.next = start + exchange.data_end;
                self.single = Some(exchange);
            }
        }
    }

    fn beacon_start(&self) -> Time {
        if self.beacon_due == NEVER {
            return NEVER;
        }
        let idle_from = match (&self.rules.beacon, &self.rules.edca) {
            // The NAV of holder and receiver of a TXOP is not that of the others.
            (Some(beacon), Some(edca)) if edca.protection == Protection::Multiple => {
                self.contention.space(self.stations.by_category(beacon.station).start).idle_from
            }
            _ => self.contention.idle_from(),
        };
        self.beacon_due.max(idle_from + self.rules.pifs())
    }

    /// Processes the transmission that begins at `self.start`.
    fn transmit(&mut self) {
        let at = self.start;
        let beacon = self.rules.beacon.filter(|_| self.beacon_start() == at);
        match (self.winners.as_slice(), beacon) {
            (&[only], None) => {
                self.freeze(at);
                self.transmit_single(at, only as usize);
            }
            _ => self.transmit_others(at, beacon),
        }
    }

    /// As [`transmit`](Self::transmit), with several senders or a beacon.
    #[cold]
    fn transmit_others(&mut self, at: Time, beacon: Option<Beacon>) {
        let mut winners = std::mem::take(&mut self.winners);
        let losers = beacon.map_or_else(Vec::new, |beacon| self.prefer_beacon(beacon, &mut winners));
        self.freeze(at);
        for (index, slots) in losers {
            self.contention.set_slots(index, slots);
        }
        if self.stations.categories > 1 && winners.len() > 1 {
            self.collide_internally(at, &mut winners);
        }
        match (winners.as_slice(), beacon) {
            (&[only], None) => self.transmit_single(at, only as usize),
            ([], Some(beacon)) => {
                self.beacons += 1;
                self.contention.set_idle(at + beacon.airtime, Duration::ZERO);
            }
            (senders, beacon) => self.collide(at, senders, beacon.map_or(Duration::ZERO, |beacon| beacon.airtime)),
        }
        self.winners = winners;
    }

    /// Internal collision with a beacon: the beacon is sent, and the station's data backs off again. Returns the backoffs of
    /// its access functions, which begin after the slot boundary at which they are drawn: at that boundary a function
    /// decrements its counter or draws another backoff, not both (10.22.2.4).
    #[cold]
    fn prefer_beacon(&mut self, beacon: Beacon, winners: &mut Vec<u32>) -> Vec<(usize, u32)> {
        let station = self.stations.by_category(beacon.station);
        let mut losers = Vec::new();
        winners.retain(|&index| {
            let index = index as usize;
            let remains = !station.contains(&index);
            if !remains {
                let cw = self.stations.functions[index].cw;
                losers.push((index, self.random.below(u64::from(cw) + 1) as u32));
                self.contention.set_immediate(index, false);
            }
            remains
        });
        self.beacon_due += beacon.interval;
        losers
    }

    /// Freezes all backoff counters at `at`. The senders draw another backoff in any case.
    fn freeze(&mut self, at: Time) {
        let more = u64::from(self.rules.counts_busy_slot);
        let keeps = self.rules.deferral == Deferral::Keeps;
        let functions = &self.stations.functions;
        let random = &mut self.random;
        self.contention
            .freeze(at, more, |index| (!keeps).then(|| random.below(u64::from(functions[index].cw) + 1) as u32));
    }

    /// All access functions of the sender of a failed frame wait for the end of its timeout, and for an AIFS after
    /// `idle_from`.
    fn defer(&mut self, index: usize, idle_from: Time, timeout: Time) {
        for one in self.stations.by_category((index / self.stations.categories) as u32) {
            let ready = (idle_from + self.stations.functions[one].aifs).max(timeout);
            self.contention.set_space(one, Space { ready, idle_from });
        }
    }

    /// The transmission of a single access function.
    fn transmit_single(&mut self, at: Time, index: usize) {
        let exchange = self.single.take().unwrap_or_else(|| self.exchange(index));
        let data_end = at + exchange.data_end;
        let end = data_end + exchange.acknowledgement;
        // Other stations defer for the duration in the header, with or without an acknowledgement.
        self.contention.set_idle(end, Duration::ZERO);
        let in_txop = self.stations.functions[index].access.txop_limit > Duration::ZERO;
        if in_txop {
            self.reserve(at, index, exchange);
        }
        let counts = self.complete(at, index, exchange, false, end);
        let function = &mut self.stations.functions[index];
        function.counters.attempts += 1;
        function.counters.errors += u64::from(exchange.frames) - counts.received;
        if counts.received > 0 {
            if in_txop {
                self.hold_txop(at, index, exchange.path, end);
            }
            self.back_off(index, self.stations.functions[index].access.cw_min);
            if let (Deferral::Keeps, Some(to)) = (self.rules.deferral, self.stations.paths[exchange.path as usize].to) {
                for one in self.stations.by_category(to) {
                    self.stations.functions[one].gap_from = data_end;
                }
            }
        } else {
            self.txop = None;
            function.counters.failures += 1;
            self.defer(index, data_end, data_end + self.rules.timeout());
            self.back_off_failed(index, counts);
        }
        if !self.outcomes.is_empty() {
            self.due = data_end;
        }
    }

    /// A collision: the frames of all senders are lost.
    #[cold]
    fn collide(&mut self, at: Time, senders: &[u32], beacon: Duration) {
        let mut end = at + beacon;
        let mut exchanges = std::mem::take(&mut self.colliding);
        for &index in senders {
            let exchange = self.exchange(index as usize);
            end = end.max(at + exchange.first);
            exchanges.push(exchange);
        }
        self.contention.set_idle(end, self.rules.after_collision());
        for (&index, exchange) in senders.iter().zip(exchanges.drain(..)) {
            let own_end = at + exchange.first;
            let counts = self.complete(at, index as usize, exchange, true, own_end);
            let function = &mut self.stations.functions[index as usize];
            function.counters.attempts += 1;
            function.counters.failures += 1;
            function.counters.collisions += 1;
            self.defer(index as usize, end, own_end + self.rules.timeout());
            self.back_off_failed(index as usize, counts);
        }
        self.colliding = exchanges;
        if !self.outcomes.is_empty() {
            self.due = end;
        }
    }

    /// Completes the exchange that begins at `at`: determines the frames that are received, and those that are dropped
    /// after the last attempt. Both leave the queue at `end`.
    fn complete(&mut self, at: Time, index: usize, exchange: Exchange, collided: bool, end: Time) -> FrameCounts {
        // In an exchange with RTS, the RTS is the frame that collides.
        let (which, limit) = if exchange.after_rts && !collided {
            (1, self.rules.long_attempts)
        } else {
            (0, self.rules.short_attempts)
        };
        let path = &mut self.stations.paths[exchange.path as usize];
        let mut tally = Tally { limit, ..Tally::default() };
        let error = path.error;
        let fails = |random: &mut Stream| collided || (error > 0.0 && random.unit() < error);
        match path.frames.front_mut() {
            // Without aggregation always: the iterator costs more than the frame.
            Some(first) if exchange.frames == 1 && first.state == State::Waiting => {
                self.stations.flow_airtimes.add(&mut path.known_flow, first.one.flow, first.one.size);
                tally.attempt(first, which, fails(&mut self.random));
            }
            _ => {
                let waiting = path.frames.iter_mut().filter(|frame| frame.state == State::Waiting);
                for frame in waiting.take(exchange.frames as usize) {
                    self.stations.flow_airtimes.add(&mut path.known_flow, frame.one.flow, frame.one.size);
                    tally.attempt(frame, which, fails(&mut self.random));
                }
            }
        }
        let Tally { counts, bytes, departed_bytes, sent_bytes, .. } = tally;
        path.totals.sent += counts.received;
        path.totals.sent_bytes += sent_bytes;
        path.totals.given_up += counts.lost;
        let pending = PendingExchange { until: end, sent: counts.received, sent_bytes, given_up: counts.lost };
        path.pending_exchange = pending;
        let departed = counts.received + counts.lost;
        path.queue_length.leave(at, end, departed, departed_bytes);
        let function = &mut self.stations.functions[index];
        function.device -= departed;
        self.contention.set_immediate(index, false);
        self.contention.set_sends(index, function.device > 0);
        if function.queue.is_some() {
            // An earlier exchange without outcomes may have made room: its first frame is still missing.
            function.pending |= departed > 0;
            self.stations.pending.push(index as u32);
        }
        function.queue_length.leave(at, end, departed, departed_bytes);
        function.queue_length.transmit(end, exchange.frames.into(), bytes);
        function.pending_exchange = pending;
        function.counters.add(end - at, pending);
        self.stations.flow_airtimes.end(end - at);
        self.flush(exchange.path);
        counts
    }

    /// Backs off after a failed attempt: the contention window doubles, or returns to its minimum after the last attempt.
    fn back_off_failed(&mut self, index: usize, counts: FrameCounts) {
        let AccessFunction { access, cw, .. } = &self.stations.functions[index];
        self.back_off(index, if counts.lost > 0 { access.cw_min } else { access.widened(*cw) });
    }

    fn back_off(&mut self, index: usize, cw: u32) {
        let function = &mut self.stations.functions[index];
        function.cw = cw;
        self.contention.set_slots(index, self.random.below(u64::from(cw) + 1) as u32);
    }

    /// Moves completed frames from the front of a path's queue to the outcomes.
    fn flush(&mut self, path: u32) {
        let frames = &mut self.stations.paths[path as usize].frames;
        while let Some(frame) = frames.front().filter(|frame| frame.state != State::Waiting) {
            self.outcomes.push(match frame.state {
                State::Received => FrameOutcome::Delivered(frame.one),
                _ => FrameOutcome::Lost(frame.one),
            });
            frames.pop_front();
        }
    }
}
