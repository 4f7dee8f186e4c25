//! Packets as they are written down at the entrance of each link, where a scenario asks for it.
//!
//! A packet on its way has no number of its own. While packets are recorded, its `aux` is a ticket, which holds the number,
//! when it was sent, and the `aux` proper; on its last link it gets that back, so that endpoints see nothing of it.

use std::fmt::Write as _;

use cwndlab_network::link::Passage;
use cwndlab_records::rows::PacketRow;
use cwndlab_scenario::plan::{Ecn, Plan};
use cwndlab_transport::recovery::uses_sack;
use cwndlab_transport::wire::Blocks;

use crate::packet::{Packet, ACK, AGAIN, CE, CWR, DATA, ECE, ECT, EXTRA, SYN, SYN_ACK};
use crate::world::World;

/// What is known of a packet under way.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    number: u64,
    sent: u64,
    aux: u32,
}

/// What a flow negotiates.
#[derive(Clone, Copy, Debug)]
struct Terms {
    mss: u32,
    timestamps: bool,
    sack: bool,
    ecn: Ecn,
    window_shift: u32,
}

/// The rows, and the tickets of packets under way.
#[derive(Debug)]
pub struct Recorder {
    /// What was written down.
    pub rows: Vec<PacketRow>,
    tickets: Vec<Ticket>,
    free: Vec<u32>,
    sent: u64,
    terms: Vec<Terms>,
}

impl Recorder {
    /// Nothing written down yet.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let terms = plan.flows.iter().map(|flow| Terms {
            mss: flow.stack.mss.0 as u32,
            timestamps: flow.stack.timestamps,
            sack: flow.stack.sack && uses_sack(flow.recovery),
            ecn: flow.stack.ecn,
            window_shift: flow.stack.window_shift(),
        });
        Self { rows: Vec::new(), tickets: Vec::new(), free: Vec::new(), sent: 0, terms: terms.collect() }
    }

    /// A ticket for a packet that is sent now.
    pub(crate) fn issue(&mut self, now: u64, aux: u32) -> u32 {
        let number = self.sent;
        self.sent += 1;
        self.keep(Ticket { number, sent: now, aux })
    }

    /// A ticket for a duplicate that the wire made.
    pub(crate) fn reissue(&mut self, of: u32, aux: u32) -> u32 {
        self.keep(Ticket { aux, ..self.tickets[of as usize] })
    }

    fn keep(&mut self, ticket: Ticket) -> u32 {
        if let Some(index) = self.free.pop() {
            self.tickets[index as usize] = ticket;
            return index;
        }
        self.tickets.push(ticket);
        self.tickets.len() as u32 - 1
    }
}

impl World {
    /// The packet with its own `aux`.
    pub(crate) fn unticketed(&self, packet: Packet) -> Packet {
        match &self.recorder {
            Some(recorder) => Packet { aux: recorder.tickets[packet.aux as usize].aux, ..packet },
            None => packet,
        }
    }

    /// The same, and the ticket is free again.
    pub(crate) fn redeemed(&mut self, packet: Packet) -> Packet {
        let own = self.unticketed(packet);
        if let Some(recorder) = &mut self.recorder {
            recorder.free.push(packet.aux);
        }
        own
    }

    /// Writes down a packet that arrived at the entrance of `link` at `since` and came to this.
    #[cold]
    pub(crate) fn record(&mut self, since: u64, link: u32, packet: Packet, passage: Passage) {
        let Some(recorder) = &self.recorder else { return };
        let ticket = recorder.tickets[packet.aux as usize];
        let Terms { mss, timestamps, sack, ecn, window_shift } = recorder.terms[self.owner[packet.flow()] as usize];
        let kind = packet.kind();
        let (fate, departure_ns, arrival_ns) = match passage {
            Passage::Dropped => (1, None, None),
            Passage::Lost { departure } => (2, Some(departure), None),
            Passage::Arrives { departure, at, marked, .. } => (if marked { 3 } else { 0 }, Some(departure), Some(at)),
        };
        let extra = packet.flags & EXTRA != 0;
        let (mut payload_bytes, mut window_bytes, mut blocks) = (0, None, Blocks::default());
        match kind {
            DATA => payload_bytes = if extra { self.asked(ticket.aux).len } else { ticket.aux },
            ACK if extra => {
                let extra = self.extra(ticket.aux);
                (window_bytes, blocks) = (Some(extra.window), extra.blocks);
            }
            ACK => window_bytes = Some(u64::from(ticket.aux) << window_shift),
            _ => {}
        }
        let negotiates = ecn != Ecn::Off;
        let marked_before = packet.flags & CE != 0 && fate != 3;
        let row = PacketRow {
            time_ns: since,
            link,
            flow: self.owner[packet.flow()],
            kind,
            sequence_bytes: u64::from(packet.seq) * u64::from(mss),
            size_bytes: u32::from(packet.size),
            fate,
            departure_ns,
            retransmission: kind == DATA && packet.flags & AGAIN != 0,
            packet: ticket.number,
            sent_ns: ticket.sent,
            arrival_ns,
            connection: packet.flow >> 24,
            payload_bytes,
            echo_ns: (timestamps && kind == ACK).then_some(packet.stamp),
            window_bytes,
            sack: if sack && matches!(kind, SYN | SYN_ACK) { "permitted".to_owned() } else { text(&blocks, mss) },
            ecn: match packet.flags & ECT != 0 && kind == DATA {
                true if marked_before => 3,
                true if self.scalable[packet.flow()] => 1,
                true => 2,
                false => 0,
            },
            ece: packet.flags & ECE != 0 || (negotiates && matches!(kind, SYN | SYN_ACK)),
            cwr: packet.flags & CWR != 0 || (negotiates && kind == SYN),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.rows.push(row);
        }
    }
}

/// SACK blocks, `from-to` in bytes.
fn text(blocks: &Blocks, mss: u32) -> String {
    let mut text = String::new();
    for &(from, to) in blocks.as_slice() {
        let blank = if text.is_empty() { "" } else { " " };
        let bytes = |segment: u64| (segment & u64::from(u32::MAX)) * u64::from(mss);
        write!(text, "{blank}{}-{}", bytes(from), bytes(to)).expect("a string takes what is written");
    }
    text
}
