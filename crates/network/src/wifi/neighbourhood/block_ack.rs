//! Requests for a BlockAck, and the lifetime of frames.
//!
//! Frames of an aggregate without a BlockAck stay in the window of their receiver. With
//! [`block_ack_request`](super::Rules::block_ack_request) the sender asks for the BlockAck until it is answered, and
//! drops frames by their lifetime only. After it has dropped a frame that the receiver's window waits for, another request
//! moves the window (IEEE 802.11-2016, 10.24.3 and 10.24.7). The contention window is reset if no frame of the request is
//! left, as in ns-3.

use cwndlab_units::{Duration, Time};

use super::transceiver::{FrameKind, OwnExchange};
use super::{Neighbourhood, BROADCAST};
use crate::wifi::access_function::State;
use crate::wifi::phy::BLOCK_ACK_REQUEST_BYTES;
use crate::wifi::rules::Rules;
use crate::wifi::stations::Stations;

impl<P: Copy> Neighbourhood<P> {
    /// The rules of the medium of an access function.
    pub(super) fn rules_of(&self, index: usize) -> &Rules {
        &self.rules[self.transceivers[index / self.stations.categories].rules as usize]
    }

    /// Asks for the BlockAck that did not come (10.24.7).
    pub(super) fn send_request(&mut self, at: Time, station: u32, request: OwnExchange) {
        let control = request.mode.control();
        let to = self.stations.paths[request.path as usize].to.unwrap_or(BROADCAST);
        self.stations.functions[request.function as usize].counters.attempts += 1;
        self.backoffs[request.function as usize].immediate = false;
        let request = OwnExchange { start: at, overlapped: [false; 2], timed_out: false, with_rts: false, ..request };
        let airtime = control.airtime(BLOCK_ACK_REQUEST_BYTES);
        let request = OwnExchange { data: airtime, ..request };
        let nav = self.duration_field(at, station, &request, Duration::ZERO);
        self.transceivers[station as usize].exchange = Some(request);
        self.send(at, station, to, FrameKind::BlockAckRequest, control, airtime, nav, BLOCK_ACK_REQUEST_BYTES);
    }

    /// Whether a frame of an exchange is still to be transmitted at `at`.
    pub(super) fn has_unexpired(&self, at: Time, exchange: &OwnExchange) -> bool {
        let lifetime = self.rules_of(exchange.function as usize).lifetime;
        let frames = &self.stations.paths[exchange.path as usize].frames;
        exchange.serials.iter().any(|serial| {
            let frame = frames.get(frames.partition_point(|frame| frame.serial < *serial));
            frame.is_some_and(|frame| {
                let expired = lifetime.is_some_and(|lifetime| frame.one.since + lifetime <= at);
                frame.serial == *serial && frame.state.is_pending() && !expired
            })
        })
    }

    /// Drops the oldest frames of an access function whose lifetime has ended at `at`.
    pub(super) fn expire(&mut self, at: Time, index: usize) {
        let Some(lifetime) = self.rules_of(index).lifetime else { return };
        let asks = self.rules_of(index).block_ack_request;
        while self.stations.functions[index].device > 0 {
            let path = self.stations.first_path(index);
            let Some(moves_window) = self.expire_path(at, index, path, lifetime) else { return };
            if asks && moves_window && self.requests[index].is_none() {
                let mode = self.stations.paths[path as usize].mode;
                let request = OwnExchange::new(at, index as u32, path, mode);
                self.requests[index] = Some(OwnExchange { is_request: true, ..request });
            }
            self.flush(path);
        }
    }

    /// Drops the oldest frames of a path; `None`: the lifetime of none has ended. Returns whether the window of the receiver
    /// waits for any of them.
    fn expire_path(&mut self, at: Time, index: usize, path: u32, lifetime: Duration) -> Option<bool> {
        let Stations { functions, paths, pending, .. } = &mut self.stations;
        let (function, path) = (&mut functions[index], &mut paths[path as usize]);
        let mut found = None;
        for frame in path.frames.iter_mut().take_while(|frame| frame.one.since + lifetime <= at) {
            if !frame.state.is_pending() {
                continue;
            }
            found = Some(found == Some(true) || frame.in_window);
            frame.state = if frame.state == State::Unacknowledged { State::Received } else { State::Lost };
            function.counters.given_up += 1;
            path.totals.given_up += 1;
            function.device -= 1;
            path.queue_length.drop_one(at, frame.one.size);
            function.queue_length.drop_one(at, frame.one.size);
        }
        if found.is_some() && function.queue.is_some() {
            function.pending = true;
            pending.push(index as u32);
        }
        found
    }
}
