//! Fields for the rate and packet size of workloads over UDP.

use cwndlab_config::{fields, Faults, Reader};
use cwndlab_units::{Bytes, Rate};

/// Size of the IPv4 and UDP headers.
pub const UDP_HEADER: Bytes = Bytes(28);
/// Size of the largest IPv4 packet.
const MAX_PACKET: Bytes = Bytes(65_535);
/// Default size of a packet.
pub(crate) const DEFAULT_PACKET: Bytes = Bytes(1500);

fields! {
    /// Rate and packet size of workloads that support only UDP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Packets {
        /// rate, headers included
        rate: Rate = required("'rate = \"2 Mbps\"'"),
        /// size of a packet, headers included
        packet: Bytes = "1500 B",
    }
    check
}

impl Packets {
    /// Checks that a packet has payload and fits in IPv4.
    pub(crate) fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.packet <= UDP_HEADER || self.packet > MAX_PACKET {
            faults.add(
                table.at("packet"),
                format!(
                    "a packet has {} bytes of headers, at least one byte of payload, and at most {} bytes",
                    UDP_HEADER.0, MAX_PACKET.0
                ),
                "write \"1500 B\"",
            );
        }
    }

    /// Packets per second.
    pub(crate) fn per_second(&self) -> f64 {
        self.rate.0 as f64 / 8.0 / self.packet.0 as f64
    }
}
