//! Reasons for which a packet of a capture is not read.

/// Why a packet of a capture is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Skipped {
    /// A link type that is not read.
    Link(u32),
    /// Neither IPv4 nor IPv6.
    NoIp,
    /// Another protocol over IP.
    Protocol(u8),
    /// An encrypted frame of IEEE 802.11.
    Encrypted,
    /// A fragment of an IP packet.
    Fragment,
    /// The capture ends within the headers, after this many bytes.
    Cut(usize),
}
