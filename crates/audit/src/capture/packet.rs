//! A TCP packet of a capture.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use cwndlab_units::Time;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice};

use super::link::ip_packet;
use super::skipped::Skipped;

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

#[cfg(test)]
impl Endpoints {
    /// From port 1 to port 2 of this machine.
    pub(crate) fn example() -> Self {
        let at = |port| SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port);
        Self { from: at(1), to: at(2) }
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
    /// The flags AE, CWR and ECE as a number (RFC 9768, section 3.2.1).
    pub(crate) ace: u8,
    pub(crate) sack: Vec<(u32, u32)>,
    /// Value and echo of the timestamp option.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) window: u16,
    /// Shift of the window, of a SYN (RFC 7323, section 2.2).
    pub(crate) window_scale: Option<u8>,
    pub(super) fin: bool,
    /// It ends what the application wrote (PSH).
    pub(super) push: bool,
    /// A SYN permits SACK.
    pub(super) sack_permitted: bool,
    /// Identification of the IPv4 packet; 0 where there is none.
    pub(crate) ip_id: u16,
    pub(super) mss: Option<u16>,
}

/// What two copies of one packet have in common.
type Fields = (Endpoints, (u32, Option<u32>, u64), (bool, bool, u8, u16), Vec<(u32, u32)>, Option<(u32, u32)>, u16);

/// Source and destination of an IP packet, and the length of its payload by its header: the capture may end with the
/// headers, and lacks `uncaptured` bytes. With the identification of IPv4.
fn addresses(net: &LaxNetSlice<'_>, uncaptured: usize) -> Option<(IpAddr, IpAddr, u64, u16)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let headers = usize::from(header.ihl()) * 4 + ip.extensions().auth.map_or(0, |auth| auth.slice().len());
            // Zero in captures above segmentation offload of more than 64 kB.
            let length = match usize::from(header.total_len()) {
                0 => ip.payload().payload.len() + uncaptured,
                total => total.saturating_sub(headers),
            };
            Some((
                IpAddr::V4(header.source_addr()),
                IpAddr::V4(header.destination_addr()),
                length as u64,
                header.identification(),
            ))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            // It counts extension headers (RFC 8200, section 3).
            let length = match usize::from(header.payload_length()) {
                0 => ip.payload().payload.len() + uncaptured,
                total => total.saturating_sub(ip.extensions().slice().len()),
            };
            Some((IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()), length as u64, 0))
        }
        LaxNetSlice::Arp(_) => None,
    }
}

impl Packet {
    /// Parses a packet of a link type and of `length` bytes, of which the capture has `data`.
    ///
    /// # Errors
    ///
    /// It is not TCP over IP, or its headers are not complete.
    pub(crate) fn parse(link: u32, time: Time, data: &[u8], length: u32) -> Result<Self, Skipped> {
        let uncaptured = (length as usize).saturating_sub(data.len());
        let cut = Skipped::Cut(data.len());
        let mut packet = ip_packet(link, data)?;
        // IP over IP (RFC 2003, RFC 4213), at most twice.
        for _ in 0..3 {
            let version = packet.first().ok_or(cut)? >> 4;
            if version != 4 && version != 6 {
                return Err(Skipped::NoIp);
            }
            let sliced = LaxSlicedPacket::from_ip(packet).map_err(|_| cut)?;
            let net = sliced.net.as_ref().ok_or(Skipped::NoIp)?;
            if let Some(TransportSlice::Tcp(tcp)) = &sliced.transport {
                return Self::of(time, net, tcp, uncaptured).ok_or(Skipped::NoIp);
            }
            let inner = net.ip_payload_ref().ok_or(Skipped::NoIp)?;
            match inner.ip_number.0 {
                4 | 41 => packet = inner.payload,
                6 if inner.fragmented => return Err(Skipped::Fragment),
                6 => return Err(cut),
                other => return Err(Skipped::Protocol(other)),
            }
        }
        Err(Skipped::Protocol(4))
    }

    /// An ACK without data, and its timestamps.
    #[cfg(test)]
    pub(crate) fn bare(time: Time, endpoints: Endpoints, ack: u32, window: u16, timestamps: (u32, u32)) -> Self {
        Self {
            time,
            endpoints,
            seq: 0,
            ack: Some(ack),
            payload: 0,
            syn: false,
            ace: 0,
            sack: Vec::new(),
            timestamps: Some(timestamps),
            window,
            window_scale: None,
            fin: false,
            push: false,
            sack_permitted: false,
            ip_id: 0,
            mss: None,
        }
    }

    fn of(time: Time, net: &LaxNetSlice<'_>, tcp: &etherparse::TcpSlice<'_>, uncaptured: usize) -> Option<Self> {
        let (from, to, length, ip_id) = addresses(net, uncaptured)?;
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
            ace: u8::from(tcp.ns()) << 2 | u8::from(tcp.cwr()) << 1 | u8::from(tcp.ece()),
            sack: Vec::new(),
            timestamps: None,
            window: tcp.window_size(),
            window_scale: None,
            fin: tcp.fin(),
            push: tcp.psh(),
            sack_permitted: false,
            ip_id,
            mss: None,
        };
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::MaximumSegmentSize(mss) => packet.mss = Some(mss),
                TcpOptionElement::SelectiveAcknowledgementPermitted => packet.sack_permitted = true,
                TcpOptionElement::WindowScale(shift) => packet.window_scale = Some(shift),
                TcpOptionElement::Timestamp(value, echo) => packet.timestamps = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    packet.sack = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
                }
                TcpOptionElement::Noop => {}
            }
        }
        Some(packet)
    }

    /// ECN-Echo (RFC 3168).
    pub(crate) fn ece(&self) -> bool {
        self.ace & 1 != 0
    }

    /// Congestion Window Reduced (RFC 3168).
    pub(crate) fn cwr(&self) -> bool {
        self.ace & 2 != 0
    }

    /// A SYN asks for Accurate ECN, a SYN-ACK accepts it (RFC 9768, table 2).
    pub(crate) fn has_accurate_ecn(&self) -> bool {
        self.syn
            && if self.ack.is_none() { self.ace == 0b111 } else { matches!(self.ace, 0b010 | 0b011 | 0b100 | 0b110) }
    }

    /// The fields by which a copy is recognised.
    pub(crate) fn fields(&self) -> Fields {
        let numbers = (self.seq, self.ack, self.payload);
        let flags = (self.syn, self.fin, self.ace, self.window);
        (self.endpoints, numbers, flags, self.sack.clone(), self.timestamps, self.ip_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a TCP header from port 1 to 2, with its ACK.
    const TCP: [u8; 20] = [0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 3, 0x50, 0x10, 0, 9, 0, 0, 0, 0];

    /// Link type of packets that begin with IP (LINKTYPE_RAW).
    const RAW: u32 = 101;

    /// A packet over IPv6, with eight bytes of hop-by-hop options.
    fn over_ipv6(payload_length: u16, data: usize) -> Packet {
        let length = payload_length.to_be_bytes();
        let mut bytes = vec![0x60, 0, 0, 0, length[0], length[1], 0, 64];
        bytes.extend([0; 32]);
        bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend(TCP);
        let whole = bytes.len() + data;
        bytes.extend(vec![0; data.min(5)]);
        Packet::parse(RAW, Time::ZERO, &bytes, whole as u32).expect("TCP")
    }

    /// RFC 8200, section 3: the payload length counts extension headers. It is zero in captures above segmentation offload
    /// of more than 64 kB, where the record of the packet says how much there is, also if the capture has five bytes of it.
    #[test]
    fn extension_headers_of_ipv6_are_no_payload() {
        assert_eq!([over_ipv6(8 + 20 + 5, 5).payload, over_ipv6(0, 70_000).payload], [5, 70_000]);
    }

    /// The same with the total length of IPv4.
    #[test]
    fn a_total_length_of_zero_is_that_of_the_packet() {
        let payload = |total: u8| {
            let mut bytes = vec![0x45, 0, 0, total, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
            bytes.extend(TCP);
            bytes.extend([0; 6]);
            Packet::parse(RAW, Time::ZERO, &bytes, 46).expect("TCP").payload
        };
        assert_eq!([payload(46), payload(44), payload(0)], [6, 4, 6]);
    }
}
