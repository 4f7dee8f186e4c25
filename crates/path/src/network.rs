//! The network of a run: carries packets along their routes, from link to link.
//!
//! A link's departures are computed when a packet arrives at it. Links whose queue discipline or medium decides later have
//! a server, with events of its own.

use std::collections::VecDeque;

use cwndlab_network::aqm::{Codepoint, Waiting};
use cwndlab_network::link::{Link, Offer, Outcome};
use cwndlab_network::router_assist::{Agent, Arrival};
use cwndlab_network::wifi::FrameOutcome;
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::{Ecn, Plan};
use cwndlab_units::{Duration, Time};

use crate::agenda::Agenda;
use crate::aqm_links::{self, Server, COMPUTED};
use crate::build_links::{build_agents, build_link};
use crate::event_log::EventLog;
use crate::look_ahead::LookAhead;
use crate::losses::{Losses, UpcomingLosses};
use crate::packet::{Packet, CE, DATA, ECT, EXTRA, KIND, MAX_FLOWS, SYN};
use crate::packet_options::PacketOptions;
use crate::routes::{Hop, Next, Routes, Work, ARRIVED};
use crate::taps::PacketTap;
use crate::ties::Ties;
use crate::timers::TIMERS;
use crate::wires::Wires;

/// Packets and bytes that crossed a link that only delays.
#[derive(Clone, Copy, Debug, Default)]
struct Crossed {
    packets: u64,
    bytes: u64,
}

/// What became of packets whose contents the caller keeps.
#[derive(Debug, Default)]
pub struct Observed {
    /// Dropped or lost.
    pub lost: Vec<Packet>,
    /// Duplicated: two copies are under way.
    pub doubled: Vec<Packet>,
}

/// Links, routes and the packets on them; shared by all flows.
#[derive(Debug)]
pub struct Network {
    /// The events of timers and servers.
    pub agenda: Agenda,
    /// Now; set by the loop that runs the network.
    pub clock: Time,
    /// End of the run. A packet that reaches a link later is not computed ahead of the clock.
    end: Time,
    /// The links.
    pub links: Vec<Link>,
    wires: Wires,
    /// By link that only delays: packets that [`Network::settle`] has not yet added to its totals.
    crossed: Vec<Crossed>,
    routes: Routes,
    /// What packets under way carry beyond their 32 bytes.
    pub options: PacketOptions,
    /// The routers' agents of each link.
    agents: Vec<Vec<Agent>>,
    /// Rows of the table `events`, and the source of the event that is handled.
    pub events: EventLog,
    /// Packets behind a server that reach their endpoint ahead of the clock, and the last link of each.
    early: VecDeque<(u32, Packet)>,
    /// Records every packet, if the scenario asks for it.
    pub packet_tap: Option<Box<PacketTap>>,
    /// Lines and media with events of their own, in the order of their sources on the agenda.
    pub(crate) servers: Vec<Server>,
    /// The server of each link; [`COMPUTED`] if departures are computed on arrival.
    pub(crate) server_of: Vec<u32>,
    /// The first server's source on the agenda.
    pub first_server: u32,
    /// Packets that a queue discipline has just dropped.
    dropped: Vec<Waiting<Packet>>,
    /// Losses and duplicates, if the caller keeps the contents of packets.
    pub observed: Option<Observed>,
    /// By connection: the flow of the plan that it belongs to, and whether its packets bear ECT(1).
    owners: Vec<(u32, bool)>,
    /// Losses by flow, up to the last [`Network::settle_losses`].
    pub losses: Vec<Losses>,
    upcoming_losses: UpcomingLosses,
}

/// The most connections that may exist at once: one for each flow of the plan, and secondary ones.
fn max_connections(plan: &Plan) -> usize {
    let secondary = plan.flows.iter().map(|flow| flow.workload.secondary_connections() as usize);
    secondary.fold(plan.flows.len(), usize::saturating_add).min(MAX_FLOWS)
}

impl Network {
    /// The plan's network, empty.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let links: Vec<Link> =
            plan.links.iter().enumerate().map(|(n, one)| build_link(one, n, seed, plan.duration)).collect();
        let (servers, server_of) = aqm_links::build(plan, seed);
        let connections = max_connections(plan);
        let first_server = links.len() + connections * TIMERS;
        let ties = Ties::new(links.len(), connections);
        let routes = Routes::new(plan, &links, &server_of);
        Self {
            agenda: Agenda::new(links.len() + connections * TIMERS + servers.len(), ties),
            clock: Time::ZERO,
            end: Time::ZERO + plan.duration,
            wires: Wires::new(&links, &routes.without_events(), ties),
            crossed: vec![Crossed::default(); links.len()],
            routes,
            options: PacketOptions::default(),
            agents: plan.links.iter().map(build_agents).collect(),
            events: EventLog::default(),
            early: VecDeque::new(),
            packet_tap: plan.packets.then(|| Box::new(PacketTap::new(plan))),
            servers,
            server_of,
            first_server: first_server as u32,
            dropped: Vec::new(),
            observed: None,
            owners: (0..).zip(&plan.flows).map(|(index, flow)| (index, flow.stack.ecn == Ecn::Accurate)).collect(),
            losses: vec![Losses::default(); plan.flows.len()],
            upcoming_losses: UpcomingLosses::default(),
            links,
        }
    }

    /// Lets the endpoints of these flows take packets ahead of the clock, where nobody can tell the difference: from now on
    /// [`advance`](Self::advance) and [`serve`](Self::serve) return such packets. Returns whether there are any.
    pub fn look_ahead(&mut self, plan: &Plan, flows: impl Iterator<Item = usize>) -> bool {
        let links = LookAhead::new(plan, &self.links, &self.server_of, &self.routes.fused);
        let ends: Vec<(usize, usize)> = flows
            .flat_map(|flow| [(flow, 0), (flow, 1)])
            .filter(|&(flow, way)| {
                let (forward, reverse) = (&plan.flows[flow].forward, &plan.flows[flow].reverse);
                if way == 0 {
                    links.admits(forward, reverse)
                } else {
                    links.admits(reverse, forward)
                }
            })
            .collect();
        for &(flow, way) in &ends {
            self.routes.look_ahead(flow, way);
        }
        !ends.is_empty()
    }

    /// The flow of the plan that a connection belongs to.
    #[must_use]
    pub fn owner(&self, connection: usize) -> u32 {
        self.owners[connection].0
    }

    /// Adds a row to the table `events`, caused by the event that is handled.
    pub fn log(&mut self, row: EventRow) {
        let rank = self.wires.rank(Time(row.time_ns), self.events.source);
        self.events.push(row, rank);
    }

    /// Adds a secondary connection of the flow `owner`; if `reversed`, its data takes the route of `owner`'s ACKs.
    pub fn add_connection(&mut self, owner: u32, reversed: bool) {
        self.routes.add_flow(owner, reversed);
        self.owners.push((owner, self.owners[owner as usize].1));
        self.losses.push(Losses::default());
    }

    /// When the next packet leaves a wire; `Time::MAX` if none is on one.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self) -> Time {
        self.wires.next_time()
    }

    /// When the next event is due: an arrival, or the agenda's top. At the same time arrivals come first.
    #[must_use]
    pub fn next_event(&self) -> Time {
        self.next_arrival().min(self.agenda.next_time())
    }

    /// Handles the next event, which is an arrival or of a server and due at `now`; returns the packet if one reached its
    /// endpoint.
    pub fn turn(&mut self, now: Time) -> Option<Packet> {
        self.clock = now;
        if self.next_arrival() <= self.agenda.next_time() {
            let mut packet = Packet::default();
            self.take_arrival(&mut packet);
            let arrived = Self::has_arrived(&packet) || self.advance(now, &mut packet);
            return arrived.then_some(packet);
        }
        let server = self.agenda.source() - self.first_server;
        self.serve(now, server);
        self.take_early()
    }

    /// Takes the packet that leaves its wire next, and notes its link as the source of the event.
    #[allow(clippy::inline_always)] // part of the engine's loop
    #[inline(always)]
    pub fn take_arrival(&mut self, packet: &mut Packet) {
        self.events.source = self.wires.take(packet);
    }

    /// Whether the packet is at its endpoint.
    #[inline]
    #[must_use]
    pub fn has_arrived(packet: &Packet) -> bool {
        packet.hop == ARRIVED
    }

    /// Puts a packet that an endpoint sends on the first link of its route, and on those after it that need no event.
    #[allow(clippy::inline_always)] // as a call it would store the packet and load it again
    #[inline(always)]
    pub fn forward(&mut self, now: Time, packet: Packet) {
        let index = self.routes.index(&packet);
        let &Hop { link, after, next, work, .. } = self.routes.hop(index);
        // Mostly a line of its own, at whose end it meets the packets of others.
        if work == Work::Line && next == Next::Event {
            let at = self.links[link as usize].pass_line(now, u32::from(packet.size));
            *self.wires.add(link, at) = Packet { at, hop: after, ..packet };
        } else {
            self.forward_over(now, index, packet);
        }
    }

    /// The same on any route, whose hop of this index is the first.
    #[inline(never)]
    fn forward_over(&mut self, now: Time, index: usize, mut packet: Packet) {
        let early = self.cross_links(now, index, &mut packet);
        debug_assert!(!early, "what an endpoint sends reaches the other one by an event");
    }

    /// Puts a packet whose arrival at a link is the event of now on that link, and on those after it that need no event.
    /// Returns whether it reaches its endpoint ahead of the clock, at `packet.at`.
    #[allow(clippy::inline_always)] // the body of the engine's loop
    #[inline(always)]
    pub fn advance(&mut self, now: Time, packet: &mut Packet) -> bool {
        let index = self.routes.index(packet);
        self.cross_links(now, index, packet)
    }

    /// A packet crosses the link of the hop `index`, and those after it that need no event.
    ///
    /// It is read and written field by field. Read as a whole after a field was written, it would keep the processor waiting
    /// until all stores before are done.
    #[allow(clippy::inline_always)] // the body of the engine's loop
    #[inline(always)]
    fn cross_links(&mut self, mut now: Time, mut index: usize, packet: &mut Packet) -> bool {
        loop {
            let &Hop { delay, link, step, after, next, work } = self.routes.hop(index);
            let at = match work {
                Work::Line => self.links[link as usize].pass_line(now, u32::from(packet.size)),
                Work::Queue => {
                    let Some((at, mark)) = self.links[link as usize].pass_queue(now, u32::from(packet.size)) else {
                        packet.hop = step;
                        self.lose(now, *packet, Outcome::Dropped);
                        return false;
                    };
                    if mark && packet.flags & (ECT | KIND) == ECT | DATA {
                        packet.flags |= CE;
                        self.links[link as usize].count_marked();
                    }
                    at
                }
                Work::Delay => {
                    let crossed = &mut self.crossed[link as usize];
                    crossed.packets += 1;
                    crossed.bytes += u64::from(packet.size);
                    Time(now.0 + delay.0)
                }
                Work::Full => {
                    packet.hop = step;
                    let Some(crossed) = self.offer(now, link, after == ARRIVED, *packet) else { return false };
                    *packet = crossed;
                    crossed.at
                }
            };
            if at <= self.end {
                if next == Next::Link {
                    now = at;
                    index += 1;
                    continue;
                }
                if next == Next::Endpoint {
                    self.events.source = link;
                    (packet.at, packet.hop) = (at, after);
                    return true;
                }
            }
            let Packet { timestamp, seq, flow, aux, size, flags, .. } = *packet;
            *self.wires.add(link, at) = Packet { at, timestamp, seq, flow, aux, size, hop: after, flags };
            return false;
        }
    }

    /// Forwards a packet behind a link with a server; `packet.at` is when it reaches the link's end.
    fn forward_from(&mut self, hop: Hop, mut packet: Packet) {
        packet.hop = hop.after;
        match hop.next {
            Next::Link if packet.at <= self.end => {
                if self.advance(packet.at, &mut packet) {
                    self.early.push_back((self.events.source, packet));
                }
            }
            Next::Endpoint if packet.at <= self.end => self.early.push_back((hop.link, packet)),
            _ => *self.wires.add(hop.link, packet.at) = packet,
        }
    }

    /// The next packet that reaches its endpoint ahead of the clock, by the servers that ran since there was none.
    pub fn take_early(&mut self) -> Option<Packet> {
        let (link, packet) = self.early.pop_front()?;
        self.events.source = link;
        Some(packet)
    }

    /// Offers a packet to a link that is not plain: its wire loses, jitters or duplicates, it has a router's agent or a
    /// server, or packets are recorded. Returns the packet with its arrival time, if that is known and it arrives.
    #[cold]
    fn offer(&mut self, now: Time, index: u32, last: bool, mut packet: Packet) -> Option<Packet> {
        if packet.hop == 0 {
            if let Some(tap) = &mut self.packet_tap {
                packet.aux = tap.register(now, packet.aux);
            }
        }
        if !self.agents[index as usize].is_empty() {
            self.consult_agents(now, index, last, packet);
        }
        if self.server_of[index as usize] != COMPUTED {
            self.enqueue(now, index, packet);
            return None;
        }
        let payload = packet.kind() == DATA;
        let ect = payload && packet.flags & ECT != 0;
        let passage = self.links[index as usize].offer(now, Offer { size: u32::from(packet.size), ect, payload });
        self.cross_wire(now, index, last, packet, passage)
    }

    /// Shows a packet to the routers' agents of a link.
    fn consult_agents(&mut self, now: Time, link: u32, last: bool, packet: Packet) {
        let arrival = Arrival {
            now,
            size: u32::from(packet.size),
            flow: packet.flow() as u32,
            hop: packet.hop,
            backlog: self.backlog_time(now, link),
            syn: packet.kind() == SYN,
            router: packet.hop > 0 || last,
        };
        let has_header = packet.is_forward() && packet.flags & EXTRA != 0;
        let aux = self.original(packet).aux;
        for agent in &mut self.agents[link as usize] {
            let header = has_header.then(|| self.options.header_mut(aux));
            agent.on_packet(arrival, header);
        }
    }

    /// Applies the outcome of a link to a packet that arrived at its entrance at `since`.
    fn cross_wire(
        &mut self,
        since: Time,
        index: u32,
        last: bool,
        mut packet: Packet,
        passage: Outcome,
    ) -> Option<Packet> {
        self.record(since, index, packet, passage);
        let Outcome::Arrives { at, again, marked, .. } = passage else {
            self.lose(since, packet, passage);
            return None;
        };
        packet.at = at;
        if marked {
            packet.flags |= CE;
        }
        if let Some(again) = again {
            self.duplicate(index, last, packet, again);
        }
        if last {
            packet.aux = self.release_entry(packet).aux;
        }
        Some(packet)
    }

    /// Puts a second copy of the packet on the wire; it arrives at `at`.
    fn duplicate(&mut self, link: u32, last: bool, packet: Packet, at: Time) {
        let mut copy = packet;
        copy.at = at;
        copy.hop = if last { ARRIVED } else { copy.hop + 1 };
        let mut aux = self.original(copy).aux;
        if let Some(observed) = &mut self.observed {
            observed.doubled.push(copy);
        } else if copy.flags & EXTRA != 0 {
            aux = self.options.copy(Packet { aux, ..copy });
        }
        copy.aux = match &mut self.packet_tap {
            Some(tap) if !last => tap.register_copy(packet.aux, aux),
            _ => aux,
        };
        *self.wires.add(link, at) = copy;
    }

    /// Adds a packet to the queue of a link with a server.
    fn enqueue(&mut self, now: Time, link: u32, packet: Packet) {
        let server = self.server_of[link as usize];
        let ecn = match packet.flags & ECT != 0 && packet.kind() == DATA {
            true if self.owners[packet.flow()].1 => Codepoint::Scalable,
            true => Codepoint::Classic,
            false => Codepoint::NotCapable,
        };
        let one = Waiting {
            since: now,
            size: u32::from(packet.size),
            flow: u64::from(packet.flow) << 1 | u64::from(packet.is_forward()),
            ecn,
            marked: false,
            packet,
        };
        let next = match &mut self.servers[server as usize] {
            Server::Line { aqm_link, .. } => aqm_link.offer(now, one, &mut self.dropped),
            Server::Wifi(wifi) => {
                wifi.offer(now, link, one, &mut self.dropped);
                self.record_drops();
                self.arm_medium(server);
                return;
            }
        };
        if let Some(at) = next {
            self.agenda.push(at, self.first_server + server);
        }
        self.record_drops();
    }

    /// Runs a server, which is the agenda's top.
    pub fn serve(&mut self, now: Time, server: u32) {
        let Server::Line { link, aqm_link } = &mut self.servers[server as usize] else {
            self.serve_medium(now, server);
            return;
        };
        let link = *link;
        let woken = aqm_link.wake(now, &mut self.dropped);
        match woken.next {
            Some(at) => self.agenda.replace_top(at, self.first_server + server),
            None => self.agenda.pop(),
        }
        self.record_drops();
        if let Some(one) = woken.sent {
            self.on_departure(now, link, one);
        }
    }

    /// Runs a medium, which is the agenda's top.
    fn serve_medium(&mut self, now: Time, server: u32) {
        let Server::Wifi(wifi) = &mut self.servers[server as usize] else { return };
        let mut taken = std::mem::take(&mut wifi.taken);
        let next = wifi.serve(now, &mut taken, &mut self.dropped);
        match next {
            Some(at) => self.agenda.replace_top(at, self.first_server + server),
            None => self.agenda.pop(),
        }
        // What its queues dropped for their next frames comes before the last of those that left.
        let last = taken.pop();
        for outcome in taken.drain(..) {
            self.leave_medium(now, server, outcome);
        }
        self.record_drops();
        if let Some(outcome) = last {
            self.leave_medium(now, server, outcome);
        }
        if let Server::Wifi(wifi) = &mut self.servers[server as usize] {
            wifi.taken = taken;
        }
    }

    /// A packet has left a medium.
    fn leave_medium(&mut self, now: Time, server: u32, outcome: FrameOutcome<Packet>) {
        let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
        let link = self.routes.current(&one.packet).link;
        if matches!(outcome, FrameOutcome::Delivered(_)) {
            if let (true, Server::Wifi(wifi)) = (one.marked, &mut self.servers[server as usize]) {
                wifi.count_mark(link);
            }
            self.on_departure(now, link, one);
        } else {
            self.record(one.since, link, one.packet, Outcome::Lost { departure: now });
            self.lose(now, one.packet, Outcome::Lost { departure: now });
        }
    }

    /// Puts a medium on the agenda if it is due before its entry there.
    fn arm_medium(&mut self, server: u32) {
        let Server::Wifi(wifi) = &mut self.servers[server as usize] else { return };
        if let Some(next) = wifi.arm() {
            self.agenda.push(next, self.first_server + server);
        }
    }

    /// The last bit of a packet left the line of a link with a server.
    fn on_departure(&mut self, now: Time, link: u32, one: Waiting<Packet>) {
        let mut packet = one.packet;
        if one.marked {
            packet.flags |= CE;
        }
        let hop = self.routes.current(&packet);
        let passage = self.links[link as usize].cross(now, now, packet.kind() == DATA, one.marked);
        if let Some(packet) = self.cross_wire(one.since, link, hop.is_last(), packet, passage) {
            self.forward_from(hop, packet);
        }
    }

    /// Records the packets that a queue discipline dropped.
    fn record_drops(&mut self) {
        while let Some(one) = self.dropped.pop() {
            let link = self.routes.current(&one.packet).link;
            self.record(one.since, link, one.packet, Outcome::Dropped);
            self.lose(self.clock, one.packet, Outcome::Dropped);
        }
    }

    /// How long the link needs for what it holds.
    fn backlog_time(&self, now: Time, link: u32) -> Duration {
        match self.servers.get(self.server_of[link as usize] as usize) {
            Some(Server::Line { aqm_link, .. }) => aqm_link.backlog_time(now),
            // A medium has no agents, which alone need it.
            Some(Server::Wifi(_)) => Duration::ZERO,
            None => self.links[link as usize].backlog_time(now),
        }
    }

    /// Adds the packets that crossed a link that only delays to the link's totals.
    pub(crate) fn settle(&mut self, link: usize) {
        let Crossed { packets, bytes } = std::mem::take(&mut self.crossed[link]);
        self.links[link].passed(packets, bytes);
    }

    /// A packet that arrived at the link's entrance at `since` is dropped there, or lost behind it.
    #[cold]
    fn lose(&mut self, since: Time, packet: Packet, passage: Outcome) {
        let packet = self.release_entry(packet);
        if let Some(observed) = &mut self.observed {
            observed.lost.push(packet);
        } else if packet.flags & EXTRA != 0 {
            self.options.free(packet);
        }
        if packet.is_forward() {
            let (at, by_wire) = match passage {
                Outcome::Lost { departure } => (departure, true),
                _ => (since, false),
            };
            self.upcoming_losses.push(at, packet.flow() as u32, by_wire);
            self.settle_losses(self.clock);
        }
    }

    /// Counts the losses up to `now`; returns whether there were any. Links compute ahead of the clock; their losses count
    /// when they happen.
    pub fn settle_losses(&mut self, now: Time) -> bool {
        self.upcoming_losses.settle(now, &mut self.losses)
    }

    /// Records a packet that arrived at the entrance of `link` at `since`, with its outcome.
    #[cold]
    fn record(&mut self, since: Time, link: u32, packet: Packet, passage: Outcome) {
        if let Some(tap) = &mut self.packet_tap {
            let owner = self.owners[packet.flow()];
            tap.record(since, link, packet, passage, owner, &self.options);
        }
    }

    /// The packet with the `aux` that its sender gave it.
    fn original(&self, packet: Packet) -> Packet {
        match &self.packet_tap {
            Some(tap) => Packet { aux: tap.aux(packet.aux), ..packet },
            None => packet,
        }
    }

    /// The packet with the `aux` that its sender gave it, and the end of its entry in the packet tap.
    fn release_entry(&mut self, packet: Packet) -> Packet {
        let original = self.original(packet);
        if let Some(tap) = &mut self.packet_tap {
            tap.release(packet.aux);
        }
        original
    }

    /// Memory held by packets, queues and options, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.wires.memory()
            + self.links.iter().map(Link::memory).sum::<usize>()
            + self.servers.iter().map(Server::memory).sum::<usize>()
            + self.options.memory()
    }
}
