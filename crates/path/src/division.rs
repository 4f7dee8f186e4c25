//! Division of a network among threads: the shared links in one part, the endpoints with the links on which they send in
//! others.
//!
//! Where every endpoint may run ahead of the clock (`look_ahead.rs`), the parts affect each other only after a delay:
//! what a shared link forwards reaches an endpoint after the delay `arriving` or later, and what an endpoint sends reaches
//! a shared link after the delay `leaving` or later. Parts may therefore differ in time by the sum of both (the look-ahead
//! of conservative parallel simulation: R. Fujimoto, "Parallel discrete event simulation", 1990, section 2).

use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, Duration, EventSource, FlowId, IndexVec, LinkId, Time};

use crate::event_log::EventLog;
use crate::look_ahead::LookAhead;
use crate::network::Network;
use crate::packet::{Packet, ACK};
use crate::packet_options::AckOptions;

/// How a network is divided.
#[derive(Clone, Debug)]
pub struct Division {
    /// The minimum delay from an event at a shared link to an endpoint.
    pub arriving: Duration,
    /// The minimum delay from an endpoint to a shared link.
    pub leaving: Duration,
    /// By flow, the links on which its two endpoints send, up to the first shared one.
    pub own_links: IndexVec<FlowId, [Vec<LinkId>; 2]>,
}

/// What one part of a network tells another: packets, each with its link, and losses.
#[derive(Debug, Default)]
pub struct Exchange {
    packets: Vec<(EventSource, Packet)>,
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

    /// Sorts the packets by connection.
    pub fn sort(&mut self, order: &mut ByConnection) {
        order.sort(&mut self.packets);
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
    sorted: Vec<(EventSource, Packet)>,
}

impl ByConnection {
    /// For `count` of the connections of this plan, which has one for each flow.
    #[must_use]
    pub fn new(plan: &Plan, count: usize) -> Self {
        Self { places: vec![0; plan.flows.len()], least: count, sorted: Vec::new() }
    }

    /// Sorts the packets by connection, by counting; those of a connection keep their order. With fewer packets than
    /// connections hardly any connection has two, and they stay as they are.
    pub fn sort(&mut self, packets: &mut Vec<(EventSource, Packet)>) {
        if packets.len() < self.least {
            return;
        }
        self.places.fill(0);
        for (_, packet) in packets.iter() {
            self.places[packet.connection().index()] += 1;
        }
        let mut place = 0;
        for count in &mut self.places {
            place += std::mem::replace(count, place);
        }
        self.sorted.resize(packets.len(), (EventSource::from(0), Packet::default()));
        for one in packets.iter() {
            let place = &mut self.places[one.1.connection().index()];
            self.sorted[*place as usize] = *one;
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
        let mut division = Division { arriving: Duration::MAX, leaving: Duration::MAX, own_links: IndexVec::default() };
        for flow in &plan.flows {
            for (arriving, leaving) in [(&flow.forward, &flow.reverse), (&flow.reverse, &flow.forward)] {
                // Packets that a link delivers at once have one cause, and reach endpoints in different parts.
                let apart = |&link: &LinkId| links.is_exclusive(link) || plan.links[link].rate.is_some();
                if !links.allows(arriving, leaving) || !arriving.last().is_some_and(apart) {
                    return None;
                }
                division.arriving = division.arriving.min(links.delay_of_arrival(arriving));
                division.leaving = division.leaving.min(links.delay_of_departure(leaving));
            }
            let own = |route| links.departure(route).to_vec();
            division.own_links.push([own(&flow.forward), own(&flow.reverse)]);
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

    /// Adds a packet with the link that it has crossed to `to`, and its options with it.
    pub fn give(&mut self, source: EventSource, mut packet: Packet, to: &mut Exchange) {
        if let Some(index) = packet.options() {
            debug_assert_eq!(packet.kind(), ACK, "routers have no agents");
            to.options.push(self.options.take_ack(index));
            packet.aux = to.options.len() as u32 - 1;
        }
        to.packets.push((source, packet));
    }

    /// Makes the network a part that has only endpoints and the links on which they send: packets that cross the last of
    /// these wait for [`give_sent`](Self::give_sent).
    pub fn become_part(&mut self) {
        self.report_losses();
        self.wires.keep_sent();
    }

    /// Moves what the endpoints have sent to `to`, which has no packets.
    pub fn give_sent(&mut self, to: &mut Exchange) {
        debug_assert!(to.packets.is_empty() && to.options.is_empty(), "the packets of one window");
        self.wires.swap_sent(&mut to.packets);
        for (_, packet) in &mut to.packets {
            if let Some(index) = packet.options() {
                to.options.push(self.options.take_ack(index));
                packet.aux = to.options.len() as u32 - 1;
            }
        }
    }

    /// Stores the options of a packet of `from` here; returns the packet.
    fn adopt(&mut self, mut packet: Packet, from: &Exchange) -> Packet {
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

    /// The packet of `from` with this index, at the end of its last link, which becomes the source of the event.
    pub fn adopt_arrival(&mut self, from: &Exchange, index: usize) -> Option<Packet> {
        let &(source, packet) = from.packets.get(index)?;
        self.events.source = source;
        Some(self.adopt(packet, from))
    }

    /// Moves the packets of `from` to the wires of their links.
    pub fn adopt_wires(&mut self, from: &Exchange) {
        for &(source, packet) in &from.packets {
            let link = self.sources.link(source).unwrap_or_else(|| unreachable!("packets come from links"));
            let packet = self.adopt(packet, from);
            *self.wires.add(link, packet.at) = packet;
        }
    }

    /// Takes over these links of another part with their state, what crossed its pure delays, and its rows of the table
    /// `events`.
    pub fn absorb<'a>(&mut self, other: &mut Self, links: impl Iterator<Item = &'a LinkId>) {
        for &link in links {
            std::mem::swap(&mut self.links[link], &mut other.links[link]);
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
