//! The IPv4 header fields that the path needs: addresses, payload, TCP sequence number, ECN (RFC 791, 9293, 3168).

use std::net::Ipv4Addr;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The fields of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// TCP sequence number; 0 for other protocols.
    pub sequence: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// The SYN flag of TCP.
    pub syn: bool,
    /// The ECN field is ECT(0) or ECT(1).
    pub ecn_capable: bool,
}

impl Headers {
    /// Parses the headers of a packet; `None` where it is not IPv4.
    #[must_use]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        if packet.len() < 20 || packet[0] >> 4 != 4 {
            return None;
        }
        let address = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let header = usize::from(packet[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([packet[2], packet[3]])).min(packet.len());
        let mut headers = Self {
            source: address(12),
            destination: address(16),
            sequence: 0,
            payload: total.saturating_sub(header) as u32,
            syn: false,
            ecn_capable: matches!(packet[1] & 3, 1 | 2),
        };
        if u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0 {
            return Some(headers); // a later fragment: no transport header follows
        }
        if packet[9] == TCP && packet.len() >= header + 20 {
            let tcp = &packet[header..];
            let offset = usize::from(tcp[12] >> 4) * 4;
            headers.sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
            headers.payload = total.saturating_sub(header + offset) as u32;
            headers.syn = tcp[13] & 2 != 0;
        } else if packet[9] == UDP {
            headers.payload = total.saturating_sub(header + 8) as u32;
        }
        Some(headers)
    }
}

/// Sets the ECN field to CE and updates the header checksum (RFC 1624, equation 3).
pub fn set_ce(packet: &mut [u8]) {
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
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

    /// RFC 1071: the sum over a header with its checksum is 0, also after marking.
    #[test]
    fn a_marked_header_has_a_valid_checksum() {
        for ecn in [1u8, 2] {
            for id in 0..300u16 {
                let mut packet = [0x45, ecn, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
                packet[4..6].copy_from_slice(&(id * 219).to_be_bytes());
                let sum = checksum(&packet);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
                set_ce(&mut packet);
                assert_eq!(packet[1] & 3, 3);
                assert_eq!(checksum(&packet), 0);
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

    /// RFC 791 and 9293: the offsets of the fields.
    #[test]
    fn the_headers_of_a_segment_are_parsed() {
        let mut packet = vec![0x45, 2, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
        packet.extend([0x1b, 0x58, 0, 80, 0, 0, 1, 2, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0]);
        packet.extend([7; 20]);
        let headers = Headers::parse(&packet).expect("it is IPv4");
        assert_eq!((headers.sequence, headers.payload, headers.syn, headers.ecn_capable), (258, 20, true, true));
        assert_eq!(headers.source, Ipv4Addr::new(10, 101, 0, 1));
        assert_eq!(Headers::parse(&[0x60; 40]), None);
        assert_eq!(Headers::parse(&packet[..19]), None);
    }
}
