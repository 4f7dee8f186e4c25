//! The entries of the scoreboard: segments in flight and their flags, runs of them, retransmissions.

use cwndlab_units::{Bytes, Time};

/// The receiver SACKed it.
pub(crate) const SACKED: u8 = 1;
/// Marked lost.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is outstanding.
pub(crate) const RETRANS: u8 = 4;
/// It was retransmitted at some time.
pub(crate) const EVER_RETRANS: u8 = 8;
/// The sender was application-limited when it was sent.
pub(crate) const APP_LIMITED: u8 = 16;
/// RACK marked it lost and skips it until it is retransmitted: Linux removes it from `tsorted_sent_queue`.
pub(crate) const OFF_TSORTED: u8 = 32;

/// Something was reported of it, or it was sent again. Segments without these lie in the order of sending.
pub(crate) const TOUCHED: u8 = SACKED | LOST | RETRANS | EVER_RETRANS;

/// A segment in flight, with the connection's delivery state when it was sent (Linux, `tcp_skb_cb.tx`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// When it was last sent.
    pub(crate) sent_at: Time,
    /// Start of the send interval of its rate sample.
    pub(crate) first_sent_at: Time,
    /// When `delivered` was last raised before it was sent.
    pub(crate) delivered_at: Time,
    /// Delivered before it was sent.
    pub(crate) delivered: Bytes,
    /// Of a SACKed segment: distance to the next one that may not be SACKed.
    pub(crate) jump: u32,
    /// Payload, bytes.
    pub(crate) len: u16,
    /// Flags above.
    pub(crate) flags: u8,
}

/// Consecutive segments that one ACK acknowledges: several were all sent once, and nothing was reported of them before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Number of the first one.
    pub(crate) first: u64,
    /// When the first one was last sent.
    pub(crate) first_sent_at: Time,
    /// The last one; no other one was sent later.
    pub(crate) last: Segment,
    /// How many there are.
    pub(crate) segments: u32,
    /// Their payload.
    pub(crate) bytes: Bytes,
}

impl Run {
    /// Number of the last one.
    #[inline]
    pub(crate) fn last_seq(&self) -> u64 {
        self.first + u64::from(self.segments) - 1
    }
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    /// The segment.
    pub(crate) seq: u64,
    /// When it was sent.
    pub(crate) sent_at: Time,
    /// SND.NXT then.
    pub(crate) next: u64,
}
