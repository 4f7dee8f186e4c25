//! Linux' `TCP_INFO`, by the offsets of `struct tcp_info` in `include/uapi/linux/tcp.h`, which only ever grows at its end.

use std::os::fd::RawFd;

/// What the kernel tells of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// `TCP_CA_…`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Payload of a full segment, as sent.
    pub mss: u64,
    /// Segments in flight by the kernel's estimate.
    pub in_flight: u64,
    /// Smoothed RTT, ns.
    pub srtt_ns: u64,
    /// Smallest RTT, ns.
    pub min_rtt_ns: Option<u64>,
    /// Slow-start threshold, segments.
    pub ssthresh: Option<u64>,
    /// Window, segments.
    pub cwnd: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Pacing rate, bit/s.
    pub pacing_bps: Option<u64>,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Segments with payload, sent.
    pub data_segments: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Delivery rate, bit/s.
    pub delivery_bps: Option<u64>,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// `TCP_…` state: 1 established, 7 closed.
    pub state: u8,
    /// Segments sent and not yet acknowledged.
    pub unacked: u64,
    /// Payload that waits in the send buffer.
    pub notsent_bytes: u64,
    /// For how long there was something to send, ns.
    pub busy_ns: u64,
    /// Of it, for how long the receiver's window was what held it back, ns.
    pub rwnd_limited_ns: u64,
    /// Of it, for how long the send buffer was, ns.
    pub sndbuf_limited_ns: u64,
}

const LENGTH: usize = 256;

impl Info {
    /// Asks the kernel; nothing where the socket is gone.
    #[must_use]
    pub fn of(socket: RawFd) -> Option<Self> {
        let (mut raw, mut length) = ([0u8; LENGTH], LENGTH as libc::socklen_t);
        // SAFETY: the buffer and its length live through the call, and the kernel writes no more than the length says.
        let answer = unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, raw.as_mut_ptr().cast(), &raw mut length)
        };
        (answer == 0).then(|| Self::read(&raw))
    }

    fn read(raw: &[u8; LENGTH]) -> Self {
        let word = |at: usize| u64::from(u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]));
        let long = |at: usize| u64::from_ne_bytes(raw[at..at + 8].try_into().expect("eight bytes"));
        let rate = |at: usize| Some(long(at)).filter(|&rate| rate > 0 && rate < u64::MAX / 8).map(|rate| rate * 8);
        let (unacked, sacked, lost, retrans) = (word(24), word(28), word(32), word(36));
        Self {
            ca_state: raw[1],
            mss: word(16),
            in_flight: (unacked + retrans).saturating_sub(sacked + lost),
            srtt_ns: word(68) * 1_000,
            min_rtt_ns: Some(word(148)).filter(|&us| us > 0 && us < u64::from(u32::MAX)).map(|us| us * 1_000),
            ssthresh: Some(word(76)).filter(|&segments| segments < 0x7fff_ffff),
            cwnd: word(80),
            retransmitted: word(100),
            pacing_bps: rate(104),
            acked_bytes: long(120),
            data_segments: word(156),
            segments_in: word(140),
            delivery_bps: rate(160),
            sent_bytes: long(200),
            retransmitted_bytes: long(208),
            timeouts: u64::from(u16::from_ne_bytes([raw[240], raw[241]])),
            state: raw[0],
            unacked,
            notsent_bytes: word(144),
            busy_ns: long(168) * 1_000,
            rwnd_limited_ns: long(176) * 1_000,
            sndbuf_limited_ns: long(184) * 1_000,
        }
    }
}
