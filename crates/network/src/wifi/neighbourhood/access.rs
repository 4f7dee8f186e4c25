//! Channel access: contention, the frames of an exchange, and its outcome.

use cwndlab_units::{Duration, Time};

use super::transceiver::{FrameKind, OwnExchange};
use super::{Event, Neighbourhood, ResponseKind, Signal, BROADCAST};
use crate::wifi::access_function::State;
use crate::wifi::contention::NEVER;
use crate::wifi::medium::FrameOutcome;
use crate::wifi::phy::{subframe_bytes, Mode, ACK_BYTES, RTS_BYTES, SIFS};
use crate::wifi::rules::{Beacon, Deferral};
use crate::wifi::stations::Stations;

/// The rate at which beacons and CF-End frames are decoded, 6 Mbit/s: they are sent at 1 Mbit/s, whose preamble others
/// detect.
pub(super) const BEACON_MODE: Mode = Mode::Ofdm { bits: 24 };

impl OwnExchange {
    /// An exchange without frames.
    pub(super) fn new(at: Time, function: u32, path: u32, mode: Mode) -> Self {
        Self {
            function,
            path,
            serials: Vec::new(),
            mpdus: Vec::new(),
            ip_bytes: 0,
            mode,
            data: Duration::ZERO,
            nav: Duration::ZERO,
            start: at,
            sent_until: at,
            with_rts: false,
            reserved: false,
            is_request: false,
            overlapped: [false; 2],
            timeout: 0,
            timed_out: false,
        }
    }

    /// Bytes of the response to its data.
    pub(super) fn response_bytes(&self) -> u32 {
        if self.is_request || self.serials.len() > 1 {
            self.mode.block_ack_bytes()
        } else {
            ACK_BYTES
        }
    }

    /// Whether its data were sent: neither after an RTS without a response nor after an internal collision.
    fn sends_data(&self) -> bool {
        (self.reserved || !self.with_rts) && self.sent_until > self.start
    }

    /// SIFS and the response to its data.
    pub(super) fn acknowledgement(&self) -> Duration {
        SIFS + self.mode.control().airtime(self.response_bytes())
    }
}

impl<P: Copy> Neighbourhood<P> {
    /// Starts contention for a frame that arrived at an empty device.
    pub(super) fn begin_contending(&mut self, now: Time, index: usize) {
        let station = index / self.stations.categories;
        let rules = &self.rules[self.transceivers[station].rules as usize];
        let transceiver = &self.transceivers[station];
        let backoff = &mut self.backoffs[index];
        let busy = transceiver.is_busy(now);
        if backoff.slots > 0 && (busy || backoff.expiry(rules.slot) > now) {
            return self.arm(now, index); // the backoff after the last frame is still in progress
        }
        let gap = now >= transceiver.gap_from && now - transceiver.gap_from < SIFS;
        if busy && !(gap && rules.deferral == Deferral::Keeps) {
            self.back_off(index, self.stations.functions[index].cw);
            return self.arm(now, index);
        }
        backoff.slots = 0;
        backoff.immediate = true;
        let ready = backoff.ready;
        if now > ready {
            backoff.ready = match rules.deferral {
                Deferral::Draws if rules.counts_busy_slot => {
                    ready + Duration::from_nanos((now - ready).as_nanos().next_multiple_of(rules.slot.as_nanos()))
                }
                Deferral::Draws => now,
                Deferral::Keeps => now + self.stations.functions[index].aifs,
            };
        }
        self.arm(now, index);
    }

    /// Schedules the access of a function that has a frame and an idle channel.
    pub(super) fn arm(&mut self, now: Time, index: usize) {
        let transceiver = &self.transceivers[index / self.stations.categories];
        let backoff = &mut self.backoffs[index];
        let due = if self.stations.functions[index].device > 0 && transceiver.is_free() {
            backoff.expiry(self.rules[transceiver.rules as usize].slot).max(now)
        } else {
            NEVER
        };
        if backoff.due != due {
            backoff.due = due;
            if due < NEVER {
                self.schedule(due, Event::Access(index as u32));
            }
        }
    }

    /// Schedules the beacon and the access functions of a station.
    fn arm_all(&mut self, now: Time, station: u32) {
        let transceiver = &mut self.transceivers[station as usize];
        if transceiver.beacon_waits && transceiver.is_free() {
            let pifs = self.rules[transceiver.rules as usize].pifs();
            transceiver.beacon_at = now.max(transceiver.idle_from + pifs);
            let at = transceiver.beacon_at;
            self.schedule(at, Event::SendBeacon(station));
        }
        for index in self.stations.by_category(station) {
            self.arm(now, index);
        }
    }

    /// Draws a backoff from a contention window.
    pub(super) fn back_off(&mut self, index: usize, cw: u32) {
        self.stations.functions[index].cw = cw;
        let random = &mut self.transceivers[index / self.stations.categories].random;
        self.backoffs[index].slots = random.below(u64::from(cw) + 1);
    }

    /// The channel becomes busy for a station at `at`: its backoffs freeze. All stations whose backoff ends at `at` have
    /// started to send.
    pub(super) fn freeze(&mut self, at: Time, station: u32) {
        let transceiver = &mut self.transceivers[station as usize];
        transceiver.beacon_at = NEVER;
        let rules = &self.rules[transceiver.rules as usize];
        let more = u64::from(rules.counts_busy_slot);
        let draws = rules.deferral == Deferral::Draws;
        let slot = rules.slot;
        for index in self.stations.by_category(station) {
            let backoff = &mut self.backoffs[index];
            backoff.slots = backoff.slots.saturating_sub(backoff.counted(at, slot, more));
            backoff.due = NEVER;
            if backoff.immediate {
                backoff.immediate = !draws;
                if draws {
                    self.back_off(index, self.stations.functions[index].cw);
                }
            }
        }
    }

    /// The channel becomes idle for a station at `at`: its interframe spaces start.
    pub(super) fn unfreeze(&mut self, at: Time, station: u32) {
        let transceiver = &mut self.transceivers[station as usize];
        let eifs = self.rules[transceiver.rules as usize].after_collision();
        let more = if std::mem::take(&mut transceiver.failed_reception) { eifs } else { Duration::ZERO };
        transceiver.idle_from = at.max(transceiver.nav);
        let from = transceiver.idle_from.max(at + more);
        for index in self.stations.by_category(station) {
            self.backoffs[index].ready = from + self.stations.functions[index].aifs;
        }
        self.arm_all(at, station);
    }

    /// The end of a function's backoff: its exchange starts, unless a function of a higher category, or a beacon, starts at
    /// the same time.
    pub(super) fn access(&mut self, at: Time, index: usize) {
        if self.backoffs[index].due != at {
            return;
        }
        let station = (index / self.stations.categories) as u32;
        let all = self.stations.by_category(station);
        if self.transceivers[station as usize].sending.is_some() {
            self.lose_slot(at, index);
            self.back_off(index, self.stations.functions[index].cw);
        } else if self.backoffs[index + 1..all.end].iter().any(|higher| higher.due == at) {
            self.lose_slot(at, index);
            self.collide_internally(at, index);
        } else {
            self.begin_access(at, station, index);
        }
    }

    /// Sends the pending request for a BlockAck, or else the next frames.
    fn begin_access(&mut self, at: Time, station: u32, index: usize) {
        self.transceivers[station as usize].txop = None;
        self.expire(at, index);
        if self.stations.functions[index].device == 0 {
            self.lose_slot(at, index);
        } else if let Some(request) = self.requests[index].take() {
            self.send_request(at, station, request);
        } else {
            let path = self.stations.first_path(index);
            let max_bytes = self.adapt(at, index, path as usize);
            let mut exchange = self.exchange(at, index, max_bytes);
            let rules = &self.rules[self.transceivers[station as usize].rules as usize];
            let rts = rules.rts_above.is_some_and(|above| exchange.mpdus.iter().sum::<u32>() > above);
            exchange.with_rts = rts;
            self.begin_exchange(at, station, exchange, rts);
        }
    }

    /// Sets the mode of a path by its rate adaptation; returns the maximum size of an aggregate.
    fn adapt(&mut self, at: Time, index: usize, path: usize) -> u32 {
        let number = path / self.stations.categories;
        let transceiver = &mut self.transceivers[index / self.stations.categories];
        let path = &mut self.stations.paths[path];
        let Some(minstrel) = &mut self.minstrels[number] else { return path.max_bytes };
        let (mode, probe) = minstrel.select(at, &mut transceiver.random);
        if path.mode != mode {
            path.set_mode(mode, &self.stations.functions[index].access, &self.rules[transceiver.rules as usize]);
        }
        if probe {
            0
        } else {
            path.max_bytes
        }
    }

    /// The backoff of a function that may not send in this slot does not count it.
    fn lose_slot(&mut self, at: Time, index: usize) {
        let backoff = &mut self.backoffs[index];
        backoff.due = NEVER;
        backoff.immediate = false;
        backoff.ready = at + Duration::from_nanos(1);
    }

    /// Sends the first frame of an exchange.
    pub(super) fn begin_exchange(&mut self, at: Time, station: u32, exchange: OwnExchange, rts: bool) {
        let control = exchange.mode.control();
        let (mode, data) = (exchange.mode, exchange.data);
        let lead = if rts { self.stations.paths[exchange.path as usize].airtimes.lead() } else { Duration::ZERO };
        let to = self.stations.paths[exchange.path as usize].to.unwrap_or(BROADCAST);
        let function = &mut self.stations.functions[exchange.function as usize];
        function.counters.attempts += 1;
        function.queue_length.transmit(NEVER, exchange.serials.len() as u64, exchange.ip_bytes);
        self.backoffs[exchange.function as usize].immediate = false;
        let nav = self.duration_field(at, station, &exchange, lead);
        self.transceivers[station as usize].exchange = Some(OwnExchange { nav, ..exchange });
        if rts {
            let nav = lead - control.airtime(RTS_BYTES) + data + nav;
            self.send(at, station, to, FrameKind::Rts, control, control.airtime(RTS_BYTES), nav, RTS_BYTES);
        } else {
            self.send(at, station, to, FrameKind::Data, mode, data, nav, 0);
        }
    }

    /// The next exchange of an access function: its oldest frame, and with aggregation those that follow on the same path.
    pub(super) fn exchange(&mut self, at: Time, index: usize, max_bytes: u32) -> OwnExchange {
        let number = self.stations.first_path(index);
        let path = &self.stations.paths[number as usize];
        let rules = &self.rules[self.transceivers[index / self.stations.categories].rules as usize];
        let (count, bytes) = Stations::aggregate(path, rules, max_bytes);
        let pending = path.frames.iter().filter(|frame| frame.state.is_pending()).take(count as usize);
        let mut ip_bytes = 0;
        let (serials, mpdus) = pending
            .map(|frame| {
                ip_bytes += u64::from(frame.one.size);
                let mpdu = frame.one.size + rules.overhead;
                (frame.serial, if count > 1 { subframe_bytes(mpdu) } else { mpdu })
            })
            .unzip();
        let data = path.mode.airtime(bytes);
        OwnExchange { serials, mpdus, ip_bytes, data, ..OwnExchange::new(at, index as u32, number, path.mode) }
    }

    /// A beacon is due.
    pub(super) fn queue_beacon(&mut self, at: Time, rules: u32) {
        let Some(beacon) = self.rules[rules as usize].beacon else { return };
        self.schedule(at + beacon.interval, Event::Beacon(rules));
        self.transceivers[beacon.station as usize].beacon_waits = true;
        self.arm_all(at, beacon.station);
    }

    /// Sends a beacon a PIFS after the channel became idle.
    pub(super) fn send_beacon(&mut self, at: Time, station: u32) {
        let transceiver = &mut self.transceivers[station as usize];
        let Some(beacon) = self.rules[transceiver.rules as usize].beacon else { return };
        if transceiver.beacon_at == at {
            transceiver.beacon_waits = false;
            let Beacon { airtime, bytes, .. } = beacon;
            self.send(at, station, BROADCAST, FrameKind::Beacon, BEACON_MODE, airtime, Duration::ZERO, bytes);
        }
    }

    /// Starts a frame.
    #[allow(clippy::too_many_arguments)] // the fields of a frame
    pub(super) fn send(
        &mut self,
        at: Time,
        from: u32,
        to: u32,
        kind: FrameKind,
        mode: Mode,
        airtime: Duration,
        nav: Duration,
        bytes: u32,
    ) {
        let number = self.next_signal;
        self.next_signal += 1;
        let end = at + airtime;
        let signal = Signal { number, from, to, kind, mode, start: at, nav, bytes };
        let transceiver = &mut self.transceivers[from as usize];
        let timeout = self.rules[transceiver.rules as usize].timeout();
        transceiver.sending = Some(number);
        let lost_reception = transceiver.reception.take().is_some();
        if let Some(exchange) = &mut transceiver.exchange {
            if kind.asks() {
                exchange.sent_until = end;
                exchange.timeout = number;
                self.events.push(std::cmp::Reverse((end + timeout, Event::Timeout(from, number))));
            } else if lost_reception && exchange.timed_out {
                let number = exchange.timeout;
                self.events.push(std::cmp::Reverse((end, Event::Timeout(from, number))));
            }
        }
        self.mark_overlaps(&signal);
        self.signals.push(signal);
        self.starting.push(number);
        self.schedule(end, Event::End(number));
    }

    /// A frame a SIFS after the one that demands it.
    #[allow(clippy::too_many_arguments)] // the fields of a frame
    pub(super) fn respond(
        &mut self,
        at: Time,
        index: u32,
        kind: ResponseKind,
        to: u32,
        nav: Duration,
        mode: Mode,
        bytes: u32,
    ) {
        let transceiver = &mut self.transceivers[index as usize];
        if transceiver.sending.is_some() {
            // A frame of its own is on the air.
            if kind == ResponseKind::Data {
                self.complete(at, index, false);
            }
            return;
        }
        match kind {
            ResponseKind::Ack => self.send(at, index, to, FrameKind::Ack, mode, mode.airtime(bytes), nav, bytes),
            ResponseKind::Cts => self.send(at, index, to, FrameKind::Cts, mode, mode.airtime(bytes), nav, bytes),
            ResponseKind::Data => {
                let Some(exchange) = &mut transceiver.exchange else { return };
                exchange.reserved = true;
                let OwnExchange { mode, data, nav, .. } = *exchange;
                self.send(at, index, to, FrameKind::Data, mode, data, nav, 0);
            }
        }
    }

    /// The response to a station's last frame did not start in time. During a reception, its end decides.
    pub(super) fn time_out(&mut self, at: Time, index: u32, number: u64) {
        let transceiver = &mut self.transceivers[index as usize];
        let Some(exchange) = &mut transceiver.exchange else { return };
        if exchange.timeout != number {
            return;
        }
        if transceiver.reception.is_some() || transceiver.sending.is_some() {
            exchange.timed_out = true;
        } else {
            self.complete(at, index, false);
        }
    }

    /// Ends the exchange of a station, with or without the acknowledgement of its data, and draws a backoff.
    pub(super) fn complete(&mut self, at: Time, station: u32, acknowledged: bool) {
        let Some(exchange) = self.transceivers[station as usize].exchange.take() else { return };
        let index = exchange.function as usize;
        let end = if acknowledged { at } else { exchange.sent_until };
        let lost = self.settle(at, end, &exchange, acknowledged);
        let asks = !acknowledged && self.rules_of(index).block_ack_request;
        let asks = asks && (exchange.is_request || exchange.serials.len() > 1 && exchange.sends_data());
        let gives_up = self.count_failure(index, &exchange, acknowledged);
        let lost = match exchange.serials.len() {
            _ if asks => !self.has_unexpired(at, &exchange),
            1 => lost,
            _ => gives_up,
        };
        let function = &mut self.stations.functions[index];
        let transceiver = &mut self.transceivers[station as usize];
        function.queue_length.transmit(at, 0, 0);
        if !acknowledged {
            function.counters.failures += 1;
            function.counters.collisions += u64::from(exchange.overlapped != [false; 2]);
            match exchange.overlapped {
                [true, _] => transceiver.causes.same_slot += 1,
                [_, true] => transceiver.causes.hidden += 1,
                _ => transceiver.causes.noise += 1,
            }
        }
        let access = function.access;
        let cw = if acknowledged || lost { access.cw_min } else { access.widened(function.cw) };
        let txop = transceiver.txop.take_if(|txop| txop.0 == exchange.function);
        if acknowledged && access.txop_limit > Duration::ZERO {
            transceiver.txop = Some(txop.unwrap_or((exchange.function, exchange.start + access.txop_limit)));
            self.schedule(at + SIFS, Event::Continue(station));
        }
        self.back_off(index, cw);
        for index in self.stations.by_category(station) {
            let backoff = &mut self.backoffs[index];
            backoff.ready = backoff.ready.max(at);
        }
        let path = exchange.path;
        if asks {
            self.requests[index] = Some(OwnExchange { is_request: true, ..exchange });
        }
        self.arm_all(at, station);
        self.flush(path);
    }

    /// Counts the failures of an access function since its last success. Returns whether they have reached their limit
    /// (10.22.2.2).
    fn count_failure(&mut self, index: usize, exchange: &OwnExchange, acknowledged: bool) -> bool {
        let rules = self.rules_of(index);
        let which = usize::from(exchange.reserved);
        let limit = [rules.short_attempts, rules.long_attempts][which];
        let failures = &mut self.backoffs[index].failures;
        failures[which] += 1;
        let gives_up = !acknowledged && failures[which] >= limit;
        if acknowledged || gives_up {
            *failures = [0; 2];
        }
        gives_up
    }

    /// Counts the frames of an exchange that ends at `end`. Those that are acknowledged, or have failed in the last attempt,
    /// leave the queue at `at`. Returns whether any of them was given up.
    pub(super) fn settle(&mut self, at: Time, end: Time, exchange: &OwnExchange, acknowledged: bool) -> bool {
        let index = exchange.function as usize;
        let rules = self.rules_of(index);
        let which = usize::from(exchange.reserved);
        let limit = [rules.short_attempts, rules.long_attempts][which];
        let in_window = exchange.serials.len() > 1 && exchange.sends_data();
        let unlimited = in_window && rules.block_ack_request;
        let Stations { functions, paths, flow_airtimes, pending, .. } = &mut self.stations;
        let (function, path) = (&mut functions[index], &mut paths[exchange.path as usize]);
        let (mut departed, mut lost, mut sent) = (false, false, 0);
        for serial in &exchange.serials {
            let position = path.frames.partition_point(|frame| frame.serial < *serial);
            let Some(frame) = path.frames.get_mut(position).filter(|frame| frame.serial == *serial) else { continue };
            flow_airtimes.add(&mut path.known_flow, frame.one.flow, frame.one.size);
            let received = frame.state == State::Unacknowledged;
            if !frame.state.is_pending() {
                continue;
            }
            if acknowledged && received {
                sent += 1;
                function.counters.add_sent(frame.one.size);
                path.totals.add_sent(frame.one.size);
            } else if exchange.is_request {
                continue; // its failure was counted with the data
            } else {
                frame.in_window |= in_window;
                function.counters.errors += u64::from(exchange.overlapped == [false; 2]);
                if unlimited || !frame.fails(which, limit) {
                    continue;
                }
                lost = true;
                function.counters.given_up += 1;
                path.totals.given_up += 1;
            }
            departed = true;
            frame.state = if received { State::Received } else { State::Lost };
            function.device -= 1;
            path.queue_length.drop_one(at, frame.one.size);
            function.queue_length.drop_one(at, frame.one.size);
        }
        let airtime = end - exchange.start;
        flow_airtimes.end_on(path.known_flow, airtime);
        function.counters.airtime_ns += airtime.as_nanos();
        if departed && function.queue.is_some() {
            function.pending = true;
            pending.push(exchange.function);
        }
        self.count_rate(exchange, sent, acknowledged);
        lost
    }

    /// Counts the frames of an exchange with data for the rate adaptation of its path.
    fn count_rate(&mut self, exchange: &OwnExchange, sent: u32, acknowledged: bool) {
        let minstrel = &mut self.minstrels[exchange.path as usize / self.stations.categories];
        if let Some(minstrel) = minstrel.as_mut().filter(|_| exchange.sends_data() && !exchange.is_request) {
            minstrel.count(exchange.mode, exchange.serials.len() as u32, sent, acknowledged);
        }
    }

    /// Moves frames with known outcomes from the front of a path's queue to the outcomes, in order.
    pub(super) fn flush(&mut self, path: u32) {
        let frames = &mut self.stations.paths[path as usize].frames;
        for frame in frames.iter_mut() {
            let outcome = match frame.state {
                State::Waiting => break,
                State::Lost => FrameOutcome::Lost,
                State::Received | State::Unacknowledged => FrameOutcome::Delivered,
            };
            if !std::mem::replace(&mut frame.reported, true) {
                self.outcomes.push(outcome(frame.one));
            }
        }
        while frames.front().is_some_and(|frame| frame.reported && !frame.state.is_pending()) {
            frames.pop_front();
        }
    }
}
