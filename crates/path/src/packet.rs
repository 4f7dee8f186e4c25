//! A packet under way: 32 bytes, a plain value.

use cwndlab_traffic::datagrams::Datagram;
use cwndlab_units::Time;

/// Data.
pub const DATA: u8 = 0;
/// An acknowledgement.
pub const ACK: u8 = 1;
/// The first packet of a connection.
pub const SYN: u8 = 2;
/// The reply to it.
pub const SYN_ACK: u8 = 3;
/// The low bits of `flags` hold the kind.
pub const KIND: u8 = 3;
/// A retransmission.
pub const AGAIN: u8 = 4;
/// ECN-capable.
pub const ECT: u8 = 8;
/// Congestion experienced: marked.
pub const CE: u8 = 16;
/// ECN echo of an ACK (ECE).
pub const ECE: u8 = 32;
/// The sender reduced its window.
pub const CWR: u8 = 64;
/// `aux` is an index (module `packet_options`): of the options of an ACK, of the routers' header of any other packet.
pub const EXTRA: u8 = 128;

/// The bits of [`Packet::flow`] that are the connection's index; its number is above them.
pub const FLOW: u32 = 0x00ff_ffff;
/// The most connections of a run.
pub const MAX_FLOWS: usize = FLOW as usize + 1;

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))] // two to a cache line, none across two
pub struct Packet {
    /// When it reaches the end of the link that it is on.
    pub at: Time,
    /// Timestamp value of data, echo of an ACK.
    pub timestamp: Time,
    /// Segment number of data, next one expected of an ACK, modulo 2³².
    pub seq: u32,
    /// Index of the connection, and its number modulo 256 in the highest byte.
    pub flow: u32,
    /// Payload of data in bytes; window of an ACK, shifted by the window scale; or an index, see [`EXTRA`].
    pub aux: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Links of its route behind it, the one that it is on included; 255 behind the last one.
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

    /// Its kind.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.flags & KIND
    }

    /// Index of its connection.
    #[inline]
    #[must_use]
    pub fn flow(&self) -> usize {
        (self.flow & FLOW) as usize
    }

    /// It travels from the sender to the receiver.
    #[inline]
    #[must_use]
    pub fn is_forward(&self) -> bool {
        matches!(self.kind(), DATA | SYN)
    }
}

const _: () = assert!(size_of::<Packet>() == 32);
