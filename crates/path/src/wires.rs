//! Packets between the end of a link's line and the end of its wire: each arrival is an event.
//!
//! A wire is a FIFO, of which only the first packet is among the arrivals to come. Their number depends on the network and
//! not on windows, and the packets of a wire lie side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_network::chunked_fifos::ChunkedFifos;
use cwndlab_network::link::Link;
use cwndlab_units::Time;

use crate::arrivals::Arrivals;
use crate::packet::Packet;
use crate::ties::Ties;

/// A wire on which packets overtake each other. (Arrival, serial number) orders them.
#[derive(Debug, Default)]
struct ReorderingWire {
    order: BinaryHeap<Reverse<(Time, u64)>>,
    packets: BTreeMap<u64, Packet>,
    serial: u64,
}

/// The wires of all links.
#[derive(Debug)]
pub(crate) struct Wires {
    /// The first packet of each wire.
    arrivals: Arrivals,
    fifos: ChunkedFifos<Packet>,
    /// By link; empty if no wire reorders.
    reordering: Vec<Option<Box<ReorderingWire>>>,
    ties: Ties,
}

impl ReorderingWire {
    /// When the first packet arrives; `Time::MAX` without one.
    fn next_time(&self) -> Time {
        self.order.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }
}

impl Wires {
    /// Empty wires. `rare` tells by link that packets seldom leave its wire by an event.
    pub(crate) fn new(links: &[Link], rare: &[bool], ties: Ties) -> Self {
        let reordering = if links.iter().any(Link::reorders) {
            links.iter().map(|link| link.reorders().then(Box::default)).collect()
        } else {
            Vec::new()
        };
        Self { arrivals: Arrivals::new(rare), fifos: ChunkedFifos::new(links.len()), reordering, ties }
    }

    /// The rank of a source of events among those due at `time`.
    pub(crate) fn rank(&self, time: Time, source: u32) -> u32 {
        self.ties.rank(time, source)
    }

    /// When the next packet arrives; `Time::MAX` if none is under way.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.arrivals.next_time()
    }

    /// Adds a packet, which the caller writes, to the wire of `link`; it arrives at `at`, behind all others on a FIFO.
    #[allow(clippy::inline_always)] // as a call it would keep the packet in memory meanwhile
    #[inline(always)]
    pub(crate) fn add(&mut self, link: u32, at: Time) -> &mut Packet {
        // The FIFO of a wire that reorders stays empty.
        match self.fifos.extend(link as usize) {
            Some(slot) => self.fifos.slot(slot),
            None => self.add_elsewhere(link, at),
        }
    }

    /// Adds a packet to a FIFO that is empty or whose last chunk is full, or to a wire that reorders.
    #[inline(never)]
    fn add_elsewhere(&mut self, link: u32, at: Time) -> &mut Packet {
        if !self.reordering.is_empty() && self.reordering[link as usize].is_some() {
            return self.add_unordered(link, at);
        }
        if self.fifos.is_empty(link as usize) {
            self.set_first(link, at);
        }
        self.fifos.push(link as usize)
    }

    /// Adds a packet to a wire that reorders.
    #[cold]
    fn add_unordered(&mut self, link: u32, at: Time) -> &mut Packet {
        let wire = self.reordering[link as usize].as_mut().expect("a link that reorders has its wire");
        if at < wire.next_time() {
            self.set_first(link, at);
        }
        let wire = self.reordering[link as usize].as_mut().expect("a link that reorders has its wire");
        wire.serial += 1;
        wire.order.push(Reverse((at, wire.serial)));
        wire.packets.entry(wire.serial).or_default()
    }

    /// Takes the next packet, whose arrival is the event of now; returns its link.
    #[inline]
    pub(crate) fn take(&mut self, packet: &mut Packet) -> u32 {
        let link = self.arrivals.wire();
        let next = if let Some(first) = self.fifos.front(link as usize) {
            *packet = *first;
            self.fifos.advance(link as usize).map_or(Time::MAX, |next| next.at)
        } else {
            self.take_unordered(link, packet)
        };
        self.set_first(link, next);
        link
    }

    /// Takes the next packet of a wire that reorders; returns when the one behind it arrives.
    #[cold]
    fn take_unordered(&mut self, link: u32, packet: &mut Packet) -> Time {
        let wire = self.reordering[link as usize].as_mut().expect("a link with an arrival has a packet");
        let Reverse((_, serial)) = wire.order.pop().expect("a link with an arrival has a packet");
        *packet = wire.packets.remove(&serial).expect("every serial number has its packet");
        wire.next_time()
    }

    /// The first packet of the wire of `link` arrives at `at`; `Time::MAX`: there is none.
    #[inline]
    fn set_first(&mut self, link: u32, at: Time) {
        if self.arrivals.set(link, at) {
            self.move_window(link, at);
        }
    }

    /// The same, where the times of all wires need new keys.
    #[cold]
    fn move_window(&mut self, link: u32, at: Time) {
        let Self { arrivals, fifos, reordering, .. } = self;
        let first = |wire: u32| match reordering.get(wire as usize) {
            _ if wire == link => at,
            Some(Some(unordered)) => unordered.next_time(),
            _ => fifos.front(wire as usize).map_or(Time::MAX, |packet| packet.at),
        };
        arrivals.move_window(first);
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        let reordering: usize =
            self.reordering.iter().flatten().map(|one| one.order.capacity() * 16 + one.packets.len() * 64).sum();
        reordering + self.fifos.memory()
    }
}
