//! Addresses of the flows' endpoints, which encode the side of the path and the number of the flow.

use std::net::Ipv4Addr;

/// A side of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The flows' senders: 10.101.0.0/16.
    Senders,
    /// The flows' receivers: 10.102.0.0/16.
    Receivers,
}

impl Side {
    /// The network of this side, a /16.
    #[must_use]
    pub fn prefix(self) -> Ipv4Addr {
        match self {
            Self::Senders => Ipv4Addr::new(10, 101, 0, 0),
            Self::Receivers => Ipv4Addr::new(10, 102, 0, 0),
        }
    }

    /// The opposite side of the path.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Senders => Self::Receivers,
            Self::Receivers => Self::Senders,
        }
    }

    /// The address of a flow's endpoint: the third and fourth byte are the flow's number plus one.
    #[must_use]
    pub fn address(self, flow: u32) -> Ipv4Addr {
        let ([a, b, ..], [_, _, c, d]) = (self.prefix().octets(), (flow + 1).to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    }

    /// Whether the address belongs to this side.
    fn contains(self, address: Ipv4Addr) -> bool {
        address.octets()[..2] == self.prefix().octets()[..2]
    }
}

/// The flow whose route a packet takes: the flow of the receiver's address. Where that address belongs to the first
/// flow or to no flow, it is the flow of the sender's address. `None` for a packet that is not between the two sides.
///
/// Programs that choose no address use those of the first flow. A client selects a route by its destination address, or
/// by binding to another flow's address.
#[must_use]
pub fn flow_of(sender: Ipv4Addr, receiver: Ipv4Addr, flows: u32) -> Option<u32> {
    if !Side::Senders.contains(sender) || !Side::Receivers.contains(receiver) {
        return None;
    }
    let named = |address: Ipv4Addr| {
        let [_, _, c, d] = address.octets();
        let flow = u32::from(u16::from_be_bytes([c, d])).wrapping_sub(1);
        Some(flow).filter(|&flow| flow > 0 && flow < flows)
    };
    Some(named(receiver).or_else(|| named(sender)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the rule, with three flows.
    #[test]
    fn the_receivers_address_selects_the_flow_unless_it_is_the_first_flows() {
        let (from, to) = (|n| Side::Senders.address(n), |n| Side::Receivers.address(n));
        for (sender, receiver, flow) in
            [(0, 0, 0), (2, 2, 2), (0, 1, 1), (2, 0, 2), (2, 1, 1), (9, 0, 0), (0, 9, 0), (1, 9, 1)]
        {
            assert_eq!(flow_of(from(sender), to(receiver), 3), Some(flow), "{sender} -> {receiver}");
        }
        assert_eq!(flow_of(to(0), from(0), 3), None);
        assert_eq!(flow_of(from(0), Ipv4Addr::new(224, 0, 0, 1), 3), None);
    }
}
