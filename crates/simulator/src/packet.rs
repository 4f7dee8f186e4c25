//! A packet on its way: 32 bytes, a plain value.

/// Data.
pub const DATA: u8 = 0;
/// An acknowledgement.
pub const ACK: u8 = 1;
/// The first packet of a connection.
pub const SYN: u8 = 2;
/// Its answer.
pub const SYN_ACK: u8 = 3;
/// The low bits of `flags` hold the kind.
pub const KIND: u8 = 3;
/// Data sent before.
pub const AGAIN: u8 = 4;
/// ECN-capable.
pub const ECT: u8 = 8;
/// Marked.
pub const CE: u8 = 16;
/// ECN echo of an ACK.
pub const ECE: u8 = 32;
/// The sender reduced its window.
pub const CWR: u8 = 64;
/// An ACK whose `aux` is an index of the extras; any other packet whose `aux` is one of the headers for routers.
pub const EXTRA: u8 = 128;

/// The flow's part of `flow`; above it stands the connection's number.
pub const FLOW: u32 = 0x00ff_ffff;
/// As many flows and connections have a number.
pub const MOST_FLOWS: usize = FLOW as usize + 1;

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))] // two to a cache line, none across two
pub struct Packet {
    /// When it reaches the end of the link that it is on.
    pub at: u64,
    /// Timestamp value of data, echo of an ACK.
    pub stamp: u64,
    /// Segment of data, next expected of an ACK, modulo 2³².
    pub seq: u32,
    /// Flow, and number of the connection modulo 256 in the highest byte.
    pub flow: u32,
    /// Payload of data; window of an ACK, shifted as the stack says; or the index that `EXTRA` tells of.
    pub aux: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Links of its route already behind it or under it.
    pub hop: u8,
    /// Kind and flags.
    pub flags: u8,
}

impl Packet {
    /// What it is.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.flags & KIND
    }

    /// Index of its flow.
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
