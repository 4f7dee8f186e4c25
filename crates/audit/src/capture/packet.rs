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
    pub(crate) ece: bool,
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
type Fields = (Endpoints, (u32, Option<u32>, u64), (bool, bool, bool, u16), Vec<(u32, u32)>, Option<(u32, u32)>, u16);

/// Source and destination of an IP packet, and the length of its payload by its header: the capture may end with the
/// headers. With the identification of IPv4.
fn addresses(net: &LaxNetSlice<'_>) -> Option<(IpAddr, IpAddr, u64, u16)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = u64::from(header.total_len()).saturating_sub(u64::from(header.ihl()) * 4);
            Some((
                IpAddr::V4(header.source_addr()),
                IpAddr::V4(header.destination_addr()),
                length,
                header.identification(),
            ))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length = u64::from(header.payload_length());
            Some((IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()), length, 0))
        }
        LaxNetSlice::Arp(_) => None,
    }
}

impl Packet {
    /// Parses a packet of a link type.
    ///
    /// # Errors
    ///
    /// It is not TCP over IP, or its headers are not complete.
    pub(crate) fn parse(link: u32, time: Time, data: &[u8]) -> Result<Self, Skipped> {
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
                return Self::of(time, net, tcp).ok_or(Skipped::NoIp);
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
            ece: false,
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

    fn of(time: Time, net: &LaxNetSlice<'_>, tcp: &etherparse::TcpSlice<'_>) -> Option<Self> {
        let (from, to, length, ip_id) = addresses(net)?;
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

    /// Payload of a full segment by the options of a SYN: timestamps take twelve bytes (RFC 7323, appendix A).
    pub(crate) fn segment_size(&self) -> Option<u64> {
        let mss = self.mss.filter(|_| self.syn)?;
        let options = if self.timestamps.is_some() { 12 } else { 0 };
        Some(u64::from(mss).saturating_sub(options)).filter(|bytes| *bytes > 0)
    }

    /// The fields by which a copy is recognised.
    pub(crate) fn fields(&self) -> Fields {
        let numbers = (self.seq, self.ack, self.payload);
        let flags = (self.syn, self.fin, self.ece, self.window);
        (self.endpoints, numbers, flags, self.sack.clone(), self.timestamps, self.ip_id)
    }
}
