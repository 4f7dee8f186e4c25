//! Packets of a capture in the network or at the receiver, with the times at which the sender sends and receives them.

use std::collections::BTreeMap;

use cwndlab_units::{Duration, Fault, Time};

use super::packet::{Endpoints, Packet};
use super::plausible::{Halves, NEAR};

/// Ticks of the clocks of timestamps in use, ns (RFC 7323, section 5.4: 1 ms to 1 s; Linux has 1, 4 and 10 ms, and 1 µs).
const TICKS: [u64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];

/// The packets of a connection at the times of its sender `from`, up to a constant, in their order there.
///
/// ACKs arrive at the sender after the time from the place of the capture to the sender and back, whose minimum is known.
/// Behind a queue, the timestamps of data give the times at which it was sent, and their echoes the ACKs before it;
/// segments that a queue dropped are added.
///
/// # Errors
///
/// The capture was taken at the receiver, without timestamps.
pub(super) fn at_sender(packets: Vec<Packet>, from: Endpoints, notes: &mut Vec<String>) -> Result<Vec<Packet>, Fault> {
    let Some(halves) = Halves::of(&packets, from).filter(|one| one.sender > NEAR) else { return Ok(packets) };
    let at_receiver = halves.sender > halves.receiver;
    if at_receiver && packets.iter().any(|one| !one.syn && one.payload > 0 && one.timestamps.is_none()) {
        return Err(Fault::new(
            "",
            "was taken at the receiver, and has no timestamps: bytes in flight cannot be derived",
            "enable TCP timestamps (RFC 7323), or capture at the sender",
        ));
    }
    let mut moved = packets;
    let shift = halves.sender;
    for packet in moved.iter_mut().filter(|one| one.endpoints != from) {
        packet.time += shift;
    }
    let place = if at_receiver { "at the receiver" } else { "in the network" };
    notes.push(format!(
        "the capture was taken {place}: packets have the times of the sender, {:.3} ms away and back",
        shift.as_nanos() as f64 / 1e6
    ));
    if at_receiver {
        moved = with_holes(moved, from);
        by_timestamps(&mut moved, from, shift);
    }
    // ACKs before the data that they release.
    moved.sort_by_key(|one| (one.time, one.endpoints == from));
    Ok(moved)
}

/// Adds the data that never arrived, at the time of the data before it: a queue that is full drops the end of a burst.
fn with_holes(packets: Vec<Packet>, from: Endpoints) -> Vec<Packet> {
    let end = |packet: &Packet| packet.seq.wrapping_add(packet.payload as u32);
    let mut all = Vec::with_capacity(packets.len());
    let mut highest: Option<Packet> = None;
    for packet in packets {
        if packet.endpoints == from && packet.payload > 0 {
            if let Some(before) = &highest {
                let gap = packet.seq.wrapping_sub(end(before)).cast_signed();
                if gap > 0 {
                    let mut hole = before.clone();
                    (hole.seq, hole.payload) = (end(before), gap as u64);
                    all.push(hole);
                }
            }
            if highest.as_ref().is_none_or(|one| end(&packet).wrapping_sub(end(one)).cast_signed() > 0) {
                highest = Some(packet.clone());
            }
        }
        all.push(packet);
    }
    all
}

/// The tick of the sender's timestamps that is nearest to the one that they show.
fn tick(data: &[(Time, u32)]) -> Option<u64> {
    let (first, last) = (data.first()?, data.last()?);
    let ticks = u64::from(last.1.wrapping_sub(first.1));
    let measured = (last.0 - first.0).as_nanos().checked_div(ticks)?;
    TICKS.into_iter().min_by_key(|tick| (*tick).max(measured) * 1000 / (*tick).min(measured).max(1))
}

/// Moves data and the SYN to the time of their timestamp on the sender's clock, between the ACK whose timestamp they echo
/// and the next. A SYN whose timestamp is not of this clock, by more than the least round trip `rtt`, stays (SYN cookies of
/// Linux have options there).
fn by_timestamps(packets: &mut [Packet], from: Endpoints, rtt: Duration) {
    let stamps = |packet: &Packet| packet.timestamps.filter(|_| packet.endpoints == from && packet.payload > 0);
    let data: Vec<(Time, u32)> = packets.iter().filter_map(|one| Some((one.time, stamps(one)?.0))).collect();
    let (Some(tick), Some(&(origin, base))) = (tick(&data), data.first()) else { return };
    let ticks = |value: u32| i128::from(value.wrapping_sub(base).cast_signed()) * i128::from(tick);
    // The least delay between clock and capture.
    let offset = |at: Time, value: u32| i128::from(at.as_nanos()) - ticks(value);
    let least = data.iter().map(|one| offset(one.0, one.1)).min().unwrap_or(i128::from(origin.as_nanos()));
    let mut received: BTreeMap<u32, Time> = BTreeMap::new();
    for packet in packets.iter().filter(|one| one.endpoints != from) {
        if let Some((value, _)) = packet.timestamps {
            received.entry(value).or_insert(packet.time);
        }
    }
    for packet in packets.iter_mut() {
        let opens = packet.syn && packet.endpoints == from;
        let stamped = if opens { packet.timestamps } else { stamps(packet) };
        let Some((value, echo)) = stamped else { continue };
        let mut time = Time::from_nanos((least + ticks(value)).max(0) as u64);
        if opens && time.saturating_since(packet.time).max(packet.time.saturating_since(time)) > rtt {
            continue;
        }
        if let Some((_, next)) = received.range(echo.saturating_add(1)..).next() {
            time = time.min(Time::from_nanos(next.as_nanos().saturating_sub(1)));
        }
        if let Some(released) = received.get(&echo) {
            time = time.max(*released + Duration::from_nanos(1));
        }
        packet.time = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(micros: u64, ack: u32, stamps: (u32, u32)) -> Packet {
        Packet::bare(Time::from_nanos(micros * 1000), Endpoints::example().reversed(), ack, 60, stamps)
    }

    fn data(micros: u64, segment: u32, stamps: (u32, u32)) -> Packet {
        let bare = Packet::bare(Time::from_nanos(micros * 1000), Endpoints::example(), 1, 60, stamps);
        Packet { seq: 1 + segment * MSS as u32, payload: MSS, ..bare }
    }

    fn syn(micros: u64, stamps: (u32, u32)) -> Packet {
        Packet {
            syn: true,
            ack: None,
            ..Packet::bare(Time::from_nanos(micros * 1000), Endpoints::example(), 0, 60, stamps)
        }
    }

    /// By hand: of a burst of four segments a full queue drops the last two. The next data is sent a round trip later.
    #[test]
    fn dropped_segments_have_the_time_of_the_data_before_them() {
        let packets = vec![data(10_000, 0, (10, 1)), data(10_100, 1, (10, 1)), data(60_000, 4, (60, 11))];
        let all = with_holes(packets, Endpoints::example());
        let found: Vec<_> = all.iter().map(|one| (one.time.as_nanos() / 1000, one.seq, one.payload)).collect();
        assert_eq!(found, [(10_000, 1, MSS), (10_100, 1001, MSS), (10_100, 2001, 2 * MSS), (60_000, 4001, MSS)]);
    }

    /// By hand, at the receiver: the SYN arrives after 25 ms, and full segments after 28 ms. The sender's clock has 0 at the
    /// SYN and 50 at the first data, and the data echoes the SYN-ACK of 25 ms, whose least time to the sender and back is
    /// 53 ms. On a clock that is 28 ms late the SYN is at 28 ms and the data at 78 ms: the handshake takes 50 ms, and not
    /// the 53 ms of a full segment. A SYN of another clock keeps its time.
    #[test]
    fn the_syn_has_the_time_of_its_timestamp() {
        for (stamp, moved) in [(0, 28_000), (1 << 20, 25_000)] {
            let mut packets = vec![syn(25_000, (stamp, 0))];
            packets.push(ack(78_000, 1, (25, 0)));
            packets.extend((0..100).map(|n| data(78_000 + 1000 * u64::from(n), n, (50 + n, 25))));
            by_timestamps(&mut packets, Endpoints::example(), Duration::from_millis(53));
            let times: Vec<_> = packets.iter().map(|one| one.time.as_nanos() / 1000).collect();
            assert_eq!((times[0], times[2]), (moved, 78_000));
        }
    }
}
