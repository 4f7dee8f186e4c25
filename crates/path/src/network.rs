//! The network of a run: forwards packets along their routes, from link to link.
//!
//! The departure from a link is computed when a packet arrives at it. Links with a queue discipline or a medium, which
//! decide later, have a server with its own events.

mod agents;
mod end;
mod impaired;
mod media;
mod sorted;

use std::collections::VecDeque;

use cwndlab_network::aqm::QueuedPacket;
use cwndlab_network::link::{Link, Outcome};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, Duration, EventSource, FlowId, IndexVec, LinkId, ServerId, Time};

use crate::agenda::Agenda;
use crate::aqm_links::{self, Server};
use crate::build_links::build_link;
use crate::event_log::EventLog;
use crate::event_sources::{EventSources, Owner};
use crate::look_ahead::LookAhead;
use crate::losses::{Losses, UpcomingLosses};
use crate::owner::PacketOwner;
use crate::packet::{Packet, DATA, ECN, MAX_CONNECTIONS};
use crate::packet_options::PacketOptions;
use crate::router_agents::RouterAgents;
use crate::routes::{Hop, HopKind, NextStep, Routes, ARRIVED};
use crate::taps::PacketTap;
use crate::ties::Ties;
use crate::timers::TIMERS;
use crate::wires::Wires;

/// Packets and bytes that crossed a pure delay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forwarded {
    packets: u64,
    bytes: u64,
}

impl Forwarded {
    #[inline]
    fn add(&mut self, size: u16) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Adds those of another count.
    pub(crate) fn add_all(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Losses and duplicates of packets whose contents the caller stores.
#[derive(Debug, Default)]
pub struct Observed {
    /// Packets dropped or lost.
    pub lost: Vec<Packet>,
    /// Packets duplicated: two copies are in transit.
    pub duplicated: Vec<Packet>,
}

/// Links, routes and the packets on them.
#[derive(Debug)]
pub struct Network {
    /// The events of timers and servers.
    pub agenda: Agenda,
    /// The current time, set by the event loop.
    pub clock: Time,
    /// End of the run. Packets that reach a link after it are not computed ahead of the clock.
    end: Time,
    /// The links.
    pub links: IndexVec<LinkId, Link>,
    pub(crate) wires: Wires,
    /// By pure delay, packets that [`Network::flush_crossed`] has not yet added to the link's totals.
    pub(crate) crossed: IndexVec<LinkId, Forwarded>,
    pub(crate) routes: Routes,
    /// Options and router headers of packets in transit.
    pub options: PacketOptions,
    /// The router agents.
    agents: RouterAgents,
    /// The table `events`, and the source of the event being handled.
    pub events: EventLog,
    /// Packets that reach their endpoint, or the last links of their routes, ahead of the clock after a server, each with the
    /// last link that it has crossed as its source.
    early: VecDeque<(EventSource, Packet)>,
    /// Packet records, if the scenario enables them.
    pub packet_tap: Option<Box<PacketTap>>,
    /// The servers.
    pub(crate) servers: IndexVec<ServerId, Server>,
    /// The server of each link; [`aqm_links::COMPUTED`] for a link without one.
    pub(crate) server_of: IndexVec<LinkId, ServerId>,
    /// The sources of events.
    pub sources: EventSources,
    /// Packets that a queue discipline has dropped and that are not yet recorded.
    dropped: Vec<QueuedPacket<Packet>>,
    /// Losses and duplicates, if the caller stores the contents of packets.
    pub observed: Option<Observed>,
    /// By connection, its flow of the plan.
    pub(crate) owners: IndexVec<ConnectionId, PacketOwner>,
    /// Losses by connection, up to the last [`Network::count_losses_until`].
    pub losses: IndexVec<ConnectionId, Losses>,
    pub(crate) upcoming_losses: UpcomingLosses,
}

/// The maximum number of simultaneous connections: one for each flow of the plan, and secondary ones.
fn max_connections(plan: &Plan) -> usize {
    let secondary = plan.flows.iter().map(|flow| flow.workload.secondary_connections() as usize);
    secondary.fold(plan.flows.len(), usize::saturating_add).min(MAX_CONNECTIONS)
}

impl Network {
    /// The network of the plan, without packets.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let links: IndexVec<LinkId, Link> =
            plan.links.enumerate().map(|(link, plan)| build_link(plan, link, seed)).collect();
        let (servers, server_of) = aqm_links::build(plan, seed);
        let connections = max_connections(plan);
        let sources = EventSources::new(links.len(), connections);
        let ties = Ties::new(sources);
        let routes = Routes::new(plan, &links, &server_of);
        Self {
            agenda: Agenda::new(links.len() + connections * TIMERS + servers.len(), ties),
            clock: Time::ZERO,
            end: Time::ZERO + plan.duration,
            wires: Wires::new(&links, &routes.without_events(), ties),
            crossed: vec![Forwarded::default(); links.len()].into(),
            routes,
            options: PacketOptions::default(),
            agents: RouterAgents::new(plan),
            events: EventLog::default(),
            early: VecDeque::new(),
            packet_tap: plan.packets.then(|| Box::new(PacketTap::new(plan))),
            servers,
            server_of,
            sources,
            dropped: Vec::new(),
            observed: None,
            owners: plan.flows.enumerate().map(|(id, flow)| PacketOwner::of(id, flow)).collect(),
            losses: vec![Losses::default(); plan.flows.len()].into(),
            upcoming_losses: UpcomingLosses::default(),
            links,
        }
    }

    /// Enables look-ahead for endpoints of flows where results do not depend on it: [`advance`](Self::advance) and
    /// [`take_early`](Self::take_early) then return packets ahead of the clock. Returns whether it is enabled for any.
    pub fn look_ahead(&mut self, plan: &Plan, flows: impl Iterator<Item = FlowId>) -> bool {
        let links = LookAhead::new(plan, &self.links, &self.server_of, &self.routes.fused);
        let ends: Vec<(FlowId, usize)> = flows
            .flat_map(|flow| [(flow, 0), (flow, 1)])
            .filter(|&(flow, direction)| {
                let flow = &plan.flows[flow];
                if direction == 0 {
                    links.allows(&flow.forward, &flow.reverse)
                } else {
                    links.allows(&flow.reverse, &flow.forward)
                }
            })
            .collect();
        for &(flow, direction) in &ends {
            self.routes.look_ahead(flow.into(), direction);
        }
        !ends.is_empty()
    }

    /// The flow of the plan to which a connection belongs.
    #[must_use]
    pub fn owner(&self, connection: ConnectionId) -> FlowId {
        self.owners[connection].flow
    }

    /// Adds a row to the table `events`, caused by the event being handled.
    pub fn log(&mut self, row: EventRow) {
        let rank = self.wires.rank(Time::from_nanos(row.time_ns), self.events.source);
        self.events.push(row, rank);
    }

    /// Adds a secondary connection of the flow `owner`. If `reversed`, its data uses the route of `owner`'s ACKs.
    pub fn add_connection(&mut self, owner: FlowId, reversed: bool) -> ConnectionId {
        self.routes.add_connection(owner, reversed);
        if let Some(tap) = &mut self.packet_tap {
            tap.add_connection(owner, reversed);
        }
        self.losses.push(Losses::default());
        self.owners.push(self.owners[owner.into()])
    }

    /// Time of the next arrival; `Time::MAX` if there is none.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self) -> Time {
        self.wires.next_time()
    }

    /// Time of the next event, an arrival or the top of the agenda. Arrivals precede simultaneous events.
    #[must_use]
    pub fn next_event(&self) -> Time {
        self.next_arrival().min(self.agenda.next_time())
    }

    /// Processes the next event, an arrival or an event of a server at `now`; returns the packet that reached its
    /// endpoint, if any.
    pub fn process_next_event(&mut self, now: Time) -> Option<Packet> {
        self.clock = now;
        if self.next_arrival() <= self.agenda.next_time() {
            let mut packet = Packet::default();
            self.take_arrival(&mut packet);
            let arrived = Self::has_arrived(&packet) || self.advance(now, &mut packet);
            return arrived.then_some(packet);
        }
        let Owner::Server(server) = self.sources.owner(self.agenda.source()) else {
            unreachable!("timers are on the agenda of the simulator only")
        };
        self.serve(now, server);
        self.take_early()
    }

    /// Removes the next packet from its wire, and sets its link as the source of the event.
    #[allow(clippy::inline_always)] // part of the engine's loop
    #[inline(always)]
    pub fn take_arrival(&mut self, packet: &mut Packet) {
        self.events.source = self.wires.take(packet).into();
    }

    /// Whether the packet is at its endpoint.
    #[inline]
    #[must_use]
    pub fn has_arrived(packet: &Packet) -> bool {
        packet.hop == ARRIVED
    }

    /// Sends a packet of an endpoint over the first link of its route, and over the following links that need no event.
    #[allow(clippy::inline_always)] // as a call it would store the packet and load it again
    #[inline(always)]
    pub fn forward(&mut self, now: Time, packet: Packet) {
        let index = self.routes.index(&packet);
        let &Hop { delay, link, next_position, next, kind, .. } = self.routes.hop(index);
        // Usually an access link or a pure delay, at whose end the packet reaches a shared queue.
        let at = match kind {
            HopKind::Line if next == NextStep::Event => self.links[link].pass_line(now, u32::from(packet.size)),
            HopKind::Delay if next == NextStep::Event => {
                self.crossed[link].add(packet.size);
                Time::from_nanos(now.as_nanos() + delay.as_nanos())
            }
            _ => return self.forward_over(now, index, packet),
        };
        *self.wires.add(link, at) = Packet { at, hop: next_position, ..packet };
    }

    /// Sends a packet of an endpoint over any route, from the hop `index` on.
    #[inline(never)]
    fn forward_over(&mut self, now: Time, index: usize, mut packet: Packet) {
        let early = self.cross_links::<true>(now, index, &mut packet);
        debug_assert!(!early, "a packet reaches the other endpoint by an event");
    }

    /// Sends a packet that arrives at a link at `now` over that link, and over the following links that need no event.
    /// Returns whether it reaches its endpoint, or the last links of its route, ahead of the clock, at `packet.at`.
    #[allow(clippy::inline_always)] // the body of the engine's loop
    #[inline(always)]
    pub fn advance(&mut self, now: Time, packet: &mut Packet) -> bool {
        let index = self.routes.index(packet);
        self.cross_links::<false>(now, index, packet)
    }

    /// Sends a packet over the link of the hop `index`, and over the following links that need no event. Returns
    /// whether it reaches its endpoint, or the last links of its route, ahead of the clock. `LEAVES`: the packet comes from an
    /// endpoint, and these links may end at the calendar.
    ///
    /// The packet is read and written field by field. Reading the whole packet after a store to one of its fields would
    /// stall the processor until that store completes.
    #[allow(clippy::inline_always)] // the body of the engine's loop
    #[inline(always)]
    fn cross_links<const LEAVES: bool>(&mut self, mut now: Time, mut index: usize, packet: &mut Packet) -> bool {
        loop {
            let hop = *self.routes.hop(index);
            let Hop { delay, link, position, next_position, next, kind } = hop;
            let at = match kind {
                HopKind::Line => self.links[link].pass_line(now, u32::from(packet.size)),
                HopKind::Queue => {
                    let Some((at, mark)) = self.links[link].pass_limited(now, u32::from(packet.size)) else {
                        packet.hop = position;
                        self.count_loss(now, *packet, Outcome::Dropped);
                        return false;
                    };
                    if mark && packet.is_ecn_capable() {
                        packet.flags |= ECN;
                        self.links[link].count_marked();
                    }
                    at
                }
                HopKind::Delay => {
                    self.crossed[link].add(packet.size);
                    Time::from_nanos(now.as_nanos() + delay.as_nanos())
                }
                HopKind::Server => {
                    packet.hop = position;
                    self.enqueue(now, link, *packet);
                    return false;
                }
                HopKind::VaryingDelay | HopKind::Varying | HopKind::Full => {
                    packet.hop = position;
                    let Some(at) = self.cross_impaired(now, index, packet) else { return false };
                    at
                }
            };
            if at <= self.end {
                if next == NextStep::Link {
                    now = at;
                    index += 1;
                    continue;
                }
                if next == NextStep::Endpoint {
                    self.events.source = link.into();
                    (packet.at, packet.hop) = (at, next_position);
                    return true;
                }
            }
            self.end_hop::<LEAVES>(index, hop, at, packet);
            return false;
        }
    }

    /// Adds a packet that has crossed the hop `index` to its wire, or to the calendar.
    #[allow(clippy::inline_always)] // part of the body of the engine's loop
    #[inline(always)]
    fn end_hop<const LEAVES: bool>(&mut self, index: usize, hop: Hop, at: Time, packet: &Packet) {
        let Hop { link, next_position, next, .. } = hop;
        let Packet { timestamp, seq, tag, aux, size, flags, .. } = *packet;
        if LEAVES && next == NextStep::Calendar {
            self.approach(index + 1, &Packet { at, hop: next_position, ..*packet });
            return;
        }
        *self.wires.add(link, at) = Packet { at, timestamp, seq, tag, aux, size, hop: next_position, flags };
    }

    /// Forwards a packet after a link with a server; `packet.at` is its arrival at the end of the link.
    #[inline]
    fn forward_from(&mut self, hop: Hop, mut packet: Packet) {
        packet.hop = hop.next_position;
        match hop.next {
            NextStep::Link if packet.at <= self.end => {
                if self.advance(packet.at, &mut packet) {
                    self.early.push_back((self.events.source, packet));
                }
            }
            NextStep::Endpoint if packet.at <= self.end => self.early.push_back((hop.link.into(), packet)),
            _ => *self.wires.add(hop.link, packet.at) = packet,
        }
    }

    /// Removes and returns the next packet that reaches its endpoint, or the last links of its route, ahead of the clock
    /// after a server.
    pub fn take_early(&mut self) -> Option<Packet> {
        let (source, packet) = self.early.pop_front()?;
        self.events.source = source;
        Some(packet)
    }

    /// Applies the outcome of a link to a packet that arrived at the link at `since`.
    #[cold]
    fn cross_wire(
        &mut self,
        since: Time,
        link: LinkId,
        last: bool,
        mut packet: Packet,
        outcome: Outcome,
    ) -> Option<Packet> {
        self.record(since, link, packet, outcome);
        let Outcome::Arrives { at, again, marked, .. } = outcome else {
            self.count_loss(since, packet, outcome);
            return None;
        };
        packet.at = at;
        if marked {
            packet.flags |= ECN;
        }
        if let Some(change) = self.links[link].ecn_change() {
            packet.change_ecn(change, self.owners[packet.connection()].is_scalable);
        }
        if let Some(again) = again {
            self.duplicate(link, last, packet, again);
        }
        if last {
            packet.aux = self.release_entry(packet).aux;
        }
        Some(packet)
    }

    /// Adds a copy of the packet to the wire, with the arrival time `at`.
    fn duplicate(&mut self, link: LinkId, last: bool, packet: Packet, at: Time) {
        let mut copy = packet;
        copy.at = at;
        copy.hop = if last { ARRIVED } else { copy.hop + 1 };
        let mut aux = self.original(copy).aux;
        if let Some(observed) = &mut self.observed {
            observed.duplicated.push(copy);
        } else if copy.options().is_some() {
            aux = self.options.copy(Packet { aux, ..copy });
        }
        copy.aux = match &mut self.packet_tap {
            Some(tap) if !last => tap.register_copy(packet.aux, aux),
            _ => aux,
        };
        *self.wires.add(link, at) = copy;
    }

    /// Adds a packet to the queue of a link with a server.
    fn enqueue(&mut self, now: Time, link: LinkId, packet: Packet) {
        let server = self.server_of[link];
        let owner = self.owners[packet.connection()];
        let one = owner.queued(now, packet);
        let next = match &mut self.servers[server] {
            Server::Line(aqm_link) => aqm_link.offer(now, one, &mut self.dropped),
            Server::Wifi(wifi) => {
                wifi.offer(now, link, owner.flow, one, &mut self.dropped);
                wifi.arm()
            }
            Server::Cell(cell) => {
                cell.offer(now, link, one, &mut self.dropped);
                cell.arm()
            }
        };
        if let Some(at) = next {
            self.agenda.push(at, self.sources.server(server));
        }
        self.record_drops();
    }

    /// Runs a server, whose event is the top of the agenda.
    pub fn serve(&mut self, now: Time, server: ServerId) {
        let Server::Line(aqm_link) = &mut self.servers[server] else {
            self.serve_medium(now, server);
            return;
        };
        let woken = aqm_link.wake(now, &mut self.dropped);
        match woken.next {
            Some(at) => self.agenda.replace_top(at, self.sources.server(server)),
            None => self.agenda.pop(),
        }
        self.record_drops();
        if let Some(one) = woken.sent {
            self.on_departure(now, self.routes.current(&one.packet), &one);
        }
    }

    /// Handles the departure of a packet's last bit from the line of a link with a server.
    fn on_departure(&mut self, now: Time, hop: Hop, one: &QueuedPacket<Packet>) {
        let mut packet = one.packet;
        let link = &mut self.links[hop.link];
        // Nothing can happen to it on a plain wire.
        if let Some(delay) = link.plain_delay().filter(|_| self.packet_tap.is_none()) {
            packet.at = now + delay;
            if one.marked {
                packet.flags |= ECN;
            }
        } else {
            let outcome = link.cross(now, now, packet.kind() == DATA, one.marked);
            let crossed = self.cross_wire(one.since, hop.link, hop.is_last(), packet, outcome);
            let Some(crossed) = crossed else { return };
            packet = crossed;
        }
        self.forward_from(hop, packet);
    }

    /// Records the packets that a queue discipline dropped.
    #[inline]
    fn record_drops(&mut self) {
        if !self.dropped.is_empty() {
            self.record_each_drop();
        }
    }

    #[cold]
    fn record_each_drop(&mut self) {
        while let Some(one) = self.dropped.pop() {
            let link = self.routes.current(&one.packet).link;
            self.record(one.since, link, one.packet, Outcome::Dropped);
            self.count_loss(self.clock, one.packet, Outcome::Dropped);
        }
    }

    /// Time that the link needs to transmit its backlog.
    fn backlog_time(&self, now: Time, link: LinkId) -> Duration {
        match self.servers.get(self.server_of[link].index()) {
            Some(Server::Line(aqm_link)) => aqm_link.backlog_time(now),
            // Only router agents use this time, and media and cells have none.
            Some(Server::Wifi(_) | Server::Cell(_)) => Duration::ZERO,
            None => self.links[link].backlog_time(now),
        }
    }

    /// Adds the packets that crossed a pure delay to the link's totals.
    pub(crate) fn flush_crossed(&mut self, link: LinkId) {
        let Forwarded { packets, bytes } = std::mem::take(&mut self.crossed[link]);
        self.links[link].count_forwarded(packets, bytes);
    }

    /// Counts a packet that arrived at a link at `since` as dropped by its queue or lost on its wire.
    #[cold]
    fn count_loss(&mut self, since: Time, packet: Packet, outcome: Outcome) {
        let packet = self.release_entry(packet);
        if let Some(observed) = &mut self.observed {
            observed.lost.push(packet);
        } else if packet.options().is_some() {
            self.options.free(packet);
        }
        if packet.is_forward() {
            let (at, by_wire) = match outcome {
                Outcome::Lost { departure } => (departure, true),
                _ => (since, false),
            };
            self.upcoming_losses.push(at, packet.connection(), by_wire);
            self.count_losses_until(self.clock);
        }
    }

    /// Counts the losses up to `now`; returns whether there were any. Links compute losses ahead of the clock, which
    /// count from the time at which they happen.
    pub fn count_losses_until(&mut self, now: Time) -> bool {
        self.upcoming_losses.count_until(now, &mut self.losses)
    }

    /// Records a packet that arrived at `link` at `since`, with its outcome, if packets are recorded.
    #[inline]
    fn record(&mut self, since: Time, link: LinkId, packet: Packet, outcome: Outcome) {
        if self.packet_tap.is_some() {
            self.record_packet(since, link, packet, outcome);
        }
    }

    /// As [`record`](Self::record), while packets are recorded.
    #[cold]
    fn record_packet(&mut self, since: Time, link: LinkId, packet: Packet, outcome: Outcome) {
        if let Some(tap) = &mut self.packet_tap {
            let owner = self.owners[packet.connection()];
            tap.record(since, link, packet, outcome, owner, &self.options);
        }
    }

    /// The packet with its original `aux`.
    fn original(&self, packet: Packet) -> Packet {
        match &self.packet_tap {
            Some(tap) => Packet { aux: tap.aux(packet.aux), ..packet },
            None => packet,
        }
    }

    /// The packet with its original `aux`. Frees its entry in the packet tap.
    fn release_entry(&mut self, packet: Packet) -> Packet {
        let original = self.original(packet);
        if let Some(tap) = &mut self.packet_tap {
            tap.release(packet.aux);
        }
        original
    }

    /// Memory in use by packets, queues and options, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.wires.memory()
            + self.links.iter().map(Link::memory).sum::<usize>()
            + self.servers.iter().map(Server::memory).sum::<usize>()
            + self.options.memory()
    }
}
