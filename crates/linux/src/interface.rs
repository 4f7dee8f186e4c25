//! Network interfaces of the calling thread's namespace, through `ioctl`: netdevice(7).

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use cwndlab_units::{Bytes, Fault};

use crate::fault::os_fault;

/// The hint where the kernel denies a change of a device.
pub(crate) const HINT: &str = "emulation needs CAP_NET_ADMIN in its namespaces";

/// `struct ifreq`: a name and a union of 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    union: [u8; 24],
}

impl InterfaceRequest {
    pub(crate) fn new(name: &str) -> Self {
        let mut request = Self { name: [0; libc::IFNAMSIZ], union: [0; 24] };
        let length = name.len().min(libc::IFNAMSIZ - 1);
        request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        request
    }

    /// `ifr_flags`.
    pub(crate) fn with_flags(mut self, flags: i16) -> Self {
        self.union[..2].copy_from_slice(&flags.to_ne_bytes());
        self
    }

    /// `ifr_mtu`.
    fn with_number(mut self, number: i32) -> Self {
        self.union[..4].copy_from_slice(&number.to_ne_bytes());
        self
    }

    /// `ifr_addr`: a `struct sockaddr_in` without port.
    fn with_address(mut self, address: Ipv4Addr) -> Self {
        self.union[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        self.union[4..8].copy_from_slice(&address.octets());
        self
    }
}

/// Opens a socket for `ioctl` requests on devices.
fn control_socket() -> Result<OwnedFd, Fault> {
    // SAFETY: no pointers; the result is checked.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(os_fault("socket", ""));
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

fn request(place: &str, command: libc::c_ulong, request: &mut InterfaceRequest) -> Result<(), Fault> {
    let socket = control_socket()?;
    // SAFETY: `request` has the layout that the command reads (`struct ifreq`) and outlives the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), command as _, std::ptr::from_mut(request)) } == 0 {
        Ok(())
    } else {
        Err(os_fault(place, HINT))
    }
}

/// Activates the device `name`.
pub fn set_up(name: &str) -> Result<(), Fault> {
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    request(
        &format!("{name}: up"),
        libc::SIOCSIFFLAGS as libc::c_ulong,
        &mut InterfaceRequest::new(name).with_flags(flags),
    )
}

/// Sets the MTU of the device `name`.
pub fn set_mtu(name: &str, mtu: Bytes) -> Result<(), Fault> {
    let mtu = i32::try_from(mtu.0).unwrap_or(i32::MAX);
    request(
        &format!("{name}: mtu"),
        libc::SIOCSIFMTU as libc::c_ulong,
        &mut InterfaceRequest::new(name).with_number(mtu),
    )
}

/// Makes the prefix `address`/16 local, like 127.0.0.0/8: the kernel treats every address of a loopback device's prefix
/// as an address of the host.
pub fn add_local_prefix(address: Ipv4Addr) -> Result<(), Fault> {
    let alias = InterfaceRequest::new("lo:1");
    request("lo:1: address", libc::SIOCSIFADDR as libc::c_ulong, &mut alias.with_address(address))?;
    let mask = Ipv4Addr::new(255, 255, 0, 0);
    request("lo:1: netmask", libc::SIOCSIFNETMASK as libc::c_ulong, &mut alias.with_address(mask))
}
