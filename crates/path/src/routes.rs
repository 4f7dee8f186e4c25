//! The routes of flows: the links that a packet crosses, and how much work each of them is.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::Duration;

use crate::aqm_links::COMPUTED;
use crate::link_fusion::fused_links;
use crate::packet::Packet;

/// The value of [`Packet::hop`] behind the last link.
pub(crate) const ARRIVED: u8 = u8::MAX;

/// How much work a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// No line and no queue: the link itself is not touched.
    Delay,
    /// The wire only delays, no packets are recorded, and nobody looks at the queue, which holds any number of packets.
    Line,
    /// The same with a queue that somebody looks at, or that is limited.
    Queue,
    /// Everything else.
    Full,
}

/// Where a packet goes behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Onto the wire of the link: its arrival is an event.
    Event,
    /// To the next link, which is computed at once ([`crate::link_fusion`]).
    Link,
    /// To its endpoint at once, ahead of the clock ([`crate::look_ahead`]).
    Endpoint,
}

/// One link of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Delay of a link that only delays; else 0.
    pub(crate) delay: Duration,
    /// The link.
    pub(crate) link: u32,
    /// The value of [`Packet::hop`] at it.
    pub(crate) step: u8,
    /// The same behind it.
    pub(crate) after: u8,
    /// How much work it is.
    pub(crate) work: Work,
    /// Where the packet goes behind it.
    pub(crate) next: Next,
}

const _: () = assert!(size_of::<Hop>() == 16);

impl Hop {
    /// The link ends at the packet's endpoint.
    pub(crate) fn is_last(self) -> bool {
        self.after == ARRIVED
    }
}

/// The routes of all flows.
#[derive(Debug)]
pub(crate) struct Routes {
    hops: Vec<Hop>,
    /// By flow: the first hop of its forward and of its reverse route.
    first: Vec<[u32; 2]>,
    /// By link: it is computed at once with the link before it.
    pub(crate) fused: Vec<bool>,
}

impl Routes {
    /// The plan's routes. `server_of` is the server of each link.
    pub(crate) fn new(plan: &Plan, links: &[Link], server_of: &[u32]) -> Self {
        let fused = fused_links(plan, links, server_of);
        let (mut hops, mut first) = (Vec::new(), Vec::new());
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
                        delay: delay.unwrap_or(Duration::ZERO),
                        link,
                        step: at as u8,
                        after: if at + 1 == path.len() { ARRIVED } else { at as u8 + 1 },
                        work: match delay {
                            Some(_) => Work::Delay,
                            None if plain && links[link as usize].is_line() => Work::Line,
                            None if plain => Work::Queue,
                            None => Work::Full,
                        },
                        next: match path.get(at + 1) {
                            Some(&next) if fused[next as usize] => Next::Link,
                            _ => Next::Event,
                        },
                    }
                }));
            }
            first.push(begin);
        }
        Self { hops, first, fused }
    }

    /// By link: packets go on behind it without an event, or are at their endpoint.
    pub(crate) fn without_events(&self) -> Vec<bool> {
        let mut without = vec![true; self.fused.len()];
        for hop in self.hops.iter().filter(|hop| hop.next == Next::Event && !hop.is_last()) {
            without[hop.link as usize] = false;
        }
        without
    }

    /// Adds a flow on the routes of `owner`; `reversed` exchanges them.
    pub(crate) fn add_flow(&mut self, owner: u32, reversed: bool) {
        let [forward, reverse] = self.first[owner as usize];
        self.first.push(if reversed { [reverse, forward] } else { [forward, reverse] });
    }

    /// Packets of `flow` in one direction (0: data, 1: ACKs) go to their endpoint ahead of the clock.
    pub(crate) fn look_ahead(&mut self, flow: usize, way: usize) {
        let mut at = self.first[flow][way] as usize;
        while !self.hops[at].is_last() {
            at += 1;
        }
        self.hops[at].next = Next::Endpoint;
    }

    /// The index of the hop that the packet is at; the hops behind it follow.
    #[inline]
    pub(crate) fn index(&self, packet: &Packet) -> usize {
        self.first[packet.flow()][usize::from(!packet.is_forward())] as usize + packet.hop as usize
    }

    /// The hop of this index.
    #[inline]
    pub(crate) fn hop(&self, index: usize) -> &Hop {
        &self.hops[index]
    }

    /// The hop that the packet is at.
    pub(crate) fn current(&self, packet: &Packet) -> Hop {
        *self.hop(self.index(packet))
    }
}
