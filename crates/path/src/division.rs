//! Division of a network among threads: the shared links in one part, the endpoints with the links that only their packets
//! cross in others.
//!
//! Where every endpoint may run ahead of the clock (`look_ahead.rs`), the parts affect each other only after a delay:
//! what a shared link forwards reaches an endpoint after the delay `arriving` or later, and what an endpoint sends reaches
//! a shared link after the delay `leaving` or later. Parts may therefore differ in time by the sum of both (the look-ahead
//! of conservative parallel simulation: R. Fujimoto, "Parallel discrete event simulation", 1990, section 2).

use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, Duration, FlowId, IndexVec, LinkId, Time};
use prefetch_index::prefetch_index;

use crate::calendar::{Approach, Bundle};
use crate::event_log::EventLog;
use crate::look_ahead::LookAhead;
use crate::network::Network;
use crate::packet::{Packet, ACK};
use crate::packet_options::AckOptions;

/// How a network is divided.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// The minimum delay from an event at a shared link to an endpoint.
    pub arriving: Duration,
    /// The minimum delay from an endpoint to a shared link.
    pub leaving: Duration,
    /// By flow, the links on which its two endpoints send, up to the first shared one: those of data, then those of ACKs.
    pub leaving_links: IndexVec<FlowId, [Vec<LinkId>; 2]>,
    /// By flow, the links behind the last shared one that delay packets and do no more: of data, then of ACKs.
    pub arriving_links: IndexVec<FlowId, [Vec<LinkId>; 2]>,
}

/// What one part of a network tells another: packets and losses.
#[derive(Debug, Default)]
pub struct Exchange {
    /// With their hops if they are for shared links.
    packets: Bundle,
    /// The options of packets; each packet has the index of its own.
    options: Vec<AckOptions>,
    losses: Vec<(Time, ConnectionId, bool)>,
}

impl Exchange {
    /// Removes all contents.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.options.clear();
        self.losses.clear();
    }

    /// The packets.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets.packets
    }

    /// Asks for the options of a packet, if it has any.
    #[inline]
    pub fn prefetch(&self, packet: &Packet) {
        if let Some(index) = packet.options() {
            prefetch_index(&self.options, index as usize);
        }
    }

    /// Sorts the packets by connection.
    pub fn sort(&mut self, order: &mut ByConnection) {
        order.sort(&mut self.packets.packets);
    }

    /// Adds a loss: its time, its connection, and whether a wire lost the packet.
    pub fn add_loss(&mut self, loss: (Time, ConnectionId, bool)) {
        self.losses.push(loss);
    }
}

/// Sorts packets by connection.
#[derive(Debug)]
pub struct ByConnection {
    /// By connection, the place of its next packet.
    places: Vec<u32>,
    /// Fewer packets stay as they are.
    least: usize,
    sorted: Vec<Packet>,
}

impl ByConnection {
    /// For `count` of the connections of this plan, which has one for each flow.
    #[must_use]
    pub fn new(plan: &Plan, count: usize) -> Self {
        Self { places: vec![0; plan.flows.len()], least: count, sorted: Vec::new() }
    }

    /// Sorts the packets by connection, by counting; those of a connection keep their order. With fewer packets than
    /// connections hardly any connection has two, and they stay as they are.
    pub fn sort(&mut self, packets: &mut Vec<Packet>) {
        if packets.len() < self.least {
            return;
        }
        self.places.fill(0);
        for packet in packets.iter() {
            self.places[packet.connection().index()] += 1;
        }
        let mut place = 0;
        for count in &mut self.places {
            place += std::mem::replace(count, place);
        }
        self.sorted.resize(packets.len(), Packet::default());
        for packet in packets.iter() {
            let place = &mut self.places[packet.connection().index()];
            self.sorted[*place as usize] = *packet;
            *place += 1;
        }
        std::mem::swap(packets, &mut self.sorted);
    }
}

impl Network {
    /// The division of the network of `plan` if both endpoints of all flows may run ahead of the clock, and each row of the
    /// table `events` has a cause of its own.
    #[must_use]
    pub fn division(&self, plan: &Plan) -> Option<Division> {
        let links = LookAhead::new(plan, &self.links, &self.server_of, &self.routes.fused);
        let mut division = Division { arriving: Duration::MAX, leaving: Duration::MAX, ..Division::default() };
        for (id, flow) in plan.flows.enumerate() {
            for (arriving, leaving) in [(&flow.forward, &flow.reverse), (&flow.reverse, &flow.forward)] {
                // Packets that a link delivers at once have one cause, and reach endpoints in different parts.
                let apart = |&link: &LinkId| links.is_exclusive(link) || plan.links[link].rate.is_some();
                if !links.allows(arriving, leaving) || !arriving.last().is_some_and(apart) {
                    return None;
                }
                division.arriving = division.arriving.min(links.delay_of_arrival(arriving));
                division.leaving = division.leaving.min(links.delay_of_departure(leaving));
            }
            let leaving = |route| links.departure(route).to_vec();
            division.leaving_links.push([leaving(&flow.forward), leaving(&flow.reverse)]);
            let arriving = |route: &[LinkId], direction| {
                let delays = |position| self.routes.is_delayed_only(id.into(), direction, position);
                route[links.own_arrival(route, delays)..].to_vec()
            };
            division.arriving_links.push([arriving(&flow.forward, 0), arriving(&flow.reverse, 1)]);
        }
        (!plan.flows.is_empty()).then_some(division)
    }

    /// Keeps the losses that the network computes, for [`take_losses`](Self::take_losses).
    pub fn report_losses(&mut self) {
        self.upcoming_losses.report();
    }

    /// Removes and returns the losses computed since the last call.
    pub fn take_losses(&mut self) -> Vec<(Time, ConnectionId, bool)> {
        self.upcoming_losses.take_reported()
    }

    /// Adds a packet to `to`, and its options with it.
    pub fn give(&mut self, mut packet: Packet, to: &mut Exchange) {
        if let Some(index) = packet.options() {
            debug_assert_eq!(packet.kind(), ACK, "routers have no agents");
            to.options.push(self.options.take_ack(index));
            packet.aux = to.options.len() as u32 - 1;
        }
        to.packets.packets.push(packet);
    }

    /// Makes the network a part that has only endpoints and the links that no others use: packets that leave these wait for
    /// [`give_sent`](Self::give_sent).
    pub fn become_part(&mut self, division: &Division) {
        self.report_losses();
        self.keep_departures(division);
    }

    /// Moves what the endpoints have sent to `to`, which has no packets.
    pub fn give_sent(&mut self, to: &mut Exchange) {
        debug_assert!(to.packets.hops.is_empty() && to.options.is_empty(), "the packets of one window");
        let Approach::Elsewhere(kept) = &mut self.wires.approach else { return };
        std::mem::swap(kept, &mut to.packets);
        for packet in &mut to.packets.packets {
            if let Some(index) = packet.options() {
                to.options.push(self.options.take_ack(index));
                packet.aux = to.options.len() as u32 - 1;
            }
        }
    }

    /// Stores the options of a packet of `from` here; returns the packet.
    pub fn adopt(&mut self, mut packet: Packet, from: &Exchange) -> Packet {
        if let Some(index) = packet.options() {
            packet.aux = self.options.store_ack(from.options[index as usize]);
        }
        packet
    }

    /// Adds the losses of another part.
    pub fn adopt_losses(&mut self, from: &Exchange) {
        for &loss in &from.losses {
            self.upcoming_losses.adopt(loss);
        }
    }

    /// Moves the packets of `from` to the calendar, or to the wires of their links.
    pub fn adopt_wires(&mut self, from: &Exchange) {
        for (&packet, &hop) in from.packets.packets.iter().zip(&from.packets.hops) {
            let packet = self.adopt(packet, from);
            self.approach(hop as usize, &packet);
        }
    }

    /// Takes over these links of another part with their state and what is on their wires, what crossed its pure delays, and
    /// its rows of the table `events`.
    pub fn absorb<'a>(&mut self, other: &mut Self, links: impl Iterator<Item = &'a LinkId>) {
        for &link in links {
            std::mem::swap(&mut self.links[link], &mut other.links[link]);
            other.wires.for_each(link, |packet| *self.wires.add(link, packet.at) = *packet);
        }
        for (link, crossed) in other.crossed.enumerate() {
            self.crossed[link].add_all(*crossed);
        }
        self.events.append(&mut other.events);
    }
}

impl EventLog {
    /// Moves the rows of another log to the end of this one.
    fn append(&mut self, other: &mut Self) {
        self.rows.append(&mut other.rows);
        self.causes.append(&mut other.causes);
    }
}
