//! A TCP packet of a capture.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use cwndlab_units::Time;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice};

/// Sender and receiver of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Endpoints {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
}

impl Endpoints {
    pub(crate) fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }

    pub(crate) fn sorted(self) -> Self {
        self.min(self.reversed())
    }
}

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

/// The fields of a TCP packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) time: Time,
    pub(crate) endpoints: Endpoints,
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) payload: u64,
    pub(crate) syn: bool,
    pub(crate) ece: bool,
    pub(crate) sack: Vec<(u32, u32)>,
    mss: Option<u16>,
    timestamps: bool,
}

/// Link types (tcpdump.org/linktypes.html) and the length of the header before the IP packet.
fn ip_offset(link: u32) -> Option<usize> {
    match link {
        12 | 101 | 228 | 229 => Some(0),
        0 | 108 => Some(4),
        113 => Some(16),
        276 => Some(20),
        _ => None,
    }
}

/// Source and destination of an IP packet, and the length of its payload by its header: the capture may end with the
/// headers.
fn addresses(net: &LaxNetSlice<'_>) -> Option<(IpAddr, IpAddr, u64)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = u64::from(header.total_len()).saturating_sub(u64::from(header.ihl()) * 4);
            Some((IpAddr::V4(header.source_addr()), IpAddr::V4(header.destination_addr()), length))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length = u64::from(header.payload_length());
            Some((IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()), length))
        }
        LaxNetSlice::Arp(_) => None,
    }
}

impl Packet {
    /// Parses a packet of a link type; `None` where it is not TCP over IP.
    pub(crate) fn parse(link: u32, time: Time, data: &[u8]) -> Option<Self> {
        let sliced = if link == 1 {
            LaxSlicedPacket::from_ethernet(data).ok()?
        } else {
            LaxSlicedPacket::from_ip(data.get(ip_offset(link)?..)?).ok()?
        };
        let (from, to, length) = addresses(sliced.net.as_ref()?)?;
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
        let mut packet = Self {
            time,
            endpoints: Endpoints {
                from: SocketAddr::new(from, tcp.source_port()),
                to: SocketAddr::new(to, tcp.destination_port()),
            },
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            payload: length.saturating_sub(u64::from(tcp.data_offset()) * 4),
            syn: tcp.syn(),
            ece: tcp.ece(),
            sack: Vec::new(),
            mss: None,
            timestamps: false,
        };
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::MaximumSegmentSize(mss) => packet.mss = Some(mss),
                TcpOptionElement::Timestamp(..) => packet.timestamps = true,
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    packet.sack = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
                }
                _ => {}
            }
        }
        Some(packet)
    }

    /// Payload of a full segment by the options of a SYN: timestamps take twelve bytes (RFC 7323, appendix A).
    pub(crate) fn segment_size(&self) -> Option<u64> {
        let mss = self.mss.filter(|_| self.syn)?;
        Some(u64::from(mss) - if self.timestamps { 12 } else { 0 }).filter(|bytes| *bytes > 0)
    }
}
