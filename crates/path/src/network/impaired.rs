//! Links that are not plain: with loss, jitter or duplicates, router agents or a server, or while packets are recorded.

use cwndlab_network::link::{Offer, Outcome};
use cwndlab_units::{LinkId, Time};

use super::Network;
use crate::aqm_links::COMPUTED;
use crate::packet::{Packet, DATA, ECN, SYN_ACK};
use crate::routes::{Hop, HopKind, ARRIVED};

impl Network {
    /// Sends a packet over a link that is not plain. Returns its arrival time, if it arrives and the time is known.
    #[inline(never)] // the body of the engine's loop stays small
    pub(super) fn cross_impaired(&mut self, now: Time, index: usize, packet: &mut Packet) -> Option<Time> {
        let &Hop { delay, link, next_position, kind, .. } = self.routes.hop(index);
        match kind {
            HopKind::VaryingDelay => {
                self.crossed[link].add(packet.size);
                Some(self.links[link].vary(now + delay))
            }
            HopKind::Varying => self.cross_varying(now, link, packet),
            _ => {
                *packet = self.offer(now, link, next_position == ARRIVED, *packet)?;
                Some(packet.at)
            }
        }
    }

    /// Sends a packet over a link whose delay varies in order. Returns its arrival time; `None` if it is dropped.
    fn cross_varying(&mut self, now: Time, link: LinkId, packet: &mut Packet) -> Option<Time> {
        let Some((at, mark)) = self.links[link].pass_queue(now, u32::from(packet.size)) else {
            self.count_loss(now, *packet, Outcome::Dropped);
            return None;
        };
        if mark && packet.is_ecn_capable() {
            packet.flags |= ECN;
            self.links[link].count_marked();
        }
        Some(self.links[link].vary(at))
    }

    /// Offers a packet to a link with loss, jitter, duplication, router agents or a server, or with packet records.
    /// Returns the packet with its arrival time, if it arrives and the time is known.
    #[cold]
    fn offer(&mut self, now: Time, link: LinkId, last: bool, mut packet: Packet) -> Option<Packet> {
        if packet.hop == 0 {
            if let Some(tap) = &mut self.packet_tap {
                packet.aux = tap.register(now, packet, self.owners[packet.connection()].flow);
            }
        }
        if self.agents.has(link) {
            self.consult_agents(now, link, last, packet);
        }
        if packet.kind() == SYN_ACK && self.agents.answering[link] {
            if let Some(header) = self.original(packet).options() {
                self.answer(now, link, packet.connection(), header);
            }
        }
        if self.server_of[link] != COMPUTED {
            if let Some(tap) = &mut self.packet_tap {
                tap.enqueue(now, link, packet);
            }
            self.enqueue(now, link, packet);
            return None;
        }
        let payload = packet.kind() == DATA;
        let ect = packet.is_ecn_capable();
        let outcome = self.links[link].offer(now, Offer { size: u32::from(packet.size), ect, payload });
        self.cross_wire(now, link, last, packet, outcome)
    }
}
