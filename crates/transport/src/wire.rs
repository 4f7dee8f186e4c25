//! Segments and ACKs as sender and receiver exchange them, without headers.

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Time};

/// A 64-bit segment number from the low half of it that a packet carries, as in TCP and QUIC: the number nearest to `near`
/// (RFC 9000, appendix A.3; RFC 9293, section 3.4). No two numbers in flight are 2³¹ apart.
#[inline]
#[must_use]
pub fn expand(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32).cast_signed()))
}

/// Largest congestion and receive window, segments: no two segments in flight are further apart (see [`expand`]).
pub(crate) const MAX_WINDOW: u64 = 1 << 30;

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the segment.
    pub seq: u64,
    /// Its payload, bytes; 0 in a window probe.
    pub len: u32,
    /// It was sent before.
    pub retransmission: bool,
    /// ECN-capable.
    pub ect: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
    /// Timestamp value.
    pub stamp: Time,
    /// Feedback of the routers on the path; `None` when it is sent, and unless all of them wrote theirs.
    pub feedback: Option<Feedback>,
}

/// SACK blocks per ACK at most: four without timestamps.
pub const MAX_BLOCKS: usize = 4;

/// SACK blocks: `[from, to)` in segments, the first one of the most recent arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks.
    pub list: [(u64, u64); MAX_BLOCKS],
    /// How many of them are valid.
    pub len: u8,
    /// The first is a D-SACK: it reports a duplicate (RFC 2883).
    pub duplicate: bool,
}

impl Blocks {
    /// The valid ones.
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
    /// Receive window.
    pub window: Bytes,
    /// Timestamp echo (RFC 7323, section 4.3).
    pub echo: Time,
    /// ECN echo (RFC 3168).
    pub ece: bool,
    /// Segments received with a CE mark so far (accurate ECN), modulo 2³².
    pub ce_count: u32,
    /// SACK blocks.
    pub blocks: Blocks,
    /// Feedback of the routers on the acknowledged segments; `accelerated` counts since the connection's start.
    pub feedback: Option<Feedback>,
}

/// An acknowledgement without options: most are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAck {
    /// Next segment expected.
    pub ack: u64,
    /// Receive window.
    pub window: Bytes,
    /// Timestamp echo (RFC 7323, section 4.3).
    pub echo: Time,
    /// ECN echo (RFC 3168).
    pub ece: bool,
}

impl From<PlainAck> for AckPacket {
    fn from(plain: PlainAck) -> Self {
        let PlainAck { ack, window, echo, ece } = plain;
        Self { ack, window, echo, ece, ce_count: 0, blocks: Blocks::default(), feedback: None }
    }
}

impl AckPacket {
    /// The same where it has no options.
    #[inline]
    pub(crate) fn plain(&self) -> Option<PlainAck> {
        let Self { ack, window, echo, ece, .. } = *self;
        (self.ce_count == 0 && self.blocks.len == 0 && self.feedback.is_none()).then_some(PlainAck {
            ack,
            window,
            echo,
            ece,
        })
    }
}

/// Where an endpoint puts the packets it sends and the events it records.
pub trait Output {
    /// Sends a data segment.
    fn data(&mut self, segment: &Data);
    /// Sends an ACK.
    fn ack(&mut self, ack: &AckPacket);
    /// Sends a SYN.
    fn syn(&mut self);
    /// Records an event: kind, cause, the window before and after, and the pipe (bandwidth-delay product) that an algorithm
    /// compared it with, all three in segments; NaN where there is no pipe.
    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64);
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proptest::prelude::*;

    /// RFC 9000, appendix A.3: near 0xa82f30ea the low 16 bits 0x9b32 are 0xa82f9b32; here with 32 bits of 64, by hand.
    #[test]
    fn a_low_half_expands_to_the_nearest_number() {
        assert_eq!(expand(5, 3), 5);
        assert_eq!(expand(2, (1 << 32) - 1), (1 << 32) + 2);
        assert_eq!(expand(u32::MAX, 1 << 32), (1 << 32) - 1);
    }

    proptest! {
        #[test]
        fn every_number_within_half_the_range_is_recovered(near in 1u64 << 31..1 << 62, ahead in -(1i64 << 31) + 1..1i64 << 31) {
            let number = near.wrapping_add_signed(ahead);
            prop_assert_eq!(expand(number as u32, near), number);
        }
    }
}
