//! The state of a TCP connection: `TCP_INFO` of tcp(7), `struct tcp_info` of `include/uapi/linux/tcp.h`.
//!
//! The fields are read by their offsets, because newer kernels only append fields to the structure. A field that an
//! older kernel does not write reads as zero.

use std::os::fd::RawFd;

use cwndlab_units::{BusyTimes, Bytes, CaState, Duration, Outstanding, Rate, SenderCounters, SenderState};

/// The value of [`TcpInfo::state`] of a closed connection (`TCP_CLOSE` of `include/net/tcp_states.h`).
pub const CLOSED: u8 = 7;

/// The state of a connection at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_state`: 1 established, 7 closed.
    pub state: u8,
    /// `tcpi_snd_mss`: payload of a full segment.
    pub mss: Bytes,
    /// The state of the sender. The kernel reports neither the latest RTT sample nor its entries into recovery, ECN
    /// reductions, undos and loss probes.
    pub sender: SenderState,
    /// `tcpi_segs_in`: segments received.
    pub segments_in: u64,
    /// Times for which the sender was busy or limited.
    pub busy: BusyTimes,
}

const LENGTH: usize = 256;
/// `TCP_INFINITE_SSTHRESH` of `include/net/tcp.h`.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

impl TcpInfo {
    /// Reads the state of a socket; `None` where `getsockopt` fails, such as for a closed descriptor.
    #[must_use]
    pub fn read(socket: RawFd) -> Option<Self> {
        let mut raw = Raw([0; LENGTH]);
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the buffer and its length outlive the call, and the kernel writes at most `length` bytes.
        let status = unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, raw.0.as_mut_ptr().cast(), &raw mut length)
        };
        (status == 0).then(|| Self::parse(&raw))
    }

    /// The state in `struct tcp_info` of any length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut raw = [0; LENGTH];
        let length = bytes.len().min(LENGTH);
        raw[..length].copy_from_slice(&bytes[..length]);
        Self::parse(&Raw(raw))
    }

    fn parse(raw: &Raw) -> Self {
        let mss = Bytes(raw.word(16));
        let micros = |at: usize| Duration::from_micros(raw.long(at));
        Self {
            state: raw.0[0],
            mss,
            sender: raw.sender(mss),
            segments_in: raw.word(140),
            busy: BusyTimes { total: micros(168), rwnd_limited: micros(176), sndbuf_limited: micros(184) },
        }
    }
}

/// The bytes of `struct tcp_info`.
struct Raw([u8; LENGTH]);

impl Raw {
    fn short(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn word(&self, at: usize) -> u64 {
        u64::from(self.short(at))
    }

    fn long(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    /// A rate, which the kernel counts in byte/s; all ones is "unlimited".
    fn rate(&self, at: usize) -> Option<Rate> {
        Some(self.long(at)).filter(|&rate| rate > 0 && rate < u64::MAX / 8).map(|rate| Rate(rate * 8))
    }

    fn sender(&self, mss: Bytes) -> SenderState {
        let [unacked, sacked, lost, retrans] = [24, 28, 32, 36].map(|at| self.short(at)); // tcpi_unacked and so on
        let out = u64::from(unacked) + u64::from(retrans);
        let unsent = Bytes(self.word(144)); // tcpi_notsent_bytes
        let micros = |at: usize| Duration::from_micros(self.word(at));
        let segments = |at: usize| mss * self.word(at);
        SenderState {
            waiting: unacked > 0 || unsent > Bytes::ZERO,
            ca_state: Some(CaState::from_number(self.0[1])), // tcpi_ca_state
            cwnd: segments(80),                              // tcpi_snd_cwnd
            // tcpi_snd_ssthresh
            ssthresh: Some(segments(76)).filter(|_| self.word(76) < INFINITE_SSTHRESH),
            in_flight: mss * out.saturating_sub(u64::from(sacked) + u64::from(lost)), // tcp_packets_in_flight
            outstanding: Outstanding { unacked, sacked, lost, retrans },
            reordering: self.short(88),  // tcpi_reordering
            reord_seen: self.short(220), // tcpi_reord_seen
            rtt: None,
            srtt: Some(micros(68)).filter(|&srtt| srtt > Duration::ZERO), // tcpi_rtt
            rttvar: micros(72),                                           // tcpi_rttvar
            // tcpi_min_rtt: all ones before the first sample
            min_rtt: Some(micros(148)).filter(|_| ![0, u32::MAX].contains(&self.short(148))),
            rto: micros(8),                // tcpi_rto
            backoff: u32::from(self.0[4]), // tcpi_backoff
            pacing_rate: self.rate(104),   // tcpi_pacing_rate
            delivery_rate: self.rate(160), // tcpi_delivery_rate
            unsent,
            delivered: segments(192), // tcpi_delivered
            counters: SenderCounters {
                sent_packets: self.word(156),                                        // tcpi_data_segs_out
                sent_bytes: self.long(200),                                          // tcpi_bytes_sent
                acked_bytes: self.long(120),                                         // tcpi_bytes_acked
                retransmitted_packets: self.word(100),                               // tcpi_total_retrans
                retransmitted_bytes: self.long(208),                                 // tcpi_bytes_retrans
                timeouts: u64::from(u16::from_ne_bytes([self.0[240], self.0[241]])), // tcpi_total_rto
                ..SenderCounters::default()
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
        let TcpInfo { state, mss, sender, .. } = TcpInfo::read(stream.as_raw_fd()).expect("a TCP socket");
        let window = (sender.ca_state, sender.cwnd, sender.ssthresh);
        assert_eq!((state, window), (1, (Some(CaState::Open), mss * 10, None)));
        stream.write_all(b"twelve bytes").expect("it has room");
        let sent = TcpInfo::read(stream.as_raw_fd()).expect("a TCP socket").sender.counters;
        assert_eq!((sent.sent_bytes, sent.sent_packets, sent.timeouts), (12, 1, 0));
    }

    /// `include/net/tcp.h`: `TCP_INFINITE_SSTHRESH` is 0x7fffffff; `net/ipv4/tcp.c` writes `~0` for an unlimited rate.
    #[test]
    fn unset_values_are_absent() {
        let mut raw = [0u8; LENGTH];
        raw[76..80].copy_from_slice(&0x7fff_ffffu32.to_ne_bytes());
        raw[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        raw[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        let sender = TcpInfo::parse(&Raw(raw)).sender;
        assert_eq!((sender.ssthresh, sender.pacing_rate, sender.min_rtt), (None, None, None));
    }

    /// Offsets by offsetof(3) in `struct tcp_info` of linux/tcp.h; by hand, 12 + 1 - 5 - 2 segments of 1000 bytes are in
    /// flight.
    #[test]
    fn each_quantity_has_its_offset_and_unit() {
        let mut raw = [0u8; LENGTH];
        (raw[1], raw[4]) = (3, 1); // tcpi_ca_state, tcpi_backoff
        raw[240..242].copy_from_slice(&2u16.to_ne_bytes()); // tcpi_total_rto
        let low = [(8, 408_000), (16, 1000), (24, 12), (28, 5), (32, 2), (36, 1), (68, 40_000), (72, 8000), (76, 7)];
        let high = [(80, 9), (88, 3), (100, 1), (144, 600), (148, 20_000), (156, 43), (192, 30), (220, 4)];
        for (at, value) in low.into_iter().chain(high) {
            raw[at..at + 4].copy_from_slice(&u32::to_ne_bytes(value));
        }
        for (at, value) in [(104, 125_000u64), (120, 30_000), (160, 250_000), (200, 43_000), (208, 1000)] {
            raw[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let expected = SenderState {
            waiting: true,
            ca_state: Some(CaState::Recovery),
            cwnd: Bytes(9000),
            ssthresh: Some(Bytes(7000)),
            in_flight: Bytes(6000),
            outstanding: Outstanding { unacked: 12, sacked: 5, lost: 2, retrans: 1 },
            reordering: 3,
            reord_seen: 4,
            rtt: None,
            srtt: Some(Duration::from_millis(40)),
            rttvar: Duration::from_millis(8),
            min_rtt: Some(Duration::from_millis(20)),
            rto: Duration::from_millis(408),
            backoff: 1,
            pacing_rate: Some(Rate(1_000_000)),
            delivery_rate: Some(Rate(2_000_000)),
            unsent: Bytes(600),
            delivered: Bytes(30_000),
            counters: SenderCounters {
                sent_packets: 43,
                sent_bytes: 43_000,
                acked_bytes: 30_000,
                retransmitted_packets: 1,
                retransmitted_bytes: 1000,
                timeouts: 2,
                ..SenderCounters::default()
            },
        };
        assert_eq!(TcpInfo::parse(&Raw(raw)).sender, expected);
    }
}
