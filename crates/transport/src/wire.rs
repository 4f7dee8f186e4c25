//! Segments and ACKs between sender and receiver, without headers.

use cwndlab_control::Feedback;
use cwndlab_units::{Bytes, Time};

use crate::accecn::AccEcnFeedback;

/// Expands the low 32 bits of a segment number, as carried in a packet, to the 64-bit number nearest to `near`, as in
/// TCP and QUIC (RFC 9000, appendix A.3; RFC 9293, section 3.4). Numbers in flight are less than 2³¹ apart.
#[inline]
#[must_use]
pub fn expand(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32).cast_signed()))
}

/// Maximum congestion and receive window, segments; it bounds the distance of segment numbers in flight (see
/// [`expand`]).
pub(crate) const MAX_WINDOW: u64 = 1 << 30;

/// One tick of the timestamp clock, ns: Linux' is 1 ms, the shortest that RFC 7323, section 5.4, allows.
pub const TIMESTAMP_TICK: u64 = 1_000_000;

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the segment.
    pub seq: u64,
    /// Its payload, bytes; 0 in a window probe.
    pub len: u32,
    /// It is a retransmission.
    pub retransmission: bool,
    /// ECN-capable.
    pub ect: bool,
    /// The path changed the codepoint to the other ECT.
    pub ect_changed: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
    /// PSH: the last segment of a burst that Linux sends as one packet (`__tcp_transmit_skb`).
    pub push: bool,
    /// Timestamp value.
    pub timestamp: Time,
    /// Feedback of the routers on the path; `None` at the sender, and unless every router added its feedback.
    pub feedback: Option<Feedback>,
}

/// Maximum SACK blocks per ACK: four without timestamps.
pub const MAX_BLOCKS: usize = 4;

/// SACK blocks: `[from, to)` in segments, the first one reports the most recent arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// The blocks.
    pub list: [(u64, u64); MAX_BLOCKS],
    /// Number of valid blocks.
    pub len: u8,
    /// The first block is a D-SACK, which reports a duplicate (RFC 2883).
    pub duplicate: bool,
}

impl SackBlocks {
    /// The valid blocks.
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
    /// Bytes of that segment that it acknowledges, too; 0 but from a receiver that divides ACKs.
    pub part: u32,
    /// Receive window.
    pub window: Bytes,
    /// Timestamp echo (RFC 7323, section 4.3).
    pub echo: Time,
    /// ECN echo (RFC 3168).
    pub ece: bool,
    /// Segments received with a CE mark so far (accurate ECN), modulo 2³².
    pub ce_count: u32,
    /// Feedback of Accurate ECN as on the wire.
    pub accecn: Option<AccEcnFeedback>,
    /// SACK blocks.
    pub blocks: SackBlocks,
    /// Feedback of the routers on the acknowledged segments; `accelerated` counts since the connection's start.
    pub feedback: Option<Feedback>,
}

/// An acknowledgement without options, the most frequent kind.
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
        let blocks = SackBlocks::default();
        Self { ack, part: 0, window, echo, ece, ce_count: 0, accecn: None, blocks, feedback: None }
    }
}

impl AckPacket {
    /// The ACK without its options; `None` if it has any.
    #[inline]
    pub(crate) fn plain(&self) -> Option<PlainAck> {
        let Self { ack, window, echo, ece, .. } = *self;
        let has_options = self.ce_count != 0 || self.accecn.is_some() || self.blocks.len > 0 || self.feedback.is_some();
        (self.part == 0 && !has_options).then_some(PlainAck { ack, window, echo, ece })
    }
}

/// The output of an endpoint: packets sent and events recorded.
pub trait Output {
    /// Sends a data segment.
    fn data(&mut self, segment: &Data);
    /// Sends an ACK.
    fn ack(&mut self, ack: &AckPacket);
    /// Sends an ACK without options.
    #[inline]
    fn plain_ack(&mut self, ack: PlainAck) {
        self.ack(&ack.into());
    }
    /// Sends a SYN, after this number of retransmissions of it.
    fn syn(&mut self, retransmissions: u32);
    /// Records an event: kind, cause, the window before and after, and the pipe (bandwidth-delay product) that the
    /// algorithm compared it with, all three in segments. The pipe is NaN if there is none.
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
        fn numbers_within_half_of_the_range_are_recovered(near in 1u64 << 31..1 << 62, ahead in -(1i64 << 31) + 1..1i64 << 31) {
            let number = near.wrapping_add_signed(ahead);
            prop_assert_eq!(expand(number as u32, near), number);
        }
    }
}
