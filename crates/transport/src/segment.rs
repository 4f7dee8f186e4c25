//! Entries of the scoreboard: segments in flight and their flags, runs of segments, retransmissions.

use cwndlab_units::{Bytes, Time};

/// The segment is SACKed.
pub(crate) const SACKED: u8 = 1;
/// The segment is marked lost.
pub(crate) const LOST: u8 = 2;
/// A retransmission of the segment is outstanding.
pub(crate) const RETRANS: u8 = 4;
/// The segment was retransmitted at least once.
pub(crate) const EVER_RETRANS: u8 = 8;
/// The sender was application-limited when it sent the segment.
pub(crate) const APP_LIMITED: u8 = 16;
/// RACK marked the segment lost and skips it until it is retransmitted (Linux removes it from `tsorted_sent_queue`).
pub(crate) const OFF_TSORTED: u8 = 32;

/// Flags of segments that were SACKed, marked lost or retransmitted. Segments without them are in order of
/// transmission.
pub(crate) const TOUCHED: u8 = SACKED | LOST | RETRANS | EVER_RETRANS;

/// A segment in flight, with the connection's delivery state at its transmission (Linux, `tcp_skb_cb.tx`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// Time of its last transmission.
    pub(crate) sent_at: Time,
    /// Start of the send interval of its rate sample.
    pub(crate) first_sent_at: Time,
    /// Time of the last increase of `delivered` before its transmission.
    pub(crate) delivered_at: Time,
    /// Data delivered before its transmission.
    pub(crate) delivered: Bytes,
    /// For a SACKed segment, distance to the next segment that may not be SACKed.
    pub(crate) jump: u32,
    /// Payload, bytes.
    pub(crate) len: u16,
    /// A combination of the flags above.
    pub(crate) flags: u8,
}

/// Consecutive segments acknowledged by one ACK. A run of more than one contains only segments that were sent once and
/// not SACKed or marked lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Number of the first segment.
    pub(crate) first: u64,
    /// Last transmission of the first segment.
    pub(crate) first_sent_at: Time,
    /// The last segment, which is also the last one sent.
    pub(crate) last: Segment,
    /// Number of segments.
    pub(crate) segments: u32,
    /// Their payload.
    pub(crate) bytes: Bytes,
}

impl Run {
    /// Number of the last segment.
    #[inline]
    pub(crate) fn last_seq(&self) -> u64 {
        self.first + u64::from(self.segments) - 1
    }
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    /// Number of the segment.
    pub(crate) seq: u64,
    /// Transmission time.
    pub(crate) sent_at: Time,
    /// SND.NXT at that time.
    pub(crate) next: u64,
}
