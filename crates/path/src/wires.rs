//! Packets between the end of a link's line and the end of its wire: each arrival is an event.
//!
//! A wire is a FIFO, of which only the first packet is among the arrivals to come. Their number depends on the network and
//! not on windows, and the packets of a wire lie side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_network::chunked_fifos::ChunkedFifos;
use cwndlab_network::link::Link;
use cwndlab_units::Time;

use crate::agenda::Agenda;
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
    /// The first packet of each FIFO, and every packet of a wire that reorders.
    arrivals: Agenda,
    fifos: ChunkedFifos<Packet>,
    /// By link; empty if no wire reorders.
    reordering: Vec<Option<Box<ReorderingWire>>>,
    ties: Ties,
}

impl Wires {
    /// Empty wires.
    pub(crate) fn new(links: &[Link], ties: Ties) -> Self {
        let reordering = if links.iter().any(Link::reorders) {
            links.iter().map(|link| link.reorders().then(Box::default)).collect()
        } else {
            Vec::new()
        };
        Self { arrivals: Agenda::new(links.len(), ties), fifos: ChunkedFifos::new(links.len()), reordering, ties }
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
        if !self.reordering.is_empty() && self.reordering[link as usize].is_some() {
            return self.add_unordered(link, at);
        }
        let (slot, is_first) = self.fifos.push(link as usize);
        if is_first {
            self.arrivals.push(at, link);
        }
        slot
    }

    /// Adds a packet to a wire that reorders.
    #[cold]
    fn add_unordered(&mut self, link: u32, at: Time) -> &mut Packet {
        self.arrivals.push(at, link);
        let wire = self.reordering[link as usize].as_mut().expect("a link that reorders has its wire");
        wire.serial += 1;
        wire.order.push(Reverse((at, wire.serial)));
        wire.packets.entry(wire.serial).or_default()
    }

    /// Takes the next packet, whose arrival is the event of now; returns the link, too.
    #[inline]
    pub(crate) fn take(&mut self) -> (Packet, u32) {
        let link = self.arrivals.source();
        let Some(&packet) = self.fifos.front(link as usize) else { return (self.take_unordered(link), link) };
        match self.fifos.advance(link as usize) {
            Some(next) => self.arrivals.replace_top(next.at, link),
            None => self.arrivals.pop(),
        }
        (packet, link)
    }

    /// Takes the next packet of a wire that reorders.
    #[cold]
    fn take_unordered(&mut self, link: u32) -> Packet {
        self.arrivals.pop(); // one entry per packet: the first one may change
        let wire = self.reordering[link as usize].as_mut().expect("a link with an arrival has a packet");
        let Reverse((_, serial)) = wire.order.pop().expect("a link with an arrival has a packet");
        wire.packets.remove(&serial).expect("every serial number has its packet")
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        let reordering: usize =
            self.reordering.iter().flatten().map(|one| one.order.capacity() * 16 + one.packets.len() * 64).sum();
        reordering + self.fifos.memory()
    }
}
