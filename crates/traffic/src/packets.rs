//! Fields for the rate and packet size of workloads over UDP.

use cwndlab_config::{Faults, Field, Kind, Reader};
use cwndlab_units::{Bytes, Rate};

/// Size of the IPv4 and UDP headers.
pub const UDP_HEADER: Bytes = Bytes(28);
/// Size of the largest IPv4 packet.
const MAX_PACKET: Bytes = Bytes(65_535);
/// Default size of a packet.
pub(crate) const DEFAULT_PACKET: Bytes = Bytes(1500);

/// The fields of workloads that support only UDP.
pub(crate) const FIELDS: &[Field] = &[
    Field::new("rate", Kind::Rate, "rate, headers included").required("'rate = \"2 Mbps\"'"),
    Field::bytes("packet", "1500 B", "size of a packet, headers included"),
];

/// Reads rate and packet size, headers included.
pub(crate) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<(Rate, Bytes)> {
    let rate = table.rate("rate", faults);
    let packet = table.bytes("packet", faults).or((!table.gives("packet")).then_some(DEFAULT_PACKET));
    if packet.is_some_and(|packet| packet <= UDP_HEADER || packet > MAX_PACKET) {
        faults.add(
            table.at("packet"),
            format!(
                "a packet has {} bytes of headers, at least one byte of payload, and at most {} bytes",
                UDP_HEADER.0, MAX_PACKET.0
            ),
            "write \"1500 B\"",
        );
        return None;
    }
    Some((rate?, packet?))
}

/// Packets per second for a rate and a packet size.
pub(crate) fn per_second(rate: Rate, packet: Bytes) -> f64 {
    rate.0 as f64 / 8.0 / packet.0 as f64
}
