//! What rtnetlink(7) can and an `ioctl` cannot: a route's congestion control, and a device's queue in the namespace of a
//! user who is not root.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::fault::{fault, system, Fault};

const REQUEST_ACK: u16 = 0x0001 | 0x0004; // NLM_F_…
const CREATE_NEW: u16 = 0x0400 | 0x0200;
const ATTRIBUTE_QUEUE_LENGTH: u16 = 13; // IFLA_TXQLEN
const ATTRIBUTE_DESTINATION: u16 = 1; // RTA_DST
const ATTRIBUTE_DEVICE: u16 = 4; // RTA_OIF
const ATTRIBUTE_SOURCE: u16 = 7; // RTA_PREFSRC
const ATTRIBUTE_METRICS: u16 = 8; // RTA_METRICS
const METRIC_CONGESTION_CONTROL: u16 = 16; // RTAX_CC_ALGO

/// Adds an attribute, padded to 4 bytes.
fn attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend((value.len() as u16 + 4).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(into.len().next_multiple_of(4), 0);
}

/// A request for a route to `prefix`/16 through the device of this number.
fn message(prefix: [u8; 4], source: [u8; 4], device: u32, algorithm: Option<&str>) -> Vec<u8> {
    // struct rtmsg: family, lengths of the prefixes, service, table (main), protocol (static), scope (link), kind (unicast).
    let mut body = vec![libc::AF_INET as u8, 16, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
    attribute(&mut body, ATTRIBUTE_DESTINATION, &prefix);
    attribute(&mut body, ATTRIBUTE_DEVICE, &device.to_ne_bytes());
    attribute(&mut body, ATTRIBUTE_SOURCE, &source);
    if let Some(name) = algorithm {
        let (mut metrics, name) = (Vec::new(), [name.as_bytes(), b"\0"].concat());
        attribute(&mut metrics, METRIC_CONGESTION_CONTROL, &name);
        attribute(&mut body, ATTRIBUTE_METRICS, &metrics);
    }
    request(libc::RTM_NEWROUTE, CREATE_NEW, &body)
}

/// A whole request: struct nlmsghdr, then the body.
fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut whole = (body.len() as u32 + 16).to_ne_bytes().to_vec();
    whole.extend(kind.to_ne_bytes());
    whole.extend((REQUEST_ACK | flags).to_ne_bytes());
    whole.extend([0; 8]); // number and sender
    whole.extend(body);
    whole
}

fn index_of(device: &str) -> u32 {
    // SAFETY: the name is a text of C that lives.
    CString::new(device).map_or(0, |name| unsafe { libc::if_nametoindex(name.as_ptr()) })
}

/// How many packets may wait for whoever reads a device.
pub fn set_queue_length(device: &str, packets: u32) -> Result<(), Fault> {
    let mut body = vec![0; 4]; // struct ifinfomsg: family, kind, number, flags, which of them
    body.extend(index_of(device).to_ne_bytes());
    body.extend([0; 8]);
    attribute(&mut body, ATTRIBUTE_QUEUE_LENGTH, &packets.to_ne_bytes());
    let place = format!("{device}: queue length");
    match ask(&place, &request(libc::RTM_NEWLINK, 0, &body))? {
        0 => Ok(()),
        error => Err(refused(place, error)),
    }
}

fn refused(place: String, error: i32) -> Fault {
    let hint = "emulation needs CAP_NET_ADMIN in its namespaces";
    fault(place, std::io::Error::from_raw_os_error(-error).to_string(), hint)
}

/// Sends what goes to `prefix`/16 through a device of the calling thread's namespace, from `source` unless a socket is
/// bound; with `algorithm` all TCP on it is under this congestion control.
pub fn route(prefix: [u8; 4], source: [u8; 4], device: &str, algorithm: Option<&str>) -> Result<(), Fault> {
    let place = format!("{device}: route");
    match (ask(&place, &message(prefix, source, index_of(device), algorithm))?, algorithm) {
        (0, _) => Ok(()),
        (error, Some(name)) if error == -libc::EINVAL => Err(no_such_algorithm("algorithm", name)),
        (error, _) => Err(refused(place, error)),
    }
}

/// Sends a request; answers the kernel's error, negative, or 0.
fn ask(place: &str, request: &[u8]) -> Result<i32, Fault> {
    let mut answer = [0u8; 512];
    // SAFETY: both buffers live through their calls and their lengths are their own; the descriptor is new.
    let length = unsafe {
        let raw = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        if raw < 0 {
            return Err(system(place, ""));
        }
        let socket = OwnedFd::from_raw_fd(raw);
        if libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) < 0 {
            return Err(system(place, ""));
        }
        libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    if length < 20 {
        return Err(system(place, ""));
    }
    // struct nlmsgerr: the error behind the header.
    Ok(i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]))
}

/// The kernel has no congestion control of this name.
pub(crate) fn no_such_algorithm(place: &str, name: &str) -> Fault {
    let known = crate::namespace::sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let hint = format!("it has {}; `cwndlab kernel run` adds ours", known.replace(' ', ", "));
    fault(place, format!("this kernel has no congestion control '{name}'"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from rtnetlink(7): 16 bytes of header, 12 of rtmsg, 8 per attribute of 4 bytes; the metric's name of 5 with
    /// its end takes 4 + 6, padded to 12, in a nest of 4 more.
    #[test]
    fn a_request_has_the_lengths_of_the_protocol() {
        let (prefix, source) = ([10, 102, 0, 0], [10, 101, 0, 1]);
        assert_eq!(message(prefix, source, 2, None).len(), 16 + 12 + 3 * 8);
        let with = message(prefix, source, 2, Some("cubic"));
        assert_eq!(with.len(), 16 + 12 + 3 * 8 + 4 + 12);
        assert_eq!(u32::from_ne_bytes([with[0], with[1], with[2], with[3]]) as usize, with.len());
        assert_eq!(&with[with.len() - 8..], b"cubic\0\0\0");
    }
}
