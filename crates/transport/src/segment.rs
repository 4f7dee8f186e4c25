//! Entries of the scoreboard: segments in flight and their flags, runs of segments, retransmissions.

use cwndlab_control::delivery::Departure;
use cwndlab_units::{Bytes, Time};

/// The segment is SACKed.
pub const SACKED: u8 = 1;
/// The segment is marked lost.
pub const LOST: u8 = 2;
/// A retransmission of the segment is outstanding.
pub const RETRANS: u8 = 4;
/// The segment was retransmitted at least once.
pub const EVER_RETRANS: u8 = 8;
/// The sender was application-limited when it sent the segment.
pub const APP_LIMITED: u8 = 16;
/// RACK marked the segment lost and skips it until it is retransmitted (Linux removes it from `tsorted_sent_queue`).
pub const OFF_TSORTED: u8 = 32;

/// Flags of segments that were SACKed, marked lost or retransmitted. Segments without them are in order of
/// transmission.
pub const TOUCHED: u8 = SACKED | LOST | RETRANS | EVER_RETRANS;

/// A segment in flight, with the connection's delivery state at its transmission (Linux, `tcp_skb_cb.tx`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Time of its last transmission.
    pub sent_at: Time,
    /// Start of the send interval of its rate sample.
    pub first_sent_at: Time,
    /// Time of the last increase of `delivered` before its transmission.
    pub delivered_at: Time,
    /// Data delivered before its transmission.
    pub delivered: Bytes,
    /// For a SACKed segment, distance to the next segment that may not be SACKed.
    pub jump: u32,
    /// Payload, bytes.
    pub len: u16,
    /// A combination of the flags above.
    pub flags: u8,
}

impl Segment {
    /// The delivery state at its transmission.
    #[inline]
    #[must_use]
    pub fn departure(&self) -> Departure {
        let Self { sent_at, first_sent_at, delivered_at, delivered, .. } = *self;
        Departure { sent_at, first_sent_at, delivered_at, delivered, app_limited: self.flags & APP_LIMITED != 0 }
    }
}

/// Consecutive segments acknowledged by one ACK. A run of more than one contains only segments that were sent once and
/// not SACKed or marked lost.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Number of the first segment.
    pub first: u64,
    /// Last transmission of the first segment.
    pub first_sent_at: Time,
    /// The last segment, which is also the last one sent.
    pub last: Segment,
    /// Number of segments.
    pub segments: u32,
    /// Their payload.
    pub bytes: Bytes,
}

impl Run {
    /// Number of the last segment.
    #[inline]
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.first + u64::from(self.segments) - 1
    }
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    /// Number of the segment.
    pub seq: u64,
    /// Transmission time.
    pub sent_at: Time,
    /// SND.NXT at that time.
    pub next: u64,
}
