//! Media and cells: servers that several links share.

use cwndlab_network::link::Outcome;
use cwndlab_network::wifi::FrameOutcome;
use cwndlab_units::{ServerId, Time};

use super::Network;
use crate::aqm_links::Server;
use crate::packet::Packet;

impl Network {
    /// Runs a medium or a cell, whose event is the top of the agenda.
    pub(super) fn serve_medium(&mut self, now: Time, server: ServerId) {
        let (mut taken, next) = match &mut self.servers[server] {
            Server::Wifi(wifi) => {
                let mut taken = std::mem::take(&mut wifi.taken);
                let next = wifi.serve(now, &mut taken, &mut self.dropped);
                (taken, next)
            }
            Server::Cell(cell) => {
                let mut taken = std::mem::take(&mut cell.taken);
                let next = cell.serve(now, &mut taken, &mut self.dropped);
                (taken, next)
            }
            Server::Line { .. } => return,
        };
        match next {
            Some(at) => self.agenda.replace_top(at, self.sources.server(server)),
            None => self.agenda.pop(),
        }
        // Packets that its queues dropped while selecting the next frames precede the last departure.
        let last = taken.pop();
        for outcome in taken.drain(..) {
            self.leave_medium(now, server, outcome);
        }
        self.record_drops();
        if let Some(outcome) = last {
            self.leave_medium(now, server, outcome);
        }
        match &mut self.servers[server] {
            Server::Wifi(wifi) => wifi.taken = taken,
            Server::Cell(cell) => cell.taken = taken,
            Server::Line { .. } => {}
        }
    }

    /// Handles a packet that left a medium or a cell.
    fn leave_medium(&mut self, now: Time, server: ServerId, outcome: FrameOutcome<Packet>) {
        let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
        let link = self.routes.current(&one.packet).link;
        if matches!(outcome, FrameOutcome::Delivered(_)) {
            match &mut self.servers[server] {
                Server::Wifi(wifi) if one.marked => wifi.count_mark(link),
                Server::Cell(cell) if one.marked => cell.count_mark(link),
                _ => {}
            }
            self.on_departure(now, link, one);
        } else {
            self.record(one.since, link, one.packet, Outcome::Lost { departure: now });
            self.count_loss(now, one.packet, Outcome::Lost { departure: now });
        }
    }

    /// Adds an entry of a medium or a cell to the agenda, if it precedes the existing one.
    pub(super) fn arm_medium(&mut self, server: ServerId) {
        let next = match &mut self.servers[server] {
            Server::Wifi(wifi) => wifi.arm(),
            Server::Cell(cell) => cell.arm(),
            Server::Line { .. } => None,
        };
        if let Some(next) = next {
            self.agenda.push(next, self.sources.server(server));
        }
    }
}
