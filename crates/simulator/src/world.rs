//! Links and what is on them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_control::Feedback;
use cwndlab_network::aqm::Waiting;
use cwndlab_network::lanes::Lanes;
use cwndlab_network::link::{Link, Offer, Passage};
use cwndlab_network::router_assist::{Agent, Arrival, Header, MAX_HOPS};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::{Ecn, Plan};
use cwndlab_transport::wire::Blocks;

use crate::agenda::Agenda;
use crate::fuse::fuse;
use crate::lines::{build_agents, build_link};
use crate::packet::{Packet, ACK, CE, DATA, ECT, EXTRA, KIND, MOST_FLOWS, SYN};
use crate::pool;
use crate::recorder::Recorder;
use crate::service::{self, Server, COMPUTED};

/// What an ACK carries beyond its number and window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// SACK blocks.
    pub blocks: Blocks,
    /// Receive window.
    pub window: u64,
    /// Marks that the receiver counted.
    pub ce_count: u32,
    /// What routers wrote.
    pub feedback: Option<Feedback>,
    /// PERC: the header as it reached the receiver, one of `World::headers`.
    pub header: Option<u32>,
}

/// A packet's header for routers, and the payload in whose place its index stands.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The header.
    pub header: Header,
    /// Payload of the packet.
    pub len: u32,
}

/// PERC's message goes round and round: what the sender puts into the next one, what the receiver sends back.
#[derive(Clone, Copy, Debug)]
pub struct Circulating {
    /// At the sender.
    pub shares: [f64; MAX_HOPS],
    /// At the receiver.
    pub echo: Option<Header>,
}

/// Packets that may overtake each other on their wire: (arrival, serial) orders them.
#[derive(Debug, Default)]
struct Overtaking {
    order: BinaryHeap<Reverse<(u64, u64)>>,
    packets: BTreeMap<u64, Packet>,
    serial: u64,
}

/// A step of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Of a link that does nothing else, else 0.
    delay: u64,
    pub(crate) link: u32,
    /// The value of `Packet::hop` behind it.
    after: u8,
    what: What,
    /// The next link has no event of its own: it is computed at once.
    fused: bool,
    /// Packets overtake each other on the wire.
    reorders: bool,
}

const _: () = assert!(size_of::<Hop>() == 16);

/// How much has to be done on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// No line, no queue: the link itself need not be touched.
    Delay,
    /// Only delay happens on the wire, and nothing is recorded.
    Plain,
    /// Anything.
    All,
}

impl Hop {
    /// The link ends at the packet's endpoint.
    pub(crate) fn is_last(self) -> bool {
        self.after == ARRIVED
    }
}

/// What went by a link that only delays.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    packets: u64,
    bytes: u64,
}

/// The value of `Packet::hop` behind the last link.
const ARRIVED: u8 = u8::MAX;

/// Drops of one flow's data direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// By queues.
    pub queue: u64,
    /// By wires.
    pub wire: u64,
}

/// The wire's loss, or a fused link's drop, of a packet of this flow at a moment that the clock has not reached.
type Upcoming = Reverse<(u64, u32, bool)>;

/// What became of packets whose contents somebody else keeps.
#[derive(Debug, Default)]
pub struct Observed {
    /// Dropped or lost.
    pub lost: Vec<Packet>,
    /// On their way twice.
    pub doubled: Vec<Packet>,
}

/// All that is shared by the flows.
#[derive(Debug)]
pub struct World {
    /// What happens next.
    pub agenda: Agenda,
    /// Now: set by the loop that runs it.
    pub clock: u64,
    /// End of the run. What reaches a link later is no longer computed ahead of the clock.
    end: u64,
    /// The links.
    pub links: Vec<Link>,
    /// Packets between the end of a line and the end of its wire; in order, so that only the head has an event.
    flights: Lanes<Packet>,
    overtaking: Vec<Option<Box<Overtaking>>>,
    /// By link, until somebody looks at it.
    passed: Vec<Passed>,
    hops: Vec<Hop>,
    /// Where the hops of a flow's forward and reverse route begin.
    routes: Vec<[u32; 2]>,
    extras: Vec<Extra>,
    free_extras: Vec<u32>,
    /// Headers of packets under way that ask routers.
    headers: Vec<Asked>,
    free_headers: Vec<u32>,
    /// The agents of each link.
    agents: Vec<Vec<Agent>>,
    /// PERC: what its messages said last at either end, by flow.
    pub circulating: BTreeMap<u32, Circulating>,
    /// What happened.
    pub events: Vec<EventRow>,
    /// Every packet, where asked for.
    pub recorder: Option<Box<Recorder>>,
    /// Lines that serve by event, in the order of their entries on the agenda.
    pub(crate) servers: Vec<Server>,
    /// The server of each link; [`COMPUTED`] where departures are computed.
    pub(crate) server_of: Vec<u32>,
    /// The first server's source on the agenda.
    pub(crate) first_server: u32,
    /// Packets that a discipline dropped, until they are written down.
    pub(crate) gone: Vec<Waiting<Packet>>,
    /// Flows whose packets say ECT(1).
    pub(crate) scalable: Vec<bool>,
    /// Told of losses and duplicates, where somebody wants to know.
    pub observed: Option<Observed>,
    /// The plan's flow of each flow: some have several connections.
    pub(crate) owner: Vec<u32>,
    /// Losses per flow, up to the clock's last [`World::settle_losses`].
    pub losses: Vec<Losses>,
    upcoming: BinaryHeap<Upcoming>,
}

impl World {
    /// The plan's network at rest.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let links: Vec<Link> =
            plan.links.iter().enumerate().map(|(n, one)| build_link(one, n, seed, plan.duration)).collect();
        let (servers, server_of) = service::build(plan, seed);
        let fused = fuse(plan, &links, &server_of);
        let (mut hops, mut routes) = (Vec::new(), Vec::new());
        for flow in &plan.flows {
            let mut begin = [0; 2];
            for (way, path) in [&flow.forward, &flow.reverse].into_iter().enumerate() {
                begin[way] = hops.len() as u32;
                hops.extend(path.iter().enumerate().map(|(at, &link)| {
                    let plain = links[link as usize].is_plain()
                        && !plan.packets
                        && server_of[link as usize] == COMPUTED
                        && plan.links[link as usize].agents.is_empty();
                    let delay = links[link as usize].mere_delay().filter(|_| plain);
                    Hop {
                        delay: delay.unwrap_or(0),
                        link,
                        after: if at + 1 == path.len() { ARRIVED } else { at as u8 + 1 },
                        what: match delay {
                            Some(_) => What::Delay,
                            None if plain => What::Plain,
                            None => What::All,
                        },
                        fused: path.get(at + 1).is_some_and(|&next| fused[next as usize]),
                        reorders: links[link as usize].reorders(),
                    }
                }));
            }
            routes.push(begin);
        }
        let overtaking = links.iter().map(|link| link.reorders().then(Box::default)).collect();
        let flows = plan.flows.len().saturating_add(pool::most_beside(plan)).min(MOST_FLOWS);
        let first_server = links.len() + flows * crate::flow::TIMERS;
        Self {
            agenda: Agenda::new(links.len(), flows, servers.len()),
            clock: 0,
            end: plan.duration.0,
            servers,
            server_of,
            first_server: first_server as u32,
            gone: Vec::new(),
            observed: None,
            scalable: plan.flows.iter().map(|flow| flow.stack.ecn == Ecn::Accurate).collect(),
            flights: Lanes::new(links.len()),
            overtaking,
            passed: vec![Passed::default(); links.len()],
            links,
            hops,
            routes,
            extras: Vec::new(),
            free_extras: Vec::new(),
            headers: Vec::new(),
            free_headers: Vec::new(),
            agents: plan.links.iter().map(build_agents).collect(),
            circulating: BTreeMap::new(),
            events: Vec::new(),
            owner: (0..plan.flows.len() as u32).collect(),
            recorder: plan.packets.then(|| Box::new(Recorder::new(plan))),
            losses: vec![Losses::default(); plan.flows.len()],
            upcoming: BinaryHeap::new(),
        }
    }

    /// Room for one more flow beside the plan's; with `turned` its data goes where `owner`'s ACKs go.
    pub(crate) fn add_flow(&mut self, owner: u32, turned: bool) {
        let [there, back] = self.routes[owner as usize];
        self.routes.push(if turned { [back, there] } else { [there, back] });
        self.owner.push(owner);
        self.losses.push(Losses::default());
        self.scalable.push(self.scalable[owner as usize]);
    }

    /// Stores what an ACK carries; answers its index.
    pub fn store(&mut self, extra: Extra) -> u32 {
        if let Some(index) = self.free_extras.pop() {
            self.extras[index as usize] = extra;
            return index;
        }
        self.extras.push(extra);
        self.extras.len() as u32 - 1
    }

    /// Takes what an ACK carries.
    pub fn take(&mut self, index: u32) -> Extra {
        self.free_extras.push(index);
        self.extras[index as usize]
    }

    /// What an ACK under way carries.
    pub(crate) fn extra(&self, index: u32) -> &Extra {
        &self.extras[index as usize]
    }

    /// A header under way.
    pub(crate) fn asked(&self, index: u32) -> &Asked {
        &self.headers[index as usize]
    }

    /// Stores a header; answers its index.
    pub fn ask(&mut self, asked: Asked) -> u32 {
        if let Some(index) = self.free_headers.pop() {
            self.headers[index as usize] = asked;
            return index;
        }
        self.headers.push(asked);
        self.headers.len() as u32 - 1
    }

    /// Takes a header.
    pub fn answered(&mut self, index: u32) -> Asked {
        self.free_headers.push(index);
        self.headers[index as usize]
    }

    /// The agents of a link see a packet.
    fn consult(&mut self, now: u64, link: u32, last: bool, packet: Packet) {
        let arrival = Arrival {
            now,
            size: u32::from(packet.size),
            flow: packet.flow() as u32,
            hop: packet.hop,
            backlog: self.backlog_time(now, link),
            syn: packet.kind() == SYN,
            router: packet.hop > 0 || last,
        };
        let asks = packet.is_forward() && packet.flags & EXTRA != 0;
        let aux = self.unticketed(packet).aux;
        for agent in &mut self.agents[link as usize] {
            let header = asks.then(|| &mut self.headers[aux as usize].header);
            agent.pass(arrival, header);
        }
    }

    /// The head packet of `link`, whose moment is the agenda's top; the agenda goes on to the next one.
    #[inline]
    pub fn arrive(&mut self, link: u32) -> Packet {
        if let Some(packet) = self.flights.pop(link as usize) {
            match self.flights.front(link as usize) {
                Some(next) => self.agenda.replace_top(next.at, link),
                None => self.agenda.pop(),
            }
            return packet;
        }
        self.agenda.pop(); // one entry per packet: the head may change
        let flight = self.overtaking[link as usize].as_mut().expect("a link on the agenda has a packet");
        let Reverse((_, serial)) = flight.order.pop().expect("a link on the agenda has a packet");
        flight.packets.remove(&serial).expect("every serial has its packet")
    }

    /// The agenda's top, a link or a server, has its moment; answers the packet that came to its endpoint.
    pub fn turn(&mut self, now: u64, source: u32) -> Option<Packet> {
        self.clock = now;
        if (source as usize) < self.links.len() {
            let packet = self.arrive(source);
            if Self::has_arrived(&packet) {
                return Some(packet);
            }
            self.forward(now, packet);
        } else {
            self.serve(now, source - self.first_server);
        }
        None
    }

    /// The packet is at its endpoint.
    #[inline]
    #[must_use]
    pub fn has_arrived(packet: &Packet) -> bool {
        packet.hop == ARRIVED
    }

    /// Puts the packet on the next link of its route, and on those after it that need no event.
    ///
    /// What changes on the way stays beside the packet until it is written to its place under way. Changed in memory it
    /// would be read again at once as a whole, for which the processor waits until all stores before it are done.
    #[inline]
    pub fn forward(&mut self, mut now: u64, packet: Packet) {
        let route = self.routes[packet.flow()][usize::from(!packet.is_forward())];
        let (mut step, mut flags, mut aux) = (packet.hop, packet.flags, packet.aux);
        loop {
            let hop = self.hops[route as usize + step as usize];
            let at = match hop.what {
                What::Delay => {
                    let passed = &mut self.passed[hop.link as usize];
                    passed.packets += 1;
                    passed.bytes += u64::from(packet.size);
                    now + hop.delay
                }
                What::Plain => {
                    let link = &mut self.links[hop.link as usize];
                    let (at, mark) = link.pass(now, u32::from(packet.size));
                    let Some(at) = at else {
                        self.lose(now, Packet { hop: step, flags, aux, ..packet }, Passage::Dropped);
                        return;
                    };
                    if mark && flags & (ECT | KIND) == ECT | DATA {
                        link.totals.marked += 1;
                        flags |= CE;
                    }
                    at
                }
                What::All => {
                    let offered = Packet { hop: step, flags, aux, ..packet };
                    let Some(passed) = self.offer(now, hop.link, hop.is_last(), offered) else { return };
                    (flags, aux) = (passed.flags, passed.aux);
                    passed.at
                }
            };
            step = hop.after;
            if hop.fused && at <= self.end {
                now = at;
                continue;
            }
            if hop.reorders {
                self.launch_loosely(hop.link, Packet { at, hop: step, flags, aux, ..packet });
            } else {
                self.launch_in_order(hop.link, Packet { at, hop: step, flags, aux, ..packet });
            }
            return;
        }
    }

    /// The step of its route that the packet is at.
    pub(crate) fn hop(&self, packet: &Packet) -> Hop {
        let route = self.routes[packet.flow()][usize::from(!packet.is_forward())];
        self.hops[route as usize + packet.hop as usize]
    }

    /// Goes on behind a link that serves by event; `packet.at` is when it reaches the link's end.
    pub(crate) fn onward(&mut self, hop: Hop, mut packet: Packet) {
        packet.hop = hop.after;
        if hop.fused && packet.at <= self.end {
            self.forward(packet.at, packet);
        } else {
            self.launch(hop.link, hop.reorders, packet);
        }
    }

    /// The long way: a wire that loses, delays at random or duplicates, or packets that are recorded.
    #[cold]
    fn offer(&mut self, now: u64, index: u32, last: bool, mut packet: Packet) -> Option<Packet> {
        if packet.hop == 0 {
            if let Some(recorder) = &mut self.recorder {
                packet.aux = recorder.issue(now, packet.aux);
            }
        }
        if !self.agents[index as usize].is_empty() {
            self.consult(now, index, last, packet);
        }
        if self.server_of[index as usize] != COMPUTED {
            self.queue(now, index, packet);
            return None;
        }
        let payload = packet.kind() == DATA;
        let ect = payload && packet.flags & ECT != 0;
        let passage = self.links[index as usize].offer(now, Offer { size: u32::from(packet.size), ect, payload });
        self.across(now, index, last, packet, passage)
    }

    /// A packet that arrived at the link's entrance at `since` has come to this.
    pub(crate) fn across(
        &mut self,
        since: u64,
        index: u32,
        last: bool,
        mut packet: Packet,
        passage: Passage,
    ) -> Option<Packet> {
        self.record(since, index, packet, passage);
        let Passage::Arrives { at, again, marked, .. } = passage else {
            self.lose(since, packet, passage);
            return None;
        };
        packet.at = at;
        if marked {
            packet.flags |= CE;
        }
        if let Some(again) = again {
            let mut copy = packet;
            copy.at = again;
            copy.hop = if last { ARRIVED } else { copy.hop + 1 };
            let mut aux = self.unticketed(copy).aux;
            if let Some(observed) = &mut self.observed {
                observed.doubled.push(copy);
            } else if copy.flags & EXTRA != 0 {
                aux = self.copy_extra(Packet { aux, ..copy });
            }
            copy.aux = match &mut self.recorder {
                Some(recorder) if !last => recorder.reissue(packet.aux, aux),
                _ => aux,
            };
            self.launch_loosely(index, copy);
        }
        if last {
            packet.aux = self.redeemed(packet).aux;
        }
        Some(packet)
    }

    fn launch(&mut self, link: u32, reorders: bool, packet: Packet) {
        if reorders {
            self.launch_loosely(link, packet);
        } else {
            self.launch_in_order(link, packet);
        }
    }

    #[inline]
    fn launch_in_order(&mut self, link: u32, packet: Packet) {
        if self.flights.push(link as usize, packet) {
            self.agenda.push(packet.at, link);
        }
    }

    #[cold]
    fn launch_loosely(&mut self, link: u32, packet: Packet) {
        let flight = self.overtaking[link as usize].as_mut().expect("a link that reorders has its heap");
        flight.serial += 1;
        flight.order.push(Reverse((packet.at, flight.serial)));
        flight.packets.insert(flight.serial, packet);
        self.agenda.push(packet.at, link);
    }

    /// What went by a link that only delays is told to it.
    pub(crate) fn settle(&mut self, link: usize) {
        let Passed { packets, bytes } = std::mem::take(&mut self.passed[link]);
        self.links[link].passed(packets, bytes);
    }

    /// A packet that came to the link's entrance at `since` is dropped there or lost behind it.
    #[cold]
    pub(crate) fn lose(&mut self, since: u64, packet: Packet, passage: Passage) {
        let packet = self.redeemed(packet);
        if let Some(observed) = &mut self.observed {
            observed.lost.push(packet);
        } else if packet.flags & EXTRA != 0 {
            self.forget(packet);
        }
        if packet.is_forward() {
            let (at, by_wire) = match passage {
                Passage::Lost { departure } => (departure, true),
                _ => (since, false),
            };
            self.upcoming.push(Reverse((at, packet.flow() as u32, by_wire)));
            self.settle_losses(self.clock);
        }
    }

    /// Counts what was lost up to `now`; answers whether there was anything. Links compute ahead of the clock; their
    /// losses count when they happen.
    pub fn settle_losses(&mut self, now: u64) -> bool {
        let before = self.upcoming.len();
        while let Some(&Reverse((at, flow, by_wire))) = self.upcoming.peek() {
            if at > now {
                break;
            }
            self.upcoming.pop();
            let losses = &mut self.losses[flow as usize];
            if by_wire {
                losses.wire += 1;
            } else {
                losses.queue += 1;
            }
        }
        self.upcoming.len() < before
    }

    /// What a lost packet carried is free again.
    pub fn forget(&mut self, packet: Packet) {
        if packet.kind() != ACK {
            self.free_headers.push(packet.aux);
            return;
        }
        if let Some(header) = self.take(packet.aux).header {
            self.free_headers.push(header);
        }
    }

    /// A second copy of what a packet carries.
    fn copy_extra(&mut self, packet: Packet) -> u32 {
        if packet.kind() != ACK {
            return self.ask(self.headers[packet.aux as usize]);
        }
        let mut extra = self.extras[packet.aux as usize];
        extra.header = extra.header.map(|index| self.ask(self.headers[index as usize]));
        self.store(extra)
    }

    /// Memory held by packets, queues and extras, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let overtaking: usize =
            self.overtaking.iter().flatten().map(|one| one.order.capacity() * 16 + one.packets.len() * 64).sum();
        overtaking
            + self.flights.memory()
            + self.links.iter().map(Link::memory).sum::<usize>()
            + self.servers.iter().map(Server::memory).sum::<usize>()
            + self.extras.capacity() * size_of::<Extra>()
    }
}
