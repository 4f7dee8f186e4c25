//! TUN devices: `Documentation/networking/tuntap.rst` of the kernel, `drivers/net/tun.c`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use cwndlab_units::Bytes;

use crate::fault::{fault, system, Fault};
use crate::interface::{self, InterfaceRequest};
use crate::netlink;

const TUNSETIFF: libc::c_ulong = 0x4004_54ca; // include/uapi/linux/if_tun.h
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000; // packets without a header of their own

/// Packets that may wait for the process that reads the device. They wait outside of the emulated path: the queue must
/// not overflow while its reader sleeps.
const QUEUE_PACKETS: u32 = 10_000;

/// A TUN device: each read returns one IP packet that the kernel sends, each write is one that it receives.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Creates `name` in the network namespace of the calling thread, active, with this MTU.
    pub fn new(name: &str, mtu: Bytes) -> Result<Self, Fault> {
        const NODE: &str = "/dev/net/tun";
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(NODE)
            .map_err(|error| {
                fault(
                    NODE,
                    error.to_string(),
                    "emulation needs this node, readable and writable: run as root, or `mknod` it in a private mount",
                )
            })?;
        let mut request = InterfaceRequest::new(name).with_flags(IFF_TUN | IFF_NO_PI);
        // SAFETY: TUNSETIFF takes a `struct ifreq`, which outlives the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, std::ptr::from_mut(&mut request)) } != 0 {
            return Err(system(format!("{NODE}: TUNSETIFF"), interface::HINT));
        }
        interface::set_mtu(name, mtu)?;
        netlink::set_queue_length(name, QUEUE_PACKETS)?;
        interface::up(name)?;
        Ok(Self { file })
    }

    /// Reads the next packet into `buffer` and returns its length; `None` where none waits.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(fault("tun: read", error.to_string(), "")),
        }
    }

    /// Hands a packet to the kernel; returns whether the kernel accepted it.
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
    use crate::privileges::{has_capability, CAP_SYS_ADMIN};

    /// tuntap.rst: what is routed to the device is read from it. RFC 791 and 768: version 4, protocol 17, and a
    /// datagram of 28 bytes of headers and its payload.
    #[test]
    fn a_routed_datagram_is_read_from_the_device() {
        if !has_capability(CAP_SYS_ADMIN) || !std::path::Path::new("/dev/net/tun").exists() {
            return; // it takes privileges and the driver
        }
        let packet = Namespace::new().expect("created").enter(|| {
            let mut tun = Tun::new("test0", Bytes(1500))?;
            let (own, far) = (Ipv4Addr::new(10, 101, 0, 1), Ipv4Addr::new(10, 102, 0, 0));
            interface::add_local_prefix(own)?;
            netlink::add_route(far, own, "test0", None)?;
            let io = |error: std::io::Error| fault("socket", error.to_string(), "");
            let socket = UdpSocket::bind((own, 0)).map_err(io)?;
            socket.send_to(b"hello", (Ipv4Addr::new(10, 102, 3, 4), 9)).map_err(io)?;
            let mut buffer = [0; 2048];
            // The kernel may send IPv6 neighbour discovery first.
            while let Some(length) = tun.read(&mut buffer)? {
                if buffer[0] >> 4 == 4 {
                    return Ok(buffer[..length].to_vec());
                }
            }
            Err(fault("tun", "no datagram", ""))
        });
        let packet = packet.expect("the datagram");
        assert_eq!((packet.len(), packet[9], &packet[28..]), (33, 17, &b"hello"[..]));
        assert_eq!(packet[12..20], [10, 101, 0, 1, 10, 102, 3, 4]);
    }
}
