//! Reads captures of TCP at the sender (pcap, pcapng), with samples of `ss` for the windows.

mod link;
mod packet;
mod paws;
mod place;
mod plausible;
mod skipped;
mod ss;

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_units::{Fault, Time};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::PcapError;

use crate::event::{Event, Log, Protocol, Remark, What, ORIGIN};
use packet::{Endpoints, Packet};
use paws::Paws;
use plausible::Tally;

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new("", what, hint))
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

/// The program that unpacks the content, if it is compressed: magic numbers of RFC 1952, RFC 8878 and xz.
pub(crate) fn compressed(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 4] =
        [(&[0x1f, 0x8b], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2")];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|one| one.1)
}

/// What a reader of a capture knows besides it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The output of `ss -tin`, each with the time before it.
    pub samples: Option<&'a str>,
    /// The name of the connection.
    pub connection: Option<&'a str>,
    /// Payload of a full segment, bytes.
    pub mss: Option<u64>,
    /// A capture that was not taken at the sender gets the times of the sender; otherwise it is an error.
    pub anywhere: bool,
    /// Of several connections, none of which is named, that with the most data is read.
    pub largest: bool,
}

/// Reads the chosen TCP connection of a capture, or its only one.
///
/// # Errors
///
/// The capture is damaged, has no TCP data, was not taken at the sender, lacks parts of headers or the segment size, or
/// has several connections and none is chosen; the samples have no window.
pub fn read(bytes: &[u8], choice: Choice<'_>) -> Result<Log, Fault> {
    let mut notes = Vec::new();
    let (packets, skipped) = packets(bytes, &mut notes)?;
    if packets.is_empty() || packets.iter().all(|one| one.payload == 0) {
        return Err(plausible::no_data(&skipped, packets.len()));
    }
    plausible::check_complete(&skipped, packets.len())?;
    let packets = plausible::without_copies(packets, &mut notes);
    let Connection { name, endpoints, packets } = choose(connections(packets), choice)?;
    let packets = if choice.anywhere {
        place::at_sender(packets, endpoints, &mut notes)?
    } else {
        plausible::check_place(&packets, endpoints, &mut notes)?;
        packets
    };
    plausible::note_holes(&packets, endpoints, &mut notes);
    let size = choice.mss.map_or_else(|| plausible::segment_size(&packets, endpoints), Ok)?;
    let origin = packets[0].time;
    let mut events = connection_events(&packets, endpoints, origin, size);
    match choice.samples {
        Some(text) => {
            let span = (origin, packets[packets.len() - 1].time);
            ss::merge(&mut events, text, endpoints, span, &counted(&packets, endpoints), &mut notes)?;
        }
        None => notes.push(
            "the capture has no windows: bytes in flight are compared, which shows windows above the reference only"
                .to_owned(),
        ),
    }
    Ok(Log {
        events,
        protocol: Protocol::Tcp,
        windowless: choice.samples.is_none(),
        begins_late: !packets.iter().any(|one| one.syn),
        origin_ms: origin.as_nanos() as f64 * 1e-6,
        connection: name,
        notes,
    })
}

/// A connection of a capture.
struct Connection {
    /// Its endpoints; with its number, where it is not the first between them.
    name: String,
    /// From the side that sent more data.
    endpoints: Endpoints,
    packets: Vec<Packet>,
}

/// The connections with data. Those of the same endpoints follow each other.
fn connections(packets: Vec<Packet>) -> Vec<Connection> {
    let answers = packets.iter().filter(|one| one.syn);
    let answered: BTreeSet<(Endpoints, u32)> =
        answers.filter_map(|one| Some((one.endpoints.reversed(), one.ack?.wrapping_sub(1)))).collect();
    let mut pairs: BTreeMap<Endpoints, Vec<Vec<Packet>>> = BTreeMap::new();
    for packet in packets {
        let all = pairs.entry(packet.endpoints.sorted()).or_default();
        let is_answered = answered.contains(&(packet.endpoints, packet.seq));
        match all.last_mut() {
            Some(last) if !(is_answered && reopens(last, &packet)) => last.push(packet),
            _ => all.push(vec![packet]),
        }
    }
    let mut connections = Vec::new();
    for (pair, mut all) in pairs {
        all.retain(|packets| packets.iter().any(|one| one.payload > 0));
        for (packets, number) in all.into_iter().zip(1..) {
            let endpoints = sender(pair, &packets);
            let name = if number == 1 { endpoints.to_string() } else { format!("{endpoints}#{number}") };
            connections.push(Connection { name, endpoints, packets });
        }
    }
    connections
}

/// Whether `packet` opens a new connection after that of the packets `before`: a SYN with another sequence number than the
/// one before it (RFC 9293, section 3.6.1).
fn reopens(before: &[Packet], packet: &Packet) -> bool {
    let opens = |one: &Packet| one.syn && one.ack.is_none();
    let last = before.iter().rev().find(|one| opens(one) && one.endpoints == packet.endpoints);
    // Of a simultaneous open, the other side's SYN is the first of its own.
    opens(packet) && last.map_or_else(|| before.iter().any(|one| !one.syn), |last| last.seq != packet.seq)
}

/// The chosen connection, or the only one.
fn choose(mut all: Vec<Connection>, choice: Choice<'_>) -> Result<Connection, Fault> {
    let names = all.iter().map(|one| &*one.name).collect::<Vec<_>>().join(", ");
    match (choice.connection, all.len()) {
        (_, 0) => Err(plausible::no_data(&Tally::new(), 0)),
        (None, 1) => Ok(all.remove(0)),
        (None, _) if choice.largest => {
            let data = |one: &Connection| one.packets.iter().map(|one| one.payload).sum::<u64>();
            Ok(all.into_iter().max_by_key(data).expect("there are several"))
        }
        (None, count) => fault(format!("has {count} connections: {names}"), "choose one with `--connection NAME`"),
        (Some(name), _) => match all.into_iter().find(|one| one.name == name) {
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
    let size = plausible::announced(packets, endpoints).unwrap_or(u64::MAX);
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
    fault_of_damage(&error.to_string(), packets)
}

fn fault_of_damage(error: &str, packets: usize) -> Fault {
    let what = format!("is damaged or truncated after {packets} packets: {error}");
    Fault::new("", what, "stop the capture before you copy it")
}

/// The packets of a capture: those of TCP, and how many are not read for which reason.
#[derive(Default)]
struct Packets {
    tcp: Vec<Packet>,
    skipped: Tally,
}

impl Packets {
    /// Adds a packet of `length` bytes, of which the capture has `data`.
    fn add(&mut self, link: u32, time: Time, data: &[u8], length: u32) {
        match Packet::parse(link, time, data, length) {
            Ok(packet) => self.tcp.push(packet),
            Err(reason) => *self.skipped.entry(reason).or_default() += 1,
        }
    }

    fn len(&self) -> usize {
        self.tcp.len() + self.skipped.values().sum::<usize>()
    }
}

/// The TCP packets of the capture in order of time, and counts of the others.
fn packets(bytes: &[u8], notes: &mut Vec<String>) -> Result<(Vec<Packet>, Tally), Fault> {
    let mut all = Packets::default();
    if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        pcapng(bytes, &mut all)?;
    } else {
        pcap(bytes, &mut all)?;
    }
    let Packets { tcp: mut all, skipped } = all;
    let backwards = all.windows(2).filter(|pair| pair[1].time < pair[0].time).count();
    if backwards > 0 {
        notes.push(format!("{backwards} packets have an earlier time than the one before; they are sorted by time"));
        all.sort_by_key(|one| one.time);
    }
    Ok((all, skipped))
}

/// The records of a pcap file (draft-ietf-opsawg-pcap). Read here, since the reader of the library takes a packet that is
/// longer than the snap length for damage.
fn pcap(bytes: &[u8], all: &mut Packets) -> Result<(), Fault> {
    let (swapped, nanoseconds) = match bytes.first_chunk::<4>() {
        Some([0xa1, 0xb2, 0xc3, 0xd4]) => (true, false),
        Some([0xa1, 0xb2, 0x3c, 0x4d]) => (true, true),
        Some([0x4d, 0x3c, 0xb2, 0xa1]) => (false, true),
        _ => (false, false),
    };
    let cut = |packets: usize| fault_of_damage("it ends within a record", packets);
    let word = |at: usize| -> Option<u32> {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if swapped { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    };
    // The upper bits have the length of a frame check sequence.
    let link = word(20).ok_or_else(|| cut(0))? & 0xffff;
    let mut at = 24;
    while at < bytes.len() {
        let header = [word(at), word(at + 4), word(at + 8), word(at + 12)];
        let [Some(seconds), Some(fraction), Some(captured), Some(length)] = header else { return Err(cut(all.len())) };
        let from = at + 16;
        let data = bytes.get(from..from.saturating_add(captured as usize)).ok_or_else(|| cut(all.len()))?;
        let fraction = u64::from(fraction) * if nanoseconds { 1 } else { 1000 };
        all.add(link, Time::from_nanos(u64::from(seconds) * 1_000_000_000 + fraction), data, length);
        at = from + captured as usize;
    }
    Ok(())
}

fn pcapng(bytes: &[u8], all: &mut Packets) -> Result<(), Fault> {
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
                all.add(link, Time::from_nanos(time_ns as u64), &packet.data, packet.original_len);
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

/// The shift of the windows that the receiver of data advertises: both SYNs must have the option, and it is at most 14
/// (RFC 7323, sections 2.2 and 2.3). `None` without a SYN of each side.
fn window_scale(packets: &[Packet], sender: Endpoints) -> Option<u8> {
    let option =
        |side: Endpoints| packets.iter().find(|one| one.syn && one.endpoints == side).map(|one| one.window_scale);
    let (own, other) = (option(sender)?, option(sender.reversed())?);
    Some(own.and(other).unwrap_or(0).min(14))
}

fn connection_events(packets: &[Packet], endpoints: Endpoints, origin: Time, size: u64) -> Vec<Event> {
    let first = packets.iter().find(|one| one.endpoints == endpoints).map_or(0, |one| one.seq);
    let mut numbers = Unwrapped { base: first, last: 1 << 32 };
    let mut events = Vec::new();
    let mut established = false;
    let mut paws = Paws::default();
    // The first packet with each value of the timestamp option.
    let mut stamped: BTreeMap<u32, Time> = BTreeMap::new();
    let scale = window_scale(packets, endpoints);
    let has_sack = packets.iter().any(|one| !one.sack.is_empty())
        || [endpoints, endpoints.reversed()]
            .iter()
            .all(|side| packets.iter().any(|one| one.syn && one.endpoints == *side && one.sack_permitted));
    let accurate_ecn = [endpoints, endpoints.reversed()]
        .iter()
        .all(|side| packets.iter().any(|one| one.endpoints == *side && one.has_accurate_ecn()));
    let mut window = None;
    // The end of the sender's data, once its FIN says so.
    let mut data_end = u64::MAX;
    if !packets.iter().any(|one| one.syn) {
        events.push(Event { time: ORIGIN, what: What::Parameters { mss: Some(size), initial_cwnd: None } });
    }
    for packet in packets {
        let time = ORIGIN + (packet.time - origin);
        let mut push = |what| events.push(Event { time, what });
        if packet.endpoints != endpoints && !paws.accepts(packet) {
            continue;
        }
        if packet.syn {
            if packet.endpoints == endpoints {
                push(What::Remark { remark: Remark::Opened, cwnd: (0, 0) });
            } else if packet.ack.is_some() {
                push(What::Remark { remark: Remark::Established, cwnd: (0, 0) });
                established = true;
            }
            if packet.ack.is_some() {
                push(What::Parameters { mss: Some(size), initial_cwnd: None });
            }
            continue;
        }
        if packet.endpoints == endpoints {
            if let Some((value, _)) = packet.timestamps {
                stamped.entry(value).or_insert(packet.time);
            }
            let seq = numbers.number(packet.seq);
            let mut sent = 0;
            if packet.fin {
                data_end = seq + packet.payload;
            }
            let cwr = !accurate_ecn && packet.cwr();
            // A capture above segmentation offload has several segments in one packet.
            while sent < packet.payload {
                let bytes = (packet.payload - sent).min(size);
                push(What::Segment { seq: seq + sent, bytes, stamp: packet.timestamps.map(|one| one.0), cwr });
                sent += bytes;
            }
        } else if let Some(ack) = packet.ack {
            if !established {
                push(What::Remark { remark: Remark::Established, cwnd: (0, 0) });
                established = true;
            }
            let unwrap = |seq| Unwrapped { base: numbers.base, last: numbers.last }.number(seq);
            // The FIN has a sequence number as well (RFC 9293, section 3.4), and is no data.
            let end = |seq| unwrap(seq).min(data_end);
            let ack = end(ack);
            let sack = packet.sack.iter().map(|block| (unwrap(block.0), end(block.1)));
            let sack = sack.filter(|block| block.0 < block.1).collect();
            let echo = packet.timestamps.map(|one| one.1);
            let echo_rtt = echo.and_then(|echo| stamped.get(&echo)).map(|at| packet.time.saturating_since(*at));
            let rwnd = scale.map(|shift| u64::from(packet.window) << shift);
            let same_window = window.replace(packet.window) == Some(packet.window);
            let duplicates = !has_sack && packet.payload == 0 && !packet.fin && same_window;
            let (ece, ace) = (!accurate_ecn && packet.ece(), accurate_ecn.then_some(packet.ace));
            push(What::TcpAck { ack, sack, ece, ace, echo, echo_rtt, rwnd, duplicates });
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7323, section 2.2: both SYNs must have the option; section 2.3: a shift above 14 counts as 14.
    #[test]
    fn windows_are_scaled_where_both_syns_have_the_option() {
        let ends = Endpoints::example();
        let syn = |endpoints, window_scale| {
            let bare = Packet::bare(Time::ZERO, endpoints, 0, 1000, (0, 0));
            Packet { syn: true, window_scale, ..bare }
        };
        let scale = |sender, receiver| window_scale(&[syn(ends, sender), syn(ends.reversed(), receiver)], ends);
        assert_eq!(scale(Some(2), Some(7)), Some(7));
        assert_eq!(scale(Some(2), Some(15)), Some(14));
        assert_eq!((scale(None, Some(7)), scale(Some(2), None)), (Some(0), Some(0)));
        assert_eq!(window_scale(&[syn(ends, Some(2))], ends), None);
    }

    /// RFC 9293, section 3.6.1: a SYN opens a new connection of the same ports. One that is sent again has its sequence
    /// number. One that the other side does not accept (RFC 5961, section 4) opens nothing. In a simultaneous open (RFC
    /// 9293, section 3.5), both sides send a SYN.
    #[test]
    fn a_syn_with_another_number_opens_a_new_connection() {
        let ends = Endpoints::example();
        let bare = |endpoints, seq, ack| {
            let bare = Packet::bare(Time::ZERO, endpoints, 0, 1000, (0, 0));
            Packet { seq, ack, ..bare }
        };
        let syn = |seq| Packet { syn: true, ..bare(ends, seq, None) };
        let answer = |ack| Packet { syn: true, ..bare(ends.reversed(), 7, Some(ack)) };
        let data = |seq| Packet { payload: 100, ..bare(ends, seq, Some(8)) };
        let found = |packets: Vec<Packet>| -> Vec<(String, usize)> {
            connections(packets).into_iter().map(|one| (one.name, one.packets.len())).collect()
        };
        let name = ends.to_string();
        let first = vec![syn(0), syn(0), answer(1), data(1)];
        assert_eq!(found(first.clone()), [(name.clone(), 4)]);
        let second = vec![syn(900), answer(901), data(901), data(1001), data(1101)];
        let both = [first.clone(), second.clone()].concat();
        assert_eq!(found(both.clone()), [(name.clone(), 4), (format!("{name}#2"), 5)]);
        // The beginning of the first one is not in the capture.
        assert_eq!(found(both[3..].to_vec()), [(name.clone(), 1), (format!("{name}#2"), 5)]);
        // The first one was refused and has no data.
        assert_eq!(found([vec![syn(0), bare(ends.reversed(), 0, Some(1))], second].concat()), [(name.clone(), 5)]);
        assert_eq!(found([first, vec![syn(900), data(101)]].concat()), [(name.clone(), 6)]);
        let other = Packet { syn: true, ..bare(ends.reversed(), 7, None) };
        let again = Packet { syn: true, ..bare(ends, 0, Some(8)) };
        assert_eq!(found(vec![syn(0), other, again, answer(1), data(1)]), [(name, 5)]);
    }

    /// RFC 9293, section 3.4: a FIN has a sequence number. By hand: 100 bytes and a FIN, of which the ACK is 101 after the
    /// first byte. RFC 2018, section 3: the left edge of a block is below its right one; others are left out.
    #[test]
    fn a_fin_is_no_data_and_empty_blocks_are_left_out() {
        let ends = Endpoints::example();
        let bare = |endpoints| Packet::bare(Time::ZERO, endpoints, 0, 1000, (0, 0));
        let data = Packet { seq: 1, payload: 100, fin: true, ack: None, ..bare(ends) };
        let sack = vec![(60, 50), (51, 102)];
        let ack = Packet { ack: Some(102), sack, timestamps: None, ..bare(ends.reversed()) };
        let events = connection_events(&[data, ack], ends, Time::ZERO, 1000);
        let found = events.iter().find_map(|one| match &one.what {
            What::TcpAck { ack, sack, .. } => Some((*ack - (1 << 32), sack.iter().map(|one| one.1 - one.0).collect())),
            _ => None,
        });
        assert_eq!(found, Some((100, vec![50_u64])));
    }
}
