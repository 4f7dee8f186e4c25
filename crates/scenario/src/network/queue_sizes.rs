//! Sizes of the queues, once the routes of all flows are known.

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;
use cwndlab_units::{Bytes, Duration, Rate};

use super::builder::Network;
use super::placed::Placed;
use crate::plan::Capacity;

/// The packet in which a bandwidth-delay product is counted.
pub(super) const PACKET: u64 = 1500;
/// A size that is derived from BDP or time holds at least this many packets.
const FLOOR_PACKETS: u64 = 2;

/// A bandwidth-delay product.
struct Bdp {
    rate: Rate,
    rtt: Duration,
}

/// Sets the capacity of every queue, in packets or bytes.
pub(super) fn size_queues(network: &mut Network, placed: &[Placed<'_>], notes: &mut Vec<String>, faults: &mut Faults) {
    let rtts = longest_rtts(network, placed);
    let Network { links, nodes, sizes, .. } = network;
    for ((link, (size, path)), longest) in links.iter_mut().zip(&*sizes).zip(rtts) {
        let Some(rate) = link.rate else { continue }; // nothing ever waits
        let name = || link.name(nodes);
        if longest.is_some() && link.varies() && matches!(size, Size::Time(_) | Size::Bdp(..)) {
            notes.push(format!("{}: its rate changes; the queue is sized by the mean of {rate}", name()));
        }
        link.capacity = match *size {
            Size::Unlimited => Capacity::Unlimited,
            Size::Packets(n) => Capacity::Packets(n.min(u64::from(u32::MAX)) as u32),
            Size::Bytes(bytes) => Capacity::Bytes(bytes),
            Size::Time(time) => within(time, rate, name, notes),
            Size::Bdp(factor, rtt) => match rtt.or(longest) {
                Some(rtt) => Bdp { rate, rtt }.times(factor, name, path, notes, faults),
                None => Capacity::Unlimited, // nobody comes this way
            },
        };
    }
}

/// For each link the longest base RTT of the flows that cross it; `None` where none does.
fn longest_rtts(network: &Network, placed: &[Placed<'_>]) -> Vec<Option<Duration>> {
    let mut longest = vec![None; network.links.len()];
    for one in placed {
        let rtt = Some(Duration(network.delay(&one.forward) + network.delay(&one.reverse)));
        for link in one.links() {
            longest[link as usize] = longest[link as usize].max(rtt);
        }
    }
    longest
}

/// What the link sends within this time.
fn within(time: Duration, rate: Rate, link: impl Fn() -> String, notes: &mut Vec<String>) -> Capacity {
    let bytes = rate.bytes_in(time).0;
    if bytes < FLOOR_PACKETS * PACKET {
        notes.push(format!(
            "{}: {time} of its rate is {bytes} bytes; the queue holds {FLOOR_PACKETS} packets instead",
            link()
        ));
    }
    Capacity::Bytes(Bytes(bytes.max(FLOOR_PACKETS * PACKET)))
}

impl Bdp {
    /// The packets of so many of them; `link` has the queue, which stands below `path` in the document.
    fn times(
        &self,
        factor: f64,
        link: impl Fn() -> String,
        path: &str,
        notes: &mut Vec<String>,
        faults: &mut Faults,
    ) -> Capacity {
        if self.rtt == Duration::ZERO {
            faults.add(
                format!("{path}.queue.capacity"),
                "no flow with a base RTT crosses the link, so its BDP is not known",
                "write '1 bdp(50 ms)' or a number of packets",
            );
        }
        let exact = self.rate.0 as f64 * self.rtt.0 as f64 * 1e-9 / (8 * PACKET) as f64 * factor;
        let packets = half_to_even(exact);
        if packets > u64::from(u32::MAX) {
            faults.add(
                format!("{path}.queue.capacity"),
                format!("{factor} bdp are more than {} packets", u32::MAX),
                "a smaller factor, or a size in bytes",
            );
        }
        if packets < FLOOR_PACKETS {
            let link = link();
            notes.push(format!("{link}: {factor} bdp are {exact:.3} packets; the queue holds {FLOOR_PACKETS} instead"));
        }
        Capacity::Packets(packets.clamp(FLOOR_PACKETS, u64::from(u32::MAX)) as u32)
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
