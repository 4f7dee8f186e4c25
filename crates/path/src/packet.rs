//! A packet in transit, a plain value of 32 bytes.

use cwndlab_traffic::datagrams::Datagram;
use cwndlab_units::{ConnectionId, Time};

/// A data segment.
pub const DATA: u8 = 0;
/// An acknowledgement.
pub const ACK: u8 = 1;
/// A SYN.
pub const SYN: u8 = 2;
/// A SYN-ACK.
pub const SYN_ACK: u8 = 3;
/// Mask of the kind in `flags`.
pub const KIND: u8 = 3;
/// A retransmission.
pub const RETRANSMISSION: u8 = 4;
/// ECN-capable.
pub const ECT: u8 = 8;
/// Congestion experienced.
pub const CE: u8 = 16;
/// ECN echo of an ACK (ECE).
pub const ECE: u8 = 32;
/// PSH of a data segment, which has no ECN echo.
pub const PUSH: u8 = ECE;
/// Congestion window reduced (CWR).
pub const CWR: u8 = 64;
/// `aux` is an index (module `packet_options`): of the options of an ACK, or of the router header of any other packet.
pub const OPTIONS: u8 = 128;

/// Mask of the connection's index in [`Packet::flow`]; the bits above are its number.
pub const FLOW: u32 = 0x00ff_ffff;
/// Maximum number of connections of a run.
pub const MAX_FLOWS: usize = FLOW as usize + 1;

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))] // two to a cache line, none across two
pub struct Packet {
    /// Arrival time at the end of its current link.
    pub at: Time,
    /// Timestamp value of a data segment, timestamp echo of an ACK.
    pub timestamp: Time,
    /// Segment number of a data segment, cumulative acknowledgement of an ACK, modulo 2³².
    pub seq: u32,
    /// Index of the connection, and its number modulo 256 in the highest byte.
    pub flow: u32,
    /// Payload of a data segment in bytes; window of an ACK, shifted by the window scale; or an index, see [`OPTIONS`].
    pub aux: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Position on its route: the number of links entered; 255 after the last one.
    pub hop: u8,
    /// Kind and flags.
    pub flags: u8,
}

impl Packet {
    /// The packet of a datagram that the connection of index `flow` sends at `now`.
    #[must_use]
    pub fn datagram(now: Time, flow: u32, one: &Datagram) -> Self {
        Self { timestamp: now, seq: one.seq, flow, aux: one.len, size: one.size, flags: DATA, ..Self::default() }
    }

    /// The kind of the packet.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.flags & KIND
    }

    /// Its connection.
    #[inline]
    #[must_use]
    pub fn connection(&self) -> ConnectionId {
        ConnectionId::from(self.flow & FLOW)
    }

    /// Whether it travels from the sender to the receiver.
    #[inline]
    #[must_use]
    pub fn is_forward(&self) -> bool {
        matches!(self.kind(), DATA | SYN)
    }
}

const _: () = assert!(size_of::<Packet>() == 32);
