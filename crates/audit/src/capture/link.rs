//! Headers below IP: which link types are read, and where the IP packet begins.
//!
//! Numbers: tcpdump.org/linktypes.html, and IEEE 802 EtherTypes.

use super::skipped::Skipped;

/// The names of the link types, for messages.
pub(super) const READABLE: &str = "Ethernet, Linux cooked, raw IP, PPP, PPPoE, IEEE 802.11 with or without radiotap";

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

/// The IP packet in a frame of link type `link`.
///
/// # Errors
///
/// The frame has none, is cut, or the link type is not read.
pub(super) fn ip_packet(link: u32, data: &[u8]) -> Result<&[u8], Skipped> {
    let cut = || Skipped::Cut(data.len());
    let after = |count: usize| data.get(count..).ok_or_else(cut);
    match link {
        12 | 14 | 101 | 228 | 229 => Ok(data),
        0 | 108 => after(4),
        1 => match word(data, 12).ok_or_else(cut)? {
            length if length < 0x600 => sub_network(after(14)?),
            kind => by_ethertype(kind, after(14)?),
        },
        9 | 50 => point_to_point(data),
        51 => point_to_point(after(6)?),
        104 => by_ethertype(word(data, 2).ok_or_else(cut)?, after(4)?),
        105 => wireless(data),
        113 => by_ethertype(word(data, 14).ok_or_else(cut)?, after(16)?),
        127 => {
            let length = data.get(2..4).ok_or_else(cut)?;
            wireless(after(usize::from(u16::from_le_bytes([length[0], length[1]])))?)
        }
        276 => by_ethertype(word(data, 0).ok_or_else(cut)?, after(20)?),
        other => Err(Skipped::Link(other)),
    }
}

/// What follows an EtherType: IP, or tags, PPPoE and MPLS around it.
fn by_ethertype(mut kind: u16, mut data: &[u8]) -> Result<&[u8], Skipped> {
    let length = data.len();
    let cut = || Skipped::Cut(length);
    loop {
        match kind {
            IPV4 | IPV6 => return Ok(data),
            0x8100 | 0x88a8 | 0x9100 => {
                kind = word(data, 2).ok_or_else(cut)?;
                data = data.get(4..).ok_or_else(cut)?;
            }
            0x8864 => return point_to_point(data.get(6..).ok_or_else(cut)?),
            0x8847 => {
                // RFC 3032, section 2.1: the last label has the bottom-of-stack bit.
                let is_last = *data.get(2).ok_or_else(cut)? & 1 == 1;
                data = data.get(4..).ok_or_else(cut)?;
                if is_last {
                    return Ok(data);
                }
            }
            _ => return Err(Skipped::NoIp),
        }
    }
}

/// PPP (RFC 1661, RFC 1662): the address and control fields and the first octet of the protocol may be left out.
fn point_to_point(data: &[u8]) -> Result<&[u8], Skipped> {
    let cut = || Skipped::Cut(data.len());
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    match (data.first().ok_or_else(cut)?, data.get(1)) {
        (0x21 | 0x57, _) => Ok(&data[1..]),
        (0, Some(0x21 | 0x57)) => Ok(&data[2..]),
        _ => Err(Skipped::NoIp),
    }
}

/// LLC with SNAP (RFC 1042).
fn sub_network(data: &[u8]) -> Result<&[u8], Skipped> {
    let Some(rest) = data.strip_prefix(&[0xaa, 0xaa, 0x03, 0, 0, 0]) else { return Err(Skipped::NoIp) };
    by_ethertype(word(rest, 0).ok_or(Skipped::Cut(data.len()))?, &rest[2..])
}

/// IEEE 802.11, section 9.2: only data frames without encryption have an IP packet that can be read.
fn wireless(data: &[u8]) -> Result<&[u8], Skipped> {
    let cut = || Skipped::Cut(data.len());
    let kind = *data.first().ok_or_else(cut)?;
    let flags = *data.get(1).ok_or_else(cut)?;
    let is_data = kind & 0x0c == 0x08;
    let without_data = kind & 0x40 != 0;
    let has_qos = kind & 0x80 != 0;
    if !is_data || without_data {
        return Err(Skipped::NoIp);
    }
    if flags & 0x40 != 0 {
        return Err(Skipped::Encrypted);
    }
    let four_addresses = flags & 0x03 == 0x03;
    let has_ht_control = has_qos && flags & 0x80 != 0;
    let header = 24 + 6 * usize::from(four_addresses) + 2 * usize::from(has_qos) + 4 * usize::from(has_ht_control);
    sub_network(data.get(header..).ok_or_else(cut)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: &[u8] = &[0x45, 0, 0, 40];

    fn frame(head: &[u8]) -> Vec<u8> {
        [head, IP].concat()
    }

    /// Headers by the documents that the module names.
    #[test]
    fn ip_begins_after_the_headers_of_each_link_type() {
        let mac = [0u8; 12];
        let ethernet = |rest: &[u8]| frame(&[&mac[..], rest].concat());
        let data_frame = |flags: u8, kind: u8, length: usize| {
            let mut head = vec![0u8; length];
            (head[0], head[1]) = (kind, flags);
            [head, vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()
        };
        let radiotap = [&[0u8, 0, 9, 0, 0, 0, 0, 0, 7][..], &data_frame(1, 0x88, 26)].concat();
        for (link, bytes) in [
            (1, ethernet(&[8, 0])),
            (1, ethernet(&[0x81, 0, 0, 7, 8, 0])),
            (1, ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd])),
            (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 42, 0, 0x21])),
            (1, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64])),
            (1, ethernet(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
            (9, frame(&[0xff, 3, 0, 0x21])),
            (50, frame(&[0xff, 3, 0x57])),
            (51, frame(&[0x11, 0, 0, 1, 0, 42, 0, 0x21])),
            (14, IP.to_vec()),
            (101, IP.to_vec()),
            (0, frame(&[2, 0, 0, 0])),
            (105, frame(&data_frame(3, 8, 30))),
            (127, frame(&radiotap)),
            (113, frame(&[&[0u8; 14][..], &[8, 0]].concat())),
            (276, frame(&[&[8u8, 0][..], &[0; 18]].concat())),
        ] {
            assert_eq!(ip_packet(link, &bytes), Ok(IP), "link type {link}: {bytes:02x?}");
        }
    }

    #[test]
    fn frames_without_a_readable_packet_say_why() {
        assert_eq!(ip_packet(147, IP), Err(Skipped::Link(147)));
        assert_eq!(ip_packet(1, &[0; 13]), Err(Skipped::Cut(13)));
        assert_eq!(ip_packet(1, &[&[0u8; 12][..], &[8, 6]].concat()), Err(Skipped::NoIp));
        assert_eq!(ip_packet(105, &[&[0x08u8, 0x40][..], &[0; 40]].concat()), Err(Skipped::Encrypted));
        assert_eq!(ip_packet(127, &[0, 0]), Err(Skipped::Cut(2)));
        // A beacon.
        assert_eq!(ip_packet(105, &[0x80, 0, 0]), Err(Skipped::NoIp));
    }
}
