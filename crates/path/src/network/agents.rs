//! What router agents see of packets.

use cwndlab_network::router_assist::Arrival;
use cwndlab_units::{ConnectionId, LinkId, Time};

use super::Network;
use crate::packet::{Packet, SYN};

impl Network {
    /// Passes a packet to the router agents of a link.
    pub(super) fn consult_agents(&mut self, now: Time, link: LinkId, last: bool, packet: Packet) {
        let arrival = Arrival {
            now,
            size: u32::from(packet.size),
            connection: packet.connection(),
            hop: packet.hop,
            backlog: self.backlog_time(now, link),
            rate: self.links[link].present_rate(now).unwrap_or(f64::INFINITY),
            syn: packet.kind() == SYN,
            router: packet.hop > 0 || last,
        };
        let header = self.original(packet).options().filter(|_| packet.is_forward());
        self.agents.on_packet(link, arrival, header.and_then(|index| self.options.header_mut(index)));
    }

    /// Passes the router header of a SYN-ACK at the start of a link to the agents of the link on which the SYN left.
    pub(super) fn answer(&mut self, now: Time, link: LinkId, connection: ConnectionId, header: u32) {
        if let Some(header) = self.options.header_mut(header) {
            let crossed = self.routes.links(connection, 0);
            self.agents.on_syn_ack(now, link, connection, crossed, header);
        }
    }

    /// Passes the router header of a SYN-ACK that has reached the sender to the agents of the sender's own link.
    pub fn answer_at_sender(&mut self, now: Time, connection: ConnectionId, header: u32) {
        let own = self.routes.links(connection, 0).next();
        if let Some(link) = own {
            self.answer(now, link, connection, header);
        }
    }
}
