//! Packets between the end of a link's line and the end of its wire.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_network::chunked_fifos::ChunkedFifos;
use cwndlab_network::link::Link;
use cwndlab_units::Time;

use crate::agenda::Agenda;
use crate::packet::Packet;

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
    /// FIFO wires: only the first packet of each has an event on the agenda.
    fifos: ChunkedFifos<Packet>,
    /// By link: every packet has its own event.
    reordering: Vec<Option<Box<ReorderingWire>>>,
}

impl Wires {
    /// Empty wires.
    pub(crate) fn new(links: &[Link]) -> Self {
        Self {
            fifos: ChunkedFifos::new(links.len()),
            reordering: links.iter().map(|link| link.reorders().then(Box::default)).collect(),
        }
    }

    /// A place on the wire of `link` for a packet that leaves it at `at`, after all others on it.
    #[allow(clippy::inline_always)] // as a call it would keep the packet in memory meanwhile
    #[inline(always)]
    pub(crate) fn add_in_order(&mut self, agenda: &mut Agenda, link: u32, at: Time) -> &mut Packet {
        let (slot, first) = self.fifos.push(link as usize);
        if first {
            agenda.push(at, link);
        }
        slot
    }

    /// Adds a packet to a wire that reorders.
    #[cold]
    pub(crate) fn schedule_unordered(&mut self, agenda: &mut Agenda, link: u32, packet: Packet) {
        let wire = self.reordering[link as usize].as_mut().expect("a link that reorders has its heap");
        wire.serial += 1;
        wire.order.push(Reverse((packet.at, wire.serial)));
        wire.packets.insert(wire.serial, packet);
        agenda.push(packet.at, link);
    }

    /// Takes the packet that leaves the wire of `link` now. The link is the agenda's top, and its next packet takes that
    /// place.
    #[inline]
    pub(crate) fn take_arrival(&mut self, agenda: &mut Agenda, link: u32) -> Packet {
        if let Some(&packet) = self.fifos.front(link as usize) {
            match self.fifos.advance(link as usize) {
                Some(next) => agenda.replace_top(next.at, link),
                None => agenda.pop(),
            }
            return packet;
        }
        agenda.pop(); // one entry per packet: the first one may change
        let wire = self.reordering[link as usize].as_mut().expect("a link on the agenda has a packet");
        let Reverse((_, serial)) = wire.order.pop().expect("a link on the agenda has a packet");
        wire.packets.remove(&serial).expect("every serial number has its packet")
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        let reordering: usize =
            self.reordering.iter().flatten().map(|one| one.order.capacity() * 16 + one.packets.len() * 64).sum();
        reordering + self.fifos.memory()
    }
}
