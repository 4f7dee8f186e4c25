//! TCP sockets with options that the standard library does not set: tcp(7), socket(7), connect(2).

use std::net::{SocketAddrV4, TcpStream};
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

/// Payload in the send buffer that the remote endpoint has not acknowledged (`SIOCOUTQ` of tcp(7)); 0 for a closed
/// socket.
#[must_use]
pub fn unacknowledged(socket: &TcpStream) -> Bytes {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int, which outlives the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
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

/// `struct sockaddr_in`.
fn socket_address(address: SocketAddrV4) -> [u8; 16] {
    let mut out = [0u8; 16];
    out[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    out[2..4].copy_from_slice(&address.port().to_be_bytes());
    out[4..8].copy_from_slice(&address.ip().octets());
    out
}

/// Connects from `local` to `remote`, with TCP_NODELAY. Repeats the call until the handshake is complete, or until
/// `cancelled` returns true; then it returns `None`.
pub fn connect(
    local: SocketAddrV4,
    remote: SocketAddrV4,
    options: Options<'_>,
    cancelled: impl Fn() -> bool,
) -> std::io::Result<Option<TcpStream>> {
    // SAFETY: no pointers; the result is checked.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { TcpStream::from_raw_fd(raw) };
    set_congestion_control(raw, options.algorithm)?;
    set_max_segment(raw, options.max_segment)?;
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(options.write_timeout))?;
    let (local, remote) = (socket_address(local), socket_address(remote));
    // SAFETY: the address is a `struct sockaddr_in`, which has 16 bytes, and outlives the call.
    if unsafe { libc::bind(raw, local.as_ptr().cast(), 16) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    while !cancelled() {
        // SAFETY: as for bind.
        if unsafe { libc::connect(raw, remote.as_ptr().cast(), 16) } == 0 {
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
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    fn local(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    const OPTIONS: Options<'static> =
        Options { algorithm: "reno", max_segment: Bytes(1448), write_timeout: Wait::from_millis(20) };

    /// connect(2): a connection to a listening port succeeds, one to a closed port is refused. tcp(7): before the first
    /// data no byte is unacknowledged.
    #[test]
    fn a_connection_succeeds_where_a_socket_listens() {
        let listener = TcpListener::bind(local(0)).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let socket = connect(local(0), local(port), OPTIONS, || false).expect("no error").expect("not cancelled");
        assert_eq!(unacknowledged(&socket), Bytes(0));
        assert!(connect(local(0), local(port), OPTIONS, || true).expect("no error").is_none());
        drop(listener);
        let error = connect(local(0), local(port), OPTIONS, || false).expect_err("nothing listens");
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
    }

    /// tcp(7): an unknown congestion control fails with ENOENT.
    #[test]
    fn an_unknown_congestion_control_is_refused() {
        let options = Options { algorithm: "no_such", ..OPTIONS };
        let error = connect(local(0), local(1), options, || false).expect_err("no such algorithm");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
