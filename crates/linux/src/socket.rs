//! TCP sockets with options that the standard library does not set: tcp(7), socket(7), connect(2).

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::time::Duration as Wait;

use cwndlab_units::Bytes;

fn set_option(socket: RawFd, level: i32, name: i32, value: &[u8]) -> std::io::Result<()> {
    // SAFETY: the value outlives the call and is passed with its own length.
    let status =
        unsafe { libc::setsockopt(socket, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t) };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Selects the congestion control of a socket by the kernel's name (`TCP_CONGESTION`).
pub fn set_congestion_control(socket: RawFd, algorithm: &str) -> std::io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, algorithm.as_bytes())
}

/// Limits the segment size of a socket, TCP options included (`TCP_MAXSEG`).
pub fn set_max_segment(socket: RawFd, size: Bytes) -> std::io::Result<()> {
    let size = i32::try_from(size.0).unwrap_or(i32::MAX);
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &size.to_ne_bytes())
}

/// Sets the number of bytes that must have arrived before a read returns (`SO_RCVLOWAT` of socket(7)). A read also
/// returns at the end of the stream and after its timeout.
pub fn set_receive_low_water(socket: &TcpStream, bytes: Bytes) -> std::io::Result<()> {
    let bytes = i32::try_from(bytes.0).unwrap_or(i32::MAX);
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes.to_ne_bytes())
}

/// The size of the receive buffer now (`SO_RCVBUF` of socket(7)), which the kernel enlarges with the data received.
pub fn receive_buffer(socket: &TcpStream) -> std::io::Result<Bytes> {
    let mut bytes: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVBUF);
    // SAFETY: the value and its length outlive the call.
    let status = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut bytes).cast(), &raw mut length) };
    if status == 0 {
        Ok(Bytes(u64::try_from(bytes).unwrap_or(0)))
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Reads up to `limit` bytes and discards them without a copy (`MSG_TRUNC` of tcp(7)); returns their number, 0 at the
/// end of the stream.
pub fn discard(socket: &TcpStream, limit: Bytes) -> std::io::Result<Bytes> {
    // SAFETY: with MSG_TRUNC the kernel discards the data and does not write to the buffer (tcp(7)).
    let read = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), limit.0 as usize, libc::MSG_TRUNC) };
    u64::try_from(read).map(Bytes).map_err(|_| std::io::Error::last_os_error())
}

/// Limits the payload that the send buffer holds before its transmission (`TCP_NOTSENT_LOWAT` of tcp(7)). poll(2) reports
/// the socket as writable when less than half of the limit is unsent.
pub fn set_unsent_limit(socket: &TcpStream, limit: Bytes) -> std::io::Result<()> {
    let bytes = u32::try_from(limit.0).unwrap_or(u32::MAX);
    set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes.to_ne_bytes())
}

/// Writes as many of these bytes as the send buffer takes at once; returns their number. A full buffer is the error
/// `WouldBlock`.
pub fn write_now(socket: &TcpStream, data: &[u8]) -> std::io::Result<Bytes> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the data outlive the call and are passed with their own length.
    let written = unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) };
    u64::try_from(written).map(Bytes).map_err(|_| std::io::Error::last_os_error())
}

/// Payload in the send buffer that the remote endpoint has not acknowledged (`SIOCOUTQ` of tcp(7)); 0 for a closed
/// socket.
#[must_use]
pub fn unacknowledged(socket: &TcpStream) -> Bytes {
    send_queue(socket, libc::TIOCOUTQ)
}

/// `SIOCOUTQNSD` of `include/uapi/linux/sockios.h`.
const SIOCOUTQNSD: libc::c_ulong = 0x894B;

/// Payload in the send buffer that was not sent for the first time (`SIOCOUTQNSD`); 0 for a closed socket.
#[must_use]
pub fn unsent(socket: &TcpStream) -> Bytes {
    send_queue(socket, SIOCOUTQNSD)
}

fn send_queue(socket: &TcpStream, request: libc::c_ulong) -> Bytes {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) and SIOCOUTQNSD write one int, which outlives the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut bytes) };
    if status == 0 {
        Bytes(bytes as u64)
    } else {
        Bytes(0)
    }
}

/// The options of a connection, which are set before its handshake.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The congestion control, by the kernel's name.
    pub algorithm: &'a str,
    /// The argument of [`set_max_segment`].
    pub max_segment: Bytes,
    /// The write timeout. The kernel applies it to each wait for the handshake as well (socket(7), `SO_SNDTIMEO`).
    pub write_timeout: Wait,
}

/// The version of IP of an address, as an address family.
fn family(address: SocketAddr) -> libc::c_int {
    match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    }
}

/// `struct sockaddr_in` of ip(7) or `struct sockaddr_in6` of ipv6(7).
fn socket_address(address: SocketAddr) -> Vec<u8> {
    let mut out = (family(address) as u16).to_ne_bytes().to_vec();
    out.extend(address.port().to_be_bytes());
    match address {
        SocketAddr::V4(address) => {
            out.extend(address.ip().octets());
            out.extend([0; 8]); // sin_zero
        }
        SocketAddr::V6(address) => {
            out.extend(address.flowinfo().to_be_bytes());
            out.extend(address.ip().octets());
            out.extend(address.scope_id().to_ne_bytes());
        }
    }
    out
}

/// Connects from `local` to `remote`, with TCP_NODELAY. Repeats the call until the handshake is complete, or until
/// `cancelled` returns true; then it returns `None`.
pub fn connect(
    local: SocketAddr,
    remote: SocketAddr,
    options: Options<'_>,
    cancelled: impl Fn() -> bool,
) -> std::io::Result<Option<TcpStream>> {
    // SAFETY: no pointers; the result is checked.
    let raw = unsafe { libc::socket(family(local), libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { TcpStream::from_raw_fd(raw) };
    set_congestion_control(raw, options.algorithm)?;
    set_max_segment(raw, options.max_segment)?;
    // The port is chosen by connect(2), which reuses ports of closed connections to other destinations (ip(7)). Kernels
    // that refuse the option for IPv6 choose the port at once.
    let _ = set_option(raw, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1i32.to_ne_bytes());
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(options.write_timeout))?;
    let local = socket_address(local);
    let remote = socket_address(remote);
    // SAFETY: the address has the layout of its family, outlives the call, and is passed with its own length.
    if unsafe { libc::bind(raw, local.as_ptr().cast(), local.len() as libc::socklen_t) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    while !cancelled() {
        // SAFETY: as for bind.
        if unsafe { libc::connect(raw, remote.as_ptr().cast(), remote.len() as libc::socklen_t) } == 0 {
            return Ok(Some(socket));
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EISCONN) => return Ok(Some(socket)),
            Some(libc::EINPROGRESS | libc::EALREADY | libc::EINTR | libc::EAGAIN) => {}
            _ => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const LOCAL6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    const OPTIONS: Options<'static> =
        Options { algorithm: "reno", max_segment: Bytes(1448), write_timeout: Wait::from_millis(20) };

    /// connect(2): a connection to a listening port succeeds, one to a closed port is refused. tcp(7): before the first
    /// data no byte is unacknowledged.
    #[test]
    fn a_connection_succeeds_where_a_socket_listens() {
        for local in [LOCAL, LOCAL6] {
            let Ok(listener) = TcpListener::bind((local, 0)) else {
                assert_eq!(local, LOCAL6, "only IPv6 may be absent");
                continue;
            };
            let remote = listener.local_addr().expect("bound");
            let local = SocketAddr::new(local, 0);
            let socket = connect(local, remote, OPTIONS, || false).expect("no error").expect("not cancelled");
            assert_eq!((unacknowledged(&socket), socket.peer_addr().expect("connected")), (Bytes(0), remote));
            assert!(connect(local, remote, OPTIONS, || true).expect("no error").is_none());
            drop(listener);
            let error = connect(local, remote, OPTIONS, || false).expect_err("nothing listens");
            assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
        }
    }

    /// tcp(7), `MSG_TRUNC`: received bytes are discarded. socket(7), `SO_RCVLOWAT`: a read waits for this number of bytes,
    /// or for the end of the stream, at which the rest is read.
    #[test]
    fn a_read_waits_for_the_low_water_mark_and_discards() {
        use std::io::Write;
        let listener = TcpListener::bind((LOCAL, 0)).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let mut sender = connect(SocketAddr::new(LOCAL, 0), SocketAddr::new(LOCAL, port), OPTIONS, || false)
            .expect("no error")
            .expect("not cancelled");
        let (receiver, _) = listener.accept().expect("connected");
        set_receive_low_water(&receiver, Bytes(1_000)).expect("set");
        let writer = std::thread::spawn(move || {
            for _ in 0..15 {
                sender.write_all(&[1; 100]).expect("room");
                std::thread::yield_now();
            }
        });
        let first = discard(&receiver, Bytes(1 << 20)).expect("read");
        assert!((1_000..=1_500).contains(&first.0), "{first:?}");
        writer.join().expect("written");
        let rest = discard(&receiver, Bytes(1 << 20)).expect("read");
        assert_eq!(first + rest, Bytes(1_500));
        assert_eq!(discard(&receiver, Bytes(1 << 20)).expect("end"), Bytes::ZERO);
    }

    /// tcp(7), `TCP_NOTSENT_LOWAT`: a receiver that reads nothing and has a buffer of a few kilobytes leaves the rest of
    /// the data unsent. The kernel adds at most one buffer (the write) to the limit; without the limit the send buffer takes
    /// all of the data.
    #[test]
    fn a_limit_holds_for_unsent_data() {
        const WRITE: [u8; 4_096] = [0; 4_096];
        let filled = |limit: Option<Bytes>| {
            let listener = TcpListener::bind((LOCAL, 0)).expect("a free port");
            let small = 4_096i32.to_ne_bytes();
            set_option(listener.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &small).expect("set");
            let port = listener.local_addr().expect("bound").port();
            let sender = connect(SocketAddr::new(LOCAL, 0), SocketAddr::new(LOCAL, port), OPTIONS, || false);
            let sender = sender.expect("no error").expect("not cancelled");
            let _receiver = listener.accept().expect("connected");
            set_option(sender.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &400_000i32.to_ne_bytes()).expect("set");
            if let Some(limit) = limit {
                set_unsent_limit(&sender, limit).expect("set");
            }
            for _ in 0..25 {
                if let Err(error) = write_now(&sender, &WRITE) {
                    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                    break;
                }
            }
            assert!(unsent(&sender) <= unacknowledged(&sender));
            unsent(&sender).0
        };
        let limited = filled(Some(Bytes(10_000)));
        assert!((10_000..10_000 + 4_096).contains(&limited), "{limited}");
        assert!(filled(None) > 50_000);
    }

    /// tcp(7): an unknown congestion control fails with ENOENT.
    #[test]
    fn an_unknown_congestion_control_is_refused() {
        let options = Options { algorithm: "no_such", ..OPTIONS };
        let error = connect(SocketAddr::new(LOCAL, 0), SocketAddr::new(LOCAL, 1), options, || false)
            .expect_err("no such algorithm");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
