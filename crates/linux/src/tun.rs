//! TUN devices: `Documentation/networking/tuntap.rst` of the kernel, `drivers/net/tun.c`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use cwndlab_units::{Bytes, Fault};

use crate::fault::os_fault;
use crate::interface::{self, InterfaceRequest};
use crate::netlink;

const TUNSETIFF: libc::c_ulong = 0x4004_54ca; // include/uapi/linux/if_tun.h
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000; // no packet information header before the packets

/// Queue length of a device, packets. This queue is not part of the emulated path: it must not overflow while the
/// reader of the device sleeps.
const QUEUE_PACKETS: u32 = 10_000;

/// A TUN device: each read returns one IP packet that the kernel sent, each write passes one IP packet to the kernel.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Creates the device `name` with this MTU in the network namespace of the calling thread, and activates it.
    pub fn new(name: &str, mtu: Bytes) -> Result<Self, Fault> {
        const NODE: &str = "/dev/net/tun";
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(NODE)
            .map_err(|error| {
                Fault::new(
                    NODE,
                    error.to_string(),
                    "emulation needs this node, readable and writable: run as root, or `mknod` it in a private mount",
                )
            })?;
        let mut request = InterfaceRequest::new(name).with_flags(IFF_TUN | IFF_NO_PI);
        // SAFETY: TUNSETIFF takes a `struct ifreq`, which outlives the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, std::ptr::from_mut(&mut request)) } != 0 {
            return Err(os_fault(format!("{NODE}: TUNSETIFF"), interface::HINT));
        }
        interface::set_mtu(name, mtu)?;
        netlink::set_queue_length(name, QUEUE_PACKETS)?;
        interface::set_up(name)?;
        Ok(Self { file })
    }

    /// Reads the next packet into `buffer` and returns its length; `None` where none is queued.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(Fault::new("tun: read", error.to_string(), "")),
        }
    }

    /// Passes a packet to the kernel; returns whether the kernel accepted it.
    pub fn write(&mut self, packet: &[u8]) -> bool {
        self.file.write(packet).is_ok()
    }

    /// The file descriptor, for polling.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;
    use crate::namespace::Namespace;
    use crate::netlink::Route;
    use crate::privileges::{has_capability, skip_test, CAP_SYS_ADMIN};

    /// tuntap.rst: a read returns a packet that is routed to the device. RFC 791 and 768: version 4, protocol 17, and a
    /// datagram of 28 bytes of headers and its payload.
    #[test]
    fn a_routed_datagram_is_read_from_the_device() {
        if !has_capability(CAP_SYS_ADMIN) || !std::path::Path::new("/dev/net/tun").exists() {
            return skip_test("a TUN device requires CAP_SYS_ADMIN and /dev/net/tun");
        }
        let packet = Namespace::new().expect("created").enter(|| {
            let mut tun = Tun::new("test0", Bytes(1500))?;
            let local = Ipv4Addr::new(10, 101, 0, 1);
            let remote = Ipv4Addr::new(10, 102, 0, 0);
            interface::add_local_prefix(local)?;
            let route = Route { prefix: (remote.into(), 16), source: local.into(), algorithm: None, ecn: false };
            netlink::add_route(&route, "test0")?;
            let io = |error: std::io::Error| Fault::new("socket", error.to_string(), "");
            let socket = UdpSocket::bind((local, 0)).map_err(io)?;
            socket.send_to(b"hello", (Ipv4Addr::new(10, 102, 3, 4), 9)).map_err(io)?;
            let mut buffer = [0; 2048];
            // The kernel may send IPv6 neighbour discovery first.
            while let Some(length) = tun.read(&mut buffer)? {
                if buffer[0] >> 4 == 4 {
                    return Ok(buffer[..length].to_vec());
                }
            }
            Err(Fault::new("tun", "no datagram", ""))
        });
        let packet = packet.expect("the datagram");
        assert_eq!((packet.len(), packet[9], &packet[28..]), (33, 17, &b"hello"[..]));
        assert_eq!(packet[12..20], [10, 101, 0, 1, 10, 102, 3, 4]);
    }
}
