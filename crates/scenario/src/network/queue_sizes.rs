//! Sizes of the queues, once the routes of all flows are known.

use std::collections::BTreeSet;

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;
use cwndlab_units::Bytes;

use super::builder::Network;
use crate::plan::Capacity;

/// The packet in which a bandwidth-delay product is counted.
pub(super) const PACKET: u64 = 1500;
/// A size that is derived from BDP or time holds at least this many packets.
const FLOOR_PACKETS: u64 = 2;

impl Network {
    /// Sizes in packets or bytes, now that the RTTs of the flows on each link are known.
    pub(super) fn size_queues(
        &mut self,
        rtts: &[u64],
        used: &BTreeSet<u32>,
        notes: &mut Vec<String>,
        faults: &mut Faults,
    ) {
        for (index, (size, path)) in self.sizes.iter().enumerate() {
            let link = &mut self.links[index];
            let Some(rate) = link.rate else {
                link.queue.capacity = Capacity::Unlimited; // nothing ever waits
                continue;
            };
            let crossed = used.contains(&(index as u32));
            if crossed && self.means.contains(&link.name) && matches!(size, Size::Time(_) | Size::Bdp(..)) {
                notes.push(format!("{}: its rate changes; the queue is sized by the mean of {rate}", link.name));
            }
            link.queue.capacity = match *size {
                Size::Bdp(_, None) if !crossed => Capacity::Unlimited, // nobody comes this way
                Size::Unlimited => Capacity::Unlimited,
                Size::Packets(n) => Capacity::Packets(n.min(u64::from(u32::MAX)) as u32),
                Size::Bytes(bytes) => Capacity::Bytes(bytes),
                Size::Time(time) => {
                    let bytes = rate.bytes_in(time).0;
                    if bytes < FLOOR_PACKETS * PACKET {
                        notes.push(format!(
                            "{}: {time} of its rate is {bytes} bytes; the queue holds {FLOOR_PACKETS} packets instead",
                            link.name
                        ));
                    }
                    Capacity::Bytes(Bytes(bytes.max(FLOOR_PACKETS * PACKET)))
                }
                Size::Bdp(factor, rtt) => {
                    let rtt = rtt.map_or(rtts[index], |rtt| rtt.0);
                    if rtt == 0 {
                        faults.add(
                            format!("{path}.queue.capacity"),
                            "no flow with a base RTT crosses the link, so its BDP is not known",
                            "write '1 bdp(50 ms)' or a number of packets",
                        );
                    }
                    let exact = rate.0 as f64 * rtt as f64 * 1e-9 / (8 * PACKET) as f64 * factor;
                    let packets = half_to_even(exact);
                    if packets > u64::from(u32::MAX) {
                        faults.add(
                            format!("{path}.queue.capacity"),
                            format!("{factor} bdp are more than {} packets", u32::MAX),
                            "a smaller factor, or a size in bytes",
                        );
                    }
                    if packets < FLOOR_PACKETS {
                        notes.push(format!(
                            "{}: {factor} bdp are {exact:.3} packets; the queue holds {FLOOR_PACKETS} instead",
                            link.name
                        ));
                    }
                    Capacity::Packets(packets.clamp(FLOOR_PACKETS, u64::from(u32::MAX)) as u32)
                }
            };
        }
    }
}

/// Rounds as IEEE does by default.
fn half_to_even(value: f64) -> u64 {
    let (whole, rest) = (value as u64, value - (value as u64) as f64);
    if rest > 0.5 || (rest == 0.5 && whole % 2 == 1) {
        whole + 1
    } else {
        whole
    }
}
