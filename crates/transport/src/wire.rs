//! What sender and receiver say to each other, without headers.

use cwndlab_control::Feedback;
use cwndlab_units::Time;

/// A number of 64 bits from its low half, of which the sender, as TCP and QUIC do, sends no more: the one that is nearest to
/// `near` (RFC 9000, appendix A.3; RFC 9293, section 3.4). No two numbers in flight are 2³¹ apart.
#[inline]
#[must_use]
pub fn expand(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32).cast_signed()))
}

/// A data segment as it leaves the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the segment.
    pub seq: u64,
    /// Its payload, bytes.
    pub len: u32,
    /// It had been sent before.
    pub retransmission: bool,
    /// ECN-capable.
    pub ect: bool,
    /// The sender tells that it reduced its window (RFC 3168).
    pub cwr: bool,
    /// Timestamp value.
    pub stamp: Time,
    /// What the routers wrote on it, all of them; as it leaves, nothing.
    pub feedback: Option<Feedback>,
}

/// SACK blocks that an ACK carries at most: four without timestamps.
pub const MAX_BLOCKS: usize = 4;

/// SACK blocks: `[from, to)` in segments, the first one the most recent arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks.
    pub list: [(u64, u64); MAX_BLOCKS],
    /// How many of them are filled.
    pub len: u8,
    /// The first is a duplicate's report (RFC 2883).
    pub duplicate: bool,
}

impl Blocks {
    /// The filled ones.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.list[..self.len as usize]
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacket {
    /// Next segment expected.
    pub ack: u64,
    /// Receive window, bytes.
    pub window: u64,
    /// Timestamp echo: of the segment that set it (RFC 7323, section 4.3).
    pub echo: Time,
    /// ECN echo (classic).
    pub ece: bool,
    /// Segments received with a CE mark so far (accurate ECN), modulo 2³².
    pub ce_count: u32,
    /// SACK blocks.
    pub blocks: Blocks,
    /// What the routers wrote on what this acknowledges; `accelerated` counts since the connection's start.
    pub feedback: Option<Feedback>,
}

/// Where an endpoint puts what it sends and remarks.
pub trait Output {
    /// Sends a data segment.
    fn data(&mut self, segment: &Data);
    /// Sends an ACK.
    fn ack(&mut self, ack: &AckPacket);
    /// Sends a SYN.
    fn syn(&mut self);
    /// Records what happened: kind, cause, window before and after in segments, and what it was held against.
    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64);
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proptest::prelude::*;

    /// RFC 9000, appendix A.3: near 0xa82f30ea the low 16 bits 0x9b32 are 0xa82f9b32; here with 32 bits of 64, by hand.
    #[test]
    fn the_nearest_number_is_meant() {
        assert_eq!(expand(5, 3), 5);
        assert_eq!(expand(2, (1 << 32) - 1), (1 << 32) + 2);
        assert_eq!(expand(u32::MAX, 1 << 32), (1 << 32) - 1);
    }

    proptest! {
        #[test]
        fn a_number_in_flight_comes_back(near in 1u64 << 31..1 << 62, ahead in -(1i64 << 31) + 1..1i64 << 31) {
            let number = near.wrapping_add_signed(ahead);
            prop_assert_eq!(expand(number as u32, near), number);
        }
    }
}
