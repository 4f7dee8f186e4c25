//! Packets on wires, in propagation between two links; each arrival is an event.
//!
//! A wire is a FIFO, and only its first packet is in the event queue of arrivals. The size of that queue depends on the
//! network and not on windows, and the packets of a wire are contiguous in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_network::chunked_fifos::ChunkedFifos;
use cwndlab_network::link::Link;
use cwndlab_units::{EventSource, IndexVec, LinkId, Time};

use crate::arrivals::Arrivals;
use crate::calendar::Approach;
use crate::packet::Packet;
use crate::ties::Ties;

/// A wire that reorders packets; they are ordered by (arrival, serial number).
#[derive(Debug, Default)]
struct ReorderingWire {
    order: BinaryHeap<Reverse<(Time, u64)>>,
    packets: BTreeMap<u64, Packet>,
    serial: u64,
}

/// The wires of all links.
#[derive(Debug)]
pub(crate) struct Wires {
    /// The next arrival of each wire.
    arrivals: Arrivals,
    fifos: ChunkedFifos<Packet>,
    /// Reordering wires by link; empty if no wire reorders.
    reordering: IndexVec<LinkId, Option<Box<ReorderingWire>>>,
    ties: Ties,
    /// Packets on the way from endpoints to shared links.
    pub(crate) approach: Approach,
}

impl ReorderingWire {
    /// Arrival of the first packet; `Time::MAX` if there is none.
    fn next_time(&self) -> Time {
        self.order.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }
}

impl Wires {
    /// Empty wires. `rare` marks links with few arrival events.
    pub(crate) fn new(links: &[Link], rare: &[bool], ties: Ties) -> Self {
        let reordering = if links.iter().any(Link::reorders) {
            links.iter().map(|link| link.reorders().then(Box::default)).collect()
        } else {
            Vec::new().into()
        };
        Self {
            arrivals: Arrivals::new(rare),
            fifos: ChunkedFifos::new(links.len()),
            reordering,
            ties,
            approach: Approach::default(),
        }
    }

    /// The rank of an event source among the events at `time`.
    pub(crate) fn rank(&self, time: Time, source: EventSource) -> u32 {
        self.ties.rank(time, source)
    }

    /// Time of the next arrival; `Time::MAX` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.arrivals.next_time()
    }

    /// The link of the next arrival, if there is one.
    pub(crate) fn next_link(&self) -> LinkId {
        self.arrivals.wire().into()
    }

    /// Adds a packet with the arrival time `at` to the wire of `link`, on a FIFO after all others. The caller writes
    /// the packet.
    #[allow(clippy::inline_always)] // as a call it would keep the packet in memory
    #[inline(always)]
    pub(crate) fn add(&mut self, link: LinkId, at: Time) -> &mut Packet {
        // The FIFO of a reordering wire stays empty.
        match self.fifos.extend(link.index()) {
            Some(slot) => self.fifos.slot(slot),
            None => self.add_slow_path(link, at),
        }
    }

    /// Adds a packet to a FIFO that is empty or whose last chunk is full, or to a reordering wire.
    #[inline(never)]
    fn add_slow_path(&mut self, link: LinkId, at: Time) -> &mut Packet {
        if !self.reordering.is_empty() && self.reordering[link].is_some() {
            return self.add_unordered(link, at);
        }
        if self.fifos.is_empty(link.index()) {
            self.set_first(link, at);
        }
        self.fifos.push(link.index())
    }

    /// Adds a packet to a reordering wire.
    #[cold]
    fn add_unordered(&mut self, link: LinkId, at: Time) -> &mut Packet {
        let wire = self.reordering[link].as_mut().expect("a reordering link has a reordering wire");
        if at < wire.next_time() {
            self.set_first(link, at);
        }
        let wire = self.reordering[link].as_mut().expect("a reordering link has a reordering wire");
        wire.serial += 1;
        wire.order.push(Reverse((at, wire.serial)));
        wire.packets.entry(wire.serial).or_default()
    }

    /// Removes the next packet and writes it to `packet`; returns its link.
    #[allow(clippy::inline_always)] // part of the engine's loop, of which there are several
    #[inline(always)]
    pub(crate) fn take(&mut self, packet: &mut Packet) -> LinkId {
        let link = LinkId::from(self.arrivals.wire());
        let next = if let Some(first) = self.fifos.front(link.index()) {
            *packet = *first;
            self.fifos.advance(link.index()).map_or(Time::MAX, |next| next.at)
        } else {
            self.take_unordered(link, packet)
        };
        self.set_first(link, next);
        link
    }

    /// Removes the next packet of a reordering wire; returns the next arrival of the wire.
    #[cold]
    fn take_unordered(&mut self, link: LinkId, packet: &mut Packet) -> Time {
        let wire = self.reordering[link].as_mut().expect("a link with an arrival has a packet");
        let Reverse((_, serial)) = wire.order.pop().expect("a link with an arrival has a packet");
        *packet = wire.packets.remove(&serial).expect("every serial number has its packet");
        wire.next_time()
    }

    /// Sets the next arrival on the wire of `link`; `Time::MAX` if there is none.
    #[allow(clippy::inline_always)] // part of the engine's loop, of which there are several
    #[inline(always)]
    fn set_first(&mut self, link: LinkId, at: Time) {
        if self.arrivals.set(link.into(), at) {
            self.move_window(link, at);
        }
    }

    /// Recomputes the keys of all wires for a new window.
    #[cold]
    fn move_window(&mut self, link: LinkId, at: Time) {
        let Self { arrivals, fifos, reordering, .. } = self;
        let first = |wire: u32| match reordering.get(wire as usize) {
            _ if wire == u32::from(link) => at,
            Some(Some(unordered)) => unordered.next_time(),
            _ => fifos.front(wire as usize).map_or(Time::MAX, |packet| packet.at),
        };
        arrivals.move_window(first);
    }

    /// Calls `visit` with every packet on the wire of `link`.
    pub(crate) fn for_each(&self, link: LinkId, mut visit: impl FnMut(&Packet)) {
        self.fifos.for_each(link.index(), &mut visit);
        if let Some(Some(wire)) = self.reordering.get(link.index()) {
            wire.packets.values().for_each(visit);
        }
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        let reordering: usize =
            self.reordering.iter().flatten().map(|one| one.order.capacity() * 16 + one.packets.len() * 64).sum();
        reordering + self.fifos.memory()
    }
}
