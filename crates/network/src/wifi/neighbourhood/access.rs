//! Channel access: contention, the frames of an exchange, and its outcome.

use cwndlab_units::{Duration, Time};

use super::station::{FrameKind, OwnExchange};
use super::{Event, Neighbourhood, ResponseKind, Signal};
use crate::wifi::medium::FrameOutcome;
use crate::wifi::phy::{
    subframe_bytes, Mode, ACK_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_REQUEST_BYTES, DELIMITER_BYTES, RTS_BYTES, SIFS,
};
use crate::wifi::rules::Deferral;

impl OwnExchange {
    /// Bytes of the response to its data.
    fn response_bytes(&self) -> u32 {
        if self.serials.len() > 1 {
            BLOCK_ACK_BYTES
        } else {
            ACK_BYTES
        }
    }

    /// SIFS and the response to its data.
    fn acknowledgement(&self) -> Duration {
        SIFS + self.mode.control().airtime(self.response_bytes())
    }
}

impl<P: Copy> Neighbourhood<P> {
    /// Starts contention for a frame that arrived at an empty queue.
    pub(super) fn begin_contending(&mut self, now: Time, index: u32) {
        let slot = self.rules.slot;
        let aifs = self.rules.aifs(&self.rules.access);
        let station = &mut self.stations[index as usize];
        if station.exchange.is_some() || (station.backoff.slots > 0 && station.backoff.expiry(slot) > now) {
            return self.arm(now, index); // the backoff after the last frame is still in progress
        }
        let in_gap = self.rules.deferral == Deferral::Keeps && now >= station.gap_from && now - station.gap_from < SIFS;
        if station.is_busy(now) && !in_gap {
            let cw = station.backoff.cw;
            station.back_off(cw);
            return self.arm(now, index);
        }
        station.backoff.slots = 0;
        station.backoff.immediate = true;
        let ready = station.backoff.ready;
        if now > ready {
            station.backoff.ready = match self.rules.deferral {
                Deferral::Draws if self.rules.counts_busy_slot => {
                    ready + Duration::from_nanos((now - ready).as_nanos().next_multiple_of(slot.as_nanos()))
                }
                Deferral::Draws => now,
                Deferral::Keeps => now + aifs,
            };
        }
        self.arm(now, index);
    }

    /// Schedules the access of a station that has a frame and an idle channel.
    pub(super) fn arm(&mut self, now: Time, index: u32) {
        let station = &mut self.stations[index as usize];
        station.backoff.generation += 1;
        let idle = station.activity == super::Activity::Idle;
        if station.backlog > 0 && station.exchange.is_none() && idle {
            let at = station.backoff.expiry(self.rules.slot).max(now);
            let generation = station.backoff.generation;
            self.schedule(at, Event::Access(index, generation));
        }
    }

    /// The channel becomes busy for a station at `at`: its backoff freezes. All stations whose backoff ends at
    /// `at` have started to send.
    pub(super) fn freeze(&mut self, at: Time, index: u32) {
        let more = u64::from(self.rules.counts_busy_slot);
        let draws = self.rules.deferral == Deferral::Draws;
        let slot = self.rules.slot;
        let station = &mut self.stations[index as usize];
        let counted = station.backoff.counted(at, slot, more);
        station.backoff.slots = station.backoff.slots.saturating_sub(counted);
        station.backoff.generation += 1;
        if station.backoff.immediate && station.exchange.is_none() {
            station.backoff.immediate = !draws;
            if draws {
                let cw = station.backoff.cw;
                station.back_off(cw);
            }
        }
    }

    /// The channel becomes idle for a station at `at`: its interframe space starts.
    pub(super) fn unfreeze(&mut self, at: Time, index: u32) {
        let aifs = self.rules.aifs(&self.rules.access);
        let eifs = self.rules.after_collision();
        let station = &mut self.stations[index as usize];
        let idle_from = at.max(station.nav);
        let more = if std::mem::take(&mut station.failed_reception) { eifs } else { Duration::ZERO };
        station.backoff.idle_from = idle_from;
        station.backoff.ready = idle_from.max(at + more) + aifs;
        self.arm(at, index);
    }

    /// The end of a station's backoff: its exchange starts.
    pub(super) fn access(&mut self, at: Time, index: u32, generation: u64) {
        if self.stations[index as usize].backoff.generation != generation {
            return;
        }
        if let Some(request) = self.stations[index as usize].request.take() {
            return self.send_request(at, index, request);
        }
        let mut exchange = self.exchange(at, index);
        let rts = self.rules.rts_above.is_some_and(|above| exchange.mpdus.iter().sum::<u32>() > above);
        let acknowledgement = exchange.acknowledgement();
        let control = exchange.mode.control();
        let (path, mode, data) = (exchange.path, exchange.mode, exchange.data);
        let to = self.paths[path as usize].to;
        let station = &mut self.stations[index as usize];
        station.backoff.immediate = false;
        station.counters.attempts += 1;
        exchange.after_rts = rts;
        station.exchange = Some(exchange);
        if rts {
            let nav = SIFS + control.airtime(ACK_BYTES) + SIFS + data + acknowledgement;
            self.send(at, index, to, FrameKind::Rts, control, control.airtime(RTS_BYTES), nav, RTS_BYTES);
        } else {
            self.send(at, index, to, FrameKind::Data, mode, data, acknowledgement, 0);
        }
    }

    /// Asks for the BlockAck that did not come (10.24.7).
    fn send_request(&mut self, at: Time, index: u32, request: OwnExchange) {
        let control = request.mode.control();
        let to = self.paths[request.path as usize].to;
        let nav = request.acknowledgement();
        let station = &mut self.stations[index as usize];
        station.backoff.immediate = false;
        station.counters.attempts += 1;
        station.exchange = Some(OwnExchange { start: at, overlapped: [false; 2], timed_out: false, ..request });
        let airtime = control.airtime(BLOCK_ACK_REQUEST_BYTES);
        self.send(at, index, to, FrameKind::BlockAckRequest, control, airtime, nav, BLOCK_ACK_REQUEST_BYTES);
    }

    /// The next exchange of a station: its oldest frame, and with aggregation those that follow on the same path.
    fn exchange(&mut self, at: Time, index: u32) -> OwnExchange {
        let oldest = |path: &u32| {
            let mut waiting = self.paths[*path as usize].frames.iter().filter(|frame| !frame.done);
            waiting.next().map(|frame| (frame.serial, *path))
        };
        let first = self.stations[index as usize].paths.iter().filter_map(oldest).min();
        let (_, index) = first.expect("a station that contends has a frame");
        let rules = &self.rules;
        let path = &mut self.paths[index as usize];
        let random = &mut self.stations[path.from as usize].random;
        let (mode, is_sample) = match (path.mode, &mut path.minstrel) {
            (Some(mode), _) => (mode, false),
            (None, Some(minstrel)) => minstrel.select(at, path.misses, random),
            (None, None) => unreachable!("a path has a mode or statistics"),
        };
        let max_bytes = match path.max_bytes {
            Some((known, bytes)) if known == mode => bytes,
            _ if rules.access.aggregates => rules.max_bytes(mode, Duration::MAX),
            _ => 0,
        };
        path.max_bytes = Some((mode, max_bytes));
        let window = rules.aggregation.filter(|_| !is_sample).map_or(1, |aggregation| aggregation.frames as usize);
        let (mut serials, mut mpdus, mut padded) = (Vec::new(), Vec::new(), 0);
        let mut bytes = 0;
        for frame in path.frames.iter().take(window.max(1)).filter(|frame| !frame.done) {
            let mpdu = frame.one.size + rules.overhead;
            let with = padded + mpdu + DELIMITER_BYTES;
            if !serials.is_empty() && with > max_bytes {
                break;
            }
            serials.push(frame.serial);
            mpdus.push(subframe_bytes(mpdu));
            bytes = with;
            padded += subframe_bytes(mpdu);
        }
        if mpdus.len() == 1 {
            bytes -= DELIMITER_BYTES;
            mpdus[0] = bytes;
        }
        OwnExchange {
            path: index,
            serials,
            mpdus,
            mode,
            data: mode.airtime(bytes),
            start: at,
            sent_until: at,
            reserved: false,
            after_rts: false,
            requests: 0,
            overlapped: [false; 2],
            timeout: 0,
            timed_out: false,
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
        let timeout = self.rules.timeout();
        let station = &mut self.stations[from as usize];
        station.sending = Some(number);
        let lost_reception = station.reception.take().is_some();
        if let Some(exchange) = &mut station.exchange {
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
        let station = &mut self.stations[index as usize];
        if station.sending.is_some() {
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
                let Some(exchange) = &mut station.exchange else { return };
                exchange.reserved = true;
                let (mode, data, nav) = (exchange.mode, exchange.data, exchange.acknowledgement());
                self.send(at, index, to, FrameKind::Data, mode, data, nav, 0);
            }
        }
    }

    /// The response to a station's last frame did not start in time. During a reception, its end decides.
    pub(super) fn time_out(&mut self, at: Time, index: u32, number: u64) {
        let station = &mut self.stations[index as usize];
        let Some(exchange) = &mut station.exchange else { return };
        if exchange.timeout != number {
            return;
        }
        if station.reception.is_some() || station.sending.is_some() {
            exchange.timed_out = true;
        } else {
            self.complete(at, index, false);
        }
    }

    /// Ends the exchange of a station, with or without the acknowledgement of its data, and draws a backoff.
    pub(super) fn complete(&mut self, at: Time, index: u32, acknowledged: bool) {
        let station = &mut self.stations[index as usize];
        let Some(exchange) = station.exchange.take() else { return };
        if exchange.requests > 0 {
            return self.complete_request(at, index, acknowledged, exchange);
        }
        let which = usize::from(exchange.reserved);
        let limit = [self.rules.short_attempts, self.rules.long_attempts][which];
        let path = &mut self.paths[exchange.path as usize];
        let mut lost = false;
        path.misses = if acknowledged { 0 } else { path.misses + 1 };
        if let Some(minstrel) = path.minstrel.as_mut().filter(|_| exchange.reserved || !exchange.after_rts) {
            let has = |serial: &&u64| path.frames[path.frames.partition_point(|one| one.serial < **serial)].received;
            let acknowledged = if acknowledged { exchange.serials.iter().filter(has).count() } else { 0 };
            minstrel.count(exchange.mode, exchange.serials.len() as u32, acknowledged as u32);
        }
        for serial in &exchange.serials {
            let position = path.frames.partition_point(|frame| frame.serial < *serial);
            let frame = &mut path.frames[position];
            self.flow_airtimes.add(&mut path.known_flow, frame.one.flow, frame.one.size);
            let size = u64::from(frame.one.size);
            if acknowledged && frame.received {
                station.counters.sent += 1;
                station.counters.sent_bytes += size;
                path.totals.sent += 1;
                path.totals.sent_bytes += size;
            } else {
                frame.failures[which] += 1;
                station.counters.errors += u64::from(exchange.overlapped == [false; 2]);
                if frame.failures[which] < limit {
                    continue;
                }
                lost = true;
                station.counters.given_up += 1;
                path.totals.given_up += 1;
            }
            frame.done = true;
            station.backlog -= 1;
            path.queue_length.drop_one(at, frame.one.size);
            station.queue_length.drop_one(at, frame.one.size);
        }
        self.end_exchange(at, index, acknowledged, lost, exchange);
    }

    /// Ends a request for a BlockAck: frames that the receiver has are done. The last attempt gives the request up.
    fn complete_request(&mut self, at: Time, index: u32, acknowledged: bool, mut exchange: OwnExchange) {
        let station = &mut self.stations[index as usize];
        let path = &mut self.paths[exchange.path as usize];
        for serial in &exchange.serials {
            let position = path.frames.partition_point(|frame| frame.serial < *serial);
            let Some(frame) = path.frames.get_mut(position).filter(|frame| frame.serial == *serial) else { continue };
            self.flow_airtimes.add(&mut path.known_flow, frame.one.flow, frame.one.size);
            if acknowledged && frame.received && !frame.done {
                let size = u64::from(frame.one.size);
                station.counters.sent += 1;
                station.counters.sent_bytes += size;
                path.totals.sent += 1;
                path.totals.sent_bytes += size;
                frame.done = true;
                station.backlog -= 1;
                path.queue_length.drop_one(at, frame.one.size);
                station.queue_length.drop_one(at, frame.one.size);
            }
        }
        let lost = !acknowledged && exchange.requests >= self.rules.short_attempts;
        if acknowledged || lost {
            exchange.requests = 0;
            exchange.serials.clear();
        }
        self.end_exchange(at, index, acknowledged, lost, exchange);
    }

    /// Accounts the airtime of an exchange, refills the device, and draws a backoff.
    fn end_exchange(&mut self, at: Time, index: u32, acknowledged: bool, lost: bool, exchange: OwnExchange) {
        let airtime = if acknowledged { at } else { exchange.sent_until } - exchange.start;
        self.flow_airtimes.end(airtime);
        self.stations[index as usize].counters.airtime_ns += airtime.as_nanos();
        let path = exchange.path;
        self.refill(at, index);
        self.back_off_after(at, index, acknowledged, lost, exchange);
        self.flush(path);
    }

    /// The contention window and backoff after an exchange, and the cause of a failure.
    fn back_off_after(&mut self, at: Time, index: u32, acknowledged: bool, lost: bool, exchange: OwnExchange) {
        let access = self.rules.access;
        let station = &mut self.stations[index as usize];
        if !acknowledged {
            station.counters.failures += 1;
            station.counters.collisions += u64::from(exchange.overlapped != [false; 2]);
            match exchange.overlapped {
                [true, _] => station.causes.same_slot += 1,
                [_, true] => station.causes.hidden += 1,
                _ => station.causes.noise += 1,
            }
        }
        let is_aggregate = exchange.serials.len() > 1 && (exchange.reserved || !exchange.after_rts);
        if self.rules.block_ack_request && !acknowledged && (is_aggregate || exchange.requests > 0) {
            station.request = Some(OwnExchange { requests: exchange.requests + 1, ..exchange });
        }
        let cw = if acknowledged || lost { access.cw_min } else { access.widened(station.backoff.cw) };
        station.back_off(cw);
        station.backoff.ready = station.backoff.ready.max(at);
        self.arm(at, index);
    }

    /// Moves frames with known outcomes from the front of a path's queue to the outcomes, in order.
    pub(super) fn flush(&mut self, path: u32) {
        let frames = &mut self.paths[path as usize].frames;
        for frame in frames.iter_mut() {
            if !frame.received && !frame.done {
                break;
            }
            if !std::mem::replace(&mut frame.reported, true) {
                let outcome = if frame.received { FrameOutcome::Delivered } else { FrameOutcome::Lost };
                self.outcomes.push(outcome(frame.one));
            }
        }
        while frames.front().is_some_and(|frame| frame.reported && frame.done) {
            frames.pop_front();
        }
    }
}
