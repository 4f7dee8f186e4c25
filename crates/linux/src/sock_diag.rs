//! The TCP connections of a network namespace with their state: sock_diag(7), `include/uapi/linux/inet_diag.h`.

use cwndlab_units::Fault;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::fault::os_fault;
use crate::tcp_info::TcpInfo;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x0001 | 0x0300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `INET_DIAG_INFO`: the attribute with `struct tcp_info`.
const INET_DIAG_INFO: u16 = 2;
/// The states of synchronised connections but TIME-WAIT (`include/net/tcp_states.h`), as a mask: ESTABLISHED, FIN-WAIT-1
/// and -2, CLOSE-WAIT, LAST-ACK, CLOSING.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Size of `struct nlmsghdr`, bytes.
const HEADER: usize = 16;
/// Size of `struct inet_diag_msg`, bytes.
const MESSAGE: usize = 72;

/// A TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// A number that the kernel gives to no other socket.
    pub cookie: u64,
    /// Address and port of the local endpoint.
    pub local: SocketAddr,
    /// Address and port of the remote endpoint.
    pub remote: SocketAddr,
    /// Its state.
    pub info: TcpInfo,
}

/// A socket for requests about the network namespace in which it was created.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl SockDiag {
    /// Opens a socket in the network namespace of the calling thread.
    pub fn new() -> Result<Self, Fault> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked, and the descriptor is new and has no other owner.
        let socket = unsafe {
            let raw = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
            if raw < 0 {
                return Err(os_fault("sock_diag", "the kernel needs CONFIG_INET_DIAG"));
            }
            OwnedFd::from_raw_fd(raw)
        };
        Ok(Self { socket, buffer: vec![0; 1 << 16] })
    }

    /// The connections of the namespace, over IPv4 and IPv6.
    pub fn connections(&mut self) -> Result<Vec<Connection>, Fault> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let request = request(family as u8);
            // SAFETY: the request outlives the call and is passed with its own length.
            let sent = unsafe { libc::send(self.socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
            if sent < 0 {
                return Err(os_fault("sock_diag", ""));
            }
            while self.receive(&mut found)? {}
        }
        Ok(found)
    }

    /// Receives a part of the answer; returns whether more follows.
    fn receive(&mut self, found: &mut Vec<Connection>) -> Result<bool, Fault> {
        let buffer = &mut self.buffer;
        // SAFETY: the buffer outlives the call and is passed with its own length.
        let length = unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(length) = usize::try_from(length) else { return Err(os_fault("sock_diag", "")) };
        Ok(length > 0 && parse(&self.buffer[..length], found))
    }
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2` for all connections of an address family.
fn request(family: u8) -> Vec<u8> {
    let mut message = (HEADER as u32 + 56).to_ne_bytes().to_vec();
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    message.extend([0; 8]); // sequence number and sender
    message.extend([family, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    message.extend(STATES.to_ne_bytes());
    message.extend([0; 48]); // struct inet_diag_sockid
    message
}

/// A number of two bytes in the byte order of the machine, as netlink has it.
fn native(bytes: &[u8]) -> u16 {
    u16::from_ne_bytes([bytes[0], bytes[1]])
}

/// Parses the messages of an answer; returns whether more follow.
fn parse(mut bytes: &[u8], found: &mut Vec<Connection>) -> bool {
    while bytes.len() >= HEADER {
        let length = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let kind = native(&bytes[4..6]);
        if kind == NLMSG_DONE || kind == NLMSG_ERROR || !(HEADER..=bytes.len()).contains(&length) {
            return false;
        }
        found.extend(parse_connection(&bytes[HEADER..length]));
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    true
}

/// Parses `struct inet_diag_msg` with its attributes; `None` without the state of TCP.
fn parse_connection(message: &[u8]) -> Option<Connection> {
    let fixed = message.get(..MESSAGE)?;
    let endpoint = |port: usize, address: usize| {
        let octets: [u8; 16] = std::array::from_fn(|byte| fixed[address + byte]);
        let ip = if fixed[0] == libc::AF_INET as u8 {
            IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical() // of a socket of both versions
        };
        SocketAddr::new(ip, u16::from_be_bytes([fixed[port], fixed[port + 1]]))
    };
    let cookie = u64::from_ne_bytes(std::array::from_fn(|byte| fixed[44 + byte]));
    let mut attributes = &message[MESSAGE..];
    while attributes.len() >= 4 {
        let length = usize::from(native(attributes));
        let kind = native(&attributes[2..]);
        let value = attributes.get(4..length)?;
        if kind == INET_DIAG_INFO {
            let info = TcpInfo::from_bytes(value);
            return Some(Connection { cookie, local: endpoint(4, 8), remote: endpoint(6, 24), info });
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// sock_diag(7): a dump has both sockets of a connection over loopback, with the state that `TCP_INFO` of tcp(7) has.
    #[test]
    fn connections_of_this_namespace_are_listed_with_their_state() {
        for local in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let Ok(listener) = TcpListener::bind((local, 0)) else { continue };
            let mut stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
            stream.write_all(b"twelve bytes").expect("it has room");
            let near = stream.local_addr().expect("bound");
            let far = stream.peer_addr().expect("connected");
            let found = SockDiag::new().expect("a socket").connections().expect("a list");
            let ours: Vec<_> = found.iter().filter(|one| (one.local, one.remote) == (near, far)).collect();
            assert_eq!(ours.len(), 1, "{found:?}");
            assert_eq!((ours[0].info.state, ours[0].info.sender.counters.sent_bytes), (1, 12));
            let (accepted, _) = listener.accept().expect("a connection");
            let found = SockDiag::new().expect("a socket").connections().expect("a list");
            assert!(found.iter().any(|one| (one.local, one.remote) == (far, near)), "{accepted:?}");
        }
    }

    /// Messages end with their own lengths, not with those that they claim.
    #[test]
    fn truncated_answers_are_parsed_without_a_panic() {
        let mut message = 200u32.to_ne_bytes().to_vec();
        message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        message.extend([255; 194]);
        for length in 0..message.len() {
            let mut found = Vec::new();
            parse(&message[..length], &mut found);
            parse_connection(&message[..length]);
            assert!(found.is_empty());
        }
    }
}
