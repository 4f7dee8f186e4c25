//! TUN devices, addresses and routes, by `ioctl`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::fault::{fault, system, Fault};
use crate::netlink;

/// The kernel's `struct ifreq`: a name and a union of 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    rest: [u8; 24],
}

impl Request {
    fn new(name: &str) -> Self {
        let mut request = Self { name: [0; libc::IFNAMSIZ], rest: [0; 24] };
        let length = name.len().min(libc::IFNAMSIZ - 1);
        request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        request
    }

    fn with_flags(mut self, flags: i16) -> Self {
        self.rest[..2].copy_from_slice(&flags.to_ne_bytes());
        self
    }

    fn with_number(mut self, number: i32) -> Self {
        self.rest[..4].copy_from_slice(&number.to_ne_bytes());
        self
    }

    fn with_address(mut self, address: [u8; 4]) -> Self {
        self.rest[..16].copy_from_slice(&socket_address(address));
        self
    }
}

/// A `struct sockaddr_in` without port.
fn socket_address(address: [u8; 4]) -> [u8; 16] {
    let mut out = [0; 16];
    out[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    out[4..8].copy_from_slice(&address);
    out
}

/// A socket through which devices of the calling thread's namespace are told what to do.
fn control() -> Result<OwnedFd, Fault> {
    // SAFETY: no pointers; the answer is checked.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(system("socket", ""));
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

fn ask(what: &str, command: libc::c_ulong, request: &mut Request) -> Result<(), Fault> {
    let socket = control()?;
    // SAFETY: `request` has the layout that the command wants (`struct ifreq`) and outlives the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), command as _, std::ptr::from_mut(request)) } == 0 {
        Ok(())
    } else {
        Err(system(what, "emulation needs CAP_NET_ADMIN in its namespaces"))
    }
}

/// Sets a device up.
pub fn up(name: &str) -> Result<(), Fault> {
    let mut request = Request::new(name).with_flags((libc::IFF_UP | libc::IFF_RUNNING) as i16);
    ask(&format!("{name}: up"), libc::SIOCSIFFLAGS as libc::c_ulong, &mut request)
}

/// Makes the whole of `address`/16 local, as 127.0.0.0/8 is: the kernel takes every address of a loopback's prefix for its own.
pub fn own_prefix(address: [u8; 4]) -> Result<(), Fault> {
    ask("lo:1: address", libc::SIOCSIFADDR as libc::c_ulong, &mut Request::new("lo:1").with_address(address))?;
    let mask = &mut Request::new("lo:1").with_address([255, 255, 0, 0]);
    ask("lo:1: netmask", libc::SIOCSIFNETMASK as libc::c_ulong, mask)
}

const SET_INTERFACE: libc::c_ulong = 0x4004_54ca; // TUNSETIFF
const TUN: i16 = 0x0001;
const NO_PACKET_INFORMATION: i16 = 0x1000;

/// A TUN device: the kernel's packets, one per read and write.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes `name` in the calling thread's namespace, up, with this MTU.
    pub fn new(name: &str, mtu: u32) -> Result<Self, Fault> {
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
        let mut request = Request::new(name).with_flags(TUN | NO_PACKET_INFORMATION);
        // SAFETY: TUNSETIFF takes a `struct ifreq`, which outlives the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), SET_INTERFACE as _, std::ptr::from_mut(&mut request)) } != 0 {
            return Err(system(format!("{NODE}: TUNSETIFF"), "emulation needs CAP_NET_ADMIN in its namespaces"));
        }
        let size = &mut Request::new(name).with_number(mtu.cast_signed());
        ask(&format!("{name}: mtu"), libc::SIOCSIFMTU as libc::c_ulong, size)?;
        // What waits here waits outside of the emulated path: long enough that nothing is lost while we sleep.
        netlink::set_queue_length(name, 10_000)?;
        up(name)?;
        Ok(Self { file })
    }

    /// The next packet, if one is there.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Fault> {
        match self.file.read(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(fault("tun: read", error.to_string(), "")),
        }
    }

    /// Hands a packet to the kernel; answers whether it took it.
    pub fn write(&mut self, packet: &[u8]) -> bool {
        self.file.write(packet).is_ok()
    }

    /// Its descriptor.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}
