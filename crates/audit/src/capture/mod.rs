//! Reads captures of TCP at the sender (pcap, pcapng), with samples of `ss` for the windows.

mod packet;
mod ss;

use std::collections::BTreeMap;

use cwndlab_control::Fault;
use cwndlab_units::Time;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::PcapError;

use crate::event::{Event, Log, Protocol, Remark, What, ORIGIN};
use packet::{Endpoints, Packet};

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { what: what.into(), hint: hint.into() })
}

/// Whether the content is a capture: the magic numbers of pcapng and of the four kinds of pcap.
#[must_use]
pub fn is_capture(bytes: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
    ];
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

/// Reads the TCP connection `connection` of a capture, or its only one. `samples` is the output of `ss -tin`, each with
/// the time before it.
///
/// # Errors
///
/// The capture is damaged, has no TCP data, or has several connections and none is chosen; the samples have no window.
pub fn read(bytes: &[u8], samples: Option<&str>, connection: Option<&str>) -> Result<Log, Fault> {
    let mut notes = Vec::new();
    let packets = packets(bytes, &mut notes)?;
    let mut connections: BTreeMap<Endpoints, Vec<Packet>> = BTreeMap::new();
    for packet in packets {
        connections.entry(packet.endpoints.sorted()).or_default().push(packet);
    }
    connections.retain(|_, packets| packets.iter().any(|one| one.payload > 0));
    let (endpoints, packets) = choose(connections, connection)?;
    let origin = packets[0].time;
    let mut events = connection_events(&packets, endpoints, origin);
    match samples {
        Some(text) => ss::merge(&mut events, text, endpoints, origin, &counted(&packets, endpoints))?,
        None => notes.push(
            "the capture has no windows: bytes in flight are compared, which shows windows above the reference only"
                .to_owned(),
        ),
    }
    Ok(Log {
        events,
        protocol: Protocol::Tcp,
        windowless: samples.is_none(),
        origin_ms: origin.0 as f64 * 1e-6,
        connection: endpoints.to_string(),
        notes,
    })
}

/// The chosen connection, from the side that sent more data.
fn choose(
    connections: BTreeMap<Endpoints, Vec<Packet>>,
    wanted: Option<&str>,
) -> Result<(Endpoints, Vec<Packet>), Fault> {
    let mut named: Vec<_> = connections.into_iter().map(|(key, packets)| (sender(key, &packets), packets)).collect();
    let names = named.iter().map(|one| one.0.to_string()).collect::<Vec<_>>().join(", ");
    match (wanted, named.len()) {
        (_, 0) => fault("has no TCP data", "capture at the sender, with the headers of all packets"),
        (None, 1) => Ok(named.remove(0)),
        (None, count) => fault(format!("has {count} connections: {names}"), "choose one with `--connection NAME`"),
        (Some(name), _) => match named.into_iter().find(|one| one.0.to_string() == name) {
            Some(found) => Ok(found),
            None => fault(format!("has no connection '{name}'"), format!("its connections are: {names}")),
        },
    }
}

/// The packets as the kernel counts them for a connection.
fn counted(packets: &[Packet], endpoints: Endpoints) -> ss::Counted {
    let mut counted = ss::Counted::default();
    if !packets.first().is_some_and(|one| one.syn) {
        return counted;
    }
    let size = packets.iter().filter_map(Packet::segment_size).min().unwrap_or(u64::MAX);
    for packet in packets {
        if packet.endpoints == endpoints {
            let segments = packet.payload.div_ceil(size) as usize;
            counted.sent.extend(std::iter::repeat_n(packet.time, segments));
        } else {
            counted.received.push(packet.time);
        }
    }
    counted
}

fn sender(key: Endpoints, packets: &[Packet]) -> Endpoints {
    let sum =
        |from: Endpoints| -> u64 { packets.iter().filter(|one| one.endpoints == from).map(|one| one.payload).sum() };
    if sum(key.reversed()) > sum(key) {
        key.reversed()
    } else {
        key
    }
}

fn damaged(error: &PcapError, packets: usize) -> Fault {
    let what = format!("is damaged or truncated after {packets} packets: {error}");
    Fault { what, hint: "stop the capture before you copy it".to_owned() }
}

/// The TCP packets of the capture. A packet that stands under several interfaces counts under the first of them.
fn packets(bytes: &[u8], notes: &mut Vec<String>) -> Result<Vec<Packet>, Fault> {
    let mut all = Vec::new();
    if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        pcapng(bytes, &mut all)?;
    } else {
        let mut reader = PcapReader::new(bytes).map_err(|error| damaged(&error, 0))?;
        let link = u32::from(reader.header().datalink);
        while let Some(next) = reader.next_packet() {
            let next = next.map_err(|error| damaged(&error, all.len()))?;
            all.extend(Packet::parse(link, Time(next.timestamp.as_nanos() as u64), &next.data));
        }
    }
    let backwards = all.windows(2).filter(|pair| pair[1].time < pair[0].time).count();
    if backwards > 0 {
        notes.push(format!("{backwards} packets have an earlier time than the one before; they are sorted by time"));
        all.sort_by_key(|one| one.time);
    }
    Ok(all)
}

fn pcapng(bytes: &[u8], all: &mut Vec<Packet>) -> Result<(), Fault> {
    let mut reader = PcapNgReader::new(bytes).map_err(|error| damaged(&error, 0))?;
    // Link type and ticks per second of each interface.
    let mut interfaces: Vec<(u32, u128)> = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.map_err(|error| damaged(&error, all.len()))? {
            Block::InterfaceDescription(one) => {
                let resolution = one.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(value) => Some(*value),
                    _ => None,
                });
                interfaces.push((u32::from(one.linktype), ticks(resolution.unwrap_or(6))));
            }
            Block::EnhancedPacket(packet) => {
                let Some(&(link, ticks)) = interfaces.get(packet.interface_id as usize) else { continue };
                // The reader takes every tick for a nanosecond.
                let time_ns = packet.timestamp.as_nanos() * 1_000_000_000 / ticks;
                all.extend(Packet::parse(link, Time(time_ns as u64), &packet.data));
            }
            Block::SectionHeader(_) => interfaces.clear(),
            _ => {}
        }
    }
    Ok(())
}

/// Ticks per second (draft-ietf-opsawg-pcapng, section 4.2, if_tsresol): a power of ten, or of two.
fn ticks(resolution: u8) -> u128 {
    let exponent = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10u128.saturating_pow(exponent.min(18))
    } else {
        1 << exponent.min(60)
    }
}

/// Sequence numbers without wrap-around.
struct Unwrapped {
    base: u32,
    last: u64,
}

impl Unwrapped {
    /// The number of `seq`, nearest to the last one. Numbers begin at 2³², so that none is negative.
    fn number(&mut self, seq: u32) -> u64 {
        let expected = self.base.wrapping_add(self.last as u32);
        let distance = i64::from(seq.wrapping_sub(expected).cast_signed());
        self.last = self.last.saturating_add_signed(distance);
        self.last
    }
}

fn connection_events(packets: &[Packet], endpoints: Endpoints, origin: Time) -> Vec<Event> {
    let first = packets.iter().find(|one| one.endpoints == endpoints).map_or(0, |one| one.seq);
    let mut numbers = Unwrapped { base: first, last: 1 << 32 };
    let mss = packets.iter().filter_map(Packet::segment_size).min();
    let mut events = Vec::new();
    let mut established = false;
    for packet in packets {
        let time = ORIGIN + (packet.time - origin);
        let mut push = |what| events.push(Event { time, what });
        if packet.syn {
            if packet.endpoints == endpoints {
                push(What::Remark { remark: Remark::Opened, cwnd: (0, 0) });
            } else if packet.ack.is_some() {
                push(What::Remark { remark: Remark::Established, cwnd: (0, 0) });
                established = true;
            }
            if let Some(mss) = mss.filter(|_| packet.ack.is_some()) {
                push(What::Parameters { mss: Some(mss), initial_cwnd: None });
            }
            continue;
        }
        if packet.endpoints == endpoints {
            let seq = numbers.number(packet.seq);
            let size = mss.unwrap_or(u64::MAX);
            let mut sent = 0;
            // A capture above segmentation offload has several segments in one packet.
            while sent < packet.payload {
                let bytes = (packet.payload - sent).min(size);
                push(What::Segment { seq: seq + sent, bytes });
                sent += bytes;
            }
        } else if let Some(ack) = packet.ack {
            if !established {
                push(What::Remark { remark: Remark::Established, cwnd: (0, 0) });
                established = true;
            }
            let unwrap = |seq| Unwrapped { base: numbers.base, last: numbers.last }.number(seq);
            let ack = unwrap(ack);
            let sack = packet.sack.iter().map(|block| (unwrap(block.0), unwrap(block.1))).collect();
            push(What::TcpAck { ack, sack, ece: packet.ece, echo_rtt: None });
        }
    }
    events
}
