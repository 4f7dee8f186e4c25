//! The state of a TCP connection of Windows: `SIO_TCP_INFO` of `WSAIoctl`, structure `TCP_INFO_v0` of `mstcpip.h`, since
//! Windows 10 1703 and Server 2016. It has no slow-start threshold, no pacing rate and no congestion provider.

use cwndlab_units::{Bytes, Duration, SenderCounters, SenderState};

/// Size of `TCP_INFO_v0`.
pub const LENGTH: usize = 88;
/// `TCPSTATE_CLOSED`.
const CLOSED: u32 = 0;

/// The state of a connection at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The connection is closed.
    pub closed: bool,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The receive window that the host announces.
    pub receive_window: Bytes,
    /// Bytes received, and of these the ones that arrived out of order.
    pub received_bytes: u64,
    /// Bytes received out of order.
    pub reordered_bytes: u64,
    /// The state of the sender: window, bytes in flight, RTTs, and the counters that Windows has.
    pub sender: SenderState,
}

impl TcpInfo {
    /// The state in a `TCP_INFO_v0`.
    #[must_use]
    pub fn parse(raw: &[u8; LENGTH]) -> Self {
        let word = |at: usize| u64::from(u32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]));
        let long = |at: usize| word(at) | word(at + 4) << 32;
        // u32::MAX before the first sample.
        let micros =
            |at: usize| Some(word(at)).filter(|&us| us > 0 && us < u64::from(u32::MAX)).map(Duration::from_micros);
        Self {
            closed: word(0) == u64::from(CLOSED),
            mss: Bytes(word(4)),
            receive_window: Bytes(word(40)),
            received_bytes: long(56),
            reordered_bytes: word(64),
            sender: SenderState {
                cwnd: Bytes(word(32)),
                in_flight: Bytes(word(28)),
                srtt: micros(20),
                min_rtt: micros(24),
                counters: SenderCounters {
                    sent_bytes: long(48),
                    retransmitted_bytes: word(68),
                    timeouts: word(80),
                    ..SenderCounters::default()
                },
                ..SenderState::default()
            },
        }
    }

    /// Reads the state of a socket; `None` where the system does not report it.
    #[cfg(windows)]
    #[must_use]
    pub fn read(socket: std::os::windows::io::RawSocket) -> Option<Self> {
        use windows_sys::Win32::Networking::WinSock::{WSAIoctl, SIO_TCP_INFO};

        let version = 0u32;
        let mut raw = [0u8; LENGTH];
        let mut written = 0u32;
        // SAFETY: the buffers and their lengths outlive the call, which is not overlapped.
        let status = unsafe {
            WSAIoctl(
                socket as usize,
                SIO_TCP_INFO,
                (&raw const version).cast(),
                size_of::<u32>() as u32,
                raw.as_mut_ptr().cast(),
                LENGTH as u32,
                &raw mut written,
                std::ptr::null_mut(),
                None,
            )
        };
        (status == 0 && written as usize >= LENGTH).then(|| Self::parse(&raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets by hand from the declaration of `TCP_INFO_v0`: eight bytes align `ConnectionTimeMs`, `BytesOut` and
    /// `BytesIn`, and a `BOOLEAN` precedes `RttUs`.
    #[test]
    fn fields_are_at_the_offsets_of_the_structure() {
        let mut raw = [0u8; LENGTH];
        let mut put = |at: usize, value: u32| raw[at..at + 4].copy_from_slice(&value.to_le_bytes());
        for (at, value) in [(0, 4), (4, 1460), (20, 30_000), (24, 25_000), (28, 14_600), (32, 29_200), (40, 65_535)] {
            put(at, value);
        }
        for (at, value) in [(48, 7), (52, 1), (56, 9), (64, 3), (68, 2920), (80, 2)] {
            put(at, value);
        }
        let info = TcpInfo::parse(&raw);
        assert_eq!((info.closed, info.mss, info.receive_window), (false, Bytes(1460), Bytes(65_535)));
        assert_eq!((info.received_bytes, info.reordered_bytes), (9, 3));
        assert_eq!((info.sender.cwnd, info.sender.in_flight), (Bytes(29_200), Bytes(14_600)));
        assert_eq!(info.sender.srtt, Some(Duration::from_micros(30_000)));
        assert_eq!(info.sender.min_rtt, Some(Duration::from_micros(25_000)));
        let counters = info.sender.counters;
        assert_eq!((counters.sent_bytes, counters.retransmitted_bytes, counters.timeouts), ((1 << 32) + 7, 2920, 2));
    }

    /// Before the first sample.
    #[test]
    fn an_unknown_rtt_is_absent() {
        let mut raw = [0u8; LENGTH];
        raw[20..28].fill(0xff);
        assert_eq!((TcpInfo::parse(&raw).sender.srtt, TcpInfo::parse(&raw).sender.min_rtt), (None, None));
    }
}
