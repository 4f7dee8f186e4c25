//! The routes of flows: the links that a packet crosses, and the processing that each hop requires.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;
use prefetch_index::prefetch_index;

use cwndlab_units::{ConnectionId, Duration, FlowId, IndexVec, LinkId, ServerId};

use crate::aqm_links::COMPUTED;
use crate::link_fusion::fused_links;
use crate::packet::Packet;
use crate::router_agents::answering_links;

/// The value of [`Packet::hop`] after the last link.
pub(crate) const ARRIVED: u8 = u8::MAX;

/// The processing that a hop requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopKind {
    /// A pure delay: no line and no queue. The link itself is not accessed.
    Delay,
    /// A plain link of constant rate with an unlimited queue, without packet records.
    Line,
    /// Any other plain link, without packet records.
    Queue,
    /// A pure delay that varies in order, as by the processing of a host, without packet records.
    VaryingDelay,
    /// Any other link whose only impairment is such a variation, without packet records.
    Varying,
    /// A link with a server and without router agents, without packet records.
    Server,
    /// Any other link.
    Full,
}

/// The destination of a packet after a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// The wire of the link; its arrival is an event.
    Event,
    /// The same by the calendar, where there is one.
    Calendar,
    /// The next link, which is fused with this one ([`crate::link_fusion`]).
    Link,
    /// Its endpoint, ahead of the clock ([`crate::look_ahead`]), or the links before it that no other route crosses.
    Endpoint,
}

/// One link of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Delay of a pure delay, without its variation; else 0.
    pub(crate) delay: Duration,
    /// The link.
    pub(crate) link: LinkId,
    /// The value of [`Packet::hop`] at this link.
    pub(crate) position: u8,
    /// The value of [`Packet::hop`] after this link.
    pub(crate) next_position: u8,
    /// The processing that it requires.
    pub(crate) kind: HopKind,
    /// The destination after this link.
    pub(crate) next: NextStep,
}

const _: () = assert!(size_of::<Hop>() == 16);

impl Hop {
    /// Whether the link ends at the packet's endpoint.
    pub(crate) fn is_last(self) -> bool {
        self.next_position == ARRIVED
    }
}

/// The routes of all connections.
#[derive(Debug)]
pub(crate) struct Routes {
    hops: Vec<Hop>,
    /// The first hop of its forward and of its reverse route.
    first: IndexVec<ConnectionId, [u32; 2]>,
    /// By link, whether it is fused with the preceding link.
    pub(crate) fused: IndexVec<LinkId, bool>,
}

impl Routes {
    /// The routes of the plan. `server_of` is the server of each link.
    pub(crate) fn new(plan: &Plan, links: &IndexVec<LinkId, Link>, server_of: &IndexVec<LinkId, ServerId>) -> Self {
        let fused = fused_links(plan, links, server_of);
        let answering = answering_links(plan);
        let mut hops = Vec::new();
        let mut first = IndexVec::default();
        for flow in &plan.flows {
            let mut begin = [0; 2];
            for (direction, path) in [&flow.forward, &flow.reverse].into_iter().enumerate() {
                begin[direction] = hops.len() as u32;
                hops.extend(path.iter().enumerate().map(|(at, &link)| {
                    let observed = plan.packets || !plan.links[link].agents.is_empty() || answering[link];
                    let served = server_of[link] != COMPUTED;
                    let quiet = !observed && !served;
                    let plain = links[link].is_plain() && quiet;
                    let varying = links[link].only_varies() && quiet;
                    let delay = links[link].pure_delay().filter(|_| plain || varying);
                    Hop {
                        delay: delay.unwrap_or(Duration::ZERO),
                        link,
                        position: at as u8,
                        next_position: if at + 1 == path.len() { ARRIVED } else { at as u8 + 1 },
                        kind: match delay {
                            Some(_) if plain => HopKind::Delay,
                            Some(_) => HopKind::VaryingDelay,
                            None if varying => HopKind::Varying,
                            None if plain && links[link].is_unlimited() => HopKind::Line,
                            None if plain => HopKind::Queue,
                            None if served && !observed => HopKind::Server,
                            None => HopKind::Full,
                        },
                        next: match path.get(at + 1) {
                            Some(&next) if fused[next] => NextStep::Link,
                            _ => NextStep::Event,
                        },
                    }
                }));
            }
            first.push(begin);
        }
        Self { hops, first, fused }
    }

    /// By link, whether every packet continues after it without an event, or reaches its endpoint.
    pub(crate) fn without_events(&self) -> IndexVec<LinkId, bool> {
        let mut without = IndexVec::from(vec![true; self.fused.len()]);
        for hop in self.hops.iter().filter(|hop| hop.next == NextStep::Event && !hop.is_last()) {
            without[hop.link] = false;
        }
        without
    }

    /// Keeps only the fusion of pure delays with the link before.
    pub(crate) fn fuse_only_delays(&mut self) {
        for index in 1..self.hops.len() {
            if self.hops[index].kind != HopKind::Delay && self.hops[index - 1].next == NextStep::Link {
                self.hops[index - 1].next = NextStep::Event;
            }
        }
    }

    /// Whether the hop is a pure delay that packets cross without an event after the hop before.
    pub(crate) fn is_fused_delay(&self, index: usize) -> bool {
        self.hops[index].kind == HopKind::Delay && index > 0 && self.hops[index - 1].next == NextStep::Link
    }

    /// The hop that a packet has crossed last.
    pub(crate) fn last_crossed(&self, packet: &Packet) -> &Hop {
        self.hop(self.index_of_last_crossed(packet))
    }

    /// The index of that hop.
    pub(crate) fn index_of_last_crossed(&self, packet: &Packet) -> usize {
        let first = self.first[packet.connection()][usize::from(!packet.is_forward())] as usize;
        if packet.hop != ARRIVED {
            return first + packet.hop as usize - 1;
        }
        (first..self.hops.len()).find(|&index| self.hops[index].is_last()).expect("a route has a last link")
    }

    /// Adds a connection on the routes of `owner`, exchanged if `reversed`.
    pub(crate) fn add_connection(&mut self, owner: FlowId, reversed: bool) {
        let [forward, reverse] = self.first[owner.into()];
        self.first.push(if reversed { [reverse, forward] } else { [forward, reverse] });
    }

    /// Delivers packets of `connection` in one direction (0: data, 1: ACKs) ahead of the clock.
    pub(crate) fn look_ahead(&mut self, connection: ConnectionId, direction: usize) {
        let mut at = self.first[connection][direction] as usize;
        while !self.hops[at].is_last() {
            at += 1;
        }
        self.hops[at].next = NextStep::Endpoint;
    }

    /// Adds packets of `connection` in one direction to the calendar after its first `links` links.
    pub(crate) fn enter_calendar(&mut self, connection: ConnectionId, direction: usize, links: usize) {
        let hop = &mut self.hops[self.first[connection][direction] as usize + links - 1];
        if hop.next == NextStep::Event {
            hop.next = NextStep::Calendar;
        }
    }

    /// Hands packets of `connection` in one direction over before the last `links` links of its route.
    pub(crate) fn leave_before(&mut self, connection: ConnectionId, direction: usize, links: usize) {
        let hops = self.links(connection, direction).count();
        self.hops[self.first[connection][direction] as usize + hops - links - 1].next = NextStep::Endpoint;
    }

    /// Whether the link at `position` on a route of `connection` delays packets and does no more.
    pub(crate) fn is_delayed_only(&self, connection: ConnectionId, direction: usize, position: usize) -> bool {
        let kind = self.hops[self.first[connection][direction] as usize + position].kind;
        matches!(kind, HopKind::Line | HopKind::Delay | HopKind::VaryingDelay)
    }

    /// The links of a connection in one direction (0: data, 1: ACKs).
    pub(crate) fn links(&self, connection: ConnectionId, direction: usize) -> impl Iterator<Item = LinkId> + '_ {
        let first = self.first[connection][direction] as usize;
        let mut ended = false;
        self.hops[first..]
            .iter()
            .take_while(move |hop| !std::mem::replace(&mut ended, hop.is_last()))
            .map(|hop| hop.link)
    }

    /// The index of the packet's current hop; the remaining hops of its route follow.
    #[inline]
    pub(crate) fn index(&self, packet: &Packet) -> usize {
        self.first[packet.connection()][usize::from(!packet.is_forward())] as usize + packet.hop as usize
    }

    /// The index of the first hop of an answer to the packet.
    #[inline]
    pub(crate) fn index_of_answer(&self, packet: &Packet) -> usize {
        self.first[packet.connection()][usize::from(packet.is_forward())] as usize
    }

    /// The hop with this index.
    #[inline]
    pub(crate) fn hop(&self, index: usize) -> &Hop {
        &self.hops[index]
    }

    /// The link before the hop with this index, on the same route.
    #[inline]
    pub(crate) fn link_before(&self, index: usize) -> LinkId {
        self.hops[index - 1].link
    }

    /// Asks for the place of the routes of a connection.
    #[inline]
    pub(crate) fn prefetch_first(&self, connection: ConnectionId) {
        prefetch_index(&*self.first, connection.index());
    }

    /// Asks for the hop with this index.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch_index(&self.hops, index);
    }

    /// The packet's current hop.
    pub(crate) fn current(&self, packet: &Packet) -> Hop {
        *self.hop(self.index(packet))
    }
}
