//! Capacities of queues, which depend on the routes of all flows.

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::{Bytes, Duration, IndexVec, LinkId, Rate};

use super::builder::Network;
use super::routed_flows::RoutedFlow;
use crate::plan::Capacity;

/// Size of the packets in which a bandwidth-delay product is expressed, bytes.
pub(super) const PACKET: u64 = 1500;
/// Minimum of a capacity that is derived from the BDP or a time, packets.
const FLOOR_PACKETS: u64 = 2;

/// A bandwidth-delay product.
struct Bdp {
    rate: Rate,
    rtt: Duration,
}

/// Sets the capacity of every queue, in packets or bytes. The notes are part of the hash of records: their text is
/// fixed.
pub(super) fn size_queues(
    network: &mut Network,
    placed: &[RoutedFlow<'_>],
    notes: &mut Vec<String>,
    faults: &mut Faults,
) {
    let rtts = longest_rtts(network, placed);
    let Network { links, nodes, sizes, .. } = network;
    for ((link, (size, path)), longest) in links.iter_mut().zip(&*sizes).zip(&rtts) {
        let Some(rate) = link.rate else { continue }; // no packet waits
        let name = || link.name(nodes);
        if longest.is_some() && link.varies() && matches!(size, CapacitySpec::Time(_) | CapacitySpec::Bdp(..)) {
            notes.push(format!("{}: its rate changes; the queue is sized by the mean of {rate}", name()));
        }
        link.capacity = match *size {
            CapacitySpec::Unlimited => Capacity::Unlimited,
            CapacitySpec::Packets(n) => Capacity::Packets(n.min(u64::from(u32::MAX)) as u32),
            CapacitySpec::Bytes(bytes) => Capacity::Bytes(bytes),
            CapacitySpec::Time(time) => within(time, rate, name, notes),
            CapacitySpec::Bdp(factor, rtt) => match rtt.or(*longest) {
                Some(rtt) => Bdp { rate, rtt }.times(factor, name, path, notes, faults),
                None => Capacity::Unlimited, // no flow crosses the link
            },
        };
    }
}

/// For each link the largest base RTT of the flows that cross it; `None` without flows.
fn longest_rtts(network: &Network, placed: &[RoutedFlow<'_>]) -> IndexVec<LinkId, Option<Duration>> {
    let mut longest = IndexVec::from(vec![None; network.links.len()]);
    for one in placed {
        let rtt = Some(Duration::from_nanos(network.delay(&one.forward) + network.delay(&one.reverse)));
        for link in one.links() {
            longest[link] = longest[link].max(rtt);
        }
    }
    longest
}

/// The bytes that the link sends in this time, with the minimum.
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
    /// The capacity of `factor` BDP in packets, for the queue of `link`, whose path in the document is `path`.
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
                "the BDP of the link is unknown, since no flow with a base RTT crosses it",
                "write '1 bdp(50 ms)' or a number of packets",
            );
        }
        let exact = self.rate.0 as f64 * self.rtt.as_nanos() as f64 * 1e-9 / (8 * PACKET) as f64 * factor;
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

/// Rounds half to even, the default of IEEE 754; the largest number for what is beyond it.
fn half_to_even(value: f64) -> u64 {
    let whole = value as u64;
    let rest = value - (value as u64) as f64;
    if rest > 0.5 || (rest == 0.5 && whole % 2 == 1) {
        whole.saturating_add(1)
    } else {
        whole
    }
}
