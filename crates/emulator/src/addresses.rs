//! Addresses of the flows' endpoints, which encode the side of the path and the number of the flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cwndlab_units::{Bytes, FlowId};

/// Size of the TCP header without options, bytes (RFC 9293, section 3.1).
const TCP_HEADER: u64 = 20;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The version whose header fits into the headers of a stack's segments: IPv6 from 60 bytes on, which are 40 of IPv6
    /// (RFC 8200) and 20 of TCP. IPv4 and TCP take 40 bytes, and 52 with timestamps.
    #[must_use]
    pub fn of_headers(headers: Bytes) -> Self {
        if headers.0 >= Self::V6.header().0 + TCP_HEADER {
            Self::V6
        } else {
            Self::V4
        }
    }

    /// Size of the header, bytes.
    #[must_use]
    pub fn header(self) -> Bytes {
        match self {
            Self::V4 => Bytes(20),
            Self::V6 => Bytes(40),
        }
    }
}

/// Whether the headers of a stack's segments have room for options of TCP, which are its timestamps.
#[must_use]
pub fn has_timestamps(headers: Bytes) -> bool {
    headers.0 > Family::of_headers(headers).header().0 + TCP_HEADER
}

/// A side of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The flows' senders: 10.101.0.0/16 and `fdcc:101::/64`.
    Senders,
    /// The flows' receivers: 10.102.0.0/16 and `fdcc:102::/64`.
    Receivers,
}

impl Side {
    /// The name of the side in scripts and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Senders => "sender",
            Self::Receivers => "receiver",
        }
    }

    /// The IPv4 network of this side, a /16.
    #[must_use]
    pub fn prefix(self) -> Ipv4Addr {
        match self {
            Self::Senders => Ipv4Addr::new(10, 101, 0, 0),
            Self::Receivers => Ipv4Addr::new(10, 102, 0, 0),
        }
    }

    /// The IPv6 network of this side, a /64 of unique local addresses (RFC 4193).
    #[must_use]
    pub fn prefix6(self) -> Ipv6Addr {
        let subnet = match self {
            Self::Senders => 0x101,
            Self::Receivers => 0x102,
        };
        Ipv6Addr::new(0xfdcc, subnet, 0, 0, 0, 0, 0, 0)
    }

    /// The opposite side of the path.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Senders => Self::Receivers,
            Self::Receivers => Self::Senders,
        }
    }

    /// The address of a flow's endpoint: the last two bytes are the flow's number plus one.
    #[must_use]
    pub fn address(self, flow: FlowId, family: Family) -> IpAddr {
        match family {
            Family::V4 => self.address4(flow).into(),
            Family::V6 => self.address6(flow).into(),
        }
    }

    /// The IPv4 address of a flow's endpoint.
    #[must_use]
    pub fn address4(self, flow: FlowId) -> Ipv4Addr {
        let ([a, b, ..], [_, _, c, d]) = (self.prefix().octets(), (u32::from(flow) + 1).to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    }

    /// The IPv6 address of a flow's endpoint.
    #[must_use]
    pub fn address6(self, flow: FlowId) -> Ipv6Addr {
        Ipv6Addr::from(u128::from(self.prefix6()) | u128::from((u32::from(flow) + 1) as u16))
    }

    /// Whether the address belongs to this side.
    fn contains(self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address.octets()[..2] == self.prefix().octets()[..2],
            IpAddr::V6(address) => address.segments()[..4] == self.prefix6().segments()[..4],
        }
    }
}

/// The last two bytes of an address of a side, `None` where others that encode no flow are not zero.
fn number_of(address: IpAddr) -> Option<u16> {
    match address {
        IpAddr::V4(address) => {
            let [_, _, c, d] = address.octets();
            Some(u16::from_be_bytes([c, d]))
        }
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.segments();
            ([a, b, c] == [0; 3]).then_some(d)
        }
    }
}

/// The flow whose route a packet takes: the flow of the receiver's address. Where that address belongs to the first
/// flow or to no flow, it is the flow of the sender's address. `None` for a packet that is not between the two sides.
///
/// Programs that choose no address use those of the first flow. A client selects a route by its destination address, or
/// by binding to another flow's address.
#[must_use]
pub fn flow_of(sender: IpAddr, receiver: IpAddr, flows: u32) -> Option<FlowId> {
    if !Side::Senders.contains(sender) || !Side::Receivers.contains(receiver) {
        return None;
    }
    let named = |address: IpAddr| {
        let flow = u32::from(number_of(address)?).wrapping_sub(1);
        Some(flow).filter(|&flow| flow > 0 && flow < flows)
    };
    Some(named(receiver).or_else(|| named(sender)).unwrap_or(0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the rule, with three flows.
    #[test]
    fn the_receivers_address_selects_the_flow_unless_it_is_the_first_flows() {
        for family in [Family::V4, Family::V6] {
            let from = |n: u32| Side::Senders.address(n.into(), family);
            let to = |n: u32| Side::Receivers.address(n.into(), family);
            for (sender, receiver, flow) in
                [(0, 0, 0u32), (2, 2, 2), (0, 1, 1), (2, 0, 2), (2, 1, 1), (9, 0, 0), (0, 9, 0), (1, 9, 1)]
            {
                assert_eq!(flow_of(from(sender), to(receiver), 3), Some(flow.into()), "{sender} -> {receiver}");
            }
            assert_eq!(flow_of(to(0), from(0), 3), None);
            assert_eq!(flow_of(from(0), Ipv4Addr::new(224, 0, 0, 1).into(), 3), None);
            assert_eq!(flow_of(from(0), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2).into(), 3), None);
        }
    }

    /// RFC 4193: fc00::/7 with the local bit set is fd00::/8. An interface identifier of a program's own choice is no
    /// flow's.
    #[test]
    fn addresses_of_ipv6_have_the_flows_numbers() {
        let text = |side: Side, flow: u32| side.address(flow.into(), Family::V6).to_string();
        assert_eq!((text(Side::Senders, 0), text(Side::Receivers, 254)), ("fdcc:101::1".into(), "fdcc:102::ff".into()));
        let to = "fdcc:102::1:0:0:2".parse().expect("an address");
        assert_eq!(flow_of(Side::Senders.address(0.into(), Family::V6), to, 3), Some(0.into()));
    }

    /// 20 bytes of IPv4 (RFC 791), 40 of IPv6 (RFC 8200), 20 of TCP (RFC 9293), 12 of timestamps (RFC 7323, appendix A).
    #[test]
    fn the_size_of_the_headers_tells_the_version_and_the_timestamps() {
        for (headers, family, timestamps) in
            [(40, Family::V4, false), (52, Family::V4, true), (60, Family::V6, false), (72, Family::V6, true)]
        {
            let told = (Family::of_headers(Bytes(headers)), has_timestamps(Bytes(headers)));
            assert_eq!(told, (family, timestamps), "{headers}");
        }
    }
}
