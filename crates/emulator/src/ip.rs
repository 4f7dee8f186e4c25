//! The header fields that the path needs: addresses, payload, TCP sequence number, ECN (RFC 791, 8200, 9293, 3168).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;

// IPv6 extension headers (RFC 8200, section 4; RFC 4302, 6275, 7401, 5533).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// Size of the IPv6 header without extensions, bytes.
const IPV6_HEADER: usize = 40;

/// The fields of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// TCP sequence number; 0 for other protocols.
    pub sequence: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// The SYN flag of TCP.
    pub syn: bool,
    /// The ECN field is ECT(0) or ECT(1).
    pub ecn_capable: bool,
}

/// What follows the headers of IP.
#[derive(Clone, Copy, Debug)]
struct Contents {
    /// The number of the transport protocol; `None` in a later fragment, which has no transport header.
    protocol: Option<u8>,
    /// Size of all headers of IP, bytes.
    header: usize,
    /// Size of the packet, bytes.
    total: usize,
}

impl Headers {
    /// Parses the headers of a packet; `None` where it is neither IPv4 nor IPv6.
    #[must_use]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 if packet.len() >= 20 => Some(Self::parse_ipv4(packet)),
            6 if packet.len() >= IPV6_HEADER => Some(Self::parse_ipv6(packet)),
            _ => None,
        }
    }

    fn parse_ipv4(packet: &[u8]) -> Self {
        let address = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]).into();
        let is_later_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
        let contents = Contents {
            protocol: (!is_later_fragment).then_some(packet[9]),
            header: usize::from(packet[0] & 15) * 4,
            total: usize::from(u16::from_be_bytes([packet[2], packet[3]])).min(packet.len()),
        };
        Self::with_contents(address(12), address(16), packet[1] & 3, packet, contents)
    }

    fn parse_ipv6(packet: &[u8]) -> Self {
        let address = |at: usize| {
            let octets: [u8; 16] = std::array::from_fn(|byte| packet[at + byte]);
            Ipv6Addr::from(octets).into()
        };
        let (protocol, header) = transport_of_ipv6(packet);
        let payload = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        let contents = Contents { protocol, header, total: (IPV6_HEADER + payload).min(packet.len()) };
        Self::with_contents(address(8), address(24), packet[1] >> 4 & 3, packet, contents)
    }

    fn with_contents(source: IpAddr, destination: IpAddr, ecn: u8, packet: &[u8], contents: Contents) -> Self {
        let Contents { protocol, header, total } = contents;
        let mut headers = Self {
            source,
            destination,
            sequence: 0,
            payload: total.saturating_sub(header) as u32,
            syn: false,
            ecn_capable: matches!(ecn, 1 | 2),
        };
        if protocol == Some(TCP) && packet.len() >= header + 20 {
            let tcp = &packet[header..];
            let offset = usize::from(tcp[12] >> 4) * 4;
            headers.sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
            headers.payload = total.saturating_sub(header + offset) as u32;
            headers.syn = tcp[13] & 2 != 0;
        } else if protocol == Some(UDP) {
            headers.payload = total.saturating_sub(header + 8) as u32;
        }
        headers
    }
}

/// The transport protocol of an IPv6 packet (`None` in a later fragment) and the offset of its header, behind all
/// extension headers.
fn transport_of_ipv6(packet: &[u8]) -> (Option<u8>, usize) {
    let mut next = packet[6];
    let mut at = IPV6_HEADER;
    while let Some(extension) = packet.get(at..at + 8) {
        let length = match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                (usize::from(extension[1]) + 1) * 8
            }
            AUTHENTICATION => (usize::from(extension[1]) + 2) * 4,
            FRAGMENT if u16::from_be_bytes([extension[2], extension[3]]) >> 3 != 0 => return (None, at + 8),
            FRAGMENT => 8,
            _ => break,
        };
        (next, at) = (extension[0], at + length);
    }
    (Some(next), at)
}

/// Not ECN-capable. The codepoints are those of RFC 3168, section 5.
pub const NOT_ECT: u8 = 0;
/// ECT(0).
pub const ECT_0: u8 = 2;
/// Congestion experienced.
pub const CE: u8 = 3;

/// Sets the ECN field. IPv4 has a header checksum, which is updated (RFC 1624, equation 3); IPv6 has none, and those of its
/// transports do not cover the field (RFC 8200, section 8.1).
pub fn set_ecn(packet: &mut [u8], codepoint: u8) {
    if packet[0] >> 4 == 6 {
        // The lowest bits of the traffic class, which begins in the byte before.
        packet[1] = packet[1] & !0x30 | codepoint << 4;
        return;
    }
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] = packet[1] & !3 | codepoint;
    let new = u16::from_be_bytes([packet[0], packet[1]]);
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    packet[10..12].copy_from_slice(&(!(total as u16)).to_be_bytes());
}

/// The Internet checksum (RFC 1071).
#[must_use]
pub fn checksum(data: &[u8]) -> u16 {
    let word = |two: &[u8]| u32::from(u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]));
    let mut sum: u32 = data.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071: the sum over a header with its checksum is 0, also after a change of the ECN field.
    #[test]
    fn a_header_with_another_ecn_field_has_a_valid_checksum() {
        for ecn in [1u8, 2] {
            for id in 0..300u16 {
                let mut packet = [0x45, ecn, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
                packet[4..6].copy_from_slice(&(id * 219).to_be_bytes());
                let sum = checksum(&packet);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
                for codepoint in [CE, ECT_0, NOT_ECT] {
                    set_ecn(&mut packet, codepoint);
                    assert_eq!(packet[1] & 3, codepoint);
                    assert_eq!(checksum(&packet), 0);
                }
            }
        }
    }

    /// RFC 791: the offset of a later fragment is not 0, and data follow its IPv4 header.
    #[test]
    fn a_later_fragment_has_no_tcp_header() {
        let mut packet = vec![0x45, 0, 0, 60, 0, 0, 0, 185, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
        packet.extend([0xff; 40]);
        let headers = Headers::parse(&packet).expect("it is IPv4");
        assert_eq!((headers.sequence, headers.payload, headers.syn), (0, 40, false));
    }

    /// A TCP header with the flags SYN and ACK and sequence number 258 (RFC 9293).
    const SYN_ACK: [u8; 20] = [0x1b, 0x58, 0, 80, 0, 0, 1, 2, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0];

    /// RFC 791 and 9293: the offsets of the fields.
    #[test]
    fn the_headers_of_a_segment_are_parsed() {
        let mut packet = vec![0x45, 2, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
        packet.extend(SYN_ACK);
        packet.extend([7; 20]);
        let headers = Headers::parse(&packet).expect("it is IPv4");
        assert_eq!((headers.sequence, headers.payload, headers.syn, headers.ecn_capable), (258, 20, true, true));
        assert_eq!(headers.source, Ipv4Addr::new(10, 101, 0, 1));
        assert_eq!(Headers::parse(&[0x60; 39]), None);
        assert_eq!(Headers::parse(&packet[..19]), None);
        assert_eq!(Headers::parse(&[]), None);
    }

    /// An IPv6 packet from fdcc:101::1 to fdcc:102::2 (RFC 8200, section 3): `first` is the first word, `next` the next
    /// header.
    fn ipv6(first: [u8; 4], next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = first.to_vec();
        packet.extend((payload.len() as u16).to_be_bytes());
        packet.extend([next, 64]);
        for address in ["fdcc:101::1", "fdcc:102::2"] {
            packet.extend(address.parse::<Ipv6Addr>().expect("an address").octets());
        }
        packet.extend(payload);
        packet
    }

    /// RFC 8200, section 3: 4 bits of version, 8 of traffic class, 20 of flow label. ECT(0) is 10 and CE is 11 in the
    /// lowest bits of the traffic class (RFC 3168, section 5).
    #[test]
    fn the_ecn_field_of_ipv6_is_in_the_traffic_class() {
        let mut packet = ipv6([0x6b, 0xa5, 0xff, 0xff], TCP, &[&SYN_ACK[..], &[7; 20]].concat());
        let headers = Headers::parse(&packet).expect("it is IPv6");
        assert_eq!((headers.sequence, headers.payload, headers.syn, headers.ecn_capable), (258, 20, true, true));
        assert_eq!(headers.destination, "fdcc:102::2".parse::<IpAddr>().expect("an address"));
        let before = packet.clone();
        set_ecn(&mut packet, CE);
        assert_eq!(packet[..4], [0x6b, 0xb5, 0xff, 0xff]);
        assert_eq!(packet[4..], before[4..]);
        let headers = Headers::parse(&packet).expect("it is IPv6");
        assert!(!headers.ecn_capable, "a marked packet is not marked again");
    }

    /// RFC 8200, sections 4.2 to 4.6: a length in units of 8 bytes without the first 8; RFC 4302: in units of 4 bytes,
    /// minus 2. A UDP header has 8 bytes (RFC 768).
    #[test]
    fn the_transport_follows_all_extension_headers() {
        let mut payload = vec![ROUTING, 1];
        payload.extend([0; 14]); // hop-by-hop options of 16 bytes
        payload.extend([AUTHENTICATION, 0, 0, 0, 0, 0, 0, 0]); // routing header of 8 bytes
        payload.extend([FRAGMENT, 4]);
        payload.extend([0; 22]); // authentication header of 24 bytes
        payload.extend([UDP, 0, 0, 1, 0, 0, 0, 9]); // the first fragment of several
        let first = ipv6([0x60, 0, 0, 0], HOP_BY_HOP, &[&payload[..], &[0; 8], &[7; 100]].concat());
        assert_eq!(Headers::parse(&first).expect("it is IPv6").payload, 100);
        let at = payload.len() - 8;
        payload[at + 3] = 13 << 3; // the offset of a later fragment, in units of 8 bytes
        let later = ipv6([0x60, 0, 0, 0], HOP_BY_HOP, &[&payload[..], &[7; 100]].concat());
        assert_eq!(Headers::parse(&later).expect("it is IPv6").payload, 100);
    }

    /// No packet is outside the buffer, whatever its headers say.
    #[test]
    fn truncated_headers_are_parsed_without_a_panic() {
        for next in 0..=255u8 {
            for length in 40..64 {
                let mut packet = ipv6([0x60, 0, 0, 0], next, &[255; 24]);
                packet.truncate(length);
                assert!(Headers::parse(&packet).expect("it is IPv6").payload <= 24);
            }
        }
    }
}
