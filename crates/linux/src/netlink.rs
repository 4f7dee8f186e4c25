//! Routes, IPv6 addresses and device queues through rtnetlink(7), for settings that no `ioctl` provides: the congestion
//! control of a route, an address without duplicate address detection, and the queue length of a device in the network
//! namespace of an unprivileged user.

use cwndlab_units::Fault;
use std::ffi::CString;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::fault::{errno_fault, os_fault};
use crate::interface::HINT;
use crate::sysctl;

// The kernel's names and values: include/uapi/linux/{netlink,if_link,if_addr,rtnetlink}.h.
const NLM_F_REQUEST_ACK: u16 = 0x0001 | 0x0004;
const NLM_F_CREATE_EXCL: u16 = 0x0400 | 0x0200;
const IFLA_TXQLEN: u16 = 13;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RT_TABLE_LOCAL: u8 = 255;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const RTN_LOCAL: u8 = 2;
const RTPROT_STATIC: u8 = 4;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_FEATURES: u16 = 12;
const RTAX_FEATURE_ECN: u32 = 1;
const RTAX_CC_ALGO: u16 = 16;

/// Appends an attribute, padded to 4 bytes.
fn push_attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend((value.len() as u16 + 4).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(into.len().next_multiple_of(4), 0);
}

/// A route through a device.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The destinations: an address and the length of its prefix, bits.
    pub prefix: (IpAddr, u8),
    /// The address from which unbound sockets send.
    pub source: IpAddr,
    /// The congestion control of all TCP connections over the route (`congctl` of ip-route(8)).
    pub algorithm: Option<&'a str>,
    /// TCP connections over the route use ECN, whatever `net.ipv4.tcp_ecn` says (`features ecn` of ip-route(8)).
    pub ecn: bool,
}

/// Family and bytes of an address.
fn address_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

/// `struct rtmsg`: family, lengths of the prefixes of destination and source, TOS, table, protocol, scope, type, flags.
fn route_header(family: u8, length: u8, table: u8, kind: u8) -> Vec<u8> {
    let scope = if family == libc::AF_INET as u8 { RT_SCOPE_LINK } else { RT_SCOPE_UNIVERSE };
    vec![family, length, 0, 0, table, RTPROT_STATIC, scope, kind, 0, 0, 0, 0]
}

/// A request for a route through the device with the index `device`.
fn route_request(route: &Route<'_>, device: u32) -> Vec<u8> {
    let (family, prefix) = address_bytes(route.prefix.0);
    let mut body = route_header(family, route.prefix.1, RT_TABLE_MAIN, RTN_UNICAST);
    push_attribute(&mut body, RTA_DST, &prefix);
    push_attribute(&mut body, RTA_OIF, &device.to_ne_bytes());
    push_attribute(&mut body, RTA_PREFSRC, &address_bytes(route.source).1);
    let mut metrics = Vec::new();
    if route.ecn {
        push_attribute(&mut metrics, RTAX_FEATURES, &RTAX_FEATURE_ECN.to_ne_bytes());
    }
    if let Some(name) = route.algorithm {
        push_attribute(&mut metrics, RTAX_CC_ALGO, &[name.as_bytes(), b"\0"].concat());
    }
    if !metrics.is_empty() {
        push_attribute(&mut body, RTA_METRICS, &metrics);
    }
    request(libc::RTM_NEWROUTE, NLM_F_CREATE_EXCL, &body)
}

/// A complete request: struct nlmsghdr, then the body.
fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut message = (body.len() as u32 + 16).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST_ACK | flags).to_ne_bytes());
    message.extend([0; 8]); // sequence number and sender
    message.extend(body);
    message
}

/// The index of a device in the calling thread's namespace; 0 for an unknown device.
fn index_of(device: &str) -> u32 {
    // SAFETY: the name is a C string that outlives the call.
    CString::new(device).map_or(0, |name| unsafe { libc::if_nametoindex(name.as_ptr()) })
}

/// Sets the queue length of a device (`txqueuelen`), packets.
pub fn set_queue_length(device: &str, packets: u32) -> Result<(), Fault> {
    let mut body = vec![0; 4]; // struct ifinfomsg: family, type; then index, flags, change mask
    body.extend(index_of(device).to_ne_bytes());
    body.extend([0; 8]);
    push_attribute(&mut body, IFLA_TXQLEN, &packets.to_ne_bytes());
    let place = format!("{device}: queue length");
    match exchange(&place, &request(libc::RTM_NEWLINK, 0, &body))? {
        0 => Ok(()),
        error => Err(errno_fault(-error, place, HINT)),
    }
}

/// Adds a route through a device in the calling thread's namespace.
pub fn add_route(route: &Route<'_>, device: &str) -> Result<(), Fault> {
    let place = format!("{device}: route");
    match (exchange(&place, &route_request(route, index_of(device)))?, route.algorithm) {
        (0, _) => Ok(()),
        (error, Some(name)) if error == -libc::EINVAL => Err(no_such_algorithm("algorithm", name)),
        (error, _) => Err(errno_fault(-error, place, HINT)),
    }
}

/// Makes the IPv6 prefix of `address`, a /64, local: the kernel treats every address of the prefix as an address of the
/// host. Unbound sockets can send from `address` itself. It has no duplicate address detection, so that it is usable at
/// once.
pub fn add_local_prefix6(address: Ipv6Addr) -> Result<(), Fault> {
    let loopback = index_of("lo");
    // struct ifaddrmsg: family, length of the prefix, flags, scope (universe); then the index of the device.
    let mut body = vec![libc::AF_INET6 as u8, 128, IFA_F_NODAD, RT_SCOPE_UNIVERSE];
    body.extend(loopback.to_ne_bytes());
    push_attribute(&mut body, IFA_LOCAL, &address.octets());
    push_attribute(&mut body, IFA_ADDRESS, &address.octets());
    let added = request(libc::RTM_NEWADDR, NLM_F_CREATE_EXCL, &body);
    let network = Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX));
    let mut body = route_header(libc::AF_INET6 as u8, 64, RT_TABLE_LOCAL, RTN_LOCAL);
    push_attribute(&mut body, RTA_DST, &network.octets());
    push_attribute(&mut body, RTA_OIF, &loopback.to_ne_bytes());
    let routed = request(libc::RTM_NEWROUTE, NLM_F_CREATE_EXCL, &body);
    for (place, message) in [("lo: IPv6 address", added), ("lo: local IPv6 route", routed)] {
        match exchange(place, &message)? {
            0 => {}
            error => return Err(errno_fault(-error, place, HINT)),
        }
    }
    Ok(())
}

/// Sends a request. Returns 0, or the kernel's error as a negative `errno`.
fn exchange(place: &str, request: &[u8]) -> Result<i32, Fault> {
    let mut reply = [0u8; 512];
    // SAFETY: both buffers outlive their calls and are passed with their own lengths; the descriptor is new.
    let length = unsafe {
        let raw = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        if raw < 0 {
            return Err(os_fault(place, ""));
        }
        let socket = OwnedFd::from_raw_fd(raw);
        if libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) < 0 {
            return Err(os_fault(place, ""));
        }
        libc::recv(socket.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0)
    };
    if length < 20 {
        return Err(os_fault(place, ""));
    }
    // struct nlmsgerr: the error follows the header.
    Ok(i32::from_ne_bytes([reply[16], reply[17], reply[18], reply[19]]))
}

/// The fault for a congestion control that the kernel lacks.
fn no_such_algorithm(place: &str, name: &str) -> Fault {
    let available = sysctl::available_congestion_controls().join(", ");
    let hint = format!("it has {available}; `cwndlab kernel run` adds those of cwndlab");
    Fault::new(place, format!("this kernel has no congestion control '{name}'"), hint)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// By hand from rtnetlink(7): a header of 16 bytes, rtmsg of 12, and 8 for each attribute of 4 bytes. The name of 5
    /// bytes with its terminator takes 4 + 6 bytes, padded to 12, in a nested attribute with 4 more.
    #[test]
    fn a_request_has_the_lengths_of_the_protocol() {
        let prefix = Ipv4Addr::new(10, 102, 0, 0).into();
        let source = Ipv4Addr::new(10, 101, 0, 1).into();
        let route = Route { prefix: (prefix, 16), source, algorithm: None, ecn: false };
        assert_eq!(route_request(&route, 2).len(), 16 + 12 + 3 * 8);
        let request = route_request(&Route { algorithm: Some("cubic"), ..route }, 2);
        assert_eq!(request.len(), 16 + 12 + 3 * 8 + 4 + 12);
        assert_eq!(u32::from_ne_bytes([request[0], request[1], request[2], request[3]]) as usize, request.len());
        assert_eq!(&request[request.len() - 8..], b"cubic\0\0\0");
        assert_eq!(route_request(&Route { ecn: true, ..route }, 2).len(), 16 + 12 + 3 * 8 + 4 + 8);
    }

    /// By hand from rtnetlink(7): two attributes of 16 bytes and one of 4, each with 4 bytes of its own header.
    #[test]
    fn a_request_for_ipv6_has_the_lengths_of_the_protocol() {
        let prefix = Ipv6Addr::new(0xfdcc, 0x102, 0, 0, 0, 0, 0, 0);
        let source = Ipv6Addr::LOCALHOST;
        let prefix = (prefix.into(), 64);
        let request = route_request(&Route { prefix, source: source.into(), algorithm: None, ecn: false }, 2);
        assert_eq!((request.len(), request[16], request[17]), (16 + 12 + 20 + 8 + 20, 10, 64));
    }

    /// rtnetlink(7): a request for a device that does not exist fails with ENODEV.
    #[test]
    fn a_missing_device_is_reported() {
        let fault = set_queue_length("no-such-device", 10).expect_err("there is none");
        assert_eq!((fault.place.as_str(), fault.hint.as_str()), ("no-such-device: queue length", HINT));
    }
}
