//! Media and cells: servers that several links share.

use cwndlab_network::link::Outcome;
use cwndlab_network::wifi::FrameOutcome;
use cwndlab_units::{LinkId, ServerId, Time};

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
            Server::Line(_) => return,
        };
        match next {
            Some(at) => self.agenda.replace_top(at, self.sources.server(server)),
            None => self.agenda.pop(),
        }
        // Packets that its queues dropped while selecting the next frames precede the last departure.
        for (number, outcome) in (1..).zip(&taken) {
            if number == taken.len() {
                self.record_drops();
            }
            self.leave_medium(now, server, outcome);
        }
        self.record_drops();
        taken.clear();
        match &mut self.servers[server] {
            Server::Wifi(wifi) => wifi.taken = taken,
            Server::Cell(cell) => cell.taken = taken,
            Server::Line(_) => {}
        }
    }

    /// Handles a packet that left a medium or a cell.
    #[inline]
    fn leave_medium(&mut self, now: Time, server: ServerId, outcome: &FrameOutcome<Packet>) {
        let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
        let hop = self.routes.current(&one.packet);
        if matches!(outcome, FrameOutcome::Delivered(_)) {
            if one.marked {
                self.count_mark(server, hop.link);
            }
            self.on_departure(now, hop, one);
        } else {
            let outcome = Outcome::Lost { departure: now };
            self.record(one.since, hop.link, one.packet, outcome);
            self.count_loss(now, one.packet, outcome);
        }
    }

    /// Counts a packet that was delivered on `link` with a CE mark.
    #[cold]
    fn count_mark(&mut self, server: ServerId, link: LinkId) {
        match &mut self.servers[server] {
            Server::Wifi(wifi) => wifi.count_mark(link),
            Server::Cell(cell) => cell.count_mark(link),
            Server::Line(_) => {}
        }
    }
}
