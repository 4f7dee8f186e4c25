//! The packet behind a congestion event: where it was dropped or marked, and the queue and the flows at that time.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use cwndlab_control::{Cause, Report as Reported};
use cwndlab_records::rows::{LinkRow, LinkSampleRow, PacketRow, Records, SampleRow};
use cwndlab_scenario::plan::{ApplicationKind, Plan};
use cwndlab_units::{Duration, Fault, FlowId, Time};

use crate::debug::Moment;

/// The table of packets of a run with more arrivals at links than this needs too much memory.
const MOST_ROWS: u64 = 3_000_000;

/// `kind` of data, and values of `fate`, of the table `packets`.
const DATA: u8 = 0;
const DROPPED: u8 = 1;
const LOST: u8 = 2;
const MARKED: u8 = 3;

/// The event's packet, and its link at the time at which it arrived there.
#[derive(Clone, Debug)]
pub struct LostPacket {
    /// The packet: for a loss the first segment that is missing, for an ECN echo the first marked one.
    pub packet: PacketRow,
    /// Packets of the connection that were dropped and not sent again until the event; for an ECN echo, marked since the
    /// previous congestion event.
    pub count: usize,
    /// The link.
    pub link: LinkRow,
    /// Its queue.
    pub queue: Option<LinkSampleRow>,
    /// The flows, by index.
    pub flows: Vec<Occupancy>,
}

impl LostPacket {
    /// `dropped`, `lost` or `marked`.
    #[must_use]
    pub fn fate(&self) -> &'static str {
        match self.packet.fate {
            DROPPED => "dropped",
            LOST => "lost",
            _ => "marked",
        }
    }
}

/// A flow at the time of a drop.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// Its name.
    pub name: String,
    /// Its packets at the link, waiting or in transmission.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the transport reports; `None` before its start.
    pub sample: Option<SampleRow>,
}

/// The packet behind the congestion event of a flow; for other events and for a loss without one, the reason why there is
/// none.
///
/// # Errors
/// If the run is cancelled.
pub fn lost_packet(
    plan: &Plan,
    seed: u64,
    flow: FlowId,
    moment: &Moment,
    cancel: &AtomicBool,
) -> Result<Result<LostPacket, &'static str>, Fault> {
    let Reported::Congestion(event) = &moment.event else { return Ok(Err("not a congestion event")) };
    if !matches!(plan.flows[flow].workload.application_kind(), ApplicationKind::ByteSource { .. }) {
        return Ok(Err("the packets of this flow's connections are not told apart"));
    }
    let until = |at: Time, packets, sample_interval| {
        let duration = Duration::from_nanos(at.as_nanos().max(1));
        let plan = Plan { duration, packets, sample_interval, ..plan.clone() };
        cwndlab_simulator::run(&plan, seed, cancel, None)
    };
    let arrivals = until(event.now, false, Duration::ZERO)?.links.iter().map(|link| link.arrived_packets).sum::<u64>();
    if arrivals > MOST_ROWS {
        return Ok(Err("too many packets until this event"));
    }
    let records = until(event.now, true, Duration::ZERO)?;
    let candidates = Candidates { records: &records, flow, connection: moment.connection & 0xff, now: event.now };
    let found = if event.cause == Cause::Ecn { candidates.marked() } else { candidates.missing() };
    let Some((packet, count)) = found else {
        return Ok(Err(if event.cause == Cause::Ecn { "no packet was marked" } else { "no packet is missing" }));
    };
    let at = Time::from_nanos(packet.time_ns);
    let samples = until(at, false, Duration::from_nanos(at.as_nanos().max(1)))?;
    Ok(Ok(LostPacket {
        packet: packet.clone(),
        count,
        link: records.links[packet.link as usize].clone(),
        queue: samples.link_samples.iter().find(|row| row.link == packet.link).copied(),
        flows: occupancies(&records, packet, &samples),
    }))
}

/// The packets of a connection until an event.
struct Candidates<'a> {
    records: &'a Records,
    flow: FlowId,
    connection: u32,
    now: Time,
}

impl<'a> Candidates<'a> {
    /// Its data sent before the event.
    fn sent(&self) -> impl Iterator<Item = &'a PacketRow> + '_ {
        self.records.packets.iter().filter(|row| {
            FlowId::from(row.flow) == self.flow
                && row.connection == self.connection
                && row.kind == DATA
                && row.sent_ns < self.now.as_nanos()
        })
    }

    /// Whether the sender can know what became of a packet.
    fn is_known(&self, row: &PacketRow) -> bool {
        row.sent_ns + self.records.flows[self.flow.index()].base_rtt_ns <= self.now.as_nanos()
    }

    /// The first segment whose last transmission was dropped or lost, and their number.
    fn missing(&self) -> Option<(&'a PacketRow, usize)> {
        // By segment, the number of its last transmission, and its row where it was dropped.
        let mut last: BTreeMap<u64, (u64, Option<&PacketRow>)> = BTreeMap::new();
        for row in self.sent() {
            let drop = matches!(row.fate, DROPPED | LOST).then_some(row);
            let entry = last.entry(row.sequence_bytes).or_insert((row.packet, drop));
            if row.packet > entry.0 || (row.packet == entry.0 && drop.is_some()) {
                *entry = (row.packet, drop);
            }
        }
        let dropped: Vec<_> = last.into_values().filter_map(|(_, drop)| drop).collect();
        let first = dropped.iter().copied().find(|row| self.is_known(row))?;
        Some((first, dropped.len()))
    }

    /// The first packet marked since the previous congestion event (RFC 3168, section 6.1.2: one response per window),
    /// and their number.
    fn marked(&self) -> Option<(&'a PacketRow, usize)> {
        let events = self.records.events.iter().filter(|row| {
            FlowId::from(row.flow) == self.flow
                && row.time_ns < self.now.as_nanos()
                && matches!(row.kind, "recovery" | "timeout" | "ecn")
        });
        let since = events.map(|row| row.time_ns).max().unwrap_or(0);
        let marked: Vec<_> = self.sent().filter(|row| row.fate == MARKED && row.sent_ns >= since).collect();
        let first =
            marked.iter().copied().filter(|row| self.is_known(row)).min_by_key(|row| (row.time_ns, row.packet))?;
        Some((first, marked.len()))
    }
}

/// Who had how many packets at the link at which `packet` arrived.
fn occupancies(records: &Records, packet: &PacketRow, samples: &Records) -> Vec<Occupancy> {
    let row = |(index, flow): (usize, &cwndlab_records::rows::FlowRow)| Occupancy {
        name: flow.name.clone(),
        packets: 0,
        bytes: 0,
        sample: samples.samples.iter().find(|row| row.flow as usize == index).copied(),
    };
    let mut flows: Vec<_> = records.flows.iter().enumerate().map(row).collect();
    let is_there = |row: &&PacketRow| {
        row.link == packet.link
            && row.fate != DROPPED
            && (row.time_ns, row.packet) < (packet.time_ns, packet.packet)
            && row.departure_ns.is_none_or(|at| at > packet.time_ns)
    };
    for row in records.packets.iter().filter(is_there) {
        let flow = &mut flows[row.flow as usize];
        flow.packets += 1;
        flow.bytes += u64::from(row.size_bytes);
    }
    flows
}
