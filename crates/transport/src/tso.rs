//! Burst sizes: TSO autosizing and deferral (Linux, `tcp_output.c`).

use cwndlab_units::{Duration, Rate};

/// Minimum burst, segments (Linux, tcp_min_tso_segs).
pub(crate) const MIN_BURST: u32 = 2;
/// A burst is about a millisecond of the pacing rate (Linux, `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// A super-segment holds 64 kB.
const MAX_BURST_BYTES: u64 = 65_536;
/// Payload of a buffer of the send queue at most: what a super-segment holds less the room for headers
/// (`sk_setup_caps`: MAX_TCP_HEADER + 1).
const QUEUE_BUFFER_BYTES: u64 = MAX_BURST_BYTES - 321;
/// A small burst is deferred only within this time after the last one, and only if the next ACK is due within this time
/// (tcp_tso_should_defer).
pub(crate) const DEFER_LIMIT: Duration = Duration::from_millis(1);
/// The first packets of a connection are not paced (tcp_update_skb_after_send, as in sch_fq).
pub(crate) const UNPACED_PACKETS: u64 = 10;

/// The state of a burst.
#[derive(Default)]
pub(crate) struct Burst {
    /// Its size by the pacing rate; 0 until it is computed, because the division is expensive.
    goal: u32,
    /// Segments that may be sent without further checks.
    pub(crate) allowance: u32,
}

impl Burst {
    /// Its size by the pacing rate, computed once.
    #[inline]
    pub(crate) fn goal(&mut self, autosize: impl FnOnce() -> u32) -> u32 {
        if self.goal == 0 {
            self.goal = autosize();
        }
        self.goal
    }
}

/// The buffers of the send queue, each of whole segments (tcp_xmit_size_goal). A burst does not cross the end of one
/// (tso_fragment): 45 segments of 1448 bytes are an odd number, so that bursts of two do not stay in step with anything.
#[derive(Debug)]
pub(crate) struct QueueBuffers {
    segments: u64,
    /// The first segment of the next one.
    end: u64,
}

impl QueueBuffers {
    /// The buffers of a queue that begins with the segment `first`.
    pub(crate) fn new(first: u64, mss: u64) -> Self {
        let segments = (QUEUE_BUFFER_BYTES / mss.max(1)).max(1);
        Self { segments, end: first + segments }
    }

    /// Segments from `next` to the end of its buffer.
    #[inline]
    pub(crate) fn left(&mut self, next: u64) -> u32 {
        if next >= self.end {
            self.end = next + self.segments - (next - self.end) % self.segments;
        }
        (self.end - next) as u32
    }
}

/// Segments of `mss` bytes in a burst at `rate` (tcp_tso_autosize).
pub(crate) fn autosize(rate: Rate, mss: u32) -> u32 {
    (((rate.0 / 8) >> PACING_SHIFT).min(MAX_BURST_BYTES) as u32 / mss).max(MIN_BURST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 65,215 bytes are 45 segments of 1448 bytes (45.04): those from 0 to 44, 45 to 89, and 90 on.
    #[test]
    fn a_buffer_of_the_send_queue_has_45_segments() {
        let mut buffers = QueueBuffers::new(0, 1448);
        assert_eq!([0, 43, 44, 45, 46, 89, 91].map(|next| buffers.left(next)), [45, 2, 1, 45, 44, 1, 44]);
    }

    /// By hand: 80 Mbit/s are 10 MB/s, a 1024th of it 9765 bytes, nine segments of 1000; at least 2, at most 65.
    #[test]
    fn a_burst_is_a_millisecond_of_the_rate() {
        let bursts = [80, 1, 10_000].map(|mbps| autosize(Rate::from_mbps(mbps), 1000));
        assert_eq!(bursts, [9, 2, 65]);
    }
}
