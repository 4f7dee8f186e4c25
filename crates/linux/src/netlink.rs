//! Routes and device queues through rtnetlink(7), for settings that no `ioctl` provides: the congestion control of a
//! route, and the queue length of a device in the network namespace of an unprivileged user.

use std::ffi::CString;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::fault::{fault, os_fault, Fault};
use crate::interface::HINT;
use crate::sysctl;

// The kernel's names and values: include/uapi/linux/{netlink,if_link,rtnetlink}.h.
const NLM_F_REQUEST_ACK: u16 = 0x0001 | 0x0004;
const NLM_F_CREATE_EXCL: u16 = 0x0400 | 0x0200;
const IFLA_TXQLEN: u16 = 13;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_CC_ALGO: u16 = 16;

/// Appends an attribute, padded to 4 bytes.
fn push_attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend((value.len() as u16 + 4).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(into.len().next_multiple_of(4), 0);
}

/// A request for a route to `prefix`/16 through the device with the index `device`.
fn route_request(prefix: Ipv4Addr, source: Ipv4Addr, device: u32, algorithm: Option<&str>) -> Vec<u8> {
    // struct rtmsg: family, prefix lengths, TOS, table (main), protocol (static), scope (link), type (unicast), flags.
    let mut body = vec![libc::AF_INET as u8, 16, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
    push_attribute(&mut body, RTA_DST, &prefix.octets());
    push_attribute(&mut body, RTA_OIF, &device.to_ne_bytes());
    push_attribute(&mut body, RTA_PREFSRC, &source.octets());
    if let Some(name) = algorithm {
        let (mut metrics, name) = (Vec::new(), [name.as_bytes(), b"\0"].concat());
        push_attribute(&mut metrics, RTAX_CC_ALGO, &name);
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
        error => Err(errno_fault(place, error)),
    }
}

/// Builds a fault from the kernel's error, a negative `errno`.
fn errno_fault(place: String, error: i32) -> Fault {
    fault(place, std::io::Error::from_raw_os_error(-error).to_string(), HINT)
}

/// Adds a route to `prefix`/16 through a device in the calling thread's namespace. Unbound sockets send from `source`.
/// With `algorithm`, all TCP connections over the route use this congestion control (`congctl` of ip-route(8)).
pub fn add_route(prefix: Ipv4Addr, source: Ipv4Addr, device: &str, algorithm: Option<&str>) -> Result<(), Fault> {
    let place = format!("{device}: route");
    match (exchange(&place, &route_request(prefix, source, index_of(device), algorithm))?, algorithm) {
        (0, _) => Ok(()),
        (error, Some(name)) if error == -libc::EINVAL => Err(no_such_algorithm("algorithm", name)),
        (error, _) => Err(errno_fault(place, error)),
    }
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
    fault(place, format!("this kernel has no congestion control '{name}'"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from rtnetlink(7): a header of 16 bytes, rtmsg of 12, and 8 for each attribute of 4 bytes. The name of 5
    /// bytes with its terminator takes 4 + 6 bytes, padded to 12, in a nested attribute with 4 more.
    #[test]
    fn a_request_has_the_lengths_of_the_protocol() {
        let (prefix, source) = (Ipv4Addr::new(10, 102, 0, 0), Ipv4Addr::new(10, 101, 0, 1));
        assert_eq!(route_request(prefix, source, 2, None).len(), 16 + 12 + 3 * 8);
        let request = route_request(prefix, source, 2, Some("cubic"));
        assert_eq!(request.len(), 16 + 12 + 3 * 8 + 4 + 12);
        assert_eq!(u32::from_ne_bytes([request[0], request[1], request[2], request[3]]) as usize, request.len());
        assert_eq!(&request[request.len() - 8..], b"cubic\0\0\0");
    }

    /// rtnetlink(7): a request for a device that does not exist fails with ENODEV.
    #[test]
    fn a_missing_device_is_reported() {
        let fault = set_queue_length("no-such-device", 10).expect_err("there is none");
        assert_eq!((fault.place.as_str(), fault.hint.as_str()), ("no-such-device: queue length", HINT));
    }
}
