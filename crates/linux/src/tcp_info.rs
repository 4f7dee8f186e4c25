//! The state of a TCP connection: `TCP_INFO` of tcp(7), `struct tcp_info` of `include/uapi/linux/tcp.h`.
//!
//! The fields are read by their offsets, because newer kernels only append fields to the structure. A field that an
//! older kernel does not write reads as zero.

use std::os::fd::RawFd;

use cwndlab_units::{Bytes, Duration, Rate};

/// The value of [`TcpInfo::state`] of a closed connection (`TCP_CLOSE` of `include/net/tcp_states.h`).
pub const CLOSED: u8 = 7;
/// The value of [`TcpInfo::ca_state`] while the window is reduced after an ECN echo (`TCP_CA_CWR`).
pub const CA_CWR: u8 = 2;
/// The value of [`TcpInfo::ca_state`] in fast recovery (`TCP_CA_Recovery`).
pub const CA_RECOVERY: u8 = 3;

/// The state of a connection at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_state`: 1 established, 7 closed.
    pub state: u8,
    /// `tcpi_ca_state`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// `tcpi_snd_mss`: payload of a full segment.
    pub mss: Bytes,
    /// `tcpi_snd_cwnd`: congestion window, segments.
    pub cwnd: u64,
    /// `tcpi_snd_ssthresh`: slow-start threshold, segments; `None` while it is infinite.
    pub ssthresh: Option<u64>,
    /// Segments in flight as the kernel estimates them (`tcp_packets_in_flight`).
    pub in_flight: u64,
    /// `tcpi_unacked`: segments sent and not yet acknowledged.
    pub unacked: u64,
    /// `tcpi_rtt`: smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// `tcpi_min_rtt`: smallest RTT.
    pub min_rtt: Option<Duration>,
    /// `tcpi_pacing_rate`, where the connection is paced.
    pub pacing: Option<Rate>,
    /// `tcpi_delivery_rate`.
    pub delivery_rate: Option<Rate>,
    /// `tcpi_notsent_bytes`: payload in the send buffer that was never sent.
    pub notsent: Bytes,
    /// Counters since the connection began.
    pub counters: TcpCounters,
    /// Times for which the sender was busy or limited.
    pub busy: BusyTimes,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// `tcpi_bytes_acked`: payload acknowledged.
    pub acked: Bytes,
    /// `tcpi_bytes_sent`: payload sent, retransmissions included.
    pub sent: Bytes,
    /// `tcpi_bytes_retrans`: payload retransmitted.
    pub retransmitted: Bytes,
    /// `tcpi_data_segs_out`: segments with payload sent, retransmissions included.
    pub data_segments: u64,
    /// `tcpi_total_retrans`: segments retransmitted.
    pub retransmitted_segments: u64,
    /// `tcpi_segs_in`: segments received.
    pub segments_in: u64,
    /// `tcpi_total_rto`: expired retransmission timers.
    pub timeouts: u64,
}

impl std::ops::Add for TcpCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            acked: self.acked + other.acked,
            sent: self.sent + other.sent,
            retransmitted: self.retransmitted + other.retransmitted,
            data_segments: self.data_segments + other.data_segments,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            segments_in: self.segments_in + other.segments_in,
            timeouts: self.timeouts + other.timeouts,
        }
    }
}

/// Times since the connection began for which the sender had data to send, in total and by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// `tcpi_busy_time`: time with data to send.
    pub total: Duration,
    /// `tcpi_rwnd_limited`: part of it in which the receive window limited the sender.
    pub rwnd_limited: Duration,
    /// `tcpi_sndbuf_limited`: part of it in which the send buffer limited the sender.
    pub sndbuf_limited: Duration,
}

const LENGTH: usize = 256;

impl TcpInfo {
    /// Reads the state of a socket; `None` where `getsockopt` fails, such as for a closed descriptor.
    #[must_use]
    pub fn read(socket: RawFd) -> Option<Self> {
        let mut raw = [0u8; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the buffer and its length outlive the call, and the kernel writes at most `length` bytes.
        let status = unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, raw.as_mut_ptr().cast(), &raw mut length)
        };
        (status == 0).then(|| Self::parse(&raw))
    }

    /// The state in `struct tcp_info` of any length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut raw = [0; LENGTH];
        let length = bytes.len().min(LENGTH);
        raw[..length].copy_from_slice(&bytes[..length]);
        Self::parse(&raw)
    }

    fn parse(raw: &[u8; LENGTH]) -> Self {
        let word = |at: usize| u64::from(u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]));
        let long = |at: usize| u64::from_ne_bytes(raw[at..at + 8].try_into().expect("eight bytes"));
        // Rates are in byte/s; all ones is "unlimited".
        let rate =
            |at: usize| Some(long(at)).filter(|&rate| rate > 0 && rate < u64::MAX / 8).map(|rate| Rate(rate * 8));
        let unacked = word(24);
        let sacked = word(28);
        let lost = word(32);
        let retrans = word(36);
        Self {
            state: raw[0],
            ca_state: raw[1],
            mss: Bytes(word(16)),
            cwnd: word(80),
            ssthresh: Some(word(76)).filter(|&segments| segments < 0x7fff_ffff), // TCP_INFINITE_SSTHRESH
            in_flight: (unacked + retrans).saturating_sub(sacked + lost),
            unacked,
            srtt: Duration::from_micros(word(68)),
            min_rtt: Some(word(148)).filter(|&us| us > 0 && us < u64::from(u32::MAX)).map(Duration::from_micros),
            pacing: rate(104),
            delivery_rate: rate(160),
            notsent: Bytes(word(144)),
            counters: TcpCounters {
                acked: Bytes(long(120)),
                sent: Bytes(long(200)),
                retransmitted: Bytes(long(208)),
                data_segments: word(156),
                retransmitted_segments: word(100),
                segments_in: word(140),
                timeouts: u64::from(u16::from_ne_bytes([raw[240], raw[241]])),
            },
            busy: BusyTimes {
                total: Duration::from_micros(long(168)),
                rwnd_limited: Duration::from_micros(long(176)),
                sndbuf_limited: Duration::from_micros(long(184)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    /// tcp(7) and RFC 6928: a new connection is established, in state "open", with an initial window of 10 segments.
    #[test]
    fn a_new_connection_is_established_with_the_initial_window() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let info = TcpInfo::read(stream.as_raw_fd()).expect("a TCP socket");
        assert_eq!((info.state, info.ca_state, info.cwnd, info.ssthresh), (1, 0, 10, None));
        stream.write_all(b"twelve bytes").expect("it has room");
        let sent = TcpInfo::read(stream.as_raw_fd()).expect("a TCP socket").counters;
        assert_eq!((sent.sent, sent.data_segments, sent.timeouts), (Bytes(12), 1, 0));
    }

    /// `include/net/tcp.h`: `TCP_INFINITE_SSTHRESH` is 0x7fffffff; `net/ipv4/tcp.c` writes `~0` for an unlimited rate.
    #[test]
    fn unset_values_are_absent() {
        let mut raw = [0u8; LENGTH];
        raw[76..80].copy_from_slice(&0x7fff_ffffu32.to_ne_bytes());
        raw[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        raw[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        let info = TcpInfo::parse(&raw);
        assert_eq!((info.ssthresh, info.pacing, info.min_rtt), (None, None, None));
    }
}
