//! Reception: preamble detection, capture, interference, and what a station does with a received frame.

use cwndlab_units::maths::exp;
use cwndlab_units::{Duration, Time};

use super::error_rate::ln_success;
use super::radio::{CAPTURE_RATIO, CAPTURE_WINDOW, PREAMBLE_SNR};
use super::transceiver::{Activity, Chunk, FrameKind, OwnExchange, Reception};
use super::{Event, Neighbourhood, ResponseKind, Signal};
use crate::wifi::access_function::State;
use crate::wifi::phy::{Mode, ACK_BYTES, SIFS};

/// Legacy preamble and SIGNAL, with 24 bits at 6 Mbit/s.
const HEADER: Duration = Duration::from_micros(20);
const HEADER_BYTES: f64 = 3.0;
const HEADER_MODE: Mode = Mode::Ofdm { bits: 24 };
/// A frame this much weaker at a receiver than another does not count as the cause of its loss: 30 dB, as a ratio.
const HARMLESS: f64 = 1e-3;

/// Logarithm of the success probability of `bytes` between two times of a reception.
fn ln_success_between(reception: &Reception, from: Time, to: Time, mode: Mode, bytes: f64) -> f64 {
    let span = (to - from).as_nanos() as f64;
    let mut since = reception.start;
    let mut sum = 0.0;
    for chunk in &reception.chunks {
        let (first, last) = (since.max(from), chunk.until.min(to));
        if last > first {
            sum += ln_success(mode, chunk.sinr, bytes * (last - first).as_nanos() as f64 / span);
        }
        since = chunk.until;
    }
    sum
}

impl<P: Copy> Neighbourhood<P> {
    /// Total power of the frames on the air at a station, except one, mW.
    fn interference(&self, station: u32, except: u64) -> f64 {
        let others = self.signals.iter().filter(|signal| signal.number != except);
        others.map(|signal| self.radio.power(signal.from, station)).sum()
    }

    /// SINR of a frame at a station, a ratio.
    fn sinr(&self, station: u32, signal: u64, from: u32) -> f64 {
        let unwanted = self.radio.noise(station) + self.interference(station, signal);
        self.radio.power(from, station) / unwanted
    }

    /// Marks exchanges whose frames overlap with a new one at their receivers.
    pub(super) fn mark_overlaps(&mut self, new: &Signal) {
        for index in 0..self.signals.len() {
            let old = self.signals[index];
            for (one, other) in [(&old, new), (new, &old)] {
                let Some(receiver) = self.transceivers.get(one.to as usize) else { continue };
                let power = self.radio.power(one.from, one.to);
                let occupied = receiver.reception.as_ref().is_some_and(|present| present.signal == other.number);
                let audible = self.radio.power(other.from, one.to) > power * HARMLESS;
                let audible = audible || occupied || other.from == one.to;
                let owner = if one.kind.asks() { one.from } else { one.to };
                if let Some(exchange) = self.transceivers[owner as usize].exchange.as_mut().filter(|_| audible) {
                    exchange.overlapped[usize::from(old.start != new.start)] = true;
                }
            }
        }
    }

    /// Detection of the preambles of the frames that start at `at`. Frames that start together are detected after all of
    /// them have started.
    pub(super) fn detect(&mut self, at: Time) {
        if self.starting.is_empty() {
            return;
        }
        let starting = std::mem::take(&mut self.starting);
        let new: Vec<Signal> = self.signals.iter().filter(|one| starting.contains(&one.number)).copied().collect();
        for signal in &new {
            self.update(at, signal.from);
        }
        for signal in &new {
            for index in 0..self.radio.audible(signal.from).len() {
                let receiver = self.radio.audible(signal.from)[index];
                self.end_chunk(at, receiver);
                self.try_detect(at, receiver, signal);
                self.update(at, receiver);
            }
        }
    }

    /// Ends the period of constant SINR of a station's reception.
    fn end_chunk(&mut self, at: Time, station: u32) {
        let Some(reception) = &self.transceivers[station as usize].reception else { return };
        let sinr = self.sinr(station, reception.signal, reception.from);
        if let Some(reception) = &mut self.transceivers[station as usize].reception {
            let before = std::mem::replace(&mut reception.sinr, sinr);
            let since = reception.chunks.last().map_or(reception.start, |chunk| chunk.until);
            if at > since {
                reception.chunks.push(Chunk { until: at, sinr: before });
            }
        }
    }

    /// A station begins to receive a frame if it detects the preamble and receives no other frame, or one that is weaker
    /// and began within the capture window.
    fn try_detect(&mut self, at: Time, index: u32, signal: &Signal) {
        let station = &self.transceivers[index as usize];
        if station.sending.is_some() || !self.radio.decodes(signal.from, index) {
            return;
        }
        let sinr = self.sinr(index, signal.number, signal.from);
        if sinr < PREAMBLE_SNR {
            return;
        }
        if let Some(present) = &station.reception {
            let ratio = self.radio.power(signal.from, index) / self.radio.power(present.from, index);
            if at - present.start > CAPTURE_WINDOW || ratio < CAPTURE_RATIO {
                return;
            }
        }
        let reception = Reception {
            signal: signal.number,
            from: signal.from,
            addressed: signal.to == index,
            start: at,
            chunks: Vec::with_capacity(2),
            sinr,
        };
        let transceiver = &mut self.transceivers[index as usize];
        transceiver.reception = Some(reception);
        transceiver.nav_of_rts = false;
    }

    /// Updates the activity of a station at `at`. Its backoff freezes when the channel becomes busy.
    pub(super) fn update(&mut self, at: Time, index: u32) {
        let station = &self.transceivers[index as usize];
        let activity = match &station.reception {
            _ if station.sending.is_some() => Activity::Sending,
            Some(reception) if reception.addressed => Activity::Receiving,
            Some(_) => Activity::Overhearing,
            None if self.interference(index, u64::MAX) >= self.energy_mw[station.rules as usize] => Activity::Energy,
            None => Activity::Idle,
        };
        let station = &mut self.transceivers[index as usize];
        if activity == station.activity {
            return;
        }
        station.account(at);
        let before = std::mem::replace(&mut station.activity, activity);
        if before == Activity::Idle {
            self.freeze(at, index);
        } else if activity == Activity::Idle {
            self.unfreeze(at, index);
        }
    }

    /// The end of a frame.
    pub(super) fn end_signal(&mut self, at: Time, number: u64) {
        let Some(position) = self.signals.iter().position(|signal| signal.number == number) else { return };
        let signal = self.signals[position];
        for index in 0..self.radio.audible(signal.from).len() {
            let receiver = self.radio.audible(signal.from)[index];
            self.end_chunk(at, receiver);
        }
        self.signals.remove(position);
        let sender = &mut self.transceivers[signal.from as usize];
        sender.sending = sender.sending.filter(|&sending| sending != number);
        for index in 0..self.radio.audible(signal.from).len() {
            let receiver = self.radio.audible(signal.from)[index];
            let reception = &mut self.transceivers[receiver as usize].reception;
            if let Some(reception) = reception.take_if(|one| one.signal == number) {
                self.receive(at, receiver, &signal, &reception);
            } else {
                self.end_chunk(at, receiver); // the SINR of another frame improves
            }
            self.update(at, receiver);
        }
        self.update(at, signal.from);
    }

    /// Whether a part of a frame is received: a random draw.
    fn draw(&mut self, station: u32, ln_probability: f64) -> bool {
        self.transceivers[station as usize].random.unit() < exp(ln_probability)
    }

    /// The end of a reception.
    fn receive(&mut self, at: Time, index: u32, signal: &Signal, reception: &Reception) {
        let payload = (signal.start + HEADER).min(at);
        let header = ln_success_between(reception, signal.start, payload, HEADER_MODE, HEADER_BYTES);
        let header = self.draw(index, header);
        let received = header
            && if signal.kind == FrameKind::Data {
                self.receive_data(at, index, signal, reception)
            } else {
                let bytes = f64::from(signal.bytes);
                let ln_probability = ln_success_between(reception, payload, at, signal.mode, bytes);
                self.draw(index, ln_probability)
            };
        if received && signal.kind == FrameKind::Beacon {
            self.hear_beacon(at, index, signal.from);
        }
        let station = &mut self.transceivers[index as usize];
        station.failed_reception = !received;
        if received && signal.to == index {
            self.process(at, index, signal);
        } else if received {
            self.reserve(at, index, signal);
        }
        let exchange = &self.transceivers[index as usize].exchange;
        if exchange.as_ref().is_some_and(|exchange| exchange.timed_out) {
            self.complete(at, index, false);
        }
    }

    /// Sets the NAV by a frame for another station. That of an RTS ends if no frame follows it (10.3.2.4). A CF-End resets
    /// the NAV (10.22.2.9).
    fn reserve(&mut self, at: Time, index: u32, signal: &Signal) {
        let station = &mut self.transceivers[index as usize];
        if signal.kind == FrameKind::CfEnd {
            station.nav = at;
        }
        let nav = at + signal.nav;
        if nav <= station.nav {
            return;
        }
        station.nav = nav;
        station.nav_of_rts = signal.kind == FrameKind::Rts;
        if station.nav_of_rts {
            let slot = self.rules[station.rules as usize].slot;
            let response = signal.mode.control().airtime(ACK_BYTES);
            self.schedule(at + SIFS * 2 + response + slot * 2, Event::ResetNav(index, nav));
        }
    }

    /// Resets the NAV of an RTS, unless a frame was detected since.
    pub(super) fn reset_nav(&mut self, at: Time, index: u32, nav: Time) {
        let station = &mut self.transceivers[index as usize];
        if station.nav == nav && std::mem::take(&mut station.nav_of_rts) {
            station.nav = at;
            if station.activity == Activity::Idle {
                self.unfreeze(at, index);
            }
        }
    }

    /// The end of a data frame: its receiver gets the MPDUs without errors; other stations decode the first one for its
    /// duration field. Returns whether any was decoded.
    fn receive_data(&mut self, at: Time, index: u32, signal: &Signal, reception: &Reception) -> bool {
        let Some(exchange) = self.transceivers[signal.from as usize].exchange.take() else { return false };
        let payload = (signal.start + HEADER).min(at);
        let span = (at - payload).as_nanos();
        let total = exchange.mpdus.iter().map(|&bytes| u64::from(bytes)).sum::<u64>().max(1);
        let mine = signal.to == index;
        let count = if mine { exchange.mpdus.len() } else { 1 };
        let (mut sent, mut any) = (0, false);
        for (serial, &bytes) in exchange.serials.iter().zip(&exchange.mpdus).take(count) {
            let from = payload + Duration::from_nanos(span * sent / total);
            sent += u64::from(bytes);
            let to = payload + Duration::from_nanos(span * sent / total);
            let ln_probability = ln_success_between(reception, from, to, signal.mode, f64::from(bytes));
            if !self.draw(index, ln_probability) {
                continue;
            }
            if !mine {
                any = true;
                continue;
            }
            let path = &mut self.stations.paths[exchange.path as usize];
            if path.error > 0.0 && self.transceivers[index as usize].random.unit() < path.error {
                continue;
            }
            any = true;
            let position = path.frames.partition_point(|frame| frame.serial < *serial);
            path.frames[position].state = State::Unacknowledged;
        }
        if mine {
            self.flush(exchange.path);
            self.stay_awake(at, index);
            self.stay_awake(at, signal.from);
        }
        self.transceivers[signal.from as usize].exchange = Some(exchange);
        any
    }

    /// A station has received a frame for it.
    fn process(&mut self, at: Time, index: u32, signal: &Signal) {
        let to = signal.from;
        let control = signal.mode.control();
        let Mode::Ofdm { bits: mode_bits } = control else { return };
        let respond = |kind, bytes| {
            let nav = signal.nav.saturating_sub(SIFS + control.airtime(bytes));
            Event::Respond { station: index, kind, to, nav, mode_bits, bytes }
        };
        match signal.kind {
            FrameKind::Rts if self.transceivers[index as usize].nav <= at => {
                self.schedule(at + SIFS, respond(ResponseKind::Cts, ACK_BYTES));
            }
            FrameKind::Rts | FrameKind::Beacon | FrameKind::CfEnd => {}
            FrameKind::Cts => {
                if let Some(exchange) = &mut self.transceivers[index as usize].exchange {
                    exchange.timeout = u64::MAX;
                    exchange.timed_out = false;
                    self.schedule(at + SIFS, respond(ResponseKind::Data, 0));
                }
            }
            FrameKind::Data => {
                self.transceivers[index as usize].gap_from = at;
                let exchange = self.transceivers[to as usize].exchange.as_ref();
                let bytes = exchange.map_or(ACK_BYTES, OwnExchange::response_bytes);
                self.schedule(at + SIFS, respond(ResponseKind::Ack, bytes));
            }
            FrameKind::BlockAckRequest => {
                let exchange = self.transceivers[to as usize].exchange.as_ref();
                let bytes = exchange.map_or(0, |request| request.mode.block_ack_bytes());
                self.schedule(at + SIFS, respond(ResponseKind::Ack, bytes));
            }
            FrameKind::Ack => self.complete(at, index, true),
        }
    }
}
