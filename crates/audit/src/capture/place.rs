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
        by_timestamps(&mut moved, from);
    }
    // ACKs before the data that they release.
    moved.sort_by_key(|one| (one.time, one.endpoints == from));
    Ok(moved)
}

/// Adds the data that never arrived, at the times of the data behind it.
fn with_holes(packets: Vec<Packet>, from: Endpoints) -> Vec<Packet> {
    let mut all = Vec::with_capacity(packets.len());
    let mut end: Option<u32> = None;
    for packet in packets {
        if packet.endpoints == from && packet.payload > 0 {
            let gap = end.map_or(0, |end| packet.seq.wrapping_sub(end).cast_signed());
            if let Some(end) = end.filter(|_| gap > 0) {
                let mut hole = packet.clone();
                (hole.seq, hole.payload) = (end, gap as u64);
                all.push(hole);
            }
            let to = packet.seq.wrapping_add(packet.payload as u32);
            if end.is_none_or(|end| to.wrapping_sub(end).cast_signed() > 0) {
                end = Some(to);
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

/// Moves data to the time of its timestamp on the sender's clock, between the ACK whose timestamp it echoes and the next.
fn by_timestamps(packets: &mut [Packet], from: Endpoints) {
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
        let Some((value, echo)) = stamps(packet) else { continue };
        let mut time = Time::from_nanos((least + ticks(value)).max(0) as u64);
        if let Some((_, next)) = received.range(echo.saturating_add(1)..).next() {
            time = time.min(Time::from_nanos(next.as_nanos().saturating_sub(1)));
        }
        if let Some(released) = received.get(&echo) {
            time = time.max(*released + Duration::from_nanos(1));
        }
        packet.time = time;
    }
}
