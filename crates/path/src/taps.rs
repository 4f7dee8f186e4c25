//! Packet records: one row for each packet at the entrance of each link, if the scenario enables them.
//!
//! A packet in transit has no number. While packets are recorded, its `aux` is the index of an entry with its number,
//! that of its connection, its sending time and its original `aux`. After the last link the original `aux` is restored
//! for the endpoint.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cwndlab_network::link::Outcome;
use cwndlab_records::rows::PacketRow;
use cwndlab_scenario::plan::{Ecn, Plan};
use cwndlab_transport::recovery::uses_sack;
use cwndlab_transport::wire::SackBlocks;
use cwndlab_units::{FlowId, IndexVec, LinkId, Time};

use crate::connection_numbers::ConnectionNumbers;
use crate::owner::PacketOwner;
use crate::packet::{Packet, ACK, CWR, DATA, ECE, ECN, ECT, RETRANSMISSION, SYN, SYN_ACK};
use crate::packet_options::{AckOptions, PacketOptions};

/// The entry of a packet in transit.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    sent: Time,
    /// Number of its flow's connection.
    connection: u32,
    aux: u32,
}

/// The negotiated options of a flow.
#[derive(Clone, Copy, Debug)]
struct Negotiated {
    mss: u32,
    timestamps: bool,
    sack: bool,
    ecn: Ecn,
    window_shift: u8,
}

/// Records packets: the rows so far, and entries of the packets in transit.
#[derive(Debug)]
pub struct PacketTap {
    /// Rows of the table `packets`.
    pub rows: Vec<PacketRow>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// By entry, the packets in queues that decide later: time of arrival, link and packet.
    queued: BTreeMap<u32, (Time, LinkId, Packet)>,
    sent: u64,
    connections: ConnectionNumbers,
    negotiated: IndexVec<FlowId, Negotiated>,
}

impl PacketTap {
    /// A tap without rows.
    pub(crate) fn new(plan: &Plan) -> Self {
        let negotiated = plan.flows.iter().map(|flow| Negotiated {
            mss: flow.stack.mss.0 as u32,
            timestamps: flow.stack.timestamps,
            sack: flow.stack.sack && uses_sack(flow.recovery),
            ecn: flow.stack.ecn,
            window_shift: flow.stack.window_shift() as u8,
        });
        Self {
            rows: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
            queued: BTreeMap::new(),
            sent: 0,
            connections: ConnectionNumbers::new(plan),
            negotiated: negotiated.collect(),
        }
    }

    /// Adds a secondary connection of the flow `owner`, the other direction of the flow's own one if `reversed`.
    pub(crate) fn add_connection(&mut self, owner: FlowId, reversed: bool) {
        self.connections.add(owner, reversed);
    }

    /// Adds an entry for a packet of `flow` sent at `now`; returns its index.
    pub(crate) fn register(&mut self, now: Time, packet: Packet, flow: FlowId) -> u32 {
        let number = self.sent;
        self.sent += 1;
        let connection = self.connections.of(packet.tag(), flow);
        self.insert(Entry { number, sent: now, connection, aux: packet.aux })
    }

    /// Adds an entry for a duplicate of the packet with the entry `of`; returns its index.
    pub(crate) fn register_copy(&mut self, of: u32, aux: u32) -> u32 {
        self.insert(Entry { aux, ..self.entries[of as usize] })
    }

    fn insert(&mut self, entry: Entry) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            return index;
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// The original `aux` of the packet with this entry.
    pub(crate) fn aux(&self, entry: u32) -> u32 {
        self.entries[entry as usize].aux
    }

    /// Frees an entry.
    pub(crate) fn release(&mut self, entry: u32) {
        self.free.push(entry);
    }

    /// Stores a packet that joins the queue of `link` at `now` and whose outcome is not known.
    pub(crate) fn enqueue(&mut self, now: Time, link: LinkId, packet: Packet) {
        self.queued.insert(packet.aux, (now, link, packet));
    }

    /// Records the packets whose outcome is not known at the end of the run, in the order of their arrival. `owner` gives
    /// the flow of a packet, and whether it has ECT(1).
    pub(crate) fn record_queued(&mut self, owner: impl Fn(&Packet) -> PacketOwner, options: &PacketOptions) {
        let mut queued: Vec<_> = std::mem::take(&mut self.queued).into_values().collect();
        queued.sort_by_key(|&(since, link, packet)| (since, link, self.entries[packet.aux as usize].number));
        for (since, link, packet) in queued {
            self.add_row(since, link, packet, (0, None, None), owner(&packet), options);
        }
    }

    /// Records a packet of the flow `owner`, with ECT(1) if `scalable`, that arrived at the entrance of `link` at `since`.
    pub(crate) fn record(
        &mut self,
        since: Time,
        link: LinkId,
        packet: Packet,
        outcome: Outcome,
        owner: PacketOwner,
        options: &PacketOptions,
    ) {
        self.queued.remove(&packet.aux);
        self.add_row(since, link, packet, fate(outcome), owner, options);
    }

    fn add_row(
        &mut self,
        since: Time,
        link: LinkId,
        packet: Packet,
        (fate, departure_ns, arrival_ns): (u8, Option<u64>, Option<u64>),
        PacketOwner { flow: owner, is_scalable: scalable, .. }: PacketOwner,
        options: &PacketOptions,
    ) {
        let entry = self.entries[packet.aux as usize];
        let Negotiated { mss, timestamps, sack, ecn, window_shift } = self.negotiated[owner];
        let kind = packet.kind();
        let contents = Contents::of(&Packet { aux: entry.aux, ..packet }, window_shift, options);
        let negotiates = ecn != Ecn::Off;
        // The handshake of Accurate ECN sets these flags itself.
        let on_wire = ecn == Ecn::AccEcn && kind != DATA;
        let number = number_on_wire(&packet, contents.payload_bytes);
        self.rows.push(PacketRow {
            time_ns: since.as_nanos(),
            link: link.into(),
            flow: owner.into(),
            kind,
            sequence_bytes: u64::from(number) * u64::from(mss) + u64::from(contents.part),
            size_bytes: u32::from(packet.size),
            fate,
            departure_ns,
            retransmission: kind == DATA && packet.flags & RETRANSMISSION != 0,
            packet: entry.number,
            sent_ns: entry.sent.as_nanos(),
            arrival_ns,
            connection: entry.connection,
            payload_bytes: contents.payload_bytes,
            echo_ns: (timestamps && kind == ACK).then_some(packet.timestamp.as_nanos()),
            window_bytes: contents.window_bytes,
            sack: if sack && matches!(kind, SYN | SYN_ACK) {
                "permitted".to_owned()
            } else {
                sack_text(&contents.blocks, mss)
            },
            ecn: codepoint(&packet, scalable),
            ece: if kind == ACK || on_wire { packet.flags & ECE != 0 } else { negotiates && kind != DATA },
            cwr: packet.flags & CWR != 0 || (negotiates && !on_wire && kind == SYN),
            ace: on_wire.then(|| u32::from(packet.accecn_flags())),
        });
    }
}

/// The number of a packet with this payload: a window probe has the number below SND.UNA, and no payload; that of a SYN-ACK
/// is an echo.
fn number_on_wire(packet: &Packet, payload: u32) -> u32 {
    match packet.kind() {
        SYN_ACK => 0,
        DATA if payload == 0 => packet.seq.wrapping_add(1),
        _ => packet.seq,
    }
}

/// The value of `fate` for a packet that this link marked and delivered.
const MARKED: u8 = 3;

/// The columns `fate`, `departure_ns` and `arrival_ns`.
fn fate(outcome: Outcome) -> (u8, Option<u64>, Option<u64>) {
    match outcome {
        Outcome::Dropped => (1, None, None),
        Outcome::Lost { departure } => (2, Some(departure.as_nanos()), None),
        Outcome::Arrives { departure, at, marked, .. } => {
            (if marked { MARKED } else { 0 }, Some(departure.as_nanos()), Some(at.as_nanos()))
        }
    }
}

/// The column `ecn`: the codepoint on arrival at the link (RFC 3168, section 5).
fn codepoint(packet: &Packet, scalable: bool) -> u8 {
    match packet.flags & ECN {
        0 => 0,
        ECN => 3,
        field if (field == ECT) == scalable => 1,
        _ => 2,
    }
}

/// The contents of a packet.
#[derive(Default)]
struct Contents {
    payload_bytes: u32,
    part: u32,
    window_bytes: Option<u64>,
    blocks: SackBlocks,
}

impl Contents {
    fn of(packet: &Packet, window_shift: u8, options: &PacketOptions) -> Self {
        match (packet.kind(), packet.options()) {
            (DATA, Some(index)) => Self { payload_bytes: options.segment(index).len, ..Self::default() },
            (DATA, None) => Self { payload_bytes: packet.payload(), ..Self::default() },
            (ACK, Some(index)) => {
                let AckOptions { part, window, blocks, .. } = *options.ack(index);
                Self { part, window_bytes: Some(window), blocks, ..Self::default() }
            }
            (ACK, None) => Self { window_bytes: Some(packet.window(window_shift).0), ..Self::default() },
            _ => Self::default(),
        }
    }
}

/// SACK blocks as text, `from-to` in bytes.
fn sack_text(blocks: &SackBlocks, mss: u32) -> String {
    let mut text = String::new();
    for &(from, to) in blocks.as_slice() {
        let blank = if text.is_empty() { "" } else { " " };
        let bytes = |segment: u64| (segment & u64::from(u32::MAX)) * u64::from(mss);
        write!(text, "{blank}{}-{}", bytes(from), bytes(to)).expect("writing to a string succeeds");
    }
    text
}
