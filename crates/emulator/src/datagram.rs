//! What the emulator must know of an IPv4 packet: whose it is, what it carries, its ECN field.

/// Prefix of the senders' side; the third and fourth byte are the flow's number plus one.
pub const LEFT: [u8; 2] = [10, 101];
/// Prefix of the receivers' side.
pub const RIGHT: [u8; 2] = [10, 102];

/// The address of a flow's end.
#[must_use]
pub fn address(side: [u8; 2], flow: u32) -> [u8; 4] {
    let number = (flow + 1).to_be_bytes();
    [side[0], side[1], number[2], number[3]]
}

/// The flow on whose route a packet travels: that of the receivers' side's address or, where this is the first flow's or
/// nobody's, that of the senders' side's. Nothing for what is not between the two sides.
///
/// Programs that choose no address have those of the first flow: a client chooses its route by the address that it calls,
/// or binds itself to another flow's and calls the server where it happens to be.
#[must_use]
pub fn flow(sender: [u8; 4], receiver: [u8; 4], flows: u32) -> Option<u32> {
    if sender[..2] != LEFT || receiver[..2] != RIGHT {
        return None;
    }
    let of = |address: [u8; 4]| u32::from(u16::from_be_bytes([address[2], address[3]])).wrapping_sub(1);
    let named = |address| Some(of(address)).filter(|&flow| flow > 0 && flow < flows);
    Some(named(receiver).or_else(|| named(sender)).unwrap_or(0))
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
    /// TCP sequence number; 0 for other protocols.
    pub sequence: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// TCP's SYN.
    pub syn: bool,
    /// The ECN field is ECT(0) or ECT(1).
    pub capable: bool,
}

/// Reads the headers; nothing for what is not IPv4.
#[must_use]
pub fn view(packet: &[u8]) -> Option<View> {
    if packet.len() < 20 || packet[0] >> 4 != 4 {
        return None;
    }
    let header = usize::from(packet[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]])).min(packet.len());
    let mut view = View {
        source: packet[12..16].try_into().ok()?,
        destination: packet[16..20].try_into().ok()?,
        sequence: 0,
        payload: total.saturating_sub(header) as u32,
        syn: false,
        capable: matches!(packet[1] & 3, 1 | 2),
    };
    if u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0 {
        return Some(view); // a later fragment: what follows is no header
    }
    if packet[9] == 6 && packet.len() >= header + 20 {
        let tcp = &packet[header..];
        let offset = usize::from(tcp[12] >> 4) * 4;
        view.sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        view.payload = total.saturating_sub(header + offset) as u32;
        view.syn = tcp[13] & 2 != 0;
    } else if packet[9] == 17 {
        view.payload = total.saturating_sub(header + 8) as u32;
    }
    Some(view)
}

/// Sets CE and mends the header's checksum (RFC 1624, equation 3).
pub fn mark(packet: &mut [u8]) {
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

    /// RFC 1071's sum over a header that was marked is right again.
    #[test]
    fn a_marked_header_has_the_right_checksum() {
        for ecn in [1u8, 2] {
            for id in 0..300u16 {
                let mut packet = [0x45, ecn, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
                packet[4..6].copy_from_slice(&(id * 219).to_be_bytes());
                let sum = checksum(&packet);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
                mark(&mut packet);
                assert_eq!(packet[1] & 3, 3);
                assert_eq!(checksum(&packet), 0);
            }
        }
    }

    /// By hand from the rule, with three flows.
    #[test]
    fn the_receivers_address_names_the_flow_unless_it_is_the_first() {
        let (from, to) = (|n| address(LEFT, n), |n| address(RIGHT, n));
        for (sender, receiver, found) in
            [(0, 0, 0), (2, 2, 2), (0, 1, 1), (2, 0, 2), (2, 1, 1), (9, 0, 0), (0, 9, 0), (1, 9, 1)]
        {
            assert_eq!(flow(from(sender), to(receiver), 3), Some(found), "{sender} -> {receiver}");
        }
        assert_eq!(flow(to(0), from(0), 3), None);
        assert_eq!(flow(from(0), [224, 0, 0, 1], 3), None);
    }

    /// RFC 791: the offset of a later fragment is not 0, and what follows its header is data.
    #[test]
    fn a_later_fragment_has_no_header_of_tcp() {
        let mut packet = vec![0x45, 0, 0, 60, 0, 0, 0, 185, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
        packet.extend([0xff; 40]);
        let seen = view(&packet).expect("it is IPv4");
        assert_eq!((seen.sequence, seen.payload, seen.syn), (0, 40, false));
    }

    #[test]
    fn headers_are_read() {
        let mut packet = vec![0x45, 2, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
        packet.extend([0x1b, 0x58, 0, 80, 0, 0, 1, 2, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0]);
        packet.extend([7; 20]);
        let seen = view(&packet).expect("it is IPv4");
        assert_eq!((seen.sequence, seen.payload, seen.syn, seen.capable), (258, 20, true, true));
        assert_eq!(seen.source, address(LEFT, 0));
        assert_eq!(view(&[0x60; 40]), None);
        assert_eq!(view(&packet[..19]), None);
    }
}
