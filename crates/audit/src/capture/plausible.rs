//! Checks of what a capture can say: copies of packets, the place of the capture, the size of a segment.

use std::collections::BTreeMap;

use cwndlab_units::{Duration, Fault, Time};

use super::link::READABLE;
use super::packet::{Endpoints, Packet};
use super::skipped::Skipped;

/// Copies of one packet that a capture on several interfaces has follow within this time.
const COPY: Duration = Duration::from_nanos(2_000_000);
/// The same for packets with an identification: it differs between transmissions of one segment.
const IDENTIFIED_COPY: Duration = Duration::from_nanos(1_000_000_000);
/// Copies are removed where one in this many data packets is one: fewer are the network's.
const COPIED_SHARE: usize = 4;
/// A sender whose host answers more slowly than this is not at the place of the capture.
pub(super) const NEAR: Duration = Duration::from_nanos(200_000);
/// Data packets that are outstanding at a receiver: those between two delayed ACKs.
const FEW: usize = 4;
/// Outstanding packets that are remembered.
const MOST_OUTSTANDING: usize = 1000;
/// Packets that a comparison of times takes.
const ENOUGH: usize = 50;
/// Payload of a segment on links without and with jumbo frames (IEEE 802.3: 1500 bytes; 9216 in common use).
const ETHERNET_PAYLOAD: u64 = 1460;
const JUMBO_PAYLOADS: std::ops::RangeInclusive<u64> = 8800..=9176;

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new("", what, hint))
}

/// Counts of the packets that were not read, by their reason.
pub(super) type Tally = BTreeMap<Skipped, usize>;

/// Why a capture has no TCP data: its most frequent obstacle.
pub(super) fn no_data(tally: &Tally, tcp: usize) -> Fault {
    let all: usize = tally.values().sum::<usize>() + tcp;
    let most = tally.iter().max_by_key(|(_, count)| **count).filter(|(_, count)| **count * 2 > all);
    let capture = "capture at the sender, with the headers of all packets".to_owned();
    let Some((reason, count)) = most else {
        let what = if tcp == 0 {
            "has no TCP data".to_owned()
        } else {
            format!("has no TCP data: none of its {tcp} TCP packets has a payload, as in a capture of the ACKs alone")
        };
        return Fault::new("", what, capture);
    };
    let of = format!("{count} of {all} packets");
    let (what, hint) = match reason {
        Skipped::Link(link) => (
            format!("has link type {link}, which is not read"),
            format!("capture on another interface, or convert it with `editcap -T`; read are {READABLE}"),
        ),
        Skipped::NoIp => (format!("has no TCP data: {of} are not IP"), capture),
        Skipped::Protocol(17) => (
            format!("has no TCP data: {of} are UDP"),
            "QUIC is encrypted: audit the qlog that its sender writes".to_owned(),
        ),
        Skipped::Protocol(number) => (format!("has no TCP data: {of} are of IP protocol {number}"), capture),
        Skipped::Encrypted => (
            format!("has no TCP data: {of} are encrypted frames of IEEE 802.11"),
            "capture on the sender's own interface, or decrypt the frames first".to_owned(),
        ),
        Skipped::Fragment => (
            format!("has no TCP data: {of} are fragments of IP packets"),
            "capture where packets are not fragmented".to_owned(),
        ),
        Skipped::Cut(length) => cut(*count, *length),
    };
    Fault::new("", what, hint)
}

fn cut(count: usize, length: usize) -> (String, String) {
    (
        format!("cuts {count} packets within their headers, after {length} B: the snap length is too short"),
        "capture with `tcpdump -s 128` or more: the options have the SACK blocks".to_owned(),
    )
}

/// A capture whose snap length cuts headers lacks the ACKs with SACK blocks, which have the longest ones.
pub(super) fn check_complete(tally: &Tally, tcp: usize) -> Result<(), Fault> {
    let cuts =
        || tally.iter().filter_map(|(one, count)| if let Skipped::Cut(at) = one { Some((*at, *count)) } else { None });
    let count: usize = cuts().map(|(_, count)| count).sum();
    if count * 1000 <= tcp {
        return Ok(());
    }
    let (what, hint) = cut(count, cuts().map(|(length, _)| length).max().unwrap_or(0));
    Err(Fault::new("", what, hint))
}

/// Removes the copies of packets that were captured on several interfaces.
pub(super) fn without_copies(packets: Vec<Packet>, notes: &mut Vec<String>) -> Vec<Packet> {
    let mut seen = BTreeMap::new();
    let is_copy: Vec<bool> = packets
        .iter()
        .map(|packet| {
            let limit = if packet.ip_id == 0 { COPY } else { IDENTIFIED_COPY };
            let last = seen.insert(packet.fields(), packet.time);
            last.is_some_and(|last| packet.time.saturating_since(last) <= limit)
        })
        .collect();
    let with_data = |one: &(&Packet, &bool)| one.0.payload > 0;
    let data = packets.iter().zip(&is_copy).filter(with_data).count();
    let copies = packets.iter().zip(&is_copy).filter(with_data).filter(|one| *one.1).count();
    if copies == 0 || copies * COPIED_SHARE < data {
        return packets;
    }
    let all = is_copy.iter().filter(|one| **one).count();
    notes.push(format!(
        "{all} of {} packets are copies, as of a capture on several interfaces: the first of each is kept",
        packets.len()
    ));
    packets.into_iter().zip(is_copy).filter(|one| !one.1).map(|one| one.0).collect()
}

/// Times from the place of the capture to the two ends and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Halves {
    /// To the sender of data.
    pub(super) sender: Duration,
    /// To its receiver.
    pub(super) receiver: Duration,
}

impl Halves {
    /// The minima of the handshake and of the timestamps (RFC 7323): the time until an end echoes a value.
    pub(super) fn of(packets: &[Packet], from: Endpoints) -> Option<Self> {
        let both = [Self::by_handshake(packets, from), Self::by_timestamps(packets, from)];
        both.into_iter().flatten().reduce(|one, other| Self {
            sender: one.sender.min(other.sender),
            receiver: one.receiver.min(other.receiver),
        })
    }

    fn by_handshake(packets: &[Packet], from: Endpoints) -> Option<Self> {
        let answer = packets.iter().position(|one| one.syn && one.ack.is_some())?;
        let server = packets[answer].endpoints;
        let opened = packets[..answer].iter().rev().find(|one| one.syn && one.endpoints == server.reversed())?;
        let third = packets[answer..].iter().find(|one| !one.syn && one.endpoints == server.reversed())?;
        let to_server = packets[answer].time - opened.time;
        let to_client = third.time - packets[answer].time;
        Some(if server == from {
            Self { sender: to_server, receiver: to_client }
        } else {
            Self { sender: to_client, receiver: to_server }
        })
    }

    fn by_timestamps(packets: &[Packet], from: Endpoints) -> Option<Self> {
        let echoes = |asking: Endpoints| {
            let mut asked: BTreeMap<u32, Time> = BTreeMap::new();
            let mut least: Option<Duration> = None;
            for packet in packets.iter().filter(|one| !one.syn) {
                let Some((value, echo)) = packet.timestamps else { continue };
                if packet.endpoints == asking {
                    asked.entry(value).or_insert(packet.time);
                } else if let Some(at) = asked.remove(&echo) {
                    let time = packet.time.saturating_since(at);
                    least = Some(least.map_or(time, |least| least.min(time)));
                }
            }
            least
        };
        Some(Self { receiver: echoes(from)?, sender: echoes(from.reversed())? })
    }
}

/// Refuses captures whose place is not the sender: there, bytes in flight and the order of events are others.
pub(super) fn check_place(packets: &[Packet], from: Endpoints, notes: &mut Vec<String>) -> Result<(), Fault> {
    let hint = format!("capture at the sender of the data, {}", from.from);
    if let Some(Halves { sender, receiver }) = Halves::of(packets, from) {
        let near = sender.as_nanos() as f64 / 1e6;
        let far = receiver.as_nanos() as f64 / 1e6;
        if sender > receiver && sender > NEAR {
            let what =
                format!("was taken at the receiver: it answers after {far:.3} ms, the sender after {near:.3} ms");
            return fault(what, hint);
        }
        if sender.as_nanos() * 10 > receiver.as_nanos() && sender > NEAR {
            notes.push(format!(
                "the capture was taken {near:.3} ms from the sender, of {:.3} ms round-trip time: bytes in flight and the \
                 order of ACKs and data are not those of the sender",
                near + far
            ));
        }
        return Ok(());
    }
    if let Some(time) = acknowledged_at_once(packets, from) {
        let what = format!(
            "cannot be told from one at the receiver: data is acknowledged within {:.3} ms, with at most {FEW} packets \
             outstanding, and it has neither a handshake nor timestamps",
            time.as_nanos() as f64 / 1e6
        );
        return fault(what, hint);
    }
    Ok(())
}

/// The median time between data and its ACK, where few packets are outstanding and ACKs follow data sooner than data
/// ACKs: each ACK answers the last packets.
fn acknowledged_at_once(packets: &[Packet], from: Endpoints) -> Option<Duration> {
    let mut outstanding = Vec::new();
    let mut counts = Vec::new();
    let mut answers = Vec::new();
    let mut gaps = Vec::new();
    let mut last_ack: Option<Time> = None;
    for packet in packets {
        if packet.endpoints == from && packet.payload > 0 {
            outstanding.push((packet.seq.wrapping_add(packet.payload as u32), packet.time));
            counts.push(outstanding.len());
            gaps.extend(last_ack.take().map(|at| packet.time - at));
        } else if let Some(ack) = packet.ack.filter(|_| packet.endpoints != from) {
            let newest =
                outstanding.iter().filter(|one| ack.wrapping_sub(one.0).cast_signed() >= 0).map(|one| one.1).max();
            answers.extend(newest.map(|sent| packet.time - sent));
            outstanding.retain(|one| ack.wrapping_sub(one.0).cast_signed() < 0);
            last_ack = Some(packet.time);
        }
        // After a loss ACKs stand still, also at a receiver.
        if outstanding.len() > MOST_OUTSTANDING {
            outstanding.clear();
        }
    }
    if answers.len() < ENOUGH || gaps.len() < ENOUGH {
        return None;
    }
    counts.sort_unstable();
    answers.sort_unstable();
    gaps.sort_unstable();
    let median = answers[answers.len() / 2];
    let gap = gaps[gaps.len() / 2];
    (counts[counts.len() / 2] <= FEW && median < gap && median < Duration::from_millis(1)).then_some(median)
}

/// Bytes of the timestamp option with its padding (RFC 7323, appendix A).
const TIMESTAMPS: u64 = 12;

/// The payload of a full segment by the handshake. Without timestamps in the segments it is the MSS: they are in use only if
/// both SYNs have them, and then all segments do (RFC 7323, section 3.2).
pub(super) fn announced(packets: &[Packet], from: Endpoints) -> Option<u64> {
    let is_stamped =
        packets.iter().any(|one| one.endpoints == from && one.payload > 0 && !one.syn && one.timestamps.is_some());
    let mss = packets.iter().filter(|one| one.syn).filter_map(|one| one.mss).min()?;
    let options = if is_stamped { TIMESTAMPS } else { 0 };
    Some(u64::from(mss).saturating_sub(options)).filter(|bytes| *bytes > 0)
}

/// The payload of a full segment: of the handshake, else that of which the longer packets are multiples.
pub(super) fn segment_size(packets: &[Packet], from: Endpoints) -> Result<u64, Fault> {
    if let Some(size) = announced(packets, from) {
        return Ok(below_path_mtu(packets, from, size).unwrap_or(size));
    }
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for packet in packets.iter().filter(|one| one.endpoints == from && one.payload > 0) {
        *sizes.entry(packet.payload).or_default() += 1;
    }
    let largest = sizes.last_key_value().map_or(0, |one| *one.0);
    let explains = |size: u64| {
        let mut multiples = 0;
        let mut all = 0;
        for (payload, count) in sizes.range(size..) {
            multiples += if payload.is_multiple_of(size) { *count } else { 0 };
            all += count;
        }
        multiples * 10 >= all * 9
    };
    let plausible = |size: &&u64| **size <= ETHERNET_PAYLOAD || JUMBO_PAYLOADS.contains(*size);
    match sizes.keys().rev().filter(plausible).find(|size| explains(**size)) {
        Some(size) => Ok(*size),
        None => fault(
            format!("has packets of up to {largest} B, joined by segmentation offload, and no handshake with the MSS"),
            "give the payload of a segment with `--mss`, such as `--mss 1448`",
        ),
    }
}

/// The payload of a full segment where the path, or the sender's interface, permits less than the `announced` one (RFC
/// 1191): that of nearly all segments that do not end what the application wrote, which have no PSH.
fn below_path_mtu(packets: &[Packet], from: Endpoints, announced: u64) -> Option<u64> {
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for packet in packets.iter().filter(|one| one.endpoints == from && one.payload > 0 && !one.push) {
        *sizes.entry(packet.payload).or_default() += 1;
    }
    let all: usize = sizes.values().sum();
    let (size, count) = sizes.into_iter().max_by_key(|one| one.1)?;
    (size < announced && count >= ENOUGH && count * 10 >= all * 9).then_some(size)
}

/// Data that was acknowledged and is not in the capture.
pub(super) fn note_holes(packets: &[Packet], from: Endpoints, notes: &mut Vec<String>) {
    let mut end: Option<u32> = None;
    let mut holes = 0usize;
    let mut bytes = 0u64;
    let mut highest_ack: Option<u32> = None;
    for packet in packets {
        if packet.endpoints == from && packet.payload > 0 {
            let from = packet.seq;
            let to = packet.seq.wrapping_add(packet.payload as u32);
            if let Some(end) = end {
                let gap = from.wrapping_sub(end).cast_signed();
                let is_acknowledged = |ack: u32| ack.wrapping_sub(from).cast_signed() >= 0;
                if gap > 0 && highest_ack.is_some_and(is_acknowledged) {
                    holes += 1;
                    bytes += u64::from(gap.cast_unsigned());
                }
            }
            if end.is_none_or(|end| to.wrapping_sub(end).cast_signed() > 0) {
                end = Some(to);
            }
        } else if let Some(ack) = packet.ack.filter(|_| packet.endpoints != from) {
            if highest_ack.is_none_or(|one| ack.wrapping_sub(one).cast_signed() > 0) {
                highest_ack = Some(ack);
            }
        }
    }
    if holes > 0 {
        notes.push(format!(
            "the capture misses {bytes} B of acknowledged data in {holes} places: capture with a larger buffer (`tcpdump \
             -B`), since bytes in flight are too few there"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7323, section 3.2: timestamps are in use if both SYNs have the option; then every segment has it, which takes
    /// twelve bytes (appendix A).
    #[test]
    fn timestamps_make_segments_smaller_only_where_both_sides_have_them() {
        let ends = Endpoints::example();
        let size = |answers: bool| {
            let stamps = |has: bool| has.then_some((1, 1));
            let packet = |endpoints, has| Packet {
                timestamps: stamps(has),
                ..Packet::bare(Time::ZERO, endpoints, 1, 60, (0, 0))
            };
            let syn = Packet { syn: true, mss: Some(1460), ..packet(ends, true) };
            let answer = Packet { syn: true, mss: Some(1400), ..packet(ends.reversed(), answers) };
            let data = Packet { payload: 1388, ..packet(ends, answers) };
            segment_size(&[syn, answer, data], ends).ok()
        };
        assert_eq!((size(true), size(false)), (Some(1388), Some(1400)));
    }

    /// A hundred segments after five of the announced size are smaller, as where the path's MTU is found (RFC 1191). Short
    /// writes, which end with PSH, say nothing.
    #[test]
    fn segments_may_be_smaller_than_the_announced_ones() {
        let ends = Endpoints::example();
        let sent = |payload, push| {
            let bare = Packet::bare(Time::ZERO, ends, 1, 60, (0, 0));
            Packet { payload, push, ..bare }
        };
        let packets = |payload, push| {
            let mut all = vec![sent(1448, false); 5];
            all.extend(vec![sent(payload, push); 100]);
            all
        };
        assert_eq!(below_path_mtu(&packets(1228, false), ends, 1448), Some(1228));
        assert_eq!(below_path_mtu(&packets(100, true), ends, 1448), None);
        assert_eq!(below_path_mtu(&packets(1448, false), ends, 1448), None);
    }
}
