//! Calibration: probes through the path before a run, on the wall clock.
//!
//! - *Base RTT*: the minimum over ICMP echo requests, sent one at a time; the kernel on the receivers' side replies.
//!   Expected value: the flow's propagation delays, plus the serialisation of a probe by every line in both directions.
//! - *Rate* and *capacity*: a train of full packets that enters at one instant and exceeds the queue's capacity. If n
//!   packets are in service or waiting, n arrive, and the line serialises n − 1 between the first and the last arrival.
//!
//! Rate and capacity are measured where the slowest line is the first line of its route with a finite rate, the rate is
//! constant, the queue is drop-tail and the wire loses no packets. Elsewhere they have no single expected value.

use cwndlab_records::rows::CalibrationRow;
use cwndlab_scenario::plan::{Capacity, LinePlan, LinkPlan, Plan};
use cwndlab_units::FlowId;

use crate::addresses::Side;
use crate::ip::checksum;

/// Echo requests per flow.
pub(crate) const ECHOES: u16 = 10;
/// Packets of a train beyond the capacity of the queue.
const EXCESS: u64 = 20;
/// Maximum length of a train, packets.
const MAX_TRAIN_PACKETS: u64 = 20_000;
/// Maximum serialisation time of a train on its line, ns.
const MAX_TRAIN_NS: u64 = 2_000_000_000;
/// Number of flows that are measured.
pub(crate) const MEASURED_FLOWS: usize = 4;
/// Size of the IPv4 header and the ICMP echo header, bytes.
const HEADERS: usize = 28;

/// An ICMP echo request (RFC 792) from a flow's sender to its receiver, or an unsolicited reply, which a kernel
/// discards.
pub(crate) fn probe(flow: FlowId, request: bool, number: u16, size: usize) -> Vec<u8> {
    let mut packet = vec![0u8; size.max(HEADERS)];
    packet[0] = 0x45;
    let length = packet.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[8] = 64;
    packet[9] = 1;
    packet[12..16].copy_from_slice(&Side::Senders.address4(flow).octets());
    packet[16..20].copy_from_slice(&Side::Receivers.address4(flow).octets());
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet[20] = if request { 8 } else { 0 };
    packet[26..28].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(&packet[20..]);
    packet[22..24].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Size of an echo request, bytes.
pub(crate) const ECHO_SIZE: usize = 64;

/// The expected minimum RTT of an echo request, ns; `None` where delays are random.
pub(crate) fn base_rtt(plan: &Plan, flow: FlowId) -> Option<f64> {
    let flow = &plan.flows[flow];
    let links = flow.forward.iter().chain(&flow.reverse).map(|&link| &plan.links[link]);
    let mut total = flow.base_rtt.as_nanos() as f64;
    for link in links {
        if !is_constant(link) {
            return None;
        }
        total += link.rate.map_or(0.0, |rate| ECHO_SIZE as f64 * 8e9 / rate.0 as f64);
    }
    Some(total)
}

/// Whether the link's rate and delay are constant and its wire loses and duplicates no packets.
fn is_constant(link: &LinkPlan) -> bool {
    link.radio.is_none()
        && link.cell.is_none()
        && link.harq.is_none()
        && link.jitter.is_none()
        && link.wifi_jitter.is_none()
        && link.line == LinePlan::Rate
        && link.schedule.steps.is_empty()
        && link.losses.is_empty()
        && link.duplicate == 0.0
}

/// A train of packets that fills the queue of a flow's slowest line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Train {
    /// Number of packets.
    pub packets: u64,
    /// Size of each packet, bytes.
    pub size: usize,
    /// Packets expected to arrive: the packet in service and those waiting.
    pub expected_arrivals: u64,
    /// Rate of the line, bit/s.
    pub rate: u64,
    /// The capacity includes the packet in service.
    counts_in_service: bool,
    /// The train has more packets than the queue holds.
    overflows: bool,
}

impl Train {
    /// The train of a flow; `None` where its route cannot be measured.
    pub(crate) fn for_flow(plan: &Plan, flow: FlowId) -> Option<Self> {
        let flow = &plan.flows[flow];
        let links: Vec<&LinkPlan> = flow.forward.iter().map(|&link| &plan.links[link]).collect();
        let rate = links.iter().filter_map(|link| link.rate).map(|rate| rate.0).min()?;
        let line = links.iter().find(|link| link.rate.is_some())?;
        let computed = line.discipline.computed()?;
        let is_first = line.rate.is_some_and(|of| of.0 == rate);
        let is_plain = links.iter().all(|link| is_constant(link));
        if !is_first || !is_plain {
            return None;
        }
        let size = (flow.stack.mss.0 + flow.stack.header.0).clamp(HEADERS as u64, 65_535);
        let max_packets = MAX_TRAIN_PACKETS.min(MAX_TRAIN_NS / (size * 8_000_000_000 / rate).max(1)).max(2);
        let waiting = match line.capacity {
            Capacity::Unlimited => u64::MAX,
            Capacity::Packets(packets) => u64::from(packets),
            Capacity::Bytes(bytes) => bytes.0 / size,
        };
        let counts = computed.counts_in_service;
        let held = waiting.saturating_add(u64::from(!counts));
        let overflows = held < max_packets;
        let expected_arrivals = if overflows { held } else { max_packets };
        let packets = if overflows { held + EXCESS } else { max_packets };
        Some(Self { packets, size: size as usize, expected_arrivals, rate, counts_in_service: counts, overflows })
    }

    /// Measured rate and capacity, from the arrival times in ns.
    pub(crate) fn rows(&self, flow: FlowId, arrivals: &[u64]) -> Vec<CalibrationRow> {
        let flow = flow.into();
        let mut rows = Vec::new();
        let number = arrivals.len() as u64;
        if let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) {
            let span = (last - first) as f64 * 1e-9;
            if number > 2 && span > 0.0 {
                let measured = (number - 1) as f64 * self.size as f64 * 8.0 / span;
                rows.push(CalibrationRow { flow, quantity: "rate_bps", expected: self.rate as f64, measured });
            }
        }
        if self.overflows {
            let waiting = |held: u64| held.saturating_sub(u64::from(!self.counts_in_service)) as f64;
            let expected = waiting(self.expected_arrivals);
            let measured = waiting(number);
            rows.push(CalibrationRow { flow, quantity: "capacity_packets", expected, measured });
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_algorithms::catalogue;
    use cwndlab_scenario::Scenario;
    use serde_json::{json, Value};

    /// RFC 1071: the sum over a header or message with its checksum is 0; RFC 792: type 8 is a request.
    #[test]
    fn a_probe_is_a_valid_echo_request() {
        for (size, number) in [(ECHO_SIZE, 3), (1500, 60_000)] {
            let packet = probe(1.into(), true, number, size);
            assert_eq!(packet.len(), size);
            assert_eq!((checksum(&packet[..20]), checksum(&packet[20..])), (0, 0));
            assert_eq!((packet[20], &packet[16..20]), (8, &[10, 102, 0, 2][..]));
        }
    }

    /// By hand: 20 ms of wire, and 64 bytes at 64 Mbit/s take 8 us in each direction.
    #[test]
    fn a_path_with_random_delays_has_no_expected_rtt() {
        let expected = |wire: Value| {
            let mut line = json!({ "rate": "64 Mbps", "delay": "10 ms" });
            for (key, value) in wire.as_object().into_iter().flatten() {
                line[key] = value.clone();
            }
            let document = json!({
                "schema_version": 1, "duration": "1 s", "dumbbell": { "bottleneck": line },
                "flow": [{ "algorithm": "cubic", "rtt": "20 ms" }],
            });
            let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
            let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
            base_rtt(&plan, 0.into())
        };
        assert_eq!(expected(json!({})), Some(20_016_000.0));
        assert_eq!(expected(json!({ "jitter": { "spread": "1 ms" } })), None);
        assert_eq!(expected(json!({ "wifi_jitter": "7 ms" })), None);
    }

    /// By hand: 51 packets of 1500 bytes at 12 Mbit/s are 1 ms apart; 50 waited and one was in service.
    #[test]
    fn rate_and_capacity_follow_from_the_arrivals() {
        let train = Train {
            packets: 71,
            size: 1500,
            expected_arrivals: 51,
            rate: 12_000_000,
            counts_in_service: false,
            overflows: true,
        };
        let arrivals: Vec<u64> = (0..51).map(|n| 7_000 + n * 1_000_000).collect();
        let rows = train.rows(2.into(), &arrivals);
        let values: Vec<_> = rows.iter().map(|row| (row.quantity, row.expected, row.measured)).collect();
        assert_eq!(values, [("rate_bps", 12e6, 12e6), ("capacity_packets", 50.0, 50.0)]);
        let lost = train.rows(2.into(), &arrivals[..49]);
        assert_eq!((lost[1].expected, lost[1].measured), (50.0, 48.0));
        assert_eq!(train.rows(2.into(), &[])[0].measured, 0.0);
    }
}
