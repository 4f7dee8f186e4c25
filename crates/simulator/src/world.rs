//! Links and what is on them.

use std::collections::BinaryHeap;
use std::cmp::Reverse;

use cwndlab_network::link::{Link, LinkConfig, Offer, Passage};
use cwndlab_network::loss::Loss;
use cwndlab_network::queue::Limit;
use cwndlab_network::random::Stream;
use cwndlab_network::ring::Ring;
use cwndlab_records::rows::{EventRow, PacketRow};
use cwndlab_scenario::plan::{Capacity, LinkPlan, LossPlan, Plan};
use cwndlab_transport::wire::Blocks;

use crate::agenda::Agenda;
use crate::packet::{AGAIN, CE, DATA, ECT, EXTRA, Packet};

/// What an ACK carries beyond its number and window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// SACK blocks.
    pub blocks: Blocks,
    /// Receive window.
    pub window: u32,
    /// Marks that the receiver counted.
    pub ce_count: u32,
}

/// Packets between the end of a line and the end of its wire.
#[derive(Debug)]
enum Flight {
    /// In order: only the head has an event.
    Ordered(Ring<Packet>),
    /// Packets overtake: (arrival, serial) orders them.
    Free(BinaryHeap<Reverse<(u64, u64)>>, std::collections::BTreeMap<u64, Packet>, u64),
}

/// Which way a flow's packets take.
#[derive(Debug, Default)]
struct Route {
    forward: Vec<u32>,
    reverse: Vec<u32>,
}

/// Drops of one flow's data direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// By queues.
    pub queue: u64,
    /// By wires.
    pub wire: u64,
}

/// All that is shared by the flows.
#[derive(Debug)]
pub struct World {
    /// What happens next.
    pub agenda: Agenda,
    /// The links.
    pub links: Vec<Link>,
    flights: Vec<Flight>,
    /// The link may be computed when its only feeder is: no event of its own.
    fused: Vec<bool>,
    routes: Vec<Route>,
    extras: Vec<Extra>,
    free_extras: Vec<u32>,
    /// What happened.
    pub events: Vec<EventRow>,
    /// Every packet, where asked for.
    pub packets: Option<Vec<PacketRow>>,
    /// Losses per flow.
    pub losses: Vec<Losses>,
    /// Full segment of each flow, for byte numbers of recorded packets.
    mss: Vec<u32>,
    /// Moves of a packet over a link.
    pub hops: u64,
}

/// Purposes of random streams.
const LOSS_STREAM: u64 = 1;
const WIRE_STREAM: u64 = 2;

fn build_loss(plan: &LossPlan, seed: u64, index: u64) -> Loss {
    let stream = || Stream::new(seed, LOSS_STREAM, index);
    match plan {
        LossPlan::Bernoulli { p } => Loss::Bernoulli { p: *p, stream: stream() },
        LossPlan::GilbertElliott { p, r, loss_bad, loss_good } => Loss::GilbertElliott {
            p: *p,
            r: *r,
            loss_bad: *loss_bad,
            loss_good: *loss_good,
            bad: false,
            stream: stream(),
        },
        LossPlan::List { indices, payload_only } => {
            Loss::List { indices: indices.clone(), payload_only: *payload_only, seen: 0, at: 0 }
        }
    }
}

fn build_link(plan: &LinkPlan, index: usize, seed: u64) -> Link {
    let index = index as u64;
    Link::new(LinkConfig {
        rate: plan.rate,
        delay: plan.delay,
        limit: match plan.queue.capacity {
            Capacity::Unlimited => Limit::Unlimited,
            Capacity::Packets(n) => Limit::Packets(u64::from(n)),
            Capacity::Bytes(n) => Limit::Bytes(n.0),
        },
        counts_in_service: plan.queue.counts_in_service,
        mark_above: plan.queue.mark_above,
        losses: plan.losses.iter().enumerate().map(|(n, one)| build_loss(one, seed, index * 16 + n as u64)).collect(),
        jitter: plan.jitter.map(|jitter| (jitter.spread, jitter.reorder)),
        duplicate: plan.duplicate,
        stream: Stream::new(seed, WIRE_STREAM, index),
    })
}

impl World {
    /// The plan's network at rest.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let links: Vec<Link> = plan.links.iter().enumerate().map(|(n, one)| build_link(one, n, seed)).collect();
        let flights = links
            .iter()
            .map(|link| {
                if link.reorders() {
                    Flight::Free(BinaryHeap::new(), std::collections::BTreeMap::new(), 0)
                } else {
                    Flight::Ordered(Ring::default())
                }
            })
            .collect();
        let routes: Vec<Route> = plan
            .flows
            .iter()
            .map(|flow| Route { forward: flow.forward.clone(), reverse: flow.reverse.clone() })
            .collect();
        let fused = fuse(plan, &links, &routes);
        Self {
            agenda: Agenda::default(),
            links,
            flights,
            fused,
            routes,
            extras: Vec::new(),
            free_extras: Vec::new(),
            events: Vec::new(),
            packets: plan.packets.then(Vec::new),
            losses: vec![Losses::default(); plan.flows.len()],
            mss: plan.flows.iter().map(|flow| flow.stack.mss.0 as u32).collect(),
            hops: 0,
        }
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

    /// The head packet of `link`, whose moment is the agenda's top; the agenda goes on to the next one.
    #[inline]
    pub fn arrive(&mut self, link: u32) -> Packet {
        match &mut self.flights[link as usize] {
            Flight::Ordered(ring) => {
                let packet = ring.pop().expect("a link on the agenda has a packet");
                match ring.front() {
                    Some(next) => self.agenda.replace_top(next.at, link),
                    None => self.agenda.pop(),
                }
                packet
            }
            Flight::Free(order, packets, _) => {
                let Reverse((_, serial)) = order.pop().expect("a link on the agenda has a packet");
                self.agenda.pop(); // one entry per packet: the head may change
                packets.remove(&serial).expect("every serial has its packet")
            }
        }
    }

    /// Where the packet goes next: over another link, or to its endpoint (`true`).
    #[inline]
    #[must_use]
    pub fn has_arrived(&self, packet: &Packet) -> bool {
        let route = &self.routes[packet.flow()];
        let hops = if packet.is_forward() { route.forward.len() } else { route.reverse.len() };
        packet.hop as usize == hops
    }

    /// Puts the packet on the next link of its route, and on those after it that need no event.
    #[inline]
    pub fn forward(&mut self, mut now: u64, mut packet: Packet) {
        let flow = packet.flow();
        let forward = packet.is_forward();
        loop {
            let route = &self.routes[flow];
            let path = if forward { &route.forward } else { &route.reverse };
            let index = path[packet.hop as usize];
            let next = path.get(packet.hop as usize + 1).copied();
            self.hops += 1;
            let offer = Offer {
                size: u32::from(packet.size),
                ect: packet.flags & ECT != 0 && packet.kind() == DATA,
                payload: packet.kind() == DATA,
            };
            let passage = self.links[index as usize].offer(now, offer);
            if self.packets.is_some() {
                self.record(now, index, &packet, passage);
            }
            let Passage::Arrives { at, again, marked, .. } = passage else {
                self.lose(&packet, passage);
                return;
            };
            packet.hop += 1;
            packet.at = at;
            if marked {
                packet.flags |= CE;
            }
            if let Some(next) = next {
                if self.fused[next as usize] {
                    now = at;
                    continue;
                }
            }
            if let Some(again) = again {
                let mut copy = packet;
                copy.at = again;
                if copy.flags & EXTRA != 0 && copy.kind() == crate::packet::ACK {
                    let extra = self.extras[copy.aux as usize];
                    copy.aux = self.store(extra);
                }
                self.launch(index, copy);
            }
            self.launch(index, packet);
            return;
        }
    }

    #[inline]
    fn launch(&mut self, link: u32, packet: Packet) {
        match &mut self.flights[link as usize] {
            Flight::Ordered(ring) => {
                if ring.is_empty() {
                    self.agenda.push(packet.at, link);
                }
                ring.push(packet);
            }
            Flight::Free(order, packets, serial) => {
                *serial += 1;
                order.push(Reverse((packet.at, *serial)));
                packets.insert(*serial, packet);
                self.agenda.push(packet.at, link);
            }
        }
    }

    #[cold]
    fn lose(&mut self, packet: &Packet, passage: Passage) {
        if packet.is_forward() {
            let losses = &mut self.losses[packet.flow()];
            match passage {
                Passage::Dropped => losses.queue += 1,
                _ => losses.wire += 1,
            }
        } else if packet.flags & EXTRA != 0 {
            self.free_extras.push(packet.aux);
        }
    }

    #[cold]
    fn record(&mut self, now: u64, link: u32, packet: &Packet, passage: Passage) {
        let (fate, departure) = match passage {
            Passage::Dropped => (1, None),
            Passage::Lost { departure } => (2, Some(departure)),
            Passage::Arrives { departure, marked, .. } => (if marked { 3 } else { 0 }, Some(departure)),
        };
        let sequence_bytes = u64::from(packet.seq) * u64::from(self.mss[packet.flow()]);
        if let Some(rows) = &mut self.packets {
            rows.push(PacketRow {
                time_ns: now,
                link,
                flow: packet.flow() as u32,
                kind: packet.kind(),
                sequence_bytes,
                size_bytes: u32::from(packet.size),
                fate,
                departure_ns: departure,
                retransmission: packet.kind() == DATA && packet.flags & AGAIN != 0,
            });
        }
    }

    /// Memory held by packets, queues and extras, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let flights: usize = self
            .flights
            .iter()
            .map(|one| match one {
                Flight::Ordered(ring) => ring.memory(),
                Flight::Free(order, packets, _) => order.capacity() * 16 + packets.len() * 64,
            })
            .sum();
        flights + self.links.iter().map(Link::memory).sum::<usize>() + self.extras.capacity() * size_of::<Extra>()
    }
}

/// Links that one other link feeds, and nobody else: what leaves the feeder arrives there in the same order, so its
/// departure can be computed when the feeder's is. Sampled links stay apart: their queue is looked at in its own time.
fn fuse(plan: &Plan, links: &[Link], routes: &[Route]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Link(u32),
        Several,
    }
    let mut feeders = vec![Feeder::Nobody; links.len()];
    for route in routes {
        for path in [&route.forward, &route.reverse] {
            let mut previous = None;
            for &link in path {
                let feeder = &mut feeders[link as usize];
                *feeder = match (previous, *feeder) {
                    (Some(one), Feeder::Nobody) => Feeder::Link(one),
                    (Some(one), Feeder::Link(other)) if one == other => Feeder::Link(one),
                    _ => Feeder::Several,
                };
                previous = Some(link);
            }
        }
    }
    (0..links.len())
        .map(|index| match feeders[index] {
            Feeder::Link(from) => !plan.links[index].sampled && !links[from as usize].reorders(),
            _ => false,
        })
        .collect()
}
