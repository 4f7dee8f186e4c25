//! Packets of MQTT 3.1.1: sizes and kinds that publishers, brokers and subscribers share.

use cwndlab_units::Bytes;

/// CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP: fixed header of 2 bytes, then 2 (MQTT 3.1.1, 3.2, 3.4 to 3.7).
pub(crate) const ACKNOWLEDGEMENT: Bytes = Bytes(4);
/// PINGREQ and PINGRESP: only a fixed header (3.12, 3.13).
pub(crate) const PING: Bytes = Bytes(2);
/// SUBACK for one topic filter: fixed header of 2 bytes, packet identifier, return code (3.9).
pub(crate) const SUBACK_SIZE: Bytes = Bytes(5);

pub(crate) const CONNECT: u8 = 0;
pub(crate) const CONNACK: u8 = 1;
/// Carries the size of its payload.
pub(crate) const PUBLISH: u8 = 2;
/// Carries the payload size of the acknowledged message.
pub(crate) const PUBACK: u8 = 3;
pub(crate) const PINGREQ: u8 = 4;
pub(crate) const PINGRESP: u8 = 5;
/// Carries the payload size of its message, as do the next two.
pub(crate) const PUBREC: u8 = 6;
pub(crate) const PUBREL: u8 = 7;
pub(crate) const PUBCOMP: u8 = 8;
pub(crate) const SUBSCRIBE: u8 = 9;
pub(crate) const SUBACK: u8 = 10;

/// Length of the field "remaining length" in bytes of 7 bits (MQTT 3.1.1, 2.2.3).
fn remaining_length(bytes: u64) -> u64 {
    match bytes {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}

/// A packet with this many bytes after its fixed header.
fn packet(rest: u64) -> Bytes {
    Bytes(1 + remaining_length(rest) + rest)
}

/// Size of a CONNECT without will, user and password (3.1): fixed header; protocol name (2 + 4), level, flags,
/// keep-alive (2); length (2) and client identifier.
pub(crate) fn connect(client: u32) -> Bytes {
    packet(10 + 2 + u64::from(client))
}

/// Size of a PUBLISH (3.3): fixed header; length (2) and topic; above QoS 0 a packet identifier; payload.
pub(crate) fn publish(topic: u32, qos: u8, payload: Bytes) -> Bytes {
    let identifier = if qos > 0 { 2 } else { 0 };
    packet(2 + u64::from(topic) + identifier + payload.0)
}

/// Size of a SUBSCRIBE to one topic filter (3.8): fixed header; packet identifier; length (2) and filter; requested QoS.
pub(crate) fn subscribe(filter: u32) -> Bytes {
    packet(2 + 2 + u64::from(filter) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the specification: CONNECT with a 10-byte identifier is 1 + 1 + 10 + 12 = 24 bytes. PUBLISH of 100
    /// bytes to a topic of 20: 1 + 1 + 22 + 100 = 124, at QoS 1 126; its remaining length exceeds 127 with a payload of
    /// 106 bytes, or 104 at QoS 1, and 16,383 with 16,362. SUBSCRIBE to a filter of 20: 1 + 1 + 2 + 22 + 1.
    #[test]
    fn packet_sizes_match_the_specification() {
        assert_eq!(connect(10), Bytes(24));
        let sizes = |qos, payloads: &[u64]| -> Vec<u64> {
            payloads.iter().map(|&payload| publish(20, qos, Bytes(payload)).0).collect()
        };
        assert_eq!(sizes(0, &[100, 105, 106]), [124, 129, 131]);
        assert_eq!(sizes(1, &[100, 103, 104]), [126, 129, 131]);
        assert_eq!(sizes(0, &[16_361, 16_362]), [16_386, 16_388]);
        assert_eq!(subscribe(20), Bytes(27));
    }
}
